"""What the native part is asked with; it reads these tuples by the names of their fields."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from ._typing import Floats, Progress, Table, Targets

__all__ = ["Data", "Limits", "Tasks"]


class Data(NamedTuple):
    """One table to learn from."""

    x: Table
    #: Numbers, class codes where there are names, or a table of truth values.
    y: NDArray[Any] | None = None
    #: Names of classes or labels.
    names: list[str] | None = None
    weights: Floats | None = None
    #: Codes of the groups that rows belong to.
    groups: NDArray[Any] | None = None
    #: Names of the features.
    features: list[str] | None = None


class Tasks(NamedTuple):
    """Tables and tasks of multi-task selection."""

    tables: list[Table]
    targets: Targets
    #: What the tasks stand for, as JSON.
    outputs: str
    features: list[str] | None = None
    #: What rows count, one array per table.
    weights: list[Floats] | None = None


class Limits(NamedTuple):
    """What a call may take, and who hears of progress."""

    threads: int
    #: Seconds.
    time: float | None = None
    #: Bytes.
    memory: int | None = None
    #: Where kernel machines are fitted.
    device: str = "auto"
    progress: Progress | None = None
