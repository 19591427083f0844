"""What all estimators share: parameters, input, the calls into the native part, pickling and files.

A new estimator declares its parameters (``@parameters``), builds them as JSON, calls :meth:`NativeEstimator._run`, and sets its fitted
attributes in ``_take``; ``_constructor`` reads the parameters back from a file, and :func:`boulevard._files.loads` names the kind.
"""

# long: the one class that all estimators are; its parts read each other's attributes.

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _html, _notes, _progress
from ._limits import SharedParameters, count_threads
from ._pictures import Pictures
from ._request import Data, Limits, Tasks
from ._typing import Parts, Table
from .exceptions import DataError

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin, which the installed version does not have."""

    def with_callbacks(method: Any) -> Any:
        """Changes nothing."""
        return method


__all__ = ["NativeEstimator", "aligned", "fitting", "warn"]

#: What the library says of small fits and of models that no dual solver made.
FEW_ROWS = "pair steps: few rows"
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_CSR = (sp.csr_matrix, sp.csr_array)
_PLAIN = frozenset((float, int, str, bool, type(None)))
# Parameters are plain trees: without the search for cycles the text of a small fit is ready in two thirds of the time.
_to_json = json.JSONEncoder(check_circular=False).encode
#: What is known of a valid combination of parameters: its native learner, where nothing else is in that.
Known = dict[str, _core.Learner]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def fitting(method: _Method) -> _Method:
    """Marks a ``fit``: callbacks are set up around it, and Ctrl-C before there is a model leaves an estimator that says so."""
    managed = with_callbacks(method)

    @functools.wraps(method)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.get("_native")
        # Where nobody listens, the frame around it would cost as much as reading a small table.
        work = managed if "_skl_callbacks" in self.__dict__ else method
        try:
            return work(self, *args, **kwargs)
        except KeyboardInterrupt:
            if self.__dict__.get("_native") is before:
                # What stands beside a former model may already belong to the new fit: better no model than a mixed one.
                self.__dict__.pop("_native", None)
                self.fit_status_ = 3
            raise

    return cast(_Method, fit)


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the line of the user's own code: the first outside this package and scikit-learn's callbacks."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("boulevard.", "sklearn.callback")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def aligned(array: Any) -> Any:
    """The array itself, or a copy where its numbers do not start at addresses that processors like (views of raw bytes)."""
    return array if array.flags.aligned else array.copy()


def _frozen(values: Any) -> tuple[Any, ...] | None:
    """A key for plain values, or lists and dictionaries of them, that tells 1 from 1.0 and True; None where something else is inside."""
    parts = []
    for value in values:
        kind = type(value)
        if kind not in _PLAIN:
            if kind in (list, tuple):
                value = _frozen(value)
            elif kind is dict:
                value = _frozen([*value.keys(), *value.values()])
            else:
                return None
            if value is None:
                return None
        parts.append((kind, value))
    return tuple(parts)


def _first_hole(X: Any) -> str:
    """Where the first missing value of a table is; nothing where the table is of no kind that can be looked through."""
    found: list[Any]
    if sp.issparse(X):
        places = X.tocoo()
        holes = np.flatnonzero(np.isnan(places.data))
        found = sorted(zip(places.row[holes].tolist(), places.col[holes].tolist(), strict=True))
    else:
        try:
            found = np.argwhere(np.isnan(np.asarray(X, dtype=float))).tolist()
        except (TypeError, ValueError):  # texts, or the holes of a kind of table that numpy has no number for
            return ""
    if not found or len(found[0]) != 2:
        return ""
    row, column = found[0]
    names = getattr(X, "columns", None)
    name = "" if names is None else f" ({names[column]!r})"
    return f"The first of {len(found)} is in row {row}, column {column}{name}, both counted from 0. "


class NativeEstimator(CallbackSupportMixin, SharedParameters, BaseEstimator):
    """Base of all estimators: the native model is in ``_native``, which is never replaced except by ``fit``."""

    # The parameters are those of the class it stands in for; its page explains them.
    _doc_link_module = "boulevard"
    _doc_link_template = "https://scikit-learn.org/stable/modules/generated/sklearn.svm.{estimator_name}.html"
    _valid_parameters: ClassVar[tuple[Callable[[Any], tuple[Any, ...]], dict[Any, Known]] | None] = None
    _kind: ClassVar[str]
    _target_kinds: ClassVar[str] = "biuf"
    #: Whether probabilities are fitted on first use, so that the data must be kept until then.
    _fits_probabilities: ClassVar[bool] = False
    #: Attributes that files keep as they are, because the native part has them in another form.
    _noted: ClassVar[tuple[str, ...]] = ()
    tol: float
    max_iter: int
    _native: _core.Model
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    objective_: float
    dual_gap_: float
    fit_time_: float
    fit_status_: int
    scaling_: Parts
    imputation_: Parts

    # ------------------------------------------------------------ parameters

    def _check_parameters(self) -> Known:
        """Validates the parameters with scikit-learn's words; a combination that was found valid before is not looked at again.

        Returns what is known of the combination, for whoever finds out more.
        """
        cls = type(self)
        if "_valid_parameters" not in cls.__dict__:
            cls._valid_parameters = (attrgetter(*cls._get_param_names()), {})
        assert cls._valid_parameters is not None
        values_of, seen = cls._valid_parameters
        values = values_of(self)
        kinds = tuple(map(type, values))
        # Plain values beside their types tell 1 from 1.0 and True as :func:`_frozen` does, in half the time.
        key = (values, kinds) if _PLAIN.issuperset(kinds) else _frozen(values)
        known = seen.get(key)
        if known is not None:
            return known
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()
        known = {}
        if key is not None and len(seen) < 10_000:
            seen[key] = known
        return known

    # ------------------------------------------------------------ input

    def _read(self, X: Any, y: Any = None, *, reset: bool, needs_y: bool = False) -> tuple[Any, Any]:
        """The table in a form the native part borrows, and y.

        What is ready is passed on after a look at its type; everything else goes through scikit-learn's ``validate_data``.
        """
        if not reset and type(X) is not np.ndarray:
            ready = self._ready(X)
            if ready is not None:
                return ready, y
        elif self._is_plain(X):
            if not reset:
                if X.shape[1] == self.n_features_in_ and "feature_names_in_" not in self.__dict__:
                    return X, y
            elif not needs_y or (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in self._target_kinds and len(y) == X.shape[0]):
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
                return X, y
        return self._read_anything(X, y, reset=reset, needs_y=needs_y)

    @staticmethod
    def _is_plain(X: Any) -> bool:
        """Whether a table is an array or a CSR matrix as the native part takes it; the numbers in it are looked at there."""
        if type(X) is np.ndarray:
            form = X.ndim == 2 and X.dtype in _FLOATS and X.flags.c_contiguous and X.flags.aligned
        else:
            form = type(X) in _CSR and X.ndim == 2 and X.data.dtype in _FLOATS
        return form and X.shape[0] > 0 and X.shape[1] > 0

    def _ready(self, X: Any) -> Any:
        """A CSR matrix as it is, or the numbers of a list of rows, where that is all there is to say about them; None otherwise."""
        if "feature_names_in_" in self.__dict__:
            return None
        if type(X) in _CSR:
            if X.ndim != 2 or X.data.dtype not in _FLOATS:
                return None
            table = X
        elif type(X) is list:
            try:
                table = np.array(X)
            except (ValueError, TypeError):
                return None
            if table.dtype.kind not in "fiu" or table.ndim != 2:
                return None
            table = table.astype(np.float64, copy=False)
        else:
            return None
        return table if table.shape[0] > 0 and table.shape[1] == self.n_features_in_ else None

    def _read_anything(self, X: Any, y: Any, *, reset: bool, needs_y: bool) -> tuple[Any, Any]:
        dtype = [np.float64, np.float32]
        options = {"accept_sparse": "csr", "dtype": dtype, "order": "C", "accept_large_sparse": True, "reset": reset}
        if not reset and "imputation_" in self.__dict__:
            options["ensure_all_finite"] = "allow-nan"
        try:
            if needs_y:
                X, y = validate_data(self, X, y, **options)
            else:
                X = validate_data(self, X, **options)
        except ValueError as error:
            if str(error).startswith("Input X contains NaN"):
                raise ValueError(f"{error}\n{_first_hole(X)}{self._holes()}") from None
            raise
        return X if sp.issparse(X) else aligned(X), y

    def _holes(self) -> str:
        """What to do about missing values."""
        return (
            f"In a pipeline: make_pipeline(SimpleImputer(strategy='median'), {type(self).__name__}()), with SimpleImputer from "
            "sklearn.impute; or leave out the rows that have them."
        )

    def _read_training(self, X: Any, y: Any, needs_y: bool = True) -> tuple[Any, Any]:
        """Training table and targets."""
        if needs_y and y is None:
            self._read_anything(X, y, reset=True, needs_y=True)  # says that y is missing
        return self._read(X, y, reset=True, needs_y=needs_y)

    def _read_new(self, X: Any) -> Table:
        """A table to judge."""
        self._need_model()
        return self._table(self._read(X, reset=False)[0])

    def _read_again(self, X: Any, y: Any = None, *, reset: bool) -> None:
        """After a complaint of the native part: the quick look at ready arrays left faults to it that scikit-learn has words for."""
        if not callable(getattr(self, "kernel", None)):
            self._read_anything(X, y, reset=reset, needs_y=y is not None)

    @staticmethod
    def _table(X: Any) -> Table:
        """What the native part takes: the array, or the parts of a CSR matrix."""
        if type(X) is np.ndarray:
            return X
        if sp.issparse(X):
            return (aligned(X.indptr), aligned(X.indices), aligned(X.data), X.shape[1])
        return np.asarray(X)

    # ------------------------------------------------------------ fitting

    def _native_learner(self, parameters: Parts) -> _core.Learner:
        return _core.Learner(self._kind, _to_json(parameters))

    def _run(self, learner: _core.Learner, data: Data | Tasks, original: tuple[Any, Any]) -> tuple[Parts, BaseException | None]:
        """Fits and stores the model and what all fits report; returns its parts and what stopped the fit.

        The data are kept (references, no copies) where the model has no probabilities yet and the class fits them when asked.
        """
        listener = self._listener(original)
        self.__dict__.pop("_training", None)
        self.__dict__.pop("scaling_", None)
        self.__dict__.pop("imputation_", None)
        if "feature_names_in_" in self.__dict__:
            data = data._replace(features=self._feature_names())
        try:
            limits = Limits(count_threads(self.n_jobs), self.max_time, self.memory_limit, getattr(self, "device", "auto"), listener)
            model, raised = _core.fit(learner, data, limits)
        except DataError:
            self._read_again(*original, reset=True)
            raise
        parts = self._keep(model, listener)
        if self._fits_probabilities and not model.calibrated:
            # A plain tuple, so that pickles need no class of ours.
            self._training = tuple(data)
        return parts, raised

    def _feature_names(self) -> list[str] | None:
        return self.feature_names_in_.tolist() if "feature_names_in_" in self.__dict__ else None

    def _listener(self, original: tuple[Any, Any]) -> _progress.Several | None:
        """Who is told about progress, if anybody."""
        listeners: list[_progress.Listener] = []
        if self.verbose:
            listeners.append(_progress.Line(type(self).__name__))
        if "_skl_callbacks" in self.__dict__:
            listeners.append(_progress.Callbacks(self, *original))
        return _progress.Several(listeners) if listeners else None

    def _keep(self, model: _core.Model, listener: _progress.Several | None = None) -> Parts:
        """Stores a fitted model and what all fits report; returns its parts."""
        parts = model.parts()
        self._native = model
        self.objective_ = parts["objective"]
        self.dual_gap_ = parts["gap"]
        self.fit_time_ = parts["seconds"]
        self.fit_status_ = parts["status"]
        if "solver" in parts:
            self.solver_ = parts["solver"]
        if listener is not None:
            steps = parts["iterations"]
            # Of small fits, and of models that no dual solver made, there is nothing to say.
            way = None if parts.get("solver", FEW_ROWS) == FEW_ROWS else parts["solver"]
            listener.finish(parts["status"], int(np.sum(steps)), parts["gap"], way)
        return parts

    def _take(self, parts: Parts) -> None:
        """Sets the fitted attributes from the model's parts."""
        raise NotImplementedError

    def _end(self, parts: Parts, raised: BaseException | None) -> None:
        """Warns or raises if the fit did not come to its end."""
        if raised is not None:
            raise raised
        status = self.fit_status_
        if status == 0:
            return
        if status == 1:
            reason, cure = self._limit()
        elif status == 2:
            reason, cure = f"max_time={self.max_time}", "raise max_time"
        elif status == 4:
            reason, cure = "stuck at rounding: tol asks for more digits than there are", "raise tol"
        else:
            reason, cure = "stopped by a callback", "let it go on"
        warn(
            f"Solver terminated early ({reason}).  Consider pre-processing your data with StandardScaler or MinMaxScaler, or {cure}. "
            f"The relative duality gap is {parts['gap']:.3g}, the KKT violation {parts['violation']:.3g} (tol={self.tol:g}).",
            ConvergenceWarning,
        )

    def _limit(self) -> tuple[str, str]:
        """What ended a fit of status 1, and the cure."""
        if self.max_iter == -1:
            return "steps crept past all that such problems take", "lower C, raise tol or set max_iter"
        return f"max_iter={self.max_iter}", "raise max_iter"

    # ------------------------------------------------------------ judging

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; attributes alone may be left from a fit that was interrupted before its solver started."""
        return "_native" in self.__dict__

    def _need_model(self) -> None:
        if "_native" not in self.__dict__:
            check_is_fitted(self)

    def _judge(self, what: str | Callable[..., Any], X: Any, *arguments: Any) -> Any:
        """Calls a method of the native model, by name, or a function of it, with the table, other arguments, and threads."""
        table = self._read_new(X)
        call = getattr(self._native, what) if isinstance(what, str) else functools.partial(what, self._native)
        try:
            return call(table, *arguments, count_threads(self.n_jobs))
        except DataError:
            self._read_again(X, reset=False)
            raise

    # ------------------------------------------------------------ pickling and files

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_native" in state:
            if state["_native"].calibrated:
                # Probabilities are there: nothing more will be learnt from the training data.
                state.pop("_training", None)
            state["_native"] = bytes(state["_native"].to_bytes())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if isinstance(state.get("_native"), bytes | bytearray):
            state["_native"] = _core.Model.from_bytes(bytes(state["_native"]))
        super().__setstate__(state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model in boulevard's own format.

        The file holds plain arrays and a JSON header, no code: it is safe to load, and the command line and the Rust library read it
        too. :func:`boulevard.load` reads it back, with all parameters; only kernel functions and ``RandomState`` instances are lost.

        Parameters
        ----------
        path : str or path-like
            The file to write; one that is there already is replaced in one step.
        """
        self._need_model()
        self._native.save(os.fspath(path), _notes.write(self))

    def pictures(self) -> Pictures:
        """Describe pictures of what the model learnt, as the program's reports and its page draw them.

        Returns
        -------
        list of dict
            Per picture ``id``, ``title``, ``sentence`` (what to see in it), the axes ``x`` and ``y`` (label, unit, scale) and ``layers``
            (mark, name, role, columns). Pictures that need the training rows are left out. Plain data: draw it with what you like; a
            notebook draws the list itself.
        """
        self._need_model()
        return Pictures(json.loads(self._native.pictures()))

    def describe(self) -> str:
        """Describe the fitted model in words, the same as ``boulevard inspect`` prints.

        Returns
        -------
        text : str
            A fact per line: what it is, its parameters, classes, support vectors and features, and how the fit went.
        """
        self._need_model()
        return self._native.describe()

    @property
    def chosen_because_(self) -> str | None:
        """What was left open, how it was settled and why, and which argument overrides it; None where nothing was left open."""
        self._need_model()
        return dict(self._native.facts()).get("chosen")

    def freeze(self) -> _core.FrozenModel:
        """Make a predictor for one row at a time, for services where microseconds count.

        The result knows nothing of scikit-learn: ``predict(row)`` and ``decision_function(row)`` take one row, a 1-D array of float64 or
        a list of numbers, and give one answer, in a tenth of the time that ``predict`` needs for a table of one row: a kernel machine keeps
        its support vectors once more, in the order in which they are read. Names of features
        are not looked at. It can be pickled, and it stays as it is when the estimator is fitted again.

        Returns
        -------
        frozen : FrozenModel
            ``predict`` gives a class label (a number, or 1 and -1, for other machines), ``decision_function`` one value, or one per
            class where there are more than two.

        Examples
        --------
        >>> from boulevard import SVC
        >>> frozen = SVC().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]).freeze()
        >>> str(frozen.predict([3.5]))
        'high'
        """
        self._need_model()
        if callable(getattr(self, "kernel", None)):
            raise DataError(f"A {type(self).__name__} with a kernel function cannot be frozen: use one of the named kernels.")
        classes = getattr(self, "classes_", None)
        labels = list(classes) if isinstance(classes, np.ndarray) and classes.ndim == 1 else []
        return _core.FrozenModel(bytes(self._native.to_bytes()), labels)

    # ------------------------------------------------------------ notebooks

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + _html.summary(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += _html.summary(self)
        return bundle

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        """Whether a model of the class's kind is one of the class's own; for classes that share a kind."""
        return True

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        """The parameters of ``__init__`` from those of the native learner."""
        raise NotImplementedError

    @classmethod
    def _from_native(cls, model: _core.Model) -> Self:
        """An estimator around a model from a file."""
        noted = _notes.Note(model).parameters
        own = {name: noted[name] for name in cls._get_param_names() if name in noted}
        estimator = cls(**{**cls._constructor(json.loads(model.parameters)), **own})
        estimator._adopt(model)
        return estimator

    def _adopt(self, model: _core.Model) -> None:
        """Sets what ``fit`` sets, from a native model."""
        parts = self._keep(model)
        self.n_features_in_ = parts["features"]
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        if model.scaling is not None:
            self.scaling_ = json.loads(model.scaling)
        if model.missing is not None:
            self.imputation_ = json.loads(model.missing)
        self._prepare(model, parts)
        self._recall(_notes.Note(model).attributes)
        self._take(parts)

    def _recall(self, attributes: Parts) -> None:
        """Sets attributes to what the file's note says."""
        for name in self._noted:
            if name in attributes:
                setattr(self, name, attributes[name])

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        """Sets what ``fit`` sets before there is a model: classes, shapes."""
