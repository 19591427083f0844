"""
How many echoes until we know?
==============================

A radar sees a target several times. Every echo (amplitude, Doppler shift, width) is noisy, but all echoes of one track belong to the same
kind of target: one decision for all of them is far better than one per echo, and better than a vote.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import MultiSampleClassifier
from boulevard.model_selection import tune_sets
from boulevard.plot import ErrorBySizeDisplay, SequentialDisplay


def echoes(n, seed):
    """Boats are bright and slow, birds dim and fluttering; single echoes overlap widely."""
    rng = np.random.default_rng(seed)
    bird = rng.random(n) < 0.4
    amplitude = np.where(bird, rng.gamma(2.0, 0.8, n), rng.gamma(3.0, 0.9, n))
    doppler = np.where(bird, rng.normal(0.0, 1.6, n), rng.normal(0.5, 0.9, n))
    width = np.abs(np.where(bird, rng.normal(1.3, 0.6, n), rng.normal(0.9, 0.5, n)))
    X = np.column_stack([np.log(amplitude + 0.1), doppler, width])
    return X, np.where(bird, "bird", "boat")


X, y = echoes(400, seed=0)
new, truth = echoes(6000, seed=1)
mean, deviation = X.mean(axis=0), X.std(axis=0)
X, new = (X - mean) / deviation, (new - mean) / deviation

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for method in ("direct", "consensus", "vote"):
    # Folds cut the echoes before any tuple is drawn; the direct machine gets parameters of its own.
    found = tune_sets(X, y, MultiSampleClassifier(method=method), C=[0.25, 1, 4, 16], gamma=[0.02, 0.05, 0.15, 0.5])
    sizes = [3] if method == "direct" else [1, 2, 3, 5, 8, 12]
    display = ErrorBySizeDisplay.from_estimator(found.best_estimator_, new, truth, sizes=sizes, random_state=0, ax=left)
    print(f"{method}: {found.best_params_}, error with three echoes {display.error[display.size == 3][0]:.3f}")
    if method == "consensus":
        print("echoes until 1 % error:", display.samples_until(0.01))
        for kind, samples in zip(found.best_estimator_.classes_, found.best_estimator_.expected_samples(), strict=True):
            print(f"expected echoes until 99 % sure of a {kind}: {samples:.1f}")
        SequentialDisplay.from_estimator(found.best_estimator_, new[truth == "bird"], ax=right)
figure.tight_layout()
plt.show()
