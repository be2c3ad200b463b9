"""The figures of the page: what is drawn of a run, thinned to what a page can carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sojourn import metrics, path, style
from sojourn.groups import groups
from sojourn.metrics import FloatArray, Source
from sojourn.report import sections
from sojourn.report.model import Figure, Plot, Series
from sojourn.report.sections import Run

#: What all series together may take in the page, in base64: a page of 60 runs stays below 1 MB, one
#: of all runs of a large suite below 2.5 MB.
SERIES_BYTES = 640_000
MOST_SERIES_BYTES = 1_500_000
RUNS_OF_A_SMALL_PAGE = 60
BYTES_PER_POINT = 4 * 4 / 3
MAX_POINTS = 600
MIN_POINTS = 60

IntArray = npt.NDArray[np.int64]
Panel = Literal["rate", "rtt", "completion"]
RATE: Final = "rate"
DELAY: Final = "rtt"
COMPLETION: Final = "completion"
#: Title and unit of each kind of plot; of delays that are RTTs alone another title.
TITLES: dict[Panel, tuple[str, str]] = {
    RATE: ("Rate, Mbit/s", "Mbit/s"),
    DELAY: ("Delay, ms", "ms"),
    COMPLETION: ("Completion time, ms", "ms"),
}
RTT_TITLE = "RTT, ms"

#: Room between the curves and the edges of their panel, as a share of what they span.
MARGIN = 0.06
#: A delay outside the measuring window that is larger than this multiple of all within is named, not drawn.
CUT_OFF = 1.5


class Curve(NamedTuple):
    """One line: its panel, what it is called, whose it is, and the series (goodput if there are none).

    Several series are those of copies of a flow, of which `quantile` is drawn at every instant; of
    their goodputs the sum.
    """

    panel: Panel
    label: str
    flow: str
    series: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    quantile: float | None = None


#: With more flows than these, parts of one test are drawn together.
MOST_CURVES = 8
#: What is drawn of copies of a flow: a band, and the median in it.
BAND = (0.1, 0.5, 0.9)
EDGES: dict[float | None, Literal["low", "high"]] = {BAND[0]: "low", BAND[-1]: "high"}
GROUP_STEP_S = 0.5


def curves(source: Source) -> list[Curve]:
    """Everything that is drawn of a run: a rate and every kind of delay of each flow, and the pings."""
    names, labels = set(source.names()), path.pings(source)
    pings = list(labels)
    flows = groups(metrics.flows(source), most=MOST_CURVES)
    found = []
    for label, members in flows.items():
        rate = f"flow.{label}.delivery_rate"
        if rate in names:
            found.append(Curve(RATE, label, label, (rate,)))
        else:
            word = "goodput, all" if len(members) > 1 else "goodput"
            found.append(Curve(RATE, f"{label} {word}", label, (), tuple(members)))
    labels_of = {group: path.group_label(source, group) for group in metrics.groups(source)}
    found += [Curve(RATE, f"{label} goodput, all", label, (), (group,)) for group, label in labels_of.items()]
    panels: dict[str, Panel] = {metrics.RTT: DELAY, metrics.ONE_WAY: DELAY, metrics.COMPLETION: COMPLETION}
    for kind, panel in panels.items():
        for label, members in flows.items():
            every = [f"flow.{flow}.{metrics.DELAYS[kind]}" for flow in members]
            series = tuple(name for name in every if name in names)
            shown = f"{label} one-way" if kind == metrics.ONE_WAY else label
            if len(series) > 1 and kind != metrics.COMPLETION:
                found += [Curve(panel, f"{shown} p{100 * q:.0f}", label, series, (), q) for q in BAND]
            elif series:
                found.append(Curve(panel, shown, label, series))
        for group, label in labels_of.items():
            bands = [(q, f"group.{group}.{metrics.DELAYS[kind]}.p{100 * q:.0f}") for q in BAND]
            shown = f"{label} one-way" if kind == metrics.ONE_WAY else label
            found += [Curve(panel, f"{shown} p{100 * q:.0f}", label, (n,), (), q) for q, n in bands if n in names]
            if (events := f"group.{group}.{metrics.DELAYS[kind]}") in names:
                found.append(Curve(panel, shown, label, (events,)))
    for label, members in groups([ping_name(ping) for ping in pings], least=3, most=3).items():
        series = tuple(f"ping.{name}.rtt" for name in members)
        shown = "ICMP" if len(pings) == 1 else f"ping {labels[series[0]] if len(series) == 1 else label}"
        if len(series) > 1:
            found += [Curve(DELAY, f"{shown} p{100 * q:.0f}", shown, series, (), q) for q in BAND]
        else:
            found.append(Curve(DELAY, shown, shown, series))
    return found


def ping_name(series: str) -> str:
    """NAME of the series `ping.NAME.rtt`."""
    return series.removeprefix("ping.").removesuffix(".rtt")


def samples(source: Source, curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Times and values of a curve."""
    if curve.quantile is not None:
        return _quantile(source, curve.series, curve.quantile)
    if curve.series:
        columns = [metrics.finite(source, name) for name in curve.series]
        t, values = (np.concatenate(part) for part in zip(*columns, strict=True))
        order = np.argsort(t, kind="stable")
        return t[order], values[order]
    rates = [metrics.rate_over_time(source, flow) for flow in curve.members]
    t = np.unique(np.concatenate([at for at, _ in rates]))
    total = np.zeros(t.size)
    for at, rate in rates:
        if at.size:
            total += np.interp(t, at, rate, left=0.0, right=0.0)
    return t, total


def _quantile(source: Source, series: Sequence[str], q: float) -> tuple[FloatArray, FloatArray]:
    """Of the means of every half second, one a series, the quantile over the series."""
    columns = [metrics.finite(source, name) for name in series]
    steps = [(t / GROUP_STEP_S).astype(int) for t, _ in columns]
    most = max([0, *(int(step[-1]) + 1 for step in steps if step.size)])
    means = np.full((len(columns), most), np.nan)
    for row, step, (t, values) in zip(means, steps, columns, strict=True):
        count, total = (np.bincount(step[t >= 0], weights, most) for weights in (None, values[t >= 0]))
        np.divide(total, count, out=row, where=count > 0)
    # What is no number is sorted to the end. A quantile for each number of values takes less than one for each step.
    means.sort(axis=0)
    alive = np.isfinite(means).sum(axis=0)
    quantile = np.empty(most)
    for count in np.unique(alive[alive > 0]):
        quantile[alive == count] = np.quantile(means[:count, alive == count], q, axis=0)
    return (np.arange(most) * GROUP_STEP_S + GROUP_STEP_S / 2)[alive > 0], quantile[alive > 0]


def of_rows(rows: Iterable[Sequence[Run]], drawn: Mapping[str, Figure]) -> dict[str, Figure]:
    """Figures by the ids of their runs: those of runs that are shown side by side with one range of their axes."""
    beside = ([drawn[run.id] for run in row] for row in rows)
    return {one.run: one for row in beside for one in (_with_shared_axes(row) if len(row) > 1 else row)}


def points_of(runs: int) -> float:
    """What each of a page's runs may have of all points of its series."""
    budget = min(SERIES_BYTES * max(1.0, runs / RUNS_OF_A_SMALL_PAGE), MOST_SERIES_BYTES)
    return budget / BYTES_PER_POINT / max(runs, 1)


def figure(run: Run, most: float, folder: Path) -> Figure:
    """The figure of a run of which all series together have about `most` points, for a page in `folder`."""
    sides: tuple[tuple[Literal[0, 1], Source | None], ...] = ((0, run.ours), (1, run.measured))
    drawn = [
        (side, curve, *samples(source, curve))
        for side, source in sides
        if source is not None
        for curve in curves(source)
    ]
    points = max(MIN_POINTS, min(MAX_POINTS, int(most / max(len(drawn), 1)))) // 2 * 2
    end = max((float(t[-1]) for _, _, t, _ in drawn if t.size), default=1.0)
    ours = [curve for side, curve, _, _ in drawn if side == 0]
    looks = _looks(ours)
    only_rtt = not any(curve.label.endswith(" one-way") for curve in ours)
    over = run.summary.window_s if run.summary else (0.0, end)
    plots = []
    for kind in (kind for kind in TITLES if any(curve.panel == kind for curve in ours)):
        of_kind = [(side, curve, t, values) for side, curve, t, values in drawn if curve.panel == kind and t.size]
        series = []
        for side, curve, t, values in of_kind:
            colour, dash = looks.get(curve.flow, (style.INK, 0))
            edge: Literal["", "low", "high"] = EDGES.get(curve.quantile, "")
            series.append(Series(curve.label, colour, _plain(decimate(t, values, end, points)), side, dash, edge))
        ends, peak = _axis(run, kind, [(t, values) for _, _, t, values in of_kind], over)
        title, unit = (RTT_TITLE, "ms") if kind == DELAY and only_rtt else TITLES[kind]
        plots.append(Plot(kind, title, unit, series, ends, peak))
    window = (round(over[0], 2), round(over[1], 2)) if run.summary else None
    data = sections.link(run.ours, folder)
    return Figure(run.id, round(end, 3), plots, window, run.pair is not None, data)


def _plain(values: FloatArray) -> list[float | None]:
    """To six digits, as many as a curve can show; None for gaps."""
    return [None if value != value else float(f"{value:.6g}") for value in values.tolist()]


def _looks(drawn: list[Curve]) -> dict[str, tuple[str, int]]:
    """Colour and dash pattern of every flow and ping: dashes distinguish what shares a colour."""
    pings = [curve.flow for curve in drawn if curve.series and curve.series[0].startswith("ping.")]
    flows = list(dict.fromkeys(curve.flow for curve in drawn if curve.flow not in pings))
    colours = style.colours(flows)
    used: dict[str, int] = {}
    looks = {}
    for name, colour in [*((flow, colours[flow]) for flow in flows), *((ping, style.PING) for ping in pings)]:
        looks[name] = colour, used.get(colour, 0)
        used[colour] = used.get(colour, 0) + 1
    return looks


def _axis(
    run: Run, panel: str, drawn: Sequence[tuple[FloatArray, FloatArray]], over: metrics.Window
) -> tuple[tuple[float, float], float | None]:
    """The range of an axis, and the largest value if it lies beyond.

    Rates start at zero. Delays show what happens in the measuring window: a start-up far above it would
    press everything else onto the lower edge, and is named instead.
    """
    every = np.concatenate([values for _, values in drawn if values.size] or [np.zeros(1)])
    most = float(every.max())
    if panel == RATE:
        fixed = style.rate_range(run.ours)
        return _rounded(fixed if fixed and most <= 1.5 * fixed[1] else (0.0, 1.05 * most)), None
    inside = [values[(t >= over[0]) & (t <= over[1])] for t, values in drawn]
    shown = np.concatenate([values for values in inside if values.size] or [every])
    low, high = float(every.min()), float(shown.max())
    if most <= CUT_OFF * high:
        high = most
    margin = MARGIN * max(high - low, 0.02 * high, 1e-3)
    return _rounded((max(low - margin, 0.0), high + margin)), most if most > high + margin else None


def _rounded(edges: tuple[float, float]) -> tuple[float, float]:
    low, high = edges
    return round(float(low), 3), round(float(max(high, low + 1e-3)), 3)


def _with_shared_axes(beside: Sequence[Figure]) -> list[Figure]:
    """Runs that are shown side by side get one range for each kind of plot."""
    shared: dict[str, tuple[float, float]] = {}
    for plot in (plot for figure in beside for plot in figure.plots):
        low, high = shared.get(plot.kind, plot.range)
        shared[plot.kind] = min(low, plot.range[0]), max(high, plot.range[1])

    def stretched(plot: Plot) -> Plot:
        ends = shared[plot.kind]
        return replace(plot, range=ends, peak=plot.peak if plot.peak and plot.peak > ends[1] else None)

    return [replace(figure, plots=list(map(stretched, figure.plots))) for figure in beside]


def decimate(t: FloatArray, values: FloatArray, end: float, points: int) -> FloatArray:
    """Minimum and maximum, as they come, of points/2 equal stretches of [0, end]; NaN if empty."""
    stretches = points // 2
    grid = np.full((stretches, 2), np.nan)
    inside = (t >= 0) & (t <= end)
    t, values = t[inside], values[inside]
    index = np.minimum((t / end * stretches).astype(int), stretches - 1)
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    if starts.size:
        ends = [edge.reduceat(values, starts) for edge in (np.minimum, np.maximum)]
        low_at, high_at = (_first(values, end, starts) for end in ends)
        grid[index[starts]] = np.where(low_at <= high_at, ends, ends[::-1]).T
    return grid.ravel()


def _first(values: FloatArray, wanted: FloatArray, starts: IntArray) -> IntArray:
    """Where the wanted value of each stretch is first."""
    of_each = np.repeat(wanted, np.diff(starts, append=values.size))
    return np.minimum.reduceat(np.where(values == of_each, np.arange(values.size), values.size), starts)
