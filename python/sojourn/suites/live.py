"""live: CUBIC over five queues that every engine can carry, and three controllers on our end points.

The path is that of `linux72`: 50 Mbit/s of htb with the queue as its leaf, 20 ms of netem on the way back, 30 s. CUBIC
has the ECN of RFC 3168; of its queues `pfifo` and `codel` drop, and the others mark. The three are Prague, Reno-SCE and
CUBIC-SCE, each over a queue that marks for it: they need the engines `sim`, `live` or `linux:sojourn`.
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
#: Controller, our name of the queue, the queue, ECN.
OWN = (
    ("prague", "dualpi2", "dualpi2", "accecn"),
    ("reno-sce", "cake1q-sce", "cake besteffort flowblind unlimited sce", "sce"),
    ("cubic-sce", "cake1q-sce", "cake besteffort flowblind unlimited sce", "sce"),
)


def cases(_variant: str = "queues") -> list[Case]:
    """All runs; there is one variant."""
    question = "Does a real kernel's CUBIC do over our queue what the simulator's does?"
    of_kernel = [
        case("live", name, qdisc, ("cubic",), rate=50, rtt=20, ecn="rfc3168", question=question)
        for name, qdisc in QUEUES.items()
    ]
    question = "Do our end points do with real packets what they do in the simulator?"
    own = [
        case("live", name, qdisc, (cc,), rate=50, rtt=20, ecn=ecn, question=question) for cc, name, qdisc, ecn in OWN
    ]
    # Nobody has measured these.
    return [replace(one, reference=None) for one in (*of_kernel, *own)]
