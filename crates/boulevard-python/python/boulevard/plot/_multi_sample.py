"""Pictures of decisions from several samples."""

import numpy as np

from ._axes import axes


class ErrorBySizeDisplay:
    """Error against the number of samples per decision: how many samples until one percent?

    Parameters
    ----------
    size : ndarray
        Samples per decision.
    error, deviation : ndarray
        Mean error and its standard deviation over repeats.
    n_sets : ndarray
        Sets judged at each size.
    name : str
        What the curve is called in the legend.

    Examples
    --------
    >>> from boulevard import MultiSampleClassifier
    >>> from boulevard.datasets import make_two_gaussians
    >>> from boulevard.plot import ErrorBySizeDisplay
    >>> X, y = make_two_gaussians(400, distance=1.5)
    >>> clf = MultiSampleClassifier(method="consensus").fit(X[:200], y[:200])
    >>> display = ErrorBySizeDisplay.from_estimator(clf, X[200:], y[200:])  # doctest: +SKIP
    """

    def __init__(self, *, size, error, deviation, n_sets, name=None):
        self.size = np.asarray(size)
        self.error = np.asarray(error)
        self.deviation = np.asarray(deviation)
        self.n_sets = np.asarray(n_sets)
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, sizes=range(1, 11), n_repeats=10, random_state=None, name=None, ax=None, **kwargs):
        """Judge sets of several sizes with a fitted :class:`~boulevard.MultiSampleClassifier`, and plot.

        Parameters
        ----------
        estimator : MultiSampleClassifier
            Fitted.
        X, y : array-like
            Samples that were not learnt from, and their labels.
        sizes : iterable of int, default=range(1, 11)
            Samples per decision.
        n_repeats, random_state
            As in ``error_by_size``.
        name : str, default=None
            For the legend; None means the estimator's method.
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : ErrorBySizeDisplay
            The picture with its data.
        """
        curve = estimator.error_by_size(X, y, sizes=sizes, n_repeats=n_repeats, random_state=random_state)
        return cls(**curve, name=estimator.method if name is None else name).plot(ax=ax, **kwargs)

    def samples_until(self, target=0.01):
        """The smallest number of samples whose error is at most ``target``; None if no size on the curve is enough."""
        enough = self.size[self.error <= target]
        return int(enough.min()) if len(enough) else None

    def plot(self, ax=None, *, target=0.01, **kwargs):
        """Draw, with a line at ``target`` (None for no line); returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        self.line_ = ax.errorbar(self.size, self.error, yerr=self.deviation, marker="o", label=self.name, **kwargs)
        # A logarithm cannot show an error of zero: those points lie below the picture.
        if (self.error > 0).any():
            ax.set_yscale("log")
        if target is not None:
            ax.axhline(target, color="0.5", linestyle="--", linewidth=1)
        ax.set(xlabel="samples per decision", ylabel="error")
        if self.name is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SequentialDisplay:
    """The posterior of every class after each sample of a sequential decision.

    Parameters
    ----------
    posteriors : ndarray of shape (n_samples, n_classes)
        As in :meth:`~boulevard.MultiSampleClassifier.decide`.
    classes : ndarray
        The labels.
    confidence : float
        Where the decision was to stop.
    """

    def __init__(self, *, posteriors, classes, confidence):
        self.posteriors = np.asarray(posteriors)
        self.classes = classes
        self.confidence = confidence

    @classmethod
    def from_estimator(cls, estimator, stream, *, confidence=0.99, max_samples=None, ax=None):
        """Decide a stream with a fitted :class:`~boulevard.MultiSampleClassifier`, and plot how it went."""
        decision = estimator.decide(stream, confidence=confidence, max_samples=max_samples)
        display = cls(posteriors=decision.posteriors, classes=estimator.classes_, confidence=confidence)
        display.decision = decision
        return display.plot(ax=ax)

    def plot(self, ax=None):
        """Draw; returns the display with ``ax_`` and ``figure_``."""
        ax = axes(ax)
        samples = np.arange(1, len(self.posteriors) + 1)
        for place, label in enumerate(self.classes):
            ax.plot(samples, self.posteriors[:, place], marker="o", label=str(label))
        ax.axhline(self.confidence, color="0.5", linestyle="--", linewidth=1)
        ax.set(xlabel="samples", ylabel="posterior", ylim=(-0.02, 1.02))
        ax.legend(title="class")
        self.ax_, self.figure_ = ax, ax.figure
        return self
