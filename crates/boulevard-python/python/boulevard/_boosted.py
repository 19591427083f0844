"""The boosted classifier for rare labels and classes."""

import json
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from ._base import NativeEstimator, count_threads, seed_of, shared_constraints, with_callbacks
from ._classification import ProbabilityMixin
from ._docs import document
from ._kernel_estimator import class_names, read_weights
from .exceptions import DataError

__all__ = ["BoostedRound", "BoostedSVC"]

_AT_LEAST_ONE = {"auto": "auto", True: "always", False: "never"}


@dataclass(frozen=True, repr=False)
class BoostedRound:
    """One round of one label: a weighted machine.

    Attributes
    ----------
    alpha, error, sigma : float
        Weight of its vote, weight of the training rows it misses, width of its kernel.
    n_drawn : int
        Rows it learnt from.
    support_ : ndarray
        Rows of its support vectors.
    dual_coef_ : ndarray
        Their coefficients.
    support_vectors_ : ndarray or sparse matrix
        The support vectors.
    intercept_ : float
        Constant of the decision function.
    """

    alpha: float
    error: float
    sigma: float
    n_drawn: int
    support_: np.ndarray
    dual_coef_: np.ndarray
    support_vectors_: object
    intercept_: float

    def __repr__(self):
        return f"BoostedRound(alpha={self.alpha:.3g}, error={self.error:.3g}, sigma={self.sigma:.3g}, n_support={len(self.support_)})"

    def decision_function(self, X):
        """Decision values of this round alone."""
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(X, self.support_vectors_, gamma=0.5 / self.sigma**2) @ self.dual_coef_ + self.intercept_


@document
class BoostedSVC(ProbabilityMixin, ClassifierMixin, NativeEstimator):
    """Boosted sample-weighted support vector machines for rare labels and classes (SAB-WSVM).

    One ensemble per label: every round solves a support vector machine in which rows that earlier rounds missed cost more
    (``C_i = C n W_i``). The defaults are what served best in our own measurements: all rows in every round, balanced first weights,
    decision values instead of votes, as many rounds as held-out rows want, and thresholds where macro F1 of held-out rows is best.
    ``preset="paper"`` is the published algorithm, which a tuned ``SVC`` beats on the published data.

    Parameters
    ----------
    C : float, default=1.0
        The price of one unit of slack for a row of average weight.
    sampling : {"all", "stratified", "trimming"}, default="all"
        Rows of a round: all of them; a share spread over the list from hard to easy rows (the paper); the heaviest ones, without
        weights (AdaBoost-SVM).
    sampling_ratio : float, default=0.3
        Share of the rows that is drawn, unless all are used.
    initial_weights : {"balanced", "uniform"}, default="balanced"
        "balanced" gives the rows with a label half of the weight.
    thresholds : {"tuned", "zero"}, default="tuned"
        Where a score becomes a yes. "tuned" takes the place of the best macro F1 on held-out rows (of both classes, for a binary
        target); targets of several classes have none.
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
        "paper" replaces sampling and its ratio, first weights, weight scale, thresholds, voting, early stopping and ``at_least_one``.
    calibrate : bool, default=False
        Whether to fit probabilities with the model even if nothing else needs held-out rows. Otherwise that happens on first use.
    tol : float, default=1e-3
        The violation of the optimality conditions to reach.
    cache_size : float, default=200
        Megabytes for distances; tables that need more compute kernel rows anew.
    max_iter : int, default=-1
        Steps of the solver per round at most; -1 means no limit.
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
        Why each label has no more rounds: "max_rounds", "early_stop", "perfect", "sigma_min", "refused", "stopped", "never", "always".
    n_rounds_ : ndarray of shape (n_labels,)
        Rounds of each label.
    validation_scores_ : ndarray
        Macro F1 of held-out rows by number of rounds, where that was looked at.
    label_names_ : list of str
        Names of the labels, where ``y`` is a label matrix.
    objective_ : float
        Sum of the dual objectives of all rounds.
    dual_gap_ : float
        Largest relative duality gap of a round.
    n_iter_ : int
        Steps of the solver in all.
    fit_status_ : int
        0 converged, 1 iteration limit, 2 time limit, 3 interrupted.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

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

    _target_kinds = "biufU"
    _parameter_constraints = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "sampling": [StrOptions({"all", "stratified", "trimming"})],
        "sampling_ratio": [Interval(Real, 0.0, 1.0, closed="right")],
        "initial_weights": [StrOptions({"balanced", "uniform"})],
        "thresholds": [StrOptions({"tuned", "zero"})],
        "voting": [StrOptions({"soft", "hard"})],
        "sigma_init": [None, Interval(Real, 0.0, None, closed="neither")],
        "sigma_min": [None, Interval(Real, 0.0, None, closed="left")],
        "sigma_step": [None, Interval(Real, 0.0, None, closed="left")],
        "weight_scale": [StrOptions({"n"}), Interval(Real, 0.0, None, closed="neither")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation": [Interval(Integral, 2, None, closed="left"), Interval(Real, 0.0, 0.5, closed="right")],
        "at_least_one": [StrOptions({"auto"}), "boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "preset": [StrOptions({"paper"}), None],
        "calibrate": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        **shared_constraints,
    }

    def __init__(
        self,
        *,
        C=1.0,
        sampling="all",
        sampling_ratio=0.3,
        initial_weights="balanced",
        thresholds="tuned",
        voting="soft",
        sigma_init=None,
        sigma_min=None,
        sigma_step=None,
        weight_scale="n",
        max_rounds=20,
        early_stopping=True,
        validation=5,
        at_least_one="auto",
        class_weight=None,
        preset=None,
        calibrate=False,
        tol=1e-3,
        cache_size=200,
        max_iter=-1,
        n_jobs=None,
        verbose=0,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.C = C
        self.sampling = sampling
        self.sampling_ratio = sampling_ratio
        self.initial_weights = initial_weights
        self.thresholds = thresholds
        self.voting = voting
        self.sigma_init = sigma_init
        self.sigma_min = sigma_min
        self.sigma_step = sigma_step
        self.weight_scale = weight_scale
        self.max_rounds = max_rounds
        self.early_stopping = early_stopping
        self.validation = validation
        self.at_least_one = at_least_one
        self.class_weight = class_weight
        self.preset = preset
        self.calibrate = calibrate
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------ input

    def _native_parameters(self, names):
        weights = "equal" if self.class_weight is None else self.class_weight
        if isinstance(weights, dict):
            known = dict(zip(self.classes_.tolist(), names, strict=True))
            wrong = [key for key in weights if key not in known and str(key) not in names]
            if wrong:
                raise ValueError(f"The classes, {wrong}, are not in class_weight's reach: known are {list(known)}")
            weights = {"given": [(known.get(key, str(key)), float(factor)) for key, factor in weights.items()]}
        number = lambda value: None if value is None else float(value)
        return {
            "c": float(self.C),
            "sampling": self.sampling,
            "sampling_ratio": float(self.sampling_ratio),
            "initial_weights": self.initial_weights,
            "thresholds": self.thresholds,
            "voting": self.voting,
            "sigma_init": number(self.sigma_init),
            "sigma_min": number(self.sigma_min),
            "sigma_step": number(self.sigma_step),
            "weight_scale": "n" if isinstance(self.weight_scale, str) else float(self.weight_scale),
            "max_rounds": int(self.max_rounds),
            "early_stopping": bool(self.early_stopping),
            "validation": int(self.validation) if isinstance(self.validation, Integral) else float(self.validation),
            "at_least_one": _AT_LEAST_ONE["auto" if isinstance(self.at_least_one, str) else bool(self.at_least_one)],
            "class_weight": weights,
            "preset": self.preset,
            "calibrate": bool(self.calibrate),
            "solver": {
                "tolerance": float(self.tol),
                "cache_megabytes": float(self.cache_size),
                "max_iterations": None if self.max_iter == -1 else int(self.max_iter),
            },
            "seed": seed_of(self.random_state),
        }

    def _read_target(self, X, y):
        """The target for the native part and its names; sets ``classes_``."""
        self.__dict__.pop("label_names_", None)
        columns = getattr(y, "columns", None)
        if not sp.issparse(y):
            y = np.asarray(y)
        if sp.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
            Y = check_array(y, accept_sparse="csr", dtype=None, ensure_2d=True, input_name="y")
            check_consistent_length(X, Y)
            check_classification_targets(Y)
            if type_of_target(Y, input_name="y") != "multilabel-indicator" and not (sp.issparse(Y) and Y.shape[1] == 1):
                raise ValueError("y must hold classes or be a label matrix of 0 and 1; several columns of classes are not supported")
            self._label_dtype, self._label_sparse = Y.dtype, sp.issparse(Y)
            dense = Y.toarray() if sp.issparse(Y) else np.asarray(Y)
            if not np.isin(dense, (0, 1)).all():
                raise ValueError("a label matrix must hold 0 and 1 only")
            names = [str(name) for name in columns] if columns is not None else [str(j) for j in range(dense.shape[1])]
            if len(set(names)) < len(names):
                raise ValueError(f"label names must differ, got {names}")
            self.classes_, self.label_names_ = np.arange(dense.shape[1]), names
            return np.ascontiguousarray(dense, dtype=bool), names
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class")
        return codes, class_names(self.classes_)

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the ensembles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a label matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice (where nothing is drawn at random).

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        original = (X, y)
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        X, _ = self._read_anything(X, None, reset=True, needs_y=False)
        y, names = self._read_target(X, y)
        weights = read_weights(sample_weight, X)
        if y.ndim == 1:
            self._check_classes_left(y, weights)
        parameters = json.dumps(self._native_parameters(names))
        parts, raised = self._run("boosted", parameters, X, y, names, weights, original)
        self.__dict__.pop("_training", None)
        if not self._native.calibrated:
            self._remember(X, y, weights)
        self._take(parts)
        self._end(parts, raised)
        return self

    def _take(self, parts):
        self.alphas_, self.errors_, self.sigmas_ = parts["alphas"], parts["errors"], parts["sigmas"]
        self.thresholds_, self.weights_, self.endings_ = parts["thresholds"], parts["weights"], parts["endings"]
        self.validation_scores_ = parts["stage_scores"]
        self.n_rounds_ = np.array([len(alphas) for alphas in self.alphas_])
        self.n_iter_ = int(parts["iterations"])
        machines = []
        for machine in parts["machines"]:
            vectors = machine["vectors"]
            if type(vectors) is tuple:
                indptr, indices, data, columns = vectors
                vectors = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, columns))
            machines.append((machine, vectors))
        self.estimators_ = []
        for label, members in enumerate(parts["members"]):
            rounds = []
            for t, (place, output, drawn) in enumerate(members):
                machine, vectors = machines[place]
                used = np.flatnonzero(machine["coefficients"][output])
                rounds.append(
                    BoostedRound(
                        float(self.alphas_[label][t]),
                        float(self.errors_[label][t]),
                        float(self.sigmas_[label][t]),
                        drawn,
                        machine["support"][used],
                        machine["coefficients"][output][used],
                        vectors[used],
                        float(machine["intercepts"][output]),
                    )
                )
            self.estimators_.append(rounds)

    # ------------------------------------------------------------ answers

    def _judge(self, method, X):
        check_is_fitted(self)
        table, _ = self._read(X, reset=False)
        try:
            return getattr(self._native, method)(self._table(table), count_threads(self.n_jobs))
        except DataError:
            self._read_anything(X, None, reset=False, needs_y=False)
            raise

    @property
    def _is_multilabel(self):
        return "label_names_" in self.__dict__

    def _answer(self, decisions):
        """Predictions from decision values."""
        if self._is_multilabel:
            said = (decisions > 0).astype(self._label_dtype)
            return sp.csr_matrix(said) if self._label_sparse else said
        if len(self.classes_) == 2:
            return self.classes_.take((decisions.ravel() > 0).astype(int))
        return self.classes_.take(decisions.argmax(axis=1))

    def decision_function(self, X):
        """Scores minus thresholds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Two classes: positive for ``classes_[1]``. More: the largest is the prediction. Label matrix: positive ones are predicted.
        """
        decisions = self._judge("decisions", X)
        return decisions.ravel() if not self._is_multilabel and len(self.classes_) == 2 else decisions

    def predict(self, X):
        """Predict classes or labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        labels : ndarray or sparse matrix of shape (n_samples,) or (n_samples, n_labels)
            As ``y`` in ``fit``.
        """
        return self._answer(self._judge("decisions", X))

    def staged_decision_function(self, X):
        """Decision values after 1, 2, ... rounds, with the thresholds of the whole ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Yields
        ------
        decisions : ndarray
            As ``decision_function`` returns them.
        """
        for decisions in self._judge("staged", X):
            yield decisions.ravel() if not self._is_multilabel and len(self.classes_) == 2 else decisions

    def staged_predict(self, X):
        """Predictions after 1, 2, ... rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Yields
        ------
        labels : ndarray or sparse matrix
            As ``predict`` returns them; the last are those of ``predict``.
        """
        for decisions in self._judge("staged", X):
            yield self._answer(decisions)

    def predict_proba(self, X):
        """Predict probabilities.

        They come from Platt's sigmoids on scores of held-out rows: those of the fit, or (``thresholds="zero"`` without early stopping)
        of ``validation`` fits on first use.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Of every class, the largest being the predicted one; or of every label, above one half where it is predicted.
        """
        check_is_fitted(self)
        self._ensure_calibrated()
        return self._judge("probabilities", X)

    def hard_rows(self, label=0, n_rows=10):
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
        check_is_fitted(self)
        history = self.weights_[label]
        if history.shape[1] == 0:
            return np.empty(0, dtype=int), np.empty(0)
        rows = np.argsort(-history[-1], kind="stable")[:n_rows]
        return rows, history[-1][rows] / history[0][rows]

    # ------------------------------------------------------------ files

    @classmethod
    def _from_native(cls, model, given, labels):
        """An estimator for a model from a file."""
        solver, weights = given["solver"], given["class_weight"]
        estimator = cls(
            C=given["c"],
            class_weight=None if weights == "equal" else weights,
            at_least_one={"auto": "auto", "always": True, "never": False}[given["at_least_one"]],
            tol=solver["tolerance"],
            cache_size=solver["cache_megabytes"] or 200,
            max_iter=-1 if solver["max_iterations"] is None else solver["max_iterations"],
            random_state=given["seed"],
            **{
                name: given[name]
                for name in (
                    "sampling", "sampling_ratio", "initial_weights", "thresholds", "voting", "sigma_init", "sigma_min", "sigma_step",
                    "weight_scale", "max_rounds", "early_stopping", "validation", "preset", "calibrate",
                )
            },
        )  # fmt: skip
        parts = model.parts()
        estimator._native = model
        if parts["target"] == "labels":
            estimator.classes_, estimator.label_names_ = np.arange(len(model.classes)), model.classes
            estimator._label_dtype, estimator._label_sparse = np.dtype(int), False
        else:
            estimator.classes_ = labels
        if isinstance(weights, dict):
            known = dict(zip(model.classes, estimator.classes_.tolist(), strict=True))
            estimator.class_weight = {known[name]: factor for name, factor in weights["given"]}
        estimator.objective_, estimator.dual_gap_ = parts["objective"], parts["gap"]
        estimator.fit_time_, estimator.fit_status_ = parts["seconds"], parts["status"]
        estimator.n_features_in_ = parts["features"]
        if model.feature_names is not None:
            estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
        estimator._take(parts)
        return estimator
