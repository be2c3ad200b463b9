from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np

from sojourn import compare, metrics, report
from sojourn.report import report as page_of
from synthetic import S2, S2_STEM, flent_document, made_run, write_flent

if TYPE_CHECKING:
    from pathlib import Path


class Outline(HTMLParser):
    """Tags that are opened and closed, and every address that a browser would fetch."""

    VOID = frozenset({"meta", "br", "link", "img", "rect", "line", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [str(v) for k, v in attrs if k == "src" or (k == "href" and tag == "link")]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(tag)


def render(tmp_path: Path, ids: list[str], title: str = "Title") -> str:
    rtts = {"cubic": 36.0, "prague": 20.4}
    pairs = []
    for run_id in ids:
        a = made_run(run_id, {"cubic": 15.0, "prague": 31.0}, rtts)
        b = made_run(run_id, {"cubic": 16.0, "prague": 30.0}, rtts)
        pair = compare.pair_up(run_id, a, b)
        assert pair is not None
        pairs.append(pair)
    out = report.write_comparison(compare.Comparison(pairs=pairs), tmp_path / "report.html", title=title)
    return out.read_text(encoding="utf-8")


def test_the_page_is_whole_and_asks_for_nothing(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert outline.mistakes == []
    assert outline.fetched == []
    assert "default-src 'none'" in page
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_sixty_runs_stay_below_one_megabyte(tmp_path: Path) -> None:
    ids = [f"ect1/l4s-s2-twoflow/cubic-vs-prague/queue{i}/20ms" for i in range(60)]
    assert len(render(tmp_path, ids).encode()) < 1_000_000


def test_everything_untrusted_is_escaped(tmp_path: Path) -> None:
    evil = "x/y/<script>alert(1)</script>&\"'"
    page = render(tmp_path, [evil], title="<b>&")
    assert "<script>alert" not in page
    assert "<title>&lt;b&gt;&amp;</title>" in page
    payload = re.search(r'<script type="application/json" id="panels">(.*?)</script>', page, re.DOTALL)
    assert payload is not None
    assert list(json.loads(payload[1])) == [evil]


def test_numbers_differences_and_the_answer_are_in_the_table(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    assert '<td class="group a">31.00</td><td>30.00</td><td class="some over">+1.00</td>' in page
    assert "the same flow is ahead in 1 of 1" in page
    assert "the median flow" in page


def test_the_spread_has_a_column_only_with_several_seeds(tmp_path: Path) -> None:
    def page(*ids: str) -> str:
        lone: list[metrics.Source] = [
            made_run(i, {"cubic": 15.0, "prague": 31.0}, {"cubic": 36.0, "prague": 20.4}) for i in ids
        ]
        out = report.write_comparison(compare.Comparison(lone=lone), tmp_path / "seeds.html", title="Seeds")
        return out.read_text(encoding="utf-8")

    alone, twice = page(S2), page(S2, f"{S2}@seed2")
    assert ">Spread<" not in alone
    assert "Every value is that of one seed." in alone
    assert ">Spread<" in twice
    assert re.search(r"<td>2\.07 to 2\.07</td>", twice)


def test_numbers_carry_a_true_minus_and_no_signed_zero() -> None:
    assert page_of.number(-1.5, "+") == "\N{MINUS SIGN}1.50"
    assert page_of.number(-0.001, "+") == page_of.number(0.001, "+") == "0.00"
    assert page_of.number(0.01, "+") == "+0.01"
    assert compare.conclusion(compare.Comparison()).startswith("Nothing to compare")


def test_decimation_keeps_every_peak() -> None:
    t = np.linspace(0, 50, 5000)
    values = np.sin(t)
    values[1234], values[4000] = 99.0, -99.0
    thin = page_of.decimate(t, values, 50.0, 200)
    assert thin.size == 200
    assert (thin.max(), thin.min()) == (99.0, -99.0)


def test_stretches_without_samples_are_gaps() -> None:
    thin = page_of.decimate(np.array([0.1, 9.9]), np.array([1.0, 2.0]), 10.0, 20)
    assert thin[:2].tolist() == [1.0, 1.0]
    assert thin[-2:].tolist() == [2.0, 2.0]
    assert np.isnan(thin[2:-2]).all()


def test_series_travel_as_little_endian_float32(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    payload = re.search(r'id="panels">(.*?)</script>', page, re.DOTALL)
    assert payload is not None
    series = json.loads(payload[1])[S2]["rate"]["series"]
    assert [(s["label"], s["measured"]) for s in series] == [
        ("cubic", 0),
        ("prague", 0),
        ("cubic", 1),
        ("prague", 1),
    ]
    values = np.frombuffer(base64.b64decode(series[1]["data"]), dtype="<f4")
    assert np.nanmax(values) == 31
    assert len({s["colour"] for s in series}) == 2


def test_compare_writes_the_page_with_broken_files_named(tmp_path: Path) -> None:
    a = write_flent(tmp_path / "a" / f"{S2_STEM}.flent.gz", flent_document()).parent
    (a / "broken.flent").write_text("{")
    out = tmp_path / "deep" / "page.html"

    def page(comparison: compare.Comparison) -> None:
        report.write_comparison(comparison, out, title="broken")

    assert compare.compare(a, a, as_json=True, only=None, page=page) == 3
    assert "broken.flent: file: expected JSON" in out.read_text()


def test_a_run_without_a_counterpart_has_its_own_row(tmp_path: Path) -> None:
    lone = made_run("my/own/run", {"prague": 40.0}, {"prague": 20.4})
    comparison = compare.Comparison(lone=[lone])
    page = report.write_comparison(comparison, tmp_path / "r.html", title="t").read_text()
    assert '<td class="group a">40.00</td><td>–</td><td class="">–</td>' in page
    assert "no measured counterpart" in page
