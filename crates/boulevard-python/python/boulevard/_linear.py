"""The linear machines of ``sklearn.svm`` on boulevard's solvers."""

import json
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._base import count_threads, NativeEstimator, seed_of, shared_constraints, with_callbacks
from ._classification import ProbabilityMixin
from ._docs import document
from ._kernel_estimator import class_names, HUGE, read_weights
from .exceptions import DataError

__all__ = ["LinearSVC", "LinearSVR"]

_CONSTRAINTS = {
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [None, Interval(Real, 0.0, None, closed="neither")],
    "dual": ["boolean", StrOptions({"auto"})],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    **shared_constraints,
}


class LinearEstimator(NativeEstimator):
    """What both classes share."""

    _kind = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _bias(self):
        if not self.fit_intercept:
            return "none"
        return "free" if self.intercept_scaling is None else {"column": float(self.intercept_scaling)}

    def _fit_native(self, parameters, X, y, names, weights, original):
        parameters.update(c=min(float(self.C), HUGE), bias=self._bias(), tolerance=float(self.tol))
        parts, raised = self._run(self._kind, json.dumps(parameters), X, y, names, weights, original)
        self._take(parts)
        self._end(parts, raised)

    def _take(self, parts):
        self.coef_ = parts["weights"]
        self.intercept_ = parts["intercepts"] if self.fit_intercept else 0.0
        self.n_iter_ = int(parts["iterations"])

    def _limit(self):
        return "the gap no longer falls", "lower C"

    def _judge(self, method, X):
        """Calls a method of the native model; faults that the quick look left to it are said in scikit-learn's words."""
        check_is_fitted(self)
        given = X
        X, _ = self._read(X, reset=False)
        try:
            return getattr(self._native, method)(self._table(X), count_threads(self.n_jobs))
        except DataError:
            self._read_anything(given, None, reset=False, needs_y=False)
            raise


@document
class LinearSVC(ProbabilityMixin, ClassifierMixin, LinearEstimator):
    """Linear support vector classification for many rows or many columns.

    Same parameters and attributes as :class:`sklearn.svm.LinearSVC`, with two differences. The intercept is not regularised unless
    ``intercept_scaling`` is given, so ``LinearSVC(loss="hinge")`` is the machine of ``SVC(kernel="linear")``. And it converges: the
    algorithm follows from the shape of the table, the fit stops on the relative duality gap, and neither unscaled columns nor a large
    ``C`` need more iterations.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        What keeps the weights small; "l1" makes many of them zero and goes with the squared hinge.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        What errors cost.
    dual : "auto" or bool, default="auto"
        Accepted for compatibility; the algorithm is chosen by the table's shape.
    tol : float, default=1e-4
        The relative duality gap to reach.
    C : float, default=1.0
        The price of one unit of loss.
    multi_class : {"ovr"}, default="ovr"
        More than two classes: one machine per class against the rest.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=None
        None leaves the intercept free; a number regularises it as the weight of a constant column of that value (LIBLINEAR's way).
    class_weight : dict or "balanced", default=None
        Factors of ``C`` by class; "balanced" is inversely to the classes' (weighted) frequencies.
    max_iter : int, default=1000
        Accepted for compatibility; fits end by their certificate. ``max_time`` limits them.
    calibrate : bool, default=False
        Whether to fit probabilities with the model; otherwise that happens when ``predict_proba`` is first called.
    {shared}

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants of the decision function.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_iter_ : int
        Steps of the solver, over all classes.
    objective_ : float
        Value of the dual objective (as a minimisation); the sum over all classes.
    dual_gap_ : float
        Relative duality gap, the certificate.
    fit_status_ : int
        0 converged, 1 the gap could not be reached, 2 time limit, 3 interrupted.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    SVC : Kernel machines.
    LinearSVR : The same for regression.

    Examples
    --------
    >>> from boulevard import LinearSVC
    >>> LinearSVC().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]).predict([[0.5], [3.5]])
    array([0, 1])
    """

    _kind = "linear_svc"
    _target_kinds = "biufU"
    _parameter_constraints = {
        **_CONSTRAINTS,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr"})],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "calibrate": ["boolean"],
    }

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=None,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        calibrate=False,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        if self.penalty == "l1" and self.loss == "hinge":
            raise ValueError("The combination of penalty='l1' and loss='hinge' is not supported: use loss='squared_hinge'")
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        original = (X, y)
        X, y = self._read(X, y, reset=True, needs_y=True)
        y, codes = self._encode(X, y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        _, class_weight = self._class_weights(y, weights)
        parameters = {
            "loss": "absolute" if self.loss == "hinge" else "squared",
            "regulariser": self.penalty,
            "class_weight": class_weight,
            "calibrate": bool(self.calibrate),
            "seed": seed_of(self.random_state),
        }
        self._remember(X, codes, weights)
        self._fit_native(parameters, X, codes, class_names(self.classes_), weights, original)
        return self

    def decision_function(self, X):
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: one value, positive for ``classes_[1]``; more: one column per class, the largest of which is the prediction.
        """
        values = self._judge("decisions", X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class with the largest decision value.
        """
        values = self.decision_function(X)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_.take(codes)


@document
class LinearSVR(RegressorMixin, LinearEstimator):
    """Linear support vector regression for many rows or many columns.

    Same parameters and attributes as :class:`sklearn.svm.LinearSVR`; the intercept is not regularised unless ``intercept_scaling`` is
    given, and fits end by their certificate.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to this size cost nothing.
    tol : float, default=1e-4
        The relative duality gap to reach.
    C : float, default=1.0
        The price of one unit of loss.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        What errors cost.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=None
        None leaves the intercept free; a number regularises it as the weight of a constant column of that value (LIBLINEAR's way).
    dual : "auto" or bool, default="auto"
        Accepted for compatibility; the algorithm is chosen by the table's shape.
    max_iter : int, default=1000
        Accepted for compatibility; fits end by their certificate. ``max_time`` limits them.
    {shared}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Constant of the prediction.
    n_iter_ : int
        Steps of the solver.
    objective_ : float
        Value of the dual objective (as a minimisation).
    dual_gap_ : float
        Relative duality gap, the certificate.
    fit_status_ : int
        0 converged, 1 the gap could not be reached, 2 time limit, 3 interrupted.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    SVR : Kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import LinearSVR
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> LinearSVR(C=100).fit(X, 2 * X.ravel() + 1).predict([[0.5]]).round(3)
    array([2.])
    """

    _kind = "linear_svr"
    _parameter_constraints = {
        **_CONSTRAINTS,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=None,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        self._check_parameters()
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        original = (X, y)
        X, y = self._read(X, y, reset=True, needs_y=True)
        y = np.ascontiguousarray(column_or_1d(y, warn=True), dtype=np.float64)
        weights = read_weights(sample_weight, X)
        loss = "absolute" if self.loss == "epsilon_insensitive" else "squared"
        self._fit_native({"loss": loss, "epsilon": float(self.epsilon)}, X, y, None, weights, original)
        return self

    def _take(self, parts):
        super()._take(parts)
        self.coef_ = self.coef_.ravel()

    def predict(self, X):
        """Predict target values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The predictions.
        """
        return self._judge("decisions", X).ravel()
