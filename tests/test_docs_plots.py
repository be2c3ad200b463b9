"""The pages of the algorithms, their images, and the figures that `make docs` draws."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from plots import catalogue
from sojourn import _core

pytestmark = pytest.mark.engine

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = DOCS / "algorithms"
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def registered() -> list[str]:
    return [entry["name"] for text in (_core.controllers(), _core.qdiscs()) for entry in json.loads(text)]


def images(page: Path) -> list[tuple[str, Path]]:
    return [(alt, page.parent / unquote(target)) for alt, target in IMAGE.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", registered())
def test_every_algorithm_has_a_page_that_says_its_name(name: str) -> None:
    page = PAGES / f"{name}.md"
    assert page.is_file()
    assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")


@pytest.mark.parametrize("name", registered())
def test_every_page_is_linked_from_the_list_of_documents(name: str) -> None:
    assert f"[{name}](algorithms/{name}.md)" in (DOCS / "README.md").read_text(encoding="utf-8")


def test_every_controller_has_its_figure_and_no_figure_is_of_nothing() -> None:
    catalogue.check()


@pytest.mark.parametrize("name", catalogue.names())
def test_a_page_shows_its_figure(name: str) -> None:
    kind = catalogue.kind(name)
    page = (DOCS / "guide" if kind == "guide" else PAGES) / f"{name}.md"
    assert (DOCS / "images" / kind / f"{name}.svg").resolve() in [target.resolve() for _, target in images(page)]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_every_image_of_a_page_exists_and_has_a_text_for_those_who_do_not_see_it(page: Path) -> None:
    for alt, target in images(page):
        assert target.is_file(), target
        assert alt


def test_no_image_is_without_a_page() -> None:
    shown = {target.resolve() for page in DOCS.rglob("*.md") for _, target in images(page)}
    drawn = {path.resolve() for kind in catalogue.KINDS for path in (DOCS / "images" / kind).glob("*")}
    assert drawn <= shown


def test_a_controller_without_a_figure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "REGISTERED", (*catalogue.CONTROLLERS, "novel"))
    with pytest.raises(catalogue.CatalogueError, match=r"no figure of novel.*expected"):
        catalogue.check()


def test_a_figure_of_a_name_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(catalogue.CatalogueError, match=r"novel: expected one of bbr, "):
        next(iter(catalogue.make(tmp_path, ["novel"])))


def test_a_figure_of_no_controller_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "REGISTERED", tuple(name for name in catalogue.CONTROLLERS if name != "reno"))
    with pytest.raises(catalogue.CatalogueError, match=r"figure of reno.*expected"):
        catalogue.check()


def test_a_figure_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = (next(iter(catalogue.make(tmp_path / kind, ["bbr"]))).read_bytes() for kind in ("a", "b"))
    assert first == second
    assert first.count(b"<svg") == 1
    assert b"<dc:date>" not in first
