"""Does runs, in threads of this process or on an executor, and stores what they give."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from sojourn import algorithms, engines, results
from sojourn.engines import Engine
from sojourn.glance import Glance
from sojourn.jobs import Job, Outcome
from sojourn.progress import Progress
from sojourn.results import ResultsError
from sojourn.text import in_one_line
from sojourn.work import Finished, GoOn, Made, Unit, made

RESULTS = Path("results")
#: Runs that are handed out to threads before they are wanted, of each thread.
AHEAD = 4


def execute(
    todo: Sequence[Job],
    out: Path,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    verify: bool = False,
    quiet: bool = False,
    engine: Engine | None = None,
    form: results.Form | None = None,
    executor: Executor | None = None,
) -> list[Outcome]:
    """Runs jobs into `out`, skipping those already there; a failing run does not stop the others.

    They run on an engine that can do them (`able`), the simulator unless it is given; in threads of this process,
    `jobs` at a time, or on an `executor`, which gets as many tasks at a time. With `quiet` only failures are reported.
    `form` is how runs are kept where there are none yet; by default their number decides.

    Raises `ResultsError` before the first one if `out` cannot hold results. An interrupt ends the
    running ones early, writes what they have (not what an executor has), and is raised again. With `verify` every job
    runs twice and fails if one byte differs. With an executor, raises `EngineError` or `AlgorithmError` before the
    first one for what only this process can run, and `WorkerError` or `ExecutorError` in their midst if workers have
    other versions or are gone for good; what was finished is stored.
    """
    engine = engine or engines.named("sim")
    for job in todo if executor else ():
        Unit.of(job.id, job.scenario, engine)
    progress = Progress(len(todo), sum(job.duration_s for job in todo), quiet=quiet)
    store = results.store(out, [job.id for job in todo], form, lambda line: progress.say(f"sojourn: {line}"))
    how = How(out, engine, store, fresh=fresh, verify=verify)
    try:
        store.check()
    except ResultsError:
        # Results on a read-only disk are still good for what is there.
        if not all(cached(job, how) for job in todo):
            raise
    try:
        with progress:
            if executor:
                from sojourn import elsewhere

                return elsewhere.run(todo, how, executor, jobs, progress)
            return _here(todo, how, max(1, jobs or cores(engine)), progress)
    finally:
        store.close()
        if out.exists() and out.resolve().parent == RESULTS.resolve():
            try:
                results.point_latest(out)
            except OSError as error:
                print(f"sojourn: warning: {RESULTS / 'latest'} does not point to {out}: {error}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class How:
    """What all runs of a call have in common."""

    out: Path
    engine: Engine
    store: results.Store
    #: Whether to do again what is there.
    fresh: bool = False
    verify: bool = False
    #: Whether a run that was ended early is stored too.
    keeps_partial: bool = True


def _here(todo: Sequence[Job], how: How, at_once: int, progress: Progress) -> list[Outcome]:
    """Runs jobs in threads of this process."""
    go, stop = threading.Event(), threading.Event()
    under_way_s: dict[str, float] = {}
    pool = ThreadPoolExecutor(max_workers=at_once)

    def work(job: Job, *, again: bool = False) -> Outcome:
        def advance(run: engines.Run) -> bool:
            under_way_s[job.id] = run.now_s / run.duration_s * job.duration_s
            return not stop.is_set()

        # An interrupt in the middle of a submission loses the pool's note of its thread.
        go.wait()
        try:
            if stop.is_set():
                return Outcome(job.id, "partial")
            return one(job, replace(how, fresh=how.fresh or again), advance)
        # A panic of the engine arrives as a BaseException; it is this run's failure.
        except BaseException as error:
            return failed(job, error)

    outcomes: dict[str, Outcome] = {}
    waiting = iter(todo)
    pending: dict[Future[Outcome], Job] = {}
    try:
        while len(outcomes) < len(todo):
            # Few at a time, for there may be very many; the first of them start all threads.
            pending |= {pool.submit(work, job): job for job in islice(waiting, AHEAD * at_once - len(pending))}
            go.set()
            finished, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            for job, outcome in sorted(((pending.pop(f), f.result()) for f in finished), key=lambda o: o[1].id):
                outcomes[outcome.id] = outcome
                under_way_s.pop(outcome.id, None)
                report(job, outcome, progress)
            progress.update(sum(list(under_way_s.values())))
        # Runs side by side may have disturbed each other.
        for job in _disturbed(todo, outcomes) if how.engine.is_real_time and at_once > 1 else ():
            progress.say(f"sojourn: {job.id} was late beside others; again alone")
            outcomes[job.id] = pool.submit(work, job, again=True).result()
            _say_failure(outcomes[job.id], progress)
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
    return [outcomes[job.id] for job in todo]


def report(job: Job, outcome: Outcome, progress: Progress) -> None:
    """Counts a run that is over, and says why it failed."""
    progress.finished(job.duration_s, was_there=outcome.status == "cached")
    _say_failure(outcome, progress)


def _say_failure(outcome: Outcome, progress: Progress) -> None:
    if outcome.status == "failed":
        progress.say(f"sojourn: {outcome.id} failed: {outcome.error}")


def failed(job: Job, error: BaseException) -> Outcome:
    """What becomes of a job that could not be done."""
    return Outcome(job.id, "failed", error=in_one_line(error))


def cores(engine: Engine) -> int:
    """Runs at a time by default: those of a machine in real time disturb each other."""
    return 1 if engine.is_real_time else os.cpu_count() or 1


def _disturbed(todo: Sequence[Job], outcomes: Mapping[str, Outcome]) -> list[Job]:
    """Jobs whose packets were carried too late."""
    done = ((job, outcomes[job.id].run) for job in todo if outcomes[job.id].status == "done")
    return [job for job, run in done if run and Glance.of(run).is_late]


def _identity(job: Job, engine: Engine) -> tuple[str, dict[str, str], str]:
    """Version of the engine, digests of algorithms from outside, and the hash of both and the scenario."""
    version = engine.version
    own = algorithms.digests(job.scenario.text)
    return version, own, results.digest(job.scenario.text, version, own)


def one(job: Job, how: How, go_on: GoOn) -> Outcome:
    """Does a run in this thread and stores it; raises what it fails with."""
    if outcome := cached(job, how):
        return outcome
    how.store.check_place(job.id)
    way = {"packed": how.store.packed, "twice": how.verify}
    with made(how.engine, job.scenario, how.out, **way, go_on=go_on) as (done, captures):
        if not (done.complete or how.keeps_partial):
            return Outcome(job.id, "partial", done.wall_s)
        return _written(job, how, done, captures)


def cached(job: Job, how: How) -> Outcome | None:
    """The run, if it is there and good enough."""
    if how.fresh or how.verify:
        return None
    run = how.store.existing(job.id, _identity(job, how.engine)[2])
    return Outcome(job.id, "cached", run=run) if run else None


def stored(job: Job, how: How, finished: Finished) -> Outcome:
    """Writes what a worker has made."""
    with results.capture_folder(how.out, job.scenario.text) as folder:
        captures = [folder / name for name in finished.captures] if folder else []
        for capture in captures:
            capture.write_bytes(finished.captures[capture.name])
        return _written(job, how, finished.made, captures)


def _written(job: Job, how: How, done: Made, captures: Iterable[Path]) -> Outcome:
    version, own, wanted = _identity(job, how.engine)
    manifest = {
        "id": job.id,
        "version": version,
        **({"engine": how.engine.name, "kernel": done.kernel} if done.kernel else {}),
        "seed": results.seed_of(job.scenario.text),
        "hash": wanted,
        **({"algorithms": own} if own else {}),
        **({"sweep": dict(job.scenario.swept)} if job.scenario.swept else {}),
        **({"nearest": [asdict(row) for row in job.differences]} if job.differences else {}),
        **({"role": role} if (role := job.role.document()) else {}),
        "complete": done.complete,
        "warnings": list(job.scenario.warnings),
        "started": done.started,
        "wall_s": done.wall_s,
        "command": shlex.join(sys.argv),
        "host": done.host,
        "platform": done.platform,
    }
    run = how.store.write(manifest, done.files, captures)
    return Outcome(job.id, "done" if done.complete else "partial", done.wall_s, run)
