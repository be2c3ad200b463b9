"""Two result sets flow by flow: means over the seeds, and the median errors of all flows.

Goodput and TCP RTT are means over the window. Retransmits, drops and marks are counted over the whole run, because
most of them are of the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from sojourn import conditions
from sojourn.compare.pairs import DELIVERY_RATE, GOODPUT, RATES, Difference, Pair, rate_key, rounded
from sojourn.precision import point_of

#: Retransmits of a flow are compared where side B has this many: fewer are chance.
LEAST_RETRANSMITS = 30.0


@dataclass(frozen=True)
class FlowMeans:
    """One flow of one run on both sides, as means over its seeds."""

    run: str
    flow: str
    seeds: int
    ceiling_mbps: float | None
    rate: str
    """`goodput`, or `delivery rate` where a side has nothing else."""
    rate_mbps: Difference
    rtt_ms: Difference
    retransmits: Difference

    @property
    def rate_error_percent(self) -> float | None:
        """Side A minus side B as a share of the link ceiling."""
        diff = self.rate_mbps.diff
        return 100 * diff / self.ceiling_mbps if diff is not None and self.ceiling_mbps else None

    @property
    def retransmits_error_percent(self) -> float | None:
        """Side A minus side B as a share of side B, where that has enough."""
        return self.retransmits.percent if (self.retransmits.b or 0) >= LEAST_RETRANSMITS else None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "run": self.run,
            "flow": self.flow,
            "seeds": self.seeds,
            f"{rate_key(self.rate)}_mbps": self.rate_mbps.document(),
            f"{rate_key(self.rate)}_error_percent_of_ceiling": rounded(self.rate_error_percent),
            "rtt_mean_ms": self.rtt_ms.document(),
            "rtt_error_percent": rounded(self.rtt_ms.percent),
            "retransmits": self.retransmits.document(),
            "retransmits_error_percent": rounded(self.retransmits_error_percent),
        }


def of(pairs: Iterable[Pair]) -> list[FlowMeans]:
    """Every flow of every run, in the order of the pairs."""
    found = []
    for run, group in groupby(pairs, key=lambda pair: point_of(pair.id)):
        of_run = list(group)
        for flow in dict.fromkeys(flow.name for pair in of_run for flow in pair.flows):
            seeds = [(pair, own) for pair in of_run for own in pair.flows if own.name == flow]
            found.append(
                FlowMeans(
                    run,
                    flow,
                    len(seeds),
                    conditions.ceiling_mbps(of_run[0].a),
                    seeds[0][1].rate,
                    _mean(own.rate_mbps for _, own in seeds),
                    _mean(own.tcp_rtt_ms["mean"] for _, own in seeds),
                    _mean(own.retransmits for _, own in seeds),
                )
            )
    return found


def median_error(rows: Iterable[FlowMeans], error: Callable[[FlowMeans], float | None]) -> tuple[float | None, int]:
    """The median of the absolute errors, and of how many flows."""
    errors = [abs(value) for row in rows if (value := error(row)) is not None]
    return (float(np.median(errors)) if errors else None), len(errors)


def summary(rows: list[FlowMeans]) -> dict[str, float | int | None]:
    """Median errors for JSON."""
    rates: dict[str, float | int | None] = {}
    for rate in RATES:
        error, flows = median_error((row for row in rows if row.rate == rate), lambda row: row.rate_error_percent)
        if flows or rate == GOODPUT:
            rates |= {f"{rate_key(rate)}_percent_of_ceiling": rounded(error), f"{rate_key(rate)}_flows": flows}
    rtt, of_rtt = median_error(rows, lambda row: row.rtt_ms.percent)
    retransmits, of_retransmits = median_error(rows, lambda row: row.retransmits_error_percent)
    return {
        **rates,
        "rtt_mean_percent": rounded(rtt),
        "rtt_flows": of_rtt,
        "retransmits_percent": rounded(retransmits),
        "retransmits_flows": of_retransmits,
    }


def lines(rows: list[FlowMeans]) -> Iterator[str]:
    """The median errors, a line each."""
    found = summary(rows)
    seeds = sorted({row.seeds for row in rows})
    over = f", means over {seeds[0]}{f' to {seeds[-1]}' if len(seeds) > 1 else ''} seeds" if seeds != [1] else ""
    for what, key, flows in (
        (GOODPUT, "goodput_percent_of_ceiling", "goodput_flows"),
        (DELIVERY_RATE, "delivery_rate_percent_of_ceiling", "delivery_rate_flows"),
        ("mean TCP RTT", "rtt_mean_percent", "rtt_flows"),
        (f"retransmits (at least {LEAST_RETRANSMITS:g})", "retransmits_percent", "retransmits_flows"),
    ):
        if found.get(key) is not None:
            share = " of the link ceiling" if what in RATES else ""
            of_flows = f"{found[flows]} flow{'s' if found[flows] != 1 else ''}"
            yield f"Median absolute error of {of_flows}{over}: {what} {found[key]:.2f} %{share}"


def _mean(values: Iterable[Difference]) -> Difference:
    """Of the seeds that both sides have."""
    both = [(value.a, value.b) for value in values if value.a is not None and value.b is not None]
    if not both:
        return Difference(None, None)
    a, b = np.array(both, dtype=np.float64).mean(axis=0)
    return Difference(float(a), float(b))
