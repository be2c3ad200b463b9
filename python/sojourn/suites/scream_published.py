"""scream-published: what else was published of SCReAM's versions 2 and a scenario can say.

- `trace`: the example traces of May 2025, 50 Mbit/s, 25 ms, dualpi2, with and without L4S. No version here is that of
  the traces; the current one runs.
- `marking`: one packet in N marked on a path of 25 ms without bottleneck, the figure in the README. Marks are periodic.
- `headroom`: the test activity's laptops with other pacing headrooms, to which its summary puts the unused capacity.
- `start`: the screenshot in the user guide, about 10 ms, greatest rate 100 Mbit/s; the link is not stated.
- `docsis`: CableLabs' graphs of November 2024, low-latency DOCSIS with 100 Mbit/s down and 10 up; Prague flows
  start together with SCReAM's tenth second.
"""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.suites import Case
from sojourn.suites._scream import ALONE, case, laptops, loads, scream

#: The tool's is 1.5, "the 50% pacing headroom".
HEADROOMS = ("1", "1.5", "3")
#: Module with the rows of the scoreboard.
FIDELITY = "sojourn.fidelity.scream"
VARIANTS = {"tool": "the only one"}

NAME = "scream-published"
#: Packets from one mark to the next, and the Mbit/s in the figure.
MARKING = {2: 1.0, 5: 4.3, 10: 9.0, 20: 18.0, 50: 46.0, 100: 93.0, 200: 155.0}
#: Direction, RTT, -rand, Prague flows; SCReAM's Mbit/s, and those of each Prague flow.
DOCSIS: dict[str, tuple[str, str, int, int, float, float | None]] = {
    "down-alone": ("down", "12ms", 0, 0, 98.0, None),
    "down-alone-rand50": ("down", "12ms", 50, 0, 87.5, None),
    "down-1": ("down", "12ms", 0, 1, 45.0, 52.0),
    "down-2": ("down", "12ms", 0, 2, 27.0, 36.0),
    "down-2-rand50": ("down", "12ms", 50, 2, 22.0, 38.0),
    "down-10": ("down", "12ms", 0, 10, 12.0, 8.0),
    "down-10-long": ("down", "52ms", 0, 10, 6.0, 9.0),
    "up-alone": ("up", "12ms", 0, 0, 8.5, None),
    "up-1": ("up", "12ms", 0, 1, 4.7, 4.9),
    "up-2": ("up", "12ms", 0, 2, 2.9, 3.4),
}
DOCSIS_RATE = {"down": "100Mbit", "up": "10Mbit"}
DOCSIS_WINDOW = (50, 90)
DOCSIS_FIRST_S = 10


def cases(_variant: str = "tool") -> list[Case]:
    """All runs; there is one variant."""
    return [*_traces(), *_marking(), *_headrooms(), _start(), *_docsis()]


def _traces() -> Iterator[Case]:
    for side, ecn in (("l4s", "ect1"), ("no-l4s", "noecn")):
        yield case(
            f"{NAME}/trace/{side}/50Mbit/25ms",
            f"SCReAM alone over dualpi2, 50 Mbit/s, 25 ms, {side}",
            "SCReAM alone, 50 Mbit/s, 25 ms, with and without L4S",
            "What do marks change in rate and delay?",
            links=laptops("25ms", "50Mbit"),
            flows=[scream("2026-06-30", ecn=ecn)],
            window=(5, 60),
        )


def _marking() -> Iterator[Case]:
    for every in MARKING:
        links = laptops("25ms", "1Gbit", "pfifo")
        links[1] |= {"shaper": "none", "ingress": [f"mangle data every {every} set-ecn ce"]}
        yield case(
            f"{NAME}/marking/{every}/25ms",
            f"SCReAM on a path of 25 ms that marks one packet in {every}",
            "SCReAM on a path that marks one packet in N",
            "Is the rate two marks per RTT?",
            links=links,
            flows=[scream("2024-10-28")],
            window=(20, 60),
        )


def headroom_id(headroom: str) -> str:
    """Id of the run with a pacing headroom."""
    return f"{NAME}/headroom/{headroom}/25ms"


def _headrooms() -> Iterator[Case]:
    for headroom in HEADROOMS:
        yield case(
            headroom_id(headroom),
            f"SCReAM alone over dualpi2, 100 Mbit/s, 25 ms, paced {headroom} times as fast as its target",
            "SCReAM alone, 100 Mbit/s, 25 ms, by its pacing headroom",
            "Is it the pacing headroom that leaves a part of the link unused?",
            links=laptops("25ms"),
            flows=[scream("2024-10-28", words=f"pace_headroom {headroom}")],
            window=ALONE,
        )


def _start() -> Case:
    return case(
        f"{NAME}/start/10ms",
        "SCReAM on a path of 10 ms with a greatest rate of 100 Mbit/s",
        "SCReAM's ramp-up to its greatest rate",
        "How fast is the ramp-up?",
        links=laptops("10ms", "1Gbit", "dualpi2"),
        flows=[scream("2026-06-30", words="max_rate 100Mbit")],
        window=(2, 20),
    )


def _docsis() -> Iterator[Case]:
    for label, (direction, rtt, rand, flows, *_) in DOCSIS.items():
        rate = DOCSIS_RATE[direction]
        links = laptops(rtt, rate, f"docsis_ll rate {rate}")
        yield case(
            f"{NAME}/docsis/{label}/{rate}/{rtt}",
            f"SCReAM and {flows} Prague flows over low-latency DOCSIS, {direction}, {rate}, {rtt}, -rand {rand}",
            "SCReAM and Prague over low-latency DOCSIS",
            "Does SCReAM share a cable modem's queue with Prague?",
            links=links,
            flows=[scream("2024-10-31", rand=rand), *loads(flows, DOCSIS_FIRST_S, 0)],
            window=DOCSIS_WINDOW,
        )
