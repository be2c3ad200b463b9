"""What a run was made under, and its role beside others: facts of its results, not of its name.

`summary.json` has the conditions, which the engine takes from topology and schedule; the manifest has the role, which
a suite gives its runs. A measurement has those of the run of a suite that it is of.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import _core, suites
from sojourn.scenario import toml
from sojourn.suites import Role

if TYPE_CHECKING:
    from sojourn.metrics import Source, Window

#: Payload over wire bytes of a full segment: MSS 1448 (timestamps) in a 1514-byte frame.
PAYLOAD_SHARE = 1448 / 1514


@dataclass(frozen=True)
class Conditions:
    """What topology and schedule make of a run's path; empty where nothing says."""

    capacity: tuple[tuple[float, float | None], ...] = ()
    """From each instant (s) on, what the way of the data carries, Mbit/s; None where nothing bounds it."""
    base_rtts_ms: tuple[float, ...] = ()
    """RTT of the empty path at the start: the least and the greatest of the flows', or one."""
    bottlenecks: tuple[str, ...] = ()
    """Queues whose rate is the least on the way of some flow's data, at some time."""
    queue_shapes: bool = False
    """Whether a queue holds a rate below its link's, so that the link's counters do not show what it allows."""

    queues: tuple[str, ...] = ()
    """Forward queues on the way that somebody configured, as `htb(50Mbit)+dualpi2`; of several paths one text."""

    @classmethod
    def read(cls, document: Any) -> Conditions:
        """`conditions` of a summary; empty where it came from elsewhere and is of another kind."""
        try:
            rtt, steps = document["base_rtt_ms"], ((step["from_s"], step["mbps"]) for step in document["capacity"])
            return cls(
                tuple((float(at), None if rate is None else float(rate)) for at, rate in steps),
                tuple(dict.fromkeys((float(rtt["least"]), float(rtt["greatest"])))),
                tuple(map(str, document["bottlenecks"])),
                bool(document["queue_shapes"]),
                tuple(map(str, document.get("queues", ()))),
            )
        except (KeyError, TypeError, ValueError):
            return cls()

    @property
    def rate_mbps(self) -> float | None:
        """The bottleneck's rate at the start."""
        return self.capacity[0][1] if self.capacity else None

    @property
    def rates_mbps(self) -> tuple[float, ...]:
        """The least and the greatest of the bottleneck's rates during the run, or one."""
        found = [rate for _, rate in self.capacity if rate is not None]
        return tuple(dict.fromkeys((min(found), max(found)))) if found else ()

    def mean_mbps(self, window: Window) -> float | None:
        """Mean of the capacity over a window; None where some time has no bound."""
        carried = 0.0
        for (start, rate), (end, _) in itertools.pairwise([*self.capacity, (window[1], None)]):
            over = min(end, window[1]) - max(start, window[0])
            if over > 0:
                if rate is None:
                    return None
                carried += rate * over
        return carried / (window[1] - window[0]) if self.capacity else None


def of(source: Source) -> Conditions:
    """Of a run with results, or of the case that a measurement is of."""
    stated = getattr(_origin(source), "conditions", None)
    return stated if isinstance(stated, Conditions) else of_scenario(_scenario(source))


def of_scenario(text: str) -> Conditions:
    """Of a scenario that need not have been run; empty if it is none."""
    try:
        return Conditions.read(json.loads(_core.conditions(text)))
    except _core.ScenarioError:
        return Conditions()


def role(source: Source) -> Role:
    """The role of a run; where results or a measurement do not state it, that of the suite's run."""
    stated = getattr(_origin(source), "role", None)
    if isinstance(stated, Role) and stated.section:
        return stated
    case = suites.find(source.id)
    return case.role if case else Role()


def document(source: Source) -> dict[str, Any]:
    """The scenario of a run with results, or of the case that a measurement is of; empty if there is none to read."""
    try:
        return toml(_scenario(source))
    except (ValueError, RecursionError):
        return {}


def ceiling_mbps(source: Source) -> float | None:
    """What TCP can deliver over the bottleneck's rate at the start."""
    rate = of(source).rate_mbps
    return None if rate is None else rate * PAYLOAD_SHARE


def _origin(source: Source) -> Source:
    """The run with results, or whatever else, that a source was read from."""
    found: Source = getattr(source, "origin", source)
    return found


def _scenario(source: Source) -> str:
    """The scenario of a run with results, or of the case that a measurement is of; empty if there is none to read."""
    from sojourn.metrics import finished  # arrays, which conditions alone do not need

    if run := finished(source):
        try:
            return run.scenario
        except ValueError:
            return ""
    case = suites.find(source.id)
    return case.toml if case else ""
