"""
Every C in one fit
==================

Instead of a search over C, one fit computes the whole front between a wide margin and few errors. Along it the training error falls, while
the error on held-out rows falls and rises again: there overfitting starts.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import ParetoSVC
from boulevard.datasets import make_banana

X, y = make_banana(250, random_state=0)
y = np.where(np.random.default_rng(0).random(len(y)) < 0.1, -y, y)
front = ParetoSVC(gamma=2.0, n_points=60).fit(X, y)

picked = front.front_[front.picked_]
print(f"{len(front.front_)} machines; picked: C = {picked['equivalent_c']:.3g} with {picked['n_support']} support vectors")
front.plot()
plt.show()
