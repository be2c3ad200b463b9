"""What rows measure in a run. H2 is the second half of the time that all flows share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import conditions, metrics
from sojourn.fidelity.row import Measure
from sojourn.metrics import Source, Window

#: From the first to the last sample.
WHOLE: Window = (0.0, math.inf)
#: What `convergence` gives two flows that never converge: more than any run leaves them.
NEVER_S = 60.0
#: What `mode_after` gives a mode that never comes.
NO_MODE_S = 999.0
#: When the second flow of a suite's pair starts.
SECOND_START_S = 15.0
#: A fall of cwnd by less is no cut.
LEAST_CUT = 0.04


@dataclass(frozen=True)
class Over:
    """A quantity of a window, which it is of any part of it too."""

    inside: Callable[[Source, Window], float | None]
    over: Window | None = None
    """By default H2."""

    def window(self, run: Source) -> Window | None:
        """The window in a run."""
        return self.over or metrics.second_half(run)

    def __call__(self, run: Source) -> float | None:
        """The quantity of the whole window."""
        span = self.window(run)
        return self.inside(run, span) if span else None


def mean_goodput(flow: str, over: Window | None = None) -> Measure:
    """Mean goodput over a window, by default H2."""
    return Over(lambda run, span: metrics.goodput(run, flow, span), over)


def delivery_rate(flow: str, over: Window) -> Measure:
    """Mean over a window of what `ss` reports as delivery rate."""
    return Over(lambda run, span: _delivery_rate(run, flow, span), over)


def delivery_ratio(first: str, second: str, over: Window) -> Measure:
    """The same of one flow over that of another."""

    def inside(run: Source, span: Window) -> float | None:
        above, below = (_delivery_rate(run, flow, span) for flow in (first, second))
        return above / below if above is not None and below else None

    return Over(inside, over)


def _delivery_rate(run: Source, flow: str, span: Window) -> float | None:
    rates = metrics.inside(run, f"flow.{flow}.delivery_rate", span)
    return float(rates.mean()) if rates.size else None


def utilisation(flow: str, over: Window | None = None) -> Measure:
    """Goodput over a window, by default H2, as a share of the ceiling."""

    def inside(run: Source, span: Window) -> float | None:
        ceiling, rate = conditions.ceiling_mbps(run), metrics.goodput(run, flow, span)
        return rate / ceiling if ceiling and rate is not None else None

    return Over(inside, over)


def _ratio(run: Source, span: Window) -> float | None:
    first, second = metrics.goodput(run, "cubic", span), metrics.goodput(run, "prague", span)
    return second / first if first and second is not None else None


#: Goodput of Prague over CUBIC's, H2.
ratio = Over(_ratio)


def rtt(flow: str, reduce: Callable[[Any], Any], over: Window | None = None, *, above_path: bool = False) -> Measure:
    """A statistic of the TCP RTT over a window, by default H2; optionally minus the path's RTT."""

    def inside(run: Source, span: Window) -> float | None:
        values = metrics.inside(run, f"flow.{flow}.rtt", span)
        base = conditions.role(run).rtt_ms if above_path else 0.0
        return float(reduce(values)) - base if values.size and base is not None else None

    return Over(inside, over)


def variation(flow: str, over: Window | None = None) -> Measure:
    """Coefficient of variation of one-second goodput over a window, by default H2."""

    def measure(run: Source) -> float | None:
        half = over or metrics.second_half(run)
        t, rate = metrics.rate_over_time(run, flow)
        rate = rate[(t >= half[0]) & (t <= half[1])] if half else np.empty(0)
        return float(rate.std() / rate.mean()) if rate.size and rate.mean() > 0 else None

    return measure


def delivered_share(run: Source) -> float | None:
    """Bytes of all flows, first start to last delivery, as a share of what the ceiling allows."""
    ceiling, total, ends = conditions.ceiling_mbps(run), 0.0, []
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
    ceiling = conditions.ceiling_mbps(run)
    if ceiling is None or not (rate >= 0.85 * ceiling).any():
        return None
    full = int(np.argmax(rate >= 0.85 * ceiling))
    low = np.flatnonzero(rate[:full] < 0.25 * ceiling)
    start = int(low[-1]) + 1 if low.size else full
    return float(np.polyfit(t[start:full], rate[start:full], 1)[0]) if full - start >= 5 else None


def time_to_fill(run: Source) -> float | None:
    """Flent time at which the delivery rate first reaches 98 % of the ceiling."""
    t, rate = metrics.finite(run, "flow.prague.delivery_rate")
    ceiling = conditions.ceiling_mbps(run)
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
        ceiling = conditions.ceiling_mbps(run)
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


def greatest_drop_share(queue: str, step: float = 1.0) -> Measure:
    """Greatest share of the packets that arrive in a second which the queue drops."""

    def measure(run: Source) -> float | None:
        t, dropped = metrics.finite(run, f"queue.{queue}.drops")
        at, arrived = metrics.finite(run, f"queue.{queue}.received_packets")
        if t.size < 2 or at.size < 2:
            return None
        edges = np.arange(t[0], t[-1], step)
        lost, came = (np.diff(np.interp(edges, *series)) for series in ((t, dropped), (at, arrived)))
        return float((lost[came > 0] / came[came > 0]).max()) if (came > 0).any() else None

    return measure


def flight_share(flow: str, mss: int = 1448) -> Measure:
    """Median of the bytes in flight over the receive window, H2."""

    def measure(run: Source) -> float | None:
        half = metrics.second_half(run)
        flight, window = (
            metrics.inside(run, f"flow.{flow}.{name}", half) if half else np.empty(0)
            for name in ("in_flight", "rcv_wnd")
        )
        fits = flight.size > 0 and flight.size == window.size and (window > 0).all()
        return float(np.median(flight * mss / window)) if fits else None

    return measure


def sampled(name: str, reduce: Callable[[Any], Any]) -> Measure:
    """A statistic of a series over H2."""

    def measure(run: Source) -> float | None:
        half = metrics.second_half(run)
        values = metrics.inside(run, name, half) if half else np.empty(0)
        return float(reduce(values)) if values.size else None

    return measure


def sojourn(queue: str, statistic: str, side: str | None = None, *, flow: str | None = None) -> Measure:
    """A statistic of the time in a queue, of all packets, of a side's or a flow's, over the run's window, ms."""

    def measure(run: Source) -> float | None:
        found = metrics.sojourn(run, queue, flow=flow, side=side)
        return found[statistic] if found else None

    return measure


def queue_utilisation(queue: str) -> Measure:
    """Bytes that left over what the rate allows, in the run's measuring window."""

    def measure(run: Source) -> float | None:
        queues = getattr(getattr(run, "origin", run), "queues", None) or []
        value = next((one.get("utilisation") for one in queues if one.get("name") == queue), None)
        return None if value is None else float(value)

    return measure


def classic_share(flow: str, over: Window | None = None) -> Measure:
    """Share of a window, by default H2, in which the flow takes its path for a classic queue's."""

    def measure(run: Source) -> float | None:
        span = over or metrics.second_half(run)
        mode = metrics.inside(run, f"flow.{flow}.cc.classic_mode", span) if span else np.empty(0)
        return float(mode.mean()) if mode.size else None

    return measure


def mode_after(flow: str, event: float, *, classic: bool) -> Measure:
    """Seconds from an event until the flow is in classic, or in L4S, mode; `NO_MODE_S` if it never is."""

    def measure(run: Source) -> float | None:
        t, mode = metrics.finite(run, f"flow.{flow}.cc.classic_mode")
        reached = t[(t >= event) & ((mode > 0) == classic)]
        if reached.size:
            return float(reached[0]) - event
        return NO_MODE_S if t.size else None

    return measure


def kept_at_cuts(flow: str) -> Measure:
    """Median of cwnd after over before a cut, from 5 s after all flows run; None without one."""

    def measure(run: Source) -> float | None:
        cuts = _cuts(run, flow, after_s=5)
        return float(np.median(cuts)) if cuts else None

    return measure


def sides_of_cuts(flow: str, between: float) -> Measure:
    """How often of two cuts in a row one keeps more than this share of cwnd, and one less; None without a cut."""

    def measure(run: Source) -> float | None:
        cuts = _cuts(run, flow, after_s=0)
        return float(sum((a > between) != (b > between) for a, b in itertools.pairwise(cuts))) if cuts else None

    return measure


def _cuts(run: Source, flow: str, *, after_s: float) -> list[float]:
    """What each cut leaves of cwnd, from so long after all flows run."""
    shared = metrics.common(run)
    cwnd = metrics.inside(run, f"flow.{flow}.cwnd", (shared[0] + after_s, shared[1])) if shared else np.empty(0)
    moves = cwnd[np.diff(cwnd, prepend=0) != 0]
    turns = np.diff(np.sign(np.diff(moves)), prepend=2, append=2) != 0 if moves.size else np.empty(0, dtype=bool)
    kept = [after / before for before, after in itertools.pairwise(moves[turns]) if after < before]
    return [share for share in kept if share <= 1 - LEAST_CUT]


def ratio_of(above: str, below: str, over: Window | None = None) -> Measure:
    """Goodput of one flow over that of another, by default in H2."""
    return quotient(mean_goodput(above, over), mean_goodput(below, over), same=True)


def sum_of(prefix: str, over: Window) -> Measure:
    """Sum of the goodputs of all flows whose names begin so."""

    def measure(run: Source) -> float | None:
        names = [name for name in metrics.flows(run) if name.startswith(prefix)]
        rates = [rate for name in names if (rate := mean_goodput(name, over)(run)) is not None]
        return sum(rates) if rates else None

    return measure


def share_of(flow: str, capacity_mbps: float, over: Window) -> Measure:
    """Goodput as a share of a capacity."""

    def measure(run: Source) -> float | None:
        rate = mean_goodput(flow, over)(run)
        return None if rate is None else rate / capacity_mbps

    return measure


def quotient(above: Measure, below: Measure, *, same: bool = False) -> Measure:
    """A quantity of the run over one of a second run, or of the same."""

    def measure(*runs: Source) -> float | None:
        first, second = above(runs[0]), below(runs[0 if same else 1])
        return first / second if first is not None and second else None

    return measure


def spread_of(quantity: Measure) -> Measure:
    """Largest over least value of a quantity in several runs."""

    def measure(*runs: Source) -> float | None:
        values = [quantity(run) for run in runs]
        known = [value for value in values if value]
        return max(known) / min(known) if len(known) == len(runs) else None

    return measure


def least_step(quantity: Measure) -> Measure:
    """Least ratio of a quantity in a run to that in the next one."""

    def measure(*runs: Source) -> float | None:
        values = [quantity(run) for run in runs]
        known = [value for value in values if value]
        return min(a / b for a, b in itertools.pairwise(known)) if len(known) == len(runs) else None

    return measure


def jain(*flows: str, over: Window | None = None) -> Measure:
    """Jain's index of the flows' goodputs, by default in H2."""

    def measure(run: Source) -> float | None:
        rates = [mean_goodput(flow, over)(run) for flow in flows]
        known = [rate for rate in rates if rate is not None]
        square = sum(rate * rate for rate in known)
        return sum(known) ** 2 / (len(flows) * square) if len(known) == len(flows) and square else None

    return measure


def _rates(run: Source, flow: str, over: Window, step: float) -> Any:
    t, rate = metrics.rate_over_time(run, flow, step)
    return rate[(t >= over[0]) & (t <= over[1])]


def median_goodput(flow: str, over: Window) -> Measure:
    """Median of the goodput in steps of 0.1 s, as netperf's interim results had them."""

    def measure(run: Source) -> float | None:
        rates = _rates(run, flow, over, 0.1)
        return float(np.median(rates)) if rates.size else None

    return measure


def ratio_of_medians(above: str, below: str, over: Window) -> Measure:
    """Median goodput of one flow over that of another."""
    return quotient(median_goodput(above, over), median_goodput(below, over), same=True)


def goodput_range(flow: str, over: Window) -> Measure:
    """Least over largest one-second goodput."""

    def measure(run: Source) -> float | None:
        rates = _rates(run, flow, over, 1.0)
        return float(rates.min() / rates.max()) if rates.size and rates.max() > 0 else None

    return measure


def convergence(one: str, other: str, event: float) -> Measure:
    """Seconds until the 2-s rates of two flows are within 25 % of each other for 5 s."""
    step, smooth, hold = 0.1, 2.0, 5.0

    def measure(run: Source) -> float | None:
        shared = metrics.common(run)
        if shared is None:
            return None
        starts = np.arange(event, shared[1] - smooth, step)
        rates = []
        for flow in (one, other):
            t, received = metrics.finite(run, f"flow.{flow}.goodput_bytes")
            if t.size < 2:
                return None
            rates.append(np.interp(starts + smooth, t, received) - np.interp(starts, t, received))
        near = np.maximum(*rates) <= 1.25 * np.minimum(*rates)
        needed, lasted = round(hold / step), 0
        for index, is_near in enumerate(near):
            lasted = lasted + 1 if is_near else 0
            if lasted == needed:
                # The rate of a time is that of the two seconds around it.
                return float(starts[index - needed + 1]) + smooth / 2 - event
        return NEVER_S

    return measure


def _above_path(run: Source, names: Iterable[str], over: Window) -> tuple[Any, Any] | None:
    """Times and TCP RTT above the path's of several flows, the larger where both have a sample."""
    base = conditions.role(run).rtt_ms
    grid = np.arange(over[0], over[1], 0.05)
    rows = []
    for flow in names:
        t, rtt_ms = metrics.finite(run, f"flow.{flow}.rtt")
        if t.size >= 2:
            rows.append(np.interp(grid, t, rtt_ms, left=-math.inf, right=-math.inf))
    return (grid, np.max(rows, axis=0) - base) if rows and base is not None else None


def peak(flows: tuple[str, ...], over: Window) -> Measure:
    """Longest TCP RTT of the flows above the path's."""

    def measure(run: Source) -> float | None:
        found = _above_path(run, flows, over)
        return float(found[1].max()) if found else None

    return measure


def spike(flows: tuple[str, ...], threshold_ms: float, over: Window) -> Measure:
    """Seconds in which the TCP RTT of one of the flows is further above the path's than a threshold."""

    def measure(run: Source) -> float | None:
        found = _above_path(run, flows, over)
        return float((found[1] > threshold_ms).sum()) * 0.05 if found else None

    return measure


def rtt_variation(flow: str, over: Window) -> Measure:
    """Deviation over mean of the TCP RTT above the path's."""

    def measure(run: Source) -> float | None:
        base = conditions.role(run).rtt_ms
        values = metrics.inside(run, f"flow.{flow}.rtt", over)
        if base is None or not values.size or values.mean() <= base:
            return None
        return float(values.std() / (values.mean() - base))

    return measure


def decreases(flow: str, over: Window) -> Measure:
    """Falls of cwnd by 10 % or more within 0.5 s."""

    def measure(run: Source) -> float | None:
        t, cwnd = metrics.finite(run, f"flow.{flow}.cwnd")
        keep = (t >= over[0]) & (t <= over[1])
        t, cwnd = t[keep], cwnd[keep]
        count, index = 0, 0
        while index < t.size:
            soon = cwnd[index : int(np.searchsorted(t, t[index] + 0.5))]
            if soon.size and soon.min() <= 0.9 * cwnd[index]:
                count, index = count + 1, index + int(soon.argmin())
            index += 1
        return float(count) if t.size else None

    return measure


def growth_over_delayed_newreno(flow: str, rtt_ms: float, over: Window) -> Measure:
    """Slope of cwnd between its falls, in segments per RTT, over half a segment (median of the climbs)."""

    def measure(run: Source) -> float | None:
        t, cwnd = metrics.finite(run, f"flow.{flow}.cwnd")
        keep = (t >= over[0]) & (t <= over[1])
        t, cwnd = t[keep], cwnd[keep]
        falls = np.flatnonzero(np.diff(cwnd) < 0)
        edges = [0, *(int(i) + 1 for i in falls), t.size]
        slopes = [
            float(np.polyfit(t[a:b], cwnd[a:b], 1)[0])
            for a, b in itertools.pairwise(edges)
            if b - a >= 40 and cwnd[b - 1] > cwnd[a]
        ]
        return float(np.median(slopes)) * rtt_ms / 1000 / 0.5 if slopes else None

    return measure


def ping(name: str, percentile: float, over: Window, *, above_path: bool = False) -> Measure:
    """A percentile of a ping's RTT, optionally minus the path's."""

    def measure(run: Source) -> float | None:
        values = metrics.inside(run, f"ping.{name}.rtt", over)
        base = conditions.role(run).rtt_ms if above_path else 0.0
        return float(np.percentile(values, percentile)) - base if values.size and base is not None else None

    return measure


def last_of_a_burst(flow: str, over: Window) -> Measure:
    """Median of the longest one-way delay in each sample, minus the path's: what a frame takes to arrive whole."""

    def measure(run: Source) -> float | None:
        values = metrics.inside(run, f"flow.{flow}.one_way_max", over)
        base = conditions.role(run).rtt_ms
        return float(np.median(values)) - base / 2 if values.size and base is not None else None

    return measure


def correlation_with_ping(flow: str, over: Window) -> Measure:
    """Correlation of the ping's RTT and the TCP RTT at the time of the reply."""

    def measure(run: Source) -> float | None:
        t, pings = metrics.finite(run, "ping.ping.rtt")
        at, rtts = metrics.finite(run, f"flow.{flow}.rtt")
        keep = (t >= max(over[0], at[0] if at.size else 0)) & (t <= over[1])
        if keep.sum() < 5 or at.size < 2:
            return None
        tcp = np.interp(t[keep], at, rtts)
        return float(np.corrcoef(pings[keep], tcp)[0, 1]) if tcp.std() > 0 and pings[keep].std() > 0 else None

    return measure


def marks(reason: str) -> Measure:
    """Marks of all queues for one reason; None where the run has no reasons."""

    def measure(run: Source) -> float | None:
        queues = getattr(getattr(run, "origin", run), "queues", None)
        return float(sum(queue["marks"].get(reason, 0) for queue in queues)) if queues else None

    return measure


def feedback_gap(flow: str) -> Measure:
    """Share of segments reported marked SCE against that of segments received so, in points."""

    def measure(run: Source) -> float | None:
        summary = getattr(getattr(run, "origin", run), "summary", None)
        flows = summary["flows"] if isinstance(summary, dict) else []
        found = next((one for one in flows if one["name"] == flow), None)
        if found is None or not found["receiver"].get("segments_received"):
            return None
        mss = 1448
        reported = found["sender"]["sce_reported"] * mss / found["sender"]["acked_bytes"]
        received = found["receiver"]["sce_received"] / found["receiver"]["segments_received"]
        return 100 * abs(float(reported - received))

    return measure


def nothing(run: Source) -> float | None:
    """What no simulation has."""
