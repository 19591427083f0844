#!/usr/bin/env python3
"""Where the time of a GridSearchCV over SVC goes, and what its fits could share: 5 x 5 values, 5 folds, 2000 x 20.

    python bench/grid.py

Prints the seconds of the whole search, of its fits and of its scores (scikit-learn's beside ours); then, over two folds of all points, the
seconds of a fit from Python, of its native part, and of its native part where the kernel matrix is given.
"""
import time
import warnings

import numpy as np
import sklearn.svm
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from workloads import GRID, blobs

import boulevard

warnings.simplefilter("ignore")
x, y, *_ = blobs(2_000, 20)


def search(model):
    start = time.perf_counter()
    found = GridSearchCV(model, GRID, cv=5).fit(x, y).cv_results_
    whole = time.perf_counter() - start
    return f"{whole:.2f} s, fits {5 * found['mean_fit_time'].sum():.2f}, scores {5 * found['mean_score_time'].sum():.2f}"


for turn in range(2):
    print("boulevard   ", search(boulevard.SVC()))
    print("scikit-learn", search(sklearn.svm.SVC()))
seconds = np.zeros(3)
for train, _ in list(StratifiedKFold(5).split(x, y))[:2]:
    for gamma in GRID["gamma"]:
        gram = rbf_kernel(x[train], gamma=gamma)
        for c in GRID["C"]:
            start = time.perf_counter()
            model = boulevard.SVC(C=c, gamma=gamma).fit(x[train], y[train])
            given = boulevard.SVC(C=c, kernel="precomputed")
            seconds += time.perf_counter() - start, model.fit_time_, given.fit(gram, y[train]).fit_time_
print("50 fits: from Python {:.3f} s, native {:.3f} s, native with the kernel matrix given {:.3f} s".format(*seconds))
