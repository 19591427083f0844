"""Fronts of margin and error."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC as TheirSVC
from sklearn.utils.estimator_checks import check_estimator

import boulevard
from boulevard import ParetoSVC
from boulevard.datasets import make_banana

COLUMNS = ("quadratic", "sum_alpha", "train_error", "holdout_error", "n_support", "equivalent_c", "margin", "gap")


@pytest.mark.filterwarnings("ignore")
def test_every_check_of_scikit_learn_passes():
    results = check_estimator(ParetoSVC(), on_fail=None, on_skip=None)
    assert not [(result["check_name"], result["exception"]) for result in results if result["status"] in ("failed", "xfail")]
    assert sum(result["status"] == "passed" for result in results) > 45


@pytest.fixture(scope="module")
def banana():
    return make_banana(150, random_state=3)


@pytest.fixture(scope="module")
def fitted(banana):
    return ParetoSVC(gamma=1.0, n_points=30).fit(*banana)


def test_the_front_is_certified_and_rises(fitted):
    front = fitted.front_
    assert front.dtype.names == COLUMNS
    assert len(front) == 30 and front["gap"].max() < 1e-4
    assert (np.diff(front["sum_alpha"]) > 0).all() and (np.diff(front["quadratic"]) > 0).all()
    assert fitted.fit_status_ == 0 and fitted.dual_gap_ < 1e-4
    frame = fitted.front_frame()
    assert list(frame.columns) == [*COLUMNS, "mark"] and "picked" in " ".join(frame["mark"])


def test_objectives_are_those_of_the_alphas(banana, fitted):
    X, y = banana
    rows = fitted.train_rows_
    sign = np.where(y[rows] == fitted.classes_[1], 1.0, -1.0)
    Q = np.outer(sign, sign) * rbf_kernel(X[rows], gamma=1.0)
    alphas = fitted.alphas()
    assert alphas.min() >= 0 and alphas.max() <= 1
    np.testing.assert_allclose(alphas.sum(axis=1), fitted.front_["sum_alpha"])
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", alphas, Q, alphas), fitted.front_["quadratic"], rtol=1e-9, atol=1e-14)
    g = alphas @ Q
    for a, slope in zip(alphas, g, strict=True):
        # With an intercept each class has a sum of its own: no exchange inside a class may pay.
        for side in (1.0, -1.0):
            of, by = a[sign == side], slope[sign == side]
            if (of < 1).any():
                assert by[of > 0].max() - by[of < 1].min() <= 1e-4 * (a * np.abs(slope)).sum() / a.sum()


def test_a_point_with_intercept_is_the_ordinary_machine(banana):
    X, y = banana
    clf = ParetoSVC(gamma=1.0, bias="objective", holdout=0, n_points=12, tol=1e-9).fit(X, y)
    for i in (2, 6):
        theirs = TheirSVC(C=clf.front_["equivalent_c"][i], gamma=1.0, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(clf.select(i).decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_errors_are_the_measured_ones(banana, fitted):
    X, y = banana
    train = np.zeros(len(y), dtype=bool)
    train[fitted.train_rows_] = True
    for i in (0, 10, -1):
        point = fitted.select(i)
        assert 1 - point.score(X[train], y[train]) == pytest.approx(fitted.front_["train_error"][i])
        assert 1 - point.score(X[~train], y[~train]) == pytest.approx(fitted.front_["holdout_error"][i])


def test_picks(banana):
    X, y = banana
    base = ParetoSVC(gamma=1.0, n_points=20).fit(X, y)
    assert base.holdout_estimate_[base.picked_] == pytest.approx(base.holdout_estimate_.min(), rel=1e-12)
    assert base.marks_["lowest"] == base.picked_
    once = ParetoSVC(gamma=1.0, n_points=5, holdout_repeats=1).fit(X, y)
    np.testing.assert_array_equal(once.holdout_estimate_, once.front_["holdout_error"])
    # Classes that overlap have no knee: what rows held out say stands in for it.
    expected = base.marks_["lowest"] if base.marks_["knee"] is None else base.marks_["knee"]
    assert ParetoSVC(gamma=1.0, n_points=20, pick="knee").fit(X, y).picked_ == expected
    wide = ParetoSVC(gamma=1.0, n_points=20, pick="one-se").fit(X, y)
    assert wide.picked_ == base.marks_["one_se"] and wide.front_["margin"][wide.picked_] >= base.front_["margin"][base.picked_]
    assert ParetoSVC(gamma=1.0, n_points=20, pick=7).fit(X, y).picked_ == 7
    with pytest.raises(ValueError, match="below 20"):
        ParetoSVC(gamma=1.0, n_points=20, pick=20).fit(X, y)
    with pytest.raises(IndexError, match="20 points"):
        base.select(20)
    # Without a hold-out the knee is picked, or what stands in for it.
    blind = ParetoSVC(gamma=1.0, n_points=20, holdout=0).fit(X, y)
    usual = int(np.argmin(np.abs(np.log(blind.front_["equivalent_c"]))))
    assert np.isnan(blind.front_["holdout_error"]).all()
    assert blind.picked_ == (usual if blind.marks_["knee"] is None else blind.marks_["knee"])


def test_several_widths_are_compared(banana):
    X, y = banana
    clf = ParetoSVC(n_points=15).fit(X, y)
    gammas = [own["gamma"] for own in clf.family_]
    assert len(gammas) == 5 and gammas == sorted(gammas) and clf.gamma_ in gammas
    full = [own for own in clf.family_ if own["holdouts"] == 5]
    assert 1 <= len(full) <= 2 and clf.gamma_ == min(full, key=lambda own: own["lowest"])["gamma"]
    for own in clf.family_:
        assert len(own["estimates"]) == len(own["front"]) and own["hypervolume"] > 0 and own["front"]["gap"].max() < 5e-2
    common = clf.common_front_
    assert set(common["gamma"]) <= set(gammas)
    assert (np.diff(common["sum_alpha"]) >= 0).all() and (np.diff(common["quadratic"]) >= 0).all()
    # The width that was chosen is one front like any other.
    alone = ParetoSVC(n_points=15, gamma=clf.gamma_).fit(X, y)
    np.testing.assert_allclose(alone.front_["quadratic"][-1], clf.front_["quadratic"][-1], rtol=1e-9)
    np.testing.assert_array_equal(alone.train_rows_, clf.train_rows_)
    assert not alone.family_ and ParetoSVC(n_points=5, gamma="scale").fit(X, y).family_ == []
    given = ParetoSVC(n_points=8, gamma=[0.5, 2.0]).fit(X, y)
    assert [own["gamma"] for own in given.family_] == [0.5, 2.0]
    with pytest.raises(ValueError, match="widths"):
        ParetoSVC(gamma=[0.5, 2.0], holdout=0).fit(X, y)
    for wrong in (["wide"], [], [0.5, -1.0], [np.nan]):
        with pytest.raises(ValueError, match="gamma"):
            ParetoSVC(gamma=wrong).fit(X, y)


def test_the_picked_point_is_what_predicts(banana):
    X, y = banana
    clf = ParetoSVC(gamma=1.0, n_points=20).fit(X, y)
    np.testing.assert_array_equal(clf.select(clf.picked_).decision_function(X), clf.decision_function(X))


def test_a_front_that_learns_nothing_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 4 == 0
    with pytest.warns(UserWarning, match="no better than a constant"):
        clf = ParetoSVC(gamma=0.1, n_points=10).fit(X, y)
    assert clf.no_better_than_constant_ and clf.constant_error_ == pytest.approx(0.25, abs=0.02)


def test_evolution_repeats_and_stays_below_the_exact_front(banana):
    X, y = banana
    make = lambda **kw: ParetoSVC(gamma=1.0, mode="evolve", generations=80, population_size=40, **kw).fit(X, y)
    a, b = make(random_state=1, n_jobs=1), make(random_state=1, n_jobs=2)
    np.testing.assert_array_equal(a.alphas(), b.alphas())
    exact = ParetoSVC(gamma=1.0, mode="exact", n_points=200, random_state=1).fit(X, y)
    shares = {kind: make(random_state=1, crossover=kind).hypervolume_ / exact.hypervolume_ for kind in ("uniform", "arithmetic")}
    assert 0.3 < shares["uniform"] < shares["arithmetic"] < 1.01
    three = make(bias="objective", variant="textbook", mutation="gaussian")
    assert len(three.front_) >= 2


@pytest.mark.parametrize("kernel", ["sigmoid", "epanechnikov", "multiquadric"])
@pytest.mark.parametrize("bias", ["none", "objective"])
def test_indefinite_kernels_end(banana, kernel, bias):
    X, y = banana
    clf = ParetoSVC(kernel=kernel, gamma=0.5, coef0=-1.0 if kernel == "sigmoid" else 1.0, degree=1, bias=bias, n_points=12).fit(X, y)
    assert clf.front_["gap"].max() < 1e-4
    assert clf.predict(X).shape == y.shape


def test_kernel_matrices_and_functions(banana):
    X, y = banana
    plain = ParetoSVC(gamma=1.0, n_points=10, pick=4).fit(X, y)
    K = rbf_kernel(X, gamma=1.0)
    given = ParetoSVC(kernel="precomputed", n_points=10, pick=4).fit(K, y)
    np.testing.assert_allclose(given.front_["quadratic"], plain.front_["quadratic"], rtol=1e-8)
    np.testing.assert_allclose(given.decision_function(K), plain.decision_function(X), rtol=1e-5, atol=1e-6)
    function = ParetoSVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=1.0), n_points=10).fit(X, y)
    np.testing.assert_allclose(function.select(3).decision_function(X), plain.select(3).decision_function(X), rtol=1e-5, atol=1e-6)
    sparse = ParetoSVC(gamma=1.0, n_points=10).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.front_["quadratic"], plain.front_["quadratic"], rtol=1e-8)
    K[0, 1] += 0.5
    with pytest.raises(ValueError, match="symmetric"):
        ParetoSVC(kernel="precomputed").fit(K, y)


def test_more_classes(banana):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = ParetoSVC(n_points=20).fit(X, names)
    assert clf.score(X, names) > 0.93 and len(clf.fronts_) == 3
    point = clf.select(5)
    rows = clf.train_rows_
    assert 1 - point.score(X[rows], names[rows]) == pytest.approx(clf.front_["train_error"][5])
    linear = ParetoSVC(kernel="linear", n_points=8).fit(X, names)
    np.testing.assert_allclose(linear.decision_function(X), X @ linear.coef_.T + linear.intercept_, atol=1e-8)
    probabilities = clf.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.classes_[probabilities.argmax(axis=1)], clf.predict(X))


def test_files_and_pickles(tmp_path, banana):
    X, y = banana
    clf = ParetoSVC(gamma=1.0, n_points=15, pick="one-se", calibrate=True).fit(X, y)
    clf.save(tmp_path / "front.model")
    for again in (boulevard.load(tmp_path / "front.model"), pickle.loads(pickle.dumps(clf))):
        assert again.pick == "one-se" and again.n_points == 15
        np.testing.assert_array_equal(again.front_, clf.front_)
        np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
        np.testing.assert_array_equal(again.select(4).predict(X), clf.select(4).predict(X))
    point = clf.select(4)
    point.save(tmp_path / "point.model")
    np.testing.assert_array_equal(boulevard.load(tmp_path / "point.model").decision_function(X), point.decision_function(X))


def test_bad_input_is_refused():
    X, y = make_classification(40, random_state=0)
    for name, value in [("holdout", 1.0), ("holdout", -0.1), ("population_size", 3), ("n_points", 1), ("mode", "fast"), ("pick", "best")]:
        with pytest.raises(ValueError, match=name):
            ParetoSVC(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="at least 5 rows"):
        ParetoSVC().fit(X[:4], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="set holdout to 0"):
        ParetoSVC().fit(X, np.arange(40) == 0)
    assert ParetoSVC(holdout=0, n_points=5).fit(X, np.arange(40) == 0).predict(X).shape == (40,)


def test_a_time_limit_leaves_a_model():
    X, y = make_classification(1500, 10, flip_y=0.2, random_state=0)
    with pytest.warns(Warning, match="max_time"):
        clf = ParetoSVC(mode="evolve", max_time=0.2, generations=100_000).fit(X, y)
    assert clf.fit_status_ == 2 and clf.predict(X).shape == y.shape


def test_pictures(banana, fitted):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = banana
    evolved = ParetoSVC(gamma=1.0, mode="evolve", generations=20, population_size=20).fit(X, y)
    display = evolved.plot(exact=fitted)
    assert set(display.fronts) == {"evolve", "hybrid"} and display.shares["hybrid"] == 1.0
    left, right = display.axes_
    assert len(left.lines) >= 3 and len(right.lines) >= 4
    several = boulevard.plot.FrontDisplay.from_estimators({"one": fitted, "two": evolved})
    assert several.figure_ is several.axes_[0].figure
    family = boulevard.plot.FamilyDisplay.from_estimator(ParetoSVC(n_points=5, gamma=[0.3, 3.0]).fit(X, y))
    assert len(family.axes_[0].lines) == 3 and len(family.axes_[1].lines) == 2
    with pytest.raises(ValueError, match="one width only"):
        boulevard.plot.FamilyDisplay.from_estimator(fitted)
    blind = ParetoSVC(gamma=1.0, n_points=5, holdout=0).fit(X, y).plot()
    assert len(blind.axes_[1].lines) == 1
    plt.close("all")


def test_a_weight_is_a_repeated_row(banana):
    X, y = banana
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = ParetoSVC(n_points=12).fit(X, y, sample_weight=weights)
    twice = ParetoSVC(n_points=12).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert weighted.gamma_ == twice.gamma_ and weighted.picked_ == twice.picked_
    np.testing.assert_array_equal(weighted.front_, twice.front_)
    np.testing.assert_array_equal(weighted.decision_function(X), twice.decision_function(X))
    np.testing.assert_array_equal(weighted.predict_proba(X), twice.predict_proba(X))
    # Rows are named as they were given.
    assert (weights[weighted.train_rows_] > 0).all() and set(weighted.support_) <= set(np.flatnonzero(weights))
    np.testing.assert_array_equal(weighted.support_vectors_, X[weighted.support_])
    with pytest.raises(ValueError, match="evolution"):
        ParetoSVC(mode="evolve").fit(X, y, sample_weight=weights)
