"""
Which C and gamma?
==================

A cross-validated grid on the checkerboard: the good region is a diagonal band, because a wider kernel needs a larger C.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard.datasets import make_checkerboard
from boulevard.model_selection import tune
from boulevard.plot import TuneDisplay

X, y = make_checkerboard(300, random_state=0)
result = tune(X, y, C=np.logspace(-1, 4, 6), gamma=np.logspace(-2, 2, 5))
print(result)
TuneDisplay.from_result(result)
plt.show()
