"""Controllers that answer SCE marks: convergence of two flows, and what a probability of SCE holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn import Run
    from sojourn.metrics import FloatArray

CAKE = "cake bandwidth 50Mbit sce flowblind"


def two(cc: str, label: str) -> Run:
    """Two flows over one queue, 50 Mbit/s and 80 ms, the second ten seconds later."""
    flows = [lab.flow(cc, name="first"), lab.flow(cc, name="second", start="10s")]
    (run,) = lab.simulate(lab.scenario(label, 100, lab.link("50Mbit", "40ms", CAKE), flows, step="100ms"))
    return run


def convergence(panels: dict[str, Axes], runs: dict[str, tuple[Run, float, str]]) -> None:
    """Windows of the first run, and of each run the gap between its flows beside exp(−t/τ) from 5 s after the start."""
    run = next(iter(runs.values()))[0]
    for name, colour in (("first", lab.BLUE), ("second", lab.SKY)):
        panels["cwnd"].plot(*lab.series(run, f"flow.{name}.cwnd"), color=colour, label=f"{name} flow", **lab.OURS)
    panels["cwnd"].set(xlim=(0, 100), ylim=(0, 460))
    panels["cwnd"].legend(ncols=2, **lab.LEGEND)
    lab.dress(panels["cwnd"], f"{next(iter(runs))} over cake sce flowblind, 50 Mbit/s, 80 ms", "", "segments")
    lab.delay_panel(panels["delay"], run, (0.0, 100.0), 6)
    ax = panels["gap"]
    for i, (label, (run, tau, colour)) in enumerate(runs.items()):
        t, first = lab.series(run, "flow.first.cwnd", 15)
        gap = np.abs(first - np.interp(t, *lab.series(run, "flow.second.cwnd")))
        keep = t < 15 + tau
        ax.plot(t[keep], gap[keep], color=colour, label=f"{label}, τ = {tau:g} s", **lab.OURS)
        law = gap[0] * np.exp(-(t - 15) / tau)
        ax.plot(t[keep], law[keep], label="exp(−t/τ), published τ" if i + 1 == len(runs) else None, **lab.LAW)
    ax.set(yscale="log", ylim=(10, 900))
    ax.legend(ncols=3, loc="upper right", **lab.LEGEND)
    lab.dress(ax, "", "time, s", "gap, segments")


def held(
    cc: str, ps: Sequence[float], expected: Callable[[FloatArray], FloatArray]
) -> tuple[Sequence[float], FloatArray]:
    """Mean windows under independent SCE, in the second half of runs that last several time constants."""
    todo, name = [], lab.flow(cc)["name"]
    for p in ps:
        # Time constants are at most 4 √W/p round trips of 10 ms.
        duration_s = round(10 + 24 * 0.01 * float(np.sqrt(expected(np.array(p)))) / p)
        # The early loss ends slow start, which SCE alone does not.
        ingress = ["drop data nth 5", f"mangle data percent {100 * p:g}% set-ecn ect1"]
        where = lab.link("none", "5ms", "pfifo", ingress=ingress)
        todo.append(lab.scenario(f"{p:g}", duration_s, where, [lab.flow(cc)], step="20ms"))
    runs = lab.simulate(*todo)
    return ps, np.array([lab.mean(r, f"flow.{name}.cwnd", r.series(f"flow.{name}.cwnd")[0][-1] / 2) for r in runs])


def reno_sce() -> Figure:
    """Both versions converge with the published time constants and hold the published windows."""
    runs = {
        "v3": (two("reno-sce version v3", "v3"), 28.7, lab.BLUE),
        "v2": (two("reno-sce version v2", "v2"), 30.8, lab.ORANGE),
        "v2, 536 bytes": (two("reno-sce version v2 rcv_mss 536", "v2-536"), 11.4, lab.GREEN),
    }
    figure, panels = lab.sheet(["cwnd", "delay", "gap"], height_in=5.6)
    convergence(panels, runs)
    laws: dict[str, Callable[[FloatArray], FloatArray]] = {
        "v2: (2(1 − p)/p)²": lambda p: (2 * (1 - p) / p) ** 2,
        "v3: ((1 − p)/p)²": lambda p: ((1 - p) / p) ** 2,
    }
    v2, v3 = laws.values()
    points = {
        "v2": held("reno-sce version v2", [0.1, 0.14, 0.2, 0.3], v2),
        "v3": held("reno-sce version v3", [0.07, 0.1, 0.14, 0.2], v3),
    }
    title = "independent SCE marks, no bottleneck, 10 ms"
    lab.response_panel(panels["response"], points, laws, title=title, x="SCE probability p")
    return figure


def dctcp_sce() -> Figure:
    """Convergence twice as fast as Reno-SCE's, and two marks per window."""
    runs = {"dctcp-sce": (two("dctcp-sce", "dctcp-sce"), 13.5, lab.BLUE)}
    figure, panels = lab.sheet(["cwnd", "delay", "gap"], height_in=5.6)
    convergence(panels, runs)

    def law(p: FloatArray) -> FloatArray:
        return 2 * (1 - p) / p

    points = {"dctcp-sce": held("dctcp-sce", [0.02, 0.03, 0.05, 0.1, 0.2], law)}
    title = "independent SCE marks, no bottleneck, 10 ms"
    lab.response_panel(panels["response"], points, {"2(1 − p)/p": law}, title=title, x="SCE probability p")
    return figure


def cubic_sce() -> Figure:
    """Without SCE it is CUBIC, with SCE its curve turns flat below the CE target."""
    figure, panels = lab.sheet(["cwnd", "delay", "goodput"], ["same"], 5.2)
    where = lab.link("50Mbit", "20ms", "cake bandwidth 50Mbit sce")
    colours = {"cubic-sce": lab.BLUE, "cubic": lab.ORANGE}
    todo = [lab.scenario(f"sce-{cc}", 30, where, [lab.flow(cc)], step="20ms") for cc in colours]
    for cc, run in zip(colours, lab.simulate(*todo), strict=True):
        panels["cwnd"].plot(*lab.series(run, f"flow.{cc}.cwnd"), color=colours[cc], label=cc, **lab.OURS)
        panels["delay"].plot(*lab.series(run, "queue.bneck.sojourn"), color=colours[cc], linewidth=0.8)
        panels["goodput"].plot(*lab.goodput(run, cc, 0.5), color=colours[cc], **lab.OURS)
    panels["cwnd"].set(xlim=(0, 30), ylim=(0, 300))
    panels["cwnd"].axhline(50e6 / 8 / lab.FRAME * 0.040, label="BDP", **lab.LAW)
    panels["cwnd"].legend(ncols=3, **lab.LEGEND)
    lab.dress(panels["cwnd"], "cake sce, 50 Mbit/s, 40 ms", "", "segments")
    panels["delay"].set_ylim(0, 12)
    panels["delay"].axhline(5, **lab.LAW)
    lab.dress(panels["delay"], "", "", "queue delay, ms")
    panels["goodput"].axhline(50 * lab.PAYLOAD / lab.FRAME, **lab.LAW)
    panels["goodput"].set_ylim(0, 55)
    lab.dress(panels["goodput"], "", "time, s", "goodput, Mbit/s")
    where = lab.link("50Mbit", "40ms", "pfifo limit 330")
    words = {"cubic-sce": "cubic-sce", "cubic": "cubic hystart_era 2020"}
    ax = panels["same"]
    todo = [
        lab.scenario(f"fifo-{cc}", 40, where, [lab.flow(words[cc])], step="50ms", tcp={"ecn": "sce"}) for cc in words
    ]
    for (cc, run), width in zip(zip(words, lab.simulate(*todo), strict=True), (4.0, 1.2), strict=True):
        colour = lab.SKY if width > 2 else lab.INK
        ax.plot(*lab.series(run, f"flow.{cc}.cwnd"), color=colour, linewidth=width, label=words[cc])
    ax.set_ylim(0, 1000)
    ax.legend(**lab.LEGEND)
    lab.dress(ax, "pfifo of one BDP, 50 Mbit/s, 80 ms: no SCE", "time, s", "cwnd, segments")
    return figure


FIGURES = {"reno-sce": reno_sce, "dctcp-sce": dctcp_sce, "cubic-sce": cubic_sce}
