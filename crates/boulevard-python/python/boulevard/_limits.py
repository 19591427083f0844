"""What the shared parameters stand for: threads, seeds, and their allowed values."""

import os
import threading
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ._typing import RandomState

#: Constraints of the parameters that every estimator has.
SHARED_LIMITS: dict[str, list[Any]] = {
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
    "max_time": [None, Interval(Real, 0, None, closed="neither")],
    "memory_limit": [None, Interval(Integral, 1, 2**63 - 1, closed="both")],
    "random_state": ["random_state"],
}
#: Of those that fit kernel machines: the native part knows which names there are.
DEVICE_LIMITS: dict[str, list[Any]] = {"device": [str]}


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


def plain(value: Any) -> Any:
    """A number, text, truth value or None that JSON can say."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return int(value) if isinstance(value, Integral) else float(value)
