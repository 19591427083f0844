"""Shards of a cluster, whatever the cluster is: workers that own rows, and the driver's way to them.

An engine (Dask, Ray, or threads in tests) says where partitions are, starts workers near them, carries messages and notices who
died. The fit itself is in the native part; it calls :class:`Fleet` and knows nothing of engines.
"""

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from . import _core
from ._base import aligned
from .exceptions import DataError, NotFiniteError

__all__ = ["PATIENCE", "Block", "Engine", "Fleet", "Lost", "Report", "ShardWorker", "column", "read_block"]

#: Seconds to wait for a lost shard before a fit goes on without its rows, and says so.
PATIENCE = 120.0


class Lost(Exception):
    """A worker that does not answer any more."""


class Block(NamedTuple):
    """One partition: rows in a form the native part takes, and what belongs to them."""

    x: Any
    y: Any
    weights: Any
    #: Why it cannot be used, if it cannot.
    fault: str | None = None


class Report(NamedTuple):
    """How far a fit is."""

    rounds: int
    violation: float | None
    sent: int
    received: int
    slowest: tuple[int, float] | None
    lost: int
    rebuilt: int


def _columns(x: Any) -> Any:
    """A partition of a data frame as an array; columns that are not numbers are named."""
    if hasattr(x, "dtypes") and hasattr(x, "columns"):
        wrong = [str(name) for name, kind in zip(x.columns, x.dtypes, strict=True) if not _is_number(kind)]
        if wrong:
            raise ValueError(f"columns {', '.join(wrong)} do not hold numbers: encode them first")
        if all(isinstance(kind, np.dtype) for kind in x.dtypes):
            return x.to_numpy()
        # Columns of Arrow or with gaps would become objects.
        return x.to_numpy(dtype=np.float64, na_value=np.nan)
    return x


def column(series: Any) -> Any:
    """A column of a frame as an array: numbers of Arrow, or that may have gaps, are plain numbers."""
    kind = series.dtype
    if isinstance(kind, np.dtype) or not _is_number(kind):
        return series.to_numpy()
    gaps = bool(series.isna().any()) or kind.kind == "f"
    return series.to_numpy(dtype=np.float64, na_value=np.nan) if gaps else series.to_numpy(dtype={"b": np.bool_}.get(kind.kind, np.int64))


def _is_number(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf" or str(kind).lower().startswith(("int", "uint", "float", "bool"))


def read_block(number: int, x: Any, y: Any, weights: Any) -> Block:
    """A partition as a block; a fault is a text and not an exception, so that no engine tries again."""
    try:
        x = _columns(x)
        if not sp.issparse(x):
            x = np.asarray(x)
            if x.dtype.kind == "O":
                raise ValueError("it holds objects and not numbers")
            if x.ndim != 2:
                raise ValueError(f"rows must be two-dimensional, this has {x.ndim} dimensions")
            x = np.require(x, dtype=x.dtype if x.dtype == np.float32 else np.float64, requirements=["C", "A"])
        else:
            x = sp.csr_matrix(x, dtype=np.float64)
        values = x.data if sp.issparse(x) else x
        if not np.isfinite(values).all():
            row = int(np.argmax(~np.isfinite(x.toarray() if sp.issparse(x) else x).all(axis=1)))
            raise ValueError(f"row {row} contains NaN or infinity")
        y = None if y is None else np.asarray(y)
        if y is not None and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y is not None and y.ndim != 1:
            raise ValueError(f"its targets have {y.ndim} dimensions, one is allowed")
        weights = None if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
        for name, values in (("targets", y), ("weights", weights)):
            if values is not None and len(values) != x.shape[0]:
                raise ValueError(f"{x.shape[0]} rows, but {len(values)} {name}: X, y and sample_weight must be cut in the same places")
            if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
                raise ValueError(f"the {name} of row {int(np.argmax(~np.isfinite(values)))} are NaN or infinite")
    except (ValueError, TypeError) as error:
        return Block(None, None, None, f"block {number}: {error}")
    return Block(x, y, weights)


def _stack(tables: list[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    return sp.vstack(tables, format="csr") if any(sp.issparse(table) for table in tables) else np.concatenate(tables)


def _as_table(x: Any) -> Any:
    if sp.issparse(x):
        return (aligned(x.indptr), aligned(x.indices), aligned(x.data), x.shape[1])
    return x


class ShardWorker:
    """The worker's side: some partitions as one shard of the native part."""

    def __init__(self, blocks: Sequence[Block], threads: int | None = None, single: bool | None = None, device: str = "cpu") -> None:
        self.faults = [block.fault for block in blocks if block.fault]
        self.blocks: list[Block] | None = None
        self.shard: _core.Shard | None = None
        self.threads = threads or len(os.sched_getaffinity(0))
        self.device = device
        if self.faults:
            return
        self.sizes = [block.x.shape[0] for block in blocks]
        self.targets = [block.y for block in blocks]
        self.weights = [block.weights for block in blocks]
        self.widths = sorted({block.x.shape[1] for block in blocks})
        self.kinds = {"sparse" if sp.issparse(block.x) else str(block.x.dtype) for block in blocks}
        if single is None:
            self.blocks = list(blocks)
        else:
            self._build(list(blocks), single)

    def _build(self, blocks: list[Block], single: bool) -> None:
        tables = [block.x if sp.issparse(block.x) or single else block.x.astype(np.float64, copy=False) for block in blocks]
        self.shard = _core.Shard(_as_table(_stack(tables)), self.threads, self.device)

    def describe(self) -> dict[str, Any]:
        """Sizes, targets and faults of its partitions."""
        about = {"faults": self.faults, "version": (_core.__version__, _core.Shard.version), "process": os.getpid()}
        if not self.faults:
            about |= {"sizes": self.sizes, "targets": self.targets, "weights": self.weights}
            about |= {"widths": self.widths, "kinds": sorted(self.kinds)}
        return about

    def build(self, single: bool) -> int:
        """Makes the shard, in single precision if all partitions are; its rows."""
        if self.blocks is not None:
            blocks, self.blocks, self.targets, self.weights = self.blocks, None, [], []
            self._build(blocks, single)
        return self.shard.rows if self.shard is not None else 0

    def call(self, message: bytes) -> bytes:
        """A message of the driver and the answer."""
        if self.shard is None:
            raise RuntimeError("a shard was asked before it was made")
        return self.shard.call(message)


class Engine(Protocol):
    """What a cluster must offer."""

    #: Where its workers compute; set before any is launched.
    device: str

    def groups(self) -> list[list[int]]:
        """Which partitions to put together, one list per worker: those that are there already."""
        ...

    def launch(self, shard: int, parts: list[int], single: bool | None) -> Any:
        """Begins to make a :class:`ShardWorker` of partitions, near them if this is the first time, anywhere else later."""
        ...

    def ready(self, handle: Any) -> bool:
        """Whether a worker that was launched is there; raises :class:`Lost` if it died on the way."""
        ...

    def started(self) -> None:
        """All shards are made: partitions need not be kept for them."""
        ...

    def ask(self, handles: Sequence[Any], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Calls a method of every worker at once; for those that died the answer is a :class:`Lost`."""
        ...

    def report(self, report: Report) -> None:
        """Shows how far the fit is on the engine's dashboard."""
        ...

    def close(self) -> None:
        """Lets all workers go."""
        ...


class Fleet:
    """All shards of one fit, as the native part calls them."""

    def __init__(self, engine: Engine, device: str = "cpu") -> None:
        _core.Shard.check_device(device)
        self.engine = engine
        self.engine.device = device
        self.parts: list[list[int]] = []
        self.handles: list[Any] = []
        self.missing: dict[int, float] = {}
        self.single: bool | None = None
        self.last: Report | None = None
        #: Shards that were made anew before the native part knew of them.
        self.anew = 0

    # ------------------------------------------------------------ before the fit

    def start(self) -> list[dict[str, Any]]:
        """Starts the workers and returns what they say about their partitions, in the order of shards."""
        self.parts = self.engine.groups()
        if not self.parts:
            raise DataError("the collection has no partitions")
        self.handles = [self.engine.launch(shard, parts, None) for shard, parts in enumerate(self.parts)]
        about = self._insist("describe")
        faults = [fault for one in about for fault in one["faults"]]
        if faults:
            kind = NotFiniteError if "NaN" in faults[0] else DataError
            raise kind("; ".join(faults[:3]) + (f"; and {len(faults) - 3} more" if len(faults) > 3 else ""))
        here = (_core.__version__, _core.Shard.version)
        for one in about:
            if tuple(one["version"]) != here:
                raise DataError(f"a worker has boulevard {one['version'][0]}, this process {here[0]}: install the same version everywhere")
        widths = sorted({width for one in about for width in one["widths"]})
        if len(widths) != 1:
            raise DataError(f"blocks have different numbers of columns ({', '.join(map(str, widths))}): rows must not be cut")
        kinds = {kind for one in about for kind in one["kinds"]}
        if "sparse" in kinds and len(kinds) > 1:
            raise DataError("some blocks are sparse and some dense: make all of them the one or the other")
        self.single = kinds == {"float32"}
        self._insist("build", (self.single,))
        self.engine.started()
        return about

    def _insist(self, method: str, arguments: tuple[Any, ...] = ()) -> list[Any]:
        """Answers of all shards; those that die are made anew."""
        answers: dict[int, Any] = {}
        end = time.monotonic() + PATIENCE
        while len(answers) < len(self.handles):
            waiting = [shard for shard in range(len(self.handles)) if shard not in answers]
            ready = []
            for shard in waiting:
                try:
                    if self.engine.ready(self.handles[shard]):
                        ready.append(shard)
                except Lost:
                    self._again(shard)
            if not ready:
                if time.monotonic() > end:
                    raise DataError(f"no worker took the rows of {len(waiting)} of {len(self.handles)} shards within {PATIENCE:.0f} s")
                time.sleep(0.01)
                continue
            replies = self.engine.ask([self.handles[shard] for shard in ready], method, [arguments] * len(ready))
            for shard, reply in zip(ready, replies, strict=True):
                if isinstance(reply, Lost):
                    self._again(shard)
                else:
                    answers[shard] = reply
        return [answers[shard] for shard in range(len(self.handles))]

    def _again(self, shard: int) -> None:
        self.handles[shard] = self.engine.launch(shard, self.parts[shard], self.single)
        self.anew += 1

    # ------------------------------------------------------------ what the native part calls

    def call(self, messages: list[tuple[int, bytes]]) -> list[bytes | None]:
        """Gives every shard its message; no answer from those that are lost."""
        handles = [self.handles[shard] for shard, _ in messages]
        replies = self.engine.ask(handles, "call", [(message,) for _, message in messages])
        answers: list[bytes | None] = []
        for (shard, _), reply in zip(messages, replies, strict=True):
            if isinstance(reply, Lost):
                self.missing[shard] = time.monotonic()
                self.handles[shard] = self.engine.launch(shard, self.parts[shard], self.single)
                answers.append(None)
            else:
                answers.append(reply)
        return answers

    def returned(self, wait: bool) -> list[int]:
        """Lost shards that hold their rows again."""
        while self.missing:
            back = []
            for shard, since in list(self.missing.items()):
                try:
                    if self.engine.ready(self.handles[shard]):
                        back.append(shard)
                        del self.missing[shard]
                except Lost:
                    self.handles[shard] = self.engine.launch(shard, self.parts[shard], self.single)
                if wait and time.monotonic() - since > PATIENCE:
                    return back
            if back or not wait:
                return back
            time.sleep(0.02)
        return []

    def report(
        self,
        rounds: int,
        violation: float | None,
        sent: int,
        received: int,
        slowest: tuple[int, float] | None,
        lost: int,
        rebuilt: int,
    ) -> None:
        """How far the fit is."""
        self.last = Report(rounds, violation, sent, received, slowest, lost, rebuilt + self.anew)
        self.engine.report(self.last)

    def close(self) -> None:
        """Lets all workers go."""
        self.engine.close()
        self.handles = []
