"""Runs in the lab, in a real Chromium: curves, forks, sweeps, measurements and downloads."""

from __future__ import annotations

import io
import json
import math
import re
import statistics
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

pytestmark = [lab.needed, pytest.mark.engine, pytest.mark.timeout(300)]

SHORT = """
name = "short"
duration = "5s"

[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "5ms"

[[flow]]
name = "cubic"
cc = "cubic"
start_jitter = "100ms"

[[flow]]
name = "prague"
cc = "prague"
tcp.ecn = "accecn"
start_jitter = "100ms"

[[ping]]
name = "ping"
"""
LONG = SHORT.replace('duration = "5s"', 'duration = "5000s"\nstep = "1s"')
#: For what takes as long as a run: a machine may be slow.
PATIENCE_MS = 90_000
#: Student's t for 95 % and two degrees of freedom.
T_OF_3 = 4.302652729749462


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Browser, str]]:
    with lab.served() as url, lab.opened() as browser:
        yield browser, url


@pytest.fixture
def visit(running: tuple[Browser, str]) -> Iterator[lab.Lab]:
    """The lab for a test; nothing is said on the console, and nobody else is asked."""
    visit = lab.Lab(*running)
    yield visit
    visit.close()
    assert visit.errors == []
    assert visit.elsewhere() == []


def native(text: str, **overrides: str) -> dict[str, Any]:
    """Summary and series of the same scenario, by the engine of this machine."""
    from sojourn import _core

    changes = [(key.replace("__", "."), value) for key, value in overrides.items()]
    resolved, _ = _core.resolve(text, "short.toml", changes)
    run = _core.Engine.simulator().start(resolved)
    while run.advance() != "ended":
        pass
    result = run.finish()
    return {
        "toml": resolved,
        "summary": json.loads(result.summary),
        "queues": json.loads(result.queues),
        "series": result.series,
    }


def delay(result: dict[str, Any]) -> float:
    """Mean delay of the bottleneck, ms."""
    found: float = next(queue["sojourn_ms"]["mean"] for queue in result["queues"] if queue["name"] == "bneck")
    return found


def opened(visit: lab.Lab, text: str, tab: str = "result", name: str = "short") -> Page:
    """The page with a scenario, which it runs."""
    from sojourn import _core

    page = visit.open(lab.link(text, name, _core.version(), tab))
    page.set_default_timeout(PATIENCE_MS)
    return page


def done(page: Page, view: str = "run") -> None:
    page.wait_for_selector(f"article.{view}[data-status=done]")


def show(page: Page, tab: str) -> None:
    """Opens a tab of the outcome."""
    page.get_by_role("tab", name=tab, exact=True).or_(page.get_by_role("button", name=tab, exact=True)).first.click()


def row(page: Page, heading: str) -> list[str]:
    """Cells of the table's row with this heading."""
    found = page.locator("tr").filter(has=page.locator("th[scope=row]").get_by_text(heading, exact=True)).first
    return [text.strip() for text in found.locator("td").all_inner_texts()]


def test_a_run_says_what_the_command_line_says(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    flows = {flow["name"]: flow for flow in native(SHORT)["summary"]["flows"]}
    for name in ("cubic", "prague"):
        cells = row(page, name)
        assert cells[1] == f"{flows[name]['goodput_mbps']:.{2 if flows[name]['goodput_mbps'] < 9.995 else 1}f}"
        assert cells[7] == str(flows[name]["receiver"]["ce_received"])
    titles = page.locator(".run figure.chart figcaption b").all_inner_texts()
    assert titles[:3] == ["Goodput", "Queue delay", "RTT"]
    assert page.locator(".queue figure.queue-lane").count() == 2


def test_charts_zoom_together_and_by_keyboard(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    first = page.locator(".run .chart-canvas").first
    first.focus()
    page.keyboard.press("+")
    page.wait_for_function("document.querySelector('.timebar')?.textContent.includes(' to ')")
    shown = page.locator(".timebar .soft").inner_text()
    assert shown == "1.25 to 3.75 s"
    page.keyboard.press("0")
    page.wait_for_function("!document.querySelector('.timebar')?.textContent.includes(' to ')")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.timebar-at').textContent === '0.10 s'")


def test_the_slider_moves_every_legend_and_the_queue(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    page.locator(".timebar input").fill("2.5")
    series = {name: (t, v) for name, _, t, v in native(SHORT)["series"]}
    t, rtt = series["flow.cubic.rtt"]
    expected = float(rtt[t <= 2.5][-1])
    legend = page.locator("figure.chart", has_text="RTT, ms").locator("li", has_text="cubic").locator("output")
    assert float(legend.inner_text()) == pytest.approx(expected, abs=0.051)
    assert page.locator(".queue-instant").inner_text().count("At 2.50 s") == 1


def test_a_chart_is_a_table_on_demand(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    page.locator(".chart-numbers summary").first.click()
    table = page.locator(".chart-numbers table").first
    table.wait_for()
    assert table.locator("thead th").all_inner_texts() == ["time, s", "cubic", "prague"]
    assert table.locator("tbody tr").count() == 22


def test_a_run_under_way_is_paused_resumed_and_cancelled(visit: lab.Lab) -> None:
    page = opened(visit, LONG)
    page.wait_for_selector("article.run[data-status=running] figure.chart")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("article.run[data-status=paused]")
    page.wait_for_function("""() => new Promise((resolve) => {
        const said = () => document.querySelector('.run-status').textContent;
        const before = said();
        setTimeout(() => resolve(said() === before), 300);
    })""")
    page.get_by_role("button", name="Resume").click()
    page.wait_for_selector("article.run[data-status=running]")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("article.run[data-status=cancelled]")
    assert "as far as it came" in page.locator(".run-status").inner_text()
    assert page.locator("figure.chart").count() >= 3


def compare(page: Page, key: str, value: str, seeds: int) -> None:
    show(page, "Compare")
    form = page.locator("article.compare form")
    form.get_by_label("Parameter").fill(key)
    form.get_by_label("Parameter").press("Tab")
    form.get_by_label("New value").fill(value)
    form.get_by_label("Seeds").fill(str(seeds))
    form.get_by_role("button", name="Run both").click()


def test_a_fork_differs_by_an_interval_of_paired_seeds(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    compare(page, "link.bneck.qdisc", "pfifo", 3)
    done(page, "compare")
    differences = []
    for seed in ("1", "2", "3"):
        sides = [native(SHORT, seed=seed), native(SHORT, seed=seed, link__bneck__qdisc="pfifo")]
        before, after = (delay(side) for side in sides)
        differences.append(after - before)
    mean = statistics.fmean(differences)
    half = T_OF_3 * statistics.stdev(differences) / math.sqrt(3)
    said = page.locator("p.answer").first.inner_text()
    found = re.search(r"difference \+([\d.]+) ms \[\+([\d.]+), \+([\d.]+)\], 3 seeds", said)
    assert found, said
    for text, expected in zip(found.groups(), (mean, mean - half, mean + half), strict=True):
        assert float(text) == pytest.approx(expected, rel=0.006)
    labels = page.locator("article.compare figure.chart").first.locator("li button span").all_inner_texts()
    assert labels == ["dualpi2: cubic", "dualpi2: prague", "pfifo: cubic", "pfifo: prague"]
    page.get_by_role("button", name="Open the run with the change").click()
    done(page)
    assert page.locator(".run h2").inner_text() == "link.bneck.qdisc = pfifo"


def test_a_refused_value_is_one_line(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    compare(page, "link.bneck.qdisc", "dualpi3", 1)
    alert = page.locator("article.compare [role=alert]")
    alert.wait_for()
    assert "dualpi3" in alert.inner_text()
    assert "\n" not in alert.inner_text()


def sweep(page: Page, values: str, second: str | None = None) -> None:
    show(page, "Sweep")
    form = page.locator("article.sweep form")
    form.get_by_label("Parameter").fill("link.bneck.rate")
    form.get_by_label("Parameter").press("Tab")
    form.get_by_label("Values").fill(values)
    if second is not None:
        form.get_by_role("button", name="Add a second parameter").click()
        form.get_by_label("Parameter").nth(1).fill("link.bneck.qdisc")
        form.get_by_label("Parameter").nth(1).press("Tab")
        form.get_by_label("Values").nth(1).fill(second)
    form.get_by_role("button", name="Run the sweep").click()


def test_a_sweep_is_in_the_order_of_its_values_and_opens_its_runs(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    sweep(page, "40Mbit, 5Mbit, 10Mbit", "dualpi2, pfifo")
    done(page, "sweep")
    assert page.locator(".heat tbody th").all_inner_texts() == ["40Mbit", "5Mbit", "10Mbit"]
    cells = [float(text) for text in page.locator(".heat-cell button").all_inner_texts()]
    points = [(rate, qdisc) for rate in ("40Mbit", "5Mbit", "10Mbit") for qdisc in ("dualpi2", "pfifo")]
    for cell, (rate, qdisc) in zip(cells, points, strict=True):
        expected = delay(native(SHORT, link__bneck__rate=rate, link__bneck__qdisc=qdisc))
        assert cell == pytest.approx(expected, rel=0.006)
    page.locator(".heat-cell button").nth(1).click()
    done(page)
    assert page.locator(".run h2").inner_text() == "40Mbit, pfifo"


def test_a_sweep_over_one_parameter_is_a_curve(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    sweep(page, "5Mbit .. 20Mbit x 4")
    done(page, "sweep")
    assert page.locator(".sweep-curve .point").count() == 4
    assert page.locator(".heat tbody th").all_inner_texts() == ["5Mbit", "10Mbit", "15Mbit", "20Mbit"]


def test_a_sweep_is_cancelled_and_keeps_what_had_ended(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    sweep(page, "1Mbit .. 500Mbit x 50")
    page.wait_for_selector("article.sweep .heat-cell button")
    page.locator("article.sweep").get_by_role("button", name="Cancel").click()
    page.wait_for_selector("article.sweep[data-status=cancelled]")
    assert page.locator(".heat-cell button").count() >= 1


def test_values_that_cannot_be_read_are_refused(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    sweep(page, "1Mbit .. 2s x 3")
    assert page.locator("article.sweep [role=alert]").inner_text() == "values: expected one unit, found Mbit and s"


def kept(page: Page, kind: str, tmp_path: Path) -> Path:
    """The file that a button of the tab Download makes."""
    with page.expect_download() as waiting:
        page.locator("article.download").get_by_role("button", name=kind, exact=True).click()
    download: Download = waiting.value
    path = tmp_path / download.suggested_filename
    download.save_as(path)
    return path


def test_downloads_are_what_the_command_line_writes(visit: lab.Lab, tmp_path: Path) -> None:
    page = opened(visit, SHORT)
    done(page)
    show(page, "Download")
    ours = native(SHORT)
    assert kept(page, "TOML", tmp_path).read_text() == ours["toml"]
    columns = [
        pl.DataFrame({"series": [name] * len(t), "unit": [unit] * len(t), "t_s": t, "value": v})
        for name, unit, t, v in ours["series"]
    ]
    table = pl.concat(columns)
    assert pl.read_parquet(kept(page, "Parquet", tmp_path)).equals(table, null_equal=True)
    written = io.BytesIO()
    table.write_csv(written)
    assert kept(page, "CSV", tmp_path).read_bytes() == written.getvalue()
    document = json.loads(kept(page, "JSON", tmp_path).read_text())
    assert document == {"summary": ours["summary"], "queues": ours["queues"]}
    assert kept(page, "PNG", tmp_path).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    picture = ET.fromstring(kept(page, "SVG", tmp_path).read_text())  # noqa: S314 - our own
    assert len(picture.findall("{http://www.w3.org/2000/svg}path")) >= 8
    assert kept(page, "tc script", tmp_path).read_text().startswith("#!")
    assert page.locator(".command").inner_text().startswith("sojourn run short.toml")


def test_a_capture_is_added_and_is_that_of_the_command_line(visit: lab.Lab, tmp_path: Path) -> None:
    page = opened(visit, SHORT)
    done(page)
    show(page, "Download")
    page.locator("article.download").get_by_role("button", name="pcapng", exact=True).click()
    page.get_by_role("button", name="bneck.pcapng", exact=True).wait_for()
    capture = kept(page, "bneck.pcapng", tmp_path)
    from sojourn import _core

    facts = json.loads(_core.inspect([str(capture)], None, False).facts)
    assert facts, "a capture that is read"


def test_what_was_measured_is_dashed_over_the_run(visit: lab.Lab) -> None:
    from sojourn import suites

    case = suites.find("ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms")
    assert case is not None
    page = opened(visit, case.toml, name=case.id)
    done(page)
    show(page, "Measured")
    page.wait_for_selector("article.measured")
    assert row(page, "goodput of prague")[2] == "4.31"
    labels = page.locator("article.measured figure.chart").first.locator("li button span").all_inner_texts()
    assert labels == ["prague", "prague measured"]
    assert page.locator("article.measured .warning").count() == 0


def test_a_run_that_was_changed_is_not_called_the_measured_one(visit: lab.Lab) -> None:
    from sojourn import suites

    case = suites.find("ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms")
    assert case is not None
    page = opened(visit, case.toml.replace("dualpi2 version 2020", "pfifo limit 50p"), name=case.id)
    done(page)
    show(page, "Measured")
    assert "link.bneck.qdisc is pfifo limit 50p" in page.locator("article.measured .warning").inner_text()


def test_axe_finds_nothing_serious_in_what_came_of_a_run(visit: lab.Lab) -> None:
    page = opened(visit, SHORT)
    done(page)
    page.locator(".chart-numbers summary").first.click()
    assert lab.serious(page) == []
    show(page, "Download")
    page.wait_for_selector("article.download")
    assert lab.serious(page) == []
    compare(page, "link.bneck.qdisc", "pfifo", 2)
    done(page, "compare")
    assert lab.serious(page) == []
    sweep(page, "5Mbit, 10Mbit")
    done(page, "sweep")
    assert lab.serious(page) == []


def test_many_flows_are_bands(visit: lab.Lab) -> None:
    flow = '[[flow]]\nname = "cubic-{}"\ncc = "cubic"\n'
    many = SHORT.partition("[[flow]]")[0] + "".join(flow.format(n) for n in range(1, 31))
    page = opened(visit, many.replace("5s", "2s"), name="many")
    done(page)
    assert page.locator(".run figure.chart").first.locator("li button span").all_inner_texts() == ["cubic-* (30)"]
    assert row(page, "cubic-* (30)")[0].endswith("cubic")
