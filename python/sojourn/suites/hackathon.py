"""IETF-106 hackathon deck of the SCE team (November 2019): what its slides measured or set out to measure.

The deck gives results in prose and no configuration. Rates, RTTs and impairments here are those of the
suites before and after it (bakeoff, ect1), the controllers those of the bakeoff a week earlier. Times
are Flent's: the first flow starts at 5 s, a second one at 15 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sojourn.scenario import to_toml
from sojourn.suites import Case, role
from sojourn.suites.bakeoff import NETPERF_CONTROL_RTTS, OFFLOADS, RENO_SCE, SCE_TCP, START_JITTER
from sojourn.suites.ect1 import WIFI_SLOTS

#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.hackathon"
#: What `cases` takes.
VARIANTS = {"deck": "the only one"}

LENGTH_S = 60
FIRST_START_S = 5
SECOND_START_S = 15
SETTLE_S = 10

#: SCE on every packet beyond half of CoDel's target, by a ramp from there to the target (what the deck
#: calls RED), and by a second CoDel (COBALT2).
THRESHOLD = "brickwall limit 1000 sce-threshold 2500us"
RAMP = "cake bandwidth 50Mbit sce flowblind besteffort"
COBALT2 = "cnq_cobalt bandwidth 50Mbit sce-thresh 4 law 2019"
CAKE_FLOWS = "cake bandwidth 50Mbit sce flows besteffort"
MARKERS = {"threshold": THRESHOLD, "ramp": RAMP, "cobalt2": COBALT2}
BURSTY = {"slot": WIFI_SLOTS, "jitter": "netem delay 10ms 5ms 10%"}
COMPETITION = {"sce-1q": RAMP, "rfc3168-1q": "fq_codel flows 1", "fq": CAKE_FLOWS, "cnq": COBALT2}
SCE_QUEUES = {name: qdisc for name, qdisc in COMPETITION.items() if name != "rfc3168-1q"}
UPLOADS = 50
#: Name, queue down and up, and the rates of those that do not shape themselves.
ASYMMETRIC = (
    ("fq_codel", "fq_codel", "fq_codel", ("50Mbit", "5Mbit")),
    ("lfq_cobalt", "lfq_cobalt bandwidth 50Mbit", "lfq_cobalt bandwidth 5Mbit", None),
    ("cnq_cobalt", "cnq_cobalt bandwidth 50Mbit", "cnq_cobalt bandwidth 5Mbit", None),
)
PRAGUE = "prague version p1"
ACCECN = {"ecn": "accecn"}
#: The bakeoff's sysctls without anything that paces, with fq, and fq with Linux's own ratios.
PACING: dict[str, dict[str, object]] = {
    "stopped": {},
    "fq": {"pacing": True},
    "fq-default-ratios": {"pacing": True, "pacing_ss_ratio": 200, "pacing_ca_ratio": 120},
}
PACING_RTTS_MS = (10, 80)
#: CNQ before and after the hackathon's splitting of super-packets.
GSO = {"split": "", "whole": " no_split_gso"}
GSO_RATES = ("50Mbit", "10Mbit")
#: fq_codel, with SCE as fq_codel_fast has it, at half of CoDel's target as cake's ramp begins; and that cake.
FQ_CODEL_SCE = {"fq_codel": "fq_codel", "fq_codel-sce": "fq_codel sce_threshold 2500us", "cake-sce": CAKE_FLOWS}
#: Where short flows meet full queues both ways.
ECN_PLUS_PLUS = {"sce-1q": RAMP, "cnq": COBALT2, "fq": FQ_CODEL_SCE["fq_codel-sce"]}
BULK_FLOWS = 8
SHORT = "short load 8Mbit sizes 30kb"

#: Heading and question of each scenario.
SCENARIOS = {
    "bursty-link": (
        "Bursty link on an 80 ms path, by netem's slots or jitter",
        "What does a bursty link leave of a flow whose SCE marks come from a threshold, a ramp, or CoDel?",
    ),
    "competition": (
        "CUBIC, joined by Reno-SCE, over four queues",
        "Does an SCE flow give way to one without SCE?",
    ),
    "accecn": (
        "AccECN and SCE over the same SCE queue: the AE bit is ACE's top bit in one flow and ESCE in the other",
        "What is left for an SCE flow beside flows with AccECN, and for one whose ends use the bit for ACE?",
    ),
    "pacing": (
        "Reno-SCE with pacing, and after pacing has stopped working",
        "What does it look like when the senders no longer pace, and do the ratios 40/100 help to avoid overshoot?",
    ),
    "gso": (
        "CNQ with and without splitting of super-packets",
        "What does a sparse flow wait for, and how do two flows share, when super-packets are queued whole?",
    ),
    "fq-codel-sce": (
        "Reno-SCE over fq_codel, fq_codel with an SCE threshold, and cake",
        "What does fq_codel gain by marking SCE at a threshold?",
    ),
    "ecn-plus-plus": (
        "SCE with ECN-capable control packets (ECN++)",
        "Should SCE adopt ECN++: for SYN/ACKs and retransmissions, and for ACKs?",
    ),
    "asymmetric": (
        "Ten times as much capacity down as up, with flows in both directions",
        "What do flows in both directions cost, and does the ACK stream of one fast flow get through among many?",
    ),
}


def cases(_variant: str = "deck") -> list[Case]:
    """All runs; there is one variant."""
    return [
        *_bursty(),
        *_competition(),
        *_accecn(),
        *_pacing(),
        *_gso(),
        *_fq_codel_sce(),
        *_ecn_plus_plus(),
        _rrul(),
        *_one_against_fifty(),
    ]


def _bursty() -> Iterator[Case]:
    for marker, qdisc in MARKERS.items():
        for path, netem in BURSTY.items():
            yield _case(
                f"bursty-link/{marker}/{path}/80ms",
                f"One Reno-SCE flow, 50 Mbit/s, 80 ms, behind netem's {path} mode, SCE by {marker}",
                [_link(qdisc, 80, rate=_shaped(qdisc), impairment=netem)],
                [_flow("reno-sce", RENO_SCE)],
            )


def _competition() -> Iterator[Case]:
    for name, qdisc in COMPETITION.items():
        yield _case(
            f"competition/cubic-vs-reno-sce/{name}/10ms",
            f"CUBIC, then Reno-SCE beside it, 50 Mbit/s, 10 ms, {name}",
            [_link(qdisc, 10, rate=_shaped(qdisc))],
            [_flow("cubic", "cubic"), _flow("reno-sce", RENO_SCE, SECOND_START_S)],
        )


def _accecn() -> Iterator[Case]:
    # What the ends use AE for is agreed upon in each handshake: a SYN with AE asks for AccECN, one without for
    # RFC 3168, to which ESCE is added without negotiation.
    for first, second, feedback in (
        ("cubic", "reno-sce", {}),
        ("prague", "reno-sce", {}),
        ("cubic", "reno-sce-over-accecn", {"tcp": ACCECN}),
    ):
        for name, qdisc in SCE_QUEUES.items():
            yield _case(
                f"accecn/{first}-vs-{second}/{name}/10ms",
                f"{first} over AccECN, then Reno-SCE {'over AccECN' if feedback else 'with ESCE'} beside it, "
                f"50 Mbit/s, 10 ms, {name}",
                [_link(qdisc, 10)],
                [
                    {**_flow(first, PRAGUE if first == "prague" else first), "tcp": ACCECN},
                    {**_flow(second, RENO_SCE, SECOND_START_S), **feedback},
                ],
            )


def _pacing() -> Iterator[Case]:
    for rtt in PACING_RTTS_MS:
        for how, settings in PACING.items():
            for count, flows in (("oneflow", ["reno-sce"]), ("twoflow", ["reno-sce-1", "reno-sce-2"])):
                yield _case(
                    f"pacing/{how}/{count}/{rtt}ms",
                    f"{'One Reno-SCE flow' if len(flows) == 1 else 'Two Reno-SCE flows'}, 50 Mbit/s, {rtt} ms, "
                    f"one SCE queue, pacing: {how}",
                    [_link(RAMP, rtt)],
                    [
                        _flow(name, RENO_SCE, start)
                        for name, start in zip(flows, (FIRST_START_S, SECOND_START_S), strict=False)
                    ],
                    tcp={**SCE_TCP, **settings},
                )


def _gso() -> Iterator[Case]:
    for rate in GSO_RATES:
        for how, words in GSO.items():
            yield _case(
                f"gso/{how}/{rate}/20ms",
                f"CUBIC, then Reno-SCE beside it, and a call, {rate}it/s, 20 ms, CNQ, super-packets {how}",
                [_link(f"cnq_cobalt bandwidth {rate} sce-thresh 4 law 2019{words}", 20)],
                [
                    _flow("cubic", "cubic"),
                    _flow("reno-sce", RENO_SCE, SECOND_START_S),
                    {"name": "call", "app": "voip", "start": f"{FIRST_START_S}s", "stop": f"{_END_S}s"},
                ],
                tcp=OFFLOADS,
            )


def _fq_codel_sce() -> Iterator[Case]:
    for rtt in (20, 80):
        for name, qdisc in FQ_CODEL_SCE.items():
            for count in ("oneflow", "twoflow"):
                alone = count == "oneflow"
                flows = [_flow("reno-sce", RENO_SCE, FIRST_START_S if alone else SECOND_START_S)]
                yield _case(
                    f"fq-codel-sce/{name}/{count}/{rtt}ms",
                    f"Reno-SCE {'alone' if alone else 'beside CUBIC'}, 50 Mbit/s, {rtt} ms, {name}",
                    [_link(qdisc, rtt, rate=_shaped(qdisc))],
                    flows if alone else [_flow("cubic", "cubic"), *flows],
                )


def _ecn_plus_plus() -> Iterator[Case]:
    bulk = {**_flow("bulk", "cubic"), "flows": BULK_FLOWS}
    short = {key: value for key, value in _flow("short", RENO_SCE).items() if key != "control_rtts"}
    for name, qdisc in ECN_PLUS_PLUS.items():
        for how in ("off", "on"):
            yield _case(
                f"ecn-plus-plus/short/{name}/{how}/20ms",
                f"Short Reno-SCE flows beside {BULK_FLOWS} CUBIC flows each way, 50 Mbit/s, 20 ms, {name}, ECN++ {how}",
                [_link(qdisc, 20, rate=_shaped(qdisc))],
                [bulk, {**bulk, "name": "back", "direction": "up"}, {**short, "app": SHORT}],
                tcp={"ecn_plus_plus": how == "on"},
            )
    # RFC 3168 and SCE tell a sender nothing of marks on its ACKs; AccECN does, so that its ACKs are ECN-capable.
    for how, feedback in (("off", "rfc3168"), ("on", "accecn")):
        for name, forward, reverse, rate in ASYMMETRIC:
            yield _case(
                f"ecn-plus-plus/acks/{name}/{how}/20ms",
                f"One CUBIC flow down 50 Mbit/s, {UPLOADS} up 5 Mbit/s, 20 ms, {name}, ACKs ECN-capable: {how}",
                [_asymmetric(forward, reverse, rate)],
                [_flow("down", "cubic"), {**_flow("up", "cubic"), "direction": "up", "flows": UPLOADS}],
                tcp={"ecn": feedback},
            )


def _rrul() -> Case:
    link = _link("lfq_cobalt bandwidth 10Mbit", 20)
    link["reverse"] = {"qdisc": "lfq_cobalt bandwidth 1Mbit"}
    return _case(
        "asymmetric/rrul_be/lfq_cobalt/20ms",
        "Four CUBIC-SCE flows each way, 10 Mbit/s down, 1 up, 20 ms, lfq_cobalt",
        [link],
        [{"name": "be", "cc": "cubic-sce", "app": "rrul_be", "start": f"{FIRST_START_S}s", "stop": f"{_END_S}s"}],
        era="2020",
    )


def _one_against_fifty() -> Iterator[Case]:
    for name, forward, reverse, rate in ASYMMETRIC:
        yield _case(
            f"asymmetric/1-vs-{UPLOADS}/{name}/20ms",
            f"One flow down 50 Mbit/s, {UPLOADS} up 5 Mbit/s, 20 ms, {name}",
            [_asymmetric(forward, reverse, rate)],
            [
                _flow("down", RENO_SCE),
                {**_flow("up", RENO_SCE), "direction": "up", "flows": UPLOADS},
            ],
        )


def _asymmetric(forward: str, reverse: str, rate: tuple[str, str] | None) -> dict[str, object]:
    link = _link(forward, 20, rate=rate[0] if rate else None)
    return {**link, "reverse": {"qdisc": reverse, **({"rate": rate[1]} if rate else {})}}


_END_S = FIRST_START_S + LENGTH_S


def _shaped(qdisc: str) -> str | None:
    """The rate that a link needs whose queue does not shape itself."""
    return None if "bandwidth" in qdisc else "50Mbit"


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
    links: Sequence[Mapping[str, object]],
    flows: Sequence[Mapping[str, object]],
    era: str = "2019",
    tcp: Mapping[str, object] | None = None,
) -> Case:
    last = SECOND_START_S if any(flow["start"] == f"{SECOND_START_S}s" for flow in flows) else FIRST_START_S
    document = {
        "name": (name := f"hackathon/{label}"),
        "description": about,
        "duration": f"{LENGTH_S + 10}s",
        "seed": 1,
        "measure": {"from": f"{last + SETTLE_S}s", "to": f"{_END_S - 1}s"},
        "tcp": {"era": era, "ecn": "sce", **(tcp or {})},
        "link": list(links),
        "flow": list(flows),
        "ping": [{"name": "ping", "interval": "200ms"}],
    }
    heading, question = SCENARIOS[label.split("/")[0]]
    new = [str(flow["name"]) for flow in flows if "sce" in str(flow.get("cc"))]
    place = role(name, question, heading, new=new, compares=True)
    return Case(name, about, question, LENGTH_S + 10, to_toml(document), role=place)
