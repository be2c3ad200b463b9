"""Checks a built site: every link leads to a page and a place in it, and no page asks another host for anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser fetch something, by element; links that are followed by a reader are not among them.
FETCHED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "sojourn-figure": "src"}
#: Links of a page's head that fetch nothing.
NAMED = frozenset({"canonical", "alternate", "next", "prev"})


@dataclass
class _Page(HTMLParser):
    """Ids, links, and what a page fetches."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.ids.update(filter(None, (found.get("id"), found.get("name"))))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in FETCHED and FETCHED[tag] in found and found.get("rel") not in NAMED:
            self.fetched.append(found[FETCHED[tag]])


def problems(site: Path) -> Iterator[str]:
    """What is wrong, a line each."""
    for file in sorted(site.rglob("*.html")):
        page, name = _read(file), file.relative_to(site)
        for link in page.fetched:
            if urlsplit(link).netloc:
                yield f"{name}: asks another host for {link}"
        # The page for what is not there is served from anywhere, with links from the top.
        if name.name == "404.html":
            continue
        for link in [*page.links, *page.fetched]:
            if not _leads_somewhere(link, file, site):
                yield f"{name}: {link} leads nowhere"


def _leads_somewhere(link: str, file: Path, site: Path) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target /= "index.html"
    if site not in target.parents or not target.is_file():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target.suffix != ".html" or anchor.startswith("__") or anchor in _read(target).ids


@cache
def _read(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page
