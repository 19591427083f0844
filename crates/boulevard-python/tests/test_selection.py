"""Multi-task feature and kernel selection."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import check_estimator

import boulevard
from boulevard import MultiTaskSelectionClassifier, MultiTaskSelectionRegressor, selection_path, selection_search, transfer_report

CLASSES = [MultiTaskSelectionClassifier, MultiTaskSelectionRegressor]


@pytest.fixture
def tasks():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 10)) for n in (40, 30, 50)]
    return X, [np.where(x[:, 0] + s * x[:, 1] > 0, 1, -1) for x, s in zip(X, (1, -1, 0.5), strict=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CLASSES)
def test_every_check_of_scikit_learn_passes(cls):
    results = check_estimator(cls(), on_fail=None, on_skip=None)
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")]
    assert Counter(r["status"] for r in results)["passed"] > 45


def test_switches_find_the_features_and_the_gap_is_certified(tasks):
    X, y = tasks
    clf = MultiTaskSelectionClassifier(rho=0.01, c=3).fit(X, y)
    assert sorted(np.argsort(clf.switches_)[-2:].tolist()) == [0, 1]
    assert 0 <= clf.dual_gap_ <= 1e-6 and clf.fit_status_ == 0 and clf.n_iter_ > 0 and clf.objective_ > 0
    assert clf.coef_.shape == (3, 10) and clf.intercept_.shape == (3,) and [len(v) for v in clf.lambda_] == [40, 30, 50]
    assert all((v >= 0).all() and (v < 3).all() for v in clf.lambda_)
    predicted = clf.predict(X)
    assert clf.score(X, y) > 0.9 and [len(p) for p in predicted] == [40, 30, 50]
    np.testing.assert_array_equal(clf.predict(X[1], task=1), predicted[1])
    np.testing.assert_allclose(clf.decision_function(X)[0], X[0] @ clf.coef_[0] + clf.intercept_[0])
    probabilities = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.classes_[probabilities[2].argmax(axis=1)], predicted[2])
    with pytest.raises(ValueError, match="3 tasks"):
        clf.predict(X[0])
    own = MultiTaskSelectionClassifier(rho=0.01, c=3, share=False).fit(X, y)
    assert own.switches_.shape == (3, 10)


def test_classes_outputs_and_kernels():
    X, y = make_classification(150, 8, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0)
    clf = MultiTaskSelectionClassifier(c=3).fit(X, y)
    assert clf.coef_.shape == (3, 8) and clf.switches_.shape == (8,) and clf.score(X, y) > 0.7
    np.testing.assert_array_equal(clf.classes_[clf.decision_function(X).argmax(axis=1)], clf.predict(X))
    Y = np.column_stack([y == 0, y == 1]).astype(int)
    multi = MultiTaskSelectionClassifier().fit(X, Y)
    assert multi.predict(X).shape == Y.shape and multi.predict_proba(X).shape == Y.shape
    reg = MultiTaskSelectionRegressor(c=10, margin_prior="jj", bias="flat").fit(X, X[:, :2] * 2 + 1)
    assert reg.predict(X).shape == (150, 2) and reg.score(X, X[:, :2] * 2 + 1) > 0.9
    kernels = [("linear", {}), ("poly", {"degree": 2, "coef0": 1.0}), ("rbf", {"gamma": 0.1})]
    weighed = MultiTaskSelectionClassifier(select="kernels", kernels=kernels).fit(X, y == 0)
    assert weighed.kernel_weights_.shape == (3,) and weighed.dual_gap_ <= 1e-6
    with pytest.raises(AttributeError, match="features"):
        weighed.coef_
    np.testing.assert_array_equal(MultiTaskSelectionClassifier(c=3).fit(sp.csr_array(X), y).coef_, clf.coef_)


def test_paths_searches_and_transfer(tasks):
    X, y = tasks
    given = MultiTaskSelectionClassifier(rho=0.01, c=3)
    path = selection_path(given, X, y, rhos=[1, 0.1, 0.01])
    assert path.switches.shape == (3, 10) and path.coef.shape == (3, 3, 10) and (path.dual_gap <= 1e-6).all()
    np.testing.assert_allclose(path.switches[2], given.fit(X, y).switches_, atol=1e-3)
    found = selection_search(MultiTaskSelectionClassifier(), X, y, rhos=[1, 0.01], cs=[1.5, 3], cv=3)
    assert len(found.error) == 4 and found.best_estimator.score(X, y) > 0.8
    report = transfer_report(MultiTaskSelectionClassifier(), X, y, cv=3)
    assert len(report.tasks) == 3 and report.alone.shape == report.together.shape == (3,)


@pytest.mark.parametrize("cls", CLASSES)
def test_files_and_pickles_are_the_same_to_the_bit(cls, tmp_path):
    X, y = make_classification(80, 6, random_state=1)
    for parameters in ({}, {"select": "kernels"}):
        model = cls(**parameters).fit(X, y)
        model.save(tmp_path / "model")
        for again in (boulevard.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert type(again) is cls
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
            np.testing.assert_array_equal(again.switches_, model.switches_)


def test_threads_do_not_change_a_bit(tasks):
    X, y = tasks
    a, b = (MultiTaskSelectionClassifier(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_trivial_solutions_and_memorising_kernels_warn():
    X, y = make_classification(60, 5, random_state=2)
    with pytest.warns(UserWarning, match="c > 1"):
        clf = MultiTaskSelectionClassifier(c=1.0).fit(X, y)
    assert (clf.coef_ == 0).all()
    with pytest.warns(UserWarning, match=r"kernel 1 \(rbf.*identity"):
        MultiTaskSelectionClassifier(select="kernels", kernels=[("rbf", {"gamma": 1e4}), "linear"]).fit(X, y)
    with pytest.warns(boulevard.exceptions.ConvergenceWarning, match="max_iter=1"):
        MultiTaskSelectionClassifier(max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [({"c": 0}, "c"), ({"rho": 0}, "rho"), ({"rho": 1.5}, "rho"), ({"ln_rho": 1.0}, "ln_rho"), ({"select": "rows"}, "select"),
     ({"select": "kernels", "kernels": [("cubic", {})]}, "unknown"), ({"select": "kernels", "kernels": []}, "at least one"),
     ({"select": "kernels", "kernels": [("rbf", {"degree": 2})]}, "no parameter"),
     ({"select": "kernels", "kernels": [("sigmoid", {"gamma": 1.0, "coef0": -3.0})], "normalize_kernels": False}, "positive semi-definite")],
)
def test_bad_parameters_are_named(parameters, word):
    X, y = make_classification(40, 5, random_state=3)
    with pytest.raises(ValueError, match=word):
        MultiTaskSelectionClassifier(**parameters).fit(X, y)


def test_bad_tasks_are_named(tasks):
    X, y = tasks
    clf = MultiTaskSelectionClassifier()
    with pytest.raises(ValueError, match="task 1 has one class only"):
        clf.fit(X, [y[0], np.ones(30), y[2]])
    with pytest.raises(ValueError, match="task 2 has 4 features"):
        clf.fit([X[0], X[1], X[2][:, :4]], y)
    with pytest.raises(ValueError, match="list of 3 targets"):
        clf.fit(X, y[:2])
    with pytest.raises(ValueError, match="minimum of 1 is required|0 sample"):
        clf.fit([X[0], X[1][:0], X[2]], [y[0], y[1][:0], y[2]])
    with pytest.raises(ValueError, match="1e30"):
        MultiTaskSelectionRegressor().fit(X[0], np.full(40, 1e30))


def test_pictures_keep_their_data(tasks):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from boulevard import plot

    X, y = tasks
    path = selection_path(MultiTaskSelectionClassifier(), X, y, rhos=[1, 0.1, 0.01])
    assert plot.SelectionPathDisplay.from_path(path, weights=True).values.shape == (3, 10)
    assert plot.SelectionPathDisplay.from_path(path).ax_.get_xlabel() == "log10 rho"
    display = plot.SelectionWeightDisplay.from_estimator(path.estimators[2])
    assert 1 <= display.carrying() <= 10
    assert plot.TaskFeatureDisplay.from_estimator(path.estimators[2]).image_.get_array().shape == (3, 10)
    errors = plot.SelectionErrorDisplay.from_data(MultiTaskSelectionClassifier(), X, y, X, y, rhos=(1.0, 0.01))
    assert errors.shared.shape == errors.own.shape == (2,)
    assert plot.TransferDisplay.from_report(transfer_report(MultiTaskSelectionClassifier(), X, y, cv=3)).alone.shape == (3,)


def test_time_limits_stop_with_a_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 400))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = MultiTaskSelectionClassifier(c=100, rho=1e-6, max_time=0.05).fit(X, rng.random(3000) < 0.5)
    assert clf.fit_status_ == 2 and clf.predict(X[:3]).shape == (3,)


def wide(n=160, d=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 3] - 1.5 * X[:, d // 3] + X[:, d - 2] + 0.3 * rng.normal(size=n)


def test_the_default_is_a_selector_that_says_what_it_chose():
    from sklearn.feature_selection import SelectFromModel
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    X, z = wide()
    y = np.where(z > 0, "yes", "no")
    clf = MultiTaskSelectionClassifier().fit(X, y)
    support = clf.get_support()
    assert support[[3, 40, 118]].all() and support.sum() <= 20
    np.testing.assert_array_equal(support, clf.coef_[0] != 0)
    np.testing.assert_array_equal(clf.transform(X), X[:, support])
    assert list(clf.get_feature_names_out()) == [f"x{j}" for j in clf.get_support(indices=True)]
    choice = clf.choice_
    assert choice["standardized"] and choice["kept"] == clf.get_support(indices=True).tolist() and "held-out" in choice["reason"]
    assert np.isclose(np.exp(choice["ln_rho"]), 1 / 120) and len(choice["trials"]) > 10
    assert clf.selection_frequencies_.shape == (120,) and clf.selection_frequencies_[3] == 1
    pipe = make_pipeline(MultiTaskSelectionClassifier(), LogisticRegression()).fit(X, y)
    assert pipe.score(X, y) > 0.9
    assert SelectFromModel(MultiTaskSelectionClassifier()).fit(X, y).transform(X).shape[1] <= 20
    five = MultiTaskSelectionClassifier(keep=5).fit(X, y)
    assert (five.coef_ != 0).sum() == 5 and "then the 5 largest features, as asked for, fitted again" in five.chosen_because_
    # The folds' own five say how stable that set is.
    assert np.isclose(five.selection_frequencies_.sum(), 5) and five.selection_frequencies_[3] == 1
    assert (MultiTaskSelectionClassifier(keep="all").fit(X, y).coef_ != 0).all()
    given = MultiTaskSelectionClassifier(rho=0.01, c=3).fit(X, y)
    assert not given.choice_["standardized"] and given.choice_["kept"] is None


def test_the_scale_of_the_target_and_an_offset_do_not_matter():
    X, y = wide()
    plain = MultiTaskSelectionRegressor().fit(X[:100], y[:100])
    moved = MultiTaskSelectionRegressor().fit(100 * X[:100] + 5, 1000 * y[:100] + 1000)
    assert plain.score(X[100:], y[100:]) > 0.9
    # Folds follow what rows hold, so the two may choose differently; neither may care for the scale.
    assert moved.score(100 * X[100:] + 5, 1000 * y[100:] + 1000) > 0.9
    np.testing.assert_allclose(moved.predict(100 * X + 5), 1000 * plain.predict(X) + 1000, atol=100)
    given = {"c": 15, "rho": 0.01, "standardize": True, "keep": 5}
    plain, moved = (MultiTaskSelectionRegressor(**given).fit(a, b) for a, b in ((X, y), (100 * X + 5, 1000 * y + 1000)))
    np.testing.assert_array_equal(plain.get_support(), moved.get_support())
    np.testing.assert_allclose(moved.predict(100 * X + 5), 1000 * plain.predict(X) + 1000, atol=0.01)
    # Prices in a small currency were refused.
    dear = MultiTaskSelectionRegressor().fit(X[:100], 1e12 * y[:100] - 1e13)
    assert dear.score(X[100:], 1e12 * y[100:] - 1e13) > 0.9 and "% of the targets' variance" in dear.chosen_because_


def test_weights_are_repetition():
    X, y = wide(90, 15)
    weights = np.arange(90) % 3
    again = np.repeat(np.arange(90), weights)
    for model in (MultiTaskSelectionRegressor(), MultiTaskSelectionClassifier(), MultiTaskSelectionClassifier(rho=0.1, c=2, tol=1e-9)):
        target = y if isinstance(model, MultiTaskSelectionRegressor) else y > 0
        weighted = model.fit(X, target, sample_weight=weights).coef_
        repeated = model.fit(X[again], target[again]).coef_
        np.testing.assert_allclose(weighted, repeated, atol=2e-3)
    tables, targets = [X[:45], X[45:]], [y[:45] > 0, y[45:] > 0]
    both = MultiTaskSelectionClassifier(rho=0.1, c=2).fit(tables, targets, sample_weight=[weights[:45], weights[45:]])
    assert both.coef_.shape == (2, 15) and [len(v) for v in both.lambda_] == [45, 45]
    with pytest.raises(ValueError, match="sample_weight must be a list"):
        both.fit(tables, targets, sample_weight=weights)


def test_pictures_name_the_features_that_stand_out():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from boulevard.plot import SelectionPathDisplay

    X, _ = wide(120, 30)
    y = X[:, 0] - X[:, 1] + X[:, 2] > 0
    path = selection_path(MultiTaskSelectionClassifier(c=2, rho=0.01), X, y, rhos=[1, 0.1, 0.01, 1e-3])
    for weights in (False, True):
        display = SelectionPathDisplay.from_path(path, labelled=3, weights=weights)
        assert {text.get_text() for text in display.ax_.get_legend().get_texts()} == {"x1", "x2", "x3"}
        inside(display.figure_)


def inside(figure):
    """Nothing that is drawn leaves the figure."""
    figure.canvas.draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= -0.01 and drawn.y0 >= -0.01 and drawn.x1 <= width + 0.01 and drawn.y1 <= height + 0.01, drawn
