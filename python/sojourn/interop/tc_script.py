"""A script of `tc` commands as a scenario: read as untrusted text, never run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.files import read_bounded
from sojourn.interop.shell import LONGEST, Command, ShellError, commands
from sojourn.interop.tc_layout import Layout, Links, Part, Report, TcScriptError, Way, delay_of, is_delay
from sojourn.interop.tc_state import Discipline, Machine, TcError
from sojourn.scenario import Scenario, to_toml
from sojourn.text import harmless

MOST_SLEEPS, MOST_COMMANDS, MOST_SETTINGS, MOST_COPIES = 1000, 20_000, 100, 100_000
TIME = re.compile(r"(\d+\.?\d*|\.\d+)(ms|s|m|h|)")
IN_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0, "h": 3600.0}
#: Programs that say nothing about queues: left out without a word.
SILENT = frozenset(
    (
        *("set", "[", "[[", "test", "true", "false", ":", "echo", "printf", "read", "trap", "shift", "wait", "return"),
        *(
            "break",
            "continue",
            "source",
            ".",
            "cd",
            "umask",
            "ulimit",
            "id",
            "date",
            "which",
            "command",
            "kill",
            "killall",
        ),
        *("cat", "grep", "awk", "sed", "head", "tail", "tee", "logger", "mkdir", "rm", "modprobe", "rmmod", "insmod"),
        *("ping", "iperf", "iperf3", "netserver", "netperf", "flent", "ethtool", "ifconfig", "route", "nft"),
        *("iptables", "ip6tables", "pkill", "killall"),
    )
)
PREFIXES = frozenset(("sudo", "doas", "env", "nohup", "exec", "eval"))


@dataclass(frozen=True, slots=True)
class Imported:
    """A scenario read from a script, and what of the script is not in it."""

    text: str
    notes: tuple[str, ...]


def read_file(path: Path, variables: Mapping[str, str] | None = None) -> Imported:
    """Reads a script; `variables` are values that it takes from elsewhere."""
    try:
        text = read_bounded(path, LONGEST, "a shell script")
    except ValueError as error:
        raise TcScriptError(str(error)) from None
    return read(text.replace("\r\n", "\n"), str(path), variables)


def read(text: str, file: str, variables: Mapping[str, str] | None = None) -> Imported:
    """The scenario of a script's text; raises `TcScriptError` with a line of `file`."""
    reading = _Reading(file)
    try:
        for number, command in enumerate(commands(text, variables or {})):
            if number >= MOST_COMMANDS:
                raise ShellError(command.line, f"expected at most {MOST_COMMANDS} commands")
            reading.do(command)
    except ShellError as error:
        raise reading.fail(error.line, str(error)) from None
    return reading.scenario()


class _Reading(Report):
    """What the commands so far have built, at each time of the script."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.at_s = 0.0
        self.machine = Machine()
        #: The machine before each pause, with its time.
        self.moments: list[tuple[float, Machine]] = []
        self.is_touched = False
        self.copied = 0
        #: Settings of TCP below net.ipv4, with their line; those that contradict each other are not one setting.
        self.sysctls: dict[str, tuple[int, str]] = {}

    def do(self, command: Command) -> None:
        """One command of the script."""
        words, space, line = list(command.words), "", command.line
        while words and (words[0] in PREFIXES or words[0].startswith("-") or "=" in words[0]):
            is_user = words[0] in ("-u", "-g") and len(words) > 2
            words = words[2 if is_user else 1 :]
        if words[1:3] == ["netns", "exec"] and len(words) > 4:
            space, words = words[3], words[4:]
        program = words[0].rsplit("/", 1)[-1].removeprefix("$").strip("{}").lower() if words else ""
        if not program or command.is_fallback:
            return
        builds = program == "tc" and len(words) > 2 and words[2] in ("add", "replace", "change", "link")
        if builds and command.block:
            block = "a function" if command.block == "{" else f"`{command.block}`"
            message = f"expected plain commands; whether or how often this is done depends on {block}"
            raise self.fail(line, message)
        if command.block:
            return
        try:
            if program == "tc":
                unknown = next((word for word in words[1:] if "$" in word and not _is_name(words, word)), None)
                if builds and unknown:
                    name = unknown[unknown.index("$") :]
                    raise TcError(f"no value for {name} here; `--var NAME=VALUE` gives one")
                self.machine.tc(words[1:], space, line)
                self.is_touched = True
            elif program == "ip":
                self.machine.ip(words[1:], space, line)
            elif program == "sleep":
                self._sleep(words[1:])
            elif program == "sysctl":
                self._sysctl(words[1:], line)
            elif program not in SILENT:
                self.note(line, f"left out `{program}`")
        except TcError as error:
            raise self.fail(line, str(error)) from None

    def _sysctl(self, words: Sequence[str], line: int) -> None:
        for word in words:
            name, _, value = word.partition("=")
            name = name.strip().replace("/", ".").removeprefix("net.ipv4.")
            if not name.startswith("tcp_") or not value or len(self.sysctls) >= MOST_SETTINGS:
                continue
            before = self.sysctls.setdefault(name, (line, value.strip()))
            if before[1] != value.strip():
                self.sysctls[name] = (line, "")

    def _tcp(self) -> dict[str, Any]:
        """The settings that a scenario takes, as its `tcp.sysctl`."""
        kept: dict[str, str] = {}
        for name, (line, value) in self.sysctls.items():
            tried = {"name": "a", "duration": "1s", "tcp": {"sysctl": {**kept, name: value}}, "link": [{"name": "a"}]}
            try:
                if not value:
                    raise TcError("it has several values")
                Scenario.build(tried).resolve()
            except (TcError, _core.ScenarioError) as error:
                self.note(line, f"left out {name}: {re.sub(r'^.*sysctl[^:]*: ', '', str(error))}")
            else:
                kept[name] = value
        return {"sysctl": kept} if kept else {}

    def _sleep(self, words: Sequence[str]) -> None:
        matched = [TIME.fullmatch(word) for word in words]
        times = [float(m[1]) * IN_SECONDS[m[2]] for m in matched if m]
        if not times or len(times) < len(words):
            raise TcError(f"expected a time such as `sleep 20`, got `sleep {' '.join(words)}`")
        if self.is_touched:
            self.copied += sum(len(d.disciplines) + len(d.classes) + 1 for d in self.machine.devices.values())
            if self.copied > MOST_COPIES:
                raise TcError("expected fewer disciplines or fewer pauses")
            self.moments.append((self.at_s, self.machine.copy()))
            self.is_touched = False
        self.at_s = round(self.at_s + sum(times), 9) if self.moments else 0.0
        if len(self.moments) > MOST_SLEEPS or self.at_s > 1e6:
            raise TcError(f"expected at most {MOST_SLEEPS} pauses and 1000000 s")

    def scenario(self) -> Imported:
        """The whole file."""
        if self.is_touched or not self.moments:
            self.moments.append((self.at_s, self.machine))
        steps = self._steps(has_shapers=True)
        if _is_reshaped(steps):
            steps = self._steps(has_shapers=False)
        links = steps[0][1]
        schedule, lines = self._schedule(steps)
        last = steps[-1][0]
        duration = self.at_s if self.at_s > last else last + 20 if last else 60.0
        document: dict[str, Any] = {
            "name": re.sub(r"[^A-Za-z0-9_-]+", "-", Path(self.file).stem).strip("-") or "imported",
            "duration": f"{duration:.12g}s",
        }
        mtus = {device.mtu for device in self.machine.devices.values() if device.mtu}
        tcp = self._tcp()
        if mtus and min(mtus) != 1500:
            tcp["mtu"] = min(mtus)
        if tcp:
            document["tcp"] = tcp
        all_ways = [way for ways in links.values() for way in ways.values()]
        tables = [_table(name, ways) for name, ways in links.items()]
        in_queue = any(way.qdisc and "netem" in way.qdisc.text for way in all_ways)
        if not any(way.delay or way.ingress for way in all_ways):
            if all(way.rate == "none" for way in all_ways):
                tables[0]["delay"] = "10ms"
                self.notes.append("no delay outside of a queue: 10 ms each way stand for the path")
            elif not in_queue:
                self.notes.append("no delay: `delay` of a link gives the path one")
        document["link"] = tables
        document["flow"] = [{"name": "flow", "cc": "cubic"}]
        document["ping"] = [{"name": "ping"}]
        if schedule:
            document["schedule"] = schedule
        for name, ways in links.items():
            for side, way in ways.items():
                key = f"link.{name}" if side == "forward" else f"link.{name}.reverse"
                lines[key] = way.line
                lines |= {f"{key}.ingress.{n}": part.of.line for n, part in enumerate(way.ingress)}
                lines |= {f"{key}.qdisc": way.qdisc.of.line} if way.qdisc else {}
        body = to_toml(document)
        self._check(body, lines)
        head = [f"Read from {Path(self.file).name} by `sojourn import tc`.", *self.notes]
        head.append("The script's traffic is not known: one CUBIC flow and a ping stand for it.")
        return Imported("".join(f"# {harmless(line)}\n" for line in head) + body, tuple(self.notes))

    def _steps(self, *, has_shapers: bool) -> list[tuple[float, Links]]:
        """The links at each time; without shapers a shaper and its queue are one discipline to replace."""
        promoted = self._promoted()
        return [(at, Layout(self, machine, promoted, has_shapers=has_shapers).links()) for at, machine in self.moments]

    def _promoted(self) -> set[int]:
        """Constant delays that change later: only a link's own delay can do so."""
        first: dict[int, Discipline] = {}
        changed = set()
        for _, machine in self.moments:
            for device in machine.devices.values():
                for each in device.disciplines:
                    before = first.setdefault(each.id, each)
                    if each.kind == "netem" and each.args != before.args and is_delay(each) and is_delay(before):
                        changed.add(each.id)
        return changed

    def _schedule(self, steps: Sequence[tuple[float, Links]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
        schedule: list[dict[str, Any]] = []
        lines: dict[str, int] = {}
        for (_, before), (at, links) in pairwise(steps):
            if before.keys() != links.keys():
                first = next(iter(links.values()))["forward"]
                raise self.fail(first.line, f"at {at:g} s: expected changes of the disciplines that are there")
            made: dict[str, dict[str, str]] = {"set": {}, "replace": {}}
            for name, ways in links.items():
                for side, way in ways.items():
                    for verb, what, value, line in self._changes(before[name][side], way, at):
                        made[verb][f"link.{name}.{side}.{what}"] = value
                        lines[f"schedule.{len(schedule)}"] = line
            if any(made.values()):
                schedule.append({"at": f"{at:.12g}s", **{verb: table for verb, table in made.items() if table}})
        return schedule, lines

    def _changes(self, old: Way, new: Way, at: float) -> Iterator[tuple[str, str, str, int]]:
        """Verb, key, value and line of what differs between two moments of one direction."""
        has_same_shape = old.shaper == new.shaper and old.stab == new.stab and len(old.ingress) == len(new.ingress)
        if not has_same_shape or (old.rate == "none") != (new.rate == "none") or bool(old.delay) != bool(new.delay):
            raise self.fail(new.line or old.line, f"at {at:g} s: expected the same shaper with another rate or queue")
        if old.rate != new.rate:
            yield "set", "rate", new.rate, new.line
        if new.delay and old.delay and delay_of(new.delay.of) != delay_of(old.delay.of):
            yield "set", "delay", delay_of(new.delay.of), new.delay.of.line
        is_replaced = False
        for number, (one, other) in enumerate(zip(old.ingress, new.ingress, strict=True)):
            if one.of.id != other.of.id and (one.text != other.text or not is_replaced):
                is_replaced = True
                yield "replace", f"ingress{number}", other.text, other.of.line
            elif one.of.id == other.of.id and one.text != other.text:
                raise self.fail(other.of.line, f"at {at:g} s: expected a constant delay as the only change of a netem")
        if old.qdisc and new.qdisc and old.qdisc.of.id == new.qdisc.of.id:
            if new.qdisc.text != old.qdisc.text:
                yield "set", "qdisc", self._changed_classes(old.qdisc, new.qdisc, at), new.line
            elif new.qdisc.of.changed != old.qdisc.of.changed:
                yield "set", "qdisc", f"{new.qdisc.of.kind} {new.qdisc.of.changed}", new.qdisc.of.line
        elif new.qdisc or old.qdisc:
            text = new.qdisc.text if new.qdisc else "pfifo"
            yield "replace", "qdisc", text, new.qdisc.of.line if new.qdisc else new.line

    def _changed_classes(self, old: Part, new: Part, at: float) -> str:
        changed = [f"class {key} {words}" for key, words in new.classes.items() if old.classes.get(key) != words]
        if old.classes.keys() != new.classes.keys() or not changed:
            raise self.fail(new.of.line, f"at {at:g} s: expected other rates of the same classes, or another tree")
        return " ".join(["htb", *changed])

    def _check(self, body: str, lines: Mapping[str, int]) -> None:
        """What the scenario's reader refuses, with the line of the script that it comes from."""
        try:
            resolved = Scenario(body, self.file).resolve()
        except _core.ScenarioError as error:
            text = re.sub(r"^:\d+", "", str(error).removeprefix(self.file)).removeprefix(": ")
            keys = sorted((key for key in lines if text.startswith(key)), key=len)
            line = lines[keys[-1]] if keys else 1
            raise self.fail(line or 1, text) from None
        for warning in resolved.warnings:
            text = re.sub(r"^:\d+: ", "", warning.removeprefix(self.file))
            if text not in self.notes:
                self.notes.append(text)


def _is_reshaped(steps: Sequence[tuple[float, Links]]) -> bool:
    """Whether a shaper comes, goes or becomes another one."""
    shapes = {
        tuple((way.shaper, way.rate == "none") for ways in links.values() for way in ways.values())
        for _, links in steps
    }
    return len(shapes) > 1


def _table(name: str, ways: Mapping[str, Way]) -> dict[str, Any]:
    """A link; the way back says what it has not from the way forward."""
    forward, back = ways["forward"].keys(), ways["reverse"].keys()
    table = {"name": name, **forward}
    if forward != back:
        empty = {"rate": "none", "shaper": "none", "stab": "none", "qdisc": "pfifo", "ingress": [], "delay": "0s"}
        reverse = {key: back.get(key, empty[key]) for key in empty if key in back or key in forward}
        if reverse.get("rate") == "none":
            reverse = {key: value for key, value in reverse.items() if key not in ("shaper", "stab") or value != "none"}
        table["reverse"] = reverse
    return table


def _is_name(words: Sequence[str], word: str) -> bool:
    """Whether a word that has no value here only names a device."""
    at = list(words).index(word)
    return at > 0 and words[at - 1] in ("dev", "-n", "-netns")
