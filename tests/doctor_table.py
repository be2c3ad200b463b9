"""Writes the table of the doctor's findings into docs/guide/doctor.md, from the code that makes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sojourn import doctor
from sojourn.doctor import Kind

PAGE = Path(__file__).resolve().parents[1] / "docs/guide/doctor.md"
BEGIN = "<!-- written by tests/doctor_table.py; do not edit from here -->\n"


def table() -> str:
    """A section for each group, a row for each kind of finding."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for heading, modules in doctor.GROUPS.items():
        yield from ("", f"### {heading}", "", "| finding | when | what it does to results | fix | source |")
        yield "|---|---|---|---|---|"
        yield from (_row(kind) for module in modules for kind in doctor.kinds(module))


def _row(kind: Kind) -> str:
    # What stands in braces is of the finding.
    fix = re.sub(r"\{(\w+)\}", lambda word: word[1].upper(), kind.fix)
    name = f"`{kind.name}`<br>{kind.severity.name.lower()}"
    cells = (name, kind.when, kind.effect, fix, kind.source)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def written(page: str) -> str:
    """The page with the table of now."""
    return page.partition(BEGIN)[0] + BEGIN + table()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
