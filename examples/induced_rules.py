"""
Rules that mend a straight line
===============================

A linear machine cannot learn "high here and low there". Feature induction grows small trees where the machine errs and gives their answers
back to it as columns: the result is linear in rules that can be read.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from boulevard import FeatureInductionClassifier
from boulevard.datasets import make_checkerboard
from boulevard.plot import InductionDisplay, RulesDisplay

# A board of two by two squares with one label in twenty turned around, and two columns that say nothing.
rng = np.random.default_rng(0)
X, y = make_checkerboard(600, cells=2, side=1.0, random_state=1)
X = np.column_stack([X, rng.normal(size=(600, 2))])
y = np.where(rng.random(600) < 0.05, -y, y)
train, test = slice(0, 300), slice(300, 600)

# Left to itself the hold-out may prefer deeper trees; up to three tests are what people read, and more than squares need.
clf = FeatureInductionClassifier(max_depth=3).fit(X[train], y[train])
print(clf.export_text(8))
print(f"test error {100 * (1 - clf.score(X[test], y[test])):.1f} %")

(why,) = clf.explain(X[test][0])
print(f"\nthe first test row: decision {why['decision']:+.2f} for class {why['class']}, bias {why['bias']:+.2f}")
for part in why["contributions"][:5]:
    print(f"  {part['adds']:+.3f}  {part['text']}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=[1, 1.1])
InductionDisplay.from_estimator(clf, X[test], y[test], ax=left)
RulesDisplay.from_estimator(clf, max_rules=6, ax=right)
figure.tight_layout()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "induced_rules.png", dpi=80)
