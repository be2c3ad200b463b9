"""`sojourn worst`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn import _core, engines, executors
from sojourn.algorithms import load_algorithms
from sojourn.cli.common import (
    FAILED,
    INTERRUPTED,
    OK,
    SOME_FAILED,
    AtLeastOne,
    Json,
    Load,
    Out,
    Set,
    UsageError,
    agreed,
    one,
    overrides,
    print_json,
    say,
    slug,
)
from sojourn.cli.screen import Screen
from sojourn.cli.search import steered
from sojourn.execution import RESULTS
from sojourn.planning import able
from sojourn.text import harmless

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sojourn.search.measures import Measured
    from sojourn.search.worst import Found, Ranking

#: Rows of the ranking, and characters of what may be long in it.
MOST, LONGEST = 10, 36


def worst(
    target: str | None = None,
    /,
    *,
    measure: Literal["fairness", "starvation", "utilisation", "delay"],
    cc: str | None = None,
    against: str | None = None,
    qdisc: str | None = None,
    over: list[str] | None = None,
    trials: Annotated[int, AtLeastOne] = 100,
    cases: Annotated[int, AtLeastOne] = 100,
    strata: str | None = None,
    simplify: Annotated[int, Parameter(validator=Number(gte=0))] = 40,
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 1,
    set_: Set = None,
    load: Load = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], validator=Number(gte=1))] = None,
    executor: str | None = None,
    out: Out = None,
    fresh: bool = False,
    yes: bool = False,
    as_json: Json = False,
) -> int:
    """Find the scenarios in which a controller or a queue does worst, and the simplest form of the worst one.

    Without --over these are cases of the generator of random scenarios that have it (`sojourn crosscheck`); with it
    Optuna searches within bounds. Each of the first five is a file that `sojourn run` takes.

    Examples: `sojourn worst --cc prague --against cubic --measure starvation`,
    `sojourn worst --cc prague --against cubic --measure starvation --over link.bneck.rate=10Mbit..1Gbit:log
    --over link.bneck.delay=1ms..100ms:log`

    Args:
        target: With --over: scenario file; default one with a flow of each controller at one bottleneck.
        measure: Jain's index of all bulk flows; the least share of a judged flow; goodput over what the link carries;
            or the 99th percentile of the sojourn time over the round trip of the empty path.
        cc: Controller that is judged, such as prague or 'prague version p2b'; default all.
        against: Controller that is to be beside it.
        qdisc: Queue that is to be there, such as dualpi2.
        over: What may vary, as of `sojourn search`; repeatable.
        trials: Number of trials with --over.
        cases: Number of drawn cases to run.
        strata: Kinds of drawn cases, separated by commas: one, two, many, impaired, steps, limited, short, offloads,
            asymmetric, unresponsive; default all but limited, where buffers bound the sender.
        simplify: Scenarios to try for the simplest form of the worst one; 0: none.
        seed: Seed of the cases, or of the sampler.
        set_: With --over: change a value of the scenario in all trials; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        jobs: Runs at a time; default one a core, or what the executor has.
        executor: Where to run instead of in threads of this process, as of `sojourn run`: processes[:N], dask:ADDRESS
            or slurm[:OPTION=VALUE,...].
        out: Folder of the results; default one in results/ that the same command finds again.
        fresh: Do runs again that are already there.
        yes: Do not ask before more than 50 runs or 10 minutes; nor is asked without a terminal.
        as_json: Print one JSON document.
    """
    from sojourn.search import worst as finding
    from sojourn.search.measures import MEASURES, Measured, Subject

    load_algorithms(load or ())
    subject = Subject(*(_known(name, option) for name, option in ((cc, "cc"), (against, "cc"), (qdisc, "qdisc"))))
    chosen = MEASURES[measure]
    if over is None and (target or set_):
        raise UsageError(f"{target or '--set'}: only with --over")
    if not (target or cc or (qdisc and over is None)):
        raise UsageError("expected --cc, such as --cc prague, or with --over a scenario file")
    if chosen.flows > 1 and not target and over is not None and not against:
        raise UsageError(f"--measure {measure}: expected --against too, such as --against cubic")
    measured = Measured(chosen, subject)
    name = slug("-".join(filter(None, ("worst", str(subject).replace(" ", "-"), measure))))
    if over is None:
        todo = finding.drawn(subject, seed, cases, _strata(strata))
        if len(todo) < cases:
            say(f"{len(todo)} of {finding.DRAWS} drawn cases have {subject}")
        able(sim := engines.named("sim"), todo)
    else:
        if strata:
            raise UsageError("--strata: not with --over")
        scenario = one(target) if target else finding.bounded(subject)
        if not subject.is_in(scenario.expand(overrides(set_))[0].document()):
            raise UsageError(f"{scenario.file}: expected bulk flows of {subject or 'a controller'}")
    with executors.opened(executor) as where:
        if over is None:
            folder = out or RESULTS / f"{name}-{seed}"
            if where:
                say(executors.about(where))
            if not agreed(todo, engine=sim, jobs=jobs, yes=yes, executor=where):
                return INTERRUPTED
            ranking = finding.judge(measured, todo, folder, jobs=jobs, fresh=fresh, executor=where)
        else:
            options = {"trials": trials, "seed": seed, "jobs": jobs, "out": out, "fresh": fresh, "yes": yes}
            ranking, folder = _within(measured, scenario, over, overrides(set_), name, options, where)
        return _answer(ranking, folder, simplify, where, as_json=as_json)


def _known(name: str | None, kind: str) -> str | None:
    """The text, if the registry has its algorithm; raises `ScenarioError` with the nearest one."""
    if name:
        (_core.cc_usage if kind == "cc" else _core.qdisc_usage)(name.partition(" ")[0])
    return name


def _strata(text: str | None) -> Sequence[str]:
    from sojourn.search.worst import LEFT_OUT, STRATA

    if text is None:
        return [name for name in STRATA if name not in LEFT_OUT]
    names = [name.strip() for name in text.split(",")]
    if unknown := next((name for name in names if name not in STRATA), None):
        raise UsageError(f"--strata {unknown}: expected some of {', '.join(STRATA)}")
    return names


def _within(
    measured: Measured,
    scenario: Any,
    over: list[str],
    settings: dict[str, str],
    name: str,
    options: dict[str, Any],
    executor: Executor | None,
) -> tuple[Ranking, Path]:
    """Searches within bounds."""
    from sojourn.search.space import axes
    from sojourn.search.trials import Objective, Question
    from sojourn.search.worst import of_trials

    objective = Objective(measured, measured.measure.more_is_worse)
    question = Question(scenario, axes(over), (objective,), settings=settings, seed=options["seed"])
    bench, done = steered(question, options["trials"], f"{name}-", options, executor)
    return of_trials(measured, bench, done), bench.out


def _answer(ranking: Ranking, folder: Path, simplify: int, executor: Executor | None, *, as_json: bool) -> int:
    from sojourn.files import write_whole
    from sojourn.search import worst as finding

    found = ranking.found
    files = finding.write(found, folder)
    simple = None
    if not as_json:
        _show(ranking, files)
    if found and simplify and ranking.measured.measure.badness(found[0].value) > 0:
        if not as_json:
            say(f"leaving out of {files[0]} what it does not need")
        shrunk = finding.simplest(
            ranking.measured,
            found[0],
            folder / "simple",
            most=simplify,
            say=lambda tried, what, value: None if as_json else say(f"{tried}: {what}: {value:.4g}"),
            executor=executor,
        )
        simple = folder / finding.SIMPLEST
        write_whole(simple, shrunk.text)
        if not as_json:
            print(f"simplest: {harmless(str(simple))}: {shrunk.finding:.4g} ({shrunk.tried} scenarios tried)")
    if as_json:
        print_json(_document(ranking, folder, files, simple))
    for line in ranking.failed:
        say(line)
    if not found:
        say(f"in none of {ranking.unjudged + len(ranking.failed)} runs there is enough to judge")
        return FAILED
    return SOME_FAILED if ranking.failed else OK


def _show(ranking: Ranking, files: Sequence[Path]) -> None:
    screen, measure = Screen(), ranking.measured.measure
    subject = str(ranking.measured.subject)
    screen.line(f"{measure.name}{f' of {subject}' if subject else ''}: {measure.about}", "bold")
    unjudged = f", {ranking.unjudged} more are too short to judge or have no such flows" if ranking.unjudged else ""
    screen.line(f"{len(ranking.found)} scenarios{unjudged}; goodput in Mbit/s, mean of each controller's flows")
    rows = [_row(one) for one in ranking.found[:MOST]]
    screen.table(["scenario", measure.name, "link", "RTT ms", "goodput", "queue"], rows, {0, 4, 5}, optional=[3, 2])
    print()
    for file in files[:1]:
        print(f"next: sojourn run {harmless(str(file))}")
    if len(files) == 2:
        print(f"the other one: {harmless(str(files[1]))}")
    elif len(files) > 2:
        print(f"the others: {harmless(str(files[1]))} to {harmless(files[-1].name)}")


def _row(one: Found) -> list[str]:
    conditions = one.conditions
    rates, rtts = (
        " to ".join(f"{number:.4g}" for number in numbers)
        for numbers in (conditions.rates_mbps, conditions.base_rtts_ms)
    )
    # Without the shaper around each.
    queues = ", ".join(queue.rpartition("+")[2] for queue in conditions.queues)
    return [one.job.id, f"{one.value:.3g}", rates, rtts, *(_begin(text) for text in (one.shares, queues))]


def _begin(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _document(ranking: Ranking, folder: Path, files: Sequence[Path], simple: Path | None) -> dict[str, Any]:
    from sojourn.path import of_conditions

    def row(place: int, one: Found) -> dict[str, Any]:
        file = {"file": str(files[place])} if place < len(files) else {}
        return {
            "scenario": one.job.id,
            "value": one.value,
            "goodput_mbps": one.shares,
            "path": str(of_conditions(one.conditions)),
            **file,
        }

    return {
        "schema": "sojourn/worst/1",
        "path": str(folder),
        "measure": ranking.measured.measure.name,
        "subject": str(ranking.measured.subject),
        "unjudged": ranking.unjudged,
        "ranking": [row(place, one) for place, one in enumerate(ranking.found)],
        "simplest": str(simple) if simple else None,
        "failed": ranking.failed,
    }
