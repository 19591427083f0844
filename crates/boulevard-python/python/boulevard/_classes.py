"""What classifiers share: class codes, names and weights, and probabilities that are fitted on first use."""

import json
import re
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from . import _core
from ._base import NativeEstimator
from ._docs import document
from ._limits import count_threads
from ._request import Data, Limits, Tasks
from ._typing import ClassWeight, Floats, Labels, Parts, TableLike
from .exceptions import DataError

_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def class_names(classes: Labels) -> list[str]:
    """Class names for the native part: whole numbers without a point."""
    if classes.dtype.kind == "f":
        return [str(int(value)) if value == int(value) else repr(float(value)) for value in classes]
    return [str(value) for value in classes]


def labels_of(names: list[str]) -> Labels:
    """Labels from names: whole numbers, numbers, truth values, or text. "nan" and "007" are not how numbers are written: text."""
    for kind, pattern in ((int, _WHOLE), (float, _NUMBER)):
        if all(pattern.fullmatch(name) for name in names):
            values = [kind(name) for name in names]
            if len(set(values)) == len(names) and np.isfinite(values).all():
                return np.array(values)
    if set(names) <= {"False", "True"}:
        return np.array([name == "True" for name in names])
    return np.array(names)


def given_weights(weights: Any) -> ClassWeight:
    """The parameter ``class_weight`` from a file."""
    if not isinstance(weights, dict):
        return "balanced" if weights == "balanced" else None
    labels = labels_of([name for name, _ in weights["given"]]).tolist()
    return dict(zip(labels, [factor for _, factor in weights["given"]], strict=True))


def read_weights(sample_weight: Any, X: Any) -> Floats | None:
    """Weights as 64-bit numbers; negative ones count as zero, as in scikit-learn."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape[0] != X.shape[0]:
        raise ValueError(f"sample_weight and X have incompatible shapes: {weights.shape!r} vs {X.shape!r}")
    if not np.isfinite(weights).all():
        raise ValueError("Input sample_weight contains NaN or infinity.")
    if (weights < 0).any():
        weights = np.maximum(weights, 0.0)
    if not weights.any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return np.require(weights, requirements=["C", "A"])


class ClassesMixin(NativeEstimator):
    """Classes of a target: their codes, names and weights."""

    _noted: ClassVar[tuple[str, ...]] = ("classes_",)
    _one_class_left: ClassVar[str] = "Invalid input - all samples with positive weights belong to the same class."
    classes_: Any
    class_weight: ClassWeight

    def _encode(self, y: Any, original: tuple[Any, Any]) -> tuple[Labels, Any]:
        """The labels as an array and their codes; sets ``classes_``."""
        if type(y) is not np.ndarray or y.ndim != 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind == "O":
            check_classification_targets(y)
        quick = _core.encode(y)
        if quick is not None:
            classes, codes = quick
        elif y.dtype.kind in "biuf":
            # The same as below in two thirds of the time. (Labels that are no numbers are refused below.)
            classes = np.unique(y)
            codes = np.searchsorted(classes, y)
        else:
            classes, codes = np.unique(y, return_inverse=True)
        if quick is None and y.dtype.kind == "f" and not (np.isfinite(classes).all() and (classes == np.floor(classes)).all()):
            self._read_again(*original, reset=True)
            check_classification_targets(y)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        return y, codes

    def _class_weights(self, y: Labels, weights: Floats | None) -> tuple[Floats, Any]:
        """Factor per class: ``class_weight_``, and the same for the native part.

        Rows count with their weights for "balanced", so that weight 2 is having the row twice. The native part is told the factors and
        not the word: it would balance the folds behind probabilities each for itself, while LIBSVM and scikit-learn balance once.
        """
        if self.class_weight is None:
            return np.ones(len(self.classes_)), "equal"
        if isinstance(self.class_weight, str) and weights is not None:
            totals = np.array([weights[y == value].sum() for value in self.classes_])
            present = totals > 0
            factors = np.ones(len(totals))
            factors[present] = totals.sum() / (present.sum() * totals[present])
        else:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return factors, {"given": list(zip(class_names(self.classes_), map(float, factors), strict=True))}

    def _check_classes_left(self, codes: Any, weights: Floats | None) -> None:
        if weights is not None and np.count_nonzero(np.bincount(codes, weights, minlength=len(self.classes_))) < 2:
            raise ValueError(self._one_class_left)

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        super()._prepare(model, parts)
        if model.classes is not None:
            self.classes_ = labels_of(model.classes)

    def _recall(self, attributes: Parts) -> None:
        # Another number of classes than the model has cannot be what was saved. A list holds the classes of every output.
        noted = attributes.get("classes_")
        expected = len(self._native.classes or ()) if isinstance(noted, list) else len(self.classes_)
        if not isinstance(noted, list | np.ndarray) or len(noted) != expected:
            attributes = {name: value for name, value in attributes.items() if name != "classes_"}
        super()._recall(attributes)

    @staticmethod
    def _given_factors(model: _core.Model) -> Floats:
        """``class_weight_`` of a model from a file: the factors it was fitted with, by the names of classes."""
        weights = json.loads(model.parameters).get("class_weight")
        factors = dict(weights["given"]) if isinstance(weights, dict) else {}
        return np.array([float(factors.get(name, 1.0)) for name in model.classes or []])


@document
class ProbabilityMixin(ClassesMixin):
    """Classifiers, with probabilities: ``_training`` holds what they are fitted on until that happens."""

    _fits_probabilities = True
    #: What ``_training`` holds the fields of.
    _request: ClassVar[type[Data] | type[Tasks]] = Data

    def decision_function(self, X: TableLike) -> Floats:
        """Evaluate the decision function.

        {samples}

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: one column per class; the largest is the prediction.
        """
        values: Floats = self._judge("decisions", X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: TableLike) -> Labels:
        """Predict class labels.

        {samples}

        {predicted_labels}
        """
        codes = self._judge("codes", X)  # says whether there is a model at all
        return self.classes_.take(codes)

    def predict_proba(self, X: TableLike) -> Floats:
        """Predict class probabilities.

        They come from Platt's sigmoids on five-fold cross-validated decisions, fitted with the model (``calibrate=True``) or on first use,
        which costs five fits once. Of more than two classes they may be sharpened after that: ``calibration_`` says how and why. The
        most probable class is always the predicted one.

        {samples_or_kernel}

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        self._ensure_calibrated()
        return self._judge("probabilities", X)

    def predict_log_proba(self, X: TableLike) -> Floats:
        """Predict logarithms of class probabilities.

        {samples_or_kernel}

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    @property
    def calibration_(self) -> Parts | None:
        """How probabilities are made: ``method``, ``power`` and ``shifts``, and the held-out ``log_losses`` that were compared.

        None before probabilities are fitted, and for methods that always use plain sigmoids.
        """
        self._need_model()
        text = self._native.calibration
        return None if text is None else json.loads(text)

    def _ensure_calibrated(self) -> None:
        self._need_model()
        if self._native.calibrated:
            return
        if "_training" not in self.__dict__:
            raise DataError(
                f"This {type(self).__name__} was loaded from a file that has no probabilities and no training data to fit them on. "
                "Fit it with calibrate=True, or call predict_proba once before save."
            )
        learnt_from = self._request(*self.__dict__["_training"])
        self._native.calibrate(learnt_from, Limits(count_threads(self.n_jobs), None, self.memory_limit, getattr(self, "device", "auto")))
