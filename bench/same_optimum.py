#!/usr/bin/env python3
"""Same optimum as LIBSVM: dual objective and labels on real data sets, at tolerance 1e-6.

    python bench/same_optimum.py DATA_FOLDER

LIBSVM is the one inside scikit-learn. Both solutions' objectives are recomputed here in float64 from the returned coefficients. A test
row counts as disagreeing if the labels differ although every pairwise decision is further than 1e-6 from zero and the votes are not tied.
"""
import os
import sys

import numpy as np
import pandas as pd
import sklearn.svm
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

import boulevard

TOLERANCE, BAND = 1e-6, 1e-6
KERNELS = {"rbf": rbf_kernel, "linear": linear_kernel, "poly": polynomial_kernel}


def table(folder, name, label="label", drop=()):
    for ending in (".csv", ".csv.gz"):
        path = os.path.join(folder, name + ending)
        if os.path.exists(path):
            frame = pd.read_csv(path).dropna()
            y = frame.pop(label)
            return frame.drop(columns=[c for c in frame if c == "label" or c in drop]), y.to_numpy()
    raise FileNotFoundError(os.path.join(folder, name))


def prepare(folder, name, rows, scale=True, **options):
    x, y = table(folder, name, **options)
    x = pd.get_dummies(x).to_numpy(float)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    train = min(rows, 2 * len(y) // 3)
    if scale:
        mean, deviation = x[:train].mean(0), x[:train].std(0)
        x = (x - mean) / np.where(deviation > 0, deviation, 1)
    return x[:train], y[:train], x[train : train + 4000], y[train : train + 4000]


def problems(folder):
    """name, estimator class, parameters, data, weights"""
    def get(*args, **options):
        return prepare(folder, *args, **options)

    yield "ionosphere, RBF", "SVC", dict(C=10, gamma=0.05), get("ionosphere", 300), None
    yield "sonar, polynomial", "SVC", dict(C=1, kernel="poly", gamma=0.02, coef0=1.0, degree=3), get("sonar", 150), None
    yield "breast_cancer, linear", "SVC", dict(C=1, kernel="linear"), get("breast_cancer", 500), None
    yield "pima, RBF, weights", "SVC", dict(C=3, gamma=0.1), get("pima", 500), "rows"
    yield "spambase, RBF", "SVC", dict(C=10, gamma=0.02), get("spambase", 3000), None
    yield "dermatology, 6 classes", "SVC", dict(C=5, gamma=0.02), get("dermatology", 240), None
    yield "usps, 10 classes", "SVC", dict(C=10, gamma=0.02), get("usps_train", 3000, scale=False), None
    yield "letter, 26 classes", "SVC", dict(C=10, gamma=1 / 16), get("letter", 6000), None
    x, y, xt, yt = get("a9a_train", 5000, scale=False)
    yield "a9a, sparse", "SVC", dict(C=1, gamma=0.05), (sparse.csr_array(x), y, sparse.csr_array(xt), yt), None
    yield "magic, class weights", "SVC", dict(C=5, gamma=0.1, class_weight="balanced"), get("magic", 4000), None
    yield "splice (IDA), nu", "NuSVC", dict(nu=0.3, gamma=0.02), get("ida/splice", 1500), None
    yield "crabs, regression", "SVR", dict(C=10, gamma=0.1, epsilon=0.1), get("crabs", 130, label="CW"), None
    yield "pima glucose, regression, weights", "SVR", dict(C=10, gamma=0.05, epsilon=2.0), get("pima", 500, label="glucose"), "rows"


def dense(x):
    return x.toarray() if sparse.issparse(x) else x


def gram(model, x):
    parameters = {k: v for k, v in (("gamma", model._gamma), ("coef0", model.coef0), ("degree", model.degree)) if k in {"rbf": ["gamma"], "poly": ["gamma", "coef0", "degree"], "linear": []}[model.kernel]}
    return KERNELS[model.kernel](dense(x), **parameters)


def objective(kind, model, k, y, nu):
    """Sum of the dual objectives of all machines, from coefficients alone."""
    coefficients = np.asarray(dense(model.dual_coef_))
    if kind == "SVR":
        b = np.zeros(len(y))
        b[model.support_] = coefficients[0]
        return 0.5 * b @ k @ b - y @ b + model.epsilon * np.abs(b).sum()
    classes, total = model.classes_, 0.0
    starts = np.concatenate([[0], np.cumsum(model.n_support_)])
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            a = model.support_[starts[i] : starts[i + 1]], model.support_[starts[j] : starts[j + 1]]
            rows = coefficients[j - 1, starts[i] : starts[i + 1]], coefficients[i, starts[j] : starts[j + 1]]
            s, b = np.concatenate(a), np.concatenate(rows)
            quadratic = 0.5 * b @ k[np.ix_(s, s)] @ b
            # nu machines are rescaled by their margin: compare the machine itself, whose norm is the margin's inverse.
            total += quadratic if nu else quadratic - np.abs(b).sum()
    return total


def compare(folder):
    print(f"LIBSVM through scikit-learn {sklearn.__version__}, tolerance {TOLERANCE:g}\n")
    print("| problem | train x d | objective, ours | relative difference | test rows | labels that differ | our gap |")
    print("|---|---|---|---|---|---|---|")
    worst, wrong = 0.0, 0
    for name, kind, parameters, (x, y, xt, yt), weighted in problems(folder):
        weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
        ours = getattr(boulevard, kind)(tol=TOLERANCE, **parameters).fit(x, y, sample_weight=weights)
        # scikit-learn refuses nothing but counts zero weights as rows: leave them out for it
        keep = slice(None) if weights is None else weights > 0
        theirs = getattr(sklearn.svm, kind)(tol=TOLERANCE, cache_size=1000, **parameters).fit(x[keep], y[keep], sample_weight=None if weights is None else weights[keep])
        k, kt = gram(theirs, x), gram(theirs, x[keep])
        a = objective(kind, ours, k, y, kind == "NuSVC")
        b = objective(kind, theirs, kt, y[keep], kind == "NuSVC")
        difference = abs(a - b) / abs(b)
        p, q = ours.predict(xt), theirs.predict(xt)
        if kind == "SVR":
            differ = int((np.abs(p - q) > 1e-3 * np.abs(q).max()).sum())
        else:
            ours.decision_function_shape = theirs.decision_function_shape = "ovo"
            raw = theirs.decision_function(xt).reshape(len(q), -1)
            near = (np.abs(raw) < BAND).any(1)
            votes = np.zeros((len(q), len(theirs.classes_)))
            if raw.shape[1] > 1:
                for c, (i, j) in enumerate((i, j) for i in range(votes.shape[1]) for j in range(i + 1, votes.shape[1])):
                    votes[np.arange(len(q)), np.where(raw[:, c] > 0, i, j)] += 1
                near |= (votes == votes.max(1, keepdims=True)).sum(1) > 1
            differ = int(((p != q) & ~near).sum())
        worst, wrong = max(worst, difference), wrong + differ
        print(f"| {name} | {x.shape[0]} x {x.shape[1]} | {a:.9g} | {difference:.1e} | {len(q)} | {differ} | {ours.dual_gap_:.1e} |", flush=True)
    print(f"\nworst relative difference {worst:.1e}, labels that differ {wrong}")
    return worst < 1e-6 and wrong == 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(0 if compare(sys.argv[1]) else 1)
