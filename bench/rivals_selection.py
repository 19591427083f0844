"""Selection by default beside L1 logistic regression by cross-validation, MultiTaskLassoCV and MKLpy.

    python bench/rivals_selection.py DATA [SPLITS] [splice200 splice1000 dermatology wide200 wide1000 rare shared numbers kernels ...]

DATA is the folder with splice.csv.gz, dermatology.csv, sonar.csv, ionosphere.csv and pima.csv. Columns are standardized on training rows for
the rivals (sparse ones, `rare`, are left as they are); ours sees them as they are. Errors in % (R2 x 100 for `numbers`), features selected,
seconds of one fit, one thread. wide200 has four times as many draws; where two learners see the same rows, the mean of the differences
of their errors follows, with its standard error.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from boulevard import MultiTaskSelectionClassifier, MultiTaskSelectionRegressor
from scipy import sparse
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskLassoCV,
)
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PARTS = [
    "splice200",
    "splice1000",
    "dermatology",
    "wide200",
    "wide1000",
    "rare",
    "shared",
    "numbers",
    "kernels",
]


def splice(folder):
    """Bases as 240 columns of 0 and 1; rows with an ambiguous base are left out."""
    table = pd.read_csv(Path(folder) / "splice.csv.gz", dtype=str).drop_duplicates()
    y = table.pop("label")
    fine = table.isin(list("ACGT")).all(axis=1)
    return pd.get_dummies(table[fine]).to_numpy(float), np.unique(
        y[fine], return_inverse=True
    )[1]


def dermatology(folder):
    table = pd.read_csv(Path(folder) / "dermatology.csv")
    y = np.unique(table.pop("label").astype(str), return_inverse=True)[1]
    return table.fillna(table.median()).to_numpy(float), y


def wide(rows, columns, relevant, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + 2000, columns))
    w = np.zeros(columns)
    w[:relevant] = rng.choice([-1, 1], relevant) * (0.5 + rng.random(relevant))
    y = (X @ w > 0).astype(int)
    return X[:rows], X[rows:], y[:rows], y[rows:]


def rare(rows, columns, relevant, seed):
    """Sparse, one value in a hundred; every relevant column holds for one row in a hundred too."""
    rng = np.random.default_rng(seed)
    X = sparse.random(
        rows + 2000, columns, density=0.01, format="csr", random_state=rng
    )
    w = np.zeros(columns)
    w[:relevant] = rng.choice([-1, 1], relevant) * (0.5 + rng.random(relevant))
    y = (X @ w > 0).astype(int)
    return X[:rows], X[rows:], y[:rows], y[rows:]


def l1(X, y):
    if sparse.issparse(X):
        clf = LogisticRegressionCV(
            Cs=np.logspace(-3, 2, 10), penalty="l1", solver="liblinear", cv=5
        ).fit(X, y)
        return clf.predict, int((clf.coef_ != 0).sum())
    if len(np.unique(y)) > 2:
        one = GridSearchCV(
            LogisticRegression(penalty="l1", solver="liblinear"),
            {"C": np.logspace(-3, 2, 10)},
            cv=5,
        )
        clf = make_pipeline(StandardScaler(), OneVsRestClassifier(one)).fit(X, y)
        size = np.sum(
            [e.best_estimator_.coef_[0] ** 2 for e in clf[-1].estimators_], axis=0
        )
        return clf.predict, int((size > 0).sum())
    clf = make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(
            Cs=np.logspace(-3, 2, 10), penalty="l1", solver="liblinear", cv=5
        ),
    ).fit(X, y)
    return clf.predict, int((clf[-1].coef_ != 0).sum())


def ours(X, y):
    clf = MultiTaskSelectionClassifier(n_jobs=1).fit(X, y)
    return clf.predict, int(clf.get_support().sum())


def compare(name, splits, learners):
    errors = []
    for key, learn in learners.items():
        found = []
        for X, A, y, b in splits:
            start = time.process_time()
            predict, count = learn(X, y)
            found.append(
                (100 * np.mean(predict(A) != b), count, time.process_time() - start)
            )
        error, count, seconds = np.mean(found, axis=0)
        print(
            f"| {name} | {key} | {error:.2f} | {count:.0f} | {seconds:.2f} |",
            flush=True,
        )
        errors.append([row[0] for row in found])
    if len(errors) == 2 and len(splits) > 1:
        gap = np.subtract(*errors)
        print(
            f"| {name} | difference | {gap.mean():+.2f}, standard error {gap.std(ddof=1) / len(gap) ** 0.5:.2f} | | |",
            flush=True,
        )


def shared_tasks(seed):
    """Six tasks of 50 rows with the same 8 relevant columns of 200."""
    rng = np.random.default_rng(seed)
    X, y = [rng.normal(size=(1050, 200)) for _ in range(6)], []
    for x in X:
        w = np.zeros(200)
        w[:8] = rng.normal(size=8)
        y.append((x @ w + 0.3 * rng.normal(size=1050) > 0).astype(int))
    return X, y


def tasks(count):
    rows = {"ours": [], "l1 per task": []}
    for seed in range(count):
        X, y = shared_tasks(seed)
        start = time.process_time()
        clf = MultiTaskSelectionClassifier(n_jobs=1).fit(
            [x[:50] for x in X], [t[:50] for t in y]
        )
        seconds = time.process_time() - start
        labels = clf.predict([x[50:] for x in X])
        error = np.mean([np.mean(a != t[50:]) for a, t in zip(labels, y, strict=True)])
        rows["ours"].append((100 * error, clf.get_support().sum(), seconds))
        start = time.process_time()
        each = [l1(x[:50], t[:50]) for x, t in zip(X, y, strict=True)]
        seconds = time.process_time() - start
        error = np.mean(
            [
                np.mean(predict(x[50:]) != t[50:])
                for (predict, _), x, t in zip(each, X, y, strict=True)
            ]
        )
        rows["l1 per task"].append(
            (100 * error, np.mean([n for _, n in each]), seconds)
        )
    for key, found in rows.items():
        error, kept, seconds = np.mean(found, axis=0)
        print(
            f"| shared | {key} | {error:.2f} | {kept:.0f} | {seconds:.2f} |", flush=True
        )


def numbers(count):
    rows = {"ours": [], "MultiTaskLassoCV": [], "ours, y x 1000 + 1000": []}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        X, W = rng.normal(size=(580, 300)), np.zeros((300, 5))
        W[:10] = rng.normal(size=(10, 5))
        Y = X @ W + rng.normal(size=(580, 5)) * 0.5
        for key, make, a, b in (
            ("ours", lambda: MultiTaskSelectionRegressor(n_jobs=1), 1, 0),
            (
                "ours, y x 1000 + 1000",
                lambda: MultiTaskSelectionRegressor(n_jobs=1),
                1000,
                1000,
            ),
            ("MultiTaskLassoCV", lambda: MultiTaskLassoCV(cv=5), 1, 0),
        ):
            start = time.process_time()
            model = make().fit(X[:80], a * Y[:80] + b)
            seconds = time.process_time() - start
            kept = int((np.square(model.coef_).sum(axis=0) > 0).sum())
            rows[key].append(
                (100 * r2_score(a * Y[80:] + b, model.predict(X[80:])), kept, seconds)
            )
    for key, found in rows.items():
        score, kept, seconds = np.mean(found, axis=0)
        print(
            f"| numbers (R2 x 100) | {key} | {score:.2f} | {kept:.0f} | {seconds:.2f} |",
            flush=True,
        )


def gram(S, T, degree=None, gamma=None):
    """A polynomial kernel brought to k(x, x) = 1, or a radial one."""
    if degree is None:
        return np.exp(-gamma * ((S[:, None] - T[None]) ** 2).sum(-1))
    own = np.sqrt(
        np.outer((1 + (S**2).sum(1)) ** degree, (1 + (T**2).sum(1)) ** degree)
    )
    return (1 + S @ T.T) ** degree / own


def mkl(learner, A, a, B, widths):
    """Labels of B by one of MKLpy's learners on the same eight kernels."""
    import torch

    def grams(S, T):
        tables = [gram(S, T, degree=d) for d in (1, 2, 3, 4)] + [
            gram(S, T, gamma=w / A.shape[1]) for w in widths
        ]
        return [torch.tensor(table) for table in tables]

    return np.asarray(learner().fit(grams(A, A), torch.tensor(a)).predict(grams(B, A)))


def kernels(folder, count):
    widths = [0.1, 0.3, 1.0, 3.0]
    base = [("poly", {"degree": d, "coef0": 1.0}) for d in (1, 2, 3, 4)]
    try:
        from MKLpy.algorithms import AverageMKL, EasyMKL

        rivals = {"AverageMKL": AverageMKL, "EasyMKL": EasyMKL}
    except ImportError:
        rivals = {}
    for name in ("sonar", "ionosphere", "pima"):
        table = pd.read_csv(Path(folder) / f"{name}.csv").dropna()
        y = np.unique(table.pop("label").astype(str), return_inverse=True)[1]
        X = table.to_numpy(float)
        found = {"ours": [], **{key: [] for key in rivals}}
        for seed in range(count):
            A, B, a, b = train_test_split(
                X,
                y,
                train_size=min(200, len(y) * 2 // 3),
                stratify=y,
                random_state=seed,
            )
            scaler = StandardScaler().fit(A)
            A, B = scaler.transform(A), scaler.transform(B)
            list_of = base + [("rbf", {"gamma": w / A.shape[1]}) for w in widths]
            start = time.process_time()
            clf = MultiTaskSelectionClassifier(
                select="kernels", kernels=list_of, n_jobs=1
            ).fit(A, a)
            found["ours"].append(
                (100 * np.mean(clf.predict(B) != b), time.process_time() - start)
            )
            for key, make in rivals.items():
                start = time.process_time()
                labels = mkl(make, A, a, B, widths)
                found[key].append(
                    (100 * np.mean(labels != b), time.process_time() - start)
                )
        for key, rows in found.items():
            error, seconds = np.mean(rows, axis=0)
            print(
                f"| kernels, {name} | {key} | {error:.2f} | - | {seconds:.2f} |",
                flush=True,
            )


def main(folder, count=3, parts=PARTS):
    print(
        "| set | learner | error % | features | seconds |\n|---|---|---|---|---|",
        flush=True,
    )
    both = {"ours": ours, "L1 logistic regression, CV": l1}
    split = lambda X, y, n: [
        train_test_split(X, y, train_size=n, stratify=y, random_state=s)
        for s in range(count)
    ]
    for part in parts:
        if part.startswith("splice"):
            compare(part, split(*splice(folder), int(part[6:])), both)
        elif part == "dermatology":
            compare(part, split(*dermatology(folder), 200), both)
        elif part == "wide200":
            compare(
                "200 x 5000", [wide(200, 5000, 20, s) for s in range(4 * count)], both
            )
        elif part == "rare":
            compare(
                "1500 x 20 000, sparse",
                [rare(1500, 20_000, 20, s) for s in range(min(count, 3))],
                both,
            )
        elif part == "wide1000":
            compare(
                "1000 x 10 000",
                [wide(1000, 10_000, 20, s) for s in range(min(count, 2))],
                both,
            )
        elif part == "shared":
            tasks(count)
        elif part == "numbers":
            numbers(count)
        elif part == "kernels":
            kernels(folder, count)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main(
        sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3, sys.argv[3:] or PARTS
    )
