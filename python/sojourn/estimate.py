"""How long runs will take, roughly: what they send by what an engine handles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from sojourn.engines import Engine
from sojourn.scenario import Resolved

#: Of a path that names no rate.
UNKNOWN_BPS = 100e6
PACKET_BITS = 12_000
RATE = re.compile(r"(\d+(?:\.\d+)?)([kMGT]?)bit")
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
    links: Any = job.scenario.document().get("link") or []
    return job.duration_s * min([rate for link in links for rate in _rates(link)], default=UNKNOWN_BPS) / PACKET_BITS


def _rates(link: Mapping[str, Any]) -> Iterable[float]:
    """Of the link, and of a queue that shapes."""
    texts = [str(link.get("rate", "")), *re.findall(r"\bbandwidth (\S+)", str(link.get("qdisc", "")))]
    return [float(match[1]) * SCALE[match[2]] for text in texts if (match := RATE.fullmatch(text))]
