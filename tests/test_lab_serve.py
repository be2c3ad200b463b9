"""The lab behind `sojourn serve`, in a real Chromium and Firefox: results, cancelled jobs, reloads in mid-run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

import firefox
import lab
import sojourn

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from serving import Browser

pytest.importorskip("starlette", reason="sojourn[serve] is not installed")
pytest.importorskip("uvicorn", reason="sojourn[serve] is not installed")

from serving import LONG, SCENARIO, serving

pytestmark = [lab.needed, pytest.mark.engine, pytest.mark.timeout(300)]

#: For what takes as long as a run: a machine may be slow.
PATIENCE_MS = 90_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    with lab.opened() as browser:
        yield browser


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("first", 1), ("second", 2)):
        sojourn.run(sojourn.Scenario(SCENARIO), seed=seed, out=tmp_path / "results" / name)
    with serving(tmp_path, lab.DIST) as client:
        yield client


@pytest.fixture
def pages(server: Browser, chromium: object) -> Iterator[lab.Lab]:
    address = urlsplit(server.server.url)
    opened = lab.Lab(chromium, f"{address.scheme}://{address.netloc}/")  # type: ignore[arg-type]
    yield opened
    opened.close()
    assert opened.errors == []
    assert opened.elsewhere() == []


def open_(pages: lab.Lab, server: Browser, fragment: str = "") -> Page:
    """The page by the address that was printed."""
    return pages.open(f"?token={server.server.token}{fragment}")


def job(server: Browser) -> str:
    """The only job, once there is one."""
    while not (listed := server.good("GET", "/api/jobs")):
        time.sleep(0.05)
    assert len(listed) == 1
    return str(listed[0]["id"])


def test_a_run_of_the_page_is_a_result_of_the_server(pages: lab.Lab, server: Browser) -> None:
    page = open_(pages, server, lab.link(SCENARIO, "served"))
    assert "token" not in page.url
    page.locator(".path").get_by_role("button", name="bneck").first.wait_for(timeout=PATIENCE_MS)
    page.get_by_text("10 s simulated in").wait_for(timeout=PATIENCE_MS)
    goodput = float(page.locator(".lab-outcome b").first.inner_text())
    (path,) = (server.folder / "results/lab").iterdir()
    found = sojourn.ResultSet.open(path)
    assert found.summary()["goodput_mbps"][0] == pytest.approx(goodput, abs=0.06)
    page.get_by_role("button", name="This machine").click()
    page.get_by_role("button", name=f"results/lab/{path.name}", exact=True).click()
    page.get_by_role("button", name="served", exact=True).click()
    page.get_by_text("10 s simulated").wait_for()
    assert lab.serious(page) == []


def test_results_and_reports_of_the_folder_are_shown(pages: lab.Lab, server: Browser) -> None:
    page = open_(pages, server, "#serve")
    page.get_by_role("heading", name="This machine").wait_for()
    assert page.get_by_role("radio", name=re.compile("sim")).is_checked()
    for name in ("first", "second"):
        assert page.get_by_role("button", name=f"results/{name}", exact=True).is_visible()
    assert lab.serious(page) == []
    page.get_by_role("button", name="Report of results/first").click()
    page.get_by_role("heading", name="Sojourn report: first").wait_for(timeout=PATIENCE_MS)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Full series").first.click()
    wanted = server.folder / "results/first/served/series.parquet"
    assert Path(saved.value.path()).read_bytes() == wanted.read_bytes()
    page.get_by_role("button", name="Back to this machine").click()
    page.get_by_role("button", name="Compare results/first", exact=True).click()
    page.get_by_role("button", name="Compare results/first with results/second").click()
    page.get_by_role("heading", name="Sojourn: results/first beside results/second").wait_for(timeout=PATIENCE_MS)


def test_a_job_goes_on_over_a_reload_and_can_be_cancelled(pages: lab.Lab, server: Browser) -> None:
    page = open_(pages, server, lab.link(LONG, "long"))
    mine = job(server)
    page.get_by_role("button", name="Pause").wait_for(timeout=PATIENCE_MS)
    before = server.good("GET", f"/api/jobs/{mine}")["now_s"]
    page.reload()
    page.get_by_role("button", name="Pause").wait_for(timeout=PATIENCE_MS)
    assert job(server) == mine
    assert server.good("GET", f"/api/jobs/{mine}")["now_s"] > before
    page.get_by_role("button", name="This machine").click()
    page.get_by_role("button", name="Cancel long").click()
    page.get_by_text("cancelled").first.wait_for()
    assert server.events(mine)[-1]["status"] == "cancelled"
    assert not (server.folder / "results/lab").exists() or not list((server.folder / "results/lab").rglob("*.json"))


@pytest.mark.skipif(firefox.missing() is not None, reason=firefox.missing() or "")
def test_in_firefox_a_run_goes_on_over_a_reload_and_is_cancelled(server: Browser) -> None:
    address = urlsplit(server.server.url)
    button = "[...document.querySelectorAll('button')].find((one) => one.textContent === '{}')"
    with firefox.Page(f"{server.server.url}{lab.link(LONG, 'long')}") as page:
        page.until(button.format("Pause"))
        mine = job(server)
        page.reload()
        page.until(button.format("Pause"))
        assert job(server) == mine
        page.evaluate(f"{button.format('This machine')}.click()")
        page.until("document.querySelector('[aria-label=\"Cancel long\"]')")
        page.evaluate("document.querySelector('[aria-label=\"Cancel long\"]').click()")
        page.until("document.querySelector('.serve-jobs').textContent.includes('cancelled')")
        assert server.events(mine)[-1]["status"] == "cancelled"
        page.evaluate("document.querySelector('[aria-label=\"Report of results/first\"]').click()")
        page.until("document.querySelector('main').textContent.includes('Sojourn report: first')")
        assert page.errors == []
        assert {urlsplit(url).netloc for url in page.requests if url.startswith("http")} == {address.netloc}
