"""The lab in a real browser: questions are answered, errors shown, links repeat; nothing leaves the page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lab
from lab import AXE, PHONE, SCREEN, Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = lab.needed

QUESTIONS = {
    "prague-cubic": "Does Prague starve CUBIC?",
    "cake": "What does cake do that fq_codel does not?",
    "no-marks": "Why does my L4S queue never mark?",
    "sce-l4s": "SCE beside L4S",
    "call": "A call beside four downloads",
    "wifi": "Wi-Fi bursts",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with lab.opened() as opened:
        yield opened


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with lab.served() as address:
        yield address


@pytest.fixture
def pages(browser: Browser, url: str) -> Iterator[Lab]:
    """The lab, of which nothing went wrong and nothing was asked of another host, whatever the test did."""
    opened = Lab(browser, url)
    yield opened
    opened.close()
    assert opened.errors == []
    assert opened.elsewhere() == []


def answered(page: Page) -> None:
    page.wait_for_selector(".verdict[role=status]", timeout=120_000)


def bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def run_of(page: Page) -> None:
    """Runs what is open in the lab, to its end."""
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".run[data-status=done]", timeout=120_000)


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
@pytest.mark.parametrize("question", ["prague-cubic", "no-marks", "call"])
def test_one_click_brings_the_answer_to_the_first_screen(pages: Lab, question: str, size: tuple[int, int]) -> None:
    page = pages.open(size=size)
    page.get_by_role("link", name=QUESTIONS[question]).click()
    answered(page)
    assert page.locator("h1").inner_text() == QUESTIONS[question]
    assert bottom(page, ".verdict") < size[1]
    assert bottom(page, ".numbers") < size[1]
    numbers = page.locator(".numbers td").all_inner_texts()
    assert numbers
    assert "–" not in numbers


@pytest.mark.parametrize("question", ["cake", "sce-l4s", "wifi"])
def test_the_other_questions_have_answers_too(pages: Lab, question: str) -> None:
    page = pages.open(f"#q={question}")
    answered(page)
    assert "–" not in page.locator(".numbers td").all_inner_texts()


def test_a_side_of_an_answer_opens_in_the_lab_with_its_run(pages: Lab) -> None:
    page = pages.open("#q=wifi")
    answered(page)
    page.get_by_role("button", name="Wi-Fi, step 8 ms", exact=True).click()
    page.wait_for_selector(".run[data-status=done]")
    assert "step_thresh 8ms" in text_of(page)


def set_field(page: Page, name: str, value: str) -> None:
    """Writes into a field of the form, and waits until the file has it."""
    field = page.get_by_label(name, exact=True).first
    if field.evaluate("field => field.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.fill(value)
        field.press("Tab")
    page.locator(".cm-line", has_text=f'{name} = "{value}"').first.wait_for()


def text_of(page: Page) -> str:
    """The file in the editor."""
    page.wait_for_selector(".cm-content")
    return "\n".join(page.locator(".cm-line").all_text_contents())


def test_an_invalid_parameter_is_refused_in_the_words_of_the_command_line(pages: Lab, tmp_path: Path) -> None:
    page = pages.open("#lab")
    set_field(page, "rate", "fast")
    said = page.locator(".warning.error").inner_text()
    (tmp_path / "scenario.toml").write_text(text_of(page), encoding="utf-8")
    command = [sys.executable, "-m", "sojourn", "run", "scenario.toml"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"sojourn: {said}" == refused.stderr.strip()
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()
    # The editor marks the line that the message names.
    line = int(said.split(":")[1])
    assert 'rate = "fast"' in page.locator(".cm-line").nth(line - 1).inner_text()
    assert page.locator(".cm-lint-marker-error").count() == 1


def test_form_and_text_stay_in_step(pages: Lab) -> None:
    page = pages.open("#lab")
    comment = "# one way: 20 ms RTT"
    set_field(page, "qdisc", "fq_codel")
    page.locator(".path", has_text="fq_codel").wait_for()
    assert comment in text_of(page)
    page.locator(".cm-line", has_text="fq_codel").click()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type(" target 10ms")
    page.locator(".field.own label", has_text="target").wait_for(state="attached")


def test_an_element_of_the_picture_is_chosen_by_keyboard(pages: Lab) -> None:
    page = pages.open("#lab")
    flow = page.get_by_role("button", name="Flow prague")
    flow.focus()
    page.keyboard.press("Enter")
    page.get_by_label("cc", exact=True).wait_for()
    assert flow.get_attribute("aria-pressed") == "true"
    assert page.get_by_label("cc", exact=True).input_value() == "prague"


def test_what_is_opened_has_the_focus_and_names_the_window(pages: Lab) -> None:
    page = pages.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.get_by_role("link", name=QUESTIONS["call"]).press("Enter")
    answered(page)
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.title().startswith(QUESTIONS["call"])
    page.go_back()
    page.get_by_role("link", name=QUESTIONS["wifi"]).wait_for()
    assert page.title().startswith("Questions")


def test_a_link_repeats_the_numbers_in_a_fresh_profile(pages: Lab) -> None:
    page = pages.open("#lab")
    set_field(page, "qdisc", "cake")
    run_of(page)
    numbers = page.locator(".run table").all_inner_texts()
    page.get_by_role("button", name="Share").click()
    link = page.locator(".link-box input").first.input_value()
    assert link.startswith(pages.url)
    again = pages.open(link.removeprefix(pages.url))
    again.wait_for_selector(".run[data-status=done]", timeout=120_000)
    assert again.locator(".run table").all_inner_texts() == numbers


def test_a_reload_keeps_what_was_written(pages: Lab) -> None:
    page = pages.open("#lab")
    page.wait_for_url(lambda url: "#s=" in url)
    before = page.url
    set_field(page, "rate", "33Mbit")
    page.wait_for_url(lambda url: url != before)
    page.reload()
    page.wait_for_selector(".run")
    assert 'rate = "33Mbit"' in text_of(page)


@pytest.mark.parametrize("fragment", ["#s=1AAAA", "#s=9x", "#s=1%00%ff", "#s=" + "1" + "A" * 40_000])
def test_a_damaged_link_is_refused_in_one_line(pages: Lab, fragment: str) -> None:
    page = pages.open(fragment)
    said = page.get_by_role("alert").inner_text()
    assert said.startswith("the link")
    assert "\n" not in said


def test_suites_are_found_and_run(pages: Lab) -> None:
    page = pages.open("#suites")
    page.get_by_role("searchbox").fill("ect1 prague dualpi2 5Mbit 20ms")
    page.locator(".cases button").first.click()
    page.wait_for_selector(".run[data-status=done]", timeout=120_000)
    assert 'name = "ect1/' in text_of(page)


def test_without_a_network_it_works_once_it_was_open(pages: Lab) -> None:
    page = pages.open()
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.reload()
    page.context.set_offline(offline=True)
    page.reload()
    page.get_by_role("link", name=QUESTIONS["call"]).click()
    answered(page)


@pytest.fixture(scope="module", params=["", "#q=no-marks", "#lab", "#suites"])
def settled(request: pytest.FixtureRequest, browser: Browser, url: str) -> Iterator[Page]:
    """The page at a place, with everything there that comes to be there."""
    opened = Lab(browser, url)
    page = opened.open(request.param)
    if request.param.startswith("#q"):
        answered(page)
    if request.param == "#lab":
        text_of(page)
        run_of(page)
    yield page
    opened.close()
    assert opened.errors == []


def test_nothing_is_wider_than_the_view(settled: Page) -> None:
    for width in (360, 390, 820, 1280, 3840):
        settled.set_viewport_size({"width": width, "height": 900})
        settled.wait_for_timeout(200)
        assert settled.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core (npm ci in web)")
def test_axe_finds_nothing_serious(settled: Page) -> None:
    settled.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    for scheme in ("light", "dark"):
        settled.emulate_media(color_scheme=scheme)
        assert lab.serious(settled) == []
