"""Pictures as the library describes them, drawn as plain SVG: what notebooks show.

The description (axes, layers, sentence) is the one that the program's reports and its page draw. Everything that comes from data is
escaped; there are no scripts.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["Pictures", "figure"]

_WIDTH, _HEIGHT = 380, 210
_TOP, _RIGHT, _BOTTOM, _LEFT = 22, 14, 40, 52
_ROW, _CELL = 17, 24
_LETTER = 6.1
#: Hues of Okabe and Ito, between light and dark, so that both kinds of notebook can show them.
_HUES = {
    "training": "#d9660a",
    "holdout": "#2f86c6",
    "estimate": "#0f9d76",
    "chosen": "#c0529a",
    "baseline": "#868e98",
    "neutral": "#2f86c6",
}
_CLASSES = ("#d9660a", "#2f86c6", "#0f9d76", "#c0529a", "#b08a1d", "#4ba6db", "#8d7d2a", "#7c7c7c")
_DASHES = {"holdout": "7 3", "estimate": "2 3", "baseline": "4 4", "chosen": "1 3"}
_CLASS_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "1 4", "12 3", "6 2 2 2")


class Pictures(list[dict[str, Any]]):
    """Descriptions of pictures; a notebook draws them."""

    def _repr_html_(self) -> str:
        return "".join(f'<div style="margin:8px 0">{figure(one)}</div>' for one in self)


def figure(picture: Mapping[str, Any], most: int = 20) -> str:
    """A picture with its sentence and its legend as HTML; of names along an axis the first `most`."""
    named = [layer for layer in picture["layers"] if layer["name"] and layer["mark"] not in ("cells", "ground")]
    legend = ""
    if len(named) > 1:
        swatch = '<span style="color:{};white-space:nowrap;margin-right:10px">{}&#160;<span style="color:inherit">{}</span></span>'
        signs = {"points": "&#9679;", "bars": "&#9632;", "area": "&#9618;"}
        legend = "".join(swatch.format(_hue(layer["role"]), signs.get(layer["mark"], "&#9472;"), escape(layer["name"])) for layer in named)
        legend = f'<div style="font-size:11px">{legend}</div>'
    caption = f'<figcaption style="max-width:{_WIDTH}px">{escape(picture["sentence"])}</figcaption>'
    return f'<figure style="margin:0">{_svg(picture, most)}{legend}{caption}</figure>'


def _hue(role: str) -> str:
    return _CLASSES[int(role[5:]) % len(_CLASSES)] if role.startswith("class") else _HUES.get(role, _HUES["neutral"])


def _dash(role: str) -> str:
    dashes = _CLASS_DASHES[int(role[5:]) % len(_CLASS_DASHES)] if role.startswith("class") else _DASHES.get(role, "")
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _number(value: float) -> str:
    return f"{value:.4g}".replace("e+0", "e").replace("e-0", "e-").replace("-", "\N{MINUS SIGN}")


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: max(1, letters - 1)] + "\N{HORIZONTAL ELLIPSIS}"


class _Axis:
    """Places along an axis, from values or from names."""

    def __init__(self, described: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], which: str, most: int) -> None:
        self.label = described["label"] + (f" ({described['unit']})" if described.get("unit") else "")
        self.unit, self.log = described.get("unit", ""), described["scale"] == "log"
        self.names: list[str] = described.get("categories", [])[:most] if described["scale"] == "ordinal" else []
        ends: tuple[float, float] = described.get("domain") or self._ends(layers, which)
        self.low, self.high = ends
        self.start = self.end = 0.0

    def _ends(self, layers: Sequence[Mapping[str, Any]], which: str) -> tuple[float, float]:
        found = [
            float(value)
            for layer in layers
            for name in (which, f"{which}1", f"{which}2")
            for value in layer["columns"].get(name, ())
            if isinstance(value, int | float) and (not self.log or value > 0)
        ]
        if not found:
            return 0.0, 1.0
        low, high = min(found), max(found)
        bars = any(layer["mark"] == "bars" for layer in layers)
        if bars or (self.unit == "%" and not self.log):
            low = min(0.0, low)
        if bars:
            high = max(0.0, high)
        if self.log:
            pad = (high / low) ** 0.02 if high > low else 2.0
            return low / pad, high * pad
        pad = 0.03 * (high - low) if high > low else abs(low) or 1.0
        return (low if low == 0 else low - pad), (high if high == 0 else high + pad)

    def at(self, value: Any) -> float | None:
        """The place of a value or the middle of a name's band; none where it has none."""
        if self.names:
            if value not in self.names:
                return None
            return self.start + (self.names.index(value) + 0.5) * self.band
        if value is None or (self.log and value <= 0):
            return None
        low, high, value = (math.log(self.low), math.log(self.high), math.log(value)) if self.log else (self.low, self.high, value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    @property
    def band(self) -> float:
        return (self.end - self.start) / len(self.names)

    def ticks(self, most: int) -> list[float]:
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            powers = [10.0**power for power in range(first, last + 1, max(1, math.ceil((last - first + 1) / most)))]
            return powers if len(powers) > 1 else [self.low, self.high]
        rough = (self.high - self.low) / most
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * part for part in (1, 2, 5, 10) if size * part >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def _svg(picture: Mapping[str, Any], most: int) -> str:
    """The drawing: axes with ticks and labels, then the layers from the lowest up."""
    layers = [layer for layer in picture["layers"] if layer["mark"] != "ground"]
    x, y = _Axis(picture["x"], layers, "x", most), _Axis(picture["y"], layers, "y", most)
    cells = any(layer["mark"] == "cells" for layer in layers)
    letters = min(48, max(map(len, y.names), default=0))
    left = _LEFT if not y.names else 10 + letters * _LETTER
    # Long names do not take the bars' room: the drawing grows.
    width = max(_WIDTH, left + 200)
    upright = bool(x.names) and max(map(len, x.names)) * _LETTER + 6 > (width - left - _RIGHT) / len(x.names)
    bottom = _BOTTOM + (min(14, max(map(len, x.names))) * _LETTER - 10 if upright else 0)
    height = _HEIGHT if not y.names else _TOP + bottom + len(y.names) * (_CELL if cells else _ROW)
    x.start, x.end = left, width - _RIGHT
    y.start, y.end = (_TOP, height - bottom) if y.names else (height - bottom, _TOP)
    body = _axes(x, y, height, left, upright, letters)
    body += "".join(_layer(layer, x, y) for layer in layers)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    look = 'font-size="10" font-family="system-ui,sans-serif" fill="currentColor"'
    title = f"<title>{escape(picture['title'])}</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {look}>{title}{body}</svg>'


def _axes(x: _Axis, y: _Axis, height: float, left: float, upright: bool, letters: int) -> str:
    low, high = max(y.start, y.end), min(y.start, y.end)
    parts = [f'<path d="M{left:.1f} {high:.1f}V{low:.1f}H{x.end:.1f}" fill="none" stroke="currentColor" opacity="0.5"/>']

    def text(across: float, down: float, words: str, anchor: str, more: str = "") -> None:
        parts.append(f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}" opacity="0.85"{more}>{escape(words)}</text>')

    def line(way: str) -> None:
        parts.append(f'<path d="{way}" stroke="currentColor" opacity="0.13"/>')

    for name in x.names:
        place = x.at(name) or 0.0
        turned = f' transform="rotate(-90 {place + 3:.1f} {low + 6:.1f})"' if upright else ""
        text(place + 3 if upright else place, low + (6 if upright else 13), _cut(name, 14), "end" if upright else "middle", turned)
    for value in [] if x.names else x.ticks(6):
        place = x.at(value) or 0.0
        line(f"M{place:.1f} {high:.1f}V{low:.1f}")
        text(place, low + 13, _number(value) + (f" {x.unit}" if x.unit else ""), "middle")
    for name in y.names:
        text(left - 5, (y.at(name) or 0.0) + 3.5, _cut(name, letters), "end")
    for value in [] if y.names else y.ticks(5):
        place = y.at(value) or 0.0
        line(f"M{left:.1f} {place:.1f}H{x.end:.1f}")
        text(left - 5, place + 3.5, _number(value) + (f" {y.unit}" if y.unit else ""), "end")
    text(2, 11, _cut(y.label, 60), "start")
    text(x.end, height - 6, _cut(x.label, 60), "end")
    return "".join(parts)


def _layer(layer: Mapping[str, Any], x: _Axis, y: _Axis) -> str:
    hue, columns, mark = _hue(layer["role"]), layer["columns"], layer["mark"]
    if mark == "rule":
        low, high = max(y.start, y.end), min(y.start, y.end)
        ways = [f"M{place:.1f} {high:.1f}V{low:.1f}" for place in map(x.at, columns.get("x", ())) if place is not None]
        ways += [f"M{x.start:.1f} {place:.1f}H{x.end:.1f}" for place in map(y.at, columns.get("y", ())) if place is not None]
        return f'<path d="{" ".join(ways)}" stroke="{hue}" stroke-width="1.5" fill="none"{_dash(layer["role"])}/>'
    across = [x.at(value) for value in columns.get("x", ())]
    if mark == "rug":
        low = max(y.start, y.end)
        return f'<path d="{" ".join(f"M{a:.1f} {low:.1f}v-6" for a in across if a is not None)}" stroke="{hue}" opacity="0.5"/>'
    if mark == "area":
        pairs = [(a, y.at(b), y.at(c)) for a, b, c in zip(across, columns["y1"], columns["y2"], strict=True)]
        kept = [(a, b, c) for a, b, c in pairs if a is not None and b is not None and c is not None]
        way = [f"{a:.1f} {b:.1f}" for a, b, _ in kept] + [f"{a:.1f} {c:.1f}" for a, _, c in reversed(kept)]
        return f'<path d="M{"L".join(way)}Z" fill="{hue}" opacity="0.2"/>' if way else ""
    up = [y.at(value) for value in columns.get("y", ())]
    places = [(place, a, b) for place, (a, b) in enumerate(zip(across, up, strict=True)) if a is not None and b is not None]
    if mark in ("line", "step"):
        jump = "H{0:.1f}V{1:.1f}" if mark == "step" else "L{0:.1f} {1:.1f}"
        steps = "".join((f"M{a:.1f} {b:.1f}" if not place else jump.format(a, b)) for place, (_, a, b) in enumerate(places))
        line = f'<path d="{steps}" stroke="{hue}" stroke-width="1.8" fill="none"{_dash(layer["role"])}/>' if steps else ""
        return line + (_dots(places, hue, 2.5) if len(places) <= 14 and layer["role"] != "baseline" else "")
    if mark == "points":
        return _dots(places, hue, 5 if layer["role"] == "chosen" else 3)
    if mark == "bars":
        return _bars(places, x, y, hue) + _whiskers(columns, places, x)
    return _cells(layer, places, x, y) if mark == "cells" else ""


def _dots(places: Sequence[tuple[int, float, float]], hue: str, size: float) -> str:
    return "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size}" fill="{hue}"/>' for _, a, b in places)


def _box(box: tuple[float, float, float, float], fill: str, opacity: float) -> str:
    x, y, width, height = box
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" opacity="{opacity:.2f}"/>'


def _bars(places: Sequence[tuple[int, float, float]], x: _Axis, y: _Axis, hue: str) -> str:
    bars = []
    for _, a, b in places:
        if y.names:
            zero, thick = x.at(0.0) or x.start, 0.72 * y.band
            box = (min(a, zero), b - thick / 2, abs(a - zero), thick)
        else:
            zero, thick = y.at(0.0) or y.start, 0.72 * (x.band if x.names else 6.0)
            box = (a - thick / 2, min(b, zero), thick, abs(b - zero))
        bars.append(_box(box, hue, 0.85))
    return "".join(bars)


def _whiskers(columns: Mapping[str, Any], places: Sequence[tuple[int, float, float]], x: _Axis) -> str:
    ends = [(x.at(columns["x1"][place]), x.at(columns["x2"][place]), b) for place, _, b in places] if "x1" in columns else []
    ways = [f"M{a:.1f} {b:.1f}H{c:.1f}" for a, c, b in ends if a is not None and c is not None]
    return f'<path d="{" ".join(ways)}" stroke="currentColor" stroke-width="1.5"/>' if ways else ""


def _cells(layer: Mapping[str, Any], places: Sequence[tuple[int, float, float]], x: _Axis, y: _Axis) -> str:
    values = [0.0 if value is None else float(value) for value in layer["columns"]["value"]]
    most = max(map(abs, values), default=0.0) or 1.0
    digits = 1 - math.floor(math.log10(most))
    cells = []
    for place, a, b in places:
        value = values[place]
        box = (a - x.band / 2 + 0.5, b - y.band / 2 + 0.5, x.band - 1, y.band - 1)
        shade = 0.08 + 0.7 * abs(value) / most
        fill = _CLASSES[0 if value < 0 else 1]
        cells.append(_box(box, fill, shade))
        if x.band > 28:
            cells.append(f'<text x="{a:.1f}" y="{b + 3.5:.1f}" text-anchor="middle">{_number(round(value, digits))}</text>')
    return "".join(cells)
