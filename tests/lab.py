"""The lab as it was built, on a server of its own, in a real Chromium: what its tests share."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import zlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

DIST = Path(__file__).resolve().parents[1] / "web" / "dist"
#: For what takes as long as a run: a machine may be slow, and no test asserts on time.
PATIENCE_MS = 90_000


def missing() -> str:
    """Why the page cannot be tested here, or nothing."""
    if not (DIST / "index.html").is_file():
        return "the lab is not built (make web)"
    if chromium() is None:
        return "no Chromium on this machine (apt-get install chromium)"
    try:
        import playwright  # noqa: F401
    except ModuleNotFoundError:
        return "no Playwright (pip install playwright)"
    return ""


class Quiet(SimpleHTTPRequestHandler):
    """A static server without special headers, as anyone has."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm", ".js": "text/javascript"}

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path = DIST) -> Iterator[str]:
    """The address of a server over a folder, on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """Debian's Chromium under Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page in a fresh profile; notes what it says on the console and which other hosts it asks."""

    def __init__(self, browser: Browser, base: str, width: int = 1280, height: int = 900) -> None:
        self.base = base
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.context: BrowserContext = browser.new_context(viewport={"width": width, "height": height})
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.context.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        if not url.startswith((self.base, "blob:", "data:")):
            self.strangers.append(url)

    def close(self) -> None:
        """Ends the visit: nothing was said on the console, and nobody else was asked."""
        self.context.close()
        assert self.errors == []
        assert self.strangers == []


def link(text: str, name: str, version: str, tab: str = "result") -> str:
    """The fragment that opens a scenario, as the button Share makes it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    document = json.dumps({"text": text, "name": name, "version": version, "tab": tab}).encode()
    packed = packer.compress(document) + packer.flush()
    return "#s=1" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


requires_lab = pytest.mark.skipif(bool(missing()), reason=missing() or "nothing is missing")
