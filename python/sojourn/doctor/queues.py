"""Queues of a device: whether they are the bottleneck, and can do what they are there for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.numbers import number
from sojourn.doctor.tree import AQM, FIFO, SHAPING, Queue

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
AT_SENDER = Kind(
    "queue-at-sender",
    Severity.WARNING,
    "a shaper is on a machine that does not forward",
    "The flows through it are its own: TCP small queues keep their data in the sockets, and a drop here is known to"
    " TCP at once, as no drop on a path is. The queue is not that of a router.",
    "the shaper on a router or namespace between the ends, with sudo sysctl -w net.ipv4.ip_forward=1",
    "tcp_small_queue_check; __tcp_transmit_skb (tcp_enter_cwr on NET_XMIT_CN)",
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
    """All but what depends on a rate, an RTT or the machine; whether the device has no wire."""
    for queue in queues:
        yield from _shaper(device, queue)
        yield from _fq(device, queue)
        if queue.kind in AQM:
            yield from _where(device, queue, is_virtual=is_virtual)
        if queue.kind in AQM or (queue.kind in FIFO and not queue.below):
            yield from _used(device, queue)


def is_empty(queue: Queue) -> bool:
    """Whether it passed enough packets to tell, and none had to wait."""
    evidence = _waited(queue)
    return queue.count("packets") >= ENOUGH and evidence is not None and not evidence[1]


def placed(device: str, queues: Sequence[Queue], *, forwards: bool) -> Iterator[Finding]:
    """Whether packets of others pass here: `net.ipv4.ip_forward`, or the device is of a bridge or an ifb."""
    shapers = [queue for queue in queues if queue.kind in COUNTING and queue.above is None]
    for queue in shapers:
        if forwards:
            yield passed("queue-at-sender", f"{device}: {queue.name} is on a machine that forwards")
        else:
            yield AT_SENDER.found(f"{device}: {queue.name}, and net.ipv4.ip_forward=0")


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
            if not isinstance(action, dict) or action.get("kind") != "police":
                continue
            stats = action.get("stats")
            if not isinstance(stats, dict):
                continue
            dropped, packets = (number(stats.get(key)) or 0 for key in ("drops", "packets"))
            found = f"{device}: a policer at ingress dropped {dropped:g} of {packets:g} packets"
            yield POLICER.found(found, device=device) if dropped else passed("policer-drops", found)


def _shaper(device: str, queue: Queue) -> Iterator[Finding]:
    if queue.kind == "htb":
        direct, packets = queue.count("direct_packets_stat"), queue.count("packets")
        direct = direct or round(queue.option("direct_packets_stat") or 0)
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


def _where(device: str, queue: Queue, *, is_virtual: bool) -> Iterator[Finding]:
    if queue.shaper is None and is_virtual and queue.count("packets") < ENOUGH:
        yield NO_SHAPER.found(f"{device}: {queue.name} without a rate", device=device)
    if queue.above is not None and queue.above.kind == "mq":
        yield INSTANCES.found(f"{device}: {queue.name} is one of several below {queue.above.name}", device=device)


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
    if queue.kind in AQM and not queue.marks and not queue.count("drops", "backlog"):
        return "none waiting, marked or dropped", False
    return None
