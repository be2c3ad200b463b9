"""Means over seeds with intervals, and how many seeds are enough."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from sojourn._core import ScenarioError
from sojourn.precision import Goal, Mean, goals_of, means, point_of, quantity, student_t, table
from sojourn.seeds import Point, until
from studies import StudyRun


def test_the_interval_is_students_t() -> None:
    """Quantiles of printed tables: 2.776 with 4 degrees of freedom, 12.706 with 1."""
    assert student_t(5) == pytest.approx(2.776, abs=5e-4)
    assert student_t(2) == pytest.approx(12.706, abs=5e-4)
    mean = Mean.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (mean.mean, mean.seeds) == (3.0, 5)
    assert mean.half_width == pytest.approx(2.776 * (2.5**0.5) / 5**0.5, rel=1e-3)
    assert Mean.of([7.0]) == Mean(7.0, None, 1)


def test_half_of_the_draws_of_intervals_hold_the_mean_as_often_as_they_say() -> None:
    rng = random.Random(1)  # noqa: S311 - draws of a test
    held = sum(
        abs((mean := Mean.of([rng.gauss(10, 2) for _ in range(6)])).mean - 10) <= (mean.half_width or 0)
        for _ in range(4000)
    )
    assert held / 4000 == pytest.approx(0.95, abs=0.012)  # more than three standard errors


@pytest.mark.parametrize(
    ("text", "column", "bound", "is_share"),
    [
        ("goodput 2%", "goodput_mbps", 0.02, True),
        ("goodput_mbps 500kbit", "goodput_mbps", 0.5, False),
        ("rtt_p99  1ms", "rtt_p99_ms", 1.0, False),
        ("sojourn_p50 250us", "sojourn_p50_ms", 0.25, False),
        ("utilisation 0.01", "utilisation", 0.01, False),
        ("drops 10", "drops", 10.0, False),
    ],
)
def test_a_goal_is_a_quantity_and_a_bound(text: str, column: str, bound: float, is_share: bool) -> None:
    goal = Goal.read(text)
    assert (goal.quantity, goal.is_share) == (column, is_share)
    assert goal.bound == pytest.approx(bound)


@pytest.mark.parametrize(
    "text", ["goodput", "goodput 2", "goodput 0%", "goodput -1%", "goodput nan%", "rtt_p99 5", "drops x"]
)
def test_a_bound_that_is_none_says_what_was_expected(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^until .*: expected .* a share of the mean such as 2% or a value"):
        Goal.read(text)


def test_an_unknown_quantity_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ScenarioError, match=r"^speed: expected a quantity: goodput, .*retransmits$"):
        quantity("speed")
    with pytest.raises(ScenarioError, match="expected 5 seeds or more"):
        goals_of(["goodput 2%"], 4)


def test_a_goal_is_met_from_five_seeds_on() -> None:
    goal = Goal.read("goodput 2%")
    assert not goal.is_met(Mean(100.0, 0.0, 4))
    assert goal.is_met(Mean(100.0, 2.0, 5))
    assert not goal.is_met(Mean(100.0, 2.1, 5))
    assert goal.is_met(Mean(0.0, 0.0, 5))
    # What the spread needs, at least one more and at most twice as many.
    assert [goal.seeds_for(Mean(100.0, half, 10)) for half in (2.01, 2.5, 20.0)] == [11, 16, 20]


@dataclass
class Job:
    id: str


@dataclass
class Outcome:
    run: StudyRun | None
    status: str = "done"


def seeds_of(point: str, count: int) -> list[Job]:
    return [Job(point + (f"@seed{seed}" if seed > 1 else "")) for seed in range(1, count + 1)]


def spread(job: Job, size: float) -> Outcome:
    """A goodput that depends on the seed alone."""
    drawn = random.Random(job.id).gauss(0, size)  # noqa: S311 - draws of a test
    return Outcome(StudyRun(job.id, 100 + drawn))


def test_every_point_gets_the_seeds_that_it_needs() -> None:
    done: list[list[str]] = []

    def execute(jobs: Sequence[Job]) -> list[Outcome]:
        done.append([job.id for job in jobs])
        return [spread(job, 0.1 if job.id.startswith("x/calm") else 10) for job in jobs]

    todo = [job for name in ("x/calm", "x/wild") for job in seeds_of(name, 40)]
    calm, wild = until(todo, [Goal.read("goodput 4%")], execute)
    assert (len(calm.outcomes), calm.why_not) == (5, "")
    assert 5 < len(wild.outcomes) < 40
    assert wild.why_not == ""
    half = wild.means()["goodput_mbps"].half_width
    assert half is not None
    assert half <= 4
    # In the order of the seeds, and none twice.
    assert done[0] == [job.id for name in ("x/calm", "x/wild") for job in seeds_of(name, 5)]
    assert [one for batch in done for one in batch if "wild" in one] == [
        job.id for job in todo[40 : 40 + len(wild.outcomes)]
    ]


def test_what_is_not_reached_is_said() -> None:
    goals = [Goal.read("goodput 0.1%")]
    (short,) = until(seeds_of("x", 7), goals, lambda jobs: [spread(job, 10) for job in jobs])
    assert len(short.outcomes) == 7
    assert short.why_not.startswith("goodput is ")
    assert short.why_not.endswith(" after 7 seeds, the most that were allowed")
    assert not short.document()["converged"]
    (broken,) = until(seeds_of("x", 30), goals, lambda jobs: [Outcome(None, "failed") for _ in jobs])
    assert (len(broken.outcomes), broken.why_not) == (5, "5 runs failed")
    no_queue = [Goal.read("sojourn_p99 1ms")]
    (blind,) = until(seeds_of("x", 30), no_queue, lambda jobs: [Outcome(StudyRun(job.id, p99_ms=None)) for job in jobs])
    assert (len(blind.outcomes), blind.why_not) == (5, "sojourn_p99 is not measured")


def test_a_point_is_an_id_without_its_seed() -> None:
    assert [point_of(one) for one in ("a/b", "a/b@seed12", "a@seed1/b")] == ["a/b", "a/b", "a@seed1/b"]
    assert isinstance(Point("a", []).means(), dict)


def test_means_leave_out_what_a_run_does_not_have() -> None:
    rows: list[dict[str, Any]] = [{"goodput_mbps": 1.0, "drops": None}, {"goodput_mbps": 3.0, "drops": 4, "queue": "b"}]
    found = means(rows)
    assert found["goodput_mbps"].mean == 2.0
    assert found["drops"] == Mean(4.0, None, 1)
    assert "queue" not in found


def test_a_table_of_intervals_has_a_row_for_each_point() -> None:
    import polars as pl

    from sojourn.glance import Glance

    runs = [
        StudyRun(f"x/{rate}{seed}", swept={"link.b.rate": rate}) for rate in "12" for seed in ("", "@seed2", "@seed3")
    ]
    runs[-1].complete = False
    frame = table(pl.DataFrame([{"id": run.id, **run.swept, **Glance.of(run).columns()} for run in runs]))
    assert frame["point"].to_list() == ["x/1", "x/2"]
    assert frame["link.b.rate"].to_list() == ["1", "2"]
    assert frame["seeds"].to_list() == [3, 2]
    assert frame["goodput_mbps_mean"].to_list() == [10.0, 10.0]
    assert frame["goodput_mbps_half_width"].to_list() == [0.0, 0.0]
