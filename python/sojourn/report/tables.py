"""The tables over all runs of a page: at a glance, differences, the fidelity scoreboard."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn import fidelity
from sojourn.compare import Comparison, effects
from sojourn.fidelity import Result
from sojourn.fidelity.row import Grid
from sojourn.report import answers
from sojourn.report.answers import Glance
from sojourn.report.model import NOTHING, Cell, Column, Group, Table, number
from sojourn.report.sections import Section

#: Rows of the list of differences.
EFFECTS = 40


def glance(sections: Sequence[Section], ids: Sequence[str]) -> Table:
    """A row for each side of each section, whose ids on the page are `ids`."""
    every = [answers.glances(section) for section in sections]
    asked = any(section.question for section in sections)
    sided = any(one.side for of_section in every for one in of_section)
    columns = [Column("Scenario", "name")]
    columns += [Column("Question", "prose")] if asked else []
    columns += [Column("Run" if any(section.tabled for section in sections) else "Side", "text")] if sided else []
    columns += [Column("Runs", "value"), Column("Utilisation, %"), Column("RTT p50 \N{MINUS SIGN} path, ms")]
    columns += [Column("RTT p99 \N{MINUS SIGN} path, ms"), Column("Ratio 2nd/1st")]
    groups = []
    for section, of_section, to in zip(sections, every, ids, strict=True):
        head = [Cell(section.heading, note=section.key if section.key != section.heading else "", section=to)]
        head += [Cell(section.question)] if asked else []
        groups.append(Group([_glance(one, sided=sided) for one in of_section], head))
    runs = sum(len(section.runs) for section in sections)
    caption = (
        f"{runs} run{'' if runs == 1 else 's'}. Medians over the runs of a scenario: utilisation of the busiest link; "
        "the flows' median RTT above that of the empty path, and their largest p99; goodput of the second flow over the"
        " first."
    )
    return Table("glance", columns, groups, caption)


def _glance(one: Glance, *, sided: bool) -> list[Cell | None]:
    numbers = (one.utilisation, one.queueing_ms, one.p99_ms, one.ratios)
    side = [Cell(one.side)] if sided else []
    return [*side, Cell(str(one.runs)), *(Cell(a=one.median(values)) for values in numbers)]


def parameters(comparison: Comparison) -> Table:
    """What the scenarios of both sides differ in."""
    rows: list[list[Cell | None]] = [
        [Cell(key), Cell(a), Cell(b), Cell(str(runs))] for (key, a, b), runs in comparison.parameters.items()
    ]
    columns = [Column("Parameter", "name"), Column("A", "text"), Column("B", "text"), Column("Runs", "value")]
    return Table("parameters", columns, [Group(rows)], "The scenarios differ in:")


def differences(comparison: Comparison) -> Table:
    """The largest effects."""
    shown = comparison.effects[:EFFECTS]
    rows: list[list[Cell | None]] = []
    for effect in shown:
        low, high = (number(edge, "+") for edge in effect.interval or (None, None))
        rows.append(
            [
                Cell("\N{CHECK MARK}" if effect.distinct else ""),
                Cell(effect.run),
                Cell(f"{effect.quantity}{'' if effect.unit == '1' else f', {effect.unit}'}"),
                Cell(str(effect.seeds)),
                Cell(a=effect.a),
                Cell(a=effect.b),
                Cell(a=effect.diff),
                Cell(f"{low} to {high}" if effect.interval else NOTHING),
                Cell(a=effect.percent),
                Cell(a=effect.cohen_d),
            ]
        )
    columns = [Column("", "value"), Column("Run", "name"), Column("Quantity", "text"), Column("Seeds", "value")]
    columns += [Column("A", main=True), Column("B"), Column("A \N{MINUS SIGN} B", "change")]
    columns += [Column("95 % interval", "value"), Column("Effect, %", "change"), Column("d", "change")]
    more = f" The {len(shown)} largest of {len(comparison.effects)}." if len(shown) < len(comparison.effects) else ""
    caption = (
        f"{effects.METHOD}. Effect: difference as a share of the mean of both sides; d: Cohen's d of the paired "
        f"differences. \N{CHECK MARK}: seeds do not explain it.{more}"
    )
    return Table("differences", columns, [Group(rows)], caption)


def scoreboard(judged: Sequence[Result]) -> Table:
    """The fidelity rows that the results decide."""
    spread = any(len(result.values) > 1 for result in judged)
    rows: list[list[Cell | None]] = []
    for result in judged:
        row = result.row
        rows.append(
            [
                Cell(row.key),
                Cell(result.verdict.replace("-", " "), mark=result.verdict),
                Cell(fidelity.shown(result.ours)),
                *([Cell(fidelity.shown_spread(result))] if spread else []),
                Cell(fidelity.shown(row.expected)),
                Cell(row.tolerance.text if row.tolerance else "none"),
                Cell(f"{row.quantity}{'' if row.unit == '1' else f', {row.unit}'}", note=result.explanation),
                Cell(row.grade, hint=row.source),
            ]
        )
    columns = [Column("Row", "name"), Column("Verdict", "text"), Column("Ours", "value", main=True)]
    columns += [Column("Spread", "value")] if spread else []
    columns += [Column("Expected", "value"), Column("Tolerance", "text"), Column("Quantity", "prose")]
    caption = (
        "H2 is the second half of the time that all flows of a run share. Grade A: computed from raw data; B: a "
        "printed number; C: prose or a graph; T: the original program in virtual time; the analytic ones need no "
        f"measurement.{'' if spread else ' Every value is that of one seed.'}"
    )
    return Table("scoreboard", [*columns, Column("Grade", "text")], [Group(rows)], caption)


def grid(found: Grid) -> Table:
    """One of the scoreboard's grids."""
    first, *others = found.columns
    columns = [Column(first, "name"), *(Column(heading, "value") for heading in others)]
    return Table("grid", columns, [Group([list(map(Cell, line)) for line in found.lines])], found.heading)
