"""Rules a person can read: ours beside RuleFit, FIGS and HistGradientBoosting on the same folds.

    python bench/rivals_rules.py DATA [FOLDS or FOLDSxSEEDS] [SETS...]

DATA is the folder with the sets. Errors in % (mean over stratified folds of one seed, or of several), rules shown, seconds of one fit, one
thread; every seed's own error follows in square brackets where there are several. Rule learners see
raw columns. RuleFit and FIGS (imodels) may have ten rules; with more than two classes, of which they know nothing, ten in all for machines
of every class against the rest, one each at least. Ours: ten at most (`max_rules=10`), the default (`"auto"`) and no limit (`None`).
Rivals that are not installed are left out. Tables of more than 3000 rows are cut to 3000 drawn at random.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from boulevard import FeatureInductionClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SETS = [
    "ionosphere",
    "pima",
    "cmc2",
    "breast_cancer",
    "sonar",
    "spambase",
    "cmc3",
    "dermatology",
]


def read(folder, name):
    """Complete rows and class codes; cmc2 is class 1 against the others, dermatology without age."""
    path = Path(folder) / ("cmc.csv" if name.startswith("cmc") else f"{name}.csv")
    table = pd.read_csv(path if path.exists() else path.with_suffix(".csv.gz")).drop(
        columns="age" if name == "dermatology" else []
    )
    table = table.dropna()
    label = table.pop("label").astype(str)
    y = (
        (label != "1").to_numpy().astype(int)
        if name == "cmc2"
        else np.unique(label, return_inverse=True)[1]
    )
    X = table.to_numpy(float)
    if len(y) > 3000:
        rows = np.random.default_rng(0).permutation(len(y))[:3000]
        X, y = X[rows], y[rows]
    return X, np.asarray(y)


def ours(limit):
    def run(X, y):
        clf = FeatureInductionClassifier(max_rules=limit, random_state=0, n_jobs=1).fit(
            X, y
        )
        return clf.predict, len(clf.rules_)

    return run


def against_rest(learn):
    """Learners of two classes: with more, one for every class, which share ten rules, and the largest probability wins."""

    def run(X, y):
        classes = np.unique(y)
        if len(classes) == 2:
            clf, rules = learn(X, y, 10)
            return clf.predict, rules
        most = max(1, 10 // len(classes))
        each = [learn(X, (y == own).astype(int), most) for own in classes]

        def predict(X):
            sure = np.column_stack([clf.predict_proba(X)[:, 1] for clf, _ in each])
            return classes[sure.argmax(axis=1)]

        return predict, sum(rules for _, rules in each)

    return run


def rule_fit(X, y, most):
    from imodels import RuleFitClassifier

    clf = RuleFitClassifier(max_rules=most, random_state=0).fit(X, y)
    rules = int(np.sum(np.abs(clf.coef) > 0)) if hasattr(clf, "coef") else most
    return clf, rules


def figs(X, y, most):
    from imodels import FIGSClassifier

    return FIGSClassifier(max_rules=most, random_state=0).fit(X, y), most


def plain(make):
    def run(X, y):
        return make().fit(X, y).predict, None

    return run


LEARNERS = {
    "ours, auto": ours("auto"),
    "ours, 10": ours(10),
    "ours, no limit": ours(None),
    "RuleFit 10": against_rest(rule_fit),
    "FIGS 10": against_rest(figs),
    "HistGradientBoosting": plain(
        lambda: HistGradientBoostingClassifier(random_state=0)
    ),
    "SVC": plain(lambda: make_pipeline(StandardScaler(), SVC())),
}


def splits(X, y, folds, seeds):
    for seed in range(7, 7 + seeds):
        cut = StratifiedKFold(folds, shuffle=True, random_state=seed)
        yield from cut.split(X, y)


def main(folder, folds=5, seeds=1, names=SETS):
    print(
        f"| set | {' | '.join(LEARNERS)} |\n|---|{'---|' * len(LEARNERS)}", flush=True
    )
    for name in names:
        X, y = read(folder, name)
        cells = []
        for key, learn in LEARNERS.items():
            found = []
            try:
                for train, test in splits(X, y, folds, seeds):
                    start = time.process_time()
                    predict, rules = learn(X[train], y[train])
                    seconds = time.process_time() - start
                    found.append(
                        (
                            100 * np.mean(predict(X[test]) != y[test]),
                            np.nan if rules is None else rules,
                            seconds,
                        )
                    )
            except ImportError:
                found = []
            if not found:
                cells.append("-")
                continue
            error, rules, seconds = np.mean(found, axis=0)
            cells.append(
                f"{error:.1f}"
                + ("" if np.isnan(rules) else f" ({rules:.0f})")
                + f" {seconds:.2f} s"
                + (
                    f" [{', '.join(f'{e:.1f}' for e in np.reshape(found, (seeds, folds, 3))[:, :, 0].mean(axis=1))}]"
                    if seeds > 1
                    else ""
                )
            )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    folds, _, seeds = (sys.argv[2] if len(sys.argv) > 2 else "5").partition("x")
    main(sys.argv[1], int(folds), int(seeds or 1), sys.argv[3:] or SETS)
