"""Types of the native module; its Rust source is `crates/py`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

class ScenarioError(ValueError):
    """A scenario or an algorithm text that cannot be used; the message is one line for the user."""

class RunResult:
    """What one run left behind."""

    @property
    def summary(self) -> str:
        """The summary as JSON text."""
    @property
    def queues(self) -> str:
        """Statistics of every queue as JSON text."""
    @property
    def series(self) -> list[tuple[str, str, NDArray[np.float64], NDArray[np.float64]]]:
        """Name, unit, times in seconds and values of every series, in a fixed order."""
    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""
    @property
    def kernel(self) -> str | None:
        """Release of the kernel that it ran on; None for the simulator."""

def version() -> str:
    """Version of the engine; results of different versions are never mixed."""

def schema() -> str:
    """JSON Schema of the scenario file."""

def resolve(text: str, file: str, overrides: list[tuple[str, str]]) -> tuple[str, list[str]]:
    """Validates a scenario; returns it with every default written out, and warnings."""

def run(resolved_toml: str, progress: Callable[[float], bool] | None = None) -> RunResult:
    """Runs a resolved scenario without the GIL.

    `progress` gets the simulated fraction now and then; returning False ends the run early.
    """

def run_linux(
    resolved_toml: str,
    network: str,
    launcher: list[str],
    agent: list[str],
    folder: str,
    stall_s: int,
    limit_s: int,
    progress: Callable[[float], bool] | None = None,
) -> RunResult:
    """Runs a resolved scenario on a kernel in virtual time; RuntimeError if the kernel fails.

    `network` is the JSON of `sojourn.linux.network`, `folder` an empty one; a guest is ended after
    `stall_s` of wall time without progress, or `limit_s` in all.
    """

def linux_inside(folder: str) -> None:
    """What runs inside the kernel."""

def qdiscs() -> str:
    """JSON array of the queue disciplines."""

def controllers() -> str:
    """JSON array of the congestion controllers."""

def apps() -> str:
    """JSON array of the applications."""

def app_usage(name: str) -> str:
    """Usage text of one application."""

def harm(solo: float, competing: float, more_is_better: bool) -> float | None:
    """Share of its solo performance that a flow loses to competition; None if there is none to lose."""

def jain(shares: list[float]) -> float | None:
    """Jain's fairness index; None if there is nothing to share."""

def qdisc_usage(name: str) -> str:
    """Usage text of one queue discipline."""

def cc_usage(name: str) -> str:
    """Usage text of one congestion controller."""
