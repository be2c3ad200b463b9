"""What `search` prints: the best trials in a table that fits the screen, and the commands to type next."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Sequence
from pathlib import Path

from sojourn.cli.screen import ABSENT, Screen
from sojourn.search import answer
from sojourn.search.picture import shown, shown_sides, title, with_unit
from sojourn.search.space import labels
from sojourn.search.trials import AS_IT_IS, Question, Trial
from sojourn.text import harmless

#: Lines around the table, and rows of trials at most.
AROUND, MOST = 12, 12
#: Characters of a chosen text in its column.
LONGEST = 30
#: Points of a Pareto front whose commands are printed.
COMMANDS = 3


def show(question: Question, trials: Sequence[Trial], first: bool, folder: Path, picture: Path | None) -> None:
    """Prints the answer of a search."""
    screen = Screen()
    own = [trial for trial in trials if trial.number != AS_IT_IS]
    failed = sum(bool(trial.error) for trial in own)
    violating = sum(not trial.error and not trial.is_feasible for trial in own)
    tried = len({tuple(trial.settings.items()) for trial in own})
    counts = [f"{len(own)} trials"]
    counts += [f"of {question.seeds} seeds each"] * (question.seeds > 1)
    counts += [f"at {tried} points"] * (tried < len(own))
    losses = [f"{violating} violate a constraint"] * bool(violating) + [f"{failed} without values"] * bool(failed)
    screen.line(title(question), "bold")
    screen.line(f"{' '.join(counts)}{': ' if losses else ''}{', '.join(losses)}")
    reference = answer.as_it_is(trials, first)
    found = answer.best(question, trials)
    ranked = [trial for trial in answer.ranked(question, trials) if trial is not reference and not trial.error]
    room = min(MOST, screen.height - AROUND - (2 if len(question.objectives) > 1 else 0))
    rows = [trial for trial in (reference, *ranked[:room]) if trial is not None]
    names = question.space.names
    short = labels(names)
    heading = ["trial", *(short[name].strip() for name in names)]
    heading += [with_unit(one.of) for one in question.objectives]
    heading += [one.shown.text for one in question.constraints]
    numbers = {trial.number for trial in found}
    table = [_row(question, trial, names, numbers, reference) for trial in rows]
    screen.table(heading, table, set(range(1 + len(names))))
    if len(ranked) > room:
        screen.line(f"and {len(ranked) - room} more in {folder / 'trials.jsonl'}")
    print()
    _say_best(question, found, reference, screen)
    if picture:
        print(f"picture: {harmless(str(picture))}")
    print(f"{harmless(str(folder))}: {len(trials)} trials; `sojourn show {shlex.quote(str(folder))}` has their runs")


def _row(question: Question, trial: Trial, names: Sequence[str], best: set[int], reference: Trial | None) -> list[str]:
    is_it = reference is not None and trial.number == reference.number
    label = "as it is" if is_it else str(trial.number)
    mark = " *" if trial.number in best else "" if trial.is_feasible else " violates"
    chosen = [_cut(shown(question, trial, name)) or ABSENT for name in names]
    values = [_with_deviation(values) for values in trial.objectives]
    return [label + mark, *chosen, *values, *(figure(value) for value in shown_sides(question, trial))]


def _with_deviation(values: Sequence[float]) -> str:
    """The mean and, of several runs, the standard deviation."""
    deviation = answer.deviation(values)
    return figure(statistics.fmean(values)) + (f" ±{deviation:.2g}" if deviation is not None else "")


def figure(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _say_best(question: Question, found: Sequence[Trial], reference: Trial | None, screen: Screen) -> None:
    if not found:
        return
    if len(question.objectives) == 1:
        (trial,) = found
        if reference and answer.costs_of(question, trial) >= answer.costs_of(question, reference):
            screen.line("* the scenario as it is: no trial is better")
            return
        change = ""
        if reference and reference.means[0]:
            part = 100 * (trial.means[0] / reference.means[0] - 1)
            change = f", {abs(part):.1f} % {'less' if part < 0 else 'more'} than as it is"
        screen.line(f"* best: trial {trial.number}, {question.objectives[0].text} {figure(trial.means[0])}{change}")
        for name, value in trial.chosen.items():
            of = question.space.range_of(name)
            if of and isinstance(value, int | float) and (end := of.end(value)):
                screen.line(f"  {labels([*question.space.names])[name].strip()} is at the {end} end of its range")
        print(f"again: {harmless(answer.command(question, trial))}")
        print(f"on seeds that the search has not seen: {harmless(answer.command(question, trial, check=True))}")
        return
    screen.line(f"* the Pareto front: {len(found)} trials that no other beats in every objective")
    places = sorted({0, len(found) // 2, len(found) - 1})[:COMMANDS]
    for trial in (found[place] for place in places):
        print(f"trial {trial.number}: {harmless(answer.command(question, trial))}")
