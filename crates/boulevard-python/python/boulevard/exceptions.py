"""Exceptions and warnings of boulevard.

Each is also of the built-in kind that scikit-learn users expect: everything about input is a ``ValueError``.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = [
    "BoulevardError",
    "ConvergenceWarning",
    "DataError",
    "FileFormatError",
    "InternalError",
    "MemoryLimitError",
    "NotFiniteError",
    "NotFittedError",
    "ParameterError",
    "ShapeError",
]


class BoulevardError(Exception):
    """Any error of the native part."""


class ParameterError(BoulevardError, ValueError):
    """A parameter outside its range."""


class DataError(BoulevardError, ValueError):
    """Data that are well formed but cannot be learnt from."""


class NotFiniteError(DataError):
    """A NaN or an infinity in the data."""


class ShapeError(DataError):
    """Two things that must have the same size do not."""


class FileFormatError(BoulevardError, ValueError):
    """A file that cannot be used."""


class MemoryLimitError(BoulevardError, MemoryError):
    """``memory_limit`` does not hold even the smallest working set."""


class InternalError(BoulevardError, RuntimeError):
    """A bug in boulevard."""
