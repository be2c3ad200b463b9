"""Curves of a flow: its packets counted in equal intervals, or in round trips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.captures.flow import ACK, CE, ECT1, FAST, LATE, Flow, Ints, Packets
from sojourn.metrics import FloatArray

STEP_S = 0.1
#: Rounds of a flow that is too slow to have any.
MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Table:
    """Columns of one length, by name; the first are `from_s` and `to_s`."""

    columns: dict[str, FloatArray]

    def __getitem__(self, name: str) -> FloatArray:
        return self.columns[name]

    def __len__(self) -> int:
        return self.columns["from_s"].size


def per_step(flow: Flow, step_s: float = STEP_S) -> Table:
    """The whole intervals of `step_s` of a flow, its last one included."""
    start, end = flow.span_s
    steps = min(int(np.ceil(max(end - start, 1e-9) / step_s)), MOST_ROWS)
    return _table(flow, np.asarray(start + step_s * np.arange(steps + 1), dtype=np.float64))


def per_round(flow: Flow) -> Table:
    """Round trips of the data: each ends with the ACK of what was sent after it began.

    At the sender, as in Linux's count of delivered packets: a round begins with a data packet, and ends with the first
    ACK of that packet. Of flows without acknowledgements there are none.
    """
    packets = _packets(flow)
    data = np.flatnonzero(packets.way(flow.way) & (packets.len > 0))
    acks = np.flatnonzero(packets.way(flow.back) & (packets.ack >= 0) & (packets.flags & ACK > 0))
    if not data.size or not acks.size:
        return _table(flow, np.empty(0))
    upto = np.maximum.accumulate(packets.ack[acks])
    ends = packets.seq[data] + packets.len[data]
    edges, at = [float(packets.t_s[data[0]])], 0
    while at < data.size:
        # An ACK before the packet cannot be of it, whatever a damaged file says.
        covers = max(np.searchsorted(upto, ends[at]), np.searchsorted(acks, data[at]))
        if covers >= acks.size:
            break
        edges.append(float(packets.t_s[acks[covers]]))
        at = max(int(np.searchsorted(data, acks[covers])), at + 1)
    return _table(flow, np.maximum.accumulate(np.array(edges)))


def acked(flow: Flow) -> tuple[FloatArray, Ints]:
    """When the cumulative acknowledgement of the data grew, and to what; of datagrams the payload that was sent."""
    packets = _packets(flow)
    if flow.protocol != "tcp":
        sent = np.flatnonzero(packets.way(flow.way))
        return packets.t_s[sent], np.cumsum(packets.len[sent])
    acks = np.flatnonzero(packets.way(flow.back) & (packets.ack >= 0))
    if not acks.size:
        return np.empty(0), np.empty(0, np.int64)
    upto = np.maximum.accumulate(packets.ack[acks])
    grows = np.flatnonzero(np.diff(upto, prepend=upto[0] - 1) > 0)
    return packets.t_s[acks[grows]], upto[grows]


def sent_again(packets: Packets) -> Ints:
    """Indices of retransmissions."""
    return np.flatnonzero((packets.again >= FAST) & (packets.again != LATE))


def _packets(flow: Flow) -> Packets:
    if flow.packets is None:
        raise ValueError(f"{flow.name}: its packets were not kept")
    return flow.packets


def _table(flow: Flow, edges: FloatArray) -> Table:
    """What happened between the edges."""
    packets = _packets(flow)
    if edges.size < 2:
        names = ("sent_mbps", "goodput_mbps", "packets", "ce", "sce", "ce_reported", "retransmitted")
        more = ("rtt_ms", "rtt_min_ms", "rtt_max_ms", "in_flight_bytes")
        return Table({name: np.empty(0) for name in ("from_s", "to_s", *names, *more)})
    widths = np.maximum(np.diff(edges), 1e-9)
    is_data = packets.way(flow.way) & (packets.len > 0)

    def counted(chosen: Ints, weights: Ints | None = None) -> FloatArray:
        found, _ = np.histogram(packets.t_s[chosen], edges, weights=weights)
        return found.astype(np.float64)

    data = np.flatnonzero(is_data)
    back = np.flatnonzero(packets.way(flow.back) & (packets.ce_reported > 0))
    at, upto = acked(flow)
    grown = np.interp(edges, at, upto) if at.size else np.zeros(edges.size)
    sampled = np.flatnonzero(packets.way(flow.back) & (packets.rtt_s > 0))
    return Table(
        {
            "from_s": edges[:-1],
            "to_s": edges[1:],
            "sent_mbps": counted(data, packets.len[data]) * 8e-6 / widths,
            "goodput_mbps": np.diff(grown) * 8e-6 / widths,
            "packets": counted(data),
            "ce": counted(data[packets.ecn[data] == CE]),
            "sce": counted(data[packets.ecn[data] == ECT1]) if flow.data.get("sce_percent") is not None
            else np.zeros(widths.size),
            "ce_reported": counted(back, packets.ce_reported[back]),
            "retransmitted": counted(sent_again(packets)[np.isin(sent_again(packets), data)]),
            **_of_samples(edges, packets.t_s[sampled], packets.rtt_s[sampled] * 1e3),
            "in_flight_bytes": _largest(edges, packets.t_s[data], packets.in_flight[data].astype(np.float64)),
        }
    )  # fmt: skip


def _of_samples(edges: FloatArray, t: FloatArray, rtt_ms: FloatArray) -> dict[str, FloatArray]:
    """Mean, least and greatest round trip of each interval; NaN without samples."""
    count, _ = np.histogram(t, edges)
    total, _ = np.histogram(t, edges, weights=rtt_ms)
    mean = np.full(edges.size - 1, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return {"rtt_ms": mean, "rtt_min_ms": -_largest(edges, t, -rtt_ms), "rtt_max_ms": _largest(edges, t, rtt_ms)}


def _largest(edges: FloatArray, t: FloatArray, values: FloatArray) -> FloatArray:
    """Of each interval; NaN of none."""
    found = np.full(edges.size - 1, -np.inf)
    index = np.searchsorted(edges, t, side="right") - 1
    index[t == edges[-1]] = edges.size - 2  # the last interval has both its ends
    inside = (index >= 0) & (index < found.size)
    np.maximum.at(found, index[inside], values[inside])
    return np.where(np.isinf(found), np.nan, found)


def thinned(values: FloatArray, most: int) -> Ints:
    """Indices of about `most` values: least and greatest of equal stretches, first and last."""
    if values.size <= most:
        return np.arange(values.size)
    stretch = -(-values.size // (most // 2))
    whole = values.size // stretch * stretch
    grid = values[:whole].reshape(-1, stretch)
    first = stretch * np.arange(grid.shape[0])
    chosen = [first + grid.argmin(axis=1), first + grid.argmax(axis=1), [0, values.size - 1]]
    return np.unique(np.concatenate(chosen)).astype(np.int64)
