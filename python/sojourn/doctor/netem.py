"""netem: delay lines that share a device with a queue, reorder, or lose what they should delay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.numbers import number
from sojourn.doctor.queues import BENCHMARKING, MTU
from sojourn.doctor.tree import AQM, Queue

WITH_AQM = Kind(
    "netem-with-aqm",
    Severity.FAULT,
    "netem and an AQM are on one device",
    "Below netem an AQM gets packets when they are already due, above it delayed packets count as its queue: its "
    "delays and signals are not those of a bottleneck.",
    "netem on another device: of the next hop, the far end, or an ifb; sudo tc qdisc del dev {device} {place}",
    f"tc-netem(8), limitations; netem_dequeue; {BENCHMARKING}",
)
WITH_SHAPER = Kind(
    "netem-with-shaper",
    Severity.WARNING,
    "netem is in a class of a shaper",
    "Packets on the delayed path are in the shaper's queue: `backlog` and the limit are of queue and path together.",
    "netem on another device: of the next hop, the far end, or an ifb; sudo tc qdisc del dev {device} {place}",
    f"tc-netem(8), limitations; {BENCHMARKING}",
)
REORDERS = Kind(
    "netem-reorders",
    Severity.WARNING,
    "netem has a jitter and no rate",
    "Each packet gets its own delay: they overtake each other, and senders take that for loss (RACK, three "
    "duplicates).",
    "a rate beside the jitter, which keeps the order, or delay without jitter",
    "tc-netem(8), delay; netem_enqueue (tfifo_enqueue)",
)
OVERFLOWS = Kind(
    "netem-overflows",
    Severity.FAULT,
    "netem dropped packets, and has no loss configured",
    "Its limit is the number of packets on the delayed path: the path loses what it should delay.",
    "limit {limit} in the command of netem",
    "tc-netem(8), limit; netem_enqueue",
)
SHORT = Kind(
    "netem-limit-short",
    Severity.WARNING,
    "netem's limit is below what its delay holds at its rate, or at `--rate`",
    "At full rate the path loses what it should delay, and throughput ends at limit over delay.",
    "limit {limit} in the command of netem",
    "tc-netem(8), limit",
)
LOSES = Kind(
    "netem-loses",
    Severity.NOTE,
    "netem loses, corrupts, duplicates or reorders packets as configured",
    "Losses that no queue made: right for a lossy path, wrong if it is left over from an earlier experiment.",
    "sudo tc qdisc del dev {device} {place}",
    "tc-netem(8)",
)
LOSS = ("loss-random", "loss-state", "loss-gemodel")
OTHER = ("corrupt", "duplicate", "reorder")


def examine(device: str, queues: Sequence[Queue], rate_bps: float | None) -> Iterator[Finding]:
    """All queues of a device, and the rate of `--rate`."""
    for queue in queues:
        if queue.kind == "netem":
            yield from _neighbours(device, queue, queues)
            yield from _delay(device, queue, rate_bps)


def _neighbours(device: str, netem: Queue, queues: Sequence[Queue]) -> Iterator[Finding]:
    place = f"parent {netem.counters['parent']}" if "parent" in netem.counters else "root"
    aqm = next((queue for queue in queues if queue.kind in AQM), None)
    shaper = next((above for above in netem.ancestors() if above.kind in ("htb", "hfsc", "tbf")), None)
    if aqm is not None:
        yield WITH_AQM.found(f"{device}: {netem.name} and {aqm.name} on one device", device=device, place=place)
    elif shaper is not None:
        yield WITH_SHAPER.found(f"{device}: {netem.name} in a class of {shaper.name}", device=device, place=place)
    else:
        yield passed("netem-with-aqm", f"{device}: {netem.name} has the device for itself")
    if configured := [name for name in (*LOSS, *OTHER) if name in netem.options]:
        yield LOSES.found(f"{device}: {netem.name} has {', '.join(configured)}", device=device, place=place)


def _delay(device: str, netem: Queue, rate_bps: float | None) -> Iterator[Finding]:
    delay = netem.options.get("delay")
    delay = delay if isinstance(delay, dict) else {}
    delay_s, jitter_s = (number(delay.get(key)) or 0.0 for key in ("delay", "jitter"))
    if jitter_s and netem.rate_bps is None:
        yield REORDERS.found(f"{device}: {netem.name} has a jitter of {jitter_s * 1000:g} ms")
    elif delay_s:
        yield passed("netem-reorders", f"{device}: {netem.name} keeps the order of packets")
    limit, rate = netem.option("limit"), netem.rate_bps or rate_bps
    if not limit:
        return
    needed = rate * (delay_s + jitter_s) / 8 / MTU if rate else None
    better = f"{max(2 * (needed or 0), 10 * limit):.0f}"
    loses = any(name in netem.options for name in LOSS)
    if (drops := netem.count("drops")) and not loses:
        found = f"{device}: {netem.name} dropped {drops} packets; its limit is {limit:g}"
        yield OVERFLOWS.found(found, limit=better)
    elif needed is not None:
        found = f"{device}: {netem.name} has limit {limit:g}; its delay holds {needed:.0f} packets"
        yield SHORT.found(found, limit=better) if limit < needed else passed("netem-limit-short", found)
