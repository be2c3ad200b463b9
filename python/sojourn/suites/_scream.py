"""What Ericsson published of the SCReAM BW test tool beside TCP flows: the tables, and their set-up as scenarios.

Two laptops on Gigabit Ethernet; on the receiving one, HTB at 100 Mbit/s with dualpi2 as its leaf on what arrives, and
netem with the whole RTT on what leaves. Kernel 5.15 of the L4S team, iperf with Prague.
Source: the repository's "Test activity 2024-10-28" (EricssonResearch/scream).

Which queue iperf's flows were in is not known: iperf was configured "to use L4S and Prague", and the script that the
report prints, of queues only, does not set `tcp_ecn`. So there are variants of equal weight, and flows are called what
they are: `reno`, which Prague's module 0.7 becomes with a receiver that takes RFC 3168 only (no ECN, the classic
queue), `prague` (AccECN at both ends, the L4S queue), and `cubic`, the kernel's default.

What the numbers were read from is not stated. Here they are Mbit/s of IP packets that arrived (1400 bytes a full one,
which is how the report counts them), in a steady window. The record's figure shows how the runs went: SCReAM
alone, the first TCP flow at 22 s, and convergence 18 s later. So flow k starts at 22 s + 20 s (k - 1), and the window
begins 20 s after the last start. Alone it begins at 5 s, when the ramp-up is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sojourn.scenario import to_toml
from sojourn.suites import Case, role

RATE = "100Mbit"
FIRST_LOAD_S = 22
BETWEEN_S = 20
SETTLE_S = 20
WINDOW_S = 40
ALONE: tuple[int, int] = (5, 60)
MAX_FLOWS = 4
NO_ACCECN = "no-accecn"
ACCECN = "accecn"
CUBIC = "cubic"
#: What the suites of both days can be varied in.
VARIANTS = {
    NO_ACCECN: "the receiver takes RFC 3168 only: Prague's module goes without ECN, as Reno, in the classic queue",
    ACCECN: "`tcp_ecn = 3` at both ends: Prague is in the L4S queue, beside SCReAM",
    CUBIC: "iperf's flows are the kernel's default, CUBIC without ECN",
}
#: What iperf's flows are in each variant: their name, and what makes a Prague flow one of them.
LOADS: dict[str, tuple[str, dict[str, object]]] = {
    NO_ACCECN: ("reno", {"tcp": {"ecn": "rfc3168"}}),
    ACCECN: ("prague", {}),
    CUBIC: ("cubic", {"cc": "cubic", "tcp": {"ecn": "off"}}),
}
QUESTION = "How much of the link does SCReAM take alone, and beside TCP?"
#: Bytes of IP, UDP and RTP headers, and of payload in a full packet.
HEADERS, PAYLOAD = 40, 1360
IP_PER_PAYLOAD = (PAYLOAD + HEADERS) / PAYLOAD
#: The share of the link that each flow would have, by the number of TCP flows.
FAIR_MBPS = (100, 50, 33, 25, 20)
# Processes on laptops do not start on the microsecond.
START_JITTER = "20ms"


@dataclass(frozen=True)
class Table:
    """A published table: SCReAM's Mbit/s by a setting and by the number of TCP flows, 0 to 4."""

    key: str
    heading: str
    setting: str
    """What the rows differ in."""
    published: Mapping[str, tuple[int, ...]]
    """By the row's label."""
    rand: int = 0
    """The tool's -rand."""

    def rtt(self, label: str) -> str:
        """The path's RTT in a row."""
        return "25ms" if self.setting == "microburst" else label

    def microburst(self, label: str) -> str:
        """The microburst interval in a row."""
        return label if self.setting == "microburst" else "0.5ms"

    def run_id(self, suite: str, label: str, flows: int) -> str:
        """Id of a cell's run."""
        row = f"mb{label}/25ms" if self.setting == "microburst" else label
        return f"{suite}/{self.key}/{row}/{flows}-tcp"


#: Tests 1 to 3 of the test activity of 2024-10-28, which used commit 994f9a4 of that day.
OCTOBER_28 = (
    Table("test1", "Test 1, 2024-10-28: microburst interval, RTT 25 ms, -rand 0", "microburst", {
        "0.25ms": (71, 56, 46, 39, 28),
        "0.5ms": (75, 60, 48, 40, 30),
        "1ms": (68, 56, 44, 38, 30),
        "2ms": (41, 31, 29, 29, 26),
    }),
    Table("test2", "Test 2, 2024-10-28: RTT, -microburstinterval 0.5 -rand 0", "RTT", {
        "5ms": (80, 55, 35, 25, 22),
        "10ms": (75, 55, 44, 30, 23),
        "25ms": (75, 60, 48, 40, 30),
        "50ms": (72, 50, 32, 27, 22),
    }),
    Table("test3", "Test 3, 2024-10-28: RTT, -microburstinterval 0.5 -rand 50", "RTT", {
        "5ms": (69, 45, 35, 26, 18),
        "10ms": (66, 46, 40, 28, 21),
        "25ms": (64, 53, 40, 32, 22),
        "50ms": (63, 52, 39, 25, 18),
    }, rand=50),
)  # fmt: skip

#: The same tests with commit 76a298a of 2024-10-31, from the repository's test record.
OCTOBER_31 = (
    Table("test2", "Test 2, 2024-10-31: RTT, -microburstinterval 0.5 -rand 0", "RTT", {
        "5ms": (79, 52, 40, 29, 20),
        "10ms": (78, 58, 40, 28, 22),
        "25ms": (78, 60, 48, 38, 29),
        "50ms": (76, 60, 43, 35, 30),
        "100ms": (71, 54, 32, 25, 18),
    }),
    Table("test3", "Test 3, 2024-10-31: RTT, -microburstinterval 0.5 -rand 50", "RTT", {
        "5ms": (70, 48, 30, 25, 18),
        "10ms": (68, 50, 36, 28, 18),
        "25ms": (68, 50, 44, 32, 25),
        "50ms": (66, 46, 38, 30, 23),
        "100ms": (64, 48, 38, 26, 21),
    }, rand=50),
)  # fmt: skip


def cells(suite: str, version: str, tables: Sequence[Table], variant: str) -> Iterator[Case]:
    """A run for each number of the tables."""
    name, load = LOADS[variant]
    for table in tables:
        for label in table.published:
            for flows in range(MAX_FLOWS + 1):
                microburst, rtt = table.microburst(label), table.rtt(label)
                beside = f"beside {flows} of {name}" if flows else "alone"
                yield case(
                    table.run_id(suite, label, flows),
                    f"SCReAM {beside} over dualpi2, 100 Mbit/s, {rtt}, microbursts of {microburst}, -rand {table.rand}",
                    table.heading,
                    QUESTION,
                    links=laptops(rtt),
                    flows=[
                        scream(version, microburst=microburst, rand=table.rand),
                        *loads(flows, name=name, load=load),
                    ],
                    window=window(flows),
                )


def fair_mbps(run_id: str) -> int | None:
    """The share of the link that the activity expected SCReAM to have in a cell of the tables."""
    found = re.fullmatch(r"scream-2024-10-\d\d/.+/(\d)-tcp(?:[~@].*)?", run_id)
    return FAIR_MBPS[int(found[1])] if found else None


def window(flows: int) -> tuple[int, int]:
    """Seconds over which a run with this many TCP flows is measured."""
    if not flows:
        return ALONE
    settled = FIRST_LOAD_S + BETWEEN_S * (flows - 1) + SETTLE_S
    return settled, settled + WINDOW_S


def laptops(rtt: str, rate: str = RATE, qdisc: str = "dualpi2 version l4steam") -> list[dict[str, object]]:
    """The Ethernet, then what the receiver makes of it: the bottleneck, and the RTT on the way back."""
    back = {"rate": "none", "shaper": "none", "qdisc": "pfifo", "ingress": [f"netem delay {rtt} limit 1000000"]}
    return [
        {"name": "ethernet", "rate": "1Gbit", "qdisc": "pfifo_fast"},
        {"name": "bneck", "rate": rate, "shaper": "htb", "qdisc": qdisc, "reverse": back},
    ]


def scream(
    version: str, *, microburst: str = "0.5ms", rand: int = 0, ecn: str = "ect1", words: str = ""
) -> dict[str, object]:
    """The tool's flow, with its quirks and the timing of its machine: what was published was measured with them."""
    options = f"{ecn} mtu {PAYLOAD} microburst {microburst} {words}".strip()
    return {
        "name": "scream",
        "cc": f"scream version {version} parity {options}",
        "app": f"scream-bw rand {rand}",
        "start": "0s",
        "start_jitter": START_JITTER,
    }


def loads(
    flows: int,
    first_s: int = FIRST_LOAD_S,
    between_s: int = BETWEEN_S,
    *,
    name: str = "prague",
    load: Mapping[str, object] | None = None,
) -> list[dict[str, object]]:
    """Prague flows with AccECN that start one after the other, or what a `load` makes of them and calls them."""
    return [
        {
            "name": f"{name}-{number + 1}",
            "cc": "prague",
            "start": f"{first_s + between_s * number}s",
            "start_jitter": START_JITTER,
            **(load or {}),
        }
        for number in range(flows)
    ]


def case(
    name: str,
    about: str,
    heading: str,
    question: str,
    *,
    links: Sequence[Mapping[str, object]],
    flows: Sequence[Mapping[str, object]],
    window: tuple[int, int],
) -> Case:
    """A run that ends with its window."""
    document = {
        "name": name,
        "description": about,
        "duration": f"{window[1]}s",
        "seed": 1,
        "measure": {"from": f"{window[0]}s", "to": f"{window[1]}s"},
        "tcp": {"era": "5.15"},
        "link": list(links),
        "flow": list(flows),
    }
    return Case(name, about, question, window[1], to_toml(document), role=role(name, question, heading, new=["scream"]))
