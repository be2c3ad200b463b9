"""The built lab behind a plain static server on loopback, and browsers that note what goes wrong in it."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import shutil
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

ROOT = Path(__file__).resolve().parent.parent
#: Another build can be tested.
DIST = Path(os.environ.get("SOJOURN_LAB") or ROOT / "web/dist")
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"

SCREEN, PHONE = (1280, 900), (390, 844)


def missing() -> str | None:
    """Why the lab cannot be tested here, if it cannot."""
    if not (DIST / "index.html").is_file():
        return f"no {DIST} (make web)"
    if shutil.which("chromium") is None:
        return "no Chromium on this machine (apt-get install chromium)"
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        return "no Playwright (pip install playwright)"
    return None


needed = pytest.mark.skipif(missing() is not None, reason=missing() or "")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files with the types that a browser insists on, and no log."""

    extensions_map = {  # noqa: RUF012
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".webmanifest": "application/manifest+json",
    }

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path = DIST) -> Iterator[str]:
    """Address of a server of the folder, which sends no special header."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Lab:
    """Pages of the lab in one Chromium; each is of a profile of its own."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []

    def open(self, fragment: str = "", size: tuple[int, int] = SCREEN, **options: Any) -> Page:
        """A new profile with the page at this place."""
        context = self._browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        context.on("request", self._asked)
        page.goto(self.url + fragment)
        page.wait_for_selector("main h1")
        return page

    def close(self) -> None:
        """Ends all profiles."""
        for context in self._contexts:
            context.close()

    def elsewhere(self) -> list[str]:
        """Requests to other hosts."""
        return [url for url in self.requests if not url.startswith((self.url, "data:", f"blob:{self.url}"))]

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)


@contextmanager
def opened() -> Iterator[Browser]:
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def serious(page: Page) -> list[str]:
    """What axe finds serious or critical in a page, with the elements."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def link(text: str, name: str = "run", version: str = "", tab: str = "result") -> str:
    """The fragment that opens a scenario and runs it, as the button Share makes it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    document = json.dumps({"text": text, "name": name, "version": version, "tab": tab}).encode()
    packed = packer.compress(document) + packer.flush()
    return "#s=1" + base64.urlsafe_b64encode(packed).decode().rstrip("=")
