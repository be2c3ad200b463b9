"""Results on disk: one folder a run, whole or absent.

`scenario.toml`, `summary.json`, `queue.json`, `series.parquet` and the captures that the scenario asks for,
`NAME.pcapng`, are a function of scenario, seed and engine version, byte for byte. What changes from one machine
or hour to the next (time, host, command) is in `manifest.json` alone.
"""

from __future__ import annotations

import errno
import hashlib
import html
import io
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sojourn import _core
from sojourn.suites import Role
from sojourn.text import harmless, harmless_lines

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sojourn.conditions import Conditions

MANIFEST = "manifest.json"
#: Of a run's folder. Format 2 has conditions in the summary and the role in the manifest; 1 had no number.
FORMAT = 2
IN_PROGRESS = ".in-progress"
LATEST = ".latest-"
#: What depends on scenario, seed and version only.
FILES = ("scenario.toml", "summary.json", "queue.json", "series.parquet")
#: To make a folder that others remove when it is empty.
ATTEMPTS = 100
CAPTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
RUN_ID = re.compile(r"[A-Za-z0-9_+@~-][A-Za-z0-9_.+@~-]*(/[A-Za-z0-9_+@~-][A-Za-z0-9_.+@~-]*)*")


class ResultsError(ValueError):
    """A file of a results folder that cannot be read; one line says which and what was expected."""


class Run:
    """A finished run in its folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Version, seed, hash, completeness, and when, where and how it was made."""
        document = self._json(MANIFEST)
        written = document.get("format", 1)
        if written not in range(1, FORMAT + 1):
            by = f", written by version {document['version']}" if isinstance(document.get("version"), str) else ""
            how = "run it again, or read it with that version"
            raise ResultsError(f"{self.path / MANIFEST}: format: expected at most {FORMAT}, got {written}{by}: {how}")
        if not RUN_ID.fullmatch(str(document.get("id", ""))):
            raise ResultsError(f"{self.path / MANIFEST}: expected a key `id` with the name of a run")
        return document

    @property
    def id(self) -> str:
        """Name of the run within its result set."""
        return str(self.manifest["id"])

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
            stored = self.summary.get("conditions") if (self.path / "summary.json").exists() else None
            return of_scenario(self.scenario) if stored is None else Conditions.read(stored)
        except ResultsError:
            return Conditions()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Statistics over the measurement window."""
        document = self._json("summary.json")
        if isinstance(flows := document.get("flows"), list):
            self._named(flows, "summary.json", "flows")
        return document

    @cached_property
    def queues(self) -> list[dict[str, Any]]:
        """Statistics of every queue under tc's names, marks and drops by reason."""
        document = self._read("queue.json")
        if not isinstance(document, list):
            raise ResultsError(f"{self.path / 'queue.json'}: expected a JSON array")
        self._named(document, "queue.json", "queues")
        for queue in document:
            for key in ("stats", "marks", "drops", "sojourn_ms"):
                if not isinstance(queue.get(key) or {}, dict):
                    raise ResultsError(f"{self.path / 'queue.json'}: {queue['name']}.{key}: expected an object")
        return document

    @cached_property
    def scenario(self) -> str:
        """The resolved scenario."""
        try:
            return harmless_lines((self.path / "scenario.toml").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ResultsError(f"{self.path / 'scenario.toml'}: expected a scenario ({error})") from None

    @property
    def captures(self) -> list[Path]:
        """The capture files that its scenario asks for."""
        return [self.path / name for name in capture_names(self.scenario)]

    @cached_property
    def document(self) -> dict[str, Any]:
        """The resolved scenario as dictionaries and lists."""
        try:
            document: dict[str, Any] = harmless(tomllib.loads(self.scenario))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ResultsError(f"{self.path / 'scenario.toml'}: expected a scenario ({error})") from None
        return document

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._names)

    @cached_property
    def _names(self) -> list[str]:
        rows = self._collect(self.frame().select("series").unique(maintain_order=True))
        names: list[str] = rows.to_series().to_list()
        # A dollar would begin a formula in a figure's legend.
        if not all(isinstance(name, str) and name.isprintable() and "$" not in name for name in names):
            raise ResultsError(
                f"{self.path / 'series.parquet'}: expected names of series in printable characters, no $"
            )
        return names

    def frame(self) -> pl.LazyFrame:
        """All series, long: columns `series`, `unit`, `t_s`, `value`."""
        import polars as pl

        return pl.scan_parquet(self.path / "series.parquet")

    def series(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times in seconds and values of one series."""
        import polars as pl

        rows = self._collect(self.frame().filter(pl.col("series") == name).select("t_s", "value"))
        if rows.is_empty() and name not in self._names:
            raise KeyError(f"no series {name!r} in {self.path}; there are {', '.join(self._names)}")
        return rows["t_s"].to_numpy(), rows["value"].to_numpy()

    def table(self) -> pl.DataFrame:
        """All series, read: columns `series`, `unit`, `t_s`, `value`."""
        import polars as pl

        self.names()
        types = {"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64}
        return self._collect(self.frame().select(pl.col(name).cast(kind) for name, kind in types.items()))

    def _collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        import polars as pl

        try:
            return query.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ResultsError(f"{self.path / 'series.parquet'}: expected the series of a run ({error})") from None

    def _json(self, file: str) -> dict[str, Any]:
        document = self._read(file)
        if not isinstance(document, dict):
            raise ResultsError(f"{self.path / file}: expected a JSON object")
        return document

    def _named(self, items: list[Any], file: str, what: str) -> None:
        if not all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items):
            raise ResultsError(f"{self.path / file}: expected {what} with a `name`")

    def _read(self, file: str) -> object:
        """A file's content; a results folder may come from anywhere, so what is text in it is made harmless."""
        try:
            document: object = harmless(json.loads((self.path / file).read_text(encoding="utf-8")))
        except (ValueError, OSError, RecursionError) as error:
            raise ResultsError(f"{self.path / file}: expected JSON ({error})") from None
        return document

    def plot(self, *names: str, title: str = "") -> Figure:
        """A figure as of `sojourn plot`: of panels (`rate`), recorded series (`flow.*.cwnd`), or one of Flent's."""
        return _figure([self], names, title)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        from sojourn.glance import Glance

        return Glance.of(self).html()


class ResultSet(Sequence[Run]):
    """Runs in the order of their ids, also by id in `runs`."""

    def __init__(self, path: Path, runs: Iterable[Run]) -> None:
        self.path = path
        self.runs = {run.id: run for run in sorted(runs, key=lambda run: run.id)}

    @classmethod
    def open(cls, path: str | Path, errors: list[str] | None = None) -> ResultSet:
        """All runs at or below a folder.

        With `errors`, a run of which a file cannot be read is left out and gets a line there; without, one whose
        manifest cannot be read raises `ResultsError`.
        """
        runs = []
        for folder in run_folders(Path(path)):
            run = Run(folder)
            try:
                run.manifest  # noqa: B018 - read now
                if errors is not None:
                    run.names()
                    run.summary, run.queues  # noqa: B018
            except ResultsError as error:
                if errors is None:
                    raise
                errors.append(str(error))
            else:
                runs.append(run)
        return cls(Path(path), runs)

    @overload
    def __getitem__(self, position: int) -> Run: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Run]: ...
    def __getitem__(self, position: int | slice) -> Run | Sequence[Run]:
        return list(self.runs.values())[position]

    def __len__(self) -> int:
        return len(self.runs)

    def summary(self, *, full: bool = False) -> pl.DataFrame:
        """One row a run, with what matters of it; with `full` a column for every number, under its dotted name.

        Runs of a sweep have a column for each swept name first. Of the measuring window: goodput of all flows (Mbit/s)
        and its p05, p50 and p95 in intervals of 0.1 s, the median of the flows' p50 RTTs and the largest p99 (ms),
        utilisation (share of its rate) and sojourn time (ms) of the busiest queue. Of the whole run: drops, marks that
        the receivers got, retransmits.
        """
        import polars as pl

        from sojourn.glance import Glance

        numbers = (flatten(run.summary) if full else Glance.of(run).columns() for run in self)
        rows = [{"id": run.id, **run.swept, **row} for run, row in zip(self, numbers, strict=True)]
        return pl.DataFrame(rows, infer_schema_length=None)

    def intervals(self) -> pl.DataFrame:
        """One row a point, which is a scenario with its swept values: means over its seeds, with confidence intervals.

        Columns `point`, the swept names, `seeds`, and of each quantity of `summary()` its `_mean`, `_half_width` (half
        of the 95 % interval by Student's t; null with one seed) and `_seeds`. Runs that are not complete are left out.
        """
        from sojourn import precision

        return precision.table(self.summary())

    def plot(self, *names: str, title: str = "") -> Figure:
        """A figure of all these runs, at most eight; see `Run.plot`."""
        return _figure(list(self), names, title)

    def __repr__(self) -> str:
        return f"ResultSet({str(self.path)!r}, {len(self)} runs)"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_() if len(self) else f"<p>{html.escape(repr(self))}</p>"


def _figure(runs: Sequence[Run], names: Sequence[str], title: str) -> Figure:
    from sojourn import plot

    with plot.styled():
        return plot.figure(runs, names, title=title)


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


def digest(resolved: str, version: str, algorithms: Mapping[str, str] | None = None) -> str:
    """What a run is recognised by: its resolved scenario, seed included, and the engine version.

    Algorithms from outside the engine count with the digests of their sources.
    """
    lines = [version, *(f"{name} {source}" for name, source in (algorithms or {}).items()), resolved]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def run_folders(root: Path) -> Iterator[Path]:
    """Folders of finished runs at or below `root`."""
    for folder, below, files in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if MANIFEST in files:
            yield Path(folder)


def existing(root: Path, run_id: str, wanted: str) -> Run | None:
    """The complete run of this id and content hash, if there is one and its files are as they were written."""
    run = Run(root / run_id)
    try:
        kept = run.manifest["files"]
        if run.complete and run.manifest["hash"] == wanted:
            is_whole = all(_digest_of(run.path / name) == kept[name] for name in (*FILES, *capture_names(run.scenario)))
            return run if is_whole else None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def check_id(run_id: str) -> None:
    """Raises `ScenarioError` unless `run_id` can be a folder below the results."""
    if not RUN_ID.fullmatch(run_id):
        raise _core.ScenarioError(
            f"run name {run_id!r}: expected letters, digits and _ . + @ ~ - in parts separated by /, "
            "no part starting with a dot"
        )


def deterministic_files(resolved: str, result: _core.RunResult) -> dict[str, bytes]:
    """Names and contents of `FILES`."""
    contents = (resolved.encode(), _text(result.summary), _text(result.queues), _parquet(result))
    return dict(zip(FILES, contents, strict=True))


def capture_names(resolved: str) -> list[str]:
    """Names of the capture files that a resolved scenario asks for; what is no name of a capture has none."""
    try:
        tables = tomllib.loads(resolved).get("capture", [])
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    names = [table.get("name") for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    return [f"{name}.pcapng" for name in names if isinstance(name, str) and CAPTURE.fullmatch(name)]


@contextmanager
def capture_folder(root: Path, resolved: str) -> Iterator[Path | None]:
    """A folder below `root` for the captures of a run until `write` takes them; None if it has none."""
    if not capture_names(resolved):
        yield None
        return
    folder = _building(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_if_empty(root / IN_PROGRESS)


def capture_digests(folder: Path | None, resolved: str) -> dict[str, str]:
    """What the captures in a folder are recognised by."""
    return {name: _digest_of(folder / name) for name in capture_names(resolved)} if folder else {}


def check_folder(root: Path) -> None:
    """Raises `ResultsError` unless runs can be written below `root`, which need not exist; leaves nothing there."""
    there = next(folder for folder in (root.absolute(), *root.absolute().parents) if os.path.lexists(folder))
    try:
        with tempfile.TemporaryDirectory(prefix=".sojourn-", dir=there) as trial:
            Path(trial, "x").write_bytes(b"x")
    except OSError as error:
        raise ResultsError(f"{root}: expected a folder that can be written ({there}: {error.strerror})") from None


def write(root: Path, manifest: Mapping[str, Any], files: Mapping[str, bytes], captures: Iterable[Path] = ()) -> Run:
    """Puts a run into its folder in one step, replacing an earlier one of the same id; its captures are moved there.

    Its files are on the disk before it is in its place, and its place before this returns.
    """
    target = root / str(manifest["id"])
    check_place(root, str(manifest["id"]))
    building = _building(root)
    try:
        digests = {name: _sha256(content) for name, content in files.items()}
        for capture in captures:
            digests[capture.name] = _digest_of(capture)
            capture.rename(building / capture.name)
            _sync(building / capture.name)
        text = _text(json.dumps({"format": FORMAT, **manifest, "files": digests}, indent=2))
        for name, content in {**files, MANIFEST: text}.items():
            (building / name).write_bytes(content)
            _sync(building / name)
        _sync(building)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            old = _building(root)
            target.rename(old / "old")
            building.rename(target)
            shutil.rmtree(old)
        else:
            building.rename(target)
        for folder in target.parents:
            _sync(folder)
            if folder == root.parent:
                break
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    finally:
        _remove_if_empty(root / IN_PROGRESS)
    return Run(target)


def point_latest(root: Path) -> None:
    """Makes `latest` beside a result set point to it."""
    link = root.parent / "latest"
    if link.exists() and not link.is_symlink():
        return
    fresh = root.parent / f"{LATEST}{os.getpid()}"
    # What a killed process of this number left.
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(root.name)
    fresh.replace(link)


def newest(root: Path) -> Path | None:
    """The result set below `root` that has the run which finished last, or `root` if that is no set's; None: no run."""

    def written_at(folder: Path) -> float:
        try:
            return (folder / MANIFEST).stat().st_mtime
        except OSError:  # removed in between
            return 0.0

    for folder in sorted(run_folders(root), key=written_at, reverse=True):
        if _whole(Run(folder)):
            inside = folder.relative_to(root).parts
            return root / inside[0] if inside else root
    return None


def clean(root: Path, *, everything: bool, dry: bool) -> list[Path]:
    """Removes unfinished work, incomplete runs or all runs below `root`; returns what went."""
    unfinished = sorted(root.glob(f"**/{IN_PROGRESS}*"))
    runs = [f for f in run_folders(root) if everything or not _whole(Run(f))]
    if not dry:
        for folder in (*unfinished, *runs):
            shutil.rmtree(folder)
            parent = folder.parent
            while parent != root and _remove_if_empty(parent):
                parent = parent.parent
        if (link := root / "latest").is_symlink() and not link.exists():
            link.unlink()
        for link in root.glob(f"{LATEST}*"):
            if link.is_symlink():
                link.unlink()
    return [*unfinished, *runs]


def _whole(run: Run) -> bool:
    try:
        return run.complete
    except ResultsError:
        return False


def seed_of(resolved: str) -> int:
    """The seed in a resolved scenario."""
    return int(tomllib.loads(resolved).get("seed", 1))


def check_place(root: Path, run_id: str) -> None:
    """Raises `FileExistsError` if the run's folder holds other things, or is within that of another run."""
    target = root / run_id
    if target.exists() and not (target / MANIFEST).exists():
        raise FileExistsError(f"{target} holds other things than a run")
    for parent in target.parents:
        if parent == root:
            break
        if (parent / MANIFEST).exists():
            raise FileExistsError(f"{parent} is a run and cannot hold {target.name}")


def _building(root: Path) -> Path:
    place = root / IN_PROGRESS
    for attempt in range(ATTEMPTS):
        try:
            place.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=place))
            break
        except (FileExistsError, FileNotFoundError):
            # Another run just finished and removed the empty folder, before or after `mkdir` looked.
            if attempt == ATTEMPTS - 1 or (place.exists() and not place.is_dir()):
                raise
    folder.chmod(0o755)
    return folder


def _sync(path: Path) -> None:
    """Waits until a file's content, or a folder's names, would survive a power cut."""
    if os.name != "posix":
        return
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        # Some file systems cannot do this for a folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def _text(text: str) -> bytes:
    return (text.rstrip("\n") + "\n").encode()


def _parquet(result: _core.RunResult) -> bytes:
    import polars as pl

    # Plain strings, in the engine's order: a shared string cache would make the bytes depend on
    # what else runs in the process. The file keeps them as a dictionary.
    parts = [
        pl.select(
            pl.lit(name).alias("series").repeat_by(len(times)).explode(),
            pl.lit(unit).alias("unit").repeat_by(len(times)).explode(),
        ).hstack([pl.Series("t_s", times), pl.Series("value", values)])
        for name, unit, times, values in result.series
        if len(times)
    ]
    schema = {"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64}
    frame = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3, row_group_size=1 << 20)
    return buffer.getvalue()
