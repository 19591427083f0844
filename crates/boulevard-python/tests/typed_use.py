"""How the package looks to a type checker: mypy reads this file (see pyproject.toml), nothing runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import boulevard
from boulevard import SVC, SVR, BoostedSVC, LinearSVR, MultiSampleClassifier, ParetoSVC
from boulevard.model_selection import TuneResult, tune

X = np.zeros((4, 2))
y = [0, 1, 0, 1]

clf = SVC(C=10.0, kernel="rbf", gamma="scale", class_weight={0: 2.0}, n_jobs=1).fit(X, y, sample_weight=np.ones(4))
assert_type(clf, SVC)
assert_type(clf.predict([[0.0, 1.0]]), NDArray[Any])
assert_type(clf.decision_function(X), NDArray[np.float64])
assert_type(clf.dual_gap_, float)
clf.save("model")
assert_type(LinearSVR(loss="epsilon_insensitive").fit(X, y).predict(X), NDArray[np.float64])
assert_type(SVR(kernel=lambda a, b: a @ b.T).fit(X, y), SVR)
assert_type(ParetoSVC(mode="exact", pick="knee").fit(X, y).select(3), SVC)
assert_type(MultiSampleClassifier(n_samples_per_decision=2).fit(X, y, groups=y).decide(X).decided, bool)
assert_type(tune(X, y, SVC(), C=[1, 10]), TuneResult)
assert_type(BoostedSVC(thresholds="zero").hard_rows(0)[1], NDArray[np.float64])
assert_type(boulevard.__version__, str)

SVC(decision_function_shape="both")  # type: ignore[arg-type]
SVC(c=1.0)  # type: ignore[call-arg]
clf.predict(X, 3)  # type: ignore[call-arg]
