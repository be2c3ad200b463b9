"""The lab prints a page with the same tags and classes as the report, so that both look and behave alike."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from browser import Page, chromium
from sojourn import report
from sojourn.report import model
from sojourn.study.chart import Axis, Chart, Curve, Mark, Panel, Scale

WEB = Path(__file__).resolve().parents[1] / "web"
ESBUILD = WEB / "node_modules/esbuild/bin/esbuild"

pytestmark = [
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)"),
    pytest.mark.skipif(not shutil.which("node") or not ESBUILD.is_file(), reason="no esbuild (cd web && npm ci)"),
]

#: Every element of the sections with its classes and its text, but for what uPlot draws.
OUTLINE = """(() => {
  const text = e => (e.children.length ? "" : e.textContent.replace(/\\s+/g, " ").trim());
  return [...document.querySelectorAll(".part")].flatMap(part => [part, ...part.querySelectorAll("*")])
    .filter(e => !e.closest(".plot > *")).map(e => [e.tagName, e.getAttribute("class") || "", text(e)].join(" "));
})()"""
DRAWN = """(document.querySelector(".plot").scrollIntoView({behavior: "instant"}),
    document.querySelector(".plot canvas") !== null)"""


def sample() -> model.Page:
    """Something of everything that a page can hold."""
    cells = [
        model.Cell("cubic"),
        model.Cell(a=31.0, b=-30.0, mark="far over"),
        None,
        model.Cell("x", mark="pass", note="n"),
    ]
    columns = [model.Column("Run", "name"), model.Column("Flow", "name"), model.Column("Goodput", main=True)]
    columns += [model.Column("RTT"), model.Column("Verdict", "text")]
    head = [model.Cell("run", links={"plot": "a.svg", "data": "b"})]
    group = model.Group([cells, cells], head, run="a/b")
    tables = [
        model.Table("flows", columns, [group, model.Group([], head, note="nothing")], "About.", ("ours", "measured")),
        model.Table(
            "glance",
            [model.Column("N", "change", run="a/b")],
            [model.Group([[model.Cell(a=0.001)], [model.Cell(a=-250.06)]])],
        ),
    ]
    dots = [model.Dot("a/b f", 50, 60, "#0072B2", True), model.Dot("a/b g", 20, 60, "#D55E00", False, "far one")]
    dots += [model.Dot("z/z g", 80, 10, "#D55E00", True, "another")]
    axis, words = (
        Axis("rate", (1, 100), [(1, "1"), (10, "10")], log=True),
        Axis.of_words("queue", ["codel", "a longer word"]),
    )
    marks = [Mark(1, 0, "one", low=0.5, high=2.0), Mark(50, 1, "two", faint=True)]
    cell = [Mark(0, 0, "cell", "#222222", "1.5"), Mark(1, 1, "cell", "#eeeeee", "2")]
    charts = [
        Chart(
            "lines", "Q?", axis, words, [Panel("p", [Curve("c", "#0072B2", marks, 1, True)])], "a note", legend="legend"
        ),
        Chart(
            "heat", "H?", words, words, [Panel("", [Curve("", "", cell)])], scale=Scale("s", [(0, "0")], ["#000000"])
        ),
    ]
    series = [model.Series("cubic", "#D55E00", [1.0, None, 3.0]), model.Series("cubic", "#D55E00", [1.0, 2.0, 3.0], 1)]
    plots = [model.Plot("rate", "Rate, Mbit/s", "Mbit/s", series, (0.0, 4.0)), model.Plot("rtt", "RTT, ms", "ms")]
    one = model.Figure("a/b", 10.0, plots, (2.0, 8.0), compared=True, data="s.parquet")
    other = model.Figure("c/d", 10.0, plots, caption="its own")
    scatters = [model.Scatter("Share", (0, 100), [0, 50.5, 100], dots)]
    scatters.append(model.Scatter("RTT", (1, 100), [1, 10], [], True))
    rows = [model.Row([[one], []], "x")]
    sections = [
        model.Section("glance", "At a glance", "Why?", ["First.", "Second."], {"pass": 3}, tables, scatters),
        model.Section("charts", "Charts", text=["Lead."], charts=charts, figures=[model.Row([[other]])]),
        model.Section("sides", "Sides", sides=["L4S", "SCE"], figures=rows, terms={"a": "b"}, notes=["n"]),
    ]  # fmt: skip
    return model.Page("Title", "Lead", ("ours", "measured"), sections, "Intro", ["x: cannot be read"])


def test_the_lab_prints_what_the_report_prints(tmp_path: Path) -> None:
    printed = report.write(sample(), tmp_path / "report.html")
    entry = tmp_path / "entry.tsx"
    entry.write_text(f"""import {{ h, render }} from "preact";
        import {{ PageView }} from "{WEB}/src/page/view";
        render(h(PageView, {{ page: {report.to_json(sample())} }}), document.body);
        document.body.dataset.done = "yes";""")
    flags = ["--bundle", "--jsx=automatic", "--jsx-import-source=preact", f"--outfile={tmp_path / 'lab.js'}"]
    subprocess.run(
        [ESBUILD, entry, *flags], check=True, capture_output=True, env={"NODE_PATH": str(WEB / "node_modules")}
    )
    lab = tmp_path / "lab.html"
    styles = "".join(
        f'<link rel="stylesheet" href="{WEB.parent}/python/sojourn/page/{name}.css">' for name in ("tokens", "page")
    )
    lab.write_text(f"<!doctype html><meta charset=utf-8>{styles}<body><script src=lab.js></script>")
    with Page(printed.as_uri()) as page:
        page.until(DRAWN)
        wanted = page.evaluate(OUTLINE)
    with Page(lab.as_uri()) as page:
        page.until(f"document.body.dataset.done === 'yes' && {DRAWN}")
        got, errors = page.evaluate(OUTLINE), page.errors
    assert got == wanted
    assert len(wanted) > 150
    assert errors == []
