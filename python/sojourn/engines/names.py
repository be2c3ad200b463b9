"""Names of live runs' hosts in `ip netns`: which a run leaves only if all its processes are killed."""

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


def clean(*, dry: bool) -> list[str]:
    """Removes the names that no run holds any more, or with `dry` only finds them.

    Raises `EngineError` with what `ip` says if one cannot be removed.
    """
    found = sorted(path for path in FOLDER.glob("sojourn-*") if re.fullmatch(r"sojourn-[0-9]+-.+", path.name))
    left = [path.name for path in found if not _is_held(path)]
    for name in left if not dry else ():
        command = ["ip", "netns", "delete", name]
        path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
        if done.returncode:
            raise EngineError(f"{' '.join(command)}: {' '.join(done.stderr.split())}")
    return left


def _is_held(path: Path) -> bool:
    """Whether a run lives in it: each holds a lock, which ends with it, whatever its process id was."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
