"""What the inducing classifier and transformer share: the fit, the induced columns, the rules in words."""

import json
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in

from .. import _core
from .._base import fitting
from .._classes import ClassesMixin, class_names, given_weights, read_weights
from .._docs import document
from .._limits import Count, NotNegative, Positive, Price, Seed, Whole, parameters, plain, read_count, seed_of
from .._request import Data
from .._typing import ClassWeight, Floats, Parts, TableLike
from ..svm._kernel_machine import HUGE

#: Parameters with the same name and value in the native learner.
_SAME = "sampling output gamma_rule gamma_max min_samples_leaf confidence cross_fit max_induced min_gain preset".split()
_Rounds = Interval(Integral, 0, 100_000, closed="both")


@document
@parameters
class InducingEstimator(TransformerMixin, ClassesMixin):
    """What the classifier and the transformer share."""

    _kind = "feature_induction"
    _target_kinds = "biufU"
    _doc_link_template = "https://docs.rs/boulevard"
    n_induced: Annotated[int | Literal["auto"], _Rounds] = "auto"
    max_rules: Annotated[int | Literal["auto"] | None, Whole(Integral, 0, 1000, closed="both")] = "auto"
    max_depth: Count | Literal["auto"] | None = "auto"
    C: Price = 0.01
    sampling: Literal["resample", "weight"] = "resample"
    output: Literal["soft", "hard", "laplace"] = "soft"
    gamma_rule: Literal["w2/2C", "w/C", "cw"] = "w2/2C"
    gamma_max: Positive = 50.0
    min_samples_leaf: Positive = 2
    confidence: Annotated[float, Interval(Real, 0.0, 0.5, closed="both")] = 0.25
    cross_fit: bool = False
    max_induced: Annotated[int, _Rounds] = 50
    min_gain: NotNegative = 0.0
    preset: Literal["paper"] | None = None
    class_weight: ClassWeight = None
    tol: Positive = 1e-4
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _learner(self, class_weight: Any) -> Parts:
        """Parameters of the native learner."""
        depth, rules = self.max_depth, self.max_rules
        return {
            **{name: plain(getattr(self, name)) for name in _SAME},
            "c": min(float(self.C), HUGE),
            "n_induced": "auto" if self.n_induced == "auto" else {"exactly": int(self.n_induced)},
            "max_rules": "auto" if rules == "auto" else "unlimited" if rules is None else {"at_most": int(rules)},
            "max_depth": "auto" if depth == "auto" else "unlimited" if depth is None else {"at_most": int(depth)},
            "class_weight": class_weight,
            "tolerance": float(self.tol),
            "seed": seed_of(self.random_state),
        }

    @classmethod
    def _constructor(cls, given: Parts) -> Parts:
        count, depth, rules = given["n_induced"], given["max_depth"], given["max_rules"]
        return {
            **{name: given[name] for name in _SAME},
            "C": given["c"],
            "n_induced": count if count == "auto" else count["exactly"],
            "max_rules": {"auto": "auto", "unlimited": None}[rules] if isinstance(rules, str) else next(iter(rules.values())),
            "max_depth": {"auto": "auto", "unlimited": None}[depth] if isinstance(depth, str) else depth["at_most"],
            "class_weight": given_weights(given["class_weight"]),
            "tol": given["tolerance"],
            "random_state": given["seed"],
        }

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine and its rules.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones are made dense inside.
        {labels}
        {sample_weight}

        {self}
        """
        self._check_parameters()
        original = (X, y)
        X, y = self._read_training(X, y)
        labels, codes = self._encode(y, original)
        weights = read_weights(sample_weight, X)
        self._check_classes_left(codes, weights)
        self.class_weight_, class_weight = self._class_weights(labels, weights)
        data = Data(self._table(X), codes, class_names(self.classes_), weights)
        parts, raised = self._run(self._native_learner(self._learner(class_weight)), data, original)
        self._take(parts)
        self._end(parts, raised)
        return self

    def _prepare(self, model: _core.Model, parts: Parts) -> None:
        super()._prepare(model, parts)
        self.class_weight_ = self._given_factors(model)

    def _take(self, parts: Parts) -> None:
        details = json.loads(parts["details"])
        each = details["classes"]
        single = len(each) == 1
        self.rules_ = details["rules"]
        self.gammas_ = np.array([gamma for one in each for gamma in one["gammas"]])
        self.edges_ = np.array([edge for one in each for edge in one["edges"]])
        self.edge_bounds_ = np.array([bound for one in each for bound in one["bounds"]])
        self.staged_errors_ = np.array(each[0]["errors"]) if single else [np.array(one["errors"]) for one in each]
        self.objectives_ = np.array(each[0]["objectives"]) if single else [np.array(one["objectives"]) for one in each]
        first = [one["errors"][0] if one["errors"] else np.nan for one in each]
        self.linear_error_ = first[0] if single else np.array(first)
        counts = [len(one["gammas"]) for one in each]
        self.rule_choice_ = details["list"]
        self.n_induced_ = counts[0] if single or self.rule_choice_ else np.array(counts)
        self.choices_ = [one["choice"] for one in each]
        self.declined_ = [one["declined"] for one in each]
        self.mean_ = parts["center"]
        self.scale_ = parts["spread"]
        self.n_iter_ = parts["iterations"]
        self._names = parts["names"]
        self._effort = {name: sum(one[name] for one in each) for name in ("tree_seconds", "refit_seconds")}

    def _limit(self) -> tuple[str, str]:
        return "the gap no longer falls", "lower C"

    def transform(self, X: TableLike) -> Floats:
        """Standardized columns, then the induced ones: the table that the linear machine sees.

        For a classifier with ``kernel="linear"``, ``transform(X) @ coef_.T + intercept_`` is the decision function.

        {samples}

        Returns
        -------
        table : ndarray of shape (n_samples, n_features + n_induced)
            See ``get_feature_names_out``.
        """
        return self._judge(_core.induced_table, X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the original columns; must be those seen during ``fit`` where it saw names.

        Returns
        -------
        names : ndarray of str
            The original columns, then ``rule 1: ...`` with the leaves of every induced tree.
        """
        self._need_model()
        plain = _check_feature_names_in(self, input_features)
        names = self._names[len(plain) :]
        if "feature_names_in_" not in self.__dict__:
            # Without names at fit, rules were written with x1, x2, ...
            return np.concatenate([np.asarray(plain, dtype=object), np.array(names, dtype=object)])
        return np.array(list(plain) + list(names), dtype=object)

    def export_text(self, max_rules: int = 20) -> str:
        """The model in words: what was chosen and why, errors, the weightiest rules, and the columns' own weights.

        Parameters
        ----------
        max_rules : int, default=20
            Rules to list. With the default of the constructor's ``max_rules`` these are all of them: the text is the whole model, up to
            columns beyond the twenty of largest weight.

        Returns
        -------
        text : str
            A table with the standard deviation of every rule's contribution, what the rule adds where it holds, its support, the
            weighted edge of its tree, and the round; then the constant and the columns' weights.
        """
        self._need_model()
        return _core.induced_text(self._native, read_count("max_rules", max_rules))

    def rules_path(self) -> Bunch:
        """The held-out error against the number of rules.

        Returns
        -------
        path : Bunch
            ``n_rules`` (0, 1, 2, ...), ``error`` and ``uncertainty`` (standard error of the difference from the lowest) as arrays,
            ``chosen``, ``best``, ``linear_error``, ``unlimited_error`` (of whole trees on the same rows) and ``reason``. Empty arrays
            where no rows were held out.
        """
        self._need_model()
        choice = self.rule_choice_
        if choice is None:
            raise ValueError("this model has whole trees, not a list of rules: fit with max_rules='auto' or a number")
        errors = np.array(choice["errors"])
        return Bunch(
            n_rules=np.arange(len(errors)),
            error=errors,
            uncertainty=np.array(choice["uncertainties"]),
            chosen=choice["chosen"],
            best=choice["best"],
            linear_error=float(errors[0]) if len(errors) else None,
            unlimited_error=choice["unlimited_error"],
            reason=choice["reason"],
        )

    def to_json(self) -> str:
        """Rules, curves and choices as JSON text.

        Returns
        -------
        text : str
            An object with ``rules`` and one entry per class under ``classes``.
        """
        self._need_model()
        return str(self._native.parts()["details"])
