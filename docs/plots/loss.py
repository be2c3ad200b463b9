"""Controllers that answer losses: the saw teeth and response functions of reno, cubic and scalable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn import Run
    from sojourn.metrics import FloatArray

#: Growth of CUBIC and its multiplier, RFC 9438 4.1 and 4.6.
CUBIC_C, CUBIC_BETA = 0.4, 0.7


def recoveries(source: Run, name: str, start_s: float, quiet_s: float) -> list[tuple[float, float]]:
    """Where the window is least after each burst of losses: time and segments."""
    t, sent_again = lab.series(source, f"flow.{name}.retransmits", start_s)
    lost = t[1:][np.diff(sent_again) > 0]
    first = [at for i, at in enumerate(lost) if i == 0 or at - lost[i - 1] > quiet_s]
    found = []
    for at in first:
        times, cwnd = lab.series(source, f"flow.{name}.cwnd", at, at + quiet_s)
        lowest = int(np.argmin(cwnd))
        if lowest > 0:
            found.append((float(times[lowest]), float(cwnd[lowest])))
    return found


def responses(
    cc: str,
    losses: Sequence[float],
    words: Callable[[float], str],
    delay_ms: float,
    expected: Callable[[float], float],
    count: int = 200,
) -> FloatArray:
    """Mean window for each loss probability over a path without a bottleneck, from about `count` losses each."""
    runs, settle_s = [], 10.0
    for p in losses:
        duration_s = settle_s + max(20.0, count * 2e-3 * delay_ms / (p * expected(p)))
        where = lab.link("none", f"{delay_ms:g}ms", "pfifo", ingress=[words(p)])
        runs.append(lab.scenario(f"p{p:g}", round(duration_s), where, [lab.flow(cc)], step="20ms", tcp={"ecn": "off"}))
    # The first seconds are slow start and the descent from it.
    return np.array([lab.mean(r, f"flow.{lab.flow(cc)['name']}.cwnd", settle_s) for r in lab.simulate(*runs)])


def independent(p: float) -> str:
    """Every data packet is lost with the same probability."""
    return f"drop data percent {100 * p:.8g}%"


def periodic(p: float) -> str:
    """One data packet in 1/p is lost."""
    return f"drop data every {round(1 / p)}"


def saw(cc: str, link_mbps: float, rtt_ms: int, duration_s: float) -> tuple[Run, float]:
    """One flow over a FIFO that holds a bandwidth-delay product: the run, and segments per second of the link."""
    per_second = link_mbps * 1e6 / 8 / lab.FRAME
    limit, newer = round(per_second * rtt_ms / 1e3), {"era": "7.x", "ecn": "off"}
    where = lab.link(f"{link_mbps:g}Mbit", f"{rtt_ms / 2:g}ms", f"pfifo limit {limit}")
    (source,) = lab.simulate(lab.scenario("saw", duration_s, where, [lab.flow(cc)], step="20ms", tcp=newer))
    return source, per_second


def window_panel(ax: Axes, source: Run, name: str, window: tuple[float, float], title: str) -> Axes:
    """Window and slow-start threshold."""
    ax.plot(*lab.series(source, f"flow.{name}.cwnd", *window), color=lab.BLUE, label="cwnd", linewidth=1.8)
    t, threshold = lab.series(source, f"flow.{name}.ssthresh", *window)
    ax.plot(t, threshold, color=lab.SKY, linewidth=1.0, label="ssthresh")
    ax.set_xlim(window)
    return lab.dress(ax, title, "", "segments")


def root(k: float) -> Callable[[Any], Any]:
    """The law k/√p."""
    return lambda p: k / np.sqrt(p)


def reno() -> Figure:
    """The saw tooth of a FIFO, and the square root of p."""
    window = (8.0, 30.0)
    source, per_second = saw("reno", 20, 40, window[1])
    # A segment per round trip, which is W / rate while the queue is not empty: W² = W0² + 2 rate t.
    least, most = 0.04 * per_second, 0.08 * per_second
    period_s = (most**2 - least**2) / (2 * per_second)
    losses = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
    points = {
        "independent losses": (losses, responses("reno", losses, independent, 5, root(1.31))),
        "periodic losses": (losses, responses("reno", losses, periodic, 5, root(1.22))),
    }
    figure, panels = lab.sheet(["cwnd", "delay", "goodput"])
    ax = window_panel(panels["cwnd"], source, "reno", window, "pfifo of one BDP (66 packets), 20 Mbit/s, 40 ms")
    for i, (start, _) in enumerate(recoveries(source, "reno", window[0], 1.0)):
        t = np.linspace(0, period_s, 50)
        ax.plot(start + t, np.sqrt(least**2 + 2 * per_second * t), label=None if i else "√(W₀² + 2Ct)", **lab.LAW)
    ax.set_ylim(0, 1.35 * most)
    ax.legend(ncols=3, loc="upper left", **lab.LEGEND)
    lab.delay_panel(panels["delay"], source, window).axhline(1e3 * least / per_second, **lab.LAW)
    lab.goodput_panel(panels["goodput"], source, {"reno": lab.BLUE}, 0.5, 20)
    laws = {"1.31/√p": root(1.31), "1.22/√p": root(1.22)}
    lab.response_panel(panels["response"], points, laws, title="no bottleneck, 10 ms", x="loss probability p")
    return figure


def cubic() -> Figure:
    """The curve between two losses, and the response function with its two regions."""
    window = (5.0, 45.0)
    source, _ = saw("cubic", 50, 80, window[1])
    losses = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]

    def law(p: FloatArray) -> FloatArray:
        return 1.0538 * (0.08 / p) ** 0.75

    def friendly(p: FloatArray) -> FloatArray:
        return 1.22 / np.sqrt(p)

    def expected(p: float) -> float:
        return float(max(law(np.array(p)), friendly(np.array(p))))

    # Windows at low p are correlated over many losses.
    points = {
        "distances uniform in 0…2/p": (losses, responses("cubic", losses, uniform, 40, expected, 600)),
        "independent losses": (losses, responses("cubic", losses, independent, 40, expected, 600)),
    }
    figure, panels = lab.sheet(["cwnd", "delay", "goodput"])
    title = "pfifo of one BDP (330 packets), 50 Mbit/s, 80 ms"
    ax = window_panel(panels["cwnd"], source, "cubic", window, title)
    cuts = recoveries(source, "cubic", window[0], 1.0)
    for i, (start, lowest) in enumerate(cuts):
        w_max = lab.mean(source, "flow.cubic.cc.w_max", start + 0.1, start + 0.5)
        k = np.cbrt((w_max - lowest) / CUBIC_C)
        t = np.linspace(0, (cuts[i + 1][0] if i + 1 < len(cuts) else window[1]) - start, 80)
        # The window for the next round trip: the curve one minimum RTT ahead.
        ax.plot(start + t, CUBIC_C * (t + 0.08 - k) ** 3 + w_max, label=None if i else "C(t − K)³ + W_max", **lab.LAW)
    ax.set_ylim(0, 900)
    ax.legend(ncols=3, loc="upper left", **lab.LEGEND)
    lab.delay_panel(panels["delay"], source, window)
    lab.goodput_panel(panels["goodput"], source, {"cubic": lab.BLUE}, 0.5, 50)
    laws = {"1.0538 (R/p)^0.75, RFC 9438": law, "1.22/√p, Reno-friendly": friendly}
    lab.response_panel(panels["response"], points, laws, title="no bottleneck, R = 80 ms", x="loss probability p")
    return figure


def uniform(p: float) -> str:
    """Distances between losses are uniform, with the mean 1/p: neither locked to the curve nor memoryless."""
    distances = np.random.default_rng(1).integers(1, round(2 / p), 2000)
    return "drop data list " + ",".join(str(n) for n in np.cumsum(distances))


def scalable() -> Figure:
    """The same number of round trips between losses at two rates, and the inverse of p."""
    window = (8.0, 16.0)
    losses = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]

    def high(p: FloatArray) -> FloatArray:
        return 1 / (14.35 * p)

    def low(p: FloatArray) -> FloatArray:
        return 2.74 / np.sqrt(p)

    def expected(p: float) -> float:
        return float(min(high(np.array(p)), low(np.array(p))))

    points = {
        "independent losses": (losses, responses("scalable", losses, independent, 5, expected)),
        "periodic losses": (losses, responses("scalable", losses, periodic, 5, expected)),
    }
    figure, panels = lab.sheet(["cwnd", "fast", "delay"])
    for name, mbps in (("cwnd", 50), ("fast", 200)):
        source, per_second = saw("scalable", mbps, 40, window[1])
        most = 0.08 * per_second
        title = f"pfifo of one BDP ({most / 2:.0f} packets), {mbps} Mbit/s, 40 ms"
        ax = window_panel(panels[name], source, "scalable", window, title)
        for i, (start, _) in enumerate(recoveries(source, "scalable", window[0], 0.4)):
            # A hundredth of what is acknowledged: C/100 per second while the queue is not empty.
            t = np.array([0.0, min(12.5 * most / per_second, window[1] - start)])
            ax.plot(start + t, 7 / 8 * most + per_second / 100 * t, label=None if i else "⅞ W_max + Ct/100", **lab.LAW)
        ax.set_ylim(0.75 * most, 1.15 * most)
    panels["cwnd"].legend(ncols=3, loc="upper left", **lab.LEGEND)
    lab.delay_panel(panels["delay"], source, window).set_xlabel("time, s")
    laws = {"1/(14.35 p)": high, "2.74/√p, below 100 segments": low}
    lab.response_panel(panels["response"], points, laws, title="no bottleneck, 10 ms", x="loss probability p")
    return figure


FIGURES = {"reno": reno, "cubic": cubic, "scalable": scalable}
