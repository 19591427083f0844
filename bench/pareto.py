"""Fronts against other programs: one exact front against 11 fits of scikit-learn, the evolution against pymoo's, one run against a grid search.

Usage: python bench/pareto.py DATA [exact|evolve|grid ...]

Single thread everywhere, processor time; contenders take turns within one run. `evolve` needs pymoo (from PyPI).
"""

import os
import sys
import time
import warnings
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from boulevard import ParetoSVC

GRID = 2.0 ** np.arange(-5, 16, 2)  # the eleven values of LIBSVM's guide
CAP = 20_000_000  # steps after which scikit-learn is stopped: it would go on for many minutes


def read(data, name):
    frame = pd.read_csv(data / name)
    y = frame.pop("label").astype(str).to_numpy()
    return pd.get_dummies(frame).to_numpy(dtype=float), y


def timed(work):
    # Processor time of one thread: other work on the machine does not count.
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def exact(data):
    rng = np.random.default_rng(0)
    print("exact front, 100 points, against scikit-learn's SVC at C = 2^-5, 2^-3, ..., 2^15 on the same rows")
    print("| set | rows | gamma | largest gap | front s | 11 fits s | of these C <= 2^11 | x 11 fits |")
    print("|---|---|---|---|---|---|---|---|")
    for name, file, rows, gamma, scale in (
        ("diabetes", "pima.csv", 614, 0.001, False),
        ("banana", "ida/banana.csv.gz", 5000, 1.0, False),
        ("magic", "magic.csv.gz", 5000, 0.1, True),
    ):
        X, y = read(data, file)
        chosen = rng.permutation(len(X))[:rows]
        X, y = (StandardScaler().fit_transform(X) if scale else X)[chosen], y[chosen]
        clf, ours = timed(lambda: ParetoSVC(mode="exact", gamma=gamma, holdout=0, n_jobs=1).fit(X, y))
        theirs = [timed(lambda c=c: SVC(C=c, gamma=gamma, cache_size=1000, max_iter=CAP).fit(X, y))[1] for c in GRID]
        again = timed(lambda: ParetoSVC(mode="exact", gamma=gamma, holdout=0, n_jobs=1).fit(X, y))[1]
        ours = 0.5 * (ours + again)
        assert len(clf.front_) == 100
        print(
            f"| {name} | {rows} | {gamma} | {clf.front_['gap'].max():.0e} | {ours:.2f} | {sum(theirs):.2f} | {sum(theirs[:9]):.2f} "
            f"| {sum(theirs) / ours:.1f} |",
            flush=True,
        )


def evolve(data):
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = read(data, "sonar.csv")
    base = dict(gamma=1.0, n_jobs=1, refit=False, random_state=0)
    exact = ParetoSVC(mode="exact", **base).fit(X, y)
    rows = exact.train_rows_
    sign = np.where(y[rows] == exact.classes_[1], 1.0, -1.0)
    Q = np.outer(sign, sign) * rbf_kernel(X[rows], gamma=1.0)

    class Front(Problem):
        def __init__(self):
            super().__init__(n_var=len(rows), n_obj=2, xl=0.0, xu=1.0)

        def _evaluate(self, alpha, out, *args, **kwargs):
            out["F"] = np.column_stack([((alpha @ Q) * alpha).sum(axis=1), -alpha.sum(axis=1)])

    def volume(points):
        points = points[np.argsort(points[:, 0])]
        area, last, worst = 0.0, 0.0, Q.sum()
        for q, minus in points:
            if -minus > last and q < worst:
                area += (-minus - last) * (worst - q)
                last = -minus
        return area

    print(f"NSGA-II, sonar, {len(rows)} rows, population 100, 1000 generations; share of the exact hypervolume")
    print("| program | s | share |")
    print("|---|---|---|")
    names = (("boulevard, the paper's", {}), ("boulevard, arithmetic crossover", {"crossover": "arithmetic"}),
             ("boulevard, textbook", {"variant": "textbook"}))  # fmt: skip
    ours = []
    for name, options in names:
        clf, seconds = timed(lambda options=options: ParetoSVC(mode="evolve", **options, **base).fit(X, y))
        ours.append(seconds)
        print(f"| {name} | {seconds:.2f} | {clf.hypervolume_ / exact.hypervolume_:.3f} |", flush=True)
    result, theirs = timed(lambda: minimize(Front(), NSGA2(pop_size=100), ("n_gen", 1000), seed=0))
    print(f"| pymoo NSGA2 | {theirs:.2f} | {volume(result.F) / exact.hypervolume_:.3f} |")
    again = timed(lambda: ParetoSVC(mode="evolve", **base).fit(X, y))[1]
    print(f"\nratio {theirs / (0.5 * (ours[0] + again)):.1f} (the paper's variant, mean of a run before and one after)")


def grid(data):
    print("one front (hold-out 20 %, lowest hold-out error, refit) against a 5-fold grid search over 11 values of C; 10 splits, RBF, columns")
    print("standardized, gamma = 1 / columns; banana: IDA's first 10 splits (400 rows learn), else 70 % of the rows learn")
    print("| set | rows | front error | front, one-se | grid error | standard error of the grid's | front s | grid s | fraction |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, file in (("sonar", "sonar.csv"), ("diabetes", "pima.csv"), ("crabs", "crabs.csv"), ("banana", "ida/banana.csv.gz")):
        X, y = read(data, file)
        splits = []
        if name == "banana":
            table = pd.read_csv(data / "ida/banana.splits.csv.gz")
            for text in table["train"][:10]:
                train = np.array(text.split(), dtype=int)
                splits.append((train, np.setdiff1d(np.arange(len(y)), train)))
        else:
            for seed in range(10):
                splits.append(train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed))
        errors, seconds = {"front": [], "wide": [], "grid": []}, {"front": 0.0, "wide": 0.0, "grid": 0.0}
        for number, (train, test) in enumerate(splits):
            gamma = 1.0 / X.shape[1]
            contenders = {
                "front": make_pipeline(StandardScaler(), ParetoSVC(gamma=gamma, n_jobs=1, random_state=number)),
                "wide": make_pipeline(StandardScaler(), ParetoSVC(gamma=gamma, pick="one-se", n_jobs=1, random_state=number)),
                "grid": GridSearchCV(make_pipeline(StandardScaler(), SVC(gamma=gamma, max_iter=CAP)), {"svc__C": GRID}, cv=5),
            }
            for key, model in contenders.items():
                seconds[key] += timed(lambda model=model, train=train: model.fit(X[train], y[train]))[1]
                errors[key].append(1 - model.score(X[test], y[test]))
        mean = {key: np.mean(values) for key, values in errors.items()}
        error = np.std(errors["grid"], ddof=1) / np.sqrt(len(splits))
        print(
            f"| {name} | {len(splits[0][0])} | {mean['front']:.4f} | {mean['wide']:.4f} | {mean['grid']:.4f} | {error:.4f} "
            f"| {seconds['front'] / 10:.3f} | {seconds['grid'] / 10:.3f} | {seconds['front'] / seconds['grid']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    folder, parts = Path(sys.argv[1]), sys.argv[2:] or ["exact", "evolve", "grid"]
    for part in parts:
        {"exact": exact, "evolve": evolve, "grid": grid}[part](folder)
        print()
