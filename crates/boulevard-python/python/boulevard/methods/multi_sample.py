"""One decision for several samples that share a label."""

# long: one estimator whose many parameters and attributes are documented one by one.

import json
from collections.abc import Iterable
from numbers import Integral
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import column_or_1d

from .. import _core
from .._base import fitting
from .._classes import class_names
from .._docs import document
from .._files import loads
from .._kernels import KERNELS
from .._limits import Count, Price, count_threads, parameters, plain, seed_of
from .._request import Data
from .._typing import ClassWeight, Floats, Labels, Parts, RandomState, TablesLike
from ..exceptions import DataError
from ..svm._kernel_machine import HUGE
from ..svm.classification import KernelClassifier
from ._multi_sample_sequential import SequentialDecision, SequentialMixin
from ._multi_sample_sets import Sets, labels_of_sets, read_sets, weights_of_sets, written

__all__ = ["MultiSampleClassifier", "SequentialDecision"]

#: Parameters with the same name and value in the native learner.
_SAME = "n_samples_per_decision method tune symmetric n_extended normalization other_sizes platt_guard".split()
_MULTICLASS = {"ovo": "one_vs_one", "ovr": "one_vs_rest"}

#: Rows that are judged without making sets of them.
_FEW = 64


def _absent(name: str, why: str) -> property:
    """Something that plain machines have and a classifier of sets has not."""

    def get(self: Any) -> Any:
        raise AttributeError(f"MultiSampleClassifier has no {name}: {why}")

    return property(get, doc=f"Not there: {why}.")


@loads("multi_sample")
@document
@parameters
class MultiSampleClassifier(SequentialMixin, KernelClassifier):
    """One decision for K samples that are known to share a label.

    ``method="auto"`` chooses among the three below by how they judge sets of samples that were held out, and says so in ``chosen_``.
    ``method="direct"`` fits one machine on sets of K samples with a kernel that does not depend on their order (the extended input space
    support vector machine of Santiago-Mozos, Perez-Cruz and Artes-Rodriguez 2011); ``"consensus"`` multiplies the calibrated posteriors
    of single samples, in log space and with priors; ``"vote"`` takes the majority of hard decisions. Consensus and votes judge sets of
    any size; a direct machine judges sets of its own size and leaves others to ``other_sizes``.

    Sets are given to ``predict``, ``decision_function``, ``predict_proba`` and ``score`` as a table with ``groups`` (one answer per
    distinct group, in sorted order), as a 3-D array (n_sets, K, n_features), or as a list of tables. Without groups every row is a set
    of its own. Training needs no sets: tuples are drawn from the rows of each class.

    Parameters
    ----------
    n_samples_per_decision : int, default=3
        K, the size of sets that a direct machine is fitted for, from 1 to 16.
    method : {"auto", "direct", "consensus", "vote"}, default="auto"
        How K samples become one decision. "auto" takes the one that errs least on held-out sets (pieces of held-out groups, where
        ``fit`` is given groups); direct machines are tried for K up to 6 and up to 20,000 rows.
    tune : bool, default=True
        Whether "auto" chooses C (1, 10 or 100 times ``C``) and gamma (a quarter, once or four times the value of the rule, unless
        ``gamma`` is a number) as well. The other methods take both as they are.
    symmetric : bool, default=True
        Whether the direct machine's kernel is symmetric. False writes all K! orders of every tuple out (K at most 4): the same machine,
        slower, for comparison.
    n_extended : int, default=None
        Number of tuples to learn from, about; None means K times the rows, and 20,000 at most.
    normalization : {"mean", "cosine"}, default="mean"
        Scale of the kernel between sets: the mean over permutations, or the cosine.
    C : float, default=1.0
        The price of one unit of slack. Choose it, and gamma, for the direct machine itself
        (:func:`boulevard.model_selection.tune_sets`): those of a plain machine can be far off.
    {kernel}
    other_sizes : {"consensus", "family"}, default="consensus"
        What a direct classifier does with sets of another size: consensus of single samples, or a machine of its own for every size
        from 2 to K (and consensus for the rest).
    multiclass : {"ovo", "ovr"}, default="ovo"
        One machine per pair of classes, or per class.
    {class_weight}
    priors : array-like of shape (n_classes,), default=None
        Shares in which consensus expects the classes, above 0 and below 1; None means ``class_rates_``.
    platt_guard : bool, default=False
        Whether a sigmoid that came out falling on held-out values (chance, in tiny sets) is fitted again on the training values.
    calibrate : bool, default=False
        Whether to fit a direct machine's probabilities with the model, which costs five more fits; otherwise that happens when
        ``predict_proba`` is first called.
    {solver}
    {device}
    {shared}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    priors_ : ndarray of shape (n_classes,)
        The priors.
    class_rates_ : ndarray of shape (n_classes,)
        Shares of the classes among the training rows, class weights included.
    n_support_sets_ : dict
        Number of support sets of the direct machine for each size.
    n_extended_ : dict
        Number of tuples the direct machine of each size learnt from.
    method_ : {"direct", "consensus", "vote"}
        How sets are judged: as asked for, or as chosen.
    gamma_ : float or None
        The kernel's width behind decisions about sets of K: that of the direct machine, where it judges (a K-th of the rule's), else that
        of single samples. None for kernels without one.
    chosen_ : dict or None
        What held-out sets chose: ``method``, the trial behind the machine of single samples (``single``) and the best direct one
        (``direct``), all ``trials`` with ``method``, ``c``, ``gamma`` and ``error``, and ``why`` in words. None where the method was given,
        or too few rows could be held out (then consensus judges).
    n_iter_ : int
        Steps of the solver.
    {fit_attributes}

    See Also
    --------
    SVC : One sample per decision.
    boulevard.kernels.symmetric_kernel : The kernel between sets.

    Notes
    -----
    ``gamma="scale"`` is that of single samples; direct machines, whose samples stand K side by side, take a K-th of it.

    scikit-learn's ``scoring="accuracy"`` calls ``predict(X)`` without groups, so that every row is judged alone. Use ``score`` (no
    ``scoring``) with ``set_score_request(groups=True)`` and metadata routing, or :func:`boulevard.model_selection.set_scorer`.

    Examples
    --------
    >>> from boulevard import MultiSampleClassifier
    >>> from boulevard.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(120, distance=1.5, random_state=0)
    >>> clf = MultiSampleClassifier(n_samples_per_decision=3, random_state=0).fit(X, y)
    >>> three = X[y == 1][:6].reshape(2, 3, -1)
    >>> clf.predict(three)
    array([1, 1])
    """

    _kind = "multi_sample"
    _takes_any_layout = True
    _parameter_constraints = {"priors": ["array-like", None]}
    n_samples_per_decision: Annotated[int, Interval(Integral, 1, 16, closed="both")] = 3
    method: Literal["auto", "direct", "consensus", "vote"] = "auto"
    tune: bool = True
    symmetric: bool = True
    n_extended: Count | None = None
    normalization: Literal["mean", "cosine"] = "mean"
    C: Price = 1.0
    kernel: Annotated[str, StrOptions(KERNELS)] = "rbf"
    other_sizes: Literal["consensus", "family"] = "consensus"
    multiclass: Literal["ovo", "ovr"] = "ovo"
    class_weight: ClassWeight = None
    priors: ArrayLike | None = None
    platt_guard: bool = False
    calibrate: bool = False
    shrinking: bool = True

    # ------------------------------------------------------------ fitting

    def _learner(self, class_weight: Any) -> Parts:
        """The native learner's parameters, kernel and solver apart."""
        return {
            **{name: plain(getattr(self, name)) for name in _SAME},
            "c": min(float(self.C), HUGE),
            "class_weight": class_weight,
            "multiclass": _MULTICLASS[self.multiclass],
            "priors": None if self.priors is None else np.asarray(self.priors, dtype=float).tolist(),
            "calibrate": bool(self.calibrate),
            "seed": seed_of(self.random_state),
        }

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        multiclass = {name: short for short, name in _MULTICLASS.items()}[given["multiclass"]]
        return {
            **super()._constructor(given),
            **{name: given[name] for name in [*_SAME, "priors"]},
            "C": given["c"],
            "multiclass": multiclass,
        }

    def _training_sets(self, X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
        """Table, labels of rows and codes of groups; checks that labels are not mixed."""
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        sets = read_sets(X, groups)
        if sets.X is not X:
            y = np.repeat(labels_of_sets(y, sets), np.diff(sets.offsets))
        elif groups is not None:
            labels_of_sets(column_or_1d(y), sets)
        return sets.X, y, None if sets.names is None else sets.codes()

    @fitting
    def fit(self, X: TablesLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            Training samples.
        y : array-like of shape (n_samples,) or (n_sets,)
            Class labels of samples, or of sets where ``X`` holds sets.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together. They must share a label, and folds of the calibration never cut a group; tuples are drawn from
            all samples of a class.

        {self}
        """
        self._check_parameters()
        rows, labels, codes = self._training_sets(X, y, groups)
        original = (rows, labels)
        table, labels = self._read_training(rows, labels)
        labels, classes = self._encode(labels, original)
        self.class_weight_, class_weight = self._class_weights(labels, None)
        data = Data(self._table(table), classes, class_names(self.classes_), groups=codes)
        self._fit_machine({}, lambda: self._learner(class_weight), data, original)
        return self

    def _take(self, parts: Parts) -> None:
        self.priors_ = parts["priors"]
        self.class_rates_ = parts["rates"]
        self.n_support_sets_ = dict(zip(parts["sizes"], parts["support_sets"], strict=True))
        self.n_extended_ = dict(zip(parts["sizes"], parts["extended"], strict=True))
        self.n_iter_ = parts["iterations"]
        self.method_ = parts["method"]
        self.gamma_ = parts["deciding_gamma"]
        self.chosen_ = None if parts["chosen"] is None else json.loads(parts["chosen"])

    # ------------------------------------------------------------ judging

    def _judge_sets(self, what: str, X: Any, groups: Any) -> tuple[Floats, Sets]:
        self._need_model()
        sets = read_sets(X, groups)
        judge = lambda model, *arguments: _core.judge_sets(model, what, *arguments)  # noqa: E731
        return self._judge(judge, sets.X, sets.offsets, sets.members), sets

    def _decide(self, X: Any, groups: Any) -> Floats:
        """Decisions about sets; a few rows that are sets of their own need no sets to be made, which takes longer than the decision."""
        if groups is None and type(X) is list and len(X) <= _FEW:
            self._need_model()
            ready = self._ready(X)
            X = X if ready is None else ready
        if groups is None and type(X) is np.ndarray and X.ndim == 2 and len(X) <= _FEW:
            return self._judge("decisions", X)
        return self._judge_sets("decisions", X, groups)[0]

    def decision_function(self, X: TablesLike, groups: ArrayLike | None = None) -> Floats:
        """Evaluate the decision function of every set.

        {sets}

        Returns
        -------
        decisions : ndarray of shape (n_sets,) or (n_sets, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: one column per class. Values of direct machines, of consensus
            (log odds) and of votes are on scales of their own; compare probabilities instead.
        """
        values = self._decide(X, groups)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: TablesLike, groups: ArrayLike | None = None) -> Labels:
        """Predict the label of every set.

        {sets}

        Returns
        -------
        labels : ndarray of shape (n_sets,)
            One label per set; with groups in the order of ``numpy.unique(groups)``.
        """
        values = self._decide(X, groups)
        codes = (values.ravel() > 0).astype(np.intp) if len(self.classes_) == 2 else values.argmax(axis=1)
        return self.classes_.take(codes)

    def predict_proba(self, X: TablesLike, groups: ArrayLike | None = None) -> Floats:
        """Predict class probabilities of every set; the most probable class is always the predicted one.

        A direct machine's come from Platt's sigmoid on sets of rows that were held out, fitted with the model (``calibrate=True``) or
        on first use.

        {sets}

        Returns
        -------
        probabilities : ndarray of shape (n_sets, n_classes)
            Columns in the order of ``classes_``.
        """
        self._ensure_calibrated()
        return self._judge_sets("probabilities", X, groups)[0]

    def predict_log_proba(self, X: TablesLike, groups: ArrayLike | None = None) -> Floats:
        """Predict logarithms of class probabilities of every set.

        {sets}

        Returns
        -------
        logarithms : ndarray of shape (n_sets, n_classes)
            Columns in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X, groups=groups))

    def score(self, X: TablesLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
        """Share of sets whose label is predicted rightly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            The samples.
        y : array-like of shape (n_samples,) or (n_sets,)
            Labels of samples or of sets.
        sample_weight : array-like of shape (n_samples,) or (n_sets,), default=None
            Weights of samples (a set weighs their sum) or of sets.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together; None means every row is a set of its own.

        Returns
        -------
        score : float
            The accuracy.
        """
        sets = read_sets(X, groups)
        truth = labels_of_sets(y, sets)
        return float(accuracy_score(truth, self.predict(X, groups=groups), sample_weight=weights_of_sets(sample_weight, sets)))

    def contributions(self, X: TablesLike, groups: ArrayLike | None = None) -> Floats:
        """What each sample adds to the decision of its set.

        Consensus: the sample's log ratio without that of the training shares; the contributions of a set add up to its decision minus the
        priors' log ratio. Votes: its vote. Direct: by how much the decision would fall if the sample were replaced by another of the
        set, on average (a single sample: the decision itself).

        {sets}

        Returns
        -------
        contributions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One entry per sample, in the order of the rows.
        """
        values, sets = self._judge_sets("contributions", X, groups)
        rows = np.empty_like(values)
        rows[sets.members] = values
        return rows.ravel() if len(self.classes_) == 2 else rows

    def error_by_size(
        self, X: TablesLike, y: ArrayLike, sizes: Iterable[int] = range(1, 11), n_repeats: int = 10, random_state: RandomState = None
    ) -> dict[str, Any]:
        """Errors on new samples for decisions from sets of several sizes.

        Each repeat cuts the samples of every class, in random order, into sets that share no sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples that were not learnt from.
        y : array-like of shape (n_samples,)
            Their labels.
        sizes : iterable of int, default=range(1, 11)
            Sizes of sets; those that no class has samples for are left out.
        n_repeats : int, default=10
            Repeats.
        random_state : int, RandomState instance or None, default=None
            Seed of the sets.

        Returns
        -------
        curve : dict
            Columns ``size``, ``error``, ``deviation`` (over repeats) and ``n_sets``.
        """
        table = self._read_new(X)
        labels = np.asarray(y)
        codes = np.searchsorted(self.classes_, labels)
        known = self.classes_.take(np.minimum(codes, len(self.classes_) - 1)) == labels
        if not known.all():
            raise DataError(f"label {written(labels[~known][0])!r} was not seen in training")
        sizes = [int(size) for size in sizes]
        data, threads = Data(table, codes.astype(np.int64), self._native.classes), count_threads(self.n_jobs)
        curve = _core.error_by_size(self._native, data, sizes, int(n_repeats), seed_of(random_state), threads)
        return {name: np.array(column) for name, column in curve.items()}

    coef_ = _absent("coef_", "sets have no weights of features")
    probA_ = _absent("probA_", "see predict_proba")
    probB_ = _absent("probB_", "see predict_proba")
