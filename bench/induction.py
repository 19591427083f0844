"""Feature induction: trees against scikit-learn's, warm refits against cold fits, errors of the default.

    python bench/induction.py speed DATA     # spambase: trees and refits, one thread, interleaved
    python bench/induction.py errors DATA    # 10-fold errors over 3 seeds of the default and its linear machine (minutes)

DATA is the folder with ionosphere.csv, breast_cancer.csv, cmc.csv and spambase.csv.gz.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from boulevard import FeatureInductionClassifier, LinearSVC, _core

SETS = ["ionosphere", "breast_cancer", "cmc", "spambase"]


def read(folder, name):
    """Complete rows; classes as 0 and 1 (cmc: no use against use)."""
    path = Path(folder) / f"{name}.csv"
    table = pd.read_csv(path if path.exists() else path.with_suffix(".csv.gz")).dropna()
    label = table.pop("label")
    y = (label.astype(str) != "1").astype(int) if name == "cmc" else np.unique(label, return_inverse=True)[1]
    return np.ascontiguousarray(table.to_numpy(float)), np.asarray(y)


def least(work, repeats=5):
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def speed(folder):
    X, y = read(folder, "spambase")
    print("| depth | scikit-learn ms | ours ms (sorting included) | ratio | our leaves |")
    print("|---|---|---|---|---|")
    for depth in (2, 3, 5, 10, None):
        theirs = least(lambda: DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0).fit(X, y))
        runs = [_core.grow_tree(X, y, depth or 64, 3) for _ in range(5)]
        ours = min(run[0] for run in runs) + min(run[1] for run in runs)
        print(f"| {depth} | {1e3 * theirs:.1f} | {1e3 * ours:.1f} | {theirs / ours:.1f} | {runs[0][2]} |")
    ratios = []
    for _ in range(3):
        clf = FeatureInductionClassifier(preset="paper", n_jobs=1).fit(X, y)
        Z = clf.transform(X)
        counts = range(0, clf.n_induced_ + 1, 10)
        cold = [least(lambda: LinearSVC(loss="hinge", C=1.0, n_jobs=1).fit(np.ascontiguousarray(Z[:, : 57 + k]), y), 2) for k in counts]
        ratios.append(clf._effort["refit_seconds"] / np.mean(cold))
    print(f"\n{clf.n_induced_} warm refits at the paper's settings cost as much as {np.median(ratios):.1f} cold fits (three runs:", end=" ")
    print(", ".join(f"{ratio:.1f}" for ratio in ratios) + ")")


def errors(folder, names):
    for name in names:
        X, y = read(folder, name)
        linear, induced = [], []
        for seed in range(3):
            wrong = np.zeros(2)
            for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
                clf = FeatureInductionClassifier(random_state=seed).fit(X[train], y[train])
                first = next(clf.staged_predict(X[test]))
                wrong += [np.sum(first != y[test]), np.sum(clf.predict(X[test]) != y[test])]
            linear.append(100 * wrong[0] / len(y))
            induced.append(100 * wrong[1] / len(y))
        shown = [f"{np.mean(values):.2f} ({', '.join(f'{v:.2f}' for v in values)})" for values in (linear, induced)]
        print(f"| {name} | {shown[0]} | {shown[1]} |", flush=True)


if __name__ == "__main__":
    what, folder, *names = sys.argv[1:]
    if what == "speed":
        speed(folder)
    else:
        errors(folder, names or SETS)
