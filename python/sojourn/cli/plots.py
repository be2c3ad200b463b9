"""Verbs that draw: a run, logs of the SCReAM BW test tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from cyclopts import App, Parameter
from cyclopts.validators import Number

from sojourn.cli.common import MISUSE, OK, SOME_FAILED, Json, Output, UsageError, print_json, say, written

if TYPE_CHECKING:
    from sojourn.plot.scream import Drawn

Seconds = tuple[float, float] | None
Positive = Annotated[float | None, Parameter(validator=Number(gt=0))]
Scale = Literal["auto", "fixed", "var"]


def plot(
    run: str,
    /,
    *more: str,
    plot: Annotated[list[str] | None, Parameter(name=["--plot", "-p"])] = None,
    output: Output = None,
    title: str = "",
    each: bool = False,
    scale: str = "auto",
    max_rate: Positive = None,
    max_delay: Positive = None,
    format_: Annotated[Literal["png", "svg", "pdf"], Parameter(name="--format")] = "png",
    as_json: Json = False,
) -> int:
    """Draw runs, simulated or Flent files, in one figure, or each in its own, and print the names of the pictures.

    Without -p: rate, RTT, queue delay, congestion window, marks and drops, one above the other. More than eight
    flows are drawn as groups, with a band of the flows from 10 to 90 %. Above a run are its queues, rate and RTT.

    Examples: `sojourn plot results/latest/my-run -o my-run.svg`, `sojourn plot results/a results/b -p rate -p rtt`,
    `sojourn plot results/latest -p 'flow.*.cc.alpha' -p queue.bneck.prob`,
    `sojourn plot results/latest --each --scale fixed,var -o pictures`

    Args:
        run: Folder of a run, of several or of Flent files, or a Flent file.
        more: Further ones.
        plot: Panel (rate, rtt, queue_delay, cwnd, marks_drops) or recorded series by name, * for anything; repeatable.
            Or one of Flent's figures: tcp_delivery_with_rtt, totals, ping_cdf, tcp_rtt_cdf, tcp_cwnd,
            upload_with_ping_and_tcp_rtt.
        output: Picture to write; .svg, .png or .pdf chooses the format. With --each a folder; default plots.
        title: Title above the plot.
        each: Draw each run by itself, into ID.png; with --scale into ID_fixed.png, ID_var.png.
        scale: RTT axis of upload_with_ping_and_tcp_rtt, which it stands for: fixed, 100 ms above the path's RTT, or
            var, three times what the queue reached. With --each also both, as fixed,var.
        max_rate: End of all axes of rates, Mbit/s.
        max_delay: End of all axes of RTTs and delays, ms.
        format_: Format of the pictures of --each.
        as_json: Print one JSON document.
    """
    from sojourn.pictures import plot as draw
    from sojourn.pictures import plot_each
    from sojourn.plot import Limits

    scales = _scales(scale)
    if not each and len(scales) > 1:
        raise UsageError(f"--scale {scale}: expected one scale; several with --each")
    if each and output and output.is_file():
        raise UsageError(f"--output {output}: expected a folder for the pictures of --each")
    limits, runs = Limits(max_rate, max_delay), [run, *more]
    if not each:
        target = draw(runs, plot=plot or (), output=output, title=title, scale=scales[0], limits=limits)
        return written(target, as_json=as_json)
    folder, paths, errors = output or Path("plots"), [], []
    for made in plot_each(runs, folder, plot=plot or (), title=title, scales=scales, limits=limits, form=format_):
        if isinstance(made, Path):
            paths.append(str(made))
            if not as_json:
                print(made, flush=True)
        else:
            errors.append(str(made))
            say(str(made))
    if as_json:
        print_json({"schema": "sojourn/plots/1", "paths": paths, "errors": errors})
    return OK if not errors else SOME_FAILED if paths else MISUSE


def _scales(text: str) -> list[Scale]:
    """Of `--scale`, separated by commas."""
    found: list[Scale] = []
    for word in text.split(","):
        match word.strip():
            case "auto" | "fixed" | "var" as scale if scale not in found:
                found.append(scale)
            case _:
                raise UsageError(f"--scale {text}: expected {', '.join(get_args(Scale))}, or fixed,var with --each")
    return found


def thp_delay(
    log: Path,
    /,
    *logs: Path,
    output: Output = None,
    title: str = "",
    time: Seconds = None,
    stream: int | None = None,
    max_rate: float | None = None,
    max_delay: float | None = None,
    max_window: float | None = None,
    smooth: bool = False,
    as_json: Json = False,
) -> int:
    """Draw rates, window, marks and delays of per-ACK logs of the SCReAM BW test tool, side by side.

    Reads logs of any generation of the original and of ours. Prints shares of CE and loss, and means.

    Example: `sojourn plot thp-delay test.txt --time 0 100 --max-rate 55 --max-delay 0.2 -o test.png`

    Args:
        log: File that the tool's -log wrote; may be compressed with gzip.
        logs: Further logs.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        time: Seconds since the first line, from and to.
        stream: Stream id; default the first.
        max_rate: End of the rate axis, Mbit/s.
        max_delay: End of the delay axis, s.
        max_window: End of the window axis, kB.
        smooth: RTP and acknowledged rates filtered, and the RTP queue instead of the RTT.
        as_json: Print one JSON document.
    """
    from sojourn.plot import scream

    limits = scream.Limits(time, stream, max_rate, max_delay, max_window)
    drawn = scream.plot_thp_delay([log, *logs], output=output, title=title, limits=limits, smooth=smooth)
    return _drawn(drawn, as_json=as_json)


def cdf(
    log: Path,
    /,
    *logs: Path,
    output: Output = None,
    title: str = "",
    time: Seconds = None,
    stream: int | None = None,
    max_delay: float | None = None,
    as_json: Json = False,
) -> int:
    """Draw the distributions of queue delay and RTT in per-ACK logs of the SCReAM BW test tool.

    Example: `sojourn plot cdf before.txt after.txt --time 5 60 --max-delay 0.1`

    Args:
        log: File that the tool's -log wrote; may be compressed with gzip.
        logs: Further logs.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        time: Seconds since the first line, from and to.
        stream: Stream id; default all lines.
        max_delay: End of the delay axis, s.
        as_json: Print one JSON document.
    """
    from sojourn.plot import scream

    limits = scream.Limits(time, stream, delay_s=max_delay)
    drawn = scream.plot_cdf([log, *logs], output=output, title=title, limits=limits)
    return _drawn(drawn, as_json=as_json)


def txrx(
    log: Path,
    /,
    *logs: Path,
    output: Output = None,
    title: str = "",
    time: Seconds = None,
    max_delay: float | None = None,
    as_json: Json = False,
) -> int:
    """Draw the one-way delay of each packet in tx/rx logs of the SCReAM BW test tool, and the losses.

    Example: `sojourn plot txrx txrx.txt -o jitter.svg`

    Args:
        log: File that the tool's -txrxlog wrote; may be compressed with gzip.
        logs: Further logs.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        time: Seconds since the first line, from and to.
        max_delay: End of the delay axis, s.
        as_json: Print one JSON document.
    """
    from sojourn.plot import scream

    limits = scream.Limits(time, delay_s=max_delay)
    drawn = scream.plot_txrx([log, *logs], output=output, title=title, limits=limits)
    return _drawn(drawn, as_json=as_json)


def _drawn(drawn: Drawn[Any], *, as_json: bool) -> int:
    """Numbers of each log, and the picture."""
    if as_json:
        logs = [log.document() for log in drawn.logs]
        print_json({"schema": "sojourn/scream-plot/1", "path": str(drawn.path), "logs": logs})
    else:
        print("\n".join([*map(str, drawn.logs), str(drawn.path)]))
    return OK


app = App(name="plot")
app.default(plot)
app.command(thp_delay, name="thp-delay")
app.command(cdf, name="cdf")
app.command(txrx, name="txrx")
app.command("sojourn.cli.studies:heat", name="heat")
app.command("sojourn.cli.studies:lines", name="lines")
app.command("sojourn.cli.studies:pareto", name="pareto")
