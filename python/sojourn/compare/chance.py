"""What chance alone makes of the median errors beside measurements of one run each.

A measured run is one draw. From the seeds at hand three errors are computed over all flows or runs: of the median
seed, of one seed drawn for each run, and of that seed from another one in place of the measurement. The last is what
a model that is right would have: it is as far from a measurement as from itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from sojourn import conditions
from sojourn.compare.pairs import RATES, Pair
from sojourn.metrics import FloatArray
from sojourn.precision import point_of

#: Fewer seeds say nothing of their spread.
LEAST_SEEDS = 5
DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """Median of the draws, and what 95 % of them lie between."""

    middle: float
    low: float
    high: float

    def document(self) -> list[float]:
        """Low, middle and high, for JSON."""
        return [round(value, 3) for value in (self.low, self.middle, self.high)]

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Chance:
    """Median absolute errors of one quantity."""

    quantity: str
    unit: str
    #: What the median is over: flows or runs.
    of: str
    count: int
    seeds: tuple[int, int]
    median_seed: float
    one_seed: Interval
    another_seed: Interval

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            self.of: self.count,
            "seeds": list(self.seeds),
            "median_seed": round(self.median_seed, 3),
            "one_seed": self.one_seed.document(),
            "another_seed_for_the_measurement": self.another_seed.document(),
        }

    def __str__(self) -> str:
        least, most = self.seeds
        seeds = f"{least}" if least == most else f"{least} to {most}"
        return (
            f"Chance, {seeds} seeds of {self.count} {self.of}: median absolute error of {self.quantity}, {self.unit}: "
            f"the median seed {self.median_seed:.2f}; one seed {self.one_seed}; "
            f"one seed from another {self.another_seed}"
        )


def of(pairs: Iterable[Pair]) -> list[Chance]:
    """Rates over flows and mean TCP RTT over runs, of the runs with enough seeds; empty if there are none."""
    groups = groupby(sorted(pairs, key=lambda pair: point_of(pair.id)), key=lambda pair: point_of(pair.id))
    runs = [seeds for _, group in groups if len(seeds := list(group)) >= LEAST_SEEDS]
    rtts = [[rtt] for seeds in runs if (rtt := _errors(pair.rtt_ms.diff for pair in seeds)).size >= LEAST_SEEDS]
    found = (
        *(
            _chance(rate, "% of the link ceiling", "flows", [list(_rates(seeds, rate)) for seeds in runs])
            for rate in RATES
        ),
        _chance("mean TCP RTT", "ms", "runs", rtts),
    )
    return [chance for chance in found if chance is not None]


def _rates(seeds: list[Pair], rate: str) -> Iterator[FloatArray]:
    """Errors of each flow of a run that is compared by this rate over its seeds, % of the ceiling."""
    ceiling = conditions.ceiling_mbps(seeds[0].a)
    for name in dict.fromkeys(flow.name for pair in seeds for flow in pair.flows):
        own = [flow for pair in seeds for flow in pair.flows if flow.name == name and flow.rate == rate]
        errors = _errors(flow.rate_mbps.diff for flow in own)
        if ceiling and errors.size >= LEAST_SEEDS:
            yield 100 * errors / ceiling


def _errors(values: Iterable[float | None]) -> FloatArray:
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _chance(quantity: str, unit: str, of: str, runs: list[list[FloatArray]]) -> Chance | None:
    """Flows of a run share its draws; `runs` has the errors of each flow over the seeds."""
    runs = [run for run in runs if run]
    flows = [errors for run in runs for errors in run]
    if not flows:
        return None
    rng = np.random.default_rng(0)
    one, another = [], []
    for run in runs:
        seeds = min(errors.size for errors in run)
        drawn = rng.integers(0, seeds, DRAWS)
        # Another seed is never the seed itself.
        further = (drawn + rng.integers(1, seeds, DRAWS)) % seeds
        for errors in run:
            one.append(np.abs(errors[drawn]))
            another.append(np.abs(errors[drawn] - errors[further]))
    sizes = [errors.size for errors in flows]
    return Chance(
        quantity,
        unit,
        of,
        len(flows),
        (min(sizes), max(sizes)),
        float(np.median([abs(np.median(errors)) for errors in flows])),
        _interval(one),
        _interval(another),
    )


def _interval(draws: list[FloatArray]) -> Interval:
    """Of the median over the flows."""
    low, middle, high = np.percentile(np.median(draws, axis=0), [2.5, 50, 97.5])
    return Interval(float(middle), float(low), float(high))
