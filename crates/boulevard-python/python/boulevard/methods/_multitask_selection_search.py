"""Many selections at once: paths over rho, a search over rho and c, each task alone against all together."""

import json
import math
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from .. import _core
from .._limits import count_threads
from .._request import Limits, Tasks
from .._typing import Grid, Parts, TablesLike
from .multitask_selection import MultiTaskSelectionClassifier, MultiTaskSelectionRegressor

__all__ = ["selection_path", "selection_search", "transfer_report"]

_Estimator: TypeAlias = MultiTaskSelectionClassifier | MultiTaskSelectionRegressor


def _prepare(estimator: _Estimator, X: Any, y: Any) -> tuple[str, Tasks, Limits]:
    """Parameters, tasks and limits."""
    estimator._check_parameters()
    tasks = estimator._read_tasks(X, y)._replace(features=estimator._feature_names())
    listener = estimator._listener((None, None))
    limits = Limits(count_threads(estimator.n_jobs), estimator.max_time, estimator.memory_limit, progress=listener)
    return json.dumps(estimator._learner()), tasks, limits


def _ln(rhos: Grid, ln_rhos: Grid) -> list[float]:
    if (rhos is None) == (ln_rhos is None):
        raise ValueError("give either rhos or ln_rhos")
    if rhos is not None:
        if any(not 0 < rho <= 1 for rho in rhos):
            raise ValueError(f"every rho must be above 0 and at most 1, got {list(rhos)}")
        return [math.log(rho) for rho in rhos]
    return [float(value) for value in np.asarray(ln_rhos)]


def _fitted_like(estimator: _Estimator, model: _core.Model, ln_rho: float) -> Any:
    copy = clone(estimator).set_params(ln_rho=ln_rho)
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if name in estimator.__dict__:
            setattr(copy, name, estimator.__dict__[name])
    copy._take(copy._keep(model))
    return copy


def selection_path(estimator: _Estimator, X: TablesLike, y: Any, *, rhos: Grid = None, ln_rhos: Grid = None) -> Bunch:
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
    parameters, tasks, limits = _prepare(estimator, X, y)
    models = _core.selection_path(parameters, tasks, values, limits)
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


def selection_search(
    estimator: _Estimator,
    X: TablesLike,
    y: Any,
    *,
    rhos: Grid = None,
    ln_rhos: Grid = None,
    cs: Grid = None,
    cv: int = 5,
    n_repeats: int = 1,
    random_state: int = 0,
) -> Bunch:
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
    search: Parts = {"ln_rho": _ln(rhos, ln_rhos), "folds": int(cv), "repeats": int(n_repeats), "seed": int(random_state)}
    search["c"] = [float(c) for c in ([1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10] if cs is None else cs)]
    parameters, tasks, limits = _prepare(estimator, X, y)
    grid, model = _core.selection_search(parameters, json.dumps(search), tasks, limits)
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


def transfer_report(estimator: _Estimator, X: TablesLike, y: Any, *, cv: int = 5, random_state: int = 0) -> Bunch:
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
    parameters, tasks, limits = _prepare(estimator, X, y)
    return Bunch(**_core.selection_transfer(parameters, tasks, int(cv), int(random_state), limits))
