"""Estimators whose training rows are on a cluster: what ``boulevard.dask`` and ``boulevard.ray`` share.

The classes have the parameters and attributes of the local ones. ``fit`` leaves rows where they are; the fitted model is an ordinary one,
so that everything else (files, local predictions, attributes) is the local class's.
"""

import json
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from . import _core
from ._base import warn
from ._classes import class_names
from ._docs import document
from ._limits import count_threads
from ._request import Limits
from ._shards import Engine, Fleet
from ._typing import Parts
from .exceptions import DataError, ParameterError, TooLargeError
from .svm._kernel_machine import NOT_FINITE

__all__ = ["Attempt", "SpreadClassifier", "SpreadDeciding", "SpreadMixin"]


class ShardedData(NamedTuple):
    """A training set whose rows are on shards; the native part reads it by these names."""

    #: Shard, number of the first row in the whole table, rows.
    pieces: list[tuple[int, int, int]]
    columns: int
    y: Any = None
    names: list[str] | None = None
    weights: Any = None
    features: list[str] | None = None


class Attempt:
    """The rows of one fit on their shards: for as long as it is open."""

    def __init__(self, engine: Engine, device: str) -> None:
        self.fleet = Fleet(engine, device)
        try:
            about = self.fleet.start()
        except BaseException:
            self.fleet.close()
            raise
        sizes = dict(self._by_part(about, "sizes"))
        ends = np.cumsum([sizes[part] for part in sorted(sizes)])
        self.first = {part: int(end) - sizes[part] for part, end in zip(sorted(sizes), ends, strict=True)}
        self.rows = int(ends[-1])
        self.columns = int(about[0]["widths"][0])
        self.sparse = "sparse" in about[0]["kinds"]
        self.pieces = [
            (shard, self.first[part], sizes[part]) for shard, parts in enumerate(self.fleet.parts) for part in parts if sizes[part] > 0
        ]
        # A shard that holds nothing still has to be greeted.
        for shard, parts in enumerate(self.fleet.parts):
            if all(sizes[part] == 0 for part in parts):
                self.pieces.append((shard, self.first[parts[0]], 0))
        self.y = self._whole(about, "targets", sizes)
        self.weights = self._whole(about, "weights", sizes)

    def _by_part(self, about: list[dict[str, Any]], name: str) -> list[tuple[int, Any]]:
        return [pair for shard, one in enumerate(about) for pair in zip(self.fleet.parts[shard], one[name], strict=True)]

    def _whole(self, about: list[dict[str, Any]], name: str, sizes: dict[int, int]) -> Any:
        values = {part: value for part, value in self._by_part(about, name) if sizes[part] > 0}
        if any(value is None for value in values.values()):
            return None
        return np.concatenate([values[part] for part in sorted(values)]) if values else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.fleet.close()


@document
class SpreadMixin:
    """The parts of a fit on a cluster, and of answers about its rows, that do not depend on the engine."""

    _local_class: ClassVar[type[Any]]

    def _engine(self, X: Any, y: Any, sample_weight: Any) -> Engine:
        """Where the rows are."""
        raise NotImplementedError

    @staticmethod
    def _is_spread(X: Any) -> bool:
        """Whether these rows are on the cluster; without a word of the engine tables are local."""
        return False

    def _lazy(self, X: Any, method: str) -> Any:
        """What a method answers about rows on the cluster, computed there."""
        raise NotImplementedError

    # ------------------------------------------------------------ fitting

    def _fit_spread(self: Any, X: Any, y: Any, sample_weight: Any, features: list[str] | None) -> None:
        self._check_parameters()
        if callable(self.kernel) or self.kernel == "precomputed":
            raise ValueError("kernel matrices and kernel functions cannot be used on a cluster: rows meet on other machines")
        for name in ("_training", "scaling_", "feature_names_in_", "_spread_training"):
            self.__dict__.pop(name, None)
        with Attempt(self._engine(X, y, sample_weight), self.device) as attempt:
            if attempt.rows == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            weights = self._spread_weights(attempt.weights)
            parameters, targets = self._spread_learner(attempt, weights)
            self.n_features_in_ = attempt.columns
            if features is not None and len(features) == attempt.columns:
                self.feature_names_in_ = np.asarray(features, dtype=object)
            else:
                features = None
            parameters.update(kernel=self._kernel(), solver={**self._solver(), "libsvm_rounding": False})
            data = ShardedData(attempt.pieces, attempt.columns, *targets, weights=weights, features=features)
            listener = self._listener((X, y))
            limits = Limits(count_threads(self.n_jobs), self.max_time, progress=listener)
            try:
                model, raised = _core.fit_shards(self._kind, json.dumps(parameters), data, attempt.fleet, limits)
            except ParameterError as error:
                if error.name == "nu":
                    facts = {"owner": error.owner, "allowed": error.allowed, "found": error.found}
                    raise ParameterError(f"specified nu is infeasible: {error}", "nu", **facts) from None
                raise
            except TooLargeError as error:
                raise TooLargeError(f"{NOT_FINITE} ({error})") from None
            self.shape_fit_ = (attempt.rows, attempt.columns)
            self._sparse = attempt.sparse
            self._sparse_array = False
            parts = self._keep(model, listener)
            self._take(parts)
            last = attempt.fleet.last
            self.cluster_ = None if last is None else last._asdict() | {"shards": len(attempt.fleet.parts)}
        if self._fits_probabilities and not model.calibrated:
            # References: nothing is copied or computed.
            self._spread_training = (X, y, sample_weight)
        self._end_spread(parts, raised)

    def _end_spread(self: Any, parts: Parts, raised: BaseException | None) -> None:
        if raised is None and self.fit_status_ == 3 and np.isnan(parts["gap"]):
            from sklearn.exceptions import ConvergenceWarning

            about = self.cluster_ or {}
            warn(
                f"{about.get('lost', 0)} of {about.get('shards')} shards were lost and did not come back: the model is that of the others, "
                "there is no certificate, and objective_ and dual_gap_ are NaN. Add workers and fit again.",
                ConvergenceWarning,
            )
            return
        self._end(parts, raised)

    @staticmethod
    def _spread_weights(weights: Any) -> Any:
        if weights is None:
            return None
        weights = np.maximum(weights, 0.0)
        if not weights.any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return weights

    def _spread_learner(self: Any, attempt: Attempt, weights: Any) -> tuple[Parts, tuple[Any, list[str] | None]]:
        """The native learner's parameters, and targets with their names."""
        kind = self._kind
        if kind == "one_class":
            return {"nu": float(self.nu)}, (None, None)
        if attempt.y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if kind == "svr":
            return self._learner(), (np.ascontiguousarray(attempt.y, dtype=np.float64), None)
        labels = attempt.y
        if labels.dtype.kind == "O":
            labels = np.asarray(labels.tolist())
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        self._check_classes_left(codes, weights)
        self.class_weight_, class_weight = self._class_weights(labels, weights)
        return self._learner(class_weight), (codes.astype(np.int64), class_names(classes))

    # ------------------------------------------------------------ probabilities

    def _ensure_calibrated(self: Any) -> None:
        self._need_model()
        if self._native.calibrated:
            return
        if "_spread_training" not in self.__dict__:
            raise DataError(
                f"This {type(self).__name__} has no probabilities and no training data to fit them on. Fit it with calibrate=True, or call "
                "predict_proba once before save."
            )
        with Attempt(self._engine(*self._spread_training), self.device) as attempt:
            codes = np.searchsorted(self.classes_, attempt.y).astype(np.int64)
            weights = self._spread_weights(attempt.weights)
            data = ShardedData(attempt.pieces, attempt.columns, codes, class_names(self.classes_), weights, self._feature_names())
            limits = Limits(count_threads(self.n_jobs))
            self._native = _core.calibrate_shards(self._native, data, attempt.fleet, limits)
        self.__dict__.pop("_spread_training", None)

    # ------------------------------------------------------------ answers

    def _judging(self: Any) -> Any:
        """The model that travels to the workers: without names, which blocks do not have, and without the client."""
        model = self.to_local()
        model.__dict__.pop("feature_names_in_", None)
        model.n_jobs = 1
        return model

    def predict(self, X: Any) -> Any:
        """Predict, where the rows are.

        {spread_rows}

        Returns
        -------
        {spread_answers}
        """
        return self._lazy(X, "predict") if self._is_spread(X) else super().predict(X)  # type: ignore[misc]

    # ------------------------------------------------------------ ordinary models

    def save(self, path: Any) -> None:
        """Save the model as an ordinary one: see ``save`` of the local class.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        self.to_local().save(path)

    def to_local(self: Any) -> Any:
        """The same model as an ordinary estimator of this process, which needs no cluster.

        Returns
        -------
        estimator : object
            A fitted estimator of the class of the same name in :mod:`boulevard`. It has no training rows: probabilities must have been
            fitted before (``calibrate=True``, or one call of ``predict_proba``).
        """
        self._need_model()
        given = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        local = self._local_class(**given)
        skipped = ("_spread_training", "client", "cluster_")
        fitted = {name: value for name, value in self.__dict__.items() if name not in given and name not in skipped}
        local.__dict__.update(fitted)
        return local

    def __getstate__(self: Any) -> dict[str, Any]:
        # A client belongs to its process, collections to their cluster.
        state = dict(cast(Any, super().__getstate__()))  # type: ignore[misc]
        state.pop("_spread_training", None)
        if "client" in state:
            state["client"] = None
        return state


@document
class SpreadDeciding:
    """Decision values of rows on a cluster; stands behind the mixin of the engine."""

    def decision_function(self: Any, X: Any) -> Any:
        """Evaluate the decision function, where the rows are.

        {spread_rows}

        Returns
        -------
        {spread_answers}
        """
        return self._lazy(X, "decision_function") if self._is_spread(X) else super().decision_function(X)  # type: ignore[misc]


@document
class SpreadClassifier(SpreadDeciding):
    """The same, and probabilities."""

    def predict_proba(self: Any, X: Any) -> Any:
        """Predict class probabilities, where the rows are.

        They are fitted with the model (``calibrate=True``) or here on first use, on the cluster: five more fits per pair of classes.

        {spread_rows}

        Returns
        -------
        {spread_answers}
        """
        self._ensure_calibrated()
        return self._lazy(X, "predict_proba") if self._is_spread(X) else super().predict_proba(X)  # type: ignore[misc]
