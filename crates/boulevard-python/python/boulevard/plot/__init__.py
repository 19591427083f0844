"""Pictures in scikit-learn's "Display" style: each keeps its data, ``plot`` draws it. Needs matplotlib."""

from ._induction import InductionDisplay, RulesDisplay
from ._machine import DecisionDisplay, TuneDisplay
from ._selection import SelectionErrorDisplay, SelectionPathDisplay, SelectionWeightDisplay, TaskFeatureDisplay, TransferDisplay

__all__ = [
    "DecisionDisplay",
    "InductionDisplay",
    "RulesDisplay",
    "SelectionErrorDisplay",
    "SelectionPathDisplay",
    "SelectionWeightDisplay",
    "TaskFeatureDisplay",
    "TransferDisplay",
    "TuneDisplay",
]
