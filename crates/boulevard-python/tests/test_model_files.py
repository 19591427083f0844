"""Model files: estimators come back as they were, and models that other programs wrote predict what they say.

`files/` holds models that the program trained (all but `plain` with `--scale`, version 0.1.0 before files had notes) and what it predicted
for the rows of `rows.csv`.
"""

import csv
import json
import pathlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import boulevard
from boulevard import _core
from boulevard._notes import Note

FILES = pathlib.Path(__file__).parent / "files"
SHARED = {"n_jobs": 2, "verbose": 0, "max_time": 60.0, "memory_limit": 2**34, "device": "cpu"}
#: Every estimator with parameters that are not its defaults, some of which the native part knows nothing about.
ESTIMATORS = [
    (boulevard.SVC, {"C": 2.0, "decision_function_shape": "ovo", "gamma": "auto", "degree": 5, "random_state": 7}),
    (boulevard.SVC, {"C": 0.5, "kernel": "linear", "class_weight": "balanced", "break_ties": True}),
    (boulevard.NuSVC, {"nu": 0.2, "decision_function_shape": "ovo", "class_weight": "balanced"}),
    (boulevard.SVR, {"C": np.float64(3.0), "epsilon": 0.2, "coef0": 0.5, "max_iter": 10**6}),
    (boulevard.NuSVR, {"nu": 0.3, "kernel": "poly", "degree": np.int64(2), "coef0": 1.0}),
    (boulevard.OneClassSVM, {"nu": 0.3, "gamma": 0.2}),
    (boulevard.LinearSVC, {"max_iter": 77, "dual": False, "class_weight": {0: 2.0, 1: 1.0, 2: 0.5}, "random_state": 3}),
    (boulevard.LinearSVR, {"max_iter": 77, "loss": "squared_epsilon_insensitive", "random_state": 3, "intercept_scaling": 2.0}),
    (boulevard.MultiSampleClassifier, {"n_samples_per_decision": 2, "priors": (0.2, 0.3, 0.5), "random_state": 4, "n_extended": 50}),
    (boulevard.FeatureInductionClassifier, {"n_induced": 2, "max_depth": None, "gamma": 0.7, "kernel_C": 3.0, "random_state": 5}),
    (boulevard.FeatureInducer, {"n_induced": 2, "max_depth": 2, "random_state": 5}),
    (boulevard.MultiTaskSelectionClassifier, {"select": "kernels", "kernels": ["linear", ("rbf", {"gamma": 0.1})], "c": 2.0}),
    (boulevard.MultiTaskSelectionRegressor, {"rho": 0.5, "epsilon": 0.2, "max_iter": 500}),
    (boulevard.BoostedSVC, {"max_rounds": 2, "validation": 3, "class_weight": {1: 3.0}, "at_least_one": True, "random_state": 1}),
    (boulevard.ParetoSVC, {"n_points": 4, "pick": "one-se", "holdout_repeats": 2, "gamma": 0.3}),
]


def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return boulevard.load(tmp_path / "model")


def answers(model, X):
    ask = [name for name in ("decision_function", "predict", "transform") if hasattr(model, name)]
    # Kernels that were selected are no columns.
    ask = [name for name in ask if name != "transform" or getattr(model, "select", "features") == "features"]
    return [getattr(model, name)(X) for name in ask]


@pytest.mark.parametrize(("cls", "given"), ESTIMATORS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_parameter_comes_back(cls, given, three, tmp_path):
    X, y = three
    known = cls().get_params()
    given = {name: value for name, value in {**SHARED, **given}.items() if name in known}
    model = cls(**given).fit(X, y)
    again = saved(model, tmp_path)
    assert type(again) is cls
    assert again.get_params() == model.get_params()
    assert {name: type(value) for name, value in again.get_params().items() if isinstance(value, tuple | bool)} == {
        name: type(value) for name, value in model.get_params().items() if isinstance(value, tuple | bool)
    }
    for one, other in zip(answers(model, X), answers(again, X), strict=True):
        np.testing.assert_array_equal(one, other)
    if hasattr(model, "class_weight_"):
        np.testing.assert_array_equal(again.class_weight_, model.class_weight_)
    # A second trip changes nothing.
    assert saved(again, tmp_path).get_params() == model.get_params()


LABELS = [np.array([False, True]), np.array([1, 2], dtype=np.int8), np.array([0.0, 1.0], dtype=np.float32), np.array(["1", "2"])]
LABELS += [np.array(["no", "yes"], dtype=object), np.array([-(2**62) - 1, 2**62 + 1]), np.array(["nan", "007"])]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: str(labels.dtype))
@pytest.mark.parametrize("cls", [boulevard.SVC, boulevard.LinearSVC, boulevard.FeatureInductionClassifier, boulevard.MultiSampleClassifier])
def test_labels_come_back_with_their_type(cls, labels, two, tmp_path):
    X, y = two
    model = cls().fit(X[:60], labels[y][:60])
    again = saved(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_labels_of_several_outputs_come_back(two, tmp_path):
    X, y = two
    Y = np.column_stack([y, X[:, 0] > 0])
    for target in (Y, Y.astype(bool), np.column_stack([np.where(y, 5, 3), np.where(X[:, 0] > 0, 9, 8)])):
        model = boulevard.MultiTaskSelectionClassifier().fit(X, target)
        again = saved(model, tmp_path)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.predict(X).dtype == model.predict(X).dtype
        np.testing.assert_array_equal(again.classes_, model.classes_)
    boosted = boulevard.BoostedSVC(max_rounds=1, thresholds="zero", early_stopping=False).fit(X, Y.astype(np.int8))
    again = saved(boosted, tmp_path)
    assert again.predict(X).dtype == boosted.predict(X).dtype == np.int8


def test_what_cannot_be_kept_is_named(two, tmp_path):
    X, y = two
    model = boulevard.SVC(kernel=lambda a, b: a @ b.T, random_state=np.random.RandomState(0)).fit(X, y)
    model.save(tmp_path / "model")
    note = json.loads(_core.Model.load(tmp_path / "model").note)
    assert "lambda" in note["parameters"]["kernel"]["lost"] and note["parameters"]["random_state"] == {"lost": "RandomState"}
    again = boulevard.load(tmp_path / "model")
    assert again.kernel == "precomputed" and isinstance(again.random_state, int)
    np.testing.assert_array_equal(again.decision_function(X @ X.T), model.decision_function(X))


@pytest.mark.parametrize(
    "note",
    ["", "no JSON", "[]", '{"estimator": "NuSVC"}', '{"parameters": {"strange": 1, "C": {"array": 5}}, "attributes": {"classes_": 3}}']
    + ['{"attributes": {"classes_": {"array": ["a", "b", "c"], "dtype": "<U1"}}}', '{"estimator": 3, "parameters": []}'],
)
def test_notes_of_others_are_ignored(note, two, tmp_path):
    X, y = two
    model = boulevard.SVC(C=2.0).fit(X, y)
    model._native.save(tmp_path / "model", note)
    loaded = _core.Model.load(tmp_path / "model")
    assert loaded.note == note and Note(loaded).attributes.get("C") is None
    again = boulevard.load(tmp_path / "model")
    assert type(again) is boulevard.SVC and again.C == 2.0
    np.testing.assert_array_equal(again.classes_, [0, 1])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_without_a_note_files_are_what_they_were(two):
    model = boulevard.SVC().fit(*two)._native
    assert model.note is None and model.to_bytes() == model.to_bytes(None) != model.to_bytes("")
    assert _core.Model.from_bytes(model.to_bytes("kept")).note == "kept"
    assert _core.Model.from_bytes(model.to_bytes("kept")).to_bytes() == model.to_bytes()


CLASSES = {
    "svc": boulevard.SVC,
    "nu_svc": boulevard.NuSVC,
    "svr": boulevard.SVR,
    "one_class": boulevard.OneClassSVM,
    "linear": boulevard.LinearSVC,
    "gather": boulevard.MultiSampleClassifier,
    "induce": boulevard.FeatureInductionClassifier,
    "select": boulevard.MultiTaskSelectionClassifier,
    "boost": boulevard.BoostedSVC,
    "pareto": boulevard.ParetoSVC,
    "plain": boulevard.SVC,
}
ROWS = np.loadtxt(FILES / "rows.csv", delimiter=",", skiprows=1)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models_of_the_program_predict_what_it_predicts(name, tmp_path):
    model = boulevard.load(FILES / f"{name}.model")
    assert type(model) is CLASSES[name]
    with (FILES / f"{name}.csv").open() as file:
        said = list(csv.DictReader(file))
    column = lambda kind: [[float(row[key]) for key in row if key.startswith(kind)] for row in said]
    for table in (ROWS, np.asfortranarray(ROWS)):
        predicted = model.predict(table)
        if name == "svr":
            np.testing.assert_array_equal(predicted, np.ravel(column("value")))
            continue
        np.testing.assert_array_equal(model.decision_function(table).ravel(), np.ravel(column("decision")))
        words = {1: "inside", -1: "outside"}
        assert [words.get(value, value) for value in predicted.tolist()] == [row["prediction"] for row in said]
    if name == "svc":
        np.testing.assert_array_equal(model.predict_proba(ROWS), column("probability"))
    if name == "plain":
        assert not hasattr(model, "scaling_") and model._native.scaling is None
        return
    assert set(model.scaling_) == {"scaling", "maps"} and len(model.scaling_["maps"]) == 3
    assert "scaling" in model.describe()
    np.testing.assert_array_equal(model.feature_names_in_, ["u", "v", "w"])
    # Pickles and files of scaled models scale too, and a new fit does not.
    for again in (pickle.loads(pickle.dumps(model)), saved(model, tmp_path)):
        np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
        assert again.scaling_ == model.scaling_
    if name in ("svc", "linear"):
        assert not hasattr(model.fit(ROWS, np.arange(40) % 2), "scaling_")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_sparse_rows_are_scaled_too():
    model = boulevard.load(FILES / "linear.model")
    assert hasattr(model, "scaling_")
    for rows in (sp.csr_matrix(ROWS), sp.csc_array(ROWS)):
        np.testing.assert_allclose(model.decision_function(rows), model.decision_function(ROWS), rtol=1e-12)
        np.testing.assert_array_equal(model.predict(rows), model.predict(ROWS))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_questions_that_only_one_kind_answers_see_scaled_columns():
    boosted = boulevard.load(FILES / "boost.model")
    *_, last = boosted.staged_decision_function(ROWS)
    np.testing.assert_allclose(last, boosted.decision_function(ROWS), rtol=1e-9, atol=1e-9)
    induced = boulevard.load(FILES / "induce.model")
    *_, last = induced.staged_predict(ROWS)
    np.testing.assert_array_equal(last, induced.predict(ROWS))
    sets = boulevard.load(FILES / "gather.model")
    pairs = ROWS.reshape(20, 2, 3)
    np.testing.assert_allclose(sets.decision_function(pairs), sets.decision_function(pairs[:, ::-1]))
    front = boulevard.load(FILES / "pareto.model")
    point = front.select(front.picked_)
    assert point.scaling_ == front.scaling_ and len(np.unique(point.decision_function(ROWS))) > 10
