"""What a controller or a queue can do badly, as one number of a run each.

Rates are of the second half of the time for which the scenario has all competing flows start and stop: what a flow
does not deliver although it should counts as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _core, conditions, metrics
from sojourn.planning import seconds

if TYPE_CHECKING:
    from sojourn.metrics import Window
    from sojourn.results import Run
    from sojourn.search.quantities import OfRun

Document = Mapping[str, Any]
#: A run counts if its window has at least this number of round trips of the empty path, and of full packets of each
#: flow's equal share of the rate: less is a start, not a state.
ROUND_TRIPS, PACKETS = 20, 100
FRAME_BITS = 1514 * 8


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a measure is about: a controller, perhaps against another one, or a queue."""

    cc: str | None = None
    against: str | None = None
    qdisc: str | None = None

    def __str__(self) -> str:
        flows = " against ".join(filter(None, (self.cc, self.against)))
        return " at ".join(filter(None, (flows, self.qdisc)))

    def judged(self, document: Document) -> list[str]:
        """Names of the bulk flows that are judged: those of the controller, or all."""
        return [flow["name"] for flow in _bulk(document) if is_of(flow["cc"], self.cc)]

    def is_in(self, document: Document) -> bool:
        """Whether a scenario has what it is about, and the controllers share their whole way."""
        flows = self.competing(document)
        queue = any(is_of(link.get("qdisc", ""), self.qdisc) for link in document.get("link", ()))
        other = not self.against or any(is_of(flow["cc"], self.against) for flow in flows)
        return bool(flows) and queue and other

    def competing(self, document: Document) -> list[dict[str, Any]]:
        """The bulk flows on the way of the first one that is judged."""
        flows = _bulk(document)
        first = next((flow for flow in flows if is_of(flow["cc"], self.cc)), None)
        ways = [(flow.get("path"), flow.get("direction")) for flow in (*flows, first) if flow]
        return [flow for flow, way in zip(flows, ways, strict=False) if first and way == ways[-1]]


@dataclass(frozen=True, slots=True)
class State:
    """What a run has of the flows that a measure is about."""

    run: Run
    document: Document
    window: Window
    #: Goodput of each competing flow, Mbit/s, with its controller's name.
    goodputs: dict[str, tuple[str, float]]
    judged: tuple[str, ...]

    @property
    def rates(self) -> list[float]:
        return [rate for _, rate in self.goodputs.values()]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a run, and whether more of it is worse."""

    name: str
    about: str
    of: Callable[[State], float | None]
    more_is_worse: bool = False
    flows: int = 1

    def badness(self, value: float) -> float:
        """More is worse; of shares what is missing to 1."""
        return value if self.more_is_worse else 1 - value


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of a subject, as an objective of a search."""

    measure: Measure
    subject: Subject

    @property
    def text(self) -> str:
        return self.measure.name

    def value(self, of: OfRun) -> float | None:
        """None where the run does not have the flows, or is too short for them."""
        return self.of_run(of.run)

    def of_run(self, run: Run) -> float | None:
        found = state(run, self.subject)
        return self.measure.of(found) if found and len(found.goodputs) >= self.measure.flows else None


def state(run: Run, subject: Subject) -> State | None:
    """What a run has; None if there is nothing to judge in it, or too little."""
    document = run.document
    flows = subject.competing(document) if subject.is_in(document) else []
    starts = [seconds(str(flow.get("start", "0s"))) or 0.0 for flow in flows]
    length_s = seconds(str(document.get("duration"))) or 0.0
    stops = [seconds(str(flow.get("stop", ""))) or length_s for flow in flows]
    if not flows or min(stops) <= max(starts):
        return None
    window = ((max(starts) + min(stops)) / 2, min(stops))
    copies = {str(flow["name"]): re.compile(rf"{re.escape(str(flow['name']))}(-\d+)?") for flow in flows}
    rates = {
        str(one["name"]): (str(flow["cc"]).partition(" ")[0], metrics.goodput(run, str(one["name"]), window) or 0.0)
        for flow in flows
        for one in run.summary.get("flows", [])
        if one["name"] == flow["name"]
        or (one["name"] not in copies and copies[str(flow["name"])].fullmatch(str(one["name"])))
    }
    named = subject.judged(document)
    judged = tuple(name for name in rates if any(copies[one].fullmatch(name) for one in named if one in copies))
    found = State(run, document, window, rates, judged)
    return found if judged and _suffices(found) else None


def is_of(text: str, wanted: str | None) -> bool:
    """Whether an algorithm's resolved text is of this name, or begins with this text."""
    return not wanted or text == wanted or text.startswith(f"{wanted} ")


def _bulk(document: Document) -> list[dict[str, Any]]:
    """TCP flows that always have something to send."""
    return [
        flow
        for flow in document.get("flow", ())
        if "cc" in flow and str(flow.get("app", "bulk")).partition(" ")[0] == "bulk" and "bytes" not in flow
    ]


def _suffices(found: State) -> bool:
    conditions, length_s = found.run.conditions, found.window[1] - found.window[0]
    rate_mbps = conditions.mean_mbps(found.window)
    rtt_ms = max(conditions.base_rtts_ms, default=0.0)
    packets = (rate_mbps or 0.0) * 1e6 * length_s / FRAME_BITS / len(found.goodputs)
    return packets >= PACKETS and length_s * 1e3 >= ROUND_TRIPS * rtt_ms


def _fairness(found: State) -> float | None:
    return _core.jain(found.rates)


def _starvation(found: State) -> float | None:
    equal = sum(found.rates) / len(found.rates)
    return min(found.goodputs[name][1] for name in found.judged) / equal if equal else None


def _utilisation(found: State) -> float | None:
    rate_mbps = found.run.conditions.mean_mbps(found.window)
    every = (metrics.goodput(found.run, flow, found.window) or 0.0 for flow in metrics.flows(found.run))
    return sum(every) / (rate_mbps * conditions.PAYLOAD_SHARE) if rate_mbps else None


def _delay(found: State) -> float | None:
    """Of the bottlenecks the largest; of each the judged flows' packets."""
    conditions = found.run.conditions
    rate_mbps, rtt_ms = conditions.rate_mbps, max(conditions.base_rtts_ms, default=None)
    stats = [
        found_
        for queue in conditions.bottlenecks
        for flow in found.judged
        if (found_ := metrics.sojourn(found.run, queue, flow=flow))
    ]
    tails = [one["p99"] for one in stats if isinstance(one.get("p99"), int | float)]
    if not tails or not rate_mbps or rtt_ms is None:
        return None
    return max(tails) / (rtt_ms + FRAME_BITS / rate_mbps / 1e3)


MEASURES = {
    one.name: one
    for one in (
        Measure("fairness", "Jain's index of the goodputs of all bulk flows on the way", _fairness, flows=2),
        Measure(
            "starvation",
            "the least goodput of a judged flow over an equal share of what all bulk flows on the way got",
            _starvation,
            flows=2,
        ),
        Measure("utilisation", "goodput of all flows over the link ceiling", _utilisation),
        Measure(
            "delay",
            "p99 of the sojourn time of the judged flows' packets at the bottleneck over the round trip of a full "
            "packet on the empty path",
            _delay,
            more_is_worse=True,
        ),
    )
}
