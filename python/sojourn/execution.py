"""Does runs, in threads of this process or on an executor, and stores what they give."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from pathlib import Path

from sojourn import engines, results
from sojourn.engines import Engine
from sojourn.glance import Glance
from sojourn.jobs import Job, Outcome
from sojourn.progress import Progress
from sojourn.results import ResultsError
from sojourn.single import How, cached, failed, one, report, say_failure
from sojourn.work import Unit

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
            say_failure(outcomes[job.id], progress)
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


def cores(engine: Engine) -> int:
    """Runs at a time by default: those of a machine in real time disturb each other."""
    return 1 if engine.is_real_time else os.cpu_count() or 1


def _disturbed(todo: Sequence[Job], outcomes: Mapping[str, Outcome]) -> list[Job]:
    """Jobs whose packets were carried too late."""
    done = ((job, outcomes[job.id].run) for job in todo if outcomes[job.id].status == "done")
    return [job for job, run in done if run and Glance.of(run).is_late]
