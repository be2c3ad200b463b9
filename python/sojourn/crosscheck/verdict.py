"""Whether two engines agree on a quantity. The tolerances are fixed: they are no result of what was found."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.crosscheck.quantities import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: A quantity counts if one side has this many events.
LEAST_EVENTS = 20
#: Of the bottleneck's rate.
GOODPUT_SHARE = 0.02
#: Standard deviations of the kernel's own goodput over seeds.
GOODPUT_DEVIATIONS = 3
#: Relative, and absolute in the quantity's unit; the larger one counts.
RELATIVE = {
    Kind.DELAY: (0.03, 0.3),
    Kind.TAIL: (0.08, 1.0),
    Kind.ACKS: (0.03, 0.0),
    # Segments: a window is a whole number, and the two engines sample at other instants.
    Kind.WINDOW: (0.08, 2.0),
}
COUNT_SHARE = 0.1
#: Standard deviations of a Poisson count.
COUNT_DEVIATIONS = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """One quantity of one case, on both engines."""

    case: str
    of: str
    name: str
    kind: Kind
    ours: float
    kernel: float
    tolerance: float
    #: What the kernel's end points have over our queue, where that was run.
    crossed: float | None = None

    @property
    def origin(self) -> str:
        """Whether the queue or the end points make the difference."""
        if self.crossed is None:
            return "-"
        as_ours = abs(self.crossed - self.ours) <= self.tolerance
        as_kernel = abs(self.crossed - self.kernel) <= self.tolerance
        return {(True, False): "queue", (False, True): "end points", (False, False): "both"}.get(
            (as_ours, as_kernel), "either"
        )

    @property
    def error(self) -> float:
        return self.ours - self.kernel

    @property
    def agrees(self) -> bool:
        return abs(self.error) <= self.tolerance

    @property
    def excess(self) -> float:
        """The difference in tolerances; above 1 it disagrees."""
        return abs(self.error) / self.tolerance if self.tolerance else math.inf * (self.error != 0)


def judge(
    case: str,
    ours: Iterable[Value],
    kernel: Sequence[Iterable[Value]],
    rate_mbps: float,
    crossed: Iterable[Value] = (),
) -> list[Verdict]:
    """Each quantity that both have and that counts, against the mean of the kernel's runs.

    `crossed` is what the kernel's end points have over our queue.
    """
    middle = {(value.of, value.name): value.value for value in crossed}
    runs = [{(value.of, value.name): value for value in values} for values in kernel]
    found = []
    for value in ours:
        key = (value.of, value.name)
        theirs = [run[key] for run in runs if key in run]
        if runs and key in runs[0] and max(value.events, runs[0][key].events) >= LEAST_EVENTS:
            values = [one.value for one in theirs]
            mean = statistics.fmean(values)
            tolerance = max(_tolerance(value, mean, rate_mbps), _spread(value.kind, values))
            found.append(Verdict(case, *key, value.kind, value.value, mean, tolerance, middle.get(key)))
    return found


def itself(case: str, kernel: Sequence[Iterable[Value]], rate_mbps: float) -> list[Verdict]:
    """Each run of a kernel but the first, judged by all others: what a simulator could reach that is as the kernel is.

    Not the first, since a case has more runs because that one was far from ours: it is an outlier more often.
    """
    return likewise(case, kernel, kernel, rate_mbps)


def likewise(
    case: str, runs: Sequence[Iterable[Value]], kernel: Sequence[Iterable[Value]], rate_mbps: float
) -> list[Verdict]:
    """Each of these runs but the first, judged by those of the kernel that have another number, as `itself` does."""
    others = [list(values) for values in kernel]
    return [
        found
        for number, values in enumerate(runs[1:], 1)
        for found in judge(case, values, others[:number] + others[number + 1 :], rate_mbps)
    ]


def _tolerance(value: Value, kernel: float, rate_mbps: float) -> float:
    if value.kind is Kind.GOODPUT:
        return GOODPUT_SHARE * rate_mbps
    if value.kind is Kind.COUNT:
        return max(COUNT_SHARE * kernel, COUNT_DEVIATIONS * math.sqrt(max(kernel, value.value)))
    relative, absolute = RELATIVE[value.kind]
    return max(relative * kernel, absolute)


def _spread(kind: Kind, values: Sequence[float]) -> float:
    """What the kernel itself differs by over seeds: of goodput three standard deviations, else the range."""
    if len(values) < 2:
        return 0.0
    return GOODPUT_DEVIATIONS * statistics.stdev(values) if kind is Kind.GOODPUT else max(values) - min(values)
