"""What goes in: kinds of tables, and faults with scikit-learn's words."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import boulevard
from boulevard import SVC, SVR, NuSVC
from conftest import ESTIMATORS


def test_data_frames_keep_their_names(two):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = two
    names = [f"column {i}" for i in range(X.shape[1])]
    plain = SVC().fit(X, y).decision_function(X)
    for frame in (pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)):
        model = SVC().fit(frame, y)
        np.testing.assert_array_equal(model.feature_names_in_, names)
        np.testing.assert_allclose(model.decision_function(frame), plain, rtol=1e-12)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_single_precision_is_kept_and_judged_alike(two):
    X, y = two
    single = X.astype(np.float32)
    model = SVC().fit(single, y)
    assert model.support_vectors_.dtype == np.float32 and model.decision_function(single).dtype == np.float64
    np.testing.assert_allclose(
        model.decision_function(single), SVC().fit(single.astype(float), y).decision_function(single), rtol=1e-9, atol=1e-9
    )


def test_read_only_mapped_and_strided_arrays(two, tmp_path):
    X, y = two
    expected = SVC().fit(X, y).dual_coef_
    frozen = X.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    for table in (frozen, np.load(tmp_path / "X.npy", mmap_mode="r"), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.astype(">f8")):
        np.testing.assert_array_equal(SVC().fit(table, y).dual_coef_, expected)
    np.testing.assert_array_equal(SVC().fit(X.tolist(), y.tolist()).dual_coef_, expected)


@pytest.mark.parametrize("labels", [[0, 1], [-1.0, 1.0], ["no", "yes"], [False, True], [10**12, 3]])
def test_labels_of_any_kind(two, labels):
    X, y = two
    y = np.array(labels)[y]
    model = SVC().fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.predict(X).dtype == y.dtype
    if y.dtype.kind == "U":
        np.testing.assert_array_equal(SVC().fit(X, y.astype(object)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"C": -1}, "The 'C' parameter of SVC must be a float in the range"),
        ({"kernel": "unknown"}, "The 'kernel' parameter of SVC must be a str among"),
        ({"gamma": -0.5}, "The 'gamma' parameter of SVC"),
        ({"tol": 0}, "The 'tol' parameter of SVC"),
        ({"C": "1"}, "The 'C' parameter of SVC"),
        ({"max_time": 0}, "The 'max_time' parameter of SVC"),
        ({"n_jobs": 1.5}, "The 'n_jobs' parameter of SVC"),
        ({"shrinking": 3}, "The 'shrinking' parameter of SVC"),
    ],
)
def test_bad_parameters(two, parameters, words):
    with pytest.raises(InvalidParameterError, match=words):
        SVC(**parameters).fit(*two)
    with pytest.raises(InvalidParameterError, match=words):  # a second time: nothing was remembered as valid
        SVC(**parameters).fit(*two)


def test_bad_tables(two):
    X, y = two
    for value, words in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")):
        bad = X.copy()
        bad[3, 2] = value
        with pytest.raises(ValueError, match=words):
            SVC().fit(bad, y)
        with pytest.raises(ValueError, match=words):
            SVC().fit(X, y).predict(bad)
    faults = [
        (X[0], y, "Expected 2D array, got 1D array"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (np.array([["a", "b"], ["c", "d"]]), [0, 1], "could not convert string to float|dtype"),
        (X, y + 0.5, "Unknown label type: continuous"),
        (X, np.full(len(y), np.nan), "Input y contains NaN"),
        (X, np.zeros(len(y)), "number of classes has to be greater than one"),
        (X[:0], y[:0], "0 sample"),
        (X, None, "requires y to be passed"),
    ]
    for table, target, words in faults:
        with pytest.raises(ValueError, match=words):
            SVC().fit(table, target)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SVR().fit(X, np.where(y == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="X has 5 features, but SVC is expecting 6"):
        SVC().fit(X, y).predict(X[:, :5])
    with pytest.raises((TypeError, ValueError)):
        SVC().fit(X, np.array([1, "a", None] * 50, dtype=object))


def test_bad_weights(two):
    X, y = two
    for weights, words in (
        (np.zeros(len(y)), "all samples have zero or negative weights"),
        (-np.ones(len(y)), "all samples have zero or negative weights"),
        ((y == 1).astype(float), "same class"),
        (np.ones(3), "incompatible shapes"),
        (np.full(len(y), np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            SVC().fit(X, y, sample_weight=weights)
    mixed = np.where(np.arange(len(y)) % 3 == 0, -1.0, 1.0)
    np.testing.assert_array_equal(
        SVC(gamma=0.2).fit(X, y, sample_weight=mixed).decision_function(X),
        SVC(gamma=0.2).fit(X, y, sample_weight=np.maximum(mixed, 0)).decision_function(X),
    )


def test_kernels_that_do_not_fit(two):
    import scipy.sparse as sp

    X, y = two
    with pytest.raises(ValueError, match="Precomputed matrix must be a square matrix"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        SVC(kernel="precomputed").fit(sp.csr_array(X @ X.T), y)
    with pytest.raises(ValueError, match="X has 6 features, but SVC is expecting .* one column per sample at training time"):
        SVC(kernel="precomputed").fit(X @ X.T, y).predict(X)
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        SVC().fit(X, y).coef_
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC(nu=0.9).fit(X[: 60 + 5], np.r_[np.zeros(60), np.ones(5)])


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_unfitted(cls):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        cls().predict([[0.0]])
    with pytest.raises(NotFittedError):
        cls().save("nowhere")


def test_memory_limit_is_refused_with_numbers(two):
    with pytest.raises(boulevard.exceptions.MemoryLimitError, match="memory limit is 10 bytes"):
        SVC(memory_limit=10).fit(*two)


def test_sparse_samples_for_a_dense_machine_are_refused_as_in_scikit_learn(two):
    import scipy.sparse as sp

    X, y = two
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="cannot use sparse input in 'SVC' trained on dense data: .* pass X.toarray"):
        model.decision_function(sp.csr_array(X))
    dense = SVC().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)


def shifted(array):
    """The same numbers at addresses that are no multiples of their size, as in a view of a file's bytes."""
    raw = np.frombuffer(b"\0" + np.ascontiguousarray(array).tobytes(), dtype="u1")
    view = raw[1:].view(array.dtype).reshape(array.shape)
    assert not view.flags.aligned
    return view


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_misaligned_arrays(two, numbers, kind):
    import scipy.sparse as sp

    X, y = two[0].astype(kind), two[1]
    weights = np.linspace(1, 2, len(y))
    model, odd = SVC().fit(X, y, sample_weight=weights), SVC().fit(shifted(X), shifted(y), sample_weight=shifted(weights))
    np.testing.assert_array_equal(odd.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(shifted(X)), model.decision_function(X))
    table = sp.csr_matrix(X)
    table.data, table.indices = shifted(table.data), shifted(table.indices)
    np.testing.assert_array_equal(SVC().fit(table, y).intercept_, SVC().fit(sp.csr_matrix(X), y).intercept_)
    X, y = numbers
    np.testing.assert_array_equal(SVR().fit(shifted(X), shifted(y)).dual_coef_, SVR().fit(X, y).dual_coef_)
    np.testing.assert_array_equal(
        SVR(kernel=lambda A, B: shifted(A @ B.T)).fit(X, y).intercept_, SVR(kernel=lambda A, B: A @ B.T).fit(X, y).intercept_
    )
    tasks = boulevard.MultiTaskSelectionRegressor().fit([shifted(X), shifted(X)], [shifted(y), y])
    np.testing.assert_array_equal(tasks.switches_, boulevard.MultiTaskSelectionRegressor().fit([X, X], [y, y]).switches_)
    sets = np.stack([X[:3], X[3:6]])
    np.testing.assert_array_equal(boulevard.kernels.symmetric_kernel(shifted(sets)), boulevard.kernels.symmetric_kernel(sets))


@pytest.mark.parametrize("cls", [*ESTIMATORS, boulevard.LinearSVC, boulevard.LinearSVR, boulevard.BoostedSVC], ids=lambda cls: cls.__name__)
def test_lists_of_rows_are_judged_as_arrays_are(cls, two):
    X, y = two
    model = cls().fit(X, y)
    expected = model.predict(X[:3])
    np.testing.assert_array_equal(model.predict(X[:3].tolist()), expected)
    np.testing.assert_array_equal(model.predict(list(X[:3])), expected)
    np.testing.assert_array_equal(model.predict([[1, 0, 2, 0, 1, 1]]), model.predict(np.array([[1.0, 0, 2, 0, 1, 1]])))
    np.testing.assert_array_equal(model.predict(X[:3].astype(np.float32).tolist()), model.predict(X[:3].astype(np.float32).astype(float)))
    for wrong, words in (
        ([1.0, 2.0], "Expected 2D array, got 1D array"),
        ([[1.0, 2.0]], "has 2 features.*expecting 6"),
        ([[1.0, 2.0], [1.0]], "inhomogeneous|setting an array element"),
        ([["a", "b", "c", "d", "e", "f"]], "could not convert string"),
        ([[1.0, 2.0, 3.0, 4.0, 5.0, float("nan")]], "Input X contains NaN"),
        ([], "Expected 2D array|minimum of 1"),
    ):
        with pytest.raises(ValueError, match=f"(?s){words}"):
            model.predict(wrong)
