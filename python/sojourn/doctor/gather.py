"""Reads what checks are made of: files of the kernel and answers of its tools, within bounds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

#: No file or answer that is of use is longer, and no tool takes longer. The kernel refuses reads of its settings of
#: KMALLOC_MAX_SIZE (4 MiB) or more: proc_sys_call_handler.
MOST_BYTES = 1 << 20
LIMIT_S = 10.0
#: Where `ip` is may not be in the path of a user.
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def text(path: str | Path) -> str | None:
    """A file's text; None if there is none, or it is not for this user."""
    try:
        with Path(path).open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return None


def texts(folder: str | Path) -> dict[str, str]:
    """The texts of all files in a folder that can be read, by their names."""
    try:
        files = sorted(Path(folder).iterdir())
    except OSError:
        return {}
    found = ((file.name, text(file)) for file in files)
    return {name: content for name, content in found if content is not None}


def tool(name: str) -> str | None:
    """Where a program is."""
    return shutil.which(name, path=PATH)


def answer(*command: str) -> str | None:
    """What a program prints; None if it is missing, fails or takes too long."""
    program = tool(command[0])
    if program is None:
        return None
    environment = {"PATH": PATH, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            env=environment,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout[:MOST_BYTES].decode(errors="replace")


def objects(*command: str) -> list[dict[str, Any]]:
    """The JSON objects that a program prints in an array; empty if it does not."""
    try:
        document = json.loads(answer(*command) or "[]")
    except (ValueError, RecursionError):
        return []
    return [one for one in document if isinstance(one, dict)] if isinstance(document, list) else []
