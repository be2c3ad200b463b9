"""Copies the documents to where the generator reads them, with links and live figures as the site has them."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

from website import links, navigation

#: Pages outside of docs that belong to the site; what these and others link to follows.
FIRST = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*images/[^)]*\)$", re.MULTILINE)


class StageError(ValueError):
    """One line that says which page or figure is wrong."""


def stage(root: Path, target: Path, config: str, *, with_lab: bool = False) -> None:
    """Writes `target/docs` and `target/zensical.toml`, whose navigation leads to the lab if there is one.

    Raises `StageError` for a page that docs/README.md does not list, and for the data of a figure that are none.
    """
    docs = target / "docs"
    shutil.rmtree(target, ignore_errors=True)
    waiting = [*sorted((root / "docs").rglob("*.md")), *(root / name for name in FIRST)]
    done: set[Path] = set()
    while waiting:
        file = waiting.pop(0)
        if file in done or root not in file.parents:
            continue
        done.add(file)
        to = docs / links.place(file, root)
        to.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix != ".md":
            shutil.copyfile(file, to)
            continue
        text = file.read_text(encoding="utf-8")
        waiting += links.targets(text, file)
        to.write_text(_with_figure(links.rewritten(text, file, root), file, to), encoding="utf-8")
    pages = {links.place(file, root) for file in done if file.suffix == ".md"}
    more = [page for page in pages if page.parts[0] == "more"]
    nav = navigation.entries((root / "docs/README.md").read_text(encoding="utf-8"), more)
    if stray := sorted({str(page) for page in pages} - set(navigation.paths(nav))):
        raise StageError(f"docs/README.md: expected a link to {', '.join(stray)}")
    if with_lab:
        nav = [*nav, {"Lab": "lab/"}]
    (target / "zensical.toml").write_text(config.replace('"@NAV@"', navigation.toml(nav)), encoding="utf-8")


def _with_figure(text: str, page: Path, staged: Path) -> str:
    """A page with its picture as a live figure, if there are data of one beside it."""
    data = page.with_suffix(".figure.toml")
    if not data.is_file():
        return text
    try:
        figure = tomllib.loads(data.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise StageError(f"{data}: {error}") from None
    picture = PICTURE.search(text)
    if not picture:
        raise StageError(f"{page}: expected a picture below images/ on a line of its own, for {data.name}")
    staged.with_suffix(".figure.json").write_text(json.dumps(figure), encoding="utf-8")
    # The generator makes addresses of a page's folder of these.
    live = f'<sojourn-figure src="{page.stem}.figure.json">{picture[0]}</sojourn-figure>'
    module = '\n\n<script type="module" src="../figure/figure.js"></script>\n'
    style = '<link rel="stylesheet" href="../figure/figure.css">\n'
    return text[: picture.start()] + live + text[picture.end() :].rstrip() + module + style
