"""Controllers that answer the share of marked packets: dctcp, prague and udp-prague."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn import Scenario
    from sojourn.metrics import FloatArray

#: Mean windows of Linux 7.2's DCTCP over 20 ms with independent marks, segments by probability.
LINUX_DCTCP = {0.02: 160.0, 0.05: 36.9, 0.1: 19.8}


def marked(
    name: str, cc: str, p: float, delay_ms: float, duration_s: float, codepoint: str = "ce", **more: object
) -> Scenario:
    """One flow over a path without a bottleneck that marks each data packet with the same probability."""
    mangle = f"mangle data percent {100 * p:.8g}% set-ecn {codepoint}"
    where = lab.link("none", f"{delay_ms:g}ms", "pfifo", ingress=[mangle])
    return lab.scenario(name, duration_s, where, [lab.flow(cc)], step="20ms", **more)


def whole_window(w: float) -> float:
    """Alpha of one flow over a step at w segments, a window of marks a cycle: α² (1 − α/4) = (2w + 1)/(w + 1)²."""
    roots = np.roots([-0.25, 1, 0, -(2 * w + 1) / (w + 1) ** 2])
    return float(min(r.real for r in roots if abs(r.imag) < 1e-9 and 0 < r.real < 1))


def half_window(w: float) -> float:
    """The same with delayed ACKs and a cut that suspends growth for a round trip: w α²/2 + α = 1/2.

    Segments leave in pairs, of which only the second crosses the step.
    """
    return float((np.sqrt(1 + w) - 1) / w)


def dctcp() -> Figure:
    """The saw tooth at a step threshold, and the two laws for independent marks."""
    window, newer = (4.0, 6.0), {"era": "7.x"}
    where = lab.link("50Mbit", "10ms", "codel target 1s ce_threshold 4ms ecn")
    flows = [lab.flow("dctcp version rfc8257")]
    (source,) = lab.simulate(lab.scenario("step", window[1], where, flows, step="2ms", tcp=newer))
    most = 50e6 / 8 / lab.FRAME * 0.024
    levels = {"a whole window": (whole_window(most), (4, 2)), "half a window": (half_window(most), (1, 1.5))}
    figure, panels = lab.sheet(["cwnd", "alpha", "delay"])
    ax = panels["cwnd"]
    ax.plot(*lab.series(source, "flow.dctcp.cwnd", *window), color=lab.BLUE, label="cwnd", **lab.OURS)
    ax.axhline(most + 1, color=lab.INK, linewidth=1, label="W* + 1")
    for label, (alpha, dashes) in levels.items():
        low = most + 1 - (most + 1) * alpha / 2
        ax.axhline(low, color=lab.INK, linewidth=1, dashes=dashes, label=f"(W* + 1)(1 − α/2), {label} of marks")
    ax.set(xlim=window, ylim=(most - 12, most + 10))
    ax.legend(ncols=2, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "codel ce_threshold 4ms, 50 Mbit/s, 20 ms (W* = 99)", "", "segments")
    ax = panels["alpha"]
    ax.plot(*lab.series(source, "flow.dctcp.cc.alpha", *window), color=lab.GREEN, **lab.OURS)
    for alpha, dashes in levels.values():
        ax.axhline(alpha, color=lab.INK, linewidth=1, dashes=dashes)
    ax.set_ylim(0, 0.2)
    lab.dress(ax, "", "", "α")
    lab.delay_panel(panels["delay"], source, window).axhline(4, **lab.LAW)
    panels["delay"].set_xlabel("time, s")

    ps = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2]
    points = {}
    for version in ("linux", "rfc8257"):
        cc = f"dctcp version {version}"
        todo = [marked(f"{version}-{p:g}", cc, p, 10, 60, tcp=newer) for p in ps]
        points[version] = (ps, np.array([lab.mean(r, "flow.dctcp.cwnd", 10) for r in lab.simulate(*todo)]))
    points["Linux 7.2.13"] = (list(LINUX_DCTCP), np.array(list(LINUX_DCTCP.values())))
    laws = {
        "2/p, a cut in every round trip": lambda p: 2 / p,
        "√2/p, a cut waits for a mark": lambda p: np.sqrt(2) / p,
        # x (eˣ − 1) = 2 for x = pW.
        "1.06/p, and only whole segments grow": lambda p: 1.06 / p,
    }
    title = "independent marks, no bottleneck, 20 ms"
    lab.response_panel(panels["response"], points, laws, title=title, x="marking probability p")
    return figure


def rates(cc: str, ps: Sequence[float], rtts_ms: Sequence[int]) -> dict[str, tuple[Sequence[float], FloatArray]]:
    """Goodput of one flow in Mbit/s for each probability and RTT."""
    name, points = str(lab.flow(cc)["name"]), {}
    for rtt in rtts_ms:
        todo = [marked(f"{rtt}ms-{p:g}", cc, p, rtt / 2, 100) for p in ps]
        values = [float(lab.goodput(r, name, 1)[1][40:].mean()) for r in lab.simulate(*todo)]
        points[f"{rtt} ms"] = (ps, np.array(values))
    return points


def waiting(p: FloatArray) -> FloatArray:
    """Marks per virtual RTT where a cut waits for the gate and then for a new mark: q + √(q² + 2q), q = 1 − p."""
    q = 1 - p
    return q + np.sqrt(q**2 + 2 * q)


def prague() -> Figure:
    """A DualPI2 held below its step, the rise and fall of alpha, and a rate that does not depend on the RTT."""
    window = (5.0, 10.0)
    where = lab.link("50Mbit", "10ms", "dualpi2")
    (source,) = lab.simulate(lab.scenario("dualpi2", window[1], where, [lab.flow("prague")], step="5ms"))
    figure, panels = lab.sheet(["cwnd", "delay"], ["response", "alpha"], 5.4)
    ax = panels["cwnd"]
    ax.plot(*lab.series(source, "flow.prague.cwnd", *window), color=lab.BLUE, label="cwnd", **lab.OURS)
    ax.axhline(50e6 / 8 / lab.FRAME * 0.020, label="BDP", **lab.LAW)
    ax.set(xlim=window, ylim=(70, 95))
    ax.legend(ncols=2, loc="lower left", **lab.LEGEND)
    lab.dress(ax, "dualpi2, 50 Mbit/s, 20 ms", "", "segments")
    lab.delay_panel(panels["delay"], source, window).axhline(1, **lab.LAW)
    panels["delay"].set_xlabel("time, s")

    on, off = "mangle data percent 10% set-ecn ce", "mangle data percent 0% set-ecn ce"
    where = lab.link("none", "5ms", "pfifo", ingress=[on])
    change = [{"at": "10s", "replace": {"link.bneck.forward.ingress0": off}}]
    todo = [
        lab.scenario(f"seed{n}", 11, where, [lab.flow("prague")], step="5ms", seed=n, schedule=change)
        for n in range(1, 9)
    ]
    ax = panels["alpha"]
    for i, r in enumerate(lab.simulate(*todo)):
        t, alpha = lab.series(r, "flow.prague.cc.alpha", 9.8, 10.8)
        ax.plot(t - 10, alpha, color=lab.GREEN, linewidth=0.8, label=None if i else "α, eight seeds")
    t = np.linspace(0, 0.8, 100)
    ax.axhline(0.1, color=lab.INK, linewidth=0.6, dashes=(1, 2))
    ax.plot(t, 0.1 * (15 / 16) ** (t / 0.025), label="0.1 (15/16)^(t/25 ms)", **lab.LAW)
    ax.set_ylim(0, None)
    ax.legend(**lab.LEGEND)
    lab.dress(ax, "a tenth is marked, then nothing", "time after the last mark, s", "α")

    points = rates("prague version draft04", [0.01, 0.02, 0.05, 0.1, 0.2], [5, 20, 100])
    laws = {
        "0.96 (1 − p)/p, a cut in every 25 ms": lambda p: 0.96 * (1 - p) / p,
        "a cut waits for a mark": lambda p: 0.48 * waiting(p) / p,
        "the same, 100 ms": lambda p: 0.12 * waiting(p) / p,
    }
    lab.response_panel(
        panels["response"], points, laws, title="independent marks", x="marking probability p", y="goodput, Mbit/s"
    )
    panels["response"].set_ylim(bottom=0.15)
    return figure


def udp_prague() -> Figure:
    """The start without slow start, and the rate under independent marks."""
    window = (0.0, 8.0)
    where = lab.link("50Mbit", "5ms", "dualpi2")
    (source,) = lab.simulate(lab.scenario("dualpi2", window[1], where, [lab.flow("udp-prague")], step="5ms"))
    figure, panels = lab.sheet(["rate", "delay", "alpha"])
    ax = panels["rate"]
    t, rate = lab.series(source, "flow.udp-prague.pacing_rate", *window)
    ax.plot(t, rate, color=lab.BLUE, label="pacing rate", linewidth=1.8)
    # A packet per virtual RTT of 25 ms in every window; beyond 11.2 Mbit/s, what a millisecond holds.
    slope, knee = 1400 * 8e-6 / 0.025**2, 11.2
    t = np.linspace(0, 2.0, 200)
    at = (knee - 0.1) / slope
    law = np.where(t < at, 0.1 + slope * t, knee * 1.04 ** ((t - at) / 0.025))
    ax.plot(t[law < 50], law[law < 50], label="17.9 Mbit/s per s, then ×1.04 per 25 ms", **lab.LAW)
    ax.set(xlim=window, ylim=(0, 70))
    ax.legend(ncols=2, loc="upper right", **lab.LEGEND)
    lab.dress(ax, "dualpi2, 50 Mbit/s, 10 ms", "", "Mbit/s")
    lab.delay_panel(panels["delay"], source, window)
    ax = panels["alpha"]
    ax.plot(*lab.series(source, "flow.udp-prague.cc.alpha", *window), color=lab.GREEN, **lab.OURS)
    ax.set_ylim(0, None)
    lab.dress(ax, "", "time, s", "α")
    points = rates("udp-prague", [0.02, 0.03, 0.05, 0.1, 0.2], [5, 20])
    laws = {
        "0.896 (1 − p)/p, a cut in every 25 ms": lambda p: 0.896 * (1 - p) / p,
        "a cut waits for a mark": lambda p: 0.448 * waiting(p) / p,
    }
    title = "independent marks, no bottleneck"
    lab.response_panel(panels["response"], points, laws, title=title, x="marking probability p", y="goodput, Mbit/s")
    return figure


FIGURES = {"dctcp": dctcp, "prague": prague, "udp-prague": udp_prague}
