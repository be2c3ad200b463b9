"""One look for every figure: colours for the colour-blind, dashes for the copier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import conditions, metrics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from sojourn.metrics import Source

#: Okabe and Ito's palette. A congestion control keeps its colour in all figures and in the report.
COLOURS = {
    "prague": "#0072B2",
    "cubic": "#D55E00",
    "reno": "#CC79A7",
    "bbr": "#009E73",
    "dctcp": "#56B4E9",
    "cubic-sce": "#009E73",
    "reno-sce": "#009E73",
    "dctcp-sce": "#56B4E9",
}
SPARE = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#0072B2")
#: No controller's colour, nor near one.
PING = "#595959"
#: Of several pings in one pair of axes.
PINGS = (PING, "#7B3294", "#8C6D31", "#1B7F5C", "#E7298A", "#1F78B4", "#B2182B", "#000000")
PING_DASHES: tuple[Any, ...] = ("-", (0, (4, 4)), (0, (2, 2)), (0, (1, 1)))
INK = "#222222"

OURS: dict[str, Any] = {"linewidth": 1.6, "linestyle": "-"}
MEASURED: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (5, 2)), "alpha": 0.75}


def colours(flows: Iterable[str]) -> dict[str, str]:
    """A colour for each flow, by its congestion control; distinct where two flows have the same."""
    chosen: dict[str, str] = {}
    for flow in flows:
        parts = flow.split("-")
        wanted = COLOURS.get("-".join(parts[:2]), COLOURS.get(parts[0]))
        free = [colour for colour in (wanted, *SPARE) if colour and colour not in chosen.values()]
        chosen[flow] = free[0] if free else SPARE[len(chosen) % len(SPARE)]
    return chosen


def sides(ours: Source, measured: Source | None) -> list[tuple[str, Source, dict[str, Any]]]:
    """What is drawn, with its label and line; the label is empty if there is only one side."""
    if measured is None:
        return [("", ours, OURS)]
    return [(", measured", measured, MEASURED), (", ours", ours, OURS)]


def rate_range(run: Source) -> tuple[float, float] | None:
    """Of the delivery rate axis, by link rate: that figures of a suite's runs can be laid side by side."""
    tops = {1: 1.2, 5: 6, 10: 12, 25: 30, 50: 55, 250: 260}
    rate = conditions.of(run).rate_mbps if conditions.role(run).section else None
    return (0, tops.get(int(rate), 1.1 * rate)) if rate else None


def rtt_range(run: Source, longest_ping_ms: float | None) -> tuple[float, float] | None:
    """Of the RTT axis, by path RTT; queues that only drop scale with the longest ping."""
    tops = {10: 60, 20: 70, 80: 150, 160: 260, 500: 1000}
    rtt = conditions.role(run).rtt_ms
    if rtt is None:
        return None
    queues = [str(link.get("qdisc")) for link in conditions.document(run).get("link", ())]
    unbounded = any(queue.startswith("pfifo ") or queue.endswith(" noecn") for queue in queues)
    if unbounded and longest_ping_ms is not None and longest_ping_ms > rtt:
        return rtt, rtt + 3 * (longest_ping_ms - rtt)
    return rtt, tops.get(int(rtt), 2 * rtt)


def longest_ping(source: Source) -> float | None:
    """Maximum of all pings, in ms."""
    values = [metrics.finite(source, name)[1] for name in metrics.pings(source)]
    tops = [float(column.max()) for column in values if column.size]
    return max(tops) if tops else None


def label_axes(ax: Axes, x: str, y: str) -> Axes:
    """Label the axes and lighten the frame."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(visible=True, color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def cumulative(ax: Axes, values: metrics.FloatArray, **line: Any) -> None:
    """A distribution function as a staircase."""
    if values.size:
        ordered = np.sort(values)
        ax.plot(ordered, np.arange(1, ordered.size + 1) / ordered.size, drawstyle="steps-post", **line)


def measured_window(ours: Source, measured: Source | None) -> metrics.Window:
    """The measuring window of a figure: that of the measurement, else of the scenario, else the run's own, else all."""
    return (
        (metrics.window(measured) if measured else metrics.measuring_window(ours))
        or metrics.window(ours)
        or (0.0, float("inf"))
    )
