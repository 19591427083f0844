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


def sized_axes(ax: "Axes | None", width: float, height: float) -> Any:
    """The given axes, or new ones of this size in inches: pictures that name many things need room for the names."""
    plt = _pyplot()
    return plt.subplots(figsize=(min(width, 40.0), min(height, 40.0)), layout="constrained")[1] if ax is None else ax


def short(name: Any, most: int = 28) -> str:
    """A name that leaves room for the picture; long ones end in an ellipsis."""
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def from_data(name: Any, most: int = 28) -> str:
    """A short name of a column, class or task as it stands: dollars in it begin no formula."""
    return verbatim(short(name, most))


def verbatim(text: str) -> str:
    """A text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")


def in_legend(text: str) -> str:
    """A text that a legend lists: matplotlib leaves out what begins with an underscore."""
    return f" {text}" if text.startswith("_") else text


def named_places(sizes: Any, most: int) -> list[int]:
    """Places along an axis that get a name: all where there are few, else the largest that leave room for each other."""
    count = len(sizes)
    if count <= most:
        return list(range(count))
    room = count / most
    chosen: list[int] = []
    for place in sorted(range(count), key=lambda i: -sizes[i]):
        if sizes[place] > 0 and all(abs(place - other) >= room for other in chosen):
            chosen.append(place)
    return sorted(chosen)
