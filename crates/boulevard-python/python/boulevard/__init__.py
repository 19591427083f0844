"""Support vector machines that are fast, exact to a certificate, and explain themselves.

Drop-in classes for :mod:`sklearn.svm`, written in Rust.

>>> from boulevard import SVC
>>> from boulevard.datasets import make_banana
>>> X, y = make_banana(200, random_state=0)
>>> clf = SVC(C=10).fit(X, y)
>>> bool(clf.score(X, y) > 0.8)
True
"""

from . import datasets, exceptions, kernels, model_selection
from ._boosted import BoostedSVC
from ._classification import SVC, NuSVC
from ._core import __version__
from ._files import load
from ._induction import FeatureInducer, FeatureInductionClassifier
from ._multi_sample import MultiSampleClassifier
from ._linear import LinearSVC, LinearSVR
from ._one_class import OneClassSVM
from ._pareto import ParetoSVC
from ._regression import SVR, NuSVR
from ._selection import MultiTaskSelectionClassifier, MultiTaskSelectionRegressor
from ._selection_tools import selection_path, selection_search, transfer_report

__all__ = [
    "SVC",
    "SVR",
    "BoostedSVC",
    "FeatureInducer",
    "FeatureInductionClassifier",
    "MultiSampleClassifier",
    "LinearSVC",
    "LinearSVR",
    "MultiTaskSelectionClassifier",
    "MultiTaskSelectionRegressor",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParetoSVC",
    "__version__",
    "datasets",
    "exceptions",
    "kernels",
    "load",
    "model_selection",
    "plot",
    "selection_path",
    "selection_search",
    "transfer_report",
]


def __getattr__(name):
    # Plots need matplotlib, which not everybody has.
    if name == "plot":
        import importlib

        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
