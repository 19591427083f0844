"""Support vector machines that are fast, exact to a certificate, and explain themselves.

Drop-in classes for :mod:`sklearn.svm`, written in Rust.

>>> from boulevard import SVC
>>> from boulevard.datasets import make_banana
>>> X, y = make_banana(200, random_state=0)
>>> clf = SVC(C=10).fit(X, y)
>>> bool(clf.score(X, y) > 0.8)
True
"""

from typing import Any

from . import datasets, exceptions, export, kernels, model_selection
from ._core import FrozenModel, __version__
from ._files import load
from .export import to_onnx
from .methods import (
    BoostedSVC,
    FeatureInducer,
    FeatureInductionClassifier,
    MultiSampleClassifier,
    MultiTaskSelectionClassifier,
    MultiTaskSelectionRegressor,
    ParetoSVC,
)
from .methods._multitask_selection_search import selection_path, selection_search, transfer_report
from .svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

__all__ = [
    "SVC",
    "SVR",
    "BoostedSVC",
    "FeatureInducer",
    "FeatureInductionClassifier",
    "FrozenModel",
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
    "export",
    "kernels",
    "load",
    "model_selection",
    "plot",
    "selection_path",
    "selection_search",
    "to_onnx",
    "transfer_report",
]


def __getattr__(name: str) -> Any:
    # Plots need matplotlib, which not everybody has.
    if name == "plot":
        import importlib

        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
