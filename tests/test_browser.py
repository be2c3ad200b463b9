"""The report in a real browser: it loads, zooms, filters, and asks the network for nothing."""

from __future__ import annotations

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


@pytest.mark.parametrize("width", [400, 1280])
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


def test_printed_it_has_every_plot(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('.plot')].every(box => box.querySelector('canvas'))")


def test_no_script_error_and_no_request_off_the_page(page: Page) -> None:
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.requests if url.startswith("file:")]) == 1
