"""`sojourn doctor`: what on a machine, a device, a path or in results makes congestion-control results wrong.

Each check is a function from plain inputs (texts of /proc, JSON of ip and tc, measured numbers) to findings; reading
those inputs is apart (`machine`, `devices`, `probe`, `outcomes`), so that every check is tested on recorded inputs.
"""

from __future__ import annotations

from types import ModuleType

from sojourn.doctor import aqm, clock, cpu, netem, offload, path, queues, rights, runs, tcp
from sojourn.doctor.finding import Finding, Kind, Severity

__all__ = ["GROUPS", "Finding", "Kind", "Severity", "kinds"]

#: Headings of the guide, and the modules whose kinds of findings are below them.
GROUPS: dict[str, tuple[ModuleType, ...]] = {
    "The machine": (clock, cpu, rights),
    "TCP": (tcp,),
    "Devices": (offload,),
    "Queues": (queues, aqm, netem),
    "Paths": (path,),
    "Results": (runs,),
}


def kinds(module: ModuleType) -> list[Kind]:
    """The kinds of findings that a module declares, in its order."""
    return [value for value in vars(module).values() if isinstance(value, Kind)]
