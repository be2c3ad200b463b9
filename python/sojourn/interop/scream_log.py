"""Logs of the SCReAM BW test tool, the original of any generation or ours: read as untrusted input.

Source: what the logger of each generation of the tool prints (EricssonResearch/scream). A per-ACK log (`-log`) is one
line a feedback packet, without units or names:

- 2020: 13 columns, then the logger's own text, which may be empty. Times have three decimals.
- 2024: 20 columns, of which the last follows a blank instead of a comma. Times have four decimals, or
  six with `-ntp`. A text of the application may follow.
- 2026: as 2024 with a comma before the last column.

`-itemlist` writes a line of quoted names first. Our tool writes any of these, CSV with a header, and JSON
lines; the last two name their columns. A tx/rx log (`-txrxlog`) is one line a packet.
Either may be compressed with gzip. A last line without its end was being written, and is left out.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.metrics import FloatArray

#: Two hours of 300 lines a second.
MAX_BYTES = 256 << 20
#: The columns of all generations, in the order of the newest, and what our CSV and JSON lines call them.
COLUMNS = {
    "time": "time_s",
    "queue_delay": "queue_delay_s",
    "rtt": "rtt_s",
    "cwnd": "cwnd_bytes",
    "in_flight": "in_flight_bytes",
    "fast_increase": "fast_increase",
    "total_rate": "total_rate_bps",
    "stream": "stream",
    "seq": "seq",
    "acked": "acked_bytes",
    "acked_ce": "acked_ce_bytes",
    "media_rate": "media_rate_bps",
    "sent_rate": "sent_rate_bps",
    "acked_rate": "acked_rate_bps",
    "lost_rate": "lost_rate_bps",
    "ce_rate": "ce_rate_bps",
    "marker": "marker",
    "target": "target_bps",
    "rtp_queue_delay": "rtp_queue_delay_s",
    "cwnd_i": "cwnd_i_bytes",
}
_NAMED = {written: name for name, written in COLUMNS.items()}
_2020 = ("time", "queue_delay", "rtt", "cwnd", "in_flight", "total_rate", "stream", "acked", "acked_ce",
         "media_rate", "sent_rate", "acked_rate", "lost_rate")  # fmt: skip
_2024 = tuple(COLUMNS)
_WHOLE = frozenset(("cwnd", "in_flight", "fast_increase", "stream", "seq", "acked", "acked_ce", "marker", "cwnd_i"))
#: What a log needs to be drawn; our own formats may leave out the others.
NEEDED = ("time", "queue_delay", "rtt", "stream")

_DIGITS = r"\d{1,18}+"
_FLOAT = rf" *-?(?:{_DIGITS}(?:\.{_DIGITS})?|[Nn]a[Nn]|inf)"
_INT = rf" *-?{_DIGITS}"
_TIME = rf" *{_DIGITS}(?:\.{_DIGITS})?"


def _columns(names: Iterable[str]) -> str:
    return ",".join(map(_pattern, names))


def _pattern(name: str) -> str:
    return _TIME if name == "time" else _INT if name in _WHOLE else _FLOAT


# What follows the last column is the application's text.
_LINE_2020 = re.compile(rf"(?=\d+\.\d{{3}},)({_columns(_2020)})(),.*", re.ASCII)
_LINE_2024 = re.compile(rf"({_columns(_2024[:-1])})(,? )({_INT})(?:,.*)?", re.ASCII)
_TICK = r" *(\d{1,18}\.\d{4,5})"
_TXRX = re.compile(rf"({_TIME}),({_INT}),{_TICK},(?: *(-1)\.0, *-1\.0|{_TICK},{_TICK}) *", re.ASCII)


class ScreamLogError(ValueError):
    """One line: the file, the line, what was expected there."""


@dataclass(frozen=True)
class AckLog:
    """A per-ACK log: one array a column, under the names of `COLUMNS`."""

    name: str
    generation: str
    """2020, 2024, 2026, csv or json."""
    columns: dict[str, FloatArray]
    start: float
    """Time of the file's first line, s."""

    def __len__(self) -> int:
        return int(self.columns["time"].size)

    def __getitem__(self, name: str) -> FloatArray:
        """A column; NaN throughout where this generation does not log it."""
        return self.columns.get(name, np.full(len(self), np.nan))

    @property
    def seconds(self) -> FloatArray:
        """Time since the file's first line, s: logs with `-ntp` have Unix time."""
        return self["time"] - self.start

    @property
    def streams(self) -> list[int]:
        """The streams that have lines."""
        return sorted({int(stream) for stream in np.unique(self["stream"])})

    def only(self, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> AckLog:
        """Some of the lines."""
        kept = {name: values[keep] for name, values in self.columns.items()}
        return AckLog(self.name, self.generation, kept, self.start)


@dataclass(frozen=True)
class TxRxLog:
    """A tx/rx log: when each packet was sent and how long it took, in the receiver's clock."""

    name: str
    seconds: FloatArray
    """Time since the file's first line."""
    seq: FloatArray
    one_way_s: FloatArray
    """Arrival less sending, with an arbitrary offset; NaN for a packet that was lost."""


def read(path: Path) -> AckLog:
    """Read a per-ACK log of any generation."""
    lines = _lines(path)
    first = next((text for _, text in lines if not _names_in_quotes(text)), None)
    if first is None:
        raise ScreamLogError(f"{path}: expected a per-ACK log, found no line of numbers")
    if first.startswith("{"):
        generation, columns = "json", _from_json(path, lines)
    elif re.match(r"[A-Za-z_]", first):
        generation, columns = "csv", _from_csv(path, lines)
    elif re.match(r"\d+\.\d{3},", first):
        generation, columns = "2020", _from_lines(path, lines, _LINE_2020, _2020)
    else:
        blank = (match := _LINE_2024.fullmatch(first)) is not None and match[2] == " "
        generation, columns = "2024" if blank else "2026", _from_lines(path, lines, _LINE_2024, _2024)
    return AckLog(path.name, generation, columns, float(columns["time"][0]))


def read_txrx(path: Path) -> TxRxLog:
    """Read a tx/rx log."""
    lines = _lines(path)
    if not lines:
        raise ScreamLogError(f"{path}: expected a tx/rx log, found no line of numbers")
    rows: list[tuple[float, float, float]] = []
    for number, text in lines:
        match = _TXRX.fullmatch(text)
        if match is None:
            raise ScreamLogError(
                f"{path}:{number}: expected time, sequence number, sent, received and their difference, "
                f"or -1.0 for the last two, found {_shown(text)}"
            )
        rows.append((float(match[1]), float(match[2]), math.nan if match[4] else _ticks(match[6])))
    time, seq, taken = np.array(rows, dtype=np.float64).T
    return TxRxLog(path.name, time - time[0], seq, _unwrapped(taken))


def _ticks(text: str) -> float:
    """The original prints a fraction that rounds up to one as `.10000`."""
    whole, _, fraction = text.partition(".")
    return int(whole) + int(fraction) / 10_000


def _unwrapped(taken: FloatArray) -> FloatArray:
    """Differences of clocks that wrap at 65536 s, around the first of them."""
    known = np.flatnonzero(np.isfinite(taken))
    if known.size == 0:
        return taken
    first = taken[known[0]]
    unwrapped: FloatArray = first + (taken - first + 32768) % 65536 - 32768
    return unwrapped


def _lines(path: Path) -> list[tuple[int, str]]:
    """Number and text of each line that is not blank, without one that has no end."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error) as error:
        raise ScreamLogError(f"{path}: broken gzip: {error}") from None
    if len(content) > MAX_BYTES:
        raise ScreamLogError(f"{path}: expected at most {MAX_BYTES >> 20} MiB")
    text = content.decode("utf-8", errors="replace")
    rows = text.split("\n")
    if rows and rows[-1]:
        rows.pop()  # it was being written
    return [(number, row.rstrip("\r")) for number, row in enumerate(rows, 1) if row.strip()]


def _names_in_quotes(text: str) -> bool:
    return text.startswith('"Time [s]"')


def _from_lines(
    path: Path, lines: Sequence[tuple[int, str]], pattern: re.Pattern[str], names: tuple[str, ...]
) -> dict[str, FloatArray]:
    rows: list[str] = []
    separator = None
    for number, text in lines:
        match = pattern.fullmatch(text)
        if match is None:
            if _names_in_quotes(text):
                continue  # sessions that were appended have one each
            _refuse(path, number, text, names)
        if separator is None:
            separator = match[2]
        if match[2] != separator:
            raise ScreamLogError(f"{path}:{number}: expected lines of one generation of the tool, found another's")
        rows.append(match[1] if pattern is _LINE_2020 else f"{match[1]},{match[3]}")
    return _numbers(rows, names)


def _numbers(rows: Sequence[str], names: tuple[str, ...]) -> dict[str, FloatArray]:
    """The columns of lines that are known to be numbers between commas."""
    flat = np.array(",".join(rows).split(","), dtype=np.float64)
    return _transposed(flat.reshape(len(rows), len(names)), names)


def _transposed(table: FloatArray, names: tuple[str, ...]) -> dict[str, FloatArray]:
    return {name: np.ascontiguousarray(column) for name, column in zip(names, table.T, strict=True)}


def _refuse(path: Path, number: int, text: str, names: tuple[str, ...]) -> NoReturn:
    """Says what is wrong with a line of numbers."""
    fields = re.split(r", *| (?=-?\d+(?:,|$))", text.strip())
    for column, (name, field) in enumerate(zip(names, fields, strict=False), 1):
        if not re.fullmatch(_pattern(name), field, re.ASCII):
            kind = "a whole number" if name in _WHOLE else "a number"
            raise ScreamLogError(f"{path}:{number}: column {column} ({name}): expected {kind}, found {_shown(field)}")
    raise ScreamLogError(f"{path}:{number}: expected {len(names)} columns, found {len(fields)} in {_shown(text)}")


def _from_csv(path: Path, lines: Sequence[tuple[int, str]]) -> dict[str, FloatArray]:
    at, header = lines[0]
    written = header.split(",")
    if not set(written) & set(_NAMED):
        raise ScreamLogError(f"{path}:{at}: expected a per-ACK log, found {_shown(header)}")
    for name in written:
        if name not in _NAMED:
            raise ScreamLogError(f"{path}:{at}: column {name!r}: expected one of {', '.join(_NAMED)}")
    if len(set(written)) < len(written):
        raise ScreamLogError(f"{path}:{at}: expected each column once")
    names = tuple(_NAMED[name] for name in written)
    _expect_needed(path, at, names)
    pattern = re.compile(_columns(names), re.ASCII)
    rows = []
    for number, text in lines[1:]:
        if pattern.fullmatch(text):
            rows.append(text)
        elif text != header:  # sessions that were appended have one each
            _refuse(path, number, text, names)
    if not rows:
        raise ScreamLogError(f"{path}: expected lines of numbers below the header")
    return _numbers(rows, names)


def _from_json(path: Path, lines: Sequence[tuple[int, str]]) -> dict[str, FloatArray]:
    names: tuple[str, ...] = ()
    rows = []
    for number, text in lines:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            raise ScreamLogError(f"{path}:{number}: expected a JSON object, found {_shown(text)}") from None
        if not isinstance(line, dict):
            raise ScreamLogError(f"{path}:{number}: expected a JSON object, found {_shown(text)}")
        if not names:
            names = tuple(_NAMED[key] for key in line if key in _NAMED)
            _expect_needed(path, number, names)
        rows.append(tuple(_value(path, number, name, line.get(COLUMNS[name], ...)) for name in names))
    return _transposed(np.array(rows, dtype=np.float64), names)


def _value(path: Path, number: int, name: str, value: object) -> float:
    if value is None and name not in ("time", "stream"):
        return math.nan
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float) or not abs(value) < 1e18:
        found = "none" if value is ... else _shown(json.dumps(value))
        raise ScreamLogError(f"{path}:{number}: {COLUMNS[name]}: expected a number, found {found}")
    return float(value)


def _expect_needed(path: Path, number: int, names: tuple[str, ...]) -> None:
    if missing := [name for name in NEEDED if name not in names]:
        raise ScreamLogError(f"{path}:{number}: expected a column {COLUMNS[missing[0]]}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
