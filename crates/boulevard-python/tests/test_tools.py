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


def test_tune_regression_and_faults(numbers, two):
    X, y = numbers
    result = tune(X, y, SVR(), C=[1, 10], epsilon=[0.01, 0.1], scoring="r2")
    assert set(result.best_params_) == {"C", "epsilon"} and result.best_score_ > 0.5
    with pytest.raises(TypeError, match="must be an SVC or SVR"):
        tune(*two, estimator=object())
    with pytest.raises(ValueError, match="accuracy|score"):
        tune(*two, scoring="unheard of")


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
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, timeout=120, env={**__import__("os").environ, "MPLBACKEND": "Agg"})


@pytest.mark.parametrize("suite", ["svm"])
def test_scikit_learns_own_tests(suite, capsys):
    done = subprocess.run([sys.executable, str(HERE / "run_sklearn_suite.py"), suite], capture_output=True, text=True, timeout=300)
    with capsys.disabled():
        print("\nscikit-learn's own tests, " + (done.stdout.strip().splitlines() or [done.stderr])[-1])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def test_the_html_representation_links_to_the_page_of_the_class_it_stands_in_for():
    assert 'href="https://scikit-learn.org/stable/modules/generated/sklearn.svm.SVC.html"' in SVC()._repr_html_()
