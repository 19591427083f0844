"""Feature induction: a linear machine that grows readable rules."""

import json
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import count_threads, NativeEstimator, seed_of, shared_constraints, with_callbacks
from ._classification import ProbabilityMixin
from ._docs import document
from ._kernel_estimator import class_names, HUGE, KERNELS, KernelEstimator, read_weights
from .exceptions import DataError

__all__ = ["FeatureInducer", "FeatureInductionClassifier"]

_CONSTRAINTS = {
    "n_induced": [StrOptions({"auto"}), Interval(Integral, 0, 100_000, closed="both")],
    "max_depth": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
    "C": [Interval(Real, 0.0, None, closed="right")],
    "sampling": [StrOptions({"resample", "weight"})],
    "output": [StrOptions({"soft", "hard", "laplace"})],
    "gamma_rule": [StrOptions({"w2/2C", "w/C", "cw"})],
    "gamma_max": [Interval(Real, 0.0, None, closed="neither")],
    "min_samples_leaf": [Interval(Real, 0.0, None, closed="neither")],
    "confidence": [Interval(Real, 0.0, 0.5, closed="both")],
    "cross_fit": ["boolean"],
    "max_induced": [Interval(Integral, 0, 100_000, closed="both")],
    "min_gain": [Interval(Real, 0.0, None, closed="left")],
    "preset": [StrOptions({"paper"}), None],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    **shared_constraints,
}


class _Inducing(NativeEstimator):
    """What the classifier and the transformer share."""

    _target_kinds = "biufU"
    _doc_link_template = "https://docs.rs/boulevard"

    # The transformer reads classes as the classifiers do, but has no probabilities.
    _encode = ProbabilityMixin._encode
    _class_weights = ProbabilityMixin._class_weights
    _check_classes_left = ProbabilityMixin._check_classes_left
    _one_class_left = ProbabilityMixin._one_class_left

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _parameters(self, class_weight):
        depth = self.max_depth
        return {
            "c": min(float(self.C), HUGE),
            "n_induced": "auto" if self.n_induced == "auto" else {"exactly": int(self.n_induced)},
            "max_depth": "auto" if depth == "auto" else "unlimited" if depth is None else {"at_most": int(depth)},
            "sampling": self.sampling,
            "output": self.output,
            "gamma_rule": self.gamma_rule,
            "gamma_max": float(self.gamma_max),
            "min_samples_leaf": float(self.min_samples_leaf),
            "confidence": float(self.confidence),
            "cross_fit": bool(self.cross_fit),
            "max_induced": int(self.max_induced),
            "min_gain": float(self.min_gain),
            "preset": self.preset,
            "class_weight": class_weight,
            "tolerance": float(self.tol),
            "seed": seed_of(self.random_state),
        }

    def _fit(self, X, y, sample_weight, extra):
        self._check_parameters()
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        original = (X, y)
        X, y = self._read(X, y, reset=True, needs_y=True)
        y, codes = self._encode(X, y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        self.class_weight_, class_weight = self._class_weights(y, weights)
        if "calibrate" in extra:
            self._remember(X, codes, weights)
        parameters = json.dumps({**self._parameters(class_weight), **extra})
        names = class_names(self.classes_)
        parts, raised = self._run("feature_induction", parameters, X, codes, names, weights, original)
        self._take(parts)
        self._end(parts, raised)
        return self

    def _take(self, parts):
        """Sets the fitted attributes from the model's parts."""
        details = json.loads(parts["details"])
        each = details["classes"]
        single = len(each) == 1
        self.rules_ = details["rules"]
        self.gammas_ = np.array([gamma for one in each for gamma in one["gammas"]])
        self.edges_ = np.array([edge for one in each for edge in one["edges"]])
        self.edge_bounds_ = np.array([bound for one in each for bound in one["bounds"]])
        self.staged_errors_ = np.array(each[0]["errors"]) if single else [np.array(one["errors"]) for one in each]
        self.objectives_ = np.array(each[0]["objectives"]) if single else [np.array(one["objectives"]) for one in each]
        first = [one["errors"][0] if one["errors"] else np.nan for one in each]
        self.linear_error_ = first[0] if single else np.array(first)
        counts = [len(one["gammas"]) for one in each]
        self.n_induced_ = counts[0] if single else np.array(counts)
        self.choices_ = [one["choice"] for one in each]
        self.declined_ = [one["declined"] for one in each]
        self.mean_ = parts["center"]
        self.scale_ = parts["spread"]
        self.n_iter_ = parts["iterations"]
        self._names = parts["names"]
        self._effort = {name: sum(one[name] for one in each) for name in ("tree_seconds", "refit_seconds")}

    def _limit(self):
        return "the gap no longer falls", "lower C"

    def _judge(self, method, X):
        """Calls a method of the native model, or a function of it; faults that the quick look left to it are said in scikit-learn's words."""
        check_is_fitted(self)
        table = self._table(self._read(X, reset=False)[0])
        try:
            if callable(method):
                return method(self._native, table)
            return getattr(self._native, method)(table, count_threads(self.n_jobs))
        except DataError:
            self._read_anything(X, None, reset=False, needs_y=False)
            raise

    def _transform(self, X):
        return self._judge(lambda model, table: _core.induced_table(model, table, count_threads(self.n_jobs)), X)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the original columns; must be those seen during ``fit`` where it saw names.

        Returns
        -------
        names : ndarray of str
            The original columns, then ``rule 1: ...`` with the leaves of every induced tree.
        """
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        plain = _check_feature_names_in(self, input_features)
        names = self._names[len(plain) :]
        if "feature_names_in_" not in self.__dict__:
            # Without names at fit, rules were written with x1, x2, ...
            return np.concatenate([np.asarray(plain, dtype=object), np.array(names, dtype=object)])
        return np.array(list(plain) + list(names), dtype=object)

    def export_text(self, max_rules=20):
        """The model in words: errors, what was chosen and why, and the weightiest rules.

        Parameters
        ----------
        max_rules : int, default=20
            Rules to list.

        Returns
        -------
        text : str
            A table with the standard deviation of every rule's contribution, what the rule adds where it holds, its support, the
            weighted edge of its tree, and the round.
        """
        check_is_fitted(self)
        return _core.induced_text(self._native, int(max_rules))

    def to_json(self):
        """Rules, curves and choices as JSON text.

        Returns
        -------
        text : str
            An object with ``rules`` and one entry per class under ``classes``.
        """
        check_is_fitted(self)
        return self._native.parts()["details"]


@document
class FeatureInductionClassifier(ProbabilityMixin, ClassifierMixin, TransformerMixin, _Inducing):
    """A linear support vector classifier that grows readable rules (Jin and Liu 2004).

    Round by round, a small tree is grown on the rows that the linear machine gets wrong or nearly wrong; its answer becomes a new column,
    and the machine is fitted again. Columns are standardised inside. How many rounds and how deep is chosen on held-out rows, and
    the choice may be to stay linear. More than two classes: one against the rest, each with rules of its own.

    Parameters
    ----------
    n_induced : int or "auto", default="auto"
        Rounds; "auto" chooses up to ``max_induced`` on held-out rows.
    max_depth : int, None or "auto", default="auto"
        Levels of tests in a tree; None is no limit (64), "auto" chooses 1, 3 or no limit on held-out rows.
    C : float, default=0.01
        The price of one unit of slack.
    sampling : {"resample", "weight"}, default="resample"
        Whether trees see rows drawn by weight, or all rows with their weights (nothing is random then, except the hold-out).
    output : {"soft", "hard", "laplace"}, default="soft"
        What a leaf says: how sure it is, its sign, or how sure it is after two more rows.
    gamma_rule : {"w2/2C", "w/C", "cw"}, default="w2/2C"
        Which regularisation term the sharpness of the weights is solved for; the paper prints all three.
    gamma_max : float, default=50.0
        The largest sharpness.
    min_samples_leaf : float, default=2
        Least weight of a leaf.
    confidence : float, default=0.25
        Confidence of the pruning; 0 prunes nothing.
    cross_fit : bool, default=False
        Whether each row's value comes from a tree that did not see it (five more trees per round).
    max_induced : int, default=50
        Rounds at most where their number is chosen.
    min_gain : float, default=0.0
        Stop when a feature lowers the objective by less than this share of it.
    kernel : str, default="linear"
        Kernel of the last machine. With another than "linear", the induced columns feed a kernel machine.
    kernel_C : float, default=1.0
        ``C`` of that machine.
    degree : int, default=3
        Exponent of "poly" and "epanechnikov".
    gamma : {"scale", "auto"} or float, default="scale"
        Inverse width of the kernel.
    coef0 : float, default=0.0
        Constant of "poly", "sigmoid" and "multiquadric".
    preset : {"paper"} or None, default=None
        "paper" is the paper as written, whatever the parameters above say: ``C=1``, 50 rounds, full trees with hard answers, resampling.
    class_weight : dict or "balanced", default=None
        Factors of ``C`` by class.
    calibrate : bool, default=False
        Whether to fit probabilities with the model; otherwise that happens when ``predict_proba`` is first called.
    tol : float, default=1e-4
        Relative duality gap of every linear fit.
    {shared}

    Attributes
    ----------
    rules_ : list of dict
        Rules, the weightiest first: ``text``, ``class``, ``adds`` (to the decision where it holds), ``weight`` (standard deviation of its
        contribution), ``support``, ``edge``, ``rounds``. Equal rules of different trees are one.
    coef_ : ndarray of shape (n_outputs, n_columns)
        Weights of the columns of ``transform``; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (n_outputs,)
        Constants; only with ``kernel="linear"``.
    n_induced_ : int or ndarray
        Features that were induced (per class).
    gammas_, edges_, edge_bounds_ : ndarray of shape (n_features,)
        Of every induced feature: sharpness, weighted edge, and the decrease of the smooth loss that it promised.
    staged_errors_, objectives_ : ndarray of shape (n_induced_ + 1,), or a list of them
        Training error and objective with 0, 1, 2, ... features (per class).
    linear_error_ : float or ndarray
        Training error of the linear machine (per class).
    choices_ : list of dict or None
        Per class what the hold-out found: ``depth``, ``rounds``, ``error``, ``linear_error``, ``curves``.
    declined_ : list of str or None
        Per class why nothing was induced.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        How columns are standardised.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of ``C`` for each class.
    n_iter_ : int
        Steps of the solver in all fits.
    fit_status_ : int
        0 converged, 1 iteration limit, 2 time limit, 3 interrupted.
    objective_, dual_gap_, fit_time_ : float
        Dual objective and relative duality gap of the last fits, and seconds.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    FeatureInducer : The same as a transformer.

    References
    ----------
    R. Jin and H. Liu: Robust Feature Induction for Support Vector Machines. ICML 2004, doi 10.1145/1015330.1015370.

    Examples
    --------
    >>> from boulevard import FeatureInductionClassifier
    >>> from boulevard.datasets import make_checkerboard
    >>> X, y = make_checkerboard(300, cells=2, random_state=0)
    >>> clf = FeatureInductionClassifier(n_induced=10, max_depth=3, C=1.0).fit(X, y)
    >>> bool(clf.linear_error_ > 0.3), bool(clf.score(X, y) > 0.9)
    (True, True)
    """

    _parameter_constraints = {
        **_CONSTRAINTS,
        "kernel": [StrOptions(KERNELS - {"precomputed"})],
        "kernel_C": [Interval(Real, 0.0, None, closed="neither")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "calibrate": ["boolean"],
    }
    _kernel = KernelEstimator._kernel

    def __init__(
        self,
        *,
        n_induced="auto",
        max_depth="auto",
        C=0.01,
        sampling="resample",
        output="soft",
        gamma_rule="w2/2C",
        gamma_max=50.0,
        min_samples_leaf=2,
        confidence=0.25,
        cross_fit=False,
        max_induced=50,
        min_gain=0.0,
        kernel="linear",
        kernel_C=1.0,
        degree=3,
        gamma="scale",
        coef0=0.0,
        preset=None,
        class_weight=None,
        calibrate=False,
        tol=1e-4,
        n_jobs=None,
        verbose=0,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.n_induced = n_induced
        self.max_depth = max_depth
        self.C = C
        self.sampling = sampling
        self.output = output
        self.gamma_rule = gamma_rule
        self.gamma_max = gamma_max
        self.min_samples_leaf = min_samples_leaf
        self.confidence = confidence
        self.cross_fit = cross_fit
        self.max_induced = max_induced
        self.min_gain = min_gain
        self.kernel = kernel
        self.kernel_C = kernel_C
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.preset = preset
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the machine and its rules.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones are made dense inside.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        extra = {"kernel": self._kernel(), "kernel_c": float(self.kernel_C), "calibrate": bool(self.calibrate)}
        return self._fit(X, y, sample_weight, extra)

    def _take(self, parts):
        super()._take(parts)
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        if "coefficients" in parts:
            self.coef_ = parts["coefficients"]
            self.intercept_ = parts["intercepts"]

    def decision_function(self, X):
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: one column per class; the largest is the prediction.
        """
        values = self._judge("decisions", X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class of the largest decision.
        """
        codes = self._judge("codes", X)
        return self.classes_.take(codes)

    def staged_predict(self, X):
        """Predict with 0, 1, 2, ... induced features; the first are the linear machine's labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Yields
        ------
        labels : ndarray of shape (n_samples,)
            Labels of the linear machine with that many features (per class).
        """
        stages = self._judge(lambda model, table: _core.induced_stages(model, table, count_threads(self.n_jobs)), X)
        for codes in stages.T:
            yield self.classes_.take(codes.astype(np.intp))

    def transform(self, X):
        """The table the linear machine sees: standardised columns, then the induced ones.

        With ``kernel="linear"``, ``transform(X) @ coef_.T + intercept_`` is the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        table : ndarray of shape (n_samples, n_features + n_induced)
            See ``get_feature_names_out``.
        """
        return self._transform(X)

    def explain(self, X):
        """Why samples got their decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_features,)
            The samples, or one.

        Returns
        -------
        explanations : list of list of dict, or list of dict for one sample
            Per sample one entry per output: ``class``, ``decision``, ``bias``, and ``contributions``, each with ``text``, ``adds`` and
            ``round`` (None for an original feature). The bias and all contributions add up to the decision.
        """
        check_is_fitted(self)
        one = np.ndim(X) == 1 and not hasattr(X, "toarray")
        texts = self._judge(_core.induced_explain, np.reshape(X, (1, -1)) if one else X)
        explained = [json.loads(text) for text in texts]
        return explained[0] if one else explained


@document
class FeatureInducer(TransformerMixin, _Inducing):
    """Original columns with induced rules beside them, for any pipeline.

    The features are those of :class:`FeatureInductionClassifier` with the same parameters.

    Parameters
    ----------
    n_induced : int or "auto", default="auto"
        Rounds; "auto" chooses up to ``max_induced`` on held-out rows.
    max_depth : int, None or "auto", default="auto"
        Levels of tests in a tree; None is no limit, "auto" chooses on held-out rows.
    C : float, default=0.01
        The price of one unit of slack of the machine that the rules are made for.
    sampling : {"resample", "weight"}, default="resample"
        Whether trees see rows drawn by weight, or all rows with their weights.
    output : {"soft", "hard", "laplace"}, default="soft"
        What a leaf says.
    gamma_rule : {"w2/2C", "w/C", "cw"}, default="w2/2C"
        Which regularisation term the sharpness of the weights is solved for.
    gamma_max : float, default=50.0
        The largest sharpness.
    min_samples_leaf : float, default=2
        Least weight of a leaf.
    confidence : float, default=0.25
        Confidence of the pruning; 0 prunes nothing.
    cross_fit : bool, default=False
        Whether each row's value comes from a tree that did not see it.
    max_induced : int, default=50
        Rounds at most where their number is chosen.
    min_gain : float, default=0.0
        Stop when a feature lowers the objective by less than this share of it.
    preset : {"paper"} or None, default=None
        "paper" is the paper as written.
    class_weight : dict or "balanced", default=None
        Factors of ``C`` by class.
    tol : float, default=1e-4
        Relative duality gap of every linear fit.
    {shared}

    Attributes
    ----------
    rules_ : list of dict
        Rules, the weightiest first.
    n_induced_ : int or ndarray
        Features that were induced (per class).
    gammas_, edges_, edge_bounds_ : ndarray of shape (n_features,)
        Of every induced feature: sharpness, weighted edge, promised decrease.
    staged_errors_, objectives_ : ndarray of shape (n_induced_ + 1,), or a list of them
        Training error and objective with 0, 1, 2, ... features (per class).
    linear_error_ : float or ndarray
        Training error of the linear machine (per class).
    choices_, declined_ : list
        Per class what the hold-out found, and why nothing was induced.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        How columns are standardised.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    FeatureInductionClassifier : The machine that the rules are made for.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from boulevard import FeatureInducer
    >>> from boulevard.datasets import make_checkerboard
    >>> X, y = make_checkerboard(300, cells=2, random_state=0)
    >>> pipe = make_pipeline(FeatureInducer(n_induced=10, max_depth=3, C=1.0), LogisticRegression()).fit(X, y)
    >>> bool(pipe.score(X, y) > 0.9)
    True
    """

    _parameter_constraints = _CONSTRAINTS
    kernel = "linear"

    def __init__(
        self,
        *,
        n_induced="auto",
        max_depth="auto",
        C=0.01,
        sampling="resample",
        output="soft",
        gamma_rule="w2/2C",
        gamma_max=50.0,
        min_samples_leaf=2,
        confidence=0.25,
        cross_fit=False,
        max_induced=50,
        min_gain=0.0,
        preset=None,
        class_weight=None,
        tol=1e-4,
        n_jobs=None,
        verbose=0,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.n_induced = n_induced
        self.max_depth = max_depth
        self.C = C
        self.sampling = sampling
        self.output = output
        self.gamma_rule = gamma_rule
        self.gamma_max = gamma_max
        self.min_samples_leaf = min_samples_leaf
        self.confidence = confidence
        self.cross_fit = cross_fit
        self.max_induced = max_induced
        self.min_gain = min_gain
        self.preset = preset
        self.class_weight = class_weight
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Induce features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones are made dense inside.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        return self._fit(X, y, sample_weight, {})

    def transform(self, X):
        """Standardised original columns, then the induced ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        table : ndarray of shape (n_samples, n_features + n_induced)
            See ``get_feature_names_out``.
        """
        return self._transform(X)
