"""A finished run, wherever its files are: in a folder of its own, or in a dataset of many."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sojourn import _core
from sojourn.results.content import QUEUES, SCENARIO, SERIES, SUMMARY, capture_names
from sojourn.results.disk import ResultsError
from sojourn.results.identity import RUN_ID
from sojourn.scenario import toml
from sojourn.suites import Role
from sojourn.text import harmless_lines, parsed

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sojourn.conditions import Conditions

#: Of each series its name, and its times and values as little-endian doubles.
Samples = list[tuple[str, bytes, bytes]]
MANIFEST = "manifest.json"
#: Of what is kept of a run. Format 2 has conditions in the summary and the role in the manifest; 1 had no number.
FORMAT = 2


class Files(Protocol):
    """Where the files of one run are."""

    def read(self, name: str) -> bytes:
        """The content of a file but the series; raises `OSError` if it cannot be read."""

    def frame(self) -> pl.LazyFrame:
        """The series, read when they are wanted: columns `series`, `unit`, `t_s`, `value`."""

    def names(self) -> object:
        """A list of the names of the series, if they are noted beside their rows."""

    def series(self, names: Iterable[str]) -> Samples | None:
        """Series of these names as `_core.series_read` has them; None if only the whole table can be read."""

    def where(self, name: str) -> str:
        """What a message calls a file."""

    def place(self, name: str) -> Path | None:
        """The file with this content alone; None if others are in it too."""

    def glance(self) -> dict[str, Any] | None:
        """The run as one row of `ResultSet.summary`, if that is kept beside the files."""


class Folder:
    """The files of a run in a folder of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def frame(self) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_parquet(self.path / SERIES)

    def names(self) -> object:
        try:
            return json.loads(_core.series_names(self.path / SERIES) or "null")
        except (ValueError, RecursionError):
            return None

    def series(self, names: Iterable[str]) -> Samples | None:
        return _core.series_read(self.path / SERIES, set(names))

    def where(self, name: str) -> str:
        return str(self.path / name)

    def place(self, name: str) -> Path | None:
        return self.path / name if (self.path / name).is_file() else None

    def glance(self) -> None:
        return None


class Run:
    """A finished run. Captures of it are in the folder `path`, and its other files too if it is in no dataset."""

    def __init__(self, path: Path, files: Files | None = None, run_id: str | None = None) -> None:
        self.path = path
        self.files: Files = files or Folder(path)
        self._id = run_id

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Version, seed, hash, completeness, and when, where and how it was made."""
        document = self._json(MANIFEST)
        where = self.files.where(MANIFEST)
        written = document.get("format", 1)
        if written not in range(1, FORMAT + 1):
            by = f", written by version {document['version']}" if isinstance(document.get("version"), str) else ""
            how = "run it again, or read it with that version"
            raise ResultsError(f"{where}: format: expected at most {FORMAT}, got {written}{by}: {how}")
        if not RUN_ID.fullmatch(str(document.get("id", ""))):
            raise ResultsError(f"{where}: expected a key `id` with the name of a run")
        return document

    @property
    def id(self) -> str:
        """Name of the run within its result set."""
        return str(self.manifest["id"]) if self._id is None else self._id

    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""
        return bool(self.manifest.get("complete"))

    @property
    def swept(self) -> dict[str, str]:
        """Swept names of the scenario and this run's values of them."""
        values = self.manifest.get("sweep")
        return {str(key): str(value) for key, value in values.items()} if isinstance(values, dict) else {}

    @cached_property
    def role(self) -> Role:
        """The role of the run in its suite."""
        try:
            return Role.read(self.manifest.get("role"))
        except ResultsError:
            return Role()

    @cached_property
    def conditions(self) -> Conditions:
        """Capacity, RTT of the empty path and bottlenecks; of results before format 2 those of their scenario."""
        from sojourn.conditions import Conditions, of_scenario

        try:
            stored = self.summary.get("conditions") if self.has(SUMMARY) else None
            return of_scenario(self.scenario) if stored is None else Conditions.read(stored)
        except ResultsError:
            return Conditions()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Statistics over the measurement window."""
        document = self._json(SUMMARY)
        if isinstance(flows := document.get("flows"), list):
            self._named(flows, SUMMARY, "flows")
        return document

    @cached_property
    def queues(self) -> list[dict[str, Any]]:
        """Statistics of every queue under tc's names, marks and drops by reason."""
        document, where = self._read(QUEUES), self.files.where(QUEUES)
        if not isinstance(document, list):
            raise ResultsError(f"{where}: expected a JSON array")
        self._named(document, QUEUES, "queues")
        for queue in document:
            for key in ("stats", "marks", "drops", "sojourn_ms"):
                if not isinstance(queue.get(key) or {}, dict):
                    raise ResultsError(f"{where}: {queue['name']}.{key}: expected an object")
        return document

    @cached_property
    def scenario(self) -> str:
        """The resolved scenario."""
        try:
            return harmless_lines(self.files.read(SCENARIO).decode())
        except (OSError, UnicodeDecodeError) as error:
            raise ResultsError(f"{self.files.where(SCENARIO)}: expected a scenario ({error})") from None

    @property
    def captures(self) -> list[Path]:
        """The capture files that its scenario asks for."""
        return [self.path / name for name in capture_names(self.scenario)]

    @cached_property
    def document(self) -> dict[str, Any]:
        """The resolved scenario as dictionaries and lists."""
        try:
            document: dict[str, Any] = parsed(self.scenario, toml)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ResultsError(f"{self.files.where(SCENARIO)}: expected a scenario ({error})") from None
        return document

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        try:
            return bool(self.files.place(name)) or bool(self.files.read(name))
        except OSError:
            return False

    def check(self) -> None:
        """Reads its files, of the series their schema alone; raises `ResultsError`.

        Queues, for which few ask, are not kept in memory.
        """
        if self.files.series(()) is None:
            self._collect(self.frame().select("series", "t_s", "value").head(0))
        self.manifest, self.summary, self.again().queues

    def again(self) -> Run:
        """The same run, of which nothing is kept in memory: for a walk over many."""
        return Run(self.path, self.files, self._id)

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._names)

    @cached_property
    def _names(self) -> list[str]:
        noted = self.files.names()
        if isinstance(noted, list):
            # Of many runs that are alike they are in memory once.
            return [sys.intern(name) for name in self._checked(noted)]
        rows = self._collect(self.frame().select("series").unique(maintain_order=True))
        return self._checked(rows.to_series().to_list())

    def frame(self) -> pl.LazyFrame:
        """All series, long: columns `series`, `unit`, `t_s`, `value`."""
        return self.files.frame()

    def series(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times in seconds and values of one series."""
        if (read := self.files.series([name])) and len(read) == 1:
            return _doubles(read[0][1]), _doubles(read[0][2])
        import polars as pl

        rows = self._collect(self.frame().filter(pl.col("series") == name).select("t_s", "value"))
        if rows.is_empty() and name not in self._names:
            raise KeyError(f"no series {name!r} in {self.path}; there are {', '.join(self._names)}")
        return rows["t_s"].to_numpy(), rows["value"].to_numpy()

    def columns(self, like: str = "") -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Series by name, read at once: times in seconds and values of each, parts of two columns.

        All, or those whose whole names are like a regular expression, which costs less.
        """
        wanted = list(filter(re.compile(like).fullmatch, self._names)) if like else self._names
        if (read := self.files.series(wanted)) is not None:
            return {name: (_doubles(t), _doubles(values)) for name, t, values in read}
        import polars as pl

        frame = self.frame().filter(pl.col("series").str.contains(f"^(?:{like})$")) if like else self.frame()
        rows = self._collect(frame.select("series", "t_s", "value"))
        t, values = rows["t_s"].to_numpy(), rows["value"].to_numpy()
        found: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        at = 0
        for part in rows["series"].rle().to_list():
            name, length = part["value"], part["len"]
            if name in found:  # ours are in one piece; those of others need not be
                return {name: self.series(name) for name in rows["series"].unique(maintain_order=True)}
            found[name] = t[at : at + length], values[at : at + length]
            at += length
        self._checked(list(found))
        return found

    def table(self) -> pl.DataFrame:
        """All series, read: columns `series`, `unit`, `t_s`, `value`."""
        import polars as pl

        self.names()
        types = {"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64}
        return self._collect(self.frame().select(pl.col(name).cast(kind) for name, kind in types.items()))

    def _checked(self, names: list[Any]) -> list[str]:
        # A dollar would begin a formula in a figure's legend.
        if not all(isinstance(name, str) and name.isprintable() and "$" not in name for name in names):
            where = self.files.where(SERIES)
            raise ResultsError(f"{where}: expected names of series in printable characters, no $")
        return names

    def _collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        import polars as pl

        try:
            return query.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ResultsError(f"{self.files.where(SERIES)}: expected the series of a run ({error})") from None

    def _json(self, file: str) -> dict[str, Any]:
        document = self._read(file)
        if not isinstance(document, dict):
            raise ResultsError(f"{self.files.where(file)}: expected a JSON object")
        return document

    def _named(self, items: list[Any], file: str, what: str) -> None:
        if not all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items):
            raise ResultsError(f"{self.files.where(file)}: expected {what} with a `name`")

    def _read(self, file: str) -> object:
        """A file's content; results may come from anywhere, so what is text in them is made harmless."""
        try:
            text = self.files.read(file).decode()
            document: object = parsed(text, json.loads)
        except (ValueError, OSError, RecursionError) as error:
            raise ResultsError(f"{self.files.where(file)}: expected JSON ({error})") from None
        return document

    def plot(self, *names: str, title: str = "") -> Figure:
        """A figure as of `sojourn plot`: of panels (`rate`), recorded series (`flow.*.cwnd`), or one of Flent's."""
        return drawn([self], names, title)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        from sojourn.glance import Glance

        return Glance.of(self).html()


def _doubles(read: bytes) -> NDArray[np.float64]:
    import numpy as np

    return np.frombuffer(read, dtype="<f8")


def run_of(source: object) -> Run | None:
    """The finished run that something with series is, or was read from."""
    origin = getattr(source, "origin", source)
    return origin if isinstance(origin, Run) else None


def drawn(runs: Sequence[Run], names: Sequence[str], title: str) -> Figure:
    """A figure of runs."""
    from sojourn import plot

    with plot.styled():
        return plot.figure(runs, names, title=title)


def numbers(run: Run) -> dict[str, Any]:
    """A run as one row: what `Glance.columns` makes of it, from where it is kept if it is."""
    from sojourn.glance import Glance

    return run.files.glance() or Glance.of(run).columns()


def flatten(document: object, prefix: str = "") -> dict[str, Any]:
    """Nested objects as dotted names; a list of named objects takes their names as keys."""
    match document:
        case Mapping():
            items = [(str(k), v) for k, v in document.items() if k not in ("schema", "id")]
        case list() if document and all(isinstance(d, dict) and "name" in d for d in document):
            items = [(str(d["name"]), {k: v for k, v in d.items() if k != "name"}) for d in document]
        case _:
            return {prefix: document}
    flat: dict[str, Any] = {}
    for key, value in items:
        flat |= flatten(value, f"{prefix}.{key}" if prefix else key)
    return flat
