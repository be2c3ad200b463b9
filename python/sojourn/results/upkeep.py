"""Results folders as a whole: the newest, what may go."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from sojourn.results.dataset import FOLDER, Dataset, is_dataset
from sojourn.results.disk import IN_PROGRESS, ResultsError, remove_if_empty
from sojourn.results.folders import run_folders
from sojourn.results.keeper import Keeper
from sojourn.results.run import MANIFEST, Run

LATEST = ".latest-"


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

    def written_at(file: Path) -> float:
        try:
            return file.stat().st_mtime
        except OSError:  # removed in between
            return 0.0

    found = [(written_at(folder / MANIFEST), folder) for folder in run_folders(root)]
    for folder in datasets(root):
        found += [(max(map(written_at, (folder / FOLDER).iterdir()), default=0.0), folder)]
    for _, folder in sorted(found, reverse=True):
        if is_dataset(folder) or _whole(Run(folder)):
            inside = folder.relative_to(root).parts
            return root / inside[0] if inside else root
    return None


def datasets(root: Path) -> Iterator[Path]:
    """Folders at or below `root` that hold a dataset."""
    for folder, below, _ in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if is_dataset(Path(folder)):
            below.remove(FOLDER)
            yield Path(folder)


def clean(root: Path, *, everything: bool, dry: bool) -> list[Path]:
    """Removes unfinished work, incomplete runs or all runs below `root`; returns what went."""
    unfinished = sorted(root.glob(f"**/{IN_PROGRESS}*"))
    runs = [f for f in run_folders(root) if everything or not _whole(Run(f))]
    removed = [path for folder in datasets(root) for path in _clean_dataset(folder, everything=everything, dry=dry)]
    if not dry:
        for folder in (*unfinished, *runs):
            shutil.rmtree(folder)
            parent = folder.parent
            while parent != root and remove_if_empty(parent):
                parent = parent.parent
        if (link := root / "latest").is_symlink() and not link.exists():
            link.unlink()
        for link in root.glob(f"{LATEST}*"):
            if link.is_symlink():
                link.unlink()
    return [*unfinished, *runs, *removed]


def _clean_dataset(root: Path, *, everything: bool, dry: bool) -> list[Path]:
    """Removes incomplete runs of a dataset, or it as a whole, with their captures."""
    known = Dataset(root, [])
    gone = [run_id for run_id, kept in known.kept.items() if everything or not kept.complete]
    if not gone or dry:
        return [root / FOLDER] if everything else [root / run_id for run_id in gone]
    for capture in (capture for run_id in gone for capture in known.run(run_id).captures):
        capture.unlink(missing_ok=True)
        parent = capture.parent
        while parent != root and remove_if_empty(parent):
            parent = parent.parent
    if everything:
        shutil.rmtree(root / FOLDER)
        remove_if_empty(root)
        return [root / FOLDER]
    keeper = Keeper(root, (), lambda _: None)
    keeper.check()
    for run_id in gone:
        keeper.forget(run_id)
    keeper.close()
    return [root / run_id for run_id in gone]


def _whole(run: Run) -> bool:
    try:
        return run.complete
    except ResultsError:
        return False
