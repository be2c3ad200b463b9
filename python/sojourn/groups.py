"""Flows that differ by a counter alone, as copies do, under one name: `p-* (50)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Fewer copies than these are easier to read one by one.
LEAST = 4
COPY = re.compile(r"(.+)-\d+")


def groups(names: Iterable[str], least: int = LEAST) -> dict[str, list[str]]:
    """Members by label, in the order of the first of each: copies together, every other name by itself."""
    names = list(names)
    copies: dict[str, list[str]] = {}
    for name in names:
        if match := COPY.fullmatch(name):
            copies.setdefault(match[1], []).append(name)
    found: dict[str, list[str]] = {}
    for name in names:
        match = COPY.fullmatch(name)
        members = copies[match[1]] if match else []
        if match and len(members) >= least:
            found[f"{match[1]}-* ({len(members)})"] = members
        else:
            found[name] = [name]
    return found
