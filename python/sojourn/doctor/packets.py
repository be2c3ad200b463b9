"""Bytes of the probes for a path: TCP's SYN and its answer, and what ICMP quotes of a datagram."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

#: ICMP types that quote a packet (RFC 792, RFC 4443): its time was exceeded, or its destination is unreachable.
EXCEEDED: dict[int, int] = {socket.AF_INET: 11, socket.AF_INET6: 3}
UNREACHABLE: dict[int, int] = {socket.AF_INET: 3, socket.AF_INET6: 1}
UDP, TCP = 17, 6
IPV6_HEADER = 40
SYN, RST, ACK = 0x002, 0x004, 0x010
#: AE, CWR and ECE of TCP's flags as one number, its last bit 6: RFC 9768 3.1.
ACE_SHIFT = 6


@dataclass(frozen=True, slots=True)
class Quote:
    """What an ICMP message says of a datagram of ours."""

    tos: int
    """Its TOS byte, or IPv6 traffic class, as it arrived where the message was made."""
    source_port: int
    destination_port: int
    is_exceeded: bool
    """A router on the way answered; else where the way ends."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What the answer to a SYN says."""

    source_port: int
    destination_port: int
    flags: int

    @property
    def ace(self) -> int:
        """AE, CWR and ECE."""
        return self.flags >> ACE_SHIFT & 7

    @property
    def is_syn_ack(self) -> bool:
        """Whether it accepts the connection."""
        return self.flags & (SYN | ACK | RST) == SYN | ACK


def quote(message: bytes, family: int) -> Quote | None:
    """Reads what a raw ICMP socket gives: for IPv4 with the IP header before it (raw(7)); None for other messages."""
    icmp = message[(message[0] & 15) * 4 :] if message and family == socket.AF_INET else message
    if len(icmp) < 8 or icmp[0] not in (EXCEEDED[family], UNREACHABLE[family]):
        return None
    packet = icmp[8:]
    if family == socket.AF_INET:
        header = (packet[0] & 15) * 4 if packet else 0
        if header < 20 or len(packet) < header + 4 or packet[9] != UDP:
            return None
        tos = packet[1]
    else:
        header = IPV6_HEADER
        if len(packet) < header + 4 or packet[6] != UDP:
            return None
        tos = (packet[0] << 4 | packet[1] >> 4) & 0xFF
    source, destination = struct.unpack_from("!HH", packet, header)
    return Quote(tos, source, destination, icmp[0] == EXCEEDED[family])


def segment(packet: bytes, family: int) -> Segment | None:
    """Reads what a raw TCP socket gives: for IPv4 with the IP header before it."""
    header = (packet[0] & 15) * 4 if packet and family == socket.AF_INET else 0
    if len(packet) < header + 20:
        return None
    source, destination, flags = struct.unpack_from("!HH8xH", packet, header)
    return Segment(source, destination, flags & 0xFFF)


def syn(source: tuple[str, int], destination: tuple[str, int], family: int, ace: int, sequence: int) -> bytes:
    """A SYN with the maximum segment size 1200, with AE, CWR and ECE as in `ace`."""
    flags = 6 << 12 | ace << ACE_SHIFT | SYN
    option = struct.pack("!BBH", 2, 4, 1200)
    header = struct.pack("!HHIIHHHH", source[1], destination[1], sequence, 0, flags, 65535, 0, 0) + option
    addresses = socket.inet_pton(family, source[0]) + socket.inet_pton(family, destination[0])
    total = checksum(addresses + struct.pack("!II", TCP, len(header)) + header)
    return header[:16] + struct.pack("!H", total) + header[18:]


def checksum(data: bytes) -> int:
    """The Internet's (RFC 1071)."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
