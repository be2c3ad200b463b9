"""Sections of parameter studies: charts of what was swept, and a table of its points with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sojourn.compare import natural
from sojourn.metrics import Source
from sojourn.precision import QUANTITIES, short
from sojourn.report.model import NOTHING, Cell, Column, Group, Section, Table, number
from sojourn.results import ResultsError, Run, run_of
from sojourn.study import charts
from sojourn.study.chart import Chart
from sojourn.study.points import Study, StudyError

#: Fewer points are a table, not a study.
LEAST_POINTS = 4
#: The quantities of the table, and those that charts are of: the first that is measured.
TABLED = ("goodput_mbps", "utilisation", "rtt_p50_ms", "rtt_p99_ms", "sojourn_p50_ms", "sojourn_p99_ms", "retransmits")
DELAYS = ("sojourn_p99_ms", "rtt_p99_ms")
GAINS = ("utilisation", "goodput_mbps")
CAPTION = (
    "Means over the seeds of a point \N{PLUS-MINUS SIGN} half of the 95 % interval by Student's t, of the measuring "
    "window (retransmits: of the whole run). A point with one seed has no interval. Utilisation and queue delay are "
    "those of the busiest queue."
)


def sections(sources: Iterable[Source]) -> Iterator[Section]:
    """One for each scenario that was swept at enough points."""
    scenarios: dict[str, list[Run]] = {}
    for source in sources:
        run = run_of(source)
        if run and _swept(run):
            scenarios.setdefault(source.id.partition("/")[0], []).append(run)
    for name, runs in sorted(scenarios.items(), key=lambda item: natural(item[0])):
        study = Study.of(runs)
        if len(study.points) >= LEAST_POINTS and study.names:
            yield _section(name, study)


def _swept(run: Run) -> dict[str, str]:
    """Its swept names; a manifest that cannot be read is a line elsewhere."""
    try:
        return run.swept
    except ResultsError:
        return {}


def _section(name: str, study: Study) -> Section:
    names = ", ".join(f"{one.name} ({len(one.texts)} values)" for one in study.names.values())
    return Section(
        f"study-{name}",
        f"Parameter study: {name}",
        text=[f"{len(study.points)} points of {names}."],
        charts=list(_charts(study)),
        tables=[_table(study)],
    )


def _charts(study: Study) -> Iterator[Chart]:
    """Those that the study has names and quantities for."""
    measured = {column for point in study.points for column in point.means}
    delay = next((column for column in DELAYS if column in measured), None)
    gain = next((column for column in GAINS if column in measured), None)
    if delay is None or gain is None:
        return
    words = [one for one in study.names.values() if not one.numbers and len(one.texts) <= charts.MOST_CURVES]
    numbers = [one for one in study.names.values() if one.numbers]
    panels = words[0].name if words and len(words[0].texts) <= charts.MOST_PANELS else None
    try:
        yield charts.pareto(study, delay, gain)
        if numbers:
            yield charts.lines(study, delay)
        if len(numbers) >= 2:
            yield charts.heat(study, delay, panels=panels)
    except StudyError:
        return  # names with more values than a picture has room for: the table has them


def _table(study: Study) -> Table:
    swept = list(study.names)
    shown = [column for column in TABLED if any(column in point.means for point in study.points)]
    columns = [Column("Point", "name"), *(Column(name, "value") for name in swept), Column("Seeds", "value")]
    columns += [Column(_heading(column), "value") for column in shown]
    rows: list[list[Cell | None]] = []
    for point in sorted(study.points, key=lambda point: natural(point.id)):
        cells = [Cell(point.id), *(Cell(point.swept.get(name, NOTHING)) for name in swept)]
        cells.append(Cell(str(max(mean.seeds for mean in point.means.values()) if point.means else 0)))
        for column in shown:
            factor = charts.LABELS[column][1]
            mean = point.means.get(column)
            text = number(mean.mean * factor) if mean else NOTHING
            if mean and mean.half_width is not None:
                text += f" \N{PLUS-MINUS SIGN} {number(mean.half_width * factor)}"
            cells.append(Cell(text))
        rows.append(list(cells))
    return Table("study", columns, [Group(rows)], CAPTION)


def _heading(column: str) -> str:
    label = charts.LABELS[column][0]
    unit = label.rpartition(", ")[2] if QUANTITIES[column] in ("Mbit/s", "ms", "1") else ""
    return f"{short(column)}, {unit}" if unit else short(column)
