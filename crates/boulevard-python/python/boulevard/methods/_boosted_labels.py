"""Targets and answers of the boosted classifier: classes, or a label matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_consistent_length

from .._classes import class_names
from .._typing import Floats


class LabelsMixin:
    """Reads what ``y`` holds, and answers in the same form."""

    classes_: Any
    label_names_: list[str]
    _label_dtype: Any
    _label_sparse: bool
    _encode: Any

    def _read_target(self, X: Any, y: Any, original: tuple[Any, Any]) -> tuple[Any, list[str]]:
        """The target for the native part and its names; sets ``classes_``."""
        self.__dict__.pop("label_names_", None)
        columns = getattr(y, "columns", None)
        if not sp.issparse(y):
            y = np.asarray(y)
        if sp.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
            return self._read_labels(X, y, columns)
        check_classification_targets(y)
        _, codes = self._encode(y, original)
        return codes, class_names(self.classes_)

    def _read_labels(self, X: Any, y: Any, columns: Any) -> tuple[NDArray[np.bool_], list[str]]:
        """A label matrix and the names of its columns."""
        Y = check_array(y, accept_sparse="csr", dtype=None, ensure_2d=True, input_name="y")
        check_consistent_length(X, Y)
        check_classification_targets(Y)
        if type_of_target(Y, input_name="y") != "multilabel-indicator" and not (sp.issparse(Y) and Y.shape[1] == 1):
            raise ValueError("y must hold classes or be a label matrix of 0 and 1; several columns of classes are not supported")
        self._label_dtype, self._label_sparse = Y.dtype, sp.issparse(Y)
        dense = Y.toarray() if sp.issparse(Y) else np.asarray(Y)
        if not np.isin(dense, (0, 1)).all():
            raise ValueError("a label matrix must hold 0 and 1 only")
        names = [str(name) for name in columns] if columns is not None else [str(j) for j in range(dense.shape[1])]
        if len(set(names)) < len(names):
            raise ValueError(f"label names must differ, got {names}")
        self.classes_, self.label_names_ = np.arange(dense.shape[1]), names
        return np.ascontiguousarray(dense, dtype=bool), names

    @property
    def _is_multilabel(self) -> bool:
        return "label_names_" in self.__dict__

    def _answer(self, decisions: Floats) -> Any:
        """Predictions from decision values."""
        if self._is_multilabel:
            said = (decisions > 0).astype(self._label_dtype)
            return sp.csr_matrix(said) if self._label_sparse else said
        if len(self.classes_) == 2:
            return self.classes_.take((decisions.ravel() > 0).astype(int))
        return self.classes_.take(decisions.argmax(axis=1))

    def _shaped(self, decisions: Floats) -> Floats:
        return decisions.ravel() if not self._is_multilabel and len(self.classes_) == 2 else decisions
