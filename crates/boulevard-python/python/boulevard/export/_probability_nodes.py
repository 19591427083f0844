"""Class probabilities in ONNX operators: sigmoids, their coupling, and the agreement with the predicted class."""

from itertools import combinations

import numpy as np

from .._typing import Floats
from ._graph import Graph

#: Probabilities of pairs and of classes against the rest stay this far from 0 and 1.
_LEAST = 1e-7
#: Logarithms of probabilities are cut here.
_FLOOR = 1e-12


def sigmoids(g: Graph, values: str, of: Floats) -> str:
    """``1 / (1 + exp(a f + b))`` of every column."""
    return g.add("Sigmoid", g.add("Neg", g.plus(g.times(values, of[:, 0]), of[:, 1])))


def two_classes(g: Graph, second: str, predicted: str) -> str:
    """Both classes' probabilities from the second's."""
    first = g.add("Sub", g.constant(1.0), second)
    return consistent(g, g.add("Concat", first, second, axis=1), predicted, 2)


def against_rest(g: Graph, values: str, of: Floats, predicted: str, clip: bool, power: Floats | None = None) -> str:
    """Every class against the others, made to sum to one."""
    classes = len(of)
    finite = g.add("Not", g.add("IsInf", values))
    each = sigmoids(g, g.add("Where", finite, values, g.constant(0.0)), of)
    if clip:
        each = _clipped(g, each)
    each = g.add("Where", finite, each, g.constant(_LEAST if clip else 0.0))
    total = g.row_sum(each)
    some = g.positive(total)
    whole = g.add("Div", each, g.add("Where", some, total, g.constant(1.0)))
    whole = g.add("Where", some, whole, g.constant(np.full((1, classes), 1.0 / classes)))
    return consistent(g, sharpened(g, whole, power), predicted, classes)


def pairs(g: Graph, outputs: str, of: Floats, predicted: str, classes: int, power: Floats | None = None) -> str:
    """Pairs of classes, coupled as the library does (Wu, Lin and Weng 2004, algorithm 2)."""
    likely = _clipped(g, sigmoids(g, outputs, of))
    # r[i, j] is the probability of i when only i and j are possible: a table of pairs and one of their complements, laid out by class.
    first, second = np.zeros((len(of), classes, classes)), np.zeros((len(of), classes, classes))
    for row, (i, j) in enumerate(combinations(range(classes), 2)):
        first[row, i, j] = second[row, j, i] = 1.0
    flat = (len(of), classes * classes)
    ahead = g.add("MatMul", likely, g.constant(first.reshape(flat)))
    behind = g.add("MatMul", g.add("Sub", g.constant(1.0), likely), g.constant(second.reshape(flat)))
    r = g.add("Reshape", g.add("Add", ahead, behind), g.constant([-1, classes, classes], np.int64))
    turned = g.add("Transpose", r, perm=[0, 2, 1])
    own = g.add("ReduceSum", g.add("Mul", turned, turned), g.constant([2], np.int64), keepdims=1)
    q = g.add("Sub", g.add("Mul", own, g.constant(np.eye(classes))), g.add("Mul", turned, r))
    start = g.add("Add", g.times(g.row_sum(outputs), 0.0), g.constant(np.full((1, classes), 1.0 / classes)))
    return consistent(g, sharpened(g, _coupled(g, q, start, classes), power), predicted, classes)


def sharpened(g: Graph, chances: str, power: Floats | None) -> str:
    """A power of probabilities with a shift per class, made to sum to one; nothing where none was fitted."""
    if power is None:
        return chances
    logs = g.times(g.add("Log", g.add("Max", chances, g.constant(_FLOOR))), float(power[0]))
    return g.add("Softmax", g.plus(logs, power[1:]) if len(power) > 1 else logs, axis=1)


def _clipped(g: Graph, values: str) -> str:
    return g.add("Min", g.add("Max", values, g.constant(_LEAST)), g.constant(1.0 - _LEAST))


def _coupled(g: Graph, q: str, start: str, classes: int) -> str:
    """The loop of the coupling: rows that have arrived stay where they are."""
    onnx, kind = g.onnx, g.type_of(g.compute)
    info = onnx.helper.make_tensor_value_info
    # Names inside a loop must differ from those outside.
    b = Graph(g.compute.name, "inner_")
    at = b.constant([2], np.int64)
    qp = b.add("Squeeze", b.add("MatMul", "q", b.add("Unsqueeze", "p", at)), at)
    pqp = b.row_sum(b.add("Mul", "p", qp))
    far = b.row_max(b.add("Abs", b.add("Sub", qp, pqp)))
    active = b.add("GreaterOrEqual", far, b.constant(0.005 / classes))
    p = "p"
    for t in range(classes):
        row = b.add("Gather", "q", b.constant(t, np.int64), axis=1)
        own, here = b.columns(row, [t]), b.columns(qp, [t])
        step = b.add("Div", b.add("Sub", pqp, here), own)
        scale = b.plus(step, 1.0)
        moved = b.add("Add", p, b.add("Mul", step, b.constant(np.eye(classes)[t].reshape(1, -1))))
        p = b.add("Div", moved, scale)
        rise = b.add("Mul", step, b.add("Add", b.add("Mul", step, own), b.times(here, 2.0)))
        pqp = b.add("Div", b.add("Div", b.add("Add", pqp, rise), scale), scale)
        qp = b.add("Div", b.add("Add", qp, b.add("Mul", step, row)), scale)
    b.add_as("p_next", "Where", active, p, "p")
    b.add_as("q_next", "Identity", "q")
    some = b.add("ReduceMax", b.cast(active, np.int32), keepdims=0)
    b.add_as("go_on", "Cast", some, to=b.type_of(bool))
    body = onnx.helper.make_graph(
        b.nodes,
        "coupling",
        [
            info("round", onnx.TensorProto.INT64, []),
            info("go", onnx.TensorProto.BOOL, []),
            info("p", kind, ["rows", classes]),
            info("q", kind, ["rows", classes, classes]),
        ],
        [
            info("go_on", onnx.TensorProto.BOOL, []),
            info("p_next", kind, ["rows", classes]),
            info("q_next", kind, ["rows", classes, classes]),
        ],
        b.constants,
    )
    result, unused = g.name("coupled"), g.name("unused")
    inputs = [g.constant(max(100, classes), np.int64), g.constant(True, bool), start, q]
    g.nodes.append(onnx.helper.make_node("Loop", inputs, [result, unused], body=body))
    return result


def consistent(g: Graph, chances: str, predicted: str, classes: int) -> str:
    """Moves probabilities as little as possible so that the largest one belongs to the predicted class: it and the leader meet halfway."""
    codes = g.constant(np.arange(classes).reshape(1, -1), np.int64)
    leader = g.add("ArgMax", chances, axis=1, keepdims=1)
    is_predicted = g.add("Equal", codes, predicted)
    of_predicted = g.row_sum(g.add("Where", is_predicted, chances, g.constant(0.0)))
    middle = g.times(g.add("Add", g.row_max(chances), of_predicted), 0.5)
    lowered = g.add("Sub", middle, g.times(middle, 4.0 * float(np.finfo(g.compute).eps)))
    above = g.add("And", g.add("GreaterOrEqual", chances, middle), g.add("Not", is_predicted))
    freed = g.row_sum(g.add("Where", above, g.add("Sub", chances, lowered), g.constant(0.0)))
    freed = g.add("Add", freed, g.add("Sub", of_predicted, middle))
    risen = g.add("Add", middle, g.add("Max", freed, g.constant(0.0)))
    moved = g.add("Where", is_predicted, risen, g.add("Where", above, lowered, chances))
    return g.add("Where", g.add("Equal", leader, predicted), chances, moved)
