"""Texts of pictures: none leaves the figure, names along an axis do not overlap, legends say what they list."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib.text import Text  # noqa: E402

from boulevard import (  # noqa: E402
    SVC,
    SVR,
    FeatureInductionClassifier,
    MultiSampleClassifier,
    MultiTaskSelectionClassifier,
    ParetoSVC,
    selection_path,
)
from boulevard.model_selection import tune  # noqa: E402
from boulevard.plot import (  # noqa: E402
    BoostingDisplay,
    DecisionDisplay,
    ErrorBySizeDisplay,
    FamilyDisplay,
    FrontDisplay,
    HardRowsDisplay,
    InductionDisplay,
    LabelScoresDisplay,
    RulesDisplay,
    RulesPathDisplay,
    SelectionErrorDisplay,
    SelectionPathDisplay,
    SelectionWeightDisplay,
    SequentialDisplay,
    TaskFeatureDisplay,
    TransferDisplay,
    TuneDisplay,
)

LONG = ["a name that is much longer than any axis has room for, and then some", "x", "sunset over fallow fields", "Mountain (far)"]


def long_names(count):
    return [f"{k} {LONG[k % len(LONG)]}" for k in range(count)]


def drawn_texts(figure):
    """Everything that is drawn, with its box; ticks outside their axis are not drawn."""
    figure.canvas.draw()
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    hidden |= {tick.label1, tick.label2}
    found = figure.findobj(lambda artist: isinstance(artist, Text))
    return [(text, text.get_window_extent()) for text in found if text.get_visible() and text.get_text() and text not in hidden]


def check_texts(display):
    figure = display.figure_
    texts = drawn_texts(figure)
    for text, box in texts:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert inside, f"{text.get_text()!r} leaves the figure: {box} in {figure.bbox}"
    drawn = {text for text, _ in texts}
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            boxes = [(t.label1.get_text(), t.label1.get_window_extent()) for t in axis.get_major_ticks() if t.label1 in drawn]
            for (a, one), (b, other) in zip(boxes, boxes[1:], strict=False):
                width = min(one.x1, other.x1) - max(one.x0, other.x0)
                height = min(one.y1, other.y1) - max(one.y0, other.y0)
                assert width <= 1 or height <= 1, f"{a!r} and {b!r} overlap by {width:.1f} x {height:.1f}"
        if ax.get_legend() is not None:
            assert ax.get_legend().get_title().get_text(), "a legend without a title"
        if ax.get_label() != "<colorbar>":
            assert ax.get_xlabel() and ax.get_ylabel()
    matplotlib.pyplot.close(figure)


@pytest.mark.parametrize("count", [3, 25])
def test_pictures_of_labels(count):
    rng = np.random.default_rng(count)
    names, series = long_names(count), {name: rng.uniform(0.1, 0.5, 7) for name in long_names(count)}
    scores = {"one machine": rng.uniform(size=count), "boosted": rng.uniform(size=count)}
    check_texts(LabelScoresDisplay(names=names, counts=np.arange(count) + 1000, scores=scores).plot())
    check_texts(LabelScoresDisplay(names=[str(k) for k in range(count)], counts=np.arange(count), scores=scores).plot())
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame(rng.integers(0, 2, (40, count)), columns=names)
    named = LabelScoresDisplay.from_predictions(truth, {"one machine": truth.to_numpy()})
    assert sorted(named.names) == sorted(names)
    check_texts(named)
    check_texts(BoostingDisplay(series=series, what="errors").plot())
    check_texts(BoostingDisplay(series=series, what="weights", of="class").plot())
    check_texts(HardRowsDisplay(rows=np.arange(12345, 12365), names=names, gains=rng.uniform(size=(count, 20))).plot())


@pytest.mark.parametrize(("tasks", "features"), [(1, 3), (12, 240)])
def test_pictures_of_tasks(tasks, features):
    rng = np.random.default_rng(tasks)
    weights = rng.normal(size=(tasks, features)) ** 3
    check_texts(TaskFeatureDisplay(weights=weights, tasks=long_names(tasks), features=long_names(features)).plot())
    shown = SelectionWeightDisplay(weights=weights[0], names=long_names(features), task=LONG[0]).plot()
    ticks = [label.get_text() for label in shown.ax_.get_xticklabels()]
    largest = long_names(features)[int(np.abs(weights[0]).argmax())]
    assert any(tick.split()[0] == largest.split()[0] for tick in ticks), "the largest weight has no name"
    check_texts(shown)
    check_texts(TransferDisplay(tasks=long_names(tasks), alone=rng.uniform(size=tasks), together=rng.uniform(size=tasks)).plot())
    check_texts(SelectionErrorDisplay(ln_rho=np.log([1, 0.1, 0.01]), shared=np.array([0.3, 0.2, 0.1]), own=np.array([0.3, 0.2, 0.2])).plot())


def test_pictures_of_sets():
    from boulevard.datasets import make_two_gaussians

    X, y = make_two_gaussians(120, distance=1.5, random_state=0)
    clf = MultiSampleClassifier(method="direct", gamma=0.1).fit(X[:60], y[:60])
    curve = ErrorBySizeDisplay.from_estimator(clf, X[60:], y[60:], sizes=[1, 2, 3, 4], n_repeats=2, random_state=0)
    assert curve.name == "direct at K = 3, consensus elsewhere"
    assert all(float(tick).is_integer() for tick in curve.ax_.get_xticks())
    assert "target, 1 %" in [text.get_text() for text in curve.ax_.get_legend().get_texts()]
    check_texts(curve)
    consensus = MultiSampleClassifier(method="consensus", gamma=0.1).fit(X[:60], y[:60])
    check_texts(SequentialDisplay.from_estimator(consensus, X[60:70]))
    many = SequentialDisplay(posteriors=np.full((4, 26), 1 / 26), classes=np.array(long_names(26)), confidence=0.99).plot()
    assert "decided at 0.99" in [text.get_text() for text in many.ax_.get_legend().get_texts()]
    check_texts(many)


def table(classes, rows=150, columns=4):
    """A data frame with long names, and labels with long names; classes are rings, so that rules and kernels have something to say."""
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(classes).normal(size=(rows, columns))
    size = np.hypot(values[:, 0], values[:, 1])
    codes = np.searchsorted(np.quantile(size, np.arange(1, classes) / classes), size)
    return pandas.DataFrame(values, columns=long_names(columns)), np.array(long_names(classes))[codes]


def test_what_is_nothing_is_shown_as_nothing():
    """Errors of zero were below the picture; gains of 1 up to rounding had all colors; two classes were a task without a name."""
    shown = ErrorBySizeDisplay(size=[1, 2, 3], error=[0.1, 0.01, 0.0], deviation=[0.05, 0.02, 0.0], n_sets=[100, 50, 30], name="direct").plot()
    assert shown.ax_.get_ylim()[0] < 0.5 / 30 and list(shown.error) == [0.1, 0.01, 0.0]
    assert "no set wrong" in [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    check_texts(shown)
    check_texts(ErrorBySizeDisplay(size=[1, 2], error=[0.0, 0.0], deviation=[0.0, 0.0], n_sets=[9, 9]).plot())
    even = HardRowsDisplay(rows=np.arange(3), names=["a", "b"], gains=1 + 1e-16 * np.arange(6).reshape(2, 3)).plot()
    assert even.image_.get_clim() == (0.0, 2.0)
    check_texts(even)
    X, y = table(2)
    clf = MultiTaskSelectionClassifier(c=3, rho=0.1).fit(X, y)
    assert TaskFeatureDisplay.from_estimator(clf).tasks == [clf.classes_[1]]


def test_names_are_shown_as_they_stand():
    """Dollars in a name were read as formulas (an error for some of them), and names with an underscore in front were not in legends."""
    names = ["price ($) over cost ($)", "_c1", r"a $\foo$"]
    rng = np.random.default_rng(0)
    shown = SelectionPathDisplay(ln_rho=np.log([1, 0.1, 0.01]), values=rng.uniform(size=(3, 3)), names=names).plot()
    assert sorted(text.get_text().strip().replace(r"\$", "$") for text in shown.ax_.get_legend().get_texts()) == sorted(names)
    assert not any(text._preprocess_math(text.get_text())[1] for text in shown.ax_.get_legend().get_texts())
    check_texts(shown)
    weights = rng.normal(size=(3, 3))
    check_texts(TaskFeatureDisplay(weights=weights, tasks=names, features=names).plot())
    check_texts(SelectionWeightDisplay(weights=weights[0], names=names, task=names[0]).plot())
    check_texts(TransferDisplay(tasks=names, alone=weights[0] ** 2, together=weights[1] ** 2).plot())
    check_texts(LabelScoresDisplay(names=names, counts=np.arange(3), scores={"_mine": weights[0] ** 2}).plot())
    rounds = BoostingDisplay(series={name: rng.uniform(size=5) for name in names}, what="errors").plot()
    assert len(rounds.ax_.get_legend().get_texts()) == 4
    check_texts(rounds)
    check_texts(HardRowsDisplay(rows=np.arange(3), names=names, gains=weights**2).plot())
    check_texts(SequentialDisplay(posteriors=np.full((4, 3), 1 / 3), classes=np.array(names), confidence=0.9).plot())
    rules = [{"text": f"{name} > 1 AND {name} <= 2", "class": names[1], "adds": 1.0, "adds_by_class": [1.0, -1.0, 0.5]} for name in names]
    display = RulesDisplay(rules=rules, classes=names).plot()
    assert len(display.ax_.get_legend().get_texts()) == 3
    check_texts(display)
    check_texts(RulesDisplay(rules=[{k: rule[k] for k in ("text", "class", "adds")} for rule in rules], classes=names[:2]).plot())


@pytest.mark.parametrize("classes", [2, 3])
def test_pictures_of_rules(classes):
    X, y = table(classes)
    listed = FeatureInductionClassifier(max_rules=6, max_induced=8, random_state=0).fit(X, y)
    whole = FeatureInductionClassifier(max_rules=None, n_induced=4, max_depth=3, random_state=0).fit(X, y)
    assert len(listed.rules_) > 1
    shown = RulesDisplay.from_estimator(listed)
    legend = shown.ax_.get_legend()
    assert (legend is None) == (classes == 2)
    assert ("for 1 x\n" in shown.ax_.get_xlabel()) == (classes == 2), "the class that rules speak for or against"
    if legend is not None:
        assert [text.get_text().split()[0] for text in legend.get_texts()] == ["0", "1", "2"]
        widths = np.array([[bar.get_width() for bar in bars] for bars in shown.bars_]).T
        np.testing.assert_allclose(widths, [rule["adds_by_class"] for rule in listed.rules_])
    check_texts(shown)
    check_texts(RulesPathDisplay.from_estimator(listed))
    check_texts(RulesDisplay.from_estimator(whole, max_rules=12))
    check_texts(InductionDisplay.from_estimator(whole, X, y))
    if classes == 2:
        check_texts(InductionDisplay.from_estimator(FeatureInductionClassifier(max_rules=None, random_state=0).fit(X, y)))


def test_conditions_stay_whole_where_they_fit_a_line():
    from boulevard.plot._feature_induction import _lines

    assert _lines("a05 > 0.23 AND a08 > -0.4 AND a34 <= 0.95") == ["a05 > 0.23 AND a08 > -0.4 AND", "a34 <= 0.95"]
    assert _lines("x <= 1") == ["x <= 1"]
    long = _lines("a column with a name that is longer than a line has room for > 3 AND x > 1")
    assert long == ["a column with a name that is longer than", "a line has room for > 3 AND x > 1"]


@pytest.mark.parametrize("classes", [2, 3])
def test_pictures_of_paths_over_features(classes):
    X, y = table(classes, columns=12)
    path = selection_path(MultiTaskSelectionClassifier(c=1.0), X, y, ln_rhos=np.log([1.0, 0.1, 0.01]))
    check_texts(SelectionPathDisplay.from_path(path))
    check_texts(SelectionPathDisplay.from_path(path, weights=True))


def test_pictures_of_fronts():
    X, y = table(2, rows=100)
    one, other = (ParetoSVC(gamma=gamma, n_points=15, random_state=0).fit(X, y) for gamma in (0.1, 1.0))
    check_texts(FrontDisplay.from_estimator(one, exact=other))
    check_texts(FrontDisplay.from_estimators({LONG[0]: one, LONG[2]: other}))
    check_texts(FamilyDisplay.from_estimator(ParetoSVC(gamma=[0.03, 0.1, 0.3], n_points=15, random_state=0).fit(X, y)))


@pytest.mark.parametrize("classes", [2, 3])
def test_pictures_of_the_plane(classes):
    X, y = table(classes, columns=2)
    shown = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y)
    assert [text.get_text().split()[0] for text in shown.ax_.get_legend().get_texts()] == [str(k) for k in range(classes)]
    check_texts(shown)
    assert DecisionDisplay.from_estimator(SVC().fit(X, y), X).ax_.get_legend() is None
    check_texts(DecisionDisplay.from_estimator(SVC().fit(X.to_numpy(), y), X.to_numpy(), y))


@pytest.mark.parametrize("classes", [2, 3])
def test_pictures_of_searches(classes):
    X, y = table(classes, rows=90)
    check_texts(TuneDisplay.from_result(tune(X, y, cv=3)))
    check_texts(TuneDisplay.from_result(tune(X, y, C=[1, 10], cv=3)))
    numbers = np.random.default_rng(0).normal(size=len(X))
    check_texts(TuneDisplay.from_result(tune(X, numbers, SVR(), cv=3)))


@pytest.mark.parametrize("classes", [2, 3])
def test_pictures_of_sequential_decisions(classes):
    X, y = table(classes)
    clf = MultiSampleClassifier(method="consensus").fit(X, y)
    check_texts(SequentialDisplay.from_estimator(clf, X[y == y[0]]))
    check_texts(ErrorBySizeDisplay.from_estimator(clf, X, y, sizes=[1, 2, 3], n_repeats=2, random_state=0))
