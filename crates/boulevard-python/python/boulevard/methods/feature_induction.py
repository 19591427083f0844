"""Feature induction: a linear machine that grows readable rules."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions

from .. import _core
from .._classes import ProbabilityMixin
from .._docs import document
from .._exports import RuleExports
from .._files import loads
from .._kernels import KERNELS, describe_kernel, kernel_parameters
from .._limits import Positive, parameters
from .._typing import Labels, Parts, TableLike
from ..svm._kernel_machine import Degree, Offset, Width
from ._feature_induction_base import InducingEstimator

__all__ = ["FeatureInducer", "FeatureInductionClassifier"]


@loads("feature_induction")
@document
@parameters
class FeatureInductionClassifier(ClassifierMixin, RuleExports, ProbabilityMixin, InducingEstimator):
    """A linear support vector classifier that grows readable rules (Jin and Liu 2004).

    Round by round, a small tree is grown on the rows that the linear machine gets wrong or nearly wrong; its answer becomes a new column,
    and the machine is fitted again. Columns are standardised inside. How many rounds and how deep is chosen on held-out rows, and
    the choice may be to stay linear. From the trees a short list of rules is chosen, one after the other, the same for all classes
    (``max_rules``); ``rules_path`` shows what each number of rules costs. More than two classes: one against the rest.

    Parameters
    ----------
    {induction}
    kernel : str, default="linear"
        Kernel of the last machine. With another than "linear", the induced columns feed a kernel machine.
    kernel_C : float, default=1.0
        ``C`` of that machine.
    degree : int, default=3
        Exponent of "poly" and "epanechnikov".
    gamma : {"scale", "auto"} or float, default="scale"
        Inverse width of the kernel.
    coef0 : float, default=0.0
        Constant of "poly", "sigmoid" and "multiquadric".
    preset : {"paper"} or None, default=None
        "paper" is the paper as written, whatever the parameters above say: ``C=1``, 50 rounds, full trees with hard answers, resampling.
    {class_weight}
    calibrate : bool, default=False
        Whether to fit probabilities with the model; otherwise that happens when ``predict_proba`` is first called.
    tol : float, default=1e-4
        Relative duality gap of every linear fit.
    {shared}

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_columns)
        Weights of the columns of ``transform``; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (n_outputs,)
        Constants; only with ``kernel="linear"``.
    {induction_attributes}
    {fit_attributes}

    See Also
    --------
    FeatureInducer : The same as a transformer.

    References
    ----------
    R. Jin and H. Liu: Robust Feature Induction for Support Vector Machines. ICML 2004, doi 10.1145/1015330.1015370.

    Examples
    --------
    >>> from boulevard import FeatureInductionClassifier
    >>> from boulevard.datasets import make_checkerboard
    >>> X, y = make_checkerboard(300, cells=2, random_state=0)
    >>> clf = FeatureInductionClassifier(n_induced=10, max_depth=3, C=1.0).fit(X, y)
    >>> bool(clf.linear_error_ > 0.3), bool(clf.score(X, y) > 0.9)
    (True, True)
    """

    kernel: Annotated[str, StrOptions(KERNELS - {"precomputed"})] = "linear"
    kernel_C: Positive = 1.0
    degree: Degree = 3
    gamma: Width = "scale"
    coef0: Offset = 0.0
    calibrate: bool = False

    def _learner(self, class_weight: Any) -> Parts:
        kernel = describe_kernel(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0})
        own = {"kernel": kernel, "kernel_c": float(self.kernel_C), "calibrate": bool(self.calibrate)}
        return {**super()._learner(class_weight), **own}

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        own = {**kernel_parameters(given["kernel"]), "kernel_C": given["kernel_c"], "calibrate": given["calibrate"]}
        return {**super()._constructor(given), **own}

    def _take(self, parts: Parts) -> None:
        super()._take(parts)
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        if "coefficients" in parts:
            self.coef_ = parts["coefficients"]
            self.intercept_ = parts["intercepts"]

    def staged_predict(self, X: TableLike) -> Iterator[Labels]:
        """Predict with 0, 1, 2, ... induced features; the first are the linear machine's labels.

        {samples}

        Yields
        ------
        labels : ndarray of shape (n_samples,)
            Labels of the linear machine with that many features (per class).
        """
        for codes in self._judge(_core.induced_stages, X).T:
            yield self.classes_.take(codes.astype(np.intp))

    def explain(self, X: TableLike) -> list[Any]:
        """Why samples got their decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_features,)
            The samples, or one.

        Returns
        -------
        explanations : list of list of dict, or list of dict for one sample
            Per sample one entry per output: ``class``, ``decision``, ``bias``, and ``contributions``, each with ``text``, ``adds`` and
            ``round`` (None for an original feature). The bias and all contributions add up to the decision. ``sentences`` says the same
            to a reader.
        """
        one = np.ndim(X) == 1 and not hasattr(X, "toarray")
        texts = self._judge(lambda model, table, threads: _core.induced_explain(model, table), np.reshape(X, (1, -1)) if one else X)
        explained = [json.loads(text) for text in texts]
        return list(explained[0]) if one else explained


@loads("feature_induction")
@document
@parameters
class FeatureInducer(InducingEstimator):
    """Original columns with induced rules beside them, for any pipeline.

    The features are those of :class:`FeatureInductionClassifier` with the same parameters.

    Parameters
    ----------
    {induction}
    preset : {"paper"} or None, default=None
        "paper" is the paper as written.
    {class_weight}
    tol : float, default=1e-4
        Relative duality gap of every linear fit.
    {shared}

    Attributes
    ----------
    {induction_attributes}
    {fit_attributes}

    See Also
    --------
    FeatureInductionClassifier : The machine that the rules are made for.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from boulevard import FeatureInducer
    >>> from boulevard.datasets import make_checkerboard
    >>> X, y = make_checkerboard(300, cells=2, random_state=0)
    >>> pipe = make_pipeline(FeatureInducer(n_induced=10, max_depth=3, C=1.0), LogisticRegression()).fit(X, y)
    >>> bool(pipe.score(X, y) > 0.9)
    True
    """
