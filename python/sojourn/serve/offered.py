"""The engines that a page may choose."""

from __future__ import annotations

import threading
from typing import Any, get_args

from sojourn import engines
from sojourn.engines import EngineError


class Offered:
    """Which engines can run here; asked once, since a kernel may take a while to answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[dict[str, Any]] | None = None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each engine, with the reason where it cannot run."""
        with self._lock:
            if self._rows is None:
                self._rows = [_row(name) for name in get_args(engines.Name)]
            return self._rows


def _row(name: engines.Name) -> dict[str, Any]:
    try:
        engine = engines.named(name)
    except EngineError as error:
        return {"name": name, "available": False, "reason": str(error)}
    facts = {"version": engine.version, "repeats": engine.repeats, "real_time": engine.is_real_time}
    return {"name": name, "available": True, "reason": "", **facts}
