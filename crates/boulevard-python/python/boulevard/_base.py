"""What all estimators share: parameters, input, the call into the native part, pickling and files.

A new estimator gives ``_parameter_constraints``, builds its parameters as JSON, calls :meth:`NativeEstimator._run` and reads the
model's parts; see ``_kernel_estimator.py``.
"""

import os
import threading
import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _progress
from .exceptions import DataError

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin, which the installed version does not have."""

    def with_callbacks(method):
        """Changes nothing."""
        return method


__all__ = ["CallbackSupportMixin", "NativeEstimator", "shared_constraints", "with_callbacks"]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_PLAIN = (float, int, str, bool, type(None))

#: Constraints of the parameters that every estimator has.
shared_constraints = {
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
    "max_time": [None, Interval(Real, 0, None, closed="neither")],
    "memory_limit": [None, Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


def count_threads(n_jobs):
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


def _cores():
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def seed_of(random_state):
    """A number for ``random_state``; None is 0, so that runs repeat."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _frozen(values):
    """A key for plain values, or lists and dictionaries of them, that tells 1 from 1.0 and True; None where something else is inside."""
    parts = []
    for value in values:
        kind = type(value)
        if kind not in _PLAIN:
            if kind in (list, tuple):
                value = _frozen(value)
            elif kind is dict:
                value = _frozen([*value.keys(), *value.values()])
            else:
                return None
            if value is None:
                return None
        parts.append((kind, value))
    return tuple(parts)


class NativeEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators: the native model is in ``_native``, which is never replaced except by ``fit``."""

    # The parameters are those of the class it stands in for; its page explains them.
    _doc_link_module = "boulevard"
    _doc_link_template = "https://scikit-learn.org/stable/modules/generated/sklearn.svm.{estimator_name}.html"
    _valid_parameters = None
    _target_kinds = "biuf"

    # ------------------------------------------------------------ parameters

    def _check_parameters(self):
        """Validates the parameters with scikit-learn's words; a combination that was found valid before is not looked at again."""
        cls = type(self)
        if "_valid_parameters" not in cls.__dict__:
            cls._valid_parameters = (tuple(cls._get_param_names()), set())
        names, seen = cls._valid_parameters
        values = tuple([getattr(self, name) for name in names])
        key = _frozen(values)
        if key is not None and key in seen:
            return
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        if key is not None and len(seen) < 10_000:
            seen.add(key)

    # ------------------------------------------------------------ input

    def _read(self, X, y=None, *, reset, needs_y=False):
        """The table in a form the native part borrows, and y.

        An array that is ready is passed on after a look at its type; everything else goes through scikit-learn's ``validate_data``.
        """
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in _FLOATS
            and X.flags.c_contiguous
            and X.shape[0] > 0
            and X.shape[1] > 0
        ):
            if not reset:
                if X.shape[1] == self.n_features_in_ and "feature_names_in_" not in self.__dict__:
                    return X, y
            elif not needs_y or (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in self._target_kinds and len(y) == len(X)):
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
                return X, y
        return self._read_anything(X, y, reset=reset, needs_y=needs_y)

    def _read_anything(self, X, y, *, reset, needs_y):
        dtype = [np.float64, np.float32]
        options = {"accept_sparse": "csr", "dtype": dtype, "order": "C", "accept_large_sparse": True, "reset": reset}
        if needs_y:
            X, y = validate_data(self, X, y, **options)
        else:
            X = validate_data(self, X, **options)
        return X, y

    @staticmethod
    def _table(X):
        """What the native part takes: the array, or the parts of a CSR matrix."""
        if type(X) is np.ndarray:
            return X
        if sp.issparse(X):
            return (X.indptr, X.indices, X.data, X.shape[1])
        return np.asarray(X)

    # ------------------------------------------------------------ the native part

    def _run(self, kind, parameters, X, y, names, weights, original):
        """Fits; stores the model, what all fits report, and raises what stopped the fit."""
        listener = self._listener(original)
        try:
            features = self.feature_names_in_.tolist() if "feature_names_in_" in self.__dict__ else None
            limits = (count_threads(self.n_jobs), self.max_time, self.memory_limit, listener)
            model, raised = self._call(kind, parameters, self._table(X), y, names, weights, features, limits)
        except DataError:
            # The quick look at ready arrays leaves some faults to the native part: say them in scikit-learn's words.
            if not callable(getattr(self, "kernel", None)):
                self._read_anything(*original, reset=True, needs_y=y is not None)
            raise
        return self._keep(model, listener), raised

    def _listener(self, original):
        """Who is told about progress, if anybody."""
        listeners = []
        if self.verbose:
            listeners.append(_progress.Line(type(self).__name__))
        if "_skl_callbacks" in self.__dict__:
            listeners.append(_progress.Callbacks(self, *original))
        return _progress.Several(listeners) if listeners else None

    def _keep(self, model, listener=None):
        """Stores a fitted model and what all fits report; returns its parts."""
        parts = model.parts()
        self._native = model
        self.objective_ = parts["objective"]
        self.dual_gap_ = parts["gap"]
        self.fit_time_ = parts["seconds"]
        self.fit_status_ = parts["status"]
        if "solver" in parts:
            self.solver_ = parts["solver"]
        if listener is not None:
            steps = parts["iterations"]
            listener.finish(parts["status"], int(np.sum(steps)), parts["gap"])
        return parts

    def _call(self, kind, parameters, X, y, names, weights, features, limits):
        """The call itself; estimators with other columns than these override it."""
        return _core.fit(kind, parameters, X, y, names, weights, features, *limits)

    def _end(self, parts, raised):
        """Warns or raises if the fit did not come to its end."""
        if raised is not None:
            raise raised
        status = self.fit_status_
        if status == 0:
            return
        if status == 1:
            reason, cure = self._limit()
        elif status == 2:
            reason, cure = f"max_time={self.max_time}", "raise max_time"
        else:
            reason, cure = "stopped by a callback", "let it go on"
        warnings.warn(
            f"Solver terminated early ({reason}).  Consider pre-processing your data with StandardScaler or MinMaxScaler, or {cure}. "
            f"The relative duality gap is {parts['gap']:.3g}, the KKT violation {parts['violation']:.3g} (tol={self.tol:g}).",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _limit(self):
        """What ended a fit of status 1, and the cure."""
        return f"max_iter={self.max_iter}", "raise max_iter"

    # ------------------------------------------------------------ pickling and files

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_native" in state:
            if state["_native"].calibrated:
                # Probabilities are there: nothing more will be learnt from the training data.
                state.pop("_training", None)
            state["_native"] = bytes(state["_native"].to_bytes())
        return state

    def __setstate__(self, state):
        state = dict(state)
        if isinstance(state.get("_native"), bytes | bytearray):
            state["_native"] = _core.Model.from_bytes(bytes(state["_native"]))
        super().__setstate__(state)

    def save(self, path):
        """Save the fitted model in boulevard's own format.

        The file holds plain arrays and a JSON header, no code: it is safe to load, and the command line and the Rust library read it
        too. :func:`boulevard.load` reads it back.

        Parameters
        ----------
        path : str or path-like
            The file to write; one that is there already is replaced in one step.
        """
        check_is_fitted(self)
        self._native.save(os.fspath(path))
