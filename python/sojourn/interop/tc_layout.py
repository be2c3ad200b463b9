"""Which devices of a script are which directions of which links.

Three layouts are read: one interface, with what arrives at it on an ifb or not; two interfaces of a router, one for
each direction; and a line of network namespaces joined by veth pairs, as `sojourn tc` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sojourn.interop import tc_mangle
from sojourn.interop.tc_state import Class, Device, Discipline, Filter, Machine, Place, after
from sojourn.text import harmless

SIDES = ("forward", "reverse")
#: Packets of a netem that is there for the delay alone, in the scripts of `sojourn tc`.
NETEM_LIMIT = 1_000_000
RATE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kmgt]?)(i?)(bit|bps|)")
DELAY = re.compile(r"(?:delay|latency) (\S+)(?: limit (\d+)p?)?|limit (\d+)p? (?:delay|latency) (\S+)")


class TcScriptError(ValueError):
    """One line: the script, its line, what was expected there."""


class Report:
    """Where what is read comes from, and what of it has no place in a scenario."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.notes: list[str] = []

    def fail(self, line: int, message: str) -> TcScriptError:
        return TcScriptError(harmless(f"{self.file}:{line}: {message}"))

    def note(self, line: int, message: str) -> None:
        if f"line {line}: {message}" not in self.notes:
            self.notes.append(harmless(f"line {line}: {message}"))


@dataclass(frozen=True, slots=True)
class Part:
    """An element of a link as the scenario writes it, and the discipline that it was."""

    text: str
    of: Discipline
    #: Of a tree of classes, the parameters of each.
    classes: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Way:
    """One direction of a link."""

    ingress: list[Part] = field(default_factory=list)
    rate: str = "none"
    shaper: str = "none"
    stab: str = "none"
    qdisc: Part | None = None
    delay: Part | None = None
    line: int = 0

    def keys(self) -> dict[str, Any]:
        """The keys of the scenario's table; what is absent there is absent here."""
        table: dict[str, Any] = {"rate": self.rate, "shaper": self.shaper, "stab": self.stab}
        table = {key: value for key, value in table.items() if value != "none"}
        if self.qdisc:
            table["qdisc"] = self.qdisc.text
        if self.ingress:
            table["ingress"] = [part.text for part in self.ingress]
        if self.delay:
            table["delay"] = delay_of(self.delay.of)
        return table


Links = dict[str, dict[str, Way]]


class Layout:
    """Which devices are which directions of which links."""

    def __init__(self, report: Report, machine: Machine, promoted: set[int], *, has_shapers: bool) -> None:
        self.report, self.machine, self.promoted, self.has_shapers = report, machine, promoted, has_shapers

    def fail(self, line: int, message: str) -> TcScriptError:
        return self.report.fail(line, message)

    def links(self) -> Links:
        devices = self.machine.devices
        for device in devices.values():
            for each in device.filters:
                for action in () if tc_mangle.rewrites(each) else each.actions:
                    if action[:1] not in (["police"], ["mirred"]):
                        self.report.note(each.line, f"left out `action {' '.join(action)}`")
        if any(device.peer in devices for device in devices.values()) and len(spaces := self._line()) > 1:
            return self._namespaces(spaces)
        return self._interface()

    def _interface(self) -> Links:
        """One interface, or two."""
        ifbs = {place: target for place in list(self.machine.devices) if (target := self._ifb(place))}
        used = [
            place for place, device in self.machine.devices.items()
            if place not in ifbs.values() and (device.below("root") or place in ifbs or self._actions(place))
        ]  # fmt: skip
        if not used:
            raise self.fail(1, "expected a `tc qdisc add` that puts a discipline on a device")
        if len(used) > 2 or (len(used) == 2 and ifbs):
            names = ", ".join(name for _, name in used)
            line = self.machine.devices[used[-1]].line
            raise self.fail(line, f"expected one interface, and an ifb for what arrives at it, or two; got {names}")
        out = self._way(used[0])
        if len(used) == 2:
            back = self._way(used[1])
            names = f"forward leaves {used[0][1]}, the way back leaves {used[1][1]}"
            self.report.note(self.machine.devices[used[1]].line, names)
            return {"bneck": {"forward": out, "reverse": back}}
        name, device = used[0][1], self.machine.devices[used[0]]
        actions = self._actions(used[0])
        if not ifbs and not actions:
            return {"bneck": {"forward": out, "reverse": Way()}}
        arriving = self._way(ifbs[used[0]]) if ifbs else Way(line=device.line)
        arriving.ingress[:0] = actions
        if out.rate != "none" and arriving.rate == "none":
            self.report.note(device.line, f"forward leaves {name}; what arrives at it is the way back")
            return {"bneck": {"forward": out, "reverse": arriving}}
        self.report.note(device.line, f"forward arrives at {name}; what leaves it is the way back")
        return {"bneck": {"forward": arriving, "reverse": out}}

    def _line(self) -> list[str]:
        """The namespaces from one end to the other; empty if they are no line."""
        beside: dict[str, set[str]] = {}
        for (space, _), device in self.machine.devices.items():
            if device.peer and device.peer in self.machine.devices and device.peer[0] != space:
                beside.setdefault(space, set()).add(device.peer[0])
        order = {space: index for index, space in enumerate(self.machine.spaces)}
        ends = sorted((s for s in beside if len(beside[s]) == 1), key=lambda s: order.get(s, len(order)))
        if len(ends) != 2 or any(len(others) > 2 for others in beside.values()):
            return []
        line, seen = [ends[0]], {ends[0]}
        while following := [space for space in beside[line[-1]] if space not in seen]:
            line.append(following[0])
            seen.add(following[0])
        return line

    def _towards(self, space: str, other: str) -> Place:
        return next(
            place for place, device in self.machine.devices.items()
            if place[0] == space and device.peer and device.peer[0] == other
        )  # fmt: skip

    def _namespaces(self, spaces: Sequence[str]) -> Links:
        if len(spaces) == 2:
            left, right = spaces
            ways = {"forward": self._way(self._towards(left, right)), "reverse": self._way(self._towards(right, left))}
            for side, place in (("reverse", self._towards(left, right)), ("forward", self._towards(right, left))):
                if self._ifb(place):
                    self._arrive(ways[side], place, None)
            return {"bneck": ways}
        links: Links = {}
        for space in spaces[1:-1]:
            links[space.removeprefix("mid-") or space] = {side: Way() for side in SIDES}
        chain = list(links.values())
        for side, line in (("forward", list(spaces)), ("reverse", list(reversed(spaces)))):
            own = [way[side] for way in (chain if side == "forward" else reversed(chain))]
            first = self._way(self._towards(line[0], line[1]))
            if first.rate != "none" or (first.qdisc and first.qdisc.of.kind != "fq"):
                raise self.fail(first.line, f"expected the queue between the hosts, not on {line[0]} itself")
            for index, (before, space) in enumerate(pairwise(line)):
                here = own[index] if index < len(own) else None
                if here is not None:
                    leaving = self._way(self._towards(space, line[index + 2]))
                    for key in ("ingress", "rate", "shaper", "stab", "qdisc", "line"):
                        setattr(here, key, getattr(leaving, key))
                arrival = self._towards(space, before)
                if self._ifb(arrival):
                    self._arrive(here, arrival, own[index - 1] if index else None)
            own[0].ingress[:0] = first.ingress
        return links

    def _arrive(self, way: Way | None, place: Place, previous: Way | None) -> None:
        """What packets pass on an ifb where they arrive: the delay of the link before, then this one's elements."""
        arriving = self._way(self._ifb(place) or place)
        if arriving.rate != "none" or arriving.qdisc:
            raise self.fail(arriving.line, "expected netem or police where packets arrive, the queue where they leave")
        parts = arriving.ingress
        if arriving.delay and previous:
            previous.delay = arriving.delay
        elif previous and parts and is_delay(parts[0].of) and limit(parts[0].of) >= NETEM_LIMIT:
            previous.delay = parts.pop(0)
        parts = [*self._actions(place), *parts]
        if way is not None:
            way.ingress = [*parts, *way.ingress]
        elif parts:
            raise self.fail(parts[0].of.line, "expected nothing but a constant delay before the last host")

    def _ifb(self, place: Place) -> Place | None:
        """Where what arrives at a device is sent to."""
        device = self.machine.devices[place]
        for each in device.filters:
            for action in each.actions if each.parent == "ffff:" else ():
                if action[:1] == ["mirred"]:
                    if "redirect" not in action or "dev" not in action[:-1]:
                        raise self.fail(each.line, "expected `action mirred egress redirect dev IFB`")
                    if not each.takes_all():
                        kept = f"`{' '.join([each.kind, *each.match])}`"
                        self.report.note(each.line, f"all that arrives is redirected, not only {kept}")
                    target = (place[0], action[action.index("dev") + 1])
                    if target == place:
                        raise self.fail(each.line, "expected an ifb to redirect to, not the same device")
                    self.machine.device(*target, each.line)
                    return target
        return None

    def _actions(self, place: Place, hook: str = "ffff:") -> list[Part]:
        """What filters do with packets at a device: one mangler, and policers."""
        found = []
        rewrites = [
            each for each in self.machine.devices[place].filters if each.parent == hook and tc_mangle.rewrites(each)
        ]
        rules = []
        for rule in tc_mangle.rules(rewrites):
            if rule.startswith("?"):
                self.report.note(rewrites[0].line, f"left out the rewriting of `{rule[1:]}`")
            else:
                rules.append(rule)
        if rules:
            of = Discipline(-rewrites[0].line, rewrites[0].line, "mangle", " ".join(rules).split(), "", "")
            found.append(Part(of.text(), of))
        for each in self.machine.devices[place].filters:
            for action in each.actions:
                if action[:1] == ["police"] and each.parent == hook:
                    if not each.takes_all():
                        kept = " ".join([each.kind, *each.match])
                        raise self.fail(each.line, f"expected a policer of all packets, got one of `{kept}`")
                    words = _without(action[1:], "index")
                    of = Discipline(-each.line, each.line, "police", words, "", "")
                    found.append(Part(of.text(), of))
        return found

    def _way(self, place: Place) -> Way:
        """The disciplines of a device, from the root down."""
        device = self.machine.devices[place]
        way = Way(line=device.line)
        way.ingress += self._actions(place, "egress")
        node = device.below("root")
        while node is not None:
            way.line = max(way.line, node.line)
            if node.stab != "none":
                way.stab = node.stab
            child = device.child(node)
            if node.kind == "netem" and way.shaper == "none" and (child or node.parent == "root" or way.ingress):
                if node.id in self.promoted and way.delay is None:
                    way.delay = Part(node.text(), node)
                else:
                    way.ingress.append(Part(node.text(), node))
            elif node.kind == "htb":
                return self._htb(device, node, way)
            elif node.kind in ("tbf", "netem") and child:
                if way.shaper != "none" or node.kind == "netem" or not self.has_shapers:
                    where = "on the interface or above the shaper"
                    raise self.fail(node.line, f"a queue below this {node.kind} sees no delay; expected it {where}")
                way.rate, way.shaper = _rate(node.args), _rateless(node)
                if way.rate == "none":
                    raise self.fail(node.line, f"expected a rate of {node.kind}")
            elif child:
                raise self.fail(child.line, f"{node.kind} takes no discipline below it here")
            else:
                way.qdisc = Part(node.text(), node)
            node = child
        return way

    def _htb(self, device: Device, root: Discipline, way: Way) -> Way:
        """One rate with one queue as the link's shaper, or the whole tree as its queue."""
        classes = [each for each in device.classes if each.id.startswith(root.handle)]
        if not classes:
            raise self.fail(root.line, "expected `tc class add ... htb rate` below this htb, which passes everything")
        way.line = max(way.line, *(each.line for each in classes))
        path = self._path(classes)
        filters = [each for each in device.filters if each.parent == root.handle]
        default = after(root.args, "default")
        is_plain = set(root.args[::2]) <= {"default", "r2q"}
        takes_all = bool(path) and not filters and _minor(default) == _minor(path[-1].id.split(":")[1])
        if self.has_shapers and is_plain and takes_all:
            leaf = path[-1]
            rest = _without(root.args, "default")
            way.rate = _rate(leaf.args)
            if way.rate == "none":
                raise self.fail(leaf.line, "expected a rate of this class")
            way.shaper = " ".join(["htb", *_without(_without(leaf.args, "rate"), "ceil"), *rest])
            ceil = after(leaf.args, "ceil")
            if len(path) == 1 and ceil and _bits(ceil) != _bits(way.rate):
                way.shaper += f" ceil {ceil}"
            if (queue := device.below(leaf.id)) is not None:
                self._is_last(device, queue)
                way.qdisc = Part(queue.text(), queue)
            return way
        if _minor(default) == 0 and not filters:
            self.report.note(root.line, "this htb has no default class: packets pass it without a rate")
        words = {each.id: " ".join(each.args) for each in classes}
        way.qdisc = Part(self._tree(device, root, classes, filters), root, words)
        return way

    @staticmethod
    def _path(classes: Sequence[Class]) -> list[Class]:
        """Classes in a chain of one rate, from the root to the only leaf; empty if they are more than that."""
        path = [each for each in classes if not each.parent]
        while len(path) < len(classes):
            below = [each for each in classes if path and each.parent == path[-1].id]
            if len(below) != 1:
                return []
            path += below
        if len([each for each in classes if not each.parent]) != 1:
            return []
        rates = [(_bits(_rate(each.args)), _bits(after(each.args, "ceil") or _rate(each.args))) for each in path]
        words = {" ".join(_without(_without(each.args, "rate"), "ceil")) for each in path}
        # A leaf that borrows nothing, below ancestors that are never the narrower ones.
        is_leafs = rates[-1][0] == rates[-1][1] != 0 and min(rate for rate, _ in rates) == rates[-1][0]
        return path if len(path) == 1 or (is_leafs and len(words) == 1) else []

    def _tree(self, device: Device, root: Discipline, classes: Sequence[Class], filters: Sequence[Filter]) -> str:
        major = root.handle if not root.handle.startswith("auto") else "1:"
        text = [root.text()]
        order = [each for each in classes if not each.parent]
        for each in order:
            order += [child for child in classes if child.parent == each.id]
        if len(order) < len(classes):
            lost = next(each for each in classes if each not in order)
            raise self.fail(lost.line, f"class {lost.id}: expected a parent that is there, got {lost.parent}")
        for each in order:
            parent = f" parent {each.parent}" if each.parent else ""
            leaf = device.below(each.id)
            if leaf is not None:
                self._is_last(device, leaf)
            queue = f" leaf {{ {leaf.text()} }}" if leaf else ""
            text.append(f"class {each.id}{parent} {' '.join(each.args)}{queue}")
        for one in sorted(filters, key=lambda one: one.prio):
            match = " ".join(one.match)
            if one.takes_all() and one.flowid:
                match = "match ip protocol 0 0"
            elif one.kind != "u32" or not re.fullmatch(r"(match ip (tos|dsfield|protocol) \S+ \S+ ?)+", match):
                given = f"{one.kind} {match}".strip()
                expected = "expected `match ip tos VALUE MASK` or `match ip protocol VALUE MASK`"
                raise self.fail(one.line, f"{expected}, got `{given}`")
            text.append(f"filter {match.replace('dsfield', 'tos')} flowid {one.flowid or major + '0'}")
        return " ".join(text)

    def _is_last(self, device: Device, queue: Discipline) -> None:
        child = device.child(queue)
        if child is not None or queue.kind == "htb":
            expected = "expected a queue without another below it in a class"
            raise self.fail((child or queue).line, f"{expected}; a delay before the shaper is a netem on the interface")


def is_delay(of: Discipline) -> bool:
    return of.kind == "netem" and DELAY.fullmatch(" ".join(of.args)) is not None


def delay_of(of: Discipline) -> str:
    """The constant delay of a netem as a time of the scenario: a bare number is nanoseconds there."""
    matched = DELAY.fullmatch(" ".join(of.args))
    delay = (matched[1] or matched[4]) if matched else "0"
    return f"{delay}ns" if delay.isdecimal() else re.sub(r"secs?$", "s", delay.replace("sec", "s").replace("ss", "s"))


def limit(of: Discipline) -> int:
    limit = after(of.args, "limit").removesuffix("p")
    return int(limit) if limit.isdecimal() and len(limit) < 12 else 1000


def _rate(args: Sequence[str]) -> str:
    return after(args, "rate") or "none"


def _rateless(of: Discipline) -> str:
    return " ".join([of.kind, *_without(of.args, "rate")])


def _without(words: Sequence[str], key: str) -> list[str]:
    """The arguments without one option and its value."""
    if key not in words:
        return list(words)
    at = list(words).index(key)
    return [*words[:at], *words[at + 2 :]]


def _minor(text: str) -> int | None:
    """A minor number of tc: hexadecimal; none is 0."""
    digits = text.removeprefix("0x")
    return int(digits or "0", 16) if re.fullmatch(r"[0-9a-fA-F]{0,8}", digits) else None


def _bits(rate: str) -> float:
    """Bit/s of a rate of tc, whose units have any case; 0 for what is none."""
    matched = RATE.fullmatch(rate.lower())
    if matched is None:
        return 0.0
    number, prefix, binary, unit = matched.groups()
    base = 1024 if binary else 1000
    scale: float = base ** " kmgt".index(prefix or " ") * (8 if unit == "bps" else 1)
    return float(number) * scale
