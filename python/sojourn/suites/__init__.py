"""Suites: Python modules that yield scenarios under stable ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

NAMES = ("ect1", "linux72")


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a suite."""

    id: str
    description: str
    question: str
    """What the run is there to find out."""
    duration_s: float
    toml: str
    reference: str | None
    """What a testbed calls its measurement of this run: the stem of a Flent file, or a case of its grid."""


def suite(name: str) -> list[Case]:
    """The runs of one suite, in their published order."""
    if name not in NAMES:
        raise KeyError(name)
    cases: list[Case] = import_module(f"sojourn.suites.{name}").cases()
    return cases


def every() -> Iterator[Case]:
    """The runs of all suites."""
    for name in NAMES:
        yield from suite(name)
