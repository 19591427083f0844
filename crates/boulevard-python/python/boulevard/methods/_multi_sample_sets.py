"""Sets of samples: which rows of a table belong together, and the label they share."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, column_or_1d

from .._typing import Labels
from ..exceptions import DataError, ParameterError


class Sets:
    """Samples in one table, and which rows belong together."""

    def __init__(self, X: Any, offsets: NDArray[np.int64], members: NDArray[np.int64], names: Any) -> None:
        self.X = X
        self.offsets = offsets
        self.members = members
        self.names = names

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def codes(self) -> NDArray[np.int64]:
        """The place of every row's set."""
        codes = np.empty(len(self.members), dtype=np.int64)
        codes[self.members] = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return codes


def _is_list_of_tables(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(np.ndim(x) == 2 if not sp.issparse(x) else True for x in X)


def _stack(X: Any) -> Any:
    """The samples of all sets in one table, with the names they have."""
    if isinstance(X, np.ndarray):
        return X.reshape(-1, X.shape[2])
    if any(sp.issparse(x) for x in X):
        return sp.vstack(X, format="csr")
    if all(hasattr(x, "iloc") for x in X):
        import pandas

        return pandas.concat(X, ignore_index=True)
    if all(hasattr(x, "vstack") and hasattr(x, "columns") for x in X):
        import polars

        return polars.concat(X)
    widths = {np.shape(x)[1] for x in X}
    if len(widths) > 1:
        raise DataError(f"the samples of all sets must have the same number of features, found {sorted(widths)}")
    return np.concatenate([np.asarray(x) for x in X])


def _ends(sizes: Any) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def read_sets(X: Any, groups: Any) -> Sets:
    """Sets from a table with groups, a 3-D array, a list of tables, or a table whose rows are sets of their own."""
    if _is_list_of_tables(X) or (isinstance(X, np.ndarray) and X.ndim == 3):
        if groups is not None:
            raise ParameterError("groups go with a table of samples; a 3-D array and a list of arrays are sets already", "groups")
        sizes = [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]
        if 0 in sizes:
            raise DataError(f"set {sizes.index(0)} is empty: a decision needs at least one sample")
        offsets = _ends(sizes)
        return Sets(_stack(X), offsets, np.arange(offsets[-1]), np.arange(len(sizes)))
    n = _num_samples(X)
    if groups is None:
        return Sets(X, np.arange(n + 1), np.arange(n), None)
    groups = column_or_1d(groups)
    if len(groups) != n:
        raise DataError(f"groups, one per row: expected {n}, found {len(groups)}")
    if groups.dtype.kind == "f" and not np.isfinite(groups).all():
        raise DataError(f"groups contain {groups[~np.isfinite(groups)][0]} at row {np.flatnonzero(~np.isfinite(groups))[0]}")
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    members = np.argsort(codes, kind="stable").astype(np.int64)
    return Sets(X, _ends(counts), members, names)


def written(value: Any) -> Any:
    """A label or the name of a group as Python writes it: 1 instead of np.int64(1)."""
    return value.item() if isinstance(value, np.generic) else value


def labels_of_sets(y: Any, sets: Sets) -> Labels:
    """One label per set, from labels of sets or of rows; mixed labels are an error."""
    y = np.asarray(y)
    if len(y) == len(sets) and len(y) != len(sets.members):
        return y
    if len(y) != len(sets.members):
        raise DataError(f"labels, one per row or one per set: expected {len(sets.members)} or {len(sets)}, found {len(y)}")
    first = y[sets.members[sets.offsets[:-1]]]
    mixed = np.flatnonzero(y[sets.members] != np.repeat(first, np.diff(sets.offsets)))
    if len(mixed):
        place = np.searchsorted(sets.offsets, mixed[0], side="right") - 1
        name = place if sets.names is None else sets.names[place]
        one, other = written(first[place]), written(y[sets.members[mixed[0]]])
        raise DataError(f"the samples of a set share one label: set {written(name)!r} has {one!r} and {other!r}")
    return first


def weights_of_sets(weights: Any, sets: Sets) -> Any:
    """One weight per set; a set weighs the sum of its samples."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=float)
    if len(weights) == len(sets.members) != len(sets):
        weights = np.add.reduceat(weights[sets.members], sets.offsets[:-1])
    return weights
