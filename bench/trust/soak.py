"""Trains, saves, loads, predicts, interrupts, kills and compares at random for as long as asked; memory must stay flat.

    python bench/trust/soak.py MINUTES [--seed N]

Ends with status 1 at the first answer that is not what it must be. Every act is drawn from the seed, so a failure can be looked for again.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import sklearn.svm
from common import ESTIMATORS, commit, program, quantiles, resident, target, write_csv
from sklearn.exceptions import NotFittedError

import boulevard as b

warnings.filterwarnings("ignore")

#: scikit-learn's machine for the same problem.
TWINS = {
    "SVC": lambda: sklearn.svm.SVC(),
    "SVC linear C=100": lambda: sklearn.svm.SVC(kernel="linear", C=100),
    "NuSVC": lambda: sklearn.svm.NuSVC(nu=0.3),
    "SVR": lambda: sklearn.svm.SVR(),
    "NuSVR": lambda: sklearn.svm.NuSVR(),
    "OneClassSVM": lambda: sklearn.svm.OneClassSVM(),
}


class Soak:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.interrupts: list[float] = []
        self.memory: list[tuple[float, int]] = []
        self.folder = tempfile.TemporaryDirectory(prefix="boulevard-soak-")
        self.place = Path(self.folder.name)
        self.program = program()
        self.start = time.monotonic()

    def draw(self) -> tuple[str, object, np.ndarray, np.ndarray | None]:
        name = self.dice.choice(list(ESTIMATORS))
        make, kind = ESTIMATORS[name]
        rng = np.random.default_rng(self.dice.randrange(1 << 30))
        rows, columns = self.dice.choice([(30, 2), (60, 4), (150, 10), (300, 40), (600, 6)])
        X = rng.normal(size=(rows, columns))
        signal_ = X[:, 0] + 0.5 * X[:, -1] ** 2
        numbers = signal_ + 0.3 * rng.normal(size=rows)
        classes = (numbers > np.median(numbers)).astype(int)
        if self.dice.random() < 0.2 and "Selection" not in name:
            classes = np.digitize(numbers, np.quantile(numbers, [0.33, 0.66]))
        return name, make(), X, target(kind, classes, numbers)

    @staticmethod
    def answers(model: object, X: np.ndarray) -> list[np.ndarray]:
        found = [np.asarray(model.predict(X))]
        for method in ("decision_function", "predict_proba"):
            if hasattr(model, method):
                found.append(np.asarray(getattr(model, method)(X)))
        return found

    def same(self, what: str, a: list[np.ndarray], c: list[np.ndarray]) -> None:
        if len(a) != len(c) or not all(np.array_equal(x, y, equal_nan=False) for x, y in zip(a, c, strict=True)):
            raise AssertionError(f"{what}: answers differ")

    def fit_and_compare(self) -> None:
        name, model, X, y = self.draw()
        model.fit(X, y)
        found = self.answers(model, X)
        if not all(np.isfinite(values).all() for values in found if values.dtype.kind == "f"):
            raise AssertionError(f"{name}: not finite")
        again = ESTIMATORS[name][0]()
        again.set_params(n_jobs=self.dice.choice([1, 2]))
        self.same(f"{name}, other threads", found, self.answers(again.fit(X, y), X))
        if name in TWINS:
            # At the default tolerance both are right to a few digits only, and not to the same ones.
            twin = TWINS[name]().set_params(tol=1e-6).fit(X, y)
            close = ESTIMATORS[name][0]().set_params(tol=1e-6).fit(X, y)
            values = twin.predict(X) if "SVR" in name else twin.decision_function(X)
            own = close.predict(X) if "SVR" in name else close.decision_function(X)
            far = np.max(np.abs(values - own)) / (1 + np.max(np.abs(values)))
            if far > 0.02:
                raise AssertionError(f"{name}: {far:.1e} from scikit-learn")
            self.counts["compared with scikit-learn"] += 1

    def save_and_load(self) -> None:
        name, model, X, y = self.draw()
        model.fit(X, y)
        path = self.place / f"model-{self.dice.randrange(4)}"
        # Probabilities are fitted when they are first asked for, and only then go into the file.
        found = self.answers(model, X)
        model.save(path)
        self.same(f"{name}, loaded", found, self.answers(b.load(path), X))
        if y is not None and "Sample" not in name and "Selection" not in name:
            data = self.place / "rows.csv"
            write_csv(data, X, y)
            out = subprocess.run([self.program, "predict", str(path), str(data), "-q"], capture_output=True, text=True, check=True).stdout
            said = np.array([float(line) for line in out.split("\n")[1:-1]])
            # The file has every digit, so ties are broken the same way.
            if np.any(np.abs(said - model.predict(X)) > 1e-12 * (1 + np.abs(said))):
                raise AssertionError(f"{name}: program and package disagree")
            self.counts["compared with the program"] += 1

    def interrupt(self) -> None:
        name = self.dice.choice(list(ESTIMATORS))
        make, kind = ESTIMATORS[name]
        rng = np.random.default_rng(self.dice.randrange(1 << 30))
        rows, columns = self.dice.choice([(4000, 10), (1200, 300), (300, 3000)])
        X = rng.normal(size=(rows, columns))
        numbers = X[:, 0] + rng.normal(size=rows)
        sent: list[float] = []

        def send() -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        model = make()
        timer = threading.Timer(self.dice.random() ** 3 * 0.8, send)
        timer.start()
        try:
            model.fit(X, target(kind, (numbers > 0).astype(int), numbers))
            timer.cancel()
            timer.join()
            time.sleep(0.001)
            self.counts["finished before the interrupt"] += 1
        except KeyboardInterrupt:
            self.interrupts.append(time.monotonic() - sent[0])
            try:
                partial = np.asarray(model.predict(X[:5]), dtype=float)
            except NotFittedError:
                # Stopped before there was anything to keep.
                return
            if not np.isfinite(partial).all():
                raise AssertionError(f"{name}: a partial model with answers that are not finite") from None
            self.counts["partial models that answered"] += 1

    def kill(self) -> None:
        """kill -9 while the program trains and saves: the old model or the new one."""
        data, path = self.place / "kill.csv", self.place / "killed.model"
        if not data.exists():
            rng = np.random.default_rng(1)
            X = rng.normal(size=(800, 30))
            write_csv(data, X, (X[:, 0] + rng.normal(size=800) > 0).astype(int))
            subprocess.run([self.program, "train", str(data), "-q", "-o", str(path)], check=True, capture_output=True)
        words = [self.program, "train", str(data), "-q", "--c", str(self.dice.choice([0.5, 1, 2])), "-o", str(path)]
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.dice.random() * 0.12)
        child.kill()
        self.counts["killed" if child.wait() < 0 else "ended before the kill"] += 1
        b.load(path).predict(np.zeros((1, 30)))

    def act(self) -> None:
        acts = [self.fit_and_compare, self.fit_and_compare, self.save_and_load, self.save_and_load, self.interrupt, self.kill]
        act = self.dice.choice(acts)
        try:
            act()
        except KeyboardInterrupt:
            # The signal came after the fit had ended.
            self.counts["interrupts between two acts"] += 1
        self.counts[act.__name__] += 1

    def look(self) -> None:
        gc.collect()
        self.memory.append((time.monotonic() - self.start, resident()))

    def summary(self) -> dict[str, object]:
        sizes = [size for _, size in self.memory]
        quarter = max(1, len(sizes) // 4)
        early, late = statistics.median(sizes[quarter : 2 * quarter] or sizes), statistics.median(sizes[-quarter:])
        left = [path.name for path in self.place.iterdir() if path.name.endswith(".tmp") and time.time() - path.stat().st_mtime > 120]
        return {
            "commit": commit(),
            "minutes": round((time.monotonic() - self.start) / 60, 1),
            "acts": dict(sorted(self.counts.items())),
            "interrupts answered": len(self.interrupts),
            "seconds to answer": quantiles(self.interrupts),
            "resident MB, second quarter": round(early / 1e6, 1),
            "resident MB, last quarter": round(late / 1e6, 1),
            "temporary files left": len(left),
            "flat": late <= 1.05 * early + 10e6,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # In the background shells let processes ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    soak = Soak(options.seed)
    looked = 0.0
    try:
        while time.monotonic() - soak.start < 60 * options.minutes:
            soak.act()
            if time.monotonic() - looked > 10:
                soak.look()
                looked = time.monotonic()
    finally:
        soak.look()
        summary = soak.summary()
        print(json.dumps(summary, indent=1), flush=True)
        soak.folder.cleanup()
    if not summary["flat"] or summary["temporary files left"]:
        sys.exit("memory or files grew")


if __name__ == "__main__":
    main()
