"""A search as a page of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn import report
from sojourn.report.model import Cell, Column, Group, Page, Section, Table
from sojourn.report.sections import relative
from sojourn.search import answer
from sojourn.search.picture import shown, shown_sides, title, with_unit
from sojourn.search.space import labels
from sojourn.search.trials import QUESTION, TRIALS, Question, Trial
from sojourn.text import harmless


def write(question: Question, trials: Sequence[Trial], first: bool, picture: Path, target: Path) -> Path:
    """Writes the search as a page: the question, the answer, and all trials; HTML, Markdown or JSON as it ends."""
    found = answer.best(question, trials)
    repeat = [answer.command(question, trial) for trial in found]
    lead = harmless(f"{title(question)}. {len(trials)} trials of {question.scenario.file}.")
    text = [*repeat[:1]] if len(question.objectives) == 1 else []
    summary = Section(
        "answer",
        "Answer",
        title(question),
        text or [f"{len(found)} trials are on the Pareto front." if found else "In no trial all constraints hold."],
        tables=[_table("best", question, found, first), _files(picture, target.parent)],
    )
    ranked = answer.ranked(question, trials)
    every = Section("trials", "All trials", "", [], tables=[_table("trials", question, ranked, first)])
    made = Page(f"Search: {harmless(question.scenario.file)}", lead, ("", ""), [summary, every])
    return report.write(made, target)


def _files(picture: Path, folder: Path) -> Table:
    names = {"picture": picture.name, "trials": TRIALS, "question": QUESTION}
    links = {what: relative(picture.with_name(name), folder) for what, name in names.items()}
    return Table("files", [Column("Files", "name")], [Group([[Cell(links=links)]])])


def _table(kind: str, question: Question, trials: Sequence[Trial], first: bool) -> Table:
    names = question.space.names
    short = labels(names)
    columns = [Column("Trial", "name"), *(Column(harmless(short[name].strip()), "text") for name in names)]
    columns += [Column(harmless(with_unit(one.of)), "value") for one in question.objectives]
    columns += [Column(harmless(one.shown.text), "value") for one in question.constraints]
    columns += [Column("", "soft")]
    rows: list[list[Cell | None]] = []
    reference = answer.as_it_is(trials, first)
    for trial in trials:
        name = "as it is" if reference and trial.number == reference.number else str(trial.number)
        values = [*trial.means, *shown_sides(question, trial)]
        missing = len(question.objectives) + len(question.constraints) - len(values)
        note = trial.error or ("" if trial.is_feasible else "violates a constraint")
        # Four digits, as the terminal has them: of shares near 1 two say nothing.
        cells = [*(Cell(f"{value:.4g}") for value in values), *[Cell()] * missing]
        rows.append([Cell(name), *(Cell(shown(question, trial, n)) for n in names), *cells, Cell(harmless(note))])
    return Table(kind, columns, [Group(rows)])
