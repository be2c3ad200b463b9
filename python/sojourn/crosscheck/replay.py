"""Both engines' packets of one case, up to the first that differs, and their series over each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sojourn import engines, metrics
from sojourn.captures.flow import AE, CWR, ECE, FIN, RST, SYN, WAYS, Packets, Way
from sojourn.captures.read import read
from sojourn.crosscheck.campaign import CampaignError
from sojourn.execution import execute
from sojourn.groups import written_out
from sojourn.jobs import Job
from sojourn.plot import figure, save, styled
from sojourn.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sojourn.results import Run

#: Packets are at the same time if they are within this of each other, s: what processes of a kernel take.
SAME_S = 100e-6
#: Rows shown on either side of a difference.
AROUND = 3
#: Series differ where they are further from each other than this share, and than this share of their range.
SERIES_SHARE, RANGE_SHARE = 0.05, 0.02
#: Series that are listed.
MOST_SERIES = 8
#: What a picture has of a flow and of the bottleneck.
DRAWN = ("cwnd", "rtt", "in_flight")
FLAGS = {SYN: "S", FIN: "F", RST: "R", ECE: "E", CWR: "C", AE: "A"}


@dataclass(frozen=True, slots=True)
class Row:
    """A packet at the sender's host; times and numbers count from the connection's first of the direction."""

    t_s: float
    seq: int
    length: int
    ack: int
    flags: str
    ecn: int

    def differs(self, other: Row) -> str:
        """What is not the same, or nothing."""
        names = [
            name for name in ("seq", "length", "ack", "flags", "ecn") if getattr(self, name) != getattr(other, name)
        ]
        if not names and abs(self.t_s - other.t_s) > SAME_S:
            names = ["time"]
        return ", ".join(names)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first packet of a direction that is not the same on both engines."""

    flow: str
    connection: int
    way: Way
    index: int
    what: str
    sim: tuple[Row, ...]
    kernel: tuple[Row, ...]

    @property
    def t_s(self) -> float:
        """When it is, on the engine that has it first."""
        return min(rows[self.index].t_s for rows in (self.sim, self.kernel) if self.index < len(rows))

    def lines(self) -> Iterator[str]:
        kind = "data" if self.way == "forward" else "ACKs"
        where = f"{self.flow}, connection {self.connection}, {kind}: packet {self.index + 1}"
        yield f"{where}, {self.t_s:.6f} s after the first, differs in {self.what}"
        yield f"  {'':6} {'packet':>7} {'t, s':>11} {'seq':>10} {'len':>6} {'ack':>10} flags ECN"
        for name, rows in (("sim", self.sim), ("linux", self.kernel)):
            for number in range(max(self.index - AROUND, 0), min(self.index + AROUND + 1, len(rows))):
                row, here = rows[number], ">" if number == self.index else " "
                numbers = f"{row.t_s:11.6f} {row.seq:10} {row.length:6} {row.ack:10} {row.flags:5} {row.ecn:3}"
                yield f"{here} {name:6} {number + 1:7} {numbers}"


@dataclass(frozen=True, slots=True)
class Replay:
    """What was found."""

    case: str
    differences: tuple[Difference, ...]
    #: Name, when, ours and the kernel's.
    series: tuple[tuple[str, float, float, float], ...]
    picture: Path

    def lines(self) -> Iterator[str]:
        if not self.differences:
            yield f"{self.case}: all packets of all flows are the same, within {SAME_S * 1e6:.0f} us"
        for number, difference in enumerate(self.differences):
            yield from ([""] if number else [])
            yield from difference.lines()
        if self.series:
            yield ""
            yield f"{'series':32} {'differs from, s':>16} {'sim':>12} {'linux':>12}"
        for name, at_s, ours, theirs in self.series[:MOST_SERIES]:
            yield f"{name:32} {at_s:16.3f} {ours:12.6g} {theirs:12.6g}"
        yield f"picture: {self.picture}"


def replay(job: Job, out: Path) -> Replay:
    """Runs a case on both engines with captures at its senders, into `out/replay`.

    Raises `CampaignError` if an engine cannot.
    """
    names = [str(flow["name"]) for flow in written_out(job.scenario.brief().get("flow"))]
    captured = _captured(job, names)
    runs = [_run(captured, out / "replay" / name, name) for name in ("sim", "linux")]
    found = [one for name in names for one in _of_flow(name, *runs)]
    found.sort(key=lambda one: one.t_s)
    series = sorted(_series(*runs), key=lambda row: row[1])
    picture = out / "replay" / f"{job.id}.svg"
    first = found[0].flow if found else names[0]
    drawn = [name for what in DRAWN if (name := f"flow.{first}.{what}") in runs[0].names()]
    _draw(runs, [*drawn, "queue.bneck.backlog_bytes"], picture, series[0][1] if series else None)
    return Replay(job.id, tuple(found), tuple(series), picture)


def _draw(runs: Sequence[Run], names: Sequence[str], target: Path, parts_s: float | None) -> None:
    """Series over each other up to where they part, and as long again."""
    title = f"{runs[0].id} on sim and linux" + ("" if parts_s is None else f": apart from {parts_s:.3g} s on")
    with styled():
        drawn = figure(runs, names, title=title)
        if parts_s is not None:
            for ax in drawn.axes:
                ax.set_xlim(0, 2 * parts_s)
                ax.axvline(parts_s, color="0.4", linewidth=1, linestyle=":")
        save(drawn, target, heading=title, description=", ".join(names))


def _captured(job: Job, names: Sequence[str]) -> Job:
    """The same case with a capture at the sender of each flow."""
    document = job.scenario.brief()
    document["capture"] = [
        {"name": f"replay-{name}", "points": [{"flow": name, "at": ["sender"]}], "flows": [name], "comments": False}
        for name in names
    ]
    return replace(job, scenario=Scenario.build(document).resolve())


def _run(job: Job, out: Path, engine: engines.Name) -> Run:
    [outcome] = execute([job], out, engine=engines.named(engine), fresh=True, quiet=True)
    if outcome.run is None:
        raise CampaignError(f"{job.id} on {engine}: {outcome.error}")
    return outcome.run


def _of_flow(name: str, sim: Run, kernel: Run) -> Iterator[Difference]:
    ours, theirs = (_connections(run, name) for run in (sim, kernel))
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
        for way in WAYS:
            rows = _rows(a, way), _rows(b, way)
            if found := first(*rows):
                yield Difference(name, number, way, *found, *rows)


def _connections(run: Run, name: str) -> list[Packets]:
    """Those of a flow, in the order of their first packets."""
    file = run.path / f"replay-{name}.pcapng"
    flows = read([file], packets=True).flows if file.is_file() else []
    return [packets for flow in flows if (packets := flow.packets) is not None]


def _rows(packets: Packets, way: Way) -> tuple[Row, ...]:
    chosen = np.flatnonzero(packets.way(way))
    other = np.flatnonzero(~packets.way(way))
    if not len(chosen):
        return ()
    zero = {"seq": packets.seq[chosen[0]], "ack": packets.seq[other[0]] if len(other) else 0}
    # A kernel's interface shows what arrives before a delay that is on the last device of the path.
    begin_s = packets.t_s[chosen[0]]
    return tuple(
        Row(
            float(packets.t_s[at] - begin_s),
            int((packets.seq[at] - zero["seq"]) % 2**32),
            int(packets.len[at]),
            int((packets.ack[at] - zero["ack"]) % 2**32),
            "".join(letter for flag, letter in FLAGS.items() if packets.flags[at] & flag),
            int(packets.ecn[at]),
        )
        for at in chosen
    )


def first(sim: Sequence[Row], kernel: Sequence[Row]) -> tuple[int, str] | None:
    """The index of the first packet that differs, and in what."""
    for index, (a, b) in enumerate(zip(sim, kernel, strict=False)):
        if what := a.differs(b):
            return index, what
    shorter = min(len(sim), len(kernel))
    if len(sim) == len(kernel):
        return None
    return shorter, f"that only {'sim' if len(sim) > shorter else 'linux'} has it"


def _series(sim: Run, kernel: Run) -> Iterator[tuple[str, float, float, float]]:
    """Of each series that both have, the first instant at which they are apart."""
    for name in sorted(set(sim.names()) & set(kernel.names())):
        (t, ours), (at, theirs) = metrics.finite(sim, name), metrics.finite(kernel, name)
        if len(t) < 2 or len(at) < 2:
            continue
        # The kernel is sampled a little after each step.
        here = np.interp(at, t, ours)
        bound = np.maximum(SERIES_SHARE * np.abs(theirs), RANGE_SHARE * np.ptp(theirs))
        apart = np.flatnonzero(np.abs(here - theirs) > bound)
        # One sample may fall between two events of which each engine has seen another one.
        apart = apart[np.isin(apart + 1, apart)]
        if len(apart):
            first = apart[0]
            yield name, float(at[first]), float(here[first]), float(theirs[first])
