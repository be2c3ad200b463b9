"""Series and packets of a capture as CSV or Parquet: a row an interval, a round trip or a packet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sojourn.captures import series
from sojourn.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from sojourn.captures.flow import Flow
    from sojourn.metrics import FloatArray

#: Of `sojourn_inspect::events::Again`.
AGAIN = ("", "fast", "rto", "tlp", "late", "unknown", "probe")
#: ECN field of an IP header by its value (RFC 3168 5).
CODEPOINTS = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")


def write(path: Path, flows: Sequence[Flow], *, packets: bool = False) -> None:
    """Writes series, or with `packets` every packet, as the file's name says: `.parquet`, else CSV."""
    import polars as pl

    parts = list(_packets(flows) if packets else _series(flows))
    frame = pl.concat(parts) if parts else pl.DataFrame()
    if path.suffix == ".parquet":
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd")
        write_whole(path, buffer.getvalue())
    else:
        write_whole(path, frame.write_csv(float_precision=9))


def _series(flows: Sequence[Flow]) -> Iterator[pl.DataFrame]:
    import polars as pl

    for flow in flows:
        for per, table in (("100 ms", series.per_step(flow)), ("round trip", series.per_round(flow))):
            columns = {name: _missing(column) for name, column in table.columns.items()}
            yield _named(flow).join(
                pl.DataFrame({"per": pl.Series([per] * len(table), dtype=pl.String), **columns}), how="cross"
            )


def _packets(flows: Sequence[Flow]) -> Iterator[pl.DataFrame]:
    import polars as pl

    for flow in flows:
        packets = flow.packets
        if packets is None:
            continue
        blocks: list[list[str]] = [[] for _ in range(packets.t_s.size)]
        for index, low, high in packets.sacks.tolist():
            blocks[index].append(f"{low}-{high}")
        frame = pl.DataFrame(
            {
                "t_s": packets.t_s,
                "from": pl.Series(np.where(packets.backward, "peer", "opener"), dtype=pl.String),
                "ecn": pl.Series(np.array(CODEPOINTS)[packets.ecn & 3], dtype=pl.String),
                "flags": packets.flags,
                "seq": packets.seq,
                "len": packets.len,
                "ack": packets.ack,
                "window": packets.window,
                "again": pl.Series(np.array(AGAIN)[packets.again], dtype=pl.String),
                "rtt_ms": _missing(np.where(packets.rtt_s > 0, packets.rtt_s * 1e3, np.nan)),
                "ce_reported": packets.ce_reported,
                "in_flight": packets.in_flight,
                "sacks": pl.Series([" ".join(block) for block in blocks], dtype=pl.String),
            }
        )
        yield _named(flow).join(frame, how="cross")


def _named(flow: Flow) -> pl.DataFrame:
    import polars as pl

    opener, peer = flow.ends
    return pl.DataFrame({"flow": [flow.number], "opener": [opener], "peer": [peer], "data": [flow.way]})


def _missing(values: FloatArray) -> pl.Series:
    import polars as pl

    return pl.Series(values, dtype=pl.Float64).fill_nan(None)
