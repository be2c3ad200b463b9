"""Swept values as numbers with a unit, where all of a name's values are that, and else as words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import _core

#: Units of what is read, and the factors of those that are shown: the largest that the middle value reaches.
SHOWN = {
    "bit/s": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)),
    "s": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)),
    "B": (("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
}
TIMES_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Values:
    """The distinct values of a swept name, in order: ascending numbers, or words as they come."""

    name: str
    texts: tuple[str, ...]
    #: Numbers in `unit`, as many as texts; empty for words.
    numbers: tuple[float, ...] = ()
    unit: str = ""

    @classmethod
    def of(cls, name: str, texts: Sequence[str]) -> Values:
        """Of a name and its values in all points."""
        distinct = list(dict.fromkeys(texts))
        read = [measure(text) for text in distinct]
        units = {one[1] for one in read if one}
        if None in read or len(units) != 1:
            return cls(name, tuple(distinct))
        unit = units.pop()
        numbers = [one[0] for one in read if one]
        middle = sorted(map(abs, numbers))[len(numbers) // 2]
        choice = SHOWN.get(unit, ((unit, 1.0),))
        shown, factor = next((one for one in choice if middle >= one[1]), choice[-1])
        ordered = sorted(zip((number / factor for number in numbers), distinct, strict=True))
        return cls(name, tuple(text for _, text in ordered), tuple(number for number, _ in ordered), shown)

    @property
    def label(self) -> str:
        """What an axis of it is called."""
        return self.name + (f", {self.unit}" if self.unit else "")

    def at(self, text: str) -> float:
        """The number of a value, or the position of a word."""
        position = self.texts.index(text)
        return self.numbers[position] if self.numbers else float(position)

    def shown(self, text: str) -> str:
        """A value on an axis that has the unit."""
        return f"{self.at(text):.4g}" if self.numbers else text


def measure(text: str) -> tuple[float, str] | None:
    """A number in bit/s, s, B, % or without unit; None for words."""
    try:
        return float(text), ""
    except ValueError:
        pass
    if match := re.fullmatch(r"([0-9.]+)(s|ms|us|ns|%)", text):
        try:
            number = float(match[1])
        except ValueError:
            return None
        return (number, "%") if match[2] == "%" else (number * TIMES_S[match[2]], "s")
    if not re.fullmatch(r"[0-9.]+[A-Za-z]+", text):
        return None
    if text.lower().endswith(("bit", "bps")):
        rate = _core.rate_bps(text)
        return None if rate is None else (float(rate), "bit/s")
    size = _core.size_bytes(text)
    return None if size is None else (float(size), "B")
