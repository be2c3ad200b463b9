"""Scatter figures as SVG: the other side across, the results up; dots far off the line have names that lead to runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape

from sojourn.report.model import Dot, Scatter

#: Size of a picture, and of its parts; a line of names is this high, and a letter about this wide.
SIZE, LEFT, TOP, PLOT, LINE, LETTER = 340, 56, 30, 250, 13, 5.6


def render(shown: Scatter, sides: tuple[str, str], figures: Mapping[str, int]) -> str:
    """The picture; `figures` has the number of each run's figure, where the page has them."""
    up, across = sides
    middle = TOP + PLOT / 2
    return "".join(
        [
            f'<svg viewBox="0 0 {SIZE} {SIZE}" role="group" aria-label="{escape(shown.title)}: {up} against {across}">',
            f'<text x="{LEFT}" y="18" class="head-text">{escape(shown.title)}</text>',
            *_axes(shown),
            *(_dot(shown, dot, sides) for dot in shown.dots if not dot.name),
            *_named(shown, sides, figures),
            f'<text x="{LEFT + PLOT / 2}" y="{TOP + PLOT + 36}" text-anchor="middle">{across}</text>',
            f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{up}</text>',
            "</svg>",
        ]
    )


def _place(shown: Scatter, dot: Dot) -> tuple[float, float]:
    return LEFT + _at(shown, dot.x), TOP + PLOT - _at(shown, dot.y)


def _at(shown: Scatter, value: float) -> float:
    low, high = shown.range
    value = min(max(value, low), high)
    share = math.log(value / low) / math.log(high / low) if shown.log else (value - low) / (high - low)
    return share * PLOT


def _axes(shown: Scatter) -> Iterator[str]:
    bottom, right = TOP + PLOT, LEFT + PLOT
    yield f'<rect x="{LEFT}" y="{TOP}" width="{PLOT}" height="{PLOT}" class="frame"/>'
    yield f'<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{TOP}" class="same"/>'
    for tick in shown.ticks:
        x, y = LEFT + _at(shown, tick), bottom - _at(shown, tick)
        yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{TOP}" class="grid"/>'
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="grid"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'


def _dot(shown: Scatter, dot: Dot, sides: tuple[str, str]) -> str:
    x, y = _place(shown, dot)
    tip = f"<title>{escape(dot.label)}: {sides[0]} {dot.y:.1f}, {sides[1]} {dot.x:.1f}</title>"
    if dot.is_new:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{dot.colour}" fill-opacity=".75">{tip}</circle>'
    look = f'class="open" stroke="{dot.colour}" stroke-width="1.8"'
    return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {look}>{tip}</rect>'


def _named(shown: Scatter, sides: tuple[str, str], figures: Mapping[str, int]) -> Iterator[str]:
    """Dots with names: those above the line have them at the top, the others at the bottom, where no other dots are.

    A name begins, or ends, where its dot is, and the line between them is upright: by their order it crosses no name.
    """
    named = sorted((dot for dot in shown.dots if dot.name), key=lambda dot: dot.x)
    above, below = [dot for dot in named if dot.y > dot.x], [dot for dot in named if dot.y <= dot.x]
    for row, dot in enumerate(above):
        x, width = _place(shown, dot)[0], LETTER * len(dot.name)
        yield _name(shown, dot, (min(x - 3, SIZE - width), TOP + LINE * (row + 1)), "start", sides, figures)
    for row, dot in enumerate(reversed(below)):
        x, width = _place(shown, dot)[0], LETTER * len(dot.name)
        yield _name(shown, dot, (max(x + 3, width), TOP + PLOT - 5 - LINE * row), "end", sides, figures)


def _name(
    shown: Scatter,
    dot: Dot,
    at: tuple[float, float],
    anchor: str,
    sides: tuple[str, str],
    figures: Mapping[str, int],
) -> str:
    x, y = _place(shown, dot)
    end = at[1] + (3 if anchor == "start" else -10)
    parts = (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{end:.1f}" class="leader"/>'
        f"{_dot(shown, dot, sides)}"
        f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" class="far">{escape(dot.name)}</text>'
    )
    number = figures.get(dot.label.rpartition(" ")[0])
    return f'<a href="#run-{number}">{parts}</a>' if number else parts
