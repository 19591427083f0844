"""Pictures of decisions from several samples."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._docs import document
from .._typing import RandomState, TableLike
from ._axes import axes, from_data, in_legend, sized_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..methods.multi_sample import MultiSampleClassifier, SequentialDecision


def _judges(estimator: "MultiSampleClassifier") -> str:
    """Who decides sets of which size: a direct machine judges its own size only."""
    sizes = sorted(estimator.n_support_sets_)
    if estimator.method_ != "direct" or not sizes:
        return str(estimator.method_)
    own = f"K = {sizes[0]}" if len(sizes) == 1 else f"K = {sizes[0]} to {sizes[-1]}"
    return f"direct at {own}, consensus elsewhere"


@document
class ErrorBySizeDisplay:
    """Error against the number of samples per decision: how many samples until one percent?

    Parameters
    ----------
    size : ndarray
        Samples per decision.
    error, deviation : ndarray
        Mean error and its standard deviation over repeats.
    n_sets : ndarray
        Sets judged at each size.
    name : str
        What the curve is called in the legend.

    Examples
    --------
    >>> from boulevard import MultiSampleClassifier
    >>> from boulevard.datasets import make_two_gaussians
    >>> from boulevard.plot import ErrorBySizeDisplay
    >>> X, y = make_two_gaussians(400, distance=1.5)
    >>> clf = MultiSampleClassifier(method="consensus").fit(X[:200], y[:200])
    >>> display = ErrorBySizeDisplay.from_estimator(clf, X[200:], y[200:])  # doctest: +SKIP
    """

    def __init__(self, *, size: ArrayLike, error: ArrayLike, deviation: ArrayLike, n_sets: ArrayLike, name: str | None = None) -> None:
        self.size = np.asarray(size)
        self.error = np.asarray(error)
        self.deviation = np.asarray(deviation)
        self.n_sets = np.asarray(n_sets)
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: "MultiSampleClassifier",
        X: TableLike,
        y: ArrayLike,
        *,
        sizes: Iterable[int] = range(1, 11),
        n_repeats: int = 10,
        random_state: RandomState = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Judge sets of several sizes with a fitted :class:`~boulevard.MultiSampleClassifier`, and plot.

        Parameters
        ----------
        estimator : MultiSampleClassifier
            Fitted.
        X, y : array-like
            Samples that were not learnt from, and their labels.
        sizes : iterable of int, default=range(1, 11)
            Samples per decision.
        n_repeats, random_state
            As in ``error_by_size``.
        name : str, default=None
            For the legend; None says which method judges which size.
        {ax}

        Returns
        -------
        display : ErrorBySizeDisplay
            The picture with its data.
        """
        curve = estimator.error_by_size(X, y, sizes=sizes, n_repeats=n_repeats, random_state=random_state)
        return cls(**curve, name=_judges(estimator) if name is None else name).plot(ax=ax, **kwargs)

    def samples_until(self, target: float = 0.01) -> int | None:
        """The smallest number of samples whose error is at most ``target``; None if no size on the curve is enough."""
        enough = self.size[self.error <= target]
        return int(enough.min()) if len(enough) else None

    def plot(self, ax: "Axes | None" = None, *, target: float | None = 0.01, **kwargs: Any) -> Self:
        """Draw, with a line at ``target`` (None for no line); returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        # A logarithm cannot show an error of zero: such points stand at half of one wrong set, which no other error can be below.
        none = (self.error == 0) & (self.error > 0).any()
        shown = np.where(none, 0.5 / np.maximum(self.n_sets, 1), self.error)
        spread = np.where(none, 0.0, self.deviation)
        bars = np.array([np.minimum(spread, 0.9 * shown), spread])
        self.line_ = ax.errorbar(self.size, shown, yerr=bars, marker="o", label=self.name, **kwargs)
        if none.any():
            ax.plot(self.size[none], shown[none], "o", color="k", markersize=10, fillstyle="none", label="no set wrong")
        if (self.error > 0).any():
            ax.set_yscale("log")
        if target is not None:
            ax.axhline(target, color="0.5", linestyle="--", linewidth=1, label=f"target, {100 * target:g} %")
        ax.set(xlabel="samples per decision", ylabel="error")
        ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        if ax.get_legend_handles_labels()[1]:
            ax.legend(title="decided by")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@document
class SequentialDisplay:
    """The posterior of every class after each sample of a sequential decision.

    Parameters
    ----------
    posteriors : ndarray of shape (n_samples, n_classes)
        As in :meth:`~boulevard.MultiSampleClassifier.decide`.
    classes : ndarray
        The labels.
    confidence : float
        Where the decision was to stop.
    """

    def __init__(self, *, posteriors: ArrayLike, classes: NDArray[Any], confidence: float) -> None:
        self.posteriors = np.asarray(posteriors)
        self.classes = classes
        self.confidence = confidence
        self.decision: SequentialDecision | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: "MultiSampleClassifier",
        stream: Iterable[Any],
        *,
        confidence: float = 0.99,
        max_samples: int | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Decide a stream with a fitted :class:`~boulevard.MultiSampleClassifier`, and plot how it went."""
        decision = estimator.decide(stream, confidence=confidence, max_samples=max_samples)
        display = cls(posteriors=decision.posteriors, classes=estimator.classes_, confidence=confidence)
        display.decision = decision
        return display.plot(ax=ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = sized_axes(ax, 6.4, max(4.8, 1.5 + 0.16 * len(self.classes)))
        samples = np.arange(1, len(self.posteriors) + 1)
        for place, label in enumerate(self.classes):
            ax.plot(samples, self.posteriors[:, place], marker="o", label=in_legend(from_data(label)))
        ax.axhline(self.confidence, color="0.5", linestyle="--", linewidth=1, label=f"decided at {self.confidence:g}")
        ax.set(xlabel="samples", ylabel="posterior", ylim=(-0.02, 1.02))
        ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        beside: dict[str, Any] = (
            {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "fontsize": "x-small"} if len(self.classes) > 8 else {}
        )
        ax.legend(title="class", **beside)
        self.ax_, self.figure_ = ax, ax.figure
        return self
