"""The two pictures of a front: the front itself, and training and hold-out error along it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ._axes import in_legend, short, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..methods.pareto import ParetoSVC

_MARKS = {"lowest": ("lowest estimated error", "o"), "knee": ("knee", "D"), "one_se": ("widest within one s.e.", "s")}


class FrontDisplay:
    """Fronts and the errors along them.

    The left picture shows the sum of alphas against minus the quadratic term; up and to the right is better. The right picture shows
    the points sorted by measured training error, largest first, as the paper does: where training error goes on falling while hold-out
    error does not, the two part.

    Parameters
    ----------
    fronts : dict of str to ndarray
        Structured arrays as ``ParetoSVC.front_``, by name.
    orders : dict of str to ndarray
        The order of the right picture.
    marks : dict of str to dict
        Rows worth a mark.
    picked : dict of str to int
        The row that predicts.
    estimates : dict of str to ndarray
        What hold-out errors are estimated to be, averaged over hold-outs and neighbors.
    shares : dict of str to float
        Hypervolumes as shares of the last front's.

    Examples
    --------
    >>> from boulevard import ParetoSVC
    >>> from boulevard.datasets import make_banana
    >>> from boulevard.plot import FrontDisplay
    >>> X, y = make_banana(150)
    >>> fits = {f"gamma {g}": ParetoSVC(gamma=g, n_points=20).fit(X, y) for g in (0.3, 3.0)}
    >>> display = FrontDisplay.from_estimators(fits)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        fronts: dict[str, NDArray[Any]],
        orders: dict[str, NDArray[Any]],
        marks: dict[str, dict[str, int | None]],
        picked: dict[str, int],
        estimates: dict[str, NDArray[Any]] | None = None,
        shares: dict[str, float] | None = None,
    ) -> None:
        self.fronts = fronts
        self.orders = orders
        self.marks = marks
        self.picked = picked
        self.estimates = estimates or {}
        self.shares = shares or {}

    @classmethod
    def from_estimator(
        cls, estimator: "ParetoSVC", *, ax: "Sequence[Axes] | None" = None, exact: "ParetoSVC | None" = None, **kwargs: Any
    ) -> Self:
        """Draw one fit, and beside it the exact front on the same rows if that is given.

        Parameters
        ----------
        estimator : ParetoSVC
            A fitted one.
        ax : sequence of two matplotlib axes, default=None
            Where to draw.
        exact : ParetoSVC, default=None
            A fit to compare with.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : FrontDisplay
            The pictures with their data.
        """
        fits: dict[str, ParetoSVC] = {estimator.mode: estimator}
        if exact is not None:
            fits[exact.mode if exact.mode != estimator.mode else f"{exact.mode} (compared)"] = exact
        return cls.from_estimators(fits, ax=ax, share=exact is not None, **kwargs)

    @classmethod
    def from_estimators(
        cls, fits: "dict[str, ParetoSVC]", *, ax: "Sequence[Axes] | None" = None, share: bool = False, **kwargs: Any
    ) -> Self:
        """Draw several fits in one picture, for example of several kernels.

        Parameters
        ----------
        fits : dict of str to ParetoSVC
            Fitted estimators by name. Fronts of different kernels have different scales: compare their errors.
        ax : sequence of two matplotlib axes, default=None
            Where to draw.
        share : bool, default=False
            Whether to give hypervolumes as shares of the last fit's (same rows and kernel).
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : FrontDisplay
            The pictures with their data.
        """
        whole = list(fits.values())[-1].hypervolume_
        display = cls(
            fronts={name: fit.front_ for name, fit in fits.items()},
            orders={name: fit._order for name, fit in fits.items()},
            marks={name: fit.marks_ for name, fit in fits.items()},
            picked={name: fit.picked_ for name, fit in fits.items()},
            estimates={name: fit.holdout_estimate_ for name, fit in fits.items()},
            shares={name: fit.hypervolume_ / whole for name, fit in fits.items()} if share else None,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: "Sequence[Axes] | None" = None, *, marked: str | None = None) -> Self:
        """Draw; returns the display with ``axes_`` and ``figure_``.

        Parameters
        ----------
        ax : sequence of two matplotlib axes, default=None
            Where to draw.
        marked : str, default=None
            The fit whose points are marked; the first if None.
        """
        left, right = two_axes(ax)
        marked = next(iter(self.fronts)) if marked is None else marked
        for number, (name, front) in enumerate(self.fronts.items()):
            color = f"C{number}"
            shown = in_legend(short(name))
            label = f"{shown}: {100 * self.shares[name]:.1f} % of the hypervolume" if name in self.shares else shown
            left.plot(front["sum_alpha"], -front["quadratic"], ".-", color=color, markersize=3, linewidth=0.8, label=label)
            order = self.orders[name]
            position = np.linspace(0, 1, len(order)) if len(self.fronts) > 1 else np.arange(len(order))
            right.plot(position, front["train_error"][order], "-", color=color, label=f"{shown}: training")
            if not np.isnan(front["holdout_error"]).any():
                right.plot(position, front["holdout_error"][order], "--", color=color, label=f"{shown}: hold-out")
                estimate = self.estimates.get(name, front["holdout_error"])
                if not np.array_equal(estimate, front["holdout_error"]):
                    right.plot(position, estimate[order], ":", color=color, label=f"{shown}: hold-out, averaged")
            if name != marked:
                continue
            place = np.argsort(order)
            for key, (text, shape) in _MARKS.items():
                row = self.marks[name][key]
                if row is not None:
                    point = front[row]
                    style = {"marker": shape, "markersize": 8, "markerfacecolor": "none", "color": "k", "linestyle": "none"}
                    left.plot(point["sum_alpha"], -point["quadratic"], label=text, **style)
                    estimate = self.estimates.get(name, front["holdout_error"])[row]
                    if not np.isnan(estimate):
                        right.plot(position[place[row]], estimate, **style)
            parting = self.marks[name]["parting"]
            if parting is not None:
                right.axvline(position[place[parting]], color="0.6", linestyle=":", label="errors part")
        left.set(xlabel="sum of alphas", ylabel="minus the quadratic term", title="front")
        right.set(xlabel="solutions, by falling training error", ylabel="share of wrong rows", title="errors along the front")
        left.legend(title="front", fontsize="small")
        right.legend(title="errors", fontsize="small")
        self.axes_, self.figure_ = (left, right), left.figure
        return self


class FamilyDisplay:
    """The fronts of all widths that a fit compared, and their estimated errors.

    The left picture shows every width's coarse front and the points of the common one; the right one the estimated hold-out error along
    each, with the width that was chosen drawn thick.

    Parameters
    ----------
    family : list of dict
        As ``ParetoSVC.family_``.
    common : ndarray, structured
        As ``ParetoSVC.common_front_``.
    gamma : float
        The width that was chosen.

    Examples
    --------
    >>> from boulevard import ParetoSVC
    >>> from boulevard.datasets import make_banana
    >>> from boulevard.plot import FamilyDisplay
    >>> X, y = make_banana(150)
    >>> display = FamilyDisplay.from_estimator(ParetoSVC().fit(X, y))  # doctest: +SKIP
    """

    def __init__(self, *, family: list[dict[str, Any]], common: NDArray[Any], gamma: float) -> None:
        self.family = family
        self.common = common
        self.gamma = gamma

    @classmethod
    def from_estimator(cls, estimator: "ParetoSVC", *, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw what a fit compared.

        Parameters
        ----------
        estimator : ParetoSVC
            A fitted one that compared several widths.
        ax : sequence of two matplotlib axes, default=None
            Where to draw.

        Returns
        -------
        display : FamilyDisplay
            The pictures with their data.
        """
        if not estimator.family_:
            raise ValueError("this front was computed for one width only: fit it with gamma='auto' or a list of values")
        return cls(family=estimator.family_, common=estimator.common_front_, gamma=estimator.gamma_).plot(ax=ax)

    def plot(self, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw; returns the display with ``axes_`` and ``figure_``."""
        left, right = two_axes(ax)
        for number, own in enumerate(self.family):
            front, color, thick = own["front"], f"C{number}", own["gamma"] == self.gamma
            style = {"color": color, "linewidth": 2.2 if thick else 0.9, "label": f"{own['gamma']:.3g}" + (" (chosen)" if thick else "")}
            left.plot(front["sum_alpha"], -front["quadratic"], ".-", markersize=4, **style)
            known = np.isfinite(front["equivalent_c"])
            right.plot(front["equivalent_c"][known], own["estimates"][known], ".-", markersize=4, **style)
        left.plot(self.common["sum_alpha"], -self.common["quadratic"], "o", color="k", markersize=8, fillstyle="none", label="common front")
        right.set_xscale("log")
        left.set(xlabel="sum of alphas", ylabel="minus the quadratic term", title="fronts of all widths")
        right.set(xlabel="equivalent C", ylabel="estimated share of wrong rows", title="errors along them")
        left.legend(title="gamma", fontsize="small")
        right.legend(title="gamma", fontsize="small")
        self.axes_, self.figure_ = (left, right), left.figure
        return self
