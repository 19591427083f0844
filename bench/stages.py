#!/usr/bin/env python3
"""Where the microseconds of a small fit go: `python bench/stages.py` prints a table (200 rows x 10, RBF, C = 1, one thread).

Every stage is called by itself some thousand times; the quickest of seven rounds counts. Stages are methods of the package, so that a change
there may need one here.
"""

import statistics
import time

from workloads import blobs

from boulevard import SVC, _core
from boulevard._classes import class_names, read_weights
from boulevard._limits import count_threads
from boulevard._request import Data, Limits


def microseconds(work, calls=2000):
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return 1e6 * best


def main():
    rows, labels, *_ = blobs(400, 10, 1000)
    x, y = rows[:200].copy(), labels[:200].copy()
    model = SVC(C=1.0, gamma=0.1, tol=1e-3, cache_size=1000).fit(x, y)
    _, codes = model._encode(y, (x, y))
    learner = model._native_learner(model._learner("equal") | dict(kernel=model._kernel(), solver=model._solver()))
    names = class_names(model.classes_)
    data, limits = Data(x, codes, names, None), Limits(count_threads(None), None, None, "auto", None)
    native, _ = _core.fit(learner, data, limits)
    parts = native.parts()
    stages = {
        "parameters looked at": model._check_parameters,
        "table and labels validated": lambda: model._read_training(x, y),
        "classes encoded": lambda: model._encode(y, (x, y)),
        "weights of rows and classes": lambda: (read_weights(None, x), model._class_weights(y, None)),
        "threads counted, names, request": lambda: (Data(x, codes, class_names(model.classes_), None), count_threads(None)),
        "native call": lambda: _core.fit(learner, data, limits),
        "attributes set": lambda: (model._keep(native), model._take(native.parts()), model._end(parts, None)),
    }
    whole = microseconds(lambda: model.fit(x, y), 1000)
    found = {name: microseconds(work, 1000 if name == "native call" else 3000) for name, work in stages.items()}
    inside = 1e6 * statistics.median(_core.fit(learner, data, limits)[0].parts()["seconds"] for _ in range(2000))
    print("| stage of a fit of 200 x 10 | us |\n|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:.1f} |")
    print(f"| of the native call, the fit by its own clock | {inside:.1f} |")
    print(f"| calls between stages, decorators, what is not listed | {whole - sum(found.values()):.1f} |")
    print(f"| whole fit | {whole:.1f} |")


if __name__ == "__main__":
    main()
