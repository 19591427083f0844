"""One-class machines with the interface of ``sklearn.svm``."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from .._base import fitting
from .._classes import read_weights
from .._docs import document
from .._files import loads
from .._limits import Share, parameters
from .._request import Data
from .._typing import Floats, Parts, TableLike
from ._kernel_machine import KernelEstimator

__all__ = ["OneClassSVM"]


@loads("one_class")
@document
@parameters
class OneClassSVM(OutlierMixin, KernelEstimator):
    """Support of a distribution: tells samples like the training data from others, without labels.

    Same parameters, defaults and attributes as :class:`sklearn.svm.OneClassSVM`.

    Parameters
    ----------
    {kernel}
    {solver}
    nu : float, default=0.5
        A bound on the share of training outliers, and from below on the share of support vectors.
    {device}
    {shared}

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.
    {support_attributes}
    {fit_attributes}

    Examples
    --------
    >>> from boulevard import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _kind = "one_class"
    nu: Share = 0.5
    shrinking: bool = True

    @fitting
    def fit(self, X: TableLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        {training_or_kernel}
        y : Ignored
            Present for consistency.
        {sample_weight}

        {self}
        """
        known = self._check_parameters()
        original = (X, None)
        X, _ = self._read_training(X, None, needs_y=False)
        weights = read_weights(sample_weight, X)
        self._fit_machine(known, lambda: {"nu": float(self.nu)}, Data(self._table(X), weights=weights), original)
        return self

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {**super()._constructor(given), "nu": given["nu"]}

    def _take(self, parts: Parts) -> None:
        super()._take(parts)
        self.offset_ = -float(self.intercept_[0])

    def decision_function(self, X: TableLike) -> Floats:
        """Signed distance to the border: positive inside.

        {samples_or_kernel}

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
            The decision values.
        """
        values: Floats = self._judge("raw", X)
        return values.ravel()

    def score_samples(self, X: TableLike) -> Floats:
        """Decision values without the offset.

        {samples_or_kernel}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: TableLike) -> NDArray[np.int64]:
        """Tell inliers from outliers.

        {samples_or_kernel}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 inside (the border included), -1 outside.
        """
        return self._judge("codes", X)
