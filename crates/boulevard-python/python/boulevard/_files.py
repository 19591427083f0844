"""Models from files in boulevard's own format."""

import json
import os

import numpy as np

from . import _core, _selection
from ._boosted import BoostedSVC
from ._cache import cache_size
from ._classification import SVC, NuSVC
from ._induction import FeatureInductionClassifier
from ._kernel_estimator import KERNELS
from ._multi_sample import MultiSampleClassifier
from ._linear import LinearSVC, LinearSVR
from ._one_class import OneClassSVM
from ._pareto import ParetoSVC
from ._regression import SVR, NuSVR
from .exceptions import FileFormatError

__all__ = ["load"]


def load(path):
    """Load a model that was saved with ``save``, by the command line, or by the Rust library.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : estimator instance
        A fitted estimator of the class that fits the file; class labels are numbers if all names are.

    Examples
    --------
    >>> import os, tempfile
    >>> import boulevard
    >>> clf = boulevard.SVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(os.path.join(folder, "model"))
    ...     again = boulevard.load(os.path.join(folder, "model"))
    >>> again.predict([[0.9]])
    array(['yes'], dtype='<U3')
    """
    model = _core.Model.load(os.fspath(path))
    given = json.loads(model.parameters)
    if model.kind == "multitask_selection":
        return _selection.from_native(model, given, _labels)
    if model.kind == "boosted":
        return BoostedSVC._from_native(model, given, _labels(model.classes))
    if model.kind == "pareto":
        return ParetoSVC._from_native(model, given, _labels(model.classes))
    estimator = _estimator(model.kind, given, path)
    parts = model.parts()
    estimator._native = model
    estimator.objective_ = parts["objective"]
    estimator.dual_gap_ = parts["gap"]
    estimator.fit_time_ = parts["seconds"]
    estimator.fit_status_ = parts["status"]
    estimator.n_features_in_ = parts["features"]
    estimator.shape_fit_ = (parts["rows"], parts["features"])
    estimator._sparse = type(parts.get("vectors")) is tuple
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    if model.classes is not None:
        estimator.classes_ = _labels(model.classes)
    if model.kind in ("svc", "feature_induction"):
        estimator.class_weight_ = _class_weights(model.classes, given["class_weight"])
    estimator._take(parts)
    return estimator


def _estimator(kind, given, path):
    """An unfitted estimator with the file's parameters."""
    if kind == "feature_induction":
        return _inducing(given, path)
    if kind in ("linear_svc", "linear_svr"):
        return _linear(kind, given)
    kernel, solver = dict(given["kernel"]), given["solver"]
    name = kernel.pop("type")
    if name not in KERNELS:
        raise FileFormatError(f"{os.fspath(path)}: kernel {name!r} has no name in the Python package")
    parameters = {
        "kernel": name,
        **kernel,
        "tol": solver["tolerance"],
        "cache_size": cache_size(solver["cache_megabytes"]),
        "max_iter": -1 if solver["max_iterations"] is None else solver["max_iterations"],
        "shrinking": solver["shrinking"],
    }
    if kind == "multi_sample":
        same = ("n_samples_per_decision", "method", "symmetric", "n_extended", "normalization", "other_sizes", "priors", "platt_guard", "calibrate")
        parameters.update({name: given[name] for name in same}, C=given["c"], random_state=given["seed"])
        parameters["class_weight"] = _given_weights(given["class_weight"])
        parameters["multiclass"] = {"one_vs_one": "ovo", "one_vs_rest": "ovr"}[given["multiclass"]]
        return MultiSampleClassifier(**parameters)
    if kind == "svc":
        ((name, value),) = given["penalty"].items()
        parameters["class_weight"] = _given_weights(given["class_weight"])
        parameters.update(calibrate=given["calibrate"], random_state=given["seed"])
        return SVC(C=value, **parameters) if name == "c" else NuSVC(nu=value, **parameters)
    if kind == "svr":
        ((name, value),) = given["tube"].items()
        if name == "epsilon":
            return SVR(C=given["c"], epsilon=value, **parameters)
        return NuSVR(C=given["c"], nu=value, **parameters)
    if kind == "one_class":
        return OneClassSVM(nu=given["nu"], **parameters)
    raise FileFormatError(f"{os.fspath(path)}: models of kind {kind!r} cannot be used from Python yet")


def _inducing(given, path):
    kernel = dict(given["kernel"])
    name = kernel.pop("type")
    if name not in KERNELS:
        raise FileFormatError(f"{os.fspath(path)}: kernel {name!r} has no name in the Python package")
    count, depth = given["n_induced"], given["max_depth"]
    same = "sampling output gamma_rule gamma_max min_samples_leaf confidence cross_fit max_induced min_gain preset calibrate"
    return FeatureInductionClassifier(
        C=given["c"],
        n_induced=count if count == "auto" else count["exactly"],
        max_depth={"auto": "auto", "unlimited": None}[depth] if isinstance(depth, str) else depth["at_most"],
        class_weight=_given_weights(given["class_weight"]),
        kernel=name,
        kernel_C=given["kernel_c"],
        tol=given["tolerance"],
        random_state=given["seed"],
        **kernel,
        **{key: given[key] for key in same.split()},
    )


def _linear(kind, given):
    """An unfitted linear estimator."""
    bias = given["bias"]
    parameters = {
        "C": given["c"],
        "tol": given["tolerance"],
        "fit_intercept": bias != "none",
        "intercept_scaling": bias["column"] if isinstance(bias, dict) else None,
    }
    absolute = given["loss"] == "absolute"
    if kind == "linear_svr":
        loss = "epsilon_insensitive" if absolute else "squared_epsilon_insensitive"
        return LinearSVR(loss=loss, epsilon=given["epsilon"], **parameters)
    return LinearSVC(
        loss="hinge" if absolute else "squared_hinge",
        penalty=given["regulariser"],
        class_weight=_given_weights(given["class_weight"]),
        calibrate=given["calibrate"],
        random_state=given["seed"],
        **parameters,
    )


def _given_weights(weights):
    """The parameter ``class_weight`` from a file."""
    if not isinstance(weights, dict):
        return "balanced" if weights == "balanced" else None
    labels = _labels([name for name, _ in weights["given"]]).tolist()
    return dict(zip(labels, [factor for _, factor in weights["given"]], strict=True))


def _labels(names):
    """Labels from names: whole numbers, numbers, or text."""
    for kind in (int, float):
        try:
            values = [kind(name) for name in names]
        except ValueError:
            continue
        if len(set(values)) == len(names):
            return np.array(values)
    return np.array(names)


def _class_weights(names, weights):
    factors = np.ones(len(names))
    if isinstance(weights, dict):
        for name, factor in weights["given"]:
            factors[names.index(name)] = factor
    return factors
