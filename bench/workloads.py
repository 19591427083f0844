"""What `speed.py` measures: tables, and what every contender does with them.

A workload is a table and a task. A task prepares whatever is not timed and returns the function that is.
"""

import numpy as np

TOLERANCE, CACHE = 1e-3, 1000


def standardise(x):
    return np.ascontiguousarray((x - x.mean(0)) / (x.std(0) + 1e-12))


# ---------------------------------------------------------------- tables


def blobs(n, d, test=10_000):
    """Two classes of several clusters, an eighth of the labels wrong."""
    from sklearn.datasets import make_classification

    x, y = make_classification(n + test, d, n_informative=max(2, min(d // 2, 16)), n_redundant=d // 10, n_clusters_per_class=4,
                               class_sep=1.2, flip_y=0.25, random_state=7)
    x = standardise(x)
    return x[:n], y[:n] * 2.0 - 1, x[n:], y[n:] * 2.0 - 1


def smooth(n, d, test=5_000):
    random = np.random.default_rng(7)
    x = random.standard_normal((n + test, d))
    f = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + np.abs(x[:, 3]) + 0.5 * x[:, 4] ** 2
    y = f / f.std() + 0.3 * random.standard_normal(n + test)
    return x[:n], y[:n], x[n:], y[n:]


def words(n, d, test):
    """Rows of a text: about 60 of `d` words each, frequent ones first, weighed and of length one; 8 % of the labels wrong."""
    import scipy.sparse as sp
    from sklearn.preprocessing import normalize

    random = np.random.default_rng(7)
    lengths = random.poisson(75, n + test) + 5
    chance = 1 / (np.arange(d) + 10.0) ** 1.05
    found = np.searchsorted(np.cumsum(chance / chance.sum()), random.random(lengths.sum())).clip(0, d - 1)
    x = sp.csr_matrix((np.ones(len(found)), (np.repeat(np.arange(n + test), lengths), found)), shape=(n + test, d))
    x.sum_duplicates()
    x.data = 1 + np.log(x.data)
    rare = np.log((n + test) / (np.bincount(x.indices, minlength=d) + 1))
    x = normalize(sp.csr_matrix(x.multiply(rare[None, :])))
    score = x @ (random.standard_normal(d) * (random.random(d) < 0.3))
    y = np.where((score > np.median(score)) ^ (random.random(n + test) < 0.08), 1.0, -1.0)
    return x[:n], y[:n], x[n:], y[n:]


def real(folder, name):
    import pandas as pd

    def read(file):
        frame = pd.read_csv(f"{folder}/{file}.csv.gz")
        y = np.unique(frame.pop("label").to_numpy(), return_inverse=True)[1].astype(float)
        return frame.to_numpy(float), y

    if name == "letter":
        x, y = read("letter")
        x = standardise(x)
        return x[:16000], y[:16000], x[16000:], y[16000:]
    if name == "a9a":
        import scipy.sparse as sp

        (x, y), (xt, yt) = read("a9a_train"), read("a9a_test")
        return sp.csr_matrix(x[:16000]), 2 * y[:16000] - 1, sp.csr_matrix(xt[:8000]), 2 * yt[:8000] - 1
    return (*read("usps_train"), *read("usps_test"))


# ---------------------------------------------------------------- tasks: (contender's module, table, parameters) -> timed function


def machine(module, kind, parameters):
    given = dict(parameters)
    if kind in ("SVC", "SVR", "NuSVC", "OneClassSVM"):
        given |= dict(tol=TOLERANCE, cache_size=CACHE)
    return getattr(module, kind)(**given)


def fit(kind):
    def task(module, table, parameters):
        def work():
            model = machine(module, kind, parameters)
            return model.fit(table[0]) if kind == "OneClassSVM" else model.fit(table[0], table[1])

        return work

    return task


def predict(module, table, parameters):
    model = machine(module, "SVC", parameters).fit(table[0], table[1])
    return lambda: model.predict(table[2])


def predict_linear(module, table, parameters):
    model = linear_machine(module, parameters).fit(table[0], table[1])
    return lambda: model.predict(table[2])


def predict_one(module, table, parameters):
    model = machine(module, "SVC", parameters).fit(table[0], table[1])
    rows = [table[2][i : i + 1] for i in range(200)]
    return lambda: [model.predict(row) for row in rows]


def tiny(module, table, parameters):
    model = machine(module, "SVC", parameters)

    def work():
        for i in range(0, len(table[1]), 200):
            model.fit(table[0][i : i + 200], table[1][i : i + 200])

    return work


def tiny_new(module, table, parameters):
    def work():
        for i in range(0, len(table[1]), 200):
            machine(module, "SVC", parameters).fit(table[0][i : i + 200], table[1][i : i + 200])

    return work


GRID = dict(C=[0.1, 1, 10, 100, 1000], gamma=[0.05 / 16, 0.05 / 4, 0.05, 0.2, 0.8])


def grid(module, table, parameters):
    from sklearn.model_selection import GridSearchCV

    # oneDAL's threads and two processes get in each other's way: one process is its best.
    jobs = 1 if module.__name__.startswith("sklearnex") else 2
    return lambda: GridSearchCV(machine(module, "SVC", {}), GRID, cv=5, n_jobs=jobs).fit(table[0], table[1])


def tune(module, table, parameters):
    if module.__name__ == "boulevard":
        from boulevard.model_selection import tune as search

        return lambda: search(table[0], table[1], machine(module, "SVC", {}), param_grid=GRID, cv=5)
    return grid(module, table, parameters)


def boost(module, table, parameters):
    from sklearn.ensemble import AdaBoostClassifier

    # Weights that sum to one: C counts rows.
    return lambda: AdaBoostClassifier(machine(module, "SVC", parameters), n_estimators=10, random_state=0).fit(table[0], table[1])


def linear_machine(module, parameters):
    # The same problem for both: the intercept is regularised as LIBLINEAR does it. scikit-learn's faster way for it is the primal one.
    more = dict(intercept_scaling=1.0) if module.__name__ == "boulevard" else dict(dual=False, max_iter=5000)
    return module.LinearSVC(tol=TOLERANCE, **more, **parameters)


def fit_linear(module, table, parameters):
    return lambda: linear_machine(module, parameters).fit(table[0], table[1])


def precomputed(module, table, parameters):
    from sklearn.metrics.pairwise import rbf_kernel

    gram = rbf_kernel(table[0], gamma=0.05)
    return lambda: machine(module, "SVC", dict(C=1.0, kernel="precomputed")).fit(gram, table[1])


def function(module, table, parameters):
    from sklearn.metrics.pairwise import rbf_kernel

    return lambda: machine(module, "SVC", dict(C=1.0, kernel=lambda a, b: rbf_kernel(a, b, gamma=0.05))).fit(table[0], table[1])


#: name: what it is in words, table (of the data folder), task, parameters, asked times scikit-learn's and the best rival's speed.
WORKLOADS = {
    "rbf_2k_20": ("RBF, 2k x 20", lambda f: blobs(2_000, 20), fit("SVC"), dict(C=1.0, gamma=0.05), 10, 3),
    "rbf_10k_20": ("RBF, 10k x 20", lambda f: blobs(10_000, 20), fit("SVC"), dict(C=1.0, gamma=0.05), 30, 8),
    "rbf_10k_100": ("RBF, 10k x 100", lambda f: blobs(10_000, 100), fit("SVC"), dict(C=1.0, gamma=0.01), 10, 3),
    "rbf_20k_20": ("RBF, 20k x 20", lambda f: blobs(20_000, 20, 20_000), fit("SVC"), dict(C=1.0, gamma=0.05), 30, 8),
    "rbf_10k_20_C100": ("RBF, 10k x 20, C = 100", lambda f: blobs(10_000, 20), fit("SVC"), dict(C=100.0, gamma=0.05), 10, 3),
    "letter": ("letter, 26 classes", lambda f: real(f, "letter"), fit("SVC"), dict(C=10.0, gamma=1 / 16), 10, 3),
    "usps": ("usps, 10 classes", lambda f: real(f, "usps"), fit("SVC"), dict(C=10.0, gamma=0.02), 10, 3),
    "a9a": ("a9a, 16k, sparse", lambda f: real(f, "a9a"), fit("SVC"), dict(C=1.0, gamma=0.05), 10, 3),
    "svr_10k_20": ("regression, 10k x 20", lambda f: smooth(10_000, 20), fit("SVR"), dict(C=1.0, gamma=0.05, epsilon=0.1), 10, 3),
    "tiny": ("1000 fits of 200 x 10", lambda f: blobs(200_000, 10, 1_000), tiny, dict(C=1.0, gamma=0.1), 10, 3),
    "tiny_new": ("the same, a new estimator each", lambda f: blobs(200_000, 10, 1_000), tiny_new, dict(C=1.0, gamma=0.1), 10, 3),
    "grid": ("GridSearchCV, 5 x 5 x 5 folds, 2k x 20", lambda f: blobs(2_000, 20), grid, {}, 10, None),
    "tune": ("`tune`, beside GridSearchCV", lambda f: blobs(2_000, 20), tune, {}, 30, None),
    "boost": ("AdaBoost, 10 rounds, 5k x 20", lambda f: blobs(5_000, 20), boost, dict(C=5000.0, gamma=0.05), 10, 3),
    "linear_dense": ("linear, 100k x 100", lambda f: blobs(100_000, 100), fit_linear, dict(C=1.0), 12, None),
    "linear_sparse": ("linear, sparse, 50k x 50k", lambda f: words(50_000, 50_000, 20_000), fit_linear, dict(C=1.0), 5, None),
    "predict_20": ("predict 10k rows, d = 20", lambda f: blobs(10_000, 20), predict, dict(C=1.0, gamma=0.05), 150, 5),
    "predict_100": ("predict 10k rows, d = 100", lambda f: blobs(10_000, 100), predict, dict(C=1.0, gamma=0.01), 80, 3),
    "predict_sparse": ("predict 20k x 50k, sparse, linear", lambda f: words(10_000, 50_000, 20_000), predict_linear, dict(C=1.0), 1.5, None),
    "predict_one": ("predict one row, 200 times", lambda f: blobs(500, 20, 1_000), predict_one, dict(C=1.0, gamma=0.05), 4, None),
    "nu": ("nu-classification, 5k x 20", lambda f: blobs(5_000, 20), fit("NuSVC"), dict(nu=0.4, gamma=0.05), 5, None),
    "one_class": ("one class, 10k x 20", lambda f: blobs(10_000, 20), fit("OneClassSVM"), dict(nu=0.1, gamma=0.05), 5, None),
    "poly": ("polynomial, 5k x 20", lambda f: blobs(5_000, 20), fit("SVC"), dict(kernel="poly", C=1.0, gamma=0.05, coef0=1.0), 5, None),
    "sigmoid": ("sigmoid, 5k x 20", lambda f: blobs(5_000, 20), fit("SVC"), dict(kernel="sigmoid", C=0.1, gamma=0.005), 5, None),
    "linear_kernel": ("linear kernel, 5k x 20", lambda f: blobs(5_000, 20), fit("SVC"), dict(kernel="linear", C=1.0), 5, None),
    "precomputed": ("given kernel matrix, 5k", lambda f: blobs(5_000, 20), precomputed, {}, 5, None),
    "function": ("kernel function of Python's, 3k x 20", lambda f: blobs(3_000, 20), function, {}, 5, None),
}
