"""Devices: what merges packets before a queue sees them, or loses and delays them after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.numbers import number, whole
from sojourn.doctor.tree import AQM, Queue

#: Largest IPv4 packet that a device without BIG TCP gets: GSO_LEGACY_MAX_SIZE of include/linux/netdevice.h.
LARGEST = 65536
#: Devices without a wire: what is sent is there at once.
VIRTUAL = frozenset({"veth", "tun", "dummy", "ifb", "bridge", "vxlan", "gre", "ipip", "wireguard", "macvlan", "vlan"})
COALESCING_US = 100
#: Linux's default for a TUN device, TUN_READQ_SIZE of drivers/net/tun.c, fills in 6 ms at 1 Gbit/s.
TUN_QUEUE = 500

TRAINS = Kind(
    "gso-trains",
    Severity.WARNING,
    "a queue under test does not split super-packets, and TSO or GSO is on at its device",
    "Packets of up to 64 KB are queued, marked and dropped as one, and leave as a train: delays are multiples of its "
    "length, and a 1 ms threshold measures the train.",
    "sudo ethtool -K {device} tso off gso off, also for the senders' devices; sudo ip link set dev {device} "
    "gso_max_segs 1 on a TUN device",
    "Linux Documentation/networking/segmentation-offloads.rst; bufferbloat.net, Best practices for benchmarking CoDel",
)
SEEN = Kind(
    "gso-trains-seen",
    Severity.FAULT,
    "a queue under test had a packet longer than the device's MTU",
    "Super-packets did pass: marks and drops hit many segments at once, and delays are multiples of their length.",
    "tso off gso off on the senders' devices, gro off on the one that packets arrive at: sudo ethtool -K DEVICE tso"
    " off gso off gro off (here they are cut behind the queue)",
    "validate_xmit_skb; fq_codel_enqueue (maxpacket); bufferbloat.net, Best practices for benchmarking CoDel",
)
GRO = Kind(
    "gro-at-router",
    Severity.WARNING,
    "this machine forwards, GRO is on, and another device has a queue under test that does not split super-packets",
    "What arrives is merged into super-packets before the queue sees it, also if the sender's offloads are off.",
    "sudo ethtool -K {device} gro off",
    "Linux Documentation/networking/segmentation-offloads.rst; bufferbloat.net, Best practices for benchmarking CoDel",
)
LRO = Kind(
    "lro-on",
    Severity.WARNING,
    "large-receive-offload is on",
    "The device merges segments and loses their headers and times: fewer ACKs, ECN fields of a merged packet in one.",
    "sudo ethtool -K {device} lro off",
    "Linux Documentation/networking/segmentation-offloads.rst",
)
CHECKSUM = Kind(
    "veth-checksum",
    Severity.NOTE,
    "tx checksumming is on at a veth device, the default",
    "The kernel leaves checksums unfinished: a bottleneck in user space (AF_PACKET, AF_XDP) passes on TCP segments "
    "that the receiver drops. A kernel queue or TUN is not concerned.",
    "sudo ethtool -K {device} tx off, at both ends",
    "Linux Documentation/networking/checksum-offloads.rst",
)
COALESCING = Kind(
    "rx-coalescing",
    Severity.WARNING,
    "interrupts are held back for more than 100 us, or adaptively",
    "Packets arrive in batches: one-way delays and ACK spacing have steps of that length.",
    "sudo ethtool -C {device} adaptive-rx off rx-usecs 0",
    "ethtool(8), --coalesce",
)
TUN_SHORT = Kind(
    "tun-queue-short",
    Severity.WARNING,
    "a TUN device has a txqueuelen of 500 or less, the default",
    "What does not fit is lost before live mode reads it: drops that belong to no queue under test.",
    "sudo ip link set dev {device} txqueuelen 10000",
    "tun_net_xmit of Linux drivers/net/tun.c; Documentation/networking/tuntap.rst",
)
NO_BQL = Kind(
    "no-bql",
    Severity.WARNING,
    "an AQM is on a device with a wire, without a shaper, and the driver has no byte queue limits",
    "Packets wait in the driver's ring, behind the AQM, which sees an empty queue until the ring is full.",
    "a shaper a little below the wire's rate: sudo tc qdisc replace dev {device} root handle 1: htb default 1, with"
    " the AQM in its class",
    "Linux lib/dynamic_queue_limits.c; bufferbloat.net, Best practices for benchmarking CoDel",
)
LOST = Kind(
    "device-drops",
    Severity.WARNING,
    "the device has dropped packets that it was to send",
    "They are lost outside of the queue under test: losses that no AQM made and no counter of tc shows.",
    "sudo ip link set dev {device} txqueuelen 10000; ip -s link show dev {device} shows whether it goes on",
    "Linux Documentation/networking/statistics.rst, tx_dropped",
)
Features = Mapping[str, bool]


def features(text: str | None) -> Features:
    """Names and states of `ethtool -k DEVICE`."""
    return {name: state == "on" for name, state in re.findall(r"^([\w-]+): (on|off)\b", text or "", re.MULTILINE)}


def under_test(queues: Sequence[Queue]) -> list[Queue]:
    """The queues that hold packets by an AQM or a rate, those innermost."""
    leaves = [queue for queue in queues if not queue.below]
    return [queue for queue in leaves if queue.kind in AQM or queue.shaper is not None]


def splits(queue: Queue) -> bool:
    """Whether super-packets are cut before they are queued: cake and dualpi2 unless told otherwise (tc-cake(8))."""
    option = queue.options.get("split_gso", queue.options.get("split-gso", False))
    # Where tc prints flags alone, null is on.
    return queue.kind in ("cake", "cake_mq", "dualpi2") and option is not False


def trains(
    device: str, link: Mapping[str, Any], on: Features, queues: Sequence[Queue], rate_bps: float | None
) -> Iterator[Finding]:
    """Super-packets at the bottleneck: JSON of `ip -d link`, features, queues, and the rate of `--rate`."""
    names = {"tcp-segmentation-offload": "TSO", "generic-segmentation-offload": "GSO"}
    active = [short for name, short in names.items() if on.get(name)]
    most = number(link.get("gso_max_segs"))
    mtu = number(link.get("mtu")) or 1500
    for queue in under_test(queues):
        longest = queue.count("maxpacket")
        # fq_codel counts link-layer bytes.
        if longest > mtu + 100:
            yield SEEN.found(f"{device}: {queue.name} had a packet of {longest} bytes; the MTU is {mtu:g}")
        elif active and not splits(queue) and most != 1:
            rate = queue.shaper.rate_bps if queue.shaper else rate_bps
            segments = min(most or LARGEST, LARGEST // mtu)
            takes = f", {segments * mtu * 8 / rate * 1000:.1f} ms at {rate / 1e6:g} Mbit/s" if rate else ""
            text = (
                f"{device}: {', '.join(active)} on: up to {segments:.0f} segments in one packet of {queue.name}{takes}"
            )
            yield TRAINS.found(text, device=device)
        else:
            yield passed("gso-trains", f"{device}: {queue.name} gets or makes single packets")


def forwarded(
    device: str, on: Features, elsewhere: Mapping[str, Sequence[Queue]], *, forwards: bool
) -> Iterator[Finding]:
    """GRO at a router: features of a device, queues of the others, and whether `net.ipv4.ip_forward` is on."""
    if not on.get("generic-receive-offload") or not forwards:
        return
    behind = [name for name, queues in elsewhere.items() if any(not splits(queue) for queue in under_test(queues))]
    if behind:
        yield GRO.found(f"{device}: GRO on, and {', '.join(behind)} queues what is forwarded", device=device)


def hardware(
    device: str, link: Mapping[str, Any], on: Features, coalescing: str | None, queues: Sequence[Queue], *, bql: bool
) -> Iterator[Finding]:
    """The rest: JSON of `ip -d -s link`, features, text of `ethtool -c`, queues, and whether BQL has counted."""
    info = link.get("linkinfo")
    kind = str(info.get("info_kind", "")) if isinstance(info, dict) else ""
    if on.get("large-receive-offload"):
        yield LRO.found(f"{device}: LRO on", device=device)
    elif on:
        yield passed("lro-on", f"{device}: LRO off")
    if kind == "veth" and on.get("tx-checksumming"):
        yield CHECKSUM.found(f"{device}: tx checksumming on", device=device)
    held = re.search(r"^rx-usecs:\s*(\d+)", coalescing or "", re.MULTILINE)
    adaptive = bool(re.search(r"^Adaptive RX:\s*on", coalescing or "", re.MULTILINE))
    if held or adaptive:
        us = (whole(held[1]) if held else None) or 0
        found = f"{device}: interrupts held back up to {us} us{', adaptively' if adaptive else ''}"
        wrong = adaptive or us > COALESCING_US
        yield COALESCING.found(found, device=device) if wrong else passed("rx-coalescing", found)
    length = number(link.get("txqlen"))
    if kind == "tun" and length is not None:
        found = f"{device}: txqueuelen {length:g}"
        yield TUN_SHORT.found(found, device=device) if length <= TUN_QUEUE else passed("tun-queue-short", found)
    bare = [queue for queue in queues if queue.kind in AQM and queue.shaper is None]
    if bare and kind not in VIRTUAL:
        found = f"{device}: {bare[0].name} over the driver's ring"
        yield passed("no-bql", f"{found} with BQL") if bql else NO_BQL.found(f"{found} without BQL", device=device)
    stats = link.get("stats64")
    sent = stats.get("tx") if isinstance(stats, dict) else None
    lost = number(sent.get("dropped")) if isinstance(sent, dict) else None
    if lost:
        yield LOST.found(f"{device}: {lost:g} packets dropped on sending", device=device)
    elif lost is not None:
        yield passed("device-drops", f"{device}: no packet dropped on sending")
