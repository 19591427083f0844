"""What notebooks show of a fitted estimator beside scikit-learn's diagram: a few facts, and the method's own small picture.

Everything that comes from data (names of classes and features, texts of rules) is escaped; pictures are plain SVG without scripts.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp

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
    "features",
    "scaling",
    "missing values",
    "probabilities",
)
_LONGEST = 160
_WIDTH, _HEIGHT, _EDGE = 220, 90, 6
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
    side = f'<figure style="margin:0">{picture}</figure>' if picture else ""
    return f'<div class="boulevard-summary" style="{_STYLE}"><table style="border-collapse:collapse">{lines}</table>{side}</div>'


def _facts(estimator: Any) -> list[tuple[str, str]]:
    known = dict(estimator._native.facts())
    facts = [(name, known[name]) for name in _SHOWN if name in known]
    gap, status = estimator.dual_gap_, estimator.fit_status_
    facts.append(("duality gap", f"{gap:.2g} (relative)" + (f", {_STATUS[status]}" if status in _STATUS else "")))
    facts.append(("fitted in", _seconds(estimator.fit_time_)))
    return facts


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


# ------------------------------------------------------------ pictures


def _picture(estimator: Any) -> str:
    """The SVG of the first class in the estimator's line that has one."""
    for cls in type(estimator).__mro__:
        if cls.__name__ in _PICTURES:
            return _PICTURES[cls.__name__](estimator)
    return ""


def _svg(title: str, caption: str, body: str) -> str:
    """A picture with a title for those who cannot see it and a caption below."""
    high = _HEIGHT + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDTH}" height="{high}" viewBox="0 0 {_WIDTH} {high}">'
        f"<title>{escape(title)}</title>{body}"
        f'<text x="{_EDGE}" y="{_HEIGHT + 12}" font-size="10" fill="currentColor" opacity="0.75">{escape(caption)}</text></svg>'
    )


def _points(values: np.ndarray[Any, Any], low: float, high: float, size: int, turned: bool) -> list[float]:
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    room = size - 2 * _EDGE
    return [_EDGE + room * float(1 - part if turned else part) for part in share]


def _lines(title: str, caption: str, series: Sequence[Any], x: Any = None, mark: int | None = None) -> str:
    """Lines over a common axis; a ring marks one place of the first."""
    rows = [np.asarray(one, dtype=float).ravel() for one in series]
    rows = [row for row in rows if len(row) > 1 and np.isfinite(row).any()]
    if not rows:
        return ""
    finite = np.concatenate([row[np.isfinite(row)] for row in rows])
    low, high = float(finite.min()), float(finite.max())
    body = ""
    for number, row in enumerate(rows):
        at = np.asarray(x, dtype=float) if x is not None and len(x) == len(row) else np.arange(len(row), dtype=float)
        kept = np.isfinite(row) & np.isfinite(at)
        across = _points(at[kept], float(at[kept].min()), float(at[kept].max()), _WIDTH, False)
        up = _points(row[kept], low, high, _HEIGHT, True)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
        dashes = "" if number == 0 else ' stroke-dasharray="4 3"'
        body += f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.5"{dashes}/>'
        if number == 0 and mark is not None and 0 <= mark < len(row) and kept[mark]:
            place = int(np.count_nonzero(kept[:mark]))
            body += f'<circle cx="{across[place]:.1f}" cy="{up[place]:.1f}" r="4" fill="none" stroke="currentColor" stroke-width="2"/>'
    return _svg(title, f"{caption} ({low:.3g} to {high:.3g})", body)


def _bars(title: str, caption: str, values: Any, most: int = 24) -> str:
    """Bars from a common zero line."""
    heights = np.asarray(values, dtype=float).ravel()[:most]
    if len(heights) == 0 or not np.isfinite(heights).all():
        return ""
    low, high = min(0.0, float(heights.min())), max(0.0, float(heights.max()))
    if high == low:
        return ""
    up = _points(np.append(heights, 0.0), low, high, _HEIGHT, True)
    zero, width = up[-1], (_WIDTH - 2 * _EDGE) / len(heights)
    body = "".join(
        f'<rect x="{_EDGE + place * width:.1f}" y="{min(top, zero):.1f}" width="{max(0.8 * width, 0.5):.1f}" '
        f'height="{abs(top - zero):.1f}" fill="currentColor" opacity="0.6"/>'
        for place, top in enumerate(up[:-1])
    )
    body += f'<line x1="{_EDGE}" x2="{_WIDTH - _EDGE}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="currentColor" opacity="0.5"/>'
    return _svg(title, caption, body)


def _support(estimator: Any) -> str:
    counts = np.asarray(estimator.n_support_)
    return _bars("support vectors per class", "support vectors per class", counts) if len(counts) > 1 else ""


def _weights(estimator: Any) -> str:
    coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else np.asarray(estimator.coef_)
    first = coef.reshape(-1, coef.shape[-1])[0]
    largest = np.argsort(-np.abs(first), kind="stable")[:24]
    return _bars("the largest weights", "the largest weights", first[np.sort(largest)])


def _front(estimator: Any) -> str:
    front = estimator.front_
    series = [front["train_error"]]
    if np.isfinite(front["holdout_error"]).any():
        series.append(front["holdout_error"])
    place = np.log10(np.maximum(front["equivalent_c"], 1e-300))
    return _lines("errors along the front", "training error, held-out dashed", series, place, int(estimator.picked_))


def _staged(estimator: Any) -> str:
    errors = estimator.staged_errors_
    series = errors if isinstance(errors, list) else [errors]
    return _lines("error by number of rules", "error by number of rules", series)


def _rounds(estimator: Any) -> str:
    errors = estimator.errors_
    series = errors if isinstance(errors, list) else list(np.atleast_2d(np.asarray(errors, dtype=float)))
    if max(map(len, series)) < 2:
        return _bars("error of the round", "weighted error of the one round", [one[0] for one in series if len(one)])
    return _lines("error by round", "weighted error by round", series)


def _switches(estimator: Any) -> str:
    switches = estimator.switches_
    first = switches[0] if isinstance(switches, list) else np.atleast_2d(switches)[0]
    return _bars("the largest switches", "the largest switches", np.sort(np.asarray(first, dtype=float).ravel())[::-1])


_PICTURES: dict[str, Callable[[Any], str]] = {
    "ParetoSVC": _front,
    "FeatureInductionClassifier": _staged,
    "FeatureInducer": _staged,
    "BoostedSVC": _rounds,
    "MultiTaskSelectionClassifier": _switches,
    "MultiTaskSelectionRegressor": _switches,
    "MultiSampleClassifier": lambda estimator: "",
    "LinearSVC": _weights,
    "LinearSVR": _weights,
    "SVC": _support,
    "NuSVC": _support,
}
