"""Support vector machines on a Ray cluster: one exact machine, its rows on actors near them.

>>> from boulevard.ray import SVC  # doctest: +SKIP
>>> model = SVC(C=10).fit(dataset, "label")  # a ray.data.Dataset and the name of its target column  # doctest: +SKIP
>>> model = SVC(C=10).fit(X_refs, y_refs)  # or lists of object references of arrays  # doctest: +SKIP

The classes have the parameters of those of the same name in :mod:`boulevard`, and ``client``. Needs ``pip install boulevard[ray]``.
"""

import time
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ._base import fitting
from ._docs import document
from ._limits import parameters
from ._shards import Lost, Report, ShardWorker, column, read_block
from ._spread import SpreadClassifier, SpreadDeciding, SpreadMixin
from .exceptions import DataError
from .svm import SVC as LocalSVC
from .svm import SVR as LocalSVR
from .svm import NuSVC as LocalNuSVC
from .svm import OneClassSVM as LocalOneClassSVM

__all__ = ["SVC", "SVR", "Actors", "NuSVC", "OneClassSVM"]


class Actors(NamedTuple):
    """How many actors hold the rows, and what each may use; to be given as ``client``.

    None as count means as many as the cluster has room for, and never more than there are blocks.
    """

    count: int | None = None  # type: ignore[assignment]
    num_cpus: int = 1
    #: Further options of ``ray.remote``, for example ``{"memory": 2**30}``, or ``{"num_gpus": 1}`` for a graphics card each.
    options: dict[str, Any] | None = None


class _RayShard(ShardWorker):
    """The actor."""

    def __init__(self, threads: int, single: bool | None, device: str, *blocks: Any) -> None:
        super().__init__(blocks, threads, single, device)

    def __repr__(self) -> str:
        return f"boulevard shard ({self.shard.rows if self.shard else 'new'} rows)"

    def here(self) -> bool:
        """It is."""
        return True


def _part(number: int, frame: Any, target: str | None, weight: str | None, features: list[str]) -> Any:
    """A block of a dataset."""
    y = None if target is None else column(frame[target])
    return read_block(number, frame[features], y, None if weight is None else column(frame[weight]))


class _Handle:
    def __init__(self, actor: Any, here: Any, blocks: list[Any]) -> None:
        self.actor = actor
        self.here = here
        self.blocks: list[Any] | None = blocks


def _is_dataset(x: Any) -> bool:
    return isinstance(x, ray.data.Dataset)


def _is_refs(x: Any) -> bool:
    return isinstance(x, list | tuple) and len(x) > 0 and all(isinstance(one, ray.ObjectRef) for one in x)


class RayEngine:
    """Actors of Ray as shards."""

    def __init__(self, actors: Actors, sources: list[tuple[Any, ...]]) -> None:
        self.actors = actors
        #: A function and its arguments, per block.
        self.sources = sources
        self.first: dict[int, Any] = {}
        self.nodes: dict[int, str] = {}
        self.handles: list[_Handle] = []
        self.gauges: dict[str, Any] | None = None
        self.told = 0.0
        self.device = "cpu"

    def _block(self, part: int) -> Any:
        function, *arguments = self.sources[part]
        return ray.remote(function).options(num_cpus=0.5, max_retries=3).remote(part, *arguments)

    def _count(self, parts: int) -> int:
        if self.actors.count is not None:
            return max(1, min(self.actors.count, parts))
        cpus = int(ray.cluster_resources().get("CPU", 1)) // max(1, self.actors.num_cpus)
        return max(1, min(parts, cpus))

    def groups(self) -> list[list[int]]:
        """Blocks of a node go to its actors, in turn."""
        parts = len(self.sources)
        self.first = {part: self._block(part) for part in range(parts)}
        try:
            ray.wait(list(self.first.values()), num_returns=parts, fetch_local=False)
            places = ray.experimental.get_object_locations(list(self.first.values()))
        except RayError as error:
            raise DataError(f"blocks cannot be computed: {error}") from error
        nodes = {part: min(places[ref]["node_ids"], default="") for part, ref in self.first.items()}
        by_node: dict[str, list[int]] = {}
        for part, node in nodes.items():
            by_node.setdefault(node, []).append(part)
        count = self._count(parts)
        groups: list[Any] = []
        for node in sorted(by_node):
            share = max(1, round(count * len(by_node[node]) / parts))
            for one in range(min(share, len(by_node[node]))):
                self.nodes[len(groups)] = node
                groups.append(by_node[node][one::share])
        return groups

    def launch(self, shard: int, parts: list[int], single: bool | None) -> _Handle:
        """An actor on the node of its blocks, and later anywhere."""
        node = self.nodes.pop(shard, None)
        blocks = [self.first[part] if part in self.first else self._block(part) for part in parts]
        options: dict[str, Any] = {"num_cpus": self.actors.num_cpus, "max_restarts": 0, **(self.actors.options or {})}
        if node:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
        actor = ray.remote(_RayShard).options(**options).remote(self.actors.num_cpus, single, self.device, *blocks)
        handle = _Handle(actor, actor.here.remote(), blocks)
        self.handles.append(handle)
        return handle

    def ready(self, handle: _Handle) -> bool:
        """Whether the actor is there."""
        try:
            done, _ = ray.wait([handle.here], timeout=0)
            if done:
                ray.get(handle.here)
                handle.blocks = None
        except RayActorError as error:
            if "creation task" in str(error) and isinstance(error.__cause__, RayTaskError):
                raise DataError(f"a shard cannot be made: {error}") from error
            raise Lost from None
        return bool(done)

    def started(self) -> None:
        """Blocks are in the shards now; they can be computed again."""
        self.first = {}

    def ask(self, handles: Sequence[_Handle], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Calls all actors, then gathers."""
        calls = [getattr(handle.actor, method).remote(*given) for handle, given in zip(handles, arguments, strict=True)]
        answers: list[Any] = []
        for call in calls:
            try:
                answers.append(ray.get(call))
            except (RayActorError, GetTimeoutError, ray.exceptions.ObjectLostError):
                answers.append(Lost())
        return answers

    def report(self, report: Report) -> None:
        """Gauges of Ray's metrics, which its dashboard shows."""
        now = time.monotonic()
        if now - self.told < 0.3:
            return
        self.told = now
        if self.gauges is None:
            from ray.util.metrics import Gauge

            about = {
                "rounds": "rounds of the fit",
                "violation": "KKT violation",
                "sent": "bytes sent to shards",
                "received": "bytes received",
                "slowest": "seconds of the slowest shard",
                "lost": "shards out of reach",
            }
            self.gauges = {name: Gauge(f"boulevard_{name}", description=text) for name, text in about.items()}
        values = report._asdict() | {"slowest": report.slowest[1] if report.slowest else None}
        for name, gauge in self.gauges.items():
            if values[name] is not None:
                gauge.set(float(values[name]))

    def close(self) -> None:
        """Ends the actors."""
        for handle in self.handles:
            ray.kill(handle.actor)
        self.handles, self.first = [], {}


def _judge(x: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x)


def _judge_frame(frame: Any, model: Any, method: str, features: list[str]) -> Any:
    import pandas as pd

    values = getattr(model, method)(np.ascontiguousarray(frame[features].to_numpy(dtype=np.float64, na_value=np.nan)))
    return pd.DataFrame({"prediction": list(values) if values.ndim == 2 else values})


@parameters
class RayMixin(SpreadMixin):
    """What the classes share: ``fit`` on datasets and object references, answers as tasks."""

    client: Actors | None = None

    def _engine(self, X: Any, y: Any, sample_weight: Any) -> RayEngine:
        if not ray.is_initialized():
            raise DataError("Ray is not running here: call ray.init() first")
        actors = self.client or Actors()
        if _is_dataset(X):
            for name, column in (("y", y), ("sample_weight", sample_weight)):
                if column is not None and (not isinstance(column, str) or column not in X.columns()):
                    raise DataError(f"{name} must name a column of the dataset ({', '.join(X.columns())}), got {column!r}")
            features = [name for name in X.columns() if name not in (y, sample_weight)]
            return RayEngine(actors, [(_part, ref, y, sample_weight, features) for ref in X.to_pandas_refs()])
        if not _is_refs(X):
            raise DataError(
                f"X must be a ray.data.Dataset or a list of object references, got {type(X).__name__}: "
                f"for local tables use boulevard.{type(self).__name__}"
            )
        parts: list[list[Any]] = []
        for name, refs in (("y", y), ("sample_weight", sample_weight)):
            if refs is not None and (not _is_refs(refs) or len(refs) != len(X)):
                raise DataError(f"{name} must be a list of {len(X)} object references, one per block of X")
            parts.append(list(refs) if refs is not None else [None] * len(X))
        return RayEngine(actors, [(read_block, *one) for one in zip(X, *parts, strict=True)])

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit one exact machine over all rows, on actors near them.

        Parameters
        ----------
        X : ray.data.Dataset or list of ObjectRef
            A dataset, whose other columns are the features, or references of blocks: arrays, CSR matrices or data frames.
        y : str or list of ObjectRef
            The name of the target column, or references of the blocks' targets. Not used by ``OneClassSVM``.
        sample_weight : str or list of ObjectRef, default=None
            The same for weights.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        features = [name for name in X.columns() if name not in (y, sample_weight)] if ray.is_initialized() and _is_dataset(X) else None
        target = y if self._kind != "one_class" or isinstance(y, str) else None  # type: ignore[attr-defined]
        self._fit_spread(X, target, sample_weight, features)  # type: ignore[attr-defined]
        return self

    def _lazy(self, X: Any, method: str) -> Any:
        model, features = self._judging(), self._feature_names()
        if _is_dataset(X):
            features = features or list(X.columns())
            return X.map_batches(_judge_frame, batch_format="pandas", fn_kwargs={"model": model, "method": method, "features": features})
        here = ray.put(model)
        return [ray.remote(_judge).remote(ref, here, method) for ref in X]

    @staticmethod
    def _is_spread(X: Any) -> bool:
        return _is_dataset(X) or _is_refs(X)


@document
@parameters
class SVC(RayMixin, SpreadClassifier, LocalSVC):
    """C-support vector classification on a Ray cluster.

    {ray}
    """

    _local_class: ClassVar[type[Any]] = LocalSVC


@document
@parameters
class NuSVC(RayMixin, SpreadClassifier, LocalNuSVC):
    """Nu-support vector classification on a Ray cluster.

    {ray}
    """

    _local_class: ClassVar[type[Any]] = LocalNuSVC


@document
@parameters
class SVR(RayMixin, LocalSVR):
    """Epsilon-support vector regression on a Ray cluster.

    {ray}
    """

    _local_class: ClassVar[type[Any]] = LocalSVR


@document
@parameters
class OneClassSVM(RayMixin, SpreadDeciding, LocalOneClassSVM):
    """Support of a distribution on a Ray cluster.

    {ray}
    """

    _local_class: ClassVar[type[Any]] = LocalOneClassSVM
