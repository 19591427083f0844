#!/usr/bin/env python3
"""MultiSampleClassifier() beside the plain ways to judge several samples of one label: error in percent, mean and standard error.

    python bench/rivals_sets.py --data DIR [--splits 5] [--sets titanic heart usps letter ...]
    python bench/rivals_sets.py --data DIR --group choice            the sets that defaults were chosen on

Three samples per decision. IDA sets: the archive's splits, test rows shuffled and cut into sets of three within each class. usps: 1000
training images and all test images with Gaussian noise (standard deviation 0.6). letter: 1500 training rows, 6000 others in groups of two
to five. Columns are standardized with the training rows. Rivals, all from one scikit-learn SVC (C 1, 10, 100; gamma 1/4, 1, 4 over the
number of columns, by accuracy in 3 folds): majority of predictions; mean of calibrated probabilities; product of calibrated posteriors
over priors; and an SVC of its own on means of random tuples (same grid, tuned on those tuples). Ours is the default, untouched.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from boulevard import MultiSampleClassifier

IDA = "titanic flare_solar banana breast_cancer diabetis waveform ringnorm twonorm thyroid german heart splice image".split()
SETS = {"judge": [*IDA, "usps", "letter"], "choice": ["sonar", "ionosphere", "cmc", "spambase", "magic", "isolet", "dermatology"]}
FILES = {"sonar": ("sonar.csv", 130), "ionosphere": ("ionosphere.csv", 200), "cmc": ("cmc.csv", 700), "spambase": ("spambase.csv.gz", 500),
         "magic": ("magic.csv.gz", 500), "isolet": ("isolet_5.csv.gz", 700), "dermatology": ("dermatology.csv", 150),
         "letter": ("letter.csv.gz", 1500)}
METHODS = ["vote", "mean probability", "product / prior", "mean row + SVC", "ours"]


def read(path):
    frame = pd.read_csv(path).dropna()
    return frame.drop(columns="label").to_numpy(float), frame["label"].astype(str).to_numpy()


def split(folder, name, place):
    rng = np.random.default_rng(place)
    if name in IDA:
        X, y = read(folder / "ida" / f"{name}.csv.gz")
        rows = pd.read_csv(folder / "ida" / f"{name}.splits.csv.gz")
        train = np.array([int(row) for row in rows.loc[rows["split"] == place, "train"].iloc[0].split()])
        test = rng.permutation(np.setdiff1d(np.arange(len(y)), train))
    elif name == "usps":
        (A, a), (B, b) = read(folder / "usps_train.csv.gz"), read(folder / "usps_test.csv.gz")
        X, y = np.vstack([A, B]) + rng.normal(scale=0.6, size=(len(a) + len(b), A.shape[1])), np.concatenate([a, b])
        train, test = rng.permutation(len(a))[:1000], len(a) + rng.permutation(len(b))
    else:
        file, size = FILES[name]
        X, y = read(folder / file)
        order = rng.permutation(len(y))
        train, test = order[:size], order[size : size + 6000]
    sizes = rng.integers(2, 6, size=len(test)) if name == "letter" else np.full(len(test), 3)
    groups = []
    for label in np.unique(y[train]):
        own, start = test[y[test] == label], 0
        for size in sizes[: len(own)]:
            if start + size <= len(own):
                groups.append(own[start : start + size])
                start += size
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X), y, groups


def grid(X, y):
    parameters = {"C": [1, 10, 100], "gamma": [g / X.shape[1] for g in (0.25, 1, 4)]}
    return GridSearchCV(SVC(), parameters, cv=3).fit(X, y).best_estimator_


def means(X, y, size, rng):
    """Means of random tuples that share no row within a repeat, as many as there are rows."""
    rows, labels = [], []
    for _ in range(size):
        for label in np.unique(y):
            own = rng.permutation(np.flatnonzero(y == label))
            own = own if len(own) >= size else np.resize(own, size)
            own = own[: len(own) // size * size].reshape(-1, size)
            rows.append(X[own].mean(axis=1))
            labels += [label] * len(own)
    return np.vstack(rows), np.array(labels)


def judge(X, y, X_all, y_all, groups, seed):
    truth = np.array([y_all[group[0]] for group in groups])
    svc = grid(X, y)
    calibrated = CalibratedClassifierCV(SVC(C=svc.C, gamma=svc.gamma), method="sigmoid", cv=5, ensemble=False).fit(X, y)
    used = np.unique(np.concatenate(groups))
    place = np.full(len(X_all), -1)
    place[used] = np.arange(len(used))
    said, chances = svc.predict(X_all[used]), np.clip(calibrated.predict_proba(X_all[used]), 1e-12, 1)
    classes = calibrated.classes_
    votes = (said[:, None] == classes).astype(float) + 1e-6 * chances
    prior = np.log([np.mean(y == label) for label in classes])
    pick = lambda table, more=lambda size: 0: np.array([classes[np.argmax(table[place[g]].sum(axis=0) + more(len(g)))] for g in groups])  # noqa: E731
    answers = {"vote": pick(votes), "mean probability": pick(chances),
               "product / prior": pick(np.log(chances), lambda size: -(size - 1) * prior)}
    M, m = means(X, y, 3, np.random.default_rng(seed))
    answers["mean row + SVC"] = grid(M, m).predict(np.vstack([X_all[group].mean(axis=0) for group in groups]))
    start = time.perf_counter()
    model = MultiSampleClassifier(random_state=seed).fit(X, y)
    spent = time.perf_counter() - start
    answers["ours"] = model.predict([X_all[group] for group in groups])
    return {name: 100 * np.mean(answer != truth) for name, answer in answers.items()}, model.method_, spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--group", choices=list(SETS), default="judge")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="*")
    args = parser.parse_args()
    print("| set | " + " | ".join(METHODS) + " | ours chose | s | best rival - ours |")
    print("|---" * (len(METHODS) + 4) + "|")
    met = []
    for name in args.sets or SETS[args.group]:
        results = [judge(*split(args.data, name, place), place) for place in range(args.splits)]
        table = {method: np.array([errors[method] for errors, _, _ in results]) for method in METHODS}
        error = {method: values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 for method, values in table.items()}
        best = min(METHODS[:-1], key=lambda method: table[method].mean())
        gap = table["ours"].mean() - table[best].mean()
        met.append(gap <= max(error[best], error["ours"]) + 1e-12)
        chose = " ".join(sorted(chosen for _, chosen, _ in results))
        print(f"| {name} | " + " | ".join(f"{table[method].mean():.2f} +- {error[method]:.2f}" for method in METHODS)
              + f" | {chose} | {np.mean([spent for _, _, spent in results]):.2f} | {-gap:+.2f}{'' if met[-1] else ' (missed)'} |", flush=True)
    print(f"at or below the best rival within one standard error: {sum(met)} of {len(met)}")
