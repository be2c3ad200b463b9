"""What every engine does, and its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn._core import RunResult, Series
    from sojourn.scenario import Resolved

Name = Literal["sim", "linux", "linux:sojourn", "live", "live:kernel"]
#: Lateness that 99 of 100 packets may not exceed in a middlebox, s.
BOUND_S = 1e-3
Status = Literal["going", "paused", "ended"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a user chooses of an engine with real packets."""

    #: Lateness that 99 of 100 packets may not exceed in a middlebox, s.
    bound_s: float = BOUND_S
    #: Whether other programs see the hosts in `ip netns`.
    is_visible: bool = False
    #: Whether hosts before a middlebox may send several packets as one, which its queues count as one.
    super_packets: bool = False
    #: Whether idle CPUs poll instead of halting while a middlebox runs in real time.
    keep_awake: bool = False
    #: Whether scenarios may run the programs that they name (`exec`).
    allow_exec: bool = False


class EngineError(ValueError):
    """What an engine cannot do, or that it is not there; one line for the user."""


class Run(Protocol):
    """One scenario under way."""

    @property
    def duration_s(self) -> float:
        """Length of the scenario."""

    @property
    def now_s(self) -> float:
        """Seconds of the scenario up to which it has come."""

    def advance(self, until_s: float | None = None, budget_s: float = 0.05) -> Status:
        """Goes on to `until_s`, to the end, or for `budget_s` of wall time; raises `RuntimeError` if it fails."""

    def drain(self) -> list[Series]:
        """Name, unit, times and values of what was sampled since the last call."""

    def finish(self) -> RunResult:
        """The results so far, complete if the run has ended. Nothing can be asked of it afterwards."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What an engine does otherwise than a scenario says, by the scenario's key."""

    key: str
    wanted: str
    used: str
    why: str


class Engine(Protocol):
    """Carries out scenarios."""

    @property
    def name(self) -> Name:
        """As `--engine` has it."""

    @property
    def version(self) -> str:
        """What results are recognised by: those of two versions are never mixed."""

    @property
    def repeats(self) -> bool:
        """Whether the same scenario gives the same bytes each time."""

    @property
    def packets_per_s(self) -> float:
        """Full-sized packets of the bottleneck that one core handles in a second, roughly."""

    @property
    def least_s(self) -> float:
        """Wall time of a run that sends nothing, seconds."""

    @property
    def is_real_time(self) -> bool:
        """Whether a run takes as long as its scenario, and is disturbed by others beside it."""

    def check(self, scenario: Resolved) -> None:
        """Raises `EngineError` with key and reason if it cannot run this."""

    def nearest(self, scenario: Resolved) -> tuple[Resolved, tuple[Difference, ...]]:
        """The nearest scenario that it can run, and what differs; for what has none, `check` refuses that one."""

    def commands(self, scenario: Resolved) -> list[str]:
        """The commands that build the hosts of a run; raises `EngineError` for what it cannot run."""

    def names(self, scenario: Resolved) -> list[str]:
        """The names in `ip netns` of its hosts while a run lasts; none if it does not show them."""

    def start(self, scenario: Resolved, captures: Path | None = None) -> Run:
        """A run that stands at 0 s; raises `RuntimeError` with one line if it cannot begin.

        Its capture files are written to the folder `captures`; without one there are none.
        """
