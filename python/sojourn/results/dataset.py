"""Many runs as one dataset: tables of some runs each below `dataset`, in the order of case and seed.

`dataset.json` has the format, how many runs a partition has, and the names of all runs that it is to hold. What is
finished is in partitions, and until one of these is whole in a journal. Captures are files beside it, `ID/NAME.pcapng`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.results import journal
from sojourn.results.disk import ResultsError
from sojourn.results.identity import RUN_ID
from sojourn.results.partition import FORMAT, NAME, Kept, Partition
from sojourn.results.run import Run, Samples

if TYPE_CHECKING:
    import polars as pl

FOLDER = "dataset"
INDEX = "dataset.json"
#: Runs of a partition.
SIZE = 50


class Dataset:
    """What a results folder holds as a dataset; reading it writes nothing."""

    def __init__(self, root: Path, errors: list[str]) -> None:
        """Reads what is recorded of it; what cannot be read is left out and gets a line in `errors`.

        Raises `ResultsError` if a later version wrote it.
        """
        self.root, self.folder = root, root / FOLDER
        self.size, self.planned = SIZE, _planned(self.folder / INDEX, errors)
        self.partitions: list[Partition] = []
        self.journals = sorted(self.folder.glob(f"*{journal.ENDING}"))
        #: Every run that is there, by its id.
        self.kept: dict[str, Kept] = {}
        for path in sorted(self.folder.glob("*.json")):
            if NAME.fullmatch(path.name):
                try:
                    self.partitions.append(Partition(path))
                except ResultsError as error:
                    errors.append(str(error))
        for partition in self.partitions:
            self._keep(partition.rows)
        for file in self.journals:
            self._keep({str(record.manifest["id"]): record for record in journal.records(file)})

    def _keep(self, runs: Mapping[str, Kept]) -> None:
        """Of two runs of one name, which a change of the dataset that was interrupted leaves, the later one counts."""
        for run_id, kept in runs.items():
            known = self.kept.get(run_id)
            if known is None or (known.complete, known.started) <= (kept.complete, kept.started):
                self.kept[run_id] = kept

    def run(self, run_id: str) -> Run:
        """A run of it."""
        return Run(self.root / run_id, Place(self, run_id), run_id)

    def place(self, run_id: str) -> Kept:
        """Where a run is; the dataset may have been written anew, with more runs, since it was read."""
        if not self.kept[run_id].source.exists():
            there = Dataset(self.root, []).kept
            same = {name: there[name] for name in self.kept if name in there}
            self.kept.update({name: kept for name, kept in same.items() if kept.hash == self.kept[name].hash})
        return self.kept[run_id]

    def runs(self, ids: Iterable[str] | None = None) -> list[Run]:
        """Runs of it, or all."""
        return [self.run(run_id) for run_id in (self.kept if ids is None else ids)]


class Place:
    """The files of a run of a dataset, whichever partition or journal has them by now."""

    __slots__ = ("_dataset", "_id")

    def __init__(self, dataset: Dataset, run_id: str) -> None:
        self._dataset, self._id = dataset, run_id

    @property
    def now(self) -> Kept:
        """Where they are."""
        return self._dataset.place(self._id)

    def read(self, name: str) -> bytes:
        return self.now.read(name)

    def frame(self) -> pl.LazyFrame:
        return self.now.frame()

    def names(self) -> object:
        return self.now.names()

    def series(self, names: Iterable[str]) -> Samples | None:
        return self.now.series(names)

    def where(self, name: str) -> str:
        return self.now.where(name)

    def place(self, name: str) -> Path | None:
        del name
        return None

    def glance(self) -> dict[str, Any] | None:
        return self.now.glance()


def is_dataset(root: Path) -> bool:
    """Whether a folder holds a dataset."""
    return (root / FOLDER / INDEX).is_file()


def above(path: Path) -> tuple[Path, str] | None:
    """The folder whose dataset has runs at or below this path, which need not exist, and what their ids begin with."""
    for root in path.parents:
        if is_dataset(root):
            return root, path.relative_to(root).as_posix()
    return None


def _planned(index: Path, errors: list[str]) -> list[str]:
    """The names of all runs that a dataset is to hold."""
    if not index.exists():
        return []
    try:
        document = json.loads(index.read_text(encoding="utf-8"))
        written, runs = document["format"], document["runs"]
        if written == FORMAT and not all(map(RUN_ID.fullmatch, runs)):
            raise ValueError("names of runs")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        errors.append(f"{index}: expected what is recorded of a dataset ({error!r})")
        return []
    if written != FORMAT:
        raise ResultsError(f"{index}: format: expected {FORMAT}, got {written}: read it with a later version")
    return list(runs)
