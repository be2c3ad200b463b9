"""What differs between two result sets, and whether seeds alone could have done it.

Each quantity of a run is paired seed by seed. Its interval is Student's t of the paired differences;
over all quantities the false discovery rate is held at 5 % (Benjamini and Hochberg 1995). The
effect size that orders the list is the difference as a share of the mean of both sides; Cohen's d
of the paired differences is beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from sojourn import metrics
from sojourn.compare.pairs import Difference, Pair
from sojourn.metrics import Source, Window
from sojourn.precision import Mean, point_of

DISCOVERY_RATE = 0.05
METHOD = "Student's t of paired differences, 95 %; false discovery rate 5 % (Benjamini and Hochberg)"


@dataclass(frozen=True)
class Effect:
    """One quantity of one run on both sides, over its seeds."""

    run: str
    quantity: str
    unit: str
    seeds: int
    a: float
    b: float
    #: Half of the confidence interval of the difference, and the probability of such a difference by
    #: chance; None with one seed.
    margin: float | None
    p: float | None
    cohen_d: float | None
    distinct: bool = False

    @property
    def diff(self) -> float:
        """Side A minus side B, mean over the seeds."""
        return self.a - self.b

    @property
    def percent(self) -> float:
        """Effect size: the difference as a share of the mean of both sides, -200 to 200 %."""
        size = abs(self.a) + abs(self.b)
        return 200 * self.diff / size if size else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of the difference."""
        return None if self.margin is None else (self.diff - self.margin, self.diff + self.margin)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "run": self.run,
            "quantity": self.quantity,
            "unit": self.unit,
            "seeds": self.seeds,
            "a": round(self.a, 4),
            "b": round(self.b, 4),
            "diff": round(self.diff, 4),
            "interval": self.interval and [round(edge, 4) for edge in self.interval],
            "p": self.p and float(f"{self.p:.4g}"),
            "effect_percent": round(self.percent, 3),
            "cohen_d": self.cohen_d and round(self.cohen_d, 3),
            "distinct": self.distinct,
        }


def of(pairs: Iterable[Pair]) -> list[Effect]:
    """All quantities of all runs: what seeds cannot explain first, then by effect size."""
    found: list[Effect] = []
    for run, group in groupby(sorted(pairs, key=lambda pair: point_of(pair.id)), key=lambda pair: point_of(pair.id)):
        values: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for pair in group:
            for quantity, unit, both in quantities(pair):
                if both.a is not None and both.b is not None:
                    values.setdefault((quantity, unit), []).append((both.a, both.b))
        found += [_effect(run, *what, np.array(both)) for what, both in values.items()]
    judged = _judged(found)
    return sorted(judged, key=lambda effect: (not effect.distinct, -abs(effect.percent), effect.run, effect.quantity))


def quantities(pair: Pair) -> Iterator[tuple[str, str, Difference]]:
    """Name, unit and both sides of everything that a run is compared by."""
    for flow in pair.flows:
        yield f"{flow.name} {flow.rate}", "Mbit/s", flow.rate_mbps
        if flow.retransmits.a or flow.retransmits.b:
            yield f"{flow.name} retransmits", "segments", flow.retransmits
        for kind, delay in flow.delays.items():
            for key in ("mean", "p99"):
                yield f"{flow.name} {kind} {key}", "ms", delay[key]
    for key in ("mean", "p99"):
        yield f"ping {key}", "ms", pair.ping_ms[key]
    if pair.ratio is not None:
        yield "goodput 2nd/1st flow", "1", pair.ratio
    window = pair.summary_b.window_s
    a, b = _counts(pair.a, window), _counts(pair.b, window)
    for name in a.keys() & b.keys() if a and b else ():
        if a[name] or b[name]:
            yield name, "1/s", Difference(a[name], b[name])


def _counts(source: Source, window: Window) -> dict[str, float]:
    """Marks and drops of every queue per second of the window."""
    rates: dict[str, float] = {}
    for name in source.names():
        if match := re.fullmatch(r"queue\.(.+)\.(marks|drops)", name):
            t, total = metrics.finite(source, name)
            if t.size and window[1] > window[0]:
                before, after = np.interp(window, t, total)
                rates[f"{match[1]} {match[2]}"] = float(after - before) / (window[1] - window[0])
    return rates


def _effect(run: str, quantity: str, unit: str, values: metrics.FloatArray) -> Effect:
    a, b = (float(mean) for mean in values.mean(axis=0))
    differences = values[:, 0] - values[:, 1]
    n = differences.size
    if n < 2:
        return Effect(run, quantity, unit, n, a, b, None, None, None)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    # Equal differences on all seeds are no evidence of a tiny one: rounding is no effect.
    if spread <= 1e-12 * max(abs(a), abs(b), 1e-300):
        return Effect(run, quantity, unit, n, a, b, 0.0, 0.0 if abs(mean) > 1e-9 * abs(b) else 1.0, None)
    from scipy import stats  # a third of a second, which one seed a run does not need

    p = float(stats.ttest_1samp(differences, 0.0).pvalue)
    margin = Mean.of(differences.tolist()).half_width
    return Effect(run, quantity, unit, n, a, b, margin, p, mean / spread)


def _judged(found: list[Effect]) -> list[Effect]:
    """With `distinct` for those that the false discovery rate lets through."""
    tested = [effect for effect in found if effect.p is not None]
    if not tested:
        return found
    from scipy import stats

    adjusted = stats.false_discovery_control([effect.p for effect in tested])
    distinct = {id(effect) for effect, p in zip(tested, adjusted, strict=True) if p <= DISCOVERY_RATE}
    return [replace(effect, distinct=id(effect) in distinct) for effect in found]


def verdict(found: list[Effect], sides: tuple[str, str]) -> str:
    """The list in one line."""
    if not found:
        return ""
    runs = len({effect.run for effect in found})
    count = f"{len(found)} quantities of {runs} run{'s' if runs != 1 else ''}"
    first = found[0]
    largest = f"{first.run}, {first.quantity}: {first.a:.4g} against {first.b:.4g}"
    largest += "" if first.unit == "1" else f" {first.unit}"
    largest += f" ({first.percent:+.1f} %"
    if first.interval is not None:
        largest += f"; difference {first.interval[0]:.3g} to {first.interval[1]:.3g}"
    largest += ")"
    if all(effect.diff == 0 for effect in found):
        return f"Verdict: {sides[0]} and {sides[1]} are the same in all {count}."
    seeds = {effect.seeds for effect in found}
    if seeds == {1}:
        return f"Verdict: one seed a run, so no confidence interval ({count}). Largest difference: {largest}."
    distinct = sum(effect.distinct for effect in found)
    over = f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else f"{min(seeds)}"
    how = f"{over} paired seeds a run, {METHOD}"
    if not distinct:
        return f"Verdict: {sides[0]} and {sides[1]} differ in none of {count} by more than seeds explain ({how})."
    return f"Verdict: {sides[0]} and {sides[1]} differ in {distinct} of {count} ({how}). Largest: {largest}."
