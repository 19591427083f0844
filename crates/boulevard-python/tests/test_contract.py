"""scikit-learn's contract: every check passes, none is expected to fail."""

from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import boulevard
from conftest import CLASSIFIERS, ESTIMATORS, METHODS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ESTIMATORS + METHODS)
def test_every_check_of_scikit_learn_passes(cls, capsys):
    results = check_estimator(cls(), on_fail=None, on_skip=None)
    counts = Counter(result["status"] for result in results)
    with capsys.disabled():
        print(f"\ncheck_estimator {cls.__name__}: {dict(counts)}")
    bad = [(result["check_name"], result["exception"]) for result in results if result["status"] in ("failed", "xfail")]
    assert not bad
    assert counts["passed"] > 45


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameters_start_with_those_of_scikit_learn_and_the_same_defaults(cls):
    import sklearn.svm

    theirs = getattr(sklearn.svm, cls.__name__)().get_params()
    ours = cls().get_params()
    # Older versions have False there; "deprecated" is what newer ones say, and means the same.
    if theirs.pop("probability", "deprecated") is False:
        assert ours["probability"] == "deprecated"
    assert {name: ours[name] for name in theirs} == theirs
    extra = (
        {"probability"}
        | {"n_jobs", "verbose", "max_time", "memory_limit", "device", "random_state"}
        | ({"calibrate", "calibration"} if cls in CLASSIFIERS else set())
    )
    assert set(ours) - set(theirs) <= extra


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_attributes_have_the_shapes_of_scikit_learn(cls, three):
    import sklearn.svm

    X, y = three
    ours, theirs = cls(kernel="linear").fit(X, y), getattr(sklearn.svm, cls.__name__)(kernel="linear").fit(X, y)
    for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "coef_", "n_iter_", "class_weight_", "classes_"):
        if hasattr(theirs, name):
            a, b = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
            assert a.ndim == b.ndim, name
            if name not in ("support_", "support_vectors_", "dual_coef_"):
                assert a.shape == b.shape, name
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == 0 and ours.dual_gap_ < 1e-2 and ours.fit_time_ > 0 and np.isfinite(ours.objective_)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_clones_and_repeated_fits_agree_to_the_bit(cls, two):
    X, y = two
    a, b = cls(C=3.0).fit(X, y) if "C" in cls().get_params() else cls().fit(X, y), None
    b = clone(a).fit(X, y)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    for jobs in (1, 2):
        np.testing.assert_array_equal(clone(a).set_params(n_jobs=jobs).fit(X, y).dual_coef_, a.dual_coef_)


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_probabilities_agree_with_predictions(cls, three):
    X, y = three
    model = cls().fit(X, y)
    before = dict(model.__dict__)
    probabilities = model.predict_proba(X)
    assert model.__dict__.keys() == before.keys()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(cls(calibrate=True).fit(X, y).predict_proba(X), probabilities)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities))
    with pytest.warns(FutureWarning, match="Attribute `prob[AB]_` was deprecated"):
        assert model.probA_.shape == model.probB_.shape == (3,)


def test_routed_weights_reach_the_fit(two):
    import sklearn
    from sklearn.model_selection import cross_validate

    X, y = two
    with sklearn.config_context(enable_metadata_routing=True):
        model = boulevard.SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
        scores = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3)["test_score"]
    assert np.isfinite(scores).all()


def test_scikit_learns_callbacks_see_progress_and_stop():
    callback = pytest.importorskip("sklearn.callback")

    class Stop:
        def __init__(self):
            self.ended = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.ended += 1
            return True

    assert isinstance(Stop(), callback.FitCallback)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8000, 20)), rng.random(8000) < 0.5
    stop = Stop()
    model = boulevard.SVC(C=1000, gamma=0.05, tol=1e-9).set_callbacks(stop)
    with pytest.warns(boulevard.exceptions.ConvergenceWarning, match="callback"):
        model.fit(X, y)
    assert model.fit_status_ == 3 and stop.ended >= 2
