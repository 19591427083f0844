#!/usr/bin/env python3
"""Prediction from Python: one row at a time for every estimator, and sparse rows in front of linear machines.

    python bench/predict.py rows                microseconds per call of predict, one row of 20 values
    python bench/predict.py sparse              milliseconds per call of predict, 20 000 x 50 000 sparse rows, beside scikit-learn's

The quickest of several rounds counts: what the code needs, whatever else the machine does. `rows` counts processor time, because a call is
one thread's work, and has the median of the rounds in brackets; in `sparse` the contenders take turns, both machines have the same weights, and seconds are those of the clock, beside
processor time on one thread.
"""

import argparse
import time
import timeit
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import make_classification

import boulevard

warnings.simplefilter("ignore")


def cost(call, number, digits=0, rounds=15):
    """Microseconds of processor time of the quickest round, and of the round in the middle."""
    found = [1e6 * seconds / number for seconds in timeit.repeat(call, number=number, repeat=rounds, timer=time.thread_time)]
    return f"{min(found):.{digits}f} ({np.median(found):.{digits}f})"


def rows():
    """One row: as an array, as a list of a list, and through a frozen model."""
    X, y = make_classification(400, 20, n_informative=8, flip_y=0.1, random_state=0)
    target = X[:, 0] + X[:, 1] ** 2
    classifiers = [
        boulevard.SVC(),
        boulevard.NuSVC(),
        boulevard.LinearSVC(),
        boulevard.FeatureInductionClassifier(),
        boulevard.MultiTaskSelectionClassifier(),
        boulevard.MultiSampleClassifier(),
        boulevard.BoostedSVC(),
        boulevard.ParetoSVC(),
    ]
    regressors = [boulevard.SVR(), boulevard.NuSVR(), boulevard.LinearSVR(), boulevard.MultiTaskSelectionRegressor()]
    fitted = [(model.fit(X, y), X) for model in classifiers] + [(model.fit(X, target), X) for model in regressors]
    fitted.append((boulevard.OneClassSVM(nu=0.2).fit(X), X))
    Z, several = make_classification(400, 20, n_informative=8, n_classes=4, random_state=0)
    fitted += [(boulevard.SVC().fit(Z, several), Z), (boulevard.LinearSVC().fit(Z, several), Z)]
    print("| estimator | `predict(array)` | `predict([[...]])` | frozen | scikit-learn |\n|---|---|---|---|---|")
    for model, table in fitted:
        row = table[:1].copy()
        numbers, flat, frozen = row.tolist(), row[0].copy(), model.freeze()
        times = [cost(lambda: model.predict(row), 300), cost(lambda: model.predict(numbers), 300), cost(lambda: frozen.predict(flat), 1000, 1)]
        theirs = getattr(sklearn.svm, type(model).__name__, None)
        beside = ""
        if theirs is not None:
            other = theirs().fit(table, several if table is Z else y)
            beside = cost(lambda: other.predict(row), 100)
        name = type(model).__name__ + (", 4 classes" if table is Z else "")
        print(f"| {name} | {' | '.join(times)} | {beside} |", flush=True)


def sparse(rounds):
    """Sparse rows: the same weights in both machines."""
    for per_row in (25, 75):
        random = np.random.default_rng(0)
        columns = np.sort(random.integers(0, 50_000, size=(20_000, per_row)), axis=1)
        X = sp.csr_matrix((random.random(columns.size), columns.ravel(), np.arange(0, columns.size + 1, per_row)), shape=(20_000, 50_000))
        X.sum_duplicates()
        for classes in (2, 6, 20):
            y = random.integers(0, classes, X.shape[0])
            ours = boulevard.LinearSVC(tol=0.1, max_time=5).fit(X[:2000], y[:2000])
            theirs = sklearn.svm.LinearSVC(max_iter=1).fit(X[:2000], y[:2000])
            theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
            calls = {"ours": lambda: ours.predict(X), "theirs": lambda: theirs.predict(X)}
            assert (calls["ours"]() == calls["theirs"]()).mean() > 0.9999
            found = {name: [] for name in calls}
            for _ in range(rounds):
                for name, call in calls.items():
                    start = time.perf_counter()
                    call()
                    found[name].append(1e3 * (time.perf_counter() - start))
            fastest, middle = ({name: pick(values) for name, values in found.items()} for pick in (min, np.median))
            print(
                f"{X.nnz / X.shape[0]:.0f} values per row, {classes} classes: {fastest['ours']:.2f} ms, scikit-learn {fastest['theirs']:.2f} ms"
                f" ({fastest['theirs'] / fastest['ours']:.2f} times; medians {middle['theirs'] / middle['ours']:.2f} times)",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("rows", "sparse"))
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    if given.what == "rows":
        rows()
    else:
        sparse(given.rounds)
