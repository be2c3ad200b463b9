"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

PLAIN_INTERVAL_S = 10.0


class Progress:
    """Counts runs and simulated seconds; shows the rate and the time left."""

    def __init__(self, runs: int, simulated_s: float, *, quiet: bool = False) -> None:
        self.runs = runs
        self.simulated_s = simulated_s
        self.started = self.spoke = time.monotonic()
        self.line = ""
        self._bar = None
        self._quiet = quiet
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                BarColumn(), TextColumn("{task.description}"),
                TimeRemainingColumn(elapsed_when_finished=True),
            )  # fmt: skip
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
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

    def update(self, finished_runs: int, done_s: float) -> None:
        """Says how far the whole set is."""
        if self._quiet:
            return
        now = time.monotonic()
        rate = done_s / max(now - self.started, 1e-9)
        line = f"{finished_runs}/{self.runs} runs, {rate:.0f} simulated s/s"
        if self._bar:
            self._bar.update(self._task, completed=done_s, description=line)
        elif now - self.spoke >= PLAIN_INTERVAL_S:
            self.spoke = now
            left = f", {(self.simulated_s - done_s) / rate:.0f} s left" if rate else ""
            self.say(line + left)

    def say(self, line: str) -> None:
        """Prints a line that stays."""
        if self._bar:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)
