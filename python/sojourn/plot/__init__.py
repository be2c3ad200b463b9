"""Static figures: panels of one or several runs over time, and figures under Flent's names.

`sojourn plot A B -o x.svg`, `sojourn plot RUN -p flow.prague.cc.alpha`, `sojourn plot RUN -p tcp_delivery_with_rtt`.
Flent's figures are one file each with one pure function `draw(ours, measured, ax) -> ax`.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn import path, reference
from sojourn.files import write_whole
from sojourn.interop import flent
from sojourn.metrics import Source
from sojourn.plot import (
    panels,
    ping_cdf,
    tcp_cwnd,
    tcp_delivery_with_rtt,
    tcp_rtt_cdf,
    totals,
    upload_with_ping_and_tcp_rtt,
)
from sojourn.plot.curves import Held
from sojourn.plot.curves import PlotError as PlotError
from sojourn.plot.upload_with_ping_and_tcp_rtt import Scale

Draw = Callable[[Source, Source | None, Axes], Axes]
PLOTS: dict[str, Draw] = {
    "tcp_delivery_with_rtt": tcp_delivery_with_rtt.draw,
    "totals": totals.draw,
    "ping_cdf": ping_cdf.draw,
    "tcp_rtt_cdf": tcp_rtt_cdf.draw,
    "tcp_cwnd": tcp_cwnd.draw,
    "upload_with_ping_and_tcp_rtt": upload_with_ping_and_tcp_rtt.draw,
}
#: The figure that the suites drew with a fixed and with a variable scale, at the size that they had.
SCALED = "upload_with_ping_and_tcp_rtt"
SIZES_IN = {SCALED: (10.0, 7.5)}
FORMATS = (".svg", ".png", ".pdf")


#: Figures of Flent's that show several runs.
SEVERAL: dict[str, Callable[[Sequence[Source], Axes], Axes]] = {
    "ping_cdf": ping_cdf.several,
    "tcp_rtt_cdf": tcp_rtt_cdf.several,
}
#: More runs than these are no figure but a report.
MOST_RUNS = 8
#: Characters in a line above a figure.
HEADING = 110
#: What the label of an axis says of its unit.
RATES, DELAYS = re.compile(r"\bMbit/s\b"), re.compile(r"\bms\b")


@dataclass(frozen=True)
class Limits:
    """Ends of the axes, for pictures that are to be compared."""

    rate_mbps: float | None = None
    delay_ms: float | None = None

    def apply(self, drawn: Figure) -> None:
        """Ends every axis of rates and of delays there; raises `PlotError` where it begins beyond."""
        for ax in drawn.axes:
            for label, (begin, _), put in (
                (ax.get_ylabel(), ax.get_ylim(), ax.set_ylim),
                (ax.get_xlabel(), ax.get_xlim(), ax.set_xlim),
            ):
                if (end := self._end(label, begin)) is not None:
                    put(begin, end)

    def _end(self, label: str, begin: float) -> float | None:
        """Where the axis with this label is to end, if anywhere."""
        ends = ((RATES, self.rate_mbps, "--max-rate", "Mbit/s"), (DELAYS, self.delay_ms, "--max-delay", "ms"))
        for unit, end, option, word in ends:
            if end is not None and unit.search(label):
                if end <= begin:
                    raise PlotError(f"{option} {end:g}: expected more than {begin:.4g} {word}, where the axis begins")
                return end
        return None


NO_LIMITS = Limits()


def chosen(plot: str | Sequence[str], scale: Scale = "auto") -> list[str]:
    """What to draw, checked: with a scale and nothing named, the figure that has scales."""
    names = [plot] if isinstance(plot, str) else list(plot)
    names = names or ([SCALED] if scale != "auto" else [])
    check(names, scale)
    return names


def write(
    sources: Sequence[Source],
    names: Sequence[str],
    target: Path,
    *,
    title: str = "",
    scale: Scale = "auto",
    limits: Limits = NO_LIMITS,
) -> None:
    """Writes the figure; the ending of the name decides the format."""
    ids = [source.id for source in sources]
    with styled():
        drawn = figure(sources, names, title=title, scale=scale)
        limits.apply(drawn)
        heading = f"{' beside '.join(ids)} {title}".strip()
        save(drawn, target, heading=heading, description=f"{', '.join(names) or 'panels'} of {', '.join(ids)}")


def check(names: Sequence[str], scale: Scale = "auto") -> None:
    """Raises `PlotError` for names that cannot be drawn together."""
    flents = [name for name in names if name in PLOTS]
    if flents and len(names) > 1:
        raise PlotError(f"{flents[0]}: expected alone; panels ({', '.join(panels.PANELS)}) and series can be stacked")
    if scale != "auto" and SCALED not in flents:
        raise PlotError(f"--scale {scale}: expected with the plot {SCALED}")
    for name in names:
        if name not in PLOTS and name not in panels.PANELS and not re.search(r"[.*?]", name):
            known = ", ".join((*panels.PANELS, *PLOTS))
            raise PlotError(f"{name}: expected one of {known}, or a recorded series such as flow.*.rtt")


def figure(sources: Sequence[Source], names: Sequence[str] = (), *, title: str = "", scale: Scale = "auto") -> Figure:
    """The figure of `plot`, not yet written; to be called where it is `styled`."""
    check(names, scale)
    if not 1 <= len(sources) <= MOST_RUNS:
        raise PlotError(f"expected 1 to {MOST_RUNS} runs, found {len(sources)}; `sojourn report` shows any number")
    ours = sources[0]
    alone = len(sources) == 1 and not isinstance(ours, flent.FlentFile)
    measured = reference.find(ours.id) if alone else None
    name = names[0] if names else ""
    drawn = Figure(figsize=SIZES_IN.get(name, (10, 6.2)), layout="constrained")
    FigureCanvasAgg(drawn)
    heading = _heading(ours if len(sources) == 1 else None, title)
    if name not in PLOTS:
        panels.draw(drawn, sources, measured, names)
        drawn.axes[0].set_title(heading, loc="left", fontsize="medium")
        return drawn
    held = [Held(source) for source in sources]
    ax = drawn.subplots()
    if len(sources) == 1:
        draw = partial(upload_with_ping_and_tcp_rtt.draw, scale=scale) if name == SCALED else PLOTS[name]
        draw(held[0], measured, ax)
    elif name in SEVERAL:
        SEVERAL[name](held, ax)
    else:
        raise PlotError(f"{name}: expected one run; {', '.join((*panels.PANELS, *SEVERAL))} show several")
    ax.set_title(heading, loc="left", fontsize="medium")
    return drawn


def _heading(alone: Source | None, title: str) -> str:
    """The title; of one run also its id, and a line with queue, rate and RTT."""
    lines = [f"{alone.id if alone else ''} {title}".strip()]
    lines += textwrap.wrap(str(path.of(alone)), HEADING) if alone else []
    return "\n".join(lines).replace("$", r"\$")


def picture(output: Path | None, of: str, ending: str) -> Path:
    """The file to write: the one that was asked for, or one after what it shows."""
    target = output or Path(f"{re.sub(r'[^A-Za-z0-9.]+', '-', of)}-{ending}.svg")
    if target.suffix not in FORMATS:
        raise PlotError(f"{target}: expected a name that ends in {', '.join(FORMATS)}")
    return target


def styled() -> AbstractContextManager[None]:
    """Within it figures are made and saved: text stays text, and the same figure is the same bytes."""
    return mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sojourn", "pdf.fonttype": 42, "font.size": 10})


def save(figure: Figure, target: Path, *, heading: str, description: str) -> None:
    """Write a figure, the same bytes each time; to be called where it is `styled`."""
    buffer = io.BytesIO()
    form = target.suffix[1:]
    undated = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None, "Title": heading},
        "png": {"Title": heading},
    }
    figure.savefig(buffer, format=form, dpi=150, metadata=undated[form])
    content = buffer.getvalue()
    if form == "svg":
        labels = f"<title>{escape(heading)}</title>\n <desc>{escape(description)}</desc>".encode()
        head, tag, rest = content.partition(b"<svg")
        opening, bracket, body = rest.partition(b">")
        content = head + tag + opening + bracket + b"\n " + labels + body
    write_whole(target, content)
