"""The scenarios in which a controller or a queue does worst, drawn or within bounds, and the simplest form of one."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import _core
from sojourn.conditions import Conditions, of_scenario
from sojourn.execution import execute
from sojourn.files import write_whole
from sojourn.jobs import Job
from sojourn.planning import duration_s
from sojourn.results import Run
from sojourn.scenario import Scenario
from sojourn.search.measures import Measured, State, Subject, state
from sojourn.search.trials import Bench, SearchError, Trial
from sojourn.shrink import STILL, Shrunk, plain, shrink
from sojourn.suites import Role

#: Cases of a seed that are looked through for those that are wanted.
DRAWS = 20_000
#: Where buffers or windows limit the sender, which is no matter of its controller.
LEFT_OUT = ("limited",)
STRATA = ("one", "two", "many", "impaired", "steps", "limited", "short", "offloads", "asymmetric", "unresponsive")
#: Places of the ranking that have a file.
PLACES = 5
#: Of the simplest form.
SIMPLEST = "worst-1-simple.toml"


@dataclass(frozen=True, slots=True)
class Found:
    """A scenario and how bad it is."""

    job: Job
    value: float
    #: What the flows got, by controller.
    shares: str

    @property
    def conditions(self) -> Conditions:
        """Queues, rate and RTT."""
        return of_scenario(self.job.scenario.text)


@dataclass(slots=True)
class Ranking:
    """What was found, the worst first."""

    measured: Measured
    found: list[Found] = field(default_factory=list)
    #: Scenarios in which there was too little to judge.
    unjudged: int = 0
    failed: list[str] = field(default_factory=list)

    def sort(self) -> None:
        """The worst first."""
        self.found.sort(key=lambda one: (-self.measured.measure.badness(one.value), one.job.id))


def drawn(subject: Subject, seed: int, count: int, strata: Sequence[str]) -> list[Job]:
    """The first `count` of a seed's cases that have the subject, or as many as there are among `DRAWS`.

    A case is named by seed and index. What is drawn is that of this version of the generator. Raises `SearchError` if
    no case has it.
    """
    found: list[Job] = []
    for index in range(DRAWS):
        text, stratum = _core.draw("all", seed, index)
        # Reading a scenario takes longer than drawing it.
        if stratum in strata and f'cc = "{subject.cc or ""}' in text and subject.is_in(tomllib.loads(text)):
            name = f"drawn-{seed}-{index}"
            resolved = Scenario(text, name).resolve({"name": name})
            found.append(Job(name, resolved, duration_s(resolved), Role(section=stratum)))
            if len(found) == count:
                return found
    if not found:
        raise SearchError(f"no drawn case has {subject}; --over searches within bounds of your own")
    return found


def judge(
    measured: Measured,
    todo: Sequence[Job],
    out: Path,
    *,
    jobs: int | None,
    fresh: bool,
    executor: Executor | None = None,
) -> Ranking:
    """Runs scenarios that are not there yet, and ranks them."""
    ranking = Ranking(measured)
    by_id = {job.id: job for job in todo}
    for outcome in execute(todo, out, jobs=jobs, fresh=fresh, executor=executor):
        if outcome.run is None or outcome.status == "failed":
            ranking.failed.append(f"{outcome.id}: {outcome.error}")
        elif (value := measured.of_run(outcome.run)) is None:
            ranking.unjudged += 1
        else:
            there = state(outcome.run, measured.subject)
            ranking.found.append(Found(by_id[outcome.id], value, _shares(there)))
    ranking.sort()
    return ranking


def of_trials(measured: Measured, bench: Bench, trials: Sequence[Trial]) -> Ranking:
    """The trials of a search as a ranking; points that were tried twice count once."""
    ranking = Ranking(measured)
    known: set[tuple[str, ...]] = set()
    for trial in trials:
        if trial.runs in known:
            continue
        known.add(trial.runs)
        if trial.error:
            # A point that the scenario refuses has no runs, and one that is too short no value.
            ranking.unjudged += 1
            continue
        name = trial.runs[0]
        (job,) = bench.question.jobs(name, trial.settings)
        there = state(Run(bench.out / name), measured.subject)
        ranking.found.append(Found(job, trial.means[0], _shares(there)))
    ranking.sort()
    return ranking


def simplest(
    measured: Measured,
    worst: Found,
    out: Path,
    *,
    most: int,
    say: Callable[[int, str, float], None],
    executor: Executor | None = None,
) -> Shrunk[float]:
    """The worst one without what its badness does not need, of which it keeps at least `STILL`."""
    least = STILL * measured.measure.badness(worst.value)

    def still(candidate: Job) -> float | None:
        (outcome,) = execute([candidate], out, fresh=True, quiet=True, executor=executor)
        value = measured.of_run(outcome.run) if outcome.run and outcome.status == "done" else None
        return value if value is not None and measured.measure.badness(value) >= least else None

    return shrink(worst.job, worst.value, still, most=most, say=say)


def write(found: Sequence[Found], out: Path) -> list[Path]:
    """The scenario of each of the first places as a file that `sojourn run` takes, without what has its default."""
    files = []
    for place, one in enumerate(found[:PLACES], 1):
        files.append(out / f"worst-{place}.toml")
        write_whole(files[-1], Scenario.build(plain(one.job.scenario)).text)
    return files


def bounded(subject: Subject) -> Scenario:
    """A scenario for bounds without a file: a flow of each controller at one bottleneck.

    50 Mbit/s, 20 ms, `pfifo` with 250 packets unless the subject has a queue; 30 s, of which the second half counts.
    """
    names = [name for name in (subject.cc, subject.against) if name]
    labels = [name.partition(" ")[0] for name in names]
    if len(set(labels)) < len(labels):
        labels[-1] += "-other"
    flows = [{"name": label, "cc": name} for label, name in zip(labels, names, strict=True)]
    link = {
        "name": "bneck",
        "rate": "50Mbit",
        "shaper": "htb",
        "qdisc": subject.qdisc or "pfifo limit 250p",
        "delay": "10ms",
        "reverse": {"rate": "none", "qdisc": "pfifo"},
    }
    name = "-".join([*labels, *(subject.qdisc or "").split()[:1]])
    return Scenario.build({"name": name, "duration": "30s", "link": [link], "flow": flows})


def _shares(there: State | None) -> str:
    """Mean goodput of the flows of each controller, Mbit/s, the judged ones first."""
    if there is None:
        return ""
    flows = sorted(there.goodputs, key=lambda name: name not in there.judged)
    parts = []
    for controller in dict.fromkeys(there.goodputs[name][0] for name in flows):
        rates = [rate for cc, rate in there.goodputs.values() if cc == controller]
        count = f"{len(rates)} " if len(rates) > 1 else ""
        parts.append(f"{count}{controller} {sum(rates) / len(rates):.3g}")
    return ", ".join(parts)
