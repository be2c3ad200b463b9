"""The report in a real browser: it loads, zooms, filters, and asks the network for nothing."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import Page, chromium
from sojourn import compare, report, suites
from synthetic import Made, made_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sojourn.metrics import Source

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")

PLOT = "document.querySelector('.plot')"
AXE = Path(__file__).resolve().parents[1] / "web/node_modules/axe-core/axe.min.js"
CANVASES = "document.querySelectorAll('.plot canvas').length"


class Sided(Made):
    """A run of one of two architectures."""

    @property
    def role(self) -> suites.Role:
        return suites.role(self.id, "", counterparts={"prague": "own", "cubic-sce": "own"})


def sided(run_id: str, rates: dict[str, float]) -> Sided:
    made = made_run(run_id, rates, {"cubic": 36.0, "prague": 20.4, "cubic-sce": 21.0})
    return Sided(run_id, {name: made.series(name) for name in made.names()})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    lone: list[Source] = []
    for n in range(12):
        lone.append(sided(f"x/l4s-s2-two/cubic-vs-prague/q{n}/20ms", {"cubic": 15.0, "prague": 30.0}))
        lone.append(sided(f"x/sce-s2-two/cubic-vs-cubic-sce/q{n}/20ms", {"cubic": 20.0, "cubic-sce": 24.0}))
    out = tmp_path_factory.mktemp("browser") / "report.html"
    report.write_comparison(compare.Comparison(lone=lone), out, title="Browser")
    with Page(out.as_uri()) as opened:
        opened.evaluate(f"{PLOT}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        opened.until(f"{CANVASES} > 0")
        yield opened


def width_of_grid(page: Page) -> float:
    """Seconds that the first plot shows, read off its axis as a user would: by the legend under the cursor."""
    box = page.evaluate(f"(() => {{ const r = {PLOT}.querySelector('.u-over').getBoundingClientRect();"
                        " return [r.left, r.top, r.width, r.height]; })()")  # fmt: skip
    seconds = []
    for share in (0.02, 0.98):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + share * box[2], y=box[1] + box[3] / 2)
        page.until(f"{PLOT}.querySelector('.u-legend .u-value').textContent.endsWith(' s')")
        seconds.append(float(page.evaluate(f"parseFloat({PLOT}.querySelector('.u-legend .u-value').textContent)")))
    return seconds[1] - seconds[0]


def test_it_zooms_by_mouse_and_keyboard_and_back(page: Page) -> None:
    whole = width_of_grid(page)
    left, top, width, height = page.evaluate(
        f"(() => {{ const r = {PLOT}.querySelector('.u-over').getBoundingClientRect();"
        " return [r.left, r.top, r.width, r.height]; })()"
    )
    page.drag((left + 0.4 * width, top + height / 2), (left + 0.6 * width, top + height / 2))
    zoomed = width_of_grid(page)
    assert zoomed < 0.3 * whole
    page.evaluate(f"{PLOT}.focus({{preventScroll: true}})")
    page.key("+")
    assert width_of_grid(page) < 0.9 * zoomed
    page.key("0")
    assert width_of_grid(page) == pytest.approx(whole, rel=0.02)


def test_it_draws_what_comes_near_and_filters_by_id(page: Page) -> None:
    plots = page.evaluate("document.querySelectorAll('.plot').length")
    assert page.evaluate(CANVASES) < plots == 48
    page.evaluate("window.scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    page.until("document.querySelector('figure:last-of-type canvas') !== null")
    page.evaluate("(f => { f.value = 'q11'; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")
    assert page.evaluate("document.getElementById('shown').textContent") == "2 shown"
    assert page.evaluate("[...document.querySelectorAll('tbody[data-run]')].filter(e => e.offsetHeight).length") == 2
    page.evaluate("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")


@pytest.mark.parametrize("width", [360, 390, 1280, 3840])
def test_nothing_is_wider_than_the_view(page: Page, width: int) -> None:
    page.resize(width, 900)
    page.until(f"innerWidth === {width}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_both_halves_stand_side_by_side_on_a_screen_and_in_line_on_a_phone(page: Page) -> None:
    columns = "[...document.querySelector('.beside:not(.heads)').children].map(e => e.getBoundingClientRect().left)"
    page.resize(1280, 900)
    left, right = page.evaluate(columns)
    assert right > left + 400
    page.resize(400, 900)
    left, right = page.evaluate(columns)
    assert left == right


def test_printed_it_has_every_plot_and_what_was_closed(page: Page) -> None:
    page.resize(1280, 900)
    page.evaluate("document.querySelector('[data-fold=glance]').open = false")
    page.until("location.hash.includes('fold=')")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('.plot')].every(box => box.querySelector('canvas'))")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("document.querySelector('[data-fold=glance]').open")
    page.evaluate("document.querySelector('[data-fold=glance]').open = true")
    page.until("!location.hash.includes('fold=')")


def test_a_link_keeps_what_is_closed_the_filter_and_the_zoom(page: Page) -> None:
    page.evaluate("(f => { f.value = 'q3'; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")
    page.evaluate("document.querySelector('#glance summary').click()")
    page.until("location.hash.includes('fold=glance')")
    page.evaluate("document.querySelector('figure[data-run]:not([hidden])').scrollIntoView({block: 'center'})")
    page.until("document.querySelector('figure[data-run]:not([hidden]) canvas') !== null")
    page.evaluate("document.querySelector('figure:not([hidden]) .plot').focus()")
    page.key("+")
    link = page.evaluate("location.href")
    assert {part.split("=")[0] for part in link.partition("#")[2].split("&")} == {"find", "fold", "zoom"}
    with Page(link) as again:
        assert again.evaluate("document.getElementById('filter').value") == "q3"
        assert again.evaluate("document.querySelectorAll('figure[data-run]:not([hidden])').length") == 2
        assert not again.evaluate("document.querySelector('#glance details').open")
        again.evaluate("document.querySelector('figure:not([hidden])').scrollIntoView({block: 'center'})")
        again.until("document.querySelector('figure:not([hidden]) canvas') !== null")
        # A place of the page does not cost the state.
        again.evaluate("document.querySelector('.contents a[href=\"#glance\"]').click()")
        again.until("location.hash.startsWith('#glance&')")
        again.until("!location.hash.includes('fold=')")
        kept = {part for part in link.partition("#")[2].split("&") if not part.startswith("fold=")}
        assert set(again.evaluate("location.hash").split("&")[1:]) == kept
        assert again.evaluate("document.querySelector('#glance details').open"), "who goes there wants to see it"
        assert again.errors == []
    page.evaluate("document.querySelector('figure:not([hidden]) [data-reset]').click()")
    page.evaluate("document.querySelector('#glance summary').click()")
    page.evaluate("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")
    page.until("location.hash === ''")


def test_plots_of_a_run_zoom_together(page: Page) -> None:
    page.evaluate(f"{PLOT}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    page.until("document.querySelectorAll('figure[data-run] .plot canvas').length > 1")
    page.evaluate(f"{PLOT}.focus({{preventScroll: true}})")
    page.key("+")
    zoom = page.evaluate("location.hash").partition("zoom=")[2]
    assert zoom.startswith("1:"), page.evaluate("location.hash")
    other = "document.querySelector('figure[data-run] .plot:nth-child(2)')"
    page.evaluate(f"{other}.focus({{preventScroll: true}})")
    page.key("+")
    (low, high), (lower, higher) = (
        [float(end) for end in text.partition(":")[2].split("-")]
        for text in (page.evaluate("location.hash").partition("zoom=")[2], zoom)
    )
    assert high - low == pytest.approx((higher - lower) / 1.5, rel=0.01), "it went on from where the first one was"
    page.key("0")


def test_the_contents_say_where_the_reader_is(page: Page) -> None:
    current = "document.querySelector('.contents [aria-current]').textContent"
    for width in (1280, 390):
        page.resize(width, 900)
        page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        page.until(f"{current} === 'At a glance'")
        page.evaluate("document.getElementById('definitions').scrollIntoView({behavior: 'instant'})")
        page.until(f"{current} === 'Definitions'")
        assert page.evaluate("Math.abs(document.querySelector('.contents').getBoundingClientRect().top)") <= 1
    assert not page.evaluate("document.querySelector('.contents details').open"), "on a phone they are one line"
    assert page.evaluate("document.querySelector('.contents .current').textContent") == "Definitions"


def lightness(page: Page) -> float:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 765


def test_it_is_dark_where_the_reader_or_the_system_wants_it(page: Page) -> None:
    def prefers(theme: str) -> None:
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    page.resize(1280, 900)
    switch = "document.querySelector('[data-theme-switch]')"
    prefers("dark")
    assert lightness(page) < 0.2
    page.evaluate(f"{switch}.click()")
    assert page.evaluate(f"{switch}.textContent") == "Theme: light"
    assert lightness(page) > 0.9
    prefers("light")
    page.evaluate(f"{switch}.click()")
    assert page.evaluate(f"{switch}.textContent") == "Theme: dark"
    assert lightness(page) < 0.2
    page.evaluate(f"{switch}.click()")
    assert lightness(page) > 0.9


def test_paper_is_light_whatever_the_screen_is(page: Page) -> None:
    ink = """(box => {
        const c = box.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        let sum = 0, count = 0;
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 250) { sum += d[i] + d[i + 1] + d[i + 2]; count++; }
        return sum / count;
    })(document.querySelector(".plot"))"""
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.evaluate(f"{PLOT}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    page.call("Emulation.setEmulatedMedia", media="screen", features=dark)
    page.until(f"{CANVASES} > 0")
    # The shaded window is most of what is drawn.
    page.until(f"{ink} < 300")
    page.call("Emulation.setEmulatedMedia", media="print", features=dark)
    assert lightness(page) > 0.9
    page.until(f"{ink} > 600")
    page.call("Emulation.setEmulatedMedia", media="", features=[])


def test_the_curves_of_a_figure_can_be_saved(page: Page) -> None:
    page.evaluate("""URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return "#"; };
        HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }""")
    page.evaluate("document.querySelector('[data-csv]').click()")
    page.until("window.saved")
    assert page.evaluate("window.savedAs") == "x-l4s-s2-two-cubic-vs-prague-q0-20ms.csv"
    rows = list(csv.DictReader(io.StringIO(page.evaluate("window.saved"))))
    assert {row["plot"] for row in rows} == {"rate", "rtt"}
    assert {float(row["value"]) for row in rows if (row["plot"], row["series"]) == ("rate", "prague")} >= {30.0}


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core (cd web && npm ci)")
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_axe_finds_nothing_serious(page: Page, width: int, theme: str) -> None:
    page.resize(width, 900)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found = page.evaluate("axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))")
    assert [one for one in found if one[0] in ("serious", "critical")] == []


def test_no_script_error_and_no_request_off_the_page(page: Page) -> None:
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.requests if url.startswith("file:")]) == 1


def test_without_scripts_everything_but_the_curves_is_there(page: Page) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.call("Page.reload")
    page.resize(390, 900)
    page.until("document.readyState === 'complete' && document.querySelector('.needs-script') !== null")
    text = page.call("Accessibility.getFullAXTree")
    names = {node.get("name", {}).get("value") for node in text["nodes"] if not node.get("ignored")}
    assert {"At a glance", "Definitions", "30.00"} <= names
    assert "Theme" not in names, "what needs a script is not shown"
    assert any("is drawn by a script" in str(name) for name in names)
