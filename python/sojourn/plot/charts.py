"""Charts of parameter studies as files: `sojourn plot heat`, `lines`, `pareto`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from sojourn import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.study.chart import Axis, Chart, Curve

#: Panels in a row, inches of each, and of what is around them.
ACROSS, WIDTH_IN, HEIGHT_IN = 3, 4.0, 3.3
MARKERS = "osD^vPX*"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (2, 2)),
    (0, (6, 2, 1, 2)),
    (0, (1, 1)),
    (0, (8, 2)),
    (0, (3, 3)),
    (0, (4, 1, 1, 1)),
)
#: Below this lightness what is written on a cell is white.
DARK = 0.55


def draw(chart: Chart) -> Figure:
    """The figure, not yet written; to be called where it is `styled`."""
    columns = 2 if len(chart.panels) == 4 else min(len(chart.panels), ACROSS)
    rows = -(-len(chart.panels) // columns)
    single = len(chart.panels) == 1
    size = (7.6, 5.6) if single else (WIDTH_IN * columns + 1.2, HEIGHT_IN * rows + 1.3)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    every = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    flat = list(every.flat)
    for ax, panel in zip(flat, chart.panels, strict=False):
        style.label_axes(ax, "", "")
        _scale(ax, chart.x, chart.y, turned=chart.kind == "heat")
        for curve in panel.curves:
            _cells(ax, curve) if chart.kind == "heat" else _curve(ax, curve, chart)
        if chart.kind == "pareto" and single:  # names need room
            _names(ax, chart, panel.curves)
        if chart.kind == "heat":
            ax.grid(visible=False)
            ax.spines[:].set_visible(False)
            ax.tick_params(length=0)
        if panel.title:
            ax.set_title(panel.title, loc="left", fontsize="medium")
    for ax in flat[len(chart.panels) :]:
        ax.set_axis_off()
    for column in range(columns):
        lowest = [ax for at, ax in enumerate(flat[: len(chart.panels)]) if at % columns == column][-1]
        lowest.set_xlabel(chart.x.label)
        lowest.tick_params(labelbottom=True)
    for row in every:
        row[0].set_ylabel(chart.y.label)
    width = int(size[0] * 13)
    title = "\n".join(textwrap.wrap(chart.title, int(size[0] * 9)))
    note = "\n".join(textwrap.wrap(chart.note, width))
    figure.suptitle(title.replace("$", r"\$"), x=0.01, ha="left", fontsize="large", fontweight="bold")
    if note:
        figure.supxlabel(note.replace("$", r"\$"), x=0.01, ha="left", fontsize="small", color=style.PING)
    if chart.scale:
        mapped = ScalarMappable(cmap=ListedColormap(chart.scale.colours))
        bar = figure.colorbar(mapped, ax=flat, label=chart.scale.label, pad=0.02, aspect=30)
        bar.set_ticks([at for at, _ in chart.scale.ticks], labels=[text for _, text in chart.scale.ticks])
        bar.outline.set_visible(False)
    if chart.legend:
        _legend(figure, chart)
    return figure


def _scale(ax: Axes, x: Axis, y: Axis, *, turned: bool) -> None:
    for axis, set_scale, set_range, set_ticks in (
        (x, ax.set_xscale, ax.set_xlim, ax.set_xticks),
        (y, ax.set_yscale, ax.set_ylim, ax.set_yticks),
    ):
        if axis.log:
            set_scale("log")
        set_range(*axis.range)
        labels = [text.replace("$", r"\$") for _, text in axis.ticks]
        set_ticks([at for at, _ in axis.ticks], labels=labels)
        set_ticks([], minor=True)
    if turned or any(len(text) > 8 for _, text in x.ticks):
        long = max((len(text) for _, text in x.ticks), default=0) * len(x.ticks) > 40
        ax.tick_params(axis="x", labelrotation=30 if long else 0)


def _cells(ax: Axes, curve: Curve) -> None:
    for mark in curve.marks:
        ax.add_patch(Rectangle((mark.x - 0.48, mark.y - 0.48), 0.96, 0.96, facecolor=mark.colour, linewidth=0))
        if mark.text:
            ink = "white" if _lightness(mark.colour) < DARK else "black"
            ax.text(mark.x, mark.y, mark.text, ha="center", va="center", color=ink, fontsize="small")


def _curve(ax: Axes, curve: Curve, chart: Chart) -> None:
    marks, marker = curve.marks, MARKERS[curve.shape % len(MARKERS)]
    x, y = [mark.x for mark in marks], [mark.y for mark in marks]
    if chart.kind == "dots":
        size = 60 if len(marks) < 200 else 25
        ax.scatter(x, y, c=[mark.colour for mark in marks], s=size, zorder=3, edgecolors="white", linewidths=0.5)
        return
    if curve.is_front:
        ax.plot(x, y, color=curve.colour, linewidth=1.2, linestyle=(0, (4, 2)), zorder=2)
        return
    if curve.is_joined:
        ax.plot(x, y, color=curve.colour, linewidth=1.4, linestyle=DASHES[curve.shape % len(DASHES)], zorder=3)
    for mark in marks:
        if mark.low is not None and mark.high is not None:
            ax.plot([mark.x] * 2, [mark.low, mark.high], color=curve.colour, linewidth=1.6, alpha=0.8, zorder=3)
    for is_faint, alpha, order in ((True, 0.3, 3), (False, 1.0, 4)):
        shown = [mark for mark in marks if mark.faint == is_faint]
        ax.plot(
            [mark.x for mark in shown], [mark.y for mark in shown], linestyle="", marker=marker, markersize=6,
            color=curve.colour, alpha=alpha, zorder=order, markeredgecolor="white", markeredgewidth=0.5,
        )  # fmt: skip


def _names(ax: Axes, chart: Chart, curves: list[Curve]) -> None:
    """Beside marks, on the side with more room; what would lie on another name is left out."""
    taken: list[tuple[float, float, float]] = []
    for mark in sorted((mark for curve in curves for mark in curve.marks if mark.text), key=lambda mark: mark.x):
        x, y = chart.x.share(mark.x), chart.y.share(mark.y)
        width, gap = 0.011 * len(mark.text) + 0.02, 0.035
        to_left = x > 0.5
        low, high = (x - width, x) if to_left else (x, x + width)
        # Above the line first.
        rows = [y + step * gap for step in (1, -1)]
        free = [
            row
            for row in rows
            if 0 <= row <= 1
            and not any(abs(row - other) < gap and low < end and begin < high for other, begin, end in taken)
        ]
        if not free:
            continue
        taken.append((free[0], low, high))
        side, shift = ("right", -7) if to_left else ("left", 7)
        ax.annotate(
            mark.text.replace("$", r"\$"), (x, free[0]), (shift, 0), xycoords="axes fraction",
            textcoords="offset points", ha=side, va="center", fontsize="x-small", color=style.INK, zorder=2.5,
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1},
        )  # fmt: skip


def _legend(figure: Figure, chart: Chart) -> None:
    curves = {curve.name: curve for panel in chart.panels for curve in panel.curves if curve.name}
    handles = [
        Line2D(
            [], [], color=one.colour, marker=MARKERS[one.shape % len(MARKERS)], markeredgecolor="white", markersize=7,
            linestyle=DASHES[one.shape % len(DASHES)] if one.is_joined else "", label=one.name,
        )
        for one in curves.values()
    ]  # fmt: skip
    figure.legend(handles=handles, title=chart.legend, loc="outside right upper", frameon=False, fontsize="small")


def _lightness(colour: str) -> float:
    red, green, blue = to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue
