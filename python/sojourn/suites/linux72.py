"""linux72: 30 cases that Linux 7.2 itself has run in virtual time, as a grid for era `7.x`.

Three hosts in a line. Towards the receiver the middle one has htb with the queue under test as its
leaf; the whole RTT is netem's, on the way back. One flow lasts 30 s; a second one comes 10 s after the
first, as nearly as in the rig, and both end at 40 s. ECN, where it is on, is that of RFC 3168.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.scenario import to_toml
from sojourn.suites import Case, role

#: Of the measurements that are shipped in `data`.
SOURCE = "Linux 7.2.13 in virtual time (User-Mode Linux), iperf3 and ss, one run per case"
#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.linux72"
VARIANTS = {"grid": "the only one"}

RATE_MBIT = 50
RTTS_MS = (20, 80)
ONE_FLOW_S, TWO_FLOWS_S = 30, 40
SECOND_START_S = 10
#: After the last flow's start.
SETTLE_S = 5
# iperf3's data connection opens after three round trips of a control connection, and waits for one more, of a cookie.
IPERF_RTTS = 4
# Before its data the first flow had those, its handshake, and ARP's answer, which netem delays: that is time 0 here.
LEAD_RTTS = IPERF_RTTS + 1
# The rig's flows start when a process is up: SYNs of two runs were 0.4 ms apart.
START_JITTER = "1ms"
# What a kernel calls by the name alone. Linux 7.2 asks no module for the size of bursts.
VERSIONS = {"bbr": "bbr version v1", "prague": "prague bursts kernel"}
# Linux 7.2 has it on; a connection without AccECN never sends it.
OPTION: dict[str, dict[str, bool]] = {"rfc3168": {}, "off": {}, "accecn": {"accecn_option": True}, "sce": {}}
ECN = {"rfc3168": "on", "off": "off", "accecn": "with accurate feedback", "sce": "with SCE"}

# Our name, tc's arguments, controllers, whether ECN is on: in the order of the measurements.
GRID: tuple[tuple[str, str, tuple[str, ...], bool], ...] = (
    ("codel1q", "fq_codel flows 1", ("cubic",), True),
    ("pie", "pie ecn", ("cubic",), True),
    ("dualpi2", "dualpi2", ("cubic",), True),
    ("pfifo250", "pfifo limit 250", ("cubic",), False),
    ("dualpi2any", "dualpi2 any_ect", ("dctcp",), True),
    # Measured with `adaptive`, to which Linux 7.2 pays no heed when today's tc sets it (docs/kernel-judge.md).
    ("red400k", "red limit 400000 avpkt 1000 bandwidth 50Mbit ecn", ("cubic",), True),
    ("codel1q", "fq_codel flows 1", ("reno",), True),
    ("pfifo250", "pfifo limit 250", ("bbr",), False),
    ("codel1q", "fq_codel flows 1", ("cubic", "reno"), True),
    ("dualpi2", "dualpi2", ("cubic", "cubic"), True),
    ("pfifo250", "pfifo limit 250", ("cubic", "bbr"), False),
    ("dualpi2any", "dualpi2 any_ect", ("dctcp", "dctcp"), True),
    ("cake1q", "cake besteffort flowblind unlimited", ("cubic",), True),
    ("codel1qnoecn", "fq_codel flows 1 noecn", ("cubic",), False),
    ("piedrop", "pie", ("reno",), False),
)


def cases(_variant: str = "grid") -> list[Case]:
    """All runs, in the order of the measurements; there is one variant."""
    return [
        case(
            "linux72",
            queue,
            qdisc,
            controllers,
            rate=RATE_MBIT,
            rtt=rtt,
            ecn="rfc3168" if ecn else "off",
            question="Does a simulated run of era 7.x do what Linux 7.2 does?",
        )
        for queue, qdisc, controllers, ecn in GRID
        for rtt in RTTS_MS
    ]


def window(run_id: str) -> tuple[float, float]:
    """Seconds over which a run is measured: from 5 s after its last flow's start."""
    return (SECOND_START_S + SETTLE_S, TWO_FLOWS_S) if "-vs-" in run_id else (SETTLE_S, ONE_FLOW_S)


def flow_names(controllers: Sequence[str]) -> Iterator[str]:
    """Names of a run's flows: their controllers', with the number where both have the same."""
    for number, cc in enumerate(controllers, 1):
        yield f"{cc}-{number}" if controllers.count(cc) > 1 else cc


def case(
    suite: str,
    queue: str,
    qdisc: str,
    controllers: tuple[str, ...],
    *,
    rate: int,
    rtt: int,
    ecn: str,
    question: str,
    versus: str = "-vs-",
) -> Case:
    """A run of the grid's dumbbell: Mbit/s, ms, the ECN that every connection asks for, what joins two in a grid."""
    together = "-vs-".join(controllers)
    name = f"{suite}/{queue}/{rate}Mbit/{rtt}ms/{together}"
    length = TWO_FLOWS_S if len(controllers) > 1 else ONE_FLOW_S
    second = {"start": f"{1000 * SECOND_START_S - LEAD_RTTS * rtt}ms", "control_rtts": IPERF_RTTS}
    about = f"{' and '.join(controllers)} over `{qdisc}`, {rate} Mbit/s, {rtt} ms, ECN {ECN[ecn]}"
    document = {
        "name": name,
        "description": about,
        "duration": f"{length}s",
        "seed": 1,
        "measure": {"from": f"{window(name)[0]}s", "to": f"{window(name)[1]}s"},
        "tcp": {"era": "7.x", "ecn": ecn, **OPTION[ecn], "rmem_max": "16Mb", "wmem_max": "16Mb"},
        "link": [
            {
                "name": "bneck",
                "rate": f"{rate}Mbit",
                "shaper": "htb",
                "qdisc": qdisc,
                "reverse": {
                    "rate": "none",
                    "shaper": "none",
                    "qdisc": "pfifo",
                    "ingress": [f"netem delay {rtt}ms limit 1000000"],
                },
            }
        ],
        "flow": [
            {
                "name": flow,
                "cc": VERSIONS.get(cc, cc),
                **(second if number else {"start": "0s"}),
                "start_jitter": START_JITTER,
                # A marked DCTCP segment is reported alone, whatever was negotiated.
                **({"tcp": {"ecn": "dctcp"}} if cc == "dctcp" else {}),
            }
            for number, (flow, cc) in enumerate(zip(flow_names(controllers), controllers, strict=True))
        ],
    }
    return Case(
        id=name,
        description=about,
        question=question,
        duration_s=length,
        toml=to_toml(document),
        role=role(name, question, new=[flow for flow in flow_names(controllers) if flow.startswith("prague")]),
        reference=f"{queue}_{rate}mbit_{rtt}ms_{versus.join(controllers)}{'_noecn' if ecn == 'off' else ''}",
    )
