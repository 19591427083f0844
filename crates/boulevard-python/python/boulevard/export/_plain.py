"""Linear machines and rules in one plain form: weights of raw columns, trees, a constant. What text, SQL and JSON are written from."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..exceptions import ExportError
from ._model_nodes import linear_parts
from ._record import Record, machine, read
from ._trees import Tree, trees

#: What decisions mean: the second of two classes, a class each, a pair of classes each (positive for the first), a yes each, a number each.
Meaning = Literal["second", "classes", "pairs", "labels", "numbers"]


@dataclass
class Split:
    """One test of a rule tree, and what follows on both sides: another test, or what it adds to the decision."""

    feature: int
    threshold: float
    below: "Split | float"
    above: "Split | float"


@dataclass
class Decision:
    """``bias + sum of weight x column + what trees add``."""

    name: str
    bias: float
    #: Weights that are not zero, by column.
    weights: list[tuple[int, float]]
    trees: list[Split]


@dataclass
class Plain:
    """A model that can be read: names of columns, decisions, and what they mean."""

    kind: str
    columns: list[str]
    decisions: list[Decision]
    meaning: Meaning
    #: Class labels as plain Python values; for labels one pair per decision.
    classes: list[Any]
    #: What takes the place of a missing value in every column; none where the model knows none.
    fill: list[float] | None = None


def plain(model: Any) -> Plain:
    """The plain form of a fitted linear or rule model."""
    record = read(model)
    weights, biases, meaning, grown = _linear(model, record)
    n = weights.shape[1] - len(grown)
    own, rules = weights[:, :n], weights[:, n:]
    if record.kind == "feature_induction":
        center, spread = record.arrays["center"], record.arrays["spread"]
        own = own / spread
        biases = biases - own @ center
    factors, constants = record.scaling or (np.ones(n), np.zeros(n))
    biases = biases + own @ constants
    own = own * factors
    classes = _classes(model, meaning, len(biases))
    names = _names(meaning, classes, len(biases))
    decisions = []
    for output, name in enumerate(names):
        bias, said = float(biases[output]), []
        for place, tree in enumerate(grown):
            weight = float(rules[output, place])
            if weight == 0.0:
                continue
            if tree.tests:
                said.append(_split(tree, 0, weight, factors, constants))
            else:
                bias += weight * tree.leaves[0].value
        weighted = [(j, float(w)) for j, w in enumerate(own[output]) if w != 0.0]
        decisions.append(Decision(name, bias, weighted, said))
    given = getattr(model, "feature_names_in_", None)
    columns = [str(one) for one in given] if given is not None else [f"x{j + 1}" for j in range(n)]
    fill = None if record.fill is None else [float(value) for value in record.fill]
    return Plain(type(model).__name__, columns, decisions, meaning, classes, fill)


def _linear(model: Any, record: Record) -> tuple[Any, Any, Meaning, list[Tree]]:
    """Weights of columns and trees, biases, what decisions mean, and the trees."""
    kind, header = record.kind, record.header
    if kind in ("linear_svc", "linear_svr"):
        weights, biases = linear_parts(record)
        return weights, biases, "numbers" if kind == "linear_svr" else "second" if len(biases) == 1 else "classes", []
    if kind == "multitask_selection" and "weights" in record.arrays:
        weights, biases = linear_parts(record)
        if not hasattr(model, "classes_"):
            return weights, biases, "numbers", []
        if "classes" not in header["outputs"]:
            return weights, biases, "labels", []
        return weights, biases, "second" if len(biases) == 1 else "classes", []
    if kind == "feature_induction" and header["kernel_machine"] is None:
        if type(model).__name__ == "FeatureInducer":
            raise ExportError("a FeatureInducer makes columns and decides nothing", "export a FeatureInductionClassifier, or use to_onnx")
        weights, biases = linear_parts(record)
        return weights, biases, "second" if len(biases) == 1 else "classes", trees(record)
    if kind in ("svc", "svr", "one_class", "pareto"):
        described = (header["classifier"] if kind == "pareto" else header)["machine"]
        if described["kernel"]["type"] == "linear":
            of = machine(record, described)
            weights = of.coefficients @ of.vectors
            if kind in ("svr", "one_class"):
                return weights, of.intercepts, "numbers", []
            if len(of.intercepts) == 1:
                # Stored positive for the first class, decided positive for the second.
                return -weights, -of.intercepts, "second", []
            return weights, of.intercepts, "pairs" if of.pairwise else "classes", []
        part = f"its kernel is {described['kernel']['type']!r}"
    else:
        part = f"{type(model).__name__} is a sum of kernels"
        if kind == "feature_induction":
            part = f"its last machine has the kernel {header['parameters']['kernel']['type']!r}"
    raise ExportError(
        f"text and SQL hold linear machines and rules, and {part}",
        "use boulevard.to_onnx, or a linear model (LinearSVC, kernel='linear', FeatureInductionClassifier)",
    )


def _split(tree: Tree, node: int, weight: float, factors: Any, constants: Any) -> Any:
    """A tree over raw columns whose leaves say what they add to the decision."""
    at = tree.nodes[node]
    if isinstance(at, float):
        return weight * at
    test, left, right = at
    feature, threshold = tree.tests[test]
    below = _split(tree, left, weight, factors, constants)
    above = _split(tree, right, weight, factors, constants)
    factor = float(factors[feature])
    if factor == 0.0:
        # A column that scaling makes zero passes every test the same way.
        return below if constants[feature] <= threshold else above
    # Scaling has positive factors, so that below stays below.
    raw = threshold if factor == 1.0 and constants[feature] == 0.0 else (threshold - float(constants[feature])) / factor
    return Split(feature, raw, below, above)


def _classes(model: Any, meaning: str, outputs: int) -> list[Any]:
    if meaning == "numbers":
        return []
    classes = model.classes_
    if meaning == "labels":
        pairs = classes if isinstance(classes, list) else [classes] * outputs
        return [np.asarray(pair).tolist() for pair in pairs]
    return list(np.asarray(classes).tolist())


def _names(meaning: str, classes: list[Any], outputs: int) -> list[str]:
    """Names of the decisions."""
    if outputs == 1:
        return ["decision"]
    if meaning == "classes":
        return [f"decision_{name}" for name in classes]
    if meaning == "pairs":
        return [f"decision_{a}_{b}" for i, a in enumerate(classes) for b in classes[i + 1 :]]
    return [f"decision_{place}" for place in range(outputs)]


def is_dead(decision: Decision) -> bool:
    """Whether a class was never seen: its decision is minus infinity."""
    return math.isinf(decision.bias)
