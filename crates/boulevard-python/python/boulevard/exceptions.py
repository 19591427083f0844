"""Exceptions and warnings of boulevard.

Each is also of the built-in kind that scikit-learn users expect: everything about input is a ``ValueError``.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = [
    "BoulevardError",
    "ConvergenceWarning",
    "DataError",
    "DeviceError",
    "ExportError",
    "FileFormatError",
    "InternalError",
    "MemoryLimitError",
    "NotFiniteError",
    "NotFittedError",
    "ParameterError",
    "ShapeError",
    "TooLargeError",
]


class BoulevardError(Exception):
    """Any error of the native part."""


class ParameterError(BoulevardError, ValueError):
    """A parameter outside its range.

    Attributes
    ----------
    name : str or None
        The parameter, where the complaint is about a single one.
    owner : str or None
        What it is a parameter of.
    allowed : str or None
        What would be accepted, in words.
    found : str or None
        What was given, as text.
    """

    def __init__(
        self, message: str = "", name: str | None = None, *, owner: str | None = None, allowed: str | None = None, found: str | None = None
    ) -> None:
        super().__init__(message)
        self.name, self.owner, self.allowed, self.found = name, owner, allowed, found


class DataError(BoulevardError, ValueError):
    """Data that are well formed but cannot be learnt from."""


class TooLargeError(DataError):
    """Numbers so large that what is computed from them is no longer finite."""


class NotFiniteError(DataError):
    """A NaN or an infinity in the data."""


class ShapeError(DataError):
    """Two things that must have the same size do not."""


class FileFormatError(BoulevardError, ValueError):
    """A file that cannot be used."""


class ExportError(BoulevardError, ValueError):
    """A model that cannot be written in the form asked for.

    Attributes
    ----------
    part : str
        What stands in the way.
    instead : str
        What to use instead.
    """

    def __init__(self, part: str, instead: str) -> None:
        super().__init__(part, instead)
        self.part, self.instead = part, instead

    def __str__(self) -> str:
        return f"cannot be exported: {self.part}; {self.instead}"


class MemoryLimitError(BoulevardError, MemoryError):
    """``memory_limit``, or the memory that is free where there is no limit, does not hold even the smallest working set."""


class DeviceError(BoulevardError, RuntimeError):
    """The device that was asked for cannot be used."""


class InternalError(BoulevardError, RuntimeError):
    """A bug in boulevard."""
