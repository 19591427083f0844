"""Paragraphs that the docstrings of several classes and methods share."""

import re
from textwrap import indent
from types import FunctionType
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type[Any])

_PARTS = {
    "kernel": """
kernel : str or callable, default="rbf"
    The kernel: "linear", "poly", "rbf", "sigmoid", "laplacian", "epanechnikov", "multiquadric", "inverse_multiquadric" or
    "chi_squared". ``"precomputed"`` takes kernel matrices instead of samples; a callable gets two tables and returns their kernel
    matrix. Formulas: :mod:`boulevard.kernels`.
degree : int, default=3
    Exponent of "poly" and "epanechnikov".
gamma : {"scale", "auto"} or float, default="scale"
    Inverse width. "scale" is ``1 / (n_features * X.var())`` with the variance weighted by ``sample_weight``, "auto" ``1 / n_features``.
coef0 : float, default=0.0
    Constant of "poly", "sigmoid", "multiquadric" and "inverse_multiquadric" (where it must not be zero).
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
    Steps at most; -1 means ten million, or 10 000 per row if that is more.
""",
    "classifier": """
{class_weight}
decision_function_shape : {"ovo", "ovr"}, default="ovr"
    What ``decision_function`` returns for more than two classes: a column per pair of classes or per class.
break_ties : bool, default=False
    Accepted for compatibility: ties are always broken by confidence, so that ``predict`` is the argmax of ``decision_function``.
calibrate : bool, default=False
    Whether to fit probabilities with the model, which costs five more fits. Otherwise that happens when ``predict_proba`` is first
    called; until then the model keeps a reference to its training data.
calibration : {"auto", "sigmoid", "temperature", "vector"}, default="auto"
    How probabilities of more than two classes are made. "sigmoid": Platt's sigmoids, coupled, as LIBSVM does. "temperature": the same
    to a power, fitted on held-out decisions; with many classes and few rows coupled sigmoids are too cautious. "vector": a power and a
    factor per class. "auto" takes the one with the lowest held-out log loss and says so in ``calibration_``.
""",
    "probability": """
probability : bool, default="deprecated"
    Accepted because other people's programs say it: True fits the probabilities with the model, as ``calibrate`` does; False changes
    nothing. Both warn, as in scikit-learn 1.9.
""",
    "pairwise": """
{kernel}
{solver}
{classifier}
{probability}
{device}
{shared}

Attributes
----------
{classifier_attributes}
{support_attributes}
{fit_attributes}
""",
    "limits": """
n_jobs : int, default=None
    Threads; None or -1 means all cores (one inside other threads, and what joblib allows inside its workers). Results do not depend on it.
verbose : int, default=0
    1 shows progress on standard error.
max_time : float, default=None
    Seconds after which the fit stops with what it has (``fit_status_ == 2``) and warns.
memory_limit : int, default=None
    Bytes that caches and work space may take.
""",
    "device": """
device : str, default="auto"
    Where the fit runs: ``"cpu"``, ``"cuda"`` or ``"cuda:1"`` for an NVIDIA card, ``"auto"`` for a card where there is one and the table
    has at least 100 000 rows. A card that was asked for and cannot be used is a :class:`~boulevard.exceptions.DeviceError`; with
    ``"auto"`` the processor takes over.
""",
    "shared": """
{limits}
random_state : int, RandomState instance or None, default=None
    Seed of whatever is drawn; None means 0, so that runs repeat.
""",
    "classifier_attributes": """
classes_ : ndarray of shape (n_classes,)
    The class labels.
class_weight_ : ndarray of shape (n_classes,)
    Factor of ``C`` for each class.
""",
    "support_attributes": """
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
shape_fit_ : tuple of int
    Shape of the training table.
""",
    "class_weight": """
class_weight : dict or "balanced", default=None
    Factors of ``C`` by class; "balanced" is inversely to the classes' (weighted) frequencies.
""",
    "fit_attributes": """
objective_ : float
    Value of the dual objective; the sum over all machines.
dual_gap_ : float
    Relative duality gap, the certificate: how far from the optimum the fit may be at most.
fit_status_ : int
    0 converged, 1 iteration limit (or no further progress), 2 time limit, 3 interrupted, 4 stuck at
    rounding (the tolerance asks for more digits than there are).
fit_time_ : float
    Seconds.
scaling_ : dict
    How columns are scaled before the model sees them; only of models from files that say so. Everything that speaks of columns then
    speaks of scaled ones: support vectors, coefficients, rules.
imputation_ : dict
    What takes the place of missing values (``NaN``); only of models from files that say so.
solver_ : str
    How the problem was solved, and why: pair steps with cached kernel rows or blocks without.
n_features_in_ : int
    Number of features seen during ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, where ``X`` had names that are all strings.
""",
    "samples": """
Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The samples.
""",
    "samples_or_kernel": """
Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The samples; kernel values with the training samples for ``kernel="precomputed"``.
""",
    "training": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Training samples.
""",
    "training_or_kernel": """
X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    Training samples; a square kernel matrix for ``kernel="precomputed"``.
""",
    "labels": """
y : array-like of shape (n_samples,)
    Class labels.
""",
    "numbers": """
y : array-like of shape (n_samples,)
    Target values.
""",
    "sample_weight": """
sample_weight : array-like of shape (n_samples,), default=None
    How much each sample counts: 2 is the same as having the row twice.
""",
    "self": """
Returns
-------
self : object
    The fitted estimator.
""",
    "predicted_labels": """
Returns
-------
labels : ndarray of shape (n_samples,)
    The class with the largest decision value.
""",
    "predicted_numbers": """
Returns
-------
values : ndarray of shape (n_samples,)
    The predictions.
""",
    "tables": """
Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of them
    The samples; a list holds one table per task.
task : int, default=None
    Which task, for one table.
""",
    "sets": """
Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features), 3-D array or list of tables
    The samples.
groups : array-like of shape (n_samples,), default=None
    Which samples belong together; None means every row is a set of its own.
""",
    "induction": """
n_induced : int or "auto", default="auto"
    Rounds; "auto" chooses up to ``max_induced`` on held-out rows.
max_rules : int, None or "auto", default="auto"
    How many rules the model may have. "auto": as few as come within one standard error of the lowest error on held-out rows, 20 at most;
    where ``n_induced`` is a number, the preset "paper" or the kernel not linear, no limit. A number: that many, or fewer where held-out
    rows say by more than one standard error that fewer are better, and none where the list is not better than the linear machine by half
    of one (``rule_choice_`` says which). None: whole trees with all their leaves. A limited model is the linear machine with these rules
    beside its columns, the same rules for all classes; the trees only offer them.
max_depth : int, None or "auto", default="auto"
    Levels of tests in a tree; None is no limit (64), "auto" chooses 1, 3 or no limit on held-out rows.
C : float, default=0.01
    The price of one unit of slack.
sampling : {"resample", "weight"}, default="resample"
    Whether trees see rows drawn by weight, or all rows with their weights (nothing is random then, except the hold-out).
output : {"soft", "hard", "laplace"}, default="soft"
    What a leaf says: how sure it is, its sign, or how sure it is after two more rows.
gamma_rule : {"w2/2C", "w/C", "cw"}, default="w2/2C"
    Which regularisation term the sharpness of the weights is solved for; the paper prints all three.
gamma_max : float, default=50.0
    The largest sharpness.
min_samples_leaf : float, default=2
    Least weight of a leaf.
confidence : float, default=0.25
    Confidence of the pruning; 0 prunes nothing.
cross_fit : bool, default=False
    Whether each row's value comes from a tree that did not see it (five more trees per round).
max_induced : int, default=50
    Rounds at most where their number is chosen.
min_gain : float, default=0.0
    Stop when a feature lowers the objective by less than this share of it.
""",
    "induction_attributes": """
rules_ : list of dict
    Rules, the weightiest first: ``text``, ``class``, ``adds`` (to the decision where it holds), ``weight`` (standard deviation of its
    contribution), ``support``, ``edge``, ``rounds``. Equal rules of different trees are one. With a limit and more than two classes
    also ``adds_by_class``; ``class`` is then the one it speaks loudest for or against.
rule_choice_ : dict or None
    With a limit: ``chosen``, ``best``, ``errors`` (held out, with 0, 1, 2, ... rules), ``uncertainties``, ``unlimited_error`` (of whole
    trees), ``candidates`` and the ``reason`` in words. None for whole trees.
n_induced_ : int or ndarray
    Features that were induced (per class); with a limit the number of rules.
gammas_, edges_, edge_bounds_ : ndarray of shape (n_features,)
    Of every induced feature: sharpness, weighted edge, and the decrease of the smooth loss that it promised.
staged_errors_, objectives_ : ndarray of shape (n_induced_ + 1,), or a list of them
    Training error and objective with 0, 1, 2, ... features (per class).
linear_error_ : float or ndarray
    Training error of the linear machine (per class).
choices_ : list of dict or None
    Per class what the hold-out found about whole trees (jointly for all classes where rules are limited):
    ``depth``, ``rounds``, ``error``, ``linear_error``, ``curves``.
declined_ : list of str or None
    Per class why nothing was induced.
mean_, scale_ : ndarray of shape (n_features_in_,)
    How columns are standardized.
{classifier_attributes}
n_iter_ : int
    Steps of the solver in all fits.
""",
    "selection": """
select : {"features", "kernels"}, default="features"
    What is switched on or off.
kernels : list of (name, parameters), default=None
    Base kernels for ``select="kernels"``, for example ``[("poly", {"degree": 2, "coef0": 1.0}), ("rbf", {"gamma": 0.5})]``. A
    polynomial's ``gamma`` is 1 unless given. None means a linear, two polynomial and a radial kernel.
normalize_kernels : bool, default=True
    Whether kernels are brought to ``k(x, x) = 1``.
rho : float or "auto", default="auto"
    Prior probability that a feature is on. 1 means no selection (a log-barrier SVM); smaller values select more. "auto": one in as many
    as there are features (the square of that for two classes with ten columns per row or more), 0.01 for kernels.
ln_rho : float, default=None
    Its logarithm, down to -700; wins over ``rho``.
""",
    "selection_prior": """
standardize : bool or "auto", default="auto"
    Whether columns and targets are brought to mean 0 and a common spread inside; ``coef_`` is about the data as they came, ``epsilon``
    in spreads of the target. "auto": where ``c`` or ``rho`` is "auto".
keep : int, "all" or "auto", default="auto"
    The features that are kept: those with the largest weights over all tasks, fitted again on their own. "auto": where ``c`` or ``rho``
    is "auto" as many as held-out rows say, otherwise all; ``get_support`` then marks those whose weight is above a hundredth of the
    largest.
bias : {"gaussian", "flat"}, default="gaussian"
    Prior of every task's bias.
bias_variance : float, default=1.0
    Variance of a Gaussian bias.
share : bool, default=True
    Whether tasks share their switches. Otherwise each task is solved alone.
threshold : float, default=0.0
    Switches at or below it are taken as off when predicting.
tol : float, default=1e-6
    Relative duality gap to reach.
max_iter : int, default=1000
    Steps of the solvers at most.
""",
    "selection_attributes": """
switches_ : ndarray of shape (n_groups,), or (n_tasks, n_groups) for ``share=False``
    Probability that each feature or kernel is on.
choice_ : dict or None
    What was chosen and why: ``c``, ``ln_rho``, ``standardized``, ``kept`` (where all were kept: ``counting``, those that
    ``get_support`` marks), all ``trials`` with their held-out errors, ``frequencies``, and the ``reason`` in words.
selection_frequencies_ : ndarray of shape (n_features,)
    How often each feature was kept over the folds.
coef_ : ndarray of shape (n_tasks, n_features)
    Weights, with ``select="features"``.
kernel_weights_ : ndarray of shape (n_kernels,)
    Weights of the base kernels, with ``select="kernels"``.
intercept_ : ndarray of shape (n_tasks,)
    Biases.
""",
    "dask": """
Parameters, attributes and methods are those of the class of the same name in :mod:`boulevard`, and

Parameters
----------
client : distributed.Client, default=None
    The cluster; None means the current client.
{cluster}
""",
    "ray": """
Parameters, attributes and methods are those of the class of the same name in :mod:`boulevard`, and

Parameters
----------
client : Actors, default=None
    How many actors, and what they may use; None means one per processor.
{cluster}
""",
    "cluster": """
**parameters
    See the local class.

Attributes
----------
cluster_ : dict
    Shards, rounds, bytes sent and received, and how many shards had to be rebuilt.
""",
    "spread_rows": """
Parameters
----------
X : rows as ``fit`` takes them, or array
    The rows.
""",
    "spread_answers": """
answers : dask.array.Array, ray.data.Dataset, list of ObjectRef, or ndarray
    As the local class's. Of a Dask collection a lazy array, of a Ray dataset a lazy one with a column ``prediction``, of object
    references references; of a local table the answers themselves.
""",
    "ax": """
ax : matplotlib axes, default=None
    Where to draw.
**kwargs
    For :meth:`plot`.
""",
}


def document(cls: _Class) -> _Class:
    """Fills the places in braces in the docstrings of a class and of its methods."""

    for thing in (cls, *cls.__dict__.values()):
        # A class method and its function each have a docstring.
        for owner in (thing, getattr(thing, "__func__", None)):
            if (owner is cls or isinstance(owner, classmethod | FunctionType)) and owner.__doc__:
                owner.__doc__ = _filled(owner.__doc__)
    return cls


def _filled(text: str) -> str:
    """Paragraphs may hold places for others."""
    return re.sub(r"^( *)\{(\w+)\}$", lambda found: indent(_filled(_PARTS[found[2]].strip("\n")), found[1]), text, flags=re.MULTILINE)
