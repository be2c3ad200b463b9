"""A chart as plain data, without markup: `plot.charts` draws it as a file, `report.charts` in a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

#: Steps of ticks within a decade: of linear axes, and of logarithmic ones by how many decades there are.
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_TICKS = 6
#: Measured numbers that span more than this are shown on a logarithmic axis.
DECADE = 20.0


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: of numbers, or of words at 0, 1, 2 and so on."""

    label: str
    range: tuple[float, float]
    ticks: list[tuple[float, str]]
    """Places and what is written there."""
    log: bool = False

    @classmethod
    def of_words(cls, label: str, words: Sequence[str]) -> Axis:
        """Evenly spaced words."""
        return cls(label, (-0.5, len(words) - 0.5), [(float(at), word) for at, word in enumerate(words)])

    @classmethod
    def of_numbers(
        cls, label: str, numbers: Sequence[float], *, from_zero: bool = False, decade: float = DECADE
    ) -> Axis:
        """Around these numbers, logarithmic where the largest is `decade` times the least."""
        low, high = min(numbers), max(numbers)
        if low > 0 and high / low >= decade:
            room = (high / low) ** 0.05
            low, high = low / room, high * room
            decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            within = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
            places = [step * 10.0**decade for decade in decades for step in within]
            return cls(label, (low, high), [(at, plain(at)) for at in places if low <= at <= high], log=True)
        if from_zero and low >= 0:
            low = 0.0
        if high <= low:
            low, high = low - (abs(low) * 0.1 or 1.0), high + (abs(high) * 0.1 or 1.0)
        room = 0.06 * (high - low)
        low, high = (low if from_zero and low == 0 else low - room), high + room
        return cls(label, (low, high), _ticks(low, high))

    def share(self, value: float) -> float:
        """How far along the axis a value is, 0 to 1."""
        low, high = self.range
        if self.log:
            return math.log(value / low) / math.log(high / low)
        return (value - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Mark:
    """One value, with what to say of it where a pointer rests on it."""

    x: float
    y: float
    label: str
    colour: str = ""
    """Its own, where it differs from the curve's."""
    text: str = ""
    """What is written on it, or beside it."""
    low: float | None = None
    """The ends of its interval."""
    high: float | None = None
    faint: bool = False
    """Whether it is behind the others."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Marks of one kind."""

    name: str
    colour: str
    marks: list[Mark]
    shape: int = 0
    """Curves differ in it as well, for those who see no colours."""
    is_joined: bool = False
    """Whether a line joins the marks."""
    is_front: bool = False
    """Whether there is nothing but the line."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves in one pair of axes."""

    title: str
    curves: list[Curve]


@dataclass(frozen=True, slots=True)
class Scale:
    """What colours stand for: values of stops at equal distances, low to high."""

    label: str
    ticks: list[tuple[float, str]]
    """Shares of the scale, 0 to 1, and what is written there."""
    colours: list[str]


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels that share their axes."""

    kind: Literal["heat", "dots", "lines", "pareto"]
    title: str
    """A question, which the chart answers."""
    x: Axis
    y: Axis
    panels: list[Panel]
    note: str = ""
    """How to read it."""
    scale: Scale | None = None
    legend: str = ""
    """What curves are of; empty where there is one kind."""
    runs: int = field(default=0)
    """Points of the study that are in it."""


def plain(number: float) -> str:
    """A number on an axis."""
    return f"{number:g}" if 1e-4 <= abs(number) < 1e6 or number == 0 else f"{number:.0e}"


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    size = 10.0 ** math.floor(math.log10((high - low) / MOST_TICKS))
    step = next(size * step for step in STEPS if (high - low) / (size * step) <= MOST_TICKS)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [(round(at * step, 12), plain(round(at * step, 12))) for at in range(first, last + 1)]
