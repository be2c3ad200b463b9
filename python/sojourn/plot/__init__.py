"""Static figures: panels of one or several runs over time, and figures under Flent's names.

`sojourn plot A B -o x.svg`, `sojourn plot RUN -p flow.prague.cc.alpha`, `sojourn plot RUN -p tcp_delivery_with_rtt`.
Flent's figures are one file each with one pure function `draw(ours, measured, ax) -> ax`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from html import escape
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn import reference
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


def plot(
    runs: str | Path | Sequence[str | Path],
    *,
    plot: str | Sequence[str] = (),
    output: Path | None = None,
    title: str = "",
    scale: Scale = "auto",
) -> Path:
    """Draws runs or Flent files in one figure, one alone over its measurement if there is one.

    `plot` names panels, recorded series, or one of Flent's figures; the default is every panel. Raises
    `PlotError`, one line that says what was expected.
    """
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    names = [plot] if isinstance(plot, str) else list(plot)
    check(names, scale)
    sources = [source for path in paths for source in load(Path(path))]
    ending = ("panels" if not names else "-".join(names)) if scale == "auto" else scale
    of = sources[0].id + (f"-and-{len(sources) - 1}-more" if len(sources) > 1 else "")
    target = picture(output, of, ending)
    write(sources, names, target, title=title, scale=scale)
    return target


def write(
    sources: Sequence[Source], names: Sequence[str], target: Path, *, title: str = "", scale: Scale = "auto"
) -> None:
    """Writes the figure; the ending of the name decides the format."""
    ids = [source.id for source in sources]
    with styled():
        drawn = figure(sources, names, title=title, scale=scale)
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
    heading = f"{ours.id if len(sources) == 1 else ''} {title}".strip().replace("$", r"\$")
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


def picture(output: Path | None, of: str, ending: str) -> Path:
    """The file to write: the one that was asked for, or one after what it shows."""
    target = output or Path(f"{re.sub(r'[^A-Za-z0-9.]+', '-', of)}-{ending}.svg")
    if target.suffix not in FORMATS:
        raise PlotError(f"{target}: expected a name that ends in {', '.join(FORMATS)}")
    return target


def load(path: Path) -> list[Source]:
    """The runs that a path names."""
    if path.is_file():
        return [flent.FlentFile(path)]
    if not path.is_dir():
        raise PlotError(f"{path}: expected a run folder or a Flent file")
    from sojourn.results import ResultSet

    runs: list[Source] = list(ResultSet.open(path).runs.values())
    if not runs:
        raise PlotError(f"{path}: expected the folder of a run or of several, found none")
    return runs


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
        said = f"<title>{escape(heading)}</title>\n <desc>{escape(description)}</desc>".encode()
        head, tag, rest = content.partition(b"<svg")
        opening, bracket, body = rest.partition(b">")
        content = head + tag + opening + bracket + b"\n " + said + body
    write_whole(target, content)
