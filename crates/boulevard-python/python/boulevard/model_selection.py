"""Choosing parameters: a cross-validated grid that shares work between its points."""

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._base import warn
from ._classes import class_names, read_weights
from ._limits import count_threads, seed_of
from ._request import Data, Limits
from ._typing import Grid, Parts, RandomState, TableLike
from .exceptions import DataError
from .methods._multi_sample_search import set_scorer, tune_sets
from .svm.classification import SVC
from .svm.regression import SVR, read_numbers

__all__ = ["TuneResult", "set_scorer", "tune", "tune_sets"]


class TuneResult:
    """What :func:`tune` found.

    Attributes
    ----------
    best_params_ : dict
        The best point's parameters.
    best_score_ : float
        Its mean score over the folds.
    best_estimator_ : estimator or None
        An estimator with these parameters, fitted on all rows (None with ``refit=False``).
    cv_results_ : dict of ndarray
        One entry per point: ``param_C``, ``param_gamma``, ``param_epsilon``, ``mean_test_score``, ``std_test_score``, ``test_scores``.
    scoring_ : str
        What the points were judged by.
    larger_is_better_ : bool
        Whether the best score is the largest.
    """

    def __init__(
        self, table: dict[str, Any], best_params: Parts, best_score: float, best_estimator: Any, scoring: str, *, larger_is_better: bool
    ) -> None:
        self.cv_results_ = table
        self.best_params_ = best_params
        self.best_score_ = best_score
        self.best_estimator_ = best_estimator
        self.scoring_ = scoring
        self.larger_is_better_ = larger_is_better

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value:g}" for name, value in self.best_params_.items())
        return f"<TuneResult: {self.scoring_} {self.best_score_:.4g} at {given}, {len(self.cv_results_['param_C'])} points>"

    def predict(self, X: TableLike) -> Any:
        """Predict with the best estimator."""
        return self.best_estimator_.predict(X)


def tune(
    X: TableLike,
    y: ArrayLike,
    estimator: SVC | SVR | None = None,
    *,
    C: Grid = (0.1, 1.0, 10.0, 100.0, 1000.0),
    gamma: Grid = None,
    epsilon: Grid = None,
    cv: int = 5,
    scoring: str | None = None,
    sample_weight: ArrayLike | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
    max_time: float | None = None,
    random_state: RandomState = None,
) -> TuneResult:
    """Search a grid of C and gamma (and epsilon) by cross-validation.

    Faster than :class:`~sklearn.model_selection.GridSearchCV` because points share kernel rows and start from each other's solutions.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Class labels, or numbers for a regressor.
    estimator : SVC or SVR, default=None
        What to tune; its other parameters are kept. None means ``SVC()``.
    C, gamma, epsilon : sequence of float
        The grid. None keeps the estimator's own value.
    cv : int, default=5
        Folds; stratified for classes.
    scoring : str, default=None
        "accuracy", "balanced_accuracy", "f1_macro", "matthews" or "log_loss" for classes; "rmse", "mae" or "r2" for numbers.
        None means accuracy or rmse.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each sample counts.
    refit : bool, default=True
        Whether to fit the best point on all rows.
    n_jobs, max_time, random_state
        As in the estimators; ``random_state`` seeds the folds.

    Returns
    -------
    result : TuneResult
        The table, the best parameters and the fitted estimator.

    Examples
    --------
    >>> from boulevard.datasets import make_banana
    >>> from boulevard.model_selection import tune
    >>> X, y = make_banana(200, random_state=0)
    >>> result = tune(X, y, C=[1, 10], gamma=[0.1, 1.0])
    >>> sorted(result.best_params_)
    ['C', 'gamma']
    >>> bool(result.best_score_ > 0.8)
    True
    """
    estimator = SVC() if estimator is None else estimator
    if not isinstance(estimator, SVC | SVR):
        raise TypeError(f"estimator must be an SVC or SVR of boulevard, got {type(estimator).__name__}")
    if callable(estimator.kernel):
        raise ValueError("tune does not take kernel functions; use GridSearchCV")
    grid = {"C": [estimator.C] if C is None else C, "gamma": gamma, "epsilon": epsilon}
    search: Parts = {name.lower(): [] if values is None else [float(value) for value in values] for name, values in grid.items()}
    search.update(folds=int(cv), seed=seed_of(random_state), score=scoring, refit=False)
    limits = Limits(count_threads(n_jobs), max_time, estimator.memory_limit, getattr(estimator, "device", "auto"))
    table = _search(estimator, X, y, sample_weight, search, limits)
    best = table["best"]
    chosen = {name: table[name][best] for name, values in grid.items() if values is not None}
    fitted = None
    if refit:
        fitted = estimator.__class__(**{**estimator.get_params(), **chosen})
        fitted.fit(X, y) if sample_weight is None else fitted.fit(X, y, sample_weight=sample_weight)
    columns = {f"param_{name}": np.array(table[name], dtype=float) for name in grid}
    columns.update(mean_test_score=np.array(table["mean"]), std_test_score=np.array(table["std"]), test_scores=np.array(table["scores"]))
    return TuneResult(columns, chosen, table["mean"][best], fitted, table["score"], larger_is_better=table["larger_is_better"])


def _search(estimator: SVC | SVR, X: Any, y: Any, sample_weight: Any, search: Parts, limits: Limits) -> Parts:
    """The points of the grid with their scores."""
    work = estimator.__class__(**estimator.get_params())
    work._check_parameters()
    original = (X, y)
    X, y = work._read_training(X, y)
    weights = read_weights(sample_weight, X)
    target: Any
    names: list[str] | None = None
    if isinstance(work, SVC):
        labels, target = work._encode(y, original)
        names = class_names(work.classes_)
        parameters = work._learner(work._class_weights(labels, weights)[1])
    else:
        target, parameters = read_numbers(y), work._learner()
    parameters.update(kernel=work._kernel(), solver=work._solver())
    data = Data(work._table(X), target, names, weights)
    table, _, raised = _core.grid_search(work._kind, json.dumps(parameters), json.dumps(search), data, limits)
    if raised is not None:
        raise raised
    if table["best"] is None:
        raise DataError("the search was stopped before any point was finished")
    if table["status"] != 0:
        warn("The search stopped early: points are missing or not solved to tol.", ConvergenceWarning)
    return table
