"""Names of live runs' hosts in `ip netns`, which stay only if all processes of a run are killed."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from pathlib import Path

from sojourn.engines.interface import EngineError

FOLDER = Path("/run/netns")


def prefix() -> str:
    """Before the names of the runs of this process."""
    return f"sojourn-{os.getpid()}"


def check() -> None:
    """Raises `EngineError` if this user may not give names."""
    if os.geteuid() != 0:
        raise EngineError(f"--named: expected root: names are files in {FOLDER}, which others may not write")


def left() -> list[str]:
    """The names that no run holds any more.

    Raises `EngineError` if this user may not open one.
    """
    found = sorted(path for path in FOLDER.glob("sojourn-*") if re.fullmatch(r"sojourn-[0-9]+-.+", path.name))
    return [path.name for path in found if _is_left(path)]


def clean() -> list[str]:
    """Removes these names.

    Raises `EngineError` with what `ip` says if one cannot be removed.
    """
    names = left()
    for name in names:
        command = ["ip", "netns", "delete", name]
        path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
        # It may have gone in the meantime.
        if done.returncode and (FOLDER / name).exists():
            raise EngineError(f"{' '.join(command)}: {' '.join(done.stderr.split())}")
    return names


def _is_left(path: Path) -> bool:
    """Whether it is there and no run lives in it: each holds a lock, which ends with it."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        raise EngineError(f"{path}: {error.strerror}: expected a name that root may open") from None
    return True
