"""Fits of large tables: writes the tables, and runs scikit-learn-intelex on them for comparison.

    python bench/large.py write ROWS FILE [COLUMNS]       a table for `cargo run --release -p boulevard --example large_fit -- FILE C GAMMA`
    python bench/large.py intelex ROWS C GAMMA            scikit-learn-intelex in single precision with 4 GB of cache
    python bench/large.py fit ROWS C GAMMA                the installed package at its defaults
    python bench/large.py forest ROWS C GAMMA             the same on a table like covertype's, with the peak of memory
    python bench/large.py choice PROGRAM [TURNS]          pair steps, blocks and the choice between them over rows, features, C, gamma and cache;
                                                          PROGRAM is the example large_fit, built with --release
    python bench/large.py curve FILE.svg [ROWS...]        first fits of a process, ours and scikit-learn-intelex's in turns, and their picture

Every fit should be the first of its process, and contenders should take turns: report ratios, never bare seconds.
"""

import resource
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import make_classification


def table(rows, columns=20):
    """Eight overlapping clusters, a tenth of the labels drawn anew, columns standardised."""
    X, y = make_classification(rows, columns, n_informative=10, n_redundant=2, n_clusters_per_class=4, class_sep=1.2, flip_y=0.1, random_state=7)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def forest(rows):
    """A table like covertype's: 10 numbers from 100 overlapping clusters, one of 4 and one of 40 kinds, a twentieth of the labels flipped."""
    random = np.random.default_rng(7)
    centers = random.normal(size=(100, 10))
    labels = random.integers(0, 2, 100)
    cluster = random.integers(0, 100, rows)
    X = np.zeros((rows, 54), np.float32)
    X[:, :10] = centers[cluster] + 0.8 * random.normal(size=(rows, 10))
    # Kinds go with the clusters, four times in five.
    for first, kinds in [(10, 4), (14, 40)]:
        kind = np.where(random.random(rows) < 0.8, cluster % kinds, random.integers(0, kinds, rows))
        X[np.arange(rows), first + kind] = 1
    return X, labels[cluster] ^ (random.random(rows) < 0.05)


def fit(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def peak():
    """The largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def curve(file, sizes, turns=3, often=40_000, most=80_000):
    """Times against rows, C = 10 and gamma = 0.05: medians of some turns up to `often` rows; the rival's up to `most` rows."""
    found = {"boulevard": {}, "scikit-learn-intelex, single precision, 4 GB of cache": {}}
    for rows in sizes:
        taken = {name: [] for name in found}
        for _ in range(turns if rows <= often else 1):
            for verb, (name, times) in zip(("fit", "intelex"), taken.items()):
                if verb == "intelex" and rows > most:
                    continue
                done = subprocess.run([sys.executable, __file__, verb, str(rows), "10", "0.05"], capture_output=True, text=True)
                if done.returncode:
                    print(f"{verb}: left out ({done.stderr.strip().splitlines()[-1][:90]})")
                    continue
                print(done.stdout.strip(), flush=True)
                times.append(float(done.stdout.rsplit(": ", 1)[1].split()[0]))
        for name, times in taken.items():
            if times:
                found[name][rows] = sorted(times)[len(times) // 2]
        ours, theirs = (of.get(rows) for of in found.values())
        if ours and theirs:
            print(f"{rows} rows: {theirs / ours:.1f} times as fast", flush=True)
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "boulevard"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for name, times in found.items():
        if times:
            axes.loglog(list(times), list(times.values()), "o-", label=name)
    axes.set(xlabel="rows", ylabel="seconds", title="First fit of a process: 20 features, C = 10, two cores")
    axes.set_xticks(sizes, [f"{rows // 1000}k" for rows in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


#: Rows, features, C, gamma, MB of cache.
CHOICES = [
    (6_000, 20, 1, 0.05, 200), (6_000, 100, 1, 0.01, 200), (6_000, 100, 10, 0.5, 200), (10_000, 20, 10, 0.05, 1000),
    (10_000, 50, 1, 0.02, 1000), (10_000, 75, 1, 0.013, 1000), (10_000, 100, 1, 0.01, 1000), (10_000, 100, 10, 0.01, 1000),
    (10_000, 100, 1, 0.01, 100), (10_000, 20, 10, 0.5, 1000), (10_000, 100, 1, 0.5, 1000), (20_000, 100, 1, 0.01, 2000),
    (20_000, 100, 1, 0.01, 400), (20_000, 20, 1, 0.5, 2000), (20_000, 100, 1, 0.5, 2000), (10_000, 100, 10, 0.01, 100),
    (10_000, 100, 10, 0.01, 250), (20_000, 100, 10, 0.01, 1000), (10_000, 200, 1, 0.005, 100), (10_000, 100, 10, 0.05, 1000),
    (40_000, 100, 1, 0.01, 1600),
]


def choice(program, turns):
    """What the choice costs beside the better of both ways; processor seconds beside seconds, because machines are seldom quiet."""
    import os
    import tempfile

    print("| rows x features | C | gamma | cache MB | pair steps s | blocks s | chosen s | chosen | chosen / better |\n|---|---|---|---|---|---|---|---|---|")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for rows, columns, C, gamma, cache in CHOICES:
            file = f"{folder}/{rows}-{columns}.csv"
            if not os.path.exists(file):
                main("write", rows, file, columns)
            seconds, chosen = {"pairs": [], "blocks": [], "": []}, ""
            for _ in range(turns):
                for way, times in seconds.items():
                    words = [program, file, C, gamma, 1e-3, cache, *([way] if way else [])]
                    said = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout
                    times.append(float(said.split(": ")[1].split()[0]))
                    chosen = said.split("; ")[1].split(":")[0].strip()
            pairs, blocks, own = (sorted(times)[len(times) // 2] for times in seconds.values())
            ratio = own / min(pairs, blocks)
            worst = max(worst, ratio)
            print(f"| {rows} x {columns} | {C} | {gamma} | {cache} | {pairs:.2f} | {blocks:.2f} | {own:.2f} | {chosen} | {ratio:.2f} |", flush=True)
    print(f"worst {worst:.2f}")


def main(verb, rows, *rest):
    if verb == "write":
        X, y = table(int(rows), *map(int, rest[1:]))
        names = [f"x{j}" for j in range(X.shape[1])] + ["class"]
        lines = (",".join(map(repr, row.tolist())) + f",{'ab'[label]}" for row, label in zip(X, y))
        with open(rest[0], "w") as out:
            out.write("\n".join([",".join(names), *lines]) + "\n")
        return
    if verb == "choice":
        return choice(rows, int(rest[0]) if rest else 3)
    if verb == "curve":
        return curve(rows, [int(n) for n in rest] or [5_000, 10_000, 20_000, 40_000, 80_000, 160_000])
    X, y = (forest if verb == "forest" else table)(int(rows))
    C, gamma = map(float, rest)
    if verb == "intelex":
        from sklearnex.svm import SVC

        seconds = fit(SVC(C=C, gamma=gamma, cache_size=4000), X.astype(np.float32), y)
    else:
        from boulevard import SVC

        before = peak()
        model = SVC(C=C, gamma=gamma)
        seconds = fit(model, X, y)
        print(model.solver_, f"gap {model.dual_gap_:.1e}", f"{len(model.support_)} support vectors", f"{peak() - before:.0f} MB more than before", sep="; ")
    print(f"{verb} {rows} rows, C = {C:g}, gamma = {gamma:g}: {seconds:.3f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
