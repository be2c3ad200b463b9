"""Runs to do, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sojourn import engines, suites
from sojourn.results import Run
from sojourn.scenario import Resolved


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    id: str
    scenario: Resolved
    duration_s: float
    role: suites.Role = field(default_factory=suites.Role)
    #: What the engine does otherwise than was asked for.
    differences: tuple[engines.Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job."""

    id: str
    status: Literal["done", "cached", "partial", "failed"]
    wall_s: float = 0.0
    run: Run | None = None
    error: str | None = None
