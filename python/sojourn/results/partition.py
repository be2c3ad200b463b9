"""A partition of a dataset: some consecutive runs as two tables, and what is recorded of them.

`NUMBER-KEY.runs.parquet` has a row for each run, `NUMBER-KEY.series.parquet` (and `.series-1.parquet` and so on, where
they are many) the samples of all. Both are a function of the runs: their scenarios, seeds and the engine version.
`NUMBER-KEY.json`, which is written last, has the digests of these files, and what changes from one machine or hour to
the next. The key is made of the hashes of the runs, so that no partition takes the place of one that differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sojourn import _core
from sojourn.results.content import QUEUES, SCENARIO, SERIES, SUMMARY, as_text
from sojourn.results.disk import ResultsError, digest_of, sha256, sync
from sojourn.results.identity import RUN_ID
from sojourn.results.run import MANIFEST, Files, Samples
from sojourn.results.samples import names as names_of
from sojourn.results.samples import packed_frame
from sojourn.results.samples import rows as rows_of
from sojourn.text import harmless

if TYPE_CHECKING:
    import polars as pl

#: Of a partition's tables and of what is recorded of them.
FORMAT = 1
NAME = re.compile(r"([0-9]{5,})-([0-9a-f]{12})\.json")
#: Facts of a manifest that are a function of scenario, seed and version; the others change by the hour.
DETERMINISTIC = (
    "format", "id", "version", "engine", "kernel", "seed", "hash", "algorithms", "sweep", "nearest", "role",
    "complete", "warnings", "files",
)  # fmt: skip
#: Samples in a file of series; of a run that has more all are in one.
MOST_ROWS = 2_000_000
#: Rows that are read together: about as many as a short run has.
ROW_GROUP = 1 << 16
#: Partitions whose texts are kept in memory.
RECENT = 4
TEXTS = {SCENARIO: "scenario", SUMMARY: "summary", QUEUES: "queues"}
#: Columns that are no number of the summary.
OWN = (
    "seed",
    "version",
    "hash",
    "sweep",
    "manifest",
    "series_names",
    "series_file",
    "series_begin",
    "series_rows",
    *TEXTS.values(),
)

#: Of a table the values of each column.
Columns = dict[str, list[Any]]

_recent: list[Partition] = []
_lock = Lock()


class Kept(Files, Protocol):
    """The files of a finished run of a dataset, in a partition or in a journal."""

    hash: str
    complete: bool
    started: str

    @property
    def source(self) -> Path:
        """The file that names where the run is read from."""

    def packed(self) -> bytes:
        """The series, for `_core.series_table`."""


class Stored:
    """A run in a partition."""

    __slots__ = ("complete", "hash", "partition", "row", "started")

    def __init__(self, partition: Partition, row: int, made: Mapping[str, Any]) -> None:
        self.partition, self.row = partition, row
        self.hash, self.complete = str(made.get("hash")), bool(made.get("complete"))
        self.started = str(made.get("started"))

    @property
    def source(self) -> Path:
        return self.partition.path

    def read(self, name: str) -> bytes:
        if name == MANIFEST:
            stated = json.loads(self._cell("manifest"))
            return json.dumps({**stated, **self.partition.made[self.row]}).encode()
        if name not in TEXTS:
            raise FileNotFoundError(2, "no such file", name)
        return str(self._cell(TEXTS[name])).encode()

    def frame(self) -> pl.LazyFrame:
        import polars as pl

        file, begin, rows = self._place()
        return pl.scan_parquet(file).slice(begin, rows).select("series", "unit", "t_s", "value")

    def series(self, names: Iterable[str]) -> Samples | None:
        file, begin, rows = self._place()
        return _core.series_read(file, set(names), begin, rows)

    def _place(self) -> tuple[Path, int, int]:
        """The file of its samples, where they begin, and how many they are."""
        try:
            number, begin, rows = (int(self._cell(f"series_{what}")) for what in ("file", "begin", "rows"))
            if not all(0 <= value < 1 << 63 for value in (number, begin, rows)):
                raise ValueError("a place in a file")
        except (OSError, ValueError, TypeError) as error:
            raise ResultsError(f"{self.where(SERIES)}: expected the series of a run ({error})") from None
        return self.partition.file(f"series{f'-{number}' if number else ''}.parquet"), begin, rows

    def names(self) -> object:
        try:
            return json.loads(self._cell("series_names"))
        except (OSError, ValueError, TypeError, RecursionError):
            return None  # as in partitions of before names were noted

    def packed(self) -> bytes:
        return packed_frame(self.frame().collect())

    def where(self, name: str) -> str:
        table = "series" if name == SERIES else "runs"
        return f"{self.partition.file(f'{table}.parquet')}: {self.partition.made[self.row].get('id')}: {name}"

    def place(self, name: str) -> None:
        del name

    def glance(self) -> dict[str, Any] | None:
        try:
            return {name: values[self.row] for name, values in self.partition.heads.items()}
        except (OSError, IndexError):
            return None

    def _cell(self, column: str) -> Any:
        try:
            return self.partition.table()[column][self.row]
        except LookupError:
            raise OSError(f"expected a column {column} with a row for each run") from None


class Partition:
    """A partition on the disk."""

    def __init__(self, path: Path) -> None:
        """Reads what is recorded of it; raises `ResultsError`."""
        self.path = path
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            written, self.files, self.made = document["format"], document["files"], document["runs"]
            ids = [made["id"] for made in self.made]
            if not all(map(RUN_ID.fullmatch, ids)) or not all(isinstance(name, str) for name in self.files):
                raise ValueError("names of runs and of files")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ResultsError(f"{path}: expected what is recorded of a partition ({error!r})") from None
        if written != FORMAT:
            raise ResultsError(f"{path}: format: expected {FORMAT}, got {written}: read it with a later version")
        self.rows = {made["id"]: Stored(self, row, made) for row, made in enumerate(self.made)}
        self.damage: str | None = None
        self._is_checked = False
        self._lock = Lock()
        self._table: Columns | None = None

    @property
    def stem(self) -> str:
        """Number and key."""
        return self.path.name.removesuffix(".json")

    def file(self, ending: str) -> Path:
        """One of its files."""
        return self.path.with_name(f"{self.stem}.{ending}")

    def paths(self) -> list[Path]:
        """All of its files; the first is the one that makes the others a partition."""
        return [self.path, *(self.path.with_name(Path(name).name) for name in self.files)]

    def series(self) -> list[Path]:
        """Its files of series."""
        return [path for path in self.paths() if ".series" in path.name]

    def is_whole(self) -> bool:
        """Whether all files are as they were written; `damage` says what is not. They are read once."""
        with self._lock:
            if not self._is_checked:
                self.damage = next(self._damages(), None)
                self._is_checked = True
        return self.damage is None

    def _damages(self) -> Iterator[str]:
        for name, wanted in self.files.items():
            path = self.path.with_name(Path(name).name)
            try:
                found = f"a file with {digest_of(path)[:12]}"
            except OSError as error:
                found = str(error.strerror or error)
            if not found.endswith(f" {str(wanted)[:12]}"):
                yield f"{path}: expected the SHA-256 {str(wanted)[:12]}..., found {found}"

    @cached_property
    def heads(self) -> Columns:
        """The numbers of each run, by the names of `ResultSet.summary`; raises `OSError`."""
        return self._read(others=True)

    def _read(self, *, others: bool = False) -> Columns:
        """The columns of `OWN`, or all others."""
        file = self.file("runs.parquet")
        if (read := _core.table_read(file, set(OWN), others=others)) is not None:
            return read
        import polars as pl

        try:
            columns = [name for name in pl.read_parquet_schema(file) if (name in OWN) != others]
            return pl.read_parquet(file, columns=columns).to_dict(as_series=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise OSError(f"{file}: expected a table of runs ({error})") from None

    def table(self) -> Columns:
        """What there is of each run beside its numbers; raises `OSError`.

        Kept in memory until some other partitions were wanted.
        """
        table = self._table
        if table is None:
            self._table = table = self._read()
            with _lock:
                _recent.append(self)
                gone = _recent.pop(0) if len(_recent) > RECENT else None
                if gone and gone not in _recent:
                    gone._table = None
        return table


def key_of(runs: Mapping[str, Kept]) -> str:
    """What a partition with these runs is called."""
    lines = (f"{run_id} {kept.hash} {kept.complete}" for run_id, kept in runs.items())
    return sha256("\n".join([str(FORMAT), *lines]).encode())[:12]


def write(folder: Path, building: Path, number: int, runs: Mapping[str, Kept]) -> Partition:
    """Makes a partition of these runs in `building`, and puts it into `folder` once all of it is on the disk."""
    stem = f"{number:05}-{key_of(runs)}"
    places: list[tuple[int, Place]] = []
    names: dict[str, str] = {}
    for count, (table, of_runs) in enumerate(_sheets(runs)):
        names |= _put(building, f"{stem}.series{f'-{count}' if count else ''}.parquet", table)
        places += [(count, place) for place in of_runs]
    rows, made = [], []
    for (run_id, kept), (count, (begin, length, series)) in zip(runs.items(), places, strict=True):
        manifest = json.loads(kept.read(MANIFEST))
        made.append({
            "id": run_id, "hash": kept.hash, "complete": kept.complete,
            **{key: value for key, value in manifest.items() if key not in DETERMINISTIC},
        })  # fmt: skip
        stated = {key: manifest[key] for key in DETERMINISTIC if key in manifest}
        texts = {name: kept.read(name).decode() for name in TEXTS}
        rows.append({
            "id": run_id,
            "seed": int(stated.get("seed", 1)),
            "version": str(stated.get("version")),
            "hash": kept.hash,
            "sweep": json.dumps(stated.get("sweep", {})),
            **(kept.glance() or _glance(_Fresh(run_id, kept.complete, stated, texts))),
            "manifest": json.dumps(stated),
            **{column: texts[name] for name, column in TEXTS.items()},
            "series_names": json.dumps(series),
            "series_file": count, "series_begin": begin, "series_rows": length,
        })  # fmt: skip
    names |= _put(building, f"{stem}.runs.parquet", _of_runs(rows))
    document = {"format": FORMAT, "files": dict(sorted(names.items())), "runs": made}
    _put(building, f"{stem}.json", as_text(json.dumps(document, indent=1)))
    for name in (*names, f"{stem}.json"):
        (building / name).replace(folder / name)
    sync(folder)
    return Partition(folder / f"{stem}.json")


def _put(folder: Path, name: str, content: bytes) -> dict[str, str]:
    (folder / name).write_bytes(content)
    sync(folder / name)
    return {name: sha256(content)}


class Place(NamedTuple):
    """Where the samples of a run begin in their table, how many they are, and the names of its series."""

    begin: int
    rows: int
    names: list[str]


def _sheets(runs: Mapping[str, Kept]) -> Iterator[tuple[bytes, list[Place]]]:
    """Tables of as many whole runs as fit, and the places of these."""
    found: dict[str, bytes] = {}
    places: list[Place] = []
    total = 0
    for run_id, kept in runs.items():
        packed = kept.packed()
        count = rows_of(packed)
        if found and total + count > MOST_ROWS:
            yield _table(found), places
            found, places, total = {}, [], 0
        found[run_id] = packed
        places.append(Place(total, count, names_of(packed)))
        total += count
    yield _table(found), places


def _table(runs: Mapping[str, bytes]) -> bytes:
    """Packed series of runs as a Parquet file."""
    return _core.series_table(list(runs.values()), list(runs), group_rows=ROW_GROUP)


class _Fresh:
    """A run that was just made, read without the care that results from elsewhere need."""

    scenario = ""

    def __init__(self, run_id: str, complete: bool, manifest: dict[str, Any], texts: Mapping[str, str]) -> None:
        self.id, self.complete, self.manifest = run_id, complete, manifest
        self.summary, self.queues = json.loads(texts[SUMMARY]), json.loads(texts[QUEUES])


def _glance(run: _Fresh) -> dict[str, Any]:
    """The run as one row, as `ResultSet.summary` has it."""
    from sojourn.glance import Glance

    return {key: harmless(value) for key, value in Glance.of(run).columns().items()}


def _of_runs(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as a Parquet file whose columns have the same types in every partition, also where one has no value."""
    kinds = {
        **dict.fromkeys(("id", "version", "hash", "sweep", "manifest", "queue", *TEXTS.values()), "text"),
        "series_names": "text",
        **dict.fromkeys(("seed", "drops", "marks", "retransmits", "series_begin", "series_rows"), "long"),
        "series_file": "int",
        "complete": "bool",
    }
    return _core.table_file([(name, kinds.get(name, "double"), [row.get(name) for row in rows]) for name in rows[0]])
