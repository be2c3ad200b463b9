"""Delivery rate of each flow on the left axis, ICMP and TCP RTT on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import style
from sojourn.plot import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.label_axes(ax, "time, s", "delivery rate, Mbit/s")
    right = ax.twinx()
    right.set_ylabel("RTT, ms")
    right.spines["top"].set_visible(False)
    colours = style.colours(curves.gathered(curves.names(ours)))
    for side, source, line in style.sides(ours, measured):
        dotted = {
            **line,
            "linestyle": ":" if line is style.OURS else (0, (1, 3)),
            "linewidth": line["linewidth"] * 0.9,
        }
        for axis, series, of, form in ((ax, "delivery_rate", "rate", line), (right, "rtt", "RTT", dotted)):
            for curve in curves.grouped(curves.of_series(source, series)):
                colour = colours.get(curve.name, style.INK)
                curve.draw(axis, color=colour, label=f"{curve.label} {of}{side}", **form)
        curves.draw_pings(right, source, side, **{**line, "linewidth": line["linewidth"] * 0.7})
    if (limits := style.rate_range(ours)) is not None:
        ax.set_ylim(*limits)
    if (limits := style.rtt_range(ours, style.longest_ping(measured or ours))) is not None:
        right.set_ylim(*limits)
    handles = [*ax.get_lines(), *right.get_lines()]
    ax.legend(
        handles,
        [str(h.get_label()) for h in handles],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
        ncols=4,
        frameon=False,
        fontsize="small",
    )
    return ax
