"""sce-l4s-ect1, the L4S half: Prague alone, and Prague joining CUBIC, on a 50 Mbit/s dumbbell.

The testbed was one Linux host: htb and the queue under test on both sides of the middle
namespace, half of the RTT as netem on each ingress, AccECN on both ends. Times are Flent's: the
run starts at 0, the first flow at 5 s, the second one 10 s later, both end LENGTH after the first
one's start, and the ping runs from the first to the last second.
"""

from __future__ import annotations

from sojourn.scenario import to_toml
from sojourn.suites import Case

RTTS_MS = (20, 80, 160)
MEASURED_RTTS_MS = (20, 80)
ONE_FLOW_RATES_MBIT = (5, 50, 250)
ONE_FLOW_LENGTH_S = {20: 30, 80: 60, 160: 150}
TWO_FLOWS_LENGTH_S = {20: 40, 80: 60, 160: 180}
# Our name, tc's arguments, the name in the published files.
QUEUES = (
    ("dualpi2", "dualpi2 version 2020", "dualpi2"),
    ("pfifo-1000", "pfifo limit 1000", "pfifo_1000_"),
    ("pfifo-50", "pfifo limit 50", "pfifo_50_"),
    ("codel1q", "fq_codel flows 1 ecn", "codel1q"),
    ("codel1q-40ms", "fq_codel flows 1 target 3ms interval 40ms ecn", "codel1q_40ms_"),
    ("codel1q-20ms", "fq_codel flows 1 target 1ms interval 20ms ecn", "codel1q_20ms_"),
)
FIRST_START_S = 5
SECOND_START_S = 15
SETTLE_S = 10
# The captures of the published runs show each netperf starting within 20 ms of its time, and its
# data connection opening two round trips after its control connection.
START_JITTER = "20ms"
NETPERF_CONTROL_RTTS = 2


def cases(variant: str = "p2b") -> list[Case]:
    """The 27 runs; `variant` p2b is the kernel of the published rerun, p2a the one before it."""
    return [*_one_flow(variant), *_two_flows(variant)]


def _one_flow(variant: str) -> list[Case]:
    return [
        Case(
            id=(name := f"ect1/l4s-s1-oneflow/prague/dualpi2/{rate}Mbit/{rtt}ms"),
            description=(about := f"One Prague flow over dualpi2, {rate} Mbit/s, {rtt} ms"),
            question="Does Prague alone fill a DualPI2 bottleneck, and how deep is its queue?",
            duration_s=(length := ONE_FLOW_LENGTH_S[rtt]) + 10,
            toml=_document(
                name,
                about,
                length,
                rate,
                rtt,
                QUEUES[0][1],
                {"prague": f"prague version {variant}"},
            ),
            reference=_stem(f"s1-oneflow-ns-prague-dualpi2-{rate}Mbit", rtt),
        )
        for rate in ONE_FLOW_RATES_MBIT
        for rtt in RTTS_MS
    ]


def _two_flows(variant: str) -> list[Case]:
    return [
        Case(
            id=(name := f"ect1/l4s-s2-twoflow/cubic-vs-prague/{queue}/{rtt}ms"),
            description=(about := f"CUBIC, then Prague beside it, over {queue}, 50 Mbit/s, {rtt} ms"),
            question=f"How do CUBIC and Prague share one {queue} queue?",
            duration_s=(length := TWO_FLOWS_LENGTH_S[rtt]) + 10,
            toml=_document(
                name,
                about,
                length,
                50,
                rtt,
                qdisc,
                {"cubic": "cubic", "prague": f"prague version {variant}"},
            ),
            reference=_stem(f"s2-twoflow-ns-cubic-vs-prague-{published}", rtt),
        )
        for queue, qdisc, published in QUEUES
        for rtt in RTTS_MS
    ]


def _document(name: str, about: str, length: int, rate: int, rtt: int, qdisc: str, flows: dict[str, str]) -> str:
    starts = (FIRST_START_S, SECOND_START_S)[: len(flows)]
    return to_toml(
        {
            "name": name,
            "description": about,
            "duration": f"{length + 10}s",
            "seed": 1,
            "measure": {"from": f"{starts[-1] + SETTLE_S}s", "to": f"{length + 4}s"},
            "tcp": {"era": "2020", "ecn": "accecn"},
            "link": [
                {
                    "name": "bneck",
                    "rate": f"{rate}Mbit",
                    "shaper": "htb",
                    "qdisc": qdisc,
                    "ingress": [f"netem delay {rtt // 2}ms limit 1000000"],
                }
            ],
            "flow": [
                {
                    "name": flow,
                    "cc": cc,
                    "start": f"{start}s",
                    "start_jitter": START_JITTER,
                    "control_rtts": NETPERF_CONTROL_RTTS,
                    "stop": f"{FIRST_START_S + length}s",
                    "path": ["bneck"],
                }
                for (flow, cc), start in zip(flows.items(), starts, strict=True)
            ],
            "ping": [{"name": "ping", "interval": "200ms", "path": ["bneck"]}],
        }
    )


def _stem(middle: str, rtt: int) -> str | None:
    return f"l4s-{middle}-{rtt}ms" if rtt in MEASURED_RTTS_MS else None
