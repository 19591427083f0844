"""Pixels that matter for three questions about face-like pictures, with nuisance pixels that all pictures share.

Every picture is 12 x 12. Three tasks (glasses? smile? beard?) each look at a few pixels of the same inner region; a bright, varying border
is common to all and says nothing. Shared switches find the region from fewer pictures than each task would need alone.
"""

import numpy as np

from boulevard import MultiTaskSelectionClassifier

SIDE = 12


def pictures(rng, n):
    """n pictures: noise everywhere, and a border whose brightness varies from picture to picture."""
    X = rng.normal(size=(n, SIDE, SIDE)) * 0.5
    light = rng.normal(size=(n, 1))
    X[:, 0, :] += light
    X[:, -1, :] += light
    X[:, :, 0] += light
    X[:, :, -1] += light
    return X.reshape(n, -1)


def main():
    rng = np.random.default_rng(0)
    region = [(r, c) for r in range(4, 8) for c in range(4, 8)]
    places = np.array([r * SIDE + c for r, c in region])
    truths = [np.where(rng.random(len(places)) < 0.5, rng.normal(size=len(places)), 0.0) for _ in range(3)]
    X = [pictures(rng, 40) for _ in truths]
    y = [np.sign(x[:, places] @ w) for x, w in zip(X, truths, strict=True)]
    X_new = [pictures(rng, 2000) for _ in truths]
    y_new = [np.sign(x[:, places] @ w) for x, w in zip(X_new, truths, strict=True)]
    for share in (False, True):
        clf = MultiTaskSelectionClassifier(rho=0.02, c=3, share=share).fit(X, y)
        switches = np.atleast_2d(clf.switches_).max(axis=0).reshape(SIDE, SIDE)
        inside = np.isin(np.argsort(switches.ravel())[::-1][:16], places).mean()
        name = "shared switches" if share else "own switches   "
        print(f"{name}: accuracy {clf.score(X_new, y_new):.3f}; of the 16 largest switches {inside:.0%} lie in the region that matters")
    for row in switches:
        print(" ".join(" .:-=+*#%@"[int(9.99 * value)] for value in row))


if __name__ == "__main__":
    main()
