"""The simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sojourn import _core
from sojourn.engines.interface import Difference, EngineError, Name
from sojourn.scenario import Resolved

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Simulator:
    """Runs every scenario in virtual time, and gives the same bytes each time."""

    name: ClassVar[Name] = "sim"
    repeats: ClassVar[bool] = True
    packets_per_s: ClassVar[float] = 300_000
    least_s: ClassVar[float] = 0.05
    is_real_time: ClassVar[bool] = False

    @property
    def version(self) -> str:
        return _core.version()

    def check(self, scenario: Resolved) -> None:
        if "exec" not in scenario.text:  # a program is all that it cannot run
            return
        try:
            _core.Engine.simulator().check(scenario.text)
        except ValueError as error:
            raise EngineError(str(error)) from None

    def nearest(self, scenario: Resolved) -> tuple[Resolved, tuple[Difference, ...]]:
        """Itself."""
        return scenario, ()

    def commands(self, scenario: Resolved) -> list[str]:
        """None."""
        del scenario
        return []

    def names(self, scenario: Resolved) -> list[str]:
        """None."""
        del scenario
        return []

    def start(self, scenario: Resolved, captures: Path | None = None) -> _core.Run:
        return _core.Engine.simulator().start(scenario.text, captures)
