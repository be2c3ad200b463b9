"""Sends UDP packets of 1400 bytes at a constant rate: ADDRESS PORT KBIT_PER_S SECONDS ECN.

It sleeps between packets, so that virtual time passes.
"""

import socket
import sys
import time

address, port, rate, seconds, ecn = sys.argv[1], *map(int, sys.argv[2:])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
gap = 1428 * 8 / (rate * 1000)
begin = due = time.monotonic()
while due < begin + seconds:
    if (wait := due - time.monotonic()) > 0:
        time.sleep(wait)
    out.sendto(bytes(1400), (address, port))
    due += gap
