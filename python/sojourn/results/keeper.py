"""Writes a dataset, from many threads: the same bytes in whichever order runs finish.

A run that has finished is added to the journal of its partition. When all runs of a partition are there, it is written
and its journal goes. Which runs a partition has follows from the names of all runs of the dataset alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from sojourn.results import partition
from sojourn.results.content import as_text
from sojourn.results.dataset import FOLDER, INDEX, SIZE, Dataset
from sojourn.results.disk import (
    ResultsError,
    building,
    check_folder,
    digest_of,
    remove_if_empty,
    sync,
)
from sojourn.results.identity import by_case_and_seed
from sojourn.results.journal import ENDING, Journal
from sojourn.results.partition import FORMAT, NAME, Kept, Partition, Stored
from sojourn.results.run import FORMAT as RUN_FORMAT
from sojourn.results.run import Run


class Keeper:
    """Keeps runs in the dataset of a results folder."""

    packed = True

    def __init__(self, root: Path, ids: Iterable[str], say: Callable[[str], None]) -> None:
        """For runs of these names; `say` gets what of an earlier dataset cannot be read. Nothing is written yet."""
        damage: list[str] = []
        self._dataset, self._say = Dataset(root, damage), say
        self._kept = self._dataset.kept
        for line in damage:
            say(f"{line}; its runs are done again")
        planned = list(ids)
        self._order = sorted({*self._dataset.planned, *self._kept, *planned}, key=by_case_and_seed)
        self._number = {run_id: position // SIZE for position, run_id in enumerate(self._order)}
        #: Of each partition the runs that may still come.
        self._awaited: dict[int, set[str]] = {}
        for run_id in planned:
            self._awaited.setdefault(self._number[run_id], set()).add(run_id)
        self._journals: dict[int, Journal] = {}
        #: Files of runs, and which runs are to be read from each.
        self._sources: dict[Path, set[str]] = {path: set() for path in self._dataset.journals}
        self._partitions = {found.path: found for found in self._dataset.partitions}
        self._sources |= {path: set() for path in self._partitions}
        for run_id, kept in self._kept.items():
            self._sources[kept.source].add(run_id)
        self._lock = RLock()
        self._held: int | None = None
        self._is_indexed = False

    def check(self) -> None:
        """Raises `ResultsError` unless runs can be written, by nobody else meanwhile."""
        check_folder(self._dataset.root)
        self._dataset.folder.mkdir(parents=True, exist_ok=True)
        self._held = _hold(self._dataset.folder)

    def check_place(self, run_id: str) -> None:
        """Raises `FileExistsError` if there is no place for a run."""
        if run_id.partition("/")[0] == FOLDER:
            raise FileExistsError(f"{self._dataset.folder} holds the dataset and cannot hold {run_id}")

    def existing(self, run_id: str, wanted: str) -> Run | None:
        """The complete run of this id and content hash, if there is one and its files are as they were written."""
        kept = self._kept.get(run_id)
        if kept is None or not kept.complete or kept.hash != wanted:
            return None
        if isinstance(kept, Stored) and not kept.partition.is_whole():
            self._drop(kept.partition)
            return None
        run = self._dataset.run(run_id)
        try:
            captures = run.again().manifest["files"]
            if any(digest_of(run.path / Path(name).name) != digest for name, digest in captures.items()):
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        with self._lock:
            self._awaited.get(self._number[run_id], set()).discard(run_id)
        return run

    def write(self, manifest: Mapping[str, Any], files: Mapping[str, bytes], captures: Iterable[Path] = ()) -> Run:
        """Keeps a run, in place of an earlier one of the same id; its captures are moved beside the dataset."""
        run_id = str(manifest["id"])
        self.check_place(run_id)
        # Its other files are parts of a partition, which has digests of its own.
        digests: dict[str, str] = {}
        for capture in captures:
            folder = self._dataset.root / run_id
            folder.mkdir(parents=True, exist_ok=True)
            digests[capture.name] = digest_of(capture)
            sync(capture.rename(folder / capture.name))
        stated = {"format": RUN_FORMAT, **manifest, "files": digests}
        number = self._number[run_id]
        with self._lock:
            self._index()
            self._move(run_id, self._journal(number).add(stated, files))
            awaited = self._awaited.setdefault(number, {run_id})
            awaited.discard(run_id)
        if not awaited:
            self._seal(number)
        return self._dataset.run(run_id)

    def forget(self, run_id: str) -> None:
        """Leaves a run out of the dataset."""
        with self._lock:
            self._sources[self._kept.pop(run_id).source].discard(run_id)

    def close(self) -> None:
        """Writes the partitions that are left, with the runs that are there, and removes what is superseded."""
        if self._held is None:
            return
        try:
            for number in range(1 + (len(self._order) - 1) // SIZE):
                self._seal(number)
            for path, runs in list(self._sources.items()):
                if not runs:
                    self._remove(path)
            if not self._kept:
                (self._dataset.folder / INDEX).unlink(missing_ok=True)
            remove_if_empty(self._dataset.folder)
        finally:
            os.close(self._held)
            self._held = None

    def _index(self) -> None:
        """Records which runs the dataset is to hold, before the first one is there."""
        index = self._dataset.folder / INDEX
        if self._is_indexed or (self._dataset.planned == self._order and index.exists()):
            self._is_indexed = True
            return
        document = {"format": FORMAT, "partition_runs": SIZE, "runs": self._order}
        made = building(self._dataset.root)
        (made / INDEX).write_bytes(as_text(json.dumps(document, indent=0)))
        sync(made / INDEX)
        (made / INDEX).rename(index)
        _discard(made)
        self._dataset.planned = self._order
        self._is_indexed = True

    def _journal(self, number: int) -> Journal:
        """The journal of a partition: never one that an earlier process left, whose end may be torn."""
        if number not in self._journals:
            free = (self._dataset.folder / f"{number:05}-{count}{ENDING}" for count in range(len(self._sources) + 1))
            path = next(path for path in free if path not in self._sources)
            self._sources[path] = set()
            self._journals[number] = Journal(path)
        return self._journals[number]

    def _move(self, run_id: str, kept: Kept) -> None:
        """From now on the run is read from there."""
        if (earlier := self._kept.get(run_id)) is not None:
            self._sources[earlier.source].discard(run_id)
        self._kept[run_id] = kept
        self._sources[kept.source].add(run_id)

    def _seal(self, number: int) -> None:
        """Writes a partition, unless it is there already."""
        with self._lock:
            ids = self._order[number * SIZE : (number + 1) * SIZE]
            runs = {run_id: self._kept[run_id] for run_id in ids if run_id in self._kept}
        if not runs or _is_sealed(number, runs):
            return
        made = building(self._dataset.root)
        try:
            written = partition.write(self._dataset.folder, made, number, runs)
        finally:
            _discard(made)
        with self._lock:
            self._partitions[written.path] = written
            self._sources.setdefault(written.path, set())
            before = {kept.source for kept in runs.values()}
            for run_id, stored in written.rows.items():
                if self._kept.get(run_id) is runs[run_id]:
                    self._move(run_id, stored)
            if (journal := self._journals.get(number)) and not self._sources[journal.file]:
                del self._journals[number]
            for path in before:
                if not self._sources[path]:
                    self._remove(path)

    def _remove(self, path: Path) -> None:
        """Removes what no run is read from any more; of a damaged partition only if all its runs are there again."""
        found = self._partitions.get(path)
        if found and found.damage and not found.rows.keys() <= self._kept.keys():
            return
        del self._sources[path]
        self._partitions.pop(path, None)
        for file in found.paths() if found else [path]:
            file.unlink(missing_ok=True)

    def _drop(self, damaged: Partition) -> None:
        """Reports a partition that is not as it was written, once, and forgets its runs."""
        with self._lock:
            lost = list(self._sources[damaged.path])
            if not lost:
                return
            again = [run_id for run_id in lost if run_id in self._awaited.get(self._number[run_id], ())]
            others = f"; {len(lost) - len(again)} more are not among these runs" if len(again) < len(lost) else ""
            self._say(f"{damaged.damage}; its {len(again)} runs are done again{others}")
            for run_id in lost:
                self.forget(run_id)


def _is_sealed(number: int, runs: Mapping[str, Kept]) -> bool:
    """Whether a partition of this number has these runs, and no other."""
    first = next(iter(runs.values()))
    if not isinstance(first, Stored):
        return False
    name = NAME.fullmatch(first.partition.path.name)
    return bool(name and int(name[1]) == number) and list(first.partition.rows.values()) == list(runs.values())


def _discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    remove_if_empty(folder.parent)


def _hold(folder: Path) -> int:
    """Keeps other processes from writing to a folder for as long as what this opens is not closed."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        import fcntl

        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        os.close(opened)
        raise ResultsError(f"{folder}: another `sojourn run` is writing to it; wait for its end") from None
    return opened
