"""Distribution of each flow's TCP RTT over the measuring window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sojourn import metrics
from sojourn.groups import groups
from sojourn.plot import cdf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sojourn.metrics import FloatArray, Source, Window


def draw(ours: Source, measured: Source | None, ax: Axes) -> Axes:
    """Draw the run, and the measured one if there is one."""
    return cdf.draw(ax, [ours], measured, of="TCP RTT", read=read)


def several(sources: Sequence[Source], ax: Axes) -> Axes:
    """Draw several runs."""
    return cdf.draw(ax, sources, None, of="TCP RTT", read=read)


def read(source: Source, over: Window) -> dict[str, FloatArray]:
    """RTTs of each flow; of a group whose flows have no series, the median of each flow."""
    own = {flow: metrics.inside(source, f"flow.{flow}.rtt", over) for flow in metrics.flows(source)}
    medians = {flow.name: np.array([flow.tcp_rtt_ms.p50]) for flow in metrics.members(source, over) if flow.tcp_rtt_ms}
    labelled = {f"median of {label}": names for label, names in groups(medians).items()}
    return own | {label: np.concatenate([medians[name] for name in names]) for label, names in labelled.items()}
