#!/usr/bin/env python3
"""The boosted classifier: speed beside scikit-learn's AdaBoost over SVC, and the measurements behind its defaults.

    python bench/boosted.py speed --data DIR       the paper's mode on scene, all labels, 20 rounds, one thread, interleaved
    python bench/boosted.py defaults --data DIR    cross-validation on the training rows of scene and yeast, one line per setting
    python bench/boosted.py test --data DIR        the default on the test rows

AdaBoost draws as many rows per round as we do (30 %, by weight, both classes) and fits scikit-learn's SVC on them with their weights; it
may end early, so seconds per round are compared.
"""
import argparse
import statistics
import time

import numpy as np
import pandas as pd
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.svm import SVC

from boulevard import BoostedSVC

GAMMA, ROUNDS, RATIO = 0.12, 20, 0.3


def read(folder, name):
    frame = pd.read_csv(f"{folder}/{name}.csv.gz")
    labels = [column for column in frame if column.startswith("label_")]
    return frame.drop(columns=labels).to_numpy(float), frame[labels].to_numpy(int)


class DrawnSVC(SVC):
    """An SVC that learns from a draw of the rows, heavier rows more often."""

    def fit(self, X, y, sample_weight=None):
        n = len(y)
        rng = np.random.default_rng(self.random_state)
        size = int(RATIO * n + 0.5)
        for _ in range(20):
            rows = rng.choice(n, size, replace=False, p=sample_weight / sample_weight.sum())
            if len(np.unique(y[rows])) == 2:
                break
        return super().fit(X[rows], y[rows], sample_weight=sample_weight[rows] / sample_weight.sum() * n)


def speed(folder, repetitions=3):
    X, Y = read(folder, "scene_train")
    ratios = []
    for repetition in range(repetitions):
        start, rounds = time.perf_counter(), 0
        for label in range(Y.shape[1]):
            base = DrawnSVC(C=1.0, gamma=GAMMA)
            model = AdaBoostClassifier(base, n_estimators=ROUNDS, random_state=repetition).fit(X, Y[:, label])
            rounds += len(model.estimators_)
        theirs = (time.perf_counter() - start) / rounds
        start = time.perf_counter()
        model = BoostedSVC(preset="paper", sigma_init=(0.5 / GAMMA) ** 0.5, max_rounds=ROUNDS, n_jobs=1, random_state=repetition).fit(X, Y)
        ours, our_rounds = time.perf_counter() - start, int(model.n_rounds_.sum())
        ratios.append(theirs / (ours / our_rounds))
        print(f"AdaBoost over SVC: {rounds} rounds, {1e3 * theirs:.2f} ms each; ours: {our_rounds} rounds, {ours:.2f} s, "
              f"{1e3 * ours / our_rounds:.2f} ms each; ratio {ratios[-1]:.1f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.1f}")


def macro(Y, P):
    return f1_score(Y, P, average="macro", zero_division=0), np.mean([accuracy_score(Y[:, j], P[:, j]) for j in range(Y.shape[1])])


def cross_validate(X, Y, parameters, folds=5):
    fold = np.empty(len(X), int)
    fold[np.random.default_rng(7).permutation(len(X))] = np.arange(len(X)) % folds
    said = np.zeros_like(Y)
    rounds = []
    for k in range(folds):
        model = BoostedSVC(**parameters).fit(X[fold != k], Y[fold != k])
        said[fold == k] = model.predict(X[fold == k])
        rounds.append(int(model.n_rounds_.max()))
    return (*macro(Y, said), rounds)


SETTINGS = [
    {},
    {"initial_weights": "uniform"},
    {"C": 0.5},
    {"C": 2.0},
    {"C": 4.0},
    {"voting": "hard"},
    {"at_least_one": False},
    {"thresholds": "zero"},
    {"max_rounds": 1},
    {"early_stopping": False},
    {"sampling": "stratified"},
    {"sampling": "stratified", "sampling_ratio": 0.6},
    {"sampling": "trimming"},
    {"preset": "paper"},
]


def defaults(folder):
    for name in ("scene", "yeast"):
        X, Y = read(folder, f"{name}_train")
        for parameters in SETTINGS:
            start = time.perf_counter()
            f1, accuracy, rounds = cross_validate(X, Y, parameters)
            print(f"{name} {parameters}: macro F1 {f1:.4f}, accuracy {accuracy:.4f}, rounds {rounds}, {time.perf_counter() - start:.1f} s",
                  flush=True)


def test(folder):
    for name in ("scene", "yeast"):
        (X, Y), (X_new, Y_new) = read(folder, f"{name}_train"), read(folder, f"{name}_test")
        for parameters in ({}, {"preset": "paper"}):
            start = time.perf_counter()
            model = BoostedSVC(**parameters).fit(X, Y)
            seconds = time.perf_counter() - start
            f1, accuracy = macro(Y_new, model.predict(X_new))
            print(f"{name} {parameters}: test macro F1 {f1:.4f}, accuracy {accuracy:.4f}, rounds {model.n_rounds_.tolist()}, fit {seconds:.2f} s",
                  flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "defaults", "test"])
    parser.add_argument("--data", required=True)
    arguments = parser.parse_args()
    {"speed": speed, "defaults": defaults, "test": test}[arguments.what](arguments.data)
