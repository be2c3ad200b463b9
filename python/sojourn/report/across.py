"""Runs of one scenario beside each other: a table with a column for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sojourn import metrics
from sojourn.groups import groups
from sojourn.metrics import FlowSummary
from sojourn.report import own
from sojourn.report.model import NOTHING, Cell, Column, Group, Table, number
from sojourn.report.sections import Run

CAPTION = (
    "Over the measuring window of each run; marks, retransmits and drops over the whole run. Copies of a flow are one "
    "entry: the sum of their goodputs, the median of their p50, the largest p99."
)


def table(runs: Sequence[Run]) -> Table:
    """Everything that was measured of the runs, with a column for each."""
    measured = [_quantities(run) for run in runs]
    groups_ = []
    for name in dict.fromkeys(name for one in measured for name in one):
        of_runs = [one.get(name, {}) for one in measured]
        rows: list[list[Cell | None]] = [
            [Cell(quantity), *(Cell(one.get(quantity, NOTHING)) for one in of_runs)]
            for quantity in dict.fromkeys(quantity for one in of_runs for quantity in one)
        ]
        groups_.append(Group(rows, [Cell(name)]))
    sources = [run.ours for run in runs]
    columns = [Column("Flow, ping, queue", "name"), Column("Quantity", "soft")]
    columns += [Column(name, "value", run=run.id) for name, run in zip(own.columns(sources), runs, strict=True)]
    differing = ", ".join(own.differing(sources))
    return Table("runs", columns, groups_, f"The runs differ in {differing}. {CAPTION}" if differing else CAPTION)


def _quantities(run: Run) -> dict[str, dict[str, str]]:
    """Quantities as text, by subject; flows first, then pings and queues."""
    found: dict[str, dict[str, str]] = {}
    summaries = own.flows_of(run.ours)
    seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
    for label, members in groups(name for name in summaries or seen).items():
        found[label] = dict(
            _of_flows([seen[name] for name in members if name in seen], [summaries.get(name, {}) for name in members])
        )
    for label, stats in run.pings.items():
        if stats:
            found[own.ping_label(label)] = {"RTT p50 / p99, ms": own.pair(stats.p50, stats.p99)}
    for queue in own.queues(run.ours):
        median, tail = own.number_at(queue, "sojourn_ms", "p50"), own.number_at(queue, "sojourn_ms", "p99")
        # A queue in which nothing ever waited says nothing.
        if median is not None and (tail or queue.get("dropped") or queue.get("marked")):
            rows = found.setdefault(f"queue {queue.get('name')}", {})
            rows["sojourn p50 / p99, ms"] = own.pair(median, tail)
            rows["drops / marks"] = f"{own.count(queue.get('dropped'))} / {own.count(queue.get('marked'))}"
            used = own.number_at(queue, "utilisation")
            if used is not None:
                rows["utilisation, %"] = number(100 * used)
    return {name: rows for name, rows in found.items() if rows}


def _of_flows(seen: Sequence[FlowSummary], summaries: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    rates = [flow.goodput_mbps for flow in seen if flow.goodput_mbps is not None]
    together = ", all" if len(seen) > 1 else ""
    if rates:
        yield f"goodput{together}, Mbit/s", number(sum(rates))
    if text := own.over_time(seen):
        yield f"goodput p05 / p50 / p95{', each' if len(seen) > 1 else ''}, Mbit/s", text
    if text := own.classic(summaries):
        yield "in classic mode", text
    for kind in metrics.DELAYS:
        stats = [flow.delays[kind] for flow in seen if kind in flow.delays]
        if stats:
            tails = [one.p99 for one in stats if one.p99 is not None]
            yield (
                f"{kind} p50 / p99, ms",
                own.pair(float(np.median([one.p50 for one in stats])), max(tails, default=None)),
            )
    yield from own.media(summaries)
    counts = [own.total(summaries, "receiver", "ce_received"), own.total(summaries, "sender", "retransmits")]
    if any(count is not None for count in counts):
        yield "marks / retransmits", " / ".join(own.count(count) for count in counts)
    if any(isinstance(marks := one.get("marks"), Mapping) and "note" in marks for one in summaries):
        yield "marks that the sender believes", own.count(own.total(summaries, "marks", "sender_believes_packets"))
