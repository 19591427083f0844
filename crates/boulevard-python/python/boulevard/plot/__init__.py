"""Pictures in scikit-learn's "Display" style: each keeps its data, ``plot`` draws it. Needs matplotlib."""

from ._boosted import BoostingDisplay, HardRowsDisplay, LabelScoresDisplay
from ._feature_induction import InductionDisplay, RulesDisplay, RulesPathDisplay
from ._multi_sample import ErrorBySizeDisplay, SequentialDisplay
from ._multitask_selection import SelectionErrorDisplay, SelectionPathDisplay, SelectionWeightDisplay, TaskFeatureDisplay, TransferDisplay
from ._pareto import FamilyDisplay, FrontDisplay
from ._svm import DecisionDisplay, TuneDisplay

__all__ = [
    "BoostingDisplay",
    "DecisionDisplay",
    "ErrorBySizeDisplay",
    "FamilyDisplay",
    "FrontDisplay",
    "HardRowsDisplay",
    "LabelScoresDisplay",
    "InductionDisplay",
    "RulesDisplay",
    "RulesPathDisplay",
    "SelectionErrorDisplay",
    "SelectionPathDisplay",
    "SelectionWeightDisplay",
    "SequentialDisplay",
    "TaskFeatureDisplay",
    "TransferDisplay",
    "TuneDisplay",
]
