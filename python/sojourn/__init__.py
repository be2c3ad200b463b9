"""Sojourn, a deterministic packet-level laboratory for L4S, SCE and SCReAM congestion control.

The functions here are the verbs of the command line:

    import sojourn
    runs = sojourn.run("ect1/l4s-s2.*codel1q", jobs=2)
    t, rtt = runs[0].series("flow.prague.rtt")
"""

from sojourn._core import Ack, AckEvent, Lost, Packet, Path, RateSample, ScenarioError, Sent, Window, version
from sojourn.algorithms import AlgorithmError, BitsPerSecond, Bytes, Seconds, controller, load_algorithms, qdisc
from sojourn.engines import EngineError
from sojourn.executors import ExecutorError
from sojourn.results import ResultSet, Run
from sojourn.run import RunError, run, start
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
