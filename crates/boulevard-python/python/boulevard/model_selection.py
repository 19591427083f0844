"""Choosing parameters: a cross-validated grid that shares work between its points."""

import json
import warnings

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._base import count_threads, seed_of
from ._classification import SVC
from ._kernel_estimator import class_names, read_weights
from ._regression import SVR
from ._set_selection import set_scorer, tune_sets
from .exceptions import DataError

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
    """

    def __init__(self, table, best_params, best_score, best_estimator):
        self.cv_results_ = table
        self.best_params_ = best_params
        self.best_score_ = best_score
        self.best_estimator_ = best_estimator

    def __repr__(self):
        given = ", ".join(f"{name}={value:g}" for name, value in self.best_params_.items())
        return f"<TuneResult: {self.scoring_} {self.best_score_:.4g} at {given}, {len(self.cv_results_['param_C'])} points>"

    def predict(self, X):
        """Predict with the best estimator."""
        return self.best_estimator_.predict(X)


def tune(
    X,
    y,
    estimator=None,
    *,
    C=(0.1, 1.0, 10.0, 100.0, 1000.0),
    gamma=None,
    epsilon=None,
    cv=5,
    scoring=None,
    sample_weight=None,
    refit=True,
    n_jobs=None,
    max_time=None,
    random_state=None,
):
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
    work = estimator.__class__(**estimator.get_params())
    work._check_parameters()
    original = (X, y)
    X, y = work._read_training(X, y)
    weights = read_weights(sample_weight, X)
    parameters = {"kernel": work._kernel(), "solver": work._solver()}
    names = None
    if is_classifier(work):
        labels, y = work._encode(X, y, original)
        names = class_names(work.classes_)
        work.class_weight_, class_weight = work._class_weights(labels, weights)
        parameters.update(penalty=work._penalty(), class_weight=class_weight, calibrate=bool(work.calibrate), seed=seed_of(work.random_state))
    else:
        y = np.ascontiguousarray(y, dtype=np.float64)
        parameters.update(c=float(work.C), tube=work._tube())
    search = {
        "c": [float(value) for value in ([work.C] if C is None else C)],
        "gamma": [] if gamma is None else [float(value) for value in gamma],
        "epsilon": [] if epsilon is None else [float(value) for value in epsilon],
        "folds": int(cv),
        "seed": seed_of(random_state),
        "score": scoring,
        "refit": False,
    }
    table, _, raised = _core.grid_search(
        work._kind,
        json.dumps(parameters),
        json.dumps(search),
        work._table(X),
        y,
        names,
        weights,
        count_threads(n_jobs),
        max_time,
        work.memory_limit,
        None,
    )
    if raised is not None:
        raise raised
    if table["best"] is None:
        raise DataError("the search was stopped before any point was finished")
    if table["status"] != 0:
        warnings.warn("The search stopped early: points are missing or not solved to tol.", ConvergenceWarning, stacklevel=2)
    best = table["best"]
    chosen = {"C": table["C"][best]}
    if gamma is not None:
        chosen["gamma"] = table["gamma"][best]
    if epsilon is not None:
        chosen["epsilon"] = table["epsilon"][best]
    fitted = None
    if refit:
        fitted = estimator.__class__(**{**estimator.get_params(), **chosen})
        fitted.fit(*original) if sample_weight is None else fitted.fit(*original, sample_weight=sample_weight)
    columns = {f"param_{name}": np.array(table[name], dtype=float) for name in ("C", "gamma", "epsilon")}
    columns.update(mean_test_score=np.array(table["mean"]), std_test_score=np.array(table["std"]), test_scores=np.array(table["scores"]))
    result = TuneResult(columns, chosen, table["mean"][best], fitted)
    result.scoring_ = table["score"]
    result.larger_is_better_ = table["larger_is_better"]
    return result
