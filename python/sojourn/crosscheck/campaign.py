"""Cases drawn at random on the simulator and on a real kernel, and what they disagree about.

Results stay in a folder, so that a campaign that was interrupted goes on.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sojourn import _core, engines
from sojourn.crosscheck import quantities, records, verdict
from sojourn.crosscheck.records import Record
from sojourn.execution import execute
from sojourn.jobs import Job
from sojourn.planning import duration_s
from sojourn.results import ResultsError, Run
from sojourn.scenario import Resolved, Scenario
from sojourn.suites import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sojourn.crosscheck.quantities import Value
    from sojourn.crosscheck.records import Key
    from sojourn.crosscheck.verdict import Verdict
    from sojourn.engines import Engine

#: Runs of the kernel, the first one included, of a case that is outside tolerance.
RUNS = 5
#: In the kernel's further runs each flow starts later by a random part of this. Without random loss, jitter or drops
#: other random numbers change nothing, and several runs would say that such a case is not chaotic.
START_JITTER = "1ms"
#: The number of the run with the kernel's end points over our queue.
CROSSED = 0
#: Cases that are run, asked and judged together.
BLOCK = 20


class CampaignError(ValueError):
    """A case that is none, or that cannot be run: one line."""


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
    #: The same by the kernel's first run and the fixed tolerances alone: nothing widens them.
    alone: list[Verdict] = field(default_factory=list)
    #: The same with the mean of as many runs of ours as the kernel has of a case: if those were asked for.
    means: list[Verdict] = field(default_factory=list)
    #: The kernel's further runs by all others, of the cases that have them.
    itself: list[Verdict] = field(default_factory=list)
    #: Our further runs by all of the kernel's that have another number: if means were asked for.
    likewise: list[Verdict] = field(default_factory=list)
    #: The kernel's further runs by its first one alone.
    itself_alone: list[Verdict] = field(default_factory=list)
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


def named(name: str) -> Case:
    """The case of a name such as `case-1-17`."""
    found = re.fullmatch(r"case-([0-9]{1,18})-([0-9]{1,18})", name)
    if not found:
        raise CampaignError(f"{name}: expected a case such as case-1-17")
    return case(int(found[1]), int(found[2]))


def indices(known: Path, seed: int) -> list[int]:
    """Those of a seed's cases that a file of records has; raises `ResultsError`, also if there are none."""
    parts = (case.split("-") for case, run in records.read(known) if run == 1)
    found = sorted(int(index) for _, of, index in parts if int(of) == seed)
    if not found:
        raise ResultsError(f"{known}: expected records of cases of seed {seed}")
    return found


def judge_once(one: Job, out: Path) -> list[Verdict]:
    """A case on both engines, once each, whatever is there of it."""
    values: list[list[Value]] = []
    rate_mbps = 0.0
    for name in ("sim", "linux"):
        found = Campaign()
        runs = _runs(found, engines.named(name), [one], out / name, 1, fresh=True)
        # A case without traffic has no bottleneck.
        rates = runs[one.id].conditions.rates_mbps if one.id in runs else ()
        if not rates:
            return []
        values.append(quantities.of(runs[one.id]))
        rate_mbps = max(rates)
    return verdict.judge(one.id, values[0], [values[1]], rate_mbps)


def run(
    out: Path,
    seed: int,
    indices: Sequence[int],
    *,
    known: Path | None = None,
    runs: int = RUNS,
    attribute: bool = False,
    means: bool = False,
    jobs: int | None = None,
    fresh: bool = False,
    report: Callable[[Campaign], None] = lambda _: None,
) -> Campaign:
    """Judges each case, after the runs that are not there yet.

    Runs of the simulator are in `out/sim`, what the kernel gave in `out/kernel.jsonl`, and its runs in `out/linux`.
    `known` is a file of records: cases in it need no kernel, and have the runs that it has. With `attribute` the
    kernel's end points run over our queue where a case is outside tolerance. With `means` the simulator runs as often
    as the kernel did, with the same variations, and the means of both are compared. With `fresh` it runs anew.
    `report` is called as each block of cases is done.

    Raises `EngineError` where a case needs a kernel and there is none, `ResultsError` of a file that has no records.
    """
    found, file = Campaign(), out / "kernel.jsonl"
    given = records.read(known) if known else {}
    kept = given | (records.read(file) if file.is_file() else {})
    for first in range(0, len(indices), BLOCK):
        drawn = _able(found, [case(seed, index) for index in indices[first : first + BLOCK]], kept)
        ours = _simulated(found, [one.job for one in drawn], out / "sim", jobs, fresh=fresh)
        todo = [one.job for one in drawn if one.job.id in ours]
        _ask(found, todo, 1, out, kept, jobs)
        todo = [job for job in todo if (job.id, 1) in kept]
        # Cases of a file have the runs that it has.
        asked = [job for job in todo if (job.id, 1) not in given]
        outside = [job for job in asked if not all(one.agrees for one in _judge(job, ours[job.id], kept))]
        for number in range(2, runs + 1):
            _ask(found, outside, number, out, kept, jobs)
        if attribute:
            _ask(found, outside, CROSSED, out, kept, jobs)
        if means:
            for job, repeated in _repeated(found, todo, ours, kept, out, jobs, fresh=fresh):
                rate_mbps = ours[job.id][1]
                found.means += _judge(job, (quantities.mean(repeated), rate_mbps), kept)
                kernel = _kernel(job, kept)
                if len(kernel) > 2:
                    found.likewise += verdict.likewise(job.id, repeated, kernel, rate_mbps)
        for job in todo:
            values, rate_mbps = ours[job.id]
            kernel = _kernel(job, kept)
            found.verdicts += _judge(job, ours[job.id], kept)
            found.alone += verdict.judge(job.id, values, kernel[:1], rate_mbps)
            if len(kernel) > 2:
                found.itself += verdict.itself(job.id, kernel, rate_mbps)
                for further in kernel[1:]:
                    found.itself_alone += verdict.judge(job.id, further, kernel[:1], rate_mbps)
        report(found)
    return found


def _able(found: Campaign, drawn: Sequence[Case], kept: Mapping[Key, Record]) -> list[Case]:
    """Those that a kernel can run, or has run."""
    unknown = {one.job.id for one in drawn if (one.job.id, 1) not in kept}
    kernel = engines.named("linux") if unknown else None
    able = []
    for one in drawn:
        try:
            if kernel and one.job.id in unknown:
                kernel.check(one.job.scenario)
        except engines.EngineError as error:
            found.refused[str(error).partition(": ")[2] or str(error)] += 1
        else:
            able.append(one)
    found.cases |= {one.job.id: one for one in able}
    return able


def _simulated(
    found: Campaign, todo: Sequence[Job], out: Path, jobs: int | None, *, fresh: bool
) -> dict[str, tuple[list[Value], float]]:
    """What the simulator gives for each, and the rate of its bottleneck, Mbit/s."""
    runs = _runs(found, engines.named("sim"), todo, out, jobs, fresh=fresh)
    return {job: (quantities.of(run), _rate(run)) for job, run in runs.items()}


def _repeated(
    found: Campaign,
    todo: Sequence[Job],
    ours: Mapping[str, tuple[list[Value], float]],
    kept: Mapping[Key, Record],
    out: Path,
    jobs: int | None,
    *,
    fresh: bool,
) -> Iterator[tuple[Job, list[list[Value]]]]:
    """Each case with as many runs of ours as the kernel has."""
    values = {job.id: [ours[job.id][0]] for job in todo}
    for number in range(2, RUNS + 1):
        further = [again(job, number - 1) for job in todo if (job.id, number) in kept]
        runs = _runs(found, engines.named("sim"), further, out / f"sim-{number}", jobs, fresh=fresh)
        for name, run in runs.items():
            values[name].append(quantities.of(run))
    for job in todo:
        yield job, values[job.id]


def _ask(
    found: Campaign, todo: Sequence[Job], number: int, out: Path, kept: dict[Key, Record], jobs: int | None
) -> None:
    """Has the kernel run what is not among the records."""
    missing = [job if number < 2 else again(job, number - 1) for job in todo if (job.id, number) not in kept]
    name: engines.Name = "linux:sojourn" if number == CROSSED else "linux"
    folder = out / (name.replace(":", "-") if number < 2 else f"{name}-{number}")
    if not missing:
        return
    for job, run in _runs(found, engines.named(name), missing, folder, jobs).items():
        record = Record(job, number, str(run.manifest["kernel"]), tuple(quantities.of(run)))
        kept[record.key] = record
    records.write(out / "kernel.jsonl", kept.values())


def _runs(
    found: Campaign, engine: Engine, todo: Sequence[Job], out: Path, jobs: int | None, *, fresh: bool = False
) -> dict[str, Run]:
    outcomes = execute(todo, out, engine=engine, jobs=jobs, fresh=fresh, quiet=True) if todo else []
    found.failed += [f"{engine.name}: {o.id}: {o.error}" for o in outcomes if o.status == "failed"]
    return {o.id: o.run for o in outcomes if o.run}


def again(job: Job, extra: int) -> Job:
    """The same case with other random numbers and starts; its id stays, for the folder tells which run it is."""
    document: dict[str, Any] = job.scenario.document()
    changes = [("seed", str(int(document["seed"]) + 1000 * extra))]
    changes += [(f"flow.{flow['name']}.start_jitter", START_JITTER) for flow in document["flow"]]
    text, _ = _core.resolve(job.scenario.text, job.id, changes)
    return replace(job, scenario=Resolved(text))


def _judge(job: Job, ours: tuple[list[Value], float], kept: Mapping[Key, Record]) -> list[Verdict]:
    values, rate_mbps = ours
    crossed = kept[job.id, CROSSED].values if (job.id, CROSSED) in kept else ()
    return verdict.judge(job.id, values, _kernel(job, kept), rate_mbps, crossed)


def _kernel(job: Job, kept: Mapping[Key, Record]) -> list[tuple[Value, ...]]:
    return [kept[job.id, number].values for number in range(1, RUNS + 1) if (job.id, number) in kept]


def _rate(run: Run) -> float:
    rate = max(run.conditions.rates_mbps, default=None)
    if rate is None:
        raise ResultsError(f"{run.path}: expected a bottleneck with a rate")
    return rate
