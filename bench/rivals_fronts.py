#!/usr/bin/env python3
"""ParetoSVC(), tune() and probabilities beside a grid search, a plain machine and other calibrations.

    python bench/rivals_fronts.py fronts --data DIR [--splits 10]        ParetoSVC() beside tune over 8 C x 5 gamma: errors and seconds
    python bench/rivals_fronts.py indefinite --data DIR [--splits 5]     sigmoid, Epanechnikov, multiquadric: beside SVC tuned over C, and
                                                                         beside tune over the 15 C x 5 gamma that the front compares
                                                                         (up to 20 splits also over 100 C x 5 gamma, as many as the front)
    python bench/rivals_fronts.py tune --data DIR [--splits 5]           tune() beside SVC(), its old grid over C, and GridSearchCV 5 x 5
    python bench/rivals_fronts.py calibration --data DIR [--splits 3]    log loss, Brier score and ECE of probabilities

`--group choice` runs the same on the sets that defaults were chosen on, none of which is judged. Rows are drawn anew for every split, in
the same shares of classes, columns standardized with the training rows' mean and deviation; all contenders see the same rows. Seconds are
processor seconds of the fit, in turns, in one thread. "within" says whether the difference of the means is at most one standard error of
the rival's mean; differences are paired, split by split.
"""
import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SkSVC

from boulevard import SVC, ParetoSVC
from boulevard.model_selection import tune

#: Name: file, training rows (None: seven of ten).
SETS = {
    "fronts": {
        "judge": {"pima": 537, "sonar": 145, "crabs": 140, "spambase": 1000, "ionosphere": 245, "magic": 1000},
        "choice": {"ida/banana": 400, "ida/german": 700, "ida/heart": 170, "ida/image": 1000, "ida/waveform": 400, "ida/thyroid": 140,
                   "ida/ringnorm": 400, "ida/splice": 1000, "ida/breast_cancer": 200},
    },
    "indefinite": {
        "judge": {"sonar": 145, "pima": 537, "ionosphere": 245},
        "choice": {"ida/banana": 400, "ida/heart": 170, "ida/german": 400, "ida/waveform": 400, "ida/thyroid": 140},
    },
    "tune": {
        "judge": {"sonar": 145, "pima": 537, "dermatology": 250, "spambase": 1000},
        "choice": {"ida/banana": 400, "ida/german": 700, "ida/heart": 170, "ida/image": 1000, "ida/waveform": 400, "ida/thyroid": 140,
                   "ida/ringnorm": 400, "ida/splice": 1000, "ida/breast_cancer": 200, "usps_train": 600},
    },
    "calibration": {
        "judge": {"dermatology": 250, "letter": 3000, "cmc": 1000},
        "choice": {"usps_train": 600, "isolet_5": 700, "shuttle_train": 1500},
    },
}
C_GRID = [2.0**power for power in range(-5, 10, 2)]
#: What fronts of indefinite kernels judge: twice as many values, and these widths times the rule "scale".
FINE_C_GRID = [2.0**power for power in range(-5, 10)]
#: As many values as a front has points, over the same range.
AS_MANY_C = np.geomspace(min(FINE_C_GRID), max(FINE_C_GRID), 100).tolist()
WIDTHS = [4.0**power for power in range(-3, 2)]
MOST_JUDGED = 4000
#: Splits up to which the long grid runs.
MOST_LONG = 20


def read(folder, name):
    found = [path for path in (Path(folder) / f"{name}.csv", Path(folder) / f"{name}.csv.gz") if path.exists()]
    frame = pd.read_csv(found[0])
    if name == "crabs":
        frame = frame.drop(columns=["sex", "index"])
    if name == "dermatology":
        frame = frame.drop(columns="age")
    frame = frame.dropna()
    return frame.drop(columns="label").to_numpy(float), frame["label"].astype(str).to_numpy()


def draw(X, y, rows, seed):
    # Classes with fewer rows than a fold needs say nothing about a method.
    names, counts = np.unique(y, return_counts=True)
    keep = np.isin(y, names[counts * rows / len(y) >= 6])
    X, y = X[keep], y[keep]
    test = min(len(y) - rows, MOST_JUDGED)
    A, B, a, b = train_test_split(X, y, train_size=rows, test_size=test, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), a, scaler.transform(B), b


def timed(fit):
    start = time.process_time()
    model = fit()
    return model, time.process_time() - start


def report(name, rows, rival, note=""):
    """Means over splits, and how far from the rival."""
    print(f"{name}{note}")
    base = np.array([error for error, _ in rows[rival]])
    deviation = base.std(ddof=1) / np.sqrt(len(base)) if len(base) > 1 else 0.0
    for method, results in rows.items():
        errors, seconds = np.array([r[0] for r in results]), np.array([r[1] for r in results])
        se = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
        beside = "" if method == rival else ("  within" if errors.mean() <= base.mean() + deviation else "  OUTSIDE")
        gap = errors - base
        paired = "" if method == rival or len(gap) < 2 else f"  difference {100 * gap.mean():+.2f} ({100 * gap.std(ddof=1) / np.sqrt(len(gap)):.2f})"
        ratio = "" if method == rival else f"  time x {seconds.sum() / max(sum(r[1] for r in rows[rival]), 1e-9):.2f}"
        print(f"    {method:<30} {100 * errors.mean():6.2f} ({100 * se:.2f})  {seconds.mean():8.4f} s{ratio}{paired}{beside}", flush=True)


def compare(rows, rival, methods):
    """Times and paired differences of `methods` beside another rival than the table's."""
    errors = {method: np.array([error for error, _ in results]) for method, results in rows.items()}
    seconds = {method: sum(seconds for _, seconds in results) for method, results in rows.items()}
    for method in methods:
        gap = errors[method] - errors[rival]
        deviation = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
        print(f"    {method} beside {rival}: time x {seconds[method] / max(seconds[rival], 1e-9):.2f}  "
              f"difference {100 * gap.mean():+.2f} ({100 * deviation:.2f})", flush=True)


def fronts(folder, group, splits, names):
    for name, rows in SETS["fronts"][group].items():
        if names and name not in names:
            continue
        X, y = read(folder, name)
        results = {"tune 8 C x 5 gamma": [], "ParetoSVC()": [], "ParetoSVC(gamma='scale')": [], "ParetoSVC(pick='one-se')": [],
                   "ParetoSVC(pick='knee')": []}
        for seed in range(splits):
            A, a, B, b = draw(X, y, rows, seed)
            gammas = [4.0**power / A.shape[1] for power in range(-2, 3)]
            makers = {
                "tune 8 C x 5 gamma": lambda: tune(A, a, C=C_GRID, gamma=gammas, n_jobs=1),
                "ParetoSVC()": lambda: ParetoSVC(n_jobs=1).fit(A, a),
                "ParetoSVC(gamma='scale')": lambda: ParetoSVC(n_jobs=1, gamma="scale").fit(A, a),
                "ParetoSVC(pick='one-se')": lambda: ParetoSVC(n_jobs=1, pick="one-se").fit(A, a),
                "ParetoSVC(pick='knee')": lambda: ParetoSVC(n_jobs=1, pick="knee").fit(A, a),
            }
            for method, make in makers.items():
                model, seconds = timed(make)
                results[method].append((np.mean(model.predict(B) != b), seconds))
        report(name, results, "tune 8 C x 5 gamma", f", {rows} rows, {splits} splits")


def indefinite(folder, group, splits, names):
    kernels = {"sigmoid": {"coef0": -1.0}, "epanechnikov": {"degree": 1}, "multiquadric": {"coef0": 1.0}}
    for name, rows in SETS["indefinite"][group].items():
        if names and name not in names:
            continue
        X, y = read(folder, name)
        for kernel, more in kernels.items():
            results, grids = {}, {"tune 15 C x 5 gamma": FINE_C_GRID, **({"tune 100 C x 5 gamma": AS_MANY_C} if splits <= MOST_LONG else {})}
            for seed in range(splits):
                A, a, B, b = draw(X, y, rows, seed)
                gammas = [width / (A.shape[1] * A.var()) for width in WIDTHS]
                makers = {
                    "SVC tuned over C": lambda: tune(A, a, SVC(kernel=kernel, **more), C=C_GRID, n_jobs=1),
                    **{name: lambda grid=grid: tune(A, a, SVC(kernel=kernel, **more), C=grid, gamma=gammas, n_jobs=1) for name, grid in grids.items()},
                    "ParetoSVC": lambda: ParetoSVC(kernel=kernel, n_jobs=1, **more).fit(A, a),
                    "ParetoSVC, gamma='scale'": lambda: ParetoSVC(kernel=kernel, gamma="scale", n_jobs=1, **more).fit(A, a),
                }
                for method, make in makers.items():
                    model, seconds = timed(make)
                    results.setdefault(method, []).append((np.mean(model.predict(B) != b), seconds))
            report(f"{name}, {kernel}", results, "SVC tuned over C")
            for grid in grids:
                compare(results, grid, ("ParetoSVC", "ParetoSVC, gamma='scale'"))


def tuning(folder, group, splits, names):
    for name, rows in SETS["tune"][group].items():
        if names and name not in names:
            continue
        X, y = read(folder, name)
        results = {method: [] for method in ("GridSearchCV 5 x 5 (sklearn SVC)", "tune()", "tune(pick='one-se')", "tune over C only", "SVC()")}
        for seed in range(splits):
            A, a, B, b = draw(X, y, rows, seed)
            grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [4.0**power / A.shape[1] for power in range(-3, 2)]}
            makers = {
                "GridSearchCV 5 x 5 (sklearn SVC)": lambda: GridSearchCV(SkSVC(), grid, cv=5).fit(A, a),
                "tune()": lambda: tune(A, a, n_jobs=1),
                "tune(pick='one-se')": lambda: tune(A, a, pick="one-se", n_jobs=1),
                "tune over C only": lambda: tune(A, a, C=[0.1, 1, 10, 100, 1000], n_jobs=1),
                "SVC()": lambda: SVC(n_jobs=1).fit(A, a),
            }
            for method, make in makers.items():
                model, seconds = timed(make)
                results[method].append((np.mean(model.predict(B) != b), seconds))
        report(name, results, "GridSearchCV 5 x 5 (sklearn SVC)", f", {rows} rows, {splits} splits")


def measures(chances, classes, truth):
    codes = np.searchsorted(classes, truth)
    own = chances[np.arange(len(codes)), codes]
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == codes
    places = np.minimum((sure * 10).astype(int), 9)
    ece = sum(abs(right[places == i].mean() - sure[places == i].mean()) * (places == i).mean() for i in range(10) if (places == i).any())
    return -np.log(np.maximum(own, 1e-15)).mean(), ((chances - np.eye(len(classes))[codes]) ** 2).sum(axis=1).mean(), ece


def calibration(folder, group, splits, names):
    for name, rows in SETS["calibration"][group].items():
        if names and name not in names:
            continue
        X, y = read(folder, name)
        found, chosen = {}, []
        for seed in range(splits):
            A, a, B, b = draw(X, y, rows, seed)
            width = 1 / A.shape[1]
            ours = {f"SVC, calibration={how!r}": SVC(C=3, gamma=width, calibration=how, calibrate=True, n_jobs=1)
                    for how in ("auto", "sigmoid", "temperature", "vector")}
            theirs = {f"CalibratedClassifierCV {how}": CalibratedClassifierCV(SkSVC(C=3, gamma=width), method=how, ensemble=False)
                      for how in ("sigmoid", "temperature")}
            for method, model in {**ours, **theirs}.items():
                _, seconds = timed(lambda: model.fit(A, a))
                found.setdefault(method, []).append((*measures(model.predict_proba(B), model.classes_, b), seconds))
                if "auto" in method:
                    chosen.append(model.calibration_["method"])
        print(f"{name}, {rows} rows, {splits} splits; auto chose {', '.join(chosen)}")
        for method, results in found.items():
            loss, brier, ece, seconds = np.mean(results, axis=0)
            print(f"    {method:<36} log loss {loss:.4f}  Brier {brier:.4f}  ECE {ece:.4f}  {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(SETS))
    parser.add_argument("--data", required=True)
    parser.add_argument("--group", choices=["judge", "choice"], default="judge")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    run = {"fronts": fronts, "indefinite": indefinite, "tune": tuning, "calibration": calibration}[args.what]
    run(args.data, args.group, args.splits, args.sets)
