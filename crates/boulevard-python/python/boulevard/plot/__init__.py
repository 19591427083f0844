"""Pictures in scikit-learn's "Display" style: each keeps its data, ``plot`` draws it. Needs matplotlib."""

from ._machine import DecisionDisplay, TuneDisplay
from ._pareto import FrontDisplay

__all__ = ["DecisionDisplay", "FrontDisplay", "TuneDisplay"]
