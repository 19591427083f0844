"""Parameters: how classes declare them, what they may be, and what those that all have stand for."""

import inspect
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ._typing import RandomState

_Class = TypeVar("_Class", bound=type[Any])

#: Numbers that parameters may be.
Positive = Annotated[float, Interval(Real, 0.0, None, closed="neither")]
NotNegative = Annotated[float, Interval(Real, 0.0, None, closed="left")]
Share = Annotated[float, Interval(Real, 0.0, 1.0, closed="right")]
Price = Annotated[float, Interval(Real, 0.0, None, closed="right")]
Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
Steps = Annotated[int, Interval(Integral, -1, None, closed="left")]
Seed = Annotated[RandomState, "random_state"]


def _limits(annotation: Any) -> list[Any]:
    """What scikit-learn is to check: the words, truth values and None of a type, and the limits that are noted beside it."""
    noted = list(getattr(annotation, "__metadata__", ()))
    kind = annotation.__origin__ if noted else annotation
    found: list[Any] = []
    for member in get_args(kind) if get_origin(kind) in (Union, UnionType) else [kind]:
        if get_origin(member) is Literal:
            found.append(StrOptions(set(get_args(member))))
        elif member is bool:
            found.append("boolean")
        elif member is NoneType:
            # A seed's limit speaks of None itself.
            found += [] if "random_state" in noted else [None]
        elif get_origin(member) is Mapping:
            found.append(dict)
        elif get_origin(member) is Annotated:
            noted += member.__metadata__
        elif not noted:
            found.append(member)
    return [*found, *noted]


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(cls: _Class) -> _Class:
    """Makes ``__init__`` of the annotated fields of a class and of its bases: it stores them by name and does nothing else, as
    scikit-learn wants it. What they may be follows from their types and the limits beside them; ``_parameter_constraints`` is for the rest.
    Fitted attributes are annotated in classes that are not marked."""
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    # ``__init__`` knows the defaults; a class has no such attributes.
    for name in {one.name for one in fields(cls)} & cls.__dict__.keys():
        delattr(cls, name)
    own, given = inspect.get_annotations(cls), cls.__dict__.get("_parameter_constraints", {})
    limits = {name: _limits(own[name]) for name in own if name in cls.__dataclass_fields__ and own[name] is not Any}
    known = {name: found for base in reversed(cls.__mro__[1:]) for name, found in getattr(base, "_parameter_constraints", {}).items()}
    cls._parameter_constraints = {**known, **limits, **given}
    # Shown with the class's own parameters first, and those that all have last, without limits.
    shown, types = inspect.signature(cls.__init__), get_type_hints(cls)
    depth = {name: number for number, base in reversed([*enumerate(cls.__mro__)]) for name in inspect.get_annotations(base)}
    plain = [one.replace(annotation=types.get(one.name, one.annotation)) for one in shown.parameters.values()]
    ordered = sorted(plain, key=lambda one: (one.kind, one.name != "self", depth.get(one.name, 0)))
    cls.__init__.__signature__ = shown.replace(parameters=ordered)
    return cls


@parameters
class SharedParameters:
    """What every estimator has."""

    n_jobs: Annotated[int | None, Integral] = None
    verbose: Annotated[int, "verbose"] = 0
    max_time: Annotated[float | None, Interval(Real, 0, None, closed="neither")] = None
    memory_limit: Annotated[int | None, Interval(Integral, 1, 2**63 - 1, closed="both")] = None


def count_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` stands for.

    None means all cores that the process may use (``OMP_NUM_THREADS``, which joblib's workers set, counts), but one when the call
    comes from a thread other than the main one: whoever made that thread is already sharing out the cores. Results do not depend on it.
    """
    if n_jobs is None:
        if threading.current_thread() is not threading.main_thread():
            return 1
        given = os.environ.get("OMP_NUM_THREADS", "")
        cores = _cores()
        return max(1, min(cores, int(given))) if given.isdigit() else cores
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 in Parallel has no meaning")
    return max(1, _cores() + 1 + n_jobs) if n_jobs < 0 else int(n_jobs)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def seed_of(random_state: RandomState) -> int:
    """A number for ``random_state``; None is 0, so that runs repeat."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


class Whole(Interval):
    """Whole numbers between bounds. Truth values, which Python counts among them, are none: ``True`` is a mistake, not 1."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether it is one."""
        return not isinstance(val, bool | np.bool_) and bool(super().is_satisfied_by(val))


def read_count(name: str, value: Any) -> int:
    """A number of things to show, which may be 0."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}")
    return int(value)


def plain(value: Any) -> Any:
    """A number, text, truth value or None that JSON can say."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return int(value) if isinstance(value, Integral) else float(value)
