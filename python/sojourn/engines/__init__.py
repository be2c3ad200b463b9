"""The engines that carry out a scenario: one interface, and a file for each.

A run goes on in short turns, so that its holder may show what it measures, pause, or stop:

    run = sojourn.start("my.toml")
    while run.advance(run.now_s + 1) != "ended":
        for name, unit, t, v in run.drain():
            ...
    result = run.finish()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.engines.interface import BOUND_S, Difference, Engine, EngineError, Name, Run, Status

if TYPE_CHECKING:
    from sojourn._core import RunResult

__all__ = ["BOUND_S", "Difference", "Engine", "EngineError", "Name", "Run", "Status", "complete", "named"]


def named(name: Name, bound_s: float = BOUND_S, *, is_visible: bool = False) -> Engine:
    """The engine of this name; raises `EngineError` if it is not there.

    `bound_s` is the lateness that 99 of 100 packets may not exceed in a middlebox, s. With `is_visible` other programs
    see its hosts in `ip netns`.
    """
    if is_visible and not name.startswith("live"):
        raise EngineError(f"--named: only with --engine live, not {name}")
    if name != "sim":
        from sojourn.engines.linux import Linux

        return Linux.find(name, bound_s, is_visible=is_visible)
    from sojourn.engines.sim import Simulator

    return Simulator()


def complete(run: Run, go_on: Callable[[float], bool] | None = None) -> RunResult:
    """Runs to the end, or until `go_on`, which gets the fraction that is done now and then, returns False."""
    while run.advance() != "ended" and (go_on is None or go_on(run.now_s / run.duration_s)):
        pass
    return run.finish()
