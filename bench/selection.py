"""Multi-task selection in multiples of one product X'X (numpy, double precision, one thread) of the same data, in the same run.

Usage: OPENBLAS_NUM_THREADS=1 python bench/selection.py [DATA]

DATA is the folder with `isolet_1234.csv.gz`; without it the spoken letters are replaced by noise of the same shape. Times are processor
seconds of this process, the median of five fits, tolerance 1e-6.
"""

import os
import sys
import time
import warnings

import numpy as np

from boulevard import MultiTaskSelectionClassifier

warnings.simplefilter("ignore")


def seconds(work, repeats=5):
    """Median processor time."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


def noisy(n, d, informative=20, flipped=0.1, seed=0):
    """Normal inputs, a sparse linear truth, one label in ten wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = np.zeros(d)
    w[:informative] = rng.normal(size=informative)
    y = np.sign(X @ w + 0.5 * rng.normal(size=n))
    y[rng.random(n) < flipped] *= -1
    return X, y


def letters(folder):
    """200 spoken letters."""
    rng = np.random.default_rng(0)
    if folder is None:
        return rng.normal(size=(200, 617)), np.arange(200) % 26
    import pandas as pd

    table = pd.read_csv(os.path.join(folder, "isolet_1234.csv.gz")).iloc[:1560]
    rows = rng.permutation(1560)[:200]
    return np.ascontiguousarray(table.iloc[rows, :-1].to_numpy()), table.iloc[rows, -1].to_numpy()


def show(name, product, estimator, X, y):
    """One line."""
    taken = seconds(lambda: estimator.fit(X, y))
    print(f"{name}: {1e3 * taken:.1f} ms = {taken / product:.1f} products of {1e3 * product:.2f} ms, gap {estimator.dual_gap_:.1e}, "
          f"{estimator.n_iter_} steps", flush=True)
    return taken


def main(folder=None):
    X, y = noisy(2000, 500)
    for c, rho, bias in ((1.5, 1e-2, "gaussian"), (3, 1e-3, "gaussian"), (3, 1e-3, "flat"), (10, 1e-4, "gaussian"), (100, 1e-4, "gaussian")):
        product = seconds(lambda: X.T @ X)
        show(f"2000 x 500, c {c}, rho {rho:g}, {bias} bias", product, MultiTaskSelectionClassifier(c=c, rho=rho, bias=bias, n_jobs=1), X, y)
    X, y = letters(folder)
    for c, rho in ((1.5, 1e-2), (3, 1e-4), (30, 1e-4)):
        product = 26 * seconds(lambda: X.T @ X, 15)
        show(f"26 tasks x 200 x 617, c {c}, rho {rho:g}", product, MultiTaskSelectionClassifier(c=c, rho=rho, n_jobs=1), X, y)
    kernels = [("poly", {"degree": p, "coef0": 1.0}) for p in (1, 2, 3, 4)]
    kernels += [("rbf", {"gamma": 0.5 / s**2}) for s in (10, 1, 0.1, 0.01)]
    gram, half = X @ X.T, np.where(y <= 13, 1, -1)
    for c, rho in ((3, 1e-2), (10, 1e-2), (10, 1e-4)):
        product = seconds(lambda: gram @ gram, 50)
        make = lambda steps: MultiTaskSelectionClassifier(select="kernels", kernels=kernels, c=c, rho=rho, n_jobs=1, max_iter=steps)  # noqa: E731
        whole = show(f"8 kernels, n = 200, c {c}, rho {rho:g}", product, make(1000), X, half)
        first = seconds(lambda: make(1).fit(X, half), 15)
        print(f"    of which kernel matrices, checks and the first step {first / product:.1f} products, the other steps {(whole - first) / product:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
