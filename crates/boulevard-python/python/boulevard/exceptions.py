"""Exceptions and warnings of boulevard.

Each is also of the built-in kind that scikit-learn users expect: everything about input is a ``ValueError``.
"""

import re

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
    """A parameter outside its range.

    Attributes
    ----------
    name : str or None
        The parameter, where the complaint is about a single one.
    """

    def __init__(self, message: str = "", name: str | None = None) -> None:
        super().__init__(message)
        if name is None:
            # The one place that reads it out of the sentence; everybody else asks the attribute.
            found = re.search(r"parameter `(\w+)`", message)
            name = found.group(1) if found else None
        self.name = name


class DataError(BoulevardError, ValueError):
    """Data that are well formed but cannot be learnt from."""

    @property
    def is_overflow(self) -> bool:
        """Whether numbers were too large to be computed with."""
        return "overflow" in str(self)


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
