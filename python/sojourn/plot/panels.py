"""Panels over one time axis: rate, RTT, queue delay, window, marks and drops, or any recorded series.

One run has a colour for each flow and queue; several runs have a colour each, and a dash for each flow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from sojourn import metrics, style
from sojourn.plot.curves import (
    EMPTY,
    HIGH,
    LOW,
    MOST,
    PING,
    Curve,
    Held,
    PlotError,
    grouped,
    of_flows,
    of_groups,
    of_series,
    pings,
    told_apart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.metrics import FloatArray, Source
    from sojourn.plot.curves import Samples

WIDTH_IN, PANEL_IN, HEAD_IN = 10.0, 1.9, 0.9
DROPS = "drops"
RUNS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222", "#888888")
QUEUES = (style.INK, "#E69F00", "#56B4E9", "#CC79A7", "#009E73", "#D55E00", "#0072B2", "#888888")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1)), (0, (8, 3)),
                           (0, (1, 3)), (0, (3, 1, 1, 1, 1, 1)))  # fmt: skip


def rate(source: Held) -> list[Curve]:
    """Goodput of each flow, Mbit/s."""
    step = bin_s(source)

    def read(flow: str) -> Samples:
        t, rate = per_second(*metrics.finite(source, f"flow.{flow}.goodput_bytes"), step)
        return t, rate * 8e-6

    return [*of_flows(source, read), *of_groups(source, "goodput", step)]


def rtt(source: Held) -> list[Curve]:
    """RTT of each flow, of one that has none its one-way delay, and of each ping; ms."""
    flows = of_series(source, "rtt")
    have = {curve.name for curve in flows}
    one_way = (replace(curve, kind="one-way") for curve in of_series(source, "one_way"))
    return [*flows, *(c for c in one_way if c.name not in have), *pings(source)]


def queue_delay(source: Held) -> list[Curve]:
    """Sojourn time of each queue where something waited, ms; of a dual queue in full use, the delay of either part."""
    curves = []
    for port in ports(source):
        parts = [(f"{port} {part.upper()}", f"queue.{port}.delay_{part}") for part in ("l", "c")]
        for names in (parts, [(port, f"queue.{port}.sojourn")]):
            found = [Curve(label, *metrics.finite(source, name)) for label, name in names]
            if all(curve.values.any() for curve in found):
                curves += found
                break
    return curves


def cwnd(source: Held) -> list[Curve]:
    """Congestion window of each flow, segments."""
    return of_series(source, "cwnd")


def marks_drops(source: Held) -> list[Curve]:
    """Marks and drops of each queue, packets/s."""
    curves, step = [], bin_s(source)
    for port in ports(source):
        for kind in ("marks", DROPS):
            t, total = metrics.finite(source, f"queue.{port}.{kind}")
            if total.any():
                curves.append(Curve(port, *per_second(t, total, step), kind=kind))
    return curves


PANELS: dict[str, tuple[Callable[[Held], list[Curve]], str]] = {
    "rate": (rate, "goodput,\nMbit/s"),
    "rtt": (rtt, "RTT, ms"),
    "queue_delay": (queue_delay, "queue delay,\nms"),
    "cwnd": (cwnd, "cwnd,\nsegments"),
    "marks_drops": (marks_drops, "marks, drops,\npackets/s"),
}
OF_QUEUES = ("queue_delay", "marks_drops")


def draw(figure: Figure, sources: Sequence[Source], measured: Source | None = None, names: Iterable[str] = ()) -> None:
    """Draws panels by name, or series by name (`flow.*.cc.alpha`); default all panels that have something to show.

    `measured` is drawn dashed beneath a single run.
    """
    held = [Held(source) for source in sources]
    wanted = list(names)
    panels = [(name, *_panel(name, held)) for name in wanted or PANELS]
    shown = [(name, label, curves) for name, label, curves in panels if any(curves)]
    if not shown:
        raise PlotError(f"{held[0].id}: expected {', '.join(wanted) or 'series of flows or queues'}, found none")
    figure.set_size_inches(WIDTH_IN, HEAD_IN + PANEL_IN * max(len(shown), 2))
    rows = figure.subplots(len(shown), sharex=True, squeeze=False)[:, 0]
    beneath = Held(measured) if measured and len(held) == 1 else None
    flows_look = Look(RUNS)
    for ax, (name, label, curves) in zip(rows, shown, strict=True):
        style.label_axes(ax, "", label)
        of_queues = name in OF_QUEUES
        look = Look(QUEUES) if of_queues else flows_look
        most = -(-MOST // len(held))
        drawn = [busiest(of_run, most) if of_queues else grouped(of_run, most) for of_run in curves]
        if len(held) == 1:
            _one(ax, drawn[0], PANELS[name][0](beneath) if beneath and name in PANELS else [], look)
        else:
            _several(ax, drawn, look)
        if name in PANELS and name != "rtt":
            ax.set_ylim(bottom=0)
        if any(curve.low is not None for of_run in drawn for curve in of_run):
            note = f"of a group: the median, and {LOW} to {HIGH} % of it"
            ax.annotate(note, (1, 1.01), xycoords="axes fraction", ha="right", va="bottom", fontsize="x-small")
    rows[-1].set_xlabel("time, s")
    figure.align_ylabels(rows)
    if len(held) > 1:
        labels = told_apart(held)
        lines = [Line2D([], [], color=RUNS[n % len(RUNS)], linewidth=2) for n in range(len(held))]
        columns = max(1, min(4, 100 // (max(map(len, labels)) + 6)))
        figure.legend(lines, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize="small")


class Look:
    """Colours and dashes that a name keeps in the panels of a figure, and what legends have already."""

    def __init__(self, palette: Sequence[str]) -> None:
        self.palette = palette
        self.colours: dict[str, str] = {}
        self.dashes: dict[str, Any] = {}
        self.in_legend: set[str] = set()

    def colour(self, curve: Curve) -> str:
        """Of a flow by its controller, if that colour is still free."""
        if curve.name not in self.colours:
            wanted = style.colours([curve.name]).values() if self.palette is RUNS else ()
            free = [colour for colour in (*wanted, *self.palette) if colour not in self.colours.values()]
            self.colours[curve.name] = free[0] if free else self.palette[len(self.colours) % len(self.palette)]
        return self.colours[curve.name]

    def dash(self, curve: Curve) -> Any:
        """The next dash for a name not seen before."""
        return self.dashes.setdefault(curve.label, DASHES[len(self.dashes) % len(DASHES)])

    def fresh(self, curve: Curve) -> bool:
        """Whether no legend has it yet."""
        fresh = curve.label not in self.in_legend
        self.in_legend.add(curve.label)
        return fresh


def _one(ax: Axes, curves: list[Curve], measured: list[Curve], look: Look) -> None:
    colour = dict(zip((curve.label for curve in curves if curve.kind == PING), style.PINGS, strict=False))
    for curve in measured:
        curve.draw(ax, color=look.colour(curve) if curve.kind != PING else style.PING, **style.MEASURED)
    for curve in curves:
        ping = {"color": colour.get(curve.label, style.PING), "linewidth": 0.8, "linestyle": (0, (2, 1))}
        line = ping if curve.kind == PING else {"color": look.colour(curve), "linewidth": 1.4}
        if curve.kind == DROPS:
            line["linestyle"] = DASHES[1]
        curve.draw(ax, **line, label=curve.label if look.fresh(curve) else None)
    if measured and look.fresh(dashed := Curve("measured", *EMPTY)):
        dashed.draw(ax, color=style.INK, label=dashed.label, **style.MEASURED)
    _legend(ax, ax.get_lines())


def _several(ax: Axes, curves: list[list[Curve]], look: Look) -> None:
    handles: list[Line2D] = []
    for run, of_run in enumerate(curves):
        for curve in of_run:
            line = {"linestyle": look.dash(curve), "linewidth": 1.3}
            curve.draw(ax, color=RUNS[run % len(RUNS)], **line)
            if look.fresh(curve):
                handles.append(Line2D([], [], color="#666666", label=curve.label, **line))
    _legend(ax, handles)


def _legend(ax: Axes, lines: Sequence[Line2D]) -> None:
    """Beside the panel."""
    if named := [line for line in lines if not str(line.get_label()).startswith("_")]:
        ax.legend(handles=named, loc="upper left", bbox_to_anchor=(1.0, 1.05), frameon=False, fontsize="small")


def _panel(name: str, held: Sequence[Held]) -> tuple[str, list[list[Curve]]]:
    """Label of the axis, and curves of each run."""
    if name in PANELS:
        collect, label = PANELS[name]
        return label, [collect(source) for source in held]
    found = [[series for series in source.names() if fnmatchcase(series, name)] for source in held]
    if not any(found):
        every = dict.fromkeys(series for source in held for series in source.names())
        near = get_close_matches(name, [*PANELS, *every], n=3, cutoff=0.4)
        raise PlotError(
            f"{name}: expected a figure, a panel ({', '.join(PANELS)}) or the name of recorded series, * for anything"
            + (f"; nearest are {', '.join(near)}" if near else "")
        )
    units = {source.units.get(series, "") for source, names in zip(held, found, strict=True) for series in names}
    unit = units.pop().removeprefix("1") if len(units) == 1 else ""
    curves = [
        [
            Curve(_stem(name, series), *samples)
            for series in names
            if (samples := metrics.finite(source, series))[0].size
        ]
        for source, names in zip(held, found, strict=True)
    ]
    return f"{_broken(name)}{f', {unit}' if unit else ''}", curves


def _stem(pattern: str, series: str) -> str:
    """What matches the only * of a pattern, such as the flow in `flow.*.cwnd`; else the whole name."""
    parts, found = pattern.split("."), series.split(".")
    stars = [n for n, part in enumerate(parts) if re.search(r"[*?[]", part)]
    return found[stars[0]] if len(stars) == 1 and parts[stars[0]] == "*" and len(parts) == len(found) else series


def _broken(name: str) -> str:
    """A long name on two lines, for the axis of a low panel."""
    head, dot, tail = name.rpartition(".") if len(name) > 18 else ("", "", name)
    return f"{head}{dot}\n{tail}" if head else tail


def busiest(curves: Sequence[Curve], most: int) -> list[Curve]:
    """At most this many, those with the largest means, in their order: queues have no common distribution."""
    kept = sorted(curves, key=lambda curve: -float(curve.values.mean()))[:most]
    return [curve for curve in curves if any(curve is one for one in kept)]


def ports(source: Source) -> list[str]:
    """Queues in their order, without those at an ingress."""
    names = (match[1] for name in source.names() if (match := re.fullmatch(r"queue\.(.+)\.sojourn", name)))
    return [port for port in names if ".ingress" not in port]


def per_second(t: FloatArray, total: FloatArray, step: float) -> Samples:
    """What a count grows by in whole intervals of `step` seconds, per second: their middles and rates."""
    if not t.size:
        return EMPTY
    edges = t[0] + step * np.arange(int((t[-1] - t[0]) / step + 1e-6) + 1)
    return edges[:-1] + step / 2, np.diff(np.interp(edges, t, total)) / step


def bin_s(source: Source) -> float:
    """Seconds of which rates are means: a two-hundredth of the run, in round numbers from 0.05 to 1."""
    totals = (
        source.series(name)[0] for name in source.names() if name.endswith(("goodput_bytes", "goodput_bytes.sum"))
    )
    end = max((float(t[-1]) for t in totals if t.size), default=0.0)
    return next((step for step in (0.05, 0.1, 0.2, 0.5) if end <= 200 * step), 1.0)
