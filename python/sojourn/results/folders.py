"""A folder a run, whole or absent.

`scenario.toml`, `summary.json`, `queue.json`, `series.parquet` and the captures that the scenario asks for,
`NAME.pcapng`, are a function of scenario, seed and engine version, byte for byte. What changes from one machine
or hour to the next (time, host, command) is in `manifest.json` alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.results.content import FILES, as_text, capture_names
from sojourn.results.disk import IN_PROGRESS, building, check_folder, digest_of, remove_if_empty, sha256, sync
from sojourn.results.run import FORMAT, MANIFEST, Run


class Folders:
    """Keeps runs as a folder each."""

    packed = False

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Raises `ResultsError` unless runs can be written."""
        check_folder(self.root)

    def check_place(self, run_id: str) -> None:
        """Raises `FileExistsError` if there is no place for a run."""
        check_place(self.root, run_id)

    def existing(self, run_id: str, wanted: str) -> Run | None:
        """The complete run of this id and content hash, if there is one and its files are as they were written."""
        return existing(self.root, run_id, wanted)

    def write(self, manifest: Mapping[str, Any], files: Mapping[str, bytes], captures: Iterable[Path] = ()) -> Run:
        """Puts a run into its folder in one step."""
        return write(self.root, manifest, files, captures)

    def close(self) -> None:
        """Nothing is left to do."""


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
            is_whole = all(digest_of(run.path / name) == kept[name] for name in (*FILES, *capture_names(run.scenario)))
            return run if is_whole else None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def write(root: Path, manifest: Mapping[str, Any], files: Mapping[str, bytes], captures: Iterable[Path] = ()) -> Run:
    """Puts a run into its folder in one step, replacing an earlier one of the same id; its captures are moved there.

    Its files are on the disk before it is in its place, and its place before this returns.
    """
    target = root / str(manifest["id"])
    check_place(root, str(manifest["id"]))
    made = building(root)
    try:
        digests = {name: sha256(content) for name, content in files.items()}
        for capture in captures:
            digests[capture.name] = digest_of(capture)
            capture.rename(made / capture.name)
            sync(made / capture.name)
        text = as_text(json.dumps({"format": FORMAT, **manifest, "files": digests}, indent=2))
        for name, content in {**files, MANIFEST: text}.items():
            (made / name).write_bytes(content)
            sync(made / name)
        sync(made)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            old = building(root)
            target.rename(old / "old")
            made.rename(target)
            shutil.rmtree(old)
        else:
            made.rename(target)
        for folder in target.parents:
            sync(folder)
            if folder == root.parent:
                break
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    finally:
        remove_if_empty(root / IN_PROGRESS)
    return Run(target)


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
