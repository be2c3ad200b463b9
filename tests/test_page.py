"""The report as data: its JSON Schema, what a front end gets, and that printers need nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from page_types import typescript
from sojourn import compare, report
from sojourn.cli import call
from sojourn.report import html, markdown
from sojourn.report.model import Page
from synthetic import S2, S2_STEM, flent_document, made_run, write_flent

ROOT = Path(__file__).resolve().parents[1]
SCHEMA, TYPES = ROOT / "docs/page.schema.json", ROOT / "web/src/page/model.ts"
WRITE = "PYTHONPATH=tests python -m test_page"
RTTS = {"cubic": 36.0, "prague": 20.4}


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """A run beside its measurement, and one of a scenario of the user's alone."""
    a = made_run(S2, {"cubic": 15.0, "prague": 31.0}, RTTS)
    b = made_run(S2, {"cubic": 16.0, "prague": 30.0}, RTTS)
    pair = compare.pair_up(S2, a, b)
    assert pair is not None
    lone = made_run("mine", {"prague": 40.0}, {"prague": 20.4})
    comparison = compare.Comparison(pairs=[pair], lone=[lone], errors=["x: cannot be read"])
    return report.of_comparison(comparison, tmp_path, title="A <b> title")


def without_empty_defaults(node: Any) -> Any:
    """A schema without defaults of empty arrays and objects, which msgspec states from 0.23 on."""
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if not (key == "default" and value in ([], {}))}
        return {key: without_empty_defaults(value) for key, value in kept.items()}
    return [without_empty_defaults(item) for item in node] if isinstance(node, list) else node


def schema() -> str:
    """The JSON Schema of a page, from its classes."""
    return json.dumps(without_empty_defaults(msgspec.json.schema(Page)), indent=2) + "\n"


def test_the_schema_in_the_documents_is_that_of_the_classes() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema(), f"write it anew: {WRITE}"


def test_the_types_of_the_lab_are_those_of_the_schema() -> None:
    assert TYPES.read_text(encoding="utf-8") == typescript(json.loads(schema())), f"write them anew: {WRITE}"


def test_json_is_by_the_schema_and_has_everything(page: Page) -> None:
    """Reading is strict in types; printers make the same of what was read as of the page itself."""
    read = msgspec.json.decode(report.to_json(page), type=Page)
    assert read == page
    assert html.render(read) == html.render(page)
    assert markdown.render(read) == markdown.render(page)


def texts(part: Any) -> list[str]:
    """Every text of a document."""
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return [text for one in parts for text in texts(one)]


def test_there_is_no_markup_in_it(page: Page) -> None:
    page_texts = texts(json.loads(report.to_json(page)))
    assert "A <b> title" in page_texts
    assert [text for text in page_texts if re.search(r"<\w+[ >]|</|&\w+;|\*\*|\]\(", text)] == ["A <b> title"]


def test_numbers_of_both_sides_and_curves_are_values(page: Page) -> None:
    document = json.loads(report.to_json(page))
    assert (document["schema"], document["sides"]) == ("sojourn/page/1", ["ours", "measured"])
    section = next(one for one in document["sections"] if one["id"] == "section-ect1-s2-twoflow")
    (flows,) = section["tables"]
    assert flows["sides"] == ["ours", "measured"]
    (group,) = flows["groups"]
    assert group["run"] == S2
    goodput = group["rows"][1][1]
    assert (goodput["a"], goodput["b"], goodput["mark"]) == (pytest.approx(31), pytest.approx(30), "over")
    (figure,) = section["figures"][0]["columns"][0]
    rate = next(plot for plot in figure["plots"] if plot["kind"] == "rate")
    assert [(s["label"], s.get("side", 0)) for s in rate["series"]] == [
        ("cubic", 0), ("prague", 0), ("cubic", 1), ("prague", 1),
    ]  # fmt: skip
    assert max(value for value in rate["series"][1]["values"] if value is not None) == 31


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_flent(tmp_path / "a" / f"{S2_STEM}.flent.gz", flent_document()).parent


def test_the_name_of_the_file_says_what_it_becomes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.parent
    for name in ("r.html", "r.md", "r.json"):
        assert call(["report", str(folder), "-o", str(out / name)]) == 0
    assert (out / "r.html").read_text().startswith("<!doctype html>")
    assert (out / "r.md").read_text().startswith("# Sojourn report: a\n")
    written = msgspec.json.decode((out / "r.json").read_text(), type=Page)
    capsys.readouterr()
    assert call(["report", str(folder), "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=Page) == written
    assert call(["compare", str(folder), str(folder), "--json", "--report", str(out / "c.json")]) == 0
    assert msgspec.json.decode((out / "c.json").read_text(), type=Page).title == "Sojourn: a beside a"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
    TYPES.write_text(typescript(json.loads(schema())), encoding="utf-8")
