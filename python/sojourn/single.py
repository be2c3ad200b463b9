"""One run of a call: looked up or done, and stored."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from sojourn import algorithms, results
from sojourn.engines import Engine
from sojourn.jobs import Job, Outcome
from sojourn.progress import Progress
from sojourn.text import in_one_line
from sojourn.work import Finished, GoOn, Made, made


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


def report(job: Job, outcome: Outcome, progress: Progress) -> None:
    """Counts a run that is over, and says why it failed."""
    progress.finished(job.duration_s, was_there=outcome.status == "cached")
    say_failure(outcome, progress)


def say_failure(outcome: Outcome, progress: Progress) -> None:
    if outcome.status == "failed":
        progress.say(f"sojourn: {outcome.id} failed: {outcome.error}")


def failed(job: Job, error: BaseException) -> Outcome:
    """What becomes of a job that could not be done."""
    return Outcome(job.id, "failed", error=in_one_line(error))
