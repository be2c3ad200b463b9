"""Queue disciplines under a step of load: 5 flows, 20 from 20 to 40 s, 5 again; 50 Mbit/s and 40 ms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from sojourn import Run

BDP = 50e6 / 8 / lab.FRAME * 0.040
#: Window of each phase's means, and its number of flows.
PHASES = ((10.0, 20.0, 5), (30.0, 40.0, 20), (50.0, 60.0, 5))

#: Signals per packet that a flow with a window of so many segments asks for.
RANDOM: Callable[[float], float] = lambda w: (1.31 / w) ** 2  # noqa: E731
SPACED: Callable[[float], float] = lambda w: (1.22 / w) ** 2  # noqa: E731
SCE: Callable[[float], float] = lambda w: 1 / (1 + np.sqrt(w))  # noqa: E731


def load(qdisc: str, *ccs: str) -> Run:
    """The step, of as many flows of each controller."""
    flows = []
    for cc in ccs:
        share = {"cc": cc, "start_jitter": "1s"}
        flows.append({"name": cc, "flows": 5 // len(ccs) or 1, **share})
        flows.append({"name": f"{cc}-more", "flows": 15 // len(ccs), "start": "20s", "stop": "40s", **share})
    where = lab.link("50Mbit", "20ms", qdisc)
    (run,) = lab.simulate(lab.scenario("step", 60, where, flows, step="20ms"))
    return run


def signals(run: Run, bin_s: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Marks over packets that the link carries."""
    t, marks = lab.series(run, "queue.bneck.marks")
    edges = np.arange(0.0, t[-1] + bin_s / 2, bin_s)
    return (edges[1:] + edges[:-1]) / 2, np.diff(np.interp(edges, t, marks)) / (50e6 / 8 / lab.FRAME * bin_s)


def finish(figure: Figure, panels: Mapping[str, Axes], title: str) -> Figure:
    """What all have in common."""
    for name, label in (("delay", "queue delay, ms"), ("signals", "share of packets")):
        lab.dress(panels[name], title if name == "delay" else "", "time, s" if name == "signals" else "", label)
        panels[name].legend(ncols=3, loc="upper right", **lab.LEGEND)
    panels["signals"].set(xlim=(0, 60), yscale="log")
    return figure


def single(
    qdisc: str,
    cc: str,
    law: Callable[[float], float],
    wording: str,
    target: tuple[float, str],
    own: str | None = None,
    top_ms: float = 60,
    lowest: float = 3e-4,
) -> Figure:
    """A queue for one kind of flow: its delay, and its signals beside those that the flows ask for."""
    run = load(qdisc, cc)
    figure, panels = lab.sheet(["delay", "signals"], (), 4.4)
    ax = panels["delay"]
    ax.plot(*lab.series(run, "queue.bneck.sojourn"), color=lab.ORANGE, linewidth=0.8)
    ax.axhline(target[0], label=target[1], **lab.LAW)
    ax.set_ylim(0, top_ms)
    ax = panels["signals"]
    if own:
        t, probability = lab.series(run, f"queue.bneck.{own}")
        ax.plot(t[::5], probability[::5], color=lab.SKY, linewidth=0.8, label="the queue's own probability")
    ax.plot(*signals(run), color=lab.BLUE, label="marked, bins of 1 s", **lab.OURS)
    for i, (start, end, flows) in enumerate(PHASES):
        window = (BDP + lab.mean(run, "queue.bneck.backlog_packets", start, end)) / flows
        ax.plot([start - 10, end], [law(window)] * 2, label=None if i else wording, **lab.LAW)
    ax.set_ylim(lowest, 1)
    return finish(figure, panels, f"{qdisc}, 5, 20 and 5 {cc} flows, 50 Mbit/s, 40 ms")


def dualpi2() -> Figure:
    """Both queues, and the coupling of their probabilities."""
    run = load("dualpi2", "cubic", "prague")
    figure, panels = lab.sheet(["delay", "signals"], (), 4.4)
    for name, kind, colour in (("c", "classic queue", lab.ORANGE), ("l", "L4S queue", lab.BLUE)):
        t, delay = lab.series(run, f"queue.bneck.delay_{name}")
        panels["delay"].plot(t, delay, color=colour, linewidth=0.8, label=kind)
    panels["delay"].axhline(15, label="target 15 ms", **lab.LAW)
    panels["delay"].set_ylim(0, 60)
    ax = panels["signals"]
    t, classic = (column[::5] for column in lab.series(run, "queue.bneck.prob_c"))
    low = lab.series(run, "queue.bneck.prob_l")[1][::5]
    ax.plot(t, classic, color=lab.ORANGE, linewidth=1.0, label="p_C")
    ax.plot(t, low, color=lab.BLUE, linewidth=1.8, label="p_L")
    ax.plot(t, np.minimum(2 * np.sqrt(classic), 1), label="2 √p_C", **lab.LAW)
    ax.set_ylim(1e-5, 3)
    return finish(figure, panels, "dualpi2, 2, 9 and 2 flows each of cubic and prague, 50 Mbit/s, 40 ms")


RENO = "(1.31/W)², what Reno asks for"
FIGURES: dict[str, Callable[[], Figure]] = {
    "codel": partial(single, "codel ecn", "reno", SPACED, "(1.22/W)², what Reno asks for", (5, "target 5 ms")),
    "pie": partial(single, "pie ecn", "reno", RANDOM, RENO, (15, "target 15 ms"), "prob"),
    "red": partial(
        single,
        "red limit 1000000 avpkt 1514 min 60000 max 180000 probability 0.1 bandwidth 50Mbit burst 60 ecn",
        "reno",
        RANDOM,
        RENO,
        (60000 * 8 / 50e3, "min, 9.6 ms at this rate"),
    ),
    "dualpi2": dualpi2,
    "cobalt": partial(single, "cobalt", "reno-sce", SCE, "1/(1 + √W)", (2.5, "SCE target 2.5 ms"), None, 20, 3e-3),
    "ramp": partial(single, "ramp bandwidth 50Mbit", "reno-sce", SCE, "1/(1 + √W)", (0, "0"), "probability", 120, 3e-3),
}
