"""Binds an address and answers until it is stopped."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from sojourn.serve.app import Lab, application
from sojourn.serve.errors import RequestError
from sojourn.serve.security import Address, Guard
from sojourn.serve.setup import Setup

#: Tried first, so that the page's address stays what it was.
USUAL_PORT = 7469
#: What requests under way have until they are cut off at the end, s.
GRACE_S = 2


class Server:
    """One lab at one address."""

    def __init__(self, setup: Setup, host: str, port: int | None) -> None:
        """Binds; raises `RequestError` if it cannot."""
        self._socket = _bound(host, port)
        self.address = Address(host, self._socket.getsockname()[1])
        self.token = secrets.token_urlsafe(32)
        self.lab = Lab(setup)
        self._served: _Served | None = None

    @property
    def url(self) -> str:
        """What opens the page."""
        return f"{self.address.origin}/?token={self.token}"

    def run(self, ready: Callable[[], None] = lambda: None) -> int:
        """Answers until SIGINT or SIGTERM; the number of jobs that this cancelled."""
        guarded = Guard(application(self.lab), self.address, self.token)
        config = uvicorn.Config(
            guarded,
            access_log=False,
            log_level="error",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=GRACE_S,
            limit_concurrency=256,
        )
        self._served = _Served(config, self.lab)
        try:
            ready()
            self._served.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass  # before uvicorn listens to signals; or it has ended, and then hands the signal on
        finally:
            self._socket.close()
            cancelled = self.lab.jobs.close()
        return cancelled

    def stop(self) -> None:
        """Ends `run`, from another thread."""
        if self._served:
            self._served.stop()


class _Served(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, lab: Lab) -> None:
        super().__init__(config)
        self._lab = lab

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.stop()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """Ends it, and the streams of events, which would be waited for."""
        self._lab.jobs.is_closing = True
        self.should_exit = True


def _bound(host: str, port: int | None) -> socket.socket:
    """A socket at this port; without one, at the usual one if it is free, or at any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        place = socket.getaddrinfo(host, port or 0, family, socket.SOCK_STREAM)[0]
    except OSError as error:
        raise RequestError(f"--host {host}: expected an address of this machine ({error.strerror})") from None
    for number in (USUAL_PORT, 0) if port is None else (port,):
        made = socket.socket(place[0], socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((place[4][0], number))
            made.listen()  # whoever reads the address may ask at once
        except OSError as error:
            made.close()
            if number != USUAL_PORT or port is not None:
                what = f"--host {host} --port {port}" if port else f"--host {host}"
                raise RequestError(f"{what}: {error.strerror}") from None
        else:
            return made
    raise AssertionError("the last port was tried")
