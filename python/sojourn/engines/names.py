"""Names of live runs' hosts in `ip netns`, which stay only if all processes of a run are killed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import time
from pathlib import Path

from sojourn.engines.interface import EngineError

FOLDER = Path("/run/netns")
#: The answer of a namespace's file to what kind it is: a network (ioctl_nsfs(2); CLONE_NEWNET).
NS_GET_NSTYPE, NETWORK = 0xB703, 0x40000000
#: A name is an ordinary file before the namespace is there, for far less than this.
MADE_WITHIN_S = 60.0


def prefix() -> str:
    """Before the names of the runs of this process."""
    return f"sojourn-{os.getpid()}"


def check() -> None:
    """Raises `EngineError` if this user may not give names."""
    if os.geteuid() != 0:
        raise EngineError(f"--named: expected root: names are files in {FOLDER}, which others may not write")


def left() -> list[str]:
    """The names that runs have given and none holds any more.

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
        done = _run(command)
        # It may have gone in the meantime.
        if done.returncode and (FOLDER / name).exists():
            raise EngineError(f"{' '.join(command)}: {' '.join(done.stderr.split())}")
    return names


def _is_left(path: Path) -> bool:
    """Whether it is there, of a run, and no run lives in it: each holds a lock, which ends with it."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                kind = fcntl.ioctl(file, NS_GET_NSTYPE)
            except OSError:  # no namespace: a name that is being made, or was when its run was killed
                return time.time() - os.fstat(file.fileno()).st_mtime > MADE_WITHIN_S
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        raise EngineError(f"{path}: {error.strerror}: expected a name that root may open") from None
    return kind == NETWORK and _is_of_a_run(path)


def _is_of_a_run(path: Path) -> bool:
    """Whether its loopback device has the name as its alias, which a namespace of the user's own has not."""
    done = _run(["nsenter", f"--net={path}", "ip", "-j", "link", "show", "dev", "lo"])
    if done.returncode:  # it has gone in the meantime, say
        return False
    return any(device.get("ifalias") == path.name for device in json.loads(done.stdout))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
