"""What benchmarks share: a program's CPU time and memory, programs in turn, and tables in documents."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class MeasureError(Exception):
    """A program that could not be measured, in one line."""


class Spent(NamedTuple):
    """What a whole process took, with its children that it waited for."""

    cpu_s: float
    peak_mb: float
    output: str


class Spread(NamedTuple):
    """Least, median and most of several values."""

    least: float
    middle: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(min(values), median(values), max(values))

    def text(self, digits: int = 2) -> str:
        return f"{self.middle:.{digits}f} ({self.least:.{digits}f}-{self.most:.{digits}f})"


def spent(command: Sequence[str], env: Mapping[str, str] | None = None, patience_s: float | None = None) -> Spent:
    """Runs a program to its end.

    Raises:
        MeasureError: it cannot be started, takes longer than `patience_s`, or ends with another status than 0.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complaints:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=complaints,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        except OSError as error:
            raise MeasureError(f"{command[0]}: {error.strerror}") from None
        # With what a script started.
        stop = threading.Timer(patience_s, os.killpg, (child.pid, signal.SIGKILL)) if patience_s else None
        if stop:
            stop.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            # An interrupt reaches this process alone.
            os.killpg(child.pid, signal.SIGKILL)
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        if stop and stop.is_alive():
            stop.cancel()
        elif stop:
            raise MeasureError(f"{command[0]}: stopped after {patience_s:g} s")
        said.seek(0)
        complaints.seek(0)
        if child.returncode:
            last = complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise MeasureError(f"{command[0]}: exit status {child.returncode}: {last}")
        # ru_maxrss is in KiB on Linux, in bytes on macOS.
        unit = 1 if sys.platform == "darwin" else 1024
        return Spent(
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6, said.read().decode(errors="replace")
        )


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ratios of values that were measured one after the other, so that a slow machine slowed both."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])


def rustc(*words: str) -> str:
    """What the compiler says of itself."""
    # Cargo finds it in PATH too.
    done = subprocess.run(["rustc", *words], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S607
    return str(done.stdout).strip()


def compiler() -> str:
    """`rustc 1.95.0 (...)`."""
    return rustc("--version")


def bench(package: str, name: str) -> Path:
    """Compiles a benchmark of Cargo's and gives its program.

    Raises:
        MeasureError: it does not compile.
    """
    build = ["cargo", "bench", "--locked", "-p", package, "--bench", name, "--no-run", "--message-format", "json"]
    done = subprocess.run(build, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        raise MeasureError(f"{' '.join(build)}: exit status {done.returncode}")
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == name]
    return Path(found[-1])


def machine() -> str:
    """The processor and what runs beside us."""
    model = "unknown processor"
    if (cpuinfo := Path("/proc/cpuinfo")).is_file():
        found = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.MULTILINE)
        model = found[1] if found else model
    return f"{model}, {os.cpu_count()} CPUs, {compiler()}, load {os.getloadavg()[0]:.1f}"


def write(page: Path, command: str, lines: Sequence[str]) -> None:
    """Puts a table between its two comments, which name the command that makes it."""
    name = command.rpartition(" ")[2]
    begin, end = f"<!-- written by {command} -->\n", f"<!-- end of {name} -->\n"
    text = page.read_text(encoding="utf-8")
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        sys.exit(f"{page}: expected a line {begin.strip()} and a line {end.strip()}")
    page.write_text("\n".join([head + begin, *lines, "", end]) + tail, encoding="utf-8")
