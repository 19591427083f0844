"""One decision for several samples: sets in every form, groups through scikit-learn, streams, bad input."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

import boulevard
from boulevard import MultiSampleClassifier
from boulevard.datasets import make_banana, make_two_gaussians
from boulevard.exceptions import DataError, ParameterError
from boulevard.kernels import symmetric_kernel
from boulevard.model_selection import set_scorer, tune_sets


def sets_of_three(X, y, k=3):
    """Rows that share a class, k at a time, with a group number each."""
    order = np.concatenate([np.flatnonzero(y == label)[: (y == label).sum() // k * k] for label in np.unique(y)])
    return X[order], y[order], np.repeat(np.arange(len(order) // k), k)


@pytest.fixture
def gaussians():
    X, y = make_two_gaussians(150, n_features=2, distance=1.5, random_state=0)
    return X, y, *sets_of_three(*make_two_gaussians(900, n_features=2, distance=1.5, random_state=1))


@pytest.mark.parametrize("method", ["direct", "consensus", "vote"])
def test_sets_in_every_form_get_the_same_answers(method, gaussians):
    X, y, new, truth, groups = gaussians
    clf = MultiSampleClassifier(method=method, gamma=0.1).fit(X, y)
    three = new.reshape(-1, 3, 2)
    expected = clf.predict(three)
    shuffled = np.random.default_rng(0).permutation(len(new))
    for said in (
        clf.predict(new, groups=groups),
        clf.predict(list(three)),
        clf.predict(new[shuffled], groups=groups[shuffled]),
        clf.predict(new, groups=np.array([f"g{g:05}" for g in groups])),
        clf.predict(sp.csr_array(new), groups=groups),
    ):
        np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(clf.decision_function(new[shuffled], groups=groups[shuffled]), clf.decision_function(three))
    np.testing.assert_array_equal(clf.predict_proba(three).argmax(axis=1), np.searchsorted(clf.classes_, expected))
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(three)), clf.predict_proba(three))
    labels = truth.reshape(-1, 3)[:, 0]
    score = clf.score(three, labels)
    assert score == clf.score(new, truth, groups=groups) == clf.score(new, labels, groups=groups) == np.mean(expected == labels)
    assert score > clf.score(new, truth) + 0.05
    assert clf.predict(new).shape == (len(new),)
    assert clf.score(new, truth, groups=groups, sample_weight=np.ones(len(new))) == score


def test_pandas_and_polars_keep_their_names(gaussians):
    pandas = pytest.importorskip("pandas")
    X, y, new, _, groups = gaussians
    frame = pandas.DataFrame(X, columns=["a", "b"])
    clf = MultiSampleClassifier(method="direct", gamma=0.1).fit(frame, y)
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    other = pandas.DataFrame(new, columns=["a", "b"])
    expected = clf.predict(other, groups=groups)
    np.testing.assert_array_equal(clf.predict([part for _, part in other.groupby(groups)]), expected)
    assert clf.decide(new[:3]).n_samples <= 3
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(clf.predict(polars.DataFrame(other), groups=groups), expected)


def test_training_sets_are_rows_that_share_a_label(gaussians):
    X, y, new, truth, groups = gaussians
    three = new[:60].reshape(-1, 3, 2), truth[:60:3]
    many = np.concatenate([new[:30], new[-30:]]), np.concatenate([truth[:30], truth[-30:]])
    a = MultiSampleClassifier(method="direct", gamma=0.1).fit(many[0].reshape(-1, 3, 2), many[1][::3])
    b = MultiSampleClassifier(method="direct", gamma=0.1).fit(*many)
    np.testing.assert_array_equal(a.decision_function(three[0]), b.decision_function(three[0]))
    with pytest.raises(ValueError, match="share one label"):
        MultiSampleClassifier(method="direct").fit(X, y, groups=np.arange(len(y)) // 3)
    MultiSampleClassifier(method="direct").fit(new, truth, groups=groups)


def test_the_symmetric_kernel_is_the_mean_over_permutations():
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 5):
        A, B = rng.normal(size=(7, k, 4)), rng.normal(size=(6, k, 4))
        orders = list(itertools.permutations(range(k)))
        plain = sum(rbf_kernel(A.reshape(7, -1), B[:, order].reshape(6, -1), gamma=0.3) for order in orders) / len(orders)
        ours = symmetric_kernel(A, B, "rbf", gamma=0.3)
        np.testing.assert_allclose(ours, plain, rtol=1e-12)
        np.testing.assert_allclose(np.exp(symmetric_kernel(A, B, "rbf", gamma=0.3, log=True)), plain, rtol=1e-12)
        linear = sum(A.reshape(7, -1) @ B[:, order].reshape(6, -1).T for order in orders) / len(orders)
        np.testing.assert_allclose(symmetric_kernel(A, B, "linear"), linear, atol=1e-12)
        poly = sum((0.5 * A.reshape(7, -1) @ B[:, order].reshape(6, -1).T + 1) ** 4 for order in orders) / len(orders)
        np.testing.assert_allclose(symmetric_kernel(A, B, "poly", gamma=0.5, degree=4, coef0=1.0), poly, rtol=1e-9, atol=1e-9)
        cosine = symmetric_kernel(A, normalization="cosine", gamma=0.3)
        mean = symmetric_kernel(A, gamma=0.3)
        np.testing.assert_allclose(cosine, mean / np.sqrt(np.outer(np.diag(mean), np.diag(mean))), rtol=1e-12)
        assert (np.linalg.eigvalsh(mean) > -1e-12).all()
        np.testing.assert_array_equal(mean, symmetric_kernel(A[:, ::-1], gamma=0.3))
        np.testing.assert_allclose(symmetric_kernel(A.astype(np.float32), gamma=0.3), mean, rtol=1e-5)
    large = symmetric_kernel(rng.normal(size=(3, 12, 2)), gamma=0.1)
    assert large.shape == (3, 3) and np.isfinite(large).all()
    for bad in (
        lambda: symmetric_kernel(rng.normal(size=(3, 17, 2))),
        lambda: symmetric_kernel(rng.normal(size=(3, 0, 2))),
        lambda: symmetric_kernel(rng.normal(size=(3, 2))),
        lambda: symmetric_kernel(A, B[:, :2]),
        lambda: symmetric_kernel(A, kernel="cubic"),
        lambda: symmetric_kernel(A, width=1.0),
        lambda: symmetric_kernel(A, normalization="sum"),
        lambda: symmetric_kernel(np.full((2, 2, 2), np.nan)),
        lambda: symmetric_kernel(A, gamma=-1.0),
    ):
        with pytest.raises(ValueError):
            bad()


def test_plain_scorers_drop_groups_and_ours_keep_them(gaussians):
    X, y, new, truth, groups = gaussians
    clf = MultiSampleClassifier(method="consensus", gamma=0.1)
    alone = cross_val_score(clf, new, truth, scoring="accuracy", cv=GroupKFold(3), groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone_with_requests(clf)
        together = cross_val_score(asking, new, truth, cv=GroupKFold(3), params={"groups": groups})
        scorer = set_scorer("balanced_accuracy").set_score_request(groups=True)
        by_scorer = cross_val_score(asking, new, truth, scoring=scorer, cv=GroupKFold(3), params={"groups": groups})
        auc = set_scorer("roc_auc").set_score_request(groups=True)
        by_rank = cross_val_score(asking, new, truth, scoring=auc, cv=GroupKFold(3), params={"groups": groups})
        search = GridSearchCV(asking, {"C": [0.1, 10.0]}, cv=GroupKFold(3), scoring=scorer).fit(new, truth, groups=groups)
    # scikit-learn's own scorer judged every row alone.
    rows = [clf.fit(new[a], truth[a]).score(new[b], truth[b]) for a, b in GroupKFold(3).split(new, truth, groups)]
    np.testing.assert_allclose(alone, rows)
    assert together.mean() > alone.mean() + 0.05 and by_scorer.mean() > alone.mean() + 0.05
    assert by_rank.mean() > 0.9 and search.best_score_ > alone.mean() + 0.05


def clone_with_requests(clf):
    return sklearn.base.clone(clf).set_fit_request(groups=True).set_score_request(groups=True)


def test_searches_cut_samples_not_tuples(gaussians):
    X, y, new, truth, groups = gaussians
    direct = MultiSampleClassifier(method="direct")
    result = tune_sets(X, y, direct, C=[1, 16], gamma=[0.01, 0.1, 3.0], random_state=0)
    table = result.cv_results_
    assert len(table["param_C"]) == 6 and set(result.best_params_) == {"C", "gamma"}
    # With the same sample on both sides a narrow kernel would look perfect.
    assert table["mean_test_score"].max() < 0.97
    assert result.best_estimator_.score(new, truth, groups=groups) > 0.8
    again = tune_sets(X, y, direct, C=[1, 16], gamma=[0.01, 0.1, 3.0], random_state=0, n_jobs=1, refit=False)
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], table["mean_test_score"])
    grouped = tune_sets(new, truth, MultiSampleClassifier(method="vote", kernel="linear"), groups=groups, C=[1.0])
    assert grouped.best_params_ == {"C": 1.0}


def test_a_stream_is_read_only_until_it_is_sure(gaussians):
    X, y, new, truth, _ = gaussians
    clf = MultiSampleClassifier(method="direct", gamma=0.1).fit(X, y)
    taken = []

    def stream(label):
        for row in new[truth == label]:
            taken.append(row)
            yield row

    for label in clf.classes_:
        taken.clear()
        decision = clf.decide(stream(label), confidence=0.999)
        assert decision.decided and decision.label == label
        assert decision.n_samples == len(taken) == len(decision.posteriors) < 100
        assert (decision.posteriors[:-1].max(axis=1) < 0.999).all() and decision.posteriors[-1].max() >= 0.999
        np.testing.assert_allclose(decision.posteriors.sum(axis=1), 1)
        assert decision.expected_samples.shape == (2,) and (decision.expected_samples >= 1).all()
    consensus = clone_as(clf, "consensus").fit(X, y)
    np.testing.assert_allclose(consensus.decide(new[:4], confidence=1 - 1e-12).posteriors[-1], consensus.predict_proba(new[None, :4])[0], atol=1e-9)
    short = clf.decide(new, confidence=1 - 1e-12, max_samples=2)
    assert short.n_samples == 2 and not short.decided
    for bad in ([], [[[1.0, 2.0]]], [[1.0, 2.0, 3.0]], [[np.nan, 0.0]]):
        with pytest.raises(ValueError):
            clf.decide(bad)
    for confidence in (0.4, 1.0, np.nan):
        with pytest.raises(ValueError, match="confidence"):
            clf.decide(new, confidence=confidence)


def clone_as(clf, method):
    return sklearn.base.clone(clf).set_params(method=method)


def test_contributions_tell_who_pulls(gaussians):
    X, y, new, truth, groups = gaussians
    clf = MultiSampleClassifier(method="consensus", gamma=0.1).fit(X, y)
    parts = clf.contributions(new, groups=groups)
    prior = np.log(clf.priors_[1] / clf.priors_[0])
    np.testing.assert_allclose(np.bincount(groups, parts) + prior, clf.decision_function(new, groups=groups), atol=1e-9)
    direct = clone_as(clf, "direct").fit(X, y)
    odd = np.array([[[2.0, 2.0], [2.1, 1.9], [-3.0, -3.0]]])
    assert direct.contributions(odd).argmin() == 2


def test_errors_against_the_size_of_sets_and_their_picture(gaussians):
    X, y, new, truth, _ = gaussians
    clf = MultiSampleClassifier(method="consensus", gamma=0.1).fit(X, y)
    curve = clf.error_by_size(new, truth, sizes=[1, 3, 6, 10_000], random_state=0)
    assert curve["size"].tolist() == [1, 3, 6] and (np.diff(curve["error"]) < 0).all()
    with pytest.raises(ValueError, match="not seen"):
        clf.error_by_size(new, np.full(len(new), 9))
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from boulevard.plot import ErrorBySizeDisplay, SequentialDisplay

    display = ErrorBySizeDisplay.from_estimator(clf, new, truth, sizes=[1, 3, 6], random_state=0)
    np.testing.assert_array_equal(display.error, curve["error"])
    assert display.samples_until(1.0) == 1 and display.samples_until(0.0) in (None, 6) and display.ax_.get_xlabel()
    stream = SequentialDisplay.from_estimator(clf, new[:20])
    assert len(stream.posteriors) == stream.decision.n_samples
    matplotlib.pyplot.close("all")


def test_files_and_pickles_bring_everything_back(gaussians, tmp_path):
    import pickle

    X, y, new, _, groups = gaussians
    names = np.array(["ship", "wave"])[(y > 0).astype(int)]
    clf = MultiSampleClassifier(method="direct", gamma=0.1, other_sizes="family", multiclass="ovr", class_weight={"ship": 2.0}, priors=[0.3, 0.7]).fit(X, names)
    assert set(clf.n_support_sets_) == {2, 3} and clf.n_extended_[3] > 300
    clf.save(tmp_path / "sets.model")
    loaded = boulevard.load(tmp_path / "sets.model")
    for again in (loaded, pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(again.decision_function(new, groups=groups), clf.decision_function(new, groups=groups))
        assert again.classes_.tolist() == ["ship", "wave"] and again.n_support_sets_ == clf.n_support_sets_
    assert loaded.get_params() == clf.get_params()
    with pytest.raises(DataError, match="calibrate=True"):
        loaded.predict_proba(new, groups=groups)
    clf.predict_proba(new, groups=groups)
    clf.save(tmp_path / "sets.model")
    np.testing.assert_array_equal(boulevard.load(tmp_path / "sets.model").predict_proba(new, groups=groups), clf.predict_proba(new, groups=groups))


def test_parameters_change_what_they_should(gaussians):
    X, y, new, _, groups = gaussians
    base = MultiSampleClassifier(method="direct", gamma=0.1, n_samples_per_decision=2, tol=1e-8).fit(X, y)
    two = new[: len(new) // 2 * 2].reshape(-1, 2, 2)
    written_out = MultiSampleClassifier(method="direct", gamma=0.1, n_samples_per_decision=2, tol=1e-8, symmetric=False).fit(X, y)
    np.testing.assert_allclose(written_out.decision_function(two), base.decision_function(two), atol=1e-4)
    cosine = MultiSampleClassifier(method="direct", gamma=0.1, n_samples_per_decision=2, normalization="cosine").fit(X, y)
    assert not np.allclose(cosine.decision_function(two), base.decision_function(two), atol=1e-3)
    small = MultiSampleClassifier(method="direct", gamma=0.1, n_extended=30).fit(X, y)
    assert small.n_extended_[3] < 60
    for kernel in ("linear", "poly", "laplacian"):
        assert MultiSampleClassifier(method="direct", kernel=kernel).fit(X, y).score(new, groups_labels(gaussians), groups=groups) > 0.75
    other = MultiSampleClassifier(method="direct", gamma=0.1, random_state=1).fit(X, y)
    assert not np.array_equal(other.decision_function(two), base.decision_function(two))
    precomputed = MultiSampleClassifier(method="direct", kernel="precomputed", tol=1e-8).fit(rbf_kernel(X, gamma=0.1), y)
    plain = MultiSampleClassifier(method="direct", gamma=0.1, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        precomputed.decision_function(rbf_kernel(new, X, gamma=0.1), groups=groups), plain.decision_function(new, groups=groups), atol=1e-5
    )


def groups_labels(gaussians):
    return gaussians[3]


def test_three_classes():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [1.6, 0], [0, 1.6]])
    y = np.arange(180) % 3
    X = centers[y] + rng.normal(size=(180, 2))
    for multiclass in ("ovo", "ovr"):
        clf = MultiSampleClassifier(method="direct", gamma=0.2, multiclass=multiclass).fit(X, y)
        labels = np.arange(60) % 3
        three = centers[labels][:, None] + rng.normal(size=(60, 3, 2))
        assert clf.score(three, labels) > 0.7
        assert clf.decision_function(three).shape == clf.predict_proba(three).shape == (60, 3)
        np.testing.assert_array_equal(clf.decision_function(three).argmax(axis=1), clf.predict(three))
        np.testing.assert_array_equal(clf.predict_proba(three).argmax(axis=1), clf.predict(three))


def test_bad_input_is_answered_with_facts(gaussians):
    X, y, new, truth, groups = gaussians
    for wrong in ({"n_samples_per_decision": 0}, {"n_samples_per_decision": 17}, {"method": "mean"}, {"n_extended": 0}, {"C": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            MultiSampleClassifier(**wrong).fit(X, y)
    for priors in ([0.0, 1.0], [0.5, 0.6], [0.2, 0.3, 0.5]):
        with pytest.raises(ValueError, match="priors"):
            MultiSampleClassifier(method="direct", priors=priors).fit(X, y)
    with pytest.raises(ValueError, match="at most 4"):
        MultiSampleClassifier(method="direct", symmetric=False, n_samples_per_decision=5).fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        MultiSampleClassifier(method="direct", kernel="precomputed", normalization="cosine").fit(X @ X.T, y)
    clf = MultiSampleClassifier(method="direct", gamma=0.1).fit(X, y)
    with pytest.raises(DataError, match="groups, one per row: expected"):
        clf.predict(new, groups=groups[:-1])
    with pytest.raises(ParameterError, match="3-D array"):
        clf.predict(new.reshape(-1, 3, 2), groups=groups)
    with pytest.raises(DataError, match="set 1 is empty"):
        clf.predict([new[:3], new[:0]])
    with pytest.raises(DataError, match="same number of features"):
        clf.predict([new[:3], new[:3, :1]])
    with pytest.raises(DataError, match="NaN|nan"):
        clf.predict(new[:2], groups=[0.0, np.nan])
    with pytest.raises(ValueError, match="features"):
        clf.predict(np.zeros((2, 3, 5)))
    with pytest.raises(ValueError, match="NaN"):
        clf.predict(np.full((2, 3, 2), np.nan))
    with pytest.raises(DataError, match="one per row or one per set"):
        clf.score(new, truth[:7], groups=groups)
    with pytest.raises(DataError, match="share one label"):
        clf.score(new, truth, groups=np.zeros(len(new)))
    # Documented rules: classes smaller than K, one row per group, a single set.
    few = MultiSampleClassifier(method="direct", n_samples_per_decision=16, n_extended=20).fit(X[:12], np.arange(12) % 2)
    assert few.predict(new[:16][None]).shape == (1,)
    assert clf.predict(new[:5], groups=np.arange(5)).shape == (5,)
    assert math.isfinite(clf.decision_function(new, groups=np.zeros(len(new)))[0])


def test_time_limits_keep_a_usable_model():
    from sklearn.exceptions import ConvergenceWarning

    X, y = make_banana(1500, random_state=0)
    y = np.random.default_rng(0).permutation(y)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        clf = MultiSampleClassifier(method="direct", C=1e5, gamma=30.0, tol=1e-9, max_time=0.2).fit(X, y)
    assert clf.fit_status_ == 2 and clf.predict(X[:3][None]).shape == (1,)


@pytest.mark.filterwarnings("ignore")
def test_every_check_of_scikit_learn_passes():
    from sklearn.utils.estimator_checks import check_estimator

    # The direct classifier itself is in test_contract.py.
    for estimator in (MultiSampleClassifier(method="consensus"), MultiSampleClassifier(method="vote", n_samples_per_decision=1)):
        results = check_estimator(estimator, on_fail=None, on_skip=None)
        bad = [(result["check_name"], result["exception"]) for result in results if result["status"] in ("failed", "xfail")]
        assert not bad
        assert sum(result["status"] == "passed" for result in results) > 45


def test_the_method_is_chosen_by_held_out_sets_and_said(gaussians):
    X, y, new, truth, groups = gaussians
    clf = MultiSampleClassifier(random_state=0).fit(X, y)
    assert clf.method_ in ("direct", "consensus", "vote") and clf.chosen_["method"] == clf.method_
    assert {trial["method"] for trial in clf.chosen_["trials"]} == {"direct", "consensus", "vote"}
    assert "held-out sets" in clf.chosen_["why"]
    assert clf.score(new, truth, groups=groups) > 0.8
    fixed = MultiSampleClassifier(method="consensus").fit(X, y)
    assert (fixed.method_, fixed.chosen_) == ("consensus", None)
    kept = MultiSampleClassifier(tune=False).fit(X, y).chosen_
    assert {trial["c"] for trial in kept["trials"]} == {1.0}
    found = tune_sets(X, y, C=[1.0, 10.0], gamma=[0.1], cv=3)
    assert set(found.cv_results_["param_method"]) == {"consensus", "direct"} and found.best_estimator_.method == found.best_params_["method"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_decide_takes_the_rows_of_a_data_frame(library):
    frames = pytest.importorskip(library)
    X, y = make_two_gaussians(120, distance=1.5, random_state=0)
    names = [f"column {k}" for k in range(X.shape[1])]
    frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    clf = MultiSampleClassifier(method="consensus").fit(frame, y)
    rows = np.flatnonzero(y == 1)[:10]
    one = clf.decide(frame[rows.tolist()] if library == "polars" else frame.iloc[rows])
    other = MultiSampleClassifier(method="consensus").fit(X, y).decide(X[rows])
    assert one.label == other.label and one.n_samples == other.n_samples
    np.testing.assert_allclose(one.posteriors, other.posteriors)
    # Columns in another order are noticed, as everywhere; rows that are not needed are not looked at.
    with pytest.raises(ValueError, match="order"):
        clf.decide(frame[names[::-1]])
    # Samples one by one need no frame.
    assert clf.decide(list(X[rows])).n_samples == one.n_samples


def test_decide_takes_the_rows_of_a_sparse_table():
    X, y = make_two_gaussians(120, distance=1.5, random_state=0)
    clf = MultiSampleClassifier(method="consensus").fit(X, y)
    dense = clf.decide(X[y == 1])
    for make in (sp.csr_array, sp.csc_matrix):
        np.testing.assert_allclose(clf.decide(make(X[y == 1])).posteriors, dense.posteriors)


def test_mixed_groups_are_named_as_they_were_given():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"set 0.0 has 1 and 0$"):
        MultiSampleClassifier().fit(X, [1, 0, 1, 1], groups=np.array([0.0, 0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"set 'a' has 'x' and 'y'$"):
        MultiSampleClassifier().fit(X, ["x", "y", "x", "y"], groups=["a", "a", "b", "c"])


def test_a_method_that_was_asked_for_has_a_width_and_a_reason():
    X, y = make_two_gaussians(80, distance=1.5, random_state=0)
    direct, consensus = (MultiSampleClassifier(method=method).fit(X, y) for method in ("direct", "consensus"))
    assert 3 * direct.gamma_ == pytest.approx(consensus.gamma_) == pytest.approx(1 / (X.shape[1] * X.var()))
    assert "direct, as asked by `method`" in direct.chosen_because_ and "over 3" in direct.chosen_because_
    assert MultiSampleClassifier(method="direct", gamma=0.2).fit(X, y).gamma_ == 0.2
    assert MultiSampleClassifier(method="direct", kernel="linear").fit(X, y).gamma_ is None
    chosen = MultiSampleClassifier(random_state=0).fit(X, y)
    trial = chosen.chosen_["direct" if chosen.method_ == "direct" else "single"]
    assert chosen.gamma_ == pytest.approx(trial["gamma"])
