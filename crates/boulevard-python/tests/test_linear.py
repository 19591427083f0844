"""LinearSVC and LinearSVR: scikit-learn's contract, LIBLINEAR's problems, and fits that end."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import boulevard
from boulevard import SVC, SVR, LinearSVC, LinearSVR


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", [LinearSVC, LinearSVR])
def test_every_check_of_scikit_learn_passes(cls):
    results = check_estimator(cls(), on_fail=None, on_skip=None)
    assert not [(result["check_name"], result["exception"]) for result in results if result["status"] in ("failed", "xfail")]
    assert Counter(result["status"] for result in results)["passed"] > 45


@pytest.mark.parametrize("cls", [LinearSVC, LinearSVR])
def test_parameters_are_those_of_scikit_learn(cls):
    theirs, ours = getattr(sklearn.svm, cls.__name__)().get_params(), cls().get_params()
    assert set(theirs) <= set(ours)
    # The one difference: an intercept that is not regularised.
    assert {name for name in theirs if ours[name] != theirs[name]} == {"intercept_scaling"}


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_penalised_intercept_gives_the_answer_of_liblinear(two, loss, C):
    X, y = two
    theirs = sklearn.svm.LinearSVC(loss=loss, C=C, tol=1e-10, max_iter=1_000_000, dual=True).fit(X, y)
    ours = LinearSVC(loss=loss, C=C, tol=1e-10, intercept_scaling=1.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)


def test_the_l1_penalty_gives_the_objective_of_liblinear(two):
    X, y = two
    options = {"penalty": "l1", "C": 0.1, "tol": 1e-8}
    theirs = sklearn.svm.LinearSVC(**options, dual=False, max_iter=1_000_000).fit(X, y)
    ours = LinearSVC(**options, intercept_scaling=1.0).fit(X, y)

    def objective(model):
        slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
        return np.abs(model.coef_).sum() + abs(model.intercept_[0]) + 0.1 * (slack**2).sum()

    assert objective(ours) <= objective(theirs) * (1 + 1e-7)


def test_a_free_intercept_gives_the_linear_kernel_machine(two, numbers):
    X, y = two
    np.testing.assert_allclose(
        LinearSVC(loss="hinge", tol=1e-9).fit(X, y).decision_function(X),
        SVC(kernel="linear", tol=1e-9).fit(X, y).decision_function(X),
        atol=1e-5,
    )
    X, y = numbers
    np.testing.assert_allclose(
        LinearSVR(epsilon=0.1, tol=1e-9).fit(X, y).predict(X), SVR(kernel="linear", tol=1e-9).fit(X, y).predict(X), atol=1e-5
    )


def test_regression_gives_the_answer_of_liblinear(numbers):
    X, y = numbers
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        theirs = sklearn.svm.LinearSVR(loss=loss, epsilon=0.1, tol=1e-10, max_iter=1_000_000, dual=True).fit(X, y)
        ours = LinearSVR(loss=loss, epsilon=0.1, tol=1e-10, intercept_scaling=1.0).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
        assert ours.coef_.shape == theirs.coef_.shape and np.shape(ours.intercept_) == np.shape(theirs.intercept_)


def test_wild_scales_and_a_large_c_end_without_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)) * 10.0 ** np.linspace(-4, 4, 20)
    y = (X @ (rng.normal(size=20) / 10.0 ** np.linspace(-4, 4, 20)) + rng.normal(size=3000) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for loss in ("hinge", "squared_hinge"):
            model = LinearSVC(loss=loss, C=1e4).fit(X, y)
            assert model.dual_gap_ <= 1e-4 and model.fit_status_ == 0
    with pytest.warns(ConvergenceWarning):
        sklearn.svm.LinearSVC(C=1e4, dual=True).fit(X, y)


def test_sparse_dense_and_single_precision_agree(three):
    X, y = three
    dense = LinearSVC(tol=1e-10).fit(X, y)
    assert dense.coef_.shape == (3, X.shape[1])
    for other in (sp.csr_matrix(X), sp.csc_array(X)):
        np.testing.assert_allclose(LinearSVC(tol=1e-10).fit(other, y).coef_, dense.coef_, atol=1e-6)
    single = LinearSVC(tol=1e-10).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, dense.coef_, atol=1e-4)


def test_wide_sparse_text_like_rows_are_solved():
    rng = np.random.default_rng(3)
    X = sp.random(4000, 20000, density=0.002, format="csr", random_state=3)
    y = np.where(np.asarray(X.sum(axis=1)).ravel() + rng.normal(size=4000) > 20, "spam", "ham")
    for loss in ("hinge", "squared_hinge"):
        model = LinearSVC(loss=loss, tol=1e-3).fit(X, y)
        assert model.fit_status_ == 0 and model.dual_gap_ <= 1e-3
        assert set(model.predict(X)) <= {"spam", "ham"}


def test_files_pickles_and_probabilities(tmp_path, three, numbers):
    X, y = three
    model = LinearSVC(class_weight="balanced", intercept_scaling=2.0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    model.save(tmp_path / "model")
    for again in (boulevard.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), probabilities)
        assert again.intercept_scaling == 2.0 and again.dual_gap_ == model.dual_gap_
    X, y = numbers
    model = LinearSVR(epsilon=0.2, loss="squared_epsilon_insensitive").fit(X, y)
    model.save(tmp_path / "model")
    again = boulevard.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()


def test_a_time_limit_leaves_a_model_that_can_be_used():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 200))
    y = X[:, 0] + rng.normal(size=20000) > 0
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = LinearSVC(loss="hinge", tol=1e-12, max_time=1e-3).fit(X, y)
    assert model.fit_status_ == 2 and model.predict(X).shape == y.shape


def test_bad_combinations_are_refused(two):
    X, y = two
    with pytest.raises(ValueError, match="l1"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="class"):
        LinearSVC().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_crammer_singer_gives_the_answer_of_liblinear(three, C):
    X, y = three
    theirs = sklearn.svm.LinearSVC(multi_class="crammer_singer", C=C, tol=1e-9, max_iter=1_000_000).fit(X, y)
    ours = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-9, intercept_scaling=1.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.fit_status_ == 0 and ours.dual_gap_ <= 1e-9


def crammer_singer_objective(model, X, y, C):
    """From the definition."""
    scores = X @ model.coef_.T + model.intercept_
    codes = np.searchsorted(model.classes_, y)
    own = scores[np.arange(len(y)), codes]
    worst = (scores + (np.arange(scores.shape[1]) != codes[:, None])).max(axis=1) - own
    return 0.5 * (model.coef_**2).sum() + C * worst.sum()


def test_a_free_intercept_is_at_least_as_good_and_certified(three):
    X, y = three
    free = LinearSVC(multi_class="crammer_singer", tol=1e-8).fit(X, y)
    held = LinearSVC(multi_class="crammer_singer", tol=1e-8, intercept_scaling=1.0).fit(X, y)
    value = crammer_singer_objective(free, X, y, 1.0)
    assert value <= crammer_singer_objective(held, X, y, 1.0)
    np.testing.assert_allclose(-free.objective_, value, rtol=1e-6)


def test_crammer_singer_on_unscaled_columns_in_files_and_with_two_classes(three, two, tmp_path):
    X, y = three
    wild = X * 10.0 ** np.arange(-3, 3)
    model = LinearSVC(multi_class="crammer_singer", C=100.0).fit(wild, y)
    assert model.fit_status_ == 0 and model.dual_gap_ <= 1e-4
    model.save(tmp_path / "model")
    again = boulevard.load(tmp_path / "model")
    assert again.multi_class == "crammer_singer"
    np.testing.assert_array_equal(again.decision_function(wild), model.decision_function(wild))
    np.testing.assert_array_equal(model.predict_proba(wild).argmax(axis=1), np.searchsorted(model.classes_, model.predict(wild)))
    assert LinearSVC(multi_class="crammer_singer").fit(sp.csr_matrix(X), y).score(X, y) > 0.7
    X, y = two
    one = LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-9).fit(X, y)
    other = LinearSVC(loss="hinge", C=1.0, tol=1e-9).fit(X, y)
    assert one.coef_.shape == (1, X.shape[1])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=2e-3)


def test_weights_become_sparse_and_dense_again(two):
    X, y = two
    model = LinearSVC(penalty="l1", C=0.02).fit(X, y)
    before, said = model.coef_.copy(), model.decision_function(X)
    assert model.sparsify() is model and sp.issparse(model.coef_)
    np.testing.assert_array_equal(model.decision_function(X), said)
    assert pickle.loads(pickle.dumps(model)).coef_.nnz == np.count_nonzero(before)
    np.testing.assert_array_equal(model.densify().coef_, before)
    with pytest.raises(ValueError, match="not fitted"):
        LinearSVC().sparsify()


def test_sparse_rows_are_judged_without_a_copy_and_faults_are_found(three):
    X, y = three
    model = LinearSVC().fit(X, y)
    expected = model.decision_function(X)
    for rows in (sp.csr_matrix(X), sp.csc_matrix(X), sp.csr_array(X), sp.csr_matrix(X.astype(np.float32)).astype(np.float64)):
        np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-5, atol=1e-6)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(model.decision_function(wide), expected, rtol=1e-12, atol=1e-12)
    unordered = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, X.shape[1]))
    np.testing.assert_allclose(model.decision_function(unordered), model.decision_function(unordered.toarray()), rtol=1e-12)
    broken = sp.csr_matrix(X)
    broken.indices = broken.indices.copy()
    broken.indices[0] = 1_000_000
    with pytest.raises(ValueError):
        model.decision_function(broken)
    one = LinearSVR().fit(X, y)
    np.testing.assert_allclose(one.predict(sp.csr_matrix(X)), one.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 6, 11])
def test_sparse_answers_have_the_same_bits_however_they_are_asked_for(classes):
    rng = np.random.default_rng(classes)
    X = sp.random(3000, 400, density=0.03, format="csr", random_state=1)
    y = rng.integers(0, classes, 3000)
    model = LinearSVC(tol=0.1).fit(X[:300], y[:300])
    decided = model.decision_function(X)
    # One row alone (its weights lie as they are), many rows (side by side), any number of threads, other widths of the column numbers.
    alone = LinearSVC(tol=0.1).fit(X[:300], y[:300])
    np.testing.assert_array_equal(np.concatenate([alone.decision_function(X[row]) for row in range(40)]), decided[:40])
    for threads in (1, 2):
        np.testing.assert_array_equal(model.set_params(n_jobs=threads).decision_function(X), decided)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(model.decision_function(wide), decided)
    np.testing.assert_array_equal(model.decision_function(sp.csr_array(X)), decided)
    codes = (decided > 0).astype(int) if classes == 2 else decided.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[codes])
    single = X.astype(np.float32)
    np.testing.assert_array_equal(model.decision_function(single), model.decision_function(single.astype(np.float64)))
    np.testing.assert_allclose(decided, model.decision_function(X.toarray()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", [LinearSVC, LinearSVR], ids=lambda cls: cls.__name__)
def test_faults_of_sparse_rows_are_found_without_a_pass_for_them(cls, three):
    X, y = three
    model = cls().fit(X, y)
    for wrong, words in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity"), (-np.inf, "Input X contains infinity")):
        rows = sp.csr_matrix(X)
        rows.data[100] = wrong
        with pytest.raises(ValueError, match=words):
            model.predict(rows)
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.predict(sp.csr_matrix(X[:, :5]))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.predict(sp.csr_matrix((0, 6)))
    # Sums that overflow are the model's answer, not a fault of the table.
    big = sp.csr_matrix(np.full((1, 6), 1e308))
    assert np.isfinite(model.predict(big)).all() or cls is LinearSVR
