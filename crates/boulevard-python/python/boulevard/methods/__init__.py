"""The methods beyond plain machines, one module each; folders of the Rust library have the same names."""

from .boosted import BoostedSVC
from .feature_induction import FeatureInducer, FeatureInductionClassifier
from .multi_sample import MultiSampleClassifier
from .multitask_selection import MultiTaskSelectionClassifier, MultiTaskSelectionRegressor
from .pareto import ParetoSVC

__all__ = [
    "BoostedSVC",
    "FeatureInducer",
    "FeatureInductionClassifier",
    "MultiSampleClassifier",
    "MultiTaskSelectionClassifier",
    "MultiTaskSelectionRegressor",
    "ParetoSVC",
]
