"""The whole trade-off between margin and error in one fit."""

# long: one class; two thirds are the documentation of its parameters and attributes.

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from .. import _core
from .._base import fitting, warn
from .._cache import cache_size as cache_size_of
from .._cache import megabytes
from .._classes import class_names, read_weights
from .._docs import document
from .._files import loads
from .._kernels import describe_kernel, kernel_parameters
from .._limits import Count, Positive, parameters, seed_of
from .._request import Data
from .._typing import CalibrationMethod, Floats, Gamma, Parts, TableLike
from ..svm._kernel_machine import steps_of
from ..svm.classification import SVC, KernelClassifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..plot import FrontDisplay

__all__ = ["ParetoSVC"]

#: The columns of ``front_``.
COLUMNS = ("quadratic", "sum_alpha", "train_error", "holdout_error", "n_support", "equivalent_c", "margin", "gap")
_DTYPE = np.dtype([(name, np.int64 if name == "n_support" else np.float64) for name in COLUMNS])


@loads("pareto")
@document
@parameters
class ParetoSVC(KernelClassifier):
    """Multi-objective support vector classification: every trade-off between margin and error, and a choice among them.

    A front of machines, from the hardest margin to the widest street, is computed in one fit; errors are measured on rows held out;
    one point is picked and predicts. Each point is the support vector machine of some ``C`` and comes with the certificate that it is.
    By default several widths of the kernel are compared first, by coarse fronts on the same hold-outs (``family_``).
    More than two classes: one front per class against the rest, and one common position along all of them.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in :class:`SVC`.
    degree : int, default=3
        As in :class:`SVC`.
    gamma : "auto", "scale", float or list of float, default="auto"
        The kernel's width. "auto" compares 1/64 to 4 times the rule "scale" and takes the one with the lowest estimated hold-out error
        (of a kernel that is not positive semi-definite "scale" itself unless another is better by a standard error);
        a list compares these; "scale" and a number are one width. Without a hold-out and in an evolution "auto" is "scale". (The rule
        that other classes call "auto", one over the number of columns, is ``1 / X.shape[1]`` here.)
    coef0 : float, default=0.0
        As in :class:`SVC`.
    mode : {"hybrid", "exact", "evolve"}, default="hybrid"
        "exact" solves one problem per sum of alphas to the tolerance. "hybrid" does the same and, where the kernel is not positive
        semi-definite, looks for better minima by restarts and mixtures. "evolve" is the evolution of the paper (NSGA-II).
    n_points : int, default=100
        Points of an exact front.
    population_size : int, default=100
        Candidates of an evolution.
    generations : int, default=1000
        Generations of an evolution.
    mutation : {"hybrid", "switching", "gaussian"}, default="hybrid"
        How an evolution mutates: a positive alpha becomes zero and a zero becomes random ("hybrid", the paper's); zeros and ones
        change places ("switching"); normal steps ("gaussian").
    crossover : {"uniform", "arithmetic"}, default="uniform"
        How an evolution recombines: genes are exchanged ("uniform", the paper's), or points on the line through both parents are
        taken ("arithmetic"), which comes much closer to the exact front.
    variant : {"paper", "textbook"}, default="paper"
        NSGA-II as the paper's experiments ran it, or as its authors published it.
    holdout : float, default=0.2
        Share of the rows of every class on which errors are measured; 0 for none.
    holdout_repeats : int, default=5
        Hold-outs over which errors are averaged before a point of an exact front is picked; ``front_`` shows those of the first. Up to
        six times as many of few rows where the kernel is not positive semi-definite.
    bias : {"auto", "none", "objective"}, default="auto"
        Whether machines have an intercept. "objective" makes the balance of both classes a third objective; exact points keep it.
        "auto" means "objective" for exact fronts and "none" for evolutions, as in the paper: without an intercept an indefinite kernel
        may put all rows on one side, and a narrow one gives everything far from the rows to one class.
    pick : {"holdout", "knee", "one-se"} or int, default="holdout"
        The point that predicts: lowest estimated hold-out error (``holdout_estimate_``; the middle one of equals), the knee (the corner
        of the curve of slack against norm, both as logarithms; the lowest estimate where there is none), the largest margin with an
        estimate within one standard error of the lowest, or a row of ``front_``. Without a hold-out the first and third mean the knee.
    refit : bool, default=True
        Whether the picked point of an exact front is solved once more on all rows, the held-out ones too, at the same position.
    tol : float, default=1e-5
        Relative KKT gap of every point of an exact front.
    cache_size : float, default=200
        Megabytes for the kernel matrix, or for its rows where it does not fit.
    max_iter : int, default=-1
        Steps of the solver per point at most; -1 means 200 per row and 100 000.
    calibrate : bool, default=False
        Whether to fit probabilities with the model. Otherwise that happens when ``predict_proba`` is first called.
    calibration : {"auto", "sigmoid", "temperature", "vector"}, default="auto"
        How probabilities of more than two classes are made, as in :class:`SVC`.
    {device}
    {shared}

    Attributes
    ----------
    front_ : ndarray of shape (n_points,), structured
        One row per point, by rising sum of alphas: ``quadratic`` (the squared norm of w at this scale), ``sum_alpha``, ``train_error``,
        ``holdout_error``, ``n_support``, ``equivalent_c`` (the C of the plain machine with the same decisions), ``margin`` (half the
        width of the street), ``gap`` (relative KKT gap; 0 is an optimum). :meth:`front_frame` gives it as a data frame.
    fronts_ : list of ndarray
        The same for every machine's own two-class problem.
    picked_ : int
        The row of ``front_`` that predicts.
    marks_ : dict
        Rows worth a mark: ``lowest`` hold-out error, ``knee``, ``one_se``, and ``parting``, where training and hold-out error part; None
        where there is no such row.
    family_ : list of dict
        One entry per width that was compared, by rising ``gamma``: its coarse ``front`` (as ``front_``), ``estimates`` of the hold-out
        error, their ``lowest``, how many ``holdouts`` were judged, and the ``hypervolume`` (from sum 0 and the largest quadratic term of
        all widths). Empty where there was one width only.
    common_front_ : ndarray, structured
        The points of all widths that no other is better than in both objectives, with their ``gamma``.
    gamma_ : float
        The width of the front, where the kernel has one.
    intercept_used_ : bool
        Whether the machines have an intercept.
    constant_error_ : float
        The error of always answering the most frequent class.
    no_better_than_constant_ : bool
        Whether the point that was picked is estimated to be no better than that; ``fit`` warns then.
    hypervolume_ : float
        The area that the front covers, measured from sum 0 and the quadratic term of all ones.
    holdout_estimate_ : ndarray of shape (n_points,)
        The hold-out errors that picks and marks go by: on exact fronts the mean over ``holdout_repeats`` hold-outs, at the same share of
        the largest sum (the same C where the kernel is not positive semi-definite), and over neighboring points; else the measured ones.
    holdout_rows_ : int
        Rows held out.
    train_rows_ : ndarray
        Rows that the front was computed from.
    {classifier_attributes}
    {support_attributes}
    {fit_attributes}

    See Also
    --------
    SVC : One point of it, for a given C.
    boulevard.plot.FrontDisplay : The two pictures.

    Examples
    --------
    >>> from boulevard import ParetoSVC
    >>> from boulevard.datasets import make_banana
    >>> X, y = make_banana(200, random_state=0)
    >>> clf = ParetoSVC(gamma=1.0, n_points=40).fit(X, y)
    >>> len(clf.front_), bool(clf.front_["gap"].max() < 1e-4)
    (40, True)
    >>> wide = clf.select(-1)
    >>> bool(wide.score(X, y) > 0.7)
    True
    """

    _kind = "pareto"
    # What plain classifiers have as parameters.
    class_weight = None
    decision_function_shape = "ovr"
    break_ties = False
    gamma: Annotated[Gamma | Sequence[float], Interval(Real, 0.0, None, closed="left"), "array-like"] = "auto"  # type: ignore[assignment]
    mode: Literal["hybrid", "exact", "evolve"] = "hybrid"
    n_points: Annotated[int, Interval(Integral, 2, None, closed="left")] = 100
    population_size: Annotated[int, Interval(Integral, 4, None, closed="left")] = 100
    generations: Count = 1000
    mutation: Literal["hybrid", "switching", "gaussian"] = "hybrid"
    crossover: Literal["uniform", "arithmetic"] = "uniform"
    variant: Literal["paper", "textbook"] = "paper"
    holdout: Annotated[float, Interval(Real, 0.0, 1.0, closed="left")] = 0.2
    holdout_repeats: Count = 5
    bias: Literal["auto", "none", "objective"] = "auto"
    pick: Annotated[int | Literal["holdout", "knee", "one-se"], Interval(Integral, 0, None, closed="left")] = "holdout"
    refit: bool = True
    tol: Positive = 1e-5
    calibrate: bool = False
    calibration: CalibrationMethod = "auto"

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the front and pick a point.

        Parameters
        ----------
        {training_or_kernel}
        {labels}
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is the same as having the row twice, in the box of its ``alpha``, in the errors and in the
            hold-outs. An evolution (``mode="evolve"``) takes none.

        {self}
        """
        self._check_parameters()
        original = (X, y)
        X, y = self._read_training(X, y)
        _, codes = self._encode(y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        data = Data(self._table(X), codes, class_names(self.classes_), weights)
        parts, raised = self._run(self._native_learner(self._learner(None)), data, original)
        self.class_weight_ = np.ones(len(self.classes_))
        self._take(parts)
        self._end(parts, raised)
        if self.no_better_than_constant_:
            warn(
                f"The front is no better than a constant: an estimated error of {self.holdout_estimate_[self.picked_]:.3g} where always "
                f"answering the most frequent class has {self.constant_error_:.3g}. Try another kernel or other columns.",
                UserWarning,
            )
        return self

    def _kernel(self) -> Parts:
        if callable(self.kernel):
            return super()._kernel()
        own = self.gamma if np.ndim(self.gamma) == 0 and self.gamma != "auto" else "scale"
        return describe_kernel(self.kernel, {"gamma": own, "degree": self.degree, "coef0": self.coef0})

    def _widths(self) -> str | list[float]:
        """What the native learner compares."""
        if isinstance(self.gamma, str):
            return "auto" if self.gamma == "auto" else "kernel"
        if np.ndim(self.gamma) == 0:
            return "kernel"
        values = np.asarray(self.gamma)
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise ValueError(f"gamma must be 'auto', 'scale', a number or a list of numbers, got {self.gamma!r}")
        if not len(values) or not (np.isfinite(values) & (values > 0)).all():
            raise ValueError(f"a list of values for gamma must hold one at least, all of them finite and above 0, got {self.gamma!r}")
        return [float(value) for value in values]

    def _learner(self, class_weight: Any) -> Parts:
        """Parameters of the native learner."""
        return {
            "kernel": self._kernel(),
            "widths": self._widths(),
            "mode": self.mode,
            "n_points": int(self.n_points),
            "population_size": int(self.population_size),
            "generations": int(self.generations),
            "mutation": self.mutation,
            "crossover": self.crossover,
            "variant": self.variant,
            "holdout": float(self.holdout),
            "holdout_repeats": int(self.holdout_repeats),
            "bias": self.bias,
            "pick": self.pick.replace("-", "_") if isinstance(self.pick, str) else {"index": int(self.pick)},
            "refit": bool(self.refit),
            "tolerance": float(self.tol),
            "cache_megabytes": megabytes(self.cache_size),
            "max_iterations": None if self.max_iter == -1 else int(self.max_iter),
            "calibrate": bool(self.calibrate),
            "calibration": self.calibration,
            "seed": seed_of(self.random_state),
        }

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        pick, widths = given["pick"], given["widths"]
        kernel = kernel_parameters(given["kernel"])
        # A rule among the kernel's parameters is what "auto" asks about.
        width = widths if isinstance(widths, list) else "auto" if widths == "auto" and kernel.get("gamma") == "scale" else None
        return {
            **{name: given[name] for name in cls._get_param_names() if name in given},
            **kernel,
            **({} if width is None else {"gamma": width}),
            "pick": pick["index"] if isinstance(pick, dict) else pick.replace("_", "-"),
            "tol": given["tolerance"],
            "cache_size": cache_size_of(given["cache_megabytes"]),
            "max_iter": steps_of(given["max_iterations"]),
            "random_state": given["seed"],
        }

    def _take(self, parts: Parts) -> None:
        super()._take(parts)
        front = _core.front(self._native)
        self.front_ = _structured(front["table"])
        self.fronts_ = [_structured(columns) for columns in front["machines"]]
        self.hypervolume_ = front["hypervolume"]
        self.picked_ = front["picked"]
        self.marks_ = front["marks"]
        self.holdout_estimate_ = front["estimates"]
        self.holdout_rows_ = front["holdout_rows"]
        self.train_rows_ = front["rows"]
        self._order = front["order"]
        self.family_ = [
            {**own, "front": _structured(own.pop("table")), "lowest": float(np.min(own["estimates"], initial=np.inf))}
            for own in front["family"]
        ]
        common = _structured(front["common"])
        with_width = np.empty(len(common), dtype=[("gamma", np.float64), *_DTYPE.descr])
        with_width["gamma"] = front["common_gamma"]
        for name in COLUMNS:
            with_width[name] = common[name]
        self.common_front_ = with_width
        self.gamma_ = self._gamma if front["width"] is None else self.family_[front["width"]]["gamma"]
        self.intercept_used_ = front["intercept"]
        self.constant_error_ = front["constant_error"]
        self.no_better_than_constant_ = front["no_better"]

    def select(self, index: int) -> SVC:
        """The classifier at one point of the front.

        The one that was picked is the classifier that predicts (with ``refit`` solved again on all rows); all others are as they stand
        on the front, learnt from the rows that were not held out.

        Parameters
        ----------
        index : int
            The row of ``front_``; negative ones count from the end.

        Returns
        -------
        classifier : SVC
            A fitted classifier like any other: it predicts, is saved and loaded, and knows nothing of the front.
        """
        self._need_model()
        place = index + len(self.front_) if index < 0 else index
        if not 0 <= place < len(self.front_):
            raise IndexError(f"the front has {len(self.front_)} points, there is no point {index}")
        c = float(self.front_["equivalent_c"][place])
        point = SVC(
            C=c if np.isfinite(c) and c > 0 else 1.0,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma_ if self.gamma_ else "scale",
            coef0=self.coef0,
            tol=self.tol,
            cache_size=self.cache_size,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        point._adopt(_core.select(self._native, place))
        # What a file cannot say: labels of any type, a kernel function's samples, names, the whole training table.
        for name in ("classes_", "class_weight_", "shape_fit_", "X_fit_", "feature_names_in_"):
            if name in self.__dict__:
                setattr(point, name, self.__dict__[name])
        return point

    def alphas(self, machine: int = 0) -> Floats:
        """The alphas of every point.

        Parameters
        ----------
        machine : int, default=0
            Which machine: the only one of two classes, else one per class.

        Returns
        -------
        alphas : ndarray of shape (n_points, n_train_rows)
            Columns belong to ``train_rows_``.
        """
        self._need_model()
        return _core.front_alphas(self._native, machine)[0]

    def front_frame(self) -> "pd.DataFrame":
        """The front as a pandas data frame, with a column that says what is marked.

        Returns
        -------
        frame : pandas.DataFrame
            One row per point.
        """
        import pandas as pd

        self._need_model()
        frame = pd.DataFrame({name: self.front_[name] for name in COLUMNS})
        marks = [""] * len(frame)
        for name, place in [*self.marks_.items(), ("picked", self.picked_)]:
            if place is not None:
                marks[place] = f"{marks[place]} {name}".strip()
        frame["mark"] = marks
        return frame

    def plot(self, *, ax: "Sequence[Axes] | None" = None, exact: "ParetoSVC | None" = None, **kwargs: Any) -> "FrontDisplay":
        """Draw the paper's two pictures side by side: the front, and both errors along it.

        Parameters
        ----------
        ax : sequence of two matplotlib axes, default=None
            Where to draw.
        exact : ParetoSVC, default=None
            Another fit on the same rows to draw beside this one, as the exact front beside an evolved one; its hypervolume is what the
            share in the legend refers to.
        **kwargs
            For :meth:`boulevard.plot.FrontDisplay.plot`.

        Returns
        -------
        display : FrontDisplay
            The pictures with their data.
        """
        from ..plot import FrontDisplay

        return FrontDisplay.from_estimator(self, ax=ax, exact=exact, **kwargs)


def _structured(columns: Parts) -> NDArray[np.void]:
    table = np.empty(len(columns["sum_alpha"]), dtype=_DTYPE)
    for name in COLUMNS:
        table[name] = columns[name]
    return table
