"""Pictures of multi-task selection: paths over rho, weights, errors, tasks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from .._typing import TableLike
from ._axes import axes, from_data, in_legend, named_places, sized_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..methods.multitask_selection import MultiTaskSelectionClassifier, MultiTaskSelectionRegressor


def _task_names(estimator: "MultiTaskSelectionClassifier | MultiTaskSelectionRegressor") -> list[str]:
    """Names of the tasks, one per row of weights."""
    outputs = estimator._outputs
    names = outputs.get("classes") or outputs.get("labels") or (outputs.get("tasks") or {}).get("names") or []
    count = len(estimator.intercept_)
    if count == 1 and len(names) == 2:
        # Two classes are one task, about the second.
        return [str(names[1])]
    return [str(name) for name in names] if len(names) == count else [f"task {k}" for k in range(count)]


def _name_features(ax: "Axes", sizes: NDArray[Any], names: Sequence[str], most: int) -> None:
    """Names along the axis of features: of all, or of the largest that leave room for each other."""
    places = named_places(sizes, most)
    ax.set_xticks(places, [from_data(names[place]) for place in places], rotation=90, fontsize="x-small")


class SelectionPathDisplay:
    """Switches (or sizes of the weights) against rho: which features enter when.

    Parameters
    ----------
    ln_rho : ndarray of shape (n_rho,)
        The path.
    values : ndarray of shape (n_rho, n_groups)
        What is drawn.
    names : list of str
        One per group.
    what : str
        Name of the values.
    """

    def __init__(self, *, ln_rho: NDArray[Any], values: NDArray[Any], names: Sequence[str], what: str = "switch") -> None:
        self.ln_rho = ln_rho
        self.values = values
        self.names = names
        self.what = what

    @classmethod
    def from_path(cls, path: Bunch, *, weights: bool = False, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw what :func:`boulevard.selection_path` returned; ``weights`` for sizes of the weights instead of switches."""
        if weights:
            if path.coef is None:
                raise ValueError("a path over kernels has no weights of features: draw its switches")
            values, what = np.linalg.norm(path.coef, axis=1), "size of the weights"
        else:
            values, what = path.switches, "switch"
            values = values.max(axis=1) if values.ndim == 3 else values
        return cls(ln_rho=path.ln_rho, values=values, names=path.group_names, what=what).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, labelled: int = 8) -> Self:
        """Draw; the ``labelled`` largest groups get a name. Returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        order = np.argsort(self.ln_rho)
        x = self.ln_rho[order] / np.log(10)
        largest = set(np.argsort(self._prominence())[::-1][:labelled].tolist())
        self.lines_: list[Any] = []
        for group in range(self.values.shape[1]):
            style = (
                {"label": in_legend(from_data(self.names[group]))} if group in largest else {"color": "0.8", "linewidth": 0.7, "zorder": 1}
            )
            self.lines_ += ax.plot(x, self.values[order, group], **style)
        ax.set(xlabel="log10 rho", ylabel=self.what)
        ax.legend(fontsize="small", title="largest")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _prominence(self) -> NDArray[Any]:
        """How far each group stands out. At rho = 1 every switch is 1: a switch counts by what it has beyond its prior, a weight by its
        size where something is selected."""
        rho = np.exp(np.asarray(self.ln_rho))
        if self.what == "switch":
            return (np.asarray(self.values) - rho[:, None]).max(axis=0)
        selecting = rho < 1
        values: NDArray[Any] = np.asarray(self.values)[selecting if selecting.any() else slice(None)]
        return values.max(axis=0)


class SelectionWeightDisplay:
    """The weights of one task as bars, as in Fig. 2 of the paper.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
        The weights.
    names : list of str
        One per feature.
    task : str, default=None
        Whose weights they are.
    """

    def __init__(self, *, weights: NDArray[Any], names: Sequence[str], task: str | None = None) -> None:
        self.weights = weights
        self.names = names
        self.task = task

    @classmethod
    def from_estimator(
        cls,
        estimator: "MultiTaskSelectionClassifier | MultiTaskSelectionRegressor",
        *,
        task: int = 0,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted estimator's weights."""
        tasks = _task_names(estimator)
        name = tasks[task] if len(tasks) > 1 else None
        return cls(weights=estimator.coef_[task], names=estimator.group_names_, task=name).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, color: str = "C0", most_names: int = 40) -> Self:
        """Draw; the largest weights get their names, ``most_names`` at most. Returns the display with ``ax_`` and ``figure_``."""
        ax = sized_axes(ax, 8.0, 4.8)
        self.bars_ = ax.vlines(np.arange(len(self.weights)), 0, self.weights, colors=color, linewidth=1)
        ax.axhline(0, color="k", linewidth=0.5)
        _name_features(ax, np.abs(self.weights), self.names, most_names)
        ax.set(xlabel="feature", ylabel="weight")
        if self.task is not None:
            ax.set_title(f"task {from_data(self.task)}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def carrying(self, share: float = 0.99) -> int:
        """How many features carry ``share`` of the squared weight."""
        squares = np.sort(self.weights**2)[::-1]
        return int(np.searchsorted(np.cumsum(squares), share * squares.sum()) + 1) if squares.sum() > 0 else 0


class SelectionErrorDisplay:
    """Error against rho, with shared and with own switches, as in Fig. 4 of the paper.

    Parameters
    ----------
    ln_rho : ndarray of shape (n_rho,)
        The path.
    shared, own : ndarray of shape (n_rho,)
        Errors with switches that all tasks share, and with each task's own.
    what : str
        What the errors are.
    """

    def __init__(self, *, ln_rho: NDArray[Any], shared: NDArray[Any], own: NDArray[Any], what: str = "share of wrong decisions") -> None:
        self.ln_rho = ln_rho
        self.shared = shared
        self.own = own
        self.what = what

    @classmethod
    def from_data(
        cls,
        estimator: "MultiTaskSelectionClassifier | MultiTaskSelectionRegressor",
        X: TableLike,
        y: ArrayLike,
        X_test: TableLike,
        y_test: ArrayLike,
        *,
        rhos: Sequence[float] = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6),
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Fit two paths on ``X, y`` and judge them on ``X_test, y_test``.

        Errors are ``1 - score``.
        """
        from sklearn.base import clone

        from ..methods._multitask_selection_search import selection_path

        errors = []
        for share in (True, False):
            path = selection_path(clone(estimator).set_params(share=share), X, y, rhos=list(rhos))
            errors.append([1 - e.score(X_test, y_test) for e in path.estimators])
        display = cls(ln_rho=np.log(rhos), shared=np.array(errors[0]), own=np.array(errors[1]), what="1 - score")
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        order = np.argsort(self.ln_rho)
        x = self.ln_rho[order] / np.log(10)
        ax.plot(x, self.own[order], "o--", label="own switches")
        ax.plot(x, self.shared[order], "s-", label="shared switches")
        ax.set(xlabel="log10 rho", ylabel=self.what)
        ax.legend(title="tasks have")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class TaskFeatureDisplay:
    """Weights of all tasks and features as a heat map.

    Parameters
    ----------
    weights : ndarray of shape (n_tasks, n_features)
        The weights.
    tasks, features : list of str
        Names.
    """

    def __init__(self, *, weights: NDArray[Any], tasks: Sequence[str], features: Sequence[str]) -> None:
        self.weights = weights
        self.tasks = tasks
        self.features = features

    @classmethod
    def from_estimator(
        cls, estimator: "MultiTaskSelectionClassifier | MultiTaskSelectionRegressor", *, ax: "Axes | None" = None, **kwargs: Any
    ) -> Self:
        """Draw a fitted estimator's weights."""
        names = _task_names(estimator)
        return cls(weights=estimator.coef_, tasks=names, features=estimator.group_names_).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, cmap: str = "RdBu_r", most_names: int = 40) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = sized_axes(ax, 8.0, max(4.8, 2.0 + 0.22 * len(self.tasks)))
        limit = np.abs(self.weights).max() or 1.0
        self.image_ = ax.imshow(self.weights, aspect="auto", cmap=cmap, vmin=-limit, vmax=limit)
        ax.set_yticks(range(len(self.tasks)), [from_data(task) for task in self.tasks])
        _name_features(ax, np.abs(self.weights).max(axis=0), self.features, most_names)
        ax.set(xlabel="feature", ylabel="task")
        ax.figure.colorbar(self.image_, ax=ax, label="weight")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class TransferDisplay:
    """Errors of every task alone and together, side by side.

    Parameters
    ----------
    tasks : list of str
        Names.
    alone, together : ndarray of shape (n_tasks,)
        The errors.
    """

    def __init__(self, *, tasks: Sequence[str], alone: NDArray[Any], together: NDArray[Any]) -> None:
        self.tasks = tasks
        self.alone = alone
        self.together = together

    @classmethod
    def from_report(cls, report: Bunch, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw what :func:`boulevard.transfer_report` returned."""
        return cls(tasks=report.tasks, alone=report.alone, together=report.together).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = sized_axes(ax, max(6.4, 1.5 + 0.3 * len(self.tasks)), 4.8)
        place = np.arange(len(self.tasks))
        ax.bar(place - 0.2, self.alone, 0.4, label="alone")
        ax.bar(place + 0.2, self.together, 0.4, label="together")
        names = [from_data(task) for task in self.tasks]
        level = sum(len(name) + 2 for name in names) <= 60
        ax.set_xticks(place, names, rotation=0 if level else 90)
        ax.set(xlabel="task", ylabel="cross-validated error")
        ax.legend(title="fitted")
        self.ax_, self.figure_ = ax, ax.figure
        return self
