"""Paths of results as the page has them, which lead nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sojourn.results.dataset import above
from sojourn.serve.errors import RequestError


class Places:
    """Folders of results, absolute, by the first part of their paths."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self.roots = dict(roots)

    def find(self, name: str) -> Path:
        """The place of this path; nothing at or below it is a link that leads out of its folder.

        Raises `RequestError` for every other path, and says nothing about what is there.
        """
        first, *parts = name.split("/")
        root = self.roots.get(first)
        if root is None or not all(map(_is_plain, parts)):
            raise RequestError(f"{name!r}: no such results", 404)
        path = root.joinpath(*parts)
        if not _is_within(root, path):
            raise RequestError(f"{name!r}: no such results", 404)
        # Runs of a dataset have no folder: the one that holds them is looked at.
        there = path if path.exists() else (above(path) or (root.parent, ""))[0]
        if not there.is_relative_to(root):
            raise RequestError(f"{name!r}: no such results", 404)
        for folder, below, files in os.walk(there):
            for entry in (*below, *files):
                place = Path(folder, entry)
                if place.is_symlink() and not _is_within(root, place):
                    raise RequestError(f"{self.name(place)}: a link that leads out of the results: not read", 403)
        return path

    def name(self, path: Path) -> str:
        """The path of a place."""
        for first, root in self.roots.items():
            if path.is_relative_to(root):
                return "/".join([first, *path.relative_to(root).parts])
        raise RequestError(f"{path}: not among these results", 404)


def shown(path: Path) -> str:
    """What to type for a path on this command line."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _is_plain(part: str) -> bool:
    """Whether a part names something in a folder, and nothing hidden, above it or on another drive."""
    return part.isprintable() and part[:1] not in ("", ".") and not set(part) & set("\\:")


def _is_within(root: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())
