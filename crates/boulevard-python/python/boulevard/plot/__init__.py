"""Pictures in scikit-learn's "Display" style: each keeps its data, ``plot`` draws it. Needs matplotlib."""

from ._boosted import BoostingDisplay, HardRowsDisplay, LabelScoresDisplay
from ._machine import DecisionDisplay, TuneDisplay

__all__ = ["BoostingDisplay", "DecisionDisplay", "HardRowsDisplay", "LabelScoresDisplay", "TuneDisplay"]
