"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

PLAIN_INTERVAL_S = 10.0
#: Before this the rate says little about the time left.
SETTLED_S = 2.0


def shown(time_s: float) -> str:
    """A time in the two greatest units that it has: `41 s`, `12 min 5 s`, `3 h 20 min`."""
    seconds = round(time_s)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


class Progress:
    """Counts runs and simulated seconds; shows the rate and the time left."""

    def __init__(self, runs: int, simulated_s: float, *, quiet: bool = False) -> None:
        self.runs = runs
        self.simulated_s = simulated_s
        self.started = self.spoke = time.monotonic()
        self._done_s = self._there_s = 0.0
        self._finished = self._there = 0
        self._bar = None
        self._quiet = quiet
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=simulated_s)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Takes the bar away and gives the cursor back; lines are still printed."""
        if self._bar:
            self._bar.stop()

    def finished(self, duration_s: float, *, was_there: bool) -> None:
        """Counts a run; one that was there already says nothing about how fast the others are."""
        self._finished += 1
        self._there += was_there
        if was_there:
            self._there_s += duration_s
        else:
            self._done_s += duration_s

    def update(self, under_way_s: float = 0.0) -> None:
        """Says how far the whole set is; `under_way_s` is simulated of the runs that are not finished."""
        if self._quiet:
            return
        now = time.monotonic()
        done_s = self._done_s + under_way_s
        rate = done_s / max(now - self.started, 1e-9)
        there = f" ({self._there} were there)" if self._there else ""
        line = f"{self._finished}/{self.runs} runs{there}, {rate:.0f} simulated s/s"
        left_s = max(self.simulated_s - self._there_s - done_s, 0.0)
        if self._bar:
            left = f", {shown(left_s / rate)} left" if rate and now - self.started >= SETTLED_S else ""
            self._bar.update(self._task, completed=self.simulated_s - left_s, description=line + left)
        elif now - self.spoke >= PLAIN_INTERVAL_S:
            self.spoke = now
            self.say(line + (f", {shown(left_s / rate)} left" if rate else ""))

    def say(self, line: str) -> None:
        """Prints a line that stays."""
        if self._bar:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)
