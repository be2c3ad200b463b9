"""What happens in a job, in order, so that a page that comes late or again gets all of it."""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from array import array
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sojourn._core import Series

#: Of a job's events; beyond it they have no series, which are in the results once a run is finished.
MOST_BYTES = 256 << 20


class Events:
    """Lines of JSON that are numbered from 0, in a file without a name that is gone with it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._file = tempfile.TemporaryFile(prefix="sojourn-serve-")  # noqa: SIM115 - closed in `close`
        self._lock = threading.Lock()
        self._ends = array("Q")
        self._most_bytes = most_bytes
        self._is_over = False

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, event: str, series: Iterable[Series] = (), **facts: Any) -> None:
        """One more; of the columns of `series` the bytes of their numbers."""
        with self._lock:
            if self._file.closed:
                return
            document: dict[str, Any] = {"n": len(self._ends), "event": event, **facts}
            start = self._ends[-1] if self._ends else 0
            if columns := list(map(column, series)):
                document |= {"series": columns} if start < self._most_bytes else {"left_out": len(columns)}
            line = json.dumps(document, ensure_ascii=False).encode() + b"\n"
            self._file.seek(start)
            self._file.write(line)
            self._ends.append(start + len(line))

    def end(self) -> None:
        """No more will come."""
        self._is_over = True

    def read(self, first: int, most_bytes: int) -> tuple[bytes, int, bool]:
        """Whole lines from number `first` on, the number after them, and whether no more will come."""
        # Looked at before the lines: one that was added in between is read the next time.
        is_over = self._is_over
        with self._lock:
            if self._file.closed or first >= len(self._ends):
                return b"", first, is_over or self._file.closed
            start = self._ends[first - 1] if first else 0
            last = first + 1
            while last < len(self._ends) and self._ends[last] - start <= most_bytes:
                last += 1
            self._file.seek(start)
            return self._file.read(self._ends[last - 1] - start), last, False

    def close(self) -> None:
        """Forgets them."""
        with self._lock:
            self._file.close()


def column(series: Series) -> Mapping[str, str]:
    """Name, unit, times in seconds and values, the numbers as 64-bit floats (little-endian) in base 64."""
    name, unit, t, v = series
    return {"name": name, "unit": unit, "t": _packed(t), "v": _packed(v)}


def _packed(numbers: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode()
