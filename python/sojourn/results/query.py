"""Questions to results in SQL, over runs in folders and in datasets alike; polars answers them.

Tables are made when a question names them: `runs`, `flows` and `queues` from what is known of each run, `series` as a
scan of the files, of which no more is read than the answer needs. A question reads no other file and writes none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.results.dataset import Place
from sojourn.results.partition import Partition, Stored
from sojourn.results.run import Run, flatten, numbers
from sojourn.text import harmless

if TYPE_CHECKING:
    import polars as pl

#: What polars would read a file for, whatever the quotes and comments around it.
FILE = re.compile(r"(?is)(?:read|scan)_\w+[\"`\]]?(?:\s|/\*.*?\*/|--[^\n]*\n)*\(")
COMMENTS = re.compile(r"(?s)(?:\s|/\*.*?\*/|--[^\n]*\n)*")
#: Runs whose rows are made into a part of a table together.
BATCH = 1000
SERIES_TYPES = ("id", "series", "unit", "t_s", "value")


class QueryError(ValueError):
    """What is wrong with a question, in one line."""


def query(runs: Sequence[Run], sql: str, *, full: bool = False) -> pl.DataFrame:
    """The answer to a `SELECT`; with `full` the table `runs` has a column for every number of a summary.

    Rows of a `GROUP BY` or `DISTINCT` without `ORDER BY` are sorted by all columns. Raises `QueryError`.
    """
    import polars as pl

    words = _words(sql)
    tables = {name: make for name, make in _tables(runs, full=full).items() if name in words}
    context = pl.SQLContext(register_globals=False)
    try:
        for name, make in tables.items():
            context.register(name, make())
        answer: pl.DataFrame = context.execute(sql, eager=False).collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise QueryError(_said(str(error), list(_tables(runs, full=full)))) from None
    if "order" not in words and {"group", "distinct"} & words and answer.width:
        answer = answer.sort(answer.columns)
    return answer


def _words(sql: str) -> set[str]:
    """A question's keywords and names, small; raises `QueryError` for one that is no `SELECT` or reads a file."""
    words = re.findall(r"\w+", COMMENTS.sub("", sql, count=1).lower())
    if words[:1] not in (["select"], ["with"]):
        raise QueryError("expected a question that begins with SELECT or WITH")
    if found := FILE.search(sql):
        raise QueryError(f"{harmless(found[0])}: reads a file; expected the tables runs, flows, queues, series")
    return set(words)


def _tables(runs: Sequence[Run], *, full: bool) -> dict[str, Callable[[], pl.LazyFrame]]:
    def of_runs(run: Run) -> Iterator[dict[str, Any]]:
        own = _plain(flatten(run.summary)) if full else numbers(run)
        yield {"id": run.id, **run.swept, "seed": run.manifest.get("seed"), **own}

    def of_flows(run: Run) -> Iterator[dict[str, Any]]:
        yield from _named(run, run.summary.get("flows"))

    def of_queues(run: Run) -> Iterator[dict[str, Any]]:
        yield from _named(run, run.queues)

    return {
        "runs": lambda: _with_numbers(_table(runs, of_runs), {key for run in runs for key in run.again().swept}),
        "flows": lambda: _table(runs, of_flows).lazy(),
        "queues": lambda: _table(runs, of_queues).lazy(),
        "series": lambda: _series(runs),
    }


def _named(run: Run, rows: object) -> Iterator[dict[str, Any]]:
    for row in rows if isinstance(rows, list) else ():
        yield {"id": run.id, "name": row["name"], **_plain(flatten({k: v for k, v in row.items() if k != "name"}))}


def _plain(flat: dict[str, Any]) -> dict[str, Any]:
    return {key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in flat.items()}


def _table(runs: Sequence[Run], rows_of: Callable[[Run], Iterable[dict[str, Any]]]) -> pl.DataFrame:
    """A table of rows, made of some runs at a time, of which nothing is kept."""
    import polars as pl

    parts = [
        pl.DataFrame(
            [row for run in runs[begin : begin + BATCH] for row in rows_of(run.again())],
            infer_schema_length=None,
            strict=False,
        )
        for begin in range(0, len(runs), BATCH)
    ]
    return pl.concat([part for part in parts if part.width] or [pl.DataFrame({"id": []})], how="diagonal_relaxed")


def _with_numbers(table: pl.DataFrame, swept: Iterable[str]) -> pl.LazyFrame:
    """Columns of swept names all of whose values are numbers, as numbers."""
    import polars as pl

    for key in swept:
        as_number = table[key].cast(pl.Float64, strict=False)
        if as_number.null_count() == table[key].null_count():
            table = table.with_columns(as_number.alias(key))
    return table.lazy()


def _series(runs: Sequence[Run]) -> pl.LazyFrame:
    """The samples of all runs: columns `id`, `series`, `unit`, `t_s`, `value`."""
    import polars as pl

    partitions: dict[Path, tuple[Partition, list[str]]] = {}
    folders: dict[str, str] = {}
    others: list[pl.LazyFrame] = []
    for run in runs:
        kept = run.files.now if isinstance(run.files, Place) else None
        if isinstance(kept, Stored):
            partitions.setdefault(kept.partition.path, (kept.partition, []))[1].append(run.id)
        elif file := run.files.place("series.parquet"):
            folders[str(file)] = run.id
        else:
            others.append(run.frame().with_columns(id=pl.lit(run.id)))
    whole = [file for found, ids in partitions.values() if len(ids) == len(found.rows) for file in found.series()]
    scans = [pl.scan_parquet(whole)] if whole else []
    scans += [
        pl.scan_parquet(found.series()).filter(pl.col("id").is_in(ids))
        for found, ids in partitions.values()
        if len(ids) < len(found.rows)
    ]
    if folders:
        named = pl.scan_parquet(list(folders), include_file_paths="id")
        scans.append(named.with_columns(pl.col("id").replace_strict(folders, return_dtype=pl.String)))
    types = dict(zip(SERIES_TYPES, (pl.String, pl.String, pl.String, pl.Float64, pl.Float64), strict=True))
    if not scans and not others:
        return pl.LazyFrame(schema=types)
    return pl.concat([scan.select(pl.col(n).cast(t) for n, t in types.items()) for scan in (*scans, *others)])


def _said(error: str, tables: Sequence[str]) -> str:
    """What polars says in one line, with the nearest name."""
    line: str = harmless(error.split("\n")[0].strip())
    if found := re.match(r"relation '(.*)' was not found", line):
        return f"no table {found[1]}{_nearest(found[1], tables)}; there are {', '.join(tables)}"
    if found := re.match(r"unable to find column \"(.*?)\"; valid columns: \[(.*)\]", line):
        columns = re.findall(r'"((?:[^"\\]|\\.)*)"', found[2])
        return f"no column {found[1]}{_nearest(found[1], columns)}; there are {', '.join(columns[:20])}"
    if found := re.match(r"no table or struct column named '(.*)' found", line):
        return f'no table {found[1]}; a name with dots is to be in double quotes, as in "rtt_ms.p50"'
    return line.removeprefix("sql parser error: ")


def _nearest(name: str, known: Sequence[str]) -> str:
    """The nearest name, or the first that has this in it."""
    near = get_close_matches(name, known, n=1) or [one for one in known if name in one][:1]
    quoted = f'"{near[0]}"' if near and not near[0].isidentifier() else "".join(near)
    return f": nearest is {quoted}" if near else ""
