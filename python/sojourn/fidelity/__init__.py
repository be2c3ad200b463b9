"""Published and measured numbers beside ours, with verdicts.

Every row is data: where the number comes from, what is measured in which run, and what deviation is
allowed. Tolerances are those of the acceptance checks: T1 5 %, T2 15 %, T3 a factor of 1.5, T4 a
factor of 2, or the interval that is printed; the median over the seeds is tested, and a row about which three
seeds disagree is tested with fifteen. Grades: A computed
from raw data, B a printed number, C prose or a graph, T the original program in virtual time, I expected by the
authors, analytic: computed from first principles.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from sojourn import metrics, suites
from sojourn.fidelity.row import Grid, Result, Row, Verdict
from sojourn.jobs import Job
from sojourn.metrics import Source

__all__ = [
    "EXPLANATIONS", "ROWS", "VARIANTS", "Judging", "Result", "Row", "document", "grids", "hypotheses", "judge", "main",
    "score", "select", "simulate",
]  # fmt: skip

#: What suites name as the module of their rows: `rows()`, and if there are any `EXPLANATIONS`, `VARIANTS`, `grids()`
#: and `hypotheses()`.
MODULES = [
    import_module(name)
    for name in dict.fromkeys(getattr(suites.module(suite), "FIDELITY", None) for suite in suites.NAMES)
    if name
]
#: Variants that no suite has: what each changes.
VARIANTS: dict[str, dict[str, str]] = {}
#: Why a row misses its tolerance or cannot be run, by key or by id.
EXPLANATIONS: dict[str, str] = {}
for _module in MODULES:
    VARIANTS |= getattr(_module, "VARIANTS", {})
    EXPLANATIONS |= getattr(_module, "EXPLANATIONS", {})
SCHEMA = "sojourn/fidelity/1"


def _in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Analytic rows (X) first, then by letter and number."""
    return tuple(sorted(rows, key=lambda row: (row.id[0] != "X", row.id[0], int(row.id[1:]))))


ROWS = _in_order(row for module in MODULES for row in module.rows())
SCORE_FOLDER = Path("results/fidelity")
#: Seeds that are judged, and those of a row about which the first ones disagree: the median of three is then chance.
SEEDS, MORE_SEEDS = 3, 15


def select(only: Iterable[str] | None) -> list[Row]:
    """The rows with these ids or keys, all by default; KeyError names what does not exist."""
    wanted = [name.strip() for names in only or () for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if not any(name in (row.id, row.key) for row in ROWS)]
    if unknown:
        raise KeyError(", ".join(unknown))
    return [row for row in ROWS if not wanted or row.id in wanted or row.key in wanted]


def split_id(run_id: str) -> tuple[str, str | None, int]:
    """`ID~variant@seed2` -> id, variant, seed."""
    match = re.fullmatch(r"([^@~]*)(?:~([^@]*))?(?:@seed(\d+))?", run_id)
    return (match[1], match[2], int(match[3] or 1)) if match else (run_id, None, 1)


class Judging:
    """Measures rows run by run: once all runs of a row are there, while the series of the last are in memory."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)
        #: Of each row its values by seed.
        self._values: list[dict[int, float | None]] = [{} for _ in self._rows]
        self._of_run: dict[tuple[str, str | None], list[int]] = {}
        for number, row in enumerate(self._rows):
            for run_id in dict.fromkeys((row.run, *row.others)):
                self._of_run.setdefault((run_id, row.variant), []).append(number)
        self._sources: dict[tuple[str, str | None, int], Source] = {}

    def take(self, run_id: str, source: Source) -> None:
        """A run, whose series may be read. One whose series cannot be leaves no trace."""
        base, variant, seed = split_id(run_id)
        if source.id != base or not isinstance(source, metrics.Cached):
            source = metrics.Cached(source, base)
        measured: dict[int, float | None] = {}
        for number in self._of_run.get((base, variant), ()):
            row = self._rows[number]
            of_row = [
                source if name == base else self._sources.get((name, variant, seed)) for name in (row.run, *row.others)
            ]
            if None not in of_row:
                measured[number] = row.measure(*of_row)
        self._sources[base, variant, seed] = source
        for number, value in measured.items():
            self._values[number][seed] = value

    def results(self) -> list[Result]:
        """Each row over every seed of its run that was there."""
        results = []
        for row, values in zip(self._rows, self._values, strict=True):
            of_seeds = (values[seed] for seed in sorted(values))
            kept = tuple(v for v in of_seeds if v is not None and math.isfinite(v))
            results.append(Result(row, kept, EXPLANATIONS.get(row.key) or EXPLANATIONS.get(row.id) or ""))
        return results


def judge(rows: Iterable[Row], runs: Mapping[str, Source]) -> list[Result]:
    """Each row over every seed of its run that is there."""
    judging = Judging(rows)
    for run_id, source in runs.items():
        judging.take(run_id, source)
    return judging.results()


def simulate(rows: list[Row], *, seeds: int, out: Path = SCORE_FOLDER, jobs: int | None = None) -> dict[str, Source]:
    """Run what the rows need, each run once."""
    from sojourn.execution import execute
    from sojourn.planning import plan
    from sojourn.running import RunError

    built = {case.id for case in suites.every()}
    todo: list[Job] = []
    for variant in dict.fromkeys(row.variant for row in rows):
        ids = dict.fromkeys(run_id for row in rows if row.variant == variant for run_id in (row.run, *row.others))
        targets = [f"^{re.escape(run_id)}$" for run_id in ids if run_id in built]
        if not targets:
            continue
        # What is not here is a variant of the suite.
        overrides = VARIANTS.get(variant) if variant else None
        todo += plan(targets, overrides, seeds=seeds, variant=variant)
    outcomes = execute(todo, out, jobs=jobs)
    if any(outcome.status == "failed" for outcome in outcomes):
        raise RunError(outcomes)
    return {outcome.id: outcome.run for outcome in outcomes if outcome.run}


def settled(rows: list[Row], *, out: Path = SCORE_FOLDER, jobs: int | None = None) -> list[Result]:
    """Each row over `SEEDS` seeds, or `MORE_SEEDS` where those lie on different sides of a bound of it."""
    judged = judge(rows, simulate(rows, seeds=SEEDS, out=out, jobs=jobs))
    unsettled = [result.row for result in judged if result.divided]
    if not unsettled:
        return judged
    rows_of = "a row" if len(unsettled) == 1 else f"{len(unsettled)} rows"
    sys.stderr.write(f"sojourn fidelity: the seeds disagree about {rows_of}: {MORE_SEEDS} seeds are run\n")
    again = judge(unsettled, simulate(unsettled, seeds=MORE_SEEDS, out=out, jobs=jobs))
    more = {result.row.key: result for result in again}
    return [more.get(result.row.key, result) for result in judged]


def main(
    results: Path | None, *, only: list[str] | None, seeds: int | None, as_json: bool, jobs: int | None = None
) -> int:
    """Print the scoreboard; 4 if a row misses unexplained, 3 if a run cannot be read, 2 on misuse, else 0."""
    try:
        rows = select(only)
    except KeyError as error:
        known = ", ".join(dict.fromkeys(row.id for row in ROWS))
        sys.stderr.write(f"sojourn fidelity: {error.args[0]}: expected one of {known}\n")
        return 2
    from sojourn.results import ResultSet, exists

    errors: list[str] = []
    if results is None:
        judged = settled(rows, jobs=jobs) if seeds is None else judge(rows, simulate(rows, seeds=seeds, jobs=jobs))
    elif not exists(results):
        sys.stderr.write(f"sojourn fidelity: {results}: expected a results folder\n")
        return 2
    else:
        judged = judge(rows, ResultSet.open(results, errors).runs)
    for line in errors:
        sys.stderr.write(f"sojourn fidelity: {line}\n")
    if as_json:
        sys.stdout.write(json.dumps(document(judged), indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    else:
        _print(judged)
    unexplained = any(r.verdict == "fail" and r.explanation == "unexplained" for r in judged)
    return 4 if unexplained else 3 if errors else 0


def document(judged: list[Result]) -> dict[str, Any]:
    """The JSON document of `sojourn fidelity --json`."""
    return {
        "schema": SCHEMA,
        "rows": [result.document() for result in judged],
        "summary": score(judged),
    }


def grids(judged: Iterable[Result]) -> list[Grid]:
    """The published tables of which cells were judged."""
    rows = list(judged)
    return [grid for module in MODULES if hasattr(module, "grids") for grid in module.grids(rows)]


def hypotheses(judged: Iterable[Result]) -> str | None:
    """What rows of rival assumptions say together, a line each; None: nothing of the kind was run."""
    rows = list(judged)
    lines = (module.hypotheses(rows) for module in MODULES if hasattr(module, "hypotheses"))
    return "\n".join(filter(None, lines)) or None


def score(judged: Iterable[Result]) -> dict[str, int]:
    """How many rows have which verdict."""
    count: dict[str, int] = dict.fromkeys(get_args(Verdict), 0)
    for result in judged:
        count[result.verdict] += 1
    return count


def shown(value: float | str | None) -> str:
    """A number to three or four significant digits."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"


def shown_spread(result: Result) -> str:
    """Least and greatest value; empty for a single seed."""
    if result.spread is None or len(result.values) < 2:
        return ""
    return f"{shown(result.spread[0])} to {shown(result.spread[1])}"


def _print(judged: list[Result]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=170)
    table = Table(box=None, pad_edge=False)
    for heading in ("row", "verdict", "ours", "spread", "expected", "tolerance", "unit"):
        right = heading in ("ours", "expected")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    table.add_column("quantity")
    style = {"pass": "green", "fail": "bold red", "not-run": "dim", "report-only": "cyan", "contradicted": "dim"}
    for result in judged:
        row = result.row
        table.add_row(
            row.key,
            f"[{style[result.verdict]}]{result.verdict}[/]",
            shown(result.ours),
            shown_spread(result),
            shown(row.expected),
            (row.tolerance.text if row.tolerance else "none").replace("[", r"\["),
            row.unit,
            row.quantity,
        )
    console.print(table)
    if both := hypotheses(judged):
        console.print(f"\n{both}", highlight=False)
    for grid in grids(judged):
        console.print(f"\n{grid.heading}", highlight=False)
        cells = Table(box=None, pad_edge=False)
        for heading in grid.columns:
            cells.add_column(heading, justify="right", no_wrap=True)
        for line in grid.lines:
            cells.add_row(*line)
        console.print(cells)
    missed = [result for result in judged if result.verdict in ("fail", "contradicted")]
    for why in dict.fromkeys(result.explanation for result in missed):
        keys = ", ".join(result.row.key for result in missed if result.explanation == why)
        console.print(f"{keys}: {why}", markup=False)
    console.print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in score(judged).items()))
