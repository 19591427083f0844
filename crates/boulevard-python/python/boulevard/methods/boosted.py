"""The boosted classifier for rare labels and classes."""

import json
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval

from .. import _core
from .._base import fitting
from .._cache import cache_size as cache_size_of
from .._cache import megabytes
from .._classes import ProbabilityMixin, read_weights
from .._docs import document
from .._files import loads
from .._limits import Count, NotNegative, Positive, Seed, Share, Steps, parameters, plain, seed_of
from .._request import Data
from .._typing import ClassWeight, Floats, Parts, TableLike
from ..svm._kernel_machine import steps_of
from ._boosted_labels import LabelsMixin
from ._boosted_rounds import BoostedRound, rounds_of

__all__ = ["BoostedRound", "BoostedSVC"]

_AT_LEAST_ONE: dict[Any, str] = {"auto": "auto", True: "always", False: "never"}
#: Parameters with the same name and value in the native learner.
_SAME = (
    "sampling sampling_ratio initial_weights thresholds measure miss_cost alarm_cost least_recall tune voting sigma_init sigma_min "
    "sigma_step weight_scale max_rounds early_stopping validation preset calibrate"
).split()


@loads("boosted")
@document
@parameters
class BoostedSVC(LabelsMixin, ClassifierMixin, ProbabilityMixin):
    """Boosted sample-weighted support vector machines for rare labels and classes (SAB-WSVM).

    One ensemble per label: every round solves a support vector machine in which rows that earlier rounds missed cost more
    (``C_i = C n W_i``). The defaults are what served best in our own measurements: all rows in every round, decision values
    instead of votes, C, width and first weights by trials on held-out rows, as many rounds as held-out rows want (often one: then it is a
    weighted machine, and ``chosen_`` and the report say so), and thresholds where the ``measure`` of held-out rows is best.
    ``preset="paper"`` is the published algorithm, which a tuned ``SVC`` beats on the published data.

    Parameters
    ----------
    C : float, default=1.0
        The price of one unit of slack for a row of average weight; with ``tune`` the smallest of those that are tried.
    sampling : {"all", "stratified", "trimming"}, default="all"
        Rows of a round: all of them; a share spread over the list from hard to easy rows (the paper); the heaviest ones, without
        weights (AdaBoost-SVM).
    sampling_ratio : float, default=0.3
        Share of the rows that is drawn, unless all are used.
    initial_weights : {"auto", "balanced", "uniform"}, default="auto"
        "balanced" gives the rows with a label half of the weight; "auto" tries both (balanced, where nothing is tried).
    thresholds : {"tuned", "zero"}, default="tuned"
        Where a score becomes a yes. "tuned" takes the place of the best ``measure`` on held-out rows, smoothed; targets of several
        classes have none.
    measure : {"f1", "balanced_accuracy", "cost", "precision_at_recall"}, default="f1"
        What thresholds and the number of rounds are chosen by: F1 (binary target: of a class with at most a quarter of the rows, else the
        mean over both; labels: the mean over them), mean recall of both sides, the cost of misses and false alarms, or
        precision with at least ``least_recall`` of the carriers found. Carriers of a binary target are the rows of a rare class (at most
        a quarter of the rows), whichever comes first in ``classes_``, else of ``classes_[1]``; ``chosen_because_`` names it.
    miss_cost, alarm_cost : float, default=1.0
        Prices of a missed carrier and of a false alarm, for ``measure="cost"``.
    least_recall : float, default=0.8
        For ``measure="precision_at_recall"``.
    tune : bool, default=True
        Whether C (1, 10 or 100 times ``C``), the first width (half, once or twice the usual one, unless ``sigma_init`` is given) and
        the first weights (where "auto") are chosen by how single machines rank and judge held-out rows. Only with
        ``sampling="all"`` and where rows are held out anyway (tuned thresholds or early stopping).
    voting : {"soft", "hard"}, default="soft"
        Whether a round contributes its decision value or its sign.
    sigma_init : float, default=None
        Width of the first kernel ``exp(-|x - z|^2 / (2 sigma^2))``; None is ``sqrt(median(|x - z|^2) / 2)``.
    sigma_min : float, default=None
        No kernel is narrower; None is a fifth of the first width.
    sigma_step : float, default=None
        What a round that is no better than chance takes off the width; None is a twentieth of the first width.
    weight_scale : "n" or float, default="n"
        The factor between weights and prices; "n" is the number of rows.
    max_rounds : int, default=20
        Rounds per label at most.
    early_stopping : bool, default=True
        Whether to keep only as many rounds as serve held-out rows best.
    validation : int or float, default=5
        Held-out rows: a number of folds, or the share of rows of a single hold-out.
    at_least_one : "auto" or bool, default="auto"
        Whether a row that no label claims gets its best label; "auto" if every training row has one. For label matrices only.
    class_weight : dict or "balanced", default=None
        Factors of ``C`` by class; for label matrices by label (its column or name), for the rows that have it.
    preset : {"paper"}, default=None
        "paper" replaces sampling and its ratio, first weights, weight scale, thresholds, voting, early stopping, ``at_least_one`` and
        ``tune``.
    calibrate : bool, default=False
        Whether to fit probabilities with the model even if nothing else needs held-out rows. Otherwise that happens on first use.
    tol : float, default=1e-3
        The violation of the optimality conditions to reach.
    cache_size : float, default=200
        Megabytes for distances; tables that need more compute kernel rows anew.
    max_iter : int, default=-1
        Steps of the solver per round at most; -1 means ten million, or 10 000 per row if that is more.
    {device}
    {shared}

    Attributes
    ----------
    classes_ : ndarray
        The class labels; for a label matrix the numbers of its columns.
    estimators_ : list of list of BoostedRound
        The rounds of every label (of every class; one list for two classes).
    alphas_, errors_, sigmas_ : list of ndarray of shape (n_rounds,)
        Votes, errors and kernel widths of the rounds, by label.
    thresholds_ : ndarray of shape (n_labels,)
        Scores above are a yes.
    weights_ : list of ndarray of shape (n_rounds + 1, n_samples)
        Weights of the training rows before the first round and after every round, by label.
    endings_ : list of str
        Why each label has no more rounds: "max_rounds", "early_stop", "perfect", "sigma_min", "refused", "stopped", "never", "always", or
        "committee": two classes whose best trials are averaged instead, a round for each.
    n_rounds_ : ndarray of shape (n_labels,)
        Rounds of each label.
    validation_scores_ : ndarray
        The measure of held-out rows (macro F1; minus the mean cost; precision) by number of rounds, where that was looked at.
    chosen_ : dict or None
        What trials chose: the ``best`` trial with ``c``, ``sigma_init``, ``initial_weights`` and ``score``, all ``trials``, and the
        ``rows`` they saw; ``committee`` lists those that are averaged, where that is what predicts. None where nothing was tried.
    label_names_ : list of str
        Names of the labels, where ``y`` is a label matrix.
    n_iter_ : int
        Steps of the solver in all.
    {fit_attributes}

    See Also
    --------
    SVC : One machine; with ``class_weight="balanced"`` often as good.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from boulevard import BoostedSVC
    >>> X, Y = make_multilabel_classification(120, n_classes=3, random_state=0)
    >>> clf = BoostedSVC(max_rounds=5).fit(X, Y)
    >>> clf.predict(X[:2]).shape
    (2, 3)
    >>> [len(rounds) for rounds in clf.estimators_] == clf.n_rounds_.tolist()
    True
    """

    _kind = "boosted"
    _noted = ("classes_", "_label_dtype", "_label_sparse")
    _target_kinds = "biufU"
    C: Positive = 1.0
    sampling: Literal["all", "stratified", "trimming"] = "all"
    sampling_ratio: Share = 0.3
    initial_weights: Literal["auto", "balanced", "uniform"] = "auto"
    thresholds: Literal["tuned", "zero"] = "tuned"
    measure: Literal["f1", "balanced_accuracy", "cost", "precision_at_recall"] = "f1"
    miss_cost: NotNegative = 1.0
    alarm_cost: NotNegative = 1.0
    least_recall: Share = 0.8
    tune: bool = True
    voting: Literal["soft", "hard"] = "soft"
    sigma_init: Positive | None = None
    sigma_min: NotNegative | None = None
    sigma_step: NotNegative | None = None
    weight_scale: Positive | Literal["n"] = "n"
    max_rounds: Count = 20
    early_stopping: bool = True
    validation: Annotated[int | float, Interval(Integral, 2, None, closed="left"), Interval(Real, 0.0, 0.5, closed="right")] = 5
    at_least_one: Literal["auto"] | bool = "auto"
    class_weight: ClassWeight = None
    preset: Literal["paper"] | None = None
    calibrate: bool = False
    tol: Positive = 1e-3
    cache_size: Positive = 200
    max_iter: Steps = -1
    device: str = "auto"
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------ input

    def _learner(self, names: list[str]) -> Parts:
        """Parameters of the native learner."""
        weights: Any = "equal" if self.class_weight is None else self.class_weight
        if isinstance(weights, dict):
            known = dict(zip(self.classes_.tolist(), names, strict=True))
            wrong = [key for key in weights if key not in known and str(key) not in names]
            if wrong:
                raise ValueError(f"The classes, {wrong}, are not in class_weight's reach: known are {list(known)}")
            weights = {"given": [(known.get(key, str(key)), float(factor)) for key, factor in weights.items()]}
        return {
            **{name: plain(getattr(self, name)) for name in _SAME},
            "c": float(self.C),
            "at_least_one": _AT_LEAST_ONE["auto" if isinstance(self.at_least_one, str) else bool(self.at_least_one)],
            "class_weight": weights,
            "solver": {
                "tolerance": float(self.tol),
                "cache_megabytes": megabytes(self.cache_size),
                "max_iterations": None if self.max_iter == -1 else int(self.max_iter),
            },
            "seed": seed_of(self.random_state),
        }

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        solver = given["solver"]
        return {
            **{name: given[name] for name in _SAME},
            "C": given["c"],
            "at_least_one": {name: value for value, name in _AT_LEAST_ONE.items()}[given["at_least_one"]],
            "class_weight": None if given["class_weight"] == "equal" else given["class_weight"],
            "tol": solver["tolerance"],
            "cache_size": cache_size_of(solver["cache_megabytes"]),
            "max_iter": steps_of(solver["max_iterations"]),
            "random_state": given["seed"],
        }

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        super()._prepare(model, parts)
        names = model.classes or []
        if parts["target"] == "labels":
            self.classes_, self.label_names_ = np.arange(len(names)), names
            self._label_dtype, self._label_sparse = np.dtype(int), False
        if isinstance(self.class_weight, dict) and isinstance(self.class_weight.get("given"), list):
            known = dict(zip(names, self.classes_.tolist(), strict=True))
            self.class_weight = {known[name]: factor for name, factor in self.class_weight["given"]}

    @fitting
    def fit(self, X: TableLike, y: TableLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensembles.

        Parameters
        ----------
        {training}
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a label matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice (where nothing is drawn at random).

        {self}
        """
        self._check_parameters()
        original = (X, y)
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        X, _ = self._read_anything(X, None, reset=True, needs_y=False)
        target, names = self._read_target(X, y, original)
        weights = read_weights(sample_weight, X)
        if target.ndim == 1:
            self._check_classes_left(target, weights)
        parts, raised = self._run(self._native_learner(self._learner(names)), Data(self._table(X), target, names, weights), original)
        self._take(parts)
        self._end(parts, raised)
        return self

    def _take(self, parts: Parts) -> None:
        self.alphas_, self.errors_, self.sigmas_ = parts["alphas"], parts["errors"], parts["sigmas"]
        self.thresholds_, self.weights_, self.endings_ = parts["thresholds"], parts["weights"], parts["endings"]
        self.validation_scores_ = parts["stage_scores"]
        self.chosen_ = None if parts["chosen"] is None else json.loads(parts["chosen"])
        self.n_rounds_ = np.array([len(alphas) for alphas in self.alphas_])
        self.n_iter_ = int(parts["iterations"])
        self.estimators_ = rounds_of(parts)

    # ------------------------------------------------------------ answers

    def decision_function(self, X: TableLike) -> Floats:
        """Scores minus thresholds.

        {samples}

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Two classes: positive for ``classes_[1]``. More: the largest is the prediction. Label matrix: positive ones are predicted.
        """
        return self._shaped(self._judge("decisions", X))

    def predict(self, X: TableLike) -> Any:
        """Predict classes or labels.

        {samples}

        Returns
        -------
        labels : ndarray or sparse matrix of shape (n_samples,) or (n_samples, n_labels)
            As ``y`` in ``fit``.
        """
        return self._answer(self._judge("decisions", X))

    def staged_decision_function(self, X: TableLike) -> Iterator[Floats]:
        """Decision values after 1, 2, ... rounds, with the thresholds of the whole ensemble.

        {samples}

        Yields
        ------
        decisions : ndarray
            As ``decision_function`` returns them.
        """
        for decisions in self._judge("staged", X):
            yield self._shaped(decisions)

    def staged_predict(self, X: TableLike) -> Iterator[Any]:
        """Predictions after 1, 2, ... rounds.

        {samples}

        Yields
        ------
        labels : ndarray or sparse matrix
            As ``predict`` returns them; the last are those of ``predict``.
        """
        for decisions in self._judge("staged", X):
            yield self._answer(decisions)

    def predict_proba(self, X: TableLike) -> Floats:
        """Predict probabilities.

        They come from Platt's sigmoids on scores of held-out rows: those of the fit, or (``thresholds="zero"`` without early stopping)
        of ``validation`` fits on first use.

        {samples}

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Of every class, the largest being the predicted one; or of every label, above one half where it is predicted.
        """
        return super().predict_proba(X)

    def hard_rows(self, label: int = 0, n_rows: int = 10) -> tuple[NDArray[np.intp], Floats]:
        """The training rows that a label struggles with.

        Parameters
        ----------
        label : int, default=0
            The label (or class).
        n_rows : int, default=10
            How many to name.

        Returns
        -------
        rows : ndarray of shape (n_rows,)
            Row numbers, heaviest first after the last round.
        weights : ndarray of shape (n_rows,)
            Their weights as multiples of the weight they started with.
        """
        self._need_model()
        history = self.weights_[label]
        if history.shape[1] == 0:
            return np.empty(0, dtype=int), np.empty(0)
        rows = np.argsort(-history[-1], kind="stable")[:n_rows]
        return rows, history[-1][rows] / history[0][rows]
