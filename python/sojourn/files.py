"""Files for the user, whole or not at all; files from anywhere, within bounds."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Puts a file in its place in one step, so that a full disk leaves what was there and nothing else.

    Folders above it are made. What exists and is no file, such as `/dev/stdout`, is written to.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    place = path.resolve()
    building = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        building.write_bytes(data)
        building.replace(place)
    except BaseException as error:
        building.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(building)):
            error.filename = str(path)
        raise


def read_bounded(path: Path, most: int, what: str) -> str:
    """The text of a file from anywhere, of at most `most` bytes; ValueError says what was expected of `path`."""
    if not path.is_file():
        raise ValueError(f"{path}: expected a file with {what}")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path}: expected at most {most >> 20} MiB")
    return data.decode(errors="replace")
