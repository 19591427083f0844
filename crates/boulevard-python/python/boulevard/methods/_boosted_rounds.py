"""The rounds of a boosted classifier, one weighted machine each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

from .._typing import Floats, Parts, TableLike


@dataclass(frozen=True, repr=False)
class BoostedRound:
    """One round of one label: a weighted machine.

    Attributes
    ----------
    alpha, error, sigma : float
        Weight of its vote, weight of the training rows it misses, width of its kernel.
    n_drawn : int
        Rows it learnt from.
    support_ : ndarray
        Rows of its support vectors.
    dual_coef_ : ndarray
        Their coefficients.
    support_vectors_ : ndarray or sparse matrix
        The support vectors.
    intercept_ : float
        Constant of the decision function.
    """

    alpha: float
    error: float
    sigma: float
    n_drawn: int
    support_: NDArray[np.int32]
    dual_coef_: Floats
    support_vectors_: Any
    intercept_: float

    def __repr__(self) -> str:
        return f"BoostedRound(alpha={self.alpha:.3g}, error={self.error:.3g}, sigma={self.sigma:.3g}, n_support={len(self.support_)})"

    def decision_function(self, X: TableLike) -> Floats:
        """Decision values of this round alone."""
        kernel: Floats = rbf_kernel(X, self.support_vectors_, gamma=0.5 / self.sigma**2)
        return kernel @ self.dual_coef_ + self.intercept_


def rounds_of(parts: Parts) -> list[list[BoostedRound]]:
    """The rounds of every label; each is one output of a machine that rounds of the same kernel width share."""
    machines = []
    for machine in parts["machines"]:
        vectors = machine["vectors"]
        if type(vectors) is tuple:
            indptr, indices, data, columns = vectors
            vectors = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, columns))
        machines.append((machine, vectors))

    def one(label: int, t: int, place: int, output: int, drawn: int) -> BoostedRound:
        machine, vectors = machines[place]
        coefficients = machine["coefficients"][output]
        used = np.flatnonzero(coefficients)
        return BoostedRound(
            alpha=float(parts["alphas"][label][t]),
            error=float(parts["errors"][label][t]),
            sigma=float(parts["sigmas"][label][t]),
            n_drawn=drawn,
            support_=machine["support"][used],
            dual_coef_=coefficients[used],
            support_vectors_=vectors[used],
            intercept_=float(machine["intercepts"][output]),
        )

    members = enumerate(parts["members"])
    return [[one(label, t, *member) for t, member in enumerate(rounds)] for label, rounds in members]
