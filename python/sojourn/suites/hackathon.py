"""IETF-106 hackathon deck of the SCE team (November 2019): what its slides measured or set out to measure.

The deck gives results in prose and no configuration. Rates, RTTs and impairments here are those of the
suites before and after it (bakeoff, ect1), the controllers those of the bakeoff a week earlier. Times
are Flent's: the first flow starts at 5 s, a second one at 15 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sojourn.scenario import to_toml
from sojourn.suites import Case
from sojourn.suites.bakeoff import NETPERF_CONTROL_RTTS, RENO_SCE, START_JITTER
from sojourn.suites.ect1 import WIFI_SLOTS

#: What `cases` takes.
VARIANTS = {"deck": "the only one"}

LENGTH_S = 60
FIRST_START_S = 5
SECOND_START_S = 15
SETTLE_S = 10

#: SCE by a ramp over the delay, and by a second CoDel (COBALT2).
RAMP = "cake bandwidth 50Mbit sce flowblind besteffort"
COBALT2 = "cnq_cobalt bandwidth 50Mbit sce-thresh 4 law 2019"
BURSTY = {"slot": WIFI_SLOTS, "jitter": "netem delay 10ms 5ms 10%"}
# Name, queue, whether it needs a shaper.
COMPETITION = (
    ("sce-1q", RAMP, False),
    ("rfc3168-1q", "fq_codel flows 1", True),
    ("fq", "cake bandwidth 50Mbit sce flows besteffort", False),
    ("cnq", COBALT2, False),
)
UPLOADS = 50


def cases(_variant: str = "deck") -> list[Case]:
    """All runs; there is one variant."""
    return [*_bursty(), *_competition(), _rrul(), *_one_against_fifty()]


def _bursty() -> Iterator[Case]:
    for marker, qdisc in (("ramp", RAMP), ("cobalt2", COBALT2)):
        for path, netem in BURSTY.items():
            yield _case(
                f"bursty-link/{marker}/{path}/80ms",
                f"One Reno-SCE flow, 50 Mbit/s, 80 ms, behind netem's {path} mode, SCE by {marker}",
                "What does a bursty link leave of a flow whose SCE marks come from a ramp, or from CoDel?",
                [_link(qdisc, 80, impairment=netem)],
                [_flow("reno-sce", RENO_SCE)],
            )


def _competition() -> Iterator[Case]:
    for name, qdisc, shaped in COMPETITION:
        yield _case(
            f"competition/cubic-vs-reno-sce/{name}/10ms",
            f"CUBIC, then Reno-SCE beside it, 50 Mbit/s, 10 ms, {name}",
            "Does an SCE flow give way to one without SCE?",
            [_link(qdisc, 10, rate="50Mbit" if shaped else None)],
            [_flow("cubic", "cubic"), _flow("reno-sce", RENO_SCE, SECOND_START_S)],
        )


def _rrul() -> Case:
    link = _link("lfq_cobalt bandwidth 10Mbit", 20)
    link["reverse"] = {"qdisc": "lfq_cobalt bandwidth 1Mbit"}
    return _case(
        "asymmetric/rrul_be/lfq_cobalt/20ms",
        "Four CUBIC-SCE flows each way, 10 Mbit/s down, 1 up, 20 ms, lfq_cobalt",
        "What do ten times as much capacity one way as the other and flows in both cost?",
        [link],
        [{"name": "be", "cc": "cubic-sce", "app": "rrul_be", "start": f"{FIRST_START_S}s", "stop": f"{_END_S}s"}],
        era="2020",
    )


def _one_against_fifty() -> Iterator[Case]:
    for name, forward, reverse, rate in (
        ("fq_codel", "fq_codel", "fq_codel", ("50Mbit", "5Mbit")),
        ("lfq_cobalt", "lfq_cobalt bandwidth 50Mbit", "lfq_cobalt bandwidth 5Mbit", None),
        ("cnq_cobalt", "cnq_cobalt bandwidth 50Mbit", "cnq_cobalt bandwidth 5Mbit", None),
    ):
        link = _link(forward, 20, rate=rate[0] if rate else None)
        link["reverse"] = {"qdisc": reverse, **({"rate": rate[1]} if rate else {})}
        yield _case(
            f"asymmetric/1-vs-{UPLOADS}/{name}/20ms",
            f"One flow down 50 Mbit/s, {UPLOADS} up 5 Mbit/s, 20 ms, {name}",
            "Does the ACK stream of one fast flow get through among many bulk flows?",
            [link],
            [
                _flow("down", RENO_SCE),
                {**_flow("up", RENO_SCE), "direction": "up", "flows": UPLOADS},
            ],
        )


_END_S = FIRST_START_S + LENGTH_S


def _link(qdisc: str, rtt: int, *, rate: str | None = None, impairment: str | None = None) -> dict[str, object]:
    ingress = [f"netem delay {rtt // 2}ms limit 1000000", *([impairment] if impairment else [])]
    shaped = {"rate": rate, "shaper": "htb"} if rate else {}
    return {"name": "bneck", **shaped, "qdisc": qdisc, "ingress": ingress}


def _flow(name: str, cc: str, start: int = FIRST_START_S) -> dict[str, object]:
    return {
        "name": name,
        "cc": cc,
        "start": f"{start}s",
        "start_jitter": START_JITTER,
        "control_rtts": NETPERF_CONTROL_RTTS,
        "stop": f"{_END_S}s",
    }


def _case(
    label: str,
    about: str,
    question: str,
    links: Sequence[Mapping[str, object]],
    flows: Sequence[Mapping[str, object]],
    era: str = "2019",
) -> Case:
    last = SECOND_START_S if any(flow["start"] == f"{SECOND_START_S}s" for flow in flows) else FIRST_START_S
    document = {
        "name": (name := f"hackathon/{label}"),
        "description": about,
        "duration": f"{LENGTH_S + 10}s",
        "seed": 1,
        "measure": {"from": f"{last + SETTLE_S}s", "to": f"{_END_S - 1}s"},
        "tcp": {"era": era, "ecn": "sce"},
        "link": list(links),
        "flow": list(flows),
        "ping": [{"name": "ping", "interval": "200ms"}],
    }
    return Case(name, about, question, LENGTH_S + 10, to_toml(document), None)
