"""The quantities of a run by the names that expressions use.

What they are is defined elsewhere, once: in `metrics`, in `glance` (the columns of `ResultSet.summary()`) and in the
engine (`summary.json`).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sojourn import metrics, results
from sojourn.glance import Glance
from sojourn.search.expression import AbsentError, ExpressionError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sojourn.metrics import FloatArray, Window
    from sojourn.results import Run

#: Short names.
ALIASES = {"util": "utilisation", "goodput": "goodput_mbps", "jain": "metrics.fairness.jain"}
#: What `sojourn_ms` has of the packets of a queue.
OF_PACKETS = {"mean": "mean", "max": "max", 0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p999"}
#: Of a flow, beside its recorded series.
GOODPUT = "goodput"
#: Of a queue, per packet; of the queue `L` or `C` of a dual queue, or of one flow, as `bneck.L.delay`.
DELAY = "delay"
#: Series that only some controllers or queues have.
OWN = ".cc."


#: By the ends of the names of series.
UNITS = {DELAY: "ms", "rtt": "ms", "one_way": "ms", "fct": "ms", "sojourn": "ms", GOODPUT: "Mbit/s"}


def unit_of(series: str) -> str:
    """The unit of a series that people ask for most; empty of others."""
    return UNITS.get(series.rpartition(".")[2], "")


class OfRun:
    """The quantities of one finished run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def numbers(self) -> Mapping[str, object]:
        """Every number of `ResultSet.summary()` and of its full form, by name."""
        every = {**results.flatten(self.run.summary), **Glance.of(self.run).columns()}
        return {name: value for name, value in every.items() if not isinstance(value, str | bool)}

    @cached_property
    def window(self) -> Window | None:
        return metrics.measuring_window(self.run)

    @cached_property
    def flows(self) -> list[str]:
        return [str(flow["name"]) for flow in self.run.summary.get("flows", [])]

    @cached_property
    def queues(self) -> list[str]:
        return [str(queue["name"]) for queue in self.run.queues]

    def number(self, name: str) -> float:
        wanted = ALIASES.get(name, name)
        if wanted not in self.numbers and name not in ALIASES:
            if self._of_series(name) is not None or self._delay_of(name) is not None:
                raise ExpressionError(f"{name}: expected a statistic of it, such as p99({name}) or mean({name})")
            raise ExpressionError(f"{name}: expected a quantity of the run{self._hint(name)}")
        value = self.numbers.get(wanted)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise AbsentError(name)
        return float(value)

    def statistic(self, share: float | str, series: str) -> float:
        if (place := self._delay_of(series)) is not None:
            return self._sojourn(share, series, *place)
        if self.window is None:
            raise AbsentError(series)
        if share == "mean" and series.endswith(f".{GOODPUT}") and (flow := self._flow(series)):
            if (value := metrics.goodput(self.run, flow, self.window)) is None:
                raise AbsentError(series)
            return value
        if (values := self._of_series(series)) is None:
            known = self._known()
            raise ExpressionError(
                f"{series}: expected a series such as QUEUE.{DELAY}, FLOW.rtt, FLOW.{GOODPUT} or a recorded one"
                f"{nearest(series, known)}"
            )
        if not values.size:
            raise AbsentError(series)
        if isinstance(share, float):
            return float(np.percentile(values, 100 * share))
        return float(values.mean() if share == "mean" else values.min() if share == "min" else values.max())

    def _sojourn(self, share: float | str, name: str, queue: str, part: str) -> float:
        """Of packets, not of samples: what the engine counted."""
        if share not in OF_PACKETS:
            known = ", ".join(OF_PACKETS.values())
            raise ExpressionError(
                f"{name}: expected one of {known} of the packets of a queue; queue.{queue}.sojourn has samples, "
                "of which there are all"
            )
        side = {"side": part} if part in ("L", "C") else {"flow": part} if part else {}
        found = metrics.sojourn(self.run, queue, **side) or {}
        value = found.get(OF_PACKETS[share])
        if not isinstance(value, int | float):
            raise AbsentError(name)
        return float(value)

    def _delay_of(self, name: str) -> tuple[str, str] | None:
        """Queue and part of it, of a name that ends in `delay`."""
        place, dot, last = name.rpartition(".")
        if last != DELAY or not dot:
            return None
        place = place.removeprefix("queue.")
        for queue in sorted(self.queues, key=len, reverse=True):
            if place == queue:
                return queue, ""
            part = place.removeprefix(f"{queue}.")
            if part != place and (part in ("L", "C") or part in self.flows):
                return queue, part
        return None

    def _flow(self, name: str) -> str | None:
        flow = name.rpartition(".")[0]
        return next((one for one in (flow, flow.removeprefix("flow.")) if one in self.flows), None)

    def _of_series(self, name: str) -> FloatArray | None:
        """The values of a series in the measuring window; None if there is no such series."""
        window = self.window or (0.0, math.inf)
        if name.endswith(f".{GOODPUT}") and (flow := self._flow(name)):
            return metrics.goodput_over_time(self.run, flow, window)
        recorded = self.run.names()
        found = [one for one in (name, *(f"{kind}.{name}" for kind in ("flow", "queue", "ping"))) if one in recorded]
        if found:
            return metrics.inside(self.run, found[0], window)
        # What a flow that has sent nothing, or another controller, would have.
        owner = name.removeprefix("flow.").partition(".")[0]
        return np.empty(0) if owner in self.flows and (OWN in name or name.endswith(".rtt")) else None

    def _known(self) -> list[str]:
        short = [name.partition(".")[2] for name in self.run.names()]
        own = [f"{queue}.{DELAY}" for queue in self.queues] + [f"{flow}.{GOODPUT}" for flow in self.flows]
        return [*own, *short, *self.run.names()]

    def _hint(self, name: str) -> str:
        main = [*ALIASES, *(n for n in self.numbers if "." not in n)]
        return nearest(name, main) or nearest(name, [*self.numbers, *self._known()]) or f": {', '.join(sorted(main))}"
