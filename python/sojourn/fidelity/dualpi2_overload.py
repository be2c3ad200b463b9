"""Rows of the suite dualpi2-overload: rates and delays beside UDP that does not respond, as measured in 2020."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn import reference
from sojourn.fidelity import measures as m
from sojourn.fidelity.row import Row, Tolerance, between
from sojourn.suites import dualpi2_overload as suite

SOURCE = "L4S team's overload experiments, iperf3 and sojourn times of 13 May 2020"
#: As for the flows of linux72.
SHARE_OF_LINK = 0.03
#: A flow that has less beside overload would be within the tolerance whatever it does.
LEAST_MBPS = 2.0
#: As `sojourn crosscheck` judges delays: mean and p99.
WAITS = {"mean": (0.03, 0.3), "p99": (0.08, 1.0)}
LEAST_PACKETS = 1000
#: Which of DualPI2's queues has which flows.
QUEUES = {"C": ("cubic", "udp", "udp-ect0"), "L": ("prague", "udp-ect1")}

#: Why rows miss their tolerance, by key or by id.
EXPLANATIONS: dict[str, str] = {
    "O1": "one run of 15 s: six that are the same but for chance have 24 to 35 Mbit/s of CUBIC",
    "O3": "of one run: 12 to 14 ms, here 13 to 14. In seven of the 22 the testbed's queue was below 3 ms for 4 to 13 % "
    "of the packets, here for 0.4 to 7 % of the time; of the others no cause is known",
    "O4": "CUBIC has 1 to 2 Mbit/s in 15 s of one run, so that its p99 is that of a dozen packets; of all p99 in the "
    "classic queue 91 % lie in the interval of 20 seeds",
    "O4/0-udp-ect1-75Mbit-C": "fifteen seeds span 26.7 to 31.5 ms; the cause is not known",
}


def _around(value: float, slack: float) -> Tolerance:
    return between(round(value - slack, 3), round(value + slack, 3))


def rows() -> Iterable[Row]:
    """All of them."""
    for case in suite.cases():
        run = reference.shipped()[case.id]
        part = case.id.removeprefix(f"{suite.SUITE}/protection-").replace("/", "-")
        _, mix, load = suite.parts_of(case.id)
        offered = load * len(mix)
        for flow in run.summary.flows:
            rate = flow.goodput_mbps or 0.0
            responds = flow.name in ("prague", "cubic")
            if (responds and rate >= LEAST_MBPS) or (not responds and offered >= suite.LINK_MBIT):
                yield Row("O1" if responds else "O2", f"{part}-{flow.name}", "A", SOURCE, case.id,
                          f"goodput of {flow.name}", "Mbit/s", rate, _around(rate, SHARE_OF_LINK * suite.LINK_MBIT),
                          m.mean_goodput(flow.name, suite.WINDOW_S))  # fmt: skip
        for queue, names in QUEUES.items():
            waits = {name: run.sojourn[name] for name in names if name in run.sojourn}
            name = max(waits, key=lambda one: waits[one]["n"], default="")
            if not name or waits[name]["n"] < LEAST_PACKETS:
                continue
            for row_id, (statistic, (share, least)) in zip(("O3", "O4"), WAITS.items(), strict=True):
                value = waits[name][statistic]
                if value < least:
                    continue  # as little as this would be within the tolerance whatever it was
                yield Row(row_id, f"{part}-{queue}", "A", SOURCE, case.id,
                          f"{statistic} of the sojourn of {name} in the {queue} queue", "ms", value,
                          _around(value, max(share * value, least)),
                          m.sojourn("bneck", statistic, flow=name))  # fmt: skip
