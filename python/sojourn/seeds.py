"""Seeds until the mean of each point is known well enough: `sojourn run --seeds 30 --until 'goodput 2%'`.

Decisions depend on the results of a point's first seeds alone, in their order, never on which run ended first, so
that the runs are the same with any number of workers, and again when they are there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from sojourn import glance
from sojourn.glance import Glance
from sojourn.precision import LEAST_SEEDS, QUANTITIES, Goal, Mean, means, point_of, short


class Job(Protocol):
    """What is run: `sojourn.jobs.Job`."""

    @property
    def id(self) -> str: ...


class Outcome(Protocol):
    """What became of it: `sojourn.jobs.Outcome`."""

    @property
    def status(self) -> str: ...
    @property
    def run(self) -> glance.Run | None: ...


J = TypeVar("J", bound=Job)
R = TypeVar("R", bound=Outcome)


@dataclass
class Point(Generic[J, R]):
    """A scenario with its values of what is swept, and its seeds."""

    id: str
    goals: Sequence[Goal]
    jobs: list[J] = field(default_factory=list)
    #: Of the jobs from the first on.
    outcomes: list[R] = field(default_factory=list)

    def means(self) -> dict[str, Mean]:
        """Of each quantity, by its column."""
        return means(Glance.of(one.run).columns() for one in self.outcomes if one.run and one.run.complete)

    @property
    def why_not(self) -> str:
        """Why its intervals are not as narrow as was asked for; empty if they are."""
        if failed := sum(one.status in ("failed", "partial") for one in self.outcomes):
            return f"{failed} run{'s' if failed > 1 else ''} failed"
        found = self.means()
        for goal in self.goals:
            mean = found.get(goal.quantity)
            if mean is None:
                return f"{short(goal.quantity)} is not measured"
            if not goal.is_met(mean):
                return f"{short(goal.quantity)} is {mean} after {mean.seeds} seeds, the most that were allowed"
        return ""

    def wanted(self) -> int:
        """Seeds to have next; as many as there are, if there is nothing to gain."""
        done = len(self.outcomes)
        if not done:
            return min(LEAST_SEEDS, len(self.jobs))
        found = self.means()
        if any(one.status in ("failed", "partial") for one in self.outcomes):
            return done
        if any(goal.quantity not in found for goal in self.goals):
            return done
        unmet = [goal for goal in self.goals if not goal.is_met(found[goal.quantity])]
        needed = max((goal.seeds_for(found[goal.quantity]) for goal in unmet), default=done)
        return min(needed, len(self.jobs))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        quantities = {
            column: {"mean": mean.mean, "half_width": mean.half_width, "unit": QUANTITIES[column]}
            for column, mean in self.means().items()
        }
        return {
            "id": self.id,
            "seeds": len(self.outcomes),
            "converged": not self.why_not,
            **({"why_not": self.why_not} if self.why_not else {}),
            "quantities": quantities,
        }


def until(todo: Sequence[J], goals: Sequence[Goal], execute: Callable[[Sequence[J]], Sequence[R]]) -> list[Point[J, R]]:
    """Runs the seeds of each point in their order, at least five and at most those of `todo`, until all goals are met.

    `execute` runs jobs and gives an outcome for each, in their order.
    """
    points: dict[str, Point[J, R]] = {}
    for job in todo:
        name = point_of(job.id)
        points.setdefault(name, Point(name, goals)).jobs.append(job)
    every = list(points.values())
    while batch := [(point, job) for point in every for job in point.jobs[len(point.outcomes) : point.wanted()]]:
        for (point, _), outcome in zip(batch, execute([job for _, job in batch]), strict=True):
            point.outcomes.append(outcome)
    return every
