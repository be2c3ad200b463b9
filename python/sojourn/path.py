"""What a run's scenario says of its path: queues, rate, RTT when empty, and what its pings are marked with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import conditions, metrics
from sojourn.groups import label

if TYPE_CHECKING:
    from sojourn.conditions import Conditions
    from sojourn.metrics import Source

Document = Mapping[str, Any]

#: Between the queues of a path.
NEXT = " \N{RIGHTWARDS ARROW} "
#: ECN field of an IP header by its value (RFC 3168 5, RFC 9331 2).
CODEPOINTS = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")


@dataclass(frozen=True)
class Path:
    """The forward path of a run; what its scenario does not state is empty."""

    queues: str = ""
    """As `htb(50Mbit)+dualpi2`, one after the other; without those that nobody configured."""
    rates_mbps: tuple[float, ...] = ()
    """The least and the greatest of the bottleneck's rates during the run, or one."""
    rtts_ms: tuple[float, ...] = ()
    """Of the empty path at the start: the least and the greatest of the flows', or one."""

    def __str__(self) -> str:
        parts = [f"queue {self.queues}"] if self.queues else []
        parts += [f"rate {_range(self.rates_mbps)} Mbit/s"] if self.rates_mbps else []
        parts += [f"RTT {_range(self.rtts_ms)} ms"] if self.rtts_ms else []
        return ", ".join(parts)


def of(source: Source) -> Path:
    """What the scenario of a run states; of a measurement rate and RTT, if it is of a suite's run."""
    met = of_conditions(conditions.of(source))
    return met if scenario(source) else Path("", met.rates_mbps, met.rtts_ms)


def scenario(source: Source) -> Document:
    """The resolved scenario of a simulated run; empty if there is none to read."""
    run = metrics.finished(source)
    try:
        return run.document if run else {}
    except ValueError:
        return {}


def pings(source: Source) -> dict[str, str]:
    """The series of all pings in the scenario's order, each with its label: the name, and how it is marked if it is."""
    sent = {f"ping.{ping.get('name')}.rtt": ping for ping in objects(scenario(source).get("ping"))}
    recorded = metrics.pings(source)
    ordered = [*(series for series in sent if series in recorded), *(one for one in recorded if one not in sent)]
    return {
        series: series.removeprefix("ping.").removesuffix(".rtt") + _marking(sent.get(series, {})) for series in ordered
    }


def group_label(source: Source, group: str) -> str:
    """A group of flows as its scenario declares it: `web-* (1000)`."""
    declared = (flow for flow in objects(scenario(source).get("flow")) if flow.get("name") == group)
    count = next(declared, {}).get("flows")
    return label(group, count if isinstance(count, int) else None)


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in an array that may be anything."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def of_conditions(met: Conditions) -> Path:
    """The forward path that the conditions of a run describe."""
    return Path(NEXT.join(met.queues), met.rates_mbps, met.base_rtts_ms)


def _marking(ping: Document) -> str:
    tos = str(ping.get("tos", ""))
    value = int(tos, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,2}", tos) else 0
    marks = ["UDP"] if ping.get("protocol") == "udp" else []
    marks += [f"DSCP {value >> 2}"] if value >> 2 else []
    marks += [CODEPOINTS[value & 3]] if value & 3 else []
    return "".join(f", {mark}" for mark in marks)


def _range(values: tuple[float, ...]) -> str:
    return " to ".join(f"{value:.4g}" for value in values)
