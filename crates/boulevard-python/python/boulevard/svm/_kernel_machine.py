"""What the kernel machines share: kernels, training tables, and the attributes of a fitted machine."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Annotated, Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _num_samples, check_consistent_length

from .. import _core
from .._base import Known, NativeEstimator
from .._cache import cache_size as cache_size_of
from .._cache import megabytes
from .._kernels import KERNELS, describe_kernel, kernel_parameters
from .._limits import Positive, Seed, Steps, parameters
from .._request import Data
from .._typing import Floats, Gamma, KernelFunction, Parts, Table
from ..exceptions import ParameterError, TooLargeError

#: What kernels have as parameters.
Degree = Annotated[int, Interval(Integral, 0, None, closed="left")]
Width = Annotated[Gamma, Interval(Real, 0.0, None, closed="left")]
Offset = Annotated[float, Interval(Real, None, None, closed="neither")]
NOT_FINITE = "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be preprocessed."
# Stands for an infinite C: no sum of squares of it overflows.
HUGE = 1e100


def steps_of(limit: int | None) -> int:
    """``max_iter`` from a file."""
    return -1 if limit is None else limit


@parameters
class KernelParameters:
    """What all kernel machines have."""

    kernel: Annotated[str | KernelFunction, StrOptions(KERNELS), callable] = "rbf"
    degree: Degree = 3
    gamma: Width = "scale"
    coef0: Offset = 0.0
    tol: Positive = 1e-3
    cache_size: Positive = 200
    max_iter: Steps = -1
    device: str = "auto"
    random_state: Seed = None


class KernelEstimator(KernelParameters, NativeEstimator):
    """One kernel machine, or several over the same rows, with the attributes of scikit-learn's."""

    #: Whether a model of dense rows judges sparse ones; scikit-learn's machines refuse them.
    _takes_any_layout = False
    shrinking: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # ------------------------------------------------------------ parameters for the native part

    def _kernel(self) -> Parts:
        if callable(self.kernel):
            return {"type": "precomputed"}
        return describe_kernel(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0})

    def _solver(self) -> Parts:
        return {
            "tolerance": float(self.tol),
            "cache_megabytes": megabytes(self.cache_size),
            "max_iterations": None if self.max_iter == -1 else int(self.max_iter),
            "shrinking": bool(self.shrinking),
            # These classes stand in for LIBSVM's: its answers to many digits, where digits can be seen.
            "libsvm_rounding": True,
        }

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        solver = given["solver"]
        return {
            **kernel_parameters(given["kernel"]),
            "tol": solver["tolerance"],
            "cache_size": cache_size_of(solver["cache_megabytes"]),
            "max_iter": steps_of(solver["max_iterations"]),
            "shrinking": solver["shrinking"],
        }

    # ------------------------------------------------------------ input

    def _read_training(self, X: Any, y: Any, needs_y: bool = True) -> tuple[Any, Any]:
        """Training table and targets; for a kernel function, the kernel matrix instead of X (which is kept as ``X_fit_``)."""
        if needs_y and y is None:
            self._read_anything(X, y, reset=True, needs_y=True)  # says that y is missing
        kernel = self.kernel
        self.__dict__.pop("X_fit_", None)
        # scikit-learn makes sparse attributes of the kind that it was given.
        self._sparse_array = isinstance(X, sp.sparray)
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
            self._read_anything(X, y, reset=True, needs_y=needs_y)  # what is not finite is named first
            raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
        self.shape_fit_ = X.shape
        self._sparse = sp.issparse(X)
        return X, y

    def _kernel_matrix(self, X: Any) -> Floats:
        K: Any = cast(KernelFunction, self.kernel)(X, self.X_fit_)
        if sp.issparse(K):
            K = K.toarray()
        return np.require(np.asarray(K, dtype=np.float64), requirements=["C", "A"])

    def _read_new(self, X: Any) -> Table:
        """A table to judge."""
        self._need_model()
        if callable(self.kernel):
            K = self._kernel_matrix(X)
            self._check_width(K.shape[-1] if K.ndim == 2 else None, K.shape[-1])
            return K
        if sp.issparse(X) and not self._sparse and not self._takes_any_layout:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data: fit it on sparse data, or pass X.toarray()"
            )
        try:
            return super()._read_new(X)
        except ValueError as error:
            if self.kernel == "precomputed" and " features, but " in str(error):
                raise ValueError(f"{error} A precomputed kernel has one column per sample at training time.") from None
            raise

    def _check_width(self, columns: int | None, shown: int) -> None:
        if columns != self.shape_fit_[0]:
            raise ValueError(f"X.shape[1] = {shown} should be equal to {self.shape_fit_[0]}, the number of samples at training time")

    # ------------------------------------------------------------ fitting

    def _fit_machine(self, known: Known, own: Callable[[], Parts], data: Data, original: tuple[Any, Any]) -> None:
        """Fits with the parameters that all kernel machines have and its own, and sets the fitted attributes; the native learner is kept
        with what is known of the parameters."""
        learner = known.get("learner")
        if learner is None:
            learner = self._native_learner({**own(), "kernel": self._kernel(), "solver": self._solver()})
            known["learner"] = learner
        try:
            parts, raised = self._run(learner, data, original)
        except ParameterError as error:
            if error.name == "nu":
                facts = {"owner": error.owner, "allowed": error.allowed, "found": error.found}
                raise ParameterError(f"specified nu is infeasible: {error}", "nu", **facts) from None
            raise
        except TooLargeError as error:
            raise TooLargeError(f"{NOT_FINITE} ({error})") from None
        self._take(parts)
        self._end(parts, raised)

    def _take(self, parts: Parts) -> None:
        self.support_ = parts["support"]
        vectors, coefficients = parts["vectors"], parts["coefficients"]
        if type(vectors) is tuple:
            vectors, coefficients = self._sparse_parts(vectors, coefficients)
        elif vectors.shape[1] == 0:
            vectors = np.empty((0, 0))
        self.support_vectors_ = vectors
        self.dual_coef_ = coefficients
        self.intercept_ = parts["intercepts"]
        self.n_support_ = parts["counts"]
        self.n_iter_ = parts["iterations"]
        self._gamma = parts["gamma"] if parts["gamma"] is not None else 0.0

    def _sparse_parts(self, vectors: tuple[Any, ...], coefficients: Floats) -> tuple[Any, Any]:
        make = sp.csr_array if self.__dict__.get("_sparse_array") else sp.csr_matrix
        indptr, indices, data, features = vectors
        rows, columns = coefficients.shape
        if not columns:
            dual = make((rows, 0))
        else:
            # scikit-learn stores every coefficient of a sparse machine, zeros too.
            places = np.tile(np.arange(columns, dtype=np.int32), rows)
            ends = np.arange(0, rows * columns + 1, columns, dtype=np.int32)[: rows + 1]
            dual = make((coefficients.ravel(), places, ends), shape=(rows, columns))
        return make((data, indices, indptr), shape=(len(indptr) - 1, features)), dual

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        super()._prepare(model, parts)
        self.shape_fit_ = (parts["rows"], parts["features"])
        self._sparse = type(parts.get("vectors")) is tuple

    @property
    def coef_(self) -> Any:
        """Weights of the features, with ``kernel="linear"`` only: ndarray of shape (n_machines, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        self._need_model()
        coef = self._linear_weights()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_weights(self) -> Any:
        return safe_sparse_dot(self.dual_coef_, self.support_vectors_)
