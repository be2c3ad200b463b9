"""The page as one HTML file that needs nothing else: tables first, then plots that zoom."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from sojourn.report import charts, scatter
from sojourn.report.model import Page, Plot, Table, number

#: Of what report and lab share: the looks, and the modules in the order of their imports.
STYLES = ("tokens.css", "page.css")
MODULES = ("page.js", "plots.js", "curves.js", "report.js")


def render(page: Page) -> str:
    """The whole file."""
    figures = page.figures
    numbers = {figure.run: count for count, figure in enumerate(figures, 1)}
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            figures=numbers,
            any_compared=any(figure.compared for figure in figures),
            chart=lambda shown: Markup(charts.render(shown)),  # noqa: S704 - numbers and escaped text
            scatter=lambda shown: Markup(scatter.render(shown, page.sides, numbers)),  # noqa: S704 - as above
            panels=_panels(page),
            uplot_js=Markup(_shipped("report/uplot/uPlot.iife.min.js")) if figures else "",  # noqa: S704 - shipped file
            css=_styles(with_plots=bool(figures)),
            script=_script(),
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


@cache
def _shipped(name: str) -> str:
    return resources.files("sojourn").joinpath(name).read_text(encoding="utf-8").strip()


def _styles(*, with_plots: bool) -> Markup:
    names = [f"page/{name}" for name in STYLES]
    return Markup("\n".join(map(_shipped, ["report/uplot/uPlot.min.css", *names] if with_plots else names)))  # noqa: S704


def _script() -> Markup:
    """The modules as one: an inline module cannot import another, so what they import from each other is left out."""
    lines = (line for name in MODULES for line in _shipped(f"page/{name}").splitlines())
    return Markup("\n".join(line for line in lines if not line.startswith("import ")))  # noqa: S704 - shipped files


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
