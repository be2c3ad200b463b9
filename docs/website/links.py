"""Links of Markdown pages: where they lead, and where that is on the site."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

#: What is no text: fenced blocks and code spans.
CODE = re.compile(r"^(?P<fence>```|~~~).*?^(?P=fence)|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\](?:\([^)]*\))?)*)\]\(([^)\s]+)\)")
#: The page that comes first, and the one that lists the others.
FRONT = {Path("README.md"): Path("index.md"), Path("docs/README.md"): Path("documents.md")}
#: Files that a browser shows as they are; of others their text is shown.
SHOWN = frozenset({".svg", ".png", ".json"})


def place(file: Path, root: Path) -> Path:
    """Where a file of the repository is on the site, relative to its top."""
    path = file.relative_to(root)
    if path in FRONT:
        return FRONT[path]
    if path.parts[0] == "docs" and path.suffix in {".md", *SHOWN}:
        return Path(*path.parts[1:])
    if path.suffix == ".md":
        # A page of that name at the top of a folder would be the folder's own.
        return Path("more", *path.parts[:-1], "about.md" if path.name == "README.md" else path.name.lower())
    if path.suffix in SHOWN:
        return Path("source") / path
    return Path("source") / f"{path}.txt"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its prose changed, and its code as it is, also within the label of a link."""
    codes: list[str] = []

    def hidden(code: re.Match[str]) -> str:
        codes.append(code[0])
        return f"\0{len(codes) - 1}\0"

    return re.sub(r"\0(\d+)\0", lambda at: codes[int(at[1])], change(CODE.sub(hidden, text)))


def targets(text: str, page: Path) -> Iterator[Path]:
    """Files of the repository that a page's links lead to."""
    for link in LINK.finditer(CODE.sub("", text)):
        yield from targets(link[1], page)
        if (file := _file(link[2], page)) and file.is_file():
            yield file


def rewritten(text: str, page: Path, root: Path) -> str:
    """A page with its links as they are on the site; one to a folder is its text alone."""

    def one(link: re.Match[str]) -> str:
        label = LINK.sub(one, link[1])
        file = _file(link[2], page)
        if file is None:
            return f"[{label}]({link[2]})"
        if not file.is_file():
            return label
        anchor = link[2].partition("#")[2]
        to = os.path.relpath(place(file, root), place(page, root).parent)
        return f"[{label}]({quote(to, safe='/.+~')}{'#' + anchor if anchor else ''})"

    return outside_code(text, lambda prose: LINK.sub(one, prose))


def _file(link: str, page: Path) -> Path | None:
    """What a link leads to; None if it is no path."""
    path = unquote(link.partition("#")[0])
    if not path or re.match(r"[a-z]+:", link):
        return None
    return (page.parent / path).resolve()
