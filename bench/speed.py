#!/usr/bin/env python3
"""Fit and prediction times beside scikit-learn and scikit-learn-intelex (oneDAL).

    python bench/speed.py                          the synthetic workloads
    python bench/speed.py rbf_10k_20 tiny          some of them
    python bench/speed.py letter usps --data DIR   real data
    python bench/speed.py tiny --export FILE.csv   writes a workload's table, for `BOULEVARD_TABLE=FILE.csv cargo bench -p boulevard -- tiny_fits`

Every contender works in its own process; a repetition runs all of them before the next one starts, so that a noisy machine is noisy for
all. A fit is the first of its process ("cold"): the process ends afterwards. The dual objective and, for two classes, the true KKT
violation are recomputed here in float64 from the returned coefficients. Contenders that are not installed are left out.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

TOLERANCE, CACHE = 1e-3, 1000
CONTENDERS = ["sklearn", "oneDAL f64", "oneDAL f32", "boulevard"]


def standardise(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-12)


def blobs(n, d, test=10_000):
    """Two classes of several clusters, an eighth of the labels wrong."""
    import numpy as np
    from sklearn.datasets import make_classification

    x, y = make_classification(n + test, d, n_informative=max(2, min(d // 2, 16)), n_redundant=d // 10, n_clusters_per_class=4,
                               class_sep=1.2, flip_y=0.25, random_state=7)
    x = np.ascontiguousarray(standardise(x))
    return x[:n], y[:n] * 2.0 - 1, x[n:], y[n:] * 2.0 - 1


def smooth(n, d, test=5_000):
    import numpy as np

    random = np.random.default_rng(7)
    x = random.standard_normal((n + test, d))
    f = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + np.abs(x[:, 3]) + 0.5 * x[:, 4] ** 2
    y = f / f.std() + 0.3 * random.standard_normal(n + test)
    return x[:n], y[:n], x[n:], y[n:]


def real(folder, name):
    import numpy as np
    import pandas as pd

    def read(file):
        frame = pd.read_csv(f"{folder}/{file}.csv.gz")
        y = np.unique(frame.pop("label").to_numpy(), return_inverse=True)[1].astype(float)
        return frame.to_numpy(float), y

    if name == "letter":
        x, y = read("letter")
        x = standardise(x)
        return x[:16000], y[:16000], x[16000:], y[16000:]
    return (*read("usps_train"), *read("usps_test"))


WORKLOADS = {
    "rbf_2k_20": (lambda f: blobs(2_000, 20), dict(C=1.0, gamma=0.05)),
    "rbf_10k_20": (lambda f: blobs(10_000, 20), dict(C=1.0, gamma=0.05)),
    "rbf_10k_100": (lambda f: blobs(10_000, 100), dict(C=1.0, gamma=0.01)),
    "rbf_20k_20": (lambda f: blobs(20_000, 20, 20_000), dict(C=1.0, gamma=0.05)),
    "rbf_20k_100": (lambda f: blobs(20_000, 100, 20_000), dict(C=1.0, gamma=0.01)),
    "rbf_10k_20_C100": (lambda f: blobs(10_000, 20), dict(C=100.0, gamma=0.05)),
    "svr_10k_20": (lambda f: smooth(10_000, 20), dict(C=1.0, gamma=0.05, epsilon=0.1)),
    "letter": (lambda f: real(f, "letter"), dict(C=10.0, gamma=1 / 16)),
    "usps": (lambda f: real(f, "usps"), dict(C=10.0, gamma=0.02)),
    "tiny": (lambda f: blobs(200_000, 10, 1_000), dict(C=1.0, gamma=0.1)),
}


def quality(name, x, y, model, gamma, c, epsilon):
    """Dual objective and true violation from the coefficients alone."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    coefficients = np.asarray(model.dual_coef_)
    if coefficients.shape[0] > 1 or name == "tiny":
        return {}
    b, s = np.zeros(len(y)), np.asarray(model.support_)
    b[s] = coefficients[0]
    f = np.concatenate([rbf_kernel(x[i : i + 1000], x[s], gamma=gamma) @ b[s] for i in range(0, len(y), 1000)])
    if epsilon is not None:
        return dict(objective=float(0.5 * b @ f - y @ b + epsilon * np.abs(b).sum()))
    g, edge = f - y, 1e-8 * c
    grow = np.where(y > 0, b < c - edge, b < -edge)
    fall = np.where(y > 0, b > edge, b > -c + edge)
    return dict(objective=float(0.5 * b @ f - np.abs(b).sum()), violation=float(g[fall].max() - g[grow].min()))


def work(name, contender, folder):
    """One cold fit and one prediction; prints its figures as JSON."""
    import numpy as np

    make, parameters = WORKLOADS[name]
    x, y, xt, _ = make(folder)
    kind = "SVR" if name.startswith("svr") else "SVC"
    if contender == "boulevard":
        import boulevard as module
    elif contender == "sklearn":
        import sklearn.svm as module
    else:
        import sklearnex.svm as module
    train, test = (x.astype(np.float32), xt.astype(np.float32)) if contender.endswith("f32") else (x, xt)
    model = getattr(module, kind)(tol=TOLERANCE, cache_size=CACHE, **parameters)
    start = time.perf_counter()
    if name == "tiny":
        for i in range(0, len(y), 200):
            model.fit(train[i : i + 200], y[i : i + 200])
    else:
        model.fit(train, y)
    fit = time.perf_counter() - start
    start = time.perf_counter()
    model.predict(test)
    figures = dict(fit=fit, predict=time.perf_counter() - start)
    figures.update(quality(name, x, y, model, parameters["gamma"], parameters["C"], parameters.get("epsilon")))
    print(json.dumps(figures))


def run(name, repetitions, folder):
    results = {contender: [] for contender in CONTENDERS}
    for _ in range(repetitions):
        for contender in list(results):
            command = [sys.executable, __file__, name, "--work", contender, "--data", folder or ""]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                if not results[contender]:
                    print(f"{contender}: left out ({done.stderr.strip().splitlines()[-1][:90]})", file=sys.stderr)
                    del results[contender]
                continue
            results[contender].append(json.loads(done.stdout.strip().splitlines()[-1]))
    median = {c: {k: statistics.median(r[k] for r in rows if k in r) for k in rows[0]} for c, rows in results.items() if rows}
    base = median.get("sklearn")
    for contender, m in median.items():
        ratios = f"{base['fit'] / m['fit']:.1f} | {base['predict'] / m['predict']:.1f}" if base else "- | -"
        checks = f"{m['objective']:.6g}" if "objective" in m else "", f"{m['violation']:.2e}" if "violation" in m else ""
        print(f"| {name} | {contender} | {m['fit']:.3f} | {m['predict']:.3f} | {ratios} | {checks[0]} | {checks[1]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--data", help="folder with letter, usps_train and usps_test")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--export", metavar="FILE", help="write the first workload's table, label last, and stop")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.workloads[0], options.work, options.data)
    if options.export:
        import numpy as np

        x, y, *_ = WORKLOADS[options.workloads[0]][0](options.data)
        names = [f"x{i}" for i in range(x.shape[1])] + ["label"]
        np.savetxt(options.export, np.column_stack([x, y]), delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        return None
    names = options.workloads or [n for n in WORKLOADS if options.data or n not in ("letter", "usps")]
    print("| workload | contender | fit s | predict s | fit x sklearn | predict x sklearn | dual objective | true violation |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        run(name, options.reps, options.data)


if __name__ == "__main__":
    main()
