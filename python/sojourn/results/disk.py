"""Files and folders that are whole or absent, and survive a power cut once they are there."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from pathlib import Path

IN_PROGRESS = ".in-progress"
#: To make a folder that others remove when it is empty.
ATTEMPTS = 100


class ResultsError(ValueError):
    """A file of a results folder that cannot be read; one line says which and what was expected."""


def check_folder(root: Path) -> None:
    """Raises `ResultsError` unless runs can be written below `root`, which need not exist; leaves nothing there."""
    there = next(folder for folder in (root.absolute(), *root.absolute().parents) if os.path.lexists(folder))
    try:
        # Who is killed in here leaves what `sojourn clean` knows as unfinished.
        with tempfile.TemporaryDirectory(prefix=f"{IN_PROGRESS}-", dir=there) as trial:
            Path(trial, "x").write_bytes(b"x")
    except OSError as error:
        raise ResultsError(f"{root}: expected a folder that can be written ({there}: {error.strerror})") from None


def building(root: Path) -> Path:
    """A new folder below `root` for what is not whole yet."""
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


def sync(path: Path) -> None:
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


def sha256(content: bytes) -> str:
    """The digest of a content."""
    return hashlib.sha256(content).hexdigest()


def digest_of(path: Path) -> str:
    """The digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_if_empty(folder: Path) -> bool:
    """Whether the folder was empty, and is gone."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
