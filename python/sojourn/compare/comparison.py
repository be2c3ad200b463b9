"""Two result sets beside each other, as data: the pairs, what could not be read, and the statistics of all."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sojourn.compare import chance, effects, means
from sojourn.compare.chance import Chance
from sojourn.compare.effects import Effect
from sojourn.compare.means import FlowMeans
from sojourn.compare.pairs import GOODPUT, RATES, Pair, rate_key, rounded
from sojourn.metrics import Source

SCHEMA = "sojourn/compare/1"
MEASURED = ("ours", "measured")


@dataclass
class Comparison:
    """What two result sets have in common, and what could not be read."""

    pairs: list[Pair] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    lone: list[Source] = field(default_factory=list)
    #: Further seeds of side A beside the one run that side B has.
    seeds: list[Pair] = field(default_factory=list)
    #: What the scenarios of the pairs differ in: the values of both sides, and in how many runs.
    parameters: dict[tuple[str, str, str], int] = field(default_factory=dict)
    sides: tuple[str, str] = MEASURED
    #: The runs of side A on a real kernel, by id, for one more column.
    kernel: dict[str, Source] = field(default_factory=dict)

    @cached_property
    def effects(self) -> list[Effect]:
        """Every quantity of every run over its seeds, by effect size."""
        return effects.of([*self.pairs, *self.seeds])

    @cached_property
    def means(self) -> list[FlowMeans]:
        """Every flow of every run, as means over the seeds that both sides have."""
        return means.of(self.pairs)

    @cached_property
    def chance(self) -> list[Chance]:
        """What seeds make of the median errors beside one run of side B each."""
        return chance.of([*self.pairs, *self.seeds]) if self.seeds else []

    @property
    def rate_errors_percent(self) -> dict[str, float]:
        """Medians over the flows, as a share of the link ceiling, by the rate that is compared."""
        errors = {rate: [e for pair in self.pairs for e in pair.rate_error_percent(rate)] for rate in RATES}
        return {rate: found for rate, of_flows in errors.items() if (found := median(of_flows)) is not None}

    @property
    def rtt_error_ms(self) -> float | None:
        """Median over all runs of the absolute error of mean TCP RTT."""
        return median([abs(pair.rtt_ms.diff) for pair in self.pairs if pair.rtt_ms.diff is not None])

    @property
    def rtt_error_percent(self) -> float | None:
        """The same as a share of side B."""
        return median([abs(pair.rtt_ms.percent) for pair in self.pairs if pair.rtt_ms.percent is not None])

    @property
    def measured(self) -> bool:
        """Whether side B is a measurement."""
        return self.sides == MEASURED

    @property
    def verdict(self) -> str:
        """What the effects amount to, in one line."""
        return effects.verdict(self.effects, self.sides)

    @property
    def conclusion(self) -> str:
        """The comparison in one sentence."""
        if not self.pairs:
            return (
                "Nothing to compare: no run is on both sides, and no two of those left have a flow's name or the number"
                " of flows in common. Measured runs: `sojourn list ect1 --json`, key `reference`."
            )
        text = f"{len(self.pairs)} run{'s' if len(self.pairs) != 1 else ''} compared"
        errors = []
        errors += [f"of {rate} {error:.1f} % of the link ceiling" for rate, error in self.rate_errors_percent.items()]
        if self.rtt_error_ms is not None:
            errors.append(f"of mean TCP RTT {self.rtt_error_ms:.2f} ms ({self.rtt_error_percent or 0:.1f} %)")
        if errors:
            text += f"; median absolute {'error' if self.measured else 'difference'} {'; '.join(errors)}"
        return f"{text}."

    def document(self) -> dict[str, Any]:
        """The JSON document of `sojourn compare --json`."""
        return {
            "schema": SCHEMA,
            "sides": dict(zip("ab", self.sides, strict=True)),
            "runs": [pair.document() for pair in self.pairs],
            "parameters": [{"key": key, "a": a, "b": b, "runs": runs} for (key, a, b), runs in self.parameters.items()],
            "method": effects.METHOD,
            "flows": [row.document() for row in self.means],
            "median_errors_of_flows": means.summary(self.means),
            "chance": [quantity.document() for quantity in self.chance],
            "effects": [effect.document() for effect in self.effects],
            "verdict": self.verdict,
            "summary": {
                "compared": len(self.pairs),
                "only_a": self.only_a,
                "only_b": self.only_b,
                "errors": self.errors,
                **{
                    f"{rate_key(rate)}_median_abs_error_percent_of_ceiling": rounded(self.rate_errors_percent.get(rate))
                    for rate in dict.fromkeys((GOODPUT, *self.rate_errors_percent))
                },
                "rtt_mean_median_abs_error_ms": rounded(self.rtt_error_ms),
                "rtt_mean_median_abs_error_percent": rounded(self.rtt_error_percent),
            },
        }


def median(values: list[float]) -> float | None:
    """The median; None of nothing."""
    return float(statistics.median(values)) if values else None
