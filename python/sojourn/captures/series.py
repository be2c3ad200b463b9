"""Curves of a flow: what the core counts in equal intervals or round trips, and what of its packets is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.captures.flow import LATE, NEW, PROBE, Flow, Ints, Packets
from sojourn.metrics import FloatArray

STEP_S = 0.1


@dataclass(frozen=True)
class Table:
    """Columns of one length, by name; the first are `from_s` and `to_s`."""

    columns: dict[str, FloatArray]

    def __getitem__(self, name: str) -> FloatArray:
        return self.columns[name]

    def where(self, kept: npt.NDArray[np.bool_]) -> Table:
        """These rows alone."""
        return Table({name: column[kept] for name, column in self.columns.items()})

    def __len__(self) -> int:
        return self.columns["from_s"].size


def per_step(flow: Flow, step_s: float = STEP_S) -> Table:
    """Intervals of `step_s` from the first packet on, those without any packet left out."""
    return _table(flow, step_s)


def per_round(flow: Flow) -> Table:
    """Round trips: from an acknowledgement to that of all that was sent before it. Those of captures at the sender."""
    return _table(flow, None)


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
    return np.flatnonzero(~np.isin(packets.again, (NEW, LATE, PROBE)))


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


def _packets(flow: Flow) -> Packets:
    if flow.packets is None:
        raise ValueError(f"{flow.name}: its packets were not kept")
    return flow.packets


def _table(flow: Flow, step_s: float | None) -> Table:
    """The columns of the core (`sojourn_inspect::series::Series`) in the units that people read."""
    rows = flow.rows(step_s)
    start = rows["t_ns"] * 1e-9
    width = np.maximum(rows["duration_ns"] * 1e-9, 1e-9)
    is_sce = flow.data["sce_percent"] is not None
    # With AccECN these flags are one counter (RFC 9768 3.2.2), which `ce_reported` reads.
    is_flag = flow.ecn_mode != "AccECN"
    return Table(
        {
            "from_s": start,
            "to_s": start + width,
            "sent_mbps": rows["sent"] * 8e-6 / width,
            "goodput_mbps": rows["acked"] * 8e-6 / width,
            "packets": rows["packets"],
            "ce": rows["ce"],
            "sce": rows["ect1"] if is_sce else np.zeros(start.size),
            "ce_reported": rows["ce_reported"],
            "ece_acked_bytes": rows["ece_acked"] * is_flag,
            "esce_acked_bytes": rows["ae_acked"] * is_flag,
            "retransmitted": rows["again"],
            "rtt_ms": rows["rtt_ms"],
            "in_flight_bytes": rows["in_flight"],
        }
    )
