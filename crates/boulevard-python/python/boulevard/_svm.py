"""The classes of ``sklearn.svm`` on boulevard's solver: SVC, NuSVC, SVR, NuSVR, OneClassSVM."""

import json
import math
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, _num_samples

from ._base import NativeEstimator, count_threads, seed_of, shared_constraints, with_callbacks
from ._docs import document
from .exceptions import DataError, ParameterError

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]

_KERNELS = {"linear", "poly", "rbf", "sigmoid", "laplacian", "epanechnikov", "multiquadric", "precomputed"}
_WITH_DEGREE = {"poly", "epanechnikov"}
_WITH_COEF0 = {"poly", "sigmoid", "multiquadric"}

_CONSTRAINTS = {
    "kernel": [StrOptions(_KERNELS), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "shrinking": ["boolean"],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    **shared_constraints,
}
_C = {"C": [Interval(Real, 0.0, None, closed="right")]}
_NOT_FINITE = "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be preprocessed."
# Stands for an infinite C: no sum of squares of it overflows.
_HUGE = 1e100
_NU = {"nu": [Interval(Real, 0.0, 1.0, closed="right")]}
_EPSILON = {"epsilon": [Interval(Real, 0.0, None, closed="left")]}
_CLASSIFIER = {
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    "break_ties": ["boolean"],
    "calibrate": ["boolean"],
}


class KernelEstimator(NativeEstimator):
    """What the five classes share: kernels, weights, and the attributes of a kernel machine."""

    _kind = None
    _target_kinds = "biuf"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # ------------------------------------------------------------ parameters for the native part

    def _kernel(self):
        kernel = self.kernel
        if callable(kernel) or kernel == "precomputed":
            return {"type": "precomputed"}
        if kernel == "linear":
            return {"type": "linear"}
        gamma = self.gamma if isinstance(self.gamma, str) else float(self.gamma)
        described = {"type": kernel, "gamma": gamma}
        if kernel in _WITH_DEGREE:
            described["degree"] = int(self.degree)
        if kernel in _WITH_COEF0:
            described["coef0"] = float(self.coef0)
        return described

    def _solver(self):
        return {
            "tolerance": float(self.tol),
            "cache_megabytes": float(self.cache_size),
            "max_iterations": None if self.max_iter == -1 else int(self.max_iter),
            "shrinking": bool(self.shrinking),
            # These classes stand in for LIBSVM's: its answers to many digits, where digits can be seen.
            "libsvm_rounding": True,
        }

    # ------------------------------------------------------------ input

    def _read_training(self, X, y, needs_y=True):
        """Training table and targets; for a kernel function, the kernel matrix instead of X (which is kept as ``X_fit_``)."""
        kernel = self.kernel
        self.__dict__.pop("X_fit_", None)
        if callable(kernel):
            if needs_y:
                check_consistent_length(X, y)
            self.X_fit_ = X
            self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
            K = self._kernel_matrix(X)
            if K.shape[0] != K.shape[1]:
                raise ValueError("X.shape[0] should be equal to X.shape[1]")
            self._sparse = False
            return K, y
        if kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        X, y = self._read(X, y, reset=True, needs_y=needs_y)
        if kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
        self.shape_fit_ = X.shape
        self._sparse = sp.issparse(X)
        return X, y

    def _kernel_matrix(self, X):
        K = self.kernel(X, self.X_fit_)
        if sp.issparse(K):
            K = K.toarray()
        return np.asarray(K, dtype=np.float64, order="C")

    def _read_weights(self, sample_weight, X):
        """Weights as 64-bit numbers; negative ones count as zero, as in scikit-learn."""
        if sample_weight is None:
            return None
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.ndim == 0:
            weights = np.full(X.shape[0], float(weights))
        if weights.ndim != 1:
            raise ValueError("Sample weights must be 1D array or scalar")
        if weights.shape[0] != X.shape[0]:
            raise ValueError(f"sample_weight and X have incompatible shapes: {weights.shape!r} vs {X.shape!r}")
        if not np.isfinite(weights).all():
            raise ValueError("Input sample_weight contains NaN or infinity.")
        if (weights < 0).any():
            weights = np.maximum(weights, 0.0)
        if not weights.any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return np.ascontiguousarray(weights)

    def _read_new(self, X):
        """A table to judge."""
        if "_native" not in self.__dict__:
            check_is_fitted(self)
        if callable(self.kernel):
            K = self._kernel_matrix(X)
            if K.ndim != 2 or K.shape[1] != self.shape_fit_[0]:
                raise ValueError(
                    f"X.shape[1] = {K.shape[-1]} should be equal to {self.shape_fit_[0]}, the number of samples at training time"
                )
            return K
        if self.kernel == "precomputed" and not sp.issparse(X):
            columns = np.shape(X)[1] if np.ndim(X) == 2 else None
            if columns is not None and columns != self.shape_fit_[0]:
                raise ValueError(
                    f"X.shape[1] = {columns} should be equal to {self.shape_fit_[0]}, the number of samples at training time"
                )
        X, _ = self._read(X, reset=False)
        return self._table(X)

    def _judge(self, method, X):
        """Calls a method of the native model; faults that the quick look left to it are said in scikit-learn's words."""
        table = self._read_new(X)
        try:
            return getattr(self._native, method)(table, count_threads(self.n_jobs))
        except DataError:
            if not callable(self.kernel):
                self._read_anything(X, None, reset=False, needs_y=False)
            raise

    # ------------------------------------------------------------ fitting

    def _fit_native(self, parameters, X, y, names, weights, original, sparse_array=False):
        parameters["kernel"] = self._kernel()
        parameters["solver"] = self._solver()
        try:
            parts, raised = self._run(self._kind, json.dumps(parameters), X, y, names, weights, original)
        except ParameterError as error:
            if "`nu`" in str(error):
                raise ParameterError(f"specified nu is infeasible: {error}") from None
            raise
        except DataError as error:
            if "overflow" in str(error):
                raise DataError(f"{_NOT_FINITE} ({error})") from None
            raise
        self._take(parts, sparse_array)
        self._end(parts, raised)

    def _take(self, parts, sparse_array=False):
        """Sets the fitted attributes from the model's parts."""
        self.support_ = parts["support"]
        vectors, coefficients = parts["vectors"], parts["coefficients"]
        if type(vectors) is tuple:
            make = sp.csr_array if sparse_array else sp.csr_matrix
            indptr, indices, data, columns = vectors
            vectors = make((data, indices, indptr), shape=(len(indptr) - 1, columns))
            # scikit-learn stores every coefficient of a sparse machine, zeros too.
            rows, columns = coefficients.shape
            indices = np.tile(np.arange(columns, dtype=np.int32), rows)
            indptr = np.arange(0, rows * columns + 1, max(columns, 1), dtype=np.int32)[: rows + 1]
            if columns:
                coefficients = make((coefficients.ravel(), indices, indptr), shape=(rows, columns))
            else:
                coefficients = make((rows, 0))
        elif vectors.shape[1] == 0:
            vectors = np.empty((0, 0))
        self.support_vectors_ = vectors
        self.dual_coef_ = coefficients
        self.intercept_ = parts["intercepts"]
        self.n_support_ = parts["counts"]
        self.n_iter_ = parts["iterations"]
        self._gamma = parts["gamma"] if parts["gamma"] is not None else 0.0
        if not math.isfinite(parts["objective"]):
            raise DataError(_NOT_FINITE)

    def _fit_real(self, X, y, weights, parameters, original):
        """A regressor's fit."""
        y = column_or_1d(y, warn=True)
        if y.dtype.kind not in "biuf":
            y = y.astype(np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        self._fit_native(parameters, X, y, None, weights, original, _is_array(original[0]))

    @property
    def coef_(self):
        """Weights of the features, with ``kernel="linear"`` only: ndarray of shape (n_machines, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        coef = self._linear_weights()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_weights(self):
        return safe_sparse_dot(self.dual_coef_, self.support_vectors_)


def _is_array(X):
    return isinstance(X, sp.sparray)


def _names(classes):
    """Class names for the native part: whole numbers without a point."""
    if classes.dtype.kind == "f":
        return [str(int(value)) if value == int(value) else repr(float(value)) for value in classes]
    return [str(value) for value in classes]


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """What SVC and NuSVC share."""

    _kind = "svc"
    _target_kinds = "biufU"
    _one_class_left = "Invalid input - all samples with positive weights belong to the same class."

    def _encode(self, X, y, original):
        """Class codes; sets ``classes_``."""
        if type(y) is not np.ndarray or y.ndim != 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind == "O":
            check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind == "f" and not (np.isfinite(classes).all() and (classes == np.floor(classes)).all()):
            if not callable(self.kernel):
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
        return factors, {"given": list(zip(_names(self.classes_), map(float, factors), strict=True))}

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
        weights = self._read_weights(sample_weight, X)
        if weights is not None:
            left = np.count_nonzero(np.bincount(codes, weights, minlength=len(self.classes_)))
            if left < 2:
                raise ValueError(self._one_class_left)
        self.class_weight_, class_weight = self._class_weights(y, weights)
        parameters = {
            "penalty": self._penalty(),
            "class_weight": class_weight,
            "calibrate": bool(self.calibrate),
            "seed": seed_of(self.random_state),
        }
        # Probabilities are fitted on first use: keep what that needs (references, no copies).
        self.__dict__.pop("_training", None)
        if not self.calibrate:
            self._training = (X, codes, weights)
        self._fit_native(parameters, X, codes, _names(self.classes_), weights, original, _is_array(original[0]))
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
        if dual.shape[0] == 1:
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
            return (sp.csr_array if _is_array(vectors) else sp.csr_matrix)(coef)
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

    _parameter_constraints = {**_C, **_CONSTRAINTS, **_CLASSIFIER}

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
        return {"c": min(float(self.C), _HUGE)}


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

    _parameter_constraints = {**_NU, **_CONSTRAINTS, **_CLASSIFIER}
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


class KernelRegressor(RegressorMixin, KernelEstimator):
    """What SVR and NuSVR share."""

    _kind = "svr"

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training samples; a square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        self._check_parameters()
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        original = (X, y)
        X, y = self._read_training(X, y)
        weights = self._read_weights(sample_weight, X)
        self._fit_real(X, y, weights, {"c": min(float(self.C), _HUGE), "tube": self._tube()}, original)
        return self

    def predict(self, X):
        """Predict target values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; kernel values with the training samples for ``kernel="precomputed"``.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self)
        return self._judge("raw", X).ravel()


@document
class SVR(KernelRegressor):
    """Epsilon-support vector regression.

    Pays ``C`` for every unit by which a prediction misses its target by more than ``epsilon``. Same parameters, defaults and attributes
    as :class:`sklearn.svm.SVR`.

    Parameters
    ----------
    {kernel}
    {solver}
    C : float, default=1.0
        The price of one unit of error outside the tube.
    epsilon : float, default=0.1
        Errors up to this size cost nothing.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    NuSVR : The same with the share of samples outside the tube instead of its width.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import SVR
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> y = 2 * X.ravel() + 1
    >>> SVR(kernel="linear", C=100, epsilon=0.01).fit(X, y).predict([[0.5]]).round(1)
    array([2.])
    """

    _parameter_constraints = {**_CONSTRAINTS, **_C, **_EPSILON}

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=200,
        verbose=0,
        max_iter=-1,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    def _tube(self):
        return {"epsilon": float(self.epsilon)}


@document
class NuSVR(KernelRegressor):
    """Nu-support vector regression.

    As :class:`SVR`, but the tube is as wide as needed for a share of about ``nu`` of the samples to lie outside.

    Parameters
    ----------
    nu : float, default=0.5
        A bound on the share of samples outside the tube, and from below on the share of support vectors.
    C : float, default=1.0
        The price of one unit of error outside the tube.
    {kernel}
    {solver}
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SVR : The same with a given tube.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import NuSVR
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> y = 2 * X.ravel() + 1
    >>> NuSVR(kernel="linear", C=100).fit(X, y).predict([[0.5]]).round(1)
    array([2.])
    """

    _parameter_constraints = {**_NU, **_C, **_CONSTRAINTS}

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        verbose=0,
        max_iter=-1,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    def _tube(self):
        return {"nu": float(self.nu)}


@document
class OneClassSVM(OutlierMixin, KernelEstimator):
    """Support of a distribution: tells samples like the training data from others, without labels.

    Same parameters, defaults and attributes as :class:`sklearn.svm.OneClassSVM`.

    Parameters
    ----------
    {kernel}
    {solver}
    nu : float, default=0.5
        A bound on the share of training outliers, and from below on the share of support vectors.
    {shared}

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.
    {attributes}

    Examples
    --------
    >>> from boulevard import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _kind = "one_class"
    _parameter_constraints = {**_CONSTRAINTS, **_NU}

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
        shrinking=True,
        cache_size=200,
        verbose=0,
        max_iter=-1,
        n_jobs=None,
        max_time=None,
        memory_limit=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training samples; a square kernel matrix for ``kernel="precomputed"``.
        y : Ignored
            Present for consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        original = (X, None)
        X, _ = self._read_training(X, None, needs_y=False)
        weights = self._read_weights(sample_weight, X)
        self._fit_native({"nu": float(self.nu)}, X, None, None, weights, original, _is_array(original[0]))
        return self

    def _take(self, parts, sparse_array=False):
        super()._take(parts, sparse_array)
        self.offset_ = -float(self.intercept_[0])

    def decision_function(self, X):
        """Signed distance to the border: positive inside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            The decision values.
        """
        check_is_fitted(self)
        return self._judge("raw", X).ravel()

    def score_samples(self, X):
        """Decision values without the offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """Tell inliers from outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 inside (the border included), -1 outside.
        """
        check_is_fitted(self)
        return self._judge("codes", X)
