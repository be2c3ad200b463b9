"""scream-2024-10-28: the 60 cells of Ericsson's test activity of that day (`sojourn.suites.scream`)."""

from __future__ import annotations

from sojourn.suites import Case
from sojourn.suites import _scream as scream

#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.scream"
VARIANTS = scream.VARIANTS

NAME = "scream-2024-10-28"
#: The tool of that day.
VERSION = "2024-10-28"
TABLES = scream.OCTOBER_28


def cases(variant: str = scream.NO_ACCECN) -> list[Case]:
    """All runs, in the order of the tables."""
    return list(scream.cells(NAME, VERSION, TABLES, variant))
