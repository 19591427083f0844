"""One-class machines with the interface of ``sklearn.svm``."""

from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ._base import with_callbacks
from ._docs import document
from ._kernel_estimator import CONSTRAINTS, is_array, KernelEstimator, NU_LIMITS, read_weights

__all__ = ["OneClassSVM"]


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
    _parameter_constraints = {**CONSTRAINTS, **NU_LIMITS}

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
        weights = read_weights(sample_weight, X)
        self._fit_native({"nu": float(self.nu)}, X, None, None, weights, original, is_array(original[0]))
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
