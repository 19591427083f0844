"""The boosted classifier: labels, classes, stages, files, pictures."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.utils.estimator_checks import check_estimator

import boulevard
from boulevard import BoostedSVC


@pytest.fixture
def labels():
    return make_multilabel_classification(150, 8, n_classes=4, n_labels=2, random_state=3)


def short(**parameters):
    return BoostedSVC(**{"max_rounds": 4, "validation": 3, **parameters})


@pytest.mark.filterwarnings("ignore")
def test_every_check_of_scikit_learn_passes():
    for estimator in (BoostedSVC(), BoostedSVC(preset="paper", max_rounds=5)):
        results = check_estimator(estimator, on_fail=None, on_skip=None)
        bad = [(result["check_name"], result["exception"]) for result in results if result["status"] in ("failed", "xfail")]
        if estimator.preset == "paper":
            # Draws are random: a weight of 2 is not the row twice.
            bad = [entry for entry in bad if "sample_weight_equivalence" not in entry[0]]
        assert not bad
        assert len(results) > 50


def test_label_matrices_dense_sparse_and_named(labels):
    X, Y = labels
    dense = short().fit(X, Y)
    said = dense.predict(X)
    assert said.shape == Y.shape and said.dtype == Y.dtype and (said == Y).mean() > 0.8
    np.testing.assert_array_equal(said, dense.decision_function(X) > 0)
    probabilities = dense.predict_proba(X)
    np.testing.assert_array_equal(probabilities > 0.5, said == 1)
    again = short().fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    assert sp.issparse(again.predict(X)) and (again.predict(X).toarray() == said).mean() > 0.99
    pandas = pytest.importorskip("pandas")
    named = short().fit(pandas.DataFrame(X).add_prefix("x"), pandas.DataFrame(Y, columns=list("abcd")))
    assert named.label_names_ == list("abcd") and named.classes_.tolist() == [0, 1, 2, 3]
    weighted = short(class_weight={"a": 3.0, 1: 2.0}).fit(pandas.DataFrame(X).add_prefix("x"), pandas.DataFrame(Y, columns=list("abcd")))
    assert weighted.objective_ != named.objective_


def test_attributes_and_stages(labels):
    X, Y = labels
    model = short(early_stopping=False).fit(X, Y)
    assert len(model.estimators_) == len(model.alphas_) == len(model.errors_) == len(model.sigmas_) == len(model.weights_) == 4
    assert model.thresholds_.shape == (4,) and model.n_rounds_.max() <= 4 and model.fit_status_ == 0 and model.dual_gap_ < 1e-2
    for label, rounds in enumerate(model.estimators_):
        weights = model.weights_[label]
        assert weights.shape == (len(rounds) + 1, 150)
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        total = sum(one.alpha * one.decision_function(X) for one in rounds) / model.alphas_[label].sum()
        if not model.endings_[label] == "never":
            np.testing.assert_allclose(total - model.thresholds_[label], model.decision_function(X)[:, label], atol=2e-3)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds_.max()
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    rows, gains = model.hard_rows(1, 5)
    assert len(rows) == 5 and (gains > 0).all()
    assert len(short().fit(X, Y).validation_scores_) >= 4


def test_classes_two_and_three(two, three):
    for X, y in (two, three):
        model = short().fit(X, y)
        assert model.score(X, y) > 0.8
        probabilities = model.predict_proba(X)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
        np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    text = np.array(["no", "yes"])[two[1]]
    assert set(short().fit(two[0], text).predict(two[0])) == {"no", "yes"}


def test_thresholds_follow_the_measure(two):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] + rng.normal(size=1500) > 2.3).astype(int)
    new = rng.normal(size=(6000, 3))
    truth = new[:, 0] + rng.normal(size=6000) > 2.3
    recall, alarms = {}, {}
    for name, parameters in {
        "f1": {},
        "balanced": {"measure": "balanced_accuracy"},
        "dear": {"measure": "cost", "miss_cost": 50.0},
        "cheap": {"measure": "cost", "alarm_cost": 20.0},
        "most": {"measure": "precision_at_recall", "least_recall": 0.9},
    }.items():
        said = short(tune=False, max_rounds=1, **parameters).fit(X, y).predict(new) == 1
        recall[name], alarms[name] = said[truth].mean(), said[~truth].mean()
    assert alarms["cheap"] <= alarms["f1"] < alarms["balanced"] and recall["cheap"] <= recall["f1"] < recall["balanced"]
    assert recall["dear"] > 0.8 and recall["most"] > 0.75
    for wrong in ({"measure": "accuracy"}, {"miss_cost": -1.0}, {"least_recall": 0.0}, {"measure": "cost", "miss_cost": 0.0, "alarm_cost": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong)) if len(wrong) == 1 else "miss_cost"):
            short(**wrong).fit(X, y)


@pytest.mark.filterwarnings("ignore")
def test_a_rare_class_is_what_costs_and_recalls_are_about_whatever_its_name():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(600, 3)), rng.normal(size=(2000, 3))
    rare, truth = X[:, 0] + 0.5 * rng.normal(size=600) > 1.8, new[:, 0] > 1.9
    for measure in ({"measure": "cost", "miss_cost": 20.0}, {"measure": "precision_at_recall", "least_recall": 0.9}):
        recalls = []
        for name in ("a rare one", "z rare one"):
            model = short(random_state=0, **measure).fit(X, np.where(rare, name, "usual"))
            recalls.append((model.predict(new) == name)[truth].mean())
            assert f"`{name}`" in model.chosen_because_
        assert min(recalls) > 0.8 and abs(recalls[0] - recalls[1]) < 0.05, (measure, recalls)


def test_trials_choose_and_say_so(labels, tmp_path):
    X, Y = labels
    model = short().fit(X, Y)
    best = model.chosen_["best"]
    assert best["score"] == max(trial["score"] for trial in model.chosen_["trials"]) and model.chosen_["rows"] == 150
    model.save(tmp_path / "model")
    again = boulevard.load(tmp_path / "model")
    assert again.chosen_ == model.chosen_ and again.get_params()["tune"] is True
    assert short(tune=False).fit(X, Y).chosen_ is None
    assert short(preset="paper").fit(X, Y).chosen_ is None


def test_files_and_pickles_are_the_same_to_the_bit(labels, three, tmp_path):
    X, Y = labels
    for X, y in (labels, three):
        for model in (short().fit(X, y), short(preset="paper", class_weight={1: 2.0}).fit(X, y)):
            model.save(tmp_path / "model")
            for again in (boulevard.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
                assert type(again) is BoostedSVC
                np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
                np.testing.assert_array_equal(again.predict(X), model.predict(X))
                for a, b in zip(again.weights_, model.weights_, strict=True):
                    np.testing.assert_array_equal(a, b)
                assert again.get_params()["class_weight"] == model.class_weight and again.endings_ == model.endings_


def test_probabilities_come_later_if_asked(labels, tmp_path):
    X, Y = labels
    model = short(preset="paper").fit(X, Y)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="calibrate=True"):
        boulevard.load(tmp_path / "model").predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), short(preset="paper", calibrate=True).fit(X, Y).predict_proba(X))


def test_seeds_repeat_and_threads_do_not_matter(labels):
    X, Y = labels
    paper = short(preset="paper")
    first = paper.fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(short(preset="paper", n_jobs=1, random_state=0).fit(X, Y).decision_function(X), first)
    assert (short(preset="paper", random_state=1).fit(X, Y).decision_function(X) != first).any()


def test_bad_input_is_named(labels):
    X, Y = labels
    with pytest.raises(ValueError, match="0 and 1"):
        short().fit(X, 2 * Y - 1)
    with pytest.raises(ValueError, match="sigma_min"):
        short(sigma_init=1.0, sigma_min=2.0).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight"):
        short(class_weight={"zebra": 1.0}).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        short().fit(X[:10], Y)
    Y = Y.copy()
    Y[:, 0], Y[:, 1] = 0, 1
    model = short().fit(X, Y)
    assert model.endings_[:2] == ["never", "always"]
    assert model.predict(X)[:, 0].sum() == 0 and model.predict(X)[:, 1].all()


def test_pictures_keep_their_data(labels):
    pytest.importorskip("matplotlib").use("Agg")
    from boulevard.plot import BoostingDisplay, HardRowsDisplay, LabelScoresDisplay

    X, Y = labels
    model = short(early_stopping=False).fit(X, Y)
    before = short(max_rounds=1, thresholds="zero", early_stopping=False, initial_weights="uniform").fit(X, Y)
    bars = LabelScoresDisplay.from_predictions(Y, {"one machine": before.predict(X), "boosted": model.predict(X)})
    assert list(bars.counts) == sorted(bars.counts) and set(bars.scores) == {"one machine", "boosted"}
    assert set(BoostingDisplay.from_estimator(model).series) == set(model.label_names_)
    assert BoostingDisplay.from_estimator(model, what="weights").series["0"][0] > 0
    assert HardRowsDisplay.from_estimator(model, n_rows=7).gains.shape == (4, 7)
