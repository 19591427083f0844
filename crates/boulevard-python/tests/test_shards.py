"""Fits over shards, in this process: the same optimum as the local classes, whatever is lost on the way; and faults in the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

import boulevard
from boulevard import _shards
from boulevard._spread import SpreadMixin
from boulevard.exceptions import DataError, DeviceError
from thread_engine import ThreadEngine


def spread(local):
    """A class that fits on shards of this process."""

    class Spread(SpreadMixin, local):
        _local_class = local

        @classmethod
        def _get_param_names(cls):
            return local._get_param_names()

        def _engine(self, X, y, sample_weight):
            return X

        def fit(self, X, y=None, sample_weight=None):
            self._fit_spread(X, y, sample_weight, None)
            return self

    Spread.__name__ = local.__name__
    return Spread


def cut(X, y, w, shards, delay=0.0):
    """Blocks of unequal sizes on so many shards; some shards have blocks from both ends, one is empty where there are many."""
    n = X.shape[0]
    shares = np.array([0 if shards > 3 and shard == 2 else 1 + 2 * (shard % 3) for shard in range(shards)] * 2, dtype=float)
    ends = np.concatenate([[0], np.round(np.cumsum(shares) / shares.sum() * n)]).astype(int)
    blocks = [(X[a:b], None if y is None else y[a:b], None if w is None else w[a:b]) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return ThreadEngine(blocks, [[shard, shards + shard] for shard in range(shards)], delay)


def problems():
    X, y = make_classification(900, 6, n_informative=5, n_redundant=0, flip_y=0.1, random_state=1)
    rng = np.random.default_rng(0)
    X3, y3 = make_classification(700, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=2)
    w = rng.integers(0, 4, 900).astype(float)
    order = np.argsort(y, kind="stable")
    wide = sp.random(600, 800, density=0.01, format="csr", random_state=3)
    labels = (np.asarray(wide[:, :200].sum(axis=1)).ravel() > 1.0).astype(int)
    return {
        "classes in order": (boulevard.SVC(C=10, gamma=0.1, tol=1e-5), X[order], y[order], None),
        "weights": (boulevard.SVC(C=3, tol=1e-5, class_weight="balanced"), X, np.where(y, "yes", "no"), w),
        "three classes": (boulevard.SVC(C=3, gamma=0.2, tol=1e-5), X3, y3, None),
        "nu": (boulevard.NuSVC(nu=0.4, gamma=0.1, tol=1e-5), X, y, None),
        "regression": (boulevard.SVR(C=5, epsilon=0.05, tol=1e-5), X, np.sin(X[:, 0]) + X[:, 1], w),
        "one class": (boulevard.OneClassSVM(nu=0.2, gamma=0.1, tol=1e-5), X, None, None),
        "sparse": (boulevard.SVC(C=5, gamma=0.5, tol=1e-5), wide, labels, None),
    }


def same(local, found, X):
    assert abs(found.objective_ / local.objective_ - 1) < 1e-6
    assert found.fit_status_ == 0 and found.dual_gap_ < 1e-3
    X = X[::7]
    if hasattr(local, "decision_function"):
        ours, theirs = found.decision_function(X), local.decision_function(X)
        assert np.abs(ours - theirs).max() < 1e-3 * max(1.0, np.abs(theirs).max())
        sure = np.abs(theirs).reshape(len(theirs), -1).min(axis=1) > 1e-6 + np.abs(ours - theirs).reshape(len(theirs), -1).max(axis=1)
        assert (found.predict(X) == local.predict(X))[sure].all()
    else:
        assert np.abs(found.predict(X) - local.predict(X)).max() < 1e-3


@pytest.mark.parametrize("name", problems())
def test_the_same_optimum_on_1_2_3_and_7_shards(name):
    local, X, y, w = problems()[name]
    arguments = {} if w is None else {"sample_weight": w}
    local.fit(X, y, **arguments)
    for shards in (1, 2, 3, 7):
        found = spread(type(local))(**local.get_params()).fit(cut(X, y, w, shards), y)
        same(local, found, X)
        assert found.cluster_["shards"] == shards
    if not sp.issparse(X):
        ours, theirs = set(found.support_), set(local.support_)
        assert len(ours ^ theirs) <= 0.02 * len(theirs) + 2
        rows = dict(zip(found.support_, range(len(found.support_)), strict=True))
        assert all((X[row] == found.support_vectors_[place]).all() for row, place in rows.items())


def test_kills_do_not_change_the_optimum():
    local, X, y, _ = problems()["classes in order"]
    local.fit(X, y)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        engine = cut(X, y, None, 3, delay=0.02)
        # Some of the first calls make the shards.
        engine.kill_at = {int(call): [int(rng.integers(3))] for call in rng.integers(1, 40, 4)}
        found = spread(boulevard.SVC)(**local.get_params()).fit(engine, y)
        same(local, found, X)
        assert not engine.workers, "all workers were let go"


def test_shards_that_never_come_back_are_said_to_be_missing(monkeypatch):
    monkeypatch.setattr(_shards, "PATIENCE", 0.2)
    local, X, y, _ = problems()["classes in order"]
    engine = cut(X, y, None, 3, delay=1e9)
    engine.kill_at = {12: [1]}
    with pytest.warns(boulevard.exceptions.ConvergenceWarning, match="1 of 3 shards were lost"):
        found = spread(boulevard.SVC)(**local.get_params()).fit(engine, y)
    assert found.fit_status_ == 3 and np.isnan(found.dual_gap_)
    assert found.predict(X[:3]).shape == (3,)


def test_probabilities_agree_with_local_ones():
    X, y = make_classification(800, 5, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.1, random_state=4)
    local = boulevard.SVC(calibrate=True).fit(X, y)
    found = spread(boulevard.SVC)(calibrate=True).fit(cut(X, y, None, 3), y)
    p, q = found.predict_proba(X), local.predict_proba(X)
    # Other folds, the same sigmoids up to chance.
    assert np.abs(p - q).mean() < 0.03
    assert (found.classes_[p.argmax(axis=1)] == found.predict(X)).all()
    # On first use, without calibrate.
    engine = cut(X, y, None, 2)
    late = spread(boulevard.SVC)().fit(engine, y)
    assert np.abs(late.predict_proba(X) - q).mean() < 0.03
    assert late.to_local().predict_proba(X).shape == (800, 3)


def test_float32_stays_float32_and_limits_hold():
    X, y = make_classification(600, 5, random_state=0)
    engine = cut(X.astype(np.float32), y, None, 3)
    found = spread(boulevard.SVC)().fit(engine, y)
    assert found.support_vectors_.dtype == np.float32
    assert 0 < engine.reports[-1].sent < 600 * 5 * 4 * 3 + 1000 * engine.reports[-1].rounds
    with pytest.warns(boulevard.exceptions.ConvergenceWarning, match="max_iter"):
        assert spread(boulevard.SVC)(C=1e4, max_iter=5).fit(cut(X, y, None, 2), y).fit_status_ == 1


def test_an_interrupted_fit_keeps_a_partial_model_with_its_true_gap():
    X, y = make_classification(3000, 8, n_informative=6, flip_y=0.2, random_state=0)

    class Impatient(spread(boulevard.SVC)):
        def _listener(self, original):
            class Stop:
                calls = 0

                def __call__(self, stage, *rest):
                    if stage.startswith("round"):
                        self.calls += 1
                    if self.calls > 1:
                        raise KeyboardInterrupt

                def finish(self, *rest):
                    pass

            return Stop()

    model = Impatient(C=100, gamma=0.5, tol=1e-6)
    with pytest.raises(KeyboardInterrupt):
        model.fit(cut(X, y, None, 2), y)
    assert model.fit_status_ == 3
    assert model.dual_gap_ > 1e-6, "computed for the point returned"
    assert model.predict(X[:5]).shape == (5,)


def bad(blocks, groups=None, estimator=boulevard.SVC, **parameters):
    groups = groups or [[part] for part in range(len(blocks))]
    engine = ThreadEngine(blocks, groups)
    with pytest.raises(ValueError) as caught:
        spread(estimator)(**parameters).fit(engine, None)
    assert not engine.workers, "nothing is left running"
    return str(caught.value)


def test_bad_blocks_are_named():
    X, y = make_classification(60, 4, random_state=0)
    halves = [(X[:30], y[:30], None), (X[30:], y[30:], None)]
    broken = X[30:].copy()
    broken[7, 2] = np.nan
    assert "block 1: row 7" in bad([halves[0], (broken, y[30:], None)])
    assert "different numbers of columns" in bad([halves[0], (X[30:, :3], y[30:], None)])
    assert "block 0: 30 rows, but 20 targets" in bad([(X[:30], y[:20], None), halves[1]])
    assert "block 1: it holds objects" in bad([halves[0], (X[30:].astype(object), y[30:], None)])
    assert "sparse" in bad([halves[0], (sp.csr_matrix(X[30:]), y[30:], None)])
    assert "greater than one" in bad([(X[:30], y[:30] * 0, None), (X[30:], y[30:] * 0, None)])
    assert "requires y" in bad([(X[:30], None, None)])
    assert "0 sample" in bad([(X[:0], y[:0], None)])
    assert "kernel" in bad(halves, kernel="precomputed")
    assert "semi-definite" in bad(halves, kernel="sigmoid")
    assert "infeasible" in bad([(X[:30], np.arange(30) < 3, None)], estimator=boulevard.NuSVC, nu=0.9)
    assert "zero or negative weights" in bad([(X[:30], y[:30], np.zeros(30))])


def test_shards_compute_where_they_are_told():
    X, y = make_classification(300, 4, random_state=0)
    cpu, auto = (spread(boulevard.SVC)(device=device, gamma=0.3).fit(cut(X, y, None, 3), y) for device in ("cpu", "auto"))
    np.testing.assert_array_equal(cpu.dual_coef_, auto.dual_coef_)
    np.testing.assert_array_equal(cpu.support_, auto.support_)
    engine = cut(X, y, None, 3)
    with pytest.raises(DeviceError, match="^device cuda:99: shard [0-2]: [^\n]+$"):
        spread(boulevard.SVC)(device="cuda:99").fit(engine, y)
    assert engine.device == "cuda:99" and not engine.workers, "nothing is left running"
    engine = cut(X, y, None, 3)
    with pytest.raises(DataError, match="device must be auto, cpu, cuda or cuda:N, got gpu"):
        spread(boulevard.SVC)(device="gpu").fit(engine, y)
    assert not engine.launched, "nothing was started"


def test_another_version_is_refused(monkeypatch):
    X, y = make_classification(60, 4, random_state=0)
    true = _shards.ShardWorker.describe
    monkeypatch.setattr(_shards.ShardWorker, "describe", lambda self: true(self) | {"version": ("0.0.9", 0)})
    assert "0.0.9" in bad([(X, y, None)])


def test_a_worker_that_raises_ends_the_fit_with_its_words():
    X, y = make_classification(60, 4, random_state=0)
    engine = ThreadEngine([(X, y, None)], [[0]])
    true = engine.ask

    def ask(handles, method, arguments):
        if method == "call" and engine.calls > 4:
            raise OSError("the network is gone")
        return true(handles, method, arguments)

    engine.ask = ask
    with pytest.raises(OSError, match="network is gone"):
        spread(boulevard.SVC)().fit(engine, y)
    assert DataError is not None and not engine.workers
