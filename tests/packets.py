"""Capture files made by hand, packet by packet, for tests whose numbers can be worked out."""

from __future__ import annotations

import struct
from pathlib import Path

FIN, SYN, RST, PSH, ACK, ECE, CWR, AE = 1, 2, 4, 8, 16, 64, 128, 256
NOT_ECT, ECT1, ECT0, CE = range(4)

Packet = tuple[float, bytes]


def tcp(
    t: float,
    from_: tuple[str, int],
    to: tuple[str, int],
    *,
    seq: int,
    ack: int = 0,
    flags: int = ACK,
    ecn: int = NOT_ECT,
    length: int = 0,
    window: int = 60000,
    options: bytes = b"",
) -> Packet:
    """An IPv4 packet with its time; its payload is zeros."""
    options += b"\x01" * (-len(options) % 4)
    offset = (20 + len(options)) // 4
    ports = struct.pack("!HH", from_[1], to[1])
    rest = struct.pack("!IIHHHH", seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, offset << 12 | flags, window, 0, 0)
    return t, ip(from_[0], to[0], 6, ecn, ports + rest + options + bytes(length))


def with_ecn(data: bytes, ecn: int) -> bytes:
    """The IPv4 packet with this codepoint."""
    source, destination = (".".join(map(str, data[at : at + 4])) for at in (12, 16))
    return ip(source, destination, data[9], ecn, data[20:])


def address(text: str) -> bytes:
    return bytes(map(int, text.split(".")))


def mss(size: int) -> bytes:
    return struct.pack("!BBH", 2, 4, size)


def sack(*blocks: tuple[int, int]) -> bytes:
    return struct.pack("!BB", 5, 2 + 8 * len(blocks)) + b"".join(struct.pack("!II", *block) for block in blocks)


def udp(t: float, from_: tuple[str, int], to: tuple[str, int], *, ecn: int = NOT_ECT, length: int = 100) -> Packet:
    return t, ip(from_[0], to[0], 17, ecn, struct.pack("!HHHH", from_[1], to[1], 8 + length, 0) + bytes(length))


def write(path: Path, packets: list[Packet]) -> Path:
    """A pcap file with nanoseconds, of raw IP."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for t, data in packets:
            whole, ns = divmod(round(t * 1e9), 1_000_000_000)
            file.write(struct.pack("<IIII", whole, ns, len(data), len(data)) + data)
    return path


def bulk(
    *, rate: float = 10e6, rtt: float = 0.02, seconds: float = 2.0, marked: int = 0, lost: int = 0, ecn: int = ECT0
) -> list[Packet]:
    """One connection at a sender: 1000 bytes of payload at a time, at a rate of the payload, acknowledged an RTT later.

    Of every `marked`-th segment classic feedback tells that it arrived with CE; segment number `lost` is lost, and sent
    again after SACKs of the three after it.
    """
    client, server = ("10.0.0.1", 40000), ("10.0.0.2", 80)
    start = 1_600_000_000.0
    packets = [
        tcp(start, client, server, seq=1000, flags=SYN | ECE | CWR, options=mss(1000)),
        tcp(start + rtt, server, client, seq=5000, ack=1001, flags=SYN | ACK | ECE, options=mss(1000)),
        tcp(start + rtt, client, server, seq=1001, ack=5001),
    ]
    step = 8000 / rate
    begin = start + rtt + 0.001
    count = int(seconds / step)
    for n in range(count):
        at, first = begin + n * step, 1001 + 1000 * n
        packets.append(tcp(at, client, server, seq=first, ack=5001, ecn=ecn, length=1000))
        hole = bool(lost) and lost <= n < lost + 4
        echo = ECE if marked and n % marked == marked - 1 else 0
        acked = 1001 + 1000 * lost if hole else first + 1000
        blocks = sack((1001 + 1000 * (lost + 1), first + 1000)) if hole and n > lost else b""
        if not (hole and n == lost):
            packets.append(
                tcp(
                    at + rtt,
                    server,
                    client,
                    seq=5001,
                    ack=acked,
                    flags=ACK | echo,
                    options=b"\1\1" + blocks if blocks else b"",
                )
            )
    if lost:
        again = begin + (lost + 3) * step + rtt + 0.0001
        packets.append(tcp(again, client, server, seq=1001 + 1000 * lost, ack=5001, ecn=NOT_ECT, length=1000))
    end = begin + count * step + rtt
    packets.append(tcp(end, client, server, seq=1001 + 1000 * count, ack=5001, flags=FIN | ACK))
    packets.append(tcp(end + rtt, server, client, seq=5001, ack=1002 + 1000 * count, flags=FIN | ACK))
    return sorted(packets, key=lambda packet: packet[0])


def ip(source: str, destination: str, protocol: int, ecn: int, payload: bytes) -> bytes:
    """An IPv4 packet."""
    addresses = address(source) + address(destination)
    head = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
    total = sum(struct.unpack("!10H", head + addresses))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack("!H", checksum) + addresses + payload
