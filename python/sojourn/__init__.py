"""Sojourn, a deterministic packet-level laboratory for L4S, SCE and SCReAM congestion control.

The functions here are the verbs of the command line:

    import sojourn
    runs = sojourn.run("ect1/l4s-s2.*codel1q", jobs=2)
    t, rtt = runs[0].series("flow.prague.rtt")
"""

from sojourn._core import ScenarioError, version
from sojourn.results import ResultSet, Run
from sojourn.run import RunError, run
from sojourn.scenario import Scenario, load

__version__ = version()
__all__ = ["ResultSet", "Run", "RunError", "Scenario", "ScenarioError", "load", "run"]
