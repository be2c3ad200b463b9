"""Where `run` keeps what it has done: a folder a run, or one dataset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from sojourn.results.dataset import is_dataset
from sojourn.results.disk import ResultsError
from sojourn.results.folders import Folders, run_folders
from sojourn.results.keeper import Keeper
from sojourn.results.run import Run

Form = Literal["folders", "dataset"]
#: More runs than these are kept as a dataset, unless the folder holds runs in folders already.
MOST_FOLDERS = 200


class Store(Protocol):
    """Keeps finished runs."""

    @property
    def packed(self) -> bool:
        """How it takes the series best, for `deterministic_files`; it takes Parquet too."""

    def check(self) -> None:
        """Raises `ResultsError` unless runs can be written."""

    def check_place(self, run_id: str) -> None:
        """Raises `FileExistsError` if there is no place for a run."""

    def existing(self, run_id: str, wanted: str) -> Run | None:
        """The complete run of this id and content hash, if there is one and its files are as they were written."""

    def write(self, manifest: Mapping[str, Any], files: Mapping[str, bytes], captures: Iterable[Path] = ()) -> Run:
        """Keeps a run, in place of an earlier one of the same id; its captures are moved."""

    def close(self) -> None:
        """Ends it; runs that were returned stay readable."""


def store(root: Path, ids: Collection[str], form: Form | None = None, say: Callable[[str], None] = print) -> Store:
    """The form that a results folder has, or the one that is asked for, or by the number of runs.

    Raises `ResultsError` if the folder has the other form.
    """
    has: Form | None = None
    if is_dataset(root):
        has = "dataset"
    elif any(True for _ in run_folders(root)):
        has = "folders"
    if form and has and form != has:
        kept = "a dataset" if has == "dataset" else "a folder a run"
        raise ResultsError(f"{root}: holds its runs as {kept}; choose another folder, or leave --store out")
    chosen = has or form or ("dataset" if len(ids) > MOST_FOLDERS else "folders")
    return Keeper(root, ids, say) if chosen == "dataset" else Folders(root)
