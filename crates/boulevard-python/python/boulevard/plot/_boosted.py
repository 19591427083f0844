"""Pictures of boosted ensembles and of several labels."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._docs import document
from .._typing import TableLike
from ._axes import from_data, in_legend, sized_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..methods.boosted import BoostedSVC


#: Lines that a legend names.
_MOST_LINES = 20


def _dense(Y: Any) -> NDArray[Any]:
    return np.asarray(Y.toarray() if sp.issparse(Y) else Y)


@document
class LabelScoresDisplay:
    """F1 (or another score) of every label for one or more predictions, the rarest label first.

    Parameters
    ----------
    names : list of str
        The labels, rarest first.
    counts : ndarray
        Rows that have each label.
    scores : dict of str to ndarray
        One score per label for every prediction.
    measure : str
        What the scores are.
    """

    def __init__(self, *, names: Sequence[str], counts: NDArray[Any], scores: dict[str, NDArray[Any]], measure: str = "F1") -> None:
        self.names = names
        self.counts = counts
        self.scores = scores
        self.measure = measure

    @classmethod
    def from_predictions(
        cls,
        Y: TableLike,
        predictions: dict[str, Any],
        *,
        names: Sequence[str] | None = None,
        score: Callable[..., float] | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Score predictions and plot.

        Parameters
        ----------
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            The truth.
        predictions : dict of str to {array-like, sparse matrix}
            Predictions by name, for instance before and after.
        names : list of str, default=None
            Names of the labels; None: those of the columns of ``Y``, where it is a data frame, else numbers.
        score : callable, default=None
            Called with the truth and the prediction of one label; None is F1.
        {ax}

        Returns
        -------
        display : LabelScoresDisplay
            The picture with its data.
        """
        from sklearn.metrics import f1_score

        truth = _dense(Y)
        measure = "F1" if score is None else getattr(score, "__name__", "score")
        judge = score if score is not None else lambda y, p: f1_score(y, p, zero_division=0)
        order = np.argsort(truth.sum(axis=0), kind="stable")
        columns = getattr(Y, "columns", range(truth.shape[1])) if names is None else names
        names = [str(name) for name in columns]
        tables = {name: _dense(said) for name, said in predictions.items()}
        scores = {name: np.array([judge(truth[:, j], said[:, j]) for j in order]) for name, said in tables.items()}
        display = cls(names=[names[j] for j in order], counts=truth.sum(axis=0)[order], scores=scores, measure=measure)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, colors: Sequence[str] | None = None) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        names = [from_data(name) for name in self.names]
        longest = max((len(name) for name in names), default=1)
        # Names side by side as long as they fit, else upright.
        level = len(names) * (longest + 2) <= 60
        ax = sized_axes(ax, 6.4 if level else max(6.4, 1.5 + 0.3 * len(names)), 4.8 if level else 4.8 + 0.07 * longest)
        places, width = np.arange(len(self.names)), 0.8 / max(len(self.scores), 1)
        for i, (name, values) in enumerate(self.scores.items()):
            color = None if colors is None else colors[i]
            ax.bar(
                places + (i - (len(self.scores) - 1) / 2) * width,
                values,
                width,
                label=in_legend(f"{name} ({values.mean():.3f})"),
                color=color,
            )
        mark = "{}\n{}" if level else "{} ({})"
        ticks = [mark.format(name, int(count)) for name, count in zip(names, self.counts, strict=True)]
        ax.set_xticks(places, ticks, rotation=0 if level else 90)
        ax.set(xlabel="label and its rows, rarest first", ylabel=self.measure, ylim=(0, 1))
        ax.legend(title=f"prediction (mean {self.measure})")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@document
class BoostingDisplay:
    """Errors, or the weight of the heaviest rows, over the rounds of every label.

    Parameters
    ----------
    series : dict of str to ndarray
        One line per label.
    what : {"errors", "weights"}
        What the lines are.
    of : str, default="label"
        What has a line each, for the legend.
    """

    def __init__(self, *, series: dict[str, NDArray[Any]], what: str, of: str = "label") -> None:
        self.series = series
        self.what = what
        self.of = of

    @classmethod
    def from_estimator(
        cls, estimator: "BoostedSVC", *, what: str = "errors", share: float = 0.1, ax: "Axes | None" = None, **kwargs: Any
    ) -> Self:
        """Look at a fitted :class:`boulevard.BoostedSVC`, and plot.

        Parameters
        ----------
        estimator : BoostedSVC
            A fitted one.
        what : {"errors", "weights"}, default="errors"
            Errors of the rounds, or the weight on the heaviest rows before the first and after every round.
        share : float, default=0.1
            Share of the rows that counts as the heaviest.
        {ax}

        Returns
        -------
        display : BoostingDisplay
            The picture with its data.
        """
        names = getattr(estimator, "label_names_", None) or [str(name) for name in estimator.classes_]
        names = names[-len(estimator.alphas_) :]
        if what == "errors":
            series = dict(zip(names, estimator.errors_, strict=True))
        elif what == "weights":
            tables = zip(names, estimator.weights_, strict=True)
            series = {name: np.sort(W, axis=1)[:, ::-1][:, : max(1, round(share * W.shape[1]))].sum(axis=1) for name, W in tables}
        else:
            raise ValueError(f"what must be 'errors' or 'weights', got {what!r}")
        of = "label" if hasattr(estimator, "label_names_") else "class"
        return cls(series=series, what=what, of=of).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        lines = min(len(self.series), _MOST_LINES) + 1
        ax = sized_axes(ax, 6.4 if lines <= 10 else 9.6, 4.8)
        first = 1 if self.what == "errors" else 0
        for name, values in self.series.items():
            ax.plot(np.arange(first, first + len(values)), values, marker=".", label=in_legend(from_data(name)))
        ax.set(xlabel="round", ylabel="weight of the missed rows" if self.what == "errors" else "weight of the heaviest rows")
        ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        handles, names = ax.get_legend_handles_labels()
        # A legend of all of very many lines would hide them.
        more = f" (first {_MOST_LINES} of {len(names)})" if len(names) > _MOST_LINES else ""
        handles, names = handles[:_MOST_LINES], names[:_MOST_LINES]
        if self.what == "errors":
            handles.append(ax.axhline(0.5, color="0.6", linestyle="--", linewidth=1))
            names.append("chance")
        # Many names stand beside the picture, which the layout then makes room for.
        beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if lines > 10 else {}
        ax.legend(handles, names, title=self.of + more, fontsize="small", **beside)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@document
class HardRowsDisplay:
    """The training rows that each label struggles with: how much weight they gained.

    Parameters
    ----------
    rows : ndarray
        Row numbers.
    names : list of str
        The labels.
    gains : ndarray of shape (n_labels, n_rows)
        Weight after the last round as a multiple of the weight at the start.
    """

    def __init__(self, *, rows: NDArray[Any], names: Sequence[str], gains: NDArray[Any]) -> None:
        self.rows = rows
        self.names = names
        self.gains = gains

    @classmethod
    def from_estimator(cls, estimator: "BoostedSVC", *, n_rows: int = 20, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Look at a fitted :class:`boulevard.BoostedSVC`, and plot.

        Parameters
        ----------
        estimator : BoostedSVC
            A fitted one.
        n_rows : int, default=20
            Rows to show: those that gained most for any label.
        {ax}

        Returns
        -------
        display : HardRowsDisplay
            The picture with its data.
        """
        names = getattr(estimator, "label_names_", None) or [str(name) for name in estimator.classes_]
        names = names[-len(estimator.alphas_) :]
        kept = [(name, W) for name, W in zip(names, estimator.weights_, strict=True) if W.shape[1]]
        if not kept:
            raise ValueError("no label has rounds: there are no weights to look at")
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.nan_to_num(np.vstack([W[-1] / W[0] for _, W in kept]))
        rows = np.argsort(-gains.max(axis=0), kind="stable")[:n_rows]
        return cls(rows=rows, names=[name for name, _ in kept], gains=gains[:, rows]).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, cmap: str = "magma_r") -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = sized_axes(ax, max(6.4, 3.0 + 0.2 * len(self.rows)), max(4.8, 1.8 + 0.22 * len(self.names)))
        # Without boosting all gains are 1 up to rounding, which is nothing to color.
        self.image_ = ax.imshow(self.gains, aspect="auto", cmap=cmap, vmin=0.0, vmax=max(2.0, float(self.gains.max(initial=0.0))))
        ax.set_xticks(range(len(self.rows)), [str(row) for row in self.rows], rotation=90)
        ax.set_yticks(range(len(self.names)), [from_data(name) for name in self.names])
        ax.set(xlabel="training row", ylabel="label")
        ax.figure.colorbar(self.image_, ax=ax, label="weight gained (times)")
        self.ax_, self.figure_ = ax, ax.figure
        return self
