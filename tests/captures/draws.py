"""What each capture of a corpus is: drawn from seed and index, so that a case is the same whoever makes it.

Even indexes are for development, odd ones are held back. Of each half, every second case is the kernel's and every
second the simulator's. The true family is that of the algorithm, not of what the capture happens to show.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

# Of the corpus that the tests were written with, and whose other half was looked at once.
SEED = 16
COUNT = 200
MTU = 1500

# Half of the queues that may mark do not, but for those that always do.
QUEUES = ("pfifo", "pfifo", "codel", "fq_codel", "pie", "red", "dualpi2", "cake")
# Those that mark SCE whatever the DSCP.
SCE_QUEUES = ("deltic", "fq_codel sce_threshold 1ms", "twin_codel_af", "cake besteffort sce")
# Controllers, with the relative frequency of each.
KERNEL_CC = {"reno": 3, "cubic": 5, "dctcp": 7, "bbr": 5, "vegas": 1, "illinois": 0.5, "westwood": 0.5, "udp": 1}
SIM_CC = {
    "reno": 2,
    "cubic": 3,
    "dctcp": 2,
    "prague": 5,
    "bbr version v1": 1,
    "bbr version v3": 2,
    "reno-sce": 2,
    "cubic-sce": 2,
    "dctcp-sce": 1,
    "vegas": 0.5,
    "scalable": 0.5,
    "fixed": 1.5,
    "udp": 1,
}


@dataclass(frozen=True)
class Flow:
    """A bulk flow and what it is."""

    cc: str
    # `off`, `rfc3168`, `accecn` or `sce`; of UDP `off`, `ect0` or `ect1`.
    ecn: str
    start_s: int
    # Of UDP the rate, of `fixed` the window in packets.
    size: int
    family: str


@dataclass(frozen=True)
class Case:
    """One capture."""

    seed: int
    index: int
    engine: str
    rate_kbps: int
    rtt_ms: float
    qdisc: str
    # `none`, `ce` or `sce` (which marks CE too).
    marks: str
    loss: float
    point: str
    snap: int
    duration_s: int
    offload: bool
    flows: list[Flow] = field(default_factory=list)

    @property
    def held_back(self) -> bool:
        return self.index % 2 == 1


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def pick(rng: random.Random, weights: dict[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def family(cc: str, ecn: str, marks: str) -> str:
    """What a flow does here: without marks, DCTCP and Prague are Reno (RFC 8257 3.5, RFC 9331 4.3)."""
    name = cc.split()[0]
    if name in ("udp", "fixed"):
        return "unresponsive"
    if name == "bbr":
        return "bbr-like"
    if name.endswith("-sce"):
        return "sce" if marks == "sce" else "classic"
    if name in ("dctcp", "prague"):
        return "scalable" if ecn != "off" and marks != "none" else "classic"
    return "classic"


def red(rate_kbps: int) -> str:
    """RED with a minimum of 5 ms, and three and twelve times that as maximum and limit."""
    low = max(round(rate_kbps / 8 * 5), 3 * MTU)
    burst = math.ceil((2 * low + 3 * low) / (3 * 1000))
    sizes = f"limit {low * 12} min {low} max {low * 3} avpkt 1000 burst {burst}"
    return f"red {sizes} bandwidth {rate_kbps}kbit probability 0.1"


def queue(rng: random.Random, rate_kbps: int, bdp: float, *, marks: bool) -> tuple[str, str]:
    """A discipline in tc's words, and what it marks; `marks` has it mark for certain."""
    kind = rng.choice(QUEUES[2:] if marks else QUEUES)
    marks = marks or rng.random() < 0.75
    if kind == "pfifo":
        return f"pfifo limit {max(10, round(bdp * log_uniform(rng, 0.25, 4)))}", "none"
    if kind == "dualpi2":
        return "dualpi2", "ce"
    if kind == "cake":
        return "cake besteffort", "ce"
    off = "noecn" if kind in ("codel", "fq_codel") else ""
    text = red(rate_kbps) if kind == "red" else kind
    return f"{text} {'ecn' if marks else off}".strip(), "ce" if marks else "none"


def feedback(rng: random.Random, cc: str, host: str) -> str:
    if cc == "udp":
        return rng.choice(["off", "ect0", "ect1"])
    if host:
        return host
    if cc == "prague":
        return "accecn"
    if cc.endswith("-sce"):
        return "sce"
    return rng.choice(["rfc3168", "accecn"] if cc == "dctcp" else ["off", "rfc3168", "rfc3168", "accecn"])


def draw(index: int, seed: int = SEED) -> Case:
    """The case with this index."""
    rng = random.Random(f"{seed}/{index}")  # noqa: S311
    engine = "linux" if index // 2 % 2 else "sim"
    rate, rtt = round(log_uniform(rng, 1000, 200_000)), round(log_uniform(rng, 5, 160), 2)
    bdp = rate / 8 * rtt / MTU
    duration = rng.randint(10, 30)
    controllers = KERNEL_CC if engine == "linux" else SIM_CC
    host = rng.choice(["off", "rfc3168", "rfc3168", "accecn", "accecn", "accecn"]) if engine == "linux" else ""
    starts = [0] + ([rng.randint(2, duration // 2)] if rng.random() < 0.35 else [])
    drawn = []
    for start in starts:
        cc = pick(rng, controllers)
        size = round(rate * rng.uniform(0.3, 1.3)) if cc == "udp" else max(4, round(bdp * log_uniform(rng, 0.5, 4)))
        drawn.append((cc, feedback(rng, cc, host), start, size))
    # What answers marks in proportion mostly meets them: elsewhere it is Reno.
    wants_marks = drawn[0][0] in ("dctcp", "prague") and rng.random() < 0.8
    qdisc, marks = queue(rng, rate, bdp, marks=wants_marks)
    if any(ecn == "sce" for _, ecn, _, _ in drawn):
        qdisc, marks = rng.choice(SCE_QUEUES), "sce"
    return Case(
        seed=seed,
        index=index,
        engine=engine,
        rate_kbps=rate,
        rtt_ms=rtt,
        qdisc=qdisc,
        marks=marks,
        loss=round(log_uniform(rng, 1e-5, 5e-3), 6) if rng.random() < 0.25 else 0.0,
        point=rng.choice(["sender", "sender", "receiver", "behind"]),
        snap=rng.randint(96, 128),
        duration_s=duration,
        offload=engine == "linux" and rng.random() < 0.15,
        flows=[Flow(*flow, family(flow[0], flow[1], marks)) for flow in drawn],
    )


def cases(seed: int = SEED) -> list[Case]:
    """All of a corpus. Of later seeds only what is held back is of use."""
    every = [draw(index, seed) for index in range(COUNT)]
    return every if seed == SEED else [case for case in every if case.held_back]
