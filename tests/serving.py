"""A server of the lab for tests, with a client that sends exactly what it is given."""

from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.serve.server import Server
from sojourn.serve.setup import Setup

SCENARIO = """\
name = "served"
duration = "10s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "a"
cc = "prague"
[[ping]]
name = "ping"
"""
#: Longer than anybody waits.
LONG = SCENARIO.replace('"10s"', '"50000s"\nstep = "1s"').replace("served", "long")
TRACE = "0 20000\n1 10000\n"
PAGE = {
    "index.html": "<!doctype html><title>lab</title>",
    "sw.js": "//",
    "assets/main-ABCD1234.js": "1",
    "assets/sojourn-0a1b2c3d.wasm": "\0asm",
    "scenarios/a-scenario.toml": SCENARIO,
}
STRANGE = "not for strangers"


class Browser:
    """A client of one server, which sends exactly what it is given."""

    def __init__(self, server: Server) -> None:
        self.server, self.folder = server, server.lab.setup.folder
        self.host = f"127.0.0.1:{server.address.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        sent = {
            "Host": self.host,
            "Connection": "close",
            **({"X-Sojourn-Token": token or self.server.token} if token is not None else {}),
        }
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.address.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**sent, **(headers or {})}.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        return connection.getresponse()

    def tell(self, method: str, path: str, body: object = None, **how: Any) -> tuple[int, Any]:
        """Status, and what the JSON says."""
        with self.ask(method, path, body, **how) as response:
            return response.status, json.loads(response.read())

    def good(self, method: str, path: str, body: object = None) -> Any:
        status, answer = self.tell(method, path, body)
        assert status == 200, answer
        return answer

    def events(self, job: str, first: int = 0, most: int | None = None) -> list[dict[str, Any]]:
        """Those from a number on: all, or as many as `most`, after which the connection is dropped."""
        found: list[dict[str, Any]] = []
        with self.ask("GET", f"/api/jobs/{job}/events?from={first}") as response:
            assert response.status == 200
            while (most is None or len(found) < most) and (line := response.readline()):
                if line.strip():
                    found.append(json.loads(line))
        return found

    def submit(self, **job: Any) -> str:
        return str(self.good("POST", "/api/jobs", job)["id"])


@contextmanager
def serving(folder: Path, page: Path) -> Iterator[Browser]:
    """A server that was started in a folder, and a browser that has its address."""
    folder = folder.resolve()
    setup = Setup(folder, folder / "results", folder / "results/lab", None, page, at_once=2)
    server = Server(setup, "127.0.0.1", 0)
    begun = threading.Event()
    thread = threading.Thread(target=server.run, args=(begun.set,))
    thread.start()
    begun.wait()
    try:
        yield Browser(server)
    finally:
        server.stop()
        thread.join()


def numbers(column: dict[str, str], key: str) -> NDArray[np.float64]:
    """The numbers of a series as events and answers have them."""
    return np.frombuffer(base64.b64decode(column[key]), dtype="<f8")
