"""What is read off a run: lifetimes, windows, goodput, and statistics, with one definition each.

A simulated run, a Flent file from a testbed and the measured data shipped with Sojourn are the
same thing here: a `Source`, that is an id and named series over seconds of Flent time.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, TypeVarTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

FloatArray = npt.NDArray[np.float64]
Of = TypeVarTuple("Of")
Found = TypeVar("Found")
Window = tuple[float, float]

#: Every flow has one of these: those of TCP, and the bytes that any flow delivers.
FLOW = re.compile(r"flow\.(.+?)\.(?:delivery_rate|rtt|goodput_bytes)")
#: And every group of flows that has series together.
GROUP = re.compile(r"group\.(.+?)\.open")

PING = re.compile(r"ping\..+\.rtt")
#: What summaries and figures are made of, as whole names.
USUAL = (
    r"(?:ping|group)\..+|"
    r"flow\..+\.(?:delivery_rate|rtt|goodput_bytes|one_way|fct|ce|ce_received|retransmits|cc\.classic_(?:mode|flips))"
)

#: Least width of the intervals of a rate over time: that of netperf's interim results.
SHORT_S = 0.1
#: Runs whose series are kept in memory: both sides of a pair.
RECENT = 2
SETTLE_S = 10.0
CLOSE_S = 1.0

DEFINITIONS: dict[str, str] = {
    "goodput": "Payload bytes delivered in order to the receiver per second, Mbit/s, over the "
    "window. Measured side: netperf interim results weighted by their duration.",
    "goodput over time": "Mbit/s, p05, p50 and p95 of a flow's goodput in intervals of 0.1 s of the window, or of the "
    "least multiple of the sampling step above that. Measured side: netperf's interim results.",
    "classic mode": "Share of the window in which the flow's controller takes its path for a classic queue's: since its"
    " score reached the classic side, until it is back on the L4S side; the time from the flow's start to the first "
    "such moment, and the changes of mode in the whole run. Prague's versions p2a to p3 report it.",
    "delivery rate": "Mbit/s as `ss` reports it: the sender's most recent rate sample.",
    "TCP RTT": "ms, the sender's smoothed RTT as `ss` reports it, sampled about every 50 ms.",
    "one-way delay": "ms, of UDP and media flows, which have no TCP RTT: from sender to receiver, the mean of "
    "the packets that arrived in each 50 ms; percentiles are of these means.",
    "completion time": "ms, from the request or the opening of a connection to its last byte, one value for each "
    "transfer that completed.",
    "ping RTT": "ms, one echo request every 200 ms over the same bottleneck.",
    "window": "The seconds in which means and percentiles are taken. It opens 10 s after the last "
    "flow's first `ss` sample with a delivery rate and closes 1 s before the first flow's last. "
    "The window of the measured run is used for both sides. For simulated runs without a measured "
    "counterpart it is the measuring window of their scenario.",
    "marks": "Packets with CE that reached the receiver in the window. What the sender believes stands beside them "
    "where it is another number by more than 1 %: an ACK of many segments leaves AccECN's counter ambiguous "
    "(RFC 9768 3.2.2.5), and with classic ECN every segment counts that is acknowledged with ECE.",
    "sojourn": "ms, from enqueue to dequeue, of each packet that left the queue in the window; also of one flow, "
    "and of the L or the C queue of a dual queue.",
    "percentile": "Linear interpolation between order statistics (p50 is the median).",
    "ratio": "Goodput of the second flow to start divided by that of the first.",
    "utilisation": "%, layer-2 bytes that left the busiest link over what its rate allows, in the measuring window; "
    "where a queue shapes below its link's rate, all goodput times 1514/1448 over that rate.",
    "RTT above the path's": "ms, TCP RTT (the mean of the flows' medians; the largest p99) less the RTT of the empty "
    "path: the one that its suite states, else the least ping.",
    "link ceiling": "The bottleneck rate times 1448/1514, the payload share of a full frame.",
    "difference": "Ours minus measured, or side A minus side B.",
    "time": "Seconds since the start of the run. In the suites this is Flent time: the ping starts at 0, "
    "the first flow at 5 s.",
}


#: What a flow's delay is read from, and what it is called; a flow can have more than one.
RTT, ONE_WAY, COMPLETION = "RTT", "one-way delay", "completion time"
DELAYS = {RTT: "rtt", ONE_WAY: "one_way", COMPLETION: "fct"}


class Source(Protocol):
    """Anything with named series: `flow.NAME.rtt`, `ping.NAME.rtt`, `queue.PORT.sojourn` ..."""

    @property
    def id(self) -> str:
        """Run id."""
        ...

    def names(self) -> list[str]:
        """Names of the series."""
        ...

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds and values."""
        ...


class Finished(Protocol):
    """A run with results, `sojourn.results.Run`: what is read of one raises a `ValueError` of one line."""

    @property
    def summary(self) -> dict[str, Any]:
        """Statistics over the measurement window."""
        ...

    @property
    def scenario(self) -> str:
        """The resolved scenario."""
        ...

    @property
    def document(self) -> dict[str, Any]:
        """The same as dictionaries and lists."""
        ...


class Cached:
    """A source of which series are kept, once they are read, while it is among the recent ones.

    What most ask for (`USUAL`) is read at once, anything else with all of its kind: of a run this is a tenth. It has
    the source's id or another one. What is small is kept for longer: the names of the series, and `measured`.
    """

    #: Those of which the series are in memory, the last one last: a walk over many runs keeps few of them.
    _recent: ClassVar[list[Cached]] = []

    def __init__(self, source: Source, run_id: str | None = None) -> None:
        self.id = source.id if run_id is None else run_id
        self.origin: Source = getattr(source, "origin", source)
        self.path: Path | None = getattr(source, "path", None)
        #: What was measured in them, by what it is and of what: see `_remembered`.
        self.measured: dict[tuple[object, ...], Any] = {}
        self._source = source
        self._names: list[str] | None = None
        self._columns: dict[str, tuple[FloatArray, FloatArray]] = {}
        self._finite: dict[str, tuple[FloatArray, FloatArray]] = {}
        #: What was read of them.
        self._kept: set[str] = set()

    def names(self) -> list[str]:
        """Names of the series."""
        if self._names is None:
            self._names = self._source.names()
        return self._names

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds and values."""
        self.read(USUAL if re.fullmatch(USUAL, name) else rf".*\.{re.escape(name.rpartition('.')[2])}")
        return self._columns.get(name) or self._source.series(name)

    def finite(self, name: str) -> tuple[FloatArray, FloatArray]:
        """The series without its gaps, which most ask for more than once."""
        found = self._finite.get(name) or _finite(self, name)
        if self._kept:
            self._finite[name] = found
        return found

    def read(self, like: str = USUAL) -> None:
        """Reads series whose names are like this, unless they are kept, or the source holds them in memory anyway."""
        if like in self._kept or not hasattr(self._source, "columns"):
            return
        self._columns |= self._source.columns(like)
        self._kept.add(like)
        if self not in self._recent:
            self._recent.append(self)
            if len(self._recent) > RECENT:
                oldest = self._recent.pop(0)
                oldest._columns, oldest._finite, oldest._kept = {}, {}, set()


def _remembered(measure: Callable[[Source, *Of], Found]) -> Callable[[Source, *Of], Found]:
    """A measure of which a `Cached` source keeps what was found, for rows that compare many runs."""

    @functools.wraps(measure)
    def asked(source: Source, *of: *Of) -> Found:
        if not isinstance(source, Cached):
            return measure(source, *of)
        key = (measure.__name__, *of)
        if key not in source.measured:
            source.measured[key] = measure(source, *of)
        found: Found = source.measured[key]
        return found

    return asked


@dataclass(frozen=True)
class Stats:
    """Statistics of a series over a window; None where a measurement does not have one."""

    n: int
    mean: float
    p05: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None

    @classmethod
    def of(cls, values: FloatArray) -> Stats | None:
        """Statistics of the finite values; None if there are none."""
        values = values[np.isfinite(values)]
        if values.size == 0:
            return None
        ordered = np.sort(values)
        p05, p50, p95, p99 = (_quantile(ordered, percent / 100) for percent in (5, 50, 95, 99))
        return cls(int(values.size), float(values.mean()), p05, p50, p95, p99, float(ordered[-1]))

    def rounded(self) -> dict[str, Any]:
        """As a dictionary, to three decimals."""
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(self).items()}


def _quantile(ordered: FloatArray, share: float) -> float:
    """Linear interpolation between values in ascending order, to the bit as in `numpy.quantile`, which takes longer."""
    last = ordered.size - 1
    at = last * share
    below = math.floor(at)
    low, high, part = float(ordered[below]), float(ordered[min(below + 1, last)]), at - below
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


@dataclass(frozen=True)
class FlowSummary:
    """What one flow did in the window."""

    name: str
    goodput_mbps: float | None
    delivery_rate_mbps: Stats | None
    tcp_rtt_ms: Stats | None
    one_way_ms: Stats | None = None
    completion_ms: Stats | None = None
    marks: float | None = None
    """Packets with CE that reached the receiver in the window."""
    believed_marks: float | None = None
    """Those that the sender counted from the feedback; AccECN can be ambiguous."""
    marks_under_way: float = 0.0
    """At most this many had been received but not reported at an edge of the window: those of a second."""
    goodput_over_time_mbps: Stats | None = None

    @property
    def believes_otherwise(self) -> bool:
        """Whether the sender's count is another by more than 1 % and what was under way."""
        if self.marks is None or self.believed_marks is None:
            return False
        return abs(self.believed_marks - self.marks) - self.marks_under_way > 0.01 * self.marks

    @property
    def marks_text(self) -> str:
        """The marks, and the sender's belief where it is another."""
        return marks_text([self])

    @property
    def delays(self) -> dict[str, Stats]:
        """Every kind of delay that the flow has, under its name."""
        kinds = {RTT: self.tcp_rtt_ms, ONE_WAY: self.one_way_ms, COMPLETION: self.completion_ms}
        return {kind: stats for kind, stats in kinds.items() if stats is not None}


@dataclass(frozen=True)
class RunSummary:
    """What a run did in the window."""

    window_s: Window
    flows: tuple[FlowSummary, ...]
    ping_ms: Stats | None

    @property
    def ratio(self) -> float | None:
        """Second flow over first; None unless there are exactly two."""
        if len(self.flows) != 2:
            return None
        first, second = (flow.goodput_mbps for flow in self.flows)
        return second / first if first and second is not None else None

    @property
    def mean_rtt_ms(self) -> float | None:
        """Unweighted mean of the flows' mean TCP RTT."""
        means = [flow.tcp_rtt_ms.mean for flow in self.flows if flow.tcp_rtt_ms is not None]
        return sum(means) / len(means) if means else None


def marks_text(flows: Sequence[FlowSummary]) -> str:
    """The marks of flows together, and their senders' belief where it is another."""
    if all(flow.marks is None for flow in flows):
        return ""
    text = f"{sum(flow.marks or 0 for flow in flows):.0f}"
    if any(flow.believes_otherwise for flow in flows):
        text += f" (sender believes {sum(flow.believed_marks or 0 for flow in flows):.0f})"
    return text


def finite(source: Source, name: str) -> tuple[FloatArray, FloatArray]:
    """The series without its gaps; empty if the source does not have it."""
    return source.finite(name) if isinstance(source, Cached) else _finite(source, name)


def _finite(source: Source, name: str) -> tuple[FloatArray, FloatArray]:
    if name not in source.names():
        empty = np.empty(0)
        return empty, empty
    t, values = (np.asarray(column, dtype=np.float64) for column in source.series(name))
    keep = np.isfinite(t) & np.isfinite(values)
    return (t, values) if keep.all() else (t[keep], values[keep])


def inside(source: Source, name: str, window: Window) -> FloatArray:
    """Finite values within the window, edges included."""
    t, values = finite(source, name)
    return values[(t >= window[0]) & (t <= window[1])]


@_remembered
def flows(source: Source) -> list[str]:
    """Flow names in the order in which they start: TCP, UDP, media, and applications of many connections."""
    found = dict.fromkeys(m[1] for n in source.names() if (m := FLOW.fullmatch(n)))
    return sorted(found, key=lambda flow: (lifetime(source, flow) or (np.inf, np.inf))[0])


@_remembered
def groups(source: Source) -> list[str]:
    """Names of the groups of flows whose series are together: quantiles and sums over their members."""
    found = (GROUP.fullmatch(name) for name in source.names())
    return list(dict.fromkeys(match[1] for match in found if match))


def members(source: Source, over: Window) -> list[FlowSummary]:
    """The flows that have no series of their own, as `summary.json` has them within one of its windows."""
    document, seen = _stated(source, "summary"), set(flows(source))
    found = next((name for name, window in windows(source).items() if window == over), None)
    if not isinstance(document, dict) or found is None:
        return []
    held: Any = document
    if found:
        named = (one for one in document["windows"] if isinstance(one, dict) and one.get("name") == found)
        held = next(named, {})
    listed = held.get("flows")
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    rows = [row for row in rows if isinstance(row.get("name"), str) and row["name"] not in seen]

    def stats(row: dict[str, Any], *keys: str) -> Stats | None:
        value: Any = row
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        try:
            return Stats(**{key: value[key] for key in ("n", "mean", "p05", "p50", "p95", "p99", "max")})
        except (KeyError, TypeError):
            return None

    return [
        FlowSummary(
            str(row["name"]),
            row["goodput_mbps"] if isinstance(row.get("goodput_mbps"), int | float) else None,
            stats(row, "delivery_rate_mbps"),
            stats(row, "rtt_ms"),
            None,
            stats(row, "completions", "fct_ms"),
            goodput_over_time_mbps=stats(row, "goodput_over_time_mbps"),
        )
        for row in rows
    ]


@_remembered
def pings(source: Source) -> list[str]:
    """Names of the ping RTT series."""
    return sorted(name for name in source.names() if PING.fullmatch(name))


@_remembered
def lifetime(source: Source, flow: str) -> Window | None:
    """First and last sample of a positive delivery rate, not beyond the last delivered byte.

    A flow without delivery rate, such as one of UDP, lives from its first to its last delivered byte.
    """
    t, rate = finite(source, f"flow.{flow}.delivery_rate")
    t = t[rate > 0]
    if t.size == 0:
        at, total = finite(source, f"flow.{flow}.goodput_bytes")
        grows = np.flatnonzero(np.diff(total, prepend=0.0) > 0)
        return (float(at[max(grows[0] - 1, 0)]), float(at[grows[-1]])) if grows.size else None
    end = float(t[-1])
    if f"flow.{flow}.interim" not in source.names():
        grown_at, total = finite(source, f"flow.{flow}.goodput_bytes")
        grows = np.flatnonzero(np.diff(total) > 0)
        if grows.size:
            end = min(end, float(grown_at[grows[-1] + 1]))
    return float(t[0]), end


def common(source: Source) -> Window | None:
    """From the last flow's start to the first flow's end."""
    lives = [life for flow in flows(source) if (life := lifetime(source, flow)) is not None]
    if not lives:
        return None
    opens, closes = max(life[0] for life in lives), min(life[1] for life in lives)
    return (opens, closes) if closes > opens else None


def window(source: Source) -> Window | None:
    """The measuring window of a run; None if no flow lives long enough."""
    shared = common(source)
    if shared is None or shared[1] - CLOSE_S <= shared[0] + SETTLE_S:
        return None
    return shared[0] + SETTLE_S, shared[1] - CLOSE_S


def measuring_window(source: Source, name: str | None = None) -> Window | None:
    """The measuring window of a simulated run's scenario, or the one called `name`; None if there is none."""
    return windows(source).get(name or "")


def windows(source: Source) -> dict[str, Window]:
    """The measuring windows of a simulated run in seconds: "" is the main one, then those with a name."""
    summary = _stated(source, "summary")
    try:
        return {
            str(one.get("name", "")): (float(one["from_s"]), float(one["to_s"]))
            for one in [summary["measure"], *summary.get("windows", ())]
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def sojourn(
    source: Source, queue: str, *, flow: str | None = None, side: str | None = None, window: str | None = None
) -> dict[str, float] | None:
    """Statistics of the time in a queue, ms per packet: `n`, `mean`, `p50`, `p90`, `p95`, `p99`, `p999`, `max`.

    Of one flow or ping, or of the queue `side` of a dual queue, "L" or "C"; over the main window or the one called
    `window`. None where no packet left, or nothing was recorded.
    """
    if flow is not None and side is not None:
        raise ValueError("expected a flow or a side")
    if window is None:
        found = _named(_stated(source, "queues"), queue)
    else:
        found = _named(_named(_stated(source, "summary").get("windows"), window).get("queues"), queue)
    for key, name in (("flows", flow), ("queues", side)):
        found = found if name is None else _named(found.get(key), name)
    stats = found.get("sojourn_ms")
    return dict(stats) if isinstance(stats, dict) else None


def finished(source: Source) -> Finished | None:
    """The run with results that a source is, or was read from."""
    origin: Any = getattr(source, "origin", source)
    return origin if hasattr(origin, "files") else None


def _stated(source: Source, what: str) -> Any:
    """The summary or the queues of a run with results; empty if there is none to read."""
    run = finished(source)
    try:
        return getattr(run, what) if run else {}
    except ValueError:
        return {}


def _named(entries: Any, name: str) -> dict[str, Any]:
    """The entry of this name; empty if there is none."""
    entries = entries if isinstance(entries, list) else []
    return next((one for one in entries if isinstance(one, dict) and one.get("name") == name), {})


def second_half(source: Source) -> Window | None:
    """The second half of the time that all flows share."""
    shared = common(source)
    return ((shared[0] + shared[1]) / 2, shared[1]) if shared else None


@_remembered
def goodput(source: Source, flow: str, over: Window) -> float | None:
    """Mean goodput in Mbit/s over the window; None if nothing was recorded in it."""
    t, rate = finite(source, f"flow.{flow}.interim")
    if t.size:
        _, duration = finite(source, f"flow.{flow}.interim_duration")
        keep = (t >= over[0]) & (t <= over[1])
        weight = duration[keep]
        return float((rate[keep] * weight).sum() / weight.sum()) if weight.sum() > 0 else None
    t, total = finite(source, f"flow.{flow}.goodput_bytes")
    if t.size < 2 or over[1] <= over[0] or t[-1] <= over[0] or t[0] >= over[1]:
        return None
    before, after = np.interp(over, t, total)
    return float(after - before) * 8e-6 / (over[1] - over[0])


def goodput_over_time(source: Source, flow: str, over: Window) -> FloatArray:
    """Goodput in Mbit/s in intervals of 0.1 s of the window, or of the least multiple of the sampling step above that.

    Of a measurement netperf's interim results. A last interval that is not whole is left out.
    """
    if (rates := inside(source, f"flow.{flow}.interim", over)).size:
        return rates
    t, total = finite(source, f"flow.{flow}.goodput_bytes")
    if t.size < 2:
        return np.empty(0)
    step = max(round(float(np.median(np.diff(t))), 6), 1e-6)
    width = step * math.ceil(round(SHORT_S / step, 6))
    edges = over[0] + width * np.arange(math.floor((min(over[1], t[-1]) - over[0]) / width + 1e-6) + 1)
    return np.diff(np.interp(edges, t, total)) * 8e-6 / width


def counted(source: Source, name: str, over: Window) -> float | None:
    """Growth of a counter within the window; None if the source does not have it."""
    t, total = finite(source, name)
    if t.size == 0:
        return None
    # A counter that begins within the window has counted from 0.
    before, after = (total[index - 1] if (index := np.searchsorted(t, edge, "right")) else 0.0 for edge in over)
    return float(after - before)


def rate_over_time(source: Source, flow: str, step: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Goodput in whole intervals of `step` seconds: their middles and Mbit/s; of a flow or of all of a group."""
    t, total = finite(source, f"flow.{flow}.goodput_bytes")
    if not t.size:
        t, total = finite(source, f"group.{flow}.goodput_bytes.sum")
    if t.size < 2:
        return np.empty(0), np.empty(0)
    edges = np.arange(t[0], t[-1] + step * 1e-6, step)
    return edges[:-1] + step / 2, np.diff(np.interp(edges, t, total)) * 8e-6 / step


def summarise(source: Source, over: Window | None = None) -> RunSummary | None:
    """Everything the comparison needs, over one window (by default the run's own)."""
    over = over or window(source) or (measuring_window(source) if groups(source) else None)
    if over is None:
        return None
    window_s, ping = over, pings(source)

    def inside_window(name: str) -> Stats | None:
        return Stats.of(inside(source, name, window_s))

    return RunSummary(
        over,
        tuple(
            FlowSummary(
                flow,
                goodput(source, flow, over),
                inside_window(f"flow.{flow}.delivery_rate"),
                inside_window(f"flow.{flow}.{DELAYS[RTT]}"),
                inside_window(f"flow.{flow}.{DELAYS[ONE_WAY]}"),
                inside_window(f"flow.{flow}.{DELAYS[COMPLETION]}"),
                counted(source, f"flow.{flow}.ce_received", over),
                counted(source, f"flow.{flow}.ce", over),
                max(counted(source, f"flow.{flow}.ce_received", (edge - 1, edge)) or 0.0 for edge in over),
                Stats.of(goodput_over_time(source, flow, over)),
            )
            for flow in flows(source)
        )
        + tuple(members(source, over)),
        inside_window(ping[0]) if ping else None,
    )


def thin(t: FloatArray, values: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """At most `points` samples, keeping the minimum and maximum of every stretch, in time order."""
    if t.size <= points:
        return t, values
    edges = np.linspace(0, t.size, max(points // 2, 1) + 1).astype(int)
    keep = {
        int(index)
        for low, high in itertools.pairwise(edges)
        for index in (
            low + int(np.argmin(values[low:high])),
            low + int(np.argmax(values[low:high])),
        )
    }
    order = np.array(sorted(keep))
    return t[order], values[order]


def harm(solo: float, competing: float, *, more_is_better: bool = True) -> float | None:
    """Share of its solo performance that a flow loses to competition (Ware et al. 2019).

    For a quantity of which less is better (a delay, a completion time) it is the part of the
    competing value that competition added. None if there is nothing to lose.
    """
    from sojourn import _core

    return _core.harm(solo, competing, more_is_better)
