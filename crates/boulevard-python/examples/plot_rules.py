"""
Rules that mend a straight line
===============================

A linear machine cannot learn "high here and low there". Feature induction grows small trees where the machine errs and gives their answers
back to it as columns: the result is linear in rules that can be read, and can be written as SQL.
"""

import matplotlib.pyplot as plt
import numpy as np

from boulevard import FeatureInductionClassifier
from boulevard.datasets import make_checkerboard
from boulevard.plot import InductionDisplay, RulesDisplay

rng = np.random.default_rng(0)
X, y = make_checkerboard(600, cells=2, side=1.0, random_state=1)
y = np.where(rng.random(600) < 0.05, -y, y)
clf = FeatureInductionClassifier(max_depth=3).fit(X[:300], y[:300])
print(clf.export_text(4))
print(f"test error {100 * (1 - clf.score(X[300:], y[300:])):.1f} %")
print(f"as SQL: {clf.export_sql()[:80]} ...")

figure = plt.figure(figsize=(11, 3.6), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1, 1.1])
InductionDisplay.from_estimator(clf, X[300:], y[300:], ax=left)
RulesDisplay.from_estimator(clf, max_rules=6, ax=right)
plt.show()
