"""One fit instead of a search over C: the front of sonar, evolved as in the paper and exact, with the errors along both.

Usage: python examples/fronts.py SONAR.csv [PICTURE.png]
"""

import sys

import matplotlib
import pandas as pd

from boulevard import ParetoSVC

matplotlib.use("Agg")

frame = pd.read_csv(sys.argv[1])
y = frame.pop("label").to_numpy()
X = frame.to_numpy()

exact = ParetoSVC(mode="exact", gamma=1.0).fit(X, y)
evolved = ParetoSVC(mode="evolve", gamma=1.0).fit(X, y)
print(exact.front_frame().iloc[::9].to_string(float_format=lambda value: f"{value:.4g}"))
print(f"\nevolved front: {100 * evolved.hypervolume_ / exact.hypervolume_:.1f} % of the exact hypervolume")

picked = exact.front_[exact.picked_]
print(f"picked point {exact.picked_}: C = {picked['equivalent_c']:.3g}, estimated error {exact.holdout_estimate_[exact.picked_]:.3f}")
wide = exact.select(exact.marks_["one_se"])
print(f"the widest street within one standard error has {len(wide.support_)} support vectors and C = {wide.C:.3g}")

display = evolved.plot(exact=exact)
display.figure_.savefig(sys.argv[2] if len(sys.argv) > 2 else "fronts.png", dpi=80)
