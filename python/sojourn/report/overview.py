"""All flows in one picture: measured across, ours up, on the line where they agree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from sojourn import conditions, style
from sojourn.compare import Comparison
from sojourn.report.model import Dot, Scatter

RTT_TICKS = [1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280]
#: This many dots are named, each farther off the line than a tenth of the link or of the measured RTT.
NAMED, NAMED_FROM = 4, 0.1


def scatters(comparison: Comparison) -> list[Scatter]:
    """Goodput as a share of the ceiling, and mean TCP RTT; nothing where there is none of either."""
    goodput, rtt = [], []
    for pair in comparison.pairs:
        ceiling = conditions.ceiling_mbps(pair.a)
        new = conditions.role(pair.a).new
        colours = style.colours(flow.name for flow in pair.flows)
        for flow in pair.flows:
            rate, mean = flow.goodput_mbps, flow.tcp_rtt_ms["mean"]
            dot = Dot(f"{pair.id} {flow.name}", 0, 0, colours[flow.name], flow.name in new)
            if ceiling and rate.a is not None and rate.b is not None:
                goodput.append(replace(dot, x=100 * rate.b / ceiling, y=100 * rate.a / ceiling))
            if mean.a and mean.b:
                rtt.append(replace(dot, x=mean.b, y=mean.a))
    if not goodput or not rtt:
        return []
    both = [value for dot in rtt for value in (dot.x, dot.y)]
    low, high = 0.85 * min(both), 1.15 * max(both)
    ticks: list[float] = [tick for tick in RTT_TICKS if low <= tick <= high]
    goodput, rtt = _named(goodput, log=False), _named(rtt, log=True)
    return [
        Scatter("Goodput, % of the link ceiling", (0, 105), [0, 25, 50, 75, 100], goodput),
        Scatter("Mean TCP RTT, ms", (low, high), ticks, rtt, log=True),
    ]


def _named(dots: Iterable[Dot], *, log: bool) -> list[Dot]:
    """With the names of those that are farthest from the line, if they are off it by more than `NAMED_FROM`."""

    def distance(dot: Dot) -> float:
        return abs(math.log(dot.y / dot.x)) if log else abs(dot.y - dot.x) / 100

    dots = list(dots)
    far = sorted((dot for dot in dots if distance(dot) > NAMED_FROM), key=distance, reverse=True)[:NAMED]
    return [replace(dot, name=_name(dot.label) if dot in far else "") for dot in dots]


def _name(label: str) -> str:
    """The last labels of a run id and the flow: what distinguishes a dot from the others."""
    run_id, _, flow = label.rpartition(" ")
    return f"{' '.join(run_id.split('/')[-2:])} {flow}"
