"""sce-l4s-ect1: 59 runs of the L4S half (Prague alone, Prague joining CUBIC), 64 of the SCE half.

The testbed was one Linux host: htb and the queue under test on both sides of the middle
namespace, half of the RTT as netem on each ingress. Ends of the L4S half speak AccECN; those of the
SCE half RFC 3168 and ESCE, and SCE's queues are shapers themselves. Times are Flent's: the run
starts at 0, the first flow at 5 s, a second one 10 s later, all end LENGTH after the first one's
start, and the ping runs from the first to the last second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sojourn.scenario import to_toml
from sojourn.suites import Case, role

#: Of the measurements that are shipped in `data`.
SOURCE = "L4STeam/l4steam.github.io, ect1-tests: sce-l4s-ect1 suite, Linux 5.4 with TCP Prague, 25 April 2020"
#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.ect1"
#: What `cases` takes, the default first.
VARIANTS = {
    "p2b": "Prague of 24 April 2020, as in the published rerun",
    "p2a": "Prague of 8 April 2020, as in the first publication, which ignores losses in slow start",
}

RTTS_MS = (20, 80, 160)
MEASURED_RTTS_MS = (20, 80)
ONE_FLOW_RATES_MBIT = (5, 50, 250)
ONE_FLOW_LENGTH_S = {20: 30, 80: 60, 160: 150}
TWO_FLOWS_LENGTH_S = {20: 40, 80: 60, 160: 180}
#: At every RTT: the adaptive RED of the smaller limit takes that long to settle.
RED_LENGTH_S = 180
SHIFT_LENGTH_S = {20: 60, 80: 180}
CAPACITY_LENGTH_S = {20: 60, 80: 120}
IMPAIRED_LENGTH_S = 60

DUALPI2 = "dualpi2 version 2020"
# The testbed's kernel was 5.4, whose PIE estimates the delay from the departure rate.
PIE = "pie version 5.4"
# SCE queues are their own shapers. (The rule between the twin classes is the later one: with the
# early one a flow of the low-latency class alone stands still, which the published runs did not.)
TWIN = "twin_codel_af bandwidth {rate}Mbit sce-thresh 4"
CAKE = "cake bandwidth 50Mbit sce"
#: As the modules were, with their arithmetic of 536-byte segments.
CUBIC_SCE = "cubic-sce"
RENO_SCE = "reno-sce"
#: The counterpart of the other side's controller or queue.
COUNTERPARTS = {
    **dict.fromkeys(("prague", CUBIC_SCE, RENO_SCE), "own"),
    **dict.fromkeys(("dualpi2", "twin_codel_af", "lfq_cobalt", "cake"), "aqm"),
}
#: Heading and question of each scenario, whatever its side.
SCENARIOS = {
    "s1-oneflow": ("One flow alone over the new queue", "Is the link full, and how deep is the queue?"),
    "s2-twoflow": (
        "Two flows: CUBIC, joined 10 s later by the new controller, 50 Mbit/s",
        "How do they share each queue, and at what delay?",
    ),
    "s3-bottleneck-shift": (
        "The bottleneck moves from the new queue to a classic one and back",
        "How long does the flow take to notice?",
    ),
    "s4-capacity-reduction": (
        "The link's rate falls and rises again",
        "What does the step cost in delay, and how fast is the way back?",
    ),
    "s5-burstiness": ("Packets arrive in Wi-Fi-like bursts", "What is left of the link's rate?"),
    "s6-jitter": ("The path's delay jitters", "How much jitter is taken for congestion?"),
}
#: TOS byte that leads to the low-latency class of `twin_codel_af`; set at 20 ms only.
LOW_LATENCY = "0x10"
LOW_LATENCY_RTT_MS = 20
# Our name, tc's arguments, the name in the published files; the same behind htb in both halves.
QUEUES = (
    ("pfifo-1000", "pfifo limit 1000", "pfifo_1000_"),
    ("pfifo-50", "pfifo limit 50", "pfifo_50_"),
    ("codel1q", "fq_codel flows 1 ecn", "codel1q"),
    ("codel1q-40ms", "fq_codel flows 1 target 3ms interval 40ms ecn", "codel1q_40ms_"),
    ("codel1q-20ms", "fq_codel flows 1 target 1ms interval 20ms ecn", "codel1q_20ms_"),
    ("red-400000", "red limit 400000 avpkt 1000 adaptive bandwidth 50Mbit ecn", "red_400000_"),
    ("red-150000", "red limit 150000 avpkt 1000 adaptive bandwidth 50Mbit ecn", "red_150000_"),
    ("pie", f"{PIE} ecn", "pie"),
    ("pie-noecn", f"{PIE} noecn", "pie_noecn_"),
    ("pie-100p-5ms", f"{PIE} limit 100 target 5ms tupdate 32ms alpha 2 beta 20 ecn", "pie_100p_5ms_"),
    ("pie-100p-20ms", f"{PIE} limit 100 target 20ms tupdate 32ms alpha 2 beta 20 ecn", "pie_100p_20ms_"),
    ("pie-1000p-20ms", f"{PIE} limit 1000 target 20ms tupdate 32ms alpha 2 beta 20 ecn", "pie_1000p_20ms_"),
)
L4S_QUEUES = (("dualpi2", DUALPI2, "dualpi2"), *QUEUES)
SCE_QUEUES = (
    ("twin_codel_af", TWIN.format(rate=50)),
    ("lfq_cobalt", "lfq_cobalt bandwidth 50Mbit sce-thresh 8"),
)
REDUCED_MBIT = (40, 5)
#: Slots of 0.8 to 10 ms that pass 42 packets at most: a busy Wi-Fi channel.
WIFI_SLOTS = "netem delay 200us slot 800us 10ms packets 42 limit 512"
JITTERS = ((2, 1), (4, 2), (10, 5))

#: `MAX_TCP_HEADER` of the kernel configuration that is published with sce-l4s-bakeoff, without wireless devices.
NO_WIRELESS = 208
#: What captures show of the L4S half's kernel.
L4S_KERNEL = {"era": "2020", "ecn": "accecn", "ecn_unsafe_cep": True, "ace_prediction": True}
# Small queues of namespaces behind netem, as the captures show: in the L4S half with send buffers of 4352 bytes a
# segment, and copies of 2304.
L4S_TCP = {**L4S_KERNEL, "tsq_netem": True, "max_tcp_header": 272}
SCE_TCP = {"era": "2020", "ecn": "sce", "tsq_netem": True, "max_tcp_header": NO_WIRELESS}
# The testbed was one machine, whose timers make the path's delays, too; fitted to two of its captures.
HOSTS = {"noise": "linux emulated"}

FIRST_START_S = 5
SECOND_START_S = 15
SETTLE_S = 10
# The captures of the published runs show each netperf starting within 20 ms of its time, and its
# data connection opening two round trips after its control connection.
START_JITTER = "20ms"
NETPERF_CONTROL_RTTS = 2
# Changes were timed by the set-up, which ends just before Flent's time begins: in the published
# files their effect appears 0.2 to 0.3 s before the full second.
CHANGE_LEAD_S = 0.28


def cases(variant: str = "p2b") -> list[Case]:
    """All runs, the L4S half first; the variant is Prague's version."""
    prague = f"prague version {variant}"
    return [
        *_one_flow(prague),
        *_two_flows(prague),
        *_bottleneck_shift(prague),
        *_capacity_reduction(prague),
        *_burstiness(prague),
        *_jitter(prague),
        *_sce_one_flow(),
        *_sce_two_flows(),
        *_sce_bottleneck_shift(),
        *_sce_capacity_reduction(),
        *_sce_burstiness(),
        *_sce_jitter(),
    ]


def _one_flow(prague: str) -> Iterator[Case]:
    for rate in ONE_FLOW_RATES_MBIT:
        for rtt in RTTS_MS:
            yield _case(
                f"l4s-s1-oneflow/prague/dualpi2/{rate}Mbit/{rtt}ms",
                f"One Prague flow over dualpi2, {rate} Mbit/s, {rtt} ms",
                "Does Prague alone fill a DualPI2 bottleneck, and how deep is its queue?",
                {"prague": prague},
                length=ONE_FLOW_LENGTH_S[rtt],
                rate=rate,
                rtt=rtt,
                published=f"l4s-s1-oneflow-ns-prague-dualpi2-{rate}Mbit-{rtt}ms",
            )


def _two_flows(prague: str) -> Iterator[Case]:
    for queue, qdisc, published in L4S_QUEUES:
        for rtt in RTTS_MS:
            yield _case(
                f"l4s-s2-twoflow/cubic-vs-prague/{queue}/{rtt}ms",
                f"CUBIC, then Prague beside it, over {queue}, 50 Mbit/s, {rtt} ms",
                f"How do CUBIC and Prague share one {queue} queue?",
                {"cubic": "cubic", "prague": prague},
                length=RED_LENGTH_S if queue == "red-150000" else TWO_FLOWS_LENGTH_S[rtt],
                rate=50,
                rtt=rtt,
                qdisc=qdisc,
                published=f"l4s-s2-twoflow-ns-cubic-vs-prague-{published}-{rtt}ms",
            )


def _bottleneck_shift(prague: str) -> Iterator[Case]:
    for rtt, length in SHIFT_LENGTH_S.items():
        away, back = length // 3, 2 * length // 3
        yield _case(
            f"l4s-s3-bottleneck-shift/prague/50Mbit/{rtt}ms",
            f"One Prague flow, 50 Mbit/s, {rtt} ms: dualpi2, from {away} s pie, from {back} s dualpi2",
            "How long does Prague take to notice that its bottleneck is a classic queue, and that it no longer is?",
            {"prague": prague},
            length=length,
            rate=50,
            rtt=rtt,
            schedule=[
                _change(away, "replace", {"link.bneck.qdisc": f"{PIE} noecn"}),
                _change(back, "replace", {"link.bneck.qdisc": DUALPI2}),
            ],
            published=f"l4s-s3-bottleneck-shift-ns-prague-50Mbit-{rtt}ms",
        )


def _capacity_reduction(prague: str) -> Iterator[Case]:
    for reduced in REDUCED_MBIT:
        for rtt, length in CAPACITY_LENGTH_S.items():
            down, up = length // 3, 2 * length // 3
            yield _case(
                f"l4s-s4-capacity-reduction/prague/50Mbit/{reduced}mbit/{rtt}ms",
                f"One Prague flow over dualpi2, {rtt} ms: 50 Mbit/s, from {down} s {reduced}, from {up} s 50",
                f"What does a step from 50 to {reduced} Mbit/s cost in delay and loss, and how fast is the way back?",
                {"prague": prague},
                length=length,
                rate=50,
                rtt=rtt,
                schedule=[
                    _change(down, "set", {"link.bneck.rate": f"{reduced}Mbit"}),
                    _change(up, "set", {"link.bneck.rate": "50Mbit"}),
                ],
                published=f"l4s-s4-capacity-reduction-ns-prague-50Mbit-{reduced}mbit-{rtt}ms",
            )


def _burstiness(prague: str) -> Iterator[Case]:
    for rtt in MEASURED_RTTS_MS:
        yield _case(
            f"l4s-s5-burstiness/prague/dualpi2/50Mbit/{rtt}ms",
            f"One Prague flow over dualpi2, 50 Mbit/s, {rtt} ms, behind Wi-Fi-like slots",
            "What is left of a 50 Mbit/s link when packets arrive at the L4S queue in Wi-Fi-like bursts?",
            {"prague": prague},
            length=IMPAIRED_LENGTH_S,
            rate=50,
            rtt=rtt,
            impairment=WIFI_SLOTS,
            published=f"l4s-s5-burstiness-ns-prague-dualpi2-50Mbit-{rtt}ms",
        )


def _jitter(prague: str) -> Iterator[Case]:
    for mean, spread in JITTERS:
        label = f"{mean}ms-{spread}ms-10"
        yield _case(
            f"l4s-s6-jitter/prague/dualpi2/50Mbit/80ms/netem-delay-{label}",
            f"One Prague flow over dualpi2, 50 Mbit/s, 80 ms, and {mean} ± {spread} ms of jitter each way",
            "How much jitter does Prague over a shallow L4S queue take for congestion?",
            {"prague": prague},
            length=IMPAIRED_LENGTH_S,
            rate=50,
            rtt=80,
            impairment=f"netem delay {mean}ms {spread}ms 10%",
            published=f"l4s-s6-jitter-ns-prague-dualpi2-50Mbit-80ms-netem_delay_{mean}ms_{spread}ms_10_",
        )


def _tos(rtt: int) -> dict[str, str]:
    return {"cubic-sce": LOW_LATENCY} if rtt == LOW_LATENCY_RTT_MS else {}


def _sce_one_flow() -> Iterator[Case]:
    for rate in ONE_FLOW_RATES_MBIT:
        for rtt in RTTS_MS:
            yield _case(
                f"sce-s1-oneflow/cubic-sce/twin_codel_af/{rate}Mbit/{rtt}ms",
                f"One CUBIC-SCE flow over twin_codel_af, {rate} Mbit/s, {rtt} ms",
                "Does CUBIC-SCE alone fill an SCE bottleneck, and how deep is its queue?",
                {"cubic-sce": CUBIC_SCE},
                length=ONE_FLOW_LENGTH_S[rtt],
                rtt=rtt,
                qdisc=TWIN.format(rate=rate),
                tos=_tos(rtt),
            )


def _sce_two_flows() -> Iterator[Case]:
    behind_htb = ((queue, qdisc, 50) for queue, qdisc, _ in QUEUES)
    for queue, qdisc, rate in (*((*own, None) for own in SCE_QUEUES), *behind_htb):
        for rtt in RTTS_MS:
            yield _case(
                f"sce-s2-twoflow/cubic-vs-cubic-sce/{queue}/{rtt}ms",
                f"CUBIC, then CUBIC-SCE beside it, over {queue}, 50 Mbit/s, {rtt} ms",
                f"How do CUBIC and CUBIC-SCE share one {queue} queue?",
                {"cubic": "cubic", "cubic-sce": CUBIC_SCE},
                length=RED_LENGTH_S if queue == "red-150000" else TWO_FLOWS_LENGTH_S[rtt],
                rate=rate,
                rtt=rtt,
                qdisc=qdisc,
                tos=_tos(rtt),
            )


def _sce_bottleneck_shift() -> Iterator[Case]:
    for rtt, length in SHIFT_LENGTH_S.items():
        away, back = length // 3, 2 * length // 3
        pie = f"htb default 1 class 1:1 rate 50Mbit leaf {{ {PIE} noecn }}"
        yield _case(
            f"sce-s3-bottleneck-shift/cubic-sce/50Mbit/{rtt}ms",
            f"One CUBIC-SCE flow, 50 Mbit/s, {rtt} ms: cake sce, from {away} s pie, from {back} s cake sce",
            "How does CUBIC-SCE follow its bottleneck from an SCE queue to a classic one and back?",
            {"cubic-sce": CUBIC_SCE},
            length=length,
            rtt=rtt,
            qdisc=CAKE,
            schedule=[
                _change(away, "replace", {"link.bneck.qdisc": pie}),
                _change(back, "replace", {"link.bneck.qdisc": CAKE}),
            ],
        )


def _sce_capacity_reduction() -> Iterator[Case]:
    for reduced in REDUCED_MBIT:
        for rtt, length in CAPACITY_LENGTH_S.items():
            down, up = length // 3, 2 * length // 3
            yield _case(
                f"sce-s4-capacity-reduction/reno-sce/50Mbit/{reduced}mbit/{rtt}ms",
                f"One Reno-SCE flow over twin_codel_af, {rtt} ms: 50 Mbit/s, from {down} s {reduced}, from {up} s 50",
                f"What does a step from 50 to {reduced} Mbit/s cost in delay and loss, and how fast is the way back?",
                {"reno-sce": RENO_SCE},
                length=length,
                rtt=rtt,
                qdisc=TWIN.format(rate=50),
                schedule=[
                    _change(down, "set", {"link.bneck.qdisc": TWIN.format(rate=reduced)}),
                    _change(up, "set", {"link.bneck.qdisc": TWIN.format(rate=50)}),
                ],
            )


def _sce_burstiness() -> Iterator[Case]:
    for queue, qdisc in (("twin_codel_af", TWIN.format(rate=50)), ("cake", CAKE)):
        for rtt in MEASURED_RTTS_MS:
            yield _case(
                f"sce-s5-burstiness/cubic-sce/{queue}/50Mbit/{rtt}ms",
                f"One CUBIC-SCE flow over {queue}, 50 Mbit/s, {rtt} ms, behind Wi-Fi-like slots",
                "What is left of a 50 Mbit/s link when packets arrive at the SCE queue in Wi-Fi-like bursts?",
                {"cubic-sce": CUBIC_SCE},
                length=IMPAIRED_LENGTH_S,
                rtt=rtt,
                qdisc=qdisc,
                impairment=WIFI_SLOTS,
            )


def _sce_jitter() -> Iterator[Case]:
    for mean, spread in JITTERS:
        yield _case(
            f"sce-s6-jitter/cubic-sce/twin_codel_af/50Mbit/80ms/netem-delay-{mean}ms-{spread}ms-10",
            f"One CUBIC-SCE flow over twin_codel_af, 50 Mbit/s, 80 ms, and {mean} ± {spread} ms of jitter each way",
            "How much jitter does CUBIC-SCE over an SCE queue take for congestion?",
            {"cubic-sce": CUBIC_SCE},
            length=IMPAIRED_LENGTH_S,
            rtt=80,
            qdisc=TWIN.format(rate=50),
            impairment=f"netem delay {mean}ms {spread}ms 10%",
        )


def _change(second: int, what: str, names: Mapping[str, str]) -> dict[str, object]:
    return {"at": f"{second - CHANGE_LEAD_S:.2f}s", what: names}


def _case(
    label: str,
    about: str,
    question: str,
    flows: Mapping[str, str],
    *,
    length: int,
    rtt: int,
    published: str | None = None,
    rate: int | None = None,
    qdisc: str = DUALPI2,
    impairment: str | None = None,
    tos: Mapping[str, str] | None = None,
    schedule: Sequence[Mapping[str, object]] = (),
) -> Case:
    """A run; `rate` in Mbit/s is that of an htb around the queue, which is otherwise its own shaper."""
    starts = (FIRST_START_S, SECOND_START_S)[: len(flows)]
    # Packets wait the path's delay first and pass the impairment then.
    ingress = [f"netem delay {rtt // 2}ms limit 1000000", *([impairment] if impairment else [])]
    shaped = {"rate": f"{rate}Mbit", "shaper": "htb"} if rate else {}
    marked = tos or {}
    document = {
        "name": (name := f"ect1/{label}"),
        "description": about,
        "duration": f"{length + 10}s",
        "seed": 1,
        "measure": {"from": f"{starts[-1] + SETTLE_S}s", "to": f"{length + 4}s"},
        "hosts": HOSTS,
        "tcp": SCE_TCP if label.startswith("sce-") else L4S_TCP,
        "link": [{"name": "bneck", **shaped, "qdisc": qdisc, "ingress": ingress}],
        "flow": [
            {
                "name": flow,
                "cc": cc,
                "start": f"{start}s",
                "start_jitter": START_JITTER,
                "control_rtts": NETPERF_CONTROL_RTTS,
                "stop": f"{FIRST_START_S + length}s",
                "path": ["bneck"],
                **({"tos": marked[flow]} if flow in marked else {}),
            }
            for (flow, cc), start in zip(flows.items(), starts, strict=True)
        ],
        "ping": [{"name": "ping", "interval": "200ms", "path": ["bneck"]}],
    }
    if schedule:
        document["schedule"] = list(schedule)
    heading, asked = SCENARIOS[label.split("/")[0].partition("-")[2]]
    return Case(
        id=name,
        description=about,
        question=question,
        duration_s=length + 10,
        toml=to_toml(document),
        reference=published,
        role=role(
            name,
            asked,
            heading,
            new=[flow for flow in flows if flow != "cubic"],
            counterparts=COUNTERPARTS,
        ),
    )
