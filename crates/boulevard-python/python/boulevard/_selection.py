"""Multi-task feature and kernel selection by maximum entropy discrimination (Jebara 2004)."""

import json
import math
import os
import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from . import _core
from ._base import NativeEstimator, count_threads, seed_of, shared_constraints, with_callbacks
from ._kernel_estimator import class_names
from .exceptions import DataError

__all__ = ["MultiTaskSelectionClassifier", "MultiTaskSelectionRegressor", "selection_path", "selection_search", "transfer_report"]

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


class MultiTaskSelectionClassifier(ClassifierMixin, _Selection):
    """Classification that learns which features (or kernels) matter, for many tasks at once.

    Every feature (or base kernel) has a switch that all tasks share. The switches' posterior probabilities, the weights and the biases
    solve one convex problem; the fit certifies how close it is (``dual_gap_``). More than two classes become one task per class.

    Parameters
    ----------
    select : {"features", "kernels"}, default="features"
        What is switched on or off.
    kernels : list of (name, parameters), default=None
        Base kernels for ``select="kernels"``, for example ``[("poly", {"degree": 2, "coef0": 1.0}), ("rbf", {"gamma": 0.5})]``. A
        polynomial's ``gamma`` is 1 unless given. None means a linear, two polynomial and a radial kernel.
    normalize_kernels : bool, default=True
        Whether kernels are brought to ``k(x, x) = 1``.
    rho : float, default=0.01
        Prior probability that a feature is on. 1 means no selection (a log-barrier SVM); smaller values select more.
    ln_rho : float, default=None
        Its logarithm, down to -700; wins over ``rho``.
    c : float, default=3.0
        Decay of the margin prior: multipliers stay below ``c``. The soft range for features of unit scale is from 1 to 3; ``c <= 1`` gives
        the trivial solution and a warning.
    bias : {"gaussian", "flat"}, default="gaussian"
        Prior of every task's bias.
    bias_variance : float, default=1.0
        Variance of a Gaussian bias.
    share : bool, default=True
        Whether tasks share their switches. Otherwise each task is solved alone.
    threshold : float, default=0.0
        Switches at or below it are taken as off when predicting.
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, default=1000
        Steps of the solvers at most.
    calibrate : bool, default=False
        Whether to fit probabilities with the model, which costs five more fits. Otherwise that happens when ``predict_proba`` is first called.
    n_jobs : int, default=None
        Threads; None means all cores. Results do not depend on it.
    verbose : int, default=0
        1 shows progress on standard error.
    max_time : float, default=None
        Seconds after which the fit stops with what it has (``fit_status_ == 2``) and warns.
    memory_limit : int, default=None
        Bytes that tables and kernel matrices may take.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds behind probabilities; None means 0.

    Attributes
    ----------
    classes_ : ndarray, or a list of them for several outputs with different labels
        The class labels.
    switches_ : ndarray of shape (n_groups,), or (n_tasks, n_groups) for ``share=False``
        Probability that each feature or kernel is on.
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights, with ``select="features"``.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the base kernels, with ``select="kernels"``.
    intercept_ : ndarray of shape (n_tasks,)
        Biases.
    lambda_ : ndarray of shape (n_samples,) or (n_tasks, n_samples), or a list of them for tasks with rows of their own
        The multipliers.
    objective_ : float
        Value of the dual objective J.
    dual_gap_ : float
        Duality gap relative to J: the certificate.
    n_iter_ : int
        Steps of the solvers.
    fit_status_ : int
        0 converged, 1 iteration limit, 2 time limit, 3 interrupted.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    References
    ----------
    T. Jebara: Multi-task feature and kernel selection for SVMs. ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import MultiTaskSelectionClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = X[:, 0] - X[:, 1] > 0
    >>> clf = MultiTaskSelectionClassifier(rho=0.01, c=3).fit(X, y)
    >>> sorted(np.argsort(clf.switches_)[-2:].tolist())
    [0, 1]
    >>> bool(clf.dual_gap_ < 1e-6)
    True
    """

    _parameter_constraints = {k: v for k, v in _CONSTRAINTS.items() if k not in ("epsilon", "margin_prior")}
    _target_kinds = "biufU"
    _keeps_training = True

    def __init__(
        self,
        *,
        select="features",
        kernels=None,
        normalize_kernels=True,
        rho=0.01,
        ln_rho=None,
        c=3.0,
        bias="gaussian",
        bias_variance=1.0,
        share=True,
        threshold=0.0,
        tol=1e-6,
        max_iter=1000,
        calibrate=False,
        n_jobs=None,
        verbose=0,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.select = select
        self.kernels = kernels
        self.normalize_kernels = normalize_kernels
        self.rho = rho
        self.ln_rho = ln_rho
        self.c = c
        self.bias = bias
        self.bias_variance = bias_variance
        self.share = share
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _own_parameters(self):
        return {"calibrate": bool(self.calibrate), "seed": seed_of(self.random_state)}

    @staticmethod
    def _multipliers(coefficients):
        return np.abs(coefficients)

    # ------------------------------------------------------------ targets

    def _one_target(self, y, original):
        if y.dtype.kind not in "biuUS":  # whole numbers and names are classes without a closer look
            check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class")
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(codes == k, 1.0, -1.0) for k in positive], {"classes": class_names(self.classes_)}

    def _many_targets(self, Y):
        if sp.issparse(Y):
            Y = Y.toarray()
        Y = np.asarray(Y)
        kind = type_of_target(Y, input_name="y")
        if kind not in ("multilabel-indicator", "multiclass-multioutput"):
            raise ValueError(f"Unknown label type: {kind}. Several outputs must each hold two classes.")
        self.classes_, targets = [], []
        for k in range(Y.shape[1]):
            classes, codes = np.unique(Y[:, k], return_inverse=True)
            if len(classes) != 2:
                raise ValueError(f"output {k} has {len(classes)} class{'es' if len(classes) != 1 else ' only'}; every output needs two")
            self.classes_.append(classes)
            targets.append(np.where(codes == 1, 1.0, -1.0))
        if all(np.array_equal(classes, self.classes_[0]) for classes in self.classes_):
            # The usual case, 0/1 columns: one pair of labels for all outputs, as scikit-learn's multi-label classifiers have it.
            self.classes_ = self.classes_[0]
        return targets, {"labels": [f"y{k}" for k in range(Y.shape[1])]}

    def _task_targets(self, columns):
        self.classes_ = np.unique(np.concatenate(columns))
        check_classification_targets(np.concatenate(columns))
        if len(self.classes_) != 2:
            raise ValueError(f"tasks with rows of their own tell two classes apart, got {len(self.classes_)} classes: {self.classes_}")
        for task, y in enumerate(columns):
            if len(np.unique(y)) != 2:
                raise ValueError(f"task {task} has one class only: all its rows are {y[0]!r}")
        names = {"names": [f"task {k}" for k in range(len(columns))], "classes": class_names(self.classes_)}
        return [np.where(y == self.classes_[1], 1.0, -1.0) for y in columns], {"tasks": names}

    # ------------------------------------------------------------ predictions

    def decision_function(self, X, task=None):
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            The samples; a list holds one table per task.
        task : int, default=None
            Which task, for one table.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_tasks), or a list of them
            Positive for the second class (two classes, and every task); one column per class or output otherwise.
        """
        check_is_fitted(self)
        found = self._by_task(X, task, lambda values: values)
        if found is not None:
            return found
        values = self._decide(X, None)
        return values.ravel() if "classes" in self._outputs and len(self.classes_) == 2 else values

    def predict(self, X, task=None):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            The samples; a list holds one table per task.
        task : int, default=None
            Which task, for one table.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_outputs), or a list of them
            The classes.
        """
        check_is_fitted(self)
        signs = lambda values: self._classes_of(task).take((values > 0).astype(int))  # noqa: E731
        found = self._by_task(X, task, signs)
        if found is not None:
            return found
        values = self._decide(X, None)
        if "classes" in self._outputs:
            return self.classes_.take((values.ravel() > 0).astype(int) if len(self.classes_) == 2 else values.argmax(axis=1))
        if isinstance(self.classes_, np.ndarray):
            return self.classes_.take((values > 0).astype(int))
        return np.column_stack([classes.take((values[:, k] > 0).astype(int)) for k, classes in enumerate(self.classes_)])

    def _classes_of(self, task):
        if isinstance(self.classes_, list):
            return self.classes_[task]
        if "classes" in self._outputs and len(self.classes_) > 2:
            return np.array([False, True])
        return self.classes_

    def predict_proba(self, X, task=None):
        """Predict class probabilities.

        They come from Platt's sigmoids on five-fold cross-validated decisions, fitted with the model (``calibrate=True``) or on first use.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            The samples; a list holds one table per task.
        task : int, default=None
            Which task, for one table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), or a list of them
            Columns in the order of ``classes_``; the largest belongs to the predicted class. Several outputs on the same rows: an array of
            shape (n_samples, n_outputs) with the probability of each output's second class.
        """
        check_is_fitted(self)
        self._ensure_calibrated()
        if "tasks" in self._outputs:
            if _is_tasks(X):
                if len(X) != len(self.intercept_):
                    raise ValueError(f"the model has {len(self.intercept_)} tasks, got a list of {len(X)} tables")
                return [self._task_probabilities(x, t) for t, x in enumerate(X)]
            if task is None and len(self.intercept_) > 1:
                raise ValueError(f"the model has {len(self.intercept_)} tasks: predict a list of tables, or say which with task=")
            return self._task_probabilities(X, task or 0)
        X, _ = self._read(X, reset=False)
        return self._native.probabilities(self._table(X), count_threads(self.n_jobs))

    def _task_probabilities(self, X, task):
        X, _ = self._read(X, reset=False)
        p = self._native.probabilities(self._table(X), count_threads(self.n_jobs))[:, task]
        return np.column_stack([1 - p, p])

    def predict_log_proba(self, X, task=None):
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            The samples.
        task : int, default=None
            Which task, for one table.

        Returns
        -------
        logarithms : ndarray, or a list of them
            As :meth:`predict_proba`.
        """
        probabilities = self.predict_proba(X, task)
        return [np.log(p) for p in probabilities] if isinstance(probabilities, list) else np.log(probabilities)

    def _ensure_calibrated(self):
        if self._native.calibrated:
            return
        if "_training_tasks" not in self.__dict__:
            raise DataError(
                f"This {type(self).__name__} was loaded from a file that has no probabilities and no training data to fit them on. "
                "Fit it with calibrate=True, or call predict_proba once before save."
            )
        tables, targets, outputs = self._training_tasks
        self._native.calibrate_tasks(tables, targets, outputs, count_threads(self.n_jobs), self.memory_limit)

    def score(self, X, y, sample_weight=None):
        """Mean accuracy; over all rows of all tasks for a list of tables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a list of them
            The samples.
        y : array-like, or a list of them
            The classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; not for lists.

        Returns
        -------
        score : float
            Share of right predictions (of rows with all outputs right, for several outputs).
        """
        if _is_tasks(X):
            return float(np.mean(np.concatenate([p == np.asarray(t) for p, t in zip(self.predict(X), y, strict=True)])))
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)


class MultiTaskSelectionRegressor(RegressorMixin, _Selection):
    """Regression that learns which features (or kernels) matter, for many tasks at once.

    Parameters
    ----------
    select : {"features", "kernels"}, default="features"
        What is switched on or off.
    kernels : list of (name, parameters), default=None
        Base kernels for ``select="kernels"``; see :class:`MultiTaskSelectionClassifier`.
    normalize_kernels : bool, default=True
        Whether kernels are brought to ``k(x, x) = 1``.
    rho : float, default=0.01
        Prior probability that a feature is on. 1 means no selection; smaller values select more.
    ln_rho : float, default=None
        Its logarithm, down to -700; wins over ``rho``.
    c : float, default=3.0
        Decay of the margin prior: the largest weight of a sample.
    epsilon : float, default=0.1
        Half-width of the tube without loss.
    margin_prior : {"exp", "jj"}, default="exp"
        Exponential beyond epsilon, or flat up to epsilon and exponential beyond (Jebara and Jaakkola 2000).
    bias : {"gaussian", "flat"}, default="gaussian"
        Prior of every task's bias.
    bias_variance : float, default=1.0
        Variance of a Gaussian bias.
    share : bool, default=True
        Whether tasks share their switches. Otherwise each task is solved alone.
    threshold : float, default=0.0
        Switches at or below it are taken as off when predicting.
    tol : float, default=1e-6
        Relative duality gap to reach.
    max_iter : int, default=1000
        Steps of the solvers at most.
    n_jobs : int, default=None
        Threads; None means all cores. Results do not depend on it.
    verbose : int, default=0
        1 shows progress on standard error.
    max_time : float, default=None
        Seconds after which the fit stops with what it has (``fit_status_ == 2``) and warns.
    memory_limit : int, default=None
        Bytes that tables and kernel matrices may take.

    Attributes
    ----------
    switches_ : ndarray of shape (n_groups,), or (n_tasks, n_groups) for ``share=False``
        Probability that each feature or kernel is on.
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights, with ``select="features"``.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the base kernels, with ``select="kernels"``.
    intercept_ : ndarray of shape (n_tasks,)
        Biases.
    lambda_ : ndarray of shape (n_samples,) or (n_tasks, n_samples), or a list of them for tasks with rows of their own
        Signed multipliers: positive where the prediction is below the tube.
    objective_ : float
        Value of the dual objective J.
    dual_gap_ : float
        Duality gap relative to J: the certificate.
    n_iter_ : int
        Steps of the solvers.
    fit_status_ : int
        0 converged, 1 iteration limit, 2 time limit, 3 interrupted.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import MultiTaskSelectionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 10))
    >>> reg = MultiTaskSelectionRegressor(c=10).fit(X, 2 * X[:, 3])
    >>> int(reg.switches_.argmax())
    3
    """

    _parameter_constraints = {k: v for k, v in _CONSTRAINTS.items() if k not in ("calibrate", "random_state")}

    def __init__(
        self,
        *,
        select="features",
        kernels=None,
        normalize_kernels=True,
        rho=0.01,
        ln_rho=None,
        c=3.0,
        epsilon=0.1,
        margin_prior="exp",
        bias="gaussian",
        bias_variance=1.0,
        share=True,
        threshold=0.0,
        tol=1e-6,
        max_iter=1000,
        n_jobs=None,
        verbose=0,
        max_time=None,
        memory_limit=None,
    ):
        self.select = select
        self.kernels = kernels
        self.normalize_kernels = normalize_kernels
        self.rho = rho
        self.ln_rho = ln_rho
        self.c = c
        self.epsilon = epsilon
        self.margin_prior = margin_prior
        self.bias = bias
        self.bias_variance = bias_variance
        self.share = share
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_time = max_time
        self.memory_limit = memory_limit

    def _own_parameters(self):
        return {"epsilon": float(self.epsilon), "margin_prior": self.margin_prior}

    @staticmethod
    def _multipliers(coefficients):
        return coefficients

    @staticmethod
    def _numbers(y):
        y = np.asarray(y)
        if y.dtype.kind not in "biuf":
            y = y.astype(np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        return y

    def _one_target(self, y, original):
        return [self._numbers(y)], {"real": 1}

    def _many_targets(self, Y):
        Y = self._numbers(Y.toarray() if sp.issparse(Y) else Y)
        return [np.ascontiguousarray(Y[:, k]) for k in range(Y.shape[1])], {"real": Y.shape[1]}

    def _task_targets(self, columns):
        return [self._numbers(y) for y in columns], {"tasks": {"names": [f"task {k}" for k in range(len(columns))], "classes": None}}

    def predict(self, X, task=None):
        """Predict numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            The samples; a list holds one table per task.
        task : int, default=None
            Which task, for one table.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_outputs), or a list of them
            The predictions.
        """
        check_is_fitted(self)
        found = self._by_task(X, task, lambda values: values)
        if found is not None:
            return found
        values = self._decide(X, None)
        return values.ravel() if values.shape[1] == 1 else values

    def score(self, X, y, sample_weight=None):
        """Coefficient of determination; the mean over tasks for a list of tables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a list of them
            The samples.
        y : array-like, or a list of them
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; not for lists.

        Returns
        -------
        score : float
            R squared.
        """
        if _is_tasks(X):
            return float(np.mean([r2_score(t, p) for p, t in zip(self.predict(X), y, strict=True)]))
        return r2_score(y, self.predict(X), sample_weight=sample_weight)


def from_native(model, given, labels):
    """An estimator from a model file."""
    parts = model.parts()
    outputs = json.loads(parts["outputs"])
    shared = {
        "select": given["select"],
        "kernels": [(k["type"], {n: v for n, v in k.items() if n != "type"}) for k in given["kernels"]] or None,
        "normalize_kernels": given["normalize_kernels"],
        "rho": given["rho"],
        "ln_rho": given["ln_rho"],
        "c": given["c"],
        "bias": given["bias"],
        "bias_variance": given["bias_variance"],
        "share": given["share"],
        "threshold": given["threshold"],
        "tol": given["tolerance"],
        "max_iter": given["max_iterations"] or 1000,
    }
    classes = outputs.get("classes") or (outputs.get("tasks") or {}).get("classes")
    if classes is None and "labels" not in outputs:
        estimator = MultiTaskSelectionRegressor(epsilon=given["epsilon"], margin_prior=given["margin_prior"], **shared)
    else:
        estimator = MultiTaskSelectionClassifier(calibrate=given["calibrate"], random_state=given["seed"], **shared)
        estimator.classes_ = np.array([0, 1]) if classes is None else labels(classes)
    estimator.n_features_in_ = parts["features"]
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    estimator._take(estimator._keep(model))
    return estimator


# ---------------------------------------------------------------- paths, searches, transfer


def _prepare(estimator, X, y):
    estimator._check_parameters()
    tables, targets, outputs = estimator._training(X, y)
    names = estimator.feature_names_in_.tolist() if "feature_names_in_" in estimator.__dict__ else None
    return tables, targets, json.dumps(outputs), names


def _limits(estimator):
    return count_threads(estimator.n_jobs), estimator.max_time, estimator.memory_limit, estimator._listener((None, None))


def _ln(rhos, ln_rhos):
    if (rhos is None) == (ln_rhos is None):
        raise ValueError("give either rhos or ln_rhos")
    if ln_rhos is None:
        if any(not 0 < rho <= 1 for rho in rhos):
            raise ValueError(f"every rho must be above 0 and at most 1, got {list(rhos)}")
        ln_rhos = [math.log(rho) for rho in rhos]
    return [float(value) for value in ln_rhos]


def _fitted_like(estimator, model, ln_rho):
    from sklearn.base import clone

    copy = clone(estimator).set_params(ln_rho=ln_rho)
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if name in estimator.__dict__:
            setattr(copy, name, estimator.__dict__[name])
    copy._take(copy._keep(model))
    return copy


def selection_path(estimator, X, y, *, rhos=None, ln_rhos=None):
    """Fit an estimator for several prior probabilities, every fit starting from its neighbour's solution.

    Parameters
    ----------
    estimator : MultiTaskSelectionClassifier or MultiTaskSelectionRegressor
        Its other parameters hold for the whole path.
    X, y : array-like, or lists of them
        As for ``fit``.
    rhos : list of float, default=None
        Values of ``rho``; or
    ln_rhos : list of float, default=None
        their logarithms. If neither is given: from 1 down to 1e-6.

    Returns
    -------
    path : Bunch
        ``rho``, ``ln_rho``, ``switches`` (n_rho, n_groups) or (n_rho, n_tasks, n_groups), ``coef`` (n_rho, n_tasks, n_features; None for
        kernels), ``objective``, ``dual_gap`` and ``estimators``, all in the order that was given.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import MultiTaskSelectionClassifier, selection_path
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> path = selection_path(MultiTaskSelectionClassifier(), X, X[:, 0] > 0, rhos=[1, 0.1, 0.01])
    >>> path.switches.shape
    (3, 8)
    """
    if rhos is None and ln_rhos is None:
        rhos = [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6]
    values = _ln(rhos, ln_rhos)
    tables, targets, outputs, names = _prepare(estimator, X, y)
    threads, time, memory, listener = _limits(estimator)
    models = _core.selection_path(estimator._parameters(), tables, targets, outputs, names, values, threads, time, memory, listener)
    estimators = [_fitted_like(estimator, model, value) for model, value in zip(models, values, strict=True)]
    return Bunch(
        rho=np.exp(values),
        ln_rho=np.array(values),
        switches=np.array([e.switches_ for e in estimators]),
        coef=None if estimator.select == "kernels" else np.array([e.coef_ for e in estimators]),
        objective=np.array([e.objective_ for e in estimators]),
        dual_gap=np.array([e.dual_gap_ for e in estimators]),
        estimators=estimators,
        group_names=estimators[0].group_names_,
    )


def selection_search(estimator, X, y, *, rhos=None, ln_rhos=None, cs=None, cv=5, n_repeats=1, random_state=0):
    """Choose rho and c by cross-validation, reusing the path over rho in every fold.

    Parameters
    ----------
    estimator : MultiTaskSelectionClassifier or MultiTaskSelectionRegressor
        Its other parameters hold throughout.
    X, y : array-like, or lists of them
        As for ``fit``.
    rhos, ln_rhos : list of float, default=None
        The grid of rho, or of its logarithm.
    cs : list of float, default=None
        The grid of c.
    cv : int, default=5
        Folds.
    n_repeats : int, default=1
        How often to fold anew; on few rows one set of folds cannot tell neighbouring cells apart.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    result : Bunch
        ``rho``, ``c``, ``error``, ``deviation`` of every cell, ``best`` (its place) and ``best_estimator``, fitted on all data.
    """
    if rhos is None and ln_rhos is None:
        rhos = [1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6]
    search = {"ln_rho": _ln(rhos, ln_rhos), "folds": int(cv), "repeats": int(n_repeats), "seed": int(random_state)}
    search["c"] = [float(c) for c in ([1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10] if cs is None else cs)]
    tables, targets, outputs, names = _prepare(estimator, X, y)
    threads, time, memory, listener = _limits(estimator)
    grid, model = _core.selection_search(
        estimator._parameters(), json.dumps(search), tables, targets, outputs, names, threads, time, memory, listener
    )
    best = grid["best"]
    fitted = _fitted_like(estimator, model, grid["ln_rho"][best]).set_params(c=grid["c"][best])
    return Bunch(
        rho=np.exp(grid["ln_rho"]),
        ln_rho=np.array(grid["ln_rho"]),
        c=np.array(grid["c"]),
        error=np.array(grid["error"]),
        deviation=np.array(grid["deviation"]),
        best=best,
        best_estimator=fitted,
    )


def transfer_report(estimator, X, y, *, cv=5, random_state=0):
    """What the tasks gain from each other: cross-validated errors of every task learnt alone and together.

    Parameters
    ----------
    estimator : MultiTaskSelectionClassifier or MultiTaskSelectionRegressor
        Its parameters, without ``share``, hold for both.
    X, y : array-like, or lists of them
        As for ``fit``.
    cv : int, default=5
        Folds.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    report : Bunch
        ``tasks`` (names), ``alone`` and ``together`` (share of wrong decisions, or mean squared error), ``rows``.
    """
    tables, targets, outputs, names = _prepare(estimator, X, y)
    threads, time, memory, listener = _limits(estimator)
    found = _core.selection_transfer(
        estimator._parameters(), tables, targets, outputs, names, int(cv), int(random_state), threads, time, memory, listener
    )
    return Bunch(**found)
