"""Flows that differ by a counter alone, as copies do, under one name: `p-* (50)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Fewer copies than these are easier to read one by one.
LEAST = 4
#: More flows than these no scenario has in a group.
MOST = 10_000
COPY = re.compile(r"(.+)-\d+")
PART = re.compile(r"(.+)-[^-]+")


def groups(names: Iterable[str], least: int = LEAST, most: int | None = None) -> dict[str, list[str]]:
    """Members by label, in the order of the first of each: copies together, every other name by itself.

    Where more than `most` labels would be left, names that differ in their last part alone
    (`rrul-up-be`, `rrul-up-ef` ...) are a group too.
    """
    names = list(names)
    found = _grouped(names, COPY, least)
    if most is not None and len(found) > most:
        found = _grouped(names, PART, least)
    return found


def label(name: str, count: int | None) -> str:
    """Of a group of flows that a scenario declares, as of copies that are found by their names."""
    return f"{name}-*" if count is None else f"{name}-* ({count})"


def written_out(declared: Any) -> list[dict[str, Any]]:
    """The flows that the `[[flow]]` tables of a resolved scenario make, each with its own name."""
    flows = []
    for table in declared if isinstance(declared, list) else []:
        if not isinstance(table, dict):
            continue
        count = table.get("flows")
        if isinstance(count, int) and not isinstance(count, bool):
            alone = {key: value for key, value in table.items() if key not in ("flows", "interarrival")}
            names = (f"{table.get('name')}-{number}" for number in range(1, min(count, MOST) + 1))
            flows += [{**alone, "name": name} for name in names]
        else:
            flows.append(table)
    return flows


def _grouped(names: list[str], pattern: re.Pattern[str], least: int) -> dict[str, list[str]]:
    together: dict[str, list[str]] = {}
    for name in names:
        if match := pattern.fullmatch(name):
            together.setdefault(match[1], []).append(name)
    found: dict[str, list[str]] = {}
    for name in names:
        match = pattern.fullmatch(name)
        members = together[match[1]] if match else []
        if match and len(members) >= least:
            found[f"{match[1]}-* ({len(members)})"] = members
        else:
            found[name] = [name]
    return found
