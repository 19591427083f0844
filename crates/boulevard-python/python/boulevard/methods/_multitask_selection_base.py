"""What the selecting classifier and regressor share: tables of tasks, fitting, fitted attributes, decisions by task."""

import json
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .. import _core
from .._base import NativeEstimator, aligned, fitting, warn
from .._classes import read_weights
from .._docs import document
from .._exports import LinearExports
from .._kernels import describe_base_kernel
from .._limits import Count, NotNegative, Positive, Share, parameters, plain
from .._request import Tasks
from .._typing import Floats, Parts, TablesLike

#: Base kernels where none are given: a line, two curves, a bump.
DEFAULT_KERNELS: list[tuple[str, dict[str, Any]]] = [
    ("linear", {}),
    ("poly", {"degree": 2, "coef0": 1.0}),
    ("poly", {"degree": 3, "coef0": 1.0}),
    ("rbf", {"gamma": "scale"}),
]


#: Parameters with the same name and value in the native learner.
_SAME = "select normalize_kernels ln_rho bias bias_variance share threshold".split()


def is_tasks(X: Any) -> bool:
    """Whether X is a list of tables, one per task."""
    if not isinstance(X, list | tuple) or len(X) == 0:
        return False
    return all(sp.issparse(x) or (hasattr(x, "ndim") and x.ndim == 2) or (not hasattr(x, "ndim") and np.ndim(x) == 2) for x in X)


def _columns(y: Any) -> int | None:
    """Number of columns of a two-dimensional target, None for a plain one."""
    if not hasattr(y, "ndim"):
        y = np.asarray(y)
    return y.shape[1] if y.ndim == 2 else None


@document
@parameters
class SelectingEstimator(SelectorMixin, LinearExports, NativeEstimator):
    """What the classifier and the regressor share."""

    _kind = "multitask_selection"
    _doc_link_template = "https://docs.rs/boulevard"
    select: Literal["features", "kernels"] = "features"
    kernels: Annotated[Sequence[str | tuple[str, dict[str, Any]]] | None, list, tuple] = None
    normalize_kernels: bool = True
    rho: Share | Literal["auto"] = "auto"
    ln_rho: Annotated[float | None, Interval(Real, -700.0, 0.0, closed="both")] = None
    c: Positive | Literal["auto"] = "auto"
    standardize: Literal["auto"] | bool = "auto"
    keep: Count | Literal["auto", "all"] = "auto"
    bias: Literal["gaussian", "flat"] = "gaussian"
    bias_variance: Positive = 1.0
    share: bool = True
    threshold: NotNegative = 0.0
    tol: Positive = 1e-6
    max_iter: Count = 1000

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    # ------------------------------------------------------------ parameters

    def _learner(self) -> Parts:
        """Parameters of the native learner."""
        kernels = []
        if self.select == "kernels":
            entries = DEFAULT_KERNELS if self.kernels is None else self.kernels
            if len(entries) == 0:
                raise ValueError("kernels must name at least one base kernel, got an empty list")
            kernels = [describe_base_kernel(entry) for entry in entries]
        return {
            **{name: plain(getattr(self, name)) for name in _SAME},
            "kernels": kernels,
            "rho": None if self.rho == "auto" else float(self.rho),
            "c": None if self.c == "auto" else float(self.c),
            "standardize": None if isinstance(self.standardize, str) else bool(self.standardize),
            "keep": self.keep if isinstance(self.keep, str) else {"exactly": int(self.keep)},
            "tolerance": float(self.tol),
            "max_iterations": int(self.max_iter),
        }

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {
            **{name: given[name] for name in _SAME},
            **{name: "auto" if given[name] is None else given[name] for name in ("rho", "c", "standardize")},
            "keep": given["keep"] if isinstance(given["keep"], str) else given["keep"]["exactly"],
            "kernels": [(k["type"], {n: v for n, v in k.items() if n != "type"}) for k in given["kernels"]] or None,
            "tol": given["tolerance"],
            "max_iter": given["max_iterations"] or 1000,
        }

    @staticmethod
    def _classes_in(model: _core.Model) -> list[str] | None:
        """Names of the classes in a file: the two of 0/1 outputs; None for numbers."""
        outputs = json.loads(model.parts()["outputs"])
        if "labels" in outputs:
            return ["0", "1"]
        found: list[str] | None = outputs.get("classes") or (outputs.get("tasks") or {}).get("classes")
        return found

    # ------------------------------------------------------------ input

    def _read_tasks(self, X: Any, y: Any, sample_weight: Any = None) -> Tasks:
        """Tables, targets and outputs for the native part."""
        tasks = self._read_targets(X, y)
        if sample_weight is None:
            return tasks
        own = is_tasks(X)
        if own and (not isinstance(sample_weight, list | tuple) or len(sample_weight) != len(tasks.tables)):
            raise ValueError(f"X is a list of {len(tasks.tables)} tables, so sample_weight must be a list of as many arrays")
        given = sample_weight if own else [sample_weight]
        rows = {table: len(target) for table, target in tasks.targets}
        weights = [read_weights(weight, np.empty((rows[table], 0))) for table, weight in enumerate(given)]
        return tasks._replace(weights=cast(Any, weights))

    def _read_targets(self, X: Any, y: Any) -> Tasks:
        if is_tasks(X):
            return self._task_tables(X, y)
        if y is None:
            self._read_anything(X, y, reset=True, needs_y=True)
        columns = _columns(y)
        if columns is not None and columns != 1:
            X, _ = self._read_anything(X, None, reset=True, needs_y=False)
            check_consistent_length(X, y)
            targets, outputs = self._many_targets(y)
        else:
            X, y = self._read(X, y, reset=True, needs_y=True)
            targets, outputs = self._one_target(column_or_1d(y, warn=True))
        return Tasks([self._table(X)], [(0, y) for y in targets], json.dumps(outputs))

    def _task_tables(self, X: Any, y: Any) -> Tasks:
        if not isinstance(y, list | tuple) or len(y) != len(X):
            found = len(y) if isinstance(y, list | tuple) else type(y).__name__
            raise ValueError(f"X is a list of {len(X)} tables, so y must be a list of {len(X)} targets, got {found}")
        tables, columns = [], []
        for task, (x, target) in enumerate(zip(X, y, strict=True)):
            if task == 0:
                x, _ = self._read_anything(x, None, reset=True, needs_y=False)
            else:
                x = check_array(x, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name=f"X[{task}]")
            if x.shape[1] != self.n_features_in_:
                raise ValueError(f"task {task} has {x.shape[1]} features, but task 0 has {self.n_features_in_}")
            target = column_or_1d(target, warn=True)
            if len(target) != x.shape[0]:
                raise ValueError(f"task {task} has {x.shape[0]} rows but {len(target)} targets")
            tables.append(self._table(x if sp.issparse(x) else aligned(x)))
            columns.append(target)
        targets, outputs = self._task_targets(columns)
        return Tasks(tables, list(enumerate(targets)), json.dumps(outputs))

    # ------------------------------------------------------------ fitting

    def _one_target(self, y: Any) -> tuple[list[Floats], Parts]:
        """Targets of all tasks and what they are, for one target."""
        raise NotImplementedError

    def _many_targets(self, Y: Any) -> tuple[list[Floats], Parts]:
        """The same for several outputs on the same rows."""
        raise NotImplementedError

    def _task_targets(self, columns: list[Any]) -> tuple[list[Floats], Parts]:
        """The same for tasks with rows of their own."""
        raise NotImplementedError

    # ------------------------------------------------------------ fitting

    @fitting
    def fit(self, X: TablesLike, y: ArrayLike | list[ArrayLike], sample_weight: ArrayLike | list[ArrayLike] | None = None) -> Self:
        """Fit all tasks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            Training samples; a list holds one table per task.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or a list of arrays
            Targets. Several columns are several tasks on the same rows; a list holds one target per task. More than two classes become one
            task per class against the rest.
        sample_weight : array-like of shape (n_samples,), or a list of them, default=None
            What every row counts: a weight of 2 is the same as the row twice.

        {self}
        """
        self._check_parameters()
        parameters = self._learner()
        tasks = self._read_tasks(X, y, sample_weight)
        parts, raised = self._run(self._native_learner(parameters), tasks, (X, y))
        self._take(parts)
        for note in self._native.notes:
            warn(note, UserWarning)
        self._end(parts, raised)
        return self

    def _read_again(self, X: Any, y: Any = None, *, reset: bool) -> None:
        if not is_tasks(X):
            super()._read_again(X, reset=reset)

    def _take(self, parts: Parts) -> None:
        switches = parts["switches"]
        self.switches_ = switches[0] if len(switches) == 1 else switches
        self.intercept_ = parts["intercepts"]
        self._weights = parts["weights"]
        self._outputs = json.loads(parts["outputs"])
        self.group_names_ = parts["groups"]
        self.n_iter_ = parts["iterations"]
        self.choice_ = json.loads(parts["choice"])
        self._selected = np.array(parts["selected"], dtype=bool)
        coefficients = parts["coefficients"]
        if "tasks" in self._outputs:
            self.lambda_: Any = [self._multipliers(c) for c in coefficients]
        else:
            table = np.vstack([self._multipliers(c) for c in coefficients])
            self.lambda_ = table[0] if len(table) == 1 else table

    # ------------------------------------------------------------ the selector

    def _get_support_mask(self) -> NDArray[np.bool_]:
        self._need_model()
        if self._weights is None:
            raise ValueError('with select="kernels" no feature is selected: see kernel_weights_')
        return self._selected

    def transform(self, X: TablesLike) -> Any:
        """The selected features of a table, or of every table of a list.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
            Samples.

        Returns
        -------
        selected : ndarray or sparse matrix of shape (n_samples, n_selected), or a list of them
            The columns that ``get_support`` marks.
        """
        if is_tasks(X):
            return [super(SelectingEstimator, self).transform(x) for x in cast(Any, X)]
        return super().transform(X)

    @property
    def selection_frequencies_(self) -> Floats:
        """How often each feature was kept over the folds in which the set was chosen; NaN where none were held out or all were kept."""
        self._need_model()
        found = (self.choice_ or {}).get("frequencies") or []
        return np.array(found) if found else np.full(len(self.group_names_), np.nan)

    @property
    def coef_(self) -> Floats:
        """Weights of the features in every task, with ``select="features"`` only: ndarray of shape (n_tasks, n_features)."""
        self._need_model()
        if self._weights is None:
            raise AttributeError('coef_ is only available with select="features"')
        return self._weights

    @property
    def kernel_weights_(self) -> Floats:
        """Weights of the base kernels, with ``select="kernels"`` only: their switches, those at or below ``threshold`` set to zero."""
        self._need_model()
        if self._weights is not None:
            raise AttributeError('kernel_weights_ is only available with select="kernels"')
        return np.where(self.switches_ > self.threshold, self.switches_, 0.0)

    @property
    def n_tasks_(self) -> int:
        """Number of tasks."""
        self._need_model()
        return len(self.intercept_)

    # ------------------------------------------------------------ decisions

    @staticmethod
    def _multipliers(coefficients: Floats) -> Floats:
        """What ``lambda_`` shows of a task's coefficients."""
        return coefficients

    def _decide(self, X: Any, task: int | None) -> Floats:
        """Decision values: (n_samples, n_tasks), or of one task (n_samples,)."""
        return self._judge("decisions", X) if task is None else self._judge("task_decisions", X, int(task))

    def _by_task(self, X: Any, task: int | None, judge: Callable[[Any, int], Any]) -> Any:
        """Applies ``judge(table, task)`` to one task's rows, or to every table of a list; None where all tasks are asked at once."""
        own, tasks = "tasks" in self._outputs, len(self.intercept_)
        if is_tasks(X):
            if not own:
                raise ValueError("this model was not fitted on a list of tasks: predict one table")
            if len(X) != tasks:
                raise ValueError(f"the model has {tasks} tasks, got a list of {len(X)} tables")
            return [judge(x, t) for t, x in enumerate(X)]
        if task is None and own:
            if tasks > 1:
                raise ValueError(f"the model has {tasks} tasks: predict a list of tables, or say which with task=")
            task = 0
        if task is not None:
            if not (isinstance(task, Integral) and 0 <= task < tasks):
                raise ValueError(f"task must be a number from 0 to {tasks - 1}, got {task!r}")
            return judge(X, int(task))
        return None
