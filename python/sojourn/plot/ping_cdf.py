"""Distribution of each ping's RTT over the measuring window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn import metrics, path
from sojourn.plot import cdf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import FloatArray, Source, Window


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    return cdf.draw(ax, [ours], measured, of="ping RTT", read=read)


def several(sources: Sequence[Source], ax: Axes) -> Axes:
    """Draw several runs."""
    return cdf.draw(ax, sources, None, of="ping RTT", read=read)


def read(source: Source, over: Window) -> dict[str, FloatArray]:
    """RTTs of each ping."""
    return {label: metrics.inside(source, name, over) for name, label in path.pings(source).items()}
