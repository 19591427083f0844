"""The classifiers of ``sklearn.svm`` on boulevard's solver."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._base import count_threads, seed_of, with_callbacks
from ._docs import document
from ._kernel_estimator import C_LIMITS, class_names, CLASSIFIER_LIMITS, CONSTRAINTS, HUGE, is_array, KernelEstimator, NU_LIMITS, read_weights
from .exceptions import DataError

__all__ = ["SVC", "NuSVC"]


class ProbabilityMixin:
    """What all classifiers share: class codes and weights, and probabilities that are fitted on first use."""

    _one_class_left = "Invalid input - all samples with positive weights belong to the same class."

    def _encode(self, X, y, original):
        """Class codes; sets ``classes_``."""
        if type(y) is not np.ndarray or y.ndim != 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind == "O":
            check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind == "f" and not (np.isfinite(classes).all() and (classes == np.floor(classes)).all()):
            if not callable(getattr(self, "kernel", None)):
                self._read_anything(*original, reset=True, needs_y=True)
            check_classification_targets(y)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        return y, codes

    def _class_weights(self, y, weights):
        """Factor per class: ``class_weight_``. Rows count with their weights for "balanced", so that weight 2 is having the row twice."""
        if self.class_weight is None:
            return np.ones(len(self.classes_)), "equal"
        if isinstance(self.class_weight, str) and weights is not None:
            totals = np.array([weights[y == value].sum() for value in self.classes_])
            present = totals > 0
            factors = np.ones(len(totals))
            factors[present] = totals.sum() / (present.sum() * totals[present])
        else:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return factors, {"given": list(zip(class_names(self.classes_), map(float, factors), strict=True))}

    def _check_classes_left(self, codes, weights):
        if weights is not None and np.count_nonzero(np.bincount(codes, weights, minlength=len(self.classes_))) < 2:
            raise ValueError(self._one_class_left)

    def _remember(self, X, codes, weights):
        """Probabilities are fitted on first use: keeps what that needs (references, no copies)."""
        self.__dict__.pop("_training", None)
        if not self.calibrate:
            self._training = (X, codes, weights)

    def predict_proba(self, X):
        """Predict class probabilities.

        They come from Platt's sigmoids on five-fold cross-validated decisions, fitted with the model (``calibrate=True``) or on first use,
        which costs five fits once. The most probable class is always the predicted one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; kernel values with the training samples for ``kernel="precomputed"``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        self._ensure_calibrated()
        return self._judge("probabilities", X)

    def predict_log_proba(self, X):
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; kernel values with the training samples for ``kernel="precomputed"``.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def _ensure_calibrated(self):
        if self._native.calibrated:
            return
        if "_training" not in self.__dict__:
            raise DataError(
                f"This {type(self).__name__} was loaded from a file that has no probabilities and no training data to fit them on. "
                "Fit it with calibrate=True, or call predict_proba once before save."
            )
        X, codes, weights = self._training
        self._native.calibrate(self._table(X), codes, weights, count_threads(self.n_jobs), self.memory_limit)


class KernelClassifier(ProbabilityMixin, ClassifierMixin, KernelEstimator):
    """What SVC and NuSVC share."""

    _kind = "svc"
    _target_kinds = "biufU"

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training samples; a square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_parameters()
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        original = (X, y)
        X, y = self._read_training(X, y)
        y, codes = self._encode(X, y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        self.class_weight_, class_weight = self._class_weights(y, weights)
        parameters = {
            "penalty": self._penalty(),
            "class_weight": class_weight,
            "calibrate": bool(self.calibrate),
            "seed": seed_of(self.random_state),
        }
        self._remember(X, codes, weights)
        self._fit_native(parameters, X, codes, class_names(self.classes_), weights, original, is_array(original[0]))
        return self

    def _take(self, parts, sparse_array=False):
        super()._take(parts, sparse_array)
        if len(self.classes_) == 2:
            # The native machine is positive for the first class, scikit-learn's attributes for the second.
            self.intercept_ = -self.intercept_
            self.dual_coef_ = -self.dual_coef_

    def decision_function(self, X):
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; kernel values with the training samples for ``kernel="precomputed"``.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Two classes: one value, positive for ``classes_[1]``. More: one column per class (``"ovr"``: votes plus a confidence that
            breaks ties; the largest is the prediction) or per pair of classes (``"ovo"``, positive for the first).
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self._judge("decisions", X).ravel()
        return self._judge("raw" if self.decision_function_shape == "ovo" else "decisions", X)

    def predict(self, X):
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; kernel values with the training samples for ``kernel="precomputed"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class with the most votes of the pairwise machines; ties go to the larger sum of confidences.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self.classes_.take(self._judge("codes", X))

    @property
    def probA_(self):
        """Slopes of the fitted sigmoids, one per pair of classes; empty before probabilities are fitted."""
        check_is_fitted(self)
        return self._native.sigmoids[0] if self._native.calibrated else np.empty(0)

    @property
    def probB_(self):
        """Shifts of the fitted sigmoids, one per pair of classes; empty before probabilities are fitted."""
        check_is_fitted(self)
        return self._native.sigmoids[1] if self._native.calibrated else np.empty(0)

    def _linear_weights(self):
        dual, vectors = self.dual_coef_, self.support_vectors_
        if dual.shape[0] == 1 or dual.shape[0] == len(self.classes_):
            # One machine, or one per class against the rest (a point of a front).
            return safe_sparse_dot(dual, vectors)
        if sp.issparse(dual):
            dual = dual.toarray()
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        part = [slice(ends[i], ends[i + 1]) for i in range(len(self.classes_))]
        rows = [
            dual[j - 1, part[i]] @ vectors[part[i]] + dual[i, part[j]] @ vectors[part[j]]
            for i in range(len(part))
            for j in range(i + 1, len(part))
        ]
        coef = np.vstack([np.asarray(row).ravel() for row in rows])
        if sp.issparse(vectors):
            return (sp.csr_array if is_array(vectors) else sp.csr_matrix)(coef)
        return coef


@document
class SVC(KernelClassifier):
    """C-support vector classification.

    Maximizes the margin between classes and pays ``C`` for every unit by which a sample is short of it; more than two classes are told
    apart pair by pair. Same parameters, defaults and attributes as :class:`sklearn.svm.SVC`, without ``probability``:
    ``predict_proba`` always exists.

    Parameters
    ----------
    C : float, default=1.0
        The price of one unit of slack. Smaller values regularize more.
    {kernel}
    {solver}
    {classifier}
    {shared}

    Attributes
    ----------
    {classifier_attributes}
    {attributes}

    See Also
    --------
    NuSVC : The same with a bound on the share of margin errors instead of a price.
    SVR : Regression.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import SVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> y = np.array([1, 1, 2, 2])
    >>> clf = SVC(gamma="auto").fit(X, y)
    >>> clf.predict([[-0.8, -1]])
    array([1])
    >>> bool(clf.dual_gap_ < 1e-3)
    True
    """

    _parameter_constraints = {**C_LIMITS, **CONSTRAINTS, **CLASSIFIER_LIMITS}

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=0,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        calibrate=False,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    def _penalty(self):
        return {"c": min(float(self.C), HUGE)}


@document
class NuSVC(KernelClassifier):
    """Nu-support vector classification.

    As :class:`SVC`, but ``nu`` bounds the share of margin errors from above and the share of support vectors from below.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1; what is feasible depends on the class sizes.
    {kernel}
    {solver}
    {classifier}
    {shared}

    Attributes
    ----------
    {classifier_attributes}
    {attributes}

    See Also
    --------
    SVC : The same with a price for errors.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import NuSVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> y = np.array(["left", "left", "right", "right"])
    >>> NuSVC(gamma="auto").fit(X, y).predict([[-0.8, -1]])
    array(['left'], dtype='<U5')
    """

    _parameter_constraints = {**NU_LIMITS, **CONSTRAINTS, **CLASSIFIER_LIMITS}
    _one_class_left = "specified nu is infeasible: all samples with positive weights belong to the same class."

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=0,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        calibrate=False,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    def _penalty(self):
        return {"nu": float(self.nu)}
