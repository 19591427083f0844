"""Trains on a table that no worker could hold: four worker processes of 400 MB each, rows generated where they are needed.

    pip install "boulevard[dask]"
    python examples/cluster.py [ROWS]
"""

import sys

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from boulevard.dask import SVC


def block(number, rows):
    """Rows of a checkerboard with noise, made on the worker."""
    rng = np.random.default_rng(number)
    X = rng.uniform(0, 3, size=(rows, 20)).astype(np.float32)
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 1
    return X, y ^ (rng.random(rows) < 0.05)


def main(rows=100_000, parts=8):
    """Fits, and says what it took."""
    blocks = [dask.delayed(block, nout=2, pure=True)(number, rows // parts) for number in range(parts)]
    X = da.concatenate([da.from_delayed(x, (rows // parts, 20), np.float32) for x, _ in blocks])
    y = da.concatenate([da.from_delayed(y, (rows // parts,), bool) for _, y in blocks])
    with LocalCluster(n_workers=4, threads_per_worker=1, memory_limit="400MB") as cluster, Client(cluster) as client:
        model = SVC(C=1, gamma=0.1, client=client, verbose=1).fit(X, y)
        accuracy = (model.predict(X) == y).mean().compute()
    print(f"{rows} rows, {len(model.support_)} support vectors, gap {model.dual_gap_:.1e}, accuracy {accuracy:.3f}, {model.cluster_}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
