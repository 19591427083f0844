"""Frozen models: one row in, the estimator's own answer out, in a few microseconds."""

import pickle
import timeit

import numpy as np
import pytest

import boulevard
from boulevard import (
    SVC,
    SVR,
    BoostedSVC,
    FeatureInductionClassifier,
    LinearSVC,
    LinearSVR,
    MultiSampleClassifier,
    MultiTaskSelectionClassifier,
    MultiTaskSelectionRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    ParetoSVC,
)

CLASSIFIERS = [SVC, NuSVC, LinearSVC, BoostedSVC, FeatureInductionClassifier, MultiSampleClassifier, MultiTaskSelectionClassifier, ParetoSVC]
REGRESSORS = [SVR, NuSVR, LinearSVR, MultiTaskSelectionRegressor]


def best_of(call, repeats=5):
    """Microseconds of the quickest run: what the code needs, whatever else the machine does."""
    return 1e6 * min(timeit.repeat(call, number=200, repeat=repeats)) / 200


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
def test_frozen_classifiers_say_what_the_estimator_says(cls, two):
    X, y = two
    names = np.array(["no", "yes"])[y]
    model = cls().fit(X, names)
    frozen = model.freeze()
    said = model.predict(X[:20])
    assert [frozen.predict(row) for row in X[:20]] == list(said)
    np.testing.assert_allclose([frozen.decision_function(row) for row in X[:20]], model.decision_function(X[:20]), rtol=1e-12)
    assert frozen.predict(X[0].tolist()) == said[0] and isinstance(frozen.predict(X[0]), str)
    again = pickle.loads(pickle.dumps(frozen))
    assert again.predict(X[1]) == said[1] and again.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("cls", REGRESSORS, ids=lambda cls: cls.__name__)
def test_frozen_regressors_say_what_the_estimator_says(cls, numbers):
    X, y = numbers
    model = cls().fit(X, y)
    frozen = model.freeze()
    np.testing.assert_allclose([frozen.predict(row) for row in X[:20]], model.predict(X[:20]), rtol=1e-12)


def test_frozen_machines_of_other_kinds(three, two):
    X, y = three
    for model in (SVC().fit(X, y), LinearSVC().fit(X, y)):
        frozen = model.freeze()
        np.testing.assert_array_equal([frozen.predict(row) for row in X], model.predict(X))
        np.testing.assert_allclose([frozen.decision_function(row) for row in X[:9]], model.decision_function(X[:9]), rtol=1e-12)
    inside = OneClassSVM(nu=0.3).fit(X)
    np.testing.assert_array_equal([inside.freeze().predict(row) for row in X], inside.predict(X))
    X, y = two
    labels = np.column_stack([y, 1 - y])
    several = BoostedSVC(max_rounds=2).fit(X, labels)
    np.testing.assert_array_equal([several.freeze().predict(row) for row in X[:20]], several.predict(X[:20]))


def test_what_cannot_be_frozen_or_read_is_explained(two):
    X, y = two
    with pytest.raises(boulevard.exceptions.DataError, match="kernel function cannot be frozen"):
        SVC(kernel=lambda a, b: a @ b.T).fit(X, y).freeze()
    with pytest.raises(ValueError, match="not fitted"):
        SVC().freeze()
    frozen = SVC().fit(X, y).freeze()
    with pytest.raises(ValueError, match="expected 6, found 2|6 features|6 columns|2"):
        frozen.predict([1.0, 2.0])
    with pytest.raises(TypeError, match="one row"):
        frozen.predict(X)
    with pytest.raises(ValueError, match="(?i)nan|finite"):
        frozen.predict(np.full(6, np.nan))
    with pytest.raises(ValueError):
        boulevard.FrozenModel(b"nonsense", [])


def test_one_row_costs_microseconds(two):
    X, y = two
    row, table = X[0].copy(), X[:1].copy()
    for cls in (SVC, LinearSVC):
        model = cls().fit(X, y)
        frozen = model.freeze()
        # Ten and sixty are the promise on a quiet machine; a busy one must not fail the tests.
        assert best_of(lambda frozen=frozen: frozen.predict(row)) < 40
        assert best_of(lambda model=model: model.predict(table)) < 240
