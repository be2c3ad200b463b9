"""Distribution of the ping RTT over the measuring window."""

from __future__ import annotations

from matplotlib.axes import Axes

from sojourn import metrics
from sojourn.metrics import Source
from sojourn.plot import style


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
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
