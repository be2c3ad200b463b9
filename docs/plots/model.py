"""BBR: what is in flight against the model's multiples of the bandwidth-delay product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plots import lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MBPS, RTT_MS = 50, 40
BDP = MBPS * 1e6 / 8 / lab.FRAME * RTT_MS / 1e3


def bbr() -> Figure:
    """v1 and v3 alone: start, probes for bandwidth, probes for the RTT."""
    where = lab.link(f"{MBPS}Mbit", f"{RTT_MS // 2}ms", "pfifo limit 1000")
    colours = {"v1": lab.GREEN, "v3": lab.BLUE}
    # Multiples of a BDP between which probes for bandwidth and for the RTT move.
    levels = {"v1": (2.0, 1.25, 1.0), "v3": (2.0, 1.25, 1.0, 0.5)}
    zooms = {"v1": (15.0, 16.2), "v3": (12.9, 13.8)}
    todo = [lab.scenario(v, 24, where, [lab.flow(f"bbr version {v}")], step="5ms") for v in colours]
    figure, panels = lab.sheet(["v1", "v1 delay", "v3", "v3 delay"], ["v1 cycle", "v1 gain", "v3 cycle", "v3 gain"], 8)
    for version, run in zip(colours, lab.simulate(*todo), strict=True):
        heading = f"{version}, {MBPS} Mbit/s, {RTT_MS} ms, pfifo limit 1000"
        for name, window in ((version, (0.0, 24.0)), (f"{version} cycle", zooms[version])):
            ax = panels[name]
            thin = 3 if name == version else 1
            t, flight = (column[::thin] for column in lab.series(run, "flow.bbr.in_flight", *window))
            ax.plot(t, flight / BDP, color=colours[version], linewidth=0.9, label="in flight")
            if name == version:
                t, cwnd = (column[::thin] for column in lab.series(run, "flow.bbr.cwnd", *window))
                ax.plot(t, cwnd / BDP, color=lab.SKY, linewidth=0.9, label="cwnd")
            for level in levels[version]:
                ax.axhline(level, **lab.LAW)
            ax.set(xlim=window, ylim=(0, 3.4) if name == version else (0.7, 2.2))
            lab.dress(
                ax,
                heading if name == version else "a probe for bandwidth" if version == "v3" else "probes for bandwidth",
                "",
                "BDP",
            )
        panels[version].legend(ncols=2, loc="upper right", **lab.LEGEND)
        lab.delay_panel(panels[f"{version} delay"], run, (0.0, 24.0)).set_xlabel("time, s")
        ax = panels[f"{version} gain"]
        ax.plot(*lab.series(run, "flow.bbr.cc.pacing_gain", *zooms[version]), color=lab.PINK, **lab.OURS)
        for gain in (0.75 if version == "v1" else 0.906, 1.25):
            ax.axhline(gain, **lab.LAW)
        ax.set(xlim=zooms[version], ylim=(0.6, 1.4))
        lab.dress(ax, "", "time, s", "pacing gain")
    return figure


FIGURES = {"bbr": bbr}
