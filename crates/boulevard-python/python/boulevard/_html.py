"""What notebooks show of a fitted estimator beside scikit-learn's diagram: a few facts, and one of the method's own pictures.

Everything that comes from data (names of classes and features, texts of rules) is escaped; pictures are plain SVG without scripts.
"""

from html import escape
from typing import Any

from ._pictures import figure

__all__ = ["summary"]

#: Facts worth a line, in this order; what a model does not have is left out.
_SHOWN = (
    "kind",
    "kernel",
    "classes",
    "tasks",
    "machines",
    "rounds",
    "rules",
    "support vectors",
    "nonzero weights",
    "largest switches",
    "picked",
    "chosen",
    "features",
    "scaling",
    "missing values",
    "probabilities",
)
#: Pictures by how much they tell at a glance.
_TELLING = ("errors", "rules", "rounds", "round-errors", "switches", "weights", "support")
_LONGEST = 160
_STYLE = (
    "font:12px/1.5 system-ui,sans-serif;display:flex;gap:16px;align-items:flex-start;flex-wrap:wrap;margin:4px 0;padding:6px 10px;"
    "border:1px solid rgba(128,128,128,.4);border-radius:6px;width:fit-content"
)
_STATUS = {1: "stopped at an iteration limit", 2: "stopped at the time limit", 3: "interrupted", 4: "stuck at rounding"}


def summary(estimator: Any) -> str:
    """A small block of HTML about a fitted estimator; empty for one that is not fitted."""
    if "_native" not in estimator.__dict__:
        return ""
    lines = "".join(
        f'<tr><th style="text-align:left;font-weight:600;padding:0 10px 0 0;vertical-align:top">{escape(name)}</th>'
        f'<td style="text-align:left;padding:0">{escape(_short(text))}</td></tr>'
        for name, text in _facts(estimator)
    )
    picture = _picture(estimator)
    return f'<div class="boulevard-summary" style="{_STYLE}"><table style="border-collapse:collapse">{lines}</table>{picture}</div>'


def _facts(estimator: Any) -> list[tuple[str, str]]:
    known = dict(estimator._native.facts())
    if known.get("probabilities", "").startswith("none"):
        # The program's words are about its flag; here a fit that kept its data makes them when they are asked for.
        known["probabilities"] = "fitted when asked for" if "_training" in estimator.__dict__ else "none (calibrate=True fits them)"
    # Of a table of rules its head is enough: the rules are in the picture.
    facts = [(name, known[name].strip().splitlines()[0].rstrip(":")) for name in _SHOWN if known.get(name, "").strip()]
    gap, status = estimator.dual_gap_, estimator.fit_status_
    facts.append(("duality gap", f"{gap:.2g} (relative)" + (f", {_STATUS[status]}" if status in _STATUS else "")))
    facts.append(("fitted in", _seconds(estimator.fit_time_)))
    return facts


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _picture(estimator: Any) -> str:
    """The one of the model's own pictures that says most; the others are in ``pictures()``."""
    known = {one["id"]: one for one in estimator.pictures()}
    for name in _TELLING:
        if name in known:
            return figure(known[name], most=10)
    return ""
