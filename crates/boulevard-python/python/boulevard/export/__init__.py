"""Fitted models in other languages: ONNX graphs, Python and SQL text, JSON."""

from ._onnx import to_onnx
from ._skl2onnx import register_skl2onnx
from ._text import to_json, to_python, to_sql

__all__ = ["register_skl2onnx", "to_json", "to_onnx", "to_python", "to_sql"]
