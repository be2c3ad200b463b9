"""A path of three hops behind a TUN device, in this network namespace: what the doctor finds there, as JSON.

    unshare --net python tests/doctor/tun_path.py clear|swap|block|none

Hop 1 forwards; on the way to hop 2 the ECN field is changed as the argument says; hop 3 is the host, whose server has
AccECN.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading

from sojourn.doctor import probe
from sojourn.doctor.packets import SYN, checksum

#: linux/if_tun.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
HOST, PORT = "10.9.9.9", 5001
ROUTERS = {1: "10.9.0.2", 2: "10.9.1.2"}
#: What becomes of Not-ECT, ECT(1), ECT(0) and CE; None: it is lost.
CHANGES = {"none": (0, 1, 2, 3), "clear": (0, 0, 0, 0), "swap": (0, 2, 2, 3), "block": (0, None, None, None)}


def ip_packet(source: str, destination: bytes, protocol: int, payload: bytes) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
    head += socket.inet_aton(source) + destination
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def icmp(kind: int, code: int, router: str, packet: bytes) -> bytes:
    body = struct.pack("!BBHI", kind, code, 0, 0) + packet[:28]
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip_packet(router, packet[12:16], socket.IPPROTO_ICMP, body)


def syn_ack(packet: bytes) -> bytes | None:
    """The answer of a server with AccECN: RFC 9768 table 2."""
    source, destination, sequence, _, flags = struct.unpack_from("!HHIIH", packet, 20)
    if destination != PORT or flags & 0x3F != SYN:
        return None
    offered = flags >> 6 & 7
    ace = {0: 0, 3: 1, 7: (2, 3, 4, 6)[packet[1] & 3]}[offered]
    head = struct.pack("!HHIIHHHH", PORT, source, 1, sequence + 1, 5 << 12 | ace << 6 | 0x12, 65535, 0, 0)
    addresses = packet[16:20] + packet[12:16]
    total = checksum(addresses + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(head)) + head)
    return ip_packet(HOST, packet[12:16], socket.IPPROTO_TCP, head[:16] + struct.pack("!H", total) + head[18:])


def answer(packet: bytes, change: str) -> bytes | None:
    if packet[0] >> 4 != 4:
        return None  # the kernel's own, for IPv6
    ttl, protocol = packet[8], packet[9]
    if ttl == 1:
        return icmp(11, 0, ROUTERS[1], packet)
    changed = CHANGES[change][packet[1] & 3]
    if changed is None:
        return None
    packet = packet[:1] + bytes([packet[1] & 0xFC | changed]) + packet[2:]
    if ttl == 2:
        return icmp(11, 0, ROUTERS[2], packet)
    return syn_ack(packet) if protocol == socket.IPPROTO_TCP else icmp(3, 3, HOST, packet)


def main(change: str) -> None:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"path0", IFF_TUN | IFF_NO_PI))
    lines = (
        "link set dev lo up",
        "link set dev path0 up",
        "addr add 10.9.0.1/24 dev path0",
        "route add default dev path0",
    )
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)  # noqa: S607

    def serve() -> None:
        while True:
            if reply := answer(os.read(tun, 2048), change):
                os.write(tun, reply)

    threading.Thread(target=serve, daemon=True).start()
    findings = list(probe.examine(probe.Target.read(f"{HOST}:{PORT}")))
    print(json.dumps([finding.document() for finding in findings]))


if __name__ == "__main__":
    main(sys.argv[1])
