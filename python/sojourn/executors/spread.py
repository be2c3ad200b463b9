"""Units over an executor: a bounded number of tasks under way, answers as they come, lost ones done again."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass

from sojourn import work
from sojourn.executors import interface
from sojourn.executors.interface import ExecutorError
from sojourn.executors.task import Answer, Failure, failure, perform_all
from sojourn.results import capture_names
from sojourn.work import Unit, WorkerError

#: How often a unit is begun whose worker is lost each time.
ATTEMPTS = 3
#: Tasks under way for each that runs, so that a worker finds the next one at once.
AHEAD = 2
#: Units of a task at most.
MOST = 256
#: Longest time between two answers of `spread`, s.
TICK_S = 0.2


@dataclass(frozen=True, slots=True)
class Task:
    units: tuple[Unit, ...]
    #: How often its workers were lost.
    lost: int = 0


def spread(
    units: Iterable[tuple[Unit, float]], count: int, executor: Executor, *, jobs: int | None = None
) -> Generator[list[tuple[Unit, Answer]]]:
    """Does units, given with the seconds that each may take, and yields what has come since the last time.

    `count` is how many there may be; of `units` no more are taken than are under way: `jobs` tasks at a time, or as
    many as the executor does. Yields at least every `TICK_S`, an empty list too. A unit whose worker is lost
    is begun `ATTEMPTS` times, the last time after all others and alone, so that it does not take them with it.

    Raises `WorkerError` for a worker with other versions and `ExecutorError` for an executor that takes no more work.
    What is under way is withdrawn then, and when the caller stops.
    """
    tasks = _tasks(units, count, executor, jobs)
    again: deque[Task] = deque()
    under_way: dict[Future[list[Answer]], Task] = {}
    try:
        while True:
            most = AHEAD * (jobs or interface.slots(executor))
            while len(under_way) < most and (task := _next(tasks, again, is_alone=not under_way)):
                under_way[_submitted(executor, task)] = task
            if not under_way:
                return
            wait(under_way, timeout=TICK_S, return_when=FIRST_COMPLETED)
            came: list[tuple[Unit, Answer]] = []
            fault = None
            for future in [future for future in under_way if future.done()]:
                try:
                    came += _answers(future, under_way.pop(future), again)
                except (WorkerError, ExecutorError) as error:
                    fault = fault or error
            yield came
            if fault:
                raise fault
    finally:
        for future in under_way:
            future.cancel()


def _tasks(units: Iterable[tuple[Unit, float]], count: int, executor: Executor, jobs: int | None) -> Iterator[Task]:
    """As much work in a task as it is worth, but no fewer tasks than keep all workers busy."""
    most = max(1, min(MOST, count // (AHEAD * (jobs or interface.slots(executor)))))
    worth_s = interface.worth_s(executor)
    together: list[Unit] = []
    sum_s = 0.0
    for unit, takes_s in units:
        together.append(unit)
        sum_s += takes_s
        # Captures are large: their task's answer holds only those of one run.
        if len(together) >= most or sum_s >= worth_s or capture_names(unit.text):
            yield Task(tuple(together))
            together, sum_s = [], 0.0
    if together:
        yield Task(tuple(together))


def _next(tasks: Iterator[Task], again: deque[Task], *, is_alone: bool) -> Task | None:
    """The next task; one that is begun for the last time waits until there is no other one."""
    if again and again[0].lost < ATTEMPTS - 1:
        return again.popleft()
    if task := next(tasks, None):
        return task
    return again.popleft() if again and is_alone else None


def _submitted(executor: Executor, task: Task) -> Future[list[Answer]]:
    try:
        return executor.submit(perform_all, task.units, interface.is_wanted(executor))
    except (BrokenExecutor, RuntimeError) as error:
        raise ExecutorError(f"the executor takes no more work: {error}; what is finished is stored") from None


def _answers(future: Future[list[Answer]], task: Task, again: deque[Task]) -> Iterator[tuple[Unit, Answer]]:
    """A task's answers, each checked; its units go to `again` if its worker was lost."""
    try:
        answers = future.result()
    except (BrokenExecutor, CancelledError) as error:
        yield from _lost(task, error, again)
        return
    except (WorkerError, ExecutorError):
        raise
    except Exception as error:
        reason = error.__cause__ or error
        if isinstance(reason, ImportError | AttributeError):
            where = "a worker, or its scheduler, cannot read the task"
            raise WorkerError(f"{where} ({reason}): install the same wheel of Sojourn there") from None
        yield from ((unit, failure(unit, error)) for unit in task.units)
        return
    if not isinstance(answers, list) or len(answers) != len(task.units):
        raise WorkerError(f"a worker answered {task.units[0].id} with something else: install the same wheel there")
    for unit, answer in zip(task.units, answers, strict=True):
        try:
            yield unit, answer if isinstance(answer, Failure) else work.check(unit, answer)
        except WorkerError as error:
            yield unit, failure(unit, error)


def _lost(task: Task, error: BaseException, again: deque[Task]) -> Iterator[tuple[Unit, Answer]]:
    lost = task.lost + 1
    if lost < ATTEMPTS:
        alone = [Task((unit,), lost) for unit in task.units]
        if lost < ATTEMPTS - 1:
            again.extendleft(alone)
        else:
            again.extend(alone)
        return
    reason = RuntimeError(f"its worker was lost {lost} times ({' '.join(str(error).split()) or type(error).__name__})")
    yield from ((unit, failure(unit, reason)) for unit in task.units)
