"""Controllers of real-time media: gcc and nada, alone over a drop-tail queue of 3 Mbit/s and 40 ms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn import Run, Scenario

#: What the link carries, Mbit/s of IP bytes: full packets of 1200 bytes in frames of 1214.
CAPACITY = 3 * 1200 / 1214


def alone(name: str, cc: str, duration_s: float) -> Scenario:
    """One call, of frames of one size so that what is seen is the controller's."""
    call = lab.flow(cc, name="call", app="video key 1 sigma 0")
    return lab.scenario(name, duration_s, lab.link("3Mbit", "20ms", "pfifo limit 100"), [call], step="50ms")


def cuts(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """When over-use took the rate down, and the rate then over the incoming rate."""
    t, rate = lab.series(run, "flow.call.cc.delay_rate")
    incoming = lab.series(run, "flow.call.cc.incoming")[1]
    down = np.flatnonzero(rate[1:] < 0.98 * rate[:-1]) + 1
    return t[down], rate[down] / incoming[down]


def gcc() -> Figure:
    """Growth to the capacity, over-use above the threshold, 0.85 of what arrives."""
    looks = {"": ("trendline", lab.BLUE), " estimator kalman": ("kalman", lab.ORANGE)}
    runs = lab.simulate(*(alone(label, f"gcc{words}", 90) for words, (label, _) in looks.items()))
    figure, panels = lab.sheet(["rate", "detector", "delay"], ["growth", "beta"], 6.2)
    for run, (label, colour) in zip(runs, looks.values(), strict=True):
        t, rate = lab.series(run, "flow.call.cc.delay_rate")
        panels["rate"].plot(t, rate, color=colour, label=label, **lab.OURS)
        panels["delay"].plot(*lab.series(run, "queue.bneck.sojourn"), color=colour, **lab.OURS)
        early = t <= 35
        panels["growth"].plot(t[early], rate[early], color=colour, label=label, **lab.OURS)
        when, share = cuts(run)
        panels["beta"].plot(when, share, "os"[label == "kalman"], color=colour, fillstyle="none", label=label)

    ax = panels["rate"]
    ax.axhline(CAPACITY, label="capacity", **lab.LAW)
    ax.set(xlim=(0, 90), ylim=(0, 4.2))
    ax.legend(ncols=3, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "gcc, pfifo limit 100, 3 Mbit/s, 40 ms", "", "target rate, Mbit/s")
    ax = panels["detector"]
    ax.plot(*lab.series(runs[0], "flow.call.cc.estimate"), color=lab.GREEN, linewidth=0.9, label="estimate")
    ax.plot(*lab.series(runs[0], "flow.call.cc.threshold"), color=lab.PINK, label="threshold", **lab.OURS)
    for when in cuts(runs[0])[0]:
        ax.axvspan(when - 0.4, when + 0.4, color=lab.SKY, alpha=0.5, linewidth=0)
    ax.legend(ncols=2, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "", "", "trendline, ms")
    lab.dress(panels["delay"], "", "time, s", "queue delay, ms").set_ylim(0, None)

    ax = panels["growth"]
    t = np.linspace(0, 30, 50)
    ax.plot(t, 0.3 * 1.08**t, label="8 % per second", **lab.LAW)
    ax.set(yscale="log", xlim=(0, 35))
    ax.set_yticks([0.3, 0.5, 1, 2, 3], ["0.3", "0.5", "1", "2", "3"])
    ax.set_yticks([], minor=True)
    ax.legend(loc="upper left", **lab.LEGEND)
    lab.dress(ax, "growth from 300 kbit/s", "time, s", "target rate, Mbit/s")
    ax = panels["beta"]
    ax.axhline(0.85, label="beta", **lab.LAW)
    ax.set(xlim=(0, 90), ylim=(0.8, 0.9))
    ax.legend(ncols=3, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "after over-use", "time, s", "rate over incoming rate")
    return figure


def nada() -> Figure:
    """The signal that holds the rate: PRIO XREF RMAX / r, here all of it queuing delay."""

    def of(ratio: float) -> Scenario:
        # Without a part for the sender's queue the encoder gets the reference rate; the kilobit makes the link bind.
        rmax = np.ceil(ratio * CAPACITY * 1e6) + 1000
        return alone(f"x{ratio:g}", f"nada rmax {rmax:.0f}bit beta_v 0 beta_s 0", 60)

    ratios = (1, 1.5, 2, 3, 4, 4.5)
    runs = dict(zip(ratios, lab.simulate(*map(of, ratios)), strict=True))
    shown = {1: lab.BLUE, 2: lab.ORANGE, 4: lab.GREEN}
    figure, panels = lab.sheet(["rate", "delay", "mode"], ["law", "ramp"], 6.2)
    for ratio, colour in shown.items():
        run, label = runs[ratio], "RMAX = r" if ratio == 1 else f"RMAX = {ratio} r"
        t, rate = lab.series(run, "flow.call.cc.r_ref")
        panels["rate"].plot(t, rate, color=colour, label=label, **lab.OURS)
        panels["delay"].plot(*lab.series(run, "queue.bneck.sojourn"), color=colour, **lab.OURS)
        panels["delay"].axhline(10 * ratio, **lab.LAW)
        accelerated = lab.series(run, "flow.call.cc.accelerated")[1]
        panels["mode"].plot(t, accelerated, color=colour, **lab.OURS)
    # Here the law's delay, not RMAX, ends the ramp-up.
    ramp(panels["ramp"], runs[4], lab.GREEN)

    ax = panels["rate"]
    ax.axhline(CAPACITY, **lab.LAW)
    ax.set(xlim=(0, 60), ylim=(0, 4.2))
    ax.legend(ncols=3, loc="upper right", **lab.LEGEND)
    lab.dress(ax, "nada, pfifo limit 100, 3 Mbit/s, 40 ms", "", "reference rate, Mbit/s")
    lab.dress(panels["delay"], "", "", "queue delay, ms").set_ylim(0, None)
    panels["mode"].set_yticks([0, 1], ["gradual", "accelerated"])
    lab.dress(panels["mode"], "", "time, s", "mode")

    ax = panels["law"]
    for name, marker, size, colour, label in (
        ("flow.call.cc.x_curr", "o", 8, lab.BLUE, "mean x, 30 to 60 s"),
        ("queue.bneck.sojourn", "s", 5, lab.ORANGE, "mean queue delay"),
    ):
        means = [lab.mean(run, name, 30) for run in runs.values()]
        ax.plot(ratios, means, marker, markersize=size, fillstyle="none", color=colour, label=label)
    ax.plot([0, 5], [0, 50], label="XREF RMAX / r", **lab.LAW)
    ax.set(xlim=(0, 5), ylim=(0, 50))
    ax.legend(loc="upper left", **lab.LEGEND)
    lab.dress(ax, "at rest", "RMAX / r", "ms")
    ax = panels["ramp"]
    ax.axhline(50 / (40 + 100 + 120), label="QBOUND / (RTT + DELTA + DFILT)", **lab.LAW)
    ax.set(ylim=(0, 0.5))
    ax.legend(loc="upper left", **lab.LEGEND)
    lab.dress(ax, "accelerated ramp-up", "time, s", "rate over received rate, less 1")
    return figure


def ramp(ax: Axes, run: Run, colour: str) -> None:
    """By how much the rate exceeds what arrives while nothing queues."""
    t, rate = lab.series(run, "flow.call.cc.r_ref")
    received = lab.series(run, "flow.call.cc.r_recv")[1]
    fast = (lab.series(run, "flow.call.cc.accelerated")[1] > 0) & (received > 0)
    ax.plot(t[fast], rate[fast] / received[fast] - 1, "o", color=colour, markersize=3, fillstyle="none")


FIGURES = {"gcc": gcc, "nada": nada}
