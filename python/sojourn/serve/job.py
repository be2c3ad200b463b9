"""One job: the runs that a page asked for in one request."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sojourn import engines
from sojourn.jobs import Job as Planned
from sojourn.serve.events import Events
from sojourn.serve.turns import Turns
from sojourn.single import How, one
from sojourn.text import in_one_line

#: Least time between two looks at what a run has sampled, s.
EVERY_S = 0.1
Status = Literal["waiting", "going", "done", "failed", "cancelled"]


@dataclass(slots=True)
class State:
    """One run of a job."""

    planned: Planned
    status: Status = "waiting"
    now_s: float = 0.0
    wall_s: float | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status not in ("waiting", "going")

    def document(self) -> dict[str, Any]:
        rest = {"wall_s": self.wall_s, "error": self.error}
        return {
            "id": self.planned.id,
            "status": self.status,
            "duration_s": self.planned.duration_s,
            "now_s": self.now_s,
            **{key: value for key, value in rest.items() if value is not None},
        }


class Job:
    """Runs that are done in threads of their own, when they have turns; whole ones are stored, others leave nothing."""

    def __init__(self, job_id: str, title: str, planned: list[Planned], how: How, place: str) -> None:
        self.id, self.title, self.place = job_id, title, place
        self.created = datetime.now(UTC).isoformat(timespec="seconds")
        self.how = how
        self.states = [State(one) for one in planned]
        self.events = Events()
        self._stop, self._may_go = threading.Event(), threading.Event()
        self._may_go.set()
        self._thread: threading.Thread | None = None

    @property
    def is_over(self) -> bool:
        """Whether all that it does is done."""
        return self._thread is not None and not self._thread.is_alive()

    @property
    def work(self) -> tuple[str, list[str]]:
        """What it does: version of the engine, and the resolved scenarios."""
        return self.how.engine.version, [state.planned.scenario.text for state in self.states]

    @property
    def can_pause(self) -> bool:
        """Whether its engine waits for it."""
        return not self.how.engine.is_real_time

    @property
    def status(self) -> str:
        """Of all runs together; a job of which one failed has failed."""
        states = {state.status for state in self.states}
        if not all(state.is_over for state in self.states):
            paused = not self._may_go.is_set()
            return "paused" if paused else "going" if states - {"waiting"} else "waiting"
        return next(status for status in ("cancelled", "failed", "done") if status in states)

    def document(self, *, runs: bool = False) -> dict[str, Any]:
        """As the page has it; with `runs` each of them."""
        about = {
            "id": self.id,
            "title": self.title,
            "engine": self.how.engine.name,
            "created": self.created,
            "status": self.status,
            "path": self.place,
            "can_pause": self.can_pause,
            "count": len(self.states),
            "over": sum(state.is_over for state in self.states),
            "duration_s": sum(state.planned.duration_s for state in self.states),
            "now_s": sum(state.now_s for state in self.states),
            "events": len(self.events),
        }
        errors = [state.error for state in self.states if state.error]
        return {
            **about,
            **({"error": errors[0]} if errors else {}),
            **({"runs": [state.document() for state in self.states]} if runs else {}),
        }

    def start(self, turns: Turns, at_once: int) -> None:
        """Begins; returns at once."""
        self._thread = threading.Thread(target=self._all, args=(turns, at_once), name=f"job {self.id}")
        self._thread.start()

    def pause(self) -> None:
        """Stops runs where they are, until `resume`; others have their turns meanwhile."""
        self._may_go.clear()

    def resume(self) -> None:
        """Goes on."""
        self._may_go.set()

    def cancel(self) -> None:
        """Ends runs at their next step."""
        self._stop.set()
        self._may_go.set()

    def join(self) -> None:
        """Waits for its end."""
        if self._thread:
            self._thread.join()

    def _all(self, turns: Turns, at_once: int) -> None:
        try:
            with ThreadPoolExecutor(min(at_once, len(self.states)), f"run of {self.id}") as pool:
                for number in range(len(self.states)):
                    pool.submit(self._one, number, turns)
        finally:
            self.how.store.close()
            with suppress(OSError):  # it holds runs, or none ever began
                self.how.out.rmdir()
            self.events.add("end", status=self.status)
            self.events.end()

    def _one(self, number: int, turns: Turns) -> None:
        state = self.states[number]
        turn = _Turn(turns, alone=self.how.engine.is_real_time, job=self)
        if not turn.take():
            self._over(number, "cancelled")
            return
        looked = 0.0

        def go_on(run: engines.Run) -> bool:
            nonlocal looked
            state.now_s = run.now_s
            is_end = run.now_s >= run.duration_s
            if is_end or time.monotonic() - looked >= EVERY_S:
                looked = time.monotonic()
                self.events.add("progress", run.drain(), run=number, now_s=state.now_s)
            return not self._stop.is_set() and (is_end or self._may_go.is_set() or turn.pause())

        state.status = "going"
        self.events.add("start", run=number, id=state.planned.id, duration_s=state.planned.duration_s)
        try:
            outcome = one(state.planned, self.how, go_on)
        # A panic of the engine arrives as a BaseException; it is this run's failure.
        except BaseException as error:
            state.error = in_one_line(error)
            self._over(number, "failed", error=state.error)
        else:
            state.wall_s = outcome.wall_s
            if outcome.status == "done":
                self._over(number, "done", path=f"{self.place}/{state.planned.id}")
            else:
                self._over(number, "cancelled")
        finally:
            turn.leave()

    def _over(self, number: int, status: Status, **facts: Any) -> None:
        self.states[number].status = status
        self.events.add(status, run=number, **facts)

    @property
    def is_wanted(self) -> bool:
        return not self._stop.is_set()

    def wait_for_resume(self) -> None:
        self._may_go.wait()


class _Turn:
    """The turn of one run, which it gives back while its job is paused."""

    def __init__(self, turns: Turns, *, alone: bool, job: Job) -> None:
        self._turns, self._alone, self._job = turns, alone, job
        self._has = False

    def take(self) -> bool:
        """Waits until the job goes on and there is a turn; False if it was cancelled."""
        self._job.wait_for_resume()
        self._has = self._turns.take(alone=self._alone, is_wanted=lambda: self._job.is_wanted)
        return self._has

    def pause(self) -> bool:
        """Lets others go on until the job does; False if it was cancelled."""
        self.leave()
        return self.take()

    def leave(self) -> None:
        if self._has:
            self._turns.leave()
        self._has = False
