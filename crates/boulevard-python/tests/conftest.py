"""What several test files use."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import boulevard

#: Every estimator class; new methods are added here and get the shared tests.
ESTIMATORS = [boulevard.SVC, boulevard.NuSVC, boulevard.SVR, boulevard.NuSVR, boulevard.OneClassSVM]
#: Classes of the methods: they keep scikit-learn's contract, but stand in for none of its classes.
METHODS = [boulevard.MultiSampleClassifier]
CLASSIFIERS = [boulevard.SVC, boulevard.NuSVC]


@pytest.fixture
def two():
    """Two classes, 150 rows."""
    return make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture
def three():
    """Three classes, 180 rows."""
    return make_classification(180, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=1)


@pytest.fixture
def numbers():
    """A regression table."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=120)


def fit_any(cls, X, y, **parameters):
    """Fits a class with or without a target."""
    return cls(**parameters).fit(X, y)
