"""Pickles, files, other processes."""

import copy
import multiprocessing
import pickle

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boulevard
from boulevard import SVC
from conftest import ESTIMATORS


def fitted(cls, X, y, **parameters):
    return cls(**parameters).fit(X, y)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_pickles_and_copies_are_the_same_to_the_bit(cls, three):
    X, y = three
    model = fitted(cls, X, y)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(values(again, X), values(model, X))
        np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    for value in model.__getstate__().values():
        assert not type(value).__module__.startswith("boulevard")


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_files_are_the_same_to_the_bit(cls, kind, three, tmp_path):
    X, y = three
    X = X.astype(kind)
    model = fitted(cls, X, y)
    model.save(tmp_path / "model")
    again = boulevard.load(tmp_path / "model")
    assert type(again) is cls
    np.testing.assert_array_equal(values(again, X), values(model, X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "objective_", "dual_gap_", "n_iter_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))


def test_probabilities_in_files(two, tmp_path):
    X, y = two
    model = SVC().fit(X, y)
    model.save(tmp_path / "plain")
    with pytest.raises(ValueError, match="calibrate=True"):
        boulevard.load(tmp_path / "plain").predict_proba(X)
    expected = model.predict_proba(X)
    model.save(tmp_path / "calibrated")
    np.testing.assert_array_equal(boulevard.load(tmp_path / "calibrated").predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    assert "_training" not in pickle.loads(pickle.dumps(model)).__dict__


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        boulevard.load(tmp_path / "missing")
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(ValueError):
        boulevard.load(tmp_path / "noise")


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend, two):
    X, y = two
    expected = cross_val_score(SVC(), X, y, cv=4)
    with joblib.parallel_backend(backend, n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(SVC(), X, y, cv=4), expected)


def _score(task):
    X, y, C = task
    return SVC(C=C).fit(X, y).score(X, y)


def test_forked_processes(two):
    X, y = two
    SVC().fit(np.random.default_rng(0).normal(size=(1500, 5)), np.arange(1500) % 2)  # threads have been used before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        scores = pool.map_async(_score, [(X, y, C) for C in (0.1, 1, 10)]).get(timeout=60)
    assert scores == [_score((X, y, C)) for C in (0.1, 1, 10)]


def test_scikit_learns_tools(two):
    X, y = two
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1, 10]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.7
    calibrated = CalibratedClassifierCV(SVC(), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(y), 2)
    assert permutation_importance(SVC().fit(X, y), X, y, n_repeats=2, random_state=0).importances_mean.shape == (X.shape[1],)
    assert len(cross_validate(SVC(), X, y, cv=3, return_estimator=True, n_jobs=2)["estimator"]) == 3


def test_feature_names_in_files(two, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = two
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    SVC().fit(frame, np.array(["a", "b"])[y]).save(tmp_path / "model")
    again = boulevard.load(tmp_path / "model")
    np.testing.assert_array_equal(again.feature_names_in_, frame.columns)
    assert again.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("labels", [[False, True], ["1", "nan"], ["007", "8"], ["inf", "x"], [-1, 1], ["no", "yes"]])
def test_class_labels_in_files(two, labels, tmp_path):
    X, y = two
    y = np.array(labels)[y]
    # scikit-learn cannot weigh text that looks like numbers.
    text = isinstance(labels[0], str) and labels[0] != "no"
    model = SVC(class_weight=None if text else {labels[0]: 2.0}).fit(X, y)
    model.save(tmp_path / "model")
    again = boulevard.load(tmp_path / "model")
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    assert text or again.class_weight[labels[0]] == 2.0
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.class_weight_, model.class_weight_)


def test_a_kind_without_a_class_is_named(two, tmp_path, monkeypatch):
    SVC().fit(*two).save(tmp_path / "model")
    monkeypatch.setitem(boulevard._files._CLASSES, "svc", [])
    with pytest.raises(boulevard.exceptions.FileFormatError, match="model: models of kind 'svc' cannot be used"):
        boulevard.load(tmp_path / "model")
