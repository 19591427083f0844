"""The regressors of ``sklearn.svm`` on boulevard's solver."""

import json
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from .. import _core
from .._base import fitting
from .._classes import read_weights
from .._docs import document
from .._files import loads
from .._limits import NotNegative, Price, Share, parameters
from .._request import Data
from .._typing import Floats, Parts, TableLike
from ._kernel_machine import HUGE, KernelEstimator

__all__ = ["SVR", "NuSVR"]


def read_numbers(y: Any) -> Floats:
    """A regression target as 64-bit numbers."""
    y = column_or_1d(y, warn=True)
    return np.require(y.astype(np.float64, copy=False), requirements=["C", "A"])


@document
@parameters
class KernelRegressor(RegressorMixin, KernelEstimator):
    """Regression by one kernel machine."""

    _kind = "svr"
    C: Price = 1.0
    shrinking: bool = True

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        {training_or_kernel}
        {numbers}
        {sample_weight}

        {self}
        """
        known = self._check_parameters()
        original = (X, y)
        X, y = self._read_training(X, y)
        weights = read_weights(sample_weight, X)
        self._fit_machine(known, self._learner, Data(self._table(X), read_numbers(y), None, weights), original)
        return self

    def _learner(self) -> Parts:
        """The native learner's parameters, kernel and solver apart."""
        return {"c": min(float(self.C), HUGE), "tube": self._tube()}

    def _tube(self) -> Parts:
        raise NotImplementedError

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {**super()._constructor(given), "C": given["c"], **given["tube"]}

    def predict(self, X: TableLike) -> Floats:
        """Predict target values.

        {samples_or_kernel}

        {predicted_numbers}
        """
        values: Floats = self._judge("raw", X)
        return values.ravel()


@loads("svr")
@document
@parameters
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
    {device}
    {shared}

    Attributes
    ----------
    {support_attributes}
    {fit_attributes}

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

    epsilon: NotNegative = 0.1

    def _tube(self) -> Parts:
        return {"epsilon": float(self.epsilon)}

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        return "epsilon" in json.loads(model.parameters)["tube"]


@loads("svr")
@document
@parameters
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
    {device}
    {shared}

    Attributes
    ----------
    {support_attributes}
    {fit_attributes}

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

    nu: Share = 0.5

    def _tube(self) -> Parts:
        return {"nu": float(self.nu)}

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        return "nu" in json.loads(model.parameters)["tube"]
