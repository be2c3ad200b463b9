"""What of a run is compared with another engine's: one value each, and how many events are behind it."""

from __future__ import annotations

import statistics
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import _core, metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sojourn.metrics import FloatArray
    from sojourn.results import Run


class Kind(StrEnum):
    """Quantities that are judged alike."""

    GOODPUT = "goodput"
    DELAY = "delay"
    TAIL = "delay p99"
    COUNT = "count"
    ACKS = "ACKs per segment"
    WINDOW = "window"


@dataclass(frozen=True, slots=True)
class Value:
    """A quantity of one run."""

    #: Of which flow, queue or ping.
    of: str
    name: str
    kind: Kind
    #: Mbit/s, ms, a number, ACKs per segment, or segments.
    value: float
    #: Packets, samples or whatever it is made of.
    events: int


def of(run: Run) -> list[Value]:
    """All that both engines state; what a run does not have is absent."""
    summary = run.summary
    flows = [value for flow in summary.get("flows", []) for value in _flow(run, flow)]
    pings = [value for ping in summary.get("pings", []) for value in _delays(ping["name"], "ping", ping.get("rtt_ms"))]
    queues = [value for queue in run.queues for value in _queue(run, queue)]
    return [*flows, *pings, *queues]


def mean(runs: Sequence[Sequence[Value]]) -> list[Value]:
    """Of each quantity that the first run has, over those that have it."""
    tables = [{(value.of, value.name): value.value for value in values} for values in runs]

    def over(value: Value) -> float:
        return statistics.fmean(table[key] for table in tables if (key := (value.of, value.name)) in table)

    return [replace(value, value=over(value)) for value in runs[0]]


def _flow(run: Run, flow: dict[str, Any]) -> Iterator[Value]:
    name, sender, receiver = str(flow["name"]), flow.get("sender", {}), flow.get("receiver", {})
    segments = int(receiver.get("segments_received") or receiver.get("packets_received") or 0)
    yield Value(name, "goodput", Kind.GOODPUT, float(flow["goodput_mbps"]), segments)
    if "rtt_ms" in flow:
        yield from _delays(name, "RTT", _statistics(_carrying(run, name, "rtt")))
    yield from _delays(name, "completion", (flow.get("completions") or {}).get("time_ms"))
    for key, what in (("retransmits", "retransmits"), ("timeouts", "RTOs"), ("ce_reported", "marks reported")):
        if sender.get(key) is not None:
            yield Value(name, what, Kind.COUNT, float(sender[key]), int(sender[key]))
    if segments and receiver.get("acks_sent") is not None:
        acks = int(receiver["acks_sent"])
        yield Value(name, "ACKs per segment", Kind.ACKS, acks / segments, acks)
    for series, what in (("cwnd", "cwnd"), ("in_flight", "in flight")):
        values = _carrying(run, name, series)
        for q in (5, 50, 95):
            if len(values):
                yield Value(name, f"{what} p{q:02}", Kind.WINDOW, float(np.percentile(values, q)), len(values))


def _carrying(run: Run, flow: str, series: str) -> FloatArray:
    """The samples of a flow from its first data to its last.

    A kernel's begin when its receiver accepts and end when that closes, ours at the SYN/ACK and with the last ACK.
    """
    times, values = metrics.finite(run, f"flow.{flow}.{series}")
    arrivals, arrived = metrics.finite(run, f"flow.{flow}.goodput_bytes")
    whole = np.max(arrived, initial=0)
    first, last = (np.min(arrivals[arrived >= least], initial=np.inf) for least in (1, whole))
    return values[(times >= first) & (times <= last)]


def _statistics(values: FloatArray) -> dict[str, Any] | None:
    if not len(values):
        return None
    return {
        "n": len(values),
        "mean": values.mean(),
        "p50": np.percentile(values, 50),
        "p99": np.percentile(values, 99),
    }


def _delays(of: str, name: str, statistics: dict[str, Any] | None) -> Iterator[Value]:
    if statistics and statistics.get("n"):
        for key, kind in (("mean", Kind.DELAY), ("p50", Kind.DELAY), ("p99", Kind.TAIL)):
            if statistics.get(key) is not None:
                yield Value(of, f"{name} {key}", kind, float(statistics[key]), int(statistics["n"]))


def _queue(run: Run, queue: dict[str, Any]) -> Iterator[Value]:
    name = str(queue["name"])
    # Linux counts a packet twice that both laws of CoDel mark (`codel_dequeue`).
    is_counted_twice = {"codel", "ce_threshold"} <= set(queue.get("marks", {}))
    for key, what in (("dropped", "drops"), ("marked", "marks")):
        if queue.get(key) is not None and not (key == "marked" and is_counted_twice):
            yield Value(name, what, Kind.COUNT, float(queue[key]), int(queue[key]))
    series, rate_mbps = f"queue.{name}.backlog_bytes", _rate(run, name)
    if series in run.names() and rate_mbps:
        # No kernel reports sojourn times. The backlog over the rate is what a packet would wait.
        waits_ms = metrics.finite(run, series)[1] * 8e-3 / rate_mbps
        busy = int(np.count_nonzero(waits_ms))
        if busy:
            yield Value(name, "queue delay mean", Kind.DELAY, float(waits_ms.mean()), busy)
            yield Value(name, "queue delay p99", Kind.TAIL, float(np.percentile(waits_ms, 99)), busy)


def _rate(run: Run, port: str) -> float | None:
    """What a link's queue is shaped to at the start, Mbit/s; None without a rate."""
    link, _, way = port.partition(".")
    tables = {table["name"]: table for table in tomllib.loads(run.scenario).get("link", [])}
    table = tables.get(link, {})
    rate_bps = _core.rate_bps((table.get("reverse", {}) if way == "reverse" else table).get("rate", "none"))
    return rate_bps / 1e6 if rate_bps else None
