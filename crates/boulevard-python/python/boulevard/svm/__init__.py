"""The machines of :mod:`sklearn.svm`: kernel machines, and linear ones for many rows or columns."""

from .classification import SVC, NuSVC
from .linear import LinearSVC, LinearSVR
from .one_class import OneClassSVM
from .regression import SVR, NuSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]
