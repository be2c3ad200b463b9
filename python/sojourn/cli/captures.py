"""The verb `pcap`: what congestion signals did, from the packets of a capture."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sojourn.cli.common import FAILED, OK, Json, UsageError, print_json, say
from sojourn.planning import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.captures import Capture, Flow

#: Seconds between two looks at signals, and between two tables of a live capture.
LOOK_S, INTERVAL_S = 0.2, 2.0
#: Moves the cursor to the beginning of an empty screen.
CLEAR = "\033[H\033[2J"


def pcap(
    files: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    interface: Annotated[str | None, Parameter(name=["--interface", "-i", "--follow"])] = None,
    duration: str | None = None,
    pair: bool = False,
    translated: bool = False,
    chosen: Annotated[str | None, Parameter(name=["--filter", "-f"])] = None,
    flow: int | None = None,
    full: bool = False,
    html: Path | None = None,
    csv: Path | None = None,
    parquet: Path | None = None,
    events: bool = False,
    xplot: Path | None = None,
    scetrace: bool = False,
    to_scenario: Path | None = None,
    write_anonymised: Path | None = None,
    anonymise: Annotated[bool | None, Parameter(negative="--no-anonymise")] = None,
    as_json: Json = False,
) -> int:
    """Say what the congestion signals did in a capture: for each flow codepoints, marks, feedback, RTT, losses.

    Reads pcap and pcapng, also compressed by gzip, xz or zstd; `-` is stdin. Several files are one capture, one after
    the other, but with `--pair`. What is left of a damaged file is used, and a line says how much that is.

    Examples: `sojourn pcap upload.pcap`, `sojourn pcap upload.pcapng.xz --flow 2 --html upload.html`,
    `tcpdump -w - -c 10000 | sojourn pcap -`, `sudo .venv/bin/sojourn pcap -i eth0`,
    `sojourn pcap --pair client.pcap server.pcap`, `sojourn pcap upload.pcap --to-scenario mine.toml`

    Args:
        files: Capture files, or `-`.
        interface: Capture what passes this network interface, and print the table every two seconds until Ctrl-C. It
            needs CAP_NET_RAW, which root has.
        duration: End of a live capture, such as 30s.
        pair: The two files are of the same packets, at the client and at the server: say what the path between changed,
            lost and delayed, and how far apart the clocks are.
        translated: With --pair: addresses or ports are translated between the two.
        chosen: Packets to take, in the grammar of tcpdump as far as `host`, `net`, `port`, a protocol, `and`, `or`,
            `not` and parentheses go, such as "tcp and port 443".
        flow: Print everything about the flow of this number.
        full: Print all flows and diagnoses, whatever the height of the screen.
        html: Report to write, with a time-sequence plot of each large flow; .md and .json are Markdown and JSON.
        csv: Series to write, over 100 ms and over each round trip.
        parquet: The same as Parquet.
        events: Write every packet in place of series.
        xplot: Folder for time-sequence graphs and shares of signals in the format of xplot.org.
        scetrace: Print the JSON of scetrace, whose counts are right here.
        to_scenario: Draft of a scenario to write: rate, base RTT and flows of the bottleneck that the capture shows.
        write_anonymised: Capture file (pcapng) to write: the headers of the same packets, with other addresses and
            without payload.
        anonymise: Replace addresses, so that those of one network stay in one. Without this option it is done in
            what is written to files, and not in what is printed.
        as_json: Print one JSON document.
    """
    from sojourn import _core, captures
    from sojourn.cli import capture_screen

    files = files or []
    if bool(files) == bool(interface):
        raise UsageError("pcap: expected capture files, `-` for stdin, or --interface")
    if "-" in files and len(files) > 1:
        raise UsageError("pcap: expected `-` alone")
    if duration and not interface:
        raise UsageError("--duration: only with --interface")
    if write_anonymised and (interface or "-" in files or anonymise is False):
        raise UsageError("--write-anonymised: expected files, and not --no-anonymise")
    if scetrace and (as_json or flow):
        raise UsageError("--scetrace: expected neither --json nor --flow")
    if events and not (csv or parquet):
        raise UsageError("--events: expected --csv or --parquet, too")
    if pair:
        options = (
            interface,
            scetrace,
            chosen,
            flow,
            html,
            csv,
            parquet,
            xplot,
            to_scenario,
            write_anonymised,
            anonymise,
        )
        if len(files) != 2 or "-" in files or any(options):
            raise UsageError("--pair: expected two files, and of options --translated, --full and --json alone")
        return _pair(files[0], files[1], translated=translated, full=full, as_json=as_json)
    if translated:
        raise UsageError("--translated: only with --pair")
    keep = bool(html or csv or parquet or xplot or to_scenario)
    if interface:
        capture = _live(interface, chosen, _time(duration), keep=keep, shows=not (as_json or scetrace or flow))
    else:
        capture = captures.read(files, chosen=chosen, packets=keep)
    for line in capture.warnings:
        say(line)
    anonymiser = _core.Anonymiser()
    shown = capture.anonymised(anonymiser) if anonymise else capture
    if scetrace:
        print_json(shown.scetrace())
    elif as_json:
        document = shown.json()
        if flow:
            document["flows"] = [shown.flow(flow).document]
        print_json(document)
    elif flow:
        capture_screen.show_flow(shown.flow(flow))
    elif not (interface and sys.stdout.isatty()):  # there it stands already
        capture_screen.show(shown, shown.flows, full=full)
    if write_anonymised:
        captures.copy(files, write_anonymised, anonymiser)
        say(f"anonymised: {write_anonymised}")
    kept = capture if anonymise is False else capture.anonymised(anonymiser)
    flows = [kept.flow(flow)] if flow else kept.flows
    _write(kept, flows, html=html, tables=(csv, parquet), events=events, xplot=xplot, to_scenario=to_scenario)
    return OK if capture.document["packets"] else FAILED


def _live(interface: str, chosen: str | None, end_s: float | None, *, keep: bool, shows: bool) -> Capture:
    """Takes packets until the time is over or somebody ends it; on a terminal the table is printed now and then."""
    from sojourn import _core, captures
    from sojourn.cli import capture_screen

    if not hasattr(_core, "InspectLive"):
        raise UsageError("--interface: expected Linux")
    try:
        live = _core.InspectLive(interface, chosen, keep)
    except OSError as error:
        raise UsageError(f"--interface: {error}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    began = shown = time.monotonic()
    try:
        while end_s is None or time.monotonic() < began + end_s:
            live.advance(LOOK_S)
            if shows and sys.stdout.isatty() and time.monotonic() >= shown + INTERVAL_S:
                shown = time.monotonic()
                print(CLEAR, end="")
                capture = captures.of(live.report(), [interface])
                capture_screen.show(capture, capture.flows)
    except KeyboardInterrupt:
        pass
    return captures.of(live.report(), [interface])


def _time(text: str | None) -> float | None:
    value = None if text is None else seconds(text)
    if text is not None and not value:
        raise UsageError(f"--duration {text}: expected a time such as 30s")
    return value


def _pair(first: str, second: str, *, translated: bool, full: bool, as_json: bool) -> int:
    """Two captures of the same packets."""
    from sojourn.captures import pair as pairs
    from sojourn.cli import capture_screen

    both = pairs.compare(first, second, translated=translated)
    for line in both.warnings:
        say(line)
    if as_json:
        print_json(both.json())
    else:
        capture_screen.show_pair(both, full=full)
    return OK if both.document["matched"] else FAILED


def _write(
    capture: Capture,
    flows: Sequence[Flow],
    *,
    html: Path | None,
    tables: tuple[Path | None, Path | None],
    events: bool,
    xplot: Path | None,
    to_scenario: Path | None,
) -> None:
    """Files; a line on stderr names each."""
    if html:
        from sojourn.captures import page

        page.write(capture, flows, html)
        say(f"report: {html}")
    for path in filter(None, tables):
        from sojourn.captures import tables as written

        written.write(path, flows, packets=events)
        say(f"{'packets' if events else 'series'}: {path}")
    if xplot:
        from sojourn.captures import xplot as graphs

        count = len(graphs.write(xplot, flows, capture.document["start_ns"]))
        say(f"xplot: {count} graphs in {xplot}")
    if to_scenario:
        from sojourn.captures import draft

        draft.write(flows, to_scenario)
        say(f"scenario: {to_scenario} (a draft: its comments say what is a guess)")
