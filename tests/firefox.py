"""A headless Firefox over WebDriver BiDi, which it speaks itself: no geckodriver, which Debian does not package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("firefox-esr", "firefox")
LISTENS = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
PATIENCE_S = 90.0


def firefox() -> str | None:
    """Where it is; None if this machine has none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def missing() -> str | None:
    """Why pages cannot be tested in Firefox here, if they cannot."""
    if firefox() is None:
        return "no Firefox on this machine (apt-get install firefox-esr)"
    try:
        import websocket  # noqa: F401
    except ModuleNotFoundError:
        return "no websocket-client (pip install websocket-client)"
    return None


class Page:
    """One page in a fresh profile; use it as a context. Collects errors of scripts and every request that it makes."""

    def __init__(self, url: str, width: int = 1280, height: int = 900) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._url, self._size = url, (width, height)
        self._last = 0

    def __enter__(self) -> Self:
        from websocket import create_connection

        program = firefox()
        assert program is not None
        self._profile = tempfile.mkdtemp(prefix="firefox-")
        self._log = Path(self._profile) / "stderr"
        arguments = ["--headless", "--no-remote", "--profile", self._profile, "--remote-debugging-port", "0"]
        # A file, since nobody empties a pipe later.
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=log)
        self._socket = create_connection(f"{self._address()}/session", timeout=PATIENCE_S, suppress_origin=True)
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        width, height = self._size
        self.call("browsingContext.setViewport", context=self._context, viewport={"width": width, "height": height})
        self.go(self._url)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def go(self, url: str) -> None:
        """Opens an address."""
        self.call("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def reload(self) -> None:
        """Opens the same again; ends with the new document, since the command may end before the old one goes."""
        self.evaluate("window.isLeft = true")
        self.call("browsingContext.reload", context=self._context, wait="complete")
        self.until("window.isLeft === undefined && document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON has it; waits for a promise."""
        answer = self.call(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then((value) => JSON.stringify(value) ?? 'null')",
            target={"context": self._context},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def until(self, expression: str, patience_s: float = PATIENCE_S) -> None:
        """Waits for an expression to be true; one that fails may be of a document that is going away."""
        give_up = time.monotonic() + patience_s
        error: RuntimeError | None = None
        while True:
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return
            except RuntimeError as failed:
                error = failed
            if time.monotonic() > give_up:
                shown = self.evaluate("[location.hash.slice(0, 40), document.body.innerText.slice(0, 2000)]")
                raise TimeoutError(f"{expression}: the page shows {shown}, errors {self.errors}") from error
            time.sleep(0.05)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come before it are noted."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._last:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _address(self) -> str:
        give_up = time.monotonic() + PATIENCE_S
        while not (found := LISTENS.search(said := self._log.read_bytes())):
            if self._process.poll() is not None:
                raise EOFError(f"firefox has ended: {said.decode(errors='replace')[-400:]}")
            if time.monotonic() > give_up:
                raise TimeoutError("firefox does not listen")
            time.sleep(0.05)
        return found[1].decode()

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "log.entryAdded" if parameters["level"] == "error":
                self.errors.append(parameters["text"])
            case "network.beforeRequestSent":
                self.requests.append(parameters["request"]["url"])
