"""How near the engine `live` is to the simulator here, and what it costs: the tables of docs/results/live.md.

    python benches/live.py accuracy [--runs 5] [--out DIR] [--document FILE]
    python benches/live.py cost [--document FILE]

`accuracy` runs the suite `live` on the simulator and in real time, and once in virtual time if SOJOURN_LINUX names a
kernel. A run in real time that was late does not count: another one takes its place, at most three times as many are
tried. DIR keeps the runs, so that what is there is not done again. `cost` measures the middlebox with the rights that
it is started with and, as root, without FIFO scheduling, each with and without `--keep-awake`.
FILE gets the table in the place of the one that it has.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from measured import write
from sojourn import Scenario, engines, metrics, suites
from sojourn.engines import Engine
from sojourn.engines.linux import VARIABLE
from sojourn.execution import execute
from sojourn.glance import Glance
from sojourn.planning import plan

#: Within these, live and simulation agree.
GOODPUT_SHARE, DELAY_MS, DELAY_SHARE = 0.03, 1.0, 0.1
#: Runs tried for each that counts.
ATTEMPTS = 3
#: In virtual time a run takes minutes, and the machine has no part in its result.
VIRTUAL_RUNS = 1

COST = """
name = "cost"
duration = "10s"
measure.from = "2s"
[tcp]
ecn = "rfc3168"
rmem_max = "16Mb"
wmem_max = "16Mb"
[[link]]
name = "bneck"
rate = "100Mbit"
shaper = "htb"
qdisc = "pfifo"
reverse = { rate = "none", qdisc = "pfifo" }
"""
#: What loads the bottleneck, and what finds it empty.
BULK = '[[flow]]\nname = "flow"\ncc = "cubic"\n'
PROBE = '[[flow]]\nname = "flow"\napp = "cbr rate 1Mbit size 200"\n'
QUEUES = ("pfifo limit 250", "fq_codel", "dualpi2", "cake unlimited")
#: Without a shaper, with and without super-packets.
UNSHAPED = "pfifo limit 10000"
#: Without the capabilities that FIFO scheduling and locked memory need; what is left suffices for a TUN device.
NO_RIGHTS = ("setpriv", "--bounding-set", "-sys_nice,-ipc_lock")
#: After the start.
SETTLE_S = 2.0
#: Sends the time to a port of this machine, as often as the probe sends.
SENDER = """
import socket, struct, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])):
    time.sleep(0.0016)
    sender.sendto(struct.pack("Q", time.monotonic_ns()), ("127.0.0.1", int(sys.argv[1])))
"""
WAKE_UPS = 3000


@dataclass
class Side:
    """The runs of a case on one engine."""

    goodputs_mbps: list[float]
    delays_ms: list[float]
    #: When each began.
    started: list[str]
    late: int = 0
    p99_ms: float | None = None

    @property
    def goodput(self) -> float:
        return median(self.goodputs_mbps)

    @property
    def delay(self) -> float:
        return median(self.delays_ms)

    def __str__(self) -> str:
        return f"{self.goodput:.2f} | {self.delay:.2f}"


def collected(case: suites.Case, engine: Engine, wanted: int, folder: Path) -> Side:
    """Goodput and mean queue delay of `wanted` runs that were on time."""
    side, p99_ms = Side([], [], []), []
    for job in plan([f"^{case.id}$"], seeds=wanted * (ATTEMPTS if engine.is_real_time else 1)):
        (outcome,) = execute([job], folder / engine.name.replace(":", "-"), engine=engine, quiet=True)
        if outcome.run is None:
            sys.exit(f"{job.id} on {engine.name}: {outcome.error}")
        punctuality = Glance.of(outcome.run).punctuality
        if punctuality and punctuality.is_late:
            side.late += 1
            continue
        side.goodputs_mbps.append(float(outcome.run.summary["flows"][0]["goodput_mbps"]))
        side.started.append(str(outcome.run.manifest["started"]))
        statistics = metrics.sojourn(outcome.run, "bneck")
        side.delays_ms.append(statistics["mean"] if statistics else nan)
        p99_ms += [punctuality.p99_ms] if punctuality and punctuality.p99_ms is not None else []
        if len(side.delays_ms) == wanted:
            break
    if len(side.delays_ms) < wanted:
        sys.exit(f"{case.id} on {engine.name}: {side.late} runs were late: expected a machine with less beside it")
    side.p99_ms = median(p99_ms) if p99_ms else None
    return side


def agrees(live: Side, sim: Side) -> bool:
    is_goodput = abs(live.goodput - sim.goodput) <= GOODPUT_SHARE * sim.goodput
    return is_goodput and abs(live.delay - sim.delay) <= max(DELAY_MS, DELAY_SHARE * sim.delay)


def accuracy(runs: int, folder: Path) -> Iterator[str]:
    """The table, line by line."""
    yield from (machine(), "")
    has_virtual = bool(os.environ.get(VARIABLE))
    sim, live = engines.named("sim"), engines.named("live")
    heading = "| controller, queue | sim: goodput, Mbit/s | mean queue delay, ms |"
    heading += " live: goodput | delay (least to greatest) |"
    third = " linux:sojourn: goodput | delay |" if has_virtual else ""
    yield f"{heading}{third} late runs | lateness p99, ms | within the bounds |"
    yield "|---" * (10 if has_virtual else 8) + "|"
    started: list[str] = []
    for case in suites.suite("live"):
        simulated, real = collected(case, sim, runs, folder), collected(case, live, runs, folder)
        started += real.started
        _, queue, _, _, controller = case.id.split("/")
        cells = f"| {controller}, `{queue}` | {simulated} | {real} ({spread(real.delays_ms)}) |"
        if has_virtual:
            cells += f" {collected(case, engines.named('linux:sojourn'), VIRTUAL_RUNS, folder)} |"
        yield f"{cells} {real.late} | {real.p99_ms:.3f} | {'yes' if agrees(real, simulated) else '**no**'} |"
    virtual = f"; `linux:sojourn` {VIRTUAL_RUNS} run, in virtual time" if has_virtual else ""
    bounds = f"goodput within {GOODPUT_SHARE:.0%}, mean delay within {DELAY_MS:g} ms or {DELAY_SHARE:.0%}"
    yield from ("", f"Medians of {runs} runs of 30 s, means from 5 s on{virtual}. The bounds: {bounds}.")
    yield f"Those in real time were begun from {min(started)[:16]} to {max(started)[:16]} UTC."


def spread(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def machine() -> str:
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    cpu = next((line.partition(":")[2].strip() for line in about.splitlines() if line.startswith("model name")), "")
    return f"Linux {platform.release()}, {os.cpu_count()} CPUs ({cpu or platform.machine()})"


def load() -> str:
    return f"Load average {os.getloadavg()[0]:.1f}."


@dataclass
class Cost:
    """What a middlebox took and how late it was; times in us."""

    queue: str
    has_fifo: bool
    keeps_awake: bool
    cpu_share: float
    p50_us: float
    p99_us: float
    goodput_mbps: float
    added_p50_us: float
    added_p99_us: float

    def __str__(self) -> str:
        times = (self.p50_us, self.p99_us, self.added_p50_us, self.added_p99_us)
        numbers = " | ".join(f"{value:.0f}" for value in (100 * self.cpu_share, *times))
        means = ", ".join(("FIFO",) * self.has_fifo + ("awake",) * self.keeps_awake) or "none"
        return f"| {self.queue} | {means} | {numbers} | {self.goodput_mbps:.1f} |"


def costs() -> list[Cost]:
    """Each queue at 100 Mbit/s, and no shaper at all, with the rights that this process has."""
    return [*costs_of(keeps_awake=False), *costs_of(keeps_awake=True)]


def costs_of(*, keeps_awake: bool) -> list[Cost]:
    single = engines.named("live", engines.Options(keep_awake=keeps_awake))
    whole = engines.named("live", engines.Options(super_packets=True, keep_awake=keeps_awake))
    sim = engines.named("sim")
    found = []
    for queue, live in [*((queue, single) for queue in QUEUES), (UNSHAPED, single), (UNSHAPED, whole)]:
        is_shaped = queue in QUEUES
        unshaped = "20 Gbit/s, super-packets" if live is whole else "20 Gbit/s"
        changes = {"link.bneck.qdisc": queue} | ({} if is_shaped else {"link.bneck.rate": "20Gbit"})
        loaded, cpu_share = watched(live, COST + BULK, changes)
        empty, _ = watched(live, COST + PROBE, changes)
        ideal = json.loads(engines.complete(sim.start(Scenario(COST + PROBE).resolve(changes))).summary)
        late = max((host["lateness_ms"] for host in loaded["middlebox"]["hosts"]), key=lambda one: float(one["p99"]))
        delay, least = (one["flows"][0]["one_way"]["delay_ms"] for one in (empty, ideal))
        found.append(
            Cost(
                queue=f"{'htb 100 Mbit/s' if is_shaped else unshaped}, `{queue}`",
                has_fifo="fifo" in loaded["middlebox"]["granted"],
                keeps_awake="awake" in loaded["middlebox"]["granted"],
                cpu_share=cpu_share,
                p50_us=1e3 * late["p50"],
                p99_us=1e3 * late["p99"],
                goodput_mbps=loaded["flows"][0]["goodput_mbps"],
                added_p50_us=1e3 * (delay["p50"] - least["p50"]),
                added_p99_us=1e3 * (delay["p99"] - least["p99"]),
            )
        )
    return found


def watched(engine: Engine, text: str, changes: dict[str, str]) -> tuple[dict[str, Any], float]:
    """The summary of a run, and the share of a core that its middlebox takes once it is under way."""
    run = engine.start(Scenario(text).resolve(changes))
    spent: list[tuple[float, float]] = []
    while run.advance(budget_s=0.2) != "ended":
        cpu = cpu_s()
        # With the run its thread ends.
        if cpu > (spent[-1][1] if spent else 0.0):
            spent.append((time.monotonic(), cpu))
    settled = [one for one in spent if one[0] > spent[0][0] + SETTLE_S]
    if len(settled) < 2:
        sys.exit("expected a run of which the middlebox's CPU time is seen")
    (begin_s, before), (end_s, after) = settled[0], settled[-1]
    summary: dict[str, Any] = json.loads(run.finish().summary)
    return summary, (after - before) / (end_s - begin_s)


def cpu_s() -> float:
    """CPU time of the middlebox's thread among the descendants of this process, s."""
    ticks = 0
    for process in descendants(os.getpid()):
        for comm in Path(f"/proc/{process}/task").glob("*/comm"):
            # A thread may end while it is looked at.
            with suppress(OSError):
                if comm.read_text().strip() == "middlebox":
                    # utime and stime, proc_pid_stat(5): after the name in parentheses, state is the third field.
                    fields = (comm.parent / "stat").read_text().rpartition(")")[2].split()
                    ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def wake_ups_us() -> tuple[float, float]:
    """What a datagram over loopback takes to a program that waits for it, median and 99th percentile, in us."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        command = [sys.executable, "-c", SENDER, str(receiver.getsockname()[1]), str(WAKE_UPS)]
        with subprocess.Popen(command):
            delays = []
            for _ in range(WAKE_UPS):
                sent = struct.unpack("Q", receiver.recv(8))[0]
                delays.append((time.monotonic_ns() - sent) / 1e3)
    found = quantiles(delays, n=100)
    return found[49], found[98]


def descendants(process: int) -> Iterator[int]:
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, children.read_text().split()):
                yield child
                yield from descendants(child)


def cost() -> Iterator[str]:
    """The table, line by line."""
    yield from (f"{machine()}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. {load()}", "")
    yield (
        "| bottleneck | real time | CPU, % of a core | lateness p50, us | p99 | added one-way delay p50, us | p99 | "
        "CUBIC, Mbit/s |"
    )
    yield "|---" * 8 + "|"
    yield from map(str, costs())
    if os.geteuid() == 0:
        yield from map(str, without_rights())
    p50_us, p99_us = wake_ups_us()
    waiting = f"A program that waits for a datagram over loopback has it after {p50_us:.0f} us, p99 {p99_us:.0f}."
    yield from ("", f"{waiting} {load()}")


def without_rights() -> list[Cost]:
    command = [*NO_RIGHTS, sys.executable, __file__, "rows"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [Cost(**row) for row in json.loads(done.stdout)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "cost", "rows"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/live-accuracy"))
    parser.add_argument("--document", type=Path)
    given = parser.parse_args()
    if given.what == "rows":
        print(json.dumps([vars(row) for row in costs()]))
        return
    lines = []
    for line in accuracy(given.runs, given.out) if given.what == "accuracy" else cost():
        print(line, flush=True)
        lines.append(line)
    if given.document:
        write(given.document, f"benches/live.py {given.what}", lines)


if __name__ == "__main__":
    try:
        main()
    except engines.EngineError as error:
        sys.exit(str(error))
