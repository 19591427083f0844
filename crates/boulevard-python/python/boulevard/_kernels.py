"""The kernels that have a name: one catalogue for all estimators and for files."""

from collections.abc import Mapping
from typing import Any

from .exceptions import FileFormatError, ParameterError

#: Every kernel with the parameters it has, and what these are in a list of base kernels or between sets where nothing is given.
#: There a polynomial's gamma is 1, ``(x.z + coef0)^degree``; estimators have parameters with defaults of their own.
CATALOGUE: dict[str, dict[str, Any]] = {
    "linear": {},
    "poly": {"degree": 3, "gamma": 1.0, "coef0": 0.0},
    "rbf": {"gamma": "scale"},
    "sigmoid": {"gamma": "scale", "coef0": 0.0},
    "laplacian": {"gamma": "scale"},
    "epanechnikov": {"gamma": "scale", "degree": 1},
    "multiquadric": {"gamma": "scale", "coef0": 1.0},
    "inverse_multiquadric": {"gamma": "scale", "coef0": 1.0},
    "chi_squared": {"gamma": 1.0},
}
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
