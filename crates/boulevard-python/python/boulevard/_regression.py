"""The regressors of ``sklearn.svm`` on boulevard's solver."""

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._base import with_callbacks
from ._docs import document
from ._kernel_estimator import C_LIMITS, CONSTRAINTS, EPSILON_LIMITS, HUGE, KernelEstimator, NU_LIMITS, read_weights

__all__ = ["SVR", "NuSVR"]


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
        weights = read_weights(sample_weight, X)
        self._fit_real(X, y, weights, {"c": min(float(self.C), HUGE), "tube": self._tube()}, original)
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

    _parameter_constraints = {**CONSTRAINTS, **C_LIMITS, **EPSILON_LIMITS}

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

    _parameter_constraints = {**NU_LIMITS, **C_LIMITS, **CONSTRAINTS}

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
