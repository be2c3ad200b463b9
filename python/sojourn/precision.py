"""Means over seeds with their confidence intervals, and when there are seeds enough.

A point is a scenario with its values of what is swept; its runs differ in the seed alone. The interval is Student's t,
95 %. It takes the seeds of a point for independent draws of one distribution.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _core

if TYPE_CHECKING:
    import polars as pl

CONFIDENCE = 0.95
#: Fewer seeds say nothing of their spread.
LEAST_SEEDS = 5
#: Columns of `ResultSet.summary()` that have a mean, and the unit of each.
QUANTITIES = {
    "goodput_mbps": "Mbit/s",
    "goodput_p05_mbps": "Mbit/s",
    "goodput_p50_mbps": "Mbit/s",
    "goodput_p95_mbps": "Mbit/s",
    "utilisation": "1",
    "rtt_p50_ms": "ms",
    "rtt_p99_ms": "ms",
    "sojourn_p50_ms": "ms",
    "sojourn_p99_ms": "ms",
    "drops": "packets",
    "marks": "packets",
    "retransmits": "segments",
}
SEED = re.compile(r"@seed\d+$")
TIMES_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}


def point_of(run_id: str) -> str:
    """The id without its seed."""
    return SEED.sub("", run_id)


def quantity(name: str) -> str:
    """The column of a name, which may lack its unit: `goodput`; raises `ScenarioError` for another one."""
    found = next((column for column in QUANTITIES if name in (column, short(column))), None)
    if found is None:
        raise _core.ScenarioError(f"{name or 'no name'}: expected a quantity: {', '.join(map(short, QUANTITIES))}")
    return found


def short(column: str) -> str:
    """The name of a column without its unit."""
    return re.sub("_(mbps|ms)$", "", column)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a quantity over the seeds of a point."""

    mean: float
    #: Half of the confidence interval; None with one seed.
    half_width: float | None
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Of at least one value."""
        count, mean = len(values), math.fsum(values) / len(values)
        if count < 2:
            return cls(mean, None, count)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
        return cls(mean, student_t(count) * spread / math.sqrt(count), count)

    def __str__(self) -> str:
        half = "" if self.half_width is None else f" \N{PLUS-MINUS SIGN} {self.half_width:.3g}"
        return f"{self.mean:.4g}{half}"


def student_t(seeds: int) -> float:
    """The quantile of Student's t for the interval of a mean of this many seeds."""
    from scipy import stats  # a third of a second, which one seed does not need

    return float(stats.t.ppf((1 + CONFIDENCE) / 2, seeds - 1))


@dataclass(frozen=True, slots=True)
class Goal:
    """How narrow an interval is to become."""

    quantity: str
    #: Of the half-width: a share of the mean, or in the quantity's unit.
    bound: float
    is_share: bool

    @classmethod
    def read(cls, text: str) -> Goal:
        """From `goodput 2%`, `rtt_p99 1ms`, `goodput 500kbit` or `drops 10`; raises `ScenarioError` otherwise."""
        name, _, given = text.strip().partition(" ")
        column, given = quantity(name), given.strip()
        is_share = given.endswith("%")
        bound = _number(given[:-1], 0.01) if is_share else _absolute(given, QUANTITIES[column])
        if bound is None or not 0 < bound < math.inf:
            value = {"Mbit/s": " such as 1Mbit", "ms": " such as 500us"}.get(QUANTITIES[column], " above 0")
            raise _core.ScenarioError(
                f"until {text!r}: expected {name} and a bound, a share of the mean such as 2% or a value{value}"
            )
        return cls(column, bound, is_share)

    def is_met(self, mean: Mean) -> bool:
        """Whether there are seeds enough."""
        return mean.seeds >= LEAST_SEEDS and mean.half_width is not None and mean.half_width <= self.allowed(mean)

    def allowed(self, mean: Mean) -> float:
        """The largest half-width, in the quantity's unit."""
        return self.bound * abs(mean.mean) if self.is_share else self.bound

    def seeds_for(self, mean: Mean) -> int:
        """How many seeds in all to have next: what this spread needs, at least one more and at most twice as many."""
        allowed, half = self.allowed(mean), mean.half_width or 0.0
        needed = mean.seeds * (half / allowed) ** 2 if allowed else math.inf
        return min(max(math.ceil(min(needed, 2.0 * mean.seeds)), mean.seeds + 1), 2 * mean.seeds)

    def __str__(self) -> str:
        unit = QUANTITIES[self.quantity]
        shown = f"{100 * self.bound:g} %" if self.is_share else f"{self.bound:g}{'' if unit == '1' else f' {unit}'}"
        return f"{short(self.quantity)} \N{PLUS-MINUS SIGN} {shown}"


def goals_of(texts: Iterable[str], seeds: int) -> list[Goal]:
    """Of `until`, with the seeds that a point may have; raises `ScenarioError` for what cannot be reached."""
    goals = [Goal.read(text) for text in texts]
    if goals and seeds < LEAST_SEEDS:
        raise _core.ScenarioError(f"until {goals[0]}: expected {LEAST_SEEDS} seeds or more, which a point may have")
    return goals


def means(rows: Iterable[Mapping[str, Any]]) -> dict[str, Mean]:
    """Of each quantity that the runs of a point have, by column; `rows` are those of `ResultSet.summary()`."""
    rows = list(rows)
    found = {}
    for column in QUANTITIES:
        values = [float(value) for row in rows if (value := row.get(column)) is not None]
        if values:
            found[column] = Mean.of(values)
    return found


def table(summary: pl.DataFrame) -> pl.DataFrame:
    """One row a point: `point`, what is swept, `seeds`, and of each quantity `_mean`, `_half_width` and `_seeds`.

    `summary` is `ResultSet.summary()`; runs that are not complete are left out.
    """
    import polars as pl

    points: dict[str, list[dict[str, Any]]] = {}
    for row in summary.iter_rows(named=True):
        if row["complete"]:
            points.setdefault(point_of(row["id"]), []).append(row)
    swept = [name for name in summary.columns[1 : summary.columns.index("goodput_mbps")] if name != "seed"]
    lines = []
    for point, rows in points.items():
        line = {"point": point, **{name: rows[0][name] for name in swept}, "seeds": len(rows)}
        for column, mean in means(rows).items():
            line |= {
                f"{column}_mean": mean.mean,
                f"{column}_half_width": mean.half_width,
                f"{column}_seeds": mean.seeds,
            }
        lines.append(line)
    columns = [f"{column}_{what}" for column in QUANTITIES for what in ("mean", "half_width", "seeds")]
    frame = pl.DataFrame(lines, infer_schema_length=None)
    return frame.select("point", *swept, "seeds", *(name for name in columns if name in frame.columns))


def _absolute(text: str, unit: str) -> float | None:
    """A bound in the unit of its quantity."""
    if unit == "Mbit/s":
        rate = None if _number(text) is not None else _core.rate_bps(text)
        return None if rate is None else rate / 1e6
    if unit == "ms":
        match = re.fullmatch(r"([0-9.]+)(s|ms|us|ns)", text)
        return _number(match[1], TIMES_MS[match[2]]) if match else None
    return _number(text)


def _number(text: str, scale: float = 1.0) -> float | None:
    try:
        return float(text) * scale
    except ValueError:
        return None
