"""Feature induction: contract, readable results, hostile input."""

import json
import pickle
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import boulevard
from boulevard import FeatureInducer, FeatureInductionClassifier
from boulevard.datasets import make_checkerboard


@pytest.fixture
def board():
    return make_checkerboard(300, cells=2, random_state=0)


def small(**parameters):
    return FeatureInductionClassifier(**{"n_induced": 6, "max_depth": 3, "C": 1.0, **parameters})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        # The defaults but for the number of rounds that are tried: fifty of them would take minutes here.
        FeatureInductionClassifier(max_induced=4),
        FeatureInducer(max_induced=4),
        FeatureInductionClassifier(n_induced=2, max_depth=2, kernel="rbf"),
    ],
)
def test_every_check_of_scikit_learn_passes(estimator, capsys):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    with capsys.disabled():
        print(f"\ncheck_estimator {estimator}: {dict(Counter(result['status'] for result in results))}")
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] in ("failed", "xfail")]


def test_rules_are_readable_and_explain_decisions(board):
    pd = pytest.importorskip("pandas")
    X, y = board
    frame = pd.DataFrame(X, columns=["width", "height"])
    clf = small(n_induced=10).fit(frame, y)
    assert clf.linear_error_ > 0.3 and clf.score(frame, y) > 0.9
    # A round whose tree is pruned to its root makes no feature.
    count = clf.n_induced_
    assert len(clf.gammas_) == len(clf.edges_) == len(clf.edge_bounds_) == count and 5 <= count <= 10
    assert len(clf.staged_errors_) == count + 1 and clf.staged_errors_[0] == clf.linear_error_
    assert (np.diff(clf.objectives_) <= 0).all()
    rule = clf.rules_[0]
    assert "width" in rule["text"] or "height" in rule["text"]
    assert {"text", "weight", "support", "edge", "rounds", "adds", "class"} <= set(rule)
    assert len({(r["class"], r["text"]) for r in clf.rules_}) == len(clf.rules_)
    Z = clf.transform(frame)
    names = clf.get_feature_names_out()
    assert Z.shape == (300, 2 + count) and len(names) == 2 + count and list(names[:2]) == ["width", "height"]
    np.testing.assert_allclose(Z @ clf.coef_[0] + clf.intercept_[0], clf.decision_function(frame), atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=0.2)
    for row, (explanation,) in zip(range(3), clf.explain(frame[:3]), strict=True):
        total = explanation["bias"] + sum(part["adds"] for part in explanation["contributions"])
        assert np.isclose(total, explanation["decision"]) and np.isclose(total, clf.decision_function(frame[row : row + 1])[0])
        assert len(explanation["contributions"]) == 2 + count
    assert "rule" in clf.export_text(3) and json.loads(clf.to_json())["rules"]
    *_, last = clf.staged_predict(frame)
    np.testing.assert_array_equal(last, clf.predict(frame))
    assert clf.set_output(transform="pandas").transform(frame).columns[2].startswith("rule 1: ")


def test_auto_shows_what_it_chose_and_may_decline(board):
    X, y = board
    clf = FeatureInductionClassifier(C=1.0, max_induced=8).fit(X, y)
    choice = clf.choices_[0]
    assert choice["error"] < choice["linear_error"] and len(choice["curves"]) == 3 and clf.declined_ == [None]
    tiny = FeatureInductionClassifier().fit(X[:8], y[:8])
    assert tiny.n_induced_ == 0 and "too few" in tiny.declined_[0]
    assert FeatureInductionClassifier(preset="paper").fit(X[:60], y[:60]).n_induced_ > 0


def test_many_classes_have_rules_of_their_own(three):
    X, y = three
    clf = small().fit(X, y)
    assert clf.coef_.shape == (3, 6 + sum(clf.n_induced_)) and {rule["class"] for rule in clf.rules_} == {"0", "1", "2"}
    probabilities = clf.predict_proba(X)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), clf.predict(X))
    np.testing.assert_array_equal(clf.decision_function(X).argmax(axis=1), clf.predict(X))
    assert len(clf.explain(X[0])) == 3


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf", "gamma": 0.3}, {"sampling": "weight", "output": "hard", "cross_fit": True}])
def test_files_pickles_clones_and_sparse_tables(board, tmp_path, parameters):
    X, y = board
    clf = small(**parameters).fit(X, y)
    clf.save(tmp_path / "model")
    for other in (boulevard.load(tmp_path / "model"), pickle.loads(pickle.dumps(clf)), clone(clf).fit(X, y), small(**parameters, n_jobs=1).fit(X, y)):
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        assert other.rules_ == clf.rules_
    np.testing.assert_array_equal(clone(clf).fit(sp.csr_matrix(X), y).decision_function(sp.csr_matrix(X)), clf.decision_function(X))
    assert boulevard.load(tmp_path / "model").get_params() == clf.get_params()
    # float32 tables are read without a copy; the split points are the same numbers.
    single = X.astype(np.float32)
    np.testing.assert_array_equal(clf.predict(single.astype(np.float64)), clf.predict(single))


def test_the_transformer_serves_any_pipeline(board):
    X, y = board
    pipe = make_pipeline(FeatureInducer(n_induced=8, max_depth=3, C=1.0), LogisticRegression()).fit(X, y)
    assert pipe.score(X, y) > 0.9 > 0.7 > LogisticRegression().fit(X, y).score(X, y)
    inducer, clf = FeatureInducer(n_induced=8, max_depth=3, C=1.0).fit(X, y), small(n_induced=8).fit(X, y)
    np.testing.assert_array_equal(inducer.transform(X), clf.transform(X))
    assert inducer.rules_ == clf.rules_


def test_bad_parameters_and_tables_are_refused(board):
    X, y = board
    for bad in ({"n_induced": -1}, {"max_depth": 0}, {"confidence": 0.9}, {"output": "loud"}, {"kernel": "precomputed"}, {"C": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            small(**bad).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        small().fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="linear kernel"):
        small(kernel="rbf").fit(X, y).explain(X[0])
    constant = small().fit(np.ones((20, 2)), [0, 1] * 10)
    assert constant.n_induced_ == 0 and constant.declined_[0]


def test_a_time_limit_leaves_a_usable_model(board):
    X, y = board
    with pytest.warns(boulevard.exceptions.ConvergenceWarning):
        clf = small(n_induced=100_000, max_time=0.2).fit(X, y)
    assert clf.fit_status_ == 2 and clf.predict(X).shape == y.shape


def test_pictures_keep_their_data(board):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from boulevard.plot import InductionDisplay, RulesDisplay

    X, y = board
    clf = small().fit(X, y)
    display = InductionDisplay.from_estimator(clf, X, y)
    assert set(display.curves) == {"training", "test"} and len(display.curves["test"]) == clf.n_induced_ + 1
    assert len(RulesDisplay.from_estimator(clf, max_rules=4).rules) == 4


def test_the_default_is_a_short_list_that_says_what_it_gave_up(board):
    pd = pytest.importorskip("pandas")
    X, y = board
    frame = pd.DataFrame(X, columns=["width", "height"])
    clf = FeatureInductionClassifier(C=0.1, max_induced=8, random_state=0).fit(frame, y)
    choice = clf.rule_choice_
    assert 0 < len(clf.rules_) == choice["chosen"] == clf.n_induced_ <= 20
    path = clf.rules_path()
    assert len(path.n_rules) == len(path.error) == len(path.uncertainty) == 21 and path.error[path.chosen] < path.linear_error - 0.2
    assert path.error[path.chosen] <= path.error[path.best] + path.uncertainty[path.chosen] + 1e-12
    assert "whole trees" in path.reason and path.unlimited_error is not None
    text = clf.export_text()
    assert path.reason in text and "columns for class" in text and all(rule["text"] in text for rule in clf.rules_)
    (explained,) = clf.explain(frame[:1])
    total = explained[0]["bias"] + sum(part["adds"] for part in explained[0]["contributions"])
    assert np.isclose(total, clf.decision_function(frame[:1])[0]) and "decision value" in explained[0]["sentences"][0]
    *_, last = clf.staged_predict(frame)
    np.testing.assert_array_equal(last, clf.predict(frame))
    np.testing.assert_allclose(clf.transform(frame) @ clf.coef_[0] + clf.intercept_[0], clf.decision_function(frame), atol=1e-9)
    assert clf.predict_proba(frame).shape == (300, 2)
    three = FeatureInductionClassifier(C=0.1, max_induced=8, max_rules=3, random_state=0).fit(X, y)
    assert len(three.rules_) <= 3 and len(three.rules_path().error) == 4
    whole = FeatureInductionClassifier(C=0.1, max_induced=8, max_rules=None, random_state=0).fit(X, y)
    assert whole.rule_choice_ is None and len(whole.rules_) > len(clf.rules_)
    with pytest.raises(ValueError, match="whole trees"):
        whole.rules_path()


def test_lists_in_files_and_with_many_classes(three, tmp_path):
    X, y = three
    clf = FeatureInductionClassifier(max_rules=5, max_induced=4, random_state=0).fit(X, y)
    clf.save(tmp_path / "model")
    for other in (boulevard.load(tmp_path / "model"), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        assert other.rules_ == clf.rules_ and other.rule_choice_ == clf.rule_choice_ and other.get_params() == clf.get_params()
    assert all(len(rule["adds_by_class"]) == 3 for rule in clf.rules_) and len(clf.explain(X[0])) == 3
    assert clf.coef_.shape == (3, X.shape[1] + len(clf.rules_))


def test_no_text_leaves_the_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pd = pytest.importorskip("pandas")
    from boulevard.plot import RulesDisplay, RulesPathDisplay

    X, y = make_checkerboard(200, cells=3, random_state=0)
    frame = pd.DataFrame(X, columns=["a rather long name of a column", "another name that does not end soon"])
    clf = FeatureInductionClassifier(C=0.1, max_induced=6, max_rules=8, random_state=0).fit(frame, y)
    for display in (RulesDisplay.from_estimator(clf), RulesPathDisplay.from_estimator(clf)):
        figure = display.figure_
        figure.canvas.draw()
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert drawn.x0 >= -0.01 and drawn.y0 >= -0.01 and drawn.x1 <= width + 0.01 and drawn.y1 <= height + 0.01, drawn
        # And the whole text of every rule is there.
    shown = [label.get_text().replace("\n", " ") for label in RulesDisplay.from_estimator(clf).ax_.get_yticklabels()]
    assert shown == [rule["text"] for rule in clf.rules_]


def test_numbers_of_rules_are_counts():
    X, y = make_checkerboard(80, cells=2, random_state=0)
    clf = FeatureInductionClassifier(max_rules=2, max_induced=4).fit(X, y)
    for wrong in (-1, True, 2.5, None):
        with pytest.raises(ValueError, match=f"max_rules must be a whole number, 0 or more, got {wrong}"):
            clf.export_text(max_rules=wrong)
    assert "... and 2 more rules" in clf.export_text(max_rules=np.int64(0))
    with pytest.raises(ValueError, match="max_rules.*Got True"):
        FeatureInductionClassifier(max_rules=True).fit(X, y)
    assert FeatureInductionClassifier(max_rules=0, max_induced=4).fit(X, y).chosen_because_.startswith("no rule, as asked: the linear machine")


def test_text_of_three_classes_says_what_rules_and_columns_add_to_each():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    y = np.where((abs(X[:, 0]) < 0.4) & (abs(X[:, 1]) < 0.6), "mid", np.where(X[:, 0] > 0, "right", "left"))
    clf = FeatureInductionClassifier(max_rules=4, max_induced=6, random_state=0).fit(X, y)
    text = clf.export_text()
    assert clf.rules_
    for rule in clf.rules_:
        adds = ", ".join(f"{name} {value:+.4f}" for name, value in zip(clf.classes_, rule["adds_by_class"], strict=True))
        assert any(line.strip() == adds for line in text.split(rule["text"] + "\n")[1].splitlines()[:1]), text
    for name in ("x1", "x2"):
        assert text.count(f"{name} (mean") == 1
    # The reason stands in a description once.
    assert clf.describe().count(clf.rules_path().reason) == 1
