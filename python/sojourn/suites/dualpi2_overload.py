"""dualpi2-overload: 105 runs of Prague and CUBIC beside UDP that does not respond, up to three times the link's rate.

The L4S team's overload experiments of 13 May 2020: network namespaces of one machine, 100 Mbit/s, DualPI2 with three
shares of protection for the classic queue, 20 ms on the way back, and one to three UDP flows of the same rate beside
Prague and CUBIC. All hosts have fq, which paces TCP and UDP alike; Prague asks for AccECN, CUBIC for no ECN
(`tcp_ecn` is 2). The flow called ECT(0) is sent with TOS 0 (`iperf3 -S0`), so that it is Not-ECT, and ECT(1)'s with 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from sojourn.scenario import to_toml
from sojourn.suites import Case, role
from sojourn.suites.ect1 import DUALPI2, HOSTS, L4S_KERNEL

#: Of the measurements that are shipped in `data`.
SOURCE = "L4STeam/l4steam.github.io, overload-experiments: DualPI2 and TCP Prague on Linux 5.4, 13 May 2020"
#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.dualpi2_overload"
VARIANTS = {"published": "the only one"}

SUITE = "dualpi2-overload"
LINK_MBIT, RTT_MS = 100, 20
PROTECTIONS_PERCENT = (0, 10, 25)
LOADS_MBIT = (10, 20, 50, 75, 100)
#: UDP flows by name, and the TOS byte that each was sent with.
UDP_TOS = {"udp": 0, "udp-ect0": 0, "udp-ect1": 1}
MIXES = tuple(mix for count in (1, 2, 3) for mix in combinations(UDP_TOS, count))
LENGTH_S = 20
#: Slow start and the queue's first reaction are over before.
WINDOW_S = (5.0, 20.0)
#: Bytes of a UDP packet: iperf3's `--length 1200` with UDP and IP headers, and Ethernet's, by which fq counts rates.
UDP_IP_BYTES, ETHERNET_BYTES = 1228, 14


def name_of(protection: int, mix: tuple[str, ...], load: int) -> str:
    """The id of a run."""
    return f"{SUITE}/protection-{protection}/{'+'.join(mix)}/{load}Mbit"


def parts_of(run: str) -> tuple[int, tuple[str, ...], int]:
    """Protection in percent, mix and load in Mbit/s of a run, from its id."""
    _, protection, mix, load = run.split("/")
    return int(protection.removeprefix("protection-")), tuple(mix.split("+")), int(load.removesuffix("Mbit"))


def published(mix: tuple[str, ...], load: int) -> str:
    """What the published files of a run have in their names."""
    return "_".join(("Prague_Cubic", *(f"{name}_{load}M" for name in mix)))


def cases(_variant: str = "published") -> list[Case]:
    """All runs, in the order of the measurements; there is one variant."""
    return list(_cases())


def _cases() -> Iterator[Case]:
    for protection in PROTECTIONS_PERCENT:
        for load in LOADS_MBIT:
            for mix in MIXES:
                run = name_of(protection, mix, load)
                each = f"{load} Mbit/s each" if len(mix) > 1 else f"{load} Mbit/s"
                about = f"Prague and CUBIC beside {' and '.join(mix)} of {each}, {protection} % protection"
                yield Case(
                    id=run,
                    description=about,
                    question="What do responsive flows keep beside UDP that does not respond, and who waits for it?",
                    duration_s=LENGTH_S + 0.5,
                    toml=to_toml(_document(run, about, protection, mix, load)),
                    reference=f"100M_20ms_classic_protection_{protection}/{published(mix, load)}",
                    role=role(
                        run,
                        "How much of the link and which delay has each flow?",
                        f"Unresponsive UDP over DualPI2, {protection} % of protection",
                    ),
                )


def _document(run: str, about: str, protection: int, mix: tuple[str, ...], load: int) -> dict[str, Any]:
    paced = load * UDP_IP_BYTES / (UDP_IP_BYTES + ETHERNET_BYTES)
    back = {"rate": "none", "qdisc": "pfifo limit 10000", "ingress": [f"netem delay {RTT_MS}ms limit 1000"]}
    start = {"path": ["bneck"], "start_jitter": "5ms"}
    return {
        "name": run,
        "description": about,
        "duration": f"{LENGTH_S}.5s",
        "seed": 1,
        "measure": {"from": f"{WINDOW_S[0]:g}s", "to": f"{WINDOW_S[1]:g}s"},
        "hosts": HOSTS,
        "tcp": {**L4S_KERNEL, "pacing": True},
        "link": [
            {
                "name": "bneck",
                "rate": f"{LINK_MBIT}Mbit",
                "shaper": "htb",
                "qdisc": f"{DUALPI2} classic_protection {protection}%",
                "reverse": {**back, "shaper": "none"},
            }
        ],
        "flow": [
            {"name": "prague", "cc": "prague version p2b", **start},
            {"name": "cubic", "cc": "cubic", "tcp": {"ecn": "off", "ace_prediction": False}, **start},
            *(
                {"name": name, "app": f"cbr rate {paced:.4f}Mbit size {UDP_IP_BYTES}", "tos": UDP_TOS[name], **start}
                for name in mix
            ),
        ],
    }
