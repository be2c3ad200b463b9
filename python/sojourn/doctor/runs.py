"""Results: whether the queue under test was the bottleneck, and signals, delay and rate are those that were meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn.conditions import PAYLOAD_SHARE
from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.glance import Punctuality

#: A full frame on the wire.
FRAME_BITS = 1514 * 8
#: Fewer packets say nothing.
ENOUGH = 1000
#: Of what TCP can deliver: less is not a full link, more is more than the link.
FULL, BEYOND = 0.7, 1.03
#: An RTT this near to the path's shows no queue: milliseconds, and share.
NEAR_MS, NEAR_SHARE = 1.0, 0.05
#: Controllers that are to react to marks: RFC 9331 4.3; names as in `sojourn cc`.
SCALABLE = frozenset({"prague", "udp-prague", "dctcp", "scalable"})

PARTIAL = Kind(
    "run-partial",
    Severity.WARNING,
    "a run did not reach its end",
    "Its numbers are of a shorter time than those of other runs.",
    "sojourn run again: complete runs are not repeated",
    "RFC 9743 4 (comparable conditions)",
)
EMPTY = Kind(
    "run-queue-empty",
    Severity.FAULT,
    "99 % of 1000 or more packets of bulk flows waited for less than a fifth of a packet's time at the bottleneck",
    "Something else limits the flows: the AQM under test did nothing, and another one would give the same result.",
    "flows or a window that fill the link: compare goodput with its rate, `[tcp]` rmem_max and wmem_max, the "
    "application",
    "RFC 7928 2.2 (buffer of a BDP, congested bottleneck)",
)
IDLE = Kind(
    "run-link-idle",
    Severity.WARNING,
    "bulk flows together have less than 70 % of the rate, their median RTT is the path's, and as far as is known "
    "less than 0.1 % was retransmitted and 1 % marked",
    "Window, application or CPU may limit the flows, or the controller is still growing: see which, before it is "
    "judged.",
    "sojourn doctor --rate RATE --rtt RTT at the sender, for its buffers; ss -ti shows rwnd_limited, sndbuf_limited",
    "RFC 5681 3.1; RFC 9743 4",
)
POLICED = Kind(
    "run-loss-without-queue",
    Severity.WARNING,
    "bulk flows have less than 70 % of the rate, their median RTT is the path's, and 0.1 % or more was retransmitted",
    "Losses without a queue: a policer, a FIFO of few packets or a lossy link comes before the queue under test.",
    "sojourn doctor at every hop (policer-drops, device-drops, limit-below-bdp, netem-overflows)",
    "RFC 7567 4.1; RFC 2475 2.3.3.3",
)
LATE = Kind(
    "run-late",
    Severity.FAULT,
    "real packets left the middlebox later than the run's bound (`--max-lateness`) at the 99th percentile",
    "Delays and marks are of the machine that carried the packets, and not of the queue.",
    "sojourn doctor on the machine that ran it; fewer packets per second; or the engine linux, whose time is virtual",
    "RFC 9332 A.1 (step of 1 ms); sched(7)",
)
LOST = Kind(
    "run-lost-outside",
    Severity.WARNING,
    "a middlebox lost real packets outside of its queues: a device was full, or they belong to no flow",
    "Flows react to losses that no queue made and no counter of a queue shows.",
    "a lower rate or fewer flows; sojourn doctor on the machine that ran it (tun-queue-short, cpu-load)",
    "tun_net_xmit of Linux drivers/net/tun.c",
)
BEYOND_RATE = Kind(
    "run-above-rate",
    Severity.FAULT,
    "flows together have more than 103 % of what TCP can deliver over the bottleneck's rate",
    "Packets went past the shaper, or the rate is another one than was meant.",
    "sojourn doctor --device at the bottleneck (htb-unshaped, shaper-burst); the rate that was given",
    "tc-htb(8), default",
)
SHORT_RTT = Kind(
    "run-rtt-below-path",
    Severity.FAULT,
    "a flow's RTT (p05) is below that of the empty path by more than 5 % and 1 ms",
    "The path's delay was not there, or on one way only: windows, fairness and RTT dependence are those of another "
    "path.",
    "tc -s qdisc at every hop: netem on both ways, on the device that the packets leave by",
    "tc-netem(8), delay",
)
NO_MARKS = Kind(
    "run-no-marks",
    Severity.WARNING,
    "a scalable flow got no CE mark although it had a queue (median RTT 5 ms above the path's) or lost packets",
    "It reacts to loss only, as Reno: ECN was not negotiated, is cleared on the way, or the queue does not mark "
    "ECT(1).",
    "sojourn doctor at sender and receiver (tcp-ecn-off), and sojourn doctor --path HOST:PORT between them",
    "RFC 9331 4.3; RFC 9768 3.1",
)


@dataclass(frozen=True, slots=True)
class Flow:
    """What one flow did; None for what was not recorded."""

    name: str
    cc: str
    is_bulk: bool
    """It sends as much as it may."""
    goodput_mbps: float | None = None
    rtt_ms: tuple[float, float] | None = None
    """5th percentile and median."""
    marks: int | None = None
    retransmits: int | None = None
    segments: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave, under which conditions."""

    id: str
    flows: Sequence[Flow]
    rate_mbps: float | None = None
    """Of the bottleneck; None if it is not known, or not constant."""
    base_rtt_ms: float | None = None
    """The least of the empty paths."""
    queue_p99_ms: float | None = None
    """Time in the bottleneck's queue, by 99 % of its packets not exceeded; None without one queue that is known."""
    packets: int = 0
    """That it sent."""
    is_complete: bool = True
    punctuality: Punctuality | None = None
    """Of the middlebox that carried real packets."""

    @property
    def is_bulk(self) -> bool:
        """Whether nothing but bulk flows were measured."""
        return bool(self.flows) and all(flow.is_bulk for flow in self.flows)

    @property
    def goodput_mbps(self) -> float | None:
        """Of all flows together; None unless it is known of each."""
        known = [flow.goodput_mbps for flow in self.flows if flow.goodput_mbps is not None]
        return sum(known) if known and len(known) == len(self.flows) else None

    @property
    def share(self) -> float | None:
        """Of what TCP can deliver over the rate."""
        goodput = self.goodput_mbps
        return None if goodput is None or not self.rate_mbps else goodput / (self.rate_mbps * PAYLOAD_SHARE)

    @property
    def is_short(self) -> bool:
        """Whether no flow's median RTT is more than that of the empty path; False if that is not known."""
        rtts = [flow.rtt_ms[1] for flow in self.flows if flow.rtt_ms]
        base = self.base_rtt_ms
        return bool(rtts) and base is not None and max(rtts) < base + max(NEAR_MS, NEAR_SHARE * base)


def examine(outcome: Outcome) -> Iterator[Finding]:
    """What the data of one run support."""
    found = [*_whole(outcome), *_used(outcome), *_signals(outcome)]
    yield from found
    if not found:
        yield passed("run-queue-empty", f"{outcome.id}: nothing in its numbers is against it")


def _whole(outcome: Outcome) -> Iterator[Finding]:
    if not outcome.is_complete:
        yield PARTIAL.found(f"{outcome.id}: partial")
    if box := outcome.punctuality:
        if box.is_late:
            late = f"{box.p50_ms or 0:.3g} ms (p50), {box.p99_ms or 0:.3g} ms (p99)"
            yield LATE.found(f"{outcome.id}: packets left {late} late; the bound is {box.bound_ms} ms")
        if box.lost:
            yield LOST.found(f"{outcome.id}: {box.lost} packets were lost outside the queues")
    base = outcome.base_rtt_ms
    for flow in outcome.flows:
        if base and flow.rtt_ms and flow.rtt_ms[0] < min(base - NEAR_MS, base * (1 - NEAR_SHARE)):
            text = f"{outcome.id}: RTT of {flow.name} {flow.rtt_ms[0]:.1f} ms (p05); the empty path has {base:g} ms"
            yield SHORT_RTT.found(text)


def _used(outcome: Outcome) -> Iterator[Finding]:
    share, rate = outcome.share, outcome.rate_mbps
    if share is not None and share > BEYOND:
        yield BEYOND_RATE.found(f"{outcome.id}: {outcome.goodput_mbps:.1f} Mbit/s of goodput at a rate of {rate:g}")
    if not outcome.is_bulk:
        return  # what sends little fills no link
    p99 = outcome.queue_p99_ms
    if rate and p99 is not None and outcome.packets >= ENOUGH and p99 < FRAME_BITS / rate / 1e3 / 5:
        yield EMPTY.found(f"{outcome.id}: {outcome.packets} packets, sojourn time p99 {p99:.3g} ms")
    if share is not None and share < FULL and outcome.is_short:
        lost = sum(flow.retransmits or 0 for flow in outcome.flows)
        sent = sum(flow.segments or 0 for flow in outcome.flows)
        found = f"{outcome.id}: {share:.0%} of what TCP can deliver at {rate:g} Mbit/s, RTT as on the empty path"
        if sent and lost >= 1e-3 * sent:
            yield POLICED.found(f"{found}, {lost} of {sent} segments retransmitted")
        elif sum(flow.marks or 0 for flow in outcome.flows) <= 0.01 * sent:
            yield IDLE.found(found)


def _signals(outcome: Outcome) -> Iterator[Finding]:
    base = outcome.base_rtt_ms
    for flow in outcome.flows:
        if flow.cc in SCALABLE and flow.is_bulk and flow.marks == 0:
            above = flow.rtt_ms[1] - base if flow.rtt_ms and base else 0.0
            if above > 5 or flow.retransmits:
                text = f"{outcome.id}: {flow.name} got no mark; RTT {above:.1f} ms above the path's, "
                yield NO_MARKS.found(f"{text}{flow.retransmits or 0} retransmits")
