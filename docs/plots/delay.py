"""Controllers that answer delay: vegas, ledbat, ledbat++ and copa."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plots import lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Segments per second of the bottleneck of all figures here, 20 Mbit/s and 40 ms behind a deep FIFO.
PER_SECOND = 20e6 / 8 / lab.FRAME
BDP = PER_SECOND * 0.040


def fifo() -> dict[str, object]:
    """The bottleneck."""
    return lab.link("20Mbit", "20ms", "pfifo limit 1000")


def vegas() -> Figure:
    """Two to four segments in the queue, alone and per flow."""
    (run,) = lab.simulate(lab.scenario("one", 30, fifo(), [lab.flow("vegas")], step="20ms"))
    figure, panels = lab.sheet(["cwnd", "queued", "delay"], ["flows"], 5.2)
    ax = panels["cwnd"]
    ax.plot(*lab.series(run, "flow.vegas.cwnd"), color=lab.BLUE, label="cwnd", **lab.OURS)
    ax.axhline(BDP, label="BDP", **lab.LAW)
    ax.set(xlim=(0, 30), ylim=(0, 300))
    ax.legend(ncols=2, **lab.LEGEND)
    lab.dress(ax, "pfifo, 20 Mbit/s, 40 ms", "", "segments")
    ax = panels["queued"]
    ax.plot(*lab.series(run, "flow.vegas.cc.queued"), color=lab.GREEN, **lab.OURS)
    ax.axhspan(2, 4, color=lab.SKY, alpha=0.35, linewidth=0)
    ax.set_ylim(0, 8)
    lab.dress(ax, "", "", "queued, segments")
    lab.delay_panel(panels["delay"], run, (0.0, 30.0), 12).set_xlabel("time, s")
    panels["delay"].axhspan(2e3 / PER_SECOND, 4e3 / PER_SECOND, color=lab.SKY, alpha=0.35, linewidth=0)

    ax, counts = panels["flows"], np.arange(1, 7)
    # The initial windows do not overlap, so that each flow measures the empty path.
    flows = [lab.flow("vegas", name=f"f{i}", start=f"{7 * i}ms") for i in range(counts[-1])]
    runs = lab.simulate(*(lab.scenario(f"{n}", 60, fifo(), flows[:n], step="20ms") for n in counts))
    backlog = [lab.mean(r, "queue.bneck.backlog_packets", 40) for r in runs]
    ax.fill_between(counts, 2 * counts, 4 * counts, color=lab.SKY, alpha=0.35, linewidth=0, label="2 to 4 per flow")
    ax.plot(counts, backlog, "o", color=lab.BLUE, label="mean backlog")
    ax.set_ylim(0, None)
    ax.legend(loc="upper left", **lab.LEGEND)
    lab.dress(ax, "flows that start 7 ms apart", "flows", "packets")
    return figure


def background(cc: str, target_ms: float, alone_s: float, duration_s: float = 90) -> Figure:
    """Alone it queues its target; it yields to CUBIC, and returns."""
    name = str(lab.flow(cc)["name"])
    cubic = lab.flow("cubic", start="40s", stop="60s")
    limited = lab.link("20Mbit", "20ms", "pfifo limit 400")
    todo = [
        lab.scenario("alone", alone_s, fifo(), [lab.flow(cc)], step="50ms"),
        lab.scenario("yields", duration_s, limited, [lab.flow(cc), cubic], step="50ms"),
    ]
    alone, yields = lab.simulate(*todo)
    figure, panels = lab.sheet(["goodput", "delay"], ["alone", "cwnd"], 5)
    ax = panels["goodput"]
    for flow, colour in ((name, lab.BLUE), ("cubic", lab.ORANGE)):
        ax.plot(*lab.goodput(yields, flow, 0.5), color=colour, label=flow.replace("pp", "++"), **lab.OURS)
    ax.axhline(20 * lab.PAYLOAD / lab.FRAME, **lab.LAW)
    ax.set(xlim=(0, duration_s), ylim=(0, 25))
    ax.legend(ncols=2, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "with CUBIC from 40 to 60 s, pfifo limit 400, 20 Mbit/s, 40 ms", "", "goodput, Mbit/s")
    lab.delay_panel(panels["delay"], yields, (0, duration_s)).axhline(target_ms, **lab.LAW)
    panels["delay"].set_xlabel("time, s")
    ax = lab.delay_panel(panels["alone"], alone, (0, alone_s), 1.4 * target_ms)
    ax.axhline(target_ms, label=f"target {target_ms:g} ms", **lab.LAW)
    ax.legend(loc="upper right", **lab.LEGEND)
    lab.dress(ax, "alone, deep FIFO", "", "queue delay, ms")
    ax = panels["cwnd"]
    ax.plot(*lab.series(alone, f"flow.{name}.cwnd"), color=lab.BLUE, **lab.OURS)
    ax.axhline(BDP + target_ms / 1e3 * PER_SECOND, label="BDP and the target", **lab.LAW)
    ax.set_ylim(0, 1.4 * (BDP + target_ms / 1e3 * PER_SECOND))
    ax.legend(loc="upper right", **lab.LEGEND)
    lab.dress(ax, "", "time, s", "cwnd, segments")
    return figure


def ledbat() -> Figure:
    """The target of RFC 6817."""
    return background("ledbat", 100, 150)


def ledbat_plus_plus() -> Figure:
    """A shorter target, and a pause after nine times as long as the last slowdown took."""
    return background("ledbat++", 60, 60)


def copa() -> Figure:
    """Two segments per flow in the queue, as flows join and leave."""
    flows = [lab.flow("copa nocompetitive", name=f"f{i}", start=f"{10 * i}s", stop=f"{70 - 10 * i}s") for i in range(4)]
    (run,) = lab.simulate(lab.scenario("join", 70, fifo(), flows, step="20ms"))
    figure, panels = lab.sheet(["goodput", "backlog"], ["flows"], 4.6)
    ax = panels["goodput"]
    for i, colour in enumerate((lab.BLUE, lab.ORANGE, lab.GREEN, lab.PINK)):
        ax.plot(*lab.goodput(run, f"f{i}", 0.5), color=colour, label=f"flow {i + 1}", **lab.OURS)
    steps = np.array([0, 10, 20, 30, 40, 50, 60, 70])
    there = np.array([1, 2, 3, 4, 3, 2, 1, 1])
    ax.step(steps, 20 * lab.PAYLOAD / lab.FRAME / there, where="post", label="an equal share", **lab.LAW)
    ax.set(xlim=(0, 70), ylim=(0, 26))
    ax.legend(ncols=5, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "copa nocompetitive joins and leaves, pfifo, 20 Mbit/s, 40 ms", "", "goodput, Mbit/s")
    ax = panels["backlog"]
    t, backlog = lab.series(run, "queue.bneck.backlog_packets")
    ax.plot(t, backlog, color=lab.ORANGE, linewidth=0.4, alpha=0.5)
    ax.plot(t, np.convolve(backlog, np.ones(50) / 50, "same"), color=lab.ORANGE, label="mean of a second", **lab.OURS)
    ax.step(steps, 2 * there, where="post", label="2 per flow", **lab.LAW)
    ax.set_ylim(0, 30)
    ax.legend(ncols=2, loc="upper left", **lab.LEGEND)
    lab.dress(ax, "", "time, s", "queue, packets")
    ax, counts = panels["flows"], [1, 2, 4, 6, 8, 12]
    todo = [lab.scenario(f"{n}", 50, fifo(), [lab.flow("copa nocompetitive", flows=n)], step="20ms") for n in counts]
    means = [lab.mean(r, "queue.bneck.backlog_packets", 20) for r in lab.simulate(*todo)]
    ax.plot(counts, means, "o", color=lab.BLUE, label="mean backlog, 20 to 50 s")
    ax.plot([0, 12], [0, 24], label="2 per flow", **lab.LAW)
    ax.set(xlim=(0, 13), ylim=(0, None))
    ax.legend(loc="upper left", **lab.LEGEND)
    lab.dress(ax, "flows that start together", "flows", "packets")
    return figure


FIGURES = {"vegas": vegas, "ledbat": ledbat, "ledbat++": ledbat_plus_plus, "copa": copa}
