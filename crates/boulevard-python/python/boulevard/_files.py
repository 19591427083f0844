"""Models from files in boulevard's own format, and which class a kind of model belongs to."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core
from ._notes import Note
from .exceptions import FileFormatError

if TYPE_CHECKING:
    from ._base import NativeEstimator

__all__ = ["load"]

_Class = TypeVar("_Class", bound=type[Any])
_CLASSES: dict[str, list[type["NativeEstimator"]]] = {}


def loads(kind: str) -> Callable[[_Class], _Class]:
    """Marks a class as the one for models of a kind; where several classes share a kind, their ``_fits`` tells whose model it is."""

    def register(cls: _Class) -> _Class:
        _CLASSES.setdefault(kind, []).append(cls)
        return cls

    return register


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved with ``save``, by the command line, or by the Rust library.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : estimator instance
        A fitted estimator of the class that fits the file. One that Python saved has all its parameters and labels again; in other files
        class labels are numbers (or truth values) if all names are. A model that scales its columns first (``boulevard train --scale``)
        takes tables as they are; its ``scaling_`` says how, and its support vectors, coefficients and rules are those of scaled columns.

    Examples
    --------
    >>> import os, tempfile
    >>> import boulevard
    >>> clf = boulevard.SVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(os.path.join(folder, "model"))
    ...     again = boulevard.load(os.path.join(folder, "model"))
    >>> again.predict([[0.9]])
    array(['yes'], dtype='<U3')
    """
    model = _core.Model.load(os.fspath(path))
    try:
        classes = [cls for cls in _CLASSES.get(model.kind, ()) if cls._fits(model)]
        # The class that saved it, if one of ours did: several may fit.
        saved_by = Note(model).estimator
        for cls in sorted(classes, key=lambda cls: cls.__name__ != saved_by):
            return cls._from_native(model)
        raise FileFormatError(f"models of kind {model.kind!r} cannot be used from Python yet")
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)}: {error}") from None
