"""Support vector machines on a Dask cluster: one exact machine, its rows where they are.

>>> from boulevard.dask import SVC  # doctest: +SKIP
>>> model = SVC(C=10, client=client).fit(X, y)  # Dask arrays or data frames  # doctest: +SKIP
>>> model.predict(X_new).compute()  # lazy for Dask collections  # doctest: +SKIP

The classes have the parameters of those of the same name in :mod:`boulevard`, and ``client``. Needs ``pip install boulevard[dask]``.
"""

# long: four estimators with their documentation, and the engine that starts their workers.

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
from ._shards import Lost, Report, ShardWorker, read_block
from ._spread import SpreadMixin
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


class DaskMixin(SpreadMixin):
    """What the classes share: ``fit`` on Dask collections, lazy answers."""

    client: Any

    def __init__(self, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*cls._local_class._get_param_names(), "client"])

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

    def _lazy(self, X: Any, method: str, columns: int | None, dtype: Any) -> Any:
        """Answers block by block; nothing is computed before it is asked for."""
        self._need_model()  # type: ignore[attr-defined]
        if _is_frame(X):
            X = X.to_dask_array()
        if X.numblocks[1] != 1:
            raise DataError(f"rows are cut into {X.numblocks[1]} blocks of columns: use X.rechunk({{1: -1}})")
        model = dask.delayed(self._judging(), pure=False, traverse=False)
        shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (columns,))}
        return da.map_blocks(
            _judge, X, model=model, method=method, dtype=dtype, meta=np.empty((0,) * (1 if columns is None else 2), dtype), **shape
        )

    def _judging(self) -> Any:
        """What travels to the workers: without names, which blocks do not have, and without the client."""
        model = self.to_local()  # type: ignore[attr-defined]
        model.__dict__.pop("feature_names_in_", None)
        model.n_jobs = 1
        return model

    def predict(self, X: Any) -> Any:
        """Predict, lazily for Dask collections.

        Parameters
        ----------
        X : Dask collection or array
            The rows.

        Returns
        -------
        answers : dask.array.Array or ndarray
            As the local class's, lazy for Dask collections.
        """
        if not is_collection(X):
            return super().predict(X)  # type: ignore[misc]
        dtype = {"svc": getattr(getattr(self, "classes_", None), "dtype", None), "one_class": np.dtype(np.int64)}.get(
            self._kind,
            np.dtype(np.float64),  # type: ignore[attr-defined]
        )
        return self._lazy(X, "predict", None, dtype)

    def save(self, path: Any) -> None:
        """Save the model as an ordinary one: see ``save`` of the local class.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        self.to_local().save(path)  # type: ignore[attr-defined]


class _Deciding(DaskMixin):
    """Decision values."""

    def decision_function(self, X: Any) -> Any:
        """Evaluate the decision function, lazily for Dask collections.

        Parameters
        ----------
        X : Dask collection or array
            The rows.

        Returns
        -------
        decisions : dask.array.Array or ndarray
            As the local class's.
        """
        if not is_collection(X):
            return super().decision_function(X)  # type: ignore[misc]
        count = len(getattr(self, "classes_", [0]))
        wide = self._kind == "svc" and count > 2  # type: ignore[attr-defined]
        pairs = wide and self.decision_function_shape == "ovo"  # type: ignore[attr-defined]
        columns = None if not wide else count * (count - 1) // 2 if pairs else count
        return self._lazy(X, "decision_function", columns, np.dtype(np.float64))


class _Classifier(_Deciding):
    """Probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities, lazily for Dask collections.

        They are fitted with the model (``calibrate=True``) or here on first use, on the cluster: five more fits per pair of classes.

        Parameters
        ----------
        X : Dask collection or array
            The rows.

        Returns
        -------
        probabilities : dask.array.Array or ndarray
            A column per class, in the order of ``classes_``.
        """
        if not is_collection(X):
            return super().predict_proba(X)  # type: ignore[misc]
        self._ensure_calibrated()
        return self._lazy(X, "predict_proba", len(self.classes_), np.dtype(np.float64))  # type: ignore[attr-defined]


def _limits(local: type[Any]) -> dict[str, Any]:
    return {**local._parameter_constraints, "client": "no_validation"}


class SVC(_Classifier, LocalSVC):
    """C-support vector classification on a Dask cluster.

    Parameters, attributes and methods are those of :class:`boulevard.SVC`, and

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None means the current client.
    **parameters
        See :class:`boulevard.SVC`.

    Attributes
    ----------
    cluster_ : dict
        Shards, rounds, bytes sent and received, and how many shards had to be rebuilt.
    """

    _local_class: ClassVar[type[Any]] = LocalSVC
    _parameter_constraints = _limits(LocalSVC)


class NuSVC(_Classifier, LocalNuSVC):
    """Nu-support vector classification on a Dask cluster.

    Parameters, attributes and methods are those of :class:`boulevard.NuSVC`, and

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None means the current client.
    **parameters
        See :class:`boulevard.NuSVC`.
    """

    _local_class: ClassVar[type[Any]] = LocalNuSVC
    _parameter_constraints = _limits(LocalNuSVC)


class SVR(DaskMixin, LocalSVR):
    """Epsilon-support vector regression on a Dask cluster.

    Parameters, attributes and methods are those of :class:`boulevard.SVR`, and

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None means the current client.
    **parameters
        See :class:`boulevard.SVR`.
    """

    _local_class: ClassVar[type[Any]] = LocalSVR
    _parameter_constraints = _limits(LocalSVR)


class OneClassSVM(_Deciding, LocalOneClassSVM):
    """Support of a distribution on a Dask cluster.

    Parameters, attributes and methods are those of :class:`boulevard.OneClassSVM`, and

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None means the current client.
    **parameters
        See :class:`boulevard.OneClassSVM`.
    """

    _local_class: ClassVar[type[Any]] = LocalOneClassSVM
    _parameter_constraints = _limits(LocalOneClassSVM)
