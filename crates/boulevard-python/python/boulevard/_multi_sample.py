"""One decision for several samples that share a label."""

from collections import namedtuple
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from . import _core
from ._base import count_threads, seed_of, with_callbacks
from ._classification import KernelClassifier
from ._docs import document
from ._kernel_estimator import C_LIMITS, class_names, CONSTRAINTS, HUGE, is_array, KERNELS
from .exceptions import DataError, ParameterError

__all__ = ["MultiSampleClassifier", "SequentialDecision"]

#: What ``decide`` returns: the label, whether the confidence was reached, the posterior after every sample that was looked at (one row
#: each), their number, and how many are expected for a set of that class.
SequentialDecision = namedtuple("SequentialDecision", ["label", "decided", "posteriors", "n_samples", "expected_samples"])


class Sets:
    """Samples in one table, and which rows belong together."""

    def __init__(self, X, offsets, members, names):
        self.X = X
        self.offsets = offsets
        self.members = members
        self.names = names

    def __len__(self):
        return len(self.offsets) - 1

    def codes(self):
        """The place of every row's set."""
        codes = np.empty(len(self.members), dtype=np.int64)
        codes[self.members] = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return codes


def _is_list_of_tables(X):
    return isinstance(X, list | tuple) and len(X) > 0 and all(np.ndim(x) == 2 if not sp.issparse(x) else True for x in X)


def read_sets(X, groups):
    """Sets from a table with groups, a 3-D array, a list of tables, or a table whose rows are sets of their own."""
    if _is_list_of_tables(X) or (isinstance(X, np.ndarray) and X.ndim == 3):
        if groups is not None:
            raise ParameterError("groups go with a table of samples; a 3-D array and a list of arrays are sets already")
        sizes = [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]
        if 0 in sizes:
            raise DataError(f"set {sizes.index(0)} is empty: a decision needs at least one sample")
        if isinstance(X, np.ndarray):
            rows = X.reshape(-1, X.shape[2])
        elif any(sp.issparse(x) for x in X):
            rows = sp.vstack(X, format="csr")
        elif all(hasattr(x, "iloc") for x in X):
            import pandas

            rows = pandas.concat(X, ignore_index=True)
        elif all(hasattr(x, "vstack") and hasattr(x, "columns") for x in X):
            import polars

            rows = polars.concat(X)
        else:
            widths = {np.shape(x)[1] for x in X}
            if len(widths) > 1:
                raise DataError(f"the samples of all sets must have the same number of features, found {sorted(widths)}")
            rows = np.concatenate([np.asarray(x) for x in X])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Sets(rows, offsets, np.arange(offsets[-1]), np.arange(len(sizes)))
    n = _num_samples(X)
    if groups is None:
        return Sets(X, np.arange(n + 1), np.arange(n), None)
    groups = column_or_1d(groups)
    if len(groups) != n:
        raise DataError(f"groups, one per row: expected {n}, found {len(groups)}")
    if groups.dtype.kind == "f" and not np.isfinite(groups).all():
        raise DataError(f"groups contain {groups[~np.isfinite(groups)][0]} at row {np.flatnonzero(~np.isfinite(groups))[0]}")
    names, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    members = np.argsort(codes, kind="stable").astype(np.int64)
    return Sets(X, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), members, names)


def labels_of_sets(y, sets):
    """One label per set, from labels of sets or of rows; mixed labels are an error."""
    y = np.asarray(y)
    if len(y) == len(sets) and len(y) != len(sets.members):
        return y
    if len(y) != len(sets.members):
        raise DataError(f"labels, one per row or one per set: expected {len(sets.members)} or {len(sets)}, found {len(y)}")
    first = y[sets.members[sets.offsets[:-1]]]
    mixed = np.flatnonzero(y[sets.members] != np.repeat(first, np.diff(sets.offsets)))
    if len(mixed):
        place = np.searchsorted(sets.offsets, mixed[0], side="right") - 1
        name = place if sets.names is None else sets.names[place]
        raise DataError(f"the samples of a set share one label: set {name!r} has {first[place]!r} and {y[sets.members[mixed[0]]]!r}")
    return first


@document
class MultiSampleClassifier(KernelClassifier):
    """One decision for K samples that are known to share a label.

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
    method : {"direct", "consensus", "vote"}, default="direct"
        How K samples become one decision.
    symmetric : bool, default=True
        Whether the direct machine's kernel is symmetric. False writes all K! orders of every tuple out (K at most 4): the same machine,
        slower, for comparison.
    n_extended : int, default=None
        Number of tuples to learn from, about; None means K times the rows.
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
    class_weight : dict or "balanced", default=None
        Factors of ``C`` by class.
    priors : array-like of shape (n_classes,), default=None
        Shares in which consensus expects the classes, above 0 and below 1; None means ``class_rates_``.
    platt_guard : bool, default=False
        Whether a sigmoid that came out falling on held-out values (chance, in tiny sets) is fitted again on the training values.
    calibrate : bool, default=False
        Whether to fit a direct machine's probabilities with the model, which costs five more fits; otherwise that happens when
        ``predict_proba`` is first called.
    {solver}
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
    n_iter_ : int
        Steps of the solver.
    fit_status_ : int
        0 converged, 1 iteration limit, 2 time limit, 3 interrupted.
    objective_ : float
        Value of the dual objective; the sum over all machines.
    dual_gap_ : float
        Relative duality gap, the certificate: how far from the optimum the fit may be at most.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    SVC : One sample per decision.
    boulevard.kernels.symmetric_kernel : The kernel between sets.

    Notes
    -----
    scikit-learn's ``scoring="accuracy"`` calls ``predict(X)`` without groups, so that every row is judged alone. Use ``score`` (no
    ``scoring``) with ``set_score_request(groups=True)`` and metadata routing, or :func:`boulevard.model_selection.set_scorer`.

    Examples
    --------
    >>> from boulevard import MultiSampleClassifier
    >>> from boulevard.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(120, distance=1.5, random_state=0)
    >>> clf = MultiSampleClassifier(n_samples_per_decision=3, gamma=0.1).fit(X, y)
    >>> three = X[y == 1][:6].reshape(2, 3, -1)
    >>> clf.predict(three)
    array([1, 1])
    """

    _kind = "multi_sample"
    _parameter_constraints = {
        **C_LIMITS,
        **CONSTRAINTS,
        "kernel": [StrOptions(KERNELS)],
        "n_samples_per_decision": [Interval(Integral, 1, 16, closed="both")],
        "method": [StrOptions({"direct", "consensus", "vote"})],
        "symmetric": ["boolean"],
        "n_extended": [None, Interval(Integral, 1, None, closed="left")],
        "normalization": [StrOptions({"mean", "cosine"})],
        "other_sizes": [StrOptions({"consensus", "family"})],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "priors": ["array-like", None],
        "platt_guard": ["boolean"],
        "calibrate": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_samples_per_decision=3,
        method="direct",
        symmetric=True,
        n_extended=None,
        normalization="mean",
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        other_sizes="consensus",
        multiclass="ovo",
        class_weight=None,
        priors=None,
        platt_guard=False,
        calibrate=False,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        max_iter=-1,
        n_jobs=None,
        verbose=0,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.n_samples_per_decision = n_samples_per_decision
        self.method = method
        self.symmetric = symmetric
        self.n_extended = n_extended
        self.normalization = normalization
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.other_sizes = other_sizes
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.priors = priors
        self.platt_guard = platt_guard
        self.calibrate = calibrate
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    # ------------------------------------------------------------ fitting

    def _parameters(self, y):
        """The native learner's parameters, kernel and solver apart."""
        self.class_weight_, class_weight = self._class_weights(y, None)
        return {
            "method": self.method,
            "n_samples_per_decision": int(self.n_samples_per_decision),
            "c": min(float(self.C), HUGE),
            "symmetric": bool(self.symmetric),
            "n_extended": None if self.n_extended is None else int(self.n_extended),
            "normalization": self.normalization,
            "other_sizes": self.other_sizes,
            "class_weight": class_weight,
            "multiclass": {"ovo": "one_vs_one", "ovr": "one_vs_rest"}[self.multiclass],
            "priors": None if self.priors is None else [float(p) for p in self.priors],
            "platt_guard": bool(self.platt_guard),
            "calibrate": bool(self.calibrate),
            "seed": seed_of(self.random_state),
        }

    def _training_sets(self, X, y, groups):
        """Table, labels of rows and codes of groups; checks that labels are not mixed."""
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        sets = read_sets(X, groups)
        if sets.X is not X:
            y = np.repeat(labels_of_sets(y, sets), np.diff(sets.offsets))
        elif groups is not None:
            labels_of_sets(column_or_1d(y), sets)
        return sets.X, y, None if sets.names is None else sets.codes()

    @with_callbacks
    def fit(self, X, y, groups=None):
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

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        rows, labels, codes = self._training_sets(X, y, groups)
        original = (rows, labels)
        table, labels = self._read_training(rows, labels)
        labels, classes = self._encode(table, labels, original)
        parameters = self._parameters(labels)
        self._groups = codes
        self._remember(table, classes, codes)
        try:
            self._fit_native(parameters, table, classes, class_names(self.classes_), None, original, is_array(rows))
        finally:
            self.__dict__.pop("_groups", None)
        return self

    def _call(self, kind, parameters, X, y, names, weights, features, limits):
        return _core.fit_sets(parameters, X, y, names, self.__dict__.get("_groups"), features, *limits)

    def _take(self, parts, sparse_array=False):
        self.priors_ = parts["priors"]
        self.class_rates_ = parts["rates"]
        self.n_support_sets_ = dict(zip(parts["sizes"], parts["support_sets"], strict=True))
        self.n_extended_ = dict(zip(parts["sizes"], parts["extended"], strict=True))
        self.n_iter_ = parts["iterations"]

    # ------------------------------------------------------------ judging

    def _judge_sets(self, what, X, groups):
        check_is_fitted(self)
        sets = read_sets(X, groups)
        table = self._read_new(sets.X)
        try:
            return _core.judge_sets(self._native, what, table, sets.offsets, sets.members, count_threads(self.n_jobs)), sets
        except DataError:
            self._read_anything(sets.X, None, reset=False, needs_y=False)
            raise

    def decision_function(self, X, groups=None):
        """Evaluate the decision function of every set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            The samples.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together; None means every row is a set of its own.

        Returns
        -------
        decisions : ndarray of shape (n_sets,) or (n_sets, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: one column per class. Values of direct machines, of consensus
            (log odds) and of votes are on scales of their own; compare probabilities instead.
        """
        values, _ = self._judge_sets("decisions", X, groups)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X, groups=None):
        """Predict the label of every set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            The samples.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together; None means every row is a set of its own.

        Returns
        -------
        labels : ndarray of shape (n_sets,)
            One label per set; with groups in the order of ``numpy.unique(groups)``.
        """
        values, _ = self._judge_sets("decisions", X, groups)
        codes = (values.ravel() > 0).astype(np.intp) if len(self.classes_) == 2 else values.argmax(axis=1)
        return self.classes_.take(codes)

    def predict_proba(self, X, groups=None):
        """Predict class probabilities of every set; the most probable class is always the predicted one.

        A direct machine's come from Platt's sigmoid on sets of rows that were held out, fitted with the model (``calibrate=True``) or
        on first use.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            The samples.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together; None means every row is a set of its own.

        Returns
        -------
        probabilities : ndarray of shape (n_sets, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        self._ensure_calibrated()
        return self._judge_sets("probabilities", X, groups)[0]

    def predict_log_proba(self, X, groups=None):
        """Predict logarithms of class probabilities of every set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            The samples.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together; None means every row is a set of its own.

        Returns
        -------
        logarithms : ndarray of shape (n_sets, n_classes)
            Columns in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X, groups=groups))

    def _ensure_calibrated(self):
        if self._native.calibrated:
            return
        if "_training" not in self.__dict__:
            raise DataError(
                "This MultiSampleClassifier was loaded from a file that has no probabilities of sets and no training data to fit them "
                "on. Fit it with calibrate=True, or call predict_proba once before save."
            )
        X, codes, groups = self._training
        _core.calibrate_sets(self._native, self._table(X), codes, groups, count_threads(self.n_jobs))

    def score(self, X, y, sample_weight=None, groups=None):
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
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=float)
            if len(sample_weight) == len(sets.members) != len(sets):
                sample_weight = np.add.reduceat(sample_weight[sets.members], sets.offsets[:-1])
        return accuracy_score(truth, self.predict(X, groups=groups), sample_weight=sample_weight)

    def contributions(self, X, groups=None):
        """What each sample adds to the decision of its set.

        Consensus: the sample's log ratio without that of the training shares; the contributions of a set add up to its decision minus the
        priors' log ratio. Votes: its vote. Direct: by how much the decision would fall if the sample were replaced by another of the
        set, on average (a single sample: the decision itself).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
            The samples.
        groups : array-like of shape (n_samples,), default=None
            Which samples belong together; None means every row is a set of its own.

        Returns
        -------
        contributions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One entry per sample, in the order of the rows.
        """
        values, sets = self._judge_sets("contributions", X, groups)
        rows = np.empty_like(values)
        rows[sets.members] = values
        return rows.ravel() if len(self.classes_) == 2 else rows

    # ------------------------------------------------------------ one sample at a time

    def expected_samples(self, confidence=0.99):
        """Expected number of samples of each class until ``decide`` is sure (Wald's approximation on held-out evidence).

        Parameters
        ----------
        confidence : float, default=0.99
            The posterior to reach.

        Returns
        -------
        samples : ndarray of shape (n_classes,)
            Infinite where single samples do not tell the class from another.
        """
        check_is_fitted(self)
        return _core.expected_samples(self._native, float(confidence))

    def decide(self, stream, confidence=0.99, max_samples=None):
        """Look at samples one at a time until the label is sure: a sequential test on the consensus of single samples.

        Parameters
        ----------
        stream : iterable of array-like of shape (n_features,)
            Samples of one set, taken only as long as they are needed.
        confidence : float, default=0.99
            The posterior at which to stop, above chance and below 1.
        max_samples : int, default=None
            Samples to take at most.

        Returns
        -------
        decision : SequentialDecision
            With ``label``, ``decided`` (whether the confidence was reached), ``posteriors`` (one row per sample taken), ``n_samples``
            and ``expected_samples`` (for each class).
        """
        expected = self.expected_samples(confidence)
        total, log_rates, posteriors = np.log(self.priors_), np.log(self.class_rates_), []
        for sample in stream:
            row = np.asarray(sample, dtype=float)
            if row.ndim != 1:
                raise DataError(f"a stream holds single samples of {self.n_features_in_} features, got shape {row.shape}")
            table = self._read_new(_with_names(self, row))
            scores = _core.sample_scores(self._native, table, 1)[0]
            total += scores - log_rates
            posterior = np.exp(total - total.max())
            posteriors.append(posterior / posterior.sum())
            if posteriors[-1].max() >= confidence or len(posteriors) == max_samples:
                break
        if not posteriors:
            raise DataError("the stream is empty: a decision needs at least one sample")
        label = self.classes_[int(total.argmax())]
        decided = bool(posteriors[-1].max() >= confidence)
        return SequentialDecision(label, decided, np.array(posteriors), len(posteriors), expected)

    def error_by_size(self, X, y, sizes=range(1, 11), n_repeats=10, random_state=None):
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
        y = np.asarray(y)
        codes = np.searchsorted(self.classes_, y)
        known = self.classes_.take(np.minimum(codes, len(self.classes_) - 1)) == y
        if not known.all():
            raise DataError(f"label {y[~known][0]!r} was not seen in training")
        sizes = [int(size) for size in sizes]
        threads = count_threads(self.n_jobs)
        curve = _core.error_by_size(self._native, table, codes.astype(np.int64), sizes, int(n_repeats), seed_of(random_state), threads)
        return {name: np.array(column) for name, column in curve.items()}

    @property
    def coef_(self):
        """Not there: sets have no weights of features."""
        raise AttributeError("MultiSampleClassifier has no coef_")

    @property
    def probA_(self):
        """Not there: see ``predict_proba``."""
        raise AttributeError("MultiSampleClassifier has no probA_")

    @property
    def probB_(self):
        """Not there: see ``predict_proba``."""
        raise AttributeError("MultiSampleClassifier has no probB_")


def _with_names(estimator, row):
    """One sample as a table, with the names the estimator was fitted with."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return row[None, :]
    import pandas

    return pandas.DataFrame(row[None, :], columns=names)
