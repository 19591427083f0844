"""The classifiers of ``sklearn.svm`` on boulevard's solver."""

import json
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot

from .. import _core
from .._base import fitting, warn
from .._classes import ProbabilityMixin, class_names, given_weights, read_weights
from .._docs import document
from .._files import loads
from .._limits import Price, Share, parameters, seed_of
from .._request import Data
from .._typing import CalibrationMethod, ClassWeight, Floats, Labels, Parts, TableLike
from ._kernel_machine import HUGE, KernelEstimator

__all__ = ["SVC", "NuSVC"]


@document
class KernelClassifier(ClassifierMixin, ProbabilityMixin, KernelEstimator):
    """Classifiers of one kernel machine per pair of classes."""

    _kind = "svc"
    _target_kinds = "biufU"
    calibrate: bool
    calibration: CalibrationMethod
    decision_function_shape: Literal["ovr", "ovo"]
    break_ties: bool

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        {training_or_kernel}
        {labels}
        {sample_weight}

        {self}
        """
        known = self._check_parameters()
        if getattr(self, "probability", "deprecated") != "deprecated":
            warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9 and will be removed in 1.11. Here predict_proba works "
                "without it; calibrate=True fits the probabilities with the model.",
                FutureWarning,
            )
        original = (X, y)
        X, y = self._read_training(X, y)
        labels, codes = self._encode(y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        self.class_weight_, class_weight = self._class_weights(labels, weights)
        # Factors of classes depend on the labels.
        known = known if self.class_weight is None else {}
        data = Data(self._table(X), codes, class_names(self.classes_), weights)
        self._fit_machine(known, lambda: self._learner(class_weight), data, original)
        return self

    def _learner(self, class_weight: Any) -> Parts:
        """The native learner's parameters, kernel and solver apart."""
        return {
            "penalty": self._penalty(),
            "class_weight": class_weight,
            "calibrate": bool(self.calibrate) or getattr(self, "probability", None) is True,
            "calibration": self.calibration,
            "seed": seed_of(self.random_state),
        }

    def _penalty(self) -> Parts:
        raise NotImplementedError

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {
            **super()._constructor(given),
            "class_weight": given_weights(given["class_weight"]),
            "calibrate": given["calibrate"],
            # Methods that always use plain sigmoids have no such parameter.
            **({"calibration": given["calibration"]} if "calibration" in given else {}),
            "random_state": given["seed"],
        }

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        super()._prepare(model, parts)
        self.class_weight_ = self._given_factors(model)

    def _take(self, parts: Parts) -> None:
        super()._take(parts)
        self.__dict__.pop("_lent_counts", None)
        if len(self.classes_) == 2:
            # The native machine is positive for the first class, scikit-learn's attributes for the second.
            self.intercept_ = -self.intercept_
            self.dual_coef_ = -self.dual_coef_

    def decision_function(self, X: TableLike) -> Floats:
        """Evaluate the decision function.

        {samples_or_kernel}

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Two classes: one value, positive for ``classes_[1]``. More: one column per class (``"ovr"``: votes plus a confidence that
            breaks ties; the largest is the prediction) or per pair of classes (``"ovo"``, positive for the first).
        """
        self._need_model()
        pairs = self.decision_function_shape == "ovo" and len(self.classes_) > 2
        values: Floats = self._judge("raw" if pairs else "decisions", X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: TableLike) -> Labels:
        """Predict class labels.

        {samples_or_kernel}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class with the most votes of the pairwise machines; ties go to the larger sum of confidences.
        """
        self._need_model()
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if "_lent_counts" in self.__dict__:
            self._check_counts()
        return self.classes_.take(self._judge("codes", X))

    # scikit-learn's private attributes that other people's programs touch.

    @property
    def _n_support(self) -> NDArray[np.int32]:
        lent: NDArray[np.int32] = self.__dict__.setdefault("_lent_counts", self.n_support_.copy())
        return lent

    def _check_counts(self) -> None:
        """Who alters the counts expects that they are used: nothing here reads them, so say that they are wrong."""
        if not np.array_equal(self.__dict__["_lent_counts"], self.n_support_):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    @property
    def _dual_coef_(self) -> Any:
        return -self.dual_coef_ if len(self.classes_) == 2 else self.dual_coef_

    @_dual_coef_.setter
    def _dual_coef_(self, value: Any) -> None:
        dense = value.toarray() if sp.issparse(value) else value
        self._native = self._native.with_coefficients(np.require(dense, dtype=np.float64, requirements="C"))
        self.dual_coef_ = -value if len(self.classes_) == 2 else value

    @property
    def probA_(self) -> Floats:
        """Slopes of the fitted sigmoids, one per pair of classes; empty before probabilities are fitted."""
        return self._sigmoids(0, "probA_")

    @property
    def probB_(self) -> Floats:
        """Shifts of the fitted sigmoids, one per pair of classes; empty before probabilities are fitted."""
        return self._sigmoids(1, "probB_")

    def _sigmoids(self, which: int, name: str) -> Floats:
        warn(f"Attribute `{name}` was deprecated in scikit-learn 1.9 and will be removed in 1.11.", FutureWarning)
        self._need_model()
        sigmoids = self._native.sigmoids
        return np.empty(0) if sigmoids is None else sigmoids[which]

    def _linear_weights(self) -> Any:
        dual, vectors = self.dual_coef_, self.support_vectors_
        if dual.shape[0] == 1 or dual.shape[0] == len(self.classes_):
            # One machine, or one per class against the rest (a point of a front).
            return safe_sparse_dot(dual, vectors)
        if sp.issparse(dual):
            dual = dual.toarray()
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        part = [slice(ends[i], ends[i + 1]) for i in range(len(self.classes_))]
        rows = [
            dual[j - 1, part[i]] @ vectors[part[i]] + dual[i, part[j]] @ vectors[part[j]]
            for i in range(len(part))
            for j in range(i + 1, len(part))
        ]
        coef = np.vstack([np.asarray(row).ravel() for row in rows])
        if sp.issparse(vectors):
            return (sp.csr_array if isinstance(vectors, sp.sparray) else sp.csr_matrix)(coef)
        return coef


@parameters
class PairwiseClassifier(KernelClassifier):
    """What the two classes of ``sklearn.svm`` share."""

    shrinking: bool = True
    #: scikit-learn's own way out of its parameter: programs of all versions from 1.6 on run unchanged.
    probability: bool | Literal["deprecated"] = "deprecated"
    class_weight: ClassWeight = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    calibrate: bool = False
    calibration: CalibrationMethod = "auto"


@loads("svc")
@document
@parameters
class SVC(PairwiseClassifier):
    """C-support vector classification.

    Maximizes the margin between classes and pays ``C`` for every unit by which a sample is short of it; more than two classes are told
    apart pair by pair. Same parameters, defaults and attributes as :class:`sklearn.svm.SVC`; ``predict_proba``
    always exists.

    Parameters
    ----------
    C : float, default=1.0
        The price of one unit of slack. Smaller values regularize more.
    {pairwise}

    See Also
    --------
    NuSVC : The same with a bound on the share of margin errors instead of a price.
    SVR : Regression.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import SVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> y = np.array([1, 1, 2, 2])
    >>> clf = SVC(gamma="auto").fit(X, y)
    >>> clf.predict([[-0.8, -1]])
    array([1])
    >>> bool(clf.dual_gap_ < 1e-3)
    True
    """

    C: Price = 1.0

    def _penalty(self) -> Parts:
        return {"c": min(float(self.C), HUGE)}

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        return "c" in json.loads(model.parameters)["penalty"]

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {**super()._constructor(given), "C": given["penalty"]["c"]}


@loads("svc")
@document
@parameters
class NuSVC(PairwiseClassifier):
    """Nu-support vector classification.

    As :class:`SVC`, but ``nu`` bounds the share of margin errors from above and the share of support vectors from below.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1; what is feasible depends on the class sizes.
    {pairwise}

    See Also
    --------
    SVC : The same with a price for errors.

    Examples
    --------
    >>> import numpy as np
    >>> from boulevard import NuSVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> y = np.array(["left", "left", "right", "right"])
    >>> NuSVC(gamma="auto").fit(X, y).predict([[-0.8, -1]])
    array(['left'], dtype='<U5')
    """

    _one_class_left = "specified nu is infeasible: all samples with positive weights belong to the same class."

    nu: Share = 0.5

    def _penalty(self) -> Parts:
        return {"nu": float(self.nu)}

    @classmethod
    def _fits(cls, model: _core.Model) -> bool:
        return "nu" in json.loads(model.parameters)["penalty"]

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        return {**super()._constructor(given), "nu": given["penalty"]["nu"]}
