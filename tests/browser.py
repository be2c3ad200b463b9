"""A headless Chromium over its DevTools pipe: enough to load a page, act on it and look at it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str | None:
    """Where it is; None if this machine has none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page; use it as a context. Collects script errors and every request that it makes."""

    def __init__(self, url: str, width: int = 1280, height: int = 900) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._url, self._size = url, (width, height)
        self._last = 0
        self._unread = b""
        self._session: str | None = None

    def __enter__(self) -> Self:
        program = chromium()
        assert program is not None
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        to_child, self._to = os.pipe()
        self._from, from_child = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
        flags += ["--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]
        width, height = self._size
        # Chromium reads commands from descriptor 3 and writes to 4.
        wire = f'exec 3<&{to_child} 4>&{from_child}; exec "$@"'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", wire, "sh", program, *flags, f"--user-data-dir={self._profile}",
             f"--window-size={width},{height}", "about:blank"],
            pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_child)
        os.close(from_child)
        pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Runtime", "Network", "Page", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.call("Page.navigate", url=self._url)
        self.until("document.readyState === 'complete'")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come before it are noted."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "script error"))
        return answer["result"].get("value")

    def until(self, expression: str, patience_s: float = 60.0) -> None:
        """Waits for an expression to be true."""
        give_up = time.monotonic() + patience_s
        while not self.evaluate(expression):
            if time.monotonic() > give_up:
                raise TimeoutError(expression)
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the view, as of a phone or a screen."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """The mouse, pressed at one point and released at another."""
        steps = [("mouseMoved", start, "none"), ("mousePressed", start, "left"), ("mouseMoved", end, "left"),
                 ("mouseReleased", end, "left")]  # fmt: skip
        for kind, (x, y), button in steps:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=int(button == "left"),
                      clickCount=1)  # fmt: skip

    def key(self, key: str) -> None:
        """A key, pressed and released."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 else "")

    def picture(self, file: Path, **clip: float) -> None:
        """A PNG of the view, or of a part of the page."""
        part = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **part)["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._from], [], [], 60)[0]:
                raise TimeoutError("chromium says nothing")
            chunk = os.read(self._from, 1 << 16)
            if not chunk:
                raise EOFError("chromium has ended")
            self._unread += chunk
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                self.errors.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
