"""How long a fit on a cluster would take, and what limits it: a model of rounds, from measured constants.

    python bench/cluster_model.py                 the table of docs/benchmarks/cluster.md
    python bench/cluster_model.py --measure       with this machine's kernel rate, step and call times
    python bench/cluster_model.py --rows 3e6 --workers 32 --gigabits 25 --threads 16

A round is: the driver solves a set, sends what moved (features of rows that shards have not seen, numbers of those they have) to every
worker over its own link, workers update their gradients, candidates come back. Parking of settled rows is not counted: it saves half of the
computation or more. Rounds and moved columns for a million rows of 54 features (16384 variables in a set, C = 10, smooth kernel) were
measured; for other sizes columns grow with the rows, and so do rounds.
"""

import argparse
import sys
import time
from pathlib import Path

# Per million rows: rounds, rows new to the set, columns that moved, pair steps, support vectors. One run of the loop on 1 048 576 x 54.
ROUNDS, NEW_ROWS, MOVED, STEPS, SUPPORT = 109, 0.90e6, 0.72e6, 7.2e6, 162e3
# Seconds, on one thread of a machine with AVX-512: a kernel value in single precision (54 features), in double precision, a pair step of a
# set of 1024.
VALUE, DOUBLE, STEP = 1.24e-9, 2.4e-9, 0.73e-6
# Seconds: a call of all workers, and of each of them on top at the driver. Assumed; `cluster.py calls` measures the first.
CALL, PER_WORKER = 5e-3, 0.2e-3
LATENCY = 1e-3
# Share of the rows whose gradients the certificate computes in double precision.
NEAR = 0.2


def model(rows, workers, gigabits, threads, constants, features=54, share=1.5):
    """Seconds by cause."""
    million = rows / 1e6
    rounds, moved, new = ROUNDS * million, MOVED * million, min(NEW_ROWS, 1.2 * SUPPORT) * million
    bandwidth = gigabits * 1e9 / 8
    row = 4 * features
    candidates = 0.5 * 16384 * rounds * share
    return {
        "kernel values": rows / workers * moved * constants["value"] / threads,
        "driver's sets": STEPS * million * constants["step"],
        "sending rows": workers * (new * row + moved * 13) / bandwidth,
        "candidates": min(candidates * (row + 20), rows * row + candidates * 20) / bandwidth,
        "calls": rounds * (constants["call"] + workers * PER_WORKER + 2 * LATENCY),
        "certificate": NEAR * rows / workers * SUPPORT * million * constants["double"] / threads,
    }


def measure():
    """This machine's constants."""
    import numpy as np

    from boulevard import SVC

    sys.path.append(str(Path(__file__).parent.parent / "crates/boulevard-python/tests"))
    from thread_engine import ThreadEngine

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 54))
    y = rng.random(6000) < 0.5
    machine = SVC(C=1, gamma=0.02, n_jobs=1).fit(X, y)
    start = time.perf_counter()
    machine.decision_function(X)
    value = (time.perf_counter() - start) / (len(X) * len(machine.support_))
    small = SVC(C=10, gamma=0.02, n_jobs=1, tol=1e-4).fit(X[:1000], y[:1000])
    start = time.perf_counter()
    small.fit(X[:1000], y[:1000])
    step = (time.perf_counter() - start) / max(1, int(np.sum(small.n_iter_)))
    engine = ThreadEngine([(X[:10], y[:10], None)], [[0]])
    handle = engine.launch(0, [0], False)
    start = time.perf_counter()
    for _ in range(200):
        engine.ask([handle], "call", [(b"nothing",)])
    call = (time.perf_counter() - start) / 200
    return {"value": value, "double": 3 * value, "step": step, "call": max(call, CALL)}


def main():
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--workers", type=int, nargs="*", default=[8, 64, 256])
    parser.add_argument("--gigabits", type=float, nargs="*", default=[10, 100])
    parser.add_argument("--threads", type=int, default=8, help="threads of every worker")
    parser.add_argument("--measure", action="store_true", help="measure kernel values, steps and calls here first")
    given = parser.parse_args()
    constants = {"value": VALUE, "double": DOUBLE, "step": STEP, "call": CALL}
    if given.measure:
        constants = measure()
    shown = ", ".join(f"{name} {seconds:.2e} s" for name, seconds in constants.items())
    print(f"constants: {shown}; {given.threads} threads per worker")
    names = ["kernel values", "driver's sets", "sending rows", "candidates", "calls", "certificate"]
    print("| rows | workers | Gbit/s | " + " | ".join(names) + " | total s | limited by |")
    print("|" + "---|" * (len(names) + 5))
    for rows in given.rows:
        for gigabits in given.gigabits:
            for workers in given.workers:
                times = model(rows, workers, gigabits, given.threads, constants)
                most = max(times, key=times.get)
                cells = " | ".join(f"{times[name]:.1f}" for name in names)
                print(f"| {rows:.0e} | {workers} | {gigabits:g} | {cells} | **{sum(times.values()):.0f}** | {most} |")


if __name__ == "__main__":
    main()
