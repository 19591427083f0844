"""What notebooks show: scikit-learn's diagram, and a small summary of the fit."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from sklearn import config_context

import boulevard
from boulevard import (
    SVC,
    SVR,
    BoostedSVC,
    FeatureInductionClassifier,
    LinearSVC,
    LinearSVR,
    MultiSampleClassifier,
    MultiTaskSelectionClassifier,
    OneClassSVM,
    ParetoSVC,
)

PICTURED = [SVC, LinearSVC, LinearSVR, BoostedSVC, FeatureInductionClassifier, MultiTaskSelectionClassifier, ParetoSVC]
PLAIN = [SVR, OneClassSVM, MultiSampleClassifier]


def summary_of(model):
    """The block that is ours."""
    html = model._repr_mimebundle_()["text/html"]
    assert html == model._repr_html_() or len(html) > 0
    found = re.search(r'<div class="boulevard-summary".*</div>', html, re.DOTALL)
    return found.group(0) if found else None


@pytest.mark.parametrize("cls", PICTURED + PLAIN, ids=lambda cls: cls.__name__)
def test_fitted_estimators_show_facts_and_a_picture(cls, two):
    X, y = two
    model = cls()
    assert "boulevard-summary" not in model._repr_html_()
    text = summary_of(model.fit(X, y))
    tree = ElementTree.fromstring(text)  # well formed
    heads = [cell.text for cell in tree.iter("th")]
    assert heads[0] == "kind" and "duality gap" in heads and "fitted in" in heads
    assert len(list(tree.iter("td"))) == len(heads)
    assert ("<svg" in text) == (cls in PICTURED), text
    assert "script" not in text and "http://www.w3.org/2000/svg" in text or "<svg" not in text
    # Python's words, not the program's; and no table in a line.
    assert "--calibrate" not in text and "support edge round" not in text


def test_the_diagram_is_still_there_and_names_are_escaped(two):
    X, y = two
    names = np.array(["<b>no</b>", '"yes" & <script>'])[y]
    model = SVC().fit(X, names)
    html = model._repr_html_()
    assert "sk-top-container" in html and "<script>" not in summary_of(model)
    assert "&lt;b&gt;no&lt;/b&gt;" in summary_of(model) and "&amp; &lt;script&gt;" in summary_of(model)
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
    frame = pytest.importorskip("pandas").DataFrame(X, columns=[f"<i>{j}</i>" for j in range(X.shape[1])])
    assert "<i>" not in summary_of(LinearSVC().fit(frame, y))


def test_a_fit_that_was_stopped_says_so(two):
    X, y = two
    with pytest.warns(boulevard.exceptions.ConvergenceWarning):
        model = SVC(max_iter=1).fit(X, y)
    assert "stopped at an iteration limit" in summary_of(model)


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("cls", PICTURED, ids=lambda cls: cls.__name__)
def test_pictures_are_drawn_from_their_description(cls, two):
    X, y = two
    pictures = cls().fit(X, y).pictures()
    assert pictures and all(set(one) >= {"id", "title", "sentence", "x", "y", "layers"} for one in pictures)
    html = pictures._repr_html_()
    assert "script" not in html
    root = ElementTree.fromstring(f"<div>{html}</div>")
    for one, drawn in zip(pictures, root.iter("figure"), strict=True):
        svg = drawn.find(f"{SVG}svg")
        texts = [text.text for text in svg.iter(f"{SVG}text")]
        assert svg.find(f"{SVG}title").text == one["title"] and drawn.find("figcaption").text == one["sentence"]
        assert any(text.startswith(one["x"]["label"][:20]) for text in texts) and any(
            text.startswith(one["y"]["label"][:20]) for text in texts
        )
        width, height = float(svg.get("width")), float(svg.get("height"))
        for circle in svg.iter(f"{SVG}circle"):
            assert 0 <= float(circle.get("cx")) <= width and 0 <= float(circle.get("cy")) <= height
        bars = [layer for layer in one["layers"] if layer["mark"] == "bars"]
        if bars:
            assert len(list(svg.iter(f"{SVG}rect"))) == sum(len(layer["columns"]["x"]) for layer in bars)


def test_a_picture_of_every_mark_can_be_drawn():
    axis = {"label": "a", "scale": "linear"}
    layer = {"name": "", "role": "class3"}
    picture = {
        "id": "p",
        "title": "<P>",
        "sentence": "Look & see.",
        "x": {"label": "C", "scale": "log"},
        "y": {"label": "error", "unit": "%", "scale": "linear"},
        "layers": [
            {**layer, "mark": "area", "columns": {"x": [1, 10], "y1": [1, 2], "y2": [3, 4]}},
            {**layer, "mark": "line", "name": "one", "columns": {"x": [1, 10, 100], "y": [5, None, 7]}},
            {**layer, "mark": "step", "name": "two", "columns": {"x": [1, 10], "y": [5, 6]}},
            {**layer, "mark": "rule", "role": "chosen", "columns": {"x": [10]}},
            {**layer, "mark": "rug", "columns": {"x": [1, 2, 3]}},
        ],
    }
    tree = ElementTree.fromstring(boulevard._pictures.figure(picture))
    assert [text.text for text in tree.iter(f"{SVG}text")][:3] == ["1", "10", "100"]
    cells = {"x": ["a", "b"], "y": ["c", "c"], "value": [1, -2]}
    names = {"label": "n", "scale": "ordinal"}
    mapped = {
        **picture,
        "x": {**names, "categories": ["a", "b"]},
        "y": {**names, "categories": ["c"]},
        "layers": [{**layer, "mark": "cells", "columns": cells}],
    }
    assert len(list(ElementTree.fromstring(boulevard._pictures.figure(mapped)).iter(f"{SVG}rect"))) == 2
    flat = {**picture, "x": axis, "y": axis, "layers": [{**layer, "mark": "points", "columns": {"x": [2], "y": [3]}}]}
    assert "NaN" not in boulevard._pictures.figure(flat)
