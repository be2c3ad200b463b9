"""What a kernel gave for drawn cases, one line of JSON for each run: what is known needs no kernel again."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.crosscheck.quantities import Kind, Value
from sojourn.files import write_whole
from sojourn.results import ResultsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: A case and which of its runs: 1, or more with other random numbers.
Key = tuple[str, int]

#: The greatest size of a file of records once it is unpacked.
MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a kernel."""

    case: str
    run: int
    #: Its release.
    kernel: str
    values: tuple[Value, ...]

    @property
    def key(self) -> Key:
        return self.case, self.run


def read(path: Path) -> dict[Key, Record]:
    """The records of a file, plain or `.xz`, but for those of cases that are drawn otherwise today.

    Raises `ResultsError` with the line that is no record.
    """
    try:
        data = path.read_bytes()
        text = (_unpacked(data) if path.suffix == ".xz" else data).decode()
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise ResultsError(f"{path}: expected records of `sojourn crosscheck`: {error}") from error
    found: dict[Key, Record] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = json.loads(line)
            if row["rules"] == _core.draw_rules():
                record = _record(row)
                found[record.key] = record
        except (ValueError, TypeError, KeyError) as error:
            raise ResultsError(f"{path}:{number}: expected a record of `sojourn crosscheck`: {error}") from error
    return found


def write(path: Path, records: Iterable[Record]) -> None:
    """All records in the order of cases and runs, packed if the name ends in `.xz`."""
    rows = sorted(records, key=lambda record: (*map(int, record.case.split("-")[1:]), record.run))
    text = "".join(json.dumps(_row(record), separators=(",", ":")) + "\n" for record in rows)
    write_whole(path, lzma.compress(text.encode()) if path.suffix == ".xz" else text)


def _unpacked(data: bytes) -> bytes:
    decoder = lzma.LZMADecompressor()
    unpacked = decoder.decompress(data, MOST_BYTES)
    if not decoder.eof:
        raise lzma.LZMAError(f"expected a whole file of at most {MOST_BYTES >> 20} MiB")
    return unpacked


def _record(row: dict[str, Any]) -> Record:
    return Record(str(row["case"]), int(row["run"]), str(row["kernel"]), tuple(map(_value, row["values"])))


def _value(row: list[Any]) -> Value:
    of, name, kind, value, events = row
    return Value(str(of), str(name), Kind(kind), float(value), int(events))


def _row(record: Record) -> dict[str, Any]:
    # Seven digits are far below every tolerance, and half of the file.
    values = [[v.of, v.name, v.kind.value, float(f"{v.value:.7g}"), v.events] for v in record.values]
    return {
        "rules": _core.draw_rules(),
        "case": record.case,
        "run": record.run,
        "kernel": record.kernel,
        "values": values,
    }
