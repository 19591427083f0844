"""Multi-task feature and kernel selection by maximum entropy discrimination (Jebara 2004)."""

import json

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from ._base import count_threads, seed_of
from ._kernel_estimator import class_names
from ._selection_base import _CONSTRAINTS, _is_tasks, _Selection
from .exceptions import DataError

__all__ = ["MultiTaskSelectionClassifier", "MultiTaskSelectionRegressor"]


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
