"""Flent's figure of the bakeoff: throughput of each flow on the left axis, ICMP and TCP RTT on the right.

The suites drew it twice: `fixed` shows the same 100 ms above the path's RTT in every run, so that
runs can be compared, `var` three times what the run's queue reached.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from sojourn import metrics, path, style
from sojourn.plot import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import Source

Scale = Literal["auto", "fixed", "var"]
STEP_S = 0.2
FIXED_RTT_MS = 100.0
VAR_SHARE = 3.0
RATE_HEADROOM = 1.2


def draw(ours: Source, measured: Source | None, ax: Axes, scale: Scale = "auto") -> Axes:
    """Draw the run, and the measured one if there is one."""
    style.label_axes(ax, "Time, s", "Throughput, Mbit/s")
    right = ax.twinx()
    right.set_ylabel("RTT, ms")
    right.spines["top"].set_visible(False)
    colours = style.colours(curves.gathered(curves.names(ours)))
    longest = fastest = 0.0
    for side, source, line in style.sides(ours, measured):
        rates = curves.of_flows(source, partial(metrics.rate_over_time, source, step=STEP_S))
        for curve in curves.grouped([*rates, *curves.of_groups(source, "goodput", STEP_S)]):
            colour = colours.get(curve.name, style.INK)
            fastest = max(fastest, float(curve.values.max()))
            curve.draw(ax, color=colour, label=f"{curve.label} throughput{side}", **line)
        for kind, dash in ((metrics.RTT, (0, (4, 1.5))), (metrics.ONE_WAY, (0, (1, 1)))):
            for curve in curves.grouped(curves.of_series(source, metrics.DELAYS[kind])):
                longest = max(longest, float(curve.values.max()))
                colour = colours.get(curve.name, style.INK)
                label = f"{curve.label} {'TCP RTT' if kind == metrics.RTT else kind}{side}"
                curve.draw(right, color=colour, label=label, **{**line, "linestyle": dash, "linewidth": 1.0})
        for curve in curves.draw_pings(right, source, side, **{**line, "linewidth": 0.9}):
            longest = max(longest, float(curve.values.max()))
    route = path.of(ours)
    top = RATE_HEADROOM * (max(route.rates_mbps) if route.rates_mbps else max(fastest, 1e-3))
    ax.set_ylim(*(style.rate_range(ours) or (0, top)))
    base = _least_rtt_ms(ours)
    if route.rtts_ms:  # jitter can go below it
        base = float(min(int(min(route.rtts_ms)), round(base)))
    if scale == "fixed":
        right.set_ylim(base, base + FIXED_RTT_MS)
    elif scale == "var":
        right.set_ylim(base, base + VAR_SHARE * max(longest - base, 1e-3))
    handles = [*ax.get_lines(), *right.get_lines()]
    ax.legend(
        handles,
        [str(handle.get_label()) for handle in handles],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
        ncols=3,
        frameon=False,
        fontsize="small",
    )
    return ax


def _least_rtt_ms(source: Source) -> float:
    """The least RTT there is."""
    series = [*metrics.pings(source), *(f"flow.{flow}.rtt" for flow in metrics.flows(source))]
    series += [f"group.{group}.rtt.min" for group in metrics.groups(source)]
    least = [float(values.min()) for name in series if (values := metrics.finite(source, name)[1]).size]
    return min(least, default=0.0)
