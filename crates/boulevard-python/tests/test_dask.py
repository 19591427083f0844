"""Fits on a real Dask cluster: two worker processes of this machine."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

distributed = pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install distributed")
dd = pytest.importorskip("dask.dataframe", reason="Dask's data frames are not installed: pip install dask[dataframe]")
import dask.array as da  # noqa: E402
import joblib  # noqa: E402
import pandas as pd  # noqa: E402

import boulevard  # noqa: E402
import boulevard.dask as bd  # noqa: E402
from boulevard.exceptions import DeviceError  # noqa: E402

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide"


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table():
    return make_classification(3000, 10, n_informative=6, flip_y=0.1, random_state=2)


def shards_left(client):
    """Keys of shards that the scheduler still knows."""
    return [
        key
        for key in client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
        if "boulevard-shard" in key
    ]


def nothing_left(client):
    end = time.monotonic() + 10
    while shards_left(client) and time.monotonic() < end:
        time.sleep(0.1)
    return not shards_left(client)


def test_arrays_of_unequal_blocks(client, table):
    X, y = table
    local = boulevard.SVC(C=10, gamma=0.1, tol=1e-5).fit(X, y)
    A, b = da.from_array(X, chunks=((500, 1700, 800), 10)), da.from_array(y, chunks=((500, 1700, 800),))
    model = bd.SVC(C=10, gamma=0.1, tol=1e-5, client=client).fit(A, b)
    assert abs(model.objective_ / local.objective_ - 1) < 1e-6
    # Blocks stay where the scheduler computed them, which may be one worker.
    assert 1 <= model.cluster_["shards"] <= 2 and model.cluster_["rounds"] < 200
    lazy = model.predict(A)
    assert isinstance(lazy, da.Array) and lazy.chunks == ((500, 1700, 800),)
    assert (lazy.compute() == model.predict(X)).all()
    assert np.allclose(model.decision_function(A).compute(), model.decision_function(X))
    assert model.decision_function(X[:5]).shape == (5,)
    assert client.get_events("boulevard"), "progress is on the dashboard's events"
    assert nothing_left(client)


def test_frames_of_unknown_sizes_weights_and_probabilities(client, table, tmp_path):
    X, y = table
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10)])
    frame["y"] = np.where(y, "yes", "no")
    frame["w"] = np.random.default_rng(0).integers(0, 3, len(frame)).astype(float)
    parts = dd.from_pandas(frame, npartitions=5)
    parts = parts[parts["c0"] > -100]
    features = [f"c{i}" for i in range(10)]
    model = bd.SVC(calibrate=True).fit(parts[features], parts["y"], sample_weight=parts["w"])
    local = boulevard.SVC().fit(frame[features], frame["y"], sample_weight=frame["w"])
    assert abs(model.objective_ / local.objective_ - 1) < 1e-5
    assert list(model.feature_names_in_) == features
    assert (model.predict(parts[features]).compute() == local.predict(frame[features])).mean() > 0.999
    p = model.predict_proba(parts[features]).compute()
    assert p.shape == (3000, 2) and np.allclose(p.sum(axis=1), 1)
    model.save(tmp_path / "m")
    again = boulevard.load(tmp_path / "m")
    assert type(again) is boulevard.SVC
    assert np.allclose(again.decision_function(frame[features]), model.to_local().decision_function(frame[features]))
    assert nothing_left(client)


def test_several_classes_sparse_blocks_and_the_other_machines(client):
    X, y = make_classification(600, 8, n_informative=6, n_classes=3, random_state=0)
    A, b = da.from_array(X, chunks=(250, 8)), da.from_array(y, chunks=250)
    model = bd.SVC(tol=1e-5).fit(A, b)
    local = boulevard.SVC(tol=1e-5).fit(X, y)
    assert abs(model.objective_ / local.objective_ - 1) < 1e-6
    assert model.decision_function(A).compute().shape == (600, 3)
    sparse = A.map_blocks(sp.csr_matrix)
    assert abs(bd.SVC(tol=1e-5, gamma=0.1).fit(sparse, b).objective_ / boulevard.SVC(tol=1e-5, gamma=0.1).fit(X, y).objective_ - 1) < 1e-6
    targets = X[:, 0] + np.sin(X[:, 1])
    found = bd.SVR(tol=1e-5).fit(A, da.from_array(targets, chunks=250))
    assert abs(found.objective_ / boulevard.SVR(tol=1e-5).fit(X, targets).objective_ - 1) < 1e-6
    found = bd.OneClassSVM(tol=1e-5, nu=0.3).fit(A)
    assert abs(found.objective_ / boulevard.OneClassSVM(tol=1e-5, nu=0.3).fit(X).objective_ - 1) < 1e-6
    assert set(found.predict(A).compute()) == {-1, 1}


def living(client):
    """Process numbers of two workers; a call may still reach one that was just killed."""
    for _ in range(20):
        client.wait_for_workers(2, timeout=30)
        try:
            return list(client.run(os.getpid).values())
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the workers did not come back")


def test_killed_workers(client, table):
    X, y = table
    local = boulevard.SVC(C=100, gamma=0.1, tol=1e-5).fit(X, y)
    A, b = da.from_array(X, chunks=(700, 10)), da.from_array(y, chunks=700)
    rebuilt = 0
    for wait in (0.3, 0.8, 1.2):
        pids = living(client)

        def kill(pid=pids[0], wait=wait):
            time.sleep(wait)
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        model = bd.SVC(C=100, gamma=0.1, tol=1e-5).fit(A, b)
        killer.join()
        rebuilt += model.cluster_["rebuilt"]
        assert model.fit_status_ == 0
        assert abs(model.objective_ / local.objective_ - 1) < 1e-6
    client.wait_for_workers(2, timeout=30)


def test_bad_input(client, table):
    X, y = table
    A, b = da.from_array(X, chunks=(1000, 10)), da.from_array(y, chunks=1000)

    def message(*arguments, estimator=None, **more):
        with pytest.raises((ValueError, TypeError)) as caught:
            (estimator or bd.SVC()).fit(*arguments, **more)
        return str(caught.value)

    assert "blocks of columns" in message(A.rechunk((1000, 5)), b)
    assert "rechunk" in message(A, b.rechunk(500))
    assert "rechunk" in message(A, b.rechunk((900, 1100, 1000)))
    assert "objects" in message(A.astype(object), b)
    assert "do not hold numbers" in message(dd.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), npartitions=1), b)
    broken = X.copy()
    broken[1234, 3] = np.inf
    assert "block 1: row 234" in message(da.from_array(broken, chunks=(1000, 10)), b)
    assert "Dask array" in message(X, y)
    assert "requires y" in message(A)
    assert "greater than one" in message(A, b * 0)
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    other.close()
    assert "closed" in message(A, b, estimator=bd.SVC(client=other))
    with pytest.raises(DeviceError, match="^device cuda:99: shard [01]: "):
        bd.SVC(device="cuda:99").fit(A, b)

    def nobody():
        raise ValueError("No global client found")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bd.distributed, "get_client", nobody)
        assert "no Dask client" in message(A, b)
    assert nothing_left(client), "nothing is left running"
    assert bd.SVC(C=2).get_params()["client"] is None and bd.SVC(C=2).set_params(C=3).C == 3


def _threads_inside(seed):
    """Threads of native work in a joblib task: one."""
    from boulevard._limits import count_threads

    return count_threads(None)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"])
def test_searches_on_dasks_joblib_backend(client, name, two):
    from sklearn.model_selection import cross_val_score

    X, y = two
    estimator = getattr(boulevard, name)()
    score = None if hasattr(estimator, "score") else "accuracy"
    target = np.where(y, 1, -1)
    with joblib.parallel_backend("dask"):
        there = cross_val_score(estimator, X, target, cv=3, scoring=score)
    assert np.array_equal(there, cross_val_score(estimator, X, target, cv=3, scoring=score))


def test_methods_and_threads_on_dasks_joblib_backend(client, two):
    from sklearn.base import clone

    X, y = two
    methods = [
        boulevard.BoostedSVC(max_rounds=2),
        boulevard.FeatureInductionClassifier(n_induced=2),
        boulevard.ParetoSVC(n_points=10, mode="exact"),
        boulevard.MultiTaskSelectionClassifier(),
        boulevard.MultiSampleClassifier(n_samples_per_decision=2),
    ]

    def fit(estimator):
        return clone(estimator).fit(X, y).objective_

    with joblib.parallel_backend("dask"):
        there = joblib.Parallel()(joblib.delayed(fit)(estimator) for estimator in methods)
        assert set(joblib.Parallel()(joblib.delayed(_threads_inside)(seed) for seed in range(4))) == {1}, "threads are not multiplied"
    assert there == [fit(estimator) for estimator in methods]


def test_the_page_about_clusters_runs(client, tmp_path, monkeypatch):
    page = GUIDE / "cluster.md"
    if not page.is_file():
        pytest.skip("the documents are not beside the tests")
    block = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    # The cluster of these tests takes the place of the one that the page starts.
    monkeypatch.setattr(distributed, "LocalCluster", lambda **given: None)
    monkeypatch.setattr(distributed, "Client", lambda cluster: client)
    monkeypatch.chdir(tmp_path)
    space = {}
    exec(compile(block, str(page), "exec"), space)
    assert space["model"].dual_gap_ < 1e-3 and type(space["local"]) is boulevard.SVC
    assert boulevard.load("model").n_features_in_ == 10
