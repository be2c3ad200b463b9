"""linux72-prague: 22 cases of TCP Prague on a real kernel in virtual time, over the dumbbell of linux72.

The kernel is Linux 7.2 with Prague's module 0.7 of 2024; every connection asks for AccECN.
"""

from __future__ import annotations

from sojourn.suites import Case, linux72

#: Of the measurements that are shipped in `data`.
SOURCE = (
    "TCP Prague (module 0.7, L4STeam/linux 893e1479) built into Linux 7.2.13, in virtual time (User-Mode Linux), "
    "iperf3 and ss, medians of three runs per case"
)
#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.linux72"
VARIANTS = {"grid": "the only one"}

SUITE = "linux72-prague"
ALONE, BESIDE_CUBIC, TWO = ("prague",), ("cubic", "prague"), ("prague", "prague")

# Our name, tc's arguments, Mbit/s, controllers: in the order of the measurements.
GRID: tuple[tuple[str, str, int, tuple[str, ...]], ...] = (
    ("dualpi2", "dualpi2", 50, ALONE),
    ("dualpi2", "dualpi2", 50, BESIDE_CUBIC),
    ("dualpi2", "dualpi2", 50, TWO),
    ("codel1q", "fq_codel flows 1", 50, ALONE),
    ("codel1q", "fq_codel flows 1", 50, BESIDE_CUBIC),
    ("fq_codel", "fq_codel", 50, BESIDE_CUBIC),
    ("pie", "pie ecn", 50, BESIDE_CUBIC),
    ("pfifo50", "pfifo limit 50", 50, BESIDE_CUBIC),
    ("l4s_fq", "fq_codel ce_threshold 1ms ce_threshold_selector 0x01/0x03", 50, ALONE),
    ("dualpi2", "dualpi2", 200, ALONE),
    ("dualpi2", "dualpi2", 10, BESIDE_CUBIC),
)


def cases(_variant: str = "grid") -> list[Case]:
    """All runs, in the order of the measurements; there is one variant."""
    return [
        linux72.case(
            SUITE,
            queue,
            qdisc,
            controllers,
            rate=rate,
            rtt=rtt,
            ecn="accecn",
            question="Does a simulated TCP Prague do what its module does on Linux 7.2?",
            versus="_vs_",
        )
        for rtt in linux72.RTTS_MS
        for queue, qdisc, rate, controllers in GRID
    ]
