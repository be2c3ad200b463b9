"""The numbers of a run, a row for each flow and kind of delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import compare, conditions, metrics
from sojourn.compare import Difference
from sojourn.compare.comparison import median
from sojourn.groups import groups
from sojourn.metrics import FlowSummary, Stats
from sojourn.report import own
from sojourn.report.model import NOTHING, Cell, Column, Group, Mark, Table, number
from sojourn.report.sections import Run


def marks_of(run: Run) -> dict[str, str]:
    """The marks of each flow or group of copies, of both sides where there are two; empty where none came."""
    if run.pair is not None:
        sides = [{flow.name: flow for flow in side.flows} for side in (run.pair.summary_a, run.pair.summary_b)]
        texts = {
            name: [side[name].marks_text if name in side else "" for side in sides] for name in {**sides[0], **sides[1]}
        }
    else:
        seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
        texts = {
            label: [metrics.marks_text([seen[name] for name in members])] for label, members in groups(seen).items()
        }
    if all(text in ("", "0") for both in texts.values() for text in both):
        return {}
    return {name: " / ".join(text or "\N{EN DASH}" for text in both) for name, both in texts.items()}


def spreads_of(run: Run) -> dict[str, str]:
    """p05, p50 and p95 of the goodput over time of each flow or group of copies, of both sides where there are two."""
    if run.pair is not None:
        sides = [{flow.name: [flow] for flow in side.flows} for side in (run.pair.summary_a, run.pair.summary_b)]
        texts = {name: [own.over_time(side.get(name, [])) for side in sides] for name in {**sides[0], **sides[1]}}
    else:
        seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
        texts = {label: [own.over_time([seen[name] for name in names])] for label, names in groups(seen).items()}
    return {name: "; ".join(text or NOTHING for text in both) for name, both in texts.items() if any(both)}


def modes_of(run: Run) -> dict[str, str]:
    """What each flow or group of copies that looks for classic queues found."""
    summaries = own.flows_of(run.ours)
    found = {label: own.classic([summaries[name] for name in names]) for label, names in groups(summaries).items()}
    return {name: text for name, text in found.items() if text}


def kernel_of(run: Run) -> dict[str, str]:
    """Goodput and RTT of each flow or group of copies on a real kernel, over the same window."""
    seen = {flow.name: flow for flow in run.kernel_summary.flows} if run.kernel_summary else {}
    alike = groups(seen) if run.pair is None else {name: [name] for name in seen}
    return {label: _goodput_and_rtt([seen[name] for name in names]) for label, names in alike.items()}


def _goodput_and_rtt(flows: Sequence[FlowSummary]) -> str:
    rates = [flow.goodput_mbps for flow in flows if flow.goodput_mbps is not None]
    rtt = [flow.tcp_rtt_ms for flow in flows if flow.tcp_rtt_ms is not None]
    tails = [stats.p99 for stats in rtt if stats.p99 is not None]
    middles = [stats.p50 for stats in rtt if stats.p50 is not None]
    delay = own.pair(median(middles), max(tails, default=None)) if middles else NOTHING
    return f"{number(sum(rates) if rates else None)}; {delay}"


#: Columns of text behind the numbers, where a run of the section has them: heading, key of the row, texts by flow.
EXTRAS = (
    ("Marks", "marks", marks_of),
    ("Goodput p05 / p50 / p95, Mbit/s", "spread", spreads_of),
    ("In classic mode", "mode", modes_of),
    ("Linux: Mbit/s; RTT p50 / p99, ms", "kernel", kernel_of),
)


def extras_of(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Heading and key of those that any of the runs has."""
    return [(heading, key) for heading, key, texts in EXTRAS if any(texts(run) for run in runs)]


@dataclass(frozen=True)
class FlowRow:
    """A flow or ping and a kind of its delay."""

    label: str
    """Name of the flow; empty in its further rows."""
    kind: str = ""
    goodput: Cell | None = None
    rtt: list[Cell] | None = None
    """Mean, p50, p95 and p99 of the delay."""
    marks: str = ""
    spread: str = ""
    """Of the goodput over time."""
    mode: str = ""
    """The share in classic mode."""
    kernel: str = ""
    """Goodput and RTT on a real kernel."""


def of(run: Run) -> list[FlowRow]:
    """A row for each flow and kind of delay, one for the ratio, one for each ping.

    Copies of a flow are one row: the sum of their goodputs, and the median of each statistic of their delays.
    """
    flows: list[tuple[str, Difference, dict[str, list[Difference]]]]
    pings: dict[str, list[Difference]]
    if run.pair is not None:
        flows = [
            (flow.name, flow.goodput_mbps, {kind: list(delay.values()) for kind, delay in flow.delays.items()})
            for flow in run.pair.flows
        ]
        pings, ratio = {"ping": list(run.pair.ping_ms.values())}, run.pair.ratio
    elif run.summary is not None:
        flows, pings = list(_lone_flows(run)), _lone_pings(run)
        ratio = Difference(run.summary.ratio, None) if len(run.summary.flows) == 2 else None
    else:
        return []
    ceiling = conditions.ceiling_mbps(run.ours)
    rows = []
    extras = {key: texts(run) for _, key, texts in EXTRAS}
    for name, rate, delays in flows:
        first = {key: texts.get(name, "") for key, texts in extras.items()}
        goodput: Cell | None = _cell(rate, ceiling, (2, 5))
        for index, (kind, delay) in enumerate((delays or {"": []}).items()):
            rtt = [_cell(x, x.b, (5, 15)) for x in delay] or None
            rows.append(FlowRow("", kind, None, rtt) if index else FlowRow(name, kind, goodput, rtt, **first))
    if ratio is not None:
        rows.append(FlowRow("ratio 2nd/1st", goodput=_cell(ratio, ratio.b, (15, 50))))
    for label, ping in pings.items():
        if any(x.a is not None for x in ping):
            rows.append(FlowRow(label, metrics.RTT, rtt=[_cell(x, x.b, (5, 15)) for x in ping]))
    return rows


def table(runs: Sequence[Run], names: Mapping[str, str], sides: tuple[str, str]) -> Table:
    """A group for each run with a row for each flow; `sides` are shown where a run has both."""
    rows = {run.id: of(run) for run in runs}
    compared = any(run.pair is not None for run in runs)
    only_rtt = all(row.kind in ("", metrics.RTT) for of_run in rows.values() for row in of_run)
    extras = extras_of(runs)
    word = "RTT " if only_rtt else ""
    columns = [Column("Run and window", "name"), Column("Flow", "name"), Column("Goodput, Mbit/s", main=True)]
    columns += [] if only_rtt else [Column("Delay", "soft")]
    columns += [Column(f"{word}{name}, ms", main=True) for name in compare.QUANTILES]
    columns += [Column(heading, "value") for heading, _ in extras]
    keys = [key for _, key in extras]
    groups_ = [
        Group(
            [_cells(row, keys, kind=not only_rtt) for row in rows[run.id]],
            [Cell(names[run.id], note=_window(run))],
            run.id,
            "" if rows[run.id] else "no flow lives long enough for a window",
        )
        for run in runs
    ]
    caption = f"Goodput in Mbit/s, {'RTT' if only_rtt else 'delay'} in ms, over the window of each run."
    return Table("flows", columns, groups_, caption, sides if compared else None)


def _window(run: Run) -> str:
    return "{:.1f}\N{EN DASH}{:.1f} s".format(*run.summary.window_s) if run.summary else ""


def _cells(row: FlowRow, extras: Sequence[str], *, kind: bool) -> list[Cell | None]:
    """The cells of a row behind the run's name."""
    delays: Sequence[Cell | None] = row.rtt or [None] * len(compare.QUANTILES)
    texts = [Cell(getattr(row, key)) for key in extras]
    return [Cell(row.label), row.goodput, *([Cell(row.kind)] if kind else []), *delays, *texts]


def _lone_flows(run: Run) -> Iterator[tuple[str, Difference, dict[str, list[Difference]]]]:
    """Goodput and delays of each flow or group of copies, and what a viewer or listener has of a media flow."""
    seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
    summaries = own.flows_of(run.ours)
    for label, members in groups(seen).items():
        rates = [rate for name in members if (rate := seen[name].goodput_mbps) is not None]
        delays = {
            kind: _middle([flow.delays[kind] for name in members if kind in (flow := seen[name]).delays])
            for kind in metrics.DELAYS
            if any(kind in seen[name].delays for name in members)
        }
        delays |= _media_rows([summaries.get(name, {}) for name in members])
        yield label, Difference(sum(rates) if rates else None, None), delays


def _media_rows(summaries: list[dict[str, Any]]) -> dict[str, list[Difference]]:
    """Frame delays, under a label that also has the other figures of quality."""
    frames = [own.number_at(one, "media", "frames", "delay_ms", "mean") for one in summaries]
    keys = ("mean", "p50", "p95", "p99")
    quality = "; ".join(f"{name} {value}" for name, value in own.quality(summaries))
    if not any(mean is not None for mean in frames):
        return {quality: []} if quality else {}
    delay = []
    for key in keys:
        values = [x for one in summaries if (x := own.number_at(one, "media", "frames", "delay_ms", key)) is not None]
        delay.append(Difference(float(np.median(values)) if values else None, None))
    return {f"frame delay ({quality})" if quality else "frame delay": delay}


def _lone_pings(run: Run) -> dict[str, list[Difference]]:
    alone = len(run.pings) == 1
    return {"ping" if alone else own.ping_label(label): _alone(stats) for label, stats in run.pings.items()}


def _middle(stats: list[Stats]) -> list[Difference]:
    """Of each statistic the median over the flows."""
    columns = zip(*(_alone(one) for one in stats), strict=True)
    return [Difference(median([x.a for x in column if x.a is not None]), None) for column in columns]


def _alone(stats: Stats | None) -> list[Difference]:
    return list(compare.spread(stats, None).values())


def _cell(value: Difference, scale: float | None, limits: tuple[float, float]) -> Cell:
    """Numbers, and how far apart they are: near, or over or under by more than the limits, in percent of `scale`."""
    percent = 100 * value.diff / scale if value.diff is not None and scale else 0.0
    far = abs(percent) > limits[1]
    mark: Mark = ""
    if abs(percent) > limits[0]:
        mark = ("far over" if far else "over") if percent > 0 else ("far under" if far else "under")
    return Cell(a=value.a, b=value.b, mark=mark)
