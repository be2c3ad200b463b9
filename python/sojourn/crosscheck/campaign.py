"""Cases drawn at random on the simulator and on a real kernel, and what they disagree about.

Results stay in a folder with a results folder for each engine, so that a campaign that was interrupted goes on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sojourn import _core, engines
from sojourn.crosscheck import quantities, verdict
from sojourn.results import ResultsError, Run
from sojourn.run import Job, duration_s, execute
from sojourn.scenario import Resolved, Scenario
from sojourn.suites import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sojourn.crosscheck.verdict import Verdict
    from sojourn.engines import Engine

#: Runs of the kernel, the first one included, of a case that is outside tolerance.
SEEDS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """A drawn scenario."""

    index: int
    stratum: str
    job: Job


@dataclass(slots=True)
class Campaign:
    """What was found."""

    verdicts: list[Verdict] = field(default_factory=list)
    cases: dict[str, Case] = field(default_factory=dict)
    #: Why cases were left out, and how many.
    refused: Counter[str] = field(default_factory=Counter)
    #: Runs that failed, by engine and case.
    failed: list[str] = field(default_factory=list)

    @property
    def disagreements(self) -> list[Verdict]:
        return [found for found in self.verdicts if not found.agrees]


def case(seed: int, index: int) -> Case:
    """One case that a kernel can run, as a job."""
    text, stratum = _core.draw("linux", seed, index)
    resolved = Scenario(text, f"case {index} of seed {seed}").resolve()
    job = Job(str(resolved.document()["name"]), resolved, duration_s(resolved), Role(section=stratum))
    return Case(index, stratum, job)


def run(out: Path, seed: int, indices: Iterable[int], *, jobs: int | None = None) -> Campaign:
    """Runs what is not there yet and judges all; raises `EngineError` without a kernel."""
    found = Campaign()
    simulator, kernel = engines.named("sim"), engines.named("linux")
    for index in indices:
        drawn = case(seed, index)
        try:
            kernel.check(drawn.job.scenario)
        except engines.EngineError as error:
            found.refused[str(error).partition(": ")[2] or str(error)] += 1
        else:
            found.cases[drawn.job.id] = drawn
    todo = [drawn.job for drawn in found.cases.values()]
    ours = _runs(found, simulator, todo, out / "sim", jobs)
    theirs = _runs(found, kernel, todo, out / "linux", jobs)
    both = [job for job in todo if job.id in ours and job.id in theirs]
    first = {job.id: _judge(job, ours[job.id], [theirs[job.id]]) for job in both}
    outside = [job for job in both if not all(verdict.agrees for verdict in first[job.id])]
    seeds = [[_with_seed(job, extra) for job in outside] for extra in range(1, SEEDS)]
    more = [_runs(found, kernel, again, out / f"linux-{n}", jobs) for n, again in enumerate(seeds, 2)]
    for job in both:
        runs = [theirs[job.id], *(others[job.id] for others in more if job.id in others)]
        found.verdicts += first[job.id] if len(runs) == 1 else _judge(job, ours[job.id], runs)
    return found


def _runs(found: Campaign, engine: Engine, todo: Sequence[Job], out: Path, jobs: int | None) -> dict[str, Run]:
    outcomes = execute(todo, out, engine=engine, jobs=jobs) if todo else []
    found.failed += [f"{engine.name}: {o.id}: {o.error}" for o in outcomes if o.status == "failed"]
    return {o.id: o.run for o in outcomes if o.run}


def _with_seed(job: Job, extra: int) -> Job:
    """The same case with other random numbers; its id stays, for the folder tells which seed it is."""
    document = job.scenario.document()
    text, _ = _core.resolve(job.scenario.text, job.id, [("seed", str(int(str(document["seed"])) + 1000 * extra))])
    return replace(job, scenario=Resolved(text))


def _judge(job: Job, ours: Run, theirs: Sequence[Run]) -> list[Verdict]:
    rate = max(ours.conditions.rates_mbps, default=None)
    if rate is None:
        raise ResultsError(f"{ours.path}: expected a bottleneck with a rate")
    return verdict.judge(job.id, quantities.of(ours), [quantities.of(run) for run in theirs], rate)
