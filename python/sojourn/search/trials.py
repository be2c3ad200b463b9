"""Trials of a search: points of its space, what their runs have of the quantities, and the files that keep them."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sojourn import _core
from sojourn.execution import execute
from sojourn.files import read_bounded, write_whole
from sojourn.jobs import Job, Outcome
from sojourn.planning import plan
from sojourn.results import Run
from sojourn.scenario import Resolved, Scenario
from sojourn.search.expression import Constraint, ExpressionError
from sojourn.search.quantities import OfRun
from sojourn.search.space import Space
from sojourn.text import harmless

SCHEMA = "sojourn/search/1"
QUESTION, TRIALS = "search.json", "trials.jsonl"
#: Parts of the question in a folder that may be others: what the file is called, and how many trials are wanted.
FREE = ("scenario", "trials")
#: Of the question in a folder, bytes.
MOST_BYTES = 1 << 20
#: The number of the scenario as it is, where the space does not have it.
AS_IT_IS = -1


class SearchError(ValueError):
    """A search that cannot begin or go on: one line for the user."""


class Quantity(Protocol):
    """What is to be small or large: an expression, or a measure of `worst`."""

    @property
    def text(self) -> str:
        """As the user has it."""

    def value(self, of: OfRun) -> float | None:
        """Of one run; None if it has none."""


@dataclass(frozen=True, slots=True)
class Objective:
    """A quantity and its direction."""

    of: Quantity
    maximise: bool = False

    @property
    def text(self) -> str:
        return self.of.text

    @property
    def option(self) -> str:
        return "maximise" if self.maximise else "minimise"

    def cost(self, value: float) -> float:
        """The value with the sign with which less is better."""
        return -value if self.maximise else value


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a scenario."""

    scenario: Scenario
    space: Space
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    seeds: int = 1
    #: Of the sampler.
    seed: int = 1
    batch: int = 8
    sampler: str = "tpe"
    #: Files with algorithms that the scenario names.
    load: tuple[str, ...] = ()

    def jobs(self, name: str, settings: Mapping[str, str]) -> list[Job]:
        """The runs of a point, under a name; raises `ScenarioError`."""
        return plan([self.scenario], {**self.settings, **settings, "name": name}, seeds=self.seeds)

    def as_it_is(self) -> list[Resolved]:
        """The scenario without a change; of a sweep, all its runs."""
        return self.scenario.expand(self.settings)

    def document(self, trials: int, optuna: str) -> dict[str, Any]:
        """All that decides what the trials are; `trials` is how many were asked for."""
        texts = "\n".join(run.text for run in self.as_it_is())
        return {
            "schema": SCHEMA,
            "scenario": self.scenario.file,
            "sha256": hashlib.sha256(texts.encode()).hexdigest(),
            "over": [f"{axis.key}={','.join(one.text for one in axis.choices)}" for axis in self.space.axes],
            "objectives": [[one.option, one.text] for one in self.objectives],
            "subject_to": [one.text for one in self.constraints],
            "seeds": self.seeds,
            "seed": self.seed,
            "batch": self.batch,
            "sampler": self.sampler,
            "optuna": optuna,
            "trials": trials,
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """A point and what was found there."""

    number: int
    settings: Mapping[str, str]
    #: What was chosen, by name: numbers in base units, and texts.
    chosen: Mapping[str, float | str]
    #: Of each objective, the values of all runs.
    objectives: tuple[tuple[float, ...], ...] = ()
    #: Of each constraint, the values of its lower and its higher side.
    sides: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = ()
    violations: tuple[float, ...] = ()
    runs: tuple[str, ...] = ()
    #: Why there are no values.
    error: str = ""

    @property
    def means(self) -> tuple[float, ...]:
        """Of each objective over all runs."""
        return tuple(statistics.fmean(values) for values in self.objectives)

    @property
    def is_feasible(self) -> bool:
        """Whether it has values and all constraints hold for the means over its runs."""
        return not self.error and all(violation <= 0 for violation in self.violations)

    def document(self, question: Question) -> dict[str, Any]:
        """A line of `trials.jsonl`."""
        return {
            "trial": self.number if self.number != AS_IT_IS else "as it is",
            "set": dict(self.settings),
            "chosen": dict(self.chosen),
            **{
                one.text: {"mean": mean, "runs": list(values)}
                for one, mean, values in zip(question.objectives, self.means, self.objectives, strict=False)
            },
            "constraints": {
                one.text: {"holds": violation <= 0, "low": statistics.fmean(low), "high": statistics.fmean(high)}
                for one, violation, (low, high) in zip(question.constraints, self.violations, self.sides, strict=False)
            },
            "runs": list(self.runs),
            **({"error": self.error} if self.error else {}),
        }


@dataclass(slots=True)
class Bench:
    """Runs points and reads their quantities; a run that is there is not done again."""

    question: Question
    out: Path
    name: str
    jobs: int | None = None
    fresh: bool = False
    #: Where runs are done; None: in threads of this process.
    executor: Executor | None = None
    #: Gets each run and what became of it.
    ran: Callable[[Job, Outcome], None] = lambda _job, _outcome: None
    known: dict[tuple[tuple[str, str], ...], Trial] = field(default_factory=dict)

    def measure(self, points: Sequence[tuple[int, Mapping[str, str], Mapping[str, float | str]]]) -> list[Trial]:
        """The trials of points (number, settings, what was chosen), in their order; raises `ExpressionError`.

        A point that the scenario refuses, or whose runs fail, is a trial with an error. A point that was tried
        before is not run again.
        """
        planned: dict[int, list[Job]] = {}
        refused: dict[int, str] = {}
        first: dict[tuple[tuple[str, str], ...], int] = {}
        for number, settings, _ in points:
            key = tuple(sorted(settings.items()))
            if key in self.known or key in first:
                continue
            first[key] = number
            try:
                planned[number] = self.question.jobs(f"{self.name}/{label(number)}", settings)
            except _core.ScenarioError as error:
                refused[number] = str(error)
        outcomes = self._run([job for jobs in planned.values() for job in jobs])
        trials = []
        for number, settings, chosen in points:
            key = tuple(sorted(settings.items()))
            if key not in self.known:
                found = Trial(number, settings, chosen, error=refused.get(number, ""))
                self.known[key] = found if found.error else self._read(found, planned[number], outcomes)
            same = self.known[key]
            trials.append(
                Trial(number, settings, chosen, same.objectives, same.sides, same.violations, same.runs, same.error)
            )
        return trials

    def _run(self, todo: Sequence[Job]) -> dict[str, Outcome]:
        if not todo:
            return {}
        outcomes = execute(todo, self.out, jobs=self.jobs, fresh=self.fresh, quiet=True, executor=self.executor)
        for job, outcome in zip(todo, outcomes, strict=True):
            self.ran(job, outcome)
        return {outcome.id: outcome for outcome in outcomes}

    def _read(self, trial: Trial, jobs: Sequence[Job], outcomes: Mapping[str, Outcome]) -> Trial:
        ids = tuple(job.id for job in jobs)

        def without(error: str) -> Trial:
            return Trial(trial.number, trial.settings, trial.chosen, runs=ids, error=error)

        values: list[list[float]] = []
        for job in jobs:
            outcome = outcomes[job.id]
            if outcome.run is None or outcome.status not in ("done", "cached"):
                return without(outcome.error or "was interrupted")
            row = self._values(outcome.run)
            if isinstance(row, str):
                return without(row)
            values.append(row)
        columns = [tuple(column) for column in zip(*values, strict=True)]
        count = len(self.question.objectives)
        rest = iter(columns[count:])
        sides = tuple(zip(rest, rest, strict=True))
        violations = tuple(
            one.violation(statistics.fmean(low), statistics.fmean(high))
            for one, (low, high) in zip(self.question.constraints, sides, strict=True)
        )
        return Trial(trial.number, trial.settings, trial.chosen, tuple(columns[:count]), sides, violations, ids)

    def _values(self, run: Run) -> list[float] | str:
        """Of each objective, and of both sides of each constraint; or what it does not have."""
        of = OfRun(run)
        parts: list[Quantity] = [one.of for one in self.question.objectives]
        parts += [side for one in self.question.constraints for side in (one.low, one.high)]
        row = []
        for part in parts:
            try:
                value = part.value(of)
            except ExpressionError as error:
                text = str(error) if str(error).startswith(f"{part.text}:") else f"{part.text}: {error}"
                # What another trial has, as a series of another queue, is no misspelling.
                if any(not trial.error for trial in self.known.values()):
                    return f"{run.id}: {text}"
                raise ExpressionError(text) from None
            if value is None:
                return f"{run.id}: has no {part.text}"
            row.append(value)
        return row


def label(number: int) -> str:
    """The last part of the name of a trial's runs."""
    return "as-it-is" if number == AS_IT_IS else f"trial-{number:04}"


def check_folder(out: Path, document: Mapping[str, Any]) -> None:
    """Raises `SearchError` if the folder is of another question, but for what is `FREE`."""
    file = out / QUESTION
    if not file.exists():
        return
    try:
        there: object = json.loads(read_bounded(file, MOST_BYTES, "the question of a search"))
    except (ValueError, RecursionError) as error:
        raise SearchError(f"{file}: expected the question of a search ({error})") from None
    there = there if isinstance(there, dict) else {}
    for key, value in document.items():
        if key not in FREE and there.get(key) != value:
            was, now = (harmless(json.dumps(one)) for one in (there.get(key), value))
            raise SearchError(f"{file}: {key}: {was}, here {now}: expected another folder (-o), or --fresh")


def write(out: Path, document: Mapping[str, Any], question: Question, trials: Sequence[Trial]) -> None:
    """The question, and all trials so far, a line of JSON each."""
    write_whole(out / QUESTION, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    lines = [json.dumps(trial.document(question), ensure_ascii=False, allow_nan=False) for trial in trials]
    write_whole(out / TRIALS, "".join(f"{line}\n" for line in lines))
