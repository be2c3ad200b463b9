"""Delay traces for `netem delay trace`, from the output of ping or from a Flent file: read as untrusted input."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.files import read_bounded
from sojourn.interop.flent import SUFFIXES, FlentFile
from sojourn.text import harmless

MAX_BYTES = 64 << 20
LONGEST_MS = 100_000.0
REPLY = re.compile(
    r"(?:\[(\d{1,12}\.\d{1,9})\] )?.*?\bicmp_seq[=:](\d{1,10})\b.*?\btime[=<](\d{1,9}(?:\.\d{1,9})?) ?(ms|us|s)\b"
)
IN_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3}
#: What ping waits between requests unless an option states it.
INTERVAL_S = 1.0


class DelayError(ValueError):
    """One line: the file, what was expected."""


@dataclass(frozen=True, slots=True)
class Delays:
    """A measured series: seconds from the first value, and milliseconds."""

    t_s: np.ndarray[Any, np.dtype[np.float64]]
    ms: np.ndarray[Any, np.dtype[np.float64]]
    source: str

    def text(self) -> str:
        """The file that `netem delay trace` reads."""
        low, median, p99 = np.percentile(self.ms, (0, 50, 99))
        head = [
            f"# {harmless(self.source)}: {self.ms.size} delays over {self.t_s[-1]:.6g} s",
            f"# least {low:.6g} ms, median {median:.6g} ms, p99 {p99:.6g} ms",
            "# seconds milliseconds",
        ]
        lines = (f"{at:.6f} {value:.6f}" for at, value in zip(self.t_s, self.ms, strict=True))
        return "\n".join([*head, *lines]) + "\n"


def read(path: Path, *, series: str | None = None, interval_s: float | None = None, jitter: bool = False) -> Delays:
    """The delays of a file; with `jitter` less the least of them. Raises `DelayError` or `FlentError`."""
    if path.name.endswith(SUFFIXES):
        if interval_s is not None:
            raise DelayError(f"{path}: --interval: a Flent file has times of its own")
        t, ms = _of_flent(path, series)
    else:
        if series is not None:
            raise DelayError(f"{path}: --series: expected a Flent file (.flent, .flent.gz), which has several")
        t, ms = _of_ping(path, interval_s)
    order = np.argsort(t, kind="stable")
    t, ms = t[order], ms[order]
    later = np.diff(t, prepend=-np.inf) >= 1e-6
    t, ms = t[later] - t[0], ms[later]
    if not (np.isfinite(ms).all() and (ms >= 0).all() and (ms <= LONGEST_MS).all()):
        raise DelayError(f"{path}: expected delays from 0 to {LONGEST_MS:g} ms")
    return Delays(t, ms - ms.min() if jitter else ms, path.name)


def _of_flent(path: Path, series: str | None) -> tuple[Any, Any]:
    file = FlentFile(path)
    pings = [name for name in file.names() if name.startswith("ping.")]
    called = {name: name.split(".")[1] for name in pings}
    wanted = series.removeprefix("Ping (ms)").strip().lower().replace(" ", "-") if series else None
    chosen = [name for name in pings if wanted in (None, called[name].lower(), name)]
    if not chosen:
        known = ", ".join(called.values()) or "none"
        raise DelayError(f"{path}: --series {series or ''}: expected a ping of the file; it has {known}")
    return file.series(chosen[0])


def _of_ping(path: Path, interval_s: float | None) -> tuple[Any, Any]:
    try:
        text = read_bounded(path, MAX_BYTES, "the output of ping")
    except ValueError as error:
        raise DelayError(str(error)) from None
    replies = list(_replies(text.splitlines()))
    if not replies:
        raise DelayError(f"{path}: expected lines of ping such as `64 bytes from ...: icmp_seq=1 ttl=64 time=20.1 ms`")
    if interval_s is None and all(at is not None for at, _, _ in replies):
        return np.array([at for at, _, _ in replies]), np.array([ms for _, _, ms in replies])
    step = INTERVAL_S if interval_s is None else interval_s
    return np.array([seq * step for _, seq, _ in replies]), np.array([ms for _, _, ms in replies])


def _replies(lines: Iterable[str]) -> Iterable[tuple[float | None, int, float]]:
    """Time, number and milliseconds of each reply; the number of ping goes round at 65536."""
    last, rounds = 0, 0
    for line in lines:
        if (found := REPLY.match(line[:400])) is None:
            continue
        at, number, value, unit = found.groups()
        seq = int(number)
        rounds += seq + 32768 < last
        last = seq
        yield float(at) if at else None, seq + 65536 * rounds, float(value) * IN_MS[unit]
