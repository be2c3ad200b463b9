"""Distributions over the measuring window, which is stated below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sojourn import style
from sojourn.plot.curves import MOST, PlotError, gathered, told_apart
from sojourn.plot.panels import DASHES, RUNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import FloatArray, Source, Window

Samples = Callable[["Source", "Window"], dict[str, "FloatArray"]]


def draw(ax: Axes, sources: Sequence[Source], measured: Source | None, *, of: str, read: Samples) -> Axes:
    """One staircase for each name that `read` gives values of; a group's values are taken together.

    One run has a colour for each name, with the measured run beside it; several have a colour each.
    """
    if len(sources) == 1:
        windows = {style.measured_window(sources[0], measured)}
        _one(ax, sources[0], measured, windows.copy().pop(), read)
    else:
        each = [style.measured_window(source, None) for source in sources]
        windows = set(each)
        _several(ax, sources, each, read)
    if not ax.get_lines():
        raise PlotError(f"{sources[0].id}: expected {of} in the measuring window, found none")
    style.label_axes(ax, f"{of}, ms, {_window_text(windows)}", "share of samples at or below")
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def _one(ax: Axes, ours: Source, measured: Source | None, over: Window, read: Samples) -> None:
    for side, source, line in style.sides(ours, measured):
        values = _together(read(source, over), MOST)
        for name, colour in style.colours(values).items():
            style.cumulative(ax, values[name], color=colour, label=f"{name}{side}", **line)


def _several(ax: Axes, sources: Sequence[Source], windows: Sequence[Window], read: Samples) -> None:
    dashes: dict[str, object] = {}
    for run, (source, label, over) in enumerate(zip(sources, told_apart(sources), windows, strict=True)):
        values = _together(read(source, over), -(-MOST // len(sources)))
        for name, column in values.items():
            dash = dashes.setdefault(name, DASHES[len(dashes) % len(DASHES)])
            entry = f"{label}: {name}"
            style.cumulative(ax, column, color=RUNS[run % len(RUNS)], linestyle=dash, linewidth=1.4, label=entry)


def _together(values: dict[str, FloatArray], most: int) -> dict[str, FloatArray]:
    values = {name: column for name, column in values.items() if column.size}
    return {label: np.concatenate([values[n] for n in names]) for label, names in gathered(list(values), most).items()}


def _window_text(windows: set[Window]) -> str:
    if len(windows) > 1:
        return "each in its measuring window (" + ", ".join(f"{a:.4g} to {b:.4g} s" for a, b in sorted(windows)) + ")"
    opens, closes = next(iter(windows))
    return f"from {opens:.4g} to {closes:.4g} s" if np.isfinite(closes) else "over the whole run"
