"""One flow of a capture: the core's numbers under short names, and its packets as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sojourn.metrics import FloatArray

if TYPE_CHECKING:
    from sojourn import _core

Way = Literal["forward", "backward"]
WAYS: tuple[Way, Way] = ("forward", "backward")
#: What a packet is to those before it (`sojourn_inspect::events::Again`).
NEW, FAST, RTO, TLP, LATE, UNKNOWN, PROBE = range(7)
#: Flags of TCP.
FIN, SYN, RST, ACK, ECE, CWR, AE = 1, 2, 4, 16, 64, 128, 256
CE, ECT1 = 3, 1
#: Names of codepoints by the keys of the core.
CODEPOINTS = {"not_ect": "Not-ECT", "ect0": "ECT(0)", "ect1": "ECT(1)", "ce": "CE"}

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Packets:
    """The packets of a flow in the order of the capture (`sojourn_inspect::events::Events`)."""

    t_s: FloatArray
    backward: Bools
    ecn: Ints
    flags: Ints
    seq: Ints
    len: Ints
    ack: Ints
    window: Ints
    again: Ints
    rtt_s: FloatArray
    """0 without a sample."""
    ce_reported: Ints
    in_flight: Ints
    sacks: Ints
    """A row a block: index of the packet, first byte, byte after the last."""
    left_out: int = 0

    @classmethod
    def of(cls, columns: dict[str, Any]) -> Packets:
        """From the columns of the core."""
        whole = {
            name: np.asarray(columns[name], dtype=np.int64)
            for name in ("ecn", "flags", "seq", "len", "ack", "window", "again", "ce_reported", "in_flight")
        }
        return cls(
            t_s=np.asarray(columns["t_ns"], dtype=np.float64) * 1e-9,
            backward=np.asarray(columns["backward"], dtype=np.bool_),
            rtt_s=np.asarray(columns["rtt_ns"], dtype=np.float64) * 1e-9,
            sacks=np.asarray(columns["sacks"], dtype=np.int64).reshape(-1, 3),
            left_out=int(columns["left_out"]),
            **whole,
        )

    def way(self, way: Way) -> Bools:
        """Which packets go this way."""
        return self.backward if way == "backward" else ~self.backward


@dataclass(frozen=True)
class Flow:
    """A connection, or datagrams between two ports."""

    number: int
    """From 1 on, in the order of first packets: what `--flow` takes."""
    document: dict[str, Any]
    analysis: _core.Inspection | None = None
    """Where its packets were kept."""

    @cached_property
    def packets(self) -> Packets | None:
        """Its packets, where they were kept."""
        columns = self.analysis.packets(self.number - 1) if self.analysis else None
        return None if columns is None else Packets.of(columns)

    def rows(self, step_s: float | None) -> dict[str, FloatArray]:
        """Counts of its data in intervals, or without a length of these in round trips."""
        step = None if step_s is None else max(round(step_s * 1e9), 1)
        columns = self.analysis.series(self.number - 1, self.way == "backward", step) if self.analysis else None
        if columns is None:
            raise ValueError(f"{self.name}: its packets were not kept")
        return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}

    @property
    def name(self) -> str:
        """In series and file names: `tcp-3`."""
        return f"{self.protocol}-{self.number}"

    @property
    def protocol(self) -> str:
        """`tcp`, `udp`, `rtp`, `quic`, `icmp` or `other`."""
        return str(self.document["protocol"])

    @property
    def ends(self) -> tuple[str, str]:
        """The opener and its peer, as ADDRESS:PORT."""
        return end_text(self.document["opener"]), end_text(self.document["peer"])

    @property
    def title(self) -> str:
        """Both ends, with an arrow in the direction of most data."""
        opener, peer = self.ends
        return f"{opener} {'>' if self.way == 'forward' else '<'} {peer}"

    @cached_property
    def way(self) -> Way:
        """The direction of most data."""
        forward, backward = (self.document[way]["data_bytes"] for way in WAYS)
        return "backward" if backward > forward else "forward"

    @property
    def back(self) -> Way:
        """The other one, whose ACKs and reports are the feedback."""
        return "forward" if self.way == "backward" else "backward"

    @property
    def data(self) -> dict[str, Any]:
        """Numbers of the direction of most data."""
        found: dict[str, Any] = self.document[self.way]
        return found

    @property
    def feedback(self) -> dict[str, Any]:
        """Numbers of the other direction."""
        found: dict[str, Any] = self.document[self.back]
        return found

    @property
    def span_s(self) -> tuple[float, float]:
        """First and last packet."""
        return float(self.document["start_s"]), float(self.document["end_s"])

    @property
    def duration_s(self) -> float:
        """From the first to the last packet."""
        start, end = self.span_s
        return end - start

    @property
    def goodput_mbps(self) -> float | None:
        """As the core counts it for TCP; of datagrams payload over their time."""
        if (tcp := self.data.get("tcp")) and tcp.get("goodput_mbps") is not None:
            return float(tcp["goodput_mbps"])
        sent, time_s = float(self.data["data_bytes"]), self.duration_s
        return sent * 8e-6 / time_s if sent and time_s > 0 and not tcp else None

    @property
    def rtt_ms(self) -> dict[str, float] | None:
        """Round trips of the data from the capture on: of sequence numbers, else of timestamps, spin bit or reports."""
        quic, media = self.document.get("quic") or {}, self.document.get("media") or {}
        tcp = self.data.get("tcp") or {}
        echo = self.data.get("rtt_echo_ms")
        every = (tcp.get("rtt_seq_ms"), tcp.get("rtt_ts_ms"), quic.get("rtt_spin_ms"), media.get("rtt_ms"), echo)
        return next((one for one in every if one and one["n"]), None)

    @property
    def rtt_before_ms(self) -> float:
        """What `rtt_ms` lacks: the round trip from the capture to the sender and back, where data echo it; else 0.

        Its median where the capture is nearer to the receiver, because that way has the queue then. Else its least:
        data that echo an ACK may have waited at the sender.
        """
        echoed = (self.feedback.get("tcp") or {}).get("rtt_ts_ms")
        if not (echoed and echoed["n"] and self.data["data_packets"]):
            return 0.0
        near = self.rtt_ms is not None and echoed["min"] > self.rtt_ms["p50"]
        return float(echoed["p50" if near else "min"])

    @property
    def base_rtt_ms(self) -> float | None:
        """The least round trip of the data, end to end."""
        if self.rtt_ms is None:
            return None
        echoed = (self.feedback.get("tcp") or {}).get("rtt_ts_ms")
        return self.rtt_ms["min"] + (echoed["min"] if echoed and echoed["n"] else 0.0)

    def queue_ms(self, percentile: str) -> float | None:
        """How far the round trips at this percentile (`p50`, `p99`) are above the least; None without any."""
        if self.rtt_ms is None:
            return None
        echoed = (self.feedback.get("tcp") or {}).get("rtt_ts_ms")
        seen = echoed if echoed and echoed["n"] and echoed["min"] > self.rtt_ms["p50"] else self.rtt_ms
        return float(seen[percentile] - seen["min"])

    @property
    def rtt_p50_ms(self) -> float | None:
        """Median round trip of the data, end to end."""
        return self.rtt_ms["p50"] + self.rtt_before_ms if self.rtt_ms else None

    @property
    def ecn_mode(self) -> str:
        """Feedback that both ends agreed on; of datagrams the codepoint that is sent."""
        tcp = self.document.get("tcp")
        if tcp:
            return {None: "?", "accecn": "AccECN", "acc-ecn": "AccECN"}.get(tcp["ecn"], str(tcp["ecn"]))
        if self.document.get("media") and self.document["media"]["reports"]:
            return "RFC 8888"
        return "-"

    @property
    def ce_percent(self) -> float | None:
        """Of the data: as captured, or where it is captured before the marks, as the feedback says."""
        captured = self.data.get("ce_percent")
        packets = self.data["data_packets"]
        if captured or not packets:
            return captured
        marks = self.reported_ce
        return captured if marks is None else min(100 * marks / packets, 100.0)

    @property
    def reported_ce(self) -> int | None:
        """CE marks that the feedback tells of; None where it counts none."""
        accecn = (self.feedback.get("tcp") or {}).get("accecn")
        if accecn:
            return int(accecn["ce_packets"])
        media = self.document.get("media")
        return int(media["reported_ce"]) if media and media["reports"] else None

    @property
    def retransmissions(self) -> dict[str, int] | None:
        """Of TCP's data."""
        tcp = self.data.get("tcp")
        return tcp["retransmissions"] if tcp else None

    @property
    def family(self) -> dict[str, Any] | None:
        """Which congestion control it looks like, with `evidence`."""
        found: dict[str, Any] | None = self.document.get("family")
        return found

    @property
    def diagnoses(self) -> list[dict[str, str]]:
        """What stands out."""
        found: list[dict[str, str]] = self.document["diagnoses"]
        return found


def codepoints(counts: dict[str, int]) -> str:
    """What was sent, most first: `ECT(1) 92 %, CE 8 %`."""
    total = sum(counts.values())
    ordered = sorted(((count, CODEPOINTS[key]) for key, count in counts.items() if count), key=lambda one: -one[0])
    if len(ordered) == 1:
        return ordered[0][1]
    return ", ".join(f"{name} {percent(100 * count / total)}" for count, name in ordered)


def percent(value: float | None) -> str:
    """Two significant digits, and `<0.1 %` for what is there and less."""
    if value is None:
        return "-"
    if value == 0:
        return "0 %"
    return "<0.1 %" if value < 0.1 else f"{value:.1f} %" if value < 99.95 or value >= 100 else "99.9 %"


def end_text(end: dict[str, Any]) -> str:
    """ADDRESS:PORT, or the address where there is no port."""
    address, port = str(end["address"]), int(end["port"])
    return (f"[{address}]:{port}" if ":" in address else f"{address}:{port}") if port else address
