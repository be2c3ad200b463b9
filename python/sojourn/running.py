"""The verb `run`, and a run that its caller advances, as functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from sojourn import _core, engines, executors, results
from sojourn.execution import execute
from sojourn.jobs import Outcome
from sojourn.planning import able, new_folder, plan
from sojourn.precision import goals_of
from sojourn.results import ResultSet
from sojourn.scenario import Scenario
from sojourn.seeds import until as needed


class RunError(RuntimeError):
    """Some runs failed; the others are in `results`."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        failed = [o for o in outcomes if o.status == "failed"]
        first = failed[0]
        super().__init__(f"{len(failed)} of {len(outcomes)} runs failed; {first.id}: {first.error}")
        self.outcomes = outcomes


def run(
    target: Scenario | str | Path | Iterable[Scenario | str | Path],
    overrides: Mapping[str, str] | None = None,
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    seeds: int = 1,
    until: Iterable[str] = (),
    variant: str | None = None,
    fresh: bool = False,
    engine: engines.Name = "sim",
    allow_exec: bool = False,
    store: results.Form | None = None,
    executor: Executor | str | None = None,
) -> ResultSet:
    """Runs a scenario, files, suites or regular expressions over run ids, as `sojourn run` does; of a sweep all runs.

    `overrides` are dotted names of the scenario (`{"link.bneck.rate": "100Mbit"}`), `variant` is one of the suite's or
    a name for what they change. With `until` (`["goodput 2%"]`) a point gets as many of the `seeds`, at least 5, as
    make its 95 % intervals this narrow; `ResultSet.intervals` has them. `allow_exec` lets scenarios run the programs
    that they name. `store` is how runs are kept, in folders or a dataset; by default a dataset if they are more than
    200. The runs go to threads of this process, or to an `executor`: any of `concurrent.futures`, or one by its name,
    as `--executor` takes it.
    """
    targets = [target] if isinstance(target, Scenario | str | Path) else list(target)
    goals = goals_of(until, seeds)
    todo = plan(targets, overrides, seed=seed, seeds=seeds, variant=variant)
    chosen = able(engines.named(engine, engines.Options(allow_exec=allow_exec)), todo)
    folder = Path(out) if out else new_folder(todo[0].id.split("/")[0])
    with executors.opened(executor) as where:
        do = partial(execute, out=folder, jobs=jobs, fresh=fresh, engine=chosen, form=store, executor=where)
        outcomes = [one for point in needed(todo, goals, do) for one in point.outcomes] if goals else do(todo)
    if any(o.status == "failed" for o in outcomes):
        raise RunError(outcomes)
    return ResultSet(folder, (o.run for o in outcomes if o.run))


def start(
    scenario: Scenario | str | Path,
    overrides: Mapping[str, str] | None = None,
    *,
    engine: engines.Name = "sim",
    allow_exec: bool = False,
    captures: str | Path | None = None,
) -> engines.Run:
    """Begins one run that its holder advances; of a sweep, an error.

    It writes no files but, into the folder `captures` if one is given, the captures of the scenario.
    `allow_exec` lets the scenario run the programs that it names.

    Raises `ScenarioError`, or `EngineError` for what the engine cannot do.
    """
    job, *others = plan([scenario], overrides)
    if others:
        raise _core.ScenarioError(f"{scenario}: {1 + len(others)} runs; expected one")
    chosen = able(engines.named(engine, engines.Options(allow_exec=allow_exec)), [job])
    return chosen.start(job.scenario, Path(captures) if captures else None)
