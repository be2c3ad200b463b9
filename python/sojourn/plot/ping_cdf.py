"""Distribution of the ping RTT over the measuring window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import metrics
from sojourn.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.dress(ax, "ping RTT, ms", "share of samples at or below")
    over = style.measured_window(ours, measured)
    for side, source, line in style.sides(ours, measured):
        for name in metrics.pings(source)[:1]:
            style.cumulative(
                ax,
                metrics.inside(source, name, over),
                color=style.PING,
                label=f"ICMP{side}",
                **line,
            )
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax
