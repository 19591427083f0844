"""Kernels in ONNX operators: the matrix of kernel values between the rows of a table and fixed vectors."""

from typing import Any

import numpy as np

from .._typing import Floats, Parts
from ..exceptions import ExportError
from ._graph import Graph

_INNER = ("linear", "poly", "sigmoid")
_SQUARED = ("rbf", "epanechnikov", "multiquadric", "inverse_multiquadric")
_SUMMED = ("laplacian", "chi_squared")


def kernel_values(g: Graph, x: str, vectors: Floats, kernel: Parts) -> str:
    """Values of the kernel between the rows of ``x`` and the vectors: rows x vectors."""
    name = kernel["type"]
    if name == "sum":
        total = ""
        for weight, term in kernel["terms"]:
            value = g.times(kernel_values(g, x, vectors, term), weight)
            total = g.add("Add", total, value) if total else value
        return total
    if name == "normalized":
        inner = kernel["kernel"]
        own = np.sqrt(own_values(vectors, inner))
        value = g.add("Div", kernel_values(g, x, vectors, inner), g.add("Sqrt", _own_nodes(g, x, inner)))
        return g.add("Div", value, g.constant(own.reshape(1, -1)))
    if name in _INNER:
        # The factor of the inner product goes into the vectors.
        argument = g.add("MatMul", x, g.constant(kernel.get("gamma", 1.0) * vectors.T))
    elif name in _SQUARED:
        argument = _squared_distances(g, x, vectors)
    elif name in _SUMMED:
        argument = _summed(g, x, vectors, name)
    else:
        raise ExportError(f"the kernel {name!r} has no form in ONNX operators", "use one of " + ", ".join((*_INNER, *_SQUARED, *_SUMMED)))
    return _finish(g, argument, kernel)


def _finish(g: Graph, argument: str, kernel: Parts) -> str:
    """The kernel's value from what it is a function of: an inner product times gamma, or a distance."""
    name, gamma, coef0 = kernel["type"], kernel.get("gamma", 0.0), kernel.get("coef0", 0.0)
    if name == "linear":
        return argument
    if name in ("rbf", *_SUMMED):
        return g.add("Exp", g.times(argument, -gamma))
    if name == "poly":
        return _power(g, g.plus(argument, coef0), kernel["degree"])
    if name == "sigmoid":
        return g.add("Tanh", g.plus(argument, coef0))
    if name == "epanechnikov":
        left = g.plus(g.times(argument, -gamma), 1.0)
        return _power(g, g.add("Max", left, g.constant(0.0)), kernel["degree"])
    root = g.add("Sqrt", g.plus(g.times(argument, gamma), coef0 * coef0))
    return root if name == "multiquadric" else g.add("Reciprocal", root)


def _power(g: Graph, base: str, degree: int) -> str:
    """A whole power by repeated squaring: exact in signs, and the same operations in every runtime."""
    if degree == 0:
        return g.add("Add", g.times(base, 0.0), g.constant(1.0))
    result, square = "", base
    while degree:
        if degree & 1:
            result = g.add("Mul", result, square) if result else square
        degree >>= 1
        if degree:
            square = g.add("Mul", square, square)
    return result


def _squared_distances(g: Graph, x: str, vectors: Floats) -> str:
    """``|x|^2 + |z|^2 - 2 x.z`` after moving the vectors' mean to the origin, where few digits cancel."""
    center = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1])
    moved = vectors - center
    x = g.add("Sub", x, g.constant(center))
    lengths = g.row_sum(g.add("Mul", x, x))
    product = g.add("MatMul", x, g.constant(-2.0 * moved.T))
    total = g.add("Add", g.add("Add", product, lengths), g.constant((moved**2).sum(axis=1).reshape(1, -1)))
    return g.add("Max", total, g.constant(0.0))


def _summed(g: Graph, x: str, vectors: Floats, name: str) -> str:
    """A sum over features of a function of both values, feature by feature: the work space is one rows x vectors table."""
    onnx, kind = g.onnx, g.type_of(g.compute)
    info, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    one = onnx.helper.make_node("Constant", [], ["axis1"], value=onnx.numpy_helper.from_array(np.array([1], dtype=np.int64)))
    body = [one, node("Unsqueeze", ["of_x", "axis1"], ["column"]), node("Sub", ["column", "of_z"], ["difference"])]
    if name == "laplacian":
        body.append(node("Abs", ["difference"], ["term"]))
    else:
        zero = onnx.numpy_helper.from_array(np.array(0, dtype=g.compute))
        body += [
            node("Constant", [], ["zero"], value=zero),
            node("Add", ["column", "of_z"], ["both"]),
            node("Mul", ["difference", "difference"], ["square"]),
            node("Equal", ["both", "zero"], ["nothing"]),
            # Two zeros differ by nothing, although the formula says 0/0.
            node("Div", ["square", "both"], ["quotient"]),
            node("Where", ["nothing", "zero", "quotient"], ["term"]),
        ]
    body.append(node("Add", ["sum", "term"], ["next"]))
    count = len(vectors)
    inner = onnx.helper.make_graph(
        body,
        "one_feature",
        [info("sum", kind, ["rows", count]), info("of_x", kind, ["rows"]), info("of_z", kind, [count])],
        [info("next", kind, ["rows", count])],
    )
    start = g.add("MatMul", x, g.constant(np.zeros((vectors.shape[1], count))))
    turned = g.add("Transpose", x, perm=[1, 0])
    return g.add("Scan", start, turned, g.constant(vectors.T), body=inner, num_scan_inputs=2)


# ------------------------------------------------------------ a kernel's value of a sample with itself


def own_values(vectors: Floats, kernel: Parts) -> Floats:
    """``k(z, z)`` of every vector."""
    name, gamma, coef0 = kernel["type"], kernel.get("gamma", 0.0), kernel.get("coef0", 0.0)
    inner = (vectors**2).sum(axis=1)
    if name == "sum":
        return np.sum([weight * own_values(vectors, term) for weight, term in kernel["terms"]], axis=0)
    if name == "linear":
        return inner
    if name == "poly":
        return (gamma * inner + coef0) ** kernel["degree"]
    if name == "sigmoid":
        return np.tanh(gamma * inner + coef0)
    return np.full(len(vectors), _at_distance_zero(name, coef0))


def _own_nodes(g: Graph, x: str, kernel: Parts) -> str:
    """The same for the rows of a table, as a column."""
    name = kernel["type"]
    lengths = g.row_sum(g.add("Mul", x, x))
    if name in _INNER:
        return _finish(g, g.times(lengths, kernel.get("gamma", 1.0)), kernel)
    if name == "sum":
        total = ""
        for weight, term in kernel["terms"]:
            value = g.times(_own_nodes(g, x, term), weight)
            total = g.add("Add", total, value) if total else value
        return total
    return g.add("Add", g.times(lengths, 0.0), g.constant(_at_distance_zero(name, kernel.get("coef0", 0.0))))


def _at_distance_zero(name: str, coef0: float) -> float:
    values: dict[str, Any] = {"multiquadric": abs(coef0), "inverse_multiquadric": 1.0 / abs(coef0) if coef0 else np.inf}
    return float(values.get(name, 1.0))
