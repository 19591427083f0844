#!/usr/bin/env python3
"""Linear machines beside scikit-learn's LinearSVC (LIBLINEAR), and warm starts on spambase.

    python bench/linear.py                      dense and sparse fits
    python bench/linear.py --reps 5 dense       one of them

Contenders take turns in one process, so that a noisy machine is noisy for all; medians are printed. Objectives are recomputed here from the
returned weights. Contenders solve LIBLINEAR's problem (a regularised intercept), so that objectives can be compared; the time of our default,
a free intercept, is printed beside it.
"""
import argparse
import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

warnings.simplefilter("ignore")


def dense(n=100_000, d=100):
    x, y = make_classification(n, d, n_informative=16, n_redundant=d // 10, n_clusters_per_class=4, class_sep=1.2, flip_y=0.25, random_state=7)
    return np.ascontiguousarray((x - x.mean(0)) / x.std(0)), y * 2.0 - 1


def text(n=50_000, d=50_000, per_row=75):
    """Rows of about 75 words with Zipf's frequencies, of length one."""
    random = np.random.default_rng(7)
    words = np.minimum((random.pareto(1.0, size=(n, per_row)) * 20).astype(np.int64), d - 1)
    rows = np.repeat(np.arange(n), per_row)
    x = sp.csr_matrix((np.ones(n * per_row), (rows, words.ravel())), shape=(n, d))
    x.sum_duplicates()
    x.data = 1 + np.log(x.data)
    x = sp.diags(1 / np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())) @ x
    truth = random.standard_normal(d)
    f = np.asarray(x @ truth).ravel()
    y = np.where(f + 0.3 * f.std() * random.standard_normal(n) > np.median(f), 1.0, -1.0)
    return x.tocsr(), y


def objective(x, y, model, loss, penalised, l1=None):
    slack = np.maximum(0, 1 - y * (np.asarray(x @ model.coef_.ravel()) + model.intercept_))
    w = np.append(model.coef_.ravel(), model.intercept_) if penalised else model.coef_.ravel()
    if l1 is not None:
        return np.abs(w).sum() + l1 * (slack**2).sum()
    return 0.5 * w @ w + (slack**2 if loss == "squared_hinge" else slack).sum()


def run(name, x, y, contenders, reps):
    times, models = {key: [] for key in contenders}, {}
    for _ in range(reps):
        for key, make in contenders.items():
            start = time.perf_counter()
            models[key] = make().fit(x, y)
            times[key].append(time.perf_counter() - start)
    print(f"\n{name} ({x.shape[0]} x {x.shape[1]}, medians of {reps})")
    for key, values in times.items():
        loss = "hinge" if " hinge" in key else "squared_hinge"
        l1 = models[key].C if getattr(models[key], "penalty", "l2") == "l1" else None
        value = objective(x, y, models[key], loss, "free" not in key, l1)
        gap = getattr(models[key], "dual_gap_", None)
        print(f"  {key:46} {statistics.median(values):8.3f} s   objective {value:.8g}" + (f"   gap {gap:.1e}" if gap is not None else ""))


def main():
    from sklearn.svm import LinearSVC as Theirs

    from boulevard import LinearSVC as Ours

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", default=["dense", "sparse", "unscaled", "l1"])
    parser.add_argument("--reps", type=int, default=3)
    args = parser.parse_args()
    if "dense" in args.which:
        run("dense", *dense(), {
            "scikit-learn squared (primal)": lambda: Theirs(dual=False, tol=1e-4),
            "boulevard squared": lambda: Ours(intercept_scaling=1.0),
            "boulevard squared, free bias": lambda: Ours(),
            "boulevard hinge to 1e-3, free bias": lambda: Ours(loss="hinge", tol=1e-3),
            "boulevard hinge to 1e-6, free bias": lambda: Ours(loss="hinge", tol=1e-6),
        }, args.reps)
    if "sparse" in args.which:
        run("sparse", *text(), {
            "scikit-learn squared (dual)": lambda: Theirs(dual=True, tol=1e-3, max_iter=5000, random_state=0),
            "scikit-learn squared (primal)": lambda: Theirs(dual=False, tol=1e-3),
            "boulevard squared to 1e-4, free bias": lambda: Ours(tol=1e-4),
            "scikit-learn hinge": lambda: Theirs(loss="hinge", dual=True, tol=1e-3, max_iter=5000, random_state=0),
            "boulevard hinge to 1e-4, free bias": lambda: Ours(loss="hinge", tol=1e-4),
        }, args.reps)
    if "unscaled" in args.which:
        x, y = dense(20_000, 100)
        x = x * 10.0 ** np.linspace(-4, 4, 100)
        run("columns of scales 1e-4 to 1e4, C = 1e4", x, y, {
            "scikit-learn squared (primal)": lambda: Theirs(C=1e4, dual=False),
            "boulevard squared, free bias": lambda: Ours(C=1e4),
            "boulevard hinge, free bias": lambda: Ours(C=1e4, loss="hinge"),
        }, args.reps)
    if "l1" in args.which:
        for n, d in ((5_000, 20_000), (20_000, 2_000)):
            for C in (0.1, 1.0):
                run(f"L1 penalty, sparse, C = {C:g}", *text(n, d), {
                    "scikit-learn": lambda: Theirs(penalty="l1", dual=False, C=C, random_state=0),
                    "boulevard": lambda: Ours(penalty="l1", dual=False, C=C, intercept_scaling=1.0),
                    "boulevard, free bias": lambda: Ours(penalty="l1", dual=False, C=C),
                }, args.reps)


if __name__ == "__main__":
    main()
