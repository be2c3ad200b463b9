"""Charts of a study: heat maps, interaction plots and Pareto fronts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from sojourn import style
from sojourn.precision import QUANTITIES
from sojourn.study.chart import DECADE, Axis, Chart, Curve, Mark, Panel, Scale, plain
from sojourn.study.points import Point, Study, StudyError
from sojourn.study.values import Values

#: What quantities are called on an axis, and what their numbers are multiplied by there.
LABELS = {
    "goodput_mbps": ("goodput of all flows, Mbit/s", 1.0),
    "goodput_p05_mbps": ("goodput in 0.1 s, p05, Mbit/s", 1.0),
    "goodput_p50_mbps": ("goodput in 0.1 s, median, Mbit/s", 1.0),
    "goodput_p95_mbps": ("goodput in 0.1 s, p95, Mbit/s", 1.0),
    "utilisation": ("utilisation of the link, %", 100.0),
    "rtt_p50_ms": ("RTT p50, ms", 1.0),
    "rtt_p99_ms": ("RTT p99, ms", 1.0),
    "sojourn_p50_ms": ("queue delay p50, ms", 1.0),
    "sojourn_p99_ms": ("queue delay p99, ms", 1.0),
    "drops": ("drops, packets", 1.0),
    "marks": ("CE marks, packets", 1.0),
    "retransmits": ("retransmits, segments", 1.0),
}
MORE_IS_BETTER = {name for name in QUANTITIES if name.startswith("goodput") or name == "utilisation"}
#: More curves or panels than these cannot be told apart.
MOST_CURVES, MOST_PANELS = 8, 9
#: Cells of a heat map along a side; more values are dots.
MOST_CELLS = 16
#: Cells with numbers in them.
MOST_NUMBERS = 64
#: Swept values are on a logarithmic axis from here on.
SWEPT_DECADE = 8.0
#: Points of a front that are named in the picture.
MOST_NAMED = 8
STOPS = 32
INTERVAL = "bars: 95 % interval over seeds"


def heat(study: Study, value: str, x: str | None = None, y: str | None = None, panels: str | None = None) -> Chart:
    """A quantity over two swept names, in a panel for each value of a third; raises `StudyError`."""
    points = study.measured(value)
    across, up = _pair(study, x, y, panels)
    by = study.named(panels) if panels else None
    label, factor = LABELS[value]
    cells: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        if across.name in point.swept and up.name in point.swept:
            at = (point.swept[by.name] if by else "", point.swept[across.name], point.swept[up.name])
            cells.setdefault(at, []).append(point)
    found = {at: _mean(inside, value) * factor for at, inside in cells.items()}
    if not found:
        raise StudyError(f"no point has both {across.name} and {up.name}")
    colour, scale = _colours(label, list(found.values()))
    size = len(across.texts) * len(up.texts)
    # Points of a sample meet in few of the cells that their values make.
    is_grid = len({at[1:] for at in found}) > size / 2 and max(len(across.texts), len(up.texts)) <= MOST_CELLS
    few = size <= MOST_NUMBERS
    made = []
    for panel in by.texts if by else [""]:
        marks = [
            Mark(
                _place(across, at, is_grid=is_grid),
                _place(up, over, is_grid=is_grid),
                f"{_ids(cells[of, at, over])}: {label} {_figure(number)}",
                colour(number),
                _figure(number) if is_grid and few else "",
            )
            for (of, at, over), number in found.items()
            if of == panel
        ]
        made.append(Panel(_panel_title(by, panel), [Curve("", "", marks)]))
    title = f"Where is {short_label(value)} {'low' if value in MORE_IS_BETTER else 'high'}?"
    axes = [_axis(values, is_grid=is_grid) for values in (across, up)]
    note = _averaged(study, cells.values(), {across.name, up.name, *([by.name] if by else [])})
    return Chart("heat" if is_grid else "dots", title, axes[0], axes[1], made, note, scale, runs=len(points))


def lines(study: Study, value: str, x: str | None = None, by: str | None = None, panels: str | None = None) -> Chart:
    """A quantity over one swept name, a line for each value of another, with intervals over seeds; raises `StudyError`.

    Lines that are not parallel say that the two names interact.
    """
    points = study.measured(value)
    kinds, of = (study.named(name) if name else None for name in (by, panels))
    others = [one for one in study.names.values() if one not in (kinds, of)]
    numbers = [one for one in others if one.numbers]
    across = study.named(x) if x else next(iter(numbers or others), None)
    if across is None:
        raise StudyError("expected a name for the axis beside those of lines and panels")
    if kinds is None:
        free = [one for one in study.names.values() if one not in (across, of)]
        fits = [one for one in free if len(one.texts) <= min(MOST_CURVES, len(points) // 2)]
        kinds = min(fits, key=lambda one: bool(one.numbers), default=None)
    if kinds and len(kinds.texts) > MOST_CURVES:
        raise StudyError(f"{kinds.name}: expected at most {MOST_CURVES} values, a line each, found {len(kinds.texts)}")
    label, factor = LABELS[value]
    colours = _colour_of(kinds.texts if kinds else [""])
    made, cells = [], []
    for panel in of.texts if of else [""]:
        curves = []
        for shape, kind in enumerate(kinds.texts if kinds else [""]):
            marks = []
            for at in across.texts:
                inside = [
                    point
                    for point in points
                    if point.swept.get(across.name) == at
                    and (not kinds or point.swept.get(kinds.name) == kind)
                    and (not of or point.swept.get(of.name) == panel)
                ]
                if inside:
                    cells.append(inside)
                    marks.append(_with_interval(across.at(at), inside, value, factor, label))
            curves.append(Curve(kind, colours[kind], marks, shape))
        made.append(Panel(_panel_title(of, panel), curves))
    title = f"How does {short_label(value)} change with {_last(across.name)}"
    title += f", and is it the same for every {_last(kinds.name)}?" if kinds else "?"
    means = [mark.y for panel in made for curve in panel.curves for mark in curve.marks]
    used = {across.name, *([kinds.name] if kinds else []), *([of.name] if of else [])}
    notes: list[str] = []
    # Points that differ in more than what is shown, as those of a sample do, are no line.
    if set(study.names) <= used or any(len(inside) > 1 for inside in cells):
        made = [Panel(one.title, [replace(curve, is_joined=True) for curve in one.curves]) for one in made]
        if kinds:
            notes.append(f"lines that are not parallel: {_last(across.name)} and {_last(kinds.name)} interact")
    else:
        notes.append(f"points differ in {', '.join(name for name in study.names if name not in used)} as well")
    has_bars = any(mark.low is not None for panel in made for curve in panel.curves for mark in curve.marks)
    notes += [INTERVAL if has_bars else "", _averaged(study, cells, used)]
    return Chart(
        "lines",
        title,
        _axis(across, is_grid=False),
        Axis.of_numbers(label, means, from_zero=True),
        made,
        "; ".join(filter(None, notes)),
        legend=kinds.name if kinds else "",
        runs=len(points),
    )


def pareto(study: Study, x: str, y: str, by: str | None = None, panels: str | None = None) -> Chart:
    """Two quantities of every point, and the front, where no other point is better in both; raises `StudyError`."""
    points = [point for point in study.measured(x) if y in point.means]
    if not points:
        raise StudyError(f"{y}: not measured in any point that has {x}")
    kinds, of = (study.named(name) if name else None for name in (by, panels))
    if kinds is None:
        words = [one for one in study.names.values() if not one.numbers and len(one.texts) <= MOST_CURVES]
        kinds = next((one for one in words if one is not of), None)
    elif len(kinds.texts) > MOST_CURVES:
        raise StudyError(f"{kinds.name}: expected at most {MOST_CURVES} values, found {len(kinds.texts)}")
    colours = _colour_of(kinds.texts if kinds else [""])
    (x_label, x_factor), (y_label, y_factor) = LABELS[x], LABELS[y]

    def at(point: Point) -> tuple[float, float]:
        return point.means[x].mean * x_factor, point.means[y].mean * y_factor

    made = []
    for panel in of.texts if of else [""]:
        inside = [point for point in points if not of or point.swept.get(of.name) == panel]
        best = front([at(point) for point in inside], x in MORE_IS_BETTER, y in MORE_IS_BETTER)
        named = _spread([at(inside[index]) for index in best])
        names = {inside[best[index]].id: _tail(inside[best[index]].id) for index in named}
        ids = {inside[index].id for index in best}
        stairs = _stairs([at(inside[index]) for index in best], more_x=x in MORE_IS_BETTER)
        curves = [Curve("", style.PING, stairs, is_joined=True, is_front=True)] if len(best) > 1 else []
        for shape, kind in enumerate(kinds.texts if kinds else [""]):
            marks = [
                Mark(
                    *at(point),
                    f"{point.id}: {x_label} {_figure(at(point)[0])}, {y_label} {_figure(at(point)[1])}; "
                    + ", ".join(f"{_last(name)} {text}" for name, text in point.swept.items()),
                    text=names.get(point.id, ""),
                    faint=point.id not in ids,
                )
                for point in inside
                if not kinds or point.swept.get(kinds.name) == kind
            ]
            curves.append(Curve(kind, colours[kind], marks, shape))
        made.append(Panel(_panel_title(of, panel), curves))
    pairs = [at(point) for point in points]
    better = " and ".join(f"{'more' if name in MORE_IS_BETTER else 'less'} {short_label(name)}" for name in (x, y))
    return Chart(
        "pareto",
        f"What does {short_label(y)} cost in {short_label(x)}?",
        Axis.of_numbers(x_label, [one for one, _ in pairs]),
        Axis.of_numbers(y_label, [one for _, one in pairs]),
        made,
        f"{better} is better; no point lies beyond the line, and pale ones are beaten in both",
        legend=kinds.name if kinds else "",
        runs=len(points),
    )


def front(pairs: Sequence[tuple[float, float]], more_x: bool, more_y: bool) -> list[int]:
    """Indices of the pairs that no other one dominates, by x; of equal ones the first."""
    signed = [((-x if more_x else x), (-y if more_y else y), index) for index, (x, y) in enumerate(pairs)]
    best, found = math.inf, []
    for _, y, index in sorted(signed):
        if y < best:
            best = y
            found.append(index)
    return sorted(found, key=lambda index: pairs[index])


def _stairs(pairs: Sequence[tuple[float, float]], *, more_x: bool) -> list[Mark]:
    """The edge of what a front dominates: its points, and the corners between them."""
    found = [Mark(*pairs[0], "")]
    for (x, y), (next_x, next_y) in itertools.pairwise(pairs):
        found += [Mark(x, next_y, "") if more_x else Mark(next_x, y, ""), Mark(next_x, next_y, "")]
    return found


def short_label(value: str) -> str:
    """A quantity in a sentence."""
    return LABELS[value][0].rpartition(", ")[0]


def _pair(study: Study, x: str | None, y: str | None, panels: str | None) -> tuple[Values, Values]:
    """The names of a heat map's axes: those that were asked for, numbers before words."""
    given = {study.named(name).name for name in (x, y, panels) if name}
    free = sorted((one for one in study.names.values() if one.name not in given), key=lambda one: not one.numbers)
    across = study.named(x) if x else free.pop(0) if free else None
    up = study.named(y) if y else free.pop(0) if free else None
    if across is None or up is None:
        known = ", ".join(study.names) or "none"
        raise StudyError(f"a heat map: expected two swept names beside that of panels; there are {known}")
    return across, up


def _mean(points: Sequence[Point], value: str) -> float:
    return fmean(point.means[value].mean for point in points)


def _with_interval(x: float, points: Sequence[Point], value: str, factor: float, label: str) -> Mark:
    """The mean of the points, with the interval over seeds where it is one point."""
    number = _mean(points, value) * factor
    half = points[0].means[value].half_width if len(points) == 1 else None
    ends = (None, None) if half is None else (number - half * factor, number + half * factor)
    seeds = points[0].means[value].seeds
    spread = "" if half is None else f" \N{PLUS-MINUS SIGN} {_figure(half * factor)}, {seeds} seeds"
    return Mark(x, number, f"{_ids(points)}: {label} {_figure(number)}{spread}", low=ends[0], high=ends[1])


def _axis(values: Values, *, is_grid: bool) -> Axis:
    if is_grid or not values.numbers:
        return Axis.of_words(values.label, [values.shown(text) for text in values.texts])
    axis = Axis.of_numbers(values.label, values.numbers, decade=SWEPT_DECADE)
    if len(values.texts) <= 6:
        return Axis(axis.label, axis.range, [(values.at(text), values.shown(text)) for text in values.texts], axis.log)
    return axis


def _place(values: Values, text: str, *, is_grid: bool) -> float:
    return float(values.texts.index(text)) if is_grid else values.at(text)


def _colours(label: str, numbers: Sequence[float]) -> tuple[_Colour, Scale]:
    low, high = min(numbers), max(numbers)
    log = low > 0 and high / low >= DECADE
    if high <= low:
        high = low + (abs(low) * 0.1 or 1.0)
    colour = _Colour(low, high, is_log=log)
    axis = Axis.of_numbers(label, [low, high])
    ticks = [(colour.share(at), text) for at, text in axis.ticks if low <= at <= high]
    if len(ticks) < 2:
        ticks = [(colour.share(at), f"{at:.3g}") for at in (low, high)]
    stops = [_viridis(stop / (STOPS - 1)) for stop in range(STOPS)]
    return colour, Scale(label, ticks, stops)


class _Colour:
    """Viridis over a range: even for the colour-blind, and in grey."""

    def __init__(self, low: float, high: float, *, is_log: bool) -> None:
        self.low, self.high, self.is_log = low, high, is_log

    def share(self, number: float) -> float:
        if self.is_log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def __call__(self, number: float) -> str:
        return _viridis(self.share(number))


def _viridis(share: float) -> str:
    """Its colour at this share of the range."""
    from matplotlib import colormaps  # a page without a heat map does without
    from matplotlib.colors import to_hex

    return to_hex(colormaps["viridis"](share))


def _colour_of(kinds: Sequence[str]) -> Mapping[str, str]:
    """A colour for each kind: of a congestion control its own."""
    if list(kinds) == [""]:
        return {"": style.COLOURS["prague"]}
    found: dict[str, str] = {}
    for kind in kinds:
        wanted = style.COLOURS.get(kind.split(" ")[0])
        free = [one for one in (wanted, *style.SPARE, *style.PINGS) if one and one not in found.values()]
        found[kind] = free[0]
    return found


def _panel_title(values: Values | None, text: str) -> str:
    if values is None:
        return ""
    if len(values.texts) > MOST_PANELS:
        raise StudyError(
            f"{values.name}: expected at most {MOST_PANELS} values, a panel each, found {len(values.texts)}"
        )
    return f"{_last(values.name)} {text}"


def _averaged(study: Study, cells: Iterable[Sequence[Point]], used: set[str]) -> str:
    """What was averaged over, where a mark is of several points."""
    if all(len(points) == 1 for points in cells):
        return ""
    rest = ", ".join(name for name in study.names if name not in used)
    return f"each is the mean over all values of {rest}" if rest else ""


def _spread(pairs: Sequence[tuple[float, float]]) -> list[int]:
    """Which of a front to name: as many as can be read, the ends among them."""
    count = len(pairs)
    if count <= MOST_NAMED:
        return list(range(count))
    return sorted({round(step * (count - 1) / (MOST_NAMED - 1)) for step in range(MOST_NAMED)})


def _ids(points: Sequence[Point]) -> str:
    return points[0].id if len(points) == 1 else f"{len(points)} points"


def _tail(run_id: str) -> str:
    """What tells a point from the others: behind the scenario's name."""
    return run_id.partition("/")[2] or run_id


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _figure(number: float) -> str:
    return plain(float(f"{number:.3g}"))
