"""
Which columns matter, for several questions at once?
====================================================

Three questions about the same rows depend on the same four of forty columns. Asked together, they share what they learn about the columns:
the switches of the others go off.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import MultiTaskSelectionClassifier
from boulevard.plot import SelectionWeightDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 40))
weights = np.zeros((40, 3))
weights[:4] = rng.normal(size=(4, 3))
Y = (X @ weights + 0.5 * rng.normal(size=(80, 3)) > 0).astype(int)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
for share, ax in zip((False, True), axes, strict=True):
    clf = MultiTaskSelectionClassifier(rho=0.01, c=3.0, share=share).fit(X, Y)
    on = np.atleast_2d(clf.switches_)
    ax.imshow(on, aspect="auto", vmin=0, vmax=1, cmap="viridis")
    ax.set(title="together" if share else "each question alone", xlabel="column", yticks=range(len(on)))
    print(f"share={share}: of the first four columns {(on[:, :4] > 0.5).mean():.0%} are on, of the others {(on[:, 4:] > 0.5).mean():.0%}")
plt.show()

# %%
# The weights of one of the questions:
SelectionWeightDisplay.from_estimator(MultiTaskSelectionClassifier(rho=0.01, c=3.0).fit(X, Y[:, 0]))
plt.show()
