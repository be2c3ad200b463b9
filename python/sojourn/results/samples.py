"""The series of a run as bytes: packed, as the engine gives them and a journal keeps them."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: What a Parquet file begins with.
PARQUET = b"PAR1"
#: Rows of a Parquet file that are packed together.
ROW_GROUP = 1 << 20
#: Of one sample, its time and its value.
SAMPLE_BYTES = 16


def names(packed: bytes) -> list[str]:
    """Names of the series."""
    found: list[str] = json.loads(packed[: packed.index(b"\n")])[0]
    return found


def rows(packed: bytes) -> int:
    """How many samples there are."""
    return (len(packed) - packed.index(b"\n")) // SAMPLE_BYTES


def packed(content: bytes) -> bytes:
    """Packed series, also of a Parquet file."""
    if not content.startswith(PARQUET):
        return content
    import polars as pl

    return packed_frame(pl.read_parquet(io.BytesIO(content)))


def packed_frame(frame: pl.DataFrame) -> bytes:
    """Those of a table with `series`, `unit`, `t_s`, `value`."""
    runs = frame.select("series", "unit").to_struct("x").rle().struct.unnest()
    kinds = runs["value"].struct.unnest()
    head = json.dumps([kinds["series"].to_list(), kinds["unit"].to_list(), runs["len"].to_list()])
    numbers = (frame[name].to_numpy().astype("<f8").tobytes() for name in ("t_s", "value"))
    return b"\n".join([head.encode(), b"".join(numbers)])
