"""Congestion window of each flow over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import style
from sojourn.plot import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.label_axes(ax, "time, s", "cwnd, segments")
    colours = style.colours(curves.gathered(curves.names(ours)))
    for side, source, line in style.sides(ours, measured):
        for curve in curves.grouped(curves.of_series(source, "cwnd")):
            curve.draw(ax, color=colours.get(curve.name, style.INK), label=f"{curve.label}{side}", **line)
    if not ax.get_lines():
        raise curves.PlotError(f"{ours.id}: expected flows with a congestion window, found none")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small", ncols=2)
    return ax
