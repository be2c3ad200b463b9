"""scream-2024-10-28: the 60 cells of Ericsson's test activity of that day (`sojourn.suites.scream`)."""

from __future__ import annotations

from sojourn.suites import Case, scream

VARIANTS = {"tool": "the only one"}

NAME = "scream-2024-10-28"
#: The tool of that day.
VERSION = "2024-10-28"
TABLES = scream.OCTOBER_28


def cases(_variant: str = "tool") -> list[Case]:
    """All runs, in the order of the tables; there is one variant."""
    return list(scream.cells(NAME, VERSION, TABLES))
