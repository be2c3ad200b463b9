"""Finished runs of a dataset that are in no partition yet: records one after the other, of which the last may be torn.

A record is a line with the lengths of its two parts and the digest of both, then the parts: what is known of the run
as JSON, and the contents of its files. A process that is killed leaves whole records and at most one that is not.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _core
from sojourn.results.content import SERIES
from sojourn.results.disk import sha256
from sojourn.results.identity import RUN_ID
from sojourn.results.run import MANIFEST
from sojourn.results.samples import ROW_GROUP, names, packed

if TYPE_CHECKING:
    import polars as pl

ENDING = ".journal"
FRAME = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{12}) ([0-9a-f]{64})\n")
FRAME_BYTES = 8 + 1 + 12 + 1 + 64 + 1


class Record:
    """A run in a journal."""

    def __init__(self, file: Path, manifest: dict[str, Any], files: dict[str, tuple[int, int]]) -> None:
        self.source, self.manifest = file, manifest
        self._files = files
        self.hash, self.complete = str(manifest.get("hash")), bool(manifest.get("complete"))
        self.started = str(manifest.get("started"))

    def read(self, name: str) -> bytes:
        """The content of a file; raises `OSError`."""
        if name == MANIFEST:
            return json.dumps(self.manifest).encode()
        if name not in self._files:
            raise FileNotFoundError(2, "no such file", name)
        at, length = self._files[name]
        with self.source.open("rb") as file:
            file.seek(at)
            return file.read(length)

    def packed(self) -> bytes:
        """The series."""
        return packed(self.read(SERIES))

    def frame(self) -> pl.LazyFrame:
        """The series as a table."""
        import polars as pl

        return pl.read_parquet(io.BytesIO(_core.series_table([self.packed()], group_rows=ROW_GROUP))).lazy()

    def names(self) -> list[str]:
        """Names of the series."""
        return names(self.packed())

    def series(self, names: Iterable[str]) -> None:
        """They are packed with all others."""

    def where(self, name: str) -> str:
        """What a message calls a file."""
        return f"{self.source}: {self.manifest['id']}: {name}"

    def place(self, name: str) -> None:
        """Each file is in the journal."""
        del name

    def glance(self) -> None:
        """No numbers are kept beside the files."""


class Journal:
    """A file to which finished runs are added; not for two threads at a time."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._size = 0

    def add(self, manifest: dict[str, Any], files: Mapping[str, bytes]) -> Record:
        """Writes a run. After an error the file holds what it held."""
        header = json.dumps({"manifest": manifest, "files": {name: len(content) for name, content in files.items()}})
        text, payload = header.encode(), b"".join(files.values())
        frame = f"{len(text):08x} {len(payload):012x} {sha256(text + payload)}\n".encode()
        try:
            with self.file.open("ab") as file:
                file.write(frame + text + payload)
        except OSError:
            if self.file.exists():
                os.truncate(self.file, self._size)
            raise
        begin = self._size + len(frame) + len(text)
        self._size = begin + len(payload)
        return Record(self.file, manifest, _places(begin, {name: len(content) for name, content in files.items()}))


def records(file: Path) -> Iterator[Record]:
    """The whole records of a journal."""
    with file.open("rb") as opened:
        while frame := FRAME.fullmatch(opened.read(FRAME_BYTES)):
            lengths = int(frame[1], 16), int(frame[2], 16)
            content = opened.read(sum(lengths))
            if len(content) != sum(lengths) or sha256(content).encode() != frame[3]:
                return
            try:
                header = json.loads(content[: lengths[0]])
                manifest, sizes = header["manifest"], header["files"]
                if RUN_ID.fullmatch(manifest["id"]) and sum(map(int, sizes.values())) == lengths[1]:
                    yield Record(file, manifest, _places(opened.tell() - lengths[1], sizes))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _places(begin: int, sizes: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    found = {}
    for name, size in sizes.items():
        found[name] = begin, size
        begin += size
    return found
