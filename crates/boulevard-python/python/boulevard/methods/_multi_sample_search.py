"""Choosing parameters of classifiers of sets, and scorers that hand groups on."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.metrics._scorer import _Scorer

from .. import _core
from .._classes import class_names
from .._limits import count_threads, seed_of
from .._request import Data, Limits
from .._typing import Grid, RandomState, TablesLike
from ._multi_sample_sets import labels_of_sets, read_sets, weights_of_sets
from .multi_sample import MultiSampleClassifier

if TYPE_CHECKING:
    from ..model_selection import TuneResult

__all__ = ["set_scorer", "tune_sets"]


def tune_sets(
    X: TablesLike,
    y: ArrayLike,
    estimator: MultiSampleClassifier | None = None,
    *,
    C: Grid = None,
    gamma: Grid = None,
    groups: ArrayLike | None = None,
    cv: int = 5,
    refit: bool = True,
    n_jobs: int | None = None,
    max_time: float | None = None,
    random_state: RandomState = None,
) -> "TuneResult":
    """Search a grid of C and gamma for a :class:`~boulevard.MultiSampleClassifier` by cross-validation over samples.

    Folds cut the samples (whole groups, where there are groups) before any tuple is drawn: tuples to learn from come from the training
    samples of a fold, tuples to judge from its held-out samples. Cutting tuples instead would put the same sample on both sides.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
        Training samples.
    y : array-like of shape (n_samples,) or (n_sets,)
        Class labels.
    estimator : MultiSampleClassifier, default=None
        What to tune; its other parameters are kept. None means ``MultiSampleClassifier()``. Where its method is "auto", consensus and
        direct machines are both searched, and ``best_params_`` has the method too.
    C : sequence of float, default=None
        Prices of slack; None means 2**-2, 2**0, ..., 2**8.
    gamma : sequence of float, default=None
        Inverse widths; None means 2**k / n_features for k in -8, -6, -4, -3, -2, -1, 0, 1, 2, 4 (for standardized columns).
    groups : array-like of shape (n_samples,), default=None
        Which samples belong together.
    cv : int, default=5
        Folds.
    refit : bool, default=True
        Whether to fit the best point on all samples.
    n_jobs, max_time, random_state
        As in the estimators; ``random_state`` seeds the folds.

    Returns
    -------
    result : TuneResult
        With ``best_params_``, ``best_score_`` (the mean share of sets judged rightly), ``best_estimator_`` and ``cv_results_``.

    Examples
    --------
    >>> from boulevard.datasets import make_banana
    >>> from boulevard.model_selection import tune_sets
    >>> X, y = make_banana(100, random_state=0)
    >>> result = tune_sets(X, y, C=[1, 10], gamma=[0.2, 1.0])
    >>> bool(result.best_score_ > 0.9)
    True
    """
    from ..model_selection import TuneResult

    estimator = MultiSampleClassifier() if estimator is None else estimator
    if not isinstance(estimator, MultiSampleClassifier):
        raise TypeError(f"estimator must be a MultiSampleClassifier, got {type(estimator).__name__}")
    work = estimator.__class__(**estimator.get_params())
    work._check_parameters()
    rows, labels, codes = work._training_sets(X, y, groups)
    table, labels = work._read_training(rows, labels)
    labels, classes = work._encode(labels, (rows, labels))
    class_weight = work._class_weights(labels, None)[1]
    # What is left open is searched for both: votes only lose evidence.
    methods = ["consensus", "direct"] if work.method == "auto" else [work.method]
    has_gamma = work.kernel not in ("linear", "precomputed")
    if gamma is None and has_gamma:
        gamma = [2.0**k / table.shape[1] for k in (-8, -6, -4, -3, -2, -1, 0, 1, 2, 4)]
    search = {
        "c": [2.0**k for k in range(-2, 9, 2)] if C is None else [float(value) for value in C],
        "gamma": [float(value) for value in gamma] if has_gamma and gamma is not None else [],
        "folds": int(cv),
        "seed": seed_of(random_state),
    }
    data = Data(work._table(table), classes, class_names(work.classes_), groups=codes)
    limits = Limits(count_threads(n_jobs), max_time, work.memory_limit, work.device)
    columns: dict[str, list[Any]] = {name: [] for name in ("C", "gamma", "error", "deviation", "method")}
    for method in methods:
        learner = {**work._learner(class_weight), "method": method, "kernel": work._kernel(), "solver": work._solver()}
        found = _core.search_sets(json.dumps(learner), json.dumps(search), data, limits)
        for name, values in found.items():
            columns[name] += values
        columns["method"] += [method] * len(found["C"])
    errors, c = np.array(columns["error"]), np.array(columns["C"])
    width = np.array([np.nan if value is None else value for value in columns["gamma"]])
    best = np.lexsort((width, c, errors))[0]
    chosen: dict[str, Any] = {"C": float(c[best]), **({"gamma": float(width[best])} if has_gamma else {})}
    results = {"param_C": c, "param_gamma": width, "mean_test_score": 1.0 - errors, "std_test_score": np.array(columns["deviation"])}
    if len(methods) > 1:
        chosen["method"], results["param_method"] = columns["method"][best], np.array(columns["method"])
    fitted = estimator.__class__(**{**estimator.get_params(), **chosen}).fit(X, y, groups=groups) if refit else None
    why: dict[str, Any] = {"pick": "the lowest mean error over the folds", "values_from": None, "refined": 0, "at_edge": []}
    return TuneResult(results, chosen, int(best), fitted, "accuracy", larger_is_better=True, chosen=why, n_splits=int(cv))


class _SetScorer(_Scorer):
    """Hands ``groups`` to the estimator instead of the metric, and judges sets instead of rows."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> float:
        groups = kwargs.pop("groups", None)
        sets = read_sets(X, groups)
        truth = labels_of_sets(y_true, sets)
        if "sample_weight" in kwargs:
            kwargs["sample_weight"] = weights_of_sets(kwargs["sample_weight"], sets)
        methods = [self._response_method] if isinstance(self._response_method, str) else list(self._response_method)
        method = next(name for name in methods if hasattr(estimator, name))
        values = getattr(estimator, method)(X, **({} if groups is None else {"groups": groups}))
        if method == "predict_proba" and values.shape[1] == 2:
            values = values[:, 1]
        return self._sign * float(self._score_func(truth, values, **{**kwargs, **self._kwargs}))


def set_scorer(scoring: Any = "accuracy") -> Any:
    """Turn one of scikit-learn's scorers into one that judges sets.

    scikit-learn's own scorers call ``predict(X)`` without groups. This one calls ``predict(X, groups=groups)`` and compares one answer
    per set with the label that the set's samples share.

    Parameters
    ----------
    scoring : str or scorer, default="accuracy"
        A name that :func:`sklearn.metrics.get_scorer` knows, or a scorer made by :func:`sklearn.metrics.make_scorer`.

    Returns
    -------
    scorer : callable
        For ``scoring=`` of scikit-learn's searches; ask for groups with ``set_score_request(groups=True)`` and metadata routing.

    Examples
    --------
    >>> from boulevard import MultiSampleClassifier
    >>> from boulevard.datasets import make_banana
    >>> from boulevard.model_selection import set_scorer
    >>> X, y = make_banana(90, random_state=0)
    >>> clf = MultiSampleClassifier(gamma=0.5).fit(X, y)
    >>> scorer = set_scorer("balanced_accuracy")
    >>> three = [X[y == label][:3] for label in (-1, 1)]
    >>> float(scorer(clf, three, [-1, 1]))
    1.0
    """
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    score_func = getattr(scorer, "_score_func", accuracy_score)
    return _SetScorer(
        score_func, getattr(scorer, "_sign", 1), getattr(scorer, "_kwargs", {}), getattr(scorer, "_response_method", "predict")
    )
