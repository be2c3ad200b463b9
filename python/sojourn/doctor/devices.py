"""The devices of this network namespace: gathers, and hands to the checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.doctor import aqm, gather, netem, offload, queues, tree
from sojourn.doctor.finding import Finding

DEVICES = Path("/sys/class/net")


class DeviceError(ValueError):
    """A device that is not there; the text is one line."""


@dataclass(frozen=True, slots=True)
class Device:
    """What the kernel says of a device, in the forms of `ip`, `tc` and `ethtool`."""

    name: str
    link: dict[str, Any]
    qdiscs: list[dict[str, Any]]
    classes: str
    filters: list[dict[str, Any]]
    features: str | None = None
    coalescing: str | None = None
    bql: bool = False
    """Whether byte queue limits have counted."""

    @property
    def queues(self) -> list[tree.Queue]:
        """Its disciplines."""
        return tree.read(self.qdiscs, self.classes)

    @property
    def is_virtual(self) -> bool:
        """Whether it has no wire."""
        info = self.link.get("linkinfo")
        return isinstance(info, dict) and str(info.get("info_kind")) in offload.VIRTUAL

    @property
    def is_relay(self) -> bool:
        """Whether what it sends may come from another machine although this one does not route: a bridge's, an ifb."""
        info = self.link.get("linkinfo")
        kind = info.get("info_kind") if isinstance(info, dict) else None
        return "master" in self.link or kind in ("bridge", "ifb")

    @classmethod
    def read(cls, name: str, link: dict[str, Any]) -> Device:
        """Asks the kernel."""
        limits = (gather.text(one) for one in DEVICES.glob(f"{name}/queues/tx-*/byte_queue_limits/limit"))
        return cls(
            name,
            link,
            gather.objects("tc", "-s", "-j", "qdisc", "show", "dev", name),
            gather.answer("tc", "class", "show", "dev", name) or "",
            gather.objects("tc", "-s", "-j", "filter", "show", "dev", name, "ingress"),
            gather.answer("ethtool", "-k", name),
            gather.answer("ethtool", "-c", name),
            bql=any((limit or "0").strip() != "0" for limit in limits),
        )


def examine(names: Sequence[str], rate_bps: float | None, rtt_s: float | None) -> Iterator[Finding]:
    """The named devices, or all that are up but loopback.

    Raises:
        DeviceError: one of the names is none of a device here.
    """
    links = {str(link.get("ifname")): link for link in gather.objects("ip", "-d", "-s", "-j", "link", "show")}
    if unknown := [name for name in names if name not in links]:
        raise DeviceError(
            f"--device {unknown[0]}: no such device; there are {', '.join(links) or 'none that ip shows'}"
        )
    flags = {name: str(link.get("flags")) for name, link in links.items()}
    up = [name for name, is_set in flags.items() if "'UP'" in is_set and "'LOOPBACK'" not in is_set]
    devices = [Device.read(name, links[name]) for name in dict.fromkeys(names or up)]
    forwards = (gather.text("/proc/sys/net/ipv4/ip_forward") or "0").strip() == "1"
    yield from judge(devices, rate_bps, rtt_s, forwards=forwards)


def judge(
    devices: Sequence[Device], rate_bps: float | None, rtt_s: float | None, *, forwards: bool
) -> Iterator[Finding]:
    """Everything that is to be said of devices which were read."""
    trees = {device.name: device.queues for device in devices}
    for device in devices:
        name, own, on = device.name, trees[device.name], offload.features(device.features)
        yield from netem.examine(name, own, rate_bps)
        yield from queues.examine(name, own, is_virtual=device.is_virtual)
        yield from aqm.examine(name, own)
        yield from queues.placed(name, own, forwards=forwards or device.is_relay)
        yield from queues.limits(name, own, rate_bps, rtt_s)
        yield from queues.policers(name, device.filters)
        yield from offload.trains(name, device.link, on, own, rate_bps)
        others = {other: queues for other, queues in trees.items() if other != name}
        yield from offload.forwarded(name, on, others, forwards=forwards)
        yield from offload.hardware(name, device.link, on, device.coalescing, own, bql=device.bql)
