"""Figures of the SCReAM BW test tool's logs, with the panels, columns and units of its Matlab scripts.

`thp_delay` has four panels: rates with losses, window, share of CE, delays; for a log of 2020, which has
fewer columns, two. `smooth` gives the panels of `plot_thp_delay_new`. Several logs are side by side.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn import style
from sojourn.interop import scream_log
from sojourn.plot import PlotError, picture, save, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from sojourn.interop.scream_log import AckLog, TxRxLog
    from sojourn.metrics import FloatArray

WIDTH_IN, PANEL_IN = 8.0, 2.4
BLUE, RED, GREEN, ORANGE, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"
LINE: dict[str, Any] = {"linewidth": 1.0}
# Points beyond which a vector file would carry megabytes of them.
MANY = 20_000


@dataclass(frozen=True)
class Limits:
    """What is drawn; None leaves the axis to the data."""

    time_s: tuple[float, float] | None = None
    """Later than the first, at the latest the second; since the first line."""
    stream: int | None = None
    rate_mbps: float | None = None
    delay_s: float | None = None
    window_kb: float | None = None
    """kB is 1000 bytes."""


@dataclass(frozen=True)
class Numbers:
    """What the scripts print of a log, and means of what is drawn."""

    log: str
    generation: str
    lines: int
    stream: int | None
    seconds: float
    sent_mbps: float | None
    """Mean of the lines' transmitted rate."""
    ce_percent: float | None
    """CE-marked bytes of acknowledged bytes."""
    ce_percent_of_lines: float | None
    """Mean of each line's share."""
    plr_percent: float | None
    """Sum of the lost rates over the sum of the transmitted rates; 2020: of the media rates."""
    queue_delay_ms: float | None
    queue_delay_p99_ms: float | None
    rtt_ms: float | None
    rtt_p99_ms: float | None
    cwnd_kb: float | None

    def document(self) -> dict[str, Any]:
        """One element of `logs` of the JSON document."""
        return {name: round(v, 4) if isinstance(v, float) else v for name, v in asdict(self).items()}

    def __str__(self) -> str:
        parts = [
            (self.sent_mbps, "sent {:.2f} Mbit/s"),
            (self.ce_percent, "CE {:.2f} % of bytes"),
            (self.ce_percent_of_lines, "mean of lines {:.2f} %"),
            (self.plr_percent, "PLR {:.2f} %"),
            (self.queue_delay_ms, "queue {:.1f} ms"),
            (self.queue_delay_p99_ms, "p99 {:.1f}"),
            (self.rtt_ms, "RTT {:.1f} ms"),
            (self.rtt_p99_ms, "p99 {:.1f}"),
            (self.cwnd_kb, "cwnd {:.1f} kB"),
        ]
        shown = [text.format(value) for value, text in parts if value is not None]
        stream = "" if self.stream is None else f", stream {self.stream}"
        head = f"{self.log}: generation {self.generation}, {self.lines} lines, {self.seconds:.1f} s{stream}"
        return ", ".join([head, *shown])


@dataclass(frozen=True)
class OneWay:
    """What a tx/rx log says: delays are above the least, which the clocks do not give."""

    log: str
    packets: int
    lost: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    max_ms: float | None

    def document(self) -> dict[str, Any]:
        """One element of `logs` of the JSON document."""
        return asdict(self)

    def __str__(self) -> str:
        text = f"{self.log}: {self.packets} packets, {self.lost} lost"
        if self.p50_ms is None:
            return text
        return f"{text}, above the least: p50 {self.p50_ms} ms, p90 {self.p90_ms}, p99 {self.p99_ms}, max {self.max_ms}"


Content = TypeVar("Content", Numbers, OneWay)


@dataclass(frozen=True)
class Drawn(Generic[Content]):
    """A picture and what it says in numbers."""

    path: Path
    logs: tuple[Content, ...]


def numbers(log: AckLog, stream: int | None = None) -> Numbers:
    """What a log says in means."""
    acked, marked = log["acked"], log["acked_ce"]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 100 * marked / acked
    sent = log["media_rate"] if log.generation == "2020" else log["sent_rate"]
    return Numbers(
        log=log.name,
        generation=log.generation,
        lines=len(log),
        stream=stream,
        seconds=float(np.ptp(log["time"])),
        sent_mbps=_mean(log["sent_rate"], 1e-6),
        ce_percent=_share(marked, acked),
        ce_percent_of_lines=_mean(share),
        plr_percent=_share(log["lost_rate"], sent),
        queue_delay_ms=_mean(log["queue_delay"], 1e3),
        queue_delay_p99_ms=_p99(log["queue_delay"]),
        rtt_ms=_mean(log["rtt"], 1e3),
        rtt_p99_ms=_p99(log["rtt"]),
        cwnd_kb=_mean(log["cwnd"], 1e-3),
    )


def thp_delay(log: AckLog, panels: Sequence[Axes], limits: Limits, *, smooth: bool = False) -> None:
    """Draw a log into four panels, or two for a log of 2020."""
    if log.generation == "2020":
        _thp_delay_2020(log, panels, limits)
        return
    t = log.seconds
    slow = _smoothed if smooth else _same
    rates, window, marks, delays = panels
    for name, label, colour, shown in (
        ("sent_rate", "transmitted", BLUE, _same),
        ("media_rate", "RTP", ORANGE, slow),
        ("acked_rate", "acknowledged", GREEN, slow),
        ("target", "target", style.INK, _same),
    ):
        _draw(rates, t, shown(log[name]) * 1e-6, label, colour)
    top = limits.rate_mbps or _top_mbps([log])
    _losses(rates, t, np.where(log["lost_rate"] > 0, np.minimum(top / 10, log["lost_rate"] / 1e3 - 1), np.nan))
    _axis(rates, "rate, Mbit/s", top)
    _draw(window, t, log["in_flight"] * 1e-3, "in flight", RED)
    _draw(window, t, log["cwnd"] * 1e-3, "cwnd", BLUE)
    _axis(window, "window, kB", limits.window_kb)
    with np.errstate(divide="ignore", invalid="ignore"):
        _draw(marks, t, 100 * log["acked_ce"] / log["acked"], "CE", BLUE)
    _axis(marks, "CE, % of bytes", 110)
    _draw(delays, t, log["queue_delay"], "queue", BLUE)
    if smooth:
        _draw(delays, t, _taps(log["rtp_queue_delay"], 10), "RTP queue (10-line mean)", RED)
    else:
        _draw(delays, t, log["rtt"], "RTT", RED)
    _axis(delays, "delay, s", limits.delay_s)
    delays.set_xlabel("time, s")


def _thp_delay_2020(log: AckLog, panels: Sequence[Axes], limits: Limits) -> None:
    t, (rates, delays) = log.seconds, panels
    media = _taps(log["media_rate"], 5) * 1e-6
    _draw(rates, t, media, "media (5-line mean)", BLUE)
    _losses(rates, t, np.where(log["lost_rate"] > 0, media, np.nan))
    _axis(rates, "rate, Mbit/s", limits.rate_mbps)
    _draw(delays, t, log["queue_delay"], "queue", BLUE)
    _draw(delays, t, log["rtt"], "RTT", RED, linestyle=":")
    _axis(delays, "delay, s", limits.delay_s)
    delays.set_xlabel("time, s")


def cdf(logs: Sequence[AckLog], ax: Axes, limits: Limits) -> None:
    """Distributions of queue delay and RTT."""
    style.label_axes(ax, "delay, s", "share of lines at or below")
    for number, log in enumerate(logs):
        colour = style.SPARE[number % len(style.SPARE)] if len(logs) > 1 else BLUE
        of = f", {log.name}" if len(logs) > 1 else ""
        for name, label, line in (("queue_delay", "queue", "-"), ("rtt", "RTT", "--")):
            values = log[name]
            style.cumulative(
                ax, values[np.isfinite(values)], label=f"{label}{of}", color=colour, linestyle=line, linewidth=1.4
            )
    ax.set_xlim(0, limits.delay_s)
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def txrx(logs: Sequence[TxRxLog], ax: Axes, limits: Limits) -> None:
    """One-way delay of each packet above the least, lost packets as circles."""
    style.label_axes(ax, "time, s", "one-way delay above the least, s")
    for number, log in enumerate(logs):
        colour = style.SPARE[number % len(style.SPARE)] if len(logs) > 1 else BLUE
        of = f", {log.name}" if len(logs) > 1 else ""
        t, lost = log.seconds, np.isnan(log.one_way_s)
        above = _above_least(log.one_way_s)
        _draw(ax, t[~lost], above[~lost], f"one-way{of}", colour)
        if lost.any():
            ax.plot(t[lost], np.zeros(int(lost.sum())), "o", mfc="none", color=colour, label=f"lost{of}", clip_on=False)
    _axis(ax, "one-way delay above the least, s", limits.delay_s)


def plot_thp_delay(
    files: Sequence[Path],
    *,
    output: Path | None = None,
    title: str = "",
    limits: Limits | None = None,
    smooth: bool = False,
) -> Drawn[Numbers]:
    """Draw `thp_delay` of each log, side by side."""
    limits = limits or Limits()
    target = picture(output, _stem(files[0]), "thp-delay")
    chosen = [_select(scream_log.read(file), file, limits, by_stream=True) for file in files]
    logs = [log for log, _ in chosen]
    rows = [2 if log.generation == "2020" else 4 for log in logs]
    if len(set(rows)) > 1:
        raise PlotError(f"{files[rows.index(2)]}: expected logs of one layout, found one of 2020 beside newer ones")

    if rows[0] == 4:
        limits = replace(limits, rate_mbps=limits.rate_mbps or _top_mbps(logs))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(rows[0], len(logs), sharex="col", sharey="row", squeeze=False)
        for column, log in enumerate(logs):
            thp_delay(log, list(panels[:, column]), limits, smooth=smooth)
            if len(logs) > 1:
                panels[0, column].set_title(log.name, loc="left", fontsize="medium", pad=18)
                for ax in panels[:, column] if column else ():
                    ax.set_ylabel("")

    share = 1 if len(logs) == 1 else 0.7
    _render(target, (WIDTH_IN * share * len(logs), PANEL_IN * rows[0]), title, "thp-delay", logs, draw)
    return Drawn(target, tuple(numbers(log, stream) for log, stream in chosen))


def plot_cdf(
    files: Sequence[Path], *, output: Path | None = None, title: str = "", limits: Limits | None = None
) -> Drawn[Numbers]:
    """Draw the distributions of all logs in one picture; of one stream only if it is named."""
    limits = limits or Limits()
    target = picture(output, _stem(files[0]), "cdf")
    chosen = [_select(scream_log.read(file), file, limits, by_stream=limits.stream is not None) for file in files]
    logs = [log for log, _ in chosen]
    size = WIDTH_IN, 4.6 + 0.25 * len(logs)
    _render(target, size, title, "cdf", logs, lambda figure: cdf(logs, figure.subplots(), limits))
    return Drawn(target, tuple(numbers(log, stream) for log, stream in chosen))


def plot_txrx(
    files: Sequence[Path], *, output: Path | None = None, title: str = "", limits: Limits | None = None
) -> Drawn[OneWay]:
    """Draw the one-way delays of all tx/rx logs in one picture."""
    limits = limits or Limits()
    target = picture(output, _stem(files[0]), "txrx")
    logs = []
    for file in files:
        log = scream_log.read_txrx(file)
        keep = _within(log.seconds, limits)
        if not keep.any():
            raise PlotError(f"{file}: no packet in the seconds that --time names")
        logs.append(scream_log.TxRxLog(log.name, log.seconds[keep], log.seq[keep], log.one_way_s[keep]))
    _render(target, (WIDTH_IN, 4.0), title, "txrx", logs, lambda figure: txrx(logs, figure.subplots(), limits))
    return Drawn(target, tuple(one_way(log) for log in logs))


def one_way(log: TxRxLog) -> OneWay:
    """Packets, losses and percentiles."""
    above = _above_least(log.one_way_s) * 1e3
    above = above[np.isfinite(above)]
    stats = [*np.percentile(above, (50, 90, 99)), above.max()] if above.size else []
    shown = [round(float(value), 3) for value in stats]
    return OneWay(log.name, int(log.seq.size), int(log.seq.size - above.size), *(shown or (None,) * 4))


def _select(log: AckLog, file: Path, limits: Limits, *, by_stream: bool) -> tuple[AckLog, int | None]:
    """The lines of one stream (the first if none is named) within the time limits."""
    stream = None
    keep = _within(log.seconds, limits)
    if by_stream:
        stream = log.streams[0] if limits.stream is None else limits.stream
        if stream not in log.streams:
            known = ", ".join(map(str, log.streams))
            raise PlotError(f"{file}: --stream {stream}: expected one of the log's streams: {known}")
        keep &= log["stream"] == stream
    if not keep.any():
        raise PlotError(f"{file}: no line in the seconds that --time names")
    return log.only(keep), stream


def _within(seconds: FloatArray, limits: Limits) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if limits.time_s is None:
        return np.ones(seconds.size, dtype=bool)
    return (seconds > limits.time_s[0]) & (seconds <= limits.time_s[1])


def _render(
    target: Path,
    size: tuple[float, float],
    title: str,
    what: str,
    logs: Sequence[AckLog | TxRxLog],
    draw: Callable[[Figure], None],
) -> None:
    with styled():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        heading = title or (logs[0].name if len(logs) == 1 else f"{what} of {len(logs)} logs")
        figure.suptitle(heading.replace("$", r"\$"), x=0.01, ha="left", fontsize="medium")
        save(figure, target, heading=heading, description=f"{what} of {', '.join(log.name for log in logs)}")


def _draw(ax: Axes, t: FloatArray, values: FloatArray, label: str, colour: str, **line: Any) -> None:
    if np.isfinite(values).any():
        ax.plot(t, values, label=label, color=colour, rasterized=values.size > MANY, **{**LINE, **line})


def _losses(ax: Axes, t: FloatArray, heights: FloatArray) -> None:
    if np.isfinite(heights).any():
        ax.plot(t, heights, ".", color=RED, markersize=4, label="loss", rasterized=heights.size > MANY)


def _axis(ax: Axes, label: str, top: float | None) -> None:
    style.label_axes(ax, ax.get_xlabel(), label)
    ax.set_ylim(0, top)
    if ax.get_lines():
        ax.legend(
            frameon=False, fontsize="small", ncols=5, loc="lower right", bbox_to_anchor=(1, 0.98), borderaxespad=0
        )


def _same(values: FloatArray) -> FloatArray:
    return values


def _smoothed(values: FloatArray) -> FloatArray:
    """0.05 of the new value and 0.95 of what was, from the first on."""
    state, out = float(values[0]), np.empty_like(values)
    for index, value in enumerate(values.tolist()):
        state = 0.05 * value + 0.95 * state
        out[index] = state
    return out


def _taps(values: FloatArray, taps: int) -> FloatArray:
    """Mean of the last lines; before the first, what it has."""
    mean: FloatArray = np.convolve(np.r_[np.full(taps - 1, values[0]), values], np.full(taps, 1 / taps), "valid")
    return mean


def _above_least(values: FloatArray) -> FloatArray:
    finite = values[np.isfinite(values)]
    above: FloatArray = values - finite.min() if finite.size else values
    return above


def _top_mbps(logs: Sequence[AckLog]) -> float:
    """Of the rate axis: above all of its lines."""
    columns = [log[name] for log in logs for name in ("sent_rate", "media_rate", "acked_rate", "target")]
    return 1.05 * max((float(np.nanmax(c)) for c in columns if np.isfinite(c).any()), default=0.0) * 1e-6 or 1.0


def _mean(values: FloatArray, unit: float = 1.0) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) * unit if finite.size else None


def _p99(values: FloatArray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(np.percentile(finite, 99)) * 1e3 if finite.size else None


def _share(part: FloatArray, whole: FloatArray) -> float | None:
    known = np.isfinite(part) & np.isfinite(whole)
    total = float(whole[known].sum())
    return 100 * float(part[known].sum()) / total if total > 0 else None


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").rsplit(".", 1)[0] or file.name
