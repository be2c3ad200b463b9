"""Runs scenarios: what to run, in how many threads, and what became of each."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

from sojourn import _core, algorithms, engines, results, suites
from sojourn.engines import Engine
from sojourn.glance import Glance
from sojourn.precision import goals_of
from sojourn.progress import Progress
from sojourn.results import ResultsError, ResultSet, Run
from sojourn.scenario import Resolved, Scenario, load
from sojourn.seeds import until as needed
from sojourn.text import harmless, shortened

RESULTS = Path("results")


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    id: str
    scenario: Resolved
    duration_s: float
    role: suites.Role = field(default_factory=suites.Role)
    #: What the engine does otherwise than was asked for.
    differences: tuple[engines.Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job."""

    id: str
    status: Literal["done", "cached", "partial", "failed"]
    wall_s: float = 0.0
    run: Run | None = None
    error: str | None = None


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
) -> ResultSet:
    """Runs a scenario, files, suites or regular expressions over run ids, as `sojourn run` does; of a sweep all runs.

    `overrides` are dotted names of the scenario (`{"link.bneck.rate": "100Mbit"}`), `variant` is one of the suite's or
    a name for what they change. With `until` (`["goodput 2%"]`) a point gets as many of the `seeds`, at least 5, as
    make its 95 % intervals this narrow; `ResultSet.intervals` has them. `allow_exec` lets scenarios run the programs
    that they name. Raises
    `ScenarioError` before anything is written, `EngineError` likewise for what the engine cannot do, and
    `RunError` after all runs if any failed.
    """
    targets = [target] if isinstance(target, Scenario | str | Path) else list(target)
    goals = goals_of(until, seeds)
    todo = plan(targets, overrides, seed=seed, seeds=seeds, variant=variant)
    chosen = able(engines.named(engine, engines.Options(allow_exec=allow_exec)), todo)
    folder = Path(out) if out else new_folder(todo[0].id.split("/")[0])
    do = partial(execute, out=folder, jobs=jobs, fresh=fresh, engine=chosen)
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


def plan(
    targets: Iterable[Scenario | str | Path],
    overrides: Mapping[str, str] | None = None,
    *,
    seed: int | None = None,
    seeds: int = 1,
    variant: str | None = None,
) -> list[Job]:
    """Resolves targets into jobs with distinct ids; raises `ScenarioError` on the first bad one.

    A scenario with a `[sweep]` is a job for each combination of its values, and named by them.
    Several seeds count from `seed` or the scenario's own; after the first, ids end in `@seedN`. A
    `variant` is one of the suite's, or a name for what the overrides change; other than the suite's
    first one it stands in the id, so that both can be in one folder: `ID~variant@seedN`.
    """
    if variant is not None:
        check_variant(variant, named=bool(overrides))
    found: dict[str, Job] = {}
    for scenario, case in _scenarios(targets, variant):
        # A suite's first variant needs no name in it; on a file of one's own every name is one.
        is_default = variant is None or (case is not None and variant == next(iter(suites.variants(case.suite))))
        role = case.role if case else suites.Role()
        label = "" if is_default else f"~{variant}"
        settings = dict(overrides or {})
        if seed is not None:
            settings["seed"] = str(seed)
        points = scenario.expand(settings)
        starts: dict[str, int] = {}
        if seeds > 1 and len({point.swept.get("seed") for point in points}) > 1:
            raise _core.ScenarioError(f"{scenario.file}: --seeds: the scenario's sweep varies the seed itself")
        for first in points:
            name, start = str(first.document()["name"]), results.seed_of(first.text)
            known = starts.setdefault(name, start)
            for number in range(start, start + seeds):
                changed = {**settings, **first.swept, "name": name, "seed": str(number)}
                resolved = (
                    first
                    if seeds == 1
                    else replace(scenario.resolve(changed), swept=first.swept, sampled=first.sampled)
                )
                job_id = f"{name}{label}" + ("" if number == known else f"@seed{number}")
                results.check_id(job_id)
                if found.get(job_id, Job(job_id, resolved, 0)).scenario.text != resolved.text:
                    raise _core.ScenarioError(f"two different scenarios are named {job_id!r}")
                found[job_id] = Job(job_id, resolved, duration_s(resolved), role)
    for job_id in found:
        above = next((part for part in map(str, PurePosixPath(job_id).parents) if part in found), None)
        if above:
            raise _core.ScenarioError(f"the run {job_id!r} would be in the folder of the run {above!r}")
    return list(found.values())


def check_variant(variant: str, *, named: bool = False) -> None:
    """Raises `ScenarioError` if no suite has the variant and it does not name overrides either."""
    known = {name: suites.variants(name) for name in suites.NAMES}
    if not named and not any(variant in names for names in known.values()):
        choice = "; ".join(f"{', '.join(names)} ({suite})" for suite, names in known.items())
        raise _core.ScenarioError(f"--variant {variant}: expected {choice}, or a name for what --set changes")


def select(pattern: str, variant: str | None = None) -> list[suites.Case]:
    """The cases of a suite's name, an id, or a regular expression found in ids.

    A variant that some suite has restricts the choice to such suites; another one changes nothing here.
    """
    known = any(variant in suites.variants(name) for name in suites.NAMES)
    chosen_variant = variant if known else None
    if pattern in suites.NAMES:
        if chosen_variant is not None and chosen_variant not in suites.variants(pattern):
            names = ", ".join(suites.variants(pattern))
            raise _core.ScenarioError(f"--variant {variant}: suite {pattern} has {names}")
        return suites.suite(pattern, chosen_variant)
    cases = list(suites.every(chosen_variant))
    exact = [case for case in cases if case.id == pattern]
    try:
        chosen = exact or [case for case in cases if re.search(pattern, case.id)]
    except re.error as error:
        raise _core.ScenarioError(f"{pattern!r} is no regular expression: {error}") from None
    if not chosen:
        near = get_close_matches(pattern, [*suites.NAMES, *(c.id for c in cases)], n=1)
        hint = f"; nearest is {near[0]!r}" if near else ""
        raise _core.ScenarioError(
            f"{pattern!r} is no suite ({', '.join(suites.NAMES)}), matches no run id and is no scenario file{hint}"
        )
    return chosen


def is_file(target: str | Path) -> bool:
    """Whether a target names a scenario file."""
    return isinstance(target, Path) or target.endswith(".toml")


def find(target: str | Path, variant: str | None = None) -> list[Scenario]:
    """Scenarios of a file, a suite, an id or a regular expression; suites in this variant."""
    if is_file(target):
        try:
            return [load(target)]
        except OSError as error:
            raise _core.ScenarioError(f"{target}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise _core.ScenarioError(f"{target}: is not UTF-8 text") from None
    return [Scenario(case.toml, case.id) for case in select(str(target), variant)]


def new_folder(name: str) -> Path:
    """A folder in `results` that does not exist yet, named by time and `name`."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    folder, number = RESULTS / f"{stamp}-{name}", 2
    while folder.exists():
        folder, number = RESULTS / f"{stamp}-{name}-{number}", number + 1
    return folder


def execute(
    todo: Sequence[Job],
    out: Path,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    verify: bool = False,
    quiet: bool = False,
    engine: Engine | None = None,
) -> list[Outcome]:
    """Runs jobs into `out`, skipping those already there; a failing run does not stop the others.

    They run on an engine that can do them (`able`), the simulator unless it is given. With `quiet` only failures
    are reported.

    Raises `ResultsError` before the first one if `out` cannot hold results. An interrupt ends the
    running ones early, writes what they have, and is raised again. With `verify` every job runs
    twice and fails if one byte differs.
    """
    engine = engine or engines.named("sim")
    try:
        results.check_folder(out)
    except ResultsError:
        # Results on a read-only disk are still good for what is there.
        if fresh or verify or not all(results.existing(out, job.id, _identity(job, engine)[2]) for job in todo):
            raise
    go, stop = threading.Event(), threading.Event()
    done_s = {job.id: 0.0 for job in todo}
    at_once = max(1, jobs or cores(engine))
    pool = ThreadPoolExecutor(max_workers=at_once)

    def work(job: Job, *, again: bool = False) -> Outcome:
        def advance(fraction: float) -> bool:
            done_s[job.id] = fraction * job.duration_s
            return not stop.is_set()

        # An interrupt in the middle of a submission loses the pool's note of its thread.
        go.wait()
        try:
            if stop.is_set():
                return Outcome(job.id, "partial")
            return _one(job, out, fresh=fresh or again, verify=verify, engine=engine, advance=advance)
        # A panic of the engine arrives as a BaseException; it is this run's failure.
        except BaseException as error:
            text = shortened(harmless(" ".join(str(error).split()))) or type(error).__name__
            return Outcome(job.id, "failed", error=text)
        finally:
            done_s[job.id] = job.duration_s

    futures: dict[Future[Outcome], Job] = {}
    try:
        with Progress(len(todo), sum(job.duration_s for job in todo), quiet=quiet) as progress:
            try:
                for job in todo:
                    futures[pool.submit(work, job)] = job
                go.set()
                pending = set(futures)
                while pending:
                    finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                    for outcome in sorted((f.result() for f in finished), key=lambda o: o.id):
                        if outcome.status == "failed":
                            progress.say(f"sojourn: {outcome.id} failed: {outcome.error}")
                    progress.update(len(todo) - len(pending), sum(done_s.values()))
                # Runs side by side may have disturbed each other.
                for job in _disturbed(futures) if engine.is_real_time and at_once > 1 else ():
                    progress.say(f"sojourn: {job.id} was late beside others; again alone")
                    again = pool.submit(work, job, again=True)
                    if again.result().status == "failed":
                        progress.say(f"sojourn: {job.id} failed: {again.result().error}")
                    futures = {again if of is job else future: of for future, of in futures.items()}
            except KeyboardInterrupt:
                stop.set()
                go.set()
                progress.stop()
                progress.say("sojourn: interrupted; writing what there is (again: stop at once)")
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        stop.set()
        go.set()
        pool.shutdown(wait=False, cancel_futures=True)
        if out.exists() and out.resolve().parent == RESULTS.resolve():
            try:
                results.point_latest(out)
            except OSError as error:
                print(f"sojourn: warning: {RESULTS / 'latest'} does not point to {out}: {error}", file=sys.stderr)
    return [future.result() for future in futures]


def cores(engine: Engine) -> int:
    """Runs at a time by default: those of a machine in real time disturb each other."""
    return 1 if engine.is_real_time else os.cpu_count() or 1


def _disturbed(futures: Mapping[Future[Outcome], Job]) -> list[Job]:
    """Jobs whose packets were carried too late."""
    outcomes = ((job, future.result()) for future, job in futures.items())
    done = ((job, outcome.run) for job, outcome in outcomes if outcome.status == "done")
    return [job for job, run in done if run and Glance.of(run).is_late]


def _identity(job: Job, engine: Engine) -> tuple[str, dict[str, str], str]:
    """Version of the engine, digests of algorithms from outside, and the hash of both and the scenario."""
    version = engine.version
    own = algorithms.digests(job.scenario.text)
    return version, own, results.digest(job.scenario.text, version, own)


def able(engine: Engine, todo: Iterable[Job]) -> Engine:
    """The engine; raises `EngineError` if it cannot do one of these jobs."""
    for job in todo:
        engine.check(job.scenario)
    return engine


def nearest(engine: Engine, todo: Iterable[Job]) -> tuple[list[Job], list[str]]:
    """The jobs with the nearest scenarios that the engine can run, and why it cannot run the others.

    Raises `EngineError` if it can run none.
    """
    found, refused = [], []
    for job in todo:
        scenario, differences = engine.nearest(job.scenario)
        try:
            engine.check(scenario)
        except engines.EngineError as error:
            refused.append(str(error))
        else:
            found.append(replace(job, scenario=scenario, differences=differences))
    if refused and not found:
        raise engines.EngineError(refused[0] + (f" ({len(refused)} runs, none of which can run)" * (len(refused) > 1)))
    return found, refused


def duration_s(scenario: Resolved) -> float:
    """Length of a resolved scenario; 1 if its text is in no known unit (progress only)."""
    return seconds(str(scenario.document().get("duration", ""))) or 1.0


def seconds(text: str) -> float | None:
    """A time such as 1ms; None if it is in no known unit."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s)", text)
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return float(match[1]) * scale[match[2]] if match else None


def _scenarios(
    targets: Iterable[Scenario | str | Path], variant: str | None
) -> Iterable[tuple[Scenario, suites.Case | None]]:
    """Scenarios, and the case of each that is of a suite."""
    for target in targets:
        if isinstance(target, Scenario):
            yield target, None
        elif is_file(target):
            yield find(target)[0], None
        else:
            cases = select(str(target), variant)
            _check_aim(str(target), cases)
            yield from ((Scenario(case.toml, case.id), case) for case in cases)


def _check_aim(pattern: str, cases: Sequence[suites.Case]) -> None:
    """Raises `ScenarioError` for a pattern that may match far more than it was meant to."""
    if pattern.startswith(("^", *suites.NAMES)) or pattern.endswith("$") or cases[0].id == pattern:
        return
    count = len({case.suite for case in cases})
    near = next(
        (suite for suite in suites.NAMES if any(case.id.startswith(f"{suite}/{pattern}") for case in cases)), ""
    )
    such = f", such as {near}/{pattern}" if near else ""
    raise _core.ScenarioError(
        f"{pattern!r} is found in {len(cases)} run ids of {count} suite{'s' if count > 1 else ''}; to run them, "
        f"begin with the suite ({', '.join(suites.NAMES)}){such} or with ^"
    )


def _one(
    job: Job,
    out: Path,
    *,
    fresh: bool,
    verify: bool,
    engine: Engine,
    advance: Callable[[float], bool],
) -> Outcome:
    text = job.scenario.text
    version, own, wanted = _identity(job, engine)
    if not fresh and not verify and (run := results.existing(out, job.id, wanted)):
        return Outcome(job.id, "cached", run=run)
    results.check_place(out, job.id)
    started, clock = datetime.now(UTC), time.monotonic()
    with results.capture_folder(out, text) as captures:
        result = engines.complete(engine.start(job.scenario, captures), advance)
        wall_s = time.monotonic() - clock
        files = results.deterministic_files(text, result)
        if verify and result.complete:
            _verify(job, out, files, results.capture_digests(captures, text), engine=engine, advance=advance)
        manifest = {
            "id": job.id,
            "version": version,
            **({"engine": engine.name, "kernel": result.kernel} if result.kernel else {}),
            "seed": results.seed_of(text),
            "hash": wanted,
            **({"algorithms": own} if own else {}),
            **({"sweep": dict(job.scenario.swept)} if job.scenario.swept else {}),
            **({"nearest": [asdict(row) for row in job.differences]} if job.differences else {}),
            **({"role": role} if (role := job.role.document()) else {}),
            "complete": result.complete,
            "warnings": list(job.scenario.warnings),
            "started": started.isoformat(timespec="seconds"),
            "wall_s": round(wall_s, 3),
            "command": shlex.join(sys.argv),
            "host": platform.node(),
            "platform": platform.platform(),
        }
        taken = [captures / name for name in results.capture_names(text)] if captures else []
        run = results.write(out, manifest, files, taken)
    return Outcome(job.id, "done" if result.complete else "partial", wall_s, run)


def _verify(
    job: Job,
    out: Path,
    files: Mapping[str, bytes],
    captures: Mapping[str, str],
    *,
    engine: Engine,
    advance: Callable[[float], bool],
) -> None:
    """Raises `RuntimeError` if another run gives other bytes."""
    text = job.scenario.text
    with results.capture_folder(out, text) as folder:
        second = engines.complete(engine.start(job.scenario, folder), advance)
        again = results.deterministic_files(text, second)
        differ = [name for name in files if files[name] != again[name]]
        others = results.capture_digests(folder, text)
        differ += [name for name in captures if captures[name] != others[name]]
        if second.complete and differ:
            raise RuntimeError(f"two runs differ in {', '.join(differ)}")
