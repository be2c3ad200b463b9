"""How late the hosts of a testbed are: the tables of docs/results/noise.md, and the defaults of `hosts.noise`.

`python tests/noise.py` measures the captures of ect1 in SOJOURN_REFERENCE and writes the tables between the
page's two marks; with --check it only fails if they would differ.

The turn is the time from the last data that a receiver got to the ACK that it sends. Lateness of timers is
that of netem at the sender's host, which holds every ACK for half of the path's round trip: a high-resolution
timer of the kernel, as that of pacing. Both hosts are one machine, which is idle if the last eight times at which it
sent or received were on average further apart than 300 us.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn.captures.read import read

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
IDLE_AFTER_US = 300
#: How many distances are averaged, as cpuidle's menu governor does, and what is too close for another wake-up.
WAKE_UPS = 8
SAME_US = 15
#: What is later is no lateness: a delayed ACK, or a packet that waited for another one.
LATEST_US = 1000
#: A port whose sender sent less is that of a test's control.
LEAST_BYTES = 1_000_000

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Host:
    """What a host has seen of TCP, by the port of the client: times in us."""

    #: From that port, with payload.
    data: dict[int, Ints]
    #: To that port.
    answers: dict[int, Ints]
    #: All packets.
    times: Ints

    @classmethod
    def of(cls, path: Path) -> Host:
        """From its capture; ports whose sender sent little are left out of all but `times`."""
        capture = read([path], packets=True)
        data, answers, times = {}, {}, []
        for flow in capture.flows:
            packets = flow.packets
            if flow.protocol != "tcp" or packets is None:
                continue
            at = capture.document["start_ns"] // 1000 + np.rint(packets.t_s * 1e6).astype(np.int64)
            times.append(at)
            if packets.len[~packets.backward].sum() >= LEAST_BYTES:
                port = int(flow.document["opener"]["port"])
                data[port] = at[~packets.backward & (packets.len > 0)]
                answers[port] = at[packets.backward]
        return cls(data, answers, np.sort(np.concatenate(times)))


def wake_ups(*hosts: Host) -> Ints:
    """When their machine woke up to send or receive."""
    times = np.sort(np.concatenate([host.times for host in hosts]))
    return times[np.concatenate(([True], np.diff(times) > SAME_US))]


def distance(times: Ints, at: Ints) -> Floats:
    """Mean distance of the last wake-ups before each of `at`, that to it included; long, where there are too few."""
    earlier = np.concatenate((np.repeat(times[:1] - 1_000_000_000, WAKE_UPS), times))
    return (at - earlier[np.searchsorted(times, at, side="left")]) / WAKE_UPS


def lateness(folder: Path, run: str, delay_us: int | None) -> dict[str, list[Floats]]:
    """Turns and lateness of timers of a run, at work and idle."""
    client, server = (Host.of(folder / f"{run}.{end}.pcap.xz") for end in ("cli_cli", "srv_srv"))
    machine = wake_ups(client, server)
    found: dict[str, list[Floats]] = {f"{kind}{state}": [] for kind in ("turn", "timer") for state in ("", "_idle")}

    def keep(kind: str, late: Ints, at: Ints) -> None:
        idle = distance(machine, at) >= IDLE_AFTER_US
        for state, chosen in (("", ~idle), ("_idle", idle)):
            found[kind + state].append(late[(late >= 0) & (late < LATEST_US) & chosen].astype(float))

    for port in sorted(client.data):
        got, sent, returned = server.data[port], server.answers[port], client.answers[port]
        last = got[(np.searchsorted(got, sent, side="right") - 1).clip(0)]
        keep("turn", sent - last, last)
        # ACKs keep their order, so that without losses the n-th is the n-th.
        if delay_us is not None and len(sent) == len(returned):
            due = sent + delay_us
            keep("timer", returned - due, due)
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
