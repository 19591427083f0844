"""Interrupts every estimator and every verb at random moments on tall, wide, sparse, middling and tiny tables; records the answers.

    python bench/trust/interrupts.py COUNT [--seed N] [--json FILE]

The answer's time is from the signal to KeyboardInterrupt (estimators), or to the end of the process (verbs). On a machine with other
work the wall clock also measures that work, so the processor seconds spent between signal and answer are recorded beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from common import ESTIMATORS, commit, program, quantiles, table, target, write_csv
from sklearn.exceptions import NotFittedError

warnings.filterwarnings("ignore")
SHAPES = ["tall", "wide", "sparse", "middle", "tiny"]
#: Verbs that work for a while: words before the data, words after it.
VERBS = {
    "train": ["train", "{data}", "-q", "--c", "100", "--tolerance", "1e-9", "-o", "{out}"],
    "train --calibrate": ["train", "{data}", "-q", "--calibrate", "--c", "10", "-o", "{out}"],
    "train one-class": ["train", "{data}", "-q", "--method", "one-class", "--label", "y", "-o", "{out}"],
    "train linear": ["train", "{data}", "-q", "--method", "linear", "-o", "{out}"],
    "train select": ["train", "{data}", "-q", "--method", "select", "-o", "{out}"],
    "train boost": ["train", "{data}", "-q", "--method", "boost", "-o", "{out}"],
    "train pareto": ["train", "{data}", "-q", "--method", "pareto", "-o", "{out}"],
    "train induce": ["train", "{data}", "-q", "--method", "induce", "-o", "{out}"],
    "train gather": ["train", "{data}", "-q", "--method", "gather", "-o", "{out}"],
    "evaluate": ["evaluate", "{data}", "-q", "--folds", "10"],
    "tune": ["tune", "{data}", "-q", "-o", "{out}"],
}


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Record:
    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.busy: list[float] = []
        self.by_name: dict[str, float] = defaultdict(float)
        self.too_early = 0

    def add(self, name: str, seconds: float, busy: float) -> None:
        self.seconds.append(seconds)
        self.busy.append(busy)
        self.by_name[name] = max(self.by_name[name], busy)


def one_estimator(dice: random.Random, tables: dict[str, tuple], record: Record) -> None:
    shape, name = dice.choice(SHAPES), dice.choice(list(ESTIMATORS))
    make, kind = ESTIMATORS[name]
    X, classes, numbers = tables[shape]
    model, sent = make(), []
    model.set_params(n_jobs=1)
    if shape == "tiny" and hasattr(model, "tol"):
        # Else it is over before the signal comes.
        model.set_params(tol=1e-15)

    def send() -> None:
        sent.append((time.monotonic(), processor()))
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(dice.random() ** 2 * (0.02 if shape == "tiny" else 1.2), send)
    timer.start()
    try:
        model.fit(X, target(kind, classes, numbers))
        timer.cancel()
        timer.join()
        time.sleep(0.002)
        record.too_early += 1
    except KeyboardInterrupt:
        at, spent = sent[0]
        record.add(f"{name}, {shape}", time.monotonic() - at, processor() - spent)
        try:
            said = np.asarray(model.predict(X[:3]), dtype=float)
        except NotFittedError:
            return
        assert np.isfinite(said).all(), name


def one_verb(dice: random.Random, folder: Path, files: dict[str, Path], record: Record) -> None:
    shape, name = dice.choice(list(files)), dice.choice(list(VERBS))
    out = folder / "model"
    out.unlink(missing_ok=True)
    words = [word.format(data=files[shape], out=out) for word in VERBS[name]]
    child = subprocess.Popen([program(), *words, "--threads", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    time.sleep(0.05 + dice.random() ** 2 * 1.5)
    if child.poll() is not None:
        record.too_early += 1
        return
    with open(f"/proc/{child.pid}/stat") as file:
        ticks = file.read().rsplit(") ", 1)[1].split()
    spent = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
    at = time.monotonic()
    child.send_signal(signal.SIGINT)
    child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    record.add(f"{name}, {shape}", time.monotonic() - at, max(0.0, total - spent))
    if out.exists():
        subprocess.run([program(), "inspect", str(out)], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    options = parser.parse_args()
    # In the background shells let processes ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dice, estimators, verbs = random.Random(options.seed), Record(), Record()
    tables = {shape: table(shape) for shape in SHAPES}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), {}
        for shape in ("tall", "middle"):
            X, classes, _ = tables[shape]
            files[shape] = folder / f"{shape}.csv"
            write_csv(files[shape], X, classes)
        while len(estimators.seconds) + len(verbs.seconds) < options.count and time.monotonic() - start < 60 * options.minutes:
            try:
                if dice.random() < 0.8:
                    one_estimator(dice, tables, estimators)
                else:
                    one_verb(dice, folder, files, verbs)
            except KeyboardInterrupt:
                # The signal came between two fits.
                estimators.too_early += 1
    summary = {"commit": commit(), "minutes": round((time.monotonic() - start) / 60, 1)}
    for what, record in (("estimators", estimators), ("verbs", verbs)):
        worst = sorted(record.by_name.items(), key=lambda pair: -pair[1])[:8]
        summary[what] = {
            "interrupts": len(record.seconds),
            "finished before": record.too_early,
            "seconds to the answer": quantiles(record.seconds),
            "processor seconds to the answer": quantiles(record.busy),
            "worst": {name: round(value, 3) for name, value in worst},
        }
    text = json.dumps(summary, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text)
    late = [value for value in estimators.busy + verbs.busy if value > 0.2]
    if late:
        sys.exit(f"{len(late)} answers took more than 0.2 s of work")


if __name__ == "__main__":
    main()
