"""What hostile testing found in the package, each named after what was wrong."""

import os
import resource
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import boulevard as b
from boulevard.exceptions import BoulevardError


def overlapping(rows=180, columns=4, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + rng.normal(size=rows) > 0.5).astype(int)


def test_an_infinite_c_on_classes_that_overlap_came_to_no_end():
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = b.SVC(C=np.inf, kernel="linear", class_weight="balanced", max_time=60).fit(X, y)
    assert model.fit_status_ in (1, 4), model.fit_status_
    assert model.dual_gap_ > 1e-3


def test_a_tolerance_below_the_last_digits_ended_while_samples_were_left_out():
    # Shrunk, the rest came as near as roundings let it; those left out were never looked at again, and the answer was worse than a rough one.
    rng = np.random.default_rng(2)
    X = rng.normal(size=(700, 5))
    y = (X[:, 0] + 0.8 * rng.normal(size=700) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rough, fine = (b.SVC(C=1e6, tol=tol).fit(X, y) for tol in (1e-6, 1e-9))
    assert fine.objective_ <= rough.objective_ * (1 - 1e-9), (fine.objective_, rough.objective_)
    assert fine.dual_gap_ < 1e-5, fine.dual_gap_


def test_a_memory_limit_of_more_than_64_bits_was_an_overflow_error():
    X, y = overlapping(60)
    for limit in (2**63, 2**64, 10**30):
        with pytest.raises(ValueError, match="memory_limit"):
            b.SVC(memory_limit=limit).fit(X, y)
    b.SVC(memory_limit=2**63 - 1).fit(X, y)


def test_decisions_that_overflow_were_infinite():
    X, y = overlapping(60)
    model = b.SVC(kernel="poly", degree=3, gamma=1.0).fit(X, y)
    with pytest.raises(BoulevardError, match="overflow"):
        model.decision_function(X * 1e200)


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    "make",
    [
        lambda: b.LinearSVC(penalty="l1", dual=False),
        lambda: b.ParetoSVC(),
        lambda: b.FeatureInductionClassifier(),
        lambda: b.MultiTaskSelectionClassifier(),
        lambda: b.SVC(probability=True),
    ],
    ids=["l1", "front", "induction", "selection", "probability"],
)
@pytest.mark.parametrize("shape", ["wide", "sparse", "tall"])
def test_ctrl_c_was_answered_late(make, shape):
    """`bench/trust/interrupts.py` does this a thousand times."""
    rng = np.random.default_rng(0)
    if shape == "sparse":
        X = sp.random(200, 100_000, density=0.01, format="csr", random_state=0)
        y = (np.asarray(X[:, :3000].sum(axis=1)).ravel() > 15).astype(int)
        y[:20] = np.arange(20) % 2
    else:
        X = rng.normal(size=(400, 8000) if shape == "wide" else (8000, 10))
        y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    for wait in (0.02, 0.3):
        model, sent = make().set_params(n_jobs=1), []

        def send(sent=sent):
            sent.append(processor())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(wait, send)
        timer.start()
        try:
            try:
                model.fit(X, y)
            finally:
                timer.cancel()
                timer.join()
        except KeyboardInterrupt:
            # 0.2 s is the promise on a quiet machine.
            assert processor() - sent[0] < (2.0 if shape == "sparse" else 1.0)
            try:
                assert np.isfinite(np.asarray(model.predict(X[:3]), dtype=float)).all()
            except NotFittedError:
                pass
