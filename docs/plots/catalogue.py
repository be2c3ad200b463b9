"""Which figure belongs to which page, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from plots import delay, lab, linux72, loss, marks, media, model, queues, sce, scream, tutorial
from sojourn import _core

#: By controller, as `sojourn cc` names it. One that has no figure of its own yet can have `partial(lab.plain, NAME)`.
CONTROLLERS: Mapping[str, Callable[[], Figure]] = {
    **loss.FIGURES,
    **marks.FIGURES,
    **sce.FIGURES,
    **model.FIGURES,
    **delay.FIGURES,
    **media.FIGURES,
    **scream.FIGURES,
}


#: By queue discipline, as `sojourn qdisc` names it: the response to a step of load.
QUEUES: Mapping[str, Callable[[], Figure]] = queues.FIGURES

#: By page of `docs/guide`.
GUIDES: Mapping[str, Callable[[], Figure]] = {**linux72.FIGURES, **tutorial.FIGURES}

#: By folder of `docs/images`.
KINDS = {"cc": CONTROLLERS, "aqm": QUEUES, "guide": GUIDES}


#: The controllers of the engine itself: read before anything can be added to them.
REGISTERED: tuple[str, ...] = tuple(entry["name"] for entry in json.loads(_core.controllers()))


class CatalogueError(ValueError):
    """One line that says which figure or controller is missing."""


def check() -> None:
    """Every controller has its figure, and no figure is of nothing."""
    there = set(REGISTERED)
    if missing := sorted(there - set(CONTROLLERS)):
        raise CatalogueError(
            f"docs/plots: no figure of {', '.join(missing)}: expected a function in FIGURES of a module there"
        )
    if stray := sorted(set(CONTROLLERS) - there):
        raise CatalogueError(f"docs/plots: a figure of {', '.join(stray)}, expected a name that `sojourn cc` lists")


def names() -> list[str]:
    """Every figure."""
    return sorted(name for figures in KINDS.values() for name in figures)


def kind(name: str) -> str:
    """The folder of a figure."""
    for folder, figures in KINDS.items():
        if name in figures:
            return folder
    raise CatalogueError(f"{name}: expected one of {', '.join(names())}")


def make(folder: Path, wanted: Iterable[str]) -> Iterable[Path]:
    """Writes `cc/NAME.svg`, `aqm/NAME.svg` or `guide/NAME.svg` for each name and yields it when it is there."""
    for name in wanted:
        of = kind(name)
        target = folder / of / f"{name}.svg"
        with lab.look(), lab.workshop():
            lab.save(KINDS[of][name](), target, f"Figure of {name}" if of == "guide" else f"Validation of {name}")
        yield target
