"""Fits on clusters of this machine: what they cost, what kills cost, and what fits into small workers.

    python bench/cluster.py overhead [ROWS]            two worker processes of one thread each beside the local fit on two threads
    python bench/cluster.py kills dask|ray [COUNT]     workers killed at random moments: same objective, time added
    python bench/cluster.py limited [ROWS]             four workers of 400 MB each on a table that fits into none of them
    python bench/cluster.py calls                      seconds of one round of messages without work

Start each in a process of its own on a quiet machine; report ratios.
"""

import os
import random
import resource
import signal
import sys
import threading
import time

import numpy as np
from sklearn.datasets import make_classification


def table(rows, columns=20):
    """Eight overlapping clusters, a tenth of the labels drawn anew, columns standardised."""
    X, y = make_classification(rows, columns, n_informative=10, n_redundant=2, n_clusters_per_class=4, class_sep=1.2, flip_y=0.1, random_state=7)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def forest(number, rows, columns=54):
    """A block of a table like covertype: ten numbers from a hundred clusters and two groups of which one column is 1; 5 % wrong labels."""
    shape = np.random.default_rng(0)
    centers, sides = shape.normal(size=(100, 10)) * 1.2, shape.random(100) < 0.5
    rng = np.random.default_rng(1 + number)
    cluster = rng.integers(0, 100, rows)
    X = np.zeros((rows, columns), dtype=np.float32)
    X[:, :10] = centers[cluster] + rng.normal(size=(rows, 10))
    X[np.arange(rows), 10 + rng.integers(0, 4, rows)] = 1
    X[np.arange(rows), 14 + (cluster + rng.integers(0, 5, rows)) % 40] = 1
    return X, sides[cluster] ^ (rng.random(rows) < 0.05)


def local_cluster(workers, memory=None):
    import distributed

    limit = memory if memory is not None else 0
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=limit)


def overhead(rows=40_000):
    import dask.array as da
    from distributed import Client

    import boulevard
    import boulevard.dask as bd

    X, y = table(rows)
    with local_cluster(2) as cluster, Client(cluster) as client:
        A, b = client.persist([da.from_array(X, chunks=(rows // 2, 20)), da.from_array(y, chunks=rows // 2)])
        ratios = []
        for turn in range(3):
            start = time.perf_counter()
            local = boulevard.SVC(C=10, gamma=0.05, n_jobs=2).fit(X, y)
            here = time.perf_counter() - start
            start = time.perf_counter()
            spread = bd.SVC(C=10, gamma=0.05, n_jobs=2, client=client).fit(A, b)
            there = time.perf_counter() - start
            ratios.append(there / here)
            off = abs(spread.objective_ / local.objective_ - 1)
            about = spread.cluster_
            print(f"turn {turn}: local {here:.2f} s, cluster {there:.2f} s, ratio {there / here:.2f}, objective off by {off:.1e}, "
                  f"{about['rounds']} rounds, {about['sent'] / 1e6:.1f} MB sent, {about['received'] / 1e6:.1f} MB received", flush=True)
        print(f"median ratio {np.median(ratios):.2f}")


def kills(engine, count=20, rows=6000):
    import boulevard

    X, y = make_classification(rows, 12, n_informative=8, flip_y=0.1, random_state=3)
    parameters = {"C": 100, "gamma": 0.1, "tol": 1e-5}
    local = boulevard.SVC(**parameters).fit(X, y)
    fit, ready, victims, close = (dask_fit if engine == "dask" else ray_fit)(X, y, parameters)
    times = []
    for _ in range(2):
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    plain, added, worst, rebuilt = min(times), [], 0.0, 0
    chance = random.Random(0)
    for kill in range(count):
        moment = chance.uniform(0.05, 0.95) * plain

        def strike(moment=moment):
            time.sleep(moment)
            found = victims()
            if found:
                os.kill(chance.choice(found), signal.SIGKILL)

        # A worker that is killed while it starts is given up by its nanny, which is no matter of ours.
        ready()
        killer = threading.Thread(target=strike)
        start = time.perf_counter()
        killer.start()
        model = fit()
        added.append(time.perf_counter() - start - plain)
        killer.join()
        off = abs(model.objective_ / local.objective_ - 1)
        worst, rebuilt = max(worst, off), rebuilt + model.cluster_["rebuilt"]
        print(f"kill {kill} after {moment:.2f} s: status {model.fit_status_}, objective off by {off:.1e}, {added[-1]:+.2f} s", flush=True)
        assert model.fit_status_ == 0 and off < 1e-6
    print(f"{engine}: {count} kills, worst objective {worst:.1e} off, {rebuilt} shards rebuilt, plain fit {plain:.2f} s, time added: "
          f"median {np.median(added):.2f} s, most {max(added):.2f} s")
    close()


def dask_fit(X, y, parameters):
    import dask.array as da
    from distributed import Client

    import boulevard.dask as bd

    cluster = local_cluster(3)
    client = Client(cluster)
    A, b = da.from_array(X, chunks=(len(X) // 5, X.shape[1])), da.from_array(y, chunks=len(X) // 5)

    def ready():
        client.wait_for_workers(3, timeout=60)

    def fit():
        return bd.SVC(**parameters, client=client).fit(A, b)

    def victims():
        return [worker.pid for worker in cluster.workers.values() if worker.pid is not None]

    def close():
        client.close()
        cluster.close()

    return fit, ready, victims, close


def ray_fit(X, y, parameters):
    import ray

    import boulevard.ray as br

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    refs = [[ray.put(part) for part in np.array_split(values, 5)] for values in (X, y)]

    def fit():
        return br.SVC(**parameters, client=br.Actors(3)).fit(*refs)

    def victims():
        import psutil

        return [process.pid for process in psutil.process_iter(["name"]) if "_RayShard" in (process.info["name"] or "")]

    return fit, lambda: None, victims, ray.shutdown


def limited(rows=400_000, workers=4, memory=400 * 2**20):
    import dask
    import dask.array as da
    from distributed import Client

    import boulevard.dask as bd

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    parts = 2 * workers
    blocks = [dask.delayed(forest, nout=2, pure=True)(number, rows // parts) for number in range(parts)]
    A = da.concatenate([da.from_delayed(x, (rows // parts, 54), np.float32) for x, _ in blocks])
    b = da.concatenate([da.from_delayed(y, (rows // parts,), bool) for _, y in blocks])
    # Above its limit a worker is killed by its nanny, so that a fit that ends has kept it.
    with dask.config.set({"distributed.worker.memory.terminate": 1.0}), local_cluster(workers, memory) as cluster, Client(cluster) as client:
        start = time.perf_counter()
        model = bd.SVC(C=1, gamma=0.05, client=client, verbose=1).fit(A, b)
        seconds = time.perf_counter() - start
        about, peaks = model.cluster_, client.run(peak)
        table_bytes = rows * 54 * 4
        print(f"{rows} rows: {seconds:.0f} s, status {model.fit_status_}, gap {model.dual_gap_:.1e}, {len(model.support_)} support vectors, "
              f"{about['rounds']} rounds, {about['sent'] / 1e6:.0f} MB sent, {about['received'] / 1e6:.0f} MB received, {about['rebuilt']} rebuilt")
        print(f"table {table_bytes / 1e6:.0f} MB in single precision ({2 * table_bytes / 1e6:.0f} MB in double); peak of workers: "
              + ", ".join(f"{value / 1e6:.0f} MB" for value in peaks.values()) + f"; of the driver {peak() / 1e6:.0f} MB")


def calls():
    from distributed import Client

    from boulevard._shards import Block, ShardWorker

    x = np.zeros((10, 2))
    with local_cluster(2) as cluster, Client(cluster) as client:
        actors = [client.submit(ShardWorker, [Block(x, None, None)], 1, False, actor=True, pure=False).result() for _ in range(2)]
        for size in (100, 1_000_000):
            message = bytes(size)
            start = time.perf_counter()
            for _ in range(100):
                [future.result() for future in [actor.call(message) for actor in actors]]
            print(f"Dask, {size} bytes to each of 2 workers: {(time.perf_counter() - start) * 10:.2f} ms per round")


if __name__ == "__main__":
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == "kills":
        kills(rest[0], *map(int, rest[1:]))
    else:
        {"overhead": overhead, "limited": limited, "calls": calls}[verb](*map(int, rest))
