"""A row of the scoreboard, the tolerances it may have, and what several seeds say about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

Verdict = Literal["pass", "fail", "not-run", "report-only", "contradicted"]

#: A quantity of the row's run, followed by those it is compared with; None if there is none.
Measure = Callable[..., float | None]


@dataclass(frozen=True)
class Tolerance:
    """An interval, with the wording of its source."""

    text: str
    low: float = -math.inf
    high: float = math.inf

    def admits(self, value: float) -> bool:
        """Whether the value lies within the interval."""
        return self.low <= value <= self.high


def share(name: str, expected: float, percent: float) -> Tolerance:
    """Within this percentage of the expected value."""
    return Tolerance(f"{name} ±{percent:g} %", expected * (1 - percent / 100), expected * (1 + percent / 100))


def t1(expected: float) -> Tolerance:
    """Tolerance class T1."""
    return share("T1", expected, 5)


def t2(expected: float) -> Tolerance:
    """Tolerance class T2."""
    return share("T2", expected, 15)


def t3(expected: float) -> Tolerance:
    """Tolerance class T3."""
    return Tolerance("T3 factor of 1.5", expected / 1.5, expected * 1.5)


def t4(expected: float) -> Tolerance:
    """Tolerance class T4."""
    return Tolerance("T4 factor of 2", expected / 2, expected * 2)


def between(low: float, high: float) -> Tolerance:
    """A closed interval."""
    return Tolerance(f"[{low:g}, {high:g}]", low, high)


def above(bound: float) -> Tolerance:
    """Strictly more than the bound."""
    return Tolerance(f"> {bound:g}", low=math.nextafter(bound, math.inf))


def below(bound: float) -> Tolerance:
    """Strictly less than the bound."""
    return Tolerance(f"< {bound:g}", high=math.nextafter(bound, -math.inf))


def at_least(bound: float) -> Tolerance:
    """The bound or more."""
    return Tolerance(f"≥ {bound:g}", low=bound)


def at_most(bound: float) -> Tolerance:
    """The bound or less."""
    return Tolerance(f"≤ {bound:g}", high=bound)


@dataclass(frozen=True)
class RawData:
    """What published raw data of the row's run have for its quantity, and the command that shows it."""

    value: float
    """In the unit of the row; where the quantity itself was not recorded, a bound that it goes beyond."""
    what: str


@dataclass(frozen=True)
class Row:
    """One published, measured or analytic quantity."""

    id: str
    part: str
    grade: str
    source: str
    run: str
    quantity: str
    unit: str
    expected: float | str
    tolerance: Tolerance | None
    measure: Measure
    variant: str | None = None
    others: tuple[str, ...] = ()
    """Runs that the measure takes beside `run`."""
    ideal: bool = False
    """Whether the expected value is a perfect model's, and nobody measured it."""
    raw_data: RawData | None = None
    """If it misses the tolerance, the number is not what this run has, and the row is not counted."""

    @property
    def key(self) -> str:
        """Unique name of the row: its id and part."""
        return f"{self.id}/{self.part}" if self.part else self.id

    @property
    def contradicted(self) -> bool:
        """Whether raw data of its own run miss the tolerance."""
        return bool(self.tolerance and self.raw_data and not self.tolerance.admits(self.raw_data.value))


@dataclass(frozen=True)
class Result:
    """A row with our values, one per seed."""

    row: Row
    values: tuple[float, ...]
    known: str = ""
    """Why the row is known to miss its tolerance."""

    @cached_property
    def ours(self) -> float | None:
        """Median over the seeds."""
        return float(np.median(self.values)) if self.values else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """Least and greatest over the seeds."""
        return (min(self.values), max(self.values)) if self.values else None

    @property
    def divided(self) -> bool:
        """Whether seeds lie on different sides of a bound of the tolerance, so that the median of few is chance."""
        allowed = self.row.tolerance
        return allowed is not None and len({(value < allowed.low, value > allowed.high) for value in self.values}) > 1

    @property
    def verdict(self) -> Verdict:
        """What the median says about the row."""
        if self.ours is None:
            return "not-run"
        if self.row.tolerance is None:
            return "report-only"
        if self.row.contradicted:
            return "contradicted"
        return "pass" if self.row.tolerance.admits(self.ours) else "fail"

    @property
    def explanation(self) -> str:
        """Why the row failed, is not counted or was not run; empty if it passed."""
        if self.row.raw_data and self.verdict == "contradicted":
            return self.row.raw_data.what
        if self.verdict == "fail":
            return self.known or "unexplained"
        if self.verdict == "not-run":
            what = f"its run with {self.row.variant}" if self.row.variant else "its run"
            return self.known or f"{what} is not in this result set"
        return ""

    def document(self) -> dict[str, Any]:
        """One element of `rows` of the JSON document."""
        return {
            "id": self.row.id,
            "key": self.row.key,
            "source": self.row.source,
            "grade": self.row.grade,
            "quantity": self.row.quantity,
            "run": self.row.run,
            "variant": self.row.variant,
            "unit": self.row.unit,
            "expected": self.row.expected,
            "ours": None if self.ours is None else round(self.ours, 4),
            "spread": None if self.spread is None else [round(edge, 4) for edge in self.spread],
            "seeds": len(self.values),
            "tolerance": self.row.tolerance.text if self.row.tolerance else "none",
            "verdict": self.verdict,
            "explanation": self.explanation,
        }


@dataclass(frozen=True)
class Grid:
    """A table as it was published, with ours and the difference in each cell."""

    heading: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
