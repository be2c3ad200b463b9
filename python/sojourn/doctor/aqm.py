"""Active queue management: whether it can do what it is there for, and did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.queues import ENOUGH, MTU, is_empty
from sojourn.doctor.tree import AQM, Queue

STEP = Kind(
    "l4s-step-below-packets",
    Severity.WARNING,
    "dualpi2's step threshold is shorter than two packets at its rate",
    "The queue marks although nothing stands in it but what the shaper releases: throughput of L4S flows falls.",
    "step_thresh {time}us in the command of dualpi2",
    "RFC 9332 A.1 (Th_len, two MTU)",
)
NEVER = Kind(
    "aqm-never-marks",
    Severity.WARNING,
    "an AQM had a queue (overlimits of its shaper) for 1000 packets or more, and neither marked nor dropped",
    "Flows are limited by something else (application, window), or the target is above what they queue: no signal is "
    "under test.",
    "ss -ti at the sender: app_limited, rwnd_limited, sndbuf_limited name what limits it",
    "ss(8); RFC 7567 4.2",
)
ONLY_DROPS = Kind(
    "aqm-only-drops",
    Severity.WARNING,
    "an AQM with ECN dropped packets and marked none of 1000 or more",
    "No flow uses ECN, or its field is cleared before this queue: an ECN experiment measures loss.",
    "sudo sysctl -w net.ipv4.tcp_ecn=1 at the sender; sojourn doctor --path HOST shows where the field is cleared",
    "RFC 3168 5; RFC 7567 4.2.1",
)
ALL = Kind(
    "aqm-marks-all",
    Severity.WARNING,
    "an AQM marked 90 % or more of 1000 packets or more",
    "The signal says nothing any more: the threshold is below what always stands in the queue, or a flow does not "
    "react.",
    "a threshold of two packets at least; ss -ti shows ecn or accecn of a flow whose end reads marks",
    "RFC 9331 4.3; RFC 9332 2.5",
)
NO_L4S = Kind(
    "dualpi2-no-l4s",
    Severity.WARNING,
    "dualpi2 passed 1000 packets or more, none of them in its L4S queue",
    "No sender sends ECT(1): DCTCP of Linux sends ECT(0), CUBIC and BBR nothing or ECT(0). What was measured is "
    "Classic.",
    "ECT(1) at the sender (prague), or dualpi2 any_ect where every ECT sender is scalable",
    "RFC 9331 4.1; tc-dualpi2(8), l4s_ect",
)
NO_ECN = Kind(
    "aqm-ecn-off",
    Severity.WARNING,
    "an AQM has `noecn`",
    "It drops packets that it could mark.",
    "ecn in the command of {queue}",
    "tc-codel(8), tc-pie(8), tc-red(8): ecn; RFC 7567 4.2.1",
)
CE_LATE = Kind(
    "ce-threshold-late",
    Severity.WARNING,
    "codel's or fq_codel's ce_threshold is not below its target",
    "CoDel's own law holds the queue at its target: the threshold for L4S senders is hardly ever reached.",
    "ce_threshold 1ms in the command of {queue}",
    "tc-fq_codel(8), ce_threshold; RFC 9331 4.3",
)
TARGET = Kind(
    "target-below-packet",
    Severity.WARNING,
    "codel's or fq_codel's target is shorter than a packet at its rate",
    "One packet is a standing queue to it: it drops although the link is not full.",
    "target {time}us in the command of {queue}",
    "RFC 8289 5.2 (MTU at the link's rate); tc-codel(8)",
)
LIMIT = Kind(
    "aqm-limit-reached",
    Severity.WARNING,
    "an AQM dropped packets because it was full (drop_overlimit, overlimit)",
    "They are tail drops in bursts, which the AQM's law did not choose.",
    "limit 10000 (and memory_limit) in the command of {queue}",
    "fq_codel_enqueue; pie_qdisc_enqueue; RFC 7567 4.1",
)


def examine(device: str, queues: Sequence[Queue]) -> Iterator[Finding]:
    """Parameters and counters of every AQM of a device; of one whose queue was empty the counters say nothing."""
    for queue in queues:
        if queue.kind in AQM:
            yield from _configured(device, queue)
            yield from _counted(device, queue)


def _configured(device: str, queue: Queue) -> Iterator[Finding]:
    if queue.options.get("ecn") is False:
        yield NO_ECN.found(f"{device}: {queue.name} with noecn", queue=queue.kind)
    target, threshold = queue.option("target"), queue.option("ce_threshold")
    if threshold is not None and target is not None:
        found = f"{device}: {queue.name} has ce_threshold {threshold / 1000:g} ms, target {target / 1000:g} ms"
        wrong = threshold >= target
        yield CE_LATE.found(found, queue=queue.kind) if wrong else passed("ce-threshold-late", found)
    shaper = queue.shaper
    packet_us = MTU * 8e6 / shaper.rate_bps if shaper and shaper.rate_bps else None
    if packet_us and target and queue.kind in ("codel", "fq_codel"):
        found = f"{device}: {queue.name} has target {target / 1000:g} ms; a packet takes {packet_us / 1000:.2g} ms"
        if target < packet_us:
            yield TARGET.found(found, time=f"{1.5 * packet_us:.0f}", queue=queue.kind)
        else:
            yield passed("target-below-packet", found)
    step = queue.option("step-thresh-us") or queue.option("step_thresh_us")
    if packet_us and step:
        found = f"{device}: {queue.name} marks above {step / 1000:g} ms; two packets take {2 * packet_us / 1000:.2g} ms"
        if step < 2 * packet_us:
            yield STEP.found(found, time=f"{2 * packet_us:.0f}")
        else:
            yield passed("l4s-step-below-packets", found)


def _counted(device: str, queue: Queue) -> Iterator[Finding]:
    packets = queue.count("packets")
    full = queue.count("drop_overlimit", "overlimit")
    if full:
        yield LIMIT.found(f"{device}: {queue.name} was full for {full} of {packets} packets", queue=queue.kind)
    if packets < ENOUGH or is_empty(queue):
        return
    marks, drops = queue.marks, queue.count("drops")
    found = f"{device}: {queue.name} passed {packets} packets, marked {marks}, dropped {drops}"
    has_ecn = queue.options.get("ecn") is not False
    if not marks and not drops:
        yield NEVER.found(found)
    elif not marks and has_ecn:
        yield ONLY_DROPS.found(found)
    elif marks >= 0.9 * packets:
        yield ALL.found(found)
    else:
        yield passed("aqm-never-marks", found)
    if queue.has("pkts-in-l") and not queue.count("pkts-in-l"):
        yield NO_L4S.found(f"{device}: {queue.name} had {queue.count('pkts-in-c')} packets in C, 0 in L")
