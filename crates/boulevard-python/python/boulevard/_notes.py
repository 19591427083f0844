"""What an estimator leaves in a model file for itself: its parameters and labels as they were given.

The native part keeps what the model was fitted with; threads, shapes of answers, labels of certain types and the like mean nothing to it.
They go into the file's note, a JSON text under the file's checksum that other programs ignore. Nothing in it is code.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._typing import Parts

if TYPE_CHECKING:
    from . import _core
    from ._base import NativeEstimator

_PLAIN = (bool, int, float, str, type(None))


class _Strange(Exception):
    """A value that JSON cannot hold."""


def _coded(value: Any) -> Any:
    """A value as JSON: plain ones as they are, others as a dictionary that names their kind."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return _coded(value.item())
    if isinstance(value, np.dtype) and value.kind in "biufU":
        return {"dtype": value.str}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_coded(part) for part in value]} if type(value) in (list, tuple) else _coded(list(value))
    if isinstance(value, dict):
        return {"dict": [[_coded(key), _coded(part)] for key, part in value.items()]}
    if isinstance(value, np.ndarray) and (value.dtype.kind in "biufU" or all(type(part) is str for part in value.flat)):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    raise _Strange


def _decoded(value: Any) -> Any:
    """The value that was coded."""
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=np.dtype(value["dtype"]))
    if "dtype" in value:
        return np.dtype(value["dtype"])
    if "dict" in value:
        return {_decoded(key): _decoded(part) for key, part in value["dict"]}
    kind: Callable[[Any], Any] = tuple if "tuple" in value else list
    return kind(_decoded(part) for part in value["tuple" if "tuple" in value else "list"])


def _all_coded(values: Parts) -> Parts:
    """Those that can be kept; what cannot (kernel functions, random states) is only named."""
    coded = {}
    for name, value in values.items():
        try:
            coded[name] = _coded(value)
        except _Strange:
            coded[name] = {"lost": getattr(value, "__qualname__", type(value).__qualname__)}
    return coded


def write(estimator: "NativeEstimator") -> str:
    """The note of an estimator."""
    attributes = {name: estimator.__dict__[name] for name in estimator._noted if name in estimator.__dict__}
    return json.dumps(
        {
            "estimator": type(estimator).__name__,
            "parameters": _all_coded(estimator.get_params(deep=False)),
            "attributes": _all_coded(attributes),
        }
    )


class Note:
    """The note of a file, empty where there is none or another program wrote it."""

    def __init__(self, model: "_core.Model") -> None:
        said = _parsed(model.note)
        self.estimator: str | None = said.get("estimator")
        self.parameters = _known(said.get("parameters"))
        self.attributes = _known(said.get("attributes"))


def _parsed(note: str | None) -> Parts:
    try:
        said = json.loads(note or "{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _known(coded: Any) -> Parts:
    """Values by name, without those that were lost or that cannot be understood."""
    values = {}
    for name, value in coded.items() if isinstance(coded, dict) else ():
        if isinstance(value, dict) and "lost" in value:
            continue
        try:
            values[name] = _decoded(value)
        except (KeyError, TypeError, ValueError):
            continue
    return values
