"""What the `tc` and `ip` commands of a script make of a machine: devices with disciplines, classes and filters."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

Place = tuple[str, str]  # a namespace, "" for the machine's own, and a device
ATTACHING = ("add", "replace", "change", "link")
#: Disciplines that hold no packets of their own, or that every device has anyway.
PLAIN = frozenset({"noqueue", "mq"})
HOOKS = frozenset({"ingress", "clsact"})
STAB = frozenset({"mtu", "tsize", "mpu", "overhead", "linklayer", "cell_log", "align", "data_size"})
HANDLE = re.compile(r"([0-9a-fA-F]{0,4}):([0-9a-fA-F]{0,4})")
#: What precedes a filter's own parameters, and takes a value.
FILTER_KEYS = frozenset({"protocol", "prio", "pref", "preference", "handle", "chain"})
#: Matches of u32 that every packet has.
EVERYTHING = frozenset(f"ip {end} {address}/0" for end in ("src", "dst") for address in ("0", ".".join("0000"))) | {
    f"{width} {zero} {zero}" for width in ("u32", "u16", "u8") for zero in ("0", "0x0")
}
#: Priority that Linux gives the first filter without one; each further one gets one less.
AUTO_PRIO = 49152


class TcError(ValueError):
    """A command that cannot be read as a part of a scenario."""


@dataclass(slots=True)
class Discipline:
    """A queue discipline on a device, with the parameters that built it and those that changed it since."""

    id: int
    line: int
    kind: str
    args: list[str]
    handle: str
    parent: str
    stab: str = "none"
    changed: str = ""

    def text(self) -> str:
        return " ".join([self.kind, *self.args])


@dataclass(slots=True)
class Class:
    """A class of htb."""

    line: int
    id: str
    parent: str
    args: list[str]


@dataclass(slots=True)
class Filter:
    """A filter: what it matches, where it sends packets, and what it does with them."""

    line: int
    parent: str
    prio: int
    kind: str
    match: list[str]
    flowid: str = ""
    actions: list[list[str]] = field(default_factory=list)

    def takes_all(self) -> bool:
        """Whether every packet matches."""
        words = " ".join(self.match).replace("match ", "")
        return (self.kind in ("matchall", "flower") and not words) or words in EVERYTHING


@dataclass(slots=True)
class Device:
    """A device and what the script has put on it."""

    line: int
    disciplines: list[Discipline] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    mtu: int | None = None
    peer: Place | None = None

    def below(self, parent: str) -> Discipline | None:
        """The discipline that hangs at a class, or at the root."""
        return next((each for each in self.disciplines if each.parent == parent), None)

    def child(self, of: Discipline) -> Discipline | None:
        """The only discipline below one without classes of its own."""
        return next((each for each in self.disciplines if each is not of and each.parent.startswith(of.handle)), None)


@dataclass(slots=True)
class Machine:
    """Devices by namespace and name, in the order in which the script names them."""

    devices: dict[Place, Device] = field(default_factory=dict)
    spaces: list[str] = field(default_factory=list)
    count: int = 0

    def copy(self) -> Machine:
        return copy.deepcopy(self)

    def device(self, space: str, name: str, line: int) -> Device:
        return self.devices.setdefault((space, name), Device(line))

    def tc(self, words: list[str], space: str, line: int) -> None:
        """One `tc` command; raises `TcError`."""
        while words and words[0].startswith("-"):
            option = words.pop(0)
            if option in ("-n", "-netns") and words:
                space = words.pop(0)
            elif option.startswith("-b"):
                raise TcError("expected commands in the script itself, not a batch file")
        if len(words) < 2 or words[1] in ("show", "list", "ls", "get"):
            return
        what = next((full for full in ("qdisc", "class", "filter", "actions") if full.startswith(words[0])), "")
        verb = words[1] if words[1] in ATTACHING else "del" if "delete".startswith(words[1]) else ""
        if not what or not verb:
            known = "tc qdisc, class or filter with add, replace, change or del"
            raise TcError(f"expected {known}, got `tc {words[0]} {words[1]}`")
        if what == "actions":
            raise TcError("a change of an action has no form in a scenario; expected a change of a discipline or class")
        rest = words[2:]
        if verb == "del":
            self._delete(what, rest, space, line)
        elif what == "qdisc":
            self._qdisc(verb, rest, space, line)
        elif what == "class":
            self._class(verb, rest, space, line)
        else:
            self._filter(rest, space, line)

    def _delete(self, what: str, words: list[str], space: str, line: int) -> None:
        options, _ = _options(words, {"dev", "parent", "handle", "classid"}, {"root", *HOOKS})
        device = self.device(space, options.get("dev", ""), line)
        if what == "qdisc":
            handle = _handle(options["handle"]) if "handle" in options else None
            if HOOKS & options.keys() or options.get("parent") in ("ffff:", "ffff:fff1") or handle == "ffff:":
                device.filters = [each for each in device.filters if each.parent != "ffff:"]
                device.disciplines = [each for each in device.disciplines if each.kind not in HOOKS]
                return
            parent = "root" if "root" in options else _handle(options.get("parent", "root"))
            if (found := device.below(parent)) is not None:
                self._remove(device, found)
        elif what == "filter":
            parent = _handle(options["parent"]) if "parent" in options else "ffff:"
            device.filters = [each for each in device.filters if each.parent != parent]
        else:
            gone = _handle(options.get("classid", "0:"))
            device.classes = [each for each in device.classes if each.id != gone]

    def _remove(self, device: Device, gone: Discipline) -> None:
        """A discipline with all that hangs below it."""
        device.disciplines.remove(gone)
        device.classes = [each for each in device.classes if not each.id.startswith(gone.handle)]
        device.filters = [each for each in device.filters if each.parent != gone.handle]
        for each in [other for other in device.disciplines if other.parent.startswith(gone.handle)]:
            if each in device.disciplines:
                self._remove(device, each)

    def _qdisc(self, verb: str, words: list[str], space: str, line: int) -> None:
        options, rest = _options(words, {"dev", "parent", "handle"}, {"root", *HOOKS}, {"stab": STAB})
        device = self.device(space, _needed(options, "dev"), line)
        self.count += 1
        hook = next((hook for hook in HOOKS if hook in options or rest[:1] == [hook]), "")
        if hook or options.get("parent", "").lower() in ("ffff:fff1", "ingress"):
            device.disciplines.append(Discipline(self.count, line, hook or "ingress", [], "ffff:", hook or "ingress"))
            return
        parent = "root" if "root" in options else _handle(_needed(options, "parent"))
        handle = _handle(options["handle"]) if "handle" in options else f"auto{self.count}:"
        if parent.endswith(":") and parent != "root":
            parent += "1"
        if not rest:
            raise TcError("expected the name of a discipline, such as htb or fq_codel")
        kind, args = rest[0], rest[1:]
        there = device.below(parent)
        if verb == "change" or (verb == "replace" and there and there.kind == kind and "handle" not in options):
            if there is None or there.kind != kind:
                raise TcError(f"there is no {kind} to change at {parent} of {options['dev']}")
            if kind == "netem":
                there.args = args
            there.changed, there.line = " ".join(args), line
            return
        if there is not None:
            if verb == "add":
                raise TcError(f"{options['dev']} has a discipline at {parent} already, from line {there.line}")
            self._remove(device, there)
        stab = options.get("stab", "none")
        if kind not in PLAIN:
            device.disciplines.append(Discipline(self.count, line, kind, args, handle, parent, stab))

    def _class(self, verb: str, words: list[str], space: str, line: int) -> None:
        options, rest = _options(words, {"dev", "parent", "classid"}, {"root"})
        device = self.device(space, _needed(options, "dev"), line)
        name = _handle(_needed(options, "classid"))
        if rest[:1] != ["htb"]:
            raise TcError(f"expected a class of htb, got `{' '.join(rest[:1])}`")
        root = name.split(":")[0] + ":"
        parent = _handle(options.get("parent", root))
        there = next((each for each in device.classes if each.id == name), None)
        if there is not None:
            if verb == "add":
                raise TcError(f"class {name} is there already, from line {there.line}")
            there.args, there.line = rest[1:], line
        elif verb == "change":
            raise TcError(f"there is no class {name} to change on {options['dev']}")
        else:
            device.classes.append(Class(line, name, "" if parent == root else parent, rest[1:]))

    def _filter(self, words: list[str], space: str, line: int) -> None:
        options, rest = _options(words, {"dev", "parent", *FILTER_KEYS}, {"root", "ingress", "egress"})
        device = self.device(space, _needed(options, "dev"), line)
        if "egress" in options:
            parent = "egress"
        elif "ingress" in options:
            parent = "ffff:"
        else:
            parent = _handle(options["parent"]) if "parent" in options else "root"
            parent = "egress" if parent == "ffff:fff3" else "ffff:" if parent.startswith("ffff:") else parent
            root = device.below("root")
            parent = root.handle if parent == "root" and root else parent
        prio = next((options[key] for key in ("prio", "pref", "preference") if key in options), "")
        if prio and not prio.isdecimal():
            raise TcError(f"prio: expected a number, got `{prio}`")
        number = int(prio) if prio else AUTO_PRIO - len(device.filters)
        if not rest:
            raise TcError("expected a kind of filter, such as u32 or matchall")
        added = Filter(line, parent, number, rest[0], [])
        target, what = added.match, iter(rest[1:])
        for word in what:
            if word == "action":
                target = []
                added.actions.append(target)
            elif word == "police" and target is added.match:
                target = ["police"]
                added.actions.append(target)
            elif word in ("flowid", "classid"):
                added.flowid = _handle(next(what, ""), allow_bare=True)
                target = added.match
            else:
                target.append(word)
        device.filters.append(added)

    def ip(self, words: list[str], space: str, line: int) -> None:
        """An `ip` command that makes or moves devices; others say nothing about queues."""
        while words and words[0].startswith("-"):
            if words.pop(0) in ("-n", "-netns") and words:
                space = words.pop(0)
        if words[:2] == ["netns", "add"] and len(words) > 2:
            self.spaces.append(words[2])
        if len(words) < 2 or not "link".startswith(words[0]):
            return
        rest = words[2:]
        own, peer = (rest[: rest.index("peer")], rest[rest.index("peer") + 1 :]) if "peer" in rest else (rest, [])
        if words[1] == "add" and "veth" in rest:
            ends = [(after(end, "netns") or space, after(end, "name") or (end or [""])[0]) for end in (own, peer)]
            for end, other in (ends, ends[::-1]):
                self.device(*end, line).peer = other
        elif words[1] == "set":
            name = after(rest, "dev") or (rest or [""])[0]
            if (moved := after(rest, "netns")) and (space, name) in self.devices:
                device = self.devices[moved, name] = self.devices.pop((space, name))
                if device.peer in self.devices:
                    self.devices[device.peer].peer = (moved, name)
            if (mtu := after(rest, "mtu")).isdecimal():
                self.device(space, name, line).mtu = int(mtu[:9])


def _options(
    words: Sequence[str], valued: set[str], flags: set[str], tables: dict[str, frozenset[str]] | None = None
) -> tuple[dict[str, str], list[str]]:
    """The options before a kind's own parameters, and the rest."""
    options: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest[0]
        if tables and word in tables:
            taken: list[str] = []
            rest.pop(0)
            while len(rest) > 1 and rest[0] in tables[word]:
                taken += [rest.pop(0), rest.pop(0)]
            options[word] = " ".join(taken)
        elif word in valued:
            if len(rest) < 2:
                raise TcError(f"expected a value after `{word}`")
            options[word] = rest[1]
            rest = rest[2:]
        elif word in flags:
            options[word] = ""
            rest.pop(0)
        else:
            break
    return options, rest


def _needed(options: dict[str, str], key: str) -> str:
    if not options.get(key):
        raise TcError(f"expected `{key}` and its name")
    return options[key]


def _handle(text: str, *, allow_bare: bool = False) -> str:
    """`1:`, `1:0`, `01:` and `1` are one handle; a class keeps its minor number."""
    if text in ("root", "ingress", "egress"):
        return text
    matched = HANDLE.fullmatch(text if ":" in text else f"{text}:")
    if matched is None or (text == "" and not allow_bare):
        raise TcError(f"expected a handle such as 1: or 1:10, got `{text}`")
    major, minor = (int(part or "0", 16) for part in matched.groups())
    return f"{major:x}:{minor:x}" if minor else f"{major:x}:"


def after(words: Sequence[str], key: str) -> str:
    """The word after `key`, empty without it."""
    at = list(words).index(key) + 1 if key in words else len(words)
    return words[at] if at < len(words) else ""
