"""Our estimators inside pipelines and searches of scikit-learn: converters for skl2onnx, where that is installed."""

from typing import Any

import numpy as np

from .._base import NativeEstimator
from ..exceptions import ExportError
from ._graph import OPSET

__all__ = ["register_skl2onnx"]


def _classes() -> list[type[Any]]:
    """Every estimator that can be written."""
    from .. import methods, svm

    every = [getattr(room, name) for room in (svm, methods) for name in room.__all__]
    return [cls for cls in every if issubclass(cls, NativeEstimator) and cls.__name__ != "MultiSampleClassifier"]


def register_skl2onnx() -> None:
    """Teach skl2onnx our estimators, so that ``skl2onnx.to_onnx`` converts pipelines around them.

    Call it once per process. Outputs are those of :func:`boulevard.to_onnx`: ``label`` and ``decision`` for classifiers (no ZipMap),
    ``probabilities`` where they are fitted, ``prediction`` for regressors. Numbers are computed in double precision inside.

    Examples
    --------
    >>> import boulevard, skl2onnx  # doctest: +SKIP
    >>> boulevard.export.register_skl2onnx()  # doctest: +SKIP
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1])  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError("converters for pipelines need skl2onnx: pip install skl2onnx") from error
    for cls in _classes():
        update_registered_converter(cls, f"Boulevard{cls.__name__}", _shapes, _convert, overwrite=True, parser=_parse)


def convert_pipeline(model: Any, dtype: str) -> Any:
    """A scikit-learn estimator around one of ours, by skl2onnx."""
    if not any(isinstance(step, NativeEstimator) for _, step in getattr(model, "steps", [])):
        raise ExportError(
            f"{type(model).__name__} is neither an estimator of boulevard nor a pipeline with one",
            "call boulevard.export.register_skl2onnx() and use skl2onnx.to_onnx",
        )
    register_skl2onnx()
    import skl2onnx

    return skl2onnx.to_onnx(model, np.zeros((1, model.n_features_in_), dtype=dtype), target_opset=OPSET)


def _written(operator: Any) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType

    from ._onnx import write

    kind = operator.inputs[0].type
    return write(operator.raw_operator, "float64" if isinstance(kind, DoubleTensorType) else "float32", "float64", "auto")


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declares the operator and its outputs."""
    operator = scope.declare_local_operator(f"Boulevard{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    for name, kind, shape in _written(operator).outputs:
        operator.outputs.append(scope.declare_local_variable(name, _variable_type(kind, shape)))
    return operator.outputs


def _variable_type(kind: Any, shape: list[Any]) -> Any:
    from skl2onnx.common import data_types as types

    dtype = np.dtype(kind)
    names = {"i": "Int64", "b": "Boolean", "U": "String", "f": "Double" if dtype.itemsize == 8 else "Float"}
    return getattr(types, f"{names[dtype.kind]}TensorType")([None, *shape[1:]])


def _shapes(operator: Any) -> None:
    """Types and shapes are known since the operator was declared."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Puts the nodes of our own graph into the larger one, under names of their own."""
    written = _written(operator)
    g = written.graph
    names = {"X": operator.inputs[0].full_name}
    names.update({name: variable.full_name for (name, _, _), variable in zip(written.outputs, operator.outputs, strict=True)})

    def renamed(name: str) -> str:
        if name and name not in names:
            names[name] = scope.get_unique_variable_name(name)
        return names.get(name, "")

    for constant in g.constants:
        array = g.onnx.numpy_helper.to_array(constant)
        values = [one if isinstance(one, bytes) else str(one).encode() for one in array.ravel()] if array.dtype.kind in "OSU" else None
        container.add_initializer(
            renamed(constant.name), constant.data_type, list(constant.dims), array.ravel() if values is None else values
        )
    for node in g.nodes:
        attributes = {one.name: g.onnx.helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type,
            [renamed(name) for name in node.input],
            [renamed(name) for name in node.output],
            op_version=OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
