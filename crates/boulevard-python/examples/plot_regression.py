"""
A curve with a tube
===================

Support vector regression pays for errors beyond ``epsilon`` only. Rows inside the tube do not count; those outside carry the curve.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import SVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 120))
y = np.sin(x) + 0.1 * x + 0.15 * rng.normal(size=120)
grid = np.linspace(0, 10, 400)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
for epsilon, ax in zip((0.05, 0.3), axes, strict=True):
    machine = SVR(C=10, gamma=0.5, epsilon=epsilon).fit(x.reshape(-1, 1), y)
    curve = machine.predict(grid.reshape(-1, 1))
    ax.fill_between(grid, curve - epsilon, curve + epsilon, alpha=0.2, label="tube")
    ax.plot(grid, curve, label="prediction")
    ax.plot(x, y, ".", color="gray", markersize=4)
    ax.plot(x[machine.support_], y[machine.support_], "o", markerfacecolor="none", label="support vectors")
    ax.set_title(f"epsilon = {epsilon}: {len(machine.support_)} of {len(x)} rows count")
axes[0].legend()
plt.show()
