"""Processes of this machine: for controllers and queues in Python, which threads would do one at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Processes(Executor):
    """A pool that is made anew after one of its processes died, and whose processes never outlive this one."""

    worth_s = 0.2
    is_wanted = None

    def __init__(self, slots: int | None = None) -> None:
        self.slots = slots or os.cpu_count() or 1
        #: A process ends when nobody holds the other end of its lifeline.
        self._theirs, self._ours = multiprocessing.Pipe(duplex=False)
        self._pool = self._new()

    @property
    def about(self) -> str:
        return f"{self.slots} processes of this machine"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._new()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes, without `wait` in the middle of what they do."""
        if not wait:
            self._ours.close()
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._ours.close()
        self._theirs.close()

    def _new(self) -> ProcessPoolExecutor:
        # A fork would copy locks that threads hold at this moment.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.slots, mp_context=context, initializer=_begin, initargs=(self._theirs,))


def _begin(lifeline: Connection) -> None:
    """An interrupt from the terminal is the first process's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)
