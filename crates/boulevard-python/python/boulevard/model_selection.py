"""Choosing parameters: a cross-validated grid that shares work between its points."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._base import warn
from ._classes import class_names, read_weights
from ._limits import count_threads, seed_of
from ._request import Data, Limits
from ._typing import Grid, Labels, Parts, RandomState, TableLike
from .exceptions import DataError
from .methods._multi_sample_search import set_scorer, tune_sets
from .svm.classification import SVC
from .svm.regression import SVR, read_numbers

__all__ = ["TuneResult", "set_scorer", "tune", "tune_sets"]

#: What points share rows over.
_AXES = ("C", "gamma", "epsilon")

#: What points of classifiers and of regressors can be judged by.
_OF_CLASSES = ("accuracy", "balanced_accuracy", "f1_macro", "matthews", "log_loss")
_OF_NUMBERS = ("rmse", "mae", "r2")

#: scikit-learn's names of the measures; scores that begin with "neg_" are turned around, so that larger is better.
_MEASURES = {
    "matthews_corrcoef": "matthews",
    "neg_log_loss": "log_loss",
    "neg_root_mean_squared_error": "rmse",
    "neg_mean_absolute_error": "mae",
}


class TuneResult:
    """What :func:`tune` found.

    Attributes
    ----------
    best_params_ : dict
        The chosen point's parameters.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : estimator or None
        An estimator with these parameters, fitted on all rows (None with ``refit=False``).
    cv_results_ : dict of ndarray
        One entry per point: ``param_C``, ``param_gamma``, ``param_epsilon`` and what else was searched, ``params``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``test_scores`` and its columns ``split0_test_score`` and so on.
    chosen_ : dict
        Why this point: ``pick`` (the rule), ``values_from`` (what automatic values are centered on; None where all were given),
        ``refined`` (points that were added around the best), ``at_edge`` (parameters whose chosen value is the smallest or largest tried).
    scoring_ : str
        What the points were judged by.
    larger_is_better_ : bool
        Whether the best score is the largest.
    n_splits_ : int
        Folds.
    """

    def __init__(
        self,
        table: dict[str, Any],
        best_params: Parts,
        best_index: int,
        best_estimator: Any,
        scoring: str,
        *,
        larger_is_better: bool,
        chosen: Parts,
        n_splits: int,
    ) -> None:
        self.cv_results_ = table
        self.best_params_ = best_params
        self.best_index_ = best_index
        self.best_score_ = float(table["mean_test_score"][best_index])
        self.best_estimator_ = best_estimator
        self.scoring_ = scoring
        self.larger_is_better_ = larger_is_better
        self.chosen_ = chosen
        self.n_splits_ = n_splits

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in self.best_params_.items()
        )
        points = len(self.cv_results_["mean_test_score"])
        return f"<TuneResult: {self.scoring_} {self.best_score_:.4g} at {given}, {points} points, {self.chosen_['pick']}>"

    def predict(self, X: TableLike) -> Labels:
        """Predict with the best estimator."""
        labels: Labels = self.best_estimator_.predict(X)
        return labels

    def score(self, X: TableLike, y: ArrayLike) -> float:
        """The best estimator's accuracy or R2 on other rows."""
        return float(self.best_estimator_.score(X, y))


def tune(
    X: TableLike,
    y: ArrayLike,
    estimator: SVC | SVR | None = None,
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
    *,
    C: Grid | Literal["auto"] = None,
    gamma: Grid | Literal["auto"] = None,
    epsilon: Grid | Literal["auto"] = None,
    cv: int = 5,
    scoring: str | None = None,
    refine: bool | None = None,
    pick: Literal["best", "one-se"] = "best",
    sample_weight: ArrayLike | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
    max_time: float | None = None,
    random_state: RandomState = None,
) -> TuneResult:
    """Search C and gamma (and epsilon) by cross-validation.

    Faster than :class:`~sklearn.model_selection.GridSearchCV` because points share kernel rows and start from each other's solutions.
    Without any values it takes its own, spaced evenly on a logarithmic scale around the data's own: gamma around the rule "scale", C
    around 1, for regression C and epsilon in units of the target's spread; then it tries points half a step around the best.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Class labels, or numbers for a regressor.
    estimator : SVC or SVR, default=None
        What to tune; its other parameters are kept. None means ``SVC()``.
    param_grid : dict or list of dict, default=None
        Values by parameter, as :class:`~sklearn.model_selection.GridSearchCV` takes them; any parameter of the estimator may be named.
    C, gamma, epsilon : sequence of float or "auto", default=None
        The same for these three. "auto" takes values around the data's own scale. None means "auto" where no values are given for any
        parameter, else it keeps the estimator's own.
    cv : int, default=5
        Folds; stratified for classes.
    scoring : str, default=None
        "accuracy", "balanced_accuracy", "f1_macro", "matthews" or "log_loss" for classes; "rmse", "mae" or "r2" for numbers; also
        scikit-learn's names of these. None means accuracy or rmse.
    refine : bool, default=None
        Whether points half a step around the best are tried too (a whole step beyond, where it lies at an edge). None means: where no
        values are given.
    pick : {"best", "one-se"}, default="best"
        The point that is chosen: the best mean, or the smoothest machine (smallest C, then smallest gamma) within one standard error
        of it.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each sample counts.
    refit : bool, default=True
        Whether to fit the chosen point on all rows.
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
    >>> result = tune(X, y)
    >>> sorted(result.best_params_)
    ['C', 'gamma']
    >>> bool(result.best_score_ > 0.8)
    True
    >>> result = tune(X, y, param_grid={"C": [1, 10], "gamma": [0.1, 1.0]})
    >>> len(result.cv_results_["params"])
    4
    """
    estimator = SVC() if estimator is None else estimator
    if not isinstance(estimator, SVC | SVR):
        raise TypeError(f"estimator must be an SVC or SVR of boulevard, got {type(estimator).__name__}")
    if pick not in ("best", "one-se"):
        raise ValueError(f"pick must be 'best' or 'one-se', got {pick!r}")
    given = {"C": C, "gamma": gamma, "epsilon": epsilon}
    if param_grid is not None and any(values is not None for values in given.values()):
        raise ValueError("give values by param_grid or by C, gamma and epsilon, not both")
    grids = (
        [{name: values for name, values in given.items() if values is not None}] if param_grid is None else _grids(param_grid, estimator)
    )
    if scoring is not None and not isinstance(scoring, str):
        raise TypeError(f"scoring must be a name or None, got {scoring!r}; tune takes no functions, GridSearchCV does")
    wanted = _MEASURES.get(scoring or "", scoring)
    known = _OF_CLASSES if isinstance(estimator, SVC) else _OF_NUMBERS
    if wanted is not None and wanted not in known:
        also = [name for name, own in _MEASURES.items() if own in known]
        raise ValueError(f"scoring must be one of {', '.join([*known, *also])} or None for {type(estimator).__name__}, got {scoring!r}")
    turned = scoring is not None and scoring.startswith("neg_") and wanted != scoring
    limits = Limits(count_threads(n_jobs), max_time, estimator.memory_limit, getattr(estimator, "device", "auto"))
    parts = []
    for grid in grids:
        free = refine if refine is not None else not any(_is_list(values) for values in grid.values())
        options = {"folds": int(cv), "seed": seed_of(random_state), "score": wanted, "refine": bool(free), "pick": pick.replace("-", "_")}
        for fixed, axes in _searches(grid):
            work = estimator.__class__(**{**estimator.get_params(), **fixed})
            if callable(work.kernel):
                raise ValueError("tune does not take kernel functions; use GridSearchCV")
            parts.append((fixed, _search(work, X, y, sample_weight, {**_values(axes, grid, work), **options}, limits)))
    table, chosen, best = _together(parts, pick, turned)
    fitted = None
    if refit:
        fitted = estimator.__class__(**{**estimator.get_params(), **table["params"][best]})
        fitted.fit(X, y) if sample_weight is None else fitted.fit(X, y, sample_weight=sample_weight)
    larger = parts[0][1]["larger_is_better"] or turned
    measure = scoring if turned and scoring is not None else parts[0][1]["score"]
    splits = table["test_scores"].shape[1]
    return TuneResult(table, dict(table["params"][best]), best, fitted, measure, larger_is_better=larger, chosen=chosen, n_splits=splits)


def _is_list(values: Any) -> bool:
    return values is not None and not isinstance(values, str)


def _grids(param_grid: Any, estimator: SVC | SVR) -> list[dict[str, Any]]:
    """The dictionaries of a ``param_grid``, checked."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    known = estimator.get_params()
    for grid in grids:
        if not isinstance(grid, Mapping):
            raise TypeError(f"param_grid must be a dict or a list of dicts, got {grid!r}")
        for name, values in grid.items():
            if name not in known:
                raise ValueError(f"{type(estimator).__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}")
            if isinstance(values, str) or not np.ndim(values) or len(values) == 0:
                raise ValueError(f"param_grid must hold a list of values for {name!r}, got {values!r}")
    if not grids:
        raise ValueError("param_grid is empty")
    return [dict(grid) for grid in grids]


def _searches(grid: Parts) -> Iterator[tuple[Parts, Parts]]:
    """The searches that a grid is made of: parameters that are fixed in one, and the axes that its points share rows over."""
    axes = {name: grid[name] for name in _AXES if name in grid}
    widths: list[Parts] = [{}]
    if _is_list(axes.get("gamma")):
        # Rules stand beside numbers in other people's grids; each is a search of its own.
        rules = [value for value in axes["gamma"] if isinstance(value, str)]
        numbers = [value for value in axes["gamma"] if not isinstance(value, str)]
        axes = {**axes, "gamma": numbers}
        if rules:
            widths = ([{}] if numbers else []) + [{"gamma": rule} for rule in rules]
    others = [name for name in grid if name not in _AXES]
    for values in product(*(grid[name] for name in others)):
        for width in widths:
            own = {name: value for name, value in axes.items() if name not in width}
            yield {**dict(zip(others, values, strict=True)), **width}, own


def _values(axes: Parts, grid: Parts, work: SVC | SVR) -> Parts:
    """The axes for the native part: a list, none to keep the estimator's own value, null where the library is to choose."""
    free = not any(_is_list(values) for values in grid.values())
    has_epsilon = isinstance(work, SVR)
    values: Parts = {}
    for name in _AXES:
        given = axes.get(name)
        if isinstance(given, str) and given != "auto":
            raise ValueError(f"{name} must be a list of numbers or 'auto', got {given!r}")
        if given is not None and _is_list(given):
            values[name.lower()] = [float(value) for value in given]
        elif (given == "auto" or free) and (name != "epsilon" or has_epsilon):
            values[name.lower()] = None
        else:
            values[name.lower()] = [float(work.C)] if name == "C" else []
    return values


def _together(parts: list[tuple[Parts, Parts]], pick: str, turned: bool) -> tuple[Parts, Parts, int]:
    """The points of all searches in one table, why one of them is chosen, and its place."""
    sign = -1.0 if turned else 1.0
    params: list[Parts] = []
    columns: dict[str, list[Any]] = {f"param_{name}": [] for name in _AXES}
    scores, offsets = [], []
    for fixed, table in parts:
        offsets.append(len(params))
        for name in _AXES:
            columns[f"param_{name}"].extend(np.nan if value is None else value for value in table[name])
        for i in range(len(table["mean"])):
            searched = zip(_AXES, table["searched"], strict=True)
            params.append({**fixed, **{name: table[name][i] for name, used in searched if used and table[name][i] is not None}})
        scores.extend(table["scores"])
    test = sign * np.array(scores)
    others = sorted({name for fixed, _ in parts for name in fixed} - set(_AXES))
    result: Parts = {name: np.array(values, dtype=float) for name, values in columns.items()}
    for name in others:
        result[f"param_{name}"] = np.array([point.get(name) for point in params], dtype=object)
    result["params"] = params
    result["mean_test_score"] = sign * np.concatenate([table["mean"] for _, table in parts])
    result["std_test_score"] = np.concatenate([table["std"] for _, table in parts])
    larger = parts[0][1]["larger_is_better"] or turned
    worth = np.where(np.isnan(result["mean_test_score"]), -np.inf, result["mean_test_score"] * (1 if larger else -1))
    result["rank_test_score"] = 1 + np.array([int((worth > own).sum()) for own in worth])
    result["test_scores"] = test
    for fold in range(test.shape[1]):
        result[f"split{fold}_test_score"] = test[:, fold]
    # Every search has its own choice; the best of them wins, the first of equals.
    places = [offset + table["best"] for offset, (_, table) in zip(offsets, parts, strict=True)]
    best = max(places, key=lambda place: worth[place])
    own = parts[places.index(best)][1]
    edges = [
        name
        for name, used in zip(_AXES, own["searched"], strict=True)
        if used and len(set(own[name])) > 1 and own[name][own["best"]] in (min(own[name]), max(own[name]))
    ]
    chosen = {
        "pick": own["pick"],
        "values_from": own["values_from"],
        "refined": sum(table["refined"] for _, table in parts),
        "at_edge": edges,
    }
    return result, chosen, best


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
    try:
        table, _, raised = _core.grid_search(work._kind, json.dumps(parameters), json.dumps(search), data, limits)
    except DataError:
        work._read_again(*original, reset=True)
        raise
    if raised is not None:
        raise raised
    if table["best"] is None:
        raise DataError("the search was stopped before any point was finished")
    if table["status"] != 0:
        warn("The search stopped early: points are missing or not solved to tol.", ConvergenceWarning)
    return table
