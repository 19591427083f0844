"""What the selecting classifier and regressor share: base kernels, tables of tasks, fitting, fitted attributes."""

import json
import os
import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from . import _core
from ._base import NativeEstimator, count_threads, shared_constraints, with_callbacks
from .exceptions import DataError

#: Base kernels where none are given: a line, two curves, a bump.
DEFAULT_KERNELS = [("linear", {}), ("poly", {"degree": 2, "coef0": 1.0}), ("poly", {"degree": 3, "coef0": 1.0}), ("rbf", {"gamma": "scale"})]

#: Parameters of every kernel that a list of base kernels may hold, with their defaults. A polynomial's gamma is 1: (x.z + coef0)^degree.
_KERNELS = {
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

_CONSTRAINTS = {
    "select": [StrOptions({"features", "kernels"})],
    "kernels": [None, list, tuple],
    "normalize_kernels": ["boolean"],
    "rho": [Interval(Real, 0.0, 1.0, closed="right")],
    "ln_rho": [None, Interval(Real, -700.0, 0.0, closed="both")],
    "c": [Interval(Real, 0.0, None, closed="neither")],
    "bias": [StrOptions({"gaussian", "flat"})],
    "bias_variance": [Interval(Real, 0.0, None, closed="neither")],
    "share": ["boolean"],
    "threshold": [Interval(Real, 0.0, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "epsilon": [Interval(Real, 0.0, None, closed="left")],
    "margin_prior": [StrOptions({"exp", "jj"})],
    "calibrate": ["boolean"],
    **shared_constraints,
}


def _kernel(entry):
    """One base kernel as the native part names it."""
    if isinstance(entry, str):
        entry = (entry, {})
    if not isinstance(entry, list | tuple) or len(entry) != 2 or not isinstance(entry[0], str) or not isinstance(entry[1], dict):
        raise ValueError(f"a base kernel is a name or a pair of a name and a dict of parameters, got {entry!r}")
    name, given = entry
    if name not in _KERNELS:
        raise ValueError(f"base kernel {name!r} is unknown: known are {', '.join(sorted(_KERNELS))}")
    allowed = _KERNELS[name]
    for key in given:
        if key not in allowed:
            raise ValueError(f"base kernel {name!r} has no parameter {key!r}: it has {', '.join(allowed) or 'none'}")
    described = {"type": name}
    for key, default in allowed.items():
        value = given.get(key, default)
        if key == "degree":
            described[key] = int(value)
        else:
            described[key] = value if isinstance(value, str) else float(value)
    return described


def _is_tasks(X):
    """Whether X is a list of tables, one per task."""
    if not isinstance(X, list | tuple) or len(X) == 0:
        return False
    return all(sp.issparse(x) or (hasattr(x, "ndim") and x.ndim == 2) or (not hasattr(x, "ndim") and np.ndim(x) == 2) for x in X)


def _columns(y):
    """Number of columns of a two-dimensional target, None for a plain one."""
    if not hasattr(y, "ndim"):
        y = np.asarray(y)
    return y.shape[1] if y.ndim == 2 else None


class _Selection(NativeEstimator):
    """What the classifier and the regressor share."""

    _doc_link_template = "https://docs.rs/boulevard"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    # ------------------------------------------------------------ parameters

    def _parameters(self):
        kernels = []
        if self.select == "kernels":
            entries = DEFAULT_KERNELS if self.kernels is None else self.kernels
            if len(entries) == 0:
                raise ValueError("kernels must name at least one base kernel, got an empty list")
            kernels = [_kernel(entry) for entry in entries]
        parameters = {
            "select": self.select,
            "kernels": kernels,
            "normalize_kernels": bool(self.normalize_kernels),
            "rho": float(self.rho),
            "ln_rho": None if self.ln_rho is None else float(self.ln_rho),
            "c": float(self.c),
            "bias": self.bias,
            "bias_variance": float(self.bias_variance),
            "share": bool(self.share),
            "threshold": float(self.threshold),
            "tolerance": float(self.tol),
            "max_iterations": int(self.max_iter),
        }
        parameters.update(self._own_parameters())
        return json.dumps(parameters)

    # ------------------------------------------------------------ input

    def _training(self, X, y):
        """Tables, targets and outputs for the native part."""
        if _is_tasks(X):
            return self._task_tables(X, y)
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        columns = _columns(y)
        if columns is not None and columns != 1:
            X, _ = self._read_anything(X, None, reset=True, needs_y=False)
            check_consistent_length(X, y)
            targets, outputs = self._many_targets(y)
        else:
            original = (X, y)
            X, y = self._read(X, y, reset=True, needs_y=True)
            targets, outputs = self._one_target(column_or_1d(y, warn=True), original)
        return [self._table(X)], [(0, y) for y in targets], outputs

    def _task_tables(self, X, y):
        if not isinstance(y, list | tuple) or len(y) != len(X):
            found = len(y) if isinstance(y, list | tuple) else type(y).__name__
            raise ValueError(f"X is a list of {len(X)} tables, so y must be a list of {len(X)} targets, got {found}")
        tables, columns = [], []
        for task, (x, target) in enumerate(zip(X, y, strict=True)):
            if task == 0:
                x, _ = self._read_anything(x, None, reset=True, needs_y=False)
            else:
                x = check_array(x, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name=f"X[{task}]")
            if x.shape[1] != self.n_features_in_:
                raise ValueError(f"task {task} has {x.shape[1]} features, but task 0 has {self.n_features_in_}")
            target = column_or_1d(target, warn=True)
            if len(target) != x.shape[0]:
                raise ValueError(f"task {task} has {x.shape[0]} rows but {len(target)} targets")
            tables.append(self._table(x))
            columns.append(target)
        targets, outputs = self._task_targets(columns)
        return tables, list(enumerate(targets)), outputs

    # ------------------------------------------------------------ fitting

    @with_callbacks
    def fit(self, X, y):
        """Fit all tasks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            Training samples; a list holds one table per task.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or a list of arrays
            Targets. Several columns are several tasks on the same rows; a list holds one target per task. More than two classes become one
            task per class against the rest.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        parameters = self._parameters()
        tables, targets, outputs = self._training(X, y)
        outputs = json.dumps(outputs)
        self.__dict__.pop("_training_tasks", None)
        listener = self._listener((X, y))
        names = self.feature_names_in_.tolist() if "feature_names_in_" in self.__dict__ else None
        try:
            model, raised = _core.fit_selection(
                parameters,
                tables,
                targets,
                outputs,
                names,
                count_threads(self.n_jobs),
                self.max_time,
                self.memory_limit,
                listener,
            )
        except DataError:
            if not _is_tasks(X):
                # The quick look at ready arrays leaves some faults to the native part: say them in scikit-learn's words.
                self._read_anything(X, None, reset=True, needs_y=False)
            raise
        parts = self._keep(model, listener)
        self._take(parts)
        if self._keeps_training and not model.calibrated:
            self._training_tasks = (tables, targets, outputs)
        for note in parts["notes"]:
            warnings.warn(note, UserWarning, stacklevel=2)
        self._end(parts, raised)
        return self

    _keeps_training = False

    def _take(self, parts):
        """Sets the fitted attributes from the model's parts."""
        switches = parts["switches"]
        self.switches_ = switches[0] if len(switches) == 1 else switches
        self.intercept_ = parts["intercepts"]
        self._weights = parts["weights"]
        self._outputs = json.loads(parts["outputs"])
        self.group_names_ = parts["groups"]
        self.n_iter_ = parts["iterations"]
        coefficients = parts["coefficients"]
        self._coefficients = coefficients
        if "tasks" in self._outputs:
            self.lambda_ = [self._multipliers(c) for c in coefficients]
        else:
            table = np.vstack([self._multipliers(c) for c in coefficients])
            self.lambda_ = table[0] if len(table) == 1 else table

    @property
    def coef_(self):
        """Weights of the features in every task, with ``select="features"`` only: ndarray of shape (n_tasks, n_features)."""
        check_is_fitted(self)
        if self._weights is None:
            raise AttributeError('coef_ is only available with select="features"')
        return self._weights

    @property
    def kernel_weights_(self):
        """Weights of the base kernels, with ``select="kernels"`` only: their switches, those at or below ``threshold`` set to zero."""
        check_is_fitted(self)
        if self._weights is not None:
            raise AttributeError('kernel_weights_ is only available with select="kernels"')
        return np.where(self.switches_ > self.threshold, self.switches_, 0.0)

    @property
    def n_tasks_(self):
        """Number of tasks."""
        check_is_fitted(self)
        return len(self.intercept_)

    # ------------------------------------------------------------ decisions

    def _decide(self, X, task):
        """Decision values: (n_samples, n_tasks), or of one task (n_samples,)."""
        check_is_fitted(self)
        X, _ = self._read(X, reset=False)
        threads = count_threads(self.n_jobs)
        try:
            if task is None:
                return self._native.decisions(self._table(X), threads)
            return self._native.task_decisions(self._table(X), int(task), threads)
        except DataError:
            self._read_anything(X, None, reset=False, needs_y=False)
            raise

    def _by_task(self, X, task, judge):
        """Applies ``judge(values)`` to one task's rows, or to every table of a list."""
        own = "tasks" in self._outputs
        if _is_tasks(X):
            if not own:
                raise ValueError("this model was not fitted on a list of tasks: predict one table")
            if len(X) != len(self.intercept_):
                raise ValueError(f"the model has {len(self.intercept_)} tasks, got a list of {len(X)} tables")
            return [judge(self._decide(x, t)) for t, x in enumerate(X)]
        if task is None and own:
            if len(self.intercept_) > 1:
                raise ValueError(f"the model has {len(self.intercept_)} tasks: predict a list of tables, or say which with task=")
            task = 0
        if task is not None:
            if not (isinstance(task, Integral) and 0 <= task < len(self.intercept_)):
                raise ValueError(f"task must be a number from 0 to {len(self.intercept_) - 1}, got {task!r}")
            return judge(self._decide(X, task))
        return None

    def save(self, path):
        """Save the fitted model in boulevard's own format, to the bit.

        Parameters
        ----------
        path : str or path-like
            The file to write; one that is there already is replaced in one step.
        """
        check_is_fitted(self)
        self._native.save(os.fspath(path))

    def __getstate__(self):
        state = super().__getstate__()
        if "_native" in self.__dict__ and self._native.calibrated:
            state.pop("_training_tasks", None)
        return state
