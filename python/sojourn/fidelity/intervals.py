"""Whether measured values lie inside the intervals that our seeds span.

A model that is right has a measurement inside its central 90 % interval nine times in ten, and its rank among the
seeds is uniform (probability integral transform; Dawid, "Present position and potential developments", 1984). Seeds
are few, so that the interval is that of their order statistics: with N of them at most (N - 1) / (N + 1) of further
draws lie inside, 90 % from N = 19 on. A number that was printed with one digit after the point stands for all that
round to it: it is inside if one of these is. How wide an interval may be the measurement says itself: by what it is in
blocks of 10 s.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import conditions, metrics, reference
from sojourn.fidelity import Result, judge
from sojourn.fidelity import measures as m
from sojourn.fidelity.row import Row
from sojourn.metrics import FloatArray, Source

SCHEMA = "sojourn/intervals/1"
SHARE = 0.9
SEEDS = 20
#: Fewer seeds span no interval.
LEAST_SEEDS = 5
BINS = 10
BLOCK_S = 10.0
#: Grades of numbers that somebody measured or printed.
MEASURED = ("A", "B", "C", "T")
KINDS = {"Mbit/s": "goodput", "ms": "delay"}


@dataclass(frozen=True)
class Judged:
    """A measured value beside what the seeds of its row span."""

    row: Row
    values: tuple[float, ...]
    #: What the measurement is in each of its blocks; empty where its series are not at hand.
    blocks: tuple[float, ...] = ()
    #: Half a unit of the last digit that was printed.
    rounding: float = 0.0

    @property
    def group(self) -> str:
        """Suite and kind of the quantity; flows of a measured run that are no rows of the scoreboard apart."""
        part = ", each flow" if self.row.id in FLOW_ROWS else ""
        return f"{_suite(self.row.run)}{part}: {KINDS.get(self.row.unit, 'other')}"

    @property
    def measured(self) -> float:
        """The number of the source."""
        return float(self.row.expected)

    @property
    def interval(self) -> tuple[float, float]:
        """Central 90 % of the seeds, at most from the least to the greatest."""
        tail = 50 * (1 - SHARE)
        low, high = np.percentile(self.values, (tail, 100 - tail), method="weibull")
        return float(low), float(high)

    @property
    def inside(self) -> bool:
        """Whether the measured value, or one that is printed as it is, is in the interval."""
        low, high = self.interval
        return low - self.rounding <= self.measured <= high + self.rounding

    @property
    def width(self) -> float:
        """Of the interval."""
        low, high = self.interval
        return high - low

    @property
    def spread(self) -> float | None:
        """From the least to the greatest block of the measurement."""
        return max(self.blocks) - min(self.blocks) if len(self.blocks) > 1 else None

    @property
    def error(self) -> float:
        """Of the median seed."""
        return float(np.median(self.values)) - self.measured

    @property
    def rank(self) -> float:
        """Of the measured value among the seeds, from 0 to 1; half of those that are printed like it count as below."""
        equal = sum(abs(value - self.measured) <= self.rounding for value in self.values)
        below = sum(value < self.measured - self.rounding for value in self.values)
        return (below + equal / 2 + 0.5) / (len(self.values) + 1)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        low, high = self.interval
        return {
            "key": self.row.key,
            "group": self.group,
            "run": self.row.run,
            "variant": self.row.variant,
            "quantity": self.row.quantity,
            "unit": self.row.unit,
            "measured": self.measured,
            "seeds": len(self.values),
            "interval": [round(low, 4), round(high, 4)],
            "inside": self.inside,
            "rank": round(self.rank, 4),
            "width": round(self.width, 4),
            "blocks_spread": None if self.spread is None else round(self.spread, 4),
            "error": round(self.error, 4),
        }


@dataclass(frozen=True)
class Coverage:
    """The rows of a group together."""

    name: str
    rows: tuple[Judged, ...]

    @property
    def inside(self) -> int:
        """How many measured values are in their intervals."""
        return sum(row.inside for row in self.rows)

    @property
    def share(self) -> float:
        """The same as a share."""
        return self.inside / len(self.rows)

    @property
    def expected(self) -> float:
        """What a model that is right would have with these seeds."""
        return float(np.mean([min(SHARE, (len(row.values) - 1) / (len(row.values) + 1)) for row in self.rows]))

    @property
    def histogram(self) -> list[int]:
        """Ranks of the measured values, in ten classes from 0 to 1."""
        counts, _ = np.histogram([row.rank for row in self.rows], BINS, (0, 1))
        return [int(count) for count in counts]

    @property
    def width_over_spread(self) -> float | None:
        """Median of the intervals' widths over the spreads of the measured blocks."""
        known = [row.width / row.spread for row in self.rows if row.spread]
        return float(np.median(known)) if known else None

    @property
    def units(self) -> bool:
        """Whether its rows have one unit, so that medians of their numbers mean something."""
        return len({row.row.unit for row in self.rows}) == 1

    def median(self, of: str) -> float | None:
        """Median of the rows' `width`, `spread` or `error`, without sign."""
        known = [abs(value) for row in self.rows if (value := getattr(row, of)) is not None]
        return float(np.median(known)) if known and self.units else None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {
            "coverage": self.share,
            "expected": self.expected,
            "width_over_blocks_spread": self.width_over_spread,
            "median_width": self.median("width"),
            "median_blocks_spread": self.median("spread"),
            "median_absolute_error": self.median("error"),
        }
        rounded = {key: None if value is None else round(value, 4) for key, value in numbers.items()}
        return {"group": self.name, "rows": len(self.rows), "inside": self.inside, **rounded, "ranks": self.histogram}


#: Rows of each flow of the measured runs of ect1, which the scoreboard has in part.
FLOW_ROWS = ("goodput", "rtt")


def flow_rows() -> Iterator[Row]:
    """Goodput and mean TCP RTT of each flow of the measured runs of ect1, over the measurement's window."""
    source = reference.SOURCES["ect1"]
    for run_id in reference.RUN_IDS:
        summary = reference.shipped()[run_id].summary
        for flow in summary.flows:
            part = f"{run_id.removeprefix('ect1/')}/{flow.name}"
            if flow.goodput_mbps is not None:
                yield Row("goodput", part, "A", source, run_id, f"goodput of {flow.name}", "Mbit/s",
                          flow.goodput_mbps, None, m.mean_goodput(flow.name, summary.window_s))  # fmt: skip
            if flow.tcp_rtt_ms is not None:
                yield Row("rtt", part, "A", source, run_id, f"mean TCP RTT of {flow.name}", "ms",
                          flow.tcp_rtt_ms.mean, None, m.rtt(flow.name, np.mean, summary.window_s))  # fmt: skip


def measured(rows: Iterable[Row], groups: Iterable[str] | None = None) -> list[Row]:
    """The rows of the scoreboard whose number somebody measured, and those of each flow of ect1; of some suites."""
    found = [*(row for row in rows if not row.ideal and row.grade in MEASURED), *flow_rows()]
    found = [row for row in found if isinstance(row.expected, int | float)]
    wanted = set(groups or ())
    suites = dict.fromkeys(_suite(row.run) for row in found)
    if unknown := wanted - set(suites):
        raise KeyError(f"{', '.join(sorted(unknown))}: expected one of {', '.join(suites)}")
    return [row for row in found if not wanted or _suite(row.run) in wanted]


def _suite(run_id: str) -> str:
    return run_id.partition("/")[0]


def of(rows: list[Row], runs: Mapping[str, Source]) -> list[Judged]:
    """The rows whose runs have seeds enough."""
    digits: Counter[tuple[str, str]] = Counter()
    for row in rows:
        digits[row.id, row.unit] = max(digits[row.id, row.unit], _digits(float(row.expected)))
    return [
        Judged(one.row, one.values, _blocks(one), 0.5 / 10 ** digits[one.row.id, one.row.unit])
        for one in judge(rows, runs)
        if len(one.values) >= LEAST_SEEDS
    ]


def _digits(value: float) -> int:
    """After the decimal point, at least one. A zero at the end is lost: the most of rows with one id and unit count."""
    return max(1, len(f"{value:.9f}".rstrip("0").partition(".")[2]))


def _blocks(result: Result) -> tuple[float, ...]:
    """The row's measure of each whole block of the measurement."""
    measure, source = result.row.measure, reference.find(result.row.run)
    if source is None or result.row.variant or not isinstance(measure, m.Over):
        return ()
    source = _PerSecond(source) if isinstance(source, reference.Shipped) else metrics.Cached(source)
    span = measure.window(source)
    if span is None or not math.isfinite(span[1]):
        return ()
    edges = np.arange(span[0], span[1] - BLOCK_S + 1e-6, BLOCK_S)
    values = (measure.inside(source, (float(edge), float(edge) + BLOCK_S)) for edge in edges)
    return tuple(value for value in values if value is not None and math.isfinite(value))


class _PerSecond:
    """Shipped means of each second, summed up to bytes; thinned series, which are no means, are left out."""

    def __init__(self, source: reference.Shipped) -> None:
        self.id, self._source = source.id, source
        whole = _suite(source.id) != "ect1"
        self._names = source.names() if whole else []

    def names(self) -> list[str]:
        """Names of the series."""
        made = [name.replace("delivery_rate", "goodput_bytes") for name in self._names if "delivery_rate" in name]
        return [*self._names, *made]

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds and values."""
        if not name.endswith("goodput_bytes"):
            return self._source.series(name)
        t, rate = self._source.series(name.replace("goodput_bytes", "delivery_rate"))
        # The mean of a second stands at its end.
        return np.concatenate(([t[0] - 1], t)), np.concatenate(([0.0], np.cumsum(rate) * 1e6 / 8))


def groups(judged: Iterable[Judged]) -> list[Coverage]:
    """All rows, those of goodput and delay, then each group."""
    rows = tuple(judged)
    known = tuple(row for row in rows if row.row.unit in KINDS)
    names = dict.fromkeys(row.group for row in rows)
    apart = [Coverage(name, tuple(row for row in rows if row.group == name)) for name in names]
    both = [Coverage("goodput and delay", known)] if 0 < len(known) < len(rows) else []
    return [Coverage("all", rows), *both, *apart] if rows else []


def document(judged: Iterable[Judged]) -> dict[str, Any]:
    """The JSON document of `sojourn fidelity --intervals --json`."""
    rows = list(judged)
    return {
        "schema": SCHEMA,
        "share": SHARE,
        "block_s": BLOCK_S,
        "groups": [group.document() for group in groups(rows)],
        "rows": [row.document() for row in rows],
    }


def ceiling_errors(judged: Iterable[Judged]) -> list[float]:
    """Of each flow's goodput: what the median seed is off, in % of the link's ceiling."""
    flows = (row for row in judged if row.row.id == "goodput")
    ceilings = ((row, conditions.ceiling_mbps(reference.shipped()[row.row.run])) for row in flows)
    return [100 * abs(row.error) / ceiling for row, ceiling in ceilings if ceiling]
