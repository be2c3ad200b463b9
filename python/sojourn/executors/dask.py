"""A running Dask cluster, by the address of its scheduler or the file in which that wrote it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, ParamSpec, TypeVar

from distributed import Client, get_worker

from sojourn.executors.interface import ExecutorError

P = ParamSpec("P")
T = TypeVar("T")
#: For the scheduler's first answer, s.
TIMEOUT_S = 10
#: Between two looks at how many threads the workers have, s.
LOOK_S = 2.0


class Dask(Executor):
    """The client's own executor, and what there is to know of the cluster.

    The scheduler itself has the tasks of a worker that died done by another one, three times.
    """

    worth_s = 0.5

    def __init__(self, address: str) -> None:
        """Raises `ExecutorError` if no scheduler answers at `address`, as `tcp://HOST:8786`."""
        where: dict[str, Any] = {"scheduler_file" if address.endswith(".json") else "address": address}
        try:
            self._client = Client(**where, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise ExecutorError(f"dask:{address}: no scheduler answers: {reason}") from None
        self._tasks = self._client.get_executor(pure=False)
        self._slots, self._looked = 0, float("-inf")

    @property
    def slots(self) -> int:
        """Threads of all workers, which come and go."""
        if time.monotonic() - self._looked > LOOK_S and self._client.status == "running":
            self._slots, self._looked = sum(self._client.nthreads().values()), time.monotonic()
        return self._slots

    @property
    def is_wanted(self) -> Callable[[], bool]:
        return is_wanted

    @property
    def about(self) -> str:
        where = self._client.scheduler.address if self._client.scheduler else "no scheduler"
        return f"{where}: {self.slots or 'no'} threads of workers{'' if self.slots else '; waiting for the first'}"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._client.status not in ("running", "connecting"):
            raise BrokenExecutor("the scheduler is gone")
        future: Future[T] = self._tasks.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; its workers stay."""
        self._tasks.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def is_wanted() -> bool:
    """Whether the task of this thread is still wanted; Dask does not end one that has begun."""
    try:
        worker = get_worker()
        task = worker.state.tasks.get(worker.get_current_task())
    except (ValueError, AttributeError):
        return True
    return task is None or task.state != "cancelled"
