"""The kernels that have a name: the native part's catalogue, for all estimators and for files."""

import json
from collections.abc import Mapping
from typing import Any

from . import _core
from .exceptions import FileFormatError, ParameterError

#: The parameters of every kernel, with their defaults in a list of base kernels or between sets; estimators have defaults of their own.
CATALOGUE: dict[str, dict[str, Any]] = {
    kernel["name"]: dict(kernel["parameters"]) for kernel in json.loads(_core.kernels()) if kernel["name"] != "precomputed"
}
# Base kernels of these kinds are taken as they are written, (x.z + coef0)^degree: no factor that follows the data.
for _name in ("poly", "chi_squared"):
    CATALOGUE[_name]["gamma"] = 1.0
#: What ``kernel`` may be, functions apart.
KERNELS = {*CATALOGUE, "precomputed"}


def describe_kernel(kernel: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel by name with the parameters it has, for the native part."""
    if kernel not in KERNELS:
        raise ParameterError(f"kernel must be one of {sorted(KERNELS)}, got {kernel!r}", "kernel")
    described: dict[str, Any] = {"type": kernel}
    for name in CATALOGUE.get(kernel, ()):
        value = values[name]
        described[name] = int(value) if name == "degree" else value if isinstance(value, str) else float(value)
    return described


def describe_base_kernel(entry: Any) -> dict[str, Any]:
    """One entry of a list of base kernels, a name or a name with parameters, for the native part."""
    if isinstance(entry, str):
        entry = (entry, {})
    if not isinstance(entry, list | tuple) or len(entry) != 2 or not isinstance(entry[0], str) or not isinstance(entry[1], dict):
        raise ValueError(f"a base kernel is a name or a pair of a name and a dict of parameters, got {entry!r}")
    name, given = entry
    if name not in CATALOGUE:
        raise ValueError(f"base kernel {name!r} is unknown: known are {', '.join(sorted(CATALOGUE))}")
    for key in given:
        if key not in CATALOGUE[name]:
            raise ValueError(f"base kernel {name!r} has no parameter {key!r}: it has {', '.join(CATALOGUE[name]) or 'none'}")
    return describe_kernel(name, {**CATALOGUE[name], **given})


def kernel_parameters(described: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters ``kernel``, ``gamma``, ... of an estimator from a file."""
    values = dict(described)
    name = values.pop("type")
    if name not in KERNELS:
        raise FileFormatError(f"kernel {name!r} has no name in the Python package")
    return {"kernel": name, **values}
