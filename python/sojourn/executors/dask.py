"""A running Dask cluster, by the address of its scheduler or the file in which that wrote it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from distributed import Client, Security, get_worker

from sojourn.executors.interface import ExecutorError

P = ParamSpec("P")
T = TypeVar("T")
ADDRESS = re.compile(r"(?:[a-z]+://)?[^/\s]+:\d+")
#: For the scheduler's first answer; and for its file, since both may have been started together; s.
TIMEOUT_S, FILE_S = 10, 30
#: Between two looks at how many threads the workers have, s.
LOOK_S = 2.0


class Dask(Executor):
    """The client's own executor, and what there is to know of the cluster.

    The scheduler itself has the tasks of a worker that died done by another one, three times.
    """

    worth_s = 0.5

    def __init__(self, address: str) -> None:
        """Raises `ExecutorError` if no scheduler answers at `address`: `tcp://HOST:8786`, or its file's name."""
        # What it logs, with traces, arrives here as errors.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self._address = address
        if address.endswith(".json"):
            _wait_for(Path(address))
        elif not ADDRESS.fullmatch(address):
            raise ExecutorError(
                f"dask:{address}: expected tcp://HOST:PORT, tls://HOST:PORT or the scheduler's FILE.json"
            )
        if address.startswith("tls:") and Security().get_connection_args("client").get("ssl_context") is None:
            raise ExecutorError(
                f"dask:{address}: no certificate: Dask's configuration has no distributed.comm.tls.client"
            )
        where: dict[str, Any] = {"scheduler_file" if address.endswith(".json") else "address": address}
        try:
            self._client = Client(**where, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise ExecutorError(f"dask:{address}: no scheduler answers: {reason}") from None
        self._tasks = self._client.get_executor(pure=False)
        self._slots, self._looked = 0, float("-inf")

    @property
    def slots(self) -> int:
        """Threads of all workers, which come and go."""
        if time.monotonic() - self._looked > LOOK_S:
            # Without a scheduler the next submission says so.
            with suppress(OSError):
                self._slots = sum(self._client.nthreads().values())
            self._looked = time.monotonic()
        return self._slots

    @property
    def is_wanted(self) -> Callable[[], bool]:
        return is_wanted

    @property
    def about(self) -> str:
        count = self.slots
        there = (
            f"{count} thread{'s' if count > 1 else ''} of its workers" if count else "no worker yet; waiting for one"
        )
        return f"dask:{self._address}: {there}"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        # What it had is lost; a client that connects anew would wait for what nobody does.
        if self._client.status != "running":
            raise BrokenExecutor(f"the scheduler {self._address} is gone")
        future: Future[T] = self._tasks.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; its workers stay."""
        self._tasks.shutdown(wait=wait and not cancel_futures)
        self._client.close()


def _wait_for(file: Path) -> None:
    end = time.monotonic() + FILE_S
    while not file.is_file():
        if time.monotonic() > end:
            raise ExecutorError(
                f"dask:{file}: no such file within {FILE_S} s; `dask scheduler --scheduler-file` writes it"
            )
        time.sleep(0.1)


def is_wanted() -> bool:
    """Whether the task of this thread is still wanted; Dask does not end one that has begun."""
    try:
        worker = get_worker()
        task = worker.state.tasks.get(worker.get_current_task())
    except (ValueError, AttributeError):
        return True
    return task is None or task.state != "cancelled"
