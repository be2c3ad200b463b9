"""SCReAM of 2024-10-28 alone over the bottleneck of its authors' test activity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plots import lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn import Scenario

TOOL = "scream version 2024-10-28 parity mtu 1360 microburst"
#: Published rates and those of the specification's model M, Mbit/s, by length of the microburst, RTT 25 ms.
BURSTS = {"250us": (71, 70.1), "500us": (75, 71.8), "1ms": (68, 65.8), "2ms": (41, 43.5)}
#: The same for bursts of 0.5 ms by RTT: frames of one size, and varying ones.
RTTS = {
    5: ((80, 77.1), (69, 65.9)),
    10: ((75, 71.4), (66, 61.9)),
    25: ((75, 71.5), (64, 60.9)),
    50: ((72, 68.3), (63, 59.8)),
}


def activity(burst: str, rtt_ms: int, rand: int) -> Scenario:
    """All of the RTT is on the way back."""
    back = {"rate": "none", "qdisc": "pfifo", "ingress": [f"netem delay {rtt_ms}ms limit 100000"]}
    link = {"name": "bneck", "rate": "100Mbit", "shaper": "htb", "qdisc": "dualpi2 version l4steam", "reverse": back}
    call = lab.flow(f"{TOOL} {burst}", name="call", app=f"scream-bw rand {rand}")
    return lab.scenario(f"{burst}-{rtt_ms}-{rand}", 60, link, [call], step="50ms")


def scream() -> Figure:
    """Rate, delay and the share of marks over time; rates by burst and RTT beside the published ones."""
    cells = [(burst, 25, 0) for burst in BURSTS]
    cells += [(burst, rtt, rand) for burst, rand in (("500us", 0), ("500us", 50)) for rtt in RTTS]
    cells = list(dict.fromkeys(cells))
    runs = dict(zip(cells, lab.simulate(*(activity(*cell) for cell in cells)), strict=True))
    rates = {cell: lab.mean(run, "flow.call.sent_rate", 5) for cell, run in runs.items()}
    figure, panels = lab.sheet(["rate", "delay", "alpha"], ["bursts", "rtts"], 6.2)
    run = runs["500us", 25, 0]
    for name, colour, label in (
        ("flow.call.target_rate", lab.ORANGE, "target"),
        ("flow.call.sent_rate", lab.BLUE, "sent"),
    ):
        panels["rate"].plot(*lab.series(run, name), color=colour, label=label, **lab.OURS)
    panels["delay"].plot(*lab.series(run, "queue.bneck.sojourn"), color=lab.BLUE, **lab.OURS)
    panels["alpha"].plot(*lab.series(run, "flow.call.cc.l4s_alpha"), color=lab.BLUE, **lab.OURS)
    panels["rate"].legend(ncols=2, loc="lower right", **lab.LEGEND)
    lab.dress(panels["rate"], "scream, dualpi2, 100 Mbit/s, 25 ms", "", "Mbit/s").set_ylim(0, 100)
    lab.dress(panels["delay"], "", "", "queue delay, ms").set_ylim(0, None)
    lab.dress(panels["alpha"], "", "time, s", "l4s_alpha").set_ylim(0, None)

    ax = panels["bursts"]
    places = range(len(BURSTS))
    ax.plot(places, [rates[burst, 25, 0] for burst in BURSTS], "o", fillstyle="none", color=lab.BLUE, label="ours")
    ax.plot(places, [model for _, model in BURSTS.values()], label="model M", **lab.LAW)
    ax.plot(places, [there for there, _ in BURSTS.values()], "x", color=lab.ORANGE, label="published")
    ax.set_xticks(list(places), list(BURSTS))
    ax.set_ylim(0, 100)
    ax.legend(loc="lower left", **lab.LEGEND)
    lab.dress(ax, "by length of the bursts", "", "RTP, Mbit/s")
    ax = panels["rtts"]
    for index, (rand, marker) in enumerate(((0, "o"), (50, "s"))):
        ours = [rates["500us", rtt, rand] for rtt in RTTS]
        ax.plot(list(RTTS), ours, marker, fillstyle="none", color=lab.BLUE, label=f"ours, rand {rand}")
        ax.plot(list(RTTS), [RTTS[rtt][index][1] for rtt in RTTS], **lab.LAW)
        ax.plot(list(RTTS), [RTTS[rtt][index][0] for rtt in RTTS], "x", color=lab.ORANGE)
    ax.set_ylim(0, 100)
    ax.legend(loc="lower left", **lab.LEGEND)
    lab.dress(ax, "by RTT", "RTT, ms", "RTP, Mbit/s")
    return figure


FIGURES = {"scream": scream}
