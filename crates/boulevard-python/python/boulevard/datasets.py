"""Artificial data sets of the papers that boulevard's methods come from.

All have two classes, labeled -1 and 1. The same arguments and seed give the same random draws on every machine; numbers made with
logarithms, sines and cosines can differ in the last digit where the system's mathematical functions do.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._limits import seed_of
from ._typing import Floats, RandomState

__all__ = [
    "make_banana",
    "make_checkerboard",
    "make_ringnorm",
    "make_spiral",
    "make_twonorm",
    "make_two_gaussians",
    "make_waveform",
]


Samples: TypeAlias = tuple[Floats, NDArray[np.int64]]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _make(name: str, n_samples: int, random_state: RandomState, *options: float) -> Samples:
    n_samples = int(n_samples)
    if n_samples < 0:
        raise ValueError(f"n_samples must not be negative, got {n_samples}")
    X, codes = _core.generate(name, n_samples, seed_of(random_state), [float(option) for option in options])
    return X, np.where(codes == 1, 1, -1)


_DOC = """{title}

    Parameters
    ----------
    n_samples : int, default={n}
        Number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed; None means 0.{more}

    Returns
    -------
    X : ndarray of shape (n_samples, {columns})
        The samples.
    y : ndarray of shape (n_samples,)
        The labels, -1 and 1.
    """


def _doc(title: str, n: int = 400, columns: str = "2", more: Sequence[tuple[str, str]] = ()) -> Callable[[_Function], _Function]:
    def describe(function: _Function) -> _Function:
        text = "".join(f"\n    {name}\n        {meaning}" for name, meaning in more)
        function.__doc__ = _DOC.format(title=title, n=n, columns=columns, more=text)
        return function

    return describe


@_doc("Two interlocking crescents with noise; the best error is about 11 %.")
def make_banana(n_samples: int = 400, *, random_state: RandomState = None) -> Samples:
    return _make("banana", n_samples, random_state)


@_doc("One Gaussian inside another in 20 dimensions: a sphere is best (Breiman); Bayes error 1.2 %.", columns="20")
def make_ringnorm(n_samples: int = 400, *, random_state: RandomState = None) -> Samples:
    return _make("ringnorm", n_samples, random_state)


@_doc("Two shifted Gaussians in 20 dimensions: a plane is best (Breiman); Bayes error 2.3 %.", columns="20")
def make_twonorm(n_samples: int = 400, *, random_state: RandomState = None) -> Samples:
    return _make("twonorm", n_samples, random_state)


@_doc("Mixtures of triangular waves in noise, two of Breiman's three classes.", columns="21")
def make_waveform(n_samples: int = 400, *, random_state: RandomState = None) -> Samples:
    return _make("waveform", n_samples, random_state)


@_doc(
    "Two interleaved spirals of radius 1.",
    more=[
        ("turns : float, default=1.5", "How often each arm goes around."),
        ("noise : float, default=0.05", "Standard deviation of the noise; neighboring arms are ``1 / (2 turns)`` apart."),
    ],
)
def make_spiral(n_samples: int = 400, *, random_state: RandomState = None, turns: float = 1.5, noise: float = 0.05) -> Samples:
    return _make("spiral", n_samples, random_state, turns, noise)


@_doc(
    "Squares of alternating class, without noise.",
    more=[
        ("cells : int, default=4", "Squares along each side."),
        ("side : float, default=4.0", "Length of each side."),
    ],
)
def make_checkerboard(n_samples: int = 400, *, random_state: RandomState = None, cells: int = 4, side: float = 4.0) -> Samples:
    return _make("checkerboard", n_samples, random_state, cells, side)


@_doc(
    "Two Gaussians with unit covariance; the Bayes error from K samples of one class is ``Phi(-sqrt(K) distance / 2)``.",
    columns="n_features",
    more=[
        ("n_features : int, default=2", "Number of columns."),
        ("distance : float, default=1.094", "Distance of the means."),
    ],
)
def make_two_gaussians(n_samples: int = 400, *, random_state: RandomState = None, n_features: int = 2, distance: float = 1.094) -> Samples:
    return _make("two_gaussians", n_samples, random_state, n_features, distance)
