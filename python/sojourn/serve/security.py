"""What a request has to have before anything looks at it, and what every answer says to the browser.

Other pages in the same browser can send requests to this address, by name after DNS rebinding too, and other users of
the machine can reach its port. So `Host` and `Origin` have to be those of the address that was bound, and the interface
answers only to the token, which is in the URL that was printed.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from sojourn.serve.errors import RequestError
from sojourn.serve.setup import MOST_BYTES

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

TOKEN_HEADER = b"x-sojourn-token"
API = "/api/"
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
LOOPBACK = ("127.0.0.1", "::1", "localhost")
TOO_LARGE = 413
#: Bytes of a body that is too large that are read all the same.
PASSED_OVER = 64 << 20
ANY = ("0.0.0.0", "::")  # noqa: S104 - to recognise them


@dataclass(frozen=True, slots=True)
class Address:
    """What was bound."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK

    @property
    def origin(self) -> str:
        """What a browser calls it."""
        host = "127.0.0.1" if self.host in ANY else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def names(self, host: str) -> bool:
        """Whether a `Host` header is of this address: no name that a stranger's DNS may point here."""
        name, _, port = host.rpartition(":") if ":" in host.rpartition("]")[2] else (host, "", "80")
        name = name.lower().removeprefix("[").removesuffix("]")
        if port != str(self.port):
            return False
        if self.is_loopback:
            return name in (self.host, "localhost")
        if self.host in ANY:
            return name in ("localhost", socket.gethostname().lower()) or _is_number(name)
        return name == self.host.lower()


class Guard:
    """Lets requests of the page that this server gave out through to an application."""

    def __init__(self, application: Application, address: Address, token: str) -> None:
        self._application, self._address, self._token = application, address, token.encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']}: not served")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = HEADERS | ({"cache-control": "no-store"} if scope["path"].startswith(API) else {})
                added = [(name.encode(), value.encode()) for name, value in more.items() if name.encode() not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        left = MOST_BYTES

        async def bounded() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                await _pass_over(receive, more=bool(message.get("more_body")))
                raise too_large()
            return message

        try:
            self._check(scope)
        except RequestError as refused:
            if refused.status == TOO_LARGE:
                await _pass_over(receive)
            await _refuse(answer, refused)
        else:
            await self._application(scope, bounded, answer)

    def _check(self, scope: Message) -> None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self._address.names(hosts[0].decode("latin-1")):
            raise RequestError(f"Host: expected {self._address.origin.removeprefix('http://')}, as the URL has it", 421)
        if not scope["path"].startswith(API):
            return
        own = b"http://" + hosts[0]
        if any(origin != own for origin in headers.get(b"origin", [])):
            raise RequestError("Origin: requests of other pages are not answered", 403)
        if any(site not in (b"same-origin", b"none") for site in headers.get(b"sec-fetch-site", [])):
            raise RequestError("Sec-Fetch-Site: requests of other pages are not answered", 403)
        tokens = headers.get(TOKEN_HEADER, [])
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._token):
            raise RequestError("X-Sojourn-Token: expected the token of the URL that `sojourn serve` printed", 401)
        length = headers.get(b"content-length", [b"0"])[-1]
        if not length.isdigit() or int(length) > MOST_BYTES:
            raise too_large()
        kind = headers.get(b"content-type", [b""])[-1].partition(b";")[0].strip().lower()
        if scope["method"] == "POST" and kind != b"application/json":
            raise RequestError("Content-Type: expected application/json", 415)


def too_large() -> RequestError:
    """What is said of a body that is not read."""
    return RequestError(f"expected at most {MOST_BYTES >> 20} MiB", TOO_LARGE)


async def _pass_over(receive: Receive, *, more: bool = True) -> None:
    """Reads what is left of a body, within bounds: who is still sending would not see the answer."""
    left = PASSED_OVER
    while more and left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        more = bool(message.get("more_body"))


async def _refuse(send: Send, refused: RequestError) -> None:
    body = json.dumps({"error": str(refused)}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def _is_number(name: str) -> bool:
    """Whether a host is an address, which no DNS resolves."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
