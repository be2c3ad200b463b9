"""What rows measure in a run. H2 is the second half of the time that all flows share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn import metrics
from sojourn.fidelity.row import Measure
from sojourn.metrics import Source, Window

#: From the first to the last sample.
WHOLE: Window = (0.0, math.inf)


def mean_goodput(flow: str, over: Window | None = None) -> Measure:
    """Mean goodput over a window, by default H2."""

    def measure(run: Source) -> float | None:
        span = over or metrics.second_half(run)
        return metrics.goodput(run, flow, span) if span else None

    return measure


def utilisation(flow: str) -> Measure:
    """Goodput over H2 as a share of the ceiling."""

    def measure(run: Source) -> float | None:
        ceiling, rate = metrics.ceiling_mbps(run.id), mean_goodput(flow)(run)
        return rate / ceiling if ceiling and rate is not None else None

    return measure


def ratio(run: Source) -> float | None:
    """Goodput of Prague over CUBIC's, H2."""
    first, second = mean_goodput("cubic")(run), mean_goodput("prague")(run)
    return second / first if first and second is not None else None


def rtt(flow: str, reduce: Callable[[Any], Any], over: Window | None = None, *, above_path: bool = False) -> Measure:
    """A statistic of the TCP RTT over a window, by default H2; optionally minus the path's RTT."""

    def measure(run: Source) -> float | None:
        span = over or metrics.second_half(run)
        values = metrics.inside(run, f"flow.{flow}.rtt", span) if span else np.empty(0)
        base = metrics.path_rtt_ms(run.id) if above_path else 0.0
        return float(reduce(values)) - base if values.size and base is not None else None

    return measure


def variation(flow: str) -> Measure:
    """Coefficient of variation of one-second goodput over H2."""

    def measure(run: Source) -> float | None:
        half = metrics.second_half(run)
        t, rate = metrics.rate_over_time(run, flow)
        rate = rate[(t >= half[0]) & (t <= half[1])] if half else np.empty(0)
        return float(rate.std() / rate.mean()) if rate.size and rate.mean() > 0 else None

    return measure


def delivered_share(run: Source) -> float | None:
    """Bytes of all flows, first start to last delivery, as a share of what the ceiling allows."""
    ceiling, total, ends = metrics.ceiling_mbps(run.id), 0.0, []
    for flow in metrics.flows(run):
        t, received = metrics.finite(run, f"flow.{flow}.goodput_bytes")
        grows = np.flatnonzero(np.diff(received) > 0)
        if grows.size:
            total += float(received[-1] - received[0])
            ends += [float(t[grows[0]]), float(t[grows[-1] + 1])]
    return total * 8e-6 / (max(ends) - min(ends)) / ceiling if ceiling and ends else None


def climb(run: Source) -> float | None:
    """Slope of the delivery rate on its way from 25 to 85 % of the ceiling, Mbit/s per s."""
    t, rate = metrics.finite(run, "flow.prague.delivery_rate")
    ceiling = metrics.ceiling_mbps(run.id)
    if ceiling is None or not (rate >= 0.85 * ceiling).any():
        return None
    full = int(np.argmax(rate >= 0.85 * ceiling))
    low = np.flatnonzero(rate[:full] < 0.25 * ceiling)
    start = int(low[-1]) + 1 if low.size else full
    return float(np.polyfit(t[start:full], rate[start:full], 1)[0]) if full - start >= 5 else None


def time_to_fill(run: Source) -> float | None:
    """Flent time at which the delivery rate first reaches 98 % of the ceiling."""
    t, rate = metrics.finite(run, "flow.prague.delivery_rate")
    ceiling = metrics.ceiling_mbps(run.id)
    reached = rate >= 0.98 * ceiling if ceiling else np.zeros(0, dtype=bool)
    return float(t[int(np.argmax(reached))]) if reached.any() else None


def full_window(run: Source) -> float | None:
    """Median cwnd over the last 10 s of the flow."""
    life = metrics.lifetime(run, "prague")
    values = metrics.inside(run, "flow.prague.cwnd", (life[1] - 10, life[1])) if life else np.empty(0)
    return float(np.median(values)) if values.size else None


def total(name: str) -> Measure:
    """Last value of a counter."""

    def measure(run: Source) -> float | None:
        _, values = metrics.finite(run, name)
        return float(values[-1]) if values.size else None

    return measure


def lowest_goodput(flow: str, over: Window) -> Measure:
    """Least one-second mean of the goodput within the window."""

    def measure(run: Source) -> float | None:
        rates = [rate for start, rate in _seconds(run, flow) if over[0] <= start <= over[1] - 1]
        return min(rates, default=None)

    return measure


def recovery(flow: str, event: float, share: float = 0.9) -> Measure:
    """Seconds after the event until a one-second mean of the goodput reaches a share of the ceiling."""

    def measure(run: Source) -> float | None:
        ceiling = metrics.ceiling_mbps(run.id)
        if ceiling is None:
            return None
        full = (start - event for start, rate in _seconds(run, flow) if start >= event and rate >= share * ceiling)
        return next(full, None)

    return measure


def _seconds(run: Source, flow: str) -> list[tuple[float, float]]:
    """Starts of overlapping seconds, 0.1 s apart, and their mean goodput."""
    t, received = metrics.finite(run, f"flow.{flow}.goodput_bytes")
    if t.size < 2:
        return []
    starts = np.arange(t[0], t[-1] - 1, 0.1)
    rates = (np.interp(starts + 1, t, received) - np.interp(starts, t, received)) * 8e-6
    return list(zip(starts.tolist(), rates.tolist(), strict=True))


def slope(flow: str, over: Window) -> Measure:
    """Straight line through the delivery rate within the window, Mbit/s per s."""

    def measure(run: Source) -> float | None:
        t, rate = metrics.finite(run, f"flow.{flow}.delivery_rate")
        keep = (t >= over[0]) & (t <= over[1])
        return float(np.polyfit(t[keep], rate[keep], 1)[0]) if keep.sum() >= 5 else None

    return measure


def least_step_down(*runs: Source) -> float | None:
    """Least ratio of the goodput in a run to that in the next one, H2."""
    rates = [mean_goodput("prague")(run) for run in runs]
    if any(not rate for rate in rates):
        return None
    return min(a / b for a, b in itertools.pairwise(rates) if a is not None and b is not None)


def share_of_drops(run: Source, other: Source) -> float | None:
    """Packets dropped in a run as a share of those dropped in another."""
    ours, theirs = (total("queue.bneck.drops")(source) for source in (run, other))
    return ours / theirs if ours is not None and theirs else None
