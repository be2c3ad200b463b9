"""A search as a picture, and how its numbers are shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn import plot
from sojourn.plot.search import Parameter, Points, draw
from sojourn.search import answer
from sojourn.search.expression import Statistic
from sojourn.search.quantities import unit_of
from sojourn.search.space import Range, labels
from sojourn.search.trials import Quantity, Question, Trial
from sojourn.text import harmless

#: Base units of ranges as axes have them, by kind: name and size.
UNITS = {"rate": ("Mbit/s", 1e6), "time": ("ms", 1e-3), "bytes": ("kB", 1e3), "percent": ("%", 1.0)}


def write(question: Question, trials: Sequence[Trial], first: bool, target: Path) -> Path:
    """Writes the picture of a search; its ending says which format."""
    usable = [trial for trial in trials if not trial.error]
    with plot.styled():
        figure = draw(points(question, usable, first))
        heading = f"search over {question.scenario.file}"
        plot.save(figure, target, heading=heading, description=title(question))
    return target


def title(question: Question) -> str:
    """The question in a line."""
    asked = ", ".join(f"{one.option} {one.text}" for one in question.objectives)
    held = " and ".join(one.text for one in question.constraints)
    return str(harmless(f"{asked}{f' subject to {held}' if held else ''}"))


def points(question: Question, trials: Sequence[Trial], first: bool) -> Points:
    """The columns of the picture."""
    chosen = {trial.number for trial in answer.best(question, trials)}
    reference = answer.as_it_is(trials, first)
    own = [trial for trial in trials if trial.number >= 0]
    names = question.space.names
    short = labels(names)
    parameters = []
    for name in names:
        of = question.space.range_of(name)
        unit, size = UNITS.get(of.kind, ("", 1.0)) if of else ("", 1.0)
        values = [_scaled(trial.chosen.get(name), size) for trial in own]
        heading = harmless(f"{short[name].strip()}{f', {unit}' if unit else ''}")
        parameters.append(Parameter(heading, values, bool(of and of.log)))
    return Points(
        title(question),
        [
            (with_unit(one.of), one.maximise, [trial.means[n] for trial in own])
            for n, one in enumerate(question.objectives)
        ],
        [trial.is_feasible for trial in own],
        [trial.number in chosen for trial in own],
        parameters,
        list(reference.means) if reference else None,
    )


def _scaled(value: float | str | None, size: float) -> float | str | None:
    return value / size if isinstance(value, int | float) else value


def with_unit(of: Quantity) -> str:
    """An expression, and the unit of a lone statistic; the names of other quantities say theirs."""
    root = getattr(of, "root", None)
    unit = unit_of(root.series) if isinstance(root, Statistic) else ""
    return f"{of.text}, {unit}" if unit else of.text


def shown(question: Question, trial: Trial, name: str) -> str:
    """A chosen value as text, with its unit."""
    value = trial.chosen.get(name)
    of = question.space.range_of(name)
    if value is None:
        return ""
    return str(harmless(of.text(value) if isinstance(of, Range) and isinstance(value, int | float) else str(value)))


def shown_sides(question: Question, trial: Trial) -> list[float]:
    """Of each constraint the side that varies, as the mean over the runs."""
    found = []
    for one, (low, high) in zip(question.constraints, trial.sides, strict=False):
        side = high if one.shown is one.high else low
        found.append(sum(side) / len(side))
    return found
