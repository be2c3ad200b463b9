"""How fast the lab is in a browser here: the table of docs/guide/lab.md.

    python benches/lab_speed.py [--repeat 5] [--document FILE]

Of a fresh profile each time: the first picture of a question, what an interaction takes while a run goes on (the
browser's own event timing: from the input to the next picture), and 100 flows over 1 Gbit/s for 10 s, from the click to
the last curve. Times are wall times, so nothing else may run; the CPU time of the page's process, with its workers,
depends less on what does. FILE gets the table in the place of the one that it has.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from measured import write

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_MS = 120_000
LINK = '[[link]]\nname = "bneck"\nrate = "{rate}"\nshaper = "htb"\nqdisc = "dualpi2"\ndelay = "10ms"\n'
FLOW = '[[flow]]\nname = "{name}"\nflows = {count}\ncc = "{name}"\ntcp.ecn = "accecn"\n'
#: More than anybody waits for, so that there is always a run under way.
ENDLESS = 'name = "endless"\nduration = "10000s"\n' + LINK.format(rate="100Mbit") + "".join(
    FLOW.format(name=name, count=2) for name in ("cubic", "prague")
)  # fmt: skip
HUNDRED = 'name = "hundred"\nduration = "10s"\n' + LINK.format(rate="1Gbit") + "".join(
    FLOW.format(name=name, count=50) for name in ("cubic", "prague")
)  # fmt: skip

OBSERVE = """() => {
    window.waits = [];
    window.tasks = [];
    new PerformanceObserver((list) => waits.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "event", durationThreshold: 16 });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask" });
}"""


@dataclass(frozen=True)
class Figure:
    """One line of the table; `goal` in the unit of the values, if there is one."""

    what: str
    unit: str
    goal: float | None
    values: list[float]

    def __str__(self) -> str:
        shown = f"{median(self.values):.3g} ({min(self.values):.3g} to {max(self.values):.3g})"
        goal = "" if self.goal is None else f"{self.goal:g} {self.unit}"
        return f"| {self.what} | {shown} {self.unit} | {goal} |"


def first_picture(browser: Browser, url: str) -> tuple[float, float]:
    """Seconds from the address of a question to its first curves and to its answer, in a fresh profile."""

    def act(page: Page) -> tuple[float, float]:
        return finished(page, ".asked .chart-legend li"), finished(page, ".verdict[role=status]")

    times: tuple[float, float] = on_page(browser, url + "#q=prague-cubic", act)
    return times


def finished(page: Page, *selectors: str) -> float:
    """Seconds since the navigation began when the last of these is painted."""
    for selector in selectors:
        page.wait_for_selector(selector)
    painted = "new Promise((f) => requestAnimationFrame(() => setTimeout(() => f(performance.now()))))"
    return float(page.evaluate(painted)) / 1e3


def interactions(browser: Browser, url: str) -> list[float]:
    """Milliseconds from each of forty inputs to the next picture, while curves grow."""

    def act(page: Page) -> list[float]:
        page.wait_for_selector("article.run[data-status=running] figure.chart canvas")
        page.evaluate(OBSERVE)
        chart = page.locator(".run .chart-canvas").first
        chart.focus()
        for _ in range(4):
            for key in ("+", "ArrowRight", "ArrowRight", "-", "0"):
                page.keyboard.press(key)
                page.wait_for_timeout(60)
            for button in page.locator(".run .chart-legend button").all()[:2]:
                button.click()
                page.wait_for_timeout(60)
                button.click()
                page.wait_for_timeout(60)
        page.wait_for_timeout(300)
        waits: list[float] = page.evaluate("waits")
        return waits or [16.0]

    waits: list[float] = on_page(browser, url + lab.link(ENDLESS), act)
    return waits


def hundred_flows(browser: Browser, url: str) -> tuple[float, float]:
    """Seconds from the click on Run to the last curve, of a page that has run it once, and CPU seconds."""

    def act(page: Page) -> tuple[float, float]:
        page.wait_for_selector("article.run[data-status=done]")
        spent = cpu_s(browser)
        page.get_by_role("button", name="Run", exact=True).click()
        begun = page.evaluate("performance.now()")
        page.wait_for_selector("article.run:not([data-status=done])")
        wall = finished(page, "article.run[data-status=done] .tally") - begun / 1e3
        return wall, cpu_s(browser) - spent

    times: tuple[float, float] = on_page(browser, url + lab.link(HUNDRED), act)
    return times


def cpu_s(browser: Browser) -> float:
    """CPU seconds of all pages' processes."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return sum(float(process["cpuTime"]) for process in processes if process["type"] == "renderer")


def on_page(browser: Browser, address: str, act: Any) -> Any:
    """What `act` says of a page in a fresh profile."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    try:
        page = context.new_page()
        page.goto(address)
        return act(page)
    finally:
        context.close()


def main() -> None:
    """Measures, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="fresh profiles of each measurement")
    parser.add_argument("--document", type=Path, help="file whose table is replaced")
    given = parser.parse_args()
    if reason := lab.missing():
        sys.exit(f"lab: {reason}")
    with lab.served() as url, lab.opened() as browser:
        times = range(given.repeat)
        pictures = [first_picture(browser, url) for _ in times]
        waits = [max(interactions(browser, url)) for _ in times]
        hundred = [hundred_flows(browser, url) for _ in times]
    figures = [
        Figure("from the address of a question to its first curves", "s", 2, [curves for curves, _ in pictures]),
        Figure("the same to its answer", "s", 2, [answer for _, answer in pictures]),
        Figure("longest of 36 interactions during a run", "ms", 50, waits),
        Figure("100 flows over 1 Gbit/s for 10 s, from click to curves", "s", 3, [wall for wall, _ in hundred]),
        Figure("CPU time of that, in the page and its worker", "s", None, [cpu for _, cpu in hundred]),
    ]
    rows = ["| | median (range) | goal |", "|---|---|---|", *map(str, figures)]
    print("\n".join(rows))
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} CPUs", file=sys.stderr)
    if given.document:
        write(given.document, "benches/lab_speed.py", rows)


if __name__ == "__main__":
    main()
