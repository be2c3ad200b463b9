"""A command of the user's that gets how a long run ended."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path


class NotifyError(ValueError):
    """One line: what is wrong with the command."""


class Notifier:
    """Made before the runs start, so that a command that does not exist is refused before hours of work."""

    def __init__(self, command: str) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise NotifyError(f"--notify {command}: expected a command ({error})") from None
        if not self._command or shutil.which(self._command[0]) is None:
            raise NotifyError(f"--notify {command}: expected a command that can be run")
        self._begun = time.monotonic()

    def tell(self, folder: Path, status: str, counts: dict[str, int]) -> str | None:
        """Runs the command, with one sentence as its last argument; returns what went wrong with it."""
        minutes, seconds = divmod(round(time.monotonic() - self._begun), 60)
        elapsed = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        told = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing done"
        variables = {"STATUS": status, "FOLDER": str(folder), "ELAPSED": elapsed}
        variables |= {what.upper(): str(count) for what, count in counts.items()}
        environment = os.environ | {f"SOJOURN_{name}": value for name, value in variables.items()}
        sentence = f"sojourn {status} after {elapsed}: {told} in {folder}"
        try:
            done = subprocess.run([*self._command, sentence], env=environment, check=False, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return f"exit code {done.returncode}" if done.returncode else None
