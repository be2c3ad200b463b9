"""What a run leaves behind, as the contents of files: a function of scenario, seed and engine version."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn import _core
from sojourn.results.disk import IN_PROGRESS, building, digest_of, remove_if_empty
from sojourn.results.samples import ROW_GROUP
from sojourn.scenario import toml

SCENARIO, SUMMARY, QUEUES, SERIES = FILES = ("scenario.toml", "summary.json", "queue.json", "series.parquet")
CAPTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def deterministic_files(resolved: str, result: _core.RunResult, *, packed: bool = False) -> dict[str, bytes]:
    """Names and contents of `FILES`; of the series with `packed` what a store that joins runs takes."""
    series = result.packed()
    if not packed:
        series = _core.series_table([series], group_rows=ROW_GROUP)
    contents = (resolved.encode(), as_text(result.summary), as_text(result.queues), series)
    return dict(zip(FILES, contents, strict=True))


def as_text(text: str) -> bytes:
    """A text that ends in one end of line."""
    return (text.rstrip("\n") + "\n").encode()


def capture_names(resolved: str) -> list[str]:
    """Names of the capture files that a resolved scenario asks for; what is no name of a capture has none."""
    if "capture" not in resolved:
        return []
    try:
        tables = toml(resolved).get("capture", [])
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
