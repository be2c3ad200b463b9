"""The figure of a search: its history or Pareto front, and each parameter against the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from sojourn import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Panels beside the first one; of more parameters the first ones are drawn.
MOST = 8
COLUMNS = 3
GOOD, BAD, CHOSEN, AS_IT_IS = "#0072B2", "#9A9A9A", "#D55E00", "#222222"
#: A positive objective that spans more than this factor has a logarithmic axis.
WIDE = 20.0
#: Characters of a choice on an axis.
LONGEST = 18


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the search: a value for each trial, None where a trial has none."""

    name: str
    values: list[float | str | None]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """Trials as columns, in the order in which they were asked for; those without values are left out."""

    title: str
    objectives: list[tuple[str, bool, list[float]]]
    """Text, whether more is better, and the means."""
    feasible: list[bool]
    best: list[bool]
    """The best one, or those on the Pareto front."""
    parameters: list[Parameter] = field(default_factory=list)
    as_it_is: list[float] | None = None
    """The objectives of the scenario as it is."""


def draw(points: Points) -> Figure:
    """The figure, to be called where it is `styled`."""
    shown = points.parameters[:MOST]
    count = 1 + len(shown)
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(3.9 * columns + 0.4, 3.3 * rows + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(np.atleast_1d(figure.subplots(rows, columns)).flat)
    if len(points.objectives) > 1:
        _front(axes[0], points)
    else:
        _history(axes[0], points)
    for ax, parameter in zip(axes[1:], shown, strict=False):
        _parameter(ax, points, parameter)
    for ax in axes[count:]:
        ax.set_axis_off()
    figure.suptitle(points.title.replace("$", r"\$"), x=0.01, ha="left", fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=len(labels), frameon=False, fontsize="small")
    return figure


def _history(ax: Axes, points: Points) -> None:
    text, more, values = points.objectives[0]
    at = np.arange(len(values))
    _dots(ax, points, at, np.array(values))
    pick = max if more else min
    reached: list[float] = []
    for value, feasible in zip(values, points.feasible, strict=True):
        last = reached[-1] if reached else math.nan
        better = value if math.isnan(last) else pick(last, value)
        reached.append(better if feasible else last)
    ax.plot(at, reached, color=CHOSEN, linewidth=1.2, drawstyle="steps-post", label="best so far")
    if points.as_it_is:
        ax.axhline(points.as_it_is[0], color=AS_IT_IS, linewidth=1, linestyle=(0, (4, 3)), label="as it is")
    _scale(ax, values)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.label_axes(ax, "trial", _name(text))


def _front(ax: Axes, points: Points) -> None:
    (across, more, xs), (up, _, ys) = points.objectives[:2]
    _dots(ax, points, np.array(xs), np.array(ys))
    front = sorted((x, y) for x, y, best in zip(xs, ys, points.best, strict=True) if best)
    if len(points.objectives) == 2 and front:
        # What is attained between two points is what the one with the worse value across has.
        steps = "steps-pre" if more else "steps-post"
        ax.plot(*zip(*front, strict=True), color=CHOSEN, linewidth=1, alpha=0.6, drawstyle=steps)
    if points.as_it_is:
        x, y = points.as_it_is[:2]
        ax.plot([x], [y], marker="x", markersize=8, color=AS_IT_IS, linestyle="none", label="as it is")
    _scale(ax, ys)
    if _wide(xs):
        _log(ax, "x")
    style.label_axes(ax, _name(across), _name(up))


def _parameter(ax: Axes, points: Points, parameter: Parameter) -> None:
    text, _, values = points.objectives[0]
    texts = list(dict.fromkeys(value for value in parameter.values if isinstance(value, str)))
    at = np.array(
        [math.nan if v is None else texts.index(v) if isinstance(v, str) else v for v in parameter.values],
        dtype=np.float64,
    )
    if texts:
        # Trials with one choice are beside each other, in their order.
        at = at + np.linspace(-0.2, 0.2, at.size)
        ax.set_xticks(range(len(texts)), [_short(one) for one in texts], rotation=20, ha="right", fontsize="small")
        ax.set_xlim(-0.5, len(texts) - 0.5)
    _dots(ax, points, at, np.array(values))
    if parameter.log:
        _log(ax, "x")
    _scale(ax, values)
    style.label_axes(ax, parameter.name, _name(text))


def _dots(ax: Axes, points: Points, x: Any, y: Any) -> None:
    feasible, best = np.array(points.feasible), np.array(points.best)
    plain: dict[str, Any] = {"linestyle": "none", "markersize": 4.5}
    if not feasible.all():
        bad = ~feasible
        ax.plot(x[bad], y[bad], marker="o", color=BAD, fillstyle="none", label="violates a constraint", **plain)
    good = feasible & ~best
    ax.plot(x[good], y[good], marker="o", color=GOOD, alpha=0.7, label="trial", **plain)
    several = len(points.objectives) > 1
    found: dict[str, Any] = {"marker": "D", "color": CHOSEN, "linestyle": "none", "markersize": 6, "zorder": 3}
    ax.plot(x[best], y[best], label="Pareto front" if several else "best", **found)


def _scale(ax: Axes, values: Sequence[float]) -> None:
    if _wide(values):
        _log(ax, "y")


def _log(ax: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis with numbers that people write."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE


def _name(text: str) -> str:
    return _short(text.replace("$", r"\$"), 40)


def _short(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
