"""Support vector machines on a Dask cluster: one exact machine, its rows where they are.

>>> from boulevard.dask import SVC  # doctest: +SKIP
>>> model = SVC(C=10, client=client).fit(X, y)  # Dask arrays or data frames  # doctest: +SKIP
>>> model.predict(X_new).compute()  # lazy for Dask collections  # doctest: +SKIP

The classes have the parameters of those of the same name in :mod:`boulevard`, and ``client``. Needs ``pip install boulevard[dask]``.
"""

import time
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import distributed
import numpy as np
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from ._base import fitting
from ._docs import document
from ._limits import parameters
from ._shards import Lost, Report, ShardWorker, read_block
from ._spread import SpreadClassifier, SpreadDeciding, SpreadMixin
from .exceptions import DataError
from .svm import SVC as LocalSVC
from .svm import SVR as LocalSVR
from .svm import NuSVC as LocalNuSVC
from .svm import OneClassSVM as LocalOneClassSVM

__all__ = ["SVC", "SVR", "NuSVC", "OneClassSVM"]

#: Seconds between two looks at whether a silent worker still lives.
_LOOK = 0.25
#: Seconds to wait for the first worker of a cluster that has none yet.
_FIRST_WORKER = 30.0
_GONE = ("Worker holding Actor was lost", "Unable to contact Actor")


def _find_client(client: Any) -> Any:
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise DataError("there is no Dask client: make one (distributed.Client(...)) or give it as client=") from None
    if client.asynchronous:
        raise DataError("an asynchronous client cannot be used here: make one with asynchronous=False")
    if client.status != "running":
        raise DataError(f"the Dask client is {client.status}: connect it to a scheduler first")
    return client


def _is_frame(x: Any) -> bool:
    return dask.is_dask_collection(x) and hasattr(x, "dtypes") and hasattr(x, "columns")


def is_collection(x: Any) -> bool:
    """Whether predictions of this should be lazy."""
    return isinstance(x, da.Array) or _is_frame(x)


def _blocks(x: Any) -> list[Any]:
    """Delayed partitions of a collection, in order; rows must not be cut."""
    if isinstance(x, da.Array):
        if x.ndim == 2 and x.numblocks[1] != 1:
            raise DataError(f"rows are cut into {x.numblocks[1]} blocks of columns: use X.rechunk({{1: -1}})")
        if x.ndim not in (1, 2):
            raise DataError(f"a table has two dimensions, this has {x.ndim}")
        if x.dtype == object:
            raise DataError("this Dask array holds objects and not numbers: convert it, for example with X.astype(float)")
    if _is_frame(x):
        wrong = [str(name) for name, kind in x.dtypes.items() if getattr(kind, "kind", "O") not in "biuf"]
        if wrong:
            raise DataError(f"columns {', '.join(wrong)} do not hold numbers: encode them first")
    return list(np.ravel(np.asarray(x.to_delayed(), dtype=object)))


def _cut_like(values: Any, x: Any, what: str, parts: int) -> list[Any]:
    """Partitions of targets or weights that belong to those of ``x``."""
    if values is None:
        return [None] * parts
    if isinstance(x, da.Array) and not dask.is_dask_collection(values) and not np.isnan(x.shape[0]):
        values = np.asarray(values)
        if values.shape[:1] != x.shape[:1]:
            raise DataError(f"X has {x.shape[0]} rows and {what} has {values.shape[0] if values.ndim else 0}")
        values = da.from_array(values, chunks=(x.chunks[0], *[(size,) for size in values.shape[1:]]))
    if not dask.is_dask_collection(values):
        raise DataError(f"{what} must be a Dask collection with the same partitions as X")
    if isinstance(x, da.Array) and isinstance(values, da.Array):
        sizes, others = np.asarray(x.chunks[0], dtype=float), np.asarray(values.chunks[0], dtype=float)
        known = not (np.isnan(sizes).any() or np.isnan(others).any())
        if len(sizes) != len(others) or (known and (sizes != others).any()):
            raise DataError(
                f"X and {what} are cut in different places ({len(sizes)} and {len(others)} blocks): use "
                f"{what}.rechunk({{0: X.chunks[0]}}), after compute_chunk_sizes() if sizes are unknown"
            )
    cut = list(np.ravel(np.asarray(values.to_delayed(), dtype=object)))
    if len(cut) != parts:
        raise DataError(f"X has {parts} partitions and {what} has {len(cut)}: repartition one of them like the other")
    return cut


class _Handle:
    """A shard on a worker, or on its way there."""

    def __init__(self, future: Any, blocks: list[Any]) -> None:
        self.future = future
        self.blocks: list[Any] | None = blocks
        self.actor: Any = None


class DaskEngine:
    """Dask's workers as shards: an actor each, calls from the client."""

    def __init__(self, client: Any, x: Any, y: Any, weights: Any) -> None:
        self.client = client
        parts = _blocks(x)
        targets, prices = _cut_like(y, x, "y", len(parts)), _cut_like(weights, x, "sample_weight", len(parts))
        make = dask.delayed(read_block, pure=False, traverse=False)
        self.blocks = [make(number, *one) for number, one in enumerate(zip(parts, targets, prices, strict=True))]
        self.handles: list[_Handle] = []
        self.where: dict[int, str] = {}
        self.first: dict[int, Any] = {}
        self.told = 0.0
        self.device = "cpu"

    def _threads(self) -> dict[str, int]:
        return dict(self.client.nthreads())

    def groups(self) -> list[list[int]]:
        """Partitions are computed where their data are, and those of a worker become one shard."""
        if not self._threads():
            try:
                self.client.wait_for_workers(1, timeout=_FIRST_WORKER)
            except (TimeoutError, distributed.TimeoutError):
                raise DataError(f"the scheduler has no workers, and none came within {_FIRST_WORKER:.0f} s") from None
        futures = self.client.compute(self.blocks, optimize_graph=True)
        distributed.wait(futures)
        for number, future in enumerate(futures):
            if future.status == "error" and not isinstance(future.exception(), KilledWorker):
                raise DataError(f"block {number} cannot be computed: {future.exception()}") from future.exception()
        self.first = dict(enumerate(futures))
        where = self.client.who_has(futures)
        living = set(self._threads())
        groups: dict[str, list[int]] = {}
        for number, future in enumerate(futures):
            holders = [address for address in where.get(future.key, ()) if address in living]
            address = min(holders) if holders else min(living, default="")
            groups.setdefault(address, []).append(number)
        addresses = sorted(groups)
        self.where = dict(enumerate(addresses))
        return [groups[address] for address in addresses]

    def launch(self, shard: int, parts: list[int], single: bool | None) -> _Handle:
        """An actor near its partitions, and later wherever they can be computed again."""
        near, threads = self.where.pop(shard, None), self._threads()
        if near in threads and all(part in self.first for part in parts):
            blocks = [self.first[part] for part in parts]
            place: dict[str, Any] = {"workers": [near], "allow_other_workers": True}
        else:
            blocks, place = self.client.compute([self.blocks[part] for part in parts], optimize_graph=True), {}
        count = threads.get(near or "", min(threads.values(), default=1))
        key = f"boulevard-shard-{shard}-{uuid.uuid4().hex}"
        future = self.client.submit(ShardWorker, blocks, count, single, self.device, actor=True, pure=False, key=key, **place)
        handle = _Handle(future, blocks)
        self.handles.append(handle)
        return handle

    def ready(self, handle: _Handle) -> bool:
        """Whether the actor is there."""
        status = handle.future.status
        if status == "pending":
            return False
        if status == "finished":
            if handle.actor is None:
                try:
                    with self.client.as_current():
                        handle.actor = handle.future.result(timeout=10)
                except (OSError, RuntimeError, TimeoutError, distributed.TimeoutError):
                    raise Lost from None
                # The partitions are in the shard now; they can be computed again.
                handle.blocks = None
            return True
        for block in handle.blocks or []:
            error = block.exception() if block.status == "error" else None
            if error is not None and not isinstance(error, KilledWorker):
                raise DataError(f"a block cannot be computed again: {error}") from error
        raise Lost

    def started(self) -> None:
        """All shards are made: partitions need not be kept for them."""
        self.first = {}

    def ask(self, handles: Sequence[_Handle], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Calls all actors, then waits for each."""
        with self.client.as_current():
            return [self._wait(handle, call) for handle, call in self._begin(handles, method, arguments)]

    def _begin(self, handles: Sequence[_Handle], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[tuple[_Handle, Any]]:
        calls: list[tuple[_Handle, Any]] = []
        for handle, given in zip(handles, arguments, strict=True):
            try:
                calls.append((handle, getattr(handle.actor, method)(*given)))
            except (RuntimeError, AttributeError):
                calls.append((handle, None))
        return calls

    def _wait(self, handle: _Handle, call: Any) -> Any:
        if call is None:
            return Lost()
        while True:
            try:
                return call.result(timeout=_LOOK)
            except (TimeoutError, distributed.TimeoutError):
                if handle.future.status != "finished":
                    return Lost()
                if self.client.status != "running":
                    raise DataError(f"the Dask client was {self.client.status} during the fit") from None
            except (OSError, CommClosedError, KeyError):
                return Lost()
            except RuntimeError as error:
                if any(word in str(error) for word in _GONE):
                    return Lost()
                raise

    def report(self, report: Report) -> None:
        """An event of topic ``boulevard``, a few times a second: ``client.get_events("boulevard")``."""
        now = time.monotonic()
        if now - self.told > 0.3:
            self.told = now
            self.client.log_event("boulevard", report._asdict())

    def close(self) -> None:
        """Lets the actors go."""
        for handle in self.handles:
            handle.actor, handle.blocks = None, None
        # Not only released: whoever still holds a reference (a traceback, a cycle) must not keep a shard on its worker.
        if self.client.status == "running":
            self.client.cancel([handle.future for handle in self.handles], force=True)
        self.handles, self.first = [], {}


def _judge(x: Any, model: Any, method: str) -> Any:
    """A block's answers; runs on a worker."""
    if hasattr(x, "to_numpy"):
        x = x.to_numpy()
    if x.shape[0] == 0:
        few = getattr(model, method)(np.zeros((1, model.n_features_in_)))
        return few[:0]
    return getattr(model, method)(x)


@parameters
class DaskMixin(SpreadMixin):
    """What the classes share: ``fit`` on Dask collections, lazy answers."""

    client: Any = None

    def _engine(self, X: Any, y: Any, sample_weight: Any) -> DaskEngine:
        if not is_collection(X):
            kind = type(X).__name__
            raise DataError(f"X must be a Dask array or data frame, got {kind}: for local tables use boulevard.{type(self).__name__}")
        return DaskEngine(_find_client(self.client), X, y, sample_weight)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit one exact machine over all rows; they stay on their workers.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame
            Rows in blocks; sizes may be unknown, and blocks may be sparse (CSR). Columns must not be cut.
        y : Dask collection or array
            Targets, cut in the same places. Not used by ``OneClassSVM``.
        sample_weight : Dask collection or array, default=None
            Weights, cut in the same places.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        features = [str(name) for name in X.columns] if _is_frame(X) else None
        self._fit_spread(X, None if self._kind == "one_class" else y, sample_weight, features)  # type: ignore[attr-defined]
        return self

    def _lazy(self, X: Any, method: str) -> Any:
        """Answers block by block; nothing is computed before it is asked for."""
        model = self._judging()
        if _is_frame(X):
            X = X.to_dask_array()
        if X.numblocks[1] != 1:
            raise DataError(f"rows are cut into {X.numblocks[1]} blocks of columns: use X.rechunk({{1: -1}})")
        columns, dtype = self._answers(method)
        shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (columns,))}
        meta = np.empty((0,) * (1 if columns is None else 2), dtype)
        model = dask.delayed(model, pure=False, traverse=False)
        return da.map_blocks(_judge, X, model=model, method=method, dtype=dtype, meta=meta, **shape)

    def _answers(self, method: str) -> tuple[int | None, Any]:
        """How many columns answers have, None for a plain list of them, and their type."""
        classes = getattr(self, "classes_", None)
        if method == "predict":
            kinds = {"svc": None if classes is None else classes.dtype, "one_class": np.dtype(np.int64)}
            return None, kinds.get(self._kind, np.dtype(np.float64))
        count = 0 if classes is None else len(classes)
        if method == "decision_function" and count > 2 and self.decision_function_shape == "ovo":
            count = count * (count - 1) // 2
        return count if method == "predict_proba" or count > 2 else None, np.dtype(np.float64)

    @staticmethod
    def _is_spread(X: Any) -> bool:
        return is_collection(X)


@document
@parameters
class SVC(DaskMixin, SpreadClassifier, LocalSVC):
    """C-support vector classification on a Dask cluster.

    {dask}
    """

    _local_class: ClassVar[type[Any]] = LocalSVC


@document
@parameters
class NuSVC(DaskMixin, SpreadClassifier, LocalNuSVC):
    """Nu-support vector classification on a Dask cluster.

    {dask}
    """

    _local_class: ClassVar[type[Any]] = LocalNuSVC


@document
@parameters
class SVR(DaskMixin, LocalSVR):
    """Epsilon-support vector regression on a Dask cluster.

    {dask}
    """

    _local_class: ClassVar[type[Any]] = LocalSVR


@document
@parameters
class OneClassSVM(DaskMixin, SpreadDeciding, LocalOneClassSVM):
    """Support of a distribution on a Dask cluster.

    {dask}
    """

    _local_class: ClassVar[type[Any]] = LocalOneClassSVM
