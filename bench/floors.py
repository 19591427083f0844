#!/usr/bin/env python3
"""What two rows of the speed table cannot go below, whatever the machine does.

    python bench/floors.py

A search with two jobs over an estimator that does nothing: what starting its worker processes and handing out 125 fits takes. And a kernel
function of Python's: the function alone, called once for all pairs of rows as scikit-learn calls it, and on the upper half of the pairs in
pieces that stay in cache, the results thrown away, which is the least that any machine has to ask for.
"""
import time
import warnings

from sklearn.dummy import DummyClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from workloads import blobs

warnings.simplefilter("ignore")
TURNS = 6


def timed(work):
    """Seconds of the first piece of work and of the quickest of the others."""
    seconds = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return f"first {seconds[0]:.4f} s, later {min(seconds[1:]):.4f} s"


x, y, *_ = blobs(2_000, 20)
grid = {"constant": list(range(25))}
print("GridSearchCV, 25 points, 5 folds, two jobs, nothing to fit:", timed(lambda: GridSearchCV(DummyClassifier(), grid, cv=5, n_jobs=2).fit(x, y)))

x, y, *_ = blobs(3_000, 20)
PIECE = 256


def function(a, b):
    return rbf_kernel(a, b, gamma=0.05)


def half():
    for first in range(0, len(x), PIECE):
        function(x[first : first + PIECE], x[first:])


print("scikit-learn's SVC with the function:", timed(lambda: SVC(kernel=function).fit(x, y)))
print("the function, all pairs at once:", timed(lambda: function(x, x)))
print("the function, half of the pairs in pieces:", timed(half))
