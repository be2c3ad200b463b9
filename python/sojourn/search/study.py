"""The search itself, which Optuna steers: points are asked for in batches of a fixed size and told in their order.

So the trials depend on the question alone, not on how many runs were done at a time or which of them were there. A
search that was interrupted is asked again from its first trial: Optuna, told the same, asks the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from sojourn._core import ScenarioError
from sojourn.search.space import Space
from sojourn.search.trials import AS_IT_IS, Bench, Question, SearchError, Trial

if TYPE_CHECKING:
    import optuna

#: `Trial.set_constraint` is there from this version on.
LEAST = 5
EXTRA = "pip install 'sojourn[search]'"


class Given:
    """Chooses a point that is known."""

    def __init__(self, point: Mapping[str, float | str]) -> None:
        self.point = point

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        del low, high, log
        return float(self.point[name])

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        del low, high, log
        return int(self.point[name])

    def suggest_categorical(self, name: str, choices: list[str]) -> str:
        del choices
        return str(self.point[name])


def version() -> str:
    """Of Optuna; raises `SearchError` where it is not installed."""
    try:
        import optuna
    except ModuleNotFoundError as missing:
        if missing.name != "optuna":
            raise
        raise SearchError(f"Optuna is not installed, which searches need: {EXTRA}") from None
    if int(optuna.__version__.partition(".")[0]) < LEAST:
        raise SearchError(f"Optuna {optuna.__version__}: expected {LEAST} or later: {EXTRA} --upgrade")
    return str(optuna.__version__)


def search(bench: Bench, trials: int, report: Callable[[Sequence[Trial]], None]) -> list[Trial]:
    """The trials of a question, after the scenario as it is where the space does not have that.

    `report` is called with all trials so far, after the scenario as it is and after each batch. Raises
    `ExpressionError` for a quantity that the runs do not have.
    """
    question = bench.question
    start = at_start(question)
    with warnings.catch_warnings(action="ignore"):  # that some options are experimental
        study = _study(question)
        if start is not None:
            study.enqueue_trial(dict(start))
        # Alone, so that what is wrong with the question is said after one trial. The first one of Optuna's finds it.
        alone = (0, *question.space.choose(Given(start))) if start is not None else (AS_IT_IS, {}, {})
        done = [one for one in bench.measure([alone]) if start is None]
        report(done)
        for first in range(0, trials, question.batch):
            asked = [study.ask() for _ in range(min(question.batch, trials - first))]
            points = [(trial.number, *question.space.choose(_Optunas(trial))) for trial in asked]
            for trial, found in zip(asked, bench.measure(points), strict=True):
                _tell(study, trial, found)
                done.append(found)
            report(done)
    return done


def check_space(question: Question) -> None:
    """Raises `SearchError` for a text that the scenario refuses: by itself, and with either end of everything else."""
    ends = [_at_end(question.space, last=last) for last in (False, True)]
    for axis in question.space.axes:
        for choice in axis.choices:
            one = Space((replace(axis, choices=(choice,)),))
            alone = [_at_end(one, last=last) for last in (False, True)]
            tried = [_refusal(question, {**rest, **settings}) for rest in ({}, *ends) for settings in alone]
            if None not in tried:
                raise SearchError(f"--over {axis.key}: {tried[0]}")


def _at_end(space: Space, *, last: bool) -> dict[str, str]:
    """The settings with the lowest numbers and first texts, or the highest and last."""
    return space.choose(_End(-1 if last else 0))[0]


def _refusal(question: Question, settings: Mapping[str, str]) -> str | None:
    try:
        question.scenario.expand({**question.settings, **settings})
    except ScenarioError as error:
        return str(error)
    return None


class _End:
    """Chooses the first or the last of everything."""

    def __init__(self, index: int) -> None:
        self.index = index

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        del name, log
        return (low, high)[self.index]

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        del name, log
        return (low, high)[self.index]

    def suggest_categorical(self, name: str, choices: list[str]) -> str:
        del name
        return choices[self.index]


def at_start(question: Question) -> Mapping[str, float | str] | None:
    """The point that is the scenario as it is; None if the space does not have it."""
    runs = question.as_it_is()
    if len(runs) > 1:
        return None
    keys = [axis.key for axis in question.space.axes]
    point = question.space.of_scenario({key: _stated(runs[0].document(), key) for key in keys})
    if point is None:
        return None
    settings, _ = question.space.choose(Given(point))
    (again,) = question.scenario.expand({**question.settings, **settings})
    return point if again.text == runs[0].text else None


class _Optunas:
    """What Optuna's trial chooses, under the names of the space."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial = trial

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        return self.trial.suggest_float(name, low, high, log=log)

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        return self.trial.suggest_int(name, low, high, log=log)

    def suggest_categorical(self, name: str, choices: list[str]) -> str:
        return str(self.trial.suggest_categorical(name, choices))


def _study(question: Question) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers: dict[str, Callable[[], Any]] = {
        "tpe": lambda: _tpe(question.seed, question.space, len(question.objectives)),
        "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=question.seed),
        "random": lambda: optuna.samplers.RandomSampler(seed=question.seed),
    }
    directions: list[Literal["minimize", "maximize"]] = [
        "maximize" if one.maximise else "minimize" for one in question.objectives
    ]
    return optuna.create_study(directions=directions, sampler=samplers[question.sampler]())


def _tpe(seed: int, space: Space, objectives: int) -> optuna.samplers.TPESampler:
    """Trials of a batch repel each other (`constant_liar`), and parameters that are there only at times are a group."""
    import optuna

    if space.is_conditional and objectives == 1:
        return optuna.samplers.TPESampler(seed=seed, constant_liar=True, multivariate=True, group=True)
    return optuna.samplers.TPESampler(seed=seed, constant_liar=True)


def _tell(study: optuna.Study, trial: optuna.Trial, found: Trial) -> None:
    import optuna

    if found.error:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return
    for number, violation in enumerate(found.violations):
        trial.set_constraint(str(number), violation)
    study.tell(trial, list(found.means))


def _stated(document: Any, key: str) -> str:
    """What a resolved scenario has under a dotted name; empty if that is no text or number."""
    for part in key.split("."):
        if isinstance(document, list):
            document = next((one for one in document if isinstance(one, dict) and one.get("name") == part), None)
        else:
            document = document.get(part) if isinstance(document, dict) else None
    return str(document) if isinstance(document, str | int | float) and not isinstance(document, bool) else ""
