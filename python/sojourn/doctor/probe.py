"""Asks a path: datagrams with every codepoint and time to live, and SYNs that ask for ECN.

Needs CAP_NET_RAW, for the answers of routers and for SYNs of our own. At most 240 datagrams and 12 SYNs are sent.
"""

from __future__ import annotations

import secrets
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.doctor import path, rights
from sojourn.doctor.finding import Finding
from sojourn.doctor.packets import quote, segment, syn

#: Hops, as traceroute has them; after as many silent ones in a row the rest is given up.
MOST_HOPS, MOST_SILENT = 30, 5
#: Attempts for what is not answered, and how long each is waited for.
ATTEMPTS, WAIT_S = 2, 0.6
#: Ports that nobody listens at: traceroute's.
FIRST_PORT = 33434
CODEPOINTS = range(4)
#: SYNs: AE, CWR and ECE, and the codepoint. What AccECN's server reports of the field is asked for with each.
OFFERS = ((0, 0), (path.CLASSIC, 0), *((path.ACCECN, ecn) for ecn in CODEPOINTS))


class PathError(ValueError):
    """A host that cannot be probed; the text is one line."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path ends."""

    name: str
    family: socket.AddressFamily
    address: str
    port: int | None

    @classmethod
    def read(cls, text: str) -> Target:
        """`HOST`, `HOST:PORT`, or `[ADDRESS]:PORT` for an IPv6 address.

        Raises:
            PathError: it is none, or the name has no address.
        """
        host, bracket, rest = text[1:].partition("]") if text.startswith("[") else (text, "", "")
        if not bracket and text.count(":") == 1:
            host, _, rest = text.partition(":")
            rest = f":{rest}"
        port = rest.removeprefix(":")
        is_open = text.startswith("[") and not bracket
        if (
            is_open
            or not host
            or (rest and not (rest.startswith(":") and port.isdecimal() and 0 < int(port) < 1 << 16))
        ):
            raise PathError(f"--path {text}: expected HOST, HOST:PORT or [ADDRESS]:PORT")
        try:
            family, _, _, _, (address, *_) = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)[0]
        except (OSError, UnicodeError) as error:
            raise PathError(f"--path {text}: expected a host that has an address ({error})") from None
        return cls(text, family, str(address), int(port) if port else None)


def examine(target: Target) -> Iterator[Finding]:
    """The ECN field on the way, and what the server at the port negotiates.

    Raises:
        PathError: the host is not reachable.
    """
    try:
        hops = trace(target)
        answers = [] if target.port is None else negotiate(target, target.port)
    except PermissionError as error:
        yield rights.NO_RAW.found(f"{target.name} was not examined: no CAP_NET_RAW ({error.strerror})")
        return
    except OSError as error:
        raise PathError(f"--path {target.name}: {error.strerror}") from None
    yield from path.ecn_field(hops)
    if answers:
        yield from path.negotiation(target.name, answers)


def trace(target: Target) -> list[path.Hop]:
    """The hops, from the first to the end of the way."""
    is_v4 = target.family == socket.AF_INET
    protocol = socket.IPPROTO_ICMP if is_v4 else socket.IPPROTO_ICMPV6
    hops: list[path.Hop] = []
    with (
        socket.socket(target.family, socket.SOCK_RAW, protocol) as icmp,
        socket.socket(target.family, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("", 0))
        for ttl in range(1, MOST_HOPS + 1):
            hops.append(path.Hop(ttl, _ask(target, udp, icmp, ttl)))
            is_end = any(reply.is_end for reply in hops[-1].replies.values())
            if is_end or (ttl >= MOST_SILENT and not any(hop.replies for hop in hops[-MOST_SILENT:])):
                break
    return hops


def _ask(target: Target, udp: socket.socket, icmp: socket.socket, ttl: int) -> dict[int, path.Reply]:
    """Answers to datagrams with one time to live, by codepoint. The port that one goes to says which it was."""
    own, first = udp.getsockname()[1], FIRST_PORT + ttl * len(CODEPOINTS)
    replies: dict[int, path.Reply] = {}
    for _ in range(ATTEMPTS):
        for ecn in CODEPOINTS:
            if ecn not in replies:
                _mark(udp, target.family, ecn, ttl)
                udp.sendto(b"sojourn doctor", (target.address, first + ecn))
        for message, sender in _arriving(icmp):
            said = quote(message, target.family)
            if said and said.source_port == own and said.destination_port - first in CODEPOINTS:
                reply = path.Reply(sender, said.tos & 3, not said.is_exceeded)
                replies.setdefault(said.destination_port - first, reply)
            if len(replies) == len(CODEPOINTS):
                return replies
    return replies


def negotiate(target: Target, port: int) -> list[path.Answer]:
    """What a server answers to SYNs. The kernel, which knows nothing of them, ends these connections with RST."""
    with (
        socket.socket(target.family, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw,
        socket.socket(target.family, socket.SOCK_DGRAM) as finder,
    ):
        finder.connect((target.address, port))
        own = finder.getsockname()[0]
        return [path.Answer(ace, ecn, _offer(target, port, raw, own, ace, ecn)) for ace, ecn in OFFERS]


def _offer(target: Target, port: int, raw: socket.socket, own: str, ace: int, ecn: int) -> int | None:
    """AE, CWR and ECE of the answer to a SYN; None if there is none, or it refuses."""
    with socket.socket(target.family, socket.SOCK_STREAM) as holder:
        holder.bind((own, 0))  # so that nobody else has the port meanwhile
        number = holder.getsockname()[1]
        _mark(raw, target.family, ecn)
        for _ in range(ATTEMPTS):
            packet = syn((own, number), (target.address, port), target.family, ace, secrets.randbits(32))
            raw.sendto(packet, (target.address, 0))
            for answer, sender in _arriving(raw):
                said = segment(answer, target.family)
                if said and sender == target.address and (said.source_port, said.destination_port) == (port, number):
                    return said.ace if said.is_syn_ack else None
    return None


def _mark(sender: socket.socket, family: int, ecn: int, ttl: int | None = None) -> None:
    """Gives what is sent from now on a codepoint and a time to live."""
    if family == socket.AF_INET:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        if ttl is not None:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    else:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, ecn)
        if ttl is not None:
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, ttl)


def _arriving(receiver: socket.socket) -> Iterator[tuple[bytes, str]]:
    """Packets and who sent them, until the time is up."""
    end = time.monotonic() + WAIT_S
    while (left := end - time.monotonic()) > 0:
        if select.select([receiver], [], [], left)[0]:
            packet, sender = receiver.recvfrom(2048)
            yield packet, sender[0]
