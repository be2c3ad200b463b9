"""Sojourn, a deterministic packet-level laboratory for L4S, SCE and SCReAM congestion control.

The functions here are the verbs of the command line:

    import sojourn
    runs = sojourn.run("ect1/l4s-s2.*codel1q", jobs=2)
    t, rtt = runs[0].series("flow.prague.rtt")

Each name is loaded when it is first wanted: what a command does not use costs it no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sojourn._core import version

if TYPE_CHECKING:
    from sojourn._core import Ack, AckEvent, Lost, Packet, Path, RateSample, ScenarioError, Sent, Window
    from sojourn.algorithms import AlgorithmError, BitsPerSecond, Bytes, Seconds, controller, load_algorithms, qdisc
    from sojourn.engines import EngineError
    from sojourn.executors import ExecutorError
    from sojourn.results import ResultSet, Run
    from sojourn.running import RunError, run, start
    from sojourn.scenario import Scenario, load
    from sojourn.work import WorkerError

__version__ = version()
__all__ = [
    "Ack",
    "AckEvent",
    "AlgorithmError",
    "BitsPerSecond",
    "Bytes",
    "EngineError",
    "ExecutorError",
    "Lost",
    "Packet",
    "Path",
    "RateSample",
    "ResultSet",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Seconds",
    "Sent",
    "Window",
    "WorkerError",
    "controller",
    "load",
    "load_algorithms",
    "qdisc",
    "run",
    "start",
]
#: Modules with these names, but for the native one.
_HOMES = {
    "algorithms": ("AlgorithmError", "BitsPerSecond", "Bytes", "Seconds", "controller", "load_algorithms", "qdisc"),
    "engines": ("EngineError",),
    "executors": ("ExecutorError",),
    "results": ("ResultSet", "Run"),
    "running": ("RunError", "run", "start"),
    "scenario": ("Scenario", "load"),
    "work": ("WorkerError",),
}


if not TYPE_CHECKING:  # which would take every name for one of the package

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = next((module for module, names in _HOMES.items() if name in names), "_core")
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
