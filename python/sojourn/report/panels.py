"""The curves of the page: what is drawn of a run, thinned to what the page can carry."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sojourn import metrics
from sojourn.plot import style

if TYPE_CHECKING:
    from sojourn.metrics import FloatArray, Source
    from sojourn.report.sections import Run

#: What all series together may take in the page, in base64: a page of 60 runs stays below 1 MB, one
#: of all runs of a large suite below 2.5 MB.
SERIES_BYTES = 640_000
MOST_SERIES_BYTES = 1_500_000
RUNS_OF_A_SMALL_PAGE = 60
BYTES_PER_POINT = 4 * 4 / 3
MAX_POINTS = 600
MIN_POINTS = 60

RATE, DELAY, COMPLETION = "rate", "rtt", "completion"


class Curve(NamedTuple):
    """One line: its panel, what it is called, whose it is, and the series (goodput if it is None)."""

    panel: str
    label: str
    flow: str
    series: str | None


def curves(source: Source) -> list[Curve]:
    """Everything that is drawn of a run: a rate and every kind of delay of each flow, and the pings."""
    names, flows, pings = set(source.names()), metrics.flows(source), metrics.pings(source)
    found = []
    for flow in flows:
        rate = f"flow.{flow}.delivery_rate"
        found.append(Curve(RATE, flow, flow, rate) if rate in names else Curve(RATE, f"{flow} goodput", flow, None))
    for kind, panel in ((metrics.RTT, DELAY), (metrics.ONE_WAY, DELAY), (metrics.COMPLETION, COMPLETION)):
        for flow in flows:
            if (series := f"flow.{flow}.{metrics.DELAYS[kind]}") in names:
                label = f"{flow} one-way" if kind == metrics.ONE_WAY else flow
                found.append(Curve(panel, label, flow, series))
    for ping in pings:
        label = "ICMP" if len(pings) == 1 else f"ping {ping.split('.')[1]}"
        found.append(Curve(DELAY, label, label, ping))
    return found


def samples(source: Source, curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Times and values of a curve."""
    return metrics.finite(source, curve.series) if curve.series else metrics.rate_over_time(source, curve.flow)


def payload(rows: Iterable[Sequence[Run]]) -> Markup:
    """The panels of all runs, by id, as JSON for the page; runs of one row share their axes."""
    rows = list(rows)
    points = _points([run for row in rows for run in row])
    panels: dict[str, Any] = {}
    for row in rows:
        beside = {run.id: _panels(run, points) for run in row}
        if len(beside) > 1:
            _share_axes(list(beside.values()))
        panels |= beside
    for panel in (plot for run in panels.values() for plot in run["plots"].values()):
        for series in panel["series"]:
            series["data"] = _packed(series["data"])
    # JSON that cannot end the script element it stands in.
    text = json.dumps(panels, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _points(runs: list[Run]) -> int:
    """Points per series such that all series together keep within their budget."""
    count = sum(len(curves(source)) for run in runs for source in (run.ours, run.measured) if source)
    budget = min(SERIES_BYTES * max(1.0, len(runs) / RUNS_OF_A_SMALL_PAGE), MOST_SERIES_BYTES)
    return max(MIN_POINTS, min(MAX_POINTS, int(budget / BYTES_PER_POINT / max(count, 1)))) // 2 * 2


def _panels(run: Run, points: int) -> dict[str, Any]:
    drawn = [
        (side, curve, *samples(source, curve))
        for side, source in ((0, run.ours), (1, run.measured))
        if source is not None
        for curve in curves(source)
    ]
    end = max((float(t[-1]) for _, _, t, _ in drawn if t.size), default=1.0)
    looks = _looks([curve for side, curve, _, _ in drawn if side == 0])
    plots: dict[str, Any] = {}
    for side, curve, t, values in drawn:
        if not t.size:
            continue
        plot = plots.setdefault(curve.panel, {"range": _axis(run, curve.panel), "series": []})
        colour, dash = looks.get(curve.flow, (style.INK, 0))
        plot["series"].append(
            {
                "label": curve.label,
                "measured": side,
                "colour": colour,
                "dash": dash,
                "data": decimate(t, values, end, points),
            }
        )
    window = [round(edge, 2) for edge in run.summary.window_s] if run.summary else None
    return {"end": round(end, 3), "window": window, "plots": plots}


def _looks(drawn: list[Curve]) -> dict[str, tuple[str, int]]:
    """Colour and dash pattern of every flow and ping: dashes tell apart what shares a colour."""
    pings = [curve.label for curve in drawn if curve.series and curve.series.startswith("ping.")]
    flows = list(dict.fromkeys(curve.flow for curve in drawn if curve.flow not in pings))
    colours = style.colours(flows)
    used: dict[str, int] = {}
    looks = {}
    for name, colour in [*((flow, colours[flow]) for flow in flows), *((ping, style.PING) for ping in pings)]:
        looks[name] = colour, used.get(colour, 0)
        used[colour] = used.get(colour, 0) + 1
    return looks


def _axis(run: Run, panel: str) -> tuple[float, float] | None:
    if panel == RATE:
        return style.rate_range(run.id)
    return style.rtt_range(run.id, style.longest_ping(run.measured or run.ours)) if panel == DELAY else None


def _share_axes(beside: list[dict[str, Any]]) -> None:
    """Runs that stand side by side get one range for each kind of plot."""
    for kind in {kind for panels in beside for kind in panels["plots"]}:
        plots = [panels["plots"][kind] for panels in beside if kind in panels["plots"]]
        values = [series["data"][np.isfinite(series["data"])] for plot in plots for series in plot["series"]]
        both = np.concatenate([column for column in values if column.size] or [np.zeros(1)])
        fixed = [plot["range"] for plot in plots if plot["range"]]
        if fixed and float(both.max()) <= 1.5 * max(high for _, high in fixed):
            low, high = min(low for low, _ in fixed), max(high for _, high in fixed)
        else:
            low, high = (0.0 if kind == RATE else float(both.min()) * 0.95), float(both.max()) * 1.05
        for plot in plots:
            plot["range"] = [round(low, 2), round(max(high, low + 1e-3), 2)]


def decimate(t: FloatArray, values: FloatArray, end: float, points: int) -> FloatArray:
    """Minimum and maximum, as they come, of points/2 equal stretches of [0, end]; NaN if empty."""
    stretches = points // 2
    grid = np.full((stretches, 2), np.nan)
    inside = (t >= 0) & (t <= end)
    t, values = t[inside], values[inside]
    index = np.minimum((t / end * stretches).astype(int), stretches - 1)
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    for low, high in zip(starts, [*starts[1:], t.size], strict=True):
        stretch = values[low:high]
        least, most = int(np.argmin(stretch)), int(np.argmax(stretch))
        grid[index[low]] = stretch[[min(least, most), max(least, most)]]
    return grid.ravel()


def _packed(values: FloatArray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")


def kinds(run: Run) -> Iterator[tuple[str, str]]:
    """The plots of a run, and what each shows."""
    present = {curve.panel for curve in curves(run.ours)}
    if RATE in present:
        yield RATE, "Rate, Mbit/s"
    if DELAY in present:
        yield DELAY, "RTT, ms" if _only_rtt(run) else "Delay, ms"
    if COMPLETION in present:
        yield COMPLETION, "Completion time, ms"


def _only_rtt(run: Run) -> bool:
    return not any(curve.label.endswith(" one-way") for curve in curves(run.ours))
