"""Numbers in what files and tools say, which may be anything."""

from __future__ import annotations

import math
import re

#: No counter of the kernel has more digits.
DIGITS = re.compile(r"-?[0-9]{1,20}")


def number(value: object) -> float | None:
    """A finite number of JSON; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole(text: str | None) -> int | None:
    """An integer in a file of the kernel; None for anything else."""
    stripped = (text or "").strip()
    return int(stripped) if DIGITS.fullmatch(stripped) else None
