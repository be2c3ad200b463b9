"""The shell script that builds a scenario's bottleneck on a Linux machine, from `ip` and `tc`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

from sojourn import _core
from sojourn.scenario import Resolved
from sojourn.text import harmless

SIDES = {"forward": ("left", "right"), "reverse": ("right", "left")}
SIZE = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ECN = {"off": 0, "rfc3168": 1, "dctcp": 1, "sce": 1, "accecn": 3}
NETEM_LIMIT = 1_000_000
CONTROLLERS = {
    "prague": "only the tree L4STeam/linux",
    "reno-sce": "only the tree chromi/sce",
    "cubic-sce": "only the tree chromi/sce",
    "dctcp-sce": "only the tree chromi/sce",
}
STOCK_CONTROLLERS = {"reno", "cubic", "dctcp", "bbr", "vegas", "westwood", "bic", "htcp"}
# What the mainline module of this name does anyway.
OF_MAINLINE = {"bbr": ["version", "v1"]}
# Words of a mainline discipline that only another tree reads, and those that say the default.
TREE_WORDS = {"cake": ({"sce", "sce-thresh", "sce-single"}, "chromi/sce")}
DEFAULTS = {("cake", "no-sce")}
# How tc writes a value, where it differs: by discipline and word, or by the kind of value.
SPELLINGS: dict[tuple[str, str], Callable[[str], str]] = {
    ("PACKETS", ""): lambda value: value.removesuffix("p"),
    ("dualpi2", "memlimit"): lambda value: str(_bytes(value)),
    ("fq_pie", "ecn_prob"): lambda value: str(min(99, round(float(value.removesuffix("%"))))),
}


#: What tc does with a packet, by its parameters.
ACTIONS = "drop|reclassify|pass|ok|pipe|continue"
NEEDS_ACCECN = "AccECN (tcp_ecn=3) is refused by Linux 6.18; 7.2 takes it"


@dataclass(frozen=True, slots=True)
class Queue:
    """Where a queue of the scenario is: `depth` disciplines stand above it on its device.

    With a `hook` it is a policer instead, and `depth` actions stand before it in the filter there.
    """

    port: str
    namespace: str | None
    device: str
    depth: int
    hook: str = ""


@dataclass(slots=True)
class Script:
    """Commands in order, and what a stock kernel cannot do of them."""

    lines: list[str] = field(default_factory=list)
    commands: list[dict[str, object]] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    policers: dict[str | None, int] = field(default_factory=dict)
    #: Devices with clsact, whose place a plain ingress would take.
    hooked: set[tuple[str | None, str]] = field(default_factory=set)
    at_s: float = 0.0

    def do(self, namespace: str | None, command: str) -> None:
        """Adds a command; with a namespace it runs there."""
        text = f"ip netns exec {namespace} {command}" if namespace else command
        self.lines.append(text)
        self.commands.append({"at_s": self.at_s, "command": text})

    def say(self, *comments: str) -> None:
        """Adds comment lines; a line break in a comment would begin a command."""
        self.lines += [f"# {harmless(comment)}".rstrip() for comment in comments]

    def warn(self, limit: str) -> None:
        """Notes in the script and in the summary what a stock kernel cannot do."""
        self.say(limit)
        if limit not in self.limits:
            self.limits.append(limit)

    def policer(self, namespace: str | None) -> int:
        """A number for the next policer of a namespace, by which it can be changed."""
        self.policers[namespace] = self.policers.get(namespace, 0) + 1
        return self.policers[namespace]

    def redirect(self, namespace: str | None, device: str, ifb: str, actions: str = "") -> None:
        """Sends what arrives at a device through an ifb, after other actions."""
        hook = "ingress" if (namespace, device) in self.hooked else "parent ffff:"
        if hook != "ingress":
            self.do(namespace, f"tc qdisc add dev {device} handle ffff: ingress")
        matched = f"matchall {actions}action mirred egress redirect dev {ifb}"
        self.do(namespace, f"tc filter add dev {device} {hook} {matched}")

    def wait_until(self, at_s: float) -> None:
        """Sleeps until this time of the run."""
        if at_s > self.at_s:
            self.lines.append(f"sleep {round(at_s - self.at_s, 6):g}")
            self.at_s = at_s

    def text(self) -> str:
        """The whole script."""
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True, slots=True)
class Words:
    """An algorithm as tc spells it."""

    name: str
    args: str
    left_out: tuple[str, ...]
    kernel: str
    is_stock: bool
    exists: bool

    def __str__(self) -> str:
        return f"{self.name} {self.args}".strip()


@cache
def _row(name: str) -> dict[str, Any]:
    return next(row for row in json.loads(_core.qdiscs()) if row["name"] == name)


def spell(text: str) -> Words:
    """Leaves out the words that tc does not know, and says which kernel has the discipline."""
    name, *words = text.split()
    row = _row(name)
    params = {word: param for param in row["parameters"] for word in param["name"].split("|")}
    tree_words, tree = TREE_WORDS.get(name, (set(), ""))
    kept: list[str] = []
    left_out: list[str] = []
    of_tree: list[str] = []
    if name == "netem" and (series := re.search(r"\b(?:delay|latency) (trace \S+(?: digest \S+)?)", text)):
        left_out.append(f"delay {series[1]}")
        words = text.replace(series[0], "").split()[1:]
    rest = iter(words)
    for word in rest:
        param = params.get(word)
        if (name, word) in DEFAULTS:
            continue
        if param and not param["tc"]:
            value = next(rest, "") if param["value"] else ""
            if value != param["default"]:
                left_out.append(f"{word} {value}".rstrip())
            continue
        kept.append(word)
        if word in tree_words:
            of_tree.append(word)
        if param and (change := SPELLINGS.get((name, word)) or SPELLINGS.get((param["value"], ""))):
            kept.append(change(next(rest)))
    kernel, is_stock = row["kernel"], row["mainline"]
    if of_tree:
        kernel, is_stock = f"only the tree {tree} with `{' '.join(of_tree)}`", False
    return Words(name, " ".join(kept), tuple(left_out), kernel, is_stock, "no kernel" not in kernel)


class Chain:
    """The disciplines on one device, from the root to the leaf, each the child of the one before.

    The size table stands at element `base`, the first of the link's own shaper and queue.
    """

    def __init__(self, script: Script, namespace: str | None, device: str, stab: str = "none") -> None:
        self.script, self.namespace, self.device, self.base = script, namespace, device, 0
        self.stab = "" if stab == "none" else f" stab {stab}"
        self.elements: list[tuple[str, str, str]] = []
        self.handles = 0

    def place(self, index: int) -> str:
        """Where element `index` hangs."""
        if index == 0:
            return "root"
        return f"parent {self.elements[index - 1][0]}1"

    def attach(self, verb: str, index: int, text: str, what: str) -> None:
        """Adds, changes or replaces element `index`; replacing takes what hangs below with it."""
        words = spell(text)
        self.announce(words, what)
        if not words.exists:
            return
        below = self.elements[index + 1 :] if verb == "replace" else []
        if verb == "change":
            handle = self.elements[index][0]
        else:
            # A fresh handle, or tc would change a discipline of the same kind and keep its packets.
            self.handles += 1
            handle = f"{self.handles}:"
        self.elements[index:] = [(handle, text, what), *(self.elements[index + 1 :] if verb == "change" else [])]
        where = f"dev {self.device} {self.place(index)} handle {handle}"
        if index == self.base and verb != "change":
            where += self.stab
        if words.name == "htb" and re.search(r"\bclass\b", words.args):
            self.tree(verb, where, handle, words.args)
        elif words.name == "htb":
            if verb != "change":
                self.do(f"tc qdisc {verb} {where} htb default 1")
            change = "change" if verb == "change" else "add"
            self.do(f"tc class {change} dev {self.device} parent {handle} classid {handle}1 {words}")
        else:
            self.do(f"tc qdisc {verb} {where} {words}")
        for offset, (_, inner, inner_what) in enumerate(below):
            self.attach("add", index + 1 + offset, inner, inner_what)

    def tree(self, verb: str, where: str, handle: str, args: str) -> None:
        """A tree of htb classes: one command for the discipline and for each class, leaf and filter."""
        head, *parts = re.split(r"\b(?=(?:class|filter) )", args)
        if verb != "change":
            self.do(f"tc qdisc {verb} {where} htb {head}".rstrip())
        change = "change" if verb == "change" else "add"
        for number, part in enumerate(parts, start=1):
            if filtered := re.fullmatch(r"filter (match .*) flowid \d*:(\w+)\s*", part):
                match, minor = filtered.groups()
                if re.search(r"\b(?:src|dst) ", match):
                    self.script.warn(f"a filter by host number has no address here; left out `{match}`")
                else:
                    parent = f"parent {handle} protocol ip prio {number}"
                    self.do(f"tc filter add dev {self.device} {parent} u32 {match} flowid {handle}{minor}")
            elif named := re.fullmatch(r"class \d*:(\w+) (?:parent \d*:(\w+))?(.*)", part):
                minor, parent, words = named.groups()
                leaf = re.search(r"leaf \{ (.*) \}", words)
                words = " ".join(re.sub(r"leaf \{.*\}", "", words).split())
                place = f"parent {handle}{parent or ''} classid {handle}{minor}"
                self.do(f"tc class {change} dev {self.device} {place} htb {words}".rstrip())
                if leaf:
                    inner = spell(leaf[1])
                    self.announce(inner, f"class {handle}{minor}, leaf")
                    if inner.exists:
                        self.do(f"tc qdisc {verb} dev {self.device} parent {handle}{minor} {inner}")

    def announce(self, words: Words, what: str) -> None:
        """Comments: which kernel, what is left out."""
        if not words.exists:
            self.script.warn(f"{what}: `{words.name}` is in {words.kernel}; left out")
            return
        if words.is_stock:
            self.script.say(f"{what}: {words.name}, {words.kernel}")
        else:
            self.script.warn(f"{what}: `{words.name}` is in {words.kernel}")
        for word in words.left_out:
            self.script.warn(f"{what}: left out `{word}`, which is not a word of tc")

    def do(self, command: str) -> None:
        self.script.do(self.namespace, command)


@dataclass(slots=True)
class Policer:
    """A policer on a device: its place among the actions of a hook's filter, and its number in the namespace."""

    namespace: str | None
    device: str
    hook: str
    place: int
    index: int


@dataclass(slots=True)
class Way:
    """One direction of a link: its egress chain and policers, its ingress elements, and the chain of its delay."""

    egress: Chain
    shaper: str | None
    policers: list[Policer] = field(default_factory=list)
    ingress: Chain | None = None
    #: Of each ingress element, its place in the chain, or the policer that it is.
    elements: list[int | Policer] = field(default_factory=list)
    delay: tuple[Chain, int] | None = None


def build(resolved: Resolved, *, has_flows: bool = True) -> Script:
    """The script of a resolved scenario; without flows it has the network and its schedule only."""
    document = resolved.brief()
    script = Script()
    links = document["link"]
    middles = [f"mid-{link['name']}" for link in links]
    spaces = ["cli", *middles, "srv"]
    _head(script, document, spaces)
    _network(script, document, spaces)
    ways = _queues(script, links, spaces, set(_delays(document)))
    for tunnel in document.get("tunnel", []):
        ends = f"mid-{tunnel['links'][0]} and mid-{tunnel['links'][-1]}"
        script.warn(f"tunnel {tunnel['name']} is left out; it would be an `ip link ... type ipip` between {ends}")
    for flow in document.get("flow", []) if has_flows else ():
        if "hash_of" in flow:
            script.warn(f"flow {flow['name']}: a chosen hash has no form in Linux, which hashes with a secret")
    script.queues = [queue for (link, side), way in ways.items() for queue in _places(link, side, way)]
    script.lines += ["", 'if [ "${1-}" = build ]; then exit; fi']
    _timeline(script, document, ways, spaces, has_flows=has_flows)
    return script


def _places(link: str, side: str, way: Way) -> Iterator[Queue]:
    port = link if side == "forward" else f"{link}.{side}"
    for policer in way.policers:
        yield _place_of(policer, port)
    if way.egress.elements:
        yield Queue(port, way.egress.namespace, way.egress.device, len(way.egress.elements) - 1)
    for number, element in enumerate(way.elements):
        name = f"{port}.ingress{number}"
        if isinstance(element, Policer):
            yield _place_of(element, name)
        elif way.ingress:
            yield Queue(name, way.ingress.namespace, way.ingress.device, element)


def _place_of(policer: Policer, port: str) -> Queue:
    return Queue(port, policer.namespace, policer.device, policer.place, policer.hook)


def _head(script: Script, document: dict[str, Any], spaces: list[str]) -> None:
    script.lines.append("#!/usr/bin/env bash")
    script.say(
        f"{document['name']}: {document.get('description', '')}".rstrip(": "),
        "",
        "Written by `sojourn tc`. Builds the scenario from network namespaces, as root:",
        f"  {' - '.join(spaces)}",
        "`build` as argument stops before the schedule; `clean` removes everything.",
        "Flows are comments: start them beside this script at the times that they name.",
    )
    script.lines += [
        "set -eu",
        f'if [ "${{1-}}" = clean ]; then for n in {" ".join(spaces)}; do ip netns del "$n"; done; exit; fi',
        "",
    ]


def _network(script: Script, document: dict[str, Any], spaces: list[str]) -> None:
    tcp = document["tcp"]
    mtus = {flow.get("tcp", tcp)["mtu"] for flow in document.get("flow", [])} or {tcp.get("mtu", 1500)}
    for space in spaces:
        script.do(None, f"ip netns add {space}")
        script.do(space, "ip link set dev lo up")
    if len(mtus) > 1:
        script.warn(f"flows have MTUs of {', '.join(map(str, sorted(mtus)))}; every device gets the largest")
    for wire, (left, right) in enumerate(pairwise(spaces)):
        script.do(None, f"ip link add right netns {left} type veth peer name left netns {right}")
        for space, device, host in ((left, "right", 1), (right, "left", 2)):
            script.do(space, f"ip link set dev {device} mtu {max(mtus)} txqueuelen 1000")
            # Scatter-gather stays on: a segment that is copied into one buffer takes more of the receiver's memory,
            # which a card's driver would not do.
            script.do(space, f"ethtool -K {device} tso off gso off gro off >/dev/null")
            script.do(space, f"ip addr add 10.9.{wire}.{host}/24 dev {device}")
            script.do(space, f"ip link set dev {device} up")
    last = len(spaces) - 1
    initial = {flow.get("tcp", tcp)["initial_cwnd"] for flow in document.get("flow", [])} or {
        tcp.get("initial_cwnd", 10)
    }
    if len(initial) > 1:
        script.warn("flows have different initial windows; the routes give each the largest")
    window = f" initcwnd {max(initial)}"
    script.do("cli", f"ip route add default via 10.9.0.2{window}")
    script.do("srv", f"ip route add default via 10.9.{last - 1}.1{window}")
    for index, space in enumerate(spaces[1:-1], start=1):
        script.do(space, "sysctl -qw net.ipv4.ip_forward=1")
        for wire in range(last):
            if wire < index - 1:
                script.do(space, f"ip route add 10.9.{wire}.0/24 via 10.9.{index - 1}.1")
            elif wire > index:
                script.do(space, f"ip route add 10.9.{wire}.0/24 via 10.9.{index}.2")
    for space in ("cli", "srv"):
        script.do(space, "sysctl -qw net.ipv4.tcp_no_metrics_save=1")


def direction(link: dict[str, Any], side: str) -> dict[str, Any]:
    """The keys of one direction of a link."""
    return {**link, **link.get("reverse", {})} if side == "reverse" else link


def _delays(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Links and sides whose delay the schedule sets."""
    for change in document.get("schedule", []):
        for name in change.get("set", {}):
            _, link, *sides, what = name.split(".")
            if what == "delay":
                yield from ((link, side) for side in sides or SIDES)


def _queues(
    script: Script, links: Sequence[dict[str, Any]], spaces: list[str], delayed: set[tuple[str, str]]
) -> dict[tuple[str, str], Way]:
    """Egress queues; then, by the device that packets arrive at, the delay before it and the elements."""
    ways: dict[tuple[str, str], Way] = {}
    for index, link in enumerate(links, start=1):
        for side, (_, out) in SIDES.items():
            way = direction(link, side)
            script.lines.append("")
            ways[link["name"], side] = _egress(script, spaces[index], out, way, f"link {link['name']} {side}")
    for index, space in enumerate(spaces):
        for side, (arrival, _) in SIDES.items():
            before = index - 1 if side == "forward" else index + 1
            if not 0 <= before < len(spaces):
                continue
            previous = links[before - 1] if 0 < before < len(spaces) - 1 else None
            own = links[index - 1] if 0 < index < len(spaces) - 1 else None
            # A later `set` of a delay needs its netem from the start.
            is_later = previous is not None and (previous["name"], side) in delayed
            _arrivals(script, ways, space, arrival, side, previous, own, is_later=is_later)
    return ways


def _egress(script: Script, space: str, device: str, way: dict[str, Any], what: str) -> Way:
    return egress(Chain(script, space, device, way["stab"]), way, what)


def egress(chain: Chain, way: dict[str, Any], what: str) -> Way:
    """Shaper and queue of one direction of a link, below what is on the device already."""
    script, space, device = chain.script, chain.namespace, chain.device
    chain.base = len(chain.elements)
    shaper = None
    policers: list[str] = []
    if way["rate"] != "none":
        shaper = "htb" if way["shaper"] == "none" else way["shaper"]
        if way["shaper"] == "none":
            script.say(f"{what}: htb stands for a wire of {way['rate']}; a veth has no rate of its own")
        if not spell(shaper).exists:
            script.warn(f"{what}: a plain htb stands for the shaper `{shaper}`")
            shaper = "htb"
        if spell(shaper).name == "police":
            policers.append(f"{shaper} rate {way['rate']}")
            shaper = None
        else:
            chain.attach("add", chain.base, _rated(shaper, way["rate"]), f"{what}, shaper")
    elif way["shaper"] != "none":
        script.warn(f"{what}: the shaper `{way['shaper']}` without a rate is left out")
    has_queue = spell(way["qdisc"]).name != "police"
    if has_queue:
        chain.attach("add", len(chain.elements), way["qdisc"], f"{what}, queue")
    else:
        policers.append(way["qdisc"])
    return Way(chain, shaper, police(script, space, device, policers, what))


def _rated(shaper: str, rate: str) -> str:
    ceil = f" ceil {rate}" if shaper.split()[0] == "htb" and "ceil" not in shaper.split() else ""
    return f"{shaper} rate {rate}{ceil}"


def _arrivals(
    script: Script,
    ways: dict[tuple[str, str], Way],
    space: str,
    device: str,
    side: str,
    previous: dict[str, Any] | None,
    own: dict[str, Any] | None,
    *,
    is_later: bool,
) -> None:
    delay = direction(previous, side)["delay"] if previous else "0ns"
    elements = list(direction(own, side)["ingress"]) if own else []
    has_delay = previous is not None and (seconds(delay) > 0 or is_later)
    if not elements and not has_delay:
        return
    ifb = f"ifb-{device}"
    script.lines.append("")
    script.say(f"What arrives in {space} from the {device} passes {ifb} first")
    script.do(space, f"ip link add {ifb} type ifb")
    script.do(space, f"ip link set dev {ifb} txqueuelen 1000 up")
    chain = Chain(script, space, ifb)
    if previous and has_delay:
        what = f"link {previous['name']} {side}, propagation"
        chain.attach("add", 0, f"netem delay {delay} limit {NETEM_LIMIT}", what)
        ways[previous["name"], side].delay = (chain, 0)
    actions = ""
    places: list[int | Policer] = []
    for number, element in enumerate(elements):
        what = f"link {own['name'] if own else ''} {side}, ingress{number}"
        if spell(element).name == "police":
            if chain.elements:
                script.warn(f"{what}: police acts before the other elements of this device, not after them")
            policers = sum(isinstance(place, Policer) for place in places)
            policer = Policer(space, device, "ingress", policers, script.policer(space))
            actions += f"action police {to_pipe(spell(element).args)} index {policer.index} "
            places.append(policer)
        else:
            places.append(len(chain.elements))
            chain.attach("add", len(chain.elements), element, what)
    if own:
        ways[own["name"], side].ingress, ways[own["name"], side].elements = chain, places
    script.redirect(space, device, ifb, actions)


def to_pipe(words: str) -> str:
    """The parameters of a policer after which packets that pass go on to the next action, and others are dropped."""
    exceed, conform = "reclassify", "pass"
    for both, single in re.findall(rf"\bconform-exceed (\S+)|\b({ACTIONS})\b", words):
        exceed, _, own = (both or single).partition("/")
        conform = (own or "pass") if both else conform
    rest = re.sub(rf"\bconform-exceed \S+|\b({ACTIONS})\b", "", words)
    # A packet that is classified again meets the same policer, until the kernel drops it.
    does = {word: "drop" if word in ("drop", "reclassify") else "pipe" for word in ACTIONS.split("|")}
    return " ".join(f"{rest} conform-exceed {does[exceed]}/{does[conform]}".split())


def police(script: Script, space: str | None, device: str, texts: list[str], what: str) -> list[Policer]:
    """Policers before the queue of a device, in order."""
    policers, actions = [], []
    for place, words in enumerate(map(spell, texts)):
        script.say(f"{what}: police, {words.kernel}, as an action before the queue")
        policers.append(Policer(space, device, "egress", place, script.policer(space)))
        args = words.args if place == len(texts) - 1 else to_pipe(words.args)
        actions.append(f"action police {args} index {policers[-1].index}")
    if actions:
        script.do(space, f"tc qdisc add dev {device} clsact")
        script.hooked.add((space, device))
        script.do(space, f"tc filter add dev {device} egress matchall {' '.join(actions)}")
    return policers


@dataclass(frozen=True, slots=True)
class Moment:
    at_s: float
    order: int
    change: dict[str, Any] | None = None
    flow: dict[str, Any] | None = None
    ping: dict[str, Any] | None = None


def _moments(document: dict[str, Any], *, has_flows: bool) -> Iterator[Moment]:
    for order, flow in enumerate(document.get("flow", []) if has_flows else ()):
        yield Moment(seconds(flow["start"]), order, flow={**flow, "port": 5201 + order})
    for order, ping in enumerate(document.get("ping", []) if has_flows else ()):
        yield Moment(seconds(ping["start"]), 1000 + order, ping=ping)
    for order, change in enumerate(document.get("schedule", [])):
        yield Moment(seconds(change["at"]), 2000 + order, change=change)


def _timeline(
    script: Script,
    document: dict[str, Any],
    ways: dict[tuple[str, str], Way],
    spaces: list[str],
    *,
    has_flows: bool,
) -> None:
    names = [link["name"] for link in document["link"]]
    server = f"10.9.{len(spaces) - 2}.2"
    end = seconds(document["duration"])
    for moment in sorted(_moments(document, has_flows=has_flows), key=lambda m: (m.at_s, m.order)):
        script.lines.append("")
        script.wait_until(moment.at_s)
        if moment.flow:
            _flow(script, moment.flow, document["tcp"], server, end, names)
        elif moment.ping:
            _ping(script, moment.ping, server, end, names)
        elif moment.change:
            _change(script, moment.change, ways)
    script.lines.append("")
    script.wait_until(end)


def _flow(
    script: Script, flow: dict[str, Any], defaults: dict[str, Any], server: str, end: float, names: list[str]
) -> None:
    if (app := flow.get("app", "bulk").split()[0]) != "bulk":
        script.warn(f"flow {flow['name']} is left out: application `{app}` has no form in iperf3")
        return
    cc, tcp = flow["cc"].split(), flow.get("tcp", defaults)
    if list(flow["path"]) != names:
        script.warn(
            f"flow {flow['name']} crosses {', '.join(flow['path'])} only; the script has one path over all links"
        )
    if cc[0] not in STOCK_CONTROLLERS:
        script.warn(f"flow {flow['name']}: `{cc[0]}` is in {CONTROLLERS.get(cc[0], 'no kernel, only Sojourn')}")
    if len(cc) > 1 and cc[1:] != OF_MAINLINE.get(cc[0]):
        script.warn(f"flow {flow['name']}: `{' '.join(cc[1:])}` has no form in iperf3")
    if tcp["ecn"] == "accecn":
        script.warn(NEEDS_ACCECN)
    for space in ("cli", "srv"):
        for key, value in settings(tcp):
            script.do(space, f"sysctl -qw net.ipv4.{key}={value}")
    is_up = flow.get("direction") == "up"
    if tcp["pacing"]:
        space, device = ("srv", "left") if is_up else ("cli", "right")
        script.do(space, f"tc qdisc replace dev {device} root fq")
    stop = seconds(flow["stop"]) if "stop" in flow else end
    amount = f"-n {_bytes(flow['bytes'])}" if "bytes" in flow else f"-t {round(stop - seconds(flow['start']), 3):g}"
    tos = f" -S {flow['tos']}" if int(str(flow["tos"]), 0) else ""
    back = " -R" if is_up else ""
    script.say(
        f"flow {flow['name']}, {flow['cc']}, at {flow['start']}:",
        f"  ip netns exec srv iperf3 -s -1 -D -p {flow['port']}",
        f"  ip netns exec cli iperf3 -c {server} -p {flow['port']} -C {cc[0]} {amount}{tos}{back}",
    )


def settings(tcp: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The sysctls of both hosts for a flow's `tcp`, below `net.ipv4`."""
    yield "tcp_ecn", ECN[tcp["ecn"]]
    yield "tcp_timestamps", int(tcp["timestamps"])
    yield "tcp_rmem", f'"4096 {_bytes(tcp["rmem_default"])} {_bytes(tcp["rmem_max"])}"'
    yield "tcp_wmem", f'"4096 16384 {_bytes(tcp["wmem_max"])}"'
    yield "tcp_pacing_ss_ratio", tcp["pacing_ss_ratio"]
    yield "tcp_pacing_ca_ratio", tcp["pacing_ca_ratio"]


def _ping(script: Script, ping: dict[str, Any], server: str, end: float, names: list[str]) -> None:
    if list(ping["path"]) != names:
        script.warn(
            f"ping {ping['name']} crosses {', '.join(ping['path'])} only; the script has one path over all links"
        )
    if ping.get("protocol") == "udp":
        script.warn(f"ping {ping['name']} goes over UDP; the script sends ICMP")
    stop = seconds(ping["stop"]) if "stop" in ping else end
    count = max(1, int((stop - seconds(ping["start"])) / seconds(ping["interval"])))
    script.say(
        f"ping {ping['name']} at {ping['start']}:",
        f"  ip netns exec cli ping -i {seconds(ping['interval']):g} -c {count} -s {ping['size'] - 28} "
        f"-Q {ping['tos']} {server}",
    )


def _change(script: Script, change: dict[str, Any], ways: dict[tuple[str, str], Way]) -> None:
    for verb, table in (("change", change.get("set", {})), ("replace", change.get("replace", {}))):
        for name, value in table.items():
            _, link, *sides, what = name.split(".")
            for side in sides or SIDES:
                edit(script, ways[link, side], verb, what, value, f"at {change['at']}: link {link} {side}")


def edit(script: Script, way: Way, verb: str, what: str, value: str, where: str) -> None:
    """A scheduled change of one key of a direction, as commands."""
    if what == "rate" and way.shaper:
        way.egress.attach("change", way.egress.base, _rated(way.shaper, value), where)
    elif what == "rate":
        script.warn(f"{where}: the rate has no shaper to change here")
    elif what == "qdisc":
        way.egress.attach(verb, len(way.egress.elements) - 1, value, where)
    elif what == "delay" and way.delay:
        chain, index = way.delay
        chain.attach("change", index, f"netem delay {value} limit {NETEM_LIMIT}", where)
    elif what == "delay":
        script.warn(f"{where}: nothing is there to change")
    elif way.ingress:
        _replace(script, way.ingress, way.elements[int(what.removeprefix("ingress"))], value, where)


def _replace(script: Script, chain: Chain, element: int | Policer, value: str, where: str) -> None:
    """Another ingress element in place of one: a policer for a policer, a discipline for a discipline."""
    words = spell(value)
    if isinstance(element, Policer) != (words.name == "police"):
        script.warn(f"{where}: a policer is an action, which no discipline can replace, nor the other way round")
    elif isinstance(element, Policer):
        script.do(element.namespace, f"tc actions replace action police {to_pipe(words.args)} index {element.index}")
    else:
        chain.attach("replace", element, value, where)


def seconds(text: str) -> float:
    """A resolved time."""
    number, unit = _split(text)
    return round(number * TIME[unit], 9)


def _bytes(text: str | int) -> int:
    number, unit = _split(str(text))
    return round(number * SIZE[unit.lower()])


def _split(quantity: str) -> tuple[float, str]:
    """Number and unit of a resolved quantity."""
    unit = quantity.lstrip("0123456789.")
    return float(quantity.removesuffix(unit)), unit
