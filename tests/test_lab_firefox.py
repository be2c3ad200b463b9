"""The lab in Firefox: questions are answered, an error is shown, a link repeats in another profile."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import firefox
import lab

WHY = firefox.missing() or (None if (lab.DIST / "index.html").is_file() else f"no {lab.DIST} (make web)")
pytestmark = pytest.mark.skipif(WHY is not None, reason=WHY or "")

QUESTIONS = {
    "prague-cubic": "Does Prague starve CUBIC?",
    "call": "A call beside four downloads",
    "wifi": "Wi-Fi bursts",
}
#: The file in the editor, which is in a shadow tree.
LINES = "[...document.querySelector('.editor-host').shadowRoot.querySelectorAll('.cm-line')].map(l => l.textContent)"
DONE = "document.querySelector('.run[data-status=done] table')"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with lab.served() as address:
        yield address


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[firefox.Page]:
    with firefox.Page(url) as opened:
        yield opened
        assert opened.errors == []
        assert elsewhere(opened, url) == []


def elsewhere(page: firefox.Page, url: str) -> list[str]:
    """Requests to other hosts; a page's own data and addresses of the browser are none."""
    return [asked for asked in page.requests if not asked.startswith((url, "data:", "blob:", "about:", "chrome:"))]


def click(page: firefox.Page, selector: str, text: str) -> None:
    """Clicks the first element of this text."""
    elements = f"[...document.querySelectorAll({json.dumps(selector)})]"
    found = f"{elements}.find(e => e.textContent.trim() === {json.dumps(text)})"
    page.until(found)
    page.evaluate(f"{found}.click()")


def fill(page: firefox.Page, key: str, value: str) -> None:
    """Writes into a field of the form."""
    field = f"document.getElementById({json.dumps(f'field-{key}')})"
    page.until(field)
    page.evaluate(f"{field}.value = {json.dumps(value)}")
    page.evaluate(f"{field}.dispatchEvent(new Event('change', {{ bubbles: true }}))")


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered(page: firefox.Page, url: str, question: str) -> None:
    page.go(f"{url}#q={question}")
    page.until(f"document.querySelector('h1')?.textContent === {json.dumps(QUESTIONS[question])}")
    page.until("document.querySelector('.verdict[role=status]')")
    assert "–" not in page.evaluate("[...document.querySelectorAll('.numbers td')].map(e => e.textContent)")


def test_an_error_stands_at_its_line(page: firefox.Page, url: str) -> None:
    page.go(f"{url}#lab")
    fill(page, "link.bneck.rate", "fast")
    page.until("document.querySelector('.warning.error')")
    page.until("document.querySelector('.editor-host')?.shadowRoot")
    line = int(page.evaluate("document.querySelector('.warning.error').textContent").split(":")[1])
    assert page.evaluate(LINES)[line - 1].startswith('rate = "fast"')
    fill(page, "link.bneck.rate", "50Mbit")
    page.until("!document.querySelector('.warning.error')")


def test_a_link_repeats_the_numbers_in_a_fresh_profile(page: firefox.Page, url: str) -> None:
    page.go(f"{url}#lab")
    fill(page, "link.bneck.qdisc", "fq_codel")
    page.until("document.querySelector('.path').textContent.includes('fq_codel')")
    click(page, "button", "Run")
    page.until(DONE)
    numbers = page.evaluate("[...document.querySelectorAll('.run table')].map(e => e.textContent)")
    click(page, "button", "Share")
    page.until("document.querySelector('.link-box input')")
    with firefox.Page(page.evaluate("document.querySelector('.link-box input').value")) as again:
        again.until(DONE)
        assert again.evaluate("[...document.querySelectorAll('.run table')].map(e => e.textContent)") == numbers
        assert again.errors == []
        assert elsewhere(again, url) == []
