"""scream-2024-10-31: the same tests three days later, with CUBIC's growth emulated with L4S too, and 100 ms."""

from __future__ import annotations

from sojourn.suites import Case
from sojourn.suites import _scream as scream

#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.scream"
VARIANTS = scream.VARIANTS

NAME = "scream-2024-10-31"
VERSION = "2024-10-31"
TABLES = scream.OCTOBER_31


def cases(variant: str = scream.NO_ACCECN) -> list[Case]:
    """All runs, in the order of the tables."""
    return list(scream.cells(NAME, VERSION, TABLES, variant))
