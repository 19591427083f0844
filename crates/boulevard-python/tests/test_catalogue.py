"""The library's lists and the package's classes are about the same things."""

import json

import pytest

import boulevard
from boulevard import _core, _files
from boulevard._kernels import CATALOGUE, KERNELS
from boulevard.exceptions import DataError, ParameterError, TooLargeError

#: The class of every method of the library. Regression by selection has no name of its own there: the target tells.
CLASSES = {
    "svc": boulevard.SVC,
    "nu_svc": boulevard.NuSVC,
    "svr": boulevard.SVR,
    "nu_svr": boulevard.NuSVR,
    "one_class": boulevard.OneClassSVM,
    "linear_svc": boulevard.LinearSVC,
    "linear_svr": boulevard.LinearSVR,
    "multi_sample": boulevard.MultiSampleClassifier,
    "feature_induction": boulevard.FeatureInductionClassifier,
    "multitask_selection": boulevard.MultiTaskSelectionClassifier,
    "boosted": boulevard.BoostedSVC,
    "pareto": boulevard.ParetoSVC,
}
#: Parameters that have other names here: scikit-learn's.
RENAMED = {
    "c": "C",
    "kernel_c": "kernel_C",
    "tolerance": "tol",
    "cache_megabytes": "cache_size",
    "max_iterations": "max_iter",
    "seed": "random_state",
    "regulariser": "penalty",
    "widths": "gamma",
}
#: What the classes have and the learners do not.
CALLS = {"n_jobs", "verbose", "max_time", "memory_limit", "device"}  # limits of a call
OWN = {
    "decision_function_shape": "what decision_function returns",
    "probability": "for scikit-learn's sake: `calibrate` is the field",
    "break_ties": "for scikit-learn's sake: ties are always broken",
    "dual": "for scikit-learn's sake: the algorithm follows from the table",
    "multi_class": "for scikit-learn's sake",
    "fit_intercept": "with intercept_scaling the learner's bias",
    "intercept_scaling": "with fit_intercept the learner's bias",
}
#: What the learners have and the classes do not.
NATIVE = {
    "polish": "always on: exact finish of small problems",
    "libsvm_rounding": "always on: the classes stand in for LIBSVM's",
    "precision": "the library's own choice",
    "bias": "of linear machines: fit_intercept and intercept_scaling",
    "multiclass": "of kernel machines: pairs of classes, as LIBSVM has them",
}
#: By method: what does not apply to the class.
LEFT_OUT = {
    "multitask_selection": {"epsilon", "margin_prior"},  # regression
    "boosted": {"shrinking"},
    "linear_svr": {"random_state"},
}


#: By method: what the class takes for scikit-learn's sake.
ACCEPTED = {
    "linear_svc": {"max_iter"},  # linear machines end by their gap
    "linear_svr": {"max_iter"},
}


def test_every_kind_has_a_class_and_every_class_a_kind():
    methods = {name: kind for name, kind, _ in _core.methods()}
    assert set(methods) == set(CLASSES)
    assert set(methods.values()) == set(_files._CLASSES)
    for name, cls in CLASSES.items():
        assert cls in _files._CLASSES[methods[name]] and cls._kind == methods[name]
    public = {getattr(boulevard, name) for name in boulevard.__all__ if isinstance(getattr(boulevard, name), type)} - {
        boulevard.FrozenModel
    }
    assert {cls for classes in _files._CLASSES.values() for cls in classes} == public


@pytest.mark.parametrize(("name", "fields"), [(name, fields) for name, _, fields in _core.methods()], ids=lambda value: str(value)[:20])
def test_parameters_are_the_fields_of_the_learner(name, fields):
    ours = set(CLASSES[name]().get_params()) - CALLS
    theirs = {RENAMED.get(field, field) for field in fields}
    if name == "multitask_selection":
        theirs = (theirs - {"C"}) | {"c"}  # the paper's c, not a price of slack
    native = {field for field in NATIVE if field in theirs and field not in ours}
    missing = theirs - ours - native - LEFT_OUT.get(name, set())
    assert not missing, f"{CLASSES[name].__name__} lacks {sorted(missing)}"
    extra = ours - theirs - set(OWN) - ACCEPTED.get(name, set())
    assert extra <= {"random_state"}, f"the learner lacks {sorted(extra)}"  # accepted by all classes, used where something is drawn


def test_kernels_are_those_of_the_library(two):
    listed = json.loads(_core.kernels())
    assert {kernel["name"] for kernel in listed} == KERNELS
    assert {kernel["name"]: {name for name, _ in kernel["parameters"]} for kernel in listed if kernel["name"] != "precomputed"} == {
        name: set(parameters) for name, parameters in CATALOGUE.items()
    }
    X, y = two
    for name in CATALOGUE:
        model = boulevard.SVC(kernel=name, coef0=1.0).fit(abs(X), y)
        assert model.fit_status_ == 0
        assert name in boulevard.SVC.__doc__


def test_errors_have_facts_and_no_text_is_parsed(two):
    X, y = two
    with pytest.raises(ParameterError) as raised:
        boulevard.NuSVC(nu=1.0).fit(X, (X[:, 0] > 1).astype(int))
    error = raised.value
    assert error.name == "nu" and error.owner and error.allowed and error.found == "1"
    assert error.allowed in str(error) and str(error).startswith("specified nu is infeasible")
    with pytest.raises(ParameterError) as raised:
        boulevard.SVC(kernel="inverse_multiquadric", coef0=0.0).fit(X, y)
    assert raised.value.name == "coef0"
    import pickle

    again = pickle.loads(pickle.dumps(error))
    assert (again.name, again.allowed, str(again)) == (error.name, error.allowed, str(error))
    with pytest.raises(TooLargeError, match="not finite"):
        boulevard.SVC().fit(X * 1e200, y)
    with pytest.raises(DataError) as raised:
        boulevard.SVC().fit(X, y, sample_weight=[1.7e308] * len(y))
    assert not isinstance(raised.value, ParameterError)


@pytest.mark.parametrize("cls", CLASSES.values(), ids=lambda cls: cls.__name__)
def test_every_model_describes_itself(cls, two):
    X, y = two
    with pytest.raises(boulevard.exceptions.NotFittedError):
        cls().describe()
    model = cls(n_points=3) if cls is boulevard.ParetoSVC else cls()
    text = model.fit(X, y).describe()
    facts = model._native.facts()
    width = max(len(name) for name, _ in facts)
    assert text == "".join(f"{name:{width}}  {value}\n" for name, value in facts)
    named = dict(facts)
    assert named["features"].startswith("6: ") and "150 rows" in named["trained on"] and "gap" in named["optimality"]
    details = json.loads(model._native.details())
    assert details["kind"] == cls._kind and details["features"] == 6
