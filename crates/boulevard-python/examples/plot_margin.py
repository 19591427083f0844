"""
What does C do to the margin?
=============================

Three machines on the banana data: a small C gives a wide margin and many support vectors, a large one follows the training data.
"""

import sys

import matplotlib.pyplot as plt

from boulevard import SVC
from boulevard.datasets import make_banana
from boulevard.plot import DecisionDisplay

X, y = make_banana(200, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
for C, ax in zip([0.1, 1.0, 1000.0], axes, strict=True):
    machine = SVC(C=C, gamma=1.0).fit(X, y)
    DecisionDisplay.from_estimator(machine, X, y, ax=ax)
    ax.set_title(f"C = {C:g}: {len(machine.support_)} support vectors, gap {machine.dual_gap_:.0e}")
figure.tight_layout()
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=100)  # python plot_margin.py margin.png
plt.show()
