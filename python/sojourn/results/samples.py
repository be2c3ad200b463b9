"""The series of a run in memory, packed for a journal, and as the long table that is kept of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sojourn import _core

    FloatArray = NDArray[np.float64]

#: What a Parquet file begins with.
PARQUET = b"PAR1"
#: Rows of a Parquet file that are packed together.
ROW_GROUP = 1 << 20


class Samples(NamedTuple):
    """All series of a run, one after the other."""

    names: list[str]
    units: list[str]
    lengths: list[int]
    t_s: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, result: _core.RunResult) -> Samples:
        """What was recorded; what has no sample is left out."""
        import numpy as np

        recorded = [one for one in result.series if len(one[2])]
        names, units, times, values = zip(*recorded, strict=True) if recorded else ((), (), (), ())
        t_s, joined = (np.concatenate([np.empty(0), *columns]) for columns in (times, values))
        return cls(list(names), list(units), [len(column) for column in times], t_s, joined)

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Samples:
        """Those of a table with `series`, `unit`, `t_s`, `value`."""
        runs = frame.select("series", "unit").to_struct("x").rle().struct.unnest()
        kinds = runs["value"].struct.unnest()
        names, units = kinds["series"].to_list(), kinds["unit"].to_list()
        return cls(names, units, runs["len"].to_list(), frame["t_s"].to_numpy(), frame["value"].to_numpy())

    def packed(self) -> bytes:
        """As bytes that are soon read again: a line of JSON, and the numbers as they are in memory."""
        head = json.dumps([self.names, self.units, self.lengths]).encode()
        return b"\n".join([head, self.t_s.astype("<f8").tobytes() + self.values.astype("<f8").tobytes()])

    @classmethod
    def unpacked(cls, content: bytes) -> Samples:
        """What `packed` made, or a Parquet file of a run."""
        if content.startswith(PARQUET):
            import polars as pl

            return cls.of_frame(pl.read_parquet(io.BytesIO(content)))
        import numpy as np

        head, _, numbers = content.partition(b"\n")
        names, units, lengths = json.loads(head)
        t_s, values = np.frombuffer(numbers, dtype="<f8").reshape(2, -1)
        return cls(names, units, lengths, t_s, values)


def frame_of(samples: Samples) -> pl.DataFrame:
    """A row for each sample: `series`, `unit`, `t_s`, `value`."""
    return frame_of_runs([("", samples)]).drop("id")


def frame_of_runs(runs: Iterable[tuple[str, Samples]]) -> pl.DataFrame:
    """The same of several runs, with their `id` first."""
    import numpy as np
    import polars as pl

    found = list(runs)
    lengths = np.array([length for _, one in found for length in one.lengths], dtype=np.int64)
    # Plain strings, in the engine's order: a shared string cache would make the bytes of a file depend
    # on what else runs in the process. The file keeps them as a dictionary.
    of_row = pl.Series(np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths))
    texts = {
        "id": [run_id for run_id, one in found for _ in one.lengths],
        "series": [name for _, one in found for name in one.names],
        "unit": [unit for _, one in found for unit in one.units],
    }
    columns: dict[str, pl.Series | FloatArray] = {
        name: pl.Series(column, dtype=pl.String).gather(of_row) for name, column in texts.items()
    }
    columns["t_s"] = np.concatenate([np.empty(0), *(one.t_s for _, one in found)])
    columns["value"] = np.concatenate([np.empty(0), *(one.values for _, one in found)])
    return pl.DataFrame(columns)


def parquet(frame: pl.DataFrame, row_group: int = ROW_GROUP) -> bytes:
    """A table as a file, in the one way that ours are packed."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3, row_group_size=row_group)
    return buffer.getvalue()
