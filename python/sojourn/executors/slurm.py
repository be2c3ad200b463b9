"""Jobs of a Slurm cluster, through submitit: several at once as one array, in a folder that all nodes see."""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import submitit

from sojourn.executors.interface import ExecutorError, Lost
from sojourn.text import harmless, shortened

P = ParamSpec("P")
T = TypeVar("T")
#: How long calls are gathered for one array, and the time between two looks at the results, s.
LOOK_S = 0.5
#: Between two questions to `squeue`, s; and how often it does not know a job without a result until that is lost.
ASK_S, ABSENT = 5.0, 3
SLOTS, MINUTES = 64, 60
OWN = ("folder", "jobs", "python", "time")
#: Options of sbatch by these names; others are refused, a slip among them.
SBATCH = ("account", "clusters", "constraint", "cpus-per-task", "exclude", "mem", "nice", "nodelist", "partition",
          "qos", "reservation")  # fmt: skip


def opened(options: Mapping[str, str]) -> Jobs:
    """Raises `ExecutorError` if there is no Slurm here or an option is none."""
    for key in options:
        if key not in (*OWN, *SBATCH):
            raise ExecutorError(f"slurm: {key}: expected one of {', '.join(sorted((*OWN, *SBATCH)))}")
    slots, minutes = _count("jobs", options.get("jobs", str(SLOTS))), _minutes(options.get("time", str(MINUTES)))
    if shutil.which("sbatch") is None or shutil.which("srun") is None:
        raise ExecutorError("slurm: no `sbatch` and `srun` here: start this where jobs are submitted")
    try:
        folder = Path(tempfile.mkdtemp(prefix=".sojourn-slurm-", dir=options.get("folder", "."))).absolute()
    except OSError as error:
        raise ExecutorError(f"slurm: folder={options.get('folder', '.')}: {error.strerror}") from None
    cluster = submitit.SlurmExecutor(folder, python=options.get("python"))
    extra = {key: value for key, value in options.items() if key in SBATCH}
    cluster.update_parameters(
        job_name="sojourn", time=minutes, array_parallelism=slots, use_srun=False, additional_parameters=extra
    )
    return Jobs(cluster, folder, slots=slots, queued=_queued)


@dataclass(slots=True)
class _Call:
    future: Future[Any]
    function: Callable[[], Any]
    job: Any = None
    absent: int = 0


class Jobs(Executor):
    """An executor of submitit's as one of Python's: its jobs are files, which have to be looked for.

    `queued` gives the ids of the user's jobs that have not ended, or None if nobody can tell now; without it submitit's
    own knowledge has to do.
    """

    worth_s = 60.0
    is_wanted = None

    def __init__(
        self, cluster: Any, folder: Path, *, slots: int = SLOTS, queued: Callable[[], set[str] | None] | None = None
    ) -> None:
        self.slots = slots
        self.folder = folder
        self._cluster, self._queued = cluster, queued
        self._open: set[Future[Any]] = set()
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._under_way: list[_Call] = []
        self._ending = threading.Event()
        self._has_failed = False
        self._asked = time.monotonic()
        self._thread = threading.Thread(target=self._look, name="slurm", daemon=True)
        self._thread.start()

    @property
    def about(self) -> str:
        return f"slurm: at most {self.slots} jobs at a time; their files are in {self.folder}"

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._ending.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[T] = Future()
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        self._calls.put(_Call(future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the jobs unless it waits for them; their files go, if none failed."""
        if wait and not cancel_futures:
            wait_for(set(self._open))
        self._ending.set()
        self._thread.join()
        for call in self._under_way:
            call.job.cancel(check=False)
        for future in set(self._open):
            future.cancel()
        if not self._has_failed:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _look(self) -> None:
        while not self._ending.wait(LOOK_S):
            self._send()
            self._collect()

    def _send(self) -> None:
        """All calls that wait, as one array."""
        calls: list[_Call] = []
        while not self._calls.empty():
            call = self._calls.get()
            if call.future.set_running_or_notify_cancel():
                calls.append(call)
        if not calls:
            return
        try:
            with self._cluster.batch():
                for call in calls:
                    call.job = self._cluster.submit(call.function)
        except Exception as error:
            refused = ExecutorError(f"sbatch refuses the jobs: {_last_line(str(error))}")
            for call in calls:
                call.future.set_exception(refused)
            return
        self._under_way += calls

    def _collect(self) -> None:
        known = None
        if self._queued and time.monotonic() - self._asked > ASK_S:
            known, self._asked = self._queued(), time.monotonic()
        left = []
        for call in self._under_way:
            if call.job.paths.result_pickle.exists():
                self._finish(call)
            elif self._is_lost(call, known):
                self._has_failed = True
                call.future.set_exception(Lost(f"job {call.job.job_id}: {self._why(call)}"))
            else:
                left.append(call)
        self._under_way = left

    def _is_lost(self, call: _Call, known: set[str] | None) -> bool:
        if self._queued is None:
            return bool(call.job.done()) and not call.job.paths.result_pickle.exists()
        if known is not None:
            call.absent = 0 if call.job.job_id in known else call.absent + 1
        return call.absent >= ABSENT

    def _finish(self, call: _Call) -> None:
        try:
            call.future.set_result(call.job.result())
        except Exception as error:
            self._has_failed = True
            call.future.set_exception(Lost(f"job {call.job.job_id}: {_last_line(str(error))}"))

    def _why(self, call: _Call) -> str:
        try:
            said = call.job.paths.stderr.read_text(encoding="utf-8", errors="replace")
        except OSError:
            said = ""
        return f"no result; it said: {_last_line(said)}" if said.strip() else "no result, and it said nothing"


def _queued() -> set[str] | None:
    """Ids of this user's jobs that Slurm still has, members of arrays one by one."""
    command = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(done.stdout.split())


def _last_line(text: str) -> str:
    """The line that says what happened: the last with an error, or the last, without what submitit puts below it."""
    lines = [line for line in text.partition("You can check full logs")[0].splitlines() if line.strip(" -")]
    lines = [line for line in lines if "error" in line.lower()] or lines
    return shortened(harmless(lines[-1].strip())) if lines else "nothing"


def _count(key: str, text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise ExecutorError(f"slurm: {key}={text}: expected a number of 1 or more")
    return int(text)


def _minutes(text: str) -> int:
    """Of minutes, or of hours, minutes and seconds as `2:30:00`."""
    if match := re.fullmatch(r"(\d+):(\d\d):(\d\d)", text):
        return max(1, int(match[1]) * 60 + int(match[2]) + (int(match[3]) > 0))
    return _count("time", text)
