#!/usr/bin/env python3
"""BoostedSVC() beside a tuned SVC with a tuned threshold, on rare classes and on label matrices.

    python bench/rivals_boosted.py binary --data DIR [--seeds 5] [--sets magic letter ...]     F1, average precision, G-mean, seconds
    python bench/rivals_boosted.py binary --data DIR --group choice                             the sets that defaults were chosen on
    python bench/rivals_boosted.py labels --data DIR                                            macro F1 on Mulan's splits

Every set is drawn anew for each seed: so many rows to learn from, of which the given number carry the label, and up to 4000 others, in the
same shares, to judge. Columns are standardized with the training rows' mean and deviation. The rival is an SVC (ours: the same
optimum as scikit-learn's, sooner) with C and gamma from a 3 x 3 grid (C 1, 10, 100; gamma 1/4, 1, 4 over the number of columns) by average precision in 3 folds, wrapped in
scikit-learn's TunedThresholdClassifierCV(scoring="f1"). The sets of `--group choice` are not those that are judged.
"""
import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, f1_score, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler

from boosted import read
from boulevard import SVC, BoostedSVC

#: Name: file, rare class, carriers and rows to learn from (None: all there are, a third is judged).
SETS = {
    "judge": {
        "magic": ("magic.csv.gz", "h", 60, 3060),
        "letter": ("letter.csv.gz", "Z", 162, 4000),
        "shuttle": ("shuttle_train.csv.gz", "3", 14, 4000),
        "spambase": ("spambase.csv.gz", "1", 100, 2100),
        "usps": ("usps_train.csv.gz", "8", 150, 2000),
        "w8a": ("w8a_train.csv.gz", "1", 75, 2500),
        "cmc": ("cmc.csv", "2", None, None),
        "dermatology": ("dermatology.csv", "6", None, None),
    },
    "choice": {
        "isolet": ("isolet_5.csv.gz", "2", None, None),
        "ionosphere": ("ionosphere.csv", "b", 20, 150),
        "waveform": ("ida/waveform.csv.gz", "1", 60, 1000),
        "a9a": ("a9a_train.csv.gz", "1", 100, 1500),
        "banana": ("ida/banana.csv.gz", "1", 60, 1200),
        "german": ("ida/german.csv.gz", "1", 60, 460),
        "image": ("ida/image.csv.gz", "1", 40, 700),
        "shuttle5": ("shuttle_train.csv.gz", "2", 15, 2000),
    },
}


def draw(folder, file, rare, carriers, rows, seed):
    frame = pd.read_csv(Path(folder) / file).dropna()
    names = frame["label"].astype(str).str.removesuffix(".0")
    X, y = frame.drop(columns="label").to_numpy(float), (names == rare).to_numpy()
    rng = np.random.default_rng(seed)
    yes, no = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
    if carriers is None:
        carriers, rows = 2 * len(yes) // 3, 2 * len(y) // 3
    share = carriers / rows
    judged = int(min(4000, (len(yes) - carriers) / share, (len(no) - rows + carriers) / (1 - share)))
    train = np.concatenate([yes[:carriers], no[: rows - carriers]])
    test = np.concatenate([yes[carriers:][: max(1, round(judged * share))], no[rows - carriers :][: round(judged * (1 - share))]])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train].astype(int), scaler.transform(X[test]), y[test].astype(int)


def rival(X, y, seed):
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    grid = {"C": [1, 10, 100], "gamma": [g / X.shape[1] for g in (0.25, 1, 4)]}
    search = GridSearchCV(SVC(), grid, scoring="average_precision", cv=folds).fit(X, y)
    return TunedThresholdClassifierCV(search.best_estimator_, scoring="f1", cv=StratifiedKFold(5, shuffle=True, random_state=seed)).fit(X, y)


def measures(model, X, y):
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.estimator_.decision_function(X)
    said = model.predict(X)
    mean = np.sqrt(recall_score(y, said) * recall_score(y, said, pos_label=0))
    return {"f1": f1_score(y, said, zero_division=0), "ap": average_precision_score(y, scores), "g": mean}


def binary(folder, group, seeds, names, kept, only):
    known = json.loads(Path(kept).read_text()) if kept and Path(kept).exists() else {}
    print(f"{'set':<12} {'method':<10} {'F1':>6} {'+-':>6} {'AP':>6} {'+-':>6} {'G':>6} {'s':>6}")
    below = []
    for name in names or SETS[group]:
        rows = {"ours": [], "SVC tuned": []}
        for seed in range(seeds):
            X, y, X_new, y_new = draw(folder, *SETS[group][name], seed)
            for method, results in rows.items():
                key = f"{name} {method} {seed}"
                if key in known and method != only:
                    results.append(known[key])
                    continue
                start = time.perf_counter()
                model = BoostedSVC(random_state=seed).fit(X, y) if method == "ours" else rival(X, y, seed)
                spent = time.perf_counter() - start
                results.append({**measures(model, X_new, y_new), "s": spent})
                if method == "ours":
                    best = (model.chosen_ or {}).get("best")
                    results[-1]["chosen"] = f"{best['c']:g} {best['sigma_init']:.3g} {best['initial_weights']} {model.n_rounds_.max()}" if best else ""
                known[key] = results[-1]
                if kept:
                    Path(kept).write_text(json.dumps(known))
        for method, results in rows.items():
            column = {m: np.array([result[m] for result in results]) for m in ("f1", "ap", "g", "s")}
            deviation = {m: values.std(ddof=1) if len(values) > 1 else 0 for m, values in column.items()}
            print(f"{name:<12} {method:<10} {column['f1'].mean():6.3f} {deviation['f1']:6.3f} {column['ap'].mean():6.3f} {deviation['ap']:6.3f} "
                  f"{column['g'].mean():6.3f} {column['s'].mean():6.2f}  {[r.get('chosen') for r in results][:2] if method == 'ours' else ''}", flush=True)
        difference = {m: np.mean([a[m] - b[m] for a, b in zip(*rows.values())]) for m in ("f1", "ap")}
        below.append((name, difference["f1"], difference["ap"]))
    print("differences (ours - rival): " + ", ".join(f"{name} F1 {f1:+.3f} AP {ap:+.3f}" for name, f1, ap in below))
    print(f"mean F1 {np.mean([b[1] for b in below]):+.4f}, mean AP {np.mean([b[2] for b in below]):+.4f}, "
          f"worst F1 {min(b[1] for b in below):+.3f}, worst AP {min(b[2] for b in below):+.3f}")


def labels(folder):
    for name in ("scene", "yeast"):
        (X, Y), (X_new, Y_new) = read(folder, f"{name}_train"), read(folder, f"{name}_test")
        start = time.perf_counter()
        model = BoostedSVC(random_state=0).fit(X, Y)
        spent = time.perf_counter() - start
        said = model.predict(X_new)
        print(f"{name}: macro F1 {f1_score(Y_new, said, average='macro', zero_division=0):.4f}, accuracy {(said == Y_new).mean():.4f}, "
              f"macro AP {average_precision_score(Y_new, model.decision_function(X_new), average='macro'):.4f}, {spent:.1f} s, "
              f"rounds {model.n_rounds_.max()}, {(model.chosen_ or {}).get('best')}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["binary", "labels"])
    parser.add_argument("--data", required=True)
    parser.add_argument("--group", choices=list(SETS), default="judge")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--kept", help="a JSON file of results, so that methods that did not change are not run again")
    parser.add_argument("--again", help="the method to run again although it is in that file")
    args = parser.parse_args()
    binary(args.data, args.group, args.seeds, args.sets, args.kept, args.again) if args.what == "binary" else labels(args.data)
