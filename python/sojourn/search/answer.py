"""What a search found: the best trial, or those that no other one beats in everything."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Sequence
from typing import Any

from sojourn.search.trials import AS_IT_IS, Question, Trial

#: The seeds of a check begin here, far from those that the search has seen.
OTHER_SEEDS, CHECKS = 1001, 20


def ranked(question: Question, trials: Sequence[Trial]) -> list[Trial]:
    """The answer first: by the objective, of several those that nothing beats, by the first one.

    Then what is beaten, what violates a constraint (by how much), and what has no values.
    """
    front = {trial.number for trial in best(question, trials)} if len(question.objectives) > 1 else set()

    def order(trial: Trial) -> tuple[Any, ...]:
        excess = sum(max(violation, 0.0) for violation in trial.violations)
        costs = costs_of(question, trial)
        return (bool(trial.error), excess, bool(front) and trial.number not in front, costs, trial.number)

    return sorted(trials, key=order)


def best(question: Question, trials: Sequence[Trial]) -> list[Trial]:
    """Trials in which all constraints hold and that no other such one beats; of one objective one trial.

    Of trials with equal values the first one counts.
    """
    able = [(costs_of(question, trial), trial) for trial in trials if trial.is_feasible]
    if len(question.objectives) == 1:
        return [min(able, key=lambda one: (one[0], one[1].number))[1]] if able else []
    # In the order of their costs nothing later beats what is earlier.
    kept: list[tuple[tuple[float, ...], Trial]] = []
    for costs, trial in sorted(able, key=lambda one: (one[0], one[1].number)):
        if not any(all(a <= b for a, b in zip(other, costs, strict=True)) for other, _ in kept):
            kept.append((costs, trial))
    return [trial for _, trial in kept]


def costs_of(question: Question, trial: Trial) -> tuple[float, ...]:
    """Its objectives with the sign with which less is better."""
    return tuple(one.cost(mean) for one, mean in zip(question.objectives, trial.means, strict=False))


def as_it_is(trials: Sequence[Trial], first: bool) -> Trial | None:
    """The trial that is the scenario as it is: the one before all others, or the first one if it is `first`."""
    wanted = 0 if first else AS_IT_IS
    return next((trial for trial in trials if trial.number == wanted and not trial.error), None)


def deviation(values: Sequence[float]) -> float | None:
    """Standard deviation over the runs of a trial; None of one run."""
    return statistics.stdev(values) if len(values) > 1 else None


def command(question: Question, trial: Trial, *, check: bool = False) -> str:
    """What repeats the runs of a trial; with `check` the same on seeds that the search has not seen."""
    settings = {**question.settings, **trial.settings}
    words = ["sojourn", "run", question.scenario.file, *(word for file in question.load for word in ("--load", file))]
    words += [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
    if check:
        words += ["--seed", str(OTHER_SEEDS), "--seeds", str(CHECKS)]
    elif question.seeds > 1:
        words += ["--seeds", str(question.seeds)]
    return shlex.join(words)
