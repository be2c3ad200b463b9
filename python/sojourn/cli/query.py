"""The verb that asks results a question in SQL."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sojourn.cli.common import LATEST, OK, Json, UsageError, expect, print_json, written
from sojourn.files import write_whole
from sojourn.results import ResultSet
from sojourn.text import harmless

if TYPE_CHECKING:
    import polars as pl

#: Lines around the rows: headings, what is left out, prompt.
AROUND = 5


def query(
    sql: str,
    results_: Annotated[Path, Parameter(name="RESULTS")] = LATEST,
    /,
    *,
    full: bool = False,
    csv: bool = False,
    parquet: Path | None = None,
    as_json: Json = False,
) -> int:
    """Ask results a question in SQL: SELECT over the tables runs, flows, queues and series.

    A run is a row of `runs`: id, swept names, seed, goodput_mbps, utilisation, rtt_p50_ms and the other columns of its
    table. `flows` and `queues` have the numbers of summary.json and queue.json, by id and name; `series` all samples,
    by id and series. A name with dots is to be in double quotes. `SELECT * FROM flows LIMIT 1` shows the columns.

    Examples: `sojourn query 'SELECT id, goodput_mbps FROM runs ORDER BY rtt_p99_ms DESC LIMIT 5'`,
    `sojourn query 'SELECT name, AVG(goodput_mbps) AS mbps FROM flows GROUP BY name' results/latest --csv`,
    `sojourn query "SELECT id, MAX(value) FROM series WHERE series = 'queue.bneck.sojourn' GROUP BY id"`

    Args:
        sql: The question.
        results_: Results folder; default the newest.
        full: Give the table runs a column for every number of summary.json, under its dotted name.
        csv: Print comma-separated values.
        parquet: Parquet file to write instead.
        as_json: Print one JSON document.
    """
    if len(given := [name for name, on in {"--csv": csv, "--parquet": parquet, "--json": as_json}.items() if on]) > 1:
        raise UsageError(f"{given[1]}: not with {given[0]}")
    expect(results_)
    runs = ResultSet.open(results_)
    if not runs:
        raise UsageError(f"{results_}: expected results, found no run; `sojourn run ect1` makes some")
    answer = runs.query(sql, full=full)
    if parquet:
        import io

        buffer = io.BytesIO()
        answer.write_parquet(buffer)
        write_whole(parquet, buffer.getvalue())
        return written(parquet, as_json=False)
    if csv:
        sys.stdout.write(_harmless(answer).write_csv())
    elif as_json:
        rows = [{key: _finite(value) for key, value in row.items()} for row in answer.iter_rows(named=True)]
        print_json({"schema": "sojourn/query/1", "columns": answer.columns, "rows": rows})
    else:
        _show(answer)
    return OK


def _show(answer: pl.DataFrame) -> None:
    """As many rows and columns as fit the screen, and how many more there are."""
    from sojourn.cli.screen import GAP, Screen

    screen = Screen()
    most = screen.height - AROUND if screen.is_terminal else answer.height
    shown = answer.head(most)
    texts = {at for at, kind in enumerate(shown.dtypes) if not kind.is_numeric()}
    columns = [[name, *map(_cell, shown[name])] for name in shown.columns]
    kept, width = 0, 0
    for column in columns:
        width += max(map(len, column)) + len(GAP)
        if kept and width - len(GAP) > screen.width:
            break
        kept += 1
    heading, *rows = zip(*columns[:kept], strict=True) if columns else [()]
    screen.table(heading, rows, texts)
    left = [f"{answer.height - shown.height} more rows"] if answer.height > shown.height else []
    left += [f"{len(columns) - kept} more columns ({', '.join(answer.columns[kept:])})"] if kept < len(columns) else []
    if left:
        screen.line(f"... {' and '.join(left)}: --csv prints all")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else harmless(str(value))


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _harmless(answer: pl.DataFrame) -> pl.DataFrame:
    """Text without what moves a terminal's cursor."""
    import polars as pl

    changed = {}
    for column in answer.select(pl.col(pl.String)):
        changed[column.name] = pl.Series(column.name, [None if v is None else harmless(v) for v in column])
    return answer.with_columns(**changed)
