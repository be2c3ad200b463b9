"""One run on both sides of a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sojourn import conditions, metrics, reference
from sojourn.metrics import FlowSummary, RunSummary, Source, Stats

#: Rates that a flow is compared by.
RATES = GOODPUT, DELIVERY_RATE = "goodput", "delivery rate"
QUANTILES = ("mean", "p50", "p95", "p99")


@dataclass(frozen=True)
class Difference:
    """A quantity on both sides."""

    a: float | None
    b: float | None

    @property
    def diff(self) -> float | None:
        """Side A minus side B."""
        return None if self.a is None or self.b is None else self.a - self.b

    @property
    def percent(self) -> float | None:
        """The difference as a share of side B."""
        return None if self.diff is None or not self.b else 100 * self.diff / self.b

    def document(self) -> dict[str, float | None]:
        """For JSON."""
        return {"a": rounded(self.a), "b": rounded(self.b), "diff": rounded(self.diff)}


@dataclass(frozen=True)
class Flow:
    """One flow on both sides."""

    name: str
    goodput_mbps: Difference
    delivery_rate_mbps: Difference
    tcp_rtt_ms: dict[str, Difference]
    #: Every kind of delay of the flow, TCP RTT included.
    delays: dict[str, dict[str, Difference]]
    #: Segments, whole run.
    retransmits: Difference
    #: CE marks that reached the receiver, and those that the sender counted.
    marks: Difference = Difference(None, None)
    believed_marks: Difference = Difference(None, None)
    #: Its name on side B, if that is another one.
    name_b: str = ""

    @property
    def rate_mbps(self) -> Difference:
        """Goodput, or the mean delivery rate where a side has nothing else."""
        return self.delivery_rate_mbps if self.rate == DELIVERY_RATE else self.goodput_mbps

    @property
    def rate(self) -> str:
        """Which of the two that is."""
        known = self.goodput_mbps.diff is not None or self.delivery_rate_mbps.diff is None
        return GOODPUT if known else DELIVERY_RATE

    @property
    def label(self) -> str:
        """Both names where there are two."""
        return f"{self.name} / {self.name_b}" if self.name_b else self.name


@dataclass(frozen=True)
class Pair:
    """One run on both sides."""

    id: str
    a: Source
    b: Source
    summary_a: RunSummary
    summary_b: RunSummary
    flows: tuple[Flow, ...]
    ping_ms: dict[str, Difference]
    #: Of each queue that both sides have: `drops` and `marks`, packets of the whole run.
    queues: dict[str, dict[str, Difference]]
    #: Why these two, where their ids are not the same.
    reason: str = ""

    @property
    def ratio(self) -> Difference | None:
        """Second flow over first, of runs with two flows."""
        return Difference(self.summary_a.ratio, self.summary_b.ratio) if len(self.flows) == 2 else None

    @property
    def rtt_ms(self) -> Difference:
        """Mean TCP RTT, averaged over the flows."""
        return Difference(self.summary_a.mean_rtt_ms, self.summary_b.mean_rtt_ms)

    def rate_error_percent(self, *rates: str) -> Iterator[float]:
        """Of each flow that is compared by one of these rates, by default any: the absolute error, % of the ceiling."""
        ceiling = conditions.ceiling_mbps(self.a)
        for flow in self.flows:
            if ceiling and flow.rate_mbps.diff is not None and flow.rate in (rates or RATES):
                yield 100 * abs(flow.rate_mbps.diff) / ceiling

    def document(self) -> dict[str, Any]:
        """One element of `runs` of the JSON document."""
        return {
            "id": self.id,
            **({"id_b": self.b.id, "paired_as": self.reason} if self.reason else {}),
            "window_s": [round(edge, 2) for edge in self.summary_b.window_s],
            "ceiling_mbps": rounded(conditions.ceiling_mbps(self.a)),
            "flows": [
                {
                    "name": flow.name,
                    **({"name_b": flow.name_b} if flow.name_b else {}),
                    "goodput_mbps": flow.goodput_mbps.document(),
                    "delivery_rate_mbps": flow.delivery_rate_mbps.document(),
                    "tcp_rtt_ms": _documents(flow.tcp_rtt_ms),
                    "marks": flow.marks.document(),
                    "sender_believes_marks": flow.believed_marks.document(),
                    "retransmits": flow.retransmits.document(),
                    **{
                        f"{kind.replace('-', '_').replace(' ', '_')}_ms": _documents(delay)
                        for kind, delay in flow.delays.items()
                        if kind != metrics.RTT
                    },
                }
                for flow in self.flows
            ],
            "ratio": self.ratio and self.ratio.document(),
            "rtt_ms": self.rtt_ms.document(),
            "ping_ms": _documents(self.ping_ms),
            "queues": {name: _documents(counts) for name, counts in self.queues.items()},
        }


def pair_up(run_id: str, a: Source, b: Source, over: metrics.Window | None = None, reason: str = "") -> Pair | None:
    """Both sides of one run over this window or that of side B; None if a side has no window."""
    theirs = reference.summary_of(b, over)
    ours = reference.summary_of(a, theirs.window_s) if theirs else None
    if ours is None or theirs is None:
        return None
    return Pair(
        run_id,
        a,
        b,
        ours,
        theirs,
        tuple(
            _flow(of_a, of_b, _counted(a, b, f"flow.{of_a.name}.retransmits", f"flow.{of_b.name}.retransmits"))
            for of_a, of_b in _matched(ours.flows, theirs.flows)
        ),
        spread(ours.ping_ms, theirs.ping_ms),
        dict(_queues(a, b)),
        reason,
    )


def _queues(a: Source, b: Source) -> Iterator[tuple[str, dict[str, Difference]]]:
    for name in a.names():
        if (match := re.fullmatch(r"queue\.(.+)\.drops", name)) and name in b.names():
            counts = {what: _counted(a, b, f"queue.{match[1]}.{what}") for what in ("drops", "marks")}
            yield match[1], counts


def _counted(a: Source, b: Source, name: str, name_b: str | None = None) -> Difference:
    """The last values of a counter."""

    def last(source: Source, of: str) -> float | None:
        _, values = metrics.finite(source, of)
        return float(values[-1]) if values.size else None

    return Difference(last(a, name), last(b, name_b or name))


def _flow(a: FlowSummary, b: FlowSummary, retransmits: Difference) -> Flow:
    rate_a, rate_b = a.delivery_rate_mbps, b.delivery_rate_mbps
    return Flow(
        a.name,
        Difference(a.goodput_mbps, b.goodput_mbps),
        Difference(rate_a.mean if rate_a else None, rate_b.mean if rate_b else None),
        spread(a.tcp_rtt_ms, b.tcp_rtt_ms),
        {
            kind: spread(a.delays.get(kind), b.delays.get(kind))
            for kind in metrics.DELAYS
            if kind in {**a.delays, **b.delays}
        },
        retransmits,
        Difference(a.marks, b.marks),
        Difference(a.believed_marks, b.believed_marks),
        "" if a.name == b.name else b.name,
    )


def _matched(a: tuple[FlowSummary, ...], b: tuple[FlowSummary, ...]) -> Iterator[tuple[FlowSummary, FlowSummary]]:
    """Flows by name; by order of start where the names have nothing in common."""
    if not {flow.name for flow in a} & {flow.name for flow in b} and len(a) == len(b):
        yield from zip(a, b, strict=True)
        return
    of_a = {flow.name: flow for flow in a}
    of_b = {flow.name: flow for flow in b}
    for name in {**of_a, **of_b}:
        absent = FlowSummary(name, None, None, None)
        yield of_a.get(name, absent), of_b.get(name, absent)


def spread(a: Stats | None, b: Stats | None) -> dict[str, Difference]:
    """Mean and percentiles of both sides."""

    def of(stats: Stats | None, key: str) -> float | None:
        value = getattr(stats, key, None)
        return None if value is None else float(value)

    return {key: Difference(of(a, key), of(b, key)) for key in QUANTILES}


def natural(run_id: str) -> list[tuple[int, str]]:
    """Sort key with numbers by value: 5Mbit before 50Mbit, 20ms before 160ms."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", run_id)]


def rate_key(rate: str) -> str:
    """Of a rate in a JSON document."""
    return rate.replace(" ", "_")


def rounded(value: float | None) -> float | None:
    """For JSON, to three decimals."""
    return None if value is None else round(value, 3)


def _documents(values: dict[str, Difference]) -> dict[str, dict[str, float | None]]:
    return {key: value.document() for key, value in values.items()}
