"""Fits on a real Ray cluster of this machine."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[data]'")
pytest.importorskip("ray.data", reason="Ray's datasets are not installed: pip install 'ray[data]'")
import joblib  # noqa: E402
import pandas as pd  # noqa: E402
import psutil  # noqa: E402

import boulevard  # noqa: E402
import boulevard.ray as br  # noqa: E402
from boulevard.exceptions import DeviceError  # noqa: E402

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide"


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=100 * 2**20)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table():
    return make_classification(3000, 10, n_informative=6, flip_y=0.1, random_state=2)


def blocks(values, cuts=(500, 1700)):
    return [ray.put(part) for part in np.split(values, cuts)]


def test_references_of_unequal_blocks(cluster, table):
    X, y = table
    local = boulevard.SVC(C=10, gamma=0.1, tol=1e-5).fit(X, y)
    model = br.SVC(C=10, gamma=0.1, tol=1e-5, client=br.Actors(3)).fit(blocks(X), blocks(y))
    assert abs(model.objective_ / local.objective_ - 1) < 1e-6
    assert model.cluster_["shards"] == 3
    found = np.concatenate(ray.get(model.predict(blocks(X))))
    assert (found == model.predict(X)).all()
    sparse = [ray.put(sp.csr_matrix(part)) for part in np.split(X, (500, 1700))]
    again = br.SVC(C=10, gamma=0.1, tol=1e-5, client=br.Actors(2)).fit(sparse, blocks(y))
    assert abs(again.objective_ / local.objective_ - 1) < 1e-6


def test_datasets(cluster, table, tmp_path):
    X, y = table[0][:800], table[1][:800]
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10)]).assign(y=y, w=1.0 + np.arange(800) % 2)
    dataset = ray.data.from_pandas([frame[:300], frame[300:]])
    model = br.SVC(tol=1e-5, calibrate=True, client=br.Actors(2)).fit(dataset, "y", sample_weight="w")
    local = boulevard.SVC(tol=1e-5).fit(X, y, sample_weight=frame["w"])
    assert abs(model.objective_ / local.objective_ - 1) < 1e-6
    found = model.predict(dataset).to_pandas()["prediction"].to_numpy()
    assert (found == local.predict(X)).mean() > 0.998
    assert np.stack(model.predict_proba(dataset).to_pandas()["prediction"]).shape == (800, 2)
    model.save(tmp_path / "m")
    assert type(boulevard.load(tmp_path / "m")) is boulevard.SVC


def test_killed_actors(cluster, table):
    X, y = table
    local = boulevard.SVC(C=100, gamma=0.1, tol=1e-5).fit(X, y)
    true = br.RayEngine.ask
    for call in (4, 12):
        calls, killed = [0], []

        def ask(self, handles, method, arguments, calls=calls, killed=killed, call=call):
            calls[0] += 1
            if calls[0] == call:
                victim = psutil.Process(ray.get(handles[0].actor.describe.remote())["process"])
                killed.append(victim)
                victim.kill()
                victim.wait(timeout=30)
            return true(self, handles, method, arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(br.RayEngine, "ask", ask)
            model = br.SVC(C=100, gamma=0.1, tol=1e-5, client=br.Actors(2)).fit(blocks(X), blocks(y))
        assert killed and model.fit_status_ == 0
        assert model.cluster_["rebuilt"] >= 1
        assert abs(model.objective_ / local.objective_ - 1) < 1e-6


def test_bad_input(cluster, table):
    X, y = table

    def message(*arguments, **more):
        with pytest.raises(ValueError) as caught:
            br.SVC(**more).fit(*arguments)
        return str(caught.value)

    assert "object references" in message(X, y)
    assert "3 object references" in message(blocks(X), blocks(y)[:2])
    broken = X.copy()
    broken[600, 0] = np.nan
    assert "block 1: row 100" in message(blocks(broken), blocks(y))
    with pytest.raises(DeviceError, match="^device cuda:99: shard [0-2]: "):
        br.SVC(device="cuda:99").fit(blocks(X), blocks(y))
    assert "name a column" in message(ray.data.from_pandas(pd.DataFrame({"a": [1.0, 2.0]})), "b")


def test_every_estimator_and_its_threads_on_rays_joblib_backend(cluster, two):
    from ray.util.joblib import register_ray
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    register_ray()
    X, y = two
    names = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "MultiTaskSelectionClassifier"]
    estimators = [getattr(boulevard, name)() for name in [*names, "MultiTaskSelectionRegressor"]]
    estimators += [
        boulevard.BoostedSVC(max_rounds=2),
        boulevard.FeatureInductionClassifier(n_induced=2),
        boulevard.ParetoSVC(n_points=10, mode="exact"),
        boulevard.MultiSampleClassifier(n_samples_per_decision=2),
    ]

    def fit(estimator):
        from boulevard._limits import count_threads

        return clone(estimator).fit(X, np.where(y, 1, -1)).objective_, count_threads(None)

    with joblib.parallel_backend("ray", n_jobs=2):
        there = joblib.Parallel()(joblib.delayed(fit)(estimator) for estimator in estimators)
        scores = cross_val_score(boulevard.SVC(), X, y, cv=3)
    assert np.array_equal(scores, cross_val_score(boulevard.SVC(), X, y, cv=3))
    assert [objective for objective, _ in there] == [fit(estimator)[0] for estimator in estimators]
    assert {threads for _, threads in there} == {1}, "threads are not multiplied"


def test_the_page_about_clusters_runs(cluster, table, tmp_path, monkeypatch):
    page = GUIDE / "cluster.md"
    if not page.is_file():
        pytest.skip("the documents are not beside the tests")
    block = page.read_text(encoding="utf-8").split("```python\n")[2].split("```")[0]
    X, y = table[0][:600], table[1][:600]
    (tmp_path / "table").mkdir()
    pd.DataFrame(X, columns=[f"c{i}" for i in range(10)]).assign(label=y).to_parquet(tmp_path / "table" / "part.parquet")
    monkeypatch.chdir(tmp_path)
    space = {"X_refs": blocks(X, (200, 400)), "y_refs": blocks(y, (200, 400))}
    # Two workers here instead of eight of four cores.
    assert "count=8, num_cpus=4" in block
    block = block.replace("count=8, num_cpus=4", "count=2, num_cpus=1").replace('"table/"', repr(str(tmp_path / "table")))
    exec(compile(block, str(page), "exec"), space)
    assert space["model"].dual_gap_ < 1e-3
