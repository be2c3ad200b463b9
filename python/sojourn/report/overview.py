"""All runs in one picture: measured across, ours up, on the line where they agree."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from sojourn import conditions
from sojourn.plot import style

if TYPE_CHECKING:
    from sojourn.compare import Comparison

SIZE, LEFT, TOP, PLOT = 340, 56, 30, 250
RTT_TICKS = [1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280]
#: This many dots are named, each farther off the line than a tenth of the link or of the measured RTT.
NAMED, NAMED_FROM = 4, 0.1
LABEL_HEIGHT = 11
#: Measured, ours, whether the flow is the new controller's, colour, run id and flow.
Dot = tuple[float, float, bool, str, str]


def svg(comparison: Comparison) -> str:
    """Two scatter plots: goodput as a share of the ceiling, and mean TCP RTT."""
    goodput, rtt = [], []
    for pair in comparison.pairs:
        ceiling = conditions.ceiling_mbps(pair.a)
        new = conditions.role(pair.a).new
        colours = style.colours(flow.name for flow in pair.flows)
        for flow in pair.flows:
            rate, mean = flow.goodput_mbps, flow.tcp_rtt_ms["mean"]
            said = f"{pair.id} {flow.name}"
            if ceiling and rate.a is not None and rate.b is not None:
                goodput.append(
                    (
                        100 * rate.b / ceiling,
                        100 * rate.a / ceiling,
                        flow.name in new,
                        colours[flow.name],
                        said,
                    )
                )
            if mean.a and mean.b:
                rtt.append((mean.b, mean.a, flow.name in new, colours[flow.name], said))
    if not goodput or not rtt:
        return ""
    both = [value for measured, ours, *_ in rtt for value in (measured, ours)]
    low, high = 0.85 * min(both), 1.15 * max(both)
    ticks = [tick for tick in RTT_TICKS if low <= tick <= high]
    return _scatter(goodput, "Goodput, % of the link ceiling", 0, 105, [0, 25, 50, 75, 100], log=False) + _scatter(
        rtt, "Mean TCP RTT, ms", low, high, ticks, log=True
    )


def _outliers(dots: list[Dot], *, log: bool) -> list[Dot]:
    """The dots that are named: the farthest from the line, as far as they are off it by more than `NAMED_FROM`."""

    def distance(dot: Dot) -> float:
        measured, ours, *_ = dot
        return abs(math.log(ours / measured)) if log else abs(ours - measured) / 100

    return sorted((dot for dot in dots if distance(dot) > NAMED_FROM), key=distance, reverse=True)[:NAMED]


def _name(said: str) -> str:
    """The last labels of a run id and the flow: what tells a dot from the others."""
    run_id, _, flow = said.rpartition(" ")
    return f"{' '.join(run_id.split('/')[-2:])} {flow}"


def _scatter(
    dots: list[Dot],
    title: str,
    low: float,
    high: float,
    ticks: list[int],
    *,
    log: bool,
) -> str:
    def at(value: float) -> float:
        value = min(max(value, low), high)
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return share * PLOT

    bottom, right = TOP + PLOT, LEFT + PLOT
    parts = [
        f'<svg viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(title)}: ours against measured">',
        f'<text x="{LEFT}" y="18" class="head">{escape(title)}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{PLOT}" height="{PLOT}" class="frame"/>',
        f'<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{TOP}" class="same"/>',
    ]
    for tick in ticks:
        across, up = LEFT + at(tick), bottom - at(tick)
        parts += [
            f'<line x1="{across:.1f}" y1="{bottom}" x2="{across:.1f}" y2="{TOP}" class="grid"/>',
            f'<line x1="{LEFT}" y1="{up:.1f}" x2="{right}" y2="{up:.1f}" class="grid"/>',
            f'<text x="{across:.1f}" y="{bottom + 16}" text-anchor="middle">{tick}</text>',
            f'<text x="{LEFT - 6}" y="{up + 4:.1f}" text-anchor="end">{tick}</text>',
        ]
    for measured, ours, is_new, colour, said in dots:
        x, y = LEFT + at(measured), bottom - at(ours)
        tip = f"<title>{escape(said)}: ours {ours:.1f}, measured {measured:.1f}</title>"
        if is_new:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}" fill-opacity=".75">{tip}</circle>')
        else:
            parts.append(
                f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" '
                f'fill="#fff" fill-opacity=".4" '
                f'stroke="{colour}" stroke-width="1.8">{tip}</rect>'
            )
    taken: list[float] = []
    for measured, ours, _, _, said in _outliers(dots, log=log):
        x, y = LEFT + at(measured), bottom - at(ours) + 4
        while any(abs(y - other) < LABEL_HEIGHT for other in taken):
            y += LABEL_HEIGHT
        taken.append(y)
        # Away from the line, where the others are, as long as there is room for the name.
        side, shift = ("end", -8) if ours > measured and x > 6 * len(_name(said)) else ("start", 8)
        parts.append(
            f'<text x="{x + shift:.1f}" y="{y:.1f}" text-anchor="{side}" class="far">{escape(_name(said))}</text>'
        )
    parts += [
        f'<text x="{LEFT + PLOT / 2}" y="{bottom + 36}" text-anchor="middle">measured</text>',
        f'<text transform="translate(14 {TOP + PLOT / 2}) rotate(-90)" text-anchor="middle">ours</text>',
        "</svg>",
    ]
    return "".join(parts)
