"""live: CUBIC over five queues that every engine can carry, to set engines beside each other.

The path is that of `linux72`: 50 Mbit/s of htb with the queue as its leaf, 20 ms of netem on the way back, 30 s, ECN of
RFC 3168. Of the queues `pfifo` and `codel` drop; the others mark.
"""

from __future__ import annotations

from dataclasses import replace

from sojourn.suites import Case
from sojourn.suites.linux72 import case

VARIANTS = {"queues": "the only one"}

QUEUES = {
    "pfifo250": "pfifo limit 250",
    "codel": "codel",
    "fq_codel": "fq_codel",
    "pie": "pie ecn",
    "dualpi2": "dualpi2",
}


def cases(_variant: str = "queues") -> list[Case]:
    """All runs; there is one variant."""
    question = "Does a real kernel's CUBIC do over our queue what the simulator's does?"
    made = (
        case("live", name, qdisc, ("cubic",), rate=50, rtt=20, ecn="rfc3168", question=question)
        for name, qdisc in QUEUES.items()
    )
    # Nobody has measured these.
    return [replace(one, reference=None) for one in made]
