"""Paragraphs that the docstrings of several classes share."""

import re

_PARTS = {
    "kernel": """
kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "epanechnikov", "multiquadric", "precomputed"} or callable, default="rbf"
    The kernel. ``"precomputed"`` takes kernel matrices instead of samples; a callable gets two tables and returns their kernel matrix.
degree : int, default=3
    Exponent of "poly" and "epanechnikov".
gamma : {"scale", "auto"} or float, default="scale"
    Inverse width. "scale" is ``1 / (n_features * X.var())`` with the variance weighted by ``sample_weight``, "auto" ``1 / n_features``.
coef0 : float, default=0.0
    Constant of "poly", "sigmoid" and "multiquadric".
""",
    "solver": """
shrinking : bool, default=True
    Whether to leave out samples that seem settled while the rest is solved. The result is the same.
tol : float, default=1e-3
    The violation of the optimality conditions to reach.
cache_size : float, default=200
    Megabytes of kernel rows to keep at most. The default stands for what the fit can use, up to a quarter of the memory that is free
    (large tables with few features keep none); every other number is a limit.
max_iter : int, default=-1
    Steps at most; -1 means no limit.
""",
    "classifier": """
class_weight : dict or "balanced", default=None
    Factors of ``C`` by class; "balanced" is inversely to the classes' (weighted) frequencies.
decision_function_shape : {"ovo", "ovr"}, default="ovr"
    What ``decision_function`` returns for more than two classes: a column per pair of classes or per class.
break_ties : bool, default=False
    Accepted for compatibility: ties are always broken by confidence, so that ``predict`` is the argmax of ``decision_function``.
calibrate : bool, default=False
    Whether to fit probabilities with the model, which costs five more fits. Otherwise that happens when ``predict_proba`` is first
    called; until then the model keeps a reference to its training data.
""",
    "shared": """
n_jobs : int, default=None
    Threads; None or -1 means all cores (one inside other threads, and what joblib allows inside its workers). Results do not depend on it.
verbose : int, default=0
    1 shows progress on standard error.
max_time : float, default=None
    Seconds after which the fit stops with what it has (``fit_status_ == 2``) and warns.
memory_limit : int, default=None
    Bytes that caches and work space may take.
random_state : int, RandomState instance or None, default=None
    Seed of whatever is drawn; None means 0, so that runs repeat.
""",
    "classifier_attributes": """
classes_ : ndarray of shape (n_classes,)
    The class labels.
class_weight_ : ndarray of shape (n_classes,)
    Factor of ``C`` for each class.
""",
    "attributes": """
support_ : ndarray of shape (n_SV,)
    Rows of the support vectors.
support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    The support vectors; empty for a precomputed kernel.
n_support_ : ndarray of shape (n_classes,) or (1,), dtype=int32
    Number of support vectors (of each class).
dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV) or (1, n_SV)
    Coefficients of the support vectors in the decision function.
coef_ : ndarray or sparse matrix of shape (n_machines, n_features)
    Weights of the features, with ``kernel="linear"`` only.
intercept_ : ndarray of shape (n_machines,)
    Constants of the decision function.
n_iter_ : ndarray of shape (n_machines,) or int
    Steps of the solver.
fit_status_ : int
    0 converged, 1 iteration limit, 2 time limit, 3 interrupted.
objective_ : float
    Value of the dual objective; the sum over all pairs of classes.
dual_gap_ : float
    Relative duality gap, the certificate: how far from the optimum the fit may be at most.
fit_time_ : float
    Seconds.
solver_ : str
    How the problem was solved, and why: pair steps with cached kernel rows or blocks without.
shape_fit_ : tuple of int
    Shape of the training table.
n_features_in_ : int
    Number of features seen during ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, where ``X`` had names that are all strings.
""",
}


def document(cls):
    """Fills the places in braces of the class's docstring."""

    def fill(found):
        indent, name = found.group(1), found.group(2)
        return "\n".join(indent + line if line else line for line in _PARTS[name].strip("\n").split("\n"))

    if cls.__doc__:
        cls.__doc__ = re.sub(r"^( *)\{(\w+)\}$", fill, cls.__doc__, flags=re.MULTILINE)
    return cls
