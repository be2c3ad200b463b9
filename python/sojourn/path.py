"""What a run's scenario says of its path: queues, rate, RTT when empty, and what its pings are marked with."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sojourn import metrics
from sojourn.text import harmless, harmless_lines

if TYPE_CHECKING:
    from sojourn.metrics import Source

Document = Mapping[str, Any]

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
MBPS = {"": 1e-6, "k": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
RATE = r"(\d+(?:\.\d+)?)([kMGT]?)bit"
TIME = r"([\d.]+)(ns|us|ms|s)"
#: Queues that nobody configures: what an interface has by itself.
UNTOUCHED = ("pfifo_fast", "pfifo", "none")
#: Between the queues of a path.
NEXT = " \N{RIGHTWARDS ARROW} "
#: ECN field of an IP header by its value (RFC 3168 5, RFC 9331 2).
CODEPOINTS = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")


@dataclass(frozen=True)
class Path:
    """The forward path of a run; what its scenario does not tell is empty."""

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
    """What the scenario of a run tells, else what its id does."""
    document = scenario(source)
    if document.get("link"):
        return told(document)
    rate, rtt = metrics.link_mbps(source.id), metrics.path_rtt_ms(source.id)
    return Path("", () if rate is None else (rate,), () if rtt is None else (rtt,))


def scenario(source: Source) -> Document:
    """The resolved scenario of a simulated run; empty if there is none to read."""
    folder = getattr(source, "path", None)
    try:
        text = (folder / "scenario.toml").read_text(encoding="utf-8") if folder else ""
        return cast("Document", harmless(tomllib.loads(harmless_lines(text))))
    except (OSError, ValueError, RecursionError):
        return {}


def pings(source: Source) -> dict[str, str]:
    """The series of all pings in the scenario's order, each with its label: the name, and how it is marked if it is."""
    told = {f"ping.{ping.get('name')}.rtt": ping for ping in objects(scenario(source).get("ping"))}
    recorded = metrics.pings(source)
    ordered = [*(series for series in told if series in recorded), *(one for one in recorded if one not in told)]
    return {
        series: series.removeprefix("ping.").removesuffix(".rtt") + _marking(told.get(series, {})) for series in ordered
    }


def rates(document: Document) -> list[tuple[float, float | None]]:
    """When the least forward rate of all links changes, in seconds, and that rate in Mbit/s; the first is the start."""
    links = {link["name"]: {key: str(link.get(key, "")) for key in ("rate", "qdisc")} for link in document["link"]}
    changes = sorted(((seconds(change["at"]), change) for change in document.get("schedule", [])), key=lambda c: c[0])
    steps = [(0.0, _least(links))]
    for at, change in changes:
        for dotted, value in {**change.get("set", {}), **change.get("replace", {})}.items():
            _, name, *way, what = dotted.split(".")
            if way != ["reverse"] and what in links.get(name, {}):
                links[name][what] = str(value)
        steps.append((at, _least(links)))
    return steps


def link_rates(link: Document) -> dict[str, float]:
    """In Mbit/s: `rate` of a link, and `bandwidth` of a queue that shapes."""
    found = {
        "rate": re.fullmatch(RATE, str(link.get("rate", ""))),
        "bandwidth": re.search(rf"\bbandwidth {RATE}", str(link.get("qdisc", ""))),
    }
    return {key: float(match[1]) * MBPS[match[2]] for key, match in found.items() if match}


def seconds(text: str) -> float:
    """Of a time with its unit."""
    number, unit = re.fullmatch(TIME, text).groups()  # type: ignore[union-attr]
    return float(number) * SECONDS[unit]


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in an array that may be anything."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def told(document: Document) -> Path:
    """What a scenario tells, resolved or as it was written; nothing where it was edited by hand."""
    try:
        return _told(document, objects(document.get("link")))
    except (KeyError, TypeError, ValueError, AttributeError):
        return Path()


def _told(document: Document, links: list[dict[str, Any]]) -> Path:
    every = [str(link["name"]) for link in links]
    paths = [flow.get("path", every) for flow in objects(document.get("flow"))] or [every]
    on_the_way = [link for link in links if any(link["name"] in path for path in paths)]
    shown = [text for link in on_the_way if (text := _queue(link))]
    least = [rate for _, rate in rates({**document, "link": on_the_way}) if rate is not None]
    times = [sum(_round_trip_ms(link) for link in links if link["name"] in path) for path in paths]
    return Path(
        NEXT.join(shown or [str(link.get("qdisc", "")) for link in on_the_way[:1]]),
        tuple(dict.fromkeys((min(least), max(least)))) if least else (),
        tuple(dict.fromkeys((min(times), max(times)))),
    )


def _queue(link: Document) -> str:
    """A configured queue behind its shaper; empty for what nobody configured."""
    shaper, qdisc = str(link.get("shaper", "none")), str(link.get("qdisc", "none"))
    if shaper != "none":
        return f"{shaper}({link['rate']})+{qdisc}"
    return "" if qdisc in UNTOUCHED else qdisc


def _round_trip_ms(link: Document) -> float:
    """Of a link and of the constant delays before its queues, both ways."""
    ways = (link, {**link, **link.get("reverse", {})})
    return round(sum(1e3 * (seconds(str(way.get("delay", "0s"))) + sum(_netem_s(way))) for way in ways), 6)


def _netem_s(way: Document) -> Iterator[float]:
    for text in way.get("ingress", ()):
        if delay := re.search(rf"\bnetem\b.*?\bdelay {TIME}", str(text)):
            yield float(delay[1]) * SECONDS[delay[2]]


def _least(links: Mapping[str, Document]) -> float | None:
    return min((rate for link in links.values() for rate in link_rates(link).values()), default=None)


def _marking(ping: Document) -> str:
    tos = str(ping.get("tos", ""))
    value = int(tos, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,2}", tos) else 0
    marks = ["UDP"] if ping.get("protocol") == "udp" else []
    marks += [f"DSCP {value >> 2}"] if value >> 2 else []
    marks += [CODEPOINTS[value & 3]] if value & 3 else []
    return "".join(f", {mark}" for mark in marks)


def _range(values: tuple[float, ...]) -> str:
    return " to ".join(f"{value:.4g}" for value in values)
