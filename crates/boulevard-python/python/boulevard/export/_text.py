"""Linear machines and rules as text that other programs run: Python, SQL, JSON."""

import json
import keyword
from collections.abc import Sequence
from typing import Any

from ..exceptions import ParameterError
from ._plain import Decision, Plain, Split, is_dead, plain

__all__ = ["to_json", "to_python", "to_sql"]


def to_json(model: Any) -> str:
    """A fitted linear or rule model as plain JSON.

    Parameters
    ----------
    model : estimator instance
        A linear machine (LinearSVC, LinearSVR, a kernel machine with ``kernel="linear"``, a selection of features) or a
        FeatureInductionClassifier with its linear machine.

    Returns
    -------
    text : str
        An object with ``columns``, ``classes``, ``meaning`` (what decisions stand for) and ``decisions``: each has a ``bias``, ``weights``
        by column, and ``trees`` of tests ``column <= threshold``, whose leaves say what they add. Scaling is folded in: columns are raw.
        A model that fills in missing values has ``missing``: what to put in, by column.
    """
    form = plain(model)
    decisions = [
        {
            "name": one.name,
            "bias": None if is_dead(one) else one.bias,
            "weights": {form.columns[j]: weight for j, weight in one.weights},
            "trees": [_tree_json(form, tree) for tree in one.trees],
        }
        for one in form.decisions
    ]
    whole: dict[str, Any] = {
        "model": form.kind,
        "columns": form.columns,
        "meaning": form.meaning,
        "classes": form.classes,
        "decisions": decisions,
    }
    if form.fill is not None:
        whole["missing"] = dict(zip(form.columns, form.fill, strict=True))
    return json.dumps(whole, indent=1)


def _tree_json(form: Plain, tree: Split | float) -> Any:
    if isinstance(tree, float):
        return tree
    below, above = _tree_json(form, tree.below), _tree_json(form, tree.above)
    return {"column": form.columns[tree.feature], "at_most": tree.threshold, "then": below, "else": above}


# ------------------------------------------------------------ Python


def to_python(model: Any, name: str = "predict") -> str:
    """A fitted linear or rule model as the source of a Python function that needs nothing.

    Parameters
    ----------
    model : estimator instance
        As for :func:`to_json`.
    name : str, default="predict"
        The name of the function. It takes one row, a sequence of numbers in the order of the columns, and returns the label and the
        decision (a list of them for several classes or outputs); for regressors the number.

    Returns
    -------
    source : str
        Python text.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ParameterError(f"name must be a name that Python takes, got {name!r}", "name")
    form = plain(model)
    lines = [f"def {name}(x):", f'    """{form.kind} of {", ".join(_safe(one) for one in form.columns)}."""']
    if form.fill is not None:
        # NaN differs from itself.
        lines.append(f"    x = [fill if value is None or value != value else value for value, fill in zip(x, {form.fill!r})]")
    lines.append("    d = [")
    lines += [f"        {_python_sum(form, one)}," for one in form.decisions]
    lines += ["    ]", *_python_answer(form)]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _python_sum(form: Plain, one: Decision) -> str:
    if is_dead(one):
        return "float('-inf')"
    terms = [repr(one.bias)]
    terms += [f"{weight!r} * x[{j}]" for j, weight in one.weights]
    terms += [_python_tree(tree) for tree in one.trees]
    return "\n        + ".join(terms)


def _python_tree(tree: Split | float) -> str:
    if isinstance(tree, float):
        return repr(tree)
    return f"({_python_tree(tree.below)} if x[{tree.feature}] <= {tree.threshold!r} else {_python_tree(tree.above)})"


def _python_answer(form: Plain) -> list[str]:
    if form.meaning == "numbers":
        return ["    return d[0]" if len(form.decisions) == 1 else "    return d"]
    if form.meaning == "second":
        no, yes = form.classes
        return [f"    return ({yes!r} if d[0] > 0 else {no!r}), d[0]"]
    if form.meaning == "labels":
        return [f"    return [pair[value > 0] for pair, value in zip({form.classes!r}, d)], d"]
    if form.meaning == "classes":
        return [f"    return {form.classes!r}[d.index(max(d))], d"]
    pairs = [(i, j) for i in range(len(form.classes)) for j in range(i + 1, len(form.classes))]
    return [
        f"    votes, sums = [0.0] * {len(form.classes)}, [0.0] * {len(form.classes)}",
        f"    for (i, j), value in zip({pairs!r}, d):",
        "        votes[i if value > 0 else j] += 1",
        "        sums[i] += value",
        "        sums[j] -= value",
        "    d = [v + s / (3 * (abs(s) + 1)) for v, s in zip(votes, sums)]",
        f"    return {form.classes!r}[d.index(max(d))], d",
    ]


# ------------------------------------------------------------ SQL


def to_sql(model: Any, table: str = "data", keep: Sequence[str] = ()) -> str:
    """A fitted linear or rule model as one SQL query.

    The query is plain SQL (``SELECT``, ``CASE``, arithmetic; no functions but ``ABS`` and ``COALESCE``), which SQLite, PostgreSQL, DuckDB
    and others run.

    Parameters
    ----------
    model : estimator instance
        As for :func:`to_json`.
    table : str, default="data"
        The table with the columns that the model knows (``x1``, ``x2``, ... where it was fitted without names).
    keep : sequence of str, default=()
        Other columns of the table to hand on, such as a key.

    Returns
    -------
    query : str
        One row per row of the table: the columns to keep, the decision values, and (for classifiers) ``label``. A row with a NULL in a
        column that counts gets NULL, unless the model fills in missing values.
    """
    form = plain(model)
    inner = [_quoted(one) for one in keep]
    inner += [f"{_sql_sum(form, one)} AS {_quoted(one.name)}" for one in form.decisions]
    query = "SELECT " + ",\n  ".join(inner) + f"\nFROM {_quoted(table)}"
    kept = "".join(f"{_quoted(one)}, " for one in keep)
    if form.meaning == "numbers":
        return query + "\n"
    names = [_quoted(one.name) for one in form.decisions]
    if form.meaning == "pairs":
        query, names = _sql_votes(form, query, kept), [_quoted(f"decision_{name}") for name in form.classes]
    if form.meaning == "second":
        labels = (
            f"CASE WHEN {names[0]} > 0 THEN {_literal(form.classes[1])} WHEN {names[0]} <= 0 THEN {_literal(form.classes[0])} END AS label"
        )
    elif form.meaning == "labels":
        labels = ", ".join(
            f"CASE WHEN {name} > 0 THEN {_literal(pair[1])} WHEN {name} <= 0 THEN {_literal(pair[0])} END AS label_{place}"
            for place, (name, pair) in enumerate(zip(names, form.classes, strict=True))
        )
    else:
        labels = _sql_largest(form, names)
    return f"SELECT {kept}{', '.join(names)}, {labels}\nFROM ({query}) AS decided\n"


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _sql_sum(form: Plain, one: Decision) -> str:
    if is_dead(one):
        # No decision can be lower; infinity has no common spelling.
        return "-1e308"
    terms = [_number(one.bias)]
    terms += [f"{_number(weight)} * {_sql_column(form, j)}" for j, weight in one.weights]
    terms += [_sql_tree(form, tree) for tree in one.trees]
    return "\n    + ".join(terms)


def _sql_column(form: Plain, feature: int) -> str:
    name = _quoted(form.columns[feature])
    return name if form.fill is None else f"COALESCE({name}, {_number(form.fill[feature])})"


def _number(value: float) -> str:
    return repr(value) if value >= 0 else f"({value!r})"


def _sql_tree(form: Plain, tree: Split | float) -> str:
    if isinstance(tree, float):
        return _number(tree)
    column, at = _sql_column(form, tree.feature), _number(tree.threshold)
    below, above = _sql_tree(form, tree.below), _sql_tree(form, tree.above)
    return f"CASE WHEN {column} <= {at} THEN {below} WHEN {column} > {at} THEN {above} END"


def _sql_largest(form: Plain, names: list[str]) -> str:
    """The first class whose decision nobody else's exceeds."""
    cases = []
    for place, name in enumerate(names):
        tests = " AND ".join(f"{name} >= {other}" for k, other in enumerate(names) if k != place)
        cases.append(f"WHEN {tests} THEN {_literal(form.classes[place])}")
    return "CASE " + " ".join(cases) + " END AS label"


def _sql_votes(form: Plain, query: str, kept: str) -> str:
    """Votes of pairs, plus a confidence that breaks ties."""
    count = len(form.classes)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    names = [_quoted(one.name) for one in form.decisions]
    votes, sums = [], []
    for k, label in enumerate(form.classes):
        won = [
            f"CASE WHEN {name} > 0 THEN {int(i == k)} ELSE {int(j == k)} END"
            for name, (i, j) in zip(names, pairs, strict=True)
            if k in (i, j)
        ]
        parts = [f"{'+' if i == k else '-'} {name}" for name, (i, j) in zip(names, pairs, strict=True) if k in (i, j)]
        votes.append(f"{' + '.join(won)} AS {_quoted(f'votes_{label}')}")
        sums.append(f"0.0 {' '.join(parts)} AS {_quoted(f'sum_{label}')}")
    counted = f"SELECT {kept}{', '.join(votes + sums)}\nFROM ({query}) AS paired"
    each = []
    for label in form.classes:
        vote, total, name = (_quoted(f"{stem}_{label}") for stem in ("votes", "sum", "decision"))
        each.append(f"{vote} + {total} / (3.0 * (ABS({total}) + 1.0)) AS {name}")
    return f"SELECT {kept}{', '.join(each)}\nFROM ({counted}) AS counted"
