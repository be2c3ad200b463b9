"""sce-l4s-bakeoff of 11 November 2019: 249 runs, six scenarios by SCE and L4S, one and two flows.

The testbed was a routed chain of four virtual machines, m1 to m4, between a sender and a receiver for
each architecture. Shapers and queues stood on the egress of both interfaces of a machine, so that ACKs
pass them too; half of the RTT was netem on the ingress of both interfaces of one of them. Times are
Flent's: the run starts at 0, the first flow at 5 s, a second one 10 s later, all end at 65 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sojourn.scenario import to_toml
from sojourn.suites import Case, role

#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.bakeoff"
#: What `cases` takes, the default first.
VARIANTS = {
    "as-intended": "the configuration that the suite's authors describe",
    "as-published": "with the defects of the published run: no SCE queue in S5, Reno instead of Reno-SCE as the "
    "first flow of reno-sce-vs-reno-sce-gamed, one of two extra pings",
    "p0": "as intended, with the Prague of the September edition, whose alpha starts at 0",
    "module": "as intended, with Reno-SCE and DCTCP-SCE counting in segments of 536 bytes, as their modules do on a "
    "host that only sends",
    "paced": "as intended, with fq at every sender, so that the pacing ratios of the SCE side act",
}

RTTS_MS = (0, 10, 80)
LENGTH_S = 60
FIRST_START_S = 5
SECOND_START_S = 15
SETTLE_S = 10
# As netperf under Flent does it; see the suite ect1.
START_JITTER = "20ms"
NETPERF_CONTROL_RTTS = 2

CHAIN = ("m1", "m2", "m3", "m4")
# Not in the sources: a virtual network card's rate, and 0.3 ms of RTT for wires and stacks.
NIC_RATE = "10Gbit"
HOP_DELAY = "37500ns"

DUALPI2 = "dualpi2 version 2019"
#: Controllers of both sides.
CLASSIC = ("cubic", "reno")
#: The counterpart of the other side's controller.
COUNTERPARTS = {"prague": "own", "reno-sce": "own", "dctcp-sce": "dctcp"}
#: A queue nobody has configured: the kernel's default.
UNTOUCHED = "pfifo_fast"
#: "No offload settings are changed on the VMs": what Linux switches on by itself.
OFFLOADS = {"gso": True, "gro": True}
GAMED_TOS = "0x04"
MANGLE_ALL = "mangle proto tcp non-syn set-tos 0x01"
MANGLE_GAMED = "mangle proto tcp non-syn dscp 1 set-tos 0x01"


@dataclass(frozen=True)
class Node:
    """What is configured on a machine of the chain, in both directions."""

    qdisc: str
    rate: str | None = None
    """Of an htb around the queue; without it the queue is at the rate of the network card."""

    def link(self) -> dict[str, object]:
        """The keys of the machine's link."""
        shaped = {"rate": self.rate, "shaper": "htb"} if self.rate else {"rate": NIC_RATE}
        return {**shaped, "qdisc": self.qdisc}


@dataclass(frozen=True)
class Scenario:
    """A scenario for one architecture: machines, where the delay is, and where ECT(1) is forced."""

    chain: str
    question: str
    nodes: Mapping[str, Node]
    delay: str
    mangler: str | None = None


@dataclass(frozen=True)
class Architecture:
    """The controllers of one side and the endpoints that they ran on."""

    title: str
    controllers: Mapping[str, str]
    own: str
    tcp: Mapping[str, object]


def cases(variant: str = "as-intended") -> list[Case]:
    """All runs, in the published order."""
    return [
        case
        for side in ("l4s", "sce")
        for number in range(1, 7)
        for flows in (1, 2)
        for case in _batch(side, number, flows, variant)
    ]


def _architecture(side: str, variant: str) -> Architecture:
    fq = {"pacing": True} if variant == "paced" else {}
    if side == "l4s":
        prague = f"prague version {'p0' if variant == 'p0' else 'p1'}"
        return Architecture(
            "L4S",
            {"cubic": "cubic", "dctcp": "dctcp", "prague": prague},
            "prague",
            {"era": "2019", "ecn": "accecn", **OFFLOADS, **fq},
        )
    arithmetic = f" {MODULE}" if variant == "module" else ""
    return Architecture(
        "SCE",
        {
            "cubic": "cubic",
            "dctcp-sce": f"{DCTCP_SCE}{arithmetic}",
            "reno-sce": f"{RENO_SCE}{arithmetic}",
            "reno": "reno",
        },
        "reno-sce",
        {**SCE_TCP, **fq},
    )


DCTCP_SCE = "dctcp-sce version v2"
RENO_SCE = "reno-sce version v2"
# What the modules make of CE together with the kernel's own reduction is not what the authors saw in S3.
MODULE = "mode literal ce documented"
# Less than 100 % in congestion avoidance is what the authors chose against bursts.
SCE_TCP = {"era": "2019", "ecn": "sce", "pacing_ss_ratio": 100, "pacing_ca_ratio": 40, **OFFLOADS}


def _scenario(side: str, number: int, variant: str) -> Scenario:
    """Which machine does what (both interfaces of it)."""
    l4s = side == "l4s"
    # The SCE side has everything one machine earlier, so that each queue is on a kernel that has it.
    middle, first = ("m3", "m2") if l4s else ("m2", "m1")
    match number:
        case 1:
            queue = Node(DUALPI2, "50Mbit") if l4s else Node("cake bandwidth 50Mbit sce flowblind besteffort")
            return Scenario(
                "the new AQM is the bottleneck",
                "Do the tools work: utilisation, delay and fairness over one queue of the own kind?",
                {middle: queue},
                middle,
            )
        case 2 | 3:
            leaf = "fq_codel" if number == 2 else "fq_codel flows 1"
            behind = Node(DUALPI2 if l4s else "cake sce flows besteffort")
            return Scenario(
                f"{'an FQ-AQM' if number == 2 else 'a single-queue AQM'} is the bottleneck, the new AQM is behind it",
                "What do high-fidelity controllers do where the bottleneck is "
                + ("a fair queue with CoDel?" if number == 2 else "one RFC 3168 queue for all flows?"),
                {first: Node(leaf, "50Mbit"), middle: behind},
                first,
            )
        case 4:
            queue = Node(DUALPI2, "50Mbit") if l4s else Node("cake bandwidth 50Mbit sce flows besteffort")
            return Scenario(
                "a mangler forces ECT(1), then the new AQM is the bottleneck",
                "What does a sender gain that claims ECT(1) for packets of a classic controller?",
                {middle: queue},
                middle,
                mangler=first,
            )
        case 5:
            if l4s:
                nodes = {"m1": Node(DUALPI2, "100Mbit"), "m2": Node(UNTOUCHED, "50Mbit")}
            else:
                nodes = {
                    "m2": Node("cake bandwidth 100Mbit sce flows besteffort"),
                    "m3": Node(UNTOUCHED, "50Mbit"),
                }
                if variant == "as-published":
                    # A stray word made tc refuse the command, and nothing looked at its exit code.
                    del nodes["m2"]
            return Scenario(
                "new AQM at 100 Mbit/s, FIFO at 50, FQ-AQM at 47.5",
                "Where do bursts at line rate collect on a chain of ever smaller bottlenecks?",
                {**nodes, "m4": Node("fq_codel", "47.5Mbit")},
                "m2" if l4s else "m3",
            )
    return Scenario(
        "FIFO at 52.5 Mbit/s, FQ-AQM at 50",
        "How long is the peak of delay when slow start meets a FIFO before CoDel?",
        {"m3": Node(UNTOUCHED, "52.5Mbit"), "m4": Node("fq_codel", "50Mbit")},
        "m1",
    )


def _contents(side: str, number: int, flows: int, own: str) -> list[tuple[str, ...]]:
    """Controllers of each run of a batch; `-gamed` is the flow whose packets are made ECT(1)."""
    if flows == 1:
        return [("cubic",), ("dctcp",), ("prague",)] if side == "l4s" else [("cubic",), ("dctcp-sce",), ("reno-sce",)]
    if number != 4:
        return [("cubic", "cubic"), (own, own), ("cubic", own), (own, "cubic")]
    if side == "l4s":
        return [("cubic", "cubic"), ("cubic", "cubic-gamed"), ("prague", "cubic"), ("prague", "cubic-gamed")]
    return [("cubic", "cubic-gamed"), ("cubic", "reno-sce-gamed"), ("reno-sce", "reno-sce-gamed")]


def _batch(side: str, number: int, flows: int, variant: str) -> Iterator[Case]:
    architecture = _architecture(side, variant)
    scenario = _scenario(side, number, variant)
    batch = f"{side}-s{number}-{'oneflow' if flows == 1 else 'twoflow'}"
    for names in _contents(side, number, flows, architecture.own):
        for rtt in RTTS_MS:
            about = f"{architecture.title} scenario {number}, {' vs '.join(names)}, {rtt} ms: {scenario.chain}"
            name = f"bakeoff/{batch}/{'-vs-'.join(names)}/{rtt}ms"
            document = {
                "name": name,
                "description": about,
                "duration": f"{LENGTH_S + 10}s",
                "seed": 1,
                "measure": {
                    "from": f"{(FIRST_START_S, SECOND_START_S)[flows - 1] + SETTLE_S}s",
                    "to": f"{LENGTH_S + 4}s",
                },
                "tcp": architecture.tcp,
                "link": [_link(node, scenario, rtt, flows) for node in CHAIN],
                "flow": (run := list(_flows(names, architecture, variant))),
                "ping": _pings(flows, variant),
            }
            yield Case(
                id=name,
                description=about,
                question=scenario.question,
                duration_s=LENGTH_S + 10,
                toml=to_toml(document),
                role=role(
                    name,
                    scenario.question,
                    new=[str(flow["name"]) for flow in run if flow["cc"] not in CLASSIC],
                    counterparts=COUNTERPARTS,
                ),
            )


def _link(name: str, scenario: Scenario, rtt: int, flows: int) -> dict[str, object]:
    """A machine: ingress of one interface, egress of the other; the same the opposite way."""
    node = scenario.nodes.get(name, Node(UNTOUCHED))
    delay = [f"netem delay {rtt // 2}ms limit 1000000"] if name == scenario.delay else []
    link = {"name": name, **node.link(), "delay": HOP_DELAY}
    if name != scenario.mangler:
        return {**link, "ingress": delay} if delay else link
    # In POSTROUTING of the interface towards the receiver: what the data pass, and before that egress.
    mangler = MANGLE_ALL if flows == 1 else MANGLE_GAMED
    return {**link, "ingress": [*delay, mangler], "reverse": {"ingress": delay}}


def _flows(names: tuple[str, ...], architecture: Architecture, variant: str) -> Iterator[dict[str, object]]:
    same = len(set(names)) < len(names)
    for number, (name, start) in enumerate(zip(names, (FIRST_START_S, SECOND_START_S), strict=False), 1):
        controller = name.removesuffix("-gamed")
        if variant == "as-published" and number == 1 and names == ("reno-sce", "reno-sce-gamed"):
            name = controller = "reno"
        yield {
            "name": f"{name}-{number}" if same else name,
            "cc": architecture.controllers[controller],
            "start": f"{start}s",
            "start_jitter": START_JITTER,
            "control_rtts": NETPERF_CONTROL_RTTS,
            "stop": f"{FIRST_START_S + LENGTH_S}s",
            **({"tos": GAMED_TOS} if name.endswith("-gamed") else {}),
        }


def _pings(flows: int, variant: str) -> list[dict[str, object]]:
    """Flent's own, unmarked, and in two-flow runs two more with TOS 0 and 1, which is ECT(1)."""
    pings: list[dict[str, object]] = [{"name": "ping", "interval": "200ms"}]
    if flows == 2:
        # Both had one name in the published files, so that the second replaced the first.
        extra = (1,) if variant == "as-published" else (0, 1)
        pings += [{"name": f"ping-tos{tos}", "interval": "200ms", "tos": tos} for tos in extra]
    return pings
