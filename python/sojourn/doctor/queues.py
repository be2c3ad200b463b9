"""Queues of a device: whether they are the bottleneck, and can do what they are there for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.tree import AQM, FIFO, SHAPING, Queue, number

#: Fewer packets than these say nothing about a queue.
ENOUGH = 1000
MTU = 1514
#: Shapers that count in overlimits how often a packet had to wait, and the share of packets below which none stand.
COUNTING, SELDOM = ("htb", "hfsc", "tbf", "cake", "cake_mq"), 0.01
#: A train that leaves at once and is this long disturbs a queue whose threshold is 1 ms (RFC 9332 A.1).
BURST_S = 1e-3
BENCHMARKING = "bufferbloat.net, Best practices for benchmarking CoDel"

EMPTY = Kind(
    "queue-empty",
    Severity.FAULT,
    "a queue under test passed 1000 packets or more, and less than 1 % had to wait",
    "The bottleneck is elsewhere (the sender's own device or window, another hop, the CPU): this AQM does nothing, and "
    "results are of another queue.",
    "give it a rate below every other one of the path: sudo tc qdisc replace dev {device} root handle 1: htb "
    "default 1; sudo tc class add dev {device} parent 1: classid 1:1 htb rate RATE; the AQM with parent 1:1",
    f"tc-dualpi2(8), tc-pie(8): maxq; tc-htb(8): overlimits; {BENCHMARKING}",
)
NO_SHAPER = Kind(
    "aqm-without-shaper",
    Severity.WARNING,
    "an AQM is on a virtual device (veth, TUN, ifb ...) and nothing bounds its rate",
    "The device takes packets as fast as the CPU makes them: no queue builds up, and the AQM has nothing to manage.",
    "sudo tc qdisc replace dev {device} root handle 1: htb default 1; sudo tc class add dev {device} parent 1: classid "
    "1:1 htb rate RATE; the AQM with parent 1:1",
    f"{BENCHMARKING}; veth(4)",
)
UNSHAPED = Kind(
    "htb-unshaped",
    Severity.FAULT,
    "htb sent more than 1 % of its packets directly: no class is theirs",
    "They pass neither the shaper nor the queue under test, and take capacity that nothing accounts for.",
    "sudo tc qdisc replace dev {device} root handle {handle} htb default MINOR, a class that exists",
    "tc-htb(8), default; htb_enqueue (direct_pkts)",
)
BURST = Kind(
    "shaper-burst",
    Severity.WARNING,
    "a shaper's burst takes more than 1 ms at its rate",
    "After a pause that much leaves at the device's speed: the queue is shorter than at a real link, and the next "
    "one gets trains.",
    "burst {burst} (and cburst, for htb) in the command of the class or tbf",
    "tc-htb(8), burst; tc-tbf(8), burst",
)
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
SHORT = Kind(
    "limit-below-bdp",
    Severity.WARNING,
    "the limit of a queue under test is below the bandwidth-delay product (`--rate`, `--rtt`)",
    "A flow that halves its window leaves the link idle; with an AQM tail drops come before its signals.",
    "limit {limit} in the command of {queue}",
    "RFC 7567 4.1; RFC 3819 13.1",
)
INSTANCES = Kind(
    "aqm-per-cpu-queue",
    Severity.WARNING,
    "an AQM is below mq: one instance for each hardware queue",
    "Flows are spread over instances by a hash: a dual queue does not couple them, and each has its own state.",
    "sudo tc qdisc replace dev {device} root handle 1: htb default 1, with the AQM in its class",
    "Linux net/sched/sch_mq.c; RFC 9332 2.1",
)
FQ_OFF = Kind(
    "fq-without-pacing",
    Severity.WARNING,
    "fq has `nopacing`",
    "Senders that leave pacing to it (BBR, Prague, SO_MAX_PACING_RATE) send in bursts of a window.",
    "sudo tc qdisc change dev {device} handle {handle} fq pacing",
    "tc-fq(8), pacing; tcp_update_skb_after_send",
)
FQ_BELOW = Kind(
    "fq-below-shaper",
    Severity.WARNING,
    "fq is in a class of a shaper",
    "It holds packets back until they are due, which the shaper takes for an empty class: it warns of a class that "
    "is not work conserving, and pacing errors grow.",
    "fq at the sender's own device, and an AQM in the shaper's class",
    "tc-fq(8); qdisc_warn_nonwc",
)
POLICER = Kind(
    "policer-drops",
    Severity.WARNING,
    "a policer at the device's ingress has dropped packets",
    "Losses come before the queue under test: it is shorter, and ECN senders see drops in the place of marks.",
    "sudo tc filter del dev {device} ingress, or a rate above the queue's; to shape arrivals use an ifb",
    "tc-police(8); RFC 2475 2.3.3.3",
)


def examine(device: str, queues: Sequence[Queue], *, is_virtual: bool) -> Iterator[Finding]:
    """All but what depends on a rate and an RTT from outside."""
    for queue in queues:
        yield from _shaper(device, queue)
        yield from _fq(device, queue)
    for queue in queues:
        if queue.kind in AQM:
            yield from _configured(device, queue, is_virtual=is_virtual)
            yield from _counted(device, queue)
        elif queue.kind in FIFO and not queue.below:
            yield from _used(device, queue)


def limits(device: str, queues: Sequence[Queue], rate_bps: float | None, rtt_s: float | None) -> Iterator[Finding]:
    """Lengths beside the bandwidth-delay product; nothing without a rate (of the shaper, or `--rate`) and an RTT."""
    for queue in queues:
        rate = queue.shaper.rate_bps if queue.shaper else rate_bps
        limit = queue.option("limit")
        if queue.kind == "netem" or queue.kind not in AQM | FIFO or not (limit and rate and rtt_s):
            continue
        in_bytes = queue.kind in ("bfifo", "red")
        bdp = rate * rtt_s / 8
        unit = "bytes" if in_bytes else "packets"
        found = f"{device}: {queue.name} holds {limit:g} {unit}; the BDP is {bdp / 1e3:.0f} kB"
        wanted = 2 * bdp if in_bytes else 2 * bdp / MTU
        if limit * (1 if in_bytes else MTU) < bdp:
            yield SHORT.found(found, limit=f"{wanted:.0f}", queue=queue.kind)
        else:
            yield passed("limit-below-bdp", found)


def policers(device: str, filters: Any) -> Iterator[Finding]:
    """JSON of `tc -s -j filter show dev X ingress`."""
    for row in filters if isinstance(filters, list) else ():
        options = row.get("options") if isinstance(row, dict) else None
        actions = options.get("actions") if isinstance(options, dict) else None
        for action in actions if isinstance(actions, list) else ():
            stats = action.get("stats") if isinstance(action, dict) else None
            if action.get("kind") != "police" or not isinstance(stats, dict):
                continue
            dropped, packets = (number(stats.get(key)) or 0 for key in ("drops", "packets"))
            found = f"{device}: a policer at ingress dropped {dropped:g} of {packets:g} packets"
            yield POLICER.found(found, device=device) if dropped else passed("policer-drops", found)


def _shaper(device: str, queue: Queue) -> Iterator[Finding]:
    if queue.kind == "htb":
        direct, packets = queue.count("direct_packets_stat"), queue.count("packets")
        direct = direct or int(queue.option("direct_packets_stat") or 0)
        if direct and direct * 100 > packets:
            found = f"{device}: {queue.name} sent {direct} of {packets} packets past its classes"
            yield UNSHAPED.found(found, device=device, handle=queue.handle)
        else:
            yield passed("htb-unshaped", f"{device}: {queue.name} has a class for its packets")
    if queue.rate_bps and queue.burst_bytes:
        takes = queue.burst_bytes * 8 / queue.rate_bps
        found = f"{device}: {queue.burst_bytes:.0f} bytes leave {queue.name} at once, {takes * 1000:.2g} ms at its rate"
        if takes > BURST_S and queue.burst_bytes > 2 * MTU:
            least = max(2 * MTU, queue.rate_bps / 8 * BURST_S / 2)
            yield BURST.found(found, burst=f"{least:.0f}")
        else:
            yield passed("shaper-burst", found)


def _fq(device: str, queue: Queue) -> Iterator[Finding]:
    if queue.kind != "fq":
        return
    if queue.options.get("pacing") is False:
        yield FQ_OFF.found(f"{device}: {queue.name} does not pace", device=device, handle=queue.handle)
    else:
        yield passed("fq-without-pacing", f"{device}: {queue.name} paces")
    if any(above.kind in SHAPING for above in queue.ancestors()):
        yield FQ_BELOW.found(f"{device}: {queue.name} is in {queue.above.name if queue.above else 'a class'}")


def _configured(device: str, queue: Queue, *, is_virtual: bool) -> Iterator[Finding]:
    shaper = queue.shaper
    if shaper is None and is_virtual and queue.count("packets") < ENOUGH:
        yield NO_SHAPER.found(f"{device}: {queue.name} without a rate", device=device)
    if queue.above is not None and queue.above.kind == "mq":
        yield INSTANCES.found(f"{device}: {queue.name} is one of several below {queue.above.name}", device=device)
    if queue.options.get("ecn") is False:
        yield NO_ECN.found(f"{device}: {queue.name} with noecn", queue=queue.kind)
    target, threshold = queue.option("target"), queue.option("ce_threshold")
    if threshold is not None and target is not None:
        found = f"{device}: {queue.name} has ce_threshold {threshold / 1000:g} ms, target {target / 1000:g} ms"
        wrong = threshold >= target
        yield CE_LATE.found(found, queue=queue.kind) if wrong else passed("ce-threshold-late", found)
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
    if packets < ENOUGH:
        return
    waited = list(_used(device, queue))
    yield from waited
    if any(finding.severity for finding in waited):
        return  # what follows is because of that
    marks, drops = _marks(queue), queue.count("drops")
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


def _marks(queue: Queue) -> int:
    """CE marks, by the names that the disciplines have for them."""
    tins = queue.counters.get("tins")
    of_tins = (tin.get("ecn_mark") for tin in tins if isinstance(tin, dict)) if isinstance(tins, list) else ()
    own = ("ecn_mark", "ecn-mark", "step-mark", "marked", "ce_mark")
    return queue.count(*own) + sum(int(number(mark) or 0) for mark in of_tins)


def _used(device: str, queue: Queue) -> Iterator[Finding]:
    """Whether any packet had to wait; nothing where no counter can tell."""
    packets = queue.count("packets")
    if packets < ENOUGH:
        return
    evidence = _waited(queue)
    if evidence is None:
        return
    found = f"{device}: {queue.name} passed {packets} packets, {evidence[0]}"
    yield passed("queue-empty", found) if evidence[1] else EMPTY.found(found, device=device)


def _waited(queue: Queue) -> tuple[str, bool] | None:
    """A counter that shows whether packets waited, and whether they did."""
    if queue.has("maxq") and queue.count("maxq") <= 1:
        return f"at most {queue.count('maxq')} waiting", False
    shaper = next((one for one in (queue, *queue.ancestors()) if one.kind in COUNTING), None)
    if shaper is not None and shaper.has("overlimits"):
        overlimits = shaper.count("overlimits")
        return f"overlimits of {shaper.name} {overlimits}", overlimits > SELDOM * queue.count("packets")
    if queue.has("maxq"):
        return f"at most {queue.count('maxq')} waiting", True
    if queue.kind in AQM and not _marks(queue) and not queue.count("drops", "backlog"):
        return "none marked or dropped, and nothing bounds its rate", False
    return None
