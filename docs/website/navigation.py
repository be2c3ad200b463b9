"""The order of the pages: that of docs/README.md, which lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from website.links import LINK

#: A page and its title, or a heading and what is below it.
Entry = Mapping[str, Any]

SECTION = re.compile(r"^## +(.+?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| ([^|]+) \| (.+) \|$", re.MULTILINE)
BULLET = re.compile(r"^- (.*?)(?=^- |^$|\Z)", re.MULTILINE | re.DOTALL)


def entries(readme: str, more: Iterable[Path]) -> list[Entry]:
    """Guides, algorithms, results and reference as the README has them; `more` are pages that it does not name."""
    sections = dict(SECTION.findall(readme))
    seen: set[str] = {"index.md", "documents.md", "glossary.md"}
    (_, first), *rows = [row for row in ROW.findall(sections["Guides"]) if LINK.search(row[1])]
    start = list(_pages(first, seen))
    guides = [group for task, links in rows if (group := _group(task, links, seen))]
    bullets = BULLET.findall(sections["Reference"])
    algorithms = [group for bullet in bullets if (group := _group(bullet.partition(":")[0], bullet, seen))]
    results = list(_pages(sections["Results"], seen))
    reference = list(_pages(sections["The code"], seen))
    others = [{_title(path): str(path)} for path in sorted(more) if str(path) not in seen]
    return [
        {"Start": [{"Sojourn": "index.md"}, *start, {"Glossary": "glossary.md"}, {"All documents": "documents.md"}]},
        {"Guides": guides},
        {"Algorithms": algorithms},
        {"Results": results},
        {"Reference": [*reference, {"More": others}] if others else reference},
    ]


def paths(entries_: Iterable[Any]) -> Iterator[str]:
    """Every page of a navigation."""
    for entry in entries_:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else paths(value)


def toml(entries_: Iterable[Any]) -> str:
    """A navigation as a TOML array."""
    parts = []
    for entry in entries_:
        for title, value in entry.items():
            shown = _quoted(value) if isinstance(value, str) else toml(value)
            parts.append(f"{{ {_quoted(title)} = {shown} }}")
    return f"[{', '.join(parts)}]"


def _group(head: str, text: str, seen: set[str]) -> Entry | None:
    pages = list(_pages(text, seen))
    return {head: pages} if pages else None


def _pages(text: str, seen: set[str]) -> Iterator[Entry]:
    """Pages that are linked, each where it is named first; a link into a page names the page if nothing else does."""
    for label, link in LINK.findall(text):
        page, _, anchor = link.partition("#")
        if page.endswith(".md") and not page.startswith("..") and page not in seen and not anchor:
            seen.add(page)
            title = re.sub(r"\s+", " ", label)
            yield {title[0].upper() + title[1:] if " " in title or page.startswith("guide") else title: page}


def _title(path: Path) -> str:
    name = path.parent.name if path.name == "about.md" else path.stem
    return name.replace("-", " ").capitalize()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
