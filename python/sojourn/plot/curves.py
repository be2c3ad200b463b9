"""Curves of one or several runs: read once, named, and grouped where there are many."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import metrics, path, style
from sojourn.groups import groups

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from sojourn.metrics import FloatArray, Source

Samples = tuple["FloatArray", "FloatArray"]

#: More lines than these in one pair of axes are not distinguished.
MOST = 8
#: Percentiles of a group's flows: its band, and in it the median.
LOW, HIGH = 10, 90
POINTS = 2000
PING = "ping"
EMPTY: Samples = (np.empty(0), np.empty(0))


class PlotError(ValueError):
    """One line that says what was expected."""


class Held:
    """A source whose series are read once, all together."""

    def __init__(self, source: Source) -> None:
        self.id = source.id
        self.path: Path | None = getattr(source, "path", None)
        self.origin: Source = getattr(source, "origin", source)
        self.units: dict[str, str] = {}
        self._series: dict[str, Samples] = {}
        if not hasattr(source, "table"):
            self._series = {name: source.series(name) for name in source.names()}
            return
        for part in source.table().partition_by("series", maintain_order=True):
            name = str(part["series"][0])
            self.units[name] = str(part["unit"][0] or "")
            self._series[name] = part["t_s"].to_numpy(), part["value"].to_numpy()

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._series)

    def series(self, name: str) -> Samples:
        """Times in seconds and values of one series."""
        return self._series[name]


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over seconds; of a group the median, with the bounds of its band."""

    name: str
    t: FloatArray
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    kind: str = ""
    """What it is, where that is not what the panel says."""

    @property
    def label(self) -> str:
        """What the legend says."""
        return plain(self.name if self.kind in self.name else f"{self.name} {self.kind}")

    def draw(self, ax: Axes, **line: Any) -> None:
        """Draws the line, of a group with its band."""
        if self.low is not None and self.high is not None:
            ax.fill_between(self.t, self.low, self.high, color=line["color"], alpha=0.2, linewidth=0)
        ax.plot(self.t, self.values, **line)


def names(source: Source) -> list[str]:
    """Of all flows that are drawn, and of groups of them."""
    return [*metrics.flows(source), *(path.group_label(source, group) for group in metrics.groups(source))]


def of_groups(source: Source, name: str, step: float = 0.0) -> list[Curve]:
    """A median and a band for each group of flows without series of their own, in means of `step` seconds."""
    curves = []
    for group in metrics.groups(source):
        quantiles = [metrics.finite(source, f"group.{group}.{name}.{q}") for q in (f"p{LOW}", "p50", f"p{HIGH}")]
        (t, low), (_, middle), (_, high) = (averaged(t, values, step) for t, values in quantiles)
        if t.size and t.size == middle.size == high.size:
            curves.append(Curve(path.group_label(source, group), t, middle, low, high))
    return curves


def averaged(t: FloatArray, values: FloatArray, step: float) -> Samples:
    """Means of the values in intervals of `step` seconds, at their middles; 0 leaves them as they are."""
    if not t.size or not step:
        return t, values
    place = np.floor((t - t[0]) / step + 1e-6).astype(int)
    count = np.bincount(place)
    kept = count > 0
    middles = t[0] + (np.arange(count.size) + 0.5) * step
    return middles[kept], np.bincount(place, values)[kept] / count[kept]


def of_flows(source: Source, read: Callable[[str], Samples]) -> list[Curve]:
    """A curve for each flow that `read` gives samples of."""
    curves = [Curve(flow, *read(flow)) for flow in metrics.flows(source)]
    return [curve for curve in curves if curve.t.size]


def of_series(source: Source, name: str) -> list[Curve]:
    """A curve for each flow that has this series, and one for each group of them."""
    own = of_flows(source, lambda flow: metrics.finite(source, f"flow.{flow}.{name}"))
    return [*own, *of_groups(source, name)]


def pings(source: Source) -> list[Curve]:
    """A curve for each ping; its name says how it is marked."""
    found = []
    for series, label in path.pings(source).items():
        name, comma, marking = label.partition(",")
        title = name if PING in name else f"{name} {PING}"
        found.append(Curve(f"{title}{comma}{marking}", *metrics.finite(source, series), kind=PING))
    return [curve for curve in found if curve.t.size]


def draw_pings(ax: Axes, source: Source, side: str, **line: Any) -> list[Curve]:
    """Draws the RTT of every ping, one that is alone and not marked without its name; returns what was drawn."""
    every = grouped(pings(source))
    for number, curve in enumerate(every):
        suffix = "" if len(every) == 1 and "," not in curve.name else f" {curve.label}"
        look = {**line, "color": style.PINGS[number % len(style.PINGS)]}
        if number:  # that of another ping shows through where both are the same
            look["linestyle"] = style.PING_DASHES[number % len(style.PING_DASHES)]
        curve.draw(ax, label=f"ICMP RTT{suffix}{side}", **look)
    return every


def grouped(curves: Sequence[Curve], most: int = MOST) -> list[Curve]:
    """At most `most` curves, and one more for each further kind: of groups their medians and bands."""
    drawn: list[Curve] = []
    for kind in dict.fromkeys(curve.kind for curve in curves):
        members = {curve.name: curve for curve in curves if curve.kind == kind}
        together = gathered(list(members), max(most - len(drawn), 1))
        drawn += [_band(label, [members[name] for name in names]) for label, names in together.items()]
    return drawn


def gathered(names: Sequence[str], most: int = MOST) -> dict[str, list[str]]:
    """Names by group, in at most `most` groups: as they are, copies together, what begins alike, all."""
    choices = [{name: [name] for name in names}, groups(names)]
    parts = {name: re.findall(r"[^\W\d_]+|\d+", name) for name in names}
    for depth in range(max(map(len, parts.values()), default=0) - 1, 0, -1):
        alike: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            alike.setdefault(tuple(parts[name][:depth]), []).append(name)
        choices.append(dict(map(_labelled, alike.values())))
    return next((choice for choice in choices if len(choice) <= most), {f"all {len(names)}": list(names)})


def _labelled(names: list[str]) -> tuple[str, list[str]]:
    return (f"{commonprefix(names)}* ({len(names)})" if len(names) > 1 else names[0]), names  # noqa: RUF071 - as it says


def _band(label: str, curves: Sequence[Curve]) -> Curve:
    if len(curves) == 1:
        return curves[0]
    opens, closes = min(curve.t[0] for curve in curves), max(curve.t[-1] for curve in curves)
    grid = np.linspace(opens, closes, min(max(curve.t.size for curve in curves), POINTS))
    table = np.stack([np.interp(grid, c.t, c.values, left=np.nan, right=np.nan) for c in curves])
    kept = np.isfinite(table).any(axis=0)
    low, middle, high = np.nanpercentile(table[:, kept], (LOW, 50, HIGH), axis=0)
    return Curve(label, grid[kept], middle, low, high, curves[0].kind)


def told_apart(sources: Sequence[Source]) -> list[str]:
    """A label for each run: the parts of its id, or of its folder, that are not common to all."""
    names = [source.id for source in sources]
    if len(set(names)) < len(names):
        names = [str(getattr(source, "path", source.id)) for source in sources]
    parts = [name.split("/") for name in names]
    if len(names) == 1 or len({len(part) for part in parts}) > 1:
        return [plain(name) for name in names]
    differ = [n for n in range(len(parts[0])) if len({part[n] for part in parts}) > 1]
    return [plain("/".join(part[n] for n in differ) or name) for part, name in zip(parts, names, strict=True)]


def plain(text: str) -> str:
    """A label without what matplotlib takes for a formula, or for no label at all."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
