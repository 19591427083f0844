"""Models in other languages answer as the estimators do: ONNX graphs under onnxruntime, Python text by exec, SQL in sqlite3."""

import json
import os
import sqlite3
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boulevard
from boulevard import (
    SVC,
    SVR,
    BoostedSVC,
    FeatureInducer,
    FeatureInductionClassifier,
    LinearSVC,
    LinearSVR,
    MultiSampleClassifier,
    MultiTaskSelectionClassifier,
    MultiTaskSelectionRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    ParetoSVC,
)
from boulevard.exceptions import ExportError
from boulevard.export import _onnx, _plain, to_json, to_onnx, to_python, to_sql
from boulevard.export._record import open_bytes

IRIS, KINDS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versi color", "virginica's"])[KINDS]
KERNELS = "linear poly rbf sigmoid laplacian epanechnikov multiquadric inverse_multiquadric chi_squared".split()

# What is exported on every real set: classifiers of its classes, and machines without classes.
CLASSIFIERS = [
    SVC(C=5, calibrate=True),
    NuSVC(nu=0.2, kernel="poly", coef0=1.0),
    LinearSVC(calibrate=True),
    LinearSVC(multi_class="crammer_singer"),
    FeatureInductionClassifier(n_induced=6, max_depth=3, calibrate=True),
    FeatureInductionClassifier(max_rules=4),
    FeatureInducer(n_induced=6, max_depth=3),
    MultiTaskSelectionClassifier(rho=0.1),
    MultiTaskSelectionClassifier(select="kernels"),
    BoostedSVC(max_rounds=4),
    ParetoSVC(n_points=12, holdout_repeats=1),
]
OTHERS = [SVR(C=5), NuSVR(), LinearSVR(C=10), OneClassSVM(nu=0.1), MultiTaskSelectionRegressor()]


def test_no_estimator_is_forgotten():
    estimators = {name for name in boulevard.__all__ if hasattr(getattr(boulevard, name), "fit")}
    assert {type(model).__name__ for model in CLASSIFIERS + OTHERS} == estimators - {"MultiSampleClassifier"}


def run(graph, X):
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def answers(model, X):
    """What the estimator says under the names of the graph's outputs."""
    if hasattr(model, "decision_function"):
        return {"label": model.predict(X), "decision": model.decision_function(X)}
    return {"prediction": model.predict(X)} if hasattr(model, "predict") else {"transformed": model.transform(X)}


def close(found, expected, digits):
    assert found.shape == expected.shape
    finite = np.isfinite(expected)
    assert np.array_equal(finite, np.isfinite(found))
    scale = max(1.0, np.abs(expected[finite]).max(initial=0.0))
    assert np.abs(found[finite] - expected[finite]).max(initial=0.0) <= digits * scale


def check(model, X, precisions=(("float64", "float64", 1e-12), ("float32", "float64", 1e-6))):
    pytest.importorskip("onnx")
    for dtype, compute, digits in precisions:
        rows = np.ascontiguousarray(X, dtype=dtype)
        same = rows.astype(np.float64)
        found, expected = run(to_onnx(model, dtype=dtype, compute=compute), rows), answers(model, same)
        for name, value in expected.items():
            if name == "label":
                assert found[name].shape == value.shape
                assert (np.asarray(found[name]) == value).all()
            else:
                assert found[name].dtype == dtype
                close(found[name], value, digits)
        if "probabilities" in found:
            close(found["probabilities"], model.predict_proba(same), max(digits, 1e-9))


def real(name):
    """A real set: standardised columns, classes as text, at most 400 rows."""
    folder = os.environ.get("BOULEVARD_DATA")
    if not folder:
        pytest.skip("BOULEVARD_DATA is not set")
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(Path(folder) / f"{name}.csv", na_values="?").dropna(axis=1)
    X = frame.iloc[:, :-1].to_numpy(dtype=float)
    rows = np.random.default_rng(0).permutation(len(X))[:400]
    return StandardScaler().fit_transform(X)[rows], frame.iloc[:, -1].astype(str).to_numpy()[rows]


@pytest.mark.parametrize("name", ["sonar", "ionosphere", "dermatology"])
def test_every_estimator_on_real_sets(name):
    X, y = real(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for model in CLASSIFIERS:
            check(model.fit(X, y), X)
        for model in OTHERS:
            check(model.fit(X, X[:, 0] + X[:, 1] ** 2), X)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel):
    check(SVC(kernel=kernel, coef0=1.0, degree=3).fit(IRIS, NAMES), IRIS)
    check(OneClassSVM(kernel=kernel, coef0=0.5, degree=2).fit(IRIS), IRIS)


def test_single_precision_throughout():
    standard = (IRIS - IRIS.mean(0)) / IRIS.std(0)
    for model in (SVC(), LinearSVC(), FeatureInductionClassifier(n_induced=4, max_depth=3)):
        check(model.fit(standard, NAMES), standard, [("float32", "float32", 1e-5)])


def test_shapes_of_answers():
    check(SVC(decision_function_shape="ovo").fit(IRIS, KINDS), IRIS)
    gram = IRIS @ IRIS.T
    check(SVC(kernel="precomputed").fit(gram, KINDS), gram)
    check(FeatureInducer(n_induced=3, max_depth=2).fit(IRIS, NAMES), IRIS)
    check(FeatureInductionClassifier(n_induced=3, max_depth=2, kernel="rbf").fit(IRIS, NAMES), IRIS)
    check(FeatureInductionClassifier(preset="paper").fit(IRIS, NAMES), IRIS)
    check(MultiTaskSelectionClassifier().fit(IRIS, np.column_stack([KINDS == 0, KINDS == 1])), IRIS)
    check(MultiTaskSelectionRegressor(select="kernels", share=False).fit(IRIS, np.column_stack([KINDS, KINDS - 1.0])), IRIS)
    check(BoostedSVC(max_rounds=4, voting="hard").fit(IRIS, KINDS == 1), IRIS)
    check(BoostedSVC(max_rounds=4, calibrate=True).fit(IRIS, NAMES), IRIS)
    X, Y = make_multilabel_classification(120, n_classes=3, allow_unlabeled=False, random_state=0)
    for must in (True, False):
        check(BoostedSVC(max_rounds=3, at_least_one=must).fit(X, Y), X)
    front = ParetoSVC(n_points=10, calibrate=True).fit(IRIS, KINDS == 1)
    check(front, IRIS)
    check(front.select(3), IRIS)
    import scipy.sparse as sp

    check(SVC().fit(sp.csr_matrix(IRIS), KINDS), IRIS)


def test_probabilities_agree_for_pairs_and_against_the_rest():
    pytest.importorskip("onnx")
    for model in (SVC(), LinearSVC(), MultiTaskSelectionClassifier(), ParetoSVC(n_points=10)):
        found = run(to_onnx(model.fit(IRIS, KINDS), probabilities=True), IRIS)["probabilities"]
        close(found, model.predict_proba(IRIS), 1e-9)
        assert (found.argmax(axis=1) == model.predict(IRIS)).all()
    assert "probabilities" not in run(to_onnx(SVC().fit(IRIS, KINDS)), IRIS)


def behind_a_scaler(estimator, table, y, scaling, **more):
    """A model that scales its columns itself, as the program trains it with --scale: a plain model's file with a scaler around it."""
    if scaling == "standard":
        origin, spread, top, described = table.mean(0), table.std(0), table.mean(0), "standard"
        spread[-1] = 0.0
        seen = (table - origin) / np.where(spread > 0, spread, 1.0)
    else:
        origin, spread, top = table.min(0), np.ptp(table, axis=0), table.max(0)
        described = {"min_max": {"low": -1.0, "high": 1.0}}
        seen = np.where(spread > 0, -1.0 + 2.0 * (table - origin) / np.where(spread > 0, spread, 1.0), 0.0)
    inner = bytes(estimator.fit(seen, y)._native.to_bytes())
    maps = [dict(zip(("origin", "spread", "top"), map(float, one), strict=True)) for one in zip(origin, spread, top, strict=True)]
    about = {"format": "boulevard model", "version": 1, "kind": "scaled", "model": {"scaler": {"scaling": described, "maps": maps}, **more}}
    entries = {"model": {"dtype": "U8", "shape": [len(inner)], "data_offsets": [0, len(inner)]}}
    text = json.dumps({"__metadata__": {"boulevard": json.dumps(about)}, **entries}).encode()
    return struct.pack("<Q", len(text)) + text + inner, seen


@pytest.mark.parametrize("scaling", ["standard", "min_max"])
@pytest.mark.parametrize(
    "inner", [SVC(), LinearSVC(), FeatureInductionClassifier(n_induced=4, max_depth=2)], ids=lambda m: type(m).__name__
)
def test_scalers_go_along(scaling, inner, monkeypatch):
    pytest.importorskip("onnx")
    raw = np.column_stack([IRIS * [1.0, 100.0, 0.01, 5.0], np.full(len(IRIS), 7.0)])
    content, seen = behind_a_scaler(inner, raw, NAMES, scaling)
    expected, decided = inner.predict(seen), inner.decision_function(seen)
    for module in (_onnx, _plain):
        monkeypatch.setattr(module, "read", lambda model: open_bytes(content))
    found = run(to_onnx(inner), raw)
    assert (found["label"] == expected).all()
    close(found["decision"], decided, 1e-10)
    if not isinstance(inner, SVC):
        room = {}
        exec(to_python(inner), room)
        assert [room["predict"](row.tolist())[0] for row in raw] == expected.tolist()
    # Holes are filled before anything else, where the model says with what.
    medians = np.median(raw, axis=0)
    content, seen = behind_a_scaler(inner, raw, NAMES, scaling, imputer={"fill": "median", "columns": 5, "values": medians.tolist()})
    holes, filled = raw.copy(), raw.copy()
    holes[::7, 1], filled[::7, 1] = np.nan, medians[1]
    assert (run(to_onnx(inner), holes)["label"] == run(to_onnx(inner), filled)["label"]).all()
    if isinstance(inner, SVC):
        return
    expected = run(to_onnx(inner), holes)["label"].tolist()
    room = {}
    exec(to_python(inner), room)
    assert [room["predict"](row.tolist())[0] for row in holes] == expected
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE data (x1 REAL, x2 REAL, x3 REAL, x4 REAL, x5 REAL)")
    base.executemany(
        "INSERT INTO data VALUES (?, ?, ?, ?, ?)", [[None if value != value else value for value in row] for row in holes.tolist()]
    )
    assert [row[-1] for row in base.execute(to_sql(inner))] == expected
    assert json.loads(to_json(inner))["missing"]["x2"] == medians[1]


def test_skl2onnx_pipelines():
    pytest.importorskip("skl2onnx")
    for last in (SVC(), LinearSVC(calibrate=True), SVR(), SVC(kernel="laplacian", calibrate=True), BoostedSVC(max_rounds=2)):
        pipe = make_pipeline(StandardScaler(), last).fit(IRIS, KINDS if not isinstance(last, SVR) else KINDS * 1.0)
        graph = to_onnx(pipe)
        import onnxruntime as ort

        session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        taken = session.get_inputs()[0].name
        found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {taken: IRIS}), strict=True))
        for name, value in answers(pipe, IRIS).items():
            close(found[name].astype(float), value.astype(float), 1e-12)
        if "probabilities" in found:
            close(found["probabilities"], pipe.predict_proba(IRIS), 1e-9)
    with pytest.raises(ExportError, match="register_skl2onnx"):
        to_onnx(StandardScaler().fit(IRIS))


def test_what_cannot_be_exported_says_which_part():
    pytest.importorskip("onnx")
    function = SVC(kernel=lambda A, B: A @ B.T).fit(IRIS, KINDS)
    with pytest.raises(ExportError, match="kernel is a Python function.*use a kernel with a name"):
        to_onnx(function)
    sets = MultiSampleClassifier().fit(IRIS, KINDS)
    with pytest.raises(ExportError, match="sets of rows.*export the machine of single rows"):
        to_onnx(sets)
    with pytest.raises(ExportError, match="kernel is 'rbf'.*use boulevard.to_onnx"):
        to_sql(SVC().fit(IRIS, KINDS))
    with pytest.raises(ExportError, match="BoostedSVC is a sum of kernels"):
        to_json(BoostedSVC(max_rounds=2).fit(IRIS, KINDS))
    with pytest.raises(ExportError, match="decides nothing"):
        to_python(FeatureInducer(n_induced=2, max_depth=2).fit(IRIS, KINDS))
    with pytest.raises(ExportError, match="OneClassSVM has no probabilities"):
        to_onnx(OneClassSVM().fit(IRIS), probabilities=True)
    with pytest.raises(ValueError, match="dtype must be one of"):
        to_onnx(SVC().fit(IRIS, KINDS), dtype="float16")
    with pytest.raises(boulevard.exceptions.NotFittedError):
        to_onnx(SVC())


READABLE = [
    (LinearSVC(), NAMES),
    (LinearSVC(), KINDS == 1),
    (LinearSVC(multi_class="crammer_singer"), NAMES),
    (LinearSVR(C=10), IRIS[:, 0] * 2.0),
    (SVC(kernel="linear"), NAMES),
    (SVC(kernel="linear"), KINDS == 2),
    (SVR(kernel="linear"), KINDS * 1.0),
    (ParetoSVC(kernel="linear", n_points=8), KINDS == 1),
    (MultiTaskSelectionClassifier(), NAMES),
    (MultiTaskSelectionClassifier(), np.column_stack([KINDS == 0, KINDS == 1]).astype(int)),
    (MultiTaskSelectionRegressor(), np.column_stack([KINDS, 1.0 - KINDS])),
    (FeatureInductionClassifier(n_induced=5, max_depth=3), NAMES),
    (FeatureInductionClassifier(n_induced=8, max_depth=3, max_rules=4), NAMES),
    (FeatureInductionClassifier(n_induced=8, max_depth=3, max_rules=None), KINDS == 1),
    (FeatureInductionClassifier(n_induced=5, max_depth=3), KINDS == 1),
]


@pytest.mark.parametrize("model,y", READABLE, ids=lambda one: type(one).__name__)
def test_python_and_sql_text_answer_as_predict(model, y):
    pd = pytest.importorskip("pandas")
    columns = ["sepal length", 'sepal "width"', "petal", "x; DROP TABLE data"]
    model.fit(pd.DataFrame(IRIS, columns=columns), y)
    rows = pd.DataFrame(IRIS, columns=columns)
    said = model.predict(rows)
    room = {}
    exec(to_python(model, "judge"), room)
    judged = [room["judge"](row.tolist()) for row in IRIS]
    base = sqlite3.connect(":memory:")
    quoted = ", ".join('"' + name.replace('"', '""') + '" REAL' for name in columns)
    base.execute(f"CREATE TABLE flowers (id INTEGER, {quoted})")
    base.executemany("INSERT INTO flowers VALUES (?, ?, ?, ?, ?)", [(k, *row) for k, row in enumerate(IRIS.tolist())])
    cursor = base.execute(to_sql(model, "flowers", keep=["id"]))
    names = [one[0] for one in cursor.description]
    found = sorted(cursor.fetchall())
    assert [row[0] for row in found] == list(range(len(IRIS)))
    table = pd.DataFrame(found, columns=names)
    if not hasattr(model, "decision_function"):
        close(np.array(judged), said, 1e-9)
        close(np.squeeze(table[[n for n in names if n.startswith("decision")]].to_numpy()), said, 1e-9)
    else:
        decided = model.decision_function(rows)
        assert [np.array(label).tolist() for label, _ in judged] == said.tolist()
        close(np.array([value for _, value in judged]), decided, 1e-9)
        labels = [n for n in names if n.startswith("label")]
        assert np.squeeze(table[labels].to_numpy()).astype(said.dtype).tolist() == said.tolist()
        close(np.squeeze(table[[n for n in names if n.startswith("decision")]].to_numpy(dtype=float)), decided, 1e-9)
    parsed = json.loads(to_json(model))
    assert parsed["columns"] == columns
    assert len(parsed["decisions"]) in (1, 2, 3)


def test_methods_of_readable_models():
    linear = LinearSVC().fit(IRIS, NAMES)
    assert linear.export_text() == linear.export_python() == to_python(linear)
    assert linear.export_sql("t", ["id"]) == to_sql(linear, "t", ["id"])
    assert json.loads(linear.export_json())["meaning"] == "classes"
    rules = FeatureInductionClassifier(n_induced=3, max_depth=2).fit(IRIS, NAMES)
    assert "CASE WHEN" in rules.export_sql()
    assert "rule" in rules.export_text().lower()
    with pytest.raises(ValueError, match="name that Python takes"):
        linear.export_text("not a name")
