"""
Rare labels
===========

Five labels of very different size: one plain machine per label gives up the rare ones; the boosted classifier finds them. The bars are F1
on new rows; the other pictures show what the rounds did.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import BoostedSVC
from boulevard.plot import BoostingDisplay, HardRowsDisplay, LabelScoresDisplay


def make_rows(n, seed):
    """Rows on a plane; labels are overlapping regions, some of them small."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    x, y = (X + 0.35 * rng.normal(size=X.shape)).T
    Y = np.column_stack([x > 0, y > 0.6, np.hypot(x, y) > 2.0, (x < -1.2) & (y < 0), np.hypot(x - 1.2, y + 1.2) < 0.35])
    return X, Y.astype(int)


(X, Y), (X_new, Y_new) = make_rows(600, 0), make_rows(4000, 1)
names = ["right", "high", "far", "corner", "island"]
plain = BoostedSVC(max_rounds=1, initial_weights="uniform", thresholds="zero", early_stopping=False).fit(X, Y)
boosted = BoostedSVC(early_stopping=False, max_rounds=10).fit(X, Y)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
bars = LabelScoresDisplay.from_predictions(
    Y_new, {"one machine": plain.predict(X_new), "boosted": boosted.predict(X_new)}, names=names, ax=left
)
BoostingDisplay.from_estimator(boosted, ax=middle)
HardRowsDisplay.from_estimator(boosted, ax=right)
for name, values in bars.scores.items():
    print(f"{name}: macro F1 {values.mean():.3f}")
plt.show()
