"""The queues of a device, from the JSON of `tc -s -j qdisc show dev X` and the text of `tc class show dev X`.

tc prints classes of htb as JSON in newer versions only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sojourn import _core
from sojourn.doctor.numbers import number

#: Disciplines that drop or mark before they are full.
AQM = frozenset({"red", "gred", "choke", "sfb", "codel", "fq_codel", "pie", "fq_pie", "cake", "cake_mq", "dualpi2"})
FIFO = frozenset({"pfifo", "bfifo", "pfifo_fast"})
#: Disciplines that hold a rate of their own.
SHAPING = frozenset({"htb", "hfsc", "tbf", "cake", "cake_mq", "netem"})
#: Above these nothing else is.
DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Queue:
    """One discipline with its counters."""

    kind: str
    handle: str
    options: dict[str, Any]
    counters: dict[str, Any]
    above: Queue | None = None
    rate_bps: float | None = None
    """What it, or the class that it is in, may send; None without a bound."""
    burst_bytes: float | None = None
    """What may leave at once at that rate."""
    below: list[Queue] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Kind and handle, as tc prints them."""
        return f"{self.kind} {self.handle}"

    def count(self, *names: str) -> int:
        """The sum of those of these counters that it has."""
        return sum(round(number(self.counters.get(name)) or 0) for name in names)

    def has(self, name: str) -> bool:
        """Whether it counts this."""
        return number(self.counters.get(name)) is not None

    def option(self, name: str) -> float | None:
        """A number of the options; None if it is absent, or none."""
        return number(self.options.get(name))

    def ancestors(self) -> Iterator[Queue]:
        """Those that it is in, the nearest first."""
        queue = self.above
        while queue is not None:
            yield queue
            queue = queue.above

    @property
    def marks(self) -> int:
        """CE marks, by the names that the disciplines have for them; cake counts them by tin."""
        tins = self.counters.get("tins")
        of_tins = [tin.get("ecn_mark") for tin in tins if isinstance(tin, dict)] if isinstance(tins, list) else []
        own = self.count("ecn_mark", "ecn-mark", "step-mark", "marked", "ce_mark")
        return own + sum(round(number(mark) or 0) for mark in of_tins)

    @property
    def shaper(self) -> Queue | None:
        """What bounds the rate at which it is served: itself or one above it."""
        return next((queue for queue in (self, *self.ancestors()) if queue.rate_bps), None)


def read(qdiscs: Any, classes: str) -> list[Queue]:
    """The queues of one device, those above before those below; what is of another form is left out."""
    rows = {row["handle"]: row for row in _rows(qdiscs) if row.get("kind") != "noqueue"}
    shaped = dict(_classes(classes))
    made: dict[str, Queue] = {}

    def make(handle: str, depth: int = 0) -> Queue | None:
        row = rows.get(handle)
        if row is None or depth > DEEPEST:
            return None
        if handle not in made:
            major = str(row.get("parent", "")).partition(":")[0]
            above = make(f"{major}:", depth + 1) if major and f"{major}:" != handle else None
            options = row.get("options")
            rate, burst = _rate(row)
            if rate is None:
                rate, burst = shaped.get(str(row.get("parent")), (None, None))
            queue = Queue(
                str(row["kind"]), handle, options if isinstance(options, dict) else {}, row, above, rate, burst
            )
            made[handle] = queue
            if above is not None:
                above.below.append(queue)
        return made[handle]

    for handle in rows:
        make(handle)
    return sorted(made.values(), key=lambda queue: len(list(queue.ancestors())))


def _rows(document: Any) -> list[dict[str, Any]]:
    rows = document if isinstance(document, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("handle"), str)]


def _rate(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """bit/s, and bytes of its burst, of a discipline that has a rate; tc's JSON has bytes/s."""
    options = row.get("options")
    own = options if isinstance(options, dict) else {}
    rate = own.get("bandwidth") if row.get("kind") in ("cake", "cake_mq") else own.get("rate")
    rate = number(rate.get("rate") if isinstance(rate, dict) else rate)
    return (rate * 8 if rate else None), number(own.get("burst"))


def _classes(text: str) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
    """Each class of htb, what it may send in bit/s, and how many bytes at once."""
    form = r"^class htb (\S+) .*\brate (\S+) ceil (\S+) (?:linklayer \S+ )?burst (\S+) cburst (\S+)"
    for handle, rate, ceil, burst, cburst in re.findall(form, text, re.MULTILINE):
        # Both buckets have to have tokens, that of the rate unless the class borrows: htb_class_mode.
        sizes = [_core.size_bytes(size.partition("/")[0]) for size in (burst, cburst)]
        known = [size for size in sizes if size is not None]
        at_once = min(known, default=None) if rate == ceil else sizes[1]
        yield handle, (_core.rate_bps(ceil), at_once)
