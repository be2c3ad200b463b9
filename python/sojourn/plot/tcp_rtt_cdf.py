"""Distribution of each flow's TCP RTT over the measuring window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import metrics
from sojourn.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.dress(ax, "TCP RTT, ms", "share of samples at or below")
    over = style.measured_window(ours, measured)
    colours = style.colours(metrics.flows(ours))
    for side, source, line in style.sides(ours, measured):
        for flow in metrics.flows(source):
            values = metrics.inside(source, f"flow.{flow}.rtt", over)
            style.cumulative(ax, values, color=colours.get(flow, style.INK), label=f"{flow}{side}", **line)
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax
