"""Where a picture is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("boulevard.plot needs matplotlib: pip install matplotlib") from error
    return plt


def axes(ax: "Axes | None") -> Any:
    """The given axes, or new ones; says how to get matplotlib where it is missing."""
    plt = _pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def two_axes(ax: "Sequence[Axes] | None") -> Any:
    """The given two axes, or new ones side by side."""
    plt = _pyplot()
    if ax is None:
        return plt.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
    if len(ax) != 2:
        raise ValueError(f"ax must be two axes, got {len(ax)}")
    return ax
