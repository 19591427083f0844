"""Data sets, tuning, pictures, doctests, scikit-learn's own test file."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import boulevard
from boulevard import SVC, SVR, datasets
from boulevard.model_selection import tune

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", datasets.__all__)
def test_data_sets_repeat(name):
    make = getattr(datasets, name)
    X, y = make(50, random_state=3)
    assert len(X) == len(y) == 50 and set(np.unique(y)) <= {-1, 1}
    np.testing.assert_array_equal(make(50, random_state=3)[0], X)
    assert not np.array_equal(make(50, random_state=4)[0], X)
    np.testing.assert_array_equal(make(50)[0], make(50, random_state=0)[0])
    assert "n_samples : int" in make.__doc__


def test_tune_finds_what_a_plain_search_finds(two):
    X, y = two
    result = tune(X, y, C=[0.1, 1, 10], gamma=[0.05, 0.5], cv=4)
    assert result.cv_results_["test_scores"].shape == (6, 4)
    assert result.best_score_ == result.cv_results_["mean_test_score"].max()
    expected = SVC(**result.best_params_).fit(X, y)
    np.testing.assert_array_equal(result.best_estimator_.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(result.predict(X), expected.predict(X))
    assert "accuracy" in repr(result)


def test_tune_chooses_its_own_grid_and_refines_it(two):
    X, y = two
    result = tune(X, y, cv=3)
    table, width = result.cv_results_, 1 / (X.shape[1] * X.var())
    assert len(table["params"]) == 25 + result.chosen_["refined"] and result.chosen_["refined"] == 8
    assert set(result.best_params_) == {"C", "gamma"} and "columns times variance" in result.chosen_["values_from"]
    np.testing.assert_allclose(np.unique(table["param_gamma"])[[0, -1]], [width / 64, 4 * width], rtol=0.9)
    assert table["mean_test_score"][result.best_index_] == result.best_score_ and table["rank_test_score"].min() == 1
    np.testing.assert_array_equal(table["split1_test_score"], table["test_scores"][:, 1])
    # The smoothest machine within one standard error of the best.
    calm = tune(X, y, cv=3, pick="one-se")
    best = table["mean_test_score"].argmax()
    within = table["mean_test_score"] >= table["mean_test_score"][best] - table["std_test_score"][best] / np.sqrt(3)
    assert calm.best_params_["C"] == table["param_C"][within].min() and "standard error" in calm.chosen_["pick"]
    assert len(tune(X, y, cv=3, C=[1, 10]).cv_results_["params"]) == 2  # values that are given are taken as they are


def test_tune_takes_grids_as_scikit_learn_does(two):
    X, y = two
    grid = {"C": [0.5, 5], "gamma": ["scale", 0.1], "kernel": ["rbf", "laplacian"]}
    result = tune(X, y, SVC(), grid, cv=3, scoring="neg_log_loss")
    assert len(result.cv_results_["params"]) == 8 and result.best_score_ < 0 and result.larger_is_better_
    assert result.best_score_ == result.cv_results_["mean_test_score"].max()
    assert result.best_estimator_.get_params().items() >= result.best_params_.items()
    both = tune(X, y, param_grid=[{"C": [1], "kernel": ["linear"]}, {"gamma": [0.1, 1.0]}], cv=3)
    assert len(both.cv_results_["params"]) == 3
    for wrong in ({"c": [1]}, {"C": 1}, []):
        with pytest.raises(ValueError, match="param"):
            tune(X, y, param_grid=wrong)
    with pytest.raises(ValueError, match="not both"):
        tune(X, y, param_grid={"C": [1]}, gamma=[1])


def test_probabilities_of_many_classes_are_sharpened(tmp_path):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, 5)) * 2
    y = np.repeat(np.arange(8), 25)
    X = centers[y] + rng.normal(size=(200, 5))
    new = rng.permutation(200)[:120]
    X_new, y_new = centers[y[new]] + rng.normal(size=(120, 5)), y[new]
    chances, fits = {}, {}
    for how in ("auto", "sigmoid", "temperature", "vector"):
        fits[how] = SVC(calibration=how, calibrate=True).fit(X, y)
        chances[how] = fits[how].predict_proba(X_new)
        np.testing.assert_array_equal(chances[how].argmax(axis=1), fits[how].predict(X_new))
        np.testing.assert_allclose(chances[how].sum(axis=1), 1)
        assert how == "auto" or fits[how].calibration_["method"] == how
    said = fits["auto"].calibration_
    losses = said["log_losses"]
    assert said["method"] == min(losses, key=losses.get) != "sigmoid" and said["power"] > 1
    np.testing.assert_array_equal(chances["auto"], chances[said["method"]])
    loss = {how: -np.log(p[np.arange(120), y_new]).mean() for how, p in chances.items()}
    assert loss["auto"] < loss["sigmoid"]
    for clf in (fits["auto"], fits["vector"], boulevard.LinearSVC(calibration="vector", calibrate=True).fit(X, y)):
        clf.save(tmp_path / "m")
        again = boulevard.load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict_proba(X_new), clf.predict_proba(X_new))
        assert again.calibration == clf.calibration and again.calibration_ == clf.calibration_
    assert SVC().fit(X, y).calibration_ is None
    # Two classes have one sigmoid, whatever is asked for.
    pair = y < 2
    two_classes = [SVC(calibration=how).fit(X[pair], y[pair]).predict_proba(X_new) for how in ("auto", "sigmoid", "vector")]
    np.testing.assert_array_equal(two_classes[0], two_classes[1])
    np.testing.assert_array_equal(two_classes[0], two_classes[2])


def test_the_multiquadric_is_a_similarity(two):
    X, y = two
    for clf in (SVC(kernel="multiquadric", coef0=1.0), boulevard.NuSVC(kernel="multiquadric", coef0=1.0, nu=0.3)):
        assert clf.fit(X, y).score(X, y) > 0.65  # with the positive sign less than half
    assert tune(X, y, SVC(kernel="multiquadric", coef0=1.0), cv=3).best_score_ > 0.7


def test_tune_regression_and_faults(numbers, two):
    X, y = numbers
    result = tune(X, y, SVR(), C=[1, 10], epsilon=[0.01, 0.1], scoring="r2")
    assert set(result.best_params_) == {"C", "epsilon"} and result.best_score_ > 0.5
    # The target's own scale is no concern of the user's.
    small, large = (tune(X, factor * y, SVR(), cv=3, scoring="r2") for factor in (1.0, 1e3))
    assert set(large.best_params_) == {"C", "gamma", "epsilon"} and large.chosen_["refined"] == 10
    assert small.best_score_ == pytest.approx(large.best_score_, abs=1e-2) and large.best_score_ > 0.5
    with pytest.raises(TypeError, match="must be an SVC or SVR"):
        tune(*two, estimator=object())
    with pytest.raises(ValueError, match="accuracy|score"):
        tune(*two, scoring="unheard of")
    with pytest.raises(ValueError, match="of all rows `rare` 1 row"):
        tune(two[0], np.where(np.arange(len(two[0])) == 3, "rare", "usual"))


def test_pictures_keep_their_data(two):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = datasets.make_banana(80)
    shown = boulevard.plot.DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, resolution=30)
    assert shown.decision.shape == (30, 30) and shown.ax_.figure is shown.figure_
    heat = boulevard.plot.TuneDisplay.from_result(tune(X, y, C=[1, 10], gamma=[0.1, 1.0], cv=3))
    assert heat.scores.shape == (2, 2)
    with pytest.raises(ValueError, match="two columns"):
        boulevard.plot.DecisionDisplay.from_estimator(SVC().fit(*two), two[0])


MODULES = ["boulevard", *(module.name for module in pkgutil.walk_packages(boulevard.__path__, "boulevard."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=options).failed == 0
    for thing in vars(module).values():
        # A paragraph that was not filled in.
        for owner in (thing, *vars(thing).values()) if inspect.isclass(thing) else (thing,):
            assert not re.search(r"^ *\{\w+\}$", getattr(owner, "__doc__", None) or "", re.MULTILINE), owner


@pytest.mark.parametrize("script", sorted((HERE.parent / "examples").glob("plot_*.py")), ids=lambda path: path.name)
def test_example_scripts_run(script, tmp_path):
    pytest.importorskip("matplotlib")
    subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, check=True, timeout=120, env={**__import__("os").environ, "MPLBACKEND": "Agg"}
    )


@pytest.mark.parametrize("suite", ["svm", "users"])
def test_scikit_learns_own_tests(suite, capsys):
    done = subprocess.run([sys.executable, str(HERE / "run_sklearn_suite.py"), suite], capture_output=True, text=True, timeout=600)
    with capsys.disabled():
        print("\nscikit-learn's own tests, " + (done.stdout.strip().splitlines() or [done.stderr])[-1])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_the_html_representation_links_to_the_page_of_the_class_it_stands_in_for():
    assert 'href="https://scikit-learn.org/stable/modules/generated/sklearn.svm.SVC.html"' in SVC()._repr_html_()


def test_every_automatic_choice_says_why_and_what_overrides_it():
    X, y = make_classification(120, 6, n_informative=4, class_sep=0.8, random_state=0)
    learners = {
        "max_rules": boulevard.FeatureInductionClassifier(random_state=0),
        "keep": boulevard.MultiTaskSelectionClassifier(),
        "method": boulevard.MultiSampleClassifier(random_state=0),
        "tune": boulevard.BoostedSVC(random_state=0),
        "pick": boulevard.ParetoSVC(n_points=20, random_state=0),
    }
    for argument, model in learners.items():
        why = model.fit(X, y).chosen_because_
        assert f"`{argument}`" in why and any(digit in why for digit in "0123456789"), (argument, why)
        assert why in model.describe()
    plain = boulevard.ParetoSVC(gamma=0.1, bias="objective", pick=3, n_points=20).fit(X, y)
    assert plain.chosen_because_ is None
    with pytest.raises(NotFittedError):
        boulevard.BoostedSVC().chosen_because_


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, scipy.sparse.csr_matrix])
def test_tune_says_where_a_value_is_missing(make):
    X, y = make_classification(60, 5, random_state=0)
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="contains NaN(.|\n)*row 7, column 3"):
        tune(make(X), y)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="contains NaN(.|\n)*row 7, column 3 \\('d'\\)"):
        tune(pandas.DataFrame(X, columns=list("abcde")), y)


def test_tune_names_the_measures_there_are():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.raises(ValueError, match="scoring must be one of accuracy, .*neg_log_loss or None for SVC, got 'x'$"):
        tune(X, y, scoring="x")
    with pytest.raises(ValueError, match="one of rmse, .* for SVR, got 'accuracy'$"):
        tune(X, y, SVR(), scoring="accuracy")
    with pytest.raises(TypeError, match="GridSearchCV"):
        tune(X, y, scoring=max)


def test_boosting_says_why_so_many_rounds_and_which_measure():
    X, y = make_classification(150, 6, n_informative=4, class_sep=0.8, random_state=0)
    why = boulevard.BoostedSVC(random_state=0, max_rounds=3).fit(X, y).chosen_because_
    assert "F1" in why and "`early_stopping`" in why and "`thresholds`" in why
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    why = boulevard.BoostedSVC(measure="balanced_accuracy", random_state=0, max_rounds=3).fit(X, y).chosen_because_
    assert "by balanced accuracy, mean over the classes," in why and "the measure" not in why and "`early_stopping`" in why
