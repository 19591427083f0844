"""
What is normal?
===============

A one-class machine learns where the data are, without labels: at most a share ``nu`` of the training rows lies outside.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import OneClassSVM
from boulevard.plot import DecisionDisplay

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 300)
X = np.column_stack([np.cos(angle), np.sin(angle)]) * 2 + 0.25 * rng.normal(size=(300, 2))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for nu, ax in zip((0.02, 0.2), axes, strict=True):
    machine = OneClassSVM(nu=nu, gamma=1.0).fit(X)
    DecisionDisplay.from_estimator(machine, X, ax=ax)
    ax.set_title(f"nu = {nu}: {np.mean(machine.predict(X) < 0):.1%} outside")
plt.show()
