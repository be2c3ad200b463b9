"""l4s-tests: Prague and CUBIC at unequal RTTs, over classic queues, rate steps, asymmetric links and tunnels.

The testbed of November 2020 was one Linux host, with the scripts of sce-l4s-ect1: htb and the queue under test on both
sides of the middle namespace, half of the RTT as netem on each ingress, AccECN at all ends. Offloads were off. Of
scenarios 1 and 6 each flow's delivery rate is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sojourn.scenario import to_toml
from sojourn.suites import Case, role
from sojourn.suites.ect1 import (
    CHANGE_LEAD_S,
    DUALPI2,
    FIRST_START_S,
    HOSTS,
    L4S_TCP,
    NETPERF_CONTROL_RTTS,
    NO_WIRELESS,
    PIE,
    SECOND_START_S,
    SETTLE_S,
    START_JITTER,
)

#: Of the measurements that are shipped in `data`.
SOURCE = "heistp/l4s-tests, tables of scenarios 1 and 6: Linux 5.4 with TCP Prague of 4 August 2020, 11 November 2020"
#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.l4s_tests"
#: What `cases` takes, the default first.
VARIANTS = {
    "p2c": "Prague of 4 August 2020, as in the published runs",
    "p2b": "Prague of 24 April 2020, which looks for classic queues",
    "p3": "Prague of June 2021, whose window grows as with an RTT of 25 ms where its own is shorter",
}

SUITE = "l4s-tests"
NETPERF = {"start_jitter": START_JITTER, "control_rtts": NETPERF_CONTROL_RTTS}
#: Published tables of scenarios 1 and 6.
TABLES = ("s1_table.md", "s6_steady_state.md")
#: Limit in packets of the FIFO at each rate of scenario 1, Mbit/s.
FIFO_LIMITS = {10: 200, 50: 1000}
#: RTTs of the first and the second flow.
RTT_PAIRS_MS = ((10, 10), (20, 10), (20, 20), (80, 80), (80, 20), (160, 10))
RTTS_MS = (20, 80)
RATE_MBIT = 50
FAIRNESS_LENGTH_S, LENGTH_S = 180, 60
#: The window of the published tables ends that long before the flows do.
WINDOW_END_S = 2
FAIRNESS_WINDOW_S, CLASSIC_WINDOW_S = 60, 40
STEPS_MBIT = (25, 10, 5, 1)
STEP_AT_S = 30
#: When the rate of scenario 3 changes, and to what; it begins with 100 Mbit/s.
VARIABLE_MBIT = {25: 50, 30: 10, 35: 90, 50: 5}
#: Mbit/s up and down, and the FIFO's limits.
ASYMMETRIC_MBIT = ((1, 10, 20, 200), (1, 20, 20, 400), (5, 100, 100, 1000))
REPLAY_WINDOWS = {10: (0, 32, 64), 20: (0, 32, 64), 100: (0, 32, 64, 128, 256)}
#: DSCP of the flow that the middle namespace changes, and how: its codepoint is bleached; it is ECT(1) behind its SYN;
#: or it is ECT(1) and has neither ECE nor CWR (`iptables -j ECN --ecn-tcp-remove`). AE stays, so that AccECN is
#: negotiated all the same (RFC 9768 3.1.3).
MANGLED_TOS, MANGLED = 0x8C, "proto tcp dscp 0x23"
BLEACH = f"mangle {MANGLED} set-tos 0"
TO_ECT1 = f"mangle {MANGLED} non-syn set-tos 0x01"
TO_ECT1_WITHOUT_ECN = f"mangle rule {MANGLED} clear-flags cwr,ece rule {MANGLED} set-tos 0x01"

CODEL = "fq_codel flows 1"
RED = "red limit {limit} avpkt 1000 adaptive bandwidth 50Mbit ecn"
#: Our name, tc's arguments, the name in the published table.
CLASSIC_QUEUES = {
    name: (qdisc, published)
    for name, qdisc, published in (
        ("codel1q", CODEL, "fq_codel(1q)"),
        ("codel1q-20ms", f"{CODEL} target 1ms interval 20ms", "fq_codel(1q,1ms/20ms)"),
        ("pie", f"{PIE} ecn", "pie"),
        ("pie-100p-5ms", f"{PIE} limit 100 target 5ms tupdate 32ms alpha 2 beta 20 ecn", "pie(100p/5ms)"),
        ("red-400000", RED.format(limit=400000), "red(400000b)"),
        ("red-150000", RED.format(limit=150000), "red(150000b)"),
    )
}
OTHERS = ("cubic-ecn", "cubic-noecn", "reno-ecn", "reno-noecn")
FAIR_QUEUES = {"fq_codel": "fq_codel", "dualpi2": DUALPI2}


@dataclass(frozen=True)
class Tunnel:
    """Headers of a tunnel that has one outer flow: bytes, and the MTU inside that keeps packets within 1500 bytes."""

    overhead: int
    mtu: int


#: WireGuard and IP in IP over UDP, both with IPv4 outside and the outer DSCP at 0.
TUNNELS = {"wireguard": Tunnel(60, 1420), "ipfou": Tunnel(28, 1472)}
#: ESP in tunnel mode with AES-CBC and SHA-256 of 96 bits: IP, SPI and sequence, IV, padding and trailer, ICV.
IPSEC = Tunnel(58, 1438)

#: Heading and question of each scenario.
SCENARIOS = {
    "s1-rttfair": (
        "Two flows, equal and unequal RTTs",
        "How do Prague and CUBIC share the link, and what does the shorter RTT get?",
    ),
    "s2-codel-rate-step": (
        "The rate falls from 50 Mbit/s at 30 s",
        "How long does the queue stay that the old rate had filled?",
    ),
    "s3-codel-variable-rate": ("100, 50, 10, 90 and 5 Mbit/s", "How does a flow follow a link whose rate varies?"),
    "s4-bidir-asym": ("Four flows each way over asymmetric links", "What do both directions get, and who waits?"),
    "s5-tunnel": ("Two flows in one tunnel over a fair queue", "What is fair queueing worth where it sees one flow?"),
    "s6-rfc3168": ("Prague beside classic flows in classic queues", "What is left for a classic flow?"),
    "s7-oneflow": ("One flow over fq_codel, 50 Mbit/s", "How many marks does a flow get alone?"),
    "s8-rfc3168-second": ("Prague, joined after 10 s by a classic flow", "Does a flow that comes later get its share?"),
    "s9-tunnel-reordering": (
        "CUBIC and Prague in IPsec with a replay window",
        "What does CUBIC lose because packets of the L queue overtake its own?",
    ),
    "s10-ect1-gaming": (
        "A flow paced at the link's rate, joined after 10 s by CUBIC whose packets are made ECT(1)",
        "What does CUBIC gain from the codepoint?",
    ),
    "s11-ect1-gaming-latency": (
        "CUBIC paced at 50 Mbit/s, joined after 10 s by CUBIC paced at 40",
        "Which delay has the slower flow, and what does the codepoint change?",
    ),
    "s12-pacing": ("Prague, joined after 10 s by CUBIC", "What does fq at the sender change?"),
    "s13-rfc3168-prague-second": ("A classic flow, joined after 10 s by Prague", "What does the first flow keep?"),
}


@dataclass(frozen=True)
class Flow:
    """A flow, or what an application makes of it."""

    cc: str
    rtt_ms: int
    joins: bool = False
    """It starts 10 s after the first one."""
    mangle: str = ""
    """What the middle namespace changes in its packets."""
    max_mbit: int | None = None
    """Bound of its pacing rate."""
    app: str = ""

    @property
    def name(self) -> str:
        """What it is called beside others of other kinds."""
        gamed = "-gamed" if self.mangle in (TO_ECT1, TO_ECT1_WITHOUT_ECN) else ""
        return "be" if self.app else self.cc + gamed


@dataclass(frozen=True)
class Setup:
    """What differs between runs."""

    flows: Sequence[Flow]
    queue: str
    rate_mbit: int | None = RATE_MBIT
    """Of an htb around the queue, which is its own shaper without it."""
    length_s: int = LENGTH_S
    window_s: int | None = None
    """Ends `WINDOW_END_S` before the flows; by default from `SETTLE_S` after the last start to their last second."""
    bursty: str = ""
    """netem behind the delay."""
    reference: str | None = None
    """Rate, queue and flows, as the published tables name them."""
    steps_mbit: Mapping[int, int] = field(default_factory=dict)
    back: Mapping[str, Any] = field(default_factory=dict)
    """What differs at the queue on the way back."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the scenario."""
    tcp: Mapping[str, Any] = field(default_factory=dict)


def rate_of(run: str) -> int:
    """Rate of the link of a run with one rate, Mbit/s, from its id."""
    return next(int(label[: -len("Mbit")]) for label in run.split("/") if label.endswith("Mbit"))


def cases(variant: str = "p2c") -> list[Case]:
    """All runs, in the order of the scripts; the variant is Prague's version."""
    return [_case(label, setup, f"prague version {variant}") for label, setup in _setups()]


def _setups() -> Iterator[tuple[str, Setup]]:
    yield from _rtt_fairness()
    yield from _rate_steps()
    yield from _variable_rates()
    yield from _asymmetric()
    yield from _tunnels()
    yield from _beside_classic("s6-rfc3168", tuple(CLASSIC_QUEUES), (20,), CLASSIC_WINDOW_S)
    for cc, rtt in product(("cubic", "reno", "prague"), RTTS_MS):
        yield f"s7-oneflow/{cc}/fq_codel/{RATE_MBIT}Mbit/{rtt}ms", Setup([Flow(cc, rtt)], "fq_codel")
    yield from _beside_classic("s8-rfc3168-second", ("codel1q", "pie", "red-400000"), RTTS_MS)
    yield from _replay()
    yield from _gaming()
    for name, tcp in {"fq": {"pacing": True}, "nofq": {}}.items():
        flows = [Flow("prague", 20), Flow("cubic", 20, joins=True)]
        yield f"s12-pacing/prague-vs-cubic/{name}/dualpi2/{RATE_MBIT}Mbit/20ms", Setup(flows, DUALPI2, tcp=tcp)
    yield from _prague_second()


def _rtt_fairness() -> Iterator[tuple[str, Setup]]:
    pairs = (("prague", "prague"), ("cubic", "prague"), ("prague", "cubic"), ("cubic", "cubic"))
    for pair, queue in product(pairs, ("dualpi2", "pfifo", "cnq_codel_af", "fq_codel")):
        for rtts, (rate, limit) in product(RTT_PAIRS_MS, FIFO_LIMITS.items()):
            own = queue == "cnq_codel_af"
            name, qdisc, published = {
                "pfifo": (f"pfifo-{limit}", f"pfifo limit {limit}", f"pfifo({limit})"),
                "cnq_codel_af": (queue, f"{queue} bandwidth {rate}Mbit", queue),
            }.get(queue) or (queue, FAIR_QUEUES[queue], queue)
            flows = [Flow(cc, rtt) for cc, rtt in zip(pair, rtts, strict=True)]
            yield (
                f"s1-rttfair/{'-vs-'.join(pair)}/{name}/{rate}Mbit/{rtts[0]}ms-{rtts[1]}ms",
                Setup(
                    flows,
                    qdisc,
                    None if own else rate,
                    length_s=FAIRNESS_LENGTH_S,
                    window_s=FAIRNESS_WINDOW_S,
                    reference=_published(rate, published, pair, rtts),
                ),
            )


def _published(rate: int, queue: str, names: Sequence[str], rtts: Sequence[int]) -> str:
    return " ".join((f"{rate}Mbit", queue, *(f"{name}({rtt}ms)" for name, rtt in zip(names, rtts, strict=True))))


def _slots(packets: int) -> dict[str, str]:
    return {"clean": "", "bursty": f"netem delay 200us slot 800us 5ms packets {packets} limit 10000"}


def _rate_steps() -> Iterator[tuple[str, Setup]]:
    for cc, queue, rtt in product(("prague", "cubic"), FAIR_QUEUES, RTTS_MS):
        for (burst, netem), step in product(_slots(16).items(), STEPS_MBIT):
            yield (
                f"s2-codel-rate-step/{cc}/{queue}/{burst}/{RATE_MBIT}Mbit/{step}mbit/{rtt}ms",
                Setup([Flow(cc, rtt)], FAIR_QUEUES[queue], bursty=netem, steps_mbit={STEP_AT_S: step}),
            )


def _variable_rates() -> Iterator[tuple[str, Setup]]:
    for cc, queue, rtt in product(("prague", "cubic"), FAIR_QUEUES, RTTS_MS):
        # CUBIC's packets are dropped there, not marked.
        noecn = " noecn" if cc == "cubic" and queue == "fq_codel" else ""
        for burst, netem in _slots(32).items():
            yield (
                f"s3-codel-variable-rate/{cc}/{queue}/{burst}/100Mbit/{rtt}ms",
                Setup([Flow(cc, rtt)], FAIR_QUEUES[queue] + noecn, 100, bursty=netem, steps_mbit=VARIABLE_MBIT),
            )


def _asymmetric() -> Iterator[tuple[str, Setup]]:
    for cc, queue, (up, down, limit_up, limit_down) in product(
        ("cubic", "prague"), ("fq_codel", "dualpi2", "pfifo"), ASYMMETRIC_MBIT
    ):
        fifo = queue == "pfifo"
        forward, back = (f"pfifo limit {limit}" if fifo else FAIR_QUEUES[queue] for limit in (limit_down, limit_up))
        for rtt in RTTS_MS:
            yield (
                f"s4-bidir-asym/{cc}/{queue}/{up}Mbit-{down}Mbit/{rtt}ms",
                Setup([Flow(cc, rtt, app="rrul_be")], forward, down, back={"rate": f"{up}Mbit", "qdisc": back}),
            )


def _tunnels() -> Iterator[tuple[str, Setup]]:
    for (name, tunnel), other in product(TUNNELS.items(), ("cubic", "reno")):
        yield (
            f"s5-tunnel/prague-vs-{other}/{name}/fq_codel/{RATE_MBIT}Mbit/20ms",
            Setup([Flow("prague", 20), Flow(other, 20)], "fq_codel", **_through(tunnel, dscp="zero")),
        )


def _through(tunnel: Tunnel, **keys: Any) -> dict[str, Any]:
    ends = {"name": "tunnel", "links": ["bneck"], "overhead": tunnel.overhead, **keys}
    return {"keys": {"tunnel": [ends]}, "tcp": {"mtu": tunnel.mtu}}


def _replay() -> Iterator[tuple[str, Setup]]:
    for rate, windows in REPLAY_WINDOWS.items():
        for window in windows:
            checked = {"replay_window": window} if window else {}
            yield (
                f"s9-tunnel-reordering/cubic-vs-prague/replay-{window}/dualpi2/{rate}Mbit/20ms",
                Setup([Flow("cubic", 20), Flow("prague", 20)], DUALPI2, rate, **_through(IPSEC, **checked)),
            )


def _gaming() -> Iterator[tuple[str, Setup]]:
    for first, (ecn, mangle), rtt in product(
        ("prague", "cubic"), (("ecn", TO_ECT1), ("noecn", TO_ECT1_WITHOUT_ECN)), RTTS_MS
    ):
        flows = [Flow(first, rtt, max_mbit=50), Flow("cubic", rtt, True, mangle, max_mbit=50)]
        yield f"s10-ect1-gaming/{first}-vs-cubic-{ecn}/dualpi2/{RATE_MBIT}Mbit/{rtt}ms", Setup(flows, DUALPI2)
    own = f"cake bandwidth {RATE_MBIT}Mbit"
    queues = (("cake", own, None), ("dualpi2", DUALPI2, RATE_MBIT))
    for (queue, qdisc, rate), (name, mangle), rtt in product(
        queues, (("cubic", ""), ("cubic-ect1", TO_ECT1_WITHOUT_ECN)), RTTS_MS
    ):
        flows = [Flow("cubic", rtt, max_mbit=50), Flow("cubic", rtt, True, mangle, max_mbit=40)]
        label = f"s11-ect1-gaming-latency/cubic-vs-{name}-50-40/{queue}/{RATE_MBIT}Mbit/{rtt}ms"
        yield label, Setup(flows, qdisc, rate)


def _beside_classic(
    scenario: str, queues: Sequence[str], rtts: Sequence[int], window_s: int | None = None
) -> Iterator[tuple[str, Setup]]:
    """Prague first; in scenario 8 the other flow joins."""
    for other, queue, rtt in product(OTHERS, queues, rtts):
        second = _other(other, rtt, joins=window_s is None)
        qdisc, published = CLASSIC_QUEUES[queue]
        row = _published(RATE_MBIT, published, ("prague", other), (rtt, rtt)) if window_s else None
        yield (
            f"{scenario}/prague-vs-{other}/{queue}/{RATE_MBIT}Mbit/{rtt}ms",
            Setup([Flow("prague", rtt), second], qdisc, window_s=window_s, reference=row),
        )


def _prague_second() -> Iterator[tuple[str, Setup]]:
    for other, rtt in product(OTHERS, RTTS_MS):
        yield (
            f"s13-rfc3168-prague-second/{other}-vs-prague/codel1q/{RATE_MBIT}Mbit/{rtt}ms",
            Setup([_other(other, rtt, joins=False), Flow("prague", rtt, joins=True)], CODEL),
        )


def _other(name: str, rtt: int, *, joins: bool) -> Flow:
    cc, _, ecn = name.partition("-")
    return Flow(cc, rtt, joins, mangle=BLEACH if ecn == "noecn" else "")


def _case(label: str, setup: Setup, prague: str) -> Case:
    end = FIRST_START_S + setup.length_s
    last = SECOND_START_S if any(flow.joins for flow in setup.flows) else FIRST_START_S
    window = (last + SETTLE_S, end - 1)
    if setup.window_s:
        window = (end - WINDOW_END_S - setup.window_s, end - WINDOW_END_S)
    flows = list(_flows(setup, prague, end))
    heading, question = SCENARIOS[label.partition("/")[0]]
    document = {
        "name": (name := f"{SUITE}/{label}"),
        "description": (about := ", ".join(label.split("/")[1:])),
        "duration": f"{setup.length_s + 10}s",
        "seed": 1,
        "measure": {"from": f"{window[0]}s", "to": f"{window[1]}s"},
        "hosts": HOSTS,
        "tcp": {**L4S_TCP, "max_tcp_header": NO_WIRELESS, **setup.tcp},
        "link": list(_links(setup)),
        "flow": flows,
        "ping": [{"name": "ping", "interval": "200ms", "path": flows[0]["path"]}],
        **setup.keys,
    }
    if setup.steps_mbit:
        document["schedule"] = [
            {"at": f"{second - CHANGE_LEAD_S:.2f}s", "set": {"link.bneck.rate": f"{rate}Mbit"}}
            for second, rate in setup.steps_mbit.items()
        ]
    new = [str(flow["name"]) for flow in flows if flow["cc"] == prague]
    return Case(
        id=name,
        description=about,
        question=question,
        duration_s=setup.length_s + 10,
        toml=to_toml(document),
        reference=setup.reference,
        role=role(name, question, heading, new=new, compares=True),
    )


def _flows(setup: Setup, prague: str, end: int) -> Iterator[dict[str, Any]]:
    names = [flow.name for flow in setup.flows]
    for number, flow in enumerate(setup.flows, 1):
        start = SECOND_START_S if flow.joins else FIRST_START_S
        yield {
            "name": f"{flow.name}-{number}" if names.count(flow.name) > 1 else flow.name,
            "cc": prague if flow.cc == "prague" else flow.cc,
            "start": f"{start}s",
            "stop": f"{end}s",
            "path": [f"near-{flow.rtt_ms}ms", "bneck", f"far-{flow.rtt_ms}ms"],
            **({"app": flow.app} if flow.app else NETPERF),
            **({"tos": MANGLED_TOS} if flow.mangle else {}),
            **({"tcp": {"max_pacing_rate": f"{flow.max_mbit}Mbit"}} if flow.max_mbit else {}),
        }


def _links(setup: Setup) -> Iterator[dict[str, Any]]:
    """The delay of each path, before the queue in both directions."""
    rtts = dict.fromkeys(flow.rtt_ms for flow in setup.flows)
    delays = {rtt: [f"netem delay {rtt // 2}ms limit 1000000", *filter(None, [setup.bursty])] for rtt in rtts}
    shaped = {"rate": f"{setup.rate_mbit}Mbit", "shaper": "htb"} if setup.rate_mbit else {}
    mangle = [flow.mangle for flow in setup.flows if flow.mangle]
    for rtt, delay in delays.items():
        yield {"name": f"near-{rtt}ms", "ingress": delay, "reverse": {"ingress": []}}
    back = {"ingress": [], **setup.back}
    yield {"name": "bneck", **shaped, "qdisc": setup.queue, "ingress": mangle, "reverse": back}
    for rtt, delay in delays.items():
        yield {"name": f"far-{rtt}ms", "reverse": {"ingress": delay}}
