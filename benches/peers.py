"""CPU time per data packet beside other simulators on this machine: `make bench-peers`.

    python benches/peers.py [--rounds 5] [--document FILE]

A peer is a command in the variable of PEERS, or a program `sojourn-peer-NAME` in PATH, called with four more words,

    FLOWS RATE_MBPS RTT_MS DURATION_S

and simulates that many bulk flows with the scalable controller that it has (DCTCP, Prague, SCE), over one bottleneck
whose queue marks from about 1 ms on. Flows start within the first tenth. The last line that it prints is

    {"data_packets": NUMBER}

of data packets that crossed the bottleneck. No simulator has these words of its own: a driver of thirty lines linked to
it, or a script that writes its configuration, has to be written for it. CPU time is that of the whole process, user and
system, ours and theirs one after the other, round by round; ratios are those within a round.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from measured import MeasureError, Spread, bench, machine, paired_ratios, spent, write

#: A longer run is stopped, and the peer has no figure in this case.
PATIENCE_S = 300.0


class Peer(NamedTuple):
    name: str
    variable: str
    leaves_out: str


PEERS = (
    Peer(
        "htsim",
        "SOJOURN_HTSIM",
        "SACK, timestamps, pacing, delayed ACKs, AccECN, handshake, shapers, series; its queue is a FIFO with a step",
    ),
    Peer(
        "scim", "SOJOURN_SCIM", "loss recovery, SACK, delayed ACKs (off as shipped), handshake, shapers; one bottleneck"
    ),
    Peer("pico_sim", "SOJOURN_PICO_SIM", "nothing of QUIC, which it encrypts; TCP, AccECN, shapers"),
    Peer("ns-3", "SOJOURN_NS3", "Prague and AccECN without patches"),
)


class Load(NamedTuple):
    """What every simulator is asked for."""

    flows: int
    rate_mbps: int
    rtt_ms: int
    duration_s: int

    def words(self) -> list[str]:
        return [str(number) for number in self]

    def __str__(self) -> str:
        flows = "1 flow" if self.flows == 1 else f"{self.flows} flows"
        return f"{flows}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {self.duration_s} s"


LOADS = (Load(1, 100, 10, 60), Load(100, 1000, 10, 10), Load(1000, 1000, 10, 10))

#: Ours: as little as the peers do, and what our users run.
OURS = {
    "sojourn, dctcp over a step": 'qdisc = "brickwall no-sce ecn-threshold 1ms no-drop"\n',
    "sojourn, prague over htb and dualpi2": 'shaper = "htb"\nqdisc = "dualpi2"\n',
}
CONTROLLERS = dict(zip(OURS, ("dctcp", "prague"), strict=True))


def scenario(side: str, load: Load) -> str:
    """The load as a scenario file, without series."""
    head = f'name = "peers"\nduration = "{load.duration_s}s"\nstep = "{load.duration_s}s"\n'
    link = f'[[link]]\nname = "bneck"\nrate = "{load.rate_mbps}Mbit"\ndelay = "{load.rtt_ms / 2:g}ms"\n{OURS[side]}'
    apart_us = load.duration_s * 1e5 / load.flows
    flows = (
        f'[[flow]]\nname = "f{n}"\ncc = "{CONTROLLERS[side]}"\nstart = "{n * apart_us:.0f}us"\n'
        for n in range(load.flows)
    )
    return "".join((head, link, *flows))


@dataclass
class Side:
    """A simulator's runs of one load."""

    name: str
    command: Sequence[str]
    #: CPU nanoseconds per data packet, one for each round.
    packet_ns: list[float] = field(default_factory=list)
    failure: str | None = None

    def run(self) -> None:
        try:
            found = spent(self.command, patience_s=PATIENCE_S)
            self.packet_ns.append(found.cpu_s * 1e9 / data_packets(found.output))
        except MeasureError as error:
            self.failure = str(error)


def data_packets(output: str) -> int:
    """Of the last line of a simulator.

    Raises:
        MeasureError: it is another one.
    """
    last = output.strip().rpartition("\n")[2]
    try:
        packets = json.loads(last)["data_packets"]
    except (ValueError, KeyError, TypeError):
        packets = None
    if not isinstance(packets, int) or packets <= 0:
        raise MeasureError(f'expected {{"data_packets": NUMBER}} as the last line, not {last[:80]!r}')
    return packets


def commands(env: Mapping[str, str], which: Callable[[str], str | None] = shutil.which) -> dict[Peer, list[str]]:
    """The command of each peer that there is."""
    found = {peer: shlex.split(env.get(peer.variable, "")) for peer in PEERS}
    for peer, words in found.items():
        if not words and (program := which(f"sojourn-peer-{peer.name}")):
            words.append(program)
    return {peer: words for peer, words in found.items() if words}


def rows(load: Load, sides: Sequence[Side], ours: int) -> Iterator[str]:
    """Lines of the table: the first `ours` sides are ours, and each peer has its ratio to both of them."""
    for n, side in enumerate(sides):
        if side.failure:
            yield f"| {load} | {side.name} | {side.failure} |" + " |" * (ours + 1)
            continue
        rate = Spread.of([1e3 / ns for ns in side.packet_ns])
        ratios = [
            paired_ratios(mine.packet_ns, side.packet_ns).text() if n >= ours and not mine.failure else ""
            for mine in sides[:ours]
        ]
        cells = (str(load), side.name, f"{Spread.of(side.packet_ns).middle:.0f}", rate.text(), *ratios)
        yield f"| {' | '.join(cells)} |"


def measure(program: Path, peers: Mapping[Peer, Sequence[str]], rounds: int) -> Iterator[str]:
    """The table, line by line."""
    yield from (f"{machine()}; {rounds} rounds.", "")
    names = (*OURS, *(peer.name for peer in peers))
    ratios = (f"ours of theirs: {name.removeprefix('sojourn, ')}" for name in OURS)
    titles = ("load", "simulator", "CPU ns per packet", "million packets per CPU second", *ratios)
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    with tempfile.TemporaryDirectory() as scratch:
        for load in LOADS:
            files = [Path(scratch) / f"{n}.toml" for n in range(len(OURS))]
            for file, name in zip(files, OURS, strict=True):
                file.write_text(scenario(name, load), encoding="utf-8")
            calls = [[str(program), "file", str(file)] for file in files]
            calls += [[*words, *load.words()] for words in peers.values()]
            sides = [Side(name, call) for name, call in zip(names, calls, strict=True)]
            for _ in range(rounds):
                for side in sides:
                    if not side.failure:
                        side.run()
            yield from rows(load, sides, len(OURS))
    yield ""
    yield from (f"{peer.name} leaves out: {peer.leaves_out}.\n" for peer in peers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--document", type=Path, help="put the table in the place of the one that this file has")
    given = parser.parse_args()
    peers = commands(os.environ)
    for peer in PEERS:
        if peer not in peers:
            print(f"skipped: {peer.name} (set {peer.variable}=COMMAND, or put sojourn-peer-{peer.name} into PATH)")
    if not peers:
        print("no peer to measure beside; what a command has to do: python benches/peers.py --help")
        return 0
    try:
        program = bench("sojourn-sim", "engine")
    except MeasureError as error:
        print(f"bench-peers: {error}", file=sys.stderr)
        return 1
    lines = []
    for line in measure(program, peers, given.rounds):
        print(line, flush=True)
        lines.append(line)
    if given.document:
        write(given.document, "benches/peers.py peers", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
