"""How late the hosts of a testbed are: the tables of docs/results/noise.md, and the defaults of `hosts.noise`.

`python tests/noise.py` measures the captures of ect1 in SOJOURN_REFERENCE and writes the tables between the
page's two marks; with --check it only fails if they would differ.

The turn is the time from the last data that a receiver got to the ACK that it sends. Lateness of timers is
that of netem at the sender's host, which holds every ACK for half of the path's round trip: a high-resolution
timer of the kernel, as that of pacing. A host is idle if it has sent and received nothing for 500 us.
"""

from __future__ import annotations

import lzma
import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PAGE = Path(__file__).parent.parent / "docs/results/noise.md"
MARKS = "<!-- written by tests/noise.py -->\n", "<!-- end of noise -->\n"
#: Captured runs, those of the fit first, with the one-way delay of netem in microseconds.
FITTED = {
    "l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms": 10_000,
    "l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-20ms": 10_000,
}
HELD_BACK = {
    "l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms": 10_000,
    # Its ACKs take 40.2 to 50.1 ms: when a timer was due is not known.
    "l4s-s5-burstiness-ns-prague-dualpi2-50Mbit-80ms": None,
}
SHARES = (0, 50, 90, 99, 99.9)
IDLE_AFTER_US = 500
#: What is later is no lateness: a delayed ACK, or a packet that waited for another one.
LATEST_US = 1000
#: A port whose sender sent less is that of a test's control.
LEAST_BYTES = 1_000_000

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def packets(path: Path) -> Ints:
    """Of the TCP packets of a pcap of Ethernet, in order: time in microseconds, ports, length of payload."""
    data = lzma.decompress(path.read_bytes())
    if struct.unpack_from("<I", data)[0] != 0xA1B2C3D4 or struct.unpack_from("<I", data, 20)[0] != 1:
        raise ValueError(f"{path.name}: not a pcap of Ethernet with microseconds")
    at, starts, times = 24, [], []
    while at + 16 <= len(data):
        seconds, micros, captured = struct.unpack_from("<III", data, at)
        starts.append(at + 16)
        times.append(seconds * 1_000_000 + micros)
        at += 16 + captured
    octets = np.frombuffer(data + bytes(64), np.uint8).astype(np.int64)
    ip, t = np.array(starts) + 14, np.array(times)
    is_tcp = (octets[ip - 2] == 8) & (octets[ip - 1] == 0) & (octets[ip + 9] == 6)
    ip, t = ip[is_tcp], t[is_tcp]

    def word(offset: Ints) -> Ints:
        return octets[offset] * 256 + octets[offset + 1]

    tcp = ip + (octets[ip] & 15) * 4
    payload = word(ip + 2) - (tcp - ip) - (octets[tcp + 12] >> 4) * 4
    found: Ints = np.stack([t, word(tcp), word(tcp + 2), payload], axis=1)
    return found[found[:, 0].argsort(kind="stable")]


def before(times: Ints, at: Ints) -> Ints:
    """How long before each of `at` the last of `times` was; long, if there was none."""
    earlier = np.concatenate((times[:1] - 1_000_000_000, times))
    return at - earlier[np.searchsorted(times, at, side="left")]


def lateness(folder: Path, run: str, delay_us: int | None) -> dict[str, list[Floats]]:
    """Turns and lateness of timers of a run, at work and idle."""
    client, server = (packets(folder / f"{run}.{end}.pcap.xz") for end in ("cli_cli", "srv_srv"))
    found: dict[str, list[Floats]] = {f"{kind}{state}": [] for kind in ("turn", "timer") for state in ("", "_idle")}

    def keep(kind: str, late: Ints, quiet: Ints) -> None:
        for state, chosen in (("", quiet < IDLE_AFTER_US), ("_idle", quiet >= IDLE_AFTER_US)):
            found[kind + state].append(late[(late >= 0) & (late < LATEST_US) & chosen].astype(float))

    for port in np.unique(client[:, 1]):
        if client[client[:, 1] == port, 3].sum() < LEAST_BYTES:
            continue
        got = server[(server[:, 1] == port) & (server[:, 3] > 0), 0]
        sent, returned = (end[end[:, 2] == port, 0] for end in (server, client))
        last = got[(np.searchsorted(got, sent, side="right") - 1).clip(0)]
        keep("turn", sent - last, before(server[:, 0], last))
        # ACKs keep their order, so that without losses the n-th is the n-th.
        if delay_us is not None and len(sent) == len(returned):
            due = sent + delay_us
            keep("timer", returned - due, before(client[:, 0], due))
    return found


def together(folder: Path, runs: Mapping[str, int | None]) -> dict[str, Floats]:
    """All values of some runs."""
    each = [lateness(folder, run, delay_us) for run, delay_us in runs.items()]
    return {name: np.concatenate([part for one in each for part in one[name]]) for name in each[0]}


def tables(folder: Path) -> str:
    """Quantiles in microseconds of the fitted runs and of those held back."""
    lines = ["| microseconds | runs | values | least | median | 90 % | 99 % | 99.9 % |", "|---" * 8 + "|"]
    sets: list[tuple[str, Any]] = [("fitted", together(folder, FITTED)), ("held back", together(folder, HELD_BACK))]
    for name in ("turn", "turn_idle", "timer", "timer_idle"):
        for label, found in sets:
            values = " | ".join(f"{value:.0f}" for value in np.percentile(found[name], SHARES))
            lines.append(f"| `{name}` | {label} | {len(found[name])} | {values} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Exit code 1 if --check finds other tables, 2 without captures."""
    folder = Path(os.environ.get("SOJOURN_REFERENCE", "")) / "ect1/pcap"
    if not folder.is_dir():
        print("noise: SOJOURN_REFERENCE does not point to captures", file=sys.stderr)
        return 2
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(MARKS[0])
    tail = rest.split(MARKS[1])[1]
    made = head + MARKS[0] + tables(folder) + MARKS[1] + tail
    if "--check" in sys.argv[1:]:
        return int(made != page)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
