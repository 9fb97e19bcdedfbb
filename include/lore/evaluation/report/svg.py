"""Plots as inline SVG: grouped bars and points, drawn without a library and without a script.

Colours are classes that the page's style sheet fills, so that a plot looks right in light and dark. Text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lore.evaluation.report.html_page import shown

__all__ = ["WIDE", "Point", "bars", "points"]

WIDE, NARROW = 1000, 480
"""Widths of a plot that fills the page and of one that fills half, chosen so that letters have the same size in both.
"""
HEIGHT = 300
LEFT, RIGHT, TOP, BOTTOM = 60, 16, 30, 44
ROOM_FOR_VALUE = 24.0
LINE, LETTER = 14, 6.5
"""Approximate height of a line and width of a letter."""
SERIES = 8
"""Number of colours and shapes; further series reuse them."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point: its series gives the colour, its kind the shape; `label` appears on hover."""

    x: float
    y: float
    series: str
    kind: str
    label: str


def bars(
    groups: Mapping[str, Mapping[str, float]], *, y_label: str, label: str, digits: int = 2, width: int = NARROW
) -> str:
    """Draw groups of bars side by side: group → series → value, written above its bar if there is room.

    `label` describes the plot to people who can't see it.
    """
    series = list(dict.fromkeys(name for values in groups.values() for name in values))
    scale = _Scale.over([value for values in groups.values() for value in values.values()])
    room = (width - LEFT - RIGHT) / max(1, len(groups))
    bar = min(64.0, room * 0.8 / max(1, len(series)))
    parts = [*_frame(scale, y_label, width)]
    for number, (group, values) in enumerate(groups.items()):
        middle = LEFT + room * (number + 0.5)
        start = middle - bar * len(series) / 2
        for name, value in values.items():
            x, y = start + bar * series.index(name), scale.y(value)
            tip = shown(f"{name}, {group}: {value:,.{digits}f}")
            parts.append(
                f'<rect class="s{series.index(name) % SERIES}" x="{x + 1:.1f}" y="{y:.1f}" width="{bar - 2:.1f}" '
                f'height="{scale.y(0) - y:.1f}"><title>{tip}</title></rect>'
            )
            if bar >= ROOM_FOR_VALUE:
                parts.append(_text(x + bar / 2, y - 4, _short(value, digits), "value"))
        for line, words in enumerate(_lines(group, room)):
            parts.append(_text(middle, HEIGHT - BOTTOM + 18 + LINE * line, words, "tick"))
    return _svg(parts, label, width) + _legend(series, [])


def points(found: Sequence[Point], *, x_label: str, y_label: str, label: str, width: int = NARROW) -> str:
    """Draw points in a plane with a legend of colours (series) and shapes (kinds)."""
    series = list(dict.fromkeys(point.series for point in found))
    kinds = list(dict.fromkeys(point.kind for point in found))
    scale = _Scale.over([point.y for point in found], from_zero=False)
    across = _Scale.over([point.x for point in found])
    parts = [*_frame(scale, y_label, width)]
    for tick in across.ticks():
        x = LEFT + across.share(tick) * (width - LEFT - RIGHT)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(_text(x, HEIGHT - BOTTOM + 18, _short(tick, 0), "tick"))
    parts.append(_text(LEFT + (width - LEFT - RIGHT) / 2, HEIGHT - 8, x_label, "axis"))
    for point in found:
        x, y = LEFT + across.share(point.x) * (width - LEFT - RIGHT), scale.y(point.y)
        shape = _shape(kinds.index(point.kind), x, y)
        parts.append(
            f'<g class="point s{series.index(point.series) % SERIES}"><title>{shown(point.label)}</title>{shape}</g>'
        )
    return _svg(parts, label, width) + _legend(series, kinds)


@dataclass(frozen=True, slots=True)
class _Scale:
    """A linear axis with round ticks."""

    low: float
    high: float
    step: float

    @staticmethod
    def over(values: Sequence[float], *, from_zero: bool = True) -> _Scale:
        high = max(values, default=1.0)
        low = 0.0 if from_zero else min(values, default=0.0)
        if high - low < 1e-9:
            low, high = (0.0, high or 1.0) if high >= 0 else (high, 0.0)
        raw = (high - low) / 4
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw - 1e-12)
        return _Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)

    def ticks(self) -> Iterator[float]:
        for number in range(round((self.high - self.low) / self.step) + 1):
            yield self.low + number * self.step

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - self.share(value) * (HEIGHT - TOP - BOTTOM)

    @property
    def digits(self) -> int:
        return max(0, -math.floor(math.log10(self.step) + 1e-9) + (1 if f"{self.step:e}".startswith("2.5") else 0))


def _frame(scale: _Scale, y_label: str, width: int) -> Iterator[str]:
    for tick in scale.ticks():
        y = scale.y(tick)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{width - RIGHT}" y2="{y:.1f}"/>'
        yield _text(LEFT - 8, y + 4, _short(tick, scale.digits), "tick end")
    yield _text(8, 14, y_label, "axis start")


def _shape(kind: int, x: float, y: float) -> str:
    size = 6.0
    corners: tuple[tuple[float, float], ...]
    match kind % 4:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
        case 1:
            return f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size}" height="{2 * size}"/>'
        case 2:
            corners = ((x, y - size - 1), (x + size + 1, y + size), (x - size - 1, y + size))
        case _:
            corners = ((x, y - size - 2), (x + size + 2, y), (x, y + size + 2), (x - size - 2, y))
    return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'


def _legend(series: Sequence[str], kinds: Sequence[str]) -> str:
    swatches = [
        f'<span><svg class="key s{number % SERIES}" viewBox="0 0 16 16"><rect width="16" height="16"/></svg>'
        f"{shown(name)}</span>"
        for number, name in enumerate(series)
    ]
    swatches += [
        f'<span><svg class="key shape" viewBox="0 0 16 16">{_shape(number, 8, 8)}</svg>{shown(name)}</span>'
        for number, name in enumerate(kinds)
    ]
    return f'<p class="legend">{"".join(swatches)}</p>'


def _svg(parts: Sequence[str], label: str, width: int) -> str:
    return f'<svg viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{shown(label)}">{"".join(parts)}</svg>'


def _lines(text: str, room: float) -> list[str]:
    """Break a label that is too wide into two lines."""
    first, space, rest = text.partition(" ")
    return [first, rest] if space and len(text) * LETTER > room else [text]


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{shown(text)}</text>'


def _short(value: float, digits: int) -> str:
    """Abbreviate a number: 12k for 12,000."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:,.{digits}f}"
