"""What every kind of model computes before anything is decided, in ONNX operators: the outputs of its machines."""

from typing import Any

import numpy as np

from .._typing import Floats, Parts
from ..exceptions import ExportError
from ._graph import Graph
from ._kernel_nodes import kernel_values
from ._record import Machine, Record, machine
from ._trees import Tree, trees

#: A label that is never predicted scores this; one that always is, its opposite.
_CONSTANT = 1.0
#: The margin of the label that a row gets because it must have one.
_BARELY = 1e-12


def machine_outputs(g: Graph, x: str, of: Machine) -> str:
    """The outputs of a kernel machine, a column each."""
    if not len(of.support):
        # Nothing but constants.
        return g.add("Add", g.times(g.row_sum(x), 0.0), g.constant(of.intercepts.reshape(1, -1)))
    values = g.columns(x, of.support) if of.kernel["type"] == "precomputed" else kernel_values(g, x, of.vectors, of.kernel)
    return g.linear(values, of.coefficients, of.intercepts)


def scaled(g: Graph, x: str, record: Record) -> str:
    """The columns as the model wants them: holes filled, then scaled."""
    if record.fill is not None:
        x = g.add("Where", g.add("IsNaN", x), g.constant(record.fill.reshape(1, -1)), x)
    if record.scaling is None:
        return x
    factors, constants = record.scaling
    return g.plus(g.times(x, factors), constants)


def votes(g: Graph, outputs: str, classes: int) -> str:
    """One value per class from one per pair: votes, plus a confidence between -1/3 and 1/3 that only breaks ties."""
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    first, second = np.zeros((len(pairs), classes)), np.zeros((len(pairs), classes))
    for row, (i, j) in enumerate(pairs):
        first[row, i] = second[row, j] = 1.0
    wins = g.number(g.positive(outputs))
    # A vote is for the first of a pair or else for the second: wins @ first + (1 - wins) @ second.
    counted = g.plus(g.add("MatMul", wins, g.constant(first - second)), second.sum(axis=0))
    confidence = g.add("MatMul", outputs, g.constant(first - second))
    most = g.times(g.plus(g.add("Abs", confidence), 1.0), 3.0)
    return g.add("Add", counted, g.add("Div", confidence, most))


def induced_table(g: Graph, x: str, record: Record) -> str:
    """Standardised columns, then the induced ones."""
    arrays = record.arrays
    plain = g.add("Div", g.add("Sub", x, g.constant(arrays["center"])), g.constant(arrays["spread"]))
    grown = trees(record)
    return g.add("Concat", plain, tree_columns(g, x, grown), axis=1) if grown else plain


def tree_columns(g: Graph, x: str, grown: list[Tree]) -> str:
    """What trees say about every row, a column each."""
    columns = [_tree_column(g, x, tree) for tree in grown]
    return columns[0] if len(columns) == 1 else g.add("Concat", *columns, axis=1)


def _tree_column(g: Graph, x: str, tree: Tree) -> str:
    """What one tree says.

    All its tests are made at once. A leaf holds where as many tests on its path come out its way as there are, which a product with a
    table of 1 (go left) and -1 (go right) counts.
    """
    said = np.array([[leaf.value] for leaf in tree.leaves])
    if not tree.tests:
        return g.plus(g.times(g.row_sum(x), 0.0), said)
    thresholds = np.array([threshold for _, threshold in tree.tests])
    if g.compute == np.float32:
        # A single precision value is below a double precision threshold if and only if it is below the next smaller single one.
        rounded = thresholds.astype(np.float32)
        thresholds = np.where(rounded > thresholds, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    paths, goals = np.zeros((len(tree.tests), len(tree.leaves))), np.zeros((1, len(tree.leaves)))
    for place, leaf in enumerate(tree.leaves):
        for test, left in leaf.path:
            paths[test, place] = 1.0 if left else -1.0
            goals[0, place] += left
    below = g.add("LessOrEqual", g.columns(x, [feature for feature, _ in tree.tests]), g.constant(thresholds))
    counted = g.add("MatMul", g.number(below), g.constant(paths))
    holds = g.number(g.add("Equal", counted, g.constant(goals)))
    return g.add("MatMul", holds, g.constant(said))


def boosted_margins(g: Graph, x: str, record: Record) -> str:
    """The rounds' weighted mean minus the threshold of every label; rows that must have a label get one."""
    header, arrays = record.header, record.arrays
    labels = len(header["endings"])
    machines = [machine(record, described, f"machine{k}.") for k, described in enumerate(header["machines"])]
    ends = np.cumsum([0, *[len(one.intercepts) for one in machines]])
    mixing, constants = np.zeros((labels, int(ends[-1]))), np.zeros(labels)
    changing = np.zeros(labels, dtype=bool)
    place = 0
    for label, count in enumerate(header["rounds"]):
        alphas = arrays["rounds"][place : place + count, 0]
        for t in range(count):
            output = ends[int(arrays["rounds.machine"][place + t])] + int(arrays["rounds.output"][place + t])
            mixing[label, output] += alphas[t] / alphas.sum()
        changing[label] = count > 0
        if not count:
            always = header["endings"][label] == "always"
            constants[label] = _CONSTANT if always else -np.inf if header["kind"] == "classes" else -_CONSTANT
        place += count
    if machines:
        parts = [machine_outputs(g, x, one) for one in machines]
        outputs = parts[0] if len(parts) == 1 else g.add("Concat", *parts, axis=1)
        if header["parameters"]["preset"] == "paper" or header["parameters"]["voting"] == "hard":
            outputs = g.plus(g.times(g.number(g.positive(outputs)), 2.0), -1.0)
        scores = g.add("MatMul", outputs, g.constant(mixing.T))
    else:
        scores = g.add("MatMul", x, g.constant(np.zeros((header["features"], labels))))
    margins = g.plus(scores, constants - arrays["thresholds"])
    return _at_least_one(g, margins, changing) if header["at_least_one"] and changing.any() else margins


def _at_least_one(g: Graph, margins: str, changing: Any) -> str:
    """Rows that no label claims get their best one, barely; the others move as far."""
    row = changing.reshape(1, -1)
    able = g.constant(row, bool)
    open_ = g.add("Where", able, margins, g.constant(-np.inf))
    best = g.row_max(open_)
    chosen = g.add("Equal", g.constant(np.arange(len(changing)).reshape(1, -1), np.int64), g.add("ArgMax", open_, axis=1, keepdims=1))
    moved = g.add("Where", able, g.add("Sub", margins, best), margins)
    moved = g.add("Where", chosen, g.constant(_BARELY), moved)
    return g.add("Where", g.positive(g.row_max(margins)), margins, moved)


def selection_values(g: Graph, x: str, record: Record) -> str:
    """The values of all tasks."""
    header, arrays = record.header, record.arrays
    if "weights" in arrays:
        return g.linear(x, arrays["weights"], arrays["intercepts"])
    machines = [machine(record, described, f"machine.{k}.") for k, described in enumerate(header["machines"])]
    parts = [machine_outputs(g, x, one) for one in machines]
    return parts[0] if len(parts) == 1 else g.add("Concat", *parts, axis=1)


def svc_decisions(g: Graph, x: str, record: Record, header: Parts) -> tuple[str, str, bool]:
    """Decisions and outputs of a kernel classifier, and whether outputs are of pairs of classes, positive for the first."""
    of = machine(record, header["machine"])
    outputs, classes = machine_outputs(g, x, of), len(header["classes"])
    if classes == 2 and len(of.intercepts) == 1:
        return g.add("Neg", outputs), outputs, True
    return (votes(g, outputs, classes) if of.pairwise else outputs), outputs, of.pairwise


def linear_parts(record: Record) -> tuple[Floats, Floats]:
    """Weights and biases of a linear machine."""
    arrays = record.arrays
    if "weights" not in arrays:
        raise ExportError("a kernel machine has no weights of columns", "use to_onnx, or a linear kernel")
    return arrays["weights"], arrays["biases" if "biases" in arrays else "intercepts"]
