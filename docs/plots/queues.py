"""Queue disciplines under a step of load: 5 flows, 20 from 20 to 40 s, 5 again; 50 Mbit/s and 40 ms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn import Run
    from sojourn.metrics import FloatArray

BDP = 50e6 / 8 / lab.FRAME * 0.040
#: Window of each phase's means, and its number of flows.
PHASES = ((10.0, 20.0, 5), (30.0, 40.0, 20), (50.0, 60.0, 5))

Law = Callable[[float], float]


def reno(w: float) -> float:
    """Signals per packet at which Reno's mean window is w, if they are spaced."""
    return (1.22 / w) ** 2


def reno_at_random(w: float) -> float:
    """The same for independent signals."""
    return (1.31 / w) ** 2


def reno_sce(w: float) -> float:
    """SCE per packet at which Reno-SCE v3 holds w."""
    return 1 / (1 + sqrt(w))


def reno_sce_and_ce(w: float) -> float:
    """The same where the 64th mark is CE, which keeps 7/8: growth 1 − p is p √W + (p W/64)(W/8)."""
    return 1 / (1 + sqrt(w) + w**2 / 512)


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


def positive(values: FloatArray) -> FloatArray:
    """Gaps instead of zeros, which a logarithmic axis does not have."""
    return np.where(values > 0, values, np.nan)


def signals(run: Run, bin_s: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Marks over packets that the link carries."""
    t, marks = lab.series(run, "queue.bneck.marks")
    edges = np.arange(0.0, t[-1] + bin_s / 2, bin_s)
    share = np.diff(np.interp(edges, t, marks)) / (50e6 / 8 / lab.FRAME * bin_s)
    return (edges[1:] + edges[:-1]) / 2, positive(share)


def finish(figure: Figure, panels: Mapping[str, Axes], title: str) -> Figure:
    """What all have in common."""
    for name, label in (("delay", "queue delay, ms"), ("signals", "share of packets")):
        lab.dress(panels[name], title if name == "delay" else "", "time, s" if name == "signals" else "", label)
        panels[name].legend(ncols=3, loc="upper right", **lab.LEGEND)
    panels["signals"].set(xlim=(0, 60), yscale="log")
    return figure


@dataclass(frozen=True)
class Step:
    """A queue for one kind of flow: its delay, and its signals beside those that the flows ask for."""

    qdisc: str
    cc: str
    law: Law
    wording: str
    #: The delay to hold, ms, or that which belongs to a probability.
    target_ms: float | Law
    target: str
    #: The series of the queue's own probability.
    own: str = ""
    title: str = ""
    top_ms: float = 60
    lowest: float = 3e-4

    def __call__(self) -> Figure:
        """Draws it."""
        run = load(self.qdisc, self.cc)
        figure, panels = lab.sheet(["delay", "signals"], (), 4.4)
        delay, share = panels["delay"], panels["signals"]
        means = ", ".join(f"{lab.mean(run, 'queue.bneck.sojourn', start, end):.1f}" for start, end, _ in PHASES)
        label = f"mean of each phase's second half: {means} ms"
        delay.plot(*lab.series(run, "queue.bneck.sojourn"), color=lab.ORANGE, linewidth=0.8, label=label)
        if self.own:
            t, probability = lab.series(run, f"queue.bneck.{self.own}")
            share.plot(t[::5], positive(probability[::5]), color=lab.SKY, linewidth=0.8, label="the queue's own")
        share.plot(*signals(run), color=lab.BLUE, label="marked, bins of 1 s", **lab.OURS)
        for i, (start, end, flows) in enumerate(PHASES):
            window = (BDP + lab.mean(run, "queue.bneck.backlog_packets", start, end)) / flows
            p, phase = self.law(window), [start - 10, end]
            share.plot(phase, [p, p], label=None if i else self.wording, **lab.LAW)
            held = self.target_ms(p) if callable(self.target_ms) else self.target_ms
            delay.plot(phase, [held, held], label=None if i else self.target, **lab.LAW)
        delay.set_ylim(0, self.top_ms)
        share.set_ylim(self.lowest, 1)
        return finish(figure, panels, f"{self.title or self.qdisc}: 5, 20 and 5 {self.cc} flows, 50 Mbit/s, 40 ms")


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
    ax.plot(t, positive(classic), color=lab.ORANGE, linewidth=1.0, label="p_C")
    ax.plot(t, positive(low), color=lab.BLUE, linewidth=1.8, label="p_L")
    ax.plot(t, positive(np.minimum(2 * np.sqrt(classic), 1)), label="2 √p_C", **lab.LAW)
    ax.set_ylim(1e-5, 3)
    return finish(figure, panels, "dualpi2: 2, 9 and 2 flows each of cubic and prague, 50 Mbit/s, 40 ms")


RENO, SCE = "(1.22/W)², what Reno asks for", "1/(1 + √W), what Reno-SCE asks for"
RED = "red limit 1000000 avpkt 1514 min 60000 max 180000 probability 0.1 bandwidth 50Mbit burst 60 ecn"
FIGURES: dict[str, Callable[[], Figure]] = {
    "codel": Step("codel ecn", "reno", reno, RENO, 5, "target 5 ms"),
    "pie": Step("pie ecn", "reno", reno, RENO, 15, "target 15 ms", "prob"),
    "red": Step(
        RED,
        "reno",
        reno_at_random,
        "(1.31/W)², what Reno asks for",
        60000 * 8 / 50e3,
        "min, 9.6 ms at this rate",
        title="red min 60000 max 180000",
    ),
    "dualpi2": dualpi2,
    "cobalt": Step("cobalt", "reno-sce", reno_sce, SCE, 2.5, "SCE target 2.5 ms", top_ms=16, lowest=3e-2),
    "ramp": Step(
        "ramp bandwidth 50Mbit",
        "reno-sce",
        reno_sce_and_ce,
        "1/(1 + √W + W²/512), with the 64th mark CE",
        lambda p: 100 * p,
        "100 ms times that share",
        "probability",
        top_ms=60,
        lowest=3e-2,
    ),
}
