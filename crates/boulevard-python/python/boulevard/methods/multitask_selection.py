"""Multi-task feature and kernel selection by maximum entropy discrimination (Jebara 2004)."""

# long: two estimators whose parameters are documented one by one.

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .. import _core
from .._classes import ProbabilityMixin, class_names, labels_of
from .._docs import document
from .._files import loads
from .._limits import NotNegative, Seed, parameters, seed_of
from .._request import Tasks
from .._typing import Floats, Labels, Parts, TablesLike
from ._multitask_selection_base import SelectingEstimator, is_tasks

__all__ = ["MultiTaskSelectionClassifier", "MultiTaskSelectionRegressor"]


@loads("multitask_selection")
@document
@parameters
class MultiTaskSelectionClassifier(ClassifierMixin, ProbabilityMixin, SelectingEstimator):
    """Classification that learns which features (or kernels) matter, for many tasks at once.

    Every feature (or base kernel) has a switch that all tasks share. The switches' posterior probabilities, the weights and the biases
    solve one convex problem; the fit certifies how close it is (``dual_gap_``). More than two classes become one task per class.

    Parameters
    ----------
    {selection}
    c : float or "auto", default="auto"
        Decay of the margin prior: multipliers stay below ``c``. The soft range for features of unit scale is from 1 to 3; ``c <= 1`` gives
        the trivial solution and a warning.
    {selection_prior}
    calibrate : bool, default=False
        Whether to fit probabilities with the model, which costs five more fits. Otherwise that happens when ``predict_proba`` is first
        called.
    {shared}

    Attributes
    ----------
    classes_ : ndarray, or a list of them for several outputs with different labels
        The class labels.
    {selection_attributes}
    lambda_ : ndarray of shape (n_samples,) or (n_tasks, n_samples), or a list of them for tasks with rows of their own
        The multipliers.
    n_iter_ : int
        Steps of the solvers.
    {fit_attributes}

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

    _target_kinds = "biufU"
    _request = Tasks

    calibrate: bool = False
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _learner(self) -> Parts:
        return {**super()._learner(), "calibrate": bool(self.calibrate), "seed": seed_of(self.random_state)}

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        return cls._classes_in(model) is not None

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {**super()._constructor(given), "calibrate": given["calibrate"], "random_state": given["seed"]}

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        super()._prepare(model, parts)
        self.classes_ = labels_of(self._classes_in(model) or [])

    @staticmethod
    def _multipliers(coefficients: Floats) -> Floats:
        return np.abs(coefficients)

    # ------------------------------------------------------------ targets

    def _one_target(self, y: Any) -> tuple[list[Floats], Parts]:
        if y.dtype.kind not in "biuUS":  # whole numbers and names are classes without a closer look
            check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class")
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(codes == k, 1.0, -1.0) for k in positive], {"classes": class_names(self.classes_)}

    def _many_targets(self, Y: Any) -> tuple[list[Floats], Parts]:
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

    def _task_targets(self, columns: list[Any]) -> tuple[list[Floats], Parts]:
        self.classes_ = np.unique(np.concatenate(columns))
        check_classification_targets(np.concatenate(columns))
        if len(self.classes_) != 2:
            raise ValueError(f"tasks with rows of their own tell two classes apart, got {len(self.classes_)} classes: {self.classes_}")
        for task, y in enumerate(columns):
            if len(np.unique(y)) != 2:
                raise ValueError(
                    f"task {task} has one class only: all its rows are {y[0].item() if isinstance(y[0], np.generic) else y[0]!r}"
                )
        names = {"names": [f"task {k}" for k in range(len(columns))], "classes": class_names(self.classes_)}
        return [np.where(y == self.classes_[1], 1.0, -1.0) for y in columns], {"tasks": names}

    # ------------------------------------------------------------ predictions

    def decision_function(self, X: TablesLike, task: int | None = None) -> Any:
        """Evaluate the decision function.

        {tables}

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_tasks), or a list of them
            Positive for the second class (two classes, and every task); one column per class or output otherwise.
        """
        self._need_model()
        found = self._by_task(X, task, self._decide)
        if found is not None:
            return found
        values = self._decide(X, None)
        return values.ravel() if "classes" in self._outputs and len(self.classes_) == 2 else values

    def predict(self, X: TablesLike, task: int | None = None) -> Any:
        """Predict class labels.

        {tables}

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_outputs), or a list of them
            The classes.
        """
        self._need_model()
        found = self._by_task(X, task, lambda x, t: self._classes_of(t).take((self._decide(x, t) > 0).astype(int)))
        if found is not None:
            return found
        values = self._decide(X, None)
        if "classes" in self._outputs:
            return self.classes_.take((values.ravel() > 0).astype(int) if len(self.classes_) == 2 else values.argmax(axis=1))
        if isinstance(self.classes_, np.ndarray):
            return self.classes_.take((values > 0).astype(int))
        return np.column_stack([classes.take((values[:, k] > 0).astype(int)) for k, classes in enumerate(self.classes_)])

    def _classes_of(self, task: int) -> Labels:
        if "classes" in self._outputs and len(self.classes_) > 2:
            return np.array([False, True])
        return self.classes_[task] if isinstance(self.classes_, list) else self.classes_

    def predict_proba(self, X: TablesLike, task: int | None = None) -> Any:
        """Predict class probabilities.

        They come from Platt's sigmoids on five-fold cross-validated decisions, fitted with the model (``calibrate=True``) or on first use.

        {tables}

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), or a list of them
            Columns in the order of ``classes_``; the largest belongs to the predicted class. Several outputs on the same rows: an array of
            shape (n_samples, n_outputs) with the probability of each output's second class.
        """
        self._ensure_calibrated()
        if "tasks" in self._outputs:
            return self._by_task(X, task, self._task_probabilities)
        return self._judge("probabilities", X)

    def _task_probabilities(self, X: Any, task: int) -> Floats:
        p = self._judge("probabilities", X)[:, task]
        return np.column_stack([1 - p, p])

    def predict_log_proba(self, X: TablesLike, task: int | None = None) -> Any:
        """Predict logarithms of class probabilities.

        {tables}

        Returns
        -------
        logarithms : ndarray, or a list of them
            As :meth:`predict_proba`.
        """
        probabilities = self.predict_proba(X, task)
        return [np.log(p) for p in probabilities] if isinstance(probabilities, list) else np.log(probabilities)

    def score(self, X: TablesLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
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
        if is_tasks(X):
            return float(np.mean(np.concatenate([p == np.asarray(t) for p, t in zip(self.predict(X), y, strict=True)])))
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))


@loads("multitask_selection")
@document
@parameters
class MultiTaskSelectionRegressor(RegressorMixin, SelectingEstimator):
    """Regression that learns which features (or kernels) matter, for many tasks at once.

    Parameters
    ----------
    {selection}
    c : float or "auto", default="auto"
        Decay of the margin prior: the largest weight of a sample.
    epsilon : float, default=0.1
        Half-width of the tube without loss.
    margin_prior : {"exp", "jj"}, default="exp"
        Exponential beyond epsilon, or flat up to epsilon and exponential beyond (Jebara and Jaakkola 2000).
    {selection_prior}
    {limits}

    Attributes
    ----------
    {selection_attributes}
    lambda_ : ndarray of shape (n_samples,) or (n_tasks, n_samples), or a list of them for tasks with rows of their own
        Signed multipliers: positive where the prediction is below the tube.
    n_iter_ : int
        Steps of the solvers.
    {fit_attributes}

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

    epsilon: NotNegative = 0.1
    margin_prior: Literal["exp", "jj"] = "exp"

    def _learner(self) -> Parts:
        return {**super()._learner(), "epsilon": float(self.epsilon), "margin_prior": self.margin_prior}

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        return cls._classes_in(model) is None

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {**super()._constructor(given), "epsilon": given["epsilon"], "margin_prior": given["margin_prior"]}

    @staticmethod
    def _numbers(y: Any) -> Floats:
        y = np.asarray(y)
        if y.dtype.kind not in "biuf":
            y = y.astype(np.float64)
        y = np.require(y, dtype=np.float64, requirements=["C", "A"])
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        return y

    def _one_target(self, y: Any) -> tuple[list[Floats], Parts]:
        return [self._numbers(y)], {"real": 1}

    def _many_targets(self, Y: Any) -> tuple[list[Floats], Parts]:
        Y = self._numbers(Y.toarray() if sp.issparse(Y) else Y)
        return [np.ascontiguousarray(Y[:, k]) for k in range(Y.shape[1])], {"real": Y.shape[1]}

    def _task_targets(self, columns: list[Any]) -> tuple[list[Floats], Parts]:
        return [self._numbers(y) for y in columns], {"tasks": {"names": [f"task {k}" for k in range(len(columns))], "classes": None}}

    def predict(self, X: TablesLike, task: int | None = None) -> Any:
        """Predict numbers.

        {tables}

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_outputs), or a list of them
            The predictions.
        """
        self._need_model()
        found = self._by_task(X, task, self._decide)
        if found is not None:
            return found
        values = self._decide(X, None)
        return values.ravel() if values.shape[1] == 1 else values

    def score(self, X: TablesLike, y: Any, sample_weight: ArrayLike | None = None) -> float:
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
        if is_tasks(X):
            return float(np.mean([r2_score(t, p) for p, t in zip(self.predict(X), y, strict=True)]))
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
