"""What a search may change: `--over link.bneck.rate=10Mbit..1Gbit:log`, and the texts that it makes of it.

A value is a range, or a list of texts of which each may have ranges and lists in braces:
`link.bneck.qdisc=dualpi2 target {5ms..50ms:log},fq_codel target {1ms..20ms}`. What is within a text is there only if
the text is chosen.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sojourn import _core
from sojourn.planning import seconds

RANGE = re.compile(r"(?P<low>[^.\s:]+(?:\.\d+)?[^.\s:]*)\.\.(?P<high>[^\s:]+?)(?P<log>:log)?")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
COUNTED = re.compile(r"\d+")
#: Ends of ranges: above it, not every whole number is one of the machine's.
LARGEST = 1e15
#: Share of a range that is its end.
EDGE = 0.05
#: Digits of a value that is chosen from a range.
DIGITS = 4
RATES = (("Tbit", 1e12), ("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3), ("bit", 1.0))
TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
EXAMPLES = "10Mbit..1Gbit:log, 5ms..50ms, 1..16 or cubic,prague"


class SpaceError(ValueError):
    """A range or list that is none: one line for the user."""


class Chooser(Protocol):
    """Who chooses: Optuna's trial, or a given point."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...
    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int: ...
    def suggest_categorical(self, name: str, choices: list[str]) -> str: ...


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers of one kind, from one to another."""

    low_text: str
    high_text: str
    kind: str
    low: float
    high: float
    log: bool

    @property
    def counts(self) -> bool:
        """Whether its numbers are whole."""
        return self.kind in ("whole", "packets", "bytes")

    def choose(self, name: str, by: Chooser) -> tuple[str, float]:
        """The text of a value, and the value in the base unit of its kind (s, bit/s, bytes, a share of 100)."""
        if self.counts:
            number: float = by.suggest_int(name, int(self.low), int(self.high), log=self.log)
        else:
            number = by.suggest_float(name, self.low, self.high, log=self.log)
        text = self.text(number)
        return text, value if (value := _measured(text)[1]) is not None else number

    def end(self, number: float) -> str:
        """`lower` or `upper` for a number in the first or last twentieth of the range, else empty."""
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, number))
        share = (at - low) / (high - low)
        return "lower" if share <= EDGE else "upper" if share >= 1 - EDGE else ""

    def text(self, number: float) -> str:
        """A number of four digits with its unit, as tc has it, and never outside the range."""
        if number <= self.low:
            return self.low_text
        if number >= self.high:
            return self.high_text
        rounded = _written(self.kind, number)
        value = _measured(rounded)[1]
        if value is None or not self.low <= value <= self.high:
            return self.low_text if number - self.low < self.high - number else self.high_text
        return rounded

    def find(self, text: str) -> float | int | None:
        """The number of a text, if the range has it."""
        kind, value = _measured(text)
        if value is None or not self.low <= value <= self.high or (kind != self.kind and {kind, self.kind} != NUMBERS):
            return None
        return int(value) if self.counts else value


@dataclass(frozen=True, slots=True)
class Hole:
    """What may vary within a text: a range or a list, and what it is called."""

    name: str
    of: Range | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with holes: `parts` before, between and after them; short of other choices it is called `name`."""

    name: str
    text: str
    parts: tuple[str, ...]
    holes: tuple[Hole, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One key of the scenario and the texts that it may have."""

    key: str
    choices: tuple[Template, ...]

    def choose(self, by: Chooser) -> tuple[str, dict[str, float | str]]:
        """The text, and the value of everything that was chosen for it."""
        chosen: dict[str, float | str] = {}
        template = self.choices[0]
        if len(self.choices) > 1:
            name = by.suggest_categorical(self.key, [one.name for one in self.choices])
            template = next(one for one in self.choices if one.name == name)
            chosen[self.key] = name
        made = template.parts[0]
        for hole, part in zip(template.holes, template.parts[1:], strict=True):
            if isinstance(hole.of, Range):
                text, chosen[hole.name] = hole.of.choose(hole.name, by)
            else:
                chosen[hole.name] = text = by.suggest_categorical(hole.name, list(hole.of))
            made += text + part
        return made, chosen


@dataclass(frozen=True, slots=True)
class Space:
    """All axes of a search."""

    axes: tuple[Axis, ...]

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters are there only with some choices."""
        return any(len(axis.choices) > 1 and any(one.holes for one in axis.choices) for axis in self.axes)

    @property
    def names(self) -> list[str]:
        """Of everything that is chosen, in order."""
        return [name for axis in self.axes for name in _names(axis)]

    def range_of(self, name: str) -> Range | None:
        """The range of a chosen number; None for lists."""
        every = (hole for axis in self.axes for one in axis.choices for hole in one.holes)
        return next((hole.of for hole in every if hole.name == name and isinstance(hole.of, Range)), None)

    def choose(self, by: Chooser) -> tuple[dict[str, str], dict[str, float | str]]:
        """Settings of the scenario by key, and what was chosen by name."""
        settings: dict[str, str] = {}
        chosen: dict[str, float | str] = {}
        for axis in self.axes:
            settings[axis.key], values = axis.choose(by)
            chosen |= values
        return settings, chosen

    def of_scenario(self, values: Mapping[str, str]) -> dict[str, float | str] | None:
        """The point of the space at which the scenario is, by the resolved texts of its keys; None if it is not in it.

        It need not be exact: whoever asks compares the scenario that it makes.
        """
        point: dict[str, float | str] = {}
        for axis in self.axes:
            if (found := _find(axis, values.get(axis.key, ""))) is None:
                return None
            point |= found
        return point


NUMBERS = {"whole", "number"}


def axes(texts: list[str], option: str = "--over") -> Space:
    """Reads them; raises `SpaceError`."""
    found = [_axis(text, option) for text in texts]
    if not found:
        raise SpaceError(f"{option}: expected what to search over, such as {option} link.bneck.rate=10Mbit..1Gbit:log")
    keys = [axis.key for axis in found]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise SpaceError(f"{option} {twice}: expected once")
    return Space(tuple(found))


def _axis(text: str, option: str) -> Axis:
    key, equals, value = (part.strip() for part in text.partition("="))
    where = f"{option} {text}"
    if not (equals and key and value):
        raise SpaceError(f"{where}: expected KEY=RANGE or KEY=A,B, such as {EXAMPLES}")
    pieces = _split(value, where)
    if len(pieces) == 1 and (found := _range(pieces[0], where)):
        return Axis(key, (Template(value, value, ("", ""), (Hole(key, found),)),))
    taken: set[str] = {key}
    choices = tuple(_template(key, piece, where, taken, several=len(pieces) > 1) for piece in pieces)
    if len({one.text for one in choices}) < len(choices):
        raise SpaceError(f"{where}: expected each choice once")
    if len({one.name for one in choices}) < len(choices):
        choices = tuple(replace(one, name=one.text) for one in choices)
    if len(choices) == 1 and not choices[0].holes:
        raise SpaceError(f"{where}: expected a range or several values, such as {EXAMPLES}")
    return Axis(key, choices)


def _split(text: str, where: str) -> list[str]:
    """At commas outside of braces, brackets and quotes."""
    pieces, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "{[(":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if character == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += character
    if depth or quote:
        raise SpaceError(f"{where}: expected every brace and quote closed")
    pieces = [piece.strip() for piece in pieces]
    if not all(pieces):
        raise SpaceError(f"{where}: expected a value between commas")
    return pieces


def _template(key: str, text: str, where: str, taken: set[str], *, several: bool) -> Template:
    """A text whose holes are named by the word before them, and by the text where there are several."""
    pieces = re.split(r"\{([^{}]*)\}", text)
    parts, inner = pieces[::2], pieces[1::2]
    if any(set(part) & set("{}") for part in parts):
        raise SpaceError(f"{where}: expected braces in pairs, and none in braces")
    first = text.split(maxsplit=1)[0] if several else ""
    holes: list[Hole] = []
    for before, content in zip(parts, inner, strict=False):
        words = before.split()
        label = " ".join(filter(None, (first, words[-1] if words and words[-1] != first else "value")))
        name = f"{key} {label}"
        while name in taken:
            name += "'"
        taken.add(name)
        of = _range(content.strip(), where) or tuple(_split(content, where))
        if isinstance(of, tuple) and len(set(of)) < 2:
            raise SpaceError(f"{where}: {{{content}}}: expected a range or different values, such as {EXAMPLES}")
        holes.append(Hole(name, of))
    before = parts[0].split()[:-1] if inner else []
    return Template(" ".join(before) or text, text, tuple(parts), tuple(holes))


def _range(text: str, where: str) -> Range | None:
    if set(text) & set("/{"):  # a file above this folder, or ranges within a text
        return None
    match = RANGE.fullmatch(text)
    if match is None:
        if ".." in text:
            raise SpaceError(f"{where}: {text}: expected LOW..HIGH or LOW..HIGH:log, such as {EXAMPLES}")
        return None
    (kind, low), (kind_high, high) = (_measured(match[end]) for end in ("low", "high"))
    if {kind, kind_high} == NUMBERS:
        kind = kind_high = "number"
    if low is None or high is None or kind != kind_high:
        raise SpaceError(f"{where}: {text}: expected two numbers, rates, times, sizes or percentages")
    if not low < high <= LARGEST:
        raise SpaceError(f"{where}: {text}: expected the lower end first, and at most {LARGEST:g}")
    if match["log"] and low <= 0:
        raise SpaceError(f"{where}: {text}: expected a lower end above 0 for :log")
    return Range(match["low"], match["high"], kind, low, high, bool(match["log"]))


def _measured(text: str) -> tuple[str, float | None]:
    """The kind of a number and its value in the base unit; no value if it is none."""
    if NUMBER.fullmatch(text):
        return ("whole" if COUNTED.fullmatch(text) else "number"), float(text)
    if text.endswith("%") and NUMBER.fullmatch(text[:-1]):
        return "percent", float(text[:-1])
    if text.endswith("p") and COUNTED.fullmatch(text[:-1]):
        return "packets", float(text[:-1])
    if (time_s := seconds(text)) is not None:
        return "time", time_s
    if (rate_bps := _core.rate_bps(text)) is not None:
        return "rate", float(rate_bps)
    if (size := _core.size_bytes(text)) is not None:
        return "bytes", float(size)
    return "", None


def _written(kind: str, number: float) -> str:
    match kind:
        case "whole":
            return f"{number:.0f}"
        case "packets":
            return f"{number:.0f}p"
        case "bytes":
            return f"{number:.0f}b"
        case "percent":
            return f"{_plain(number)}%"
        case "rate" | "time":
            units = RATES if kind == "rate" else TIMES
            rounded = float(f"{number:.{DIGITS}g}")
            name, size = next(((n, s) for n, s in units if rounded >= s), units[-1])
            return f"{_plain(number / size)}{name}"
    return _plain(number)


def _plain(number: float) -> str:
    """Four digits, without an exponent."""
    rounded = float(f"{number:.{DIGITS}g}")
    places = max(DIGITS - 1 - math.floor(math.log10(abs(rounded))), 0) if rounded else 0
    text = f"{rounded:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def labels(names: Sequence[str]) -> dict[str, str]:
    """A heading for each: the end of its name, as long as it takes to tell them apart."""
    found: dict[str, str] = {}
    for name in names:
        parts = re.split(r"(?<=[. ])", name)
        ends = ["".join(parts[first:]) for first in range(len(parts) - 1, -1, -1)]
        others = [other for other in names if other != name]
        found[name] = next(
            (
                end
                for end in ends
                if not any(f" {o}".replace(".", " ").endswith(f" {end}".replace(".", " ")) for o in others)
            ),
            name,
        )
    return found


def _names(axis: Axis) -> Iterator[str]:
    if len(axis.choices) > 1:
        yield axis.key
    yield from (hole.name for one in axis.choices for hole in one.holes)


def _find(axis: Axis, text: str) -> dict[str, float | str] | None:
    """The first choice that a text can be one of."""
    for template in axis.choices:
        if not template.holes:
            # A discipline without parameters is the same as with its defaults.
            if text == template.text or text.split(maxsplit=1)[:1] == [template.text]:
                return {axis.key: template.name}
            continue
        values = {
            hole.name: _at(hole, before, text) for hole, before in zip(template.holes, template.parts, strict=False)
        }
        heads = template.parts[0].split(maxsplit=1)[:1]
        if None not in values.values() and (not heads or text.split(maxsplit=1)[:1] == heads):
            found: dict[str, float | str] = {axis.key: template.name} if len(axis.choices) > 1 else {}
            return found | {name: value for name, value in values.items() if value is not None}
    return None


def _at(hole: Hole, before: str, text: str) -> float | str | None:
    """What a text has where the hole is: after the same word, or as the whole."""
    head = before.split()[-1:]
    found = [word for name, word in itertools.pairwise(text.split()) if [name] == head] if head else [text]
    if not found:
        return None
    return hole.of.find(found[0]) if isinstance(hole.of, Range) else found[0] if found[0] in hole.of else None
