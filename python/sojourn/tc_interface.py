"""The shell script that puts a scenario's bottleneck on a real interface: what leaves it, or arrives through an ifb.

The layout is that of the script in SCReAM's record of its test activity of 2024-10-28: the bottleneck on the ifb, the
whole delay of the path on the interface itself.
"""

from __future__ import annotations

import re
from typing import Any

from sojourn.scenario import Resolved
from sojourn.tc import (
    NETEM_LIMIT,
    SIDES,
    Chain,
    Policer,
    Script,
    Way,
    direction,
    edit,
    egress,
    police,
    seconds,
    spell,
    to_pipe,
)

#: What a Linux interface may be called, as far as a shell takes it without quotes.
DEVICE = re.compile(r"(?!-)(?!\.{1,2}$)[A-Za-z0-9_.:@+-]{1,15}")
BITS = {"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}
CONSTANT = re.compile(r"netem(?: limit \d+p?)? delay (\d[\d.]*[mun]?s)")
EMPTY = {"rate": "none", "shaper": "none", "stab": "none", "qdisc": "pfifo", "ingress": []}


class InterfaceError(ValueError):
    """One line about the options of `sojourn tc`."""


def build_on(resolved: Resolved, device: str, ingress: str | None = None) -> Script:
    """The script for the interface `device`; with an `ingress` ifb the forward direction is what arrives there."""
    for option, name in (("--on", device), ("--ingress", ingress)):
        if name is not None and not DEVICE.fullmatch(name):
            raise InterfaceError(f"{option} {name}: expected the name of an interface, such as eth0")
    if device == ingress:
        raise InterfaceError(f"--ingress {ingress}: expected an ifb such as ifb0, not the interface itself")
    document = resolved.brief()
    script = Script()
    link = _bottleneck(document["link"])
    _head(script, document, link["name"], device, ingress)
    placed = _Placed(script, document, link, device, ingress)
    placed.others()
    placed.build()
    if document.get("schedule"):
        script.lines += ["", 'if [ "${1-}" = build ]; then exit; fi']
        placed.schedule()
    return script


def _bottleneck(links: list[dict[str, Any]]) -> dict[str, Any]:
    """The link with the least rate forward; of several without rate the first."""

    def rate(link: dict[str, Any]) -> float:
        number = str(link["rate"]).rstrip("abcdefghijklmnopqrstuvwxyzGMT")
        return float(number) * BITS[link["rate"].removeprefix(number)] if number else float("inf")

    return min(links, key=rate)


def _head(script: Script, document: dict[str, Any], link: str, device: str, ingress: str | None) -> None:
    arriving = f"what arrives at {device}, on {ingress}" if ingress else f"what leaves {device}"
    script.lines.append("#!/usr/bin/env bash")
    script.say(
        f"{document['name']}: {document.get('description', '')}".rstrip(": "),
        "",
        f"Written by `sojourn tc --on`. Link {link}: forward is {arriving}. Run it as root.",
        f"It removes the disciplines of {device} first; a login over {device} passes the bottleneck, too.",
        "`clean` as argument only removes, `build` stops before the schedule.",
        "Cards hand over super-packets, which the queue counts as one. For packets as on the wire:",
        f"  ethtool -K {device} gro off gso off tso off",
    )
    script.lines += ["set -eu", f"tc qdisc del dev {device} root 2>/dev/null || true"]
    script.lines += [f"tc qdisc del dev {device} {hook} 2>/dev/null || true" for hook in ("ingress", "clsact")]
    if ingress:
        script.lines.append(f"ip link del {ingress} 2>/dev/null || true")
    script.lines.append('if [ "${1-}" = clean ]; then exit; fi')


class _Placed:
    """A scenario's bottleneck on its way to an interface."""

    def __init__(
        self, script: Script, document: dict[str, Any], link: dict[str, Any], device: str, ingress: str | None
    ) -> None:
        self.script, self.document, self.link = script, document, link
        self.device, self.ifb = device, ingress
        self.delays = {
            (each["name"], side): str(direction(each, side)["delay"]) for each in document["link"] for side in SIDES
        }
        #: Constant netems before the queues that have no place here, in seconds.
        self.before_s = 0.0
        self.ways: dict[str, Way] = {}
        self.has_delay = False

    def others(self) -> None:
        """Says what has no place on one interface."""
        name = self.link["name"]
        for each in self.document["link"]:
            for side in SIDES:
                if each["name"] == name and (side == "forward" or self.ifb):
                    continue
                way = direction(each, side)
                constant = [CONSTANT.fullmatch(text) for text in way["ingress"]]
                self.before_s += sum(seconds(match[1]) for match in constant if match)
                if all(constant):
                    way = {**way, "ingress": []}
                if all(way[key] == EMPTY[key] for key in EMPTY):
                    continue
                where = f"link {each['name']} {side}"
                hint = "; `--ingress` gives it a place" if each["name"] == name else ""
                self.script.warn(f"{where}: only its delay is here{hint}")
        for tunnel in self.document.get("tunnel", []):
            self.script.warn(f"tunnel {tunnel['name']} is left out")

    def build(self) -> None:
        """Both directions, the interface's own egress with the delay of the path."""
        side = "reverse" if self.ifb else "forward"
        chain = Chain(self.script, None, self.device)
        is_later = any(name.endswith(".delay") for change in self._changes() for name in change.get("set", {}))
        self.has_delay = self._delay_s() > 0 or is_later
        self.script.lines.append("")
        if self.has_delay:
            chain.attach("add", 0, self._netem(), "the delay of the whole path, both ways")
        self.ways[side] = self._way(chain, side, "egress")
        if self.ifb:
            self._arrivals(self.ifb)

    def _arrivals(self, ifb: str) -> None:
        script = self.script
        script.lines.append("")
        script.say(f"What arrives at {self.device} passes {ifb}")
        script.do(None, "modprobe ifb numifbs=0 2>/dev/null || true")
        script.do(None, f"ip link add {ifb} type ifb")
        script.do(None, f"ip link set dev {ifb} txqueuelen 1000 up")
        way = self.ways["forward"] = self._way(Chain(script, None, ifb), "forward", "ingress")
        actions = "".join(
            f"action police {to_pipe(spell(self.link['ingress'][number]).args)} index {element.index} "
            for number, element in enumerate(way.elements)
            if isinstance(element, Policer)
        )
        script.redirect(None, self.device, ifb, actions)

    def _way(self, chain: Chain, side: str, hook: str) -> Way:
        """The elements of a direction, then its shaper and queue."""
        own = direction(self.link, side)
        chain.stab = "" if own["stab"] == "none" else f" stab {own['stab']}"
        chain.base = -1  # until the shaper is there
        where = f"link {self.link['name']} {side}"
        elements: list[int | Policer] = []
        for number, text in enumerate(own["ingress"]):
            what = f"{where}, ingress{number}"
            if spell(text).name != "police":
                elements.append(len(chain.elements))
                chain.attach("add", len(chain.elements), text, what)
            else:
                if chain.elements and number:
                    self.script.warn(f"{what}: police acts before the other elements of this device, not after them")
                place = sum(isinstance(element, Policer) for element in elements)
                index = self.script.policer(None) if hook == "ingress" else 0
                elements.append(Policer(None, self.device, hook, place, index))
        if hook == "egress" and any(isinstance(each, Policer) for each in elements):
            texts = [text for text in own["ingress"] if spell(text).name == "police"]
            policers = iter(police(self.script, None, self.device, texts, where))
            elements = [next(policers) if isinstance(each, Policer) else each for each in elements]
        if all(own[key] == EMPTY[key] for key in ("rate", "shaper", "stab", "qdisc")) and not self._is_replaced(side):
            return Way(chain, None, ingress=chain, elements=elements)
        way = egress(chain, own, where)
        way.ingress, way.elements = chain, elements
        return way

    def _is_replaced(self, side: str) -> bool:
        names = [name for change in self._changes() for verb in ("set", "replace") for name in change.get(verb, {})]
        link = f"link.{self.link['name']}"
        return f"{link}.{side}.qdisc" in names or f"{link}.qdisc" in names

    def _changes(self) -> list[dict[str, Any]]:
        return list(self.document.get("schedule", []))

    def _delay_s(self) -> float:
        return self.before_s + sum(map(seconds, self.delays.values()))

    def _netem(self) -> str:
        return f"netem delay {round(self._delay_s() * 1e3, 6):.12g}ms limit {NETEM_LIMIT}"

    def schedule(self) -> None:
        """The scheduled changes at their times, and the end of the run."""
        for change in sorted(self._changes(), key=lambda change: seconds(change["at"])):
            self.script.lines.append("")
            self.script.wait_until(seconds(change["at"]))
            for verb, table in (("change", change.get("set", {})), ("replace", change.get("replace", {}))):
                for name, value in table.items():
                    self._change(verb, name, value, change["at"])
        self.script.lines.append("")
        self.script.wait_until(seconds(self.document["duration"]))

    def _change(self, verb: str, name: str, value: str, at: str) -> None:
        _, link, *sides, what = name.split(".")
        for side in sides or SIDES:
            where = f"at {at}: link {link} {side}"
            if what == "delay":
                self.delays[link, side] = value
            elif link == self.link["name"] and side in self.ways:
                edit(self.script, self.ways[side], verb, what, value, where)
            else:
                self.script.warn(f"{where}: {what} has no place here")
        if what == "delay":
            chain = self.ways["reverse" if self.ifb else "forward"].egress
            chain.attach("change", 0, self._netem(), f"at {at}: the delay of the whole path")
