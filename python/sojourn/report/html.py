"""The page as one HTML file that needs nothing else: tables first, then plots that zoom."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from sojourn.report import charts
from sojourn.report.model import Page, Plot, Scatter, Table, number

#: Size of a scatter plot, and of its parts.
SIZE, LEFT, TOP, PLOT, LABEL_HEIGHT = 340, 56, 30, 250, 11


def render(page: Page) -> str:
    """The whole file."""
    figures = page.figures
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            figures={figure.run: count for count, figure in enumerate(figures, 1)},
            any_compared=any(figure.compared for figure in figures),
            chart=lambda shown: Markup(charts.render(shown)),  # noqa: S704 - numbers and escaped text
            scatter=lambda shown: Markup(_scatter(shown, page.sides)),  # noqa: S704 - numbers and escaped text
            panels=_panels(page),
            uplot_js=Markup(_vendored("uPlot.iife.min.js")) if figures else "",  # noqa: S704 - shipped file
            uplot_css=Markup(_vendored("uPlot.min.css")) if figures else "",  # noqa: S704 - shipped file
        )
    )


def table(shown: Table) -> Markup:
    """A table by itself."""
    macros: Any = _environment().get_template("table.html.j2").module
    return Markup(macros.table(shown, {}))  # noqa: S704 - escaped by the template


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


def _vendored(name: str) -> str:
    return resources.files("sojourn.report").joinpath("uplot", name).read_text(encoding="utf-8").strip()


def _panels(page: Page) -> Markup:
    """The plots of all runs, by id, as JSON; values are little-endian float32 in base64, NaN for gaps."""
    runs = {
        figure.run: {
            "end": figure.end_s,
            "window": figure.window_s,
            "plots": {plot.kind: _plot(plot) for plot in figure.plots if plot.series},
        }
        for figure in page.figures
    }
    # JSON that cannot end the script element around it.
    text = json.dumps(runs, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _plot(plot: Plot) -> dict[str, Any]:
    series = []
    for one in plot.series:
        shown = {key: getattr(one, key) for key in ("label", "side", "colour", "dash", "edge")}
        shown["data"] = _packed(one.values)
        if one.t_s:
            shown |= {"t": _packed(one.t_s), "shape": one.shape, "low": _packed(one.low)}
        series.append(shown)
    return {"series": series, "unit": plot.unit, "range": plot.range, "peak": plot.peak}


def _packed(values: Sequence[float | None]) -> str:
    return base64.b64encode(np.array(values, dtype="<f4").tobytes()).decode("ascii")


def _scatter(shown: Scatter, sides: tuple[str, str]) -> str:
    """An SVG picture: the other side across, the results up."""
    low, high = shown.range

    def at(value: float) -> float:
        value = min(max(value, low), high)
        share = math.log(value / low) / math.log(high / low) if shown.log else (value - low) / (high - low)
        return share * PLOT

    up, across = sides
    bottom, right = TOP + PLOT, LEFT + PLOT
    parts = [
        f'<svg viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(shown.title)}: {up} against {across}">',
        f'<text x="{LEFT}" y="18" class="head">{escape(shown.title)}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{PLOT}" height="{PLOT}" class="frame"/>',
        f'<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{TOP}" class="same"/>',
    ]
    for tick in shown.ticks:
        x, y = LEFT + at(tick), bottom - at(tick)
        parts += [
            f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{TOP}" class="grid"/>',
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="grid"/>',
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>',
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>',
        ]
    for dot in shown.dots:
        x, y = LEFT + at(dot.x), bottom - at(dot.y)
        tip = f"<title>{escape(dot.label)}: {up} {dot.y:.1f}, {across} {dot.x:.1f}</title>"
        if dot.is_new:
            look = f'fill="{dot.colour}" fill-opacity=".75"'
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {look}>{tip}</circle>')
        else:
            look = f'fill="#fff" fill-opacity=".4" stroke="{dot.colour}" stroke-width="1.8"'
            parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {look}>{tip}</rect>')
    taken: list[float] = []
    for dot in (dot for dot in shown.dots if dot.name):
        x, y = LEFT + at(dot.x), bottom - at(dot.y) + 4
        while any(abs(y - other) < LABEL_HEIGHT for other in taken):
            y += LABEL_HEIGHT
        taken.append(y)
        # Away from the line, where the others are, as long as there is room for the name.
        side, shift = ("end", -8) if dot.y > dot.x and x > 6 * len(dot.name) else ("start", 8)
        parts.append(
            f'<text x="{x + shift:.1f}" y="{y:.1f}" text-anchor="{side}" class="far">{escape(dot.name)}</text>'
        )
    parts += [
        f'<text x="{LEFT + PLOT / 2}" y="{bottom + 36}" text-anchor="middle">{across}</text>',
        f'<text transform="translate(14 {TOP + PLOT / 2}) rotate(-90)" text-anchor="middle">{up}</text>',
        "</svg>",
    ]
    return "".join(parts)
