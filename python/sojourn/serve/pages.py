"""The page's own files, which `make web` makes: what there is, and how browsers may keep it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

INDEX = "index.html"
#: Not those of the machine, which may have others: a browser runs no module of a wrong type.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
#: Names with a hash of the content, as the build gives them: another content has another name.
HASHED = re.compile(r"/assets/[^/]+-[A-Za-z0-9]{8}\.[a-z0-9.]+")
FOR_EVER, ASK_AGAIN = "public, max-age=31536000, immutable", "no-cache"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page."""

    file: Path
    type: str
    cache: str


def assets(folder: Path) -> dict[str, Asset]:
    """Every file by its path in URLs: a request finds one of these or nothing, so that it leads nowhere else."""
    found = {}
    for place, below, files in os.walk(folder):
        below.sort()
        for name in sorted(files):
            file = Path(place, name)
            path = f"/{file.relative_to(folder).as_posix()}"
            cache = FOR_EVER if HASHED.fullmatch(path) else ASK_AGAIN
            found[path] = Asset(file, TYPES.get(file.suffix, "application/octet-stream"), cache)
    if index := found.get(f"/{INDEX}"):
        found["/"] = index
    return found


def is_there(folder: Path) -> bool:
    """Whether the page was made."""
    return (folder / INDEX).is_file()
