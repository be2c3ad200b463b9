"""Finished runs together."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from sojourn.results import dataset
from sojourn.results.dataset import Dataset
from sojourn.results.disk import ResultsError
from sojourn.results.partition import Stored
from sojourn.results.run import MANIFEST, Run, drawn, flatten, numbers

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


class ResultSet(Sequence[Run]):
    """Runs in the order of their ids, also by id in `runs`."""

    def __init__(self, path: Path, runs: Iterable[Run]) -> None:
        self.path = path
        self.runs = {run.id: run for run in sorted(runs, key=lambda run: run.id)}
        self._ordered: list[Run] | None = None

    @classmethod
    def open(cls, path: str | Path, errors: list[str] | None = None) -> ResultSet:
        """All runs at or below a folder, or of a dataset those whose ids begin with the rest of a path below it.

        With `errors`, a run of which a file cannot be read is left out and gets a line there (`Run.check`); without,
        one whose manifest cannot be read raises `ResultsError`.
        """
        root = Path(path)
        runs: list[Run] = []
        for folder, is_dataset in _found(root):
            try:
                runs += _of_dataset(folder, root, errors) if is_dataset else [_checked(folder, errors)]
            except ResultsError as error:
                if errors is None:
                    raise
                errors.append(str(error))
        return cls(root, runs)

    @overload
    def __getitem__(self, position: int) -> Run: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Run]: ...
    def __getitem__(self, position: int | slice) -> Run | Sequence[Run]:
        return list(self.runs.values())[position]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs.values())

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

        # What is read for a row is not kept: there may be very many.
        walked = (run.again() for run in self)
        rows = [{"id": run.id, **run.swept, **(flatten(run.summary) if full else numbers(run))} for run in walked]
        return pl.DataFrame(rows, infer_schema_length=None)

    def intervals(self) -> pl.DataFrame:
        """One row a point, which is a scenario with its swept values: means over its seeds, with confidence intervals.

        Columns `point`, the swept names, `seeds`, and of each quantity of `summary()` its `_mean`, `_half_width` (half
        of the 95 % interval by Student's t; null with one seed) and `_seeds`. Runs that are not complete are left out.
        """
        from sojourn import precision

        return precision.table(self.summary())

    def query(self, sql: str, *, full: bool = False) -> pl.DataFrame:
        """The answer to a `SELECT` over the tables `runs`, `flows`, `queues` and `series`; see `sojourn query`.

        With `full` the table `runs` has a column for every number. Raises `QueryError`, one line with the nearest
        name where a table or a column is not there.
        """
        from sojourn.results.query import query

        return query(list(self), sql, full=full)

    def plot(self, *names: str, title: str = "") -> Figure:
        """A figure of all these runs, at most eight; see `Run.plot`."""
        return drawn(list(self), names, title)

    def __repr__(self) -> str:
        return f"ResultSet({str(self.path)!r}, {len(self)} runs)"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_() if len(self) else f"<p>{html.escape(repr(self))}</p>"


def exists(path: Path) -> bool:
    """Whether there is a folder of this path, or a dataset with runs at or below it."""
    return path.is_dir() or bool(_below(path))


def is_one(path: Path) -> bool:
    """Whether a path is that of one run."""
    if (path / MANIFEST).is_file():
        return True
    found = _below(path)
    return found is not None and found.ids == [found.prefix]


class _InDataset:
    """Runs of the dataset of a folder whose ids are this or begin with it."""

    def __init__(self, root: Path, prefix: str = "") -> None:
        self.root, self.prefix = root, prefix
        self.errors: list[str] = []
        self.dataset = Dataset(root, self.errors)
        self.ids = [run_id for run_id in self.dataset.kept if f"{run_id}/".startswith(f"{prefix}/" if prefix else "")]


def _below(path: Path) -> _InDataset | None:
    place = dataset.above(path)
    found = _InDataset(*place) if place else None
    return found if found and found.ids else None


def _found(root: Path) -> Iterator[tuple[Path, bool]]:
    """Folders of runs at or below a folder, and of datasets; of a path within a dataset that path."""
    if _below(root):
        yield root, True
        return
    for folder, below, files in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if dataset.is_dataset(Path(folder)):
            below.remove(dataset.FOLDER)
            yield Path(folder), True
        if MANIFEST in files:
            yield Path(folder), False


def _of_dataset(folder: Path, root: Path, errors: list[str] | None) -> list[Run]:
    found = _InDataset(folder) if dataset.is_dataset(folder) else _below(root)
    if found is None:
        return []
    if found.errors and errors is None:
        raise ResultsError(found.errors[0])
    if errors is None:
        return found.dataset.runs(found.ids)
    errors += found.errors
    runs = []
    damaged: set[Path] = set()
    for run_id in found.ids:
        kept = found.dataset.kept[run_id]
        if isinstance(kept, Stored) and not kept.partition.is_whole():
            if kept.partition.path not in damaged:
                damaged.add(kept.partition.path)
                errors.append(f"{kept.partition.damage}; its {len(kept.partition.rows)} runs are left out")
            continue
        run = found.dataset.run(run_id)
        try:
            run.again().check()
        except ResultsError as error:
            errors.append(str(error))
        else:
            runs.append(run)
    return runs


def _checked(folder: Path, errors: list[str] | None) -> Run:
    run = Run(folder)
    run.manifest  # noqa: B018 - read now
    if errors is not None:
        run.check()
    return run
