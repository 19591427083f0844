"""A fitted model as plain arrays and a header, read from the bytes of its own file.

Files are the one place where every model says everything that a prediction needs, under names that keep their meaning; so exports read
them and need nothing else of the native part.
"""

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._base import NativeEstimator
from .._typing import Floats, Parts
from ..exceptions import ExportError

_TYPES = {"F64": "<f8", "F32": "<f4", "U64": "<u8", "U8": "u1"}


@dataclass
class Record:
    """What a model file holds."""

    kind: str
    #: Everything that is not an array.
    header: Parts
    arrays: dict[str, NDArray[Any]]
    #: The map of every column before the model sees it, ``a * x + b``; none where columns are taken as they are.
    scaling: tuple[Floats, Floats] | None = None
    #: What takes the place of a missing value in every column, before that.
    fill: Floats | None = None

    @property
    def sigmoids(self) -> Floats | None:
        """Slope and shift of the sigmoid of every output, where probabilities were fitted."""
        return self.arrays.get("sigmoids")

    @property
    def sharpening(self) -> Floats | None:
        """The power of coupled probabilities and then the shift of every class, if any, where these were fitted."""
        return self.arrays.get("sharpening")


@dataclass
class Machine:
    """A kernel machine: ``K(x, vectors) @ coefficients.T + intercepts``."""

    kernel: Parts
    vectors: Floats
    #: Columns of a precomputed kernel that belong to support vectors.
    support: NDArray[np.int64]
    coefficients: Floats
    intercepts: Floats
    pairwise: bool


def read(estimator: Any) -> Record:
    """The record of a fitted estimator; says what to do with one that has none."""
    if not isinstance(estimator, NativeEstimator):
        raise ExportError(
            f"{type(estimator).__name__} is not an estimator of boulevard", "use the exporter of the package that it comes from"
        )
    check_is_fitted(estimator)
    if callable(getattr(estimator, "kernel", None)):
        raise ExportError(
            "the kernel is a Python function, which no other language can call",
            "use a kernel with a name, or kernel='precomputed' and compute the kernel values where the model runs",
        )
    return open_bytes(bytes(estimator._native.to_bytes()))


def open_bytes(content: bytes) -> Record:
    """The record in the bytes of a model file."""
    (length,) = struct.unpack("<Q", content[:8])
    entries = json.loads(content[8 : 8 + length])
    about = json.loads(entries.pop("__metadata__")["boulevard"])
    data = memoryview(content)[8 + length :]
    arrays = {
        name: np.frombuffer(data[slice(*entry["data_offsets"])], dtype=_TYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in entries.items()
    }
    if about["kind"] == "scaled":
        inner = open_bytes(arrays["model"].tobytes())
        scaler, imputer = about["model"].get("scaler"), about["model"].get("imputer")
        inner.scaling = None if scaler is None else _affine(scaler)
        # A model that leaves rows with holes out has no values for them.
        inner.fill = np.array(imputer["values"]) if imputer and imputer["values"] else None
        return inner
    return Record(about["kind"], about["model"], arrays)


def _affine(scaler: Parts) -> tuple[Floats, Floats]:
    """Factor and constant of every column."""
    scaling, maps = scaler["scaling"], scaler["maps"]
    low, high = (scaling["min_max"]["low"], scaling["min_max"]["high"]) if isinstance(scaling, dict) else (0.0, 1.0)
    factors, constants = np.ones(len(maps)), np.zeros(len(maps))
    for j, column in enumerate(maps):
        origin, spread = column["origin"], column["spread"]
        if spread:
            factors[j] = (high - low) / spread
            constants[j] = low - factors[j] * origin
        elif isinstance(scaling, dict):
            factors[j] = 0.0
        else:
            constants[j] = -origin
    return factors, constants


def machine(record: Record, described: Parts, prefix: str = "") -> Machine:
    """One of a record's kernel machines, with a row of coefficients for every output."""
    arrays = record.arrays
    coefficients, intercepts = arrays[prefix + "coefficients"], arrays[prefix + "intercepts"]
    if described["storage"] == "sparse":
        offsets, columns = arrays[prefix + "vectors.offsets"].astype(np.int64), arrays[prefix + "vectors.columns"].astype(np.int64)
        shape = (len(offsets) - 1, described["features"])
        vectors = sp.csr_matrix((arrays[prefix + "vectors.values"], columns, offsets), shape=shape).toarray()
    else:
        vectors = arrays[prefix + "vectors"].astype(np.float64)
    layout = described["layout"]
    if isinstance(layout, dict):
        coefficients = _by_pair(coefficients, layout["pairs"], len(intercepts))
    support = arrays[prefix + "support"].astype(np.int64)
    return Machine(described["kernel"], vectors, support, coefficients, intercepts, isinstance(layout, dict))


def _by_pair(coefficients: Floats, counts: list[int], pairs: int) -> Floats:
    """One row per pair of classes from LIBSVM's layout, in which a support vector has one coefficient per other class."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    part = [slice(ends[i], ends[i + 1]) for i in range(len(counts))]
    full = np.zeros((pairs, ends[-1]))
    row = 0
    for i in range(len(counts)):
        for j in range(i + 1, len(counts)):
            full[row, part[i]] = coefficients[j - 1, part[i]]
            full[row, part[j]] = coefficients[i, part[j]]
            row += 1
    return full
