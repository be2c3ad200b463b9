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
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from sojourn import _core, algorithms, linux, results, suites
from sojourn.progress import Progress
from sojourn.results import ResultSet, Run
from sojourn.scenario import Resolved, Scenario, load

RESULTS = Path("results")
Engine = Literal["sim", "linux"]


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    id: str
    scenario: Resolved
    duration_s: float


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
    variant: str | None = None,
    fresh: bool = False,
    engine: Engine = "sim",
) -> ResultSet:
    """Runs a scenario, files, suites or regular expressions over run ids, as `sojourn run` does.

    `overrides` are dotted names of the scenario (`{"link.bneck.rate": "100Mbit"}`), `variant` is one of
    the suite's or a name for what they change. Raises
    `ScenarioError` before anything is written, and `RunError` after all runs if any failed. With the
    engine `linux` it also raises `LinuxError` before anything is written, for what no kernel can do.
    """
    targets = [target] if isinstance(target, Scenario | str | Path) else list(target)
    todo = plan(targets, overrides, seed=seed, seeds=seeds, variant=variant)
    kernel = on_linux(todo) if engine == "linux" else None
    folder = Path(out) if out else new_folder(todo[0].id.split("/")[0])
    outcomes = execute(todo, folder, jobs=jobs, fresh=fresh, kernel=kernel)
    if any(o.status == "failed" for o in outcomes):
        raise RunError(outcomes)
    return ResultSet(folder, (o.run for o in outcomes if o.run))


def plan(
    targets: Iterable[Scenario | str | Path],
    overrides: Mapping[str, str] | None = None,
    *,
    seed: int | None = None,
    seeds: int = 1,
    variant: str | None = None,
) -> list[Job]:
    """Resolves targets into jobs with distinct ids; raises `ScenarioError` on the first bad one.

    Several seeds count from `seed` or the scenario's own; after the first, ids end in `@seedN`. A
    `variant` is one of the suite's, or a name for what the overrides change; other than the suite's
    first one it stands in the id, so that both can be in one folder: `ID~variant@seedN`.
    """
    if variant is not None:
        check_variant(variant, named=bool(overrides))
    is_default = any(variant == next(iter(suites.variants(name))) for name in suites.NAMES)
    label = "" if variant is None or is_default else f"~{variant}"
    found: dict[str, Job] = {}
    for scenario in _scenarios(targets, variant):
        settings = dict(overrides or {})
        if seed is not None:
            settings["seed"] = str(seed)
        first = scenario.resolve(settings)
        start = results.seed_of(first.text)
        for number in range(start, start + seeds):
            resolved = first if seeds == 1 else scenario.resolve({**settings, "seed": str(number)})
            name = str(resolved.document()["name"])
            job_id = f"{name}{label}" + ("" if number == start else f"@seed{number}")
            results.check_id(job_id)
            if found.get(job_id, Job(job_id, resolved, 0)).scenario.text != resolved.text:
                raise _core.ScenarioError(f"two different scenarios are named {job_id!r}")
            found[job_id] = Job(job_id, resolved, duration_s(resolved))
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


def find(target: str | Path, variant: str | None = None) -> list[Scenario]:
    """Scenarios of a file, a suite, an id or a regular expression; suites in this variant."""
    if isinstance(target, Path) or target.endswith(".toml"):
        try:
            return [load(target)]
        except OSError as error:
            raise _core.ScenarioError(f"{target}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise _core.ScenarioError(f"{target}: is not UTF-8 text") from None
    return [Scenario(case.toml, case.id) for case in select(target, variant)]


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
    kernel: linux.Kernel | None = None,
) -> list[Outcome]:
    """Runs jobs into `out`, skipping those already there; a failing run does not stop the others.

    They run in the simulator, or each on a `kernel` of its own.

    An interrupt ends the running ones early, writes what they have, and is raised again. With
    `verify` every job runs twice and fails if one byte differs.
    """
    go, stop = threading.Event(), threading.Event()
    done_s = {job.id: 0.0 for job in todo}
    pool = ThreadPoolExecutor(max_workers=max(1, jobs or os.cpu_count() or 1))

    def work(job: Job) -> Outcome:
        def advance(fraction: float) -> bool:
            done_s[job.id] = fraction * job.duration_s
            return not stop.is_set()

        # An interrupt in the middle of a submission loses the pool's note of its thread.
        go.wait()
        try:
            if stop.is_set():
                return Outcome(job.id, "partial")
            return _one(job, out, fresh=fresh, verify=verify, kernel=kernel, advance=advance)
        # A panic of the engine arrives as a BaseException; it is this run's failure.
        except BaseException as error:
            text = " ".join(str(error).split()) or type(error).__name__
            return Outcome(job.id, "failed", error=text)
        finally:
            done_s[job.id] = job.duration_s

    futures: dict[Future[Outcome], Job] = {}
    try:
        with Progress(len(todo), sum(job.duration_s for job in todo)) as progress:
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
            results.point_latest(out)
    return [future.result() for future in futures]


def on_linux(todo: Iterable[Job]) -> linux.Kernel:
    """The kernel for these jobs; raises `LinuxError` if there is none or it cannot do one of them."""
    for job in todo:
        linux.check(job.scenario)
    return linux.find()


def duration_s(scenario: Resolved) -> float:
    """Length of a resolved scenario; 1 if its text is in no known unit (progress only)."""
    text = str(scenario.document().get("duration", ""))
    match = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)", text)
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return float(match[1]) * scale[match[2]] if match else 1.0


def _scenarios(targets: Iterable[Scenario | str | Path], variant: str | None) -> Iterable[Scenario]:
    for target in targets:
        yield from [target] if isinstance(target, Scenario) else find(target, variant)


def _one(
    job: Job,
    out: Path,
    *,
    fresh: bool,
    verify: bool,
    kernel: linux.Kernel | None,
    advance: Callable[[float], bool],
) -> Outcome:
    text = job.scenario.text
    version = linux.version(kernel) if kernel else _core.version()
    own = algorithms.digests(text)
    wanted = results.digest(text, version, own)
    if not fresh and not verify and (run := results.existing(out, job.id, wanted)):
        return Outcome(job.id, "cached", run=run)
    started, clock = datetime.now(UTC), time.monotonic()
    result = linux.run(job.scenario, kernel, advance) if kernel else _core.run(text, advance)
    wall_s = time.monotonic() - clock
    files = results.deterministic_files(text, result)
    if verify and result.complete:
        again = results.deterministic_files(text, second := _core.run(text, advance))
        differ = [name for name in files if files[name] != again[name]]
        if second.complete and differ:
            raise RuntimeError(f"two runs differ in {', '.join(differ)}")
    manifest = {
        "id": job.id,
        "version": version,
        **({"engine": "linux", "kernel": result.kernel} if kernel else {}),
        "seed": results.seed_of(text),
        "hash": wanted,
        **({"algorithms": own} if own else {}),
        "complete": result.complete,
        "warnings": list(job.scenario.warnings),
        "started": started.isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 3),
        "command": shlex.join(sys.argv),
        "host": platform.node(),
        "platform": platform.platform(),
    }
    run = results.write(out, manifest, files)
    return Outcome(job.id, "done" if result.complete else "partial", wall_s, run)
