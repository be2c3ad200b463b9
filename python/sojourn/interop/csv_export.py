"""Results as comma-separated values: the series of a run, or the numbers of many runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.files import write_whole
from sojourn.results import ResultsError, ResultSet, Run, exists, flatten, is_one

if TYPE_CHECKING:
    from collections.abc import Mapping


def export(source: Path, out: Path | None = None) -> Path:
    """Writes one file and returns it.

    Of a run's folder: its series, long, with the columns `series`, `unit`, `t_s` and `value`, by default
    as `series.csv` in it. Of a results folder: a row a run, with its id, swept names and the numbers of its
    summary under their dotted names, by default as `runs.csv` in it. Raises `ResultsError`.
    """
    runs = list(ResultSet.open(source)) if exists(source) else []
    if not runs:
        raise ResultsError(f"{source}: expected the folder of a run or of results")
    if is_one(source):
        target, text = out or source / "series.csv", _series(runs[0])
    else:
        target, text = out or source / "runs.csv", _table([{"id": run.id, **_numbers(run.again())} for run in runs])
    write_whole(target, text)
    return target


def _series(run: Run) -> str:
    run.names()
    return run.frame().select("series", "unit", "t_s", "value").collect().write_csv()


def _numbers(run: Run) -> dict[str, Any]:
    row = {**run.swept, "seed": run.manifest.get("seed"), **flatten(run.summary)}
    return {key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in row.items()}


def _table(rows: list[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
