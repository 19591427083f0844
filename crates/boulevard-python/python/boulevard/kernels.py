"""Kernels between sets of samples; and the kernels of single samples, which every estimator takes by name.

With ``d2`` for the squared distance of two samples and ``d1`` for the sum of their absolute differences:

========================  ==============================================================================================
"linear"                  ``<x, z>``
"poly"                    ``(gamma <x, z> + coef0) ** degree``
"rbf"                     ``exp(-gamma d2)``
"sigmoid"                 ``tanh(gamma <x, z> + coef0)``
"laplacian"               ``exp(-gamma d1)``
"epanechnikov"            ``max(0, 1 - gamma d2) ** degree``
"multiquadric"            ``sqrt(gamma d2 + coef0 ** 2)``
"inverse_multiquadric"    ``1 / sqrt(gamma d2 + coef0 ** 2)``, ``coef0`` other than zero
"chi_squared"             ``exp(-gamma sum((x - z) ** 2 / (x + z)))``, for values that are not negative
========================  ==============================================================================================
"""

import json
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._kernels import CATALOGUE, describe_kernel
from ._limits import count_threads
from ._typing import Floats
from .exceptions import ParameterError

__all__ = ["symmetric_kernel"]


def symmetric_kernel(
    A: ArrayLike,
    B: ArrayLike | None = None,
    kernel: str = "rbf",
    *,
    normalization: Literal["mean", "cosine"] = "mean",
    log: bool = False,
    n_jobs: int | None = None,
    **params: Any,
) -> Floats:
    """Kernel between sets of K samples that does not depend on the order within a set.

    The kernel of the concatenated samples of two sets, averaged over all orders of one of them. For "rbf" and "laplacian", which are
    products over samples, that is the permanent of the K x K matrix of kernel values between single samples divided by K!; it takes
    ``K 2**(K-1)`` products instead of the K! terms. "linear" and "poly" have closed forms. Other kernels: the product of the values of
    matched samples, averaged over all matchings.

    Parameters
    ----------
    A : array-like of shape (n, K, n_features)
        Sets, K at most 16.
    B : array-like of shape (m, K, n_features), default=None
        Other sets; None means ``A``.
    kernel : str, default="rbf"
        The kernel of single samples, by name.
    normalization : {"mean", "cosine"}, default="mean"
        The mean over permutations, or that divided by the root of both sets' own values.
    log : bool, default=False
        Give natural logarithms, which do not underflow for narrow kernels ("mean" only, and kernels that are products).
    n_jobs : int, default=None
        Threads.
    **params
        ``gamma`` (a number, "scale" or "auto"; default 1 / n_features), ``degree`` (default 3) and ``coef0`` (default 0; 1 for
        "multiquadric" and "inverse_multiquadric") of the kernel.

    Returns
    -------
    K : ndarray of shape (n, m)
        The kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard.kernels import symmetric_kernel
    >>> A = np.array([[[0.0], [1.0]], [[1.0], [0.0]]])
    >>> K = symmetric_kernel(A, gamma=1.0)
    >>> bool(K[0, 0] == K[0, 1])
    True
    """
    known = {"gamma", "degree", "coef0"}
    if unknown := set(params) - known:
        raise ParameterError(f"symmetric_kernel has no parameters {sorted(unknown)}; kernels have {sorted(known)}")
    if normalization not in ("mean", "cosine"):
        raise ParameterError(f"normalization must be 'mean' or 'cosine', got {normalization!r}")
    if log and normalization != "mean":
        raise ParameterError("log=True goes with normalization='mean' only")
    left = _three(A, "A")
    right = None if B is None else _three(B, "B")
    n, k, columns = left.shape
    if right is not None and right.shape[1:] != (k, columns):
        raise ParameterError(f"sets of A have {k} samples of {columns} features, sets of B {right.shape[1]} of {right.shape[2]}")
    if right is not None and right.dtype != left.dtype:
        left, right = left.astype(np.float64), right.astype(np.float64)
    coef0 = CATALOGUE.get(kernel, {}).get("coef0", 0.0)
    described = describe_kernel(kernel, {"gamma": 1.0 / max(columns, 1), "degree": 3, "coef0": coef0, **params})
    flat = [np.require(X, requirements=["C", "A"]).reshape(-1, columns) for X in (left, right) if X is not None]
    # numpy's memory comes in large pages and is not cleared first: either would cost as much as a small kernel.
    K = np.empty((n, n if right is None else len(right)))
    _core.symmetric_kernel(
        json.dumps(described), flat[0], None if right is None else flat[1], k, normalization, bool(log), count_threads(n_jobs), K
    )
    return K


def _three(X: Any, name: str) -> Any:
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 3 or 0 in X.shape:
        raise ParameterError(f"{name} must have the shape (sets, samples per set, features) with at least one of each, got {X.shape}")
    return X
