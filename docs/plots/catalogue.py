"""Which figure belongs to which page, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from plots import delay, lab, loss, marks, model, queues, sce
from sojourn import _core
from sojourn.algorithms import defined

#: By controller, as `sojourn cc` names it. One that has no figure of its own yet can have `partial(lab.plain, NAME)`.
CONTROLLERS: Mapping[str, Callable[[], Figure]] = {
    **loss.FIGURES,
    **marks.FIGURES,
    **sce.FIGURES,
    **model.FIGURES,
    **delay.FIGURES,
}


#: By queue discipline, as `sojourn qdisc` names it: the response to a step of load.
QUEUES: Mapping[str, Callable[[], Figure]] = queues.FIGURES


class CatalogueError(ValueError):
    """One line that says which figure or controller is missing."""


def registered() -> list[str]:
    """The controllers of the engine itself."""
    return [name for entry in json.loads(_core.controllers()) if (name := entry["name"]) not in defined()]


def check() -> None:
    """Every controller has its figure, and no figure is of nothing."""
    there = set(registered())
    if missing := sorted(there - set(CONTROLLERS)):
        raise CatalogueError(
            f"docs/plots: no figure of {', '.join(missing)}: expected a function in FIGURES of a module there"
        )
    if stray := sorted(set(CONTROLLERS) - there):
        raise CatalogueError(f"docs/plots: a figure of {', '.join(stray)}, expected a name that `sojourn cc` lists")


def names() -> list[str]:
    """Every figure."""
    return sorted([*CONTROLLERS, *QUEUES])


def make(folder: Path, wanted: Iterable[str]) -> Iterable[Path]:
    """Writes `cc/NAME.svg` or `aqm/NAME.svg` for each name and yields it when it is there."""
    for name in wanted:
        kind, figures = ("cc", CONTROLLERS) if name in CONTROLLERS else ("aqm", QUEUES)
        if name not in figures:
            raise CatalogueError(f"{name}: expected one of {', '.join(names())}")
        target = folder / kind / f"{name}.svg"
        with lab.look(), lab.workshop():
            lab.save(figures[name](), target, f"Validation of {name}")
        yield target
