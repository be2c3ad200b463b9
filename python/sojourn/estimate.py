"""How long runs will take, roughly: what they send by what an engine handles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from sojourn.engines import Engine
from sojourn.scenario import Resolved

#: Of a path that names no rate.
UNKNOWN_BPS = 100e6
PACKET_BITS = 12_000
#: Of a link, and of a queue that shapes, in a resolved scenario.
RATE = re.compile(r"^(?:rate = \"|qdisc = .*\bbandwidth )(\d+(?:\.\d+)?)([kMGT]?)bit\b", re.MULTILINE)
SCALE = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class Job(Protocol):
    """A run to do."""

    @property
    def scenario(self) -> Resolved: ...

    @property
    def duration_s(self) -> float: ...


def wall_s(jobs: Iterable[Job], engine: Engine, cores: int) -> float:
    """Seconds on this many cores, within a factor of three or so."""
    alone = [alone_s(job, engine) for job in jobs]
    return max([sum(alone) / cores, *alone])


def alone_s(job: Job, engine: Engine) -> float:
    """Seconds of one run on a core of its own."""
    least_s = max(engine.least_s, job.duration_s if engine.is_real_time else 0.0)
    return max(least_s, _packets(job) / engine.packets_per_s)


def shown(seconds: float) -> str:
    """A rough time in words."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {max(seconds, 1):.0f} s"


def _packets(job: Job) -> float:
    links = [table for table in job.scenario.text.split("\n[") if table.startswith("[link]]")]
    rates = (float(number) * SCALE[unit] for link in links for number, unit in RATE.findall(link))
    return job.duration_s * min(rates, default=UNKNOWN_BPS) / PACKET_BITS
