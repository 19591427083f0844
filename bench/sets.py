#!/usr/bin/env python3
"""Kernels between sets, and the search for a direct machine's parameters, beside the plain ways.

    python bench/sets.py kernel                    sums over all K! permutations by scikit-learn's rbf_kernel
    python bench/sets.py search --data DIR         german: SVC on precomputed symmetric kernels, on a part of the grid
    python bench/sets.py memory [--rows 100000]    peak memory of a direct fit and of the default, and of predictions

Contenders are interleaved in one process; the best of several repetitions counts for each. Read ratios, not seconds.
"""
import argparse
import itertools
import math
import time

import numpy as np


def best_of(work, repetitions):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def kernel():
    from sklearn.metrics.pairwise import rbf_kernel

    from boulevard.kernels import symmetric_kernel

    rng = np.random.default_rng(0)
    sets, d, gamma = 2000, 10, 0.05
    samples = rng.normal(size=(700, d))
    kinds = {
        "every sample in one set only": lambda k: rng.normal(size=(sets, k, d)),
        "tuples of 700 samples, as an extended training set has them": lambda k: samples[rng.integers(700, size=(sets, k))],
    }
    for kind, draw in kinds.items():
        print(f"{sets} sets, d = {d}, {kind}:")
        ours = {}
        for k in (3, 5, 8, 12):
            A = draw(k)

            def plain():
                flat, total = A.reshape(sets, -1), 0.0
                for order in itertools.permutations(range(k)):
                    total = total + rbf_kernel(flat, A[:, order].reshape(sets, -1), gamma=gamma)
                return total / math.factorial(k)

            seconds = {}
            for threads in (1, 2):
                seconds[threads], value = best_of(lambda: symmetric_kernel(A, gamma=gamma, n_jobs=threads), 7 if k < 8 else 1)
            ours[k] = seconds[1]
            line = f"  K = {k:2}: ours {seconds[1]:.4f} s on one thread, {seconds[2]:.4f} s on two"
            if k <= 5:
                theirs, expected = best_of(plain, 3 if k == 3 else 1)
                error = np.abs(value / expected - 1).max()
                line += f"; plain {theirs:.3f} s, {theirs / seconds[1]:.0f} x and {theirs / seconds[2]:.0f} x, largest relative difference {error:.1e}"
            else:
                operations = (k * 2 ** (k - 1)) / (5 * 2**4)
                line += f"; {seconds[1] / ours[5]:.1f} x the time of K = 5, {operations:.1f} x its operations"
            print(line, flush=True)


def search(folder):
    import pandas as pd
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    from boulevard import MultiSampleClassifier
    from boulevard.model_selection import tune_sets

    table = pd.read_csv(f"{folder}/ida/german.csv.gz")
    splits = pd.read_csv(f"{folder}/ida/german.splits.csv.gz")
    rows = np.array([int(word) for word in splits.train[0].split()])
    X, y = table.iloc[rows, :-1].to_numpy(float), table.iloc[rows, -1].to_numpy()
    X = (X - X.mean(0)) / X.std(0)
    k, d = 3, X.shape[1]
    Cs, gammas = [2.0**p for p in range(-2, 9, 2)], [2.0**p / d for p in (-8, -6, -4, -3, -2, -1, 0, 1, 2, 4)]
    part = [gammas[1], gammas[5]]

    def tuples(rows, labels, rng):
        n, out = len(rows), []
        for label in np.unique(labels):
            mine = rows[labels == label]
            repeats = max(1, round(k * n / sum(len(rows[labels == c]) // k for c in np.unique(labels))))
            for _ in range(repeats):
                out.append(rng.permutation(mine)[: len(mine) // k * k].reshape(-1, k))
        return np.concatenate(out)

    def symmetric(G, Z, W):
        (a, b, c), (d_, e, f), (g, h, i) = ([G[np.ix_(Z[:, r], W[:, s])] for s in range(3)] for r in range(3))
        return (a * (e * i + f * h) + b * (d_ * i + f * g) + c * (d_ * h + e * g)) / 6

    def plain():
        points = {}
        for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
            rng = np.random.default_rng(fold)
            Z, W = tuples(train, y[train], rng), tuples(test, y[test], rng)
            for gamma in part:
                G = rbf(X, gamma)
                learn, judge = symmetric(G, Z, Z), symmetric(G, W, Z)
                for C in Cs:
                    model = SVC(C=C, kernel="precomputed", cache_size=1000).fit(learn, y[Z[:, 0]])
                    points.setdefault((C, gamma), []).append(np.mean(model.predict(judge) != y[W[:, 0]]))
        return {point: np.mean(errors) for point, errors in points.items()}

    def rbf(X, gamma):
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(X, gamma=gamma)

    base = MultiSampleClassifier(n_samples_per_decision=k, method="direct")
    ours, result = best_of(lambda: tune_sets(X, y, base, C=Cs, gamma=part, refit=False, random_state=0, n_jobs=1), 3)
    theirs, points = best_of(plain, 1)
    two, _ = best_of(lambda: tune_sets(X, y, base, C=Cs, gamma=part, refit=False, random_state=0, n_jobs=2), 3)
    print(f"german, 700 rows, K = 3, N = 3 n; {len(Cs)} values of C x {len(part)} of gamma x 5 folds:")
    print(f"  ours {ours:.2f} s on one thread, {two:.2f} s on two; SVC on precomputed kernels {theirs:.2f} s: {theirs / ours:.1f} x and {theirs / two:.1f} x")
    for (C, gamma), error in points.items():
        place = np.flatnonzero((result.cv_results_["param_C"] == C) & np.isclose(result.cv_results_["param_gamma"], gamma))[0]
        print(f"    C = {C:6g}, gamma d = {gamma * d:7g}: error {1 - result.cv_results_['mean_test_score'][place]:.4f} (theirs, other tuples: {error:.4f})")
    whole, _ = best_of(lambda: tune_sets(X, y, base, C=Cs, gamma=gammas, refit=False, random_state=0, n_jobs=1), 1)
    print(f"  the whole grid of {len(Cs) * len(gammas)} x 5 folds: ours {whole:.2f} s on one thread")


def memory(rows):
    """Peak memory of the process; two heaps that hardly overlap, so that the machine of single samples is quick."""
    import resource

    from boulevard import MultiSampleClassifier
    from boulevard.datasets import make_two_gaussians

    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # noqa: E731
    X, y = make_two_gaussians(rows, n_features=10, distance=5.0, random_state=0)
    X, before = np.asarray(X), peak()
    print(f"{rows} rows, {X.shape[1]} columns ({X.nbytes / 2**20:.0f} MiB); {before:.0f} MiB before")
    for method in ("direct", "auto"):
        start = time.perf_counter()
        model = MultiSampleClassifier(method=method, n_samples_per_decision=3).fit(X, y)
        fitted, middle = peak(), time.perf_counter()
        order = np.argsort(y, kind="stable")[: rows // 6 * 3]
        model.predict(X[order].reshape(-1, 3, X.shape[1]))
        print(f"  {method} ({model.method_}): fit {middle - start:.1f} s, peak {fitted:.0f} MiB; {len(order) // 3} sets predicted in "
              f"{time.perf_counter() - middle:.1f} s, peak {peak():.0f} MiB; tuples {model.n_extended_}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kernel", "search", "memory"])
    parser.add_argument("--data", default=".")
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    {"kernel": kernel, "search": lambda: search(given.data), "memory": lambda: memory(given.rows)}[given.what]()
