"""Pictures of feature induction: the error over the number of features, and the rules."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._docs import document
from .._limits import read_count
from .._typing import TableLike
from ._axes import axes, from_data, in_legend, sized_axes, verbatim

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..methods.feature_induction import FeatureInductionClassifier


@document
class InductionDisplay:
    """Error over the number of induced features, the linear machine's error beside it.

    Parameters
    ----------
    curves : dict of str to ndarray
        Errors with 0, 1, 2, ... features.
    linear_error : float
        Error of the linear machine on the rows of the last curve.
    chosen : int or None
        The number of features that the model has.

    Examples
    --------
    >>> from boulevard import FeatureInductionClassifier
    >>> from boulevard.datasets import make_checkerboard
    >>> from boulevard.plot import InductionDisplay
    >>> X, y = make_checkerboard(200, cells=2)
    >>> clf = FeatureInductionClassifier(n_induced=5, max_depth=3).fit(X, y)
    >>> display = InductionDisplay.from_estimator(clf, X, y)  # doctest: +SKIP
    """

    def __init__(self, *, curves: dict[str, NDArray[Any]], linear_error: float, chosen: int | None = None) -> None:
        self.curves = curves
        self.linear_error = linear_error
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls,
        estimator: "FeatureInductionClassifier",
        X: TableLike | None = None,
        y: ArrayLike | None = None,
        *,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the training error, the hold-out's curves where there was one, and the error on (X, y).

        Parameters
        ----------
        estimator : FeatureInductionClassifier
            Fitted, two classes for the training and hold-out curves.
        X, y : array-like, default=None
            Rows to test on.
        {ax}

        Returns
        -------
        display : InductionDisplay
            The picture with its data.
        """
        curves = {}
        errors = estimator.staged_errors_
        if isinstance(errors, np.ndarray):
            curves["training"] = errors
        for choice in estimator.choices_[:1]:
            for curve in choice["curves"] if choice else []:
                depth = "no limit" if curve["depth"] is None else f"depth {curve['depth']}"
                curves[f"held out, {depth}"] = np.array(curve["errors"])
        if X is not None:
            y = np.asarray(y)
            curves["test"] = np.array([np.mean(labels != y) for labels in estimator.staged_predict(X)])
        if not curves:
            raise ValueError("with more than two classes give X and y: the curves of the classes are not one curve")
        last = list(curves.values())[-1]
        display = cls(curves=curves, linear_error=float(last[0]), chosen=int(np.max(estimator.n_induced_)))
        return display.plot(ax=ax, **kwargs)

    def plot(self, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs
            For the lines.

        Returns
        -------
        display : InductionDisplay
            With ``ax_`` and ``lines_``.
        """
        ax = axes(ax)
        self.lines_: list[Any] = []
        for name, errors in self.curves.items():
            self.lines_ += ax.plot(np.arange(len(errors)), 100 * np.asarray(errors), label=name, **kwargs)
        ax.axhline(100 * self.linear_error, color="0.5", linestyle="--", label=f"linear, {100 * self.linear_error:.1f} %")
        if self.chosen is not None:
            ax.axvline(self.chosen, color="0.8", linewidth=1, zorder=0)
        ax.set_xlabel("induced features")
        ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        ax.set_ylabel("error in %")
        ax.set_ylim(bottom=0)
        ax.legend(title="error")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@document
class RulesDisplay:
    """The weightiest rules as bars: what each adds to the decision where it holds.

    Parameters
    ----------
    rules : list of dict
        As in ``rules_``, the weightiest first.
    classes : sequence, default=None
        Names of the classes, where several share the rules: then each rule has a bar per class.

    Examples
    --------
    >>> from boulevard import FeatureInductionClassifier
    >>> from boulevard.datasets import make_checkerboard
    >>> from boulevard.plot import RulesDisplay
    >>> X, y = make_checkerboard(200, cells=2)
    >>> clf = FeatureInductionClassifier(n_induced=5, max_depth=3).fit(X, y)
    >>> display = RulesDisplay.from_estimator(clf)  # doctest: +SKIP
    """

    def __init__(self, *, rules: list[dict[str, Any]], classes: Sequence[Any] | None = None) -> None:
        self.rules = rules
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator: "FeatureInductionClassifier", *, max_rules: int = 10, ax: "Axes | None" = None, **kwargs: Any
    ) -> Self:
        """Plot the weightiest rules of a fitted estimator.

        Parameters
        ----------
        estimator : FeatureInductionClassifier or FeatureInducer
            Fitted.
        max_rules : int, default=10
            Rules to show.
        {ax}

        Returns
        -------
        display : RulesDisplay
            The picture with its data.
        """
        rules = estimator.rules_[: read_count("max_rules", max_rules)]
        return cls(rules=rules, classes=getattr(estimator, "classes_", None)).plot(ax=ax, **kwargs)

    def plot(self, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs
            For the bars.

        Returns
        -------
        display : RulesDisplay
            With ``ax_`` and ``bars_``.
        """
        # Rules of whole trees belong to one class each, which is said with them.
        shared = self.classes is not None and any("adds_by_class" in rule for rule in self.rules)
        several = not shared and len({rule["class"] for rule in self.rules}) > 1
        lines = [
            _lines(f"[{from_data(rule['class'])}] {verbatim(rule['text'])}" if several else verbatim(rule["text"])) for rule in self.rules
        ]
        names = [in_legend(from_data(name)) for name in self.classes] if shared and self.classes is not None else []
        heights = [max(0.16 * len(text), 0.09 * len(names)) + 0.14 for text in lines]
        ax = sized_axes(ax, 9, max(3.0, 1.2 + sum(heights), 0.8 + 0.22 * len(names)))
        places = np.arange(len(self.rules))[::-1]
        if names:
            # One bar per class below each other, in the order of the legend.
            thick = 0.8 / len(names)
            table = np.array([rule["adds_by_class"] for rule in self.rules])
            self.bars_: Any = [
                ax.barh(places + 0.4 - (k + 0.5) * thick, table[:, k], height=thick, label=name, **kwargs) for k, name in enumerate(names)
            ]
            ax.legend(title="class", fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            adds = [rule["adds"] for rule in self.rules]
            self.bars_ = ax.barh(places, adds, color=["C0" if value > 0 else "C1" for value in adds], **kwargs)
        # Long texts go over several lines: one line would leave no room for the bars.
        ax.set_yticks(places, ["\n".join(text) for text in lines], fontsize="small")
        ax.axvline(0, color="0.3", linewidth=0.8)
        own = {rule["class"] for rule in self.rules}
        # The sign says for or against one class: which one it is.
        of = f" for {from_data(own.pop())}\nwhere" if not shared and len(own) == 1 else " where"
        ax.set(xlabel=f"added to the decision{of} the rule holds", ylabel="rule")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _lines(text: str, most: int = 40) -> list[str]:
    """A rule's text in lines of few characters; words stay whole, and conditions where they fit a line."""
    *begin, last = text.split(" AND ")
    lines: list[str] = []
    for condition in [*(f"{condition} AND" for condition in begin), last]:
        if lines and len(lines[-1]) + 1 + len(condition) <= most:
            lines[-1] += f" {condition}"
        else:
            lines += textwrap.wrap(condition, most, break_long_words=False, break_on_hyphens=False)
    return lines


@document
class RulesPathDisplay:
    """The held-out error against the number of rules, with what was chosen and what whole trees reach.

    Parameters
    ----------
    path : Bunch
        As from ``rules_path()``.

    Examples
    --------
    >>> from boulevard import FeatureInductionClassifier
    >>> from boulevard.datasets import make_checkerboard
    >>> from boulevard.plot import RulesPathDisplay
    >>> X, y = make_checkerboard(200, cells=2)
    >>> clf = FeatureInductionClassifier(max_induced=5).fit(X, y)
    >>> display = RulesPathDisplay.from_estimator(clf)  # doctest: +SKIP
    """

    def __init__(self, *, path: Any) -> None:
        self.path = path

    @classmethod
    def from_estimator(cls, estimator: "FeatureInductionClassifier", *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Plot the path of a fitted estimator.

        Parameters
        ----------
        estimator : FeatureInductionClassifier or FeatureInducer
            Fitted with a limit of rules and enough rows to hold some out.
        {ax}

        Returns
        -------
        display : RulesPathDisplay
            The picture with its data.
        """
        path = estimator.rules_path()
        if len(path.error) == 0:
            raise ValueError(f"no rows were held out, so there is no path: {path.reason}")
        return cls(path=path).plot(ax=ax, **kwargs)

    def plot(self, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs
            For the line.

        Returns
        -------
        display : RulesPathDisplay
            With ``ax_`` and ``line_``.
        """
        ax, path = axes(ax), self.path
        self.line_: Any
        (self.line_,) = ax.plot(path.n_rules, 100 * path.error, marker="o", markersize=3, label="held out", **kwargs)
        low, high = path.error - path.uncertainty, path.error + path.uncertainty
        ax.fill_between(path.n_rules, 100 * low, 100 * high, alpha=0.2, linewidth=0, label="standard error of the difference")
        if path.unlimited_error is not None:
            ax.axhline(100 * path.unlimited_error, color="0.5", linestyle="--", label=f"whole trees, {100 * path.unlimited_error:.1f} %")
        ax.axvline(path.chosen, color="0.8", linewidth=1, zorder=0, label=f"chosen: {path.chosen}")
        ax.set(xlabel="rules", ylabel="error in %")
        ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        ax.set_ylim(bottom=0)
        ax.legend(fontsize="small", title="error")
        self.ax_, self.figure_ = ax, ax.figure
        return self
