"""Decisions one sample at a time: look at samples until the label is sure."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .. import _core
from .._classes import ClassesMixin
from .._typing import Floats
from ..exceptions import DataError


class SequentialDecision(NamedTuple):
    """What :meth:`MultiSampleClassifier.decide` returns.

    Attributes
    ----------
    label : object
        The most probable class.
    decided : bool
        Whether the confidence was reached.
    posteriors : ndarray of shape (n_samples, n_classes)
        The posterior after every sample that was looked at.
    n_samples : int
        Their number.
    expected_samples : ndarray of shape (n_classes,)
        How many are expected for a set of each class.
    """

    label: Any
    decided: bool
    posteriors: Floats
    n_samples: int
    expected_samples: Floats


class SequentialMixin(ClassesMixin):
    """A sequential test on the consensus of single samples."""

    priors_: Floats
    class_rates_: Floats

    def expected_samples(self, confidence: float = 0.99) -> Floats:
        """Expected number of samples of each class until ``decide`` is sure (Wald's approximation on held-out evidence).

        Parameters
        ----------
        confidence : float, default=0.99
            The posterior to reach.

        Returns
        -------
        samples : ndarray of shape (n_classes,)
            Infinite where single samples do not tell the class from another.
        """
        self._need_model()
        return _core.expected_samples(self._native, float(confidence))

    def decide(self, stream: Iterable[ArrayLike], confidence: float = 0.99, max_samples: int | None = None) -> SequentialDecision:
        """Look at samples one at a time until the label is sure: a sequential test on the consensus of single samples.

        Parameters
        ----------
        stream : iterable of array-like of shape (n_features,)
            Samples of one set, taken only as long as they are needed; a table (an array, a data frame, a sparse matrix) is its rows.
        confidence : float, default=0.99
            The posterior at which to stop, above chance and below 1.
        max_samples : int, default=None
            Samples to take at most.

        Returns
        -------
        decision : SequentialDecision
            With ``label``, ``decided`` (whether the confidence was reached), ``posteriors`` (one row per sample taken), ``n_samples``
            and ``expected_samples`` (for each class).
        """
        expected = self.expected_samples(confidence)
        total, log_rates = np.log(self.priors_), np.log(self.class_rates_)
        posteriors: list[Floats] = []
        for sample in _single_samples(self, stream):
            table = self._read_new(sample)
            scores = _core.sample_scores(self._native, table, 1)[0]
            total += scores - log_rates
            posterior = np.exp(total - total.max())
            posteriors.append(posterior / posterior.sum())
            if posteriors[-1].max() >= confidence or len(posteriors) == max_samples:
                break
        if not posteriors:
            raise DataError("the stream is empty: a decision needs at least one sample")
        label = self.classes_[int(total.argmax())]
        decided = bool(posteriors[-1].max() >= confidence)
        return SequentialDecision(label, decided, np.array(posteriors), len(posteriors), expected)


def _single_samples(estimator: Any, stream: Any) -> Iterator[Any]:
    """The samples of a stream as tables of one row."""
    if sp.issparse(stream):
        stream = stream.tocsr()
    if sp.issparse(stream) or hasattr(stream, "columns"):
        # Iterating over a data frame gives its columns; slices are rows and keep the names, which are then compared.
        rows = getattr(stream, "iloc", stream)
        for place in range(stream.shape[0]):
            yield rows[place : place + 1]
        return
    for sample in stream:
        row = np.asarray(sample, dtype=float)
        if row.ndim != 1:
            raise DataError(f"a stream holds single samples of {estimator.n_features_in_} features, got shape {row.shape}")
        yield _with_names(estimator, row)


def _with_names(estimator: Any, row: Floats) -> Any:
    """One sample as a table, with the names the estimator was fitted with."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return row[None, :]
    import pandas

    return pandas.DataFrame(row[None, :], columns=names)
