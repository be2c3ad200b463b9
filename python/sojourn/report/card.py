"""The report card of a controller: the criteria of RFC 9743, each with the runs that answer it.

Numbers alone: the RFC, which is the successor of RFC 5033, sets no thresholds (section 5). A heading that no run of the
results answers names the runs of the suites that would, or says that there are none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sojourn import compare, metrics, path, results, suites
from sojourn.path import objects
from sojourn.report import sections
from sojourn.report.criteria import CRITERIA, Criterion
from sojourn.report.evidence import Evidence, Facts, goodputs, named
from sojourn.report.model import Cell, Column, Group, Page, Section, Table, number
from sojourn.report.sections import relative
from sojourn.text import harmless

#: Rows below a heading, those first that are worst by its first measure.
MOST_ROWS = 8


class CardError(ValueError):
    """One line that says what was expected."""


def of_controller(results_: Path, folder: Path, controller: str) -> Page:
    """The card of a controller from a results folder, for a file in `folder`.

    A name without a version means the only version of it that the results have.
    """
    errors: list[str] = []
    wanted = named({"cc": controller})
    lone = [metrics.Cached(run) for run in results.ResultSet.open(results_, errors)]
    every = sections.runs_of(compare.Comparison(lone=list(lone), errors=errors))
    flows = (flow for run in every for flow in objects(path.scenario(run.ours).get("flow")))
    there = sorted({name for flow in flows if (name := named(flow))})
    versions = [name for name in there if name.startswith(f"{wanted} version ")]
    if wanted not in there and len(versions) == 1:
        (wanted,) = versions
    evidence = [Evidence(Facts(run.id, path.scenario(run.ours), wanted), run) for run in every]
    runs = [run for run in evidence if _is_readable(run, errors)]
    concerned = [run for run in runs if wanted and run.facts.concerned]
    if not concerned:
        raise CardError(f"--card {controller}: expected a controller of these results: {', '.join(there) or 'none'}")
    return replace(_card(wanted, concerned, harmless(results_.resolve().name), folder), errors=errors)


def _is_readable(run: Evidence, errors: list[str]) -> bool:
    """Whether its scenario is one; it can have been edited into something else."""
    try:
        for criterion in CRITERIA:
            criterion.met(run)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        errors.append(f"{run.facts.id}: expected a scenario ({error})")
        return False
    return True


def _card(controller: str, runs: list[Evidence], name: str, folder: Path) -> Page:
    every = (Facts(case.id, tomllib.loads(case.toml), controller) for case in suites.every())
    cases = [case for case in every if case.concerned]
    answers = [[run for run in runs if criterion.met(run)] for criterion in CRITERIA]
    lead = (
        f"The criteria of RFC 9743 (BCP 133, the successor of RFC 5033), and {_count(runs)} in {name} with a flow of "
        f"{controller}, which answer {sum(map(bool, answers))} of {len(CRITERIA)} headings. The RFC sets no thresholds,"
        " so there are no verdicts. Rates and delays are of each run's measuring window, drops, timeouts and segments "
        "sent again of the whole run."
    )
    sections = [_section(one, found, cases, folder) for one, found in zip(CRITERIA, answers, strict=True)]
    return Page(f"Report card of {controller}", lead, compare.MEASURED, sections)


def _section(criterion: Criterion, found: list[Evidence], cases: list[Facts], folder: Path) -> Section:
    if found:
        sentences = [f"{_count(found)}.", *(measure.sentence(found) for measure in criterion.measures)]
    else:
        sentences = [_nowhere(criterion, cases)]
    return Section(
        f"criterion-{criterion.number}",
        f"{criterion.number} {criterion.heading}",
        criterion.asks,
        [" ".join(filter(None, [*sentences, criterion.note]))],
        tables=[_table(criterion, found, folder)] if found else [],
    )


def _nowhere(criterion: Criterion, cases: list[Facts]) -> str:
    """Which runs of the suites would answer a heading that no run of the results does."""
    batches = dict.fromkeys("/".join(case.id.split("/")[:2]) for case in cases if criterion.covers(case))
    if not batches:
        return "Nothing in the suites answers this."
    return f"No run of these results answers this. These would: sojourn run {' '.join(batches)}."


def _table(criterion: Criterion, runs: Sequence[Evidence], folder: Path) -> Table:
    """The runs, those first that are worst by the first measure."""
    first = criterion.measures[0]

    def badness(run: Evidence) -> float:
        value = first.of(run)
        return float("-inf") if value is None else value if first.worst is max else -value

    ordered = sorted(runs, key=badness, reverse=True)
    if criterion.each:
        kinds: dict[str, Evidence] = {}
        for run in ordered:
            kinds.setdefault(criterion.each(run.facts), run)
        ordered = list(kinds.values())
    rows: list[list[Cell | None]] = []
    for run in ordered[:MOST_ROWS]:
        ours = results.run_of(run.run.ours)
        place = ours.files.place("summary.json") if ours else None
        label = Cell(links={run.facts.id: relative(place, folder)}) if place else Cell(run.facts.id)
        values = (Cell(a=measure.of(run)) for measure in criterion.measures)
        rows.append([label, Cell(str(run.facts.path)), Cell(_goodput(run)), *values])
    columns = [Column("Run", "name"), Column("Path", "text"), Column("Goodput, Mbit/s", "text")]
    columns += [Column(f"{m.name},{m.unit}".strip(",")) for m in criterion.measures]
    if more := len(runs) - len(rows):
        rows.append([Cell(f"and {more} more"), Cell(), Cell(), *[None] * len(criterion.measures)])
    return Table("criterion", columns, [Group(rows)])


def _count(runs: Sequence[Evidence]) -> str:
    return f"{len(runs)} run{'' if len(runs) == 1 else 's'}"


def _goodput(run: Evidence) -> str:
    """Of the controller's flows, and of those beside them."""
    parts = []
    for flows, name in ((run.mine, run.facts.controller.split(" ")[0]), (run.others, "others")):
        if rates := goodputs(flows):
            count = f" ({len(rates)} flows)" if len(rates) > 1 else ""
            parts.append(f"{name} {number(sum(rates))}{count}")
    return ", ".join(parts)
