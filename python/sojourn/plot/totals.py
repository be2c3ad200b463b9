"""Goodput of each flow and of all together, in one-second means."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sojourn import metrics, path, style
from sojourn.plot import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.label_axes(ax, "time, s", "goodput, Mbit/s (1-s means)")
    colours = style.colours(curves.gathered(curves.names(ours)))
    for side, source, line in style.sides(ours, measured):
        total: dict[float, float] = {}
        rates = curves.of_flows(source, partial(metrics.rate_over_time, source))
        groups = {group: path.group_label(source, group) for group in metrics.groups(source)}
        sums = [curves.Curve(label, *metrics.rate_over_time(source, group)) for group, label in groups.items()]
        rates += [curve for curve in sums if curve.t.size]
        for curve in curves.grouped(rates):
            curve.draw(ax, color=colours.get(curve.name, style.INK), label=f"{curve.label}{side}", **line)
        for curve in rates:
            for second, value in zip(np.round(curve.t), curve.values, strict=True):
                total[float(second)] = total.get(float(second), 0.0) + float(value)
        if len(rates) > 1:
            t = np.array(sorted(total))
            ax.plot(
                t,
                [total[float(second)] for second in t],
                color=style.INK,
                label=f"sum{side}",
                **line,
            )
    if (limits := style.rate_range(ours)) is not None:
        ax.set_ylim(*limits)
    ax.legend(frameon=False, fontsize="small", ncols=2)
    return ax
