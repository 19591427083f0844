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
