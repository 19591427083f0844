"""Pixels that matter for ten questions about face-like pictures, with nuisance pixels that all pictures share.

Every picture is 12 x 12. Ten tasks (glasses? smile? beard? ...) look at the same nine pixels in the middle, each with weights of its own; a
border of varying brightness is common to all and says nothing. With 30 pictures per task no task can find its pixels alone; switches that
all tasks share can.
"""

import numpy as np

from boulevard import MultiTaskSelectionClassifier

SIDE, TASKS = 12, 10
REGION = np.array([row * SIDE + column for row in range(5, 8) for column in range(5, 8)])


def pictures(rng, n):
    """n pictures: noise everywhere, and a border whose brightness varies from picture to picture."""
    X = 0.5 * rng.normal(size=(n, SIDE, SIDE))
    light = rng.normal(size=(n, 1))
    X[:, 0, :] += light
    X[:, -1, :] += light
    X[:, :, 0] += light
    X[:, :, -1] += light
    return X.reshape(n, -1)


def tasks(rng, weights, n):
    """Tables and answers of all tasks."""
    X = [pictures(rng, n) for _ in weights]
    return X, [np.sign(x[:, REGION] @ w) for x, w in zip(X, weights, strict=True)]


def main():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=len(REGION)) for _ in range(TASKS)]
    X, y = tasks(rng, weights, 30)
    X_new, y_new = tasks(rng, weights, 1000)
    for name, parameters in (("no selection", {"rho": 1.0}), ("own switches", {"share": False}), ("shared switches", {})):
        clf = MultiTaskSelectionClassifier(**{"rho": 1e-3, "c": 3.0, **parameters}).fit(X, y)
        switches = np.atleast_2d(clf.switches_).max(axis=0)
        found = "" if parameters.get("rho") == 1.0 else f", {np.isin(np.argsort(switches)[::-1][:9], REGION).sum()} of the 9 pixels found"
        print(f"{name:16}accuracy {clf.score(X_new, y_new):.3f}{found}")
    print("shared switches, larger ones darker:")
    for row in (switches / switches.max()).reshape(SIDE, SIDE):
        print(" ".join(" .:-=+*#%@"[int(9.99 * value)] for value in row))


if __name__ == "__main__":
    main()
