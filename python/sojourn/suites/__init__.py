"""Suites: Python modules that yield scenarios under stable ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

NAMES = (
    "ect1",
    "bakeoff",
    "hackathon",
    "linux72",
    "linux72-prague",
    "future",
    "scream-2024-10-28",
    "scream-2024-10-31",
    "scream-published",
    "linux-paths",
)


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


def suite(name: str, variant: str | None = None) -> list[Case]:
    """The runs of one suite in their published order, in its first variant or another one."""
    if variant is not None and variant not in variants(name):
        raise KeyError(variant)
    module = _module(name) if name in NAMES else None
    if module is None:
        raise KeyError(name)
    cases: list[Case] = module.cases(variant) if variant else module.cases()
    return cases


def variants(name: str) -> Mapping[str, str]:
    """The variants of a suite and what each is, the default first."""
    if name not in NAMES:
        raise KeyError(name)
    known: Mapping[str, str] = _module(name).VARIANTS
    return known


def _module(name: str) -> Any:
    return import_module(f"sojourn.suites.{name.replace('-', '_')}")


def every(variant: str | None = None) -> Iterator[Case]:
    """The runs of all suites, or with a variant those of the suites that have it."""
    for name in NAMES:
        if variant is None or variant in variants(name):
            yield from suite(name, variant)
