"""The linear machines of ``sklearn.svm`` on boulevard's solvers."""

from dataclasses import field
from numbers import Integral
from typing import Annotated, Any, Literal, Self

import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval

from .._base import NativeEstimator, fitting
from .._classes import ProbabilityMixin, class_names, given_weights, read_weights
from .._docs import document
from .._exports import LinearExports
from .._files import loads
from .._limits import NotNegative, Positive, Seed, parameters, seed_of
from .._request import Data
from .._typing import CalibrationMethod, ClassWeight, Floats, Parts, TableLike
from ._kernel_machine import HUGE
from .regression import read_numbers

__all__ = ["LinearSVC", "LinearSVR"]


@parameters
class LinearEstimator(LinearExports, NativeEstimator):
    """What both classes share."""

    dual: bool | Literal["auto"] = "auto"
    tol: Positive = 1e-4
    C: Positive = 1.0
    fit_intercept: bool = True
    intercept_scaling: Positive | None = None
    max_iter: Annotated[int, Interval(Integral, 0, None, closed="left")] = 1000
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _shared(self) -> Parts:
        """Parameters of the native learner that both classes have."""
        bias: Any = "none"
        if self.fit_intercept:
            bias = "free" if self.intercept_scaling is None else {"column": float(self.intercept_scaling)}
        return {"c": min(float(self.C), HUGE), "bias": bias, "tolerance": float(self.tol)}

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        bias = given["bias"]
        return {
            "C": given["c"],
            "tol": given["tolerance"],
            "fit_intercept": bias != "none",
            "intercept_scaling": bias["column"] if isinstance(bias, dict) else None,
        }

    def _take(self, parts: Parts) -> None:
        self.coef_ = parts["weights"]
        self.intercept_ = parts["intercepts"] if self.fit_intercept else 0.0
        self.n_iter_ = int(parts["iterations"])

    def _limit(self) -> tuple[str, str]:
        return "the gap no longer falls", "lower C"


@loads("linear_svc")
@document
@parameters
class LinearSVC(ClassifierMixin, ProbabilityMixin, LinearEstimator):
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
        Accepted for compatibility; the algorithm is chosen by the table's shape. True and False are refused where scikit-learn refuses
        them: True with ``penalty="l1"``, False with ``loss="hinge"``.
    tol : float, default=1e-4
        The relative duality gap to reach.
    C : float, default=1.0
        The price of one unit of loss.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        More than two classes: one machine per class against the rest, or all machines in one problem, which asks the own class of a row
        to be ahead of every other by a margin (Crammer and Singer 2001). ``loss``, ``penalty`` and ``dual`` are ignored then: it is the
        hinge with the L2 penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=None
        None leaves the intercept free; a number regularises it as the weight of a constant column of that value (LIBLINEAR's way).
    {class_weight}
    max_iter : int, default=1000
        Accepted for compatibility; fits end by their certificate. ``max_time`` limits them.
    calibrate : bool, default=False
        Whether to fit probabilities with the model; otherwise that happens when ``predict_proba`` is first called.
    calibration : {"auto", "sigmoid", "temperature", "vector"}, default="auto"
        How probabilities of more than two classes are made, as in :class:`SVC`.
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
    {fit_attributes}

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
    penalty: Literal["l1", "l2"] = field(default="l2", kw_only=False)
    loss: Literal["hinge", "squared_hinge"] = field(default="squared_hinge", kw_only=False)
    multi_class: Literal["ovr", "crammer_singer"] = "ovr"
    class_weight: ClassWeight = None
    calibrate: bool = False
    calibration: CalibrationMethod = "auto"

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        {training}
        {labels}
        {sample_weight}

        {self}
        """
        self._check_parameters()
        self._check_combination()
        original = (X, y)
        X, y = self._read_training(X, y)
        labels, codes = self._encode(y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        parameters = {
            **self._shared(),
            "loss": "absolute" if self.loss == "hinge" else "squared",
            "regulariser": self.penalty,
            "multiclass": "one_vs_rest" if self.multi_class == "ovr" else self.multi_class,
            "class_weight": self._class_weights(labels, weights)[1],
            "calibrate": bool(self.calibrate),
            "calibration": self.calibration,
            "seed": seed_of(self.random_state),
        }
        data = Data(self._table(X), codes, class_names(self.classes_), weights)
        parts, raised = self._run(self._native_learner(parameters), data, original)
        self._take(parts)
        self._end(parts, raised)
        return self

    def _check_combination(self) -> None:
        """Refuses what scikit-learn refuses, in its words and with the way out."""
        if self.multi_class == "crammer_singer":
            return
        given = f"Parameters: penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}"
        pair = f"Unsupported set of arguments: The combination of penalty={self.penalty!r} and loss={self.loss!r} is not supported"
        if self.penalty == "l1" and self.loss == "hinge":
            raise ValueError(f"{pair}, {given}; use loss='squared_hinge'")
        if self.dual != "auto" and bool(self.dual) == (self.penalty == "l1") and (self.penalty, self.loss) != ("l2", "squared_hinge"):
            raise ValueError(f"{pair} when dual={self.dual}, {given}; use dual='auto'")

    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse matrix, which takes less memory where most weights are zero (``penalty="l1"``).

        Predictions stay as they are.

        {self}
        """
        self._need_model()
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert ``coef_`` back to an array.

        {self}
        """
        self._need_model()
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {
            **super()._constructor(given),
            "loss": "hinge" if given["loss"] == "absolute" else "squared_hinge",
            "penalty": given["regulariser"],
            "multi_class": "crammer_singer" if given.get("multiclass") == "crammer_singer" else "ovr",
            "class_weight": given_weights(given["class_weight"]),
            "calibrate": given["calibrate"],
            "calibration": given["calibration"],
            "random_state": given["seed"],
        }


@loads("linear_svr")
@document
@parameters
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
    {fit_attributes}

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
    epsilon: NotNegative = 0.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        {training}
        {numbers}
        {sample_weight}

        {self}
        """
        self._check_parameters()
        original = (X, y)
        X, y = self._read_training(X, y)
        weights = read_weights(sample_weight, X)
        loss = "absolute" if self.loss == "epsilon_insensitive" else "squared"
        parameters = {**self._shared(), "loss": loss, "epsilon": float(self.epsilon)}
        parts, raised = self._run(self._native_learner(parameters), Data(self._table(X), read_numbers(y), None, weights), original)
        self._take(parts)
        self._end(parts, raised)
        return self

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        loss = "epsilon_insensitive" if given["loss"] == "absolute" else "squared_epsilon_insensitive"
        return {**super()._constructor(given), "loss": loss, "epsilon": given["epsilon"]}

    def _take(self, parts: Parts) -> None:
        super()._take(parts)
        self.coef_ = self.coef_.ravel()

    def predict(self, X: TableLike) -> Floats:
        """Predict target values.

        {samples}

        {predicted_numbers}
        """
        values: Floats = self._judge("decisions", X)
        return values.ravel()
