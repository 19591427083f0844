"""A small builder of ONNX graphs: constants and operators by name, in one floating point type."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats
from ..exceptions import ExportError

if TYPE_CHECKING:
    import onnx

#: The operators' version. Everything used has had its present form since then.
OPSET = 18
#: The file's version that goes with it: runtimes refuse files that are newer than they are.
IR_VERSION = 8


def onnx_module() -> Any:
    """The package ``onnx``, or what to install."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX files need the package onnx: pip install boulevard[onnx]") from error
    return onnx


class Graph:
    """Nodes and constants; methods return the name of their result."""

    def __init__(self, compute: str, prefix: str = "") -> None:
        self.onnx = onnx_module()
        self.compute = np.dtype(compute)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._prefix, self._taken = prefix, 0

    def name(self, stem: str) -> str:
        """A name that nothing else has."""
        self._taken += 1
        return f"{self._prefix}{stem.lower()}_{self._taken}"

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant; numbers are of the graph's own type unless another is given."""
        array = np.asarray(value, dtype=dtype or self.compute)
        name = self.name("c")
        if array.dtype.kind in "UO":
            # Strings have no buffer that ONNX could take over.
            tensor = self.onnx.helper.make_tensor(
                name, self.onnx.TensorProto.STRING, array.shape, [str(one).encode() for one in array.ravel()]
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(array if array.flags.c_contiguous else array.copy(order="C"), name)
        self.constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """One operator with a single result."""
        result = self.name(operator)
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [result], **attributes))
        return result

    def add_as(self, result: str, operator: str, *inputs: str, **attributes: Any) -> str:
        """One operator whose result has the given name."""
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [result], **attributes))
        return result

    def type_of(self, dtype: Any) -> int:
        """ONNX's number of a type."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    # ------------------------------------------------------------ short words for what occurs often

    def cast(self, value: str, dtype: Any) -> str:
        """The values in another type."""
        return self.add("Cast", value, to=self.type_of(dtype))

    def number(self, value: str) -> str:
        """Truth values, or whole numbers, as numbers of the graph's type."""
        return self.cast(value, self.compute)

    def plus(self, value: str, constant: Any) -> str:
        """A constant added, unless it is zero everywhere."""
        return self.add("Add", value, self.constant(constant)) if np.any(constant) else value

    def times(self, value: str, constant: Any) -> str:
        """A constant factor.

        A scalar is written as a 1 x 1 table: onnxruntime moves scalar factors into a preceding product, as a number in single precision.
        """
        return self.add("Mul", value, self.constant(np.reshape(constant, (1, 1)) if np.ndim(constant) == 0 else constant))

    def row_sum(self, value: str) -> str:
        """Sums of rows, as a column."""
        return self.add("ReduceSum", value, self.constant([1], np.int64), keepdims=1)

    def row_max(self, value: str) -> str:
        """Largest values of rows, as a column."""
        return self.add("ReduceMax", value, self.constant([1], np.int64), keepdims=1)

    def linear(self, value: str, weights: Floats, biases: Floats) -> str:
        """``value @ weights.T + biases``"""
        return self.plus(self.add("MatMul", value, self.constant(weights.T)), biases)

    def positive(self, value: str) -> str:
        """Whether values are above zero."""
        return self.add("Greater", value, self.constant(0.0))

    def columns(self, value: str, chosen: NDArray[np.int64] | list[int]) -> str:
        """Some columns."""
        return self.add("Gather", value, self.constant(chosen, np.int64), axis=1)

    def model(self, features: int, dtype: str, outputs: list[tuple[str, Any, list[Any]]], name: str, about: dict[str, str]) -> Any:
        """The whole as a checked ONNX model: one input ``X``, and the outputs with their types and shapes."""
        helper = self.onnx.helper
        taken = helper.make_tensor_value_info("X", self.type_of(dtype), ["rows", features])
        given = [helper.make_tensor_value_info(one, self._value_type(kind), shape) for one, kind, shape in outputs]
        graph = helper.make_graph(self.nodes, name, [taken], given, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="boulevard")
        helper.set_model_props(model, about)
        if model.ByteSize() > 2**31 - 1:
            raise ExportError(
                f"the model takes {model.ByteSize() / 2**30:.1f} GiB, and a single ONNX file holds 2 GiB",
                "use dtype='float32' with compute='float32', or a model with fewer support vectors (a larger tol does not help; a linear "
                "kernel or a smaller table does)",
            )
        self.onnx.checker.check_model(model)
        return model

    def _value_type(self, kind: Any) -> int:
        return int(self.onnx.TensorProto.STRING) if np.dtype(kind).kind in "UO" else self.type_of(kind)
