"""Does runs on an executor, and stores here what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing

from sojourn import estimate
from sojourn.executors.spread import spread
from sojourn.executors.task import Failure
from sojourn.jobs import Job, Outcome
from sojourn.progress import Progress
from sojourn.single import How, cached, failed, report, stored
from sojourn.work import Finished, Unit

#: Threads that write what an executor has made.
STORING = 4


def run(todo: Sequence[Job], how: How, executor: Executor, jobs: int | None, progress: Progress) -> list[Outcome]:
    """Runs jobs on an executor; what is there is looked up, and what comes is stored, in this process."""
    jobs_by_id = {job.id: job for job in todo}
    outcomes: dict[str, Outcome] = {}

    def settle(outcome: Outcome) -> None:
        outcomes[outcome.id] = outcome
        report(jobs_by_id[outcome.id], outcome, progress)
        progress.update()

    def units() -> Iterator[tuple[Unit, float]]:
        for job in todo:
            try:
                if outcome := cached(job, how):
                    settle(outcome)
                    continue
                how.store.check_place(job.id)
                unit = Unit.of(job.id, job.scenario, how.engine, packed=how.store.packed, twice=how.verify)
            except Exception as error:
                settle(failed(job, error))
            else:
                yield unit, estimate.alone_s(job, how.engine)

    def keep(job: Job, answer: Finished | Failure) -> Outcome:
        if isinstance(answer, Failure):
            return Outcome(job.id, "failed", error=answer.error)
        try:
            return stored(job, how, answer)
        except Exception as error:
            return failed(job, error)

    # Files wait for the disk, not for each other.
    pool = ThreadPoolExecutor(STORING)
    try:
        with closing(spread(units(), len(todo), executor, jobs=jobs)) as coming:
            for came in coming:
                for outcome in pool.map(lambda pair: keep(jobs_by_id[pair[0].id], pair[1]), came):
                    settle(outcome)
                progress.update()
    except KeyboardInterrupt:
        progress.stop()
        progress.say("sojourn: interrupted; finished runs are stored, the others withdrawn (again: stop at once)")
        raise
    finally:
        pool.shutdown()
    return [outcomes[job.id] for job in todo]
