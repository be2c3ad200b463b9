"""The headings of RFC 9743 (BCP 133), which obsoletes RFC 5033: which runs answer each, and by which numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from sojourn import path
from sojourn.report.evidence import REAL_TIME, SHORT, Evidence, Facts
from sojourn.report.model import number

FIFOS = ("pfifo", "pfifo_fast", "bfifo", "pfifo_head_drop")
#: Queues at bottlenecks today, none of it made for L4S or SCE.
DEPLOYED = (*FIFOS, "red", "pie", "codel", "fq_codel", "fq_pie", "cake")
HIGH_FIDELITY = re.compile(r"\b(sce|sce-thresh|ce_threshold)\b")
#: Share of data lost, %, from which on a run says something of extreme congestion.
EXTREME_DROPS = 10.0
HIGH_RTT_MS, DATA_CENTRE_RTT_MS, CONSTRAINED_MBPS = 500.0, 2.0, 1.0


@dataclass(frozen=True)
class Measure:
    """A number of a run."""

    name: str
    unit: str
    of: Callable[[Evidence], float | None]
    worst: Callable[[Iterable[float]], float] = max

    def sentence(self, runs: Sequence[Evidence]) -> str:
        """The median over the runs and the worst, in a sentence."""
        found = [(value, run.facts.id) for run in runs if (value := self.of(run)) is not None]
        if not found:
            return f"{self.name}: no run has it."
        worst = self.worst(value for value, _ in found)
        where = next(run_id for value, run_id in found if value == worst)
        if len(found) == 1:
            return f"{self.name}: {number(worst)}{self.unit} ({where})."
        middle, most = (f"{number(value)}{self.unit}" for value in (median(value for value, _ in found), worst))
        return f"{self.name}: {middle} in the median of {len(found)}, at worst {most} ({where})."


USED = Measure("Used of the busiest link", " %", lambda run: run.used, min)
QUEUE = Measure("Time in the queue, p99", " ms", lambda run: run.queue_p99_ms)
DROPPED = Measure("Packets dropped by the queue that drops most, ACKs included", " %", lambda run: run.dropped)
RETRANSMITTED = Measure("Segments sent again", " %", lambda run: run.retransmitted)
TIMEOUTS = Measure("Timeouts", "", lambda run: run.timeouts)
JAIN = Measure("Jain's index of its flows", "", lambda run: run.jain, min)
CONVERGES = Measure("Until its flows are within 20 % of their mean", " s", lambda run: run.converges_s)
LEFT = Measure("Least competing flow, of an equal share", " %", lambda run: run.left_to_others, min)
SLOWDOWN = Measure("Slowdown of short transfers, p95", "", lambda run: run.slowdown)
MEDIA = Measure("Delay of real-time frames or packets, p95", " ms", lambda run: run.media_p95_ms)


@dataclass(frozen=True)
class Criterion:
    """A heading of the RFC."""

    number: str
    heading: str
    asks: str
    answers: Callable[[Facts], bool] | None = None
    measures: tuple[Measure, ...] = ()
    note: str = ""
    """What the runs leave open, or why there are none."""
    also: Callable[[Evidence], bool] | None = None
    """Runs that answer by what became of them."""
    each: Callable[[Facts], str] | None = None
    """What distinguishes runs: the worst of each kind is shown."""

    def met(self, run: Evidence) -> bool:
        """Whether a run answers it."""
        return self.covers(run.facts) or (self.also is not None and self.also(run))

    def covers(self, facts: Facts) -> bool:
        """Whether a scenario answers it."""
        return self.answers is not None and self.answers(facts)


#: Sections 5 to 7 of RFC 9743, in its order.
CRITERIA = (
    Criterion(
        "5.1.1",
        "Protection Against Congestion Collapse",
        "Does it stop, or back off fully, when nearly everything is lost?",
        lambda f: f.alone and f.loses(EXTREME_DROPS),
        (RETRANSMITTED, TIMEOUTS, USED),
        "A path that stays extremely congested, and the loss of all feedback, are in no suite.",
        also=lambda run: run.facts.alone and (run.retransmitted or 0) >= EXTREME_DROPS,
    ),
    Criterion(
        "5.1.2",
        "Protection Against Bufferbloat",
        "How long is the queue that it keeps in a FIFO?",
        lambda f: f.alone and f.queue in FIFOS,
        (QUEUE, USED),
    ),
    Criterion(
        "5.1.3",
        "Protection Against High Packet Loss",
        "How much loss does it cause where the path itself loses nothing?",
        lambda f: f.alone and not f.met("loss|drop|police"),
        (RETRANSMITTED, DROPPED),
    ),
    Criterion(
        "5.1.4",
        "Fairness Within the Proposed Congestion Control Algorithm",
        "How do its flows share a link?",
        lambda f: f.alone and f.several,
        (JAIN, CONVERGES),
    ),
    Criterion(
        "5.1.5",
        "Short Flows",
        "What do its new and short flows do to its long ones, and the other way round?",
        lambda f: f.alone and f.has(SHORT),
        (SLOWDOWN, QUEUE),
    ),
    Criterion(
        "5.2.1",
        "Existing General-Purpose Congestion Control",
        "What is left to CUBIC, Reno and BBR beside it?",
        lambda f: f.competes,
        (LEFT, DROPPED, QUEUE),
        "Shares are of goodput. Harm needs a run of the others alone (sojourn.metrics.harm).",
        each=lambda f: f.discipline,
    ),
    Criterion(
        "5.2.2",
        "Real-Time Congestion Control",
        "What do calls and media have beside it?",
        lambda f: f.has(REAL_TIME, mine=False),
        (MEDIA, USED),
    ),
    Criterion(
        "5.2.3",
        "Short and Long Flows",
        "What do short flows of other controllers have beside it, and its own beside theirs?",
        lambda f: f.has(SHORT, mine=False) or (f.has(SHORT, mine=True) and f.competes),
        (SLOWDOWN, LEFT),
    ),
    Criterion(
        "5.3.1",
        "Differences with Congestion Control Principles",
        "Where does it depart from RFC 2914 and RFC 7141?",
        note="No run can: that is for its specification to say. Its page in docs/algorithms names references and "
        "deviations.",
    ),
    Criterion(
        "5.3.2",
        "Incremental Deployment",
        "Does it work over the queues of today, and where the path rewrites its codepoint?",
        lambda f: f.met("mangle") or (f.queue in DEPLOYED and not HIGH_FIDELITY.search(f.path.queues)),
        (USED, LEFT, QUEUE),
        "Proxies, WAN optimizers and intrusion detection are not simulated.",
        each=lambda f: f"{f.discipline}{', mangled' if f.met('mangle') else ''}",
    ),
    Criterion(
        "6.1",
        "Paths with Tail-Drop Queues",
        "What does it do to a FIFO, alone and beside others?",
        lambda f: f.queue in FIFOS,
        (QUEUE, USED, LEFT),
    ),
    Criterion(
        "6.2",
        "Tunnel Behavior",
        "What becomes of its signals in a tunnel?",
        lambda f: bool(f.document.get("tunnel")),
        (USED, QUEUE),
        "A scenario of your own can have a tunnel (docs/guide/scenario.md).",
    ),
    Criterion(
        "6.3",
        "Wired Paths",
        "Does it fill a steady link, and at what delay?",
        lambda f: f.alone and f.steady,
        (USED, QUEUE),
    ),
    Criterion(
        "6.4",
        "Wireless Paths",
        "What do loss, bursts and jitter that are no congestion cost it?",
        lambda f: f.jitters or f.met("loss"),
        (USED, QUEUE),
    ),
    Criterion(
        "7.1",
        "Active Queue Management (AQM)",
        "What does it do over each queue discipline?",
        lambda f: f.queue not in FIFOS and f.steady,
        (USED, QUEUE, LEFT),
        each=lambda f: f.discipline,
    ),
    Criterion(
        "7.2",
        "Operation with the Envelope Set by Network Circuit Breakers",
        "Does it stay below what a circuit breaker ends?",
        note="No circuit breaker (RFC 8083, RFC 8084) is simulated.",
    ),
    Criterion(
        "7.3",
        "Paths with Varying Delay",
        "Is it robust where the least delay changes?",
        lambda f: f.jitters or "delay" in f.changed,
        (USED, QUEUE),
    ),
    Criterion(
        "7.4",
        "Internet of Things and Constrained Nodes",
        "Does it work at very low rates?",
        lambda f: any(rate <= CONSTRAINED_MBPS for rate in f.path.rates_mbps),
        (USED, QUEUE),
        "Power, processors and the number of control packets are not simulated.",
    ),
    Criterion(
        "7.5",
        "Paths with High Delay",
        "Does it fill a path with the delay of a satellite?",
        lambda f: max(f.path.rtts_ms, default=0) >= HIGH_RTT_MS,
        (USED, QUEUE),
    ),
    Criterion(
        "7.6",
        "Misbehaving Nodes",
        "What becomes of it and its neighbours where a node rewrites codepoints?",
        lambda f: f.met("mangle"),
        (LEFT, USED),
        "Receivers that hide marks, and attackers, are in no suite.",
    ),
    Criterion(
        "7.7",
        "Extreme Packet Reordering",
        "What does reordering cost it?",
        lambda f: f.met("reorder(?! 100%)"),
        (USED, RETRANSMITTED),
    ),
    Criterion(
        "7.8",
        "Transient Events",
        "What do sudden changes of the rate cost?",
        lambda f: bool(f.changed & {"rate", "qdisc"}),
        (USED, QUEUE, DROPPED),
        "Disconnections and mobility are in no suite.",
    ),
    Criterion(
        "7.9",
        "Sudden Changes in the Path",
        "Does it follow when the path's delay or its bottleneck becomes another?",
        lambda f: "delay" in f.changed or (bool(f.changed) and path.NEXT in f.path.queues),
        (USED, QUEUE),
    ),
    Criterion(
        "7.10",
        "Multipath Transport",
        "What does it do over several paths at once?",
        lambda f: f.met("reorder 100% gap"),
        (USED, RETRANSMITTED),
        "These are packets in turn over two paths; there is no multipath transport.",
    ),
    Criterion(
        "7.11",
        "Data Centers",
        "Does it work at RTTs below 2 ms?",
        lambda f: bool(f.path.rtts_ms) and max(f.path.rtts_ms) < DATA_CENTRE_RTT_MS,
        (USED, QUEUE),
        "Many senders that end a task at once (incast) are in no suite.",
    ),
)
