"""Pictures of a kernel machine and of a search over its parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._docs import document
from .._typing import TableLike
from ._axes import axes, from_data, in_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..model_selection import TuneResult


#: Different labels up to which a legend names their colors: more are numbers, or too many.
_MOST_LABELS = 10


@document
class DecisionDisplay:
    """Decision values of a machine over a plane, with its margin and support vectors.

    Parameters
    ----------
    xx, yy : ndarray of shape (resolution, resolution)
        The grid.
    decision : ndarray of shape (resolution, resolution)
        Decision values (two classes, regression, one class) or class codes (more classes).
    X, y : ndarray
        The samples and their labels.
    support : ndarray
        Rows of the support vectors.

    Examples
    --------
    >>> from boulevard import SVC
    >>> from boulevard.datasets import make_banana
    >>> from boulevard.plot import DecisionDisplay
    >>> X, y = make_banana(100)
    >>> display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        xx: NDArray[Any],
        yy: NDArray[Any],
        decision: NDArray[Any],
        X: NDArray[Any] | None = None,
        y: NDArray[Any] | None = None,
        support: NDArray[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.xx = xx
        self.yy = yy
        self.decision = decision
        self.X = X
        self.y = y
        self.support = support
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: TableLike,
        y: ArrayLike | None = None,
        *,
        resolution: int = 120,
        margin: float = 0.2,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a fitted estimator over the plane of its two features, and plot.

        Parameters
        ----------
        estimator : fitted estimator
            With two features.
        X : array-like of shape (n_samples, 2)
            The training samples (their support vectors are marked).
        y : array-like of shape (n_samples,), default=None
            Labels, for the colors.
        resolution : int, default=120
            Points along each side.
        margin : float, default=0.2
            Share of the range added on each side.
        {ax}

        Returns
        -------
        display : DecisionDisplay
            The picture with its data.
        """
        names = getattr(X, "columns", None)
        names = None if names is None else [str(name) for name in names]
        points = np.asarray(X, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"X must have two columns to be drawn, got shape {points.shape}")
        low, high = points.min(axis=0), points.max(axis=0)
        pad = margin * np.where(high > low, high - low, 1.0)
        xx, yy = np.meshgrid(*(np.linspace(low[i] - pad[i], high[i] + pad[i], resolution) for i in range(2)))
        grid: Any = np.column_stack([xx.ravel(), yy.ravel()])
        if names is not None:
            frame: Any = type(X)
            grid = frame(grid, columns=names)
        judge = getattr(estimator, "decision_function", estimator.predict)
        values = np.asarray(judge(grid))
        if values.ndim == 2:
            values = values.argmax(axis=1)
        display = cls(
            xx=xx,
            yy=yy,
            decision=values.reshape(xx.shape),
            X=points,
            y=None if y is None else np.asarray(y),
            support=getattr(estimator, "support_", None),
            names=names,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, cmap: str = "RdBu_r", levels: Sequence[float] = (-1.0, 0.0, 1.0)) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        self.surface_ = ax.contourf(self.xx, self.yy, self.decision, levels=20, cmap=cmap, alpha=0.6)
        span = (self.decision.min(), self.decision.max())
        shown = [level for level in levels if span[0] < level < span[1]]
        if shown:
            styles = ["-" if level == 0 else "--" for level in shown]
            ax.contour(self.xx, self.yy, self.decision, levels=shown, linestyles=styles, colors="k", linewidths=1)
        if self.X is not None:
            found, codes = (None, None) if self.y is None else np.unique(self.y, return_inverse=True)
            points = ax.scatter(
                self.X[:, 0], self.X[:, 1], c=codes, cmap=None if codes is None else cmap, s=15, edgecolors="k", linewidths=0.3
            )
            if found is not None and 1 < len(found) <= _MOST_LABELS:
                colors = points.to_rgba(np.arange(len(found), dtype=float))
                style: dict[str, Any] = {"marker": "o", "linestyle": "none", "markeredgecolor": "k", "markersize": 5}
                keys = [ax.plot([], [], color=color, **style)[0] for color in colors]
                ax.legend(keys, [in_legend(from_data(label)) for label in found], title="label", fontsize="small")
            if self.support is not None and len(self.support) and self.support.max() < len(self.X):
                marked = self.X[self.support]
                ax.scatter(marked[:, 0], marked[:, 1], s=45, facecolors="none", edgecolors="k", linewidths=0.6)
        names = self.names or ["feature 0", "feature 1"]
        ax.set(xlabel=from_data(names[0], 60), ylabel=from_data(names[1], 45))
        self.ax_, self.figure_ = ax, ax.figure
        return self


@document
class TuneDisplay:
    """The scores of a search over C and gamma as a heat map.

    Parameters
    ----------
    C, gamma : ndarray
        The grid's values.
    scores : ndarray of shape (len(gamma), len(C))
        Mean scores; NaN where a point is missing.
    scoring : str
        What they measure.
    best : tuple of int
        Row and column of the chosen point.
    """

    def __init__(self, *, C: NDArray[Any], gamma: NDArray[Any], scores: NDArray[Any], scoring: str, best: tuple[int, ...]) -> None:
        self.C = C
        self.gamma = gamma
        self.scores = scores
        self.scoring = scoring
        self.best = best

    @classmethod
    def from_result(cls, result: "TuneResult", *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw what :func:`boulevard.model_selection.tune` found (the best epsilon's plane, where there are several)."""
        table = result.cv_results_
        gammas = np.nan_to_num(table["param_gamma"], nan=0.0)
        C, gamma = np.unique(table["param_C"]), np.unique(gammas)
        scores = np.full((len(gamma), len(C)), np.nan)
        pick = np.fmax if result.larger_is_better_ else np.fmin
        for value, g, score in zip(table["param_C"], gammas, table["mean_test_score"], strict=True):
            place = np.searchsorted(gamma, g), np.searchsorted(C, value)
            scores[place] = pick(scores[place], score)
        chosen = result.best_index_
        best = int(np.searchsorted(gamma, gammas[chosen])), int(np.searchsorted(C, table["param_C"][chosen]))
        return cls(C=C, gamma=gamma, scores=scores, scoring=result.scoring_, best=best).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, cmap: str = "viridis") -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        self.image_ = ax.imshow(self.scores, origin="lower", aspect="auto", cmap=cmap)
        ax.set_xticks(range(len(self.C)), [f"{value:.3g}" for value in self.C])
        ax.set_yticks(range(len(self.gamma)), [f"{value:.3g}" for value in self.gamma])
        ax.set(xlabel="C", ylabel="gamma")
        ax.plot(self.best[1], self.best[0], marker="*", color="white", markeredgecolor="k", markersize=14)
        ax.figure.colorbar(self.image_, ax=ax, label=self.scoring)
        self.ax_, self.figure_ = ax, ax.figure
        return self
