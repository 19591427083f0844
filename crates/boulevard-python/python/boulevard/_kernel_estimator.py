"""What the kernel machines share: kernels, weights, input, and the attributes of a fitted machine."""

import json
import math
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, _num_samples

from ._base import NativeEstimator, count_threads, shared_constraints
from ._cache import megabytes
from .exceptions import DataError, ParameterError

KERNELS = {"linear", "poly", "rbf", "sigmoid", "laplacian", "epanechnikov", "multiquadric", "precomputed"}
_WITH_DEGREE = {"poly", "epanechnikov"}
_WITH_COEF0 = {"poly", "sigmoid", "multiquadric"}

CONSTRAINTS = {
    "kernel": [StrOptions(KERNELS), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "shrinking": ["boolean"],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    **shared_constraints,
}
C_LIMITS = {"C": [Interval(Real, 0.0, None, closed="right")]}
NOT_FINITE = "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be preprocessed."
# Stands for an infinite C: no sum of squares of it overflows.
HUGE = 1e100
NU_LIMITS = {"nu": [Interval(Real, 0.0, 1.0, closed="right")]}
EPSILON_LIMITS = {"epsilon": [Interval(Real, 0.0, None, closed="left")]}
CLASSIFIER_LIMITS = {
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
        if callable(self.kernel):
            return {"type": "precomputed"}
        return describe_kernel(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0})

    def _solver(self):
        return {
            "tolerance": float(self.tol),
            "cache_megabytes": megabytes(self.cache_size),
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
                raise DataError(f"{NOT_FINITE} ({error})") from None
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
            raise DataError(NOT_FINITE)

    def _fit_real(self, X, y, weights, parameters, original):
        """A regressor's fit."""
        y = column_or_1d(y, warn=True)
        if y.dtype.kind not in "biuf":
            y = y.astype(np.float64)
        y = np.ascontiguousarray(y, dtype=np.float64)
        self._fit_native(parameters, X, y, None, weights, original, is_array(original[0]))

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


def describe_kernel(kernel, values):
    """A kernel by name with the parameters it has, for the native part."""
    if kernel not in KERNELS:
        raise ParameterError(f"kernel must be one of {sorted(KERNELS)}, got {kernel!r}")
    if kernel in ("precomputed", "linear"):
        return {"type": kernel}
    gamma = values["gamma"]
    described = {"type": kernel, "gamma": gamma if isinstance(gamma, str) else float(gamma)}
    if kernel in _WITH_DEGREE:
        described["degree"] = int(values["degree"])
    if kernel in _WITH_COEF0:
        described["coef0"] = float(values["coef0"])
    return described


def is_array(X):
    return isinstance(X, sp.sparray)


def class_names(classes):
    """Class names for the native part: whole numbers without a point."""
    if classes.dtype.kind == "f":
        return [str(int(value)) if value == int(value) else repr(float(value)) for value in classes]
    return [str(value) for value in classes]


def read_weights(sample_weight, X):
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
