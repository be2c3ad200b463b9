"""Congestion window of each flow over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import metrics
from sojourn.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.dress(ax, "time, s", "cwnd, segments")
    colours = style.colours(metrics.flows(ours))
    for side, source, line in style.sides(ours, measured):
        for flow in metrics.flows(source):
            t, cwnd = metrics.finite(source, f"flow.{flow}.cwnd")
            if t.size:
                ax.plot(t, cwnd, color=colours.get(flow, style.INK), label=f"{flow}{side}", **line)
    ax.set_ylim(bottom=0)
    if ax.get_lines():
        ax.legend(frameon=False, fontsize="small", ncols=2)
    return ax
