#!/usr/bin/env python3
"""scikit-learn's own tests of its SVM module, run with boulevard's classes in place of theirs.

    python tests/run_sklearn_suite.py            prints passed / failed / not applicable, with a reason for each that did not pass
    python tests/run_sklearn_suite.py --json F   writes the same as JSON

The tests come from the installed scikit-learn. `sklearn.svm`'s names are replaced before they are imported.
Exit code 1 if fewer than 90 % of the applicable tests pass or a failure has no reason here.
"""

import argparse
import contextlib
import io
import json
import re
import sys
import warnings

import pytest

#: Tests of things that are not the classes: by name, with the reason.
NOT_APPLICABLE = {
    r"test_libsvm_iris": "calls the private module sklearn.svm._libsvm",
    r"test_tweak_params": "writes the private attribute _dual_coef_ of a fitted model",
    r"(?i)linear_?sv[cr](?!_kernel)|crammer_singer|intercept_scaling|liblinear|test_dual_auto": "tests LinearSVC or LinearSVR, other classes",
    r"test_svc_raises_error_internal_representation": "alters the private attribute _n_support",
    r"test_svc_nusvc_probA_probB_deprecated|futurewarning": "tests a deprecation inside scikit-learn",
    r"test_hasattr_predict_proba": "asks that predict_proba disappears without probability=True; boulevard always has it",
}

#: Failures that are meant, with the reason a user would accept.
MEANT = {
    r"test_svc_ovr_tie_breaking": "ties are always broken: predict is the argmax of decision_function also with break_ties=False",
    r"test_bad_input": "asks that a model trained on dense data refuses sparse samples; boulevard judges them",
    r"test_svr_errors": "a kernel function whose matrix is not n x n is refused by fit already, not by predict",
}


def replace_classes():
    """Puts boulevard's classes where scikit-learn's tests look for them."""
    import sklearn.svm
    import sklearn.svm._classes

    import boulevard

    for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
        ours = getattr(boulevard, name)
        setattr(sklearn.svm, name, ours)
        setattr(sklearn.svm._classes, name, ours)


class Collector:
    """A pytest plugin that remembers how every test ended."""

    def __init__(self):
        self.outcomes = {}

    def pytest_runtest_logreport(self, report):
        """Keeps the worst phase of each test."""
        name = report.nodeid.split("::", 1)[1]
        if report.when == "call" or report.outcome != "passed":
            text = str(report.longrepr).strip().splitlines()[-1:] if report.longrepr else []
            self.outcomes[report.nodeid.split("/")[-1].split("::")[0] + "::" + name] = (report.outcome, " ".join(text)[:200])


def reason_for(name, table):
    """The first reason whose pattern is found in the name."""
    return next((reason for pattern, reason in table.items() if re.search(pattern, name)), None)


def main():
    """Runs, sorts and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    replace_classes()
    collector = Collector()
    arguments = ["-q", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-W", "ignore", "--pyargs"]
    import sklearn.conftest  # noqa: F401  (fixtures such as global_random_seed)

    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*arguments, "sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse"], plugins=[collector])
    passed, failed, absent = [], [], []
    for name, (outcome, text) in sorted(collector.outcomes.items()):
        reason = reason_for(name, NOT_APPLICABLE)
        if reason or outcome == "skipped":
            absent.append((name, reason or text))
        elif outcome == "passed":
            passed.append(name)
        else:
            failed.append((name, reason_for(name, MEANT), text))
    for name, reason in absent:
        print(f"not applicable  {name}: {reason}")
    for name, reason, text in failed:
        print(f"failed          {name}: {reason or 'NO REASON: ' + text}")
    applicable = len(passed) + len(failed)
    share = len(passed) / max(applicable, 1)
    print(f"passed {len(passed)}, failed {len(failed)}, not applicable {len(absent)}: {share:.1%} of the applicable tests pass")
    if given.json:
        with open(given.json, "w") as out:
            json.dump({"passed": passed, "failed": failed, "not_applicable": absent}, out, indent=1)
    return 0 if share >= 0.9 and applicable > 100 and all(reason for _, reason, _ in failed) else 1


if __name__ == "__main__":
    sys.exit(main())
