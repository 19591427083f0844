"""Models as ONNX graphs of plain operators, in double or single precision."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .._base import NativeEstimator
from .._core import __version__
from .._typing import Floats
from ..exceptions import ExportError, ParameterError
from . import _model_nodes as nodes
from . import _probability_nodes as chances
from ._graph import Graph
from ._record import Record, machine, read

__all__ = ["to_onnx"]

_FLOATS = ("float64", "float32")
Precision = Literal["float64", "float32"]


def to_onnx(
    model: Any,
    *,
    dtype: Precision = "float64",
    compute: Precision | None = None,
    probabilities: bool | Literal["auto"] = "auto",
    name: str | None = None,
) -> Any:
    """A fitted model as an ONNX graph, for programs that have no Python.

    The graph has one input ``X`` of shape (rows, columns) and consists of plain operators only (MatMul, Exp, ...; version 18), which every
    runtime has. Outputs have the types and shapes of the estimator's methods: ``label`` and ``decision`` for classifiers and one-class
    machines, ``probabilities`` where they are there, ``prediction`` for regressors, ``transformed`` for transformers. A scaler inside the
    model goes along.

    Parameters
    ----------
    model : estimator instance
        A fitted estimator of boulevard, or a scikit-learn pipeline that ends in one (that needs skl2onnx).
    dtype : {"float64", "float32"}, default="float64"
        Type of the input and of numbers in the outputs.
    compute : {"float64", "float32"}, default=None
        Type of everything between. None is "float64", with which decisions agree to about 12 digits; "float32" is for runtimes that have
        no double precision, and for half the size.
    probabilities : bool or "auto", default="auto"
        Whether there is an output ``probabilities``; "auto" if they are fitted already. True fits them first.
    name : str, default=None
        The graph's name; None is the name of the class.

    Returns
    -------
    graph : onnx.ModelProto
        Write it with ``onnx.save``, or run ``graph.SerializeToString()``.

    Raises
    ------
    ExportError
        If a part of the model has no form in ONNX operators; it says which, and what to use instead.

    See Also
    --------
    boulevard.export.register_skl2onnx : Pipelines and other estimators of scikit-learn around ours.

    Examples
    --------
    >>> import boulevard
    >>> X, y = boulevard.datasets.make_banana(100, random_state=0)
    >>> graph = boulevard.to_onnx(boulevard.SVC().fit(X, y))  # doctest: +SKIP
    >>> [output.name for output in graph.graph.output]  # doctest: +SKIP
    ['label', 'decision']
    """
    compute = "float64" if compute is None else compute
    for parameter, value in (("dtype", dtype), ("compute", compute)):
        if value not in _FLOATS:
            raise ParameterError(f"{parameter} must be one of {_FLOATS}, got {value!r}", parameter)
    if not isinstance(model, NativeEstimator):
        from ._skl2onnx import convert_pipeline

        return convert_pipeline(model, dtype)
    written = write(model, dtype, compute, probabilities)
    about = {"boulevard": __version__, "kind": written.record.kind, "class": type(model).__name__}
    return written.graph.model(written.features, dtype, written.outputs, name or type(model).__name__, about)


@dataclass
class Written:
    """A graph with what it gives: names, types and shapes."""

    graph: Graph
    record: Record
    features: int
    dtype: str
    outputs: list[tuple[str, Any, list[Any]]] = field(default_factory=list)

    def give(self, name: str, value: str, kind: Any, columns: int | None) -> None:
        """Makes a value an output: of so many columns, or (None) a list. Numbers are cast to the type asked for."""
        g = self.graph
        if np.dtype(kind).kind == "f" and np.dtype(kind) != g.compute:
            value = g.cast(value, kind)
        if columns is None:
            g.add_as(name, "Reshape", value, g.constant([-1], np.int64))
        else:
            g.add_as(name, "Identity", value)
        self.outputs.append((name, kind, ["rows"] if columns is None else ["rows", columns]))

    def numbers(self, name: str, value: str, columns: int | None) -> None:
        """The same for numbers."""
        self.give(name, value, self.dtype, columns)


def write(model: NativeEstimator, dtype: str, compute: str, probabilities: bool | str) -> Written:
    """The nodes of a model and its outputs."""
    if type(model).__name__ == "MultiSampleClassifier":
        raise ExportError(
            "MultiSampleClassifier decides about sets of rows of any size, and a graph has one table with one answer per row",
            "export the machine of single rows, SVC with the same kernel and C, and combine its decisions (a sum, or a vote) afterwards",
        )
    if probabilities is True:
        ensure = getattr(model, "_ensure_calibrated", None)
        if ensure is None:
            raise ExportError(f"{type(model).__name__} has no probabilities", "leave probabilities='auto'")
        ensure()
    record = read(model)
    g = Graph(compute)
    written = Written(g, record, model.n_features_in_ if hasattr(model, "n_features_in_") else 0, dtype)
    if record.kind in ("svc", "pareto", "svr", "one_class"):
        written.features = _columns_of(record)
    x = nodes.scaled(g, g.cast("X", compute) if dtype != compute else "X", record)
    _KINDS[record.kind](written, model, x, bool(probabilities) and record.sigmoids is not None)
    return written


def _columns_of(record: Record) -> int:
    header = record.header["classifier"] if record.kind == "pareto" else record.header
    return int(header["machine"]["features"])


# ------------------------------------------------------------ labels


def _label_values(classes: Any) -> Any:
    """Labels that ONNX has a type for."""
    classes = np.asarray(classes)
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "bfU":
        return classes
    if all(isinstance(one, str) for one in classes.ravel()):
        return classes.astype(str)
    raise ExportError(f"class labels of type {classes.dtype}", "fit on labels that are numbers, truth values or text")


def _one_label(written: Written, decision: str, classes: Any, two: bool) -> str:
    """The output ``label`` of one class per row; returns the codes, as a column."""
    g, labels = written.graph, _label_values(classes)
    codes = g.cast(g.positive(decision), np.int64) if two else g.add("ArgMax", decision, axis=1, keepdims=1)
    written.give("label", g.add("Gather", g.constant(labels, labels.dtype), codes, axis=0), labels.dtype, None)
    return codes


def _several_labels(written: Written, decision: str, negative: Any, positive: Any) -> None:
    """The output ``label`` of one answer per column."""
    g, kind = written.graph, positive.dtype
    # Truth values are chosen as whole numbers: onnxruntime has no choice between truth values.
    between = np.dtype(np.int64) if kind.kind == "b" else kind
    no, yes = (g.constant(np.reshape(one, (1, -1)), between) for one in (negative, positive))
    chosen = g.add("Where", g.positive(decision), yes, no)
    written.give("label", g.cast(chosen, kind) if between != kind else chosen, kind, len(positive))


# ------------------------------------------------------------ one function per kind of model


def _kernel_classifier(written: Written, model: Any, x: str, likely: bool) -> None:
    g, record = written.graph, written.record
    header = record.header["classifier"] if record.kind == "pareto" else record.header
    decision, outputs, pairwise = nodes.svc_decisions(g, x, record, header)
    count = len(model.classes_)
    codes = _one_label(written, decision, model.classes_, count == 2)
    by_pair = pairwise and count > 2 and model.decision_function_shape == "ovo"
    written.numbers("decision", outputs if by_pair else decision, None if count == 2 else count * (count - 1) // 2 if by_pair else count)
    if likely:
        of = record.sigmoids
        assert of is not None
        if count == 2:
            first = chances.sigmoids(g, outputs, of)
            made = chances.two_classes(g, g.add("Sub", g.constant(1.0), first), codes)
        else:
            power = record.sharpening
            if pairwise:
                made = chances.pairs(g, outputs, of, codes, count, power)
            else:
                made = chances.against_rest(g, outputs, of, codes, True, power)
        written.numbers("probabilities", made, count)


def _against_rest(written: Written, model: Any, decision: str, likely: bool) -> None:
    """Classifiers whose outputs are decisions: one for two classes, positive for the second, else one per class."""
    g, count = written.graph, len(model.classes_)
    codes = _one_label(written, decision, model.classes_, count == 2)
    written.numbers("decision", decision, None if count == 2 else count)
    if likely:
        of = written.record.sigmoids
        assert of is not None
        if count == 2:
            # Sigmoids speak of the first class, and of the negated decision.
            first = chances.sigmoids(g, g.add("Neg", decision), of)
            made = chances.two_classes(g, g.add("Sub", g.constant(1.0), first), codes)
        else:
            made = chances.against_rest(g, decision, of, codes, True, written.record.sharpening)
        written.numbers("probabilities", made, count)


def _linear_classifier(written: Written, model: Any, x: str, likely: bool) -> None:
    weights, biases = nodes.linear_parts(written.record)
    _against_rest(written, model, written.graph.linear(x, weights, biases), likely)


def _linear_regressor(written: Written, model: Any, x: str, likely: bool) -> None:
    weights, biases = nodes.linear_parts(written.record)
    written.numbers("prediction", written.graph.linear(x, weights, biases), None)


def _kernel_regressor(written: Written, model: Any, x: str, likely: bool) -> None:
    of = machine(written.record, written.record.header["machine"])
    written.numbers("prediction", nodes.machine_outputs(written.graph, x, of), None)


def _one_class(written: Written, model: Any, x: str, likely: bool) -> None:
    g = written.graph
    decision = nodes.machine_outputs(g, x, machine(written.record, written.record.header["machine"]))
    # The border belongs to the inside.
    inside = g.add("GreaterOrEqual", decision, g.constant(0.0))
    written.give("label", g.add("Where", inside, g.constant(1, np.int64), g.constant(-1, np.int64)), np.int64, None)
    written.numbers("decision", decision, None)


def _induction(written: Written, model: Any, x: str, likely: bool) -> None:
    g, record = written.graph, written.record
    table = nodes.induced_table(g, x, record)
    if type(model).__name__ == "FeatureInducer":
        written.numbers("transformed", table, len(model.get_feature_names_out()))
        return
    inner = record.header["kernel_machine"]
    if inner is None:
        weights, biases = nodes.linear_parts(record)
        decision = g.linear(table, weights, biases)
    else:
        decision = nodes.svc_decisions(g, table, record, inner)[0]
    _against_rest(written, model, decision, likely)


def _boosted(written: Written, model: Any, x: str, likely: bool) -> None:
    g, record = written.graph, written.record
    margins = nodes.boosted_margins(g, x, record)
    if record.header["kind"] == "labels":
        count = len(record.header["names"])
        kind = np.int64 if model._label_dtype.kind in "iu" else model._label_dtype
        _several_labels(written, margins, np.zeros(count, kind), np.ones(count, kind))
        written.numbers("decision", margins, count)
        return
    count = len(model.classes_)
    codes = _one_label(written, margins, model.classes_, count == 2)
    written.numbers("decision", margins, None if count == 2 else count)
    if likely:
        of = record.sigmoids
        assert of is not None
        if count == 2:
            made = chances.two_classes(g, chances.sigmoids(g, margins, of), codes)
        else:
            made = chances.against_rest(g, margins, of, codes, False)
        written.numbers("probabilities", made, count)


def _selection(written: Written, model: Any, x: str, likely: bool) -> None:
    g, record = written.graph, written.record
    values = nodes.selection_values(g, x, record)
    tasks, classes = len(record.arrays["intercepts"]), getattr(model, "classes_", None)
    if classes is None:
        written.numbers("prediction", values, None if tasks == 1 else tasks)
        return
    if "classes" in record.header["outputs"]:
        count = len(classes)
        codes = _one_label(written, values, classes, count == 2)
        written.numbers("decision", values, None if count == 2 else count)
        if likely:
            of: Floats | None = record.sigmoids
            assert of is not None
            second = chances.two_classes(g, chances.sigmoids(g, values, of), codes) if count == 2 else ""
            written.numbers("probabilities", second or chances.against_rest(g, values, of, codes, True), count)
        return
    pairs = classes if isinstance(classes, list) else [classes] * tasks
    negative, positive = (_label_values(np.array([pair[side] for pair in pairs])) for side in (0, 1))
    _several_labels(written, values, negative, positive)
    written.numbers("decision", values, tasks)


_KINDS = {
    "svc": _kernel_classifier,
    "pareto": _kernel_classifier,
    "svr": _kernel_regressor,
    "one_class": _one_class,
    "linear_svc": _linear_classifier,
    "linear_svr": _linear_regressor,
    "feature_induction": _induction,
    "boosted": _boosted,
    "multitask_selection": _selection,
}
