"""Pictures in scikit-learn's "Display" style: each keeps its data, ``plot`` draws it. Needs matplotlib."""

from ._machine import DecisionDisplay, TuneDisplay
from ._multi_sample import ErrorBySizeDisplay, SequentialDisplay

__all__ = ["DecisionDisplay", "ErrorBySizeDisplay", "SequentialDisplay", "TuneDisplay"]
