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

from sojourn.engines.interface import BOUND_S, Difference, Engine, EngineError, Name, Options, Run, Status

if TYPE_CHECKING:
    from sojourn._core import RunResult

__all__ = [
    "BOUND_S",
    "Difference",
    "Engine",
    "EngineError",
    "Name",
    "Options",
    "Run",
    "Status",
    "complete",
    "named",
]


def named(name: Name, options: Options | None = None) -> Engine:
    """The engine of this name; raises `EngineError` if it is not there, or has no such option."""
    options = options or Options()
    if options.is_visible and not name.startswith("live"):
        raise EngineError(f"--named: only with --engine live, not {name}")
    if options.keep_awake and name != "live":
        raise EngineError(f"--keep-awake: only with --engine live, not {name}")
    of_middlebox = {
        f"--max-lateness {options.bound_s:g}s": options.bound_s != BOUND_S,
        "--super-packets": options.super_packets,
    }
    for option, is_there in of_middlebox.items():
        if is_there and name not in ("live", "linux:sojourn"):
            raise EngineError(f"{option}: only with --engine live or linux:sojourn, not {name}")
    if name != "sim":
        from sojourn.engines.linux import Linux

        return Linux.find(name, options)
    from sojourn.engines.sim import Simulator

    return Simulator()


def complete(run: Run, go_on: Callable[[Run], bool] | None = None) -> RunResult:
    """Runs to the end, or until `go_on`, which gets the run now and then and at its end, returns False."""
    is_over = False
    while not is_over:
        is_over = run.advance() == "ended"
        is_over |= go_on is not None and not go_on(run)
    return run.finish()
