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
    if cls is not BoostedSVC:  # a fit of one round has no curve to show
        assert ("<svg" in text) == (cls in PICTURED), text
    assert "script" not in text and "http://www.w3.org/2000/svg" in text or "<svg" not in text


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
