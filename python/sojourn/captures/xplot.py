"""Time-sequence graphs and signal proportions in the format of xplot.org, as users of tcptrace and cctrace know them.

A file is text: the type of the axes, titles, then one drawing command a line with its coordinates, a line with a
colour before those that it is of, and `go` at the end. Times are seconds since 1970 with microseconds, as tcptrace's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sojourn.captures.flow import AE, CE, CWR, ECE, ECT1, FIN, LATE, NEW, PROBE, RST, SYN, WAYS, Flow, Packets, Way
from sojourn.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Packets on each side of one, of which the proportion of each signal is drawn (cctrace's default).
HALF_WINDOW = 50
#: Of data that are new or out of order, and of probes; all else was sent again.
_COLOURS = {NEW: "white", LATE: "blue", PROBE: "white"}
_LETTERS = {LATE: "O", PROBE: "P"}


def write(folder: Path, flows: Sequence[Flow], start_ns: int) -> list[Path]:
    """A time-sequence graph for each direction with data, and one of the signals for each flow of TCP; their paths."""
    written = []
    for flow in flows:
        packets = flow.packets
        if packets is None or flow.protocol != "tcp":
            continue
        files: dict[str, Iterator[str]] = {}
        for way, name in zip(WAYS, ("a2b", "b2a"), strict=True):
            if (packets.way(way) & (packets.len > 0)).any():
                files[f"{flow.name}-{name}_tsg.xpl"] = time_sequence(flow, packets, way, start_ns)
        ports = (flow.document[end]["port"] for end in ("opener", "peer"))
        files[f"{flow.name}-{'-'.join(map(str, ports))}.xpl"] = signals(flow, packets, start_ns)
        for name, lines in files.items():
            write_whole(folder / name, "\n".join(lines) + "\n")
            written.append(folder / name)
    return written


def time_sequence(flow: Flow, packets: Packets, way: Way, start_ns: int) -> Iterator[str]:
    """One direction's data, its acknowledgements and the receiver's window."""
    sender, receiver = flow.ends if way == "forward" else flow.ends[::-1]
    yield "timeval unsigned"
    yield f"title\n{sender}_==>_{receiver} (time sequence graph)"
    yield "xlabel\ntime\nylabel\nsequence offset"
    at = _clock(packets, start_ns)
    there = packets.way(way)
    yield from _data(packets, there, at)
    yield from _feedback(packets, ~there, at)
    yield "go"


def signals(flow: Flow, packets: Packets, start_ns: int) -> Iterator[str]:
    """Share of each signal among the packets around each packet: forward to the right, backward to the left."""
    opener, peer = flow.ends
    yield "timeval double"
    yield f"title\n{opener} - {peer} (signals, of {2 * HALF_WINDOW + 1} packets)"
    yield "xlabel\ntime\nylabel\nproportion"
    at = _clock(packets, start_ns)
    counted = (packets.flags & SYN) == 0
    accecn = (flow.document.get("tcp") or {}).get("ecn") in ("accecn", "acc-ecn")
    kinds = [("SCE", "yellow", packets.ecn == ECT1), ("CE", "red", packets.ecn == CE)]
    # With AccECN the three flags are one counter (RFC 9768 3.2.2), and none of them a signal.
    if not accecn:
        kinds += [
            ("ECE", "blue", packets.flags & ECE > 0),
            ("CWR", "green", packets.flags & CWR > 0),
            ("NS", "purple", packets.flags & AE > 0),
        ]
    for name, colour, is_signal in kinds:
        for way, arrow in zip(WAYS, ("rarrow", "larrow"), strict=True):
            chosen = np.flatnonzero(packets.way(way) & counted)
            if not is_signal[chosen].any():
                continue
            yield colour
            share = _around(is_signal[chosen].astype(np.float64))
            for index, value in zip(chosen.tolist(), share.tolist(), strict=True):
                if is_signal[index]:
                    yield f"{arrow} {at[index]} {value:.4f}"
            yield f"rtext {at[chosen[-1]]} {share[-1]:.4f}\n{name} {way}"
    yield "go"


def _data(packets: Packets, there: np.ndarray, at: list[str]) -> Iterator[str]:
    """Segments as bars between arrows; what was sent again, marked or opens and closes is named."""
    for i in np.flatnonzero(there).tolist():
        low, high, flags = int(packets.seq[i]), int(packets.seq[i] + packets.len[i]), int(packets.flags[i])
        x = at[i]
        for flag, name in ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST")):
            if flags & flag:
                yield f"orange\ndiamond {x} {max(high, 0)}\natext {x} {max(high, 0)}\n{name}"
        if high <= low:
            continue
        again, ecn = int(packets.again[i]), int(packets.ecn[i])
        yield _COLOURS.get(again, "red")
        yield f"line {x} {max(low, 0)} {x} {high}\ndarrow {x} {max(low, 0)}\nuarrow {x} {high}"
        if again:
            yield f"atext {x} {high}\n{_LETTERS.get(again, 'R')}"
        if ecn == CE:
            yield f"orange\ndiamond {x} {high}\natext {x} {high}\nCE"


def _feedback(packets: Packets, back: np.ndarray, at: list[str]) -> Iterator[str]:
    """Acknowledgements as a staircase, duplicates as ticks, the offered window, blocks of SACK, reports of marks."""
    before: tuple[str, int, int] | None = None
    for i in np.flatnonzero(back & (packets.ack >= 0)).tolist():
        x, ack = at[i], int(packets.ack[i])
        edge = ack + int(packets.window[i])
        if before is None:
            before = x, ack, edge
        t, old, open_to = before
        ack = max(ack, old)
        if ack == old and packets.len[i] == 0:
            yield f"green\ndtick {x} {ack}"
        else:
            yield f"green\nline {t} {old} {x} {old}\nline {x} {old} {x} {ack}"
        if edge != open_to:
            yield f"yellow\nline {t} {open_to} {x} {open_to}\nline {x} {open_to} {x} {edge}"
        if packets.ce_reported[i]:
            yield f"orange\ndot {x} {ack}\nbtext {x} {ack}\n{int(packets.ce_reported[i])}"
        before = x, ack, edge
    for i, low, high in packets.sacks.tolist():
        if back[i]:
            yield f"purple\nline {at[i]} {low} {at[i]} {high}\natext {at[i]} {high}\nS"


def _around(is_signal: np.ndarray) -> np.ndarray:
    """Share of each packet's neighbours within `HALF_WINDOW` of it, itself among them."""
    total = np.concatenate([[0.0], np.cumsum(is_signal)])
    index = np.arange(is_signal.size)
    low, high = np.maximum(index - HALF_WINDOW, 0), np.minimum(index + HALF_WINDOW + 1, is_signal.size)
    share: np.ndarray = (total[high] - total[low]) / (high - low)
    return share


def _clock(packets: Packets, start_ns: int) -> list[str]:
    """Every packet's time since 1970."""
    whole, part = divmod(start_ns, 1_000_000_000)
    micros = np.rint(packets.t_s * 1e6).astype(np.int64) + part // 1000
    return [f"{whole + us // 1_000_000}.{us % 1_000_000:06d}" for us in micros.tolist()]
