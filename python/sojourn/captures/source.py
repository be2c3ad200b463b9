"""A capture as a `metrics.Source`, to be laid beside simulated, live and measured runs.

Its flows are those with a fair share of the payload: control connections are none that a run has. Names of the series
and their meanings are those of a run.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sojourn import metrics
from sojourn.captures import series
from sojourn.captures.flow import CE, Flow, Packets
from sojourn.captures.read import SUFFIXES, Capture, read
from sojourn.interop import flent

if TYPE_CHECKING:
    from sojourn.metrics import FloatArray, Source

#: A flow counts if it has this share of the payload of the largest.
LEAST_SHARE = 0.01
RTT_STEP_S = 0.05
#: What names of captures end with besides the format: the host that captured.
_HOST = re.compile(r"\.(?:cli|srv)(?:_[A-Za-z0-9]+)?$")


def is_capture(path: Path) -> bool:
    """Whether a file's name is that of a capture."""
    return path.is_file() and path.name.endswith(SUFFIXES)


def id_of(path: Path) -> str:
    """The run that a capture is of: of one of the ect1 tests its id, else the file's name."""
    endings = sorted(SUFFIXES, key=len, reverse=True)
    name = next((path.name[: -len(ending)] for ending in endings if path.name.endswith(ending)), path.stem)
    stem = _HOST.sub("", name)
    return flent.run_id_of(stem) or re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip(".-") or "unnamed"


class CaptureSource:
    """The flows of one capture file, in seconds since its first packet, or shifted."""

    def __init__(self, path: Path, capture: Capture | None = None, *, shift_s: float = 0.0) -> None:
        self.path = path
        self.id = id_of(path)
        self.capture = capture or read([path], packets=True)
        self._shift_s = shift_s

    def beside(self, other: Source) -> CaptureSource:
        """The same with its clock set so that the first flows of both start together."""
        starts = [metrics.lifetime(one, flows[0]) for one in (other, self) if (flows := metrics.flows(one))]
        if len(starts) < 2 or starts[0] is None or starts[1] is None:
            return self
        return CaptureSource(self.path, self.capture, shift_s=self._shift_s + starts[0][0] - starts[1][0])

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._series)

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds and values."""
        t, values = self._series[name]
        return t + self._shift_s, values

    @cached_property
    def flows(self) -> list[Flow]:
        """The flows that count."""
        return large(self.capture.flows)

    @cached_property
    def _series(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        found: dict[str, tuple[FloatArray, FloatArray]] = {}
        for flow in self.flows:
            if flow.packets is not None:
                columns = _columns(flow, flow.packets)
                found |= {f"flow.{flow.name}.{key}": column for key, column in columns.items() if column[0].size}
        for flow in self.capture.flows:
            if flow.protocol == "icmp" and flow.packets is not None:
                sampled = np.flatnonzero(flow.packets.rtt_s > 0)
                if sampled.size:
                    found[f"ping.{flow.name}.rtt"] = flow.packets.t_s[sampled], flow.packets.rtt_s[sampled] * 1e3
        return found


def large(flows: list[Flow]) -> list[Flow]:
    """Those with data that have a fair share of the payload."""
    most = max((flow.data["data_bytes"] for flow in flows), default=0)
    return [flow for flow in flows if flow.data["data_packets"] and flow.data["data_bytes"] >= LEAST_SHARE * most]


def _columns(flow: Flow, packets: Packets) -> dict[str, tuple[FloatArray, FloatArray]]:
    at, upto = series.acked(flow)
    steps = series.per_step(flow)
    middle = (steps["from_s"] + steps["to_s"]) / 2
    again = packets.t_s[series.sent_again(packets)]
    reported = np.flatnonzero(packets.ce_reported > 0)
    marked = np.flatnonzero(packets.way(flow.way) & (packets.ecn == CE) & (packets.len > 0))
    found = {
        "goodput_bytes": (at, upto.astype(np.float64)),
        "delivery_rate": (middle, steps["goodput_mbps"]),
        "rtt": _rtt(flow, packets),
    }
    if flow.protocol == "tcp":
        start, end = flow.span_s
        times = np.concatenate([[start], again, [end]])
        found["retransmits"] = times, np.minimum(np.arange(times.size, dtype=np.float64), again.size)
    if reported.size:
        found["ce"] = packets.t_s[reported], np.cumsum(packets.ce_reported[reported]).astype(np.float64)
    if marked.size:
        found["ce_received"] = packets.t_s[marked], np.arange(1.0, marked.size + 1)
    return found


def _rtt(flow: Flow, packets: Packets) -> tuple[FloatArray, FloatArray]:
    """The RTT that the sender's `ss` would show each 50 ms, and what the capture lacks of it."""
    at, rtt_ms = _smoothed(flow, packets)
    if not at.size:
        return np.empty(0), np.empty(0)
    ticks = np.arange(at[0], at[-1] + RTT_STEP_S, RTT_STEP_S)
    return ticks, rtt_ms[np.searchsorted(at, ticks, side="right") - 1] + flow.rtt_before_ms


def _smoothed(flow: Flow, packets: Packets) -> tuple[FloatArray, FloatArray]:
    """The sender's mean: an eighth of each new round trip goes into it (RFC 6298 2.3)."""
    sampled = np.flatnonzero(packets.way(flow.back) & (packets.rtt_s > 0))
    rtt = packets.rtt_s[sampled] * 1e3
    if not rtt.size:
        return np.empty(0), rtt
    from scipy.signal import lfilter  # a third of a second and 65 MB, which only a capture needs

    mean, _ = lfilter([0.125], [1.0, -0.875], rtt, zi=[0.875 * rtt[0]])
    return packets.t_s[sampled], mean
