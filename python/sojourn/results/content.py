"""What a run leaves behind, as the contents of files: a function of scenario, seed and engine version."""

from __future__ import annotations

import io
import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.results.disk import IN_PROGRESS, building, digest_of, remove_if_empty

if TYPE_CHECKING:
    import polars as pl

    from sojourn import _core

SCENARIO, SUMMARY, QUEUES, SERIES = FILES = ("scenario.toml", "summary.json", "queue.json", "series.parquet")
CAPTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
#: Rows that are packed together in a Parquet file of series.
ROW_GROUP = 1 << 20


def deterministic_files(resolved: str, result: _core.RunResult) -> dict[str, bytes]:
    """Names and contents of `FILES`."""
    contents = (resolved.encode(), as_text(result.summary), as_text(result.queues), _parquet(result))
    return dict(zip(FILES, contents, strict=True))


def as_text(text: str) -> bytes:
    """A text that ends in one end of line."""
    return (text.rstrip("\n") + "\n").encode()


def capture_names(resolved: str) -> list[str]:
    """Names of the capture files that a resolved scenario asks for; what is no name of a capture has none."""
    if "capture" not in resolved:
        return []
    try:
        tables = tomllib.loads(resolved).get("capture", [])
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    names = [table.get("name") for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    return [f"{name}.pcapng" for name in names if isinstance(name, str) and CAPTURE.fullmatch(name)]


@contextmanager
def capture_folder(root: Path, resolved: str) -> Iterator[Path | None]:
    """A folder below `root` for the captures of a run until `write` takes them; None if it has none."""
    if not capture_names(resolved):
        yield None
        return
    folder = building(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        remove_if_empty(root / IN_PROGRESS)


def capture_digests(folder: Path | None, resolved: str) -> dict[str, str]:
    """What the captures in a folder are recognised by."""
    return {name: digest_of(folder / name) for name in capture_names(resolved)} if folder else {}


def parquet(frame: pl.DataFrame, row_group: int = ROW_GROUP) -> bytes:
    """A table as a file, in the one way that ours are packed."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=3, row_group_size=row_group)
    return buffer.getvalue()


def _parquet(result: _core.RunResult) -> bytes:
    import numpy as np
    import polars as pl

    # Plain strings, in the engine's order: a shared string cache would make the bytes depend on
    # what else runs in the process. The file keeps them as a dictionary.
    recorded = [one for one in result.series if len(one[2])]
    of_row = pl.Series(np.repeat(np.arange(len(recorded), dtype=np.uint32), [len(one[2]) for one in recorded]))
    columns = {
        "series": pl.Series([one[0] for one in recorded], dtype=pl.String).gather(of_row),
        "unit": pl.Series([one[1] for one in recorded], dtype=pl.String).gather(of_row),
        "t_s": np.concatenate([np.empty(0), *(one[2] for one in recorded)]),
        "value": np.concatenate([np.empty(0), *(one[3] for one in recorded)]),
    }
    return parquet(pl.DataFrame(columns))
