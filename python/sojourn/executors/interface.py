"""What Sojourn asks of an executor beyond `concurrent.futures.Executor`: attributes, each of which may be missing.

`slots`: tasks that it does at a time now; `worth_s`: the least work, in seconds, that is worth the overhead of a task;
`is_wanted`: a function that a task asks, where it runs, whether somebody still waits for it, or None if tasks
are ended by other means; `about`: a line on what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor

SLOTS, WORTH_S = 16, 0.5


class ExecutorError(ValueError):
    """An executor that is not there, or takes no more work; one line for the user."""


class Lost(BrokenExecutor):
    """A task ended without an answer, through no fault that it could tell of."""


def slots(executor: Executor) -> int:
    """Tasks that it does at a time, at least 1."""
    return max(1, int(getattr(executor, "slots", SLOTS)))


def worth_s(executor: Executor) -> float:
    """The least work, in seconds, that is worth a task."""
    return float(getattr(executor, "worth_s", WORTH_S))


def is_wanted(executor: Executor) -> Callable[[], bool] | None:
    """What a task asks whether somebody still waits for it."""
    asked: Callable[[], bool] | None = getattr(executor, "is_wanted", None)
    return asked


def about(executor: Executor) -> str:
    """A line on what is there."""
    return str(getattr(executor, "about", f"{type(executor).__name__}, taken to do {SLOTS} tasks at a time"))
