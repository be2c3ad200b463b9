"""A capture as a page of the report: what it shows, what stands out, and the time-sequence plot of each large flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sojourn.captures import series
from sojourn.captures.flow import CE, Flow, Packets, codepoints, percent
from sojourn.captures.series import Table, thinned
from sojourn.files import write_whole
from sojourn.report import html, markdown
from sojourn.report.model import Cell, Column, Figure, Group, Kind, Page, Plot, Row, Section, Series, to_json
from sojourn.report.model import Table as PageTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sojourn.captures.flow import Ints
    from sojourn.captures.read import Capture
    from sojourn.metrics import FloatArray

#: Flows with a figure, rows of the table of flows.
MOST_FIGURES, MOST_ROWS = 8, 500
#: Values of one curve. Marks, losses and SACKs are kept up to theirs each, beyond which every n-th is drawn.
POINTS, MARKS = 4000, 4000
#: A flow with fewer data packets than these has no curve worth its room.
LEAST_DATA = 20
DATA, ACKS, MARK, LOSS, SACKS, WINDOW = "#8492a0", "#2f8fd0", "#E69F00", "#D62728", "#9467bd", "#2ca08a"
#: What the axes of a plot leave free above their values.
ROOM = 1.05

TERMS = {
    "goodput": "Payload that was acknowledged for the first time, over the flow's time; of datagrams what was sent.",
    "RTT": "Median time from a data segment to the first ACK that covers it, retransmitted ones left out, and "
    "the time from the capture to the sender and back.",
    "ECN": "The feedback that SYN and SYN/ACK agreed on: AccECN (RFC 9768), classic (RFC 3168), none; mangled where "
    "the flags are such that no standard gives.",
    "CE": "Share of the data packets that carry CE where the capture was made; where it was made before the marks, "
    "the share that the feedback tells of.",
    "per round trip": "A round begins with a data packet and ends with the ACK of it.",
    "family": "Which congestion control the flow's answers to marks and losses look like; no answer where the capture "
    "does not show it.",
    "in flight": "Payload that was sent and not acknowledged, after each data packet.",
}


def write(capture: Capture, flows: Sequence[Flow], path: Path) -> None:
    """Writes the page as the file's name says: HTML, Markdown or JSON."""
    made = page(capture, flows)
    if path.suffix == ".json":
        write_whole(path, to_json(made))
    elif path.suffix == ".md":
        write_whole(path, markdown.render(made))
    else:
        write_whole(path, html.render(made))


def page(capture: Capture, flows: Sequence[Flow]) -> Page:
    """The page of these flows of a capture."""
    large = sorted(flows, key=lambda flow: -flow.data["data_bytes"])
    drawn = [flow for flow in large if _has_figure(flow)]
    sections = [
        Section("summary", "Flows", text=[_lead(large)], tables=[_flows(large)], notes=list(_notes(capture, large))),
        *_diagnosed(large),
        *(_of_flow(flow) for flow in drawn[:MOST_FIGURES]),
        Section("definitions", "Definitions", terms=TERMS),
    ]
    names = ", ".join(Path(name).name for name in capture.files)
    return Page(
        f"Capture {names}",
        _headline(large),
        ("capture", ""),
        sections,
        intro=f"{capture.document['packets']} IP packets in {capture.duration_s:.1f} s.",
        errors=list(capture.warnings),
    )


def _headline(flows: Sequence[Flow]) -> str:
    """What is said first: the diagnoses of the largest flow that has some."""
    said = next((flow.diagnoses for flow in flows if flow.diagnoses), [])
    texts = dict.fromkeys(one["text"] for one in said[:2])
    return "; ".join(texts) or "Nothing stands out in how these flows treat congestion signals."


def _lead(flows: Sequence[Flow]) -> str:
    carried = sum(flow.data["data_bytes"] for flow in flows)
    if not flows or not carried:
        return "No flow has data."
    first = flows[0]
    share = 100 * first.data["data_bytes"] / carried
    return f"{len(flows)} flow{'' if len(flows) == 1 else 's'}; flow {first.number} has {share:.0f} % of the payload."


def _notes(capture: Capture, flows: Sequence[Flow]) -> Iterator[str]:
    if len(flows) > MOST_ROWS:
        yield f"{len(flows) - MOST_ROWS} flows with less data are not listed."
    for reason, count in capture.document["skipped"].items():
        yield f"{count} records were not read: {reason}."


def _flows(flows: Sequence[Flow]) -> PageTable:
    headings = ("is", "duration, s", "Mbit/s", "RTT, ms", "ECN", "data sent", "CE", "retransmissions", "family")
    kinds: dict[str, Kind] = {
        **dict.fromkeys(("duration, s", "Mbit/s", "RTT, ms"), "number"),
        "CE": "value",
        "retransmissions": "value",
    }
    columns = [Column("flow", "name"), *(Column(heading, kinds.get(heading, "text")) for heading in headings)]
    drawn = {flow.number for flow in [one for one in flows if _has_figure(one)][:MOST_FIGURES]}
    rows: list[list[Cell | None]] = [
        [
            Cell(f"{flow.number}: {flow.title}", section=_id(flow) if flow.number in drawn else ""),
            Cell(flow.protocol),
            Cell(a=flow.duration_s),
            Cell(a=flow.goodput_mbps),
            Cell(a=flow.rtt_p50_ms),
            Cell(flow.ecn_mode),
            Cell(codepoints(flow.data["data_ecn"])),
            Cell(percent(flow.ce_percent)),
            Cell("" if flow.retransmissions is None else str(flow.retransmissions["all"])),
            Cell(flow.family["family"] if flow.family else ""),
        ]
        for flow in flows[:MOST_ROWS]
    ]
    return PageTable("capture", columns, [Group(rows)])


def _diagnosed(flows: Sequence[Flow]) -> Iterator[Section]:
    rows: list[list[Cell | None]] = [
        [Cell(str(flow.number)), Cell(one["text"]), Cell(one["evidence"]), Cell(one["kind"])]
        for flow in flows[:MOST_ROWS]
        for one in flow.diagnoses
    ]
    families: list[list[Cell | None]] = [
        [Cell(str(flow.number)), Cell(flow.family["family"]), Cell(flow.family["evidence"])]
        for flow in flows[:MOST_ROWS]
        if flow.family
    ]
    if rows:
        columns = [
            Column("flow", "name"),
            Column("what", "prose", main=True),
            Column("evidence", "prose"),
            Column("kind", "soft"),
        ]
        table = PageTable("diagnoses", columns, [Group(rows)])
        yield Section("diagnoses", "What stands out", "What did the congestion signals do?", tables=[table])
    if families:
        columns = [Column("flow", "name"), Column("looks", "text", main=True), Column("evidence", "prose")]
        table = PageTable("families", columns, [Group(families)])
        yield Section("families", "Congestion control", "How do the senders answer signals?", tables=[table])


def _has_figure(flow: Flow) -> bool:
    return flow.data["data_packets"] >= LEAST_DATA and flow.packets is not None and flow.packets.t_s.size > 0


def _id(flow: Flow) -> str:
    return f"flow-{flow.number}"


def _of_flow(flow: Flow) -> Section:
    said = [f"{one['text']}: {one['evidence']}." for one in flow.diagnoses]
    notes = []
    if flow.packets is not None and flow.packets.left_out:
        notes.append(f"{flow.packets.left_out} packets were too many to be drawn.")
    return Section(
        _id(flow), f"Flow {flow.number}: {flow.title}", text=said, figures=[Row([[figure(flow)]])], notes=notes
    )


def figure(flow: Flow) -> Figure:
    """Its plots over time, from the first packet of the capture on."""
    packets = flow.packets
    assert packets is not None  # noqa: S101 - callers draw flows with packets alone
    end = flow.span_s[1]
    step = max(series.STEP_S, (end - flow.span_s[0]) / (POINTS / 2))
    steps, rounds = series.per_step(flow, step), series.per_round(flow)
    plots = [
        _sequence(flow, packets),
        _rate(steps, step),
        _rtt(flow, packets),
        _marks(rounds),
        _flight(flow, packets),
    ]
    return Figure(
        f"flow {flow.number}",
        round(end, 6),
        [plot for plot in plots if any(one.values for one in plot.series)],
        caption="All plots show the same time: what is zoomed in one is zoomed in all.",
    )


def _sequence(flow: Flow, packets: Packets) -> Plot:
    """Sent and acknowledged payload over time, MB: where the steps are flat, where marks, losses and SACKs are."""
    there = packets.way(flow.way)
    data = np.flatnonzero(there & (packets.len > 0))
    ends = packets.seq + packets.len
    lost = data[np.isin(data, series.sent_again(packets))]
    marked = data[packets.ecn[data] == CE]
    kept = data[thinned(packets.t_s[data], POINTS)] if data.size > POINTS else data
    drawn = [_bars("data", DATA, packets.t_s, packets.seq, ends, kept)]
    at, upto = series.acked(flow)
    if flow.protocol == "tcp" and at.size:
        acks = thinned(upto.astype(np.float64), POINTS)
        drawn.append(Series("acknowledged", ACKS, _mb(upto[acks]), t_s=at[acks].tolist(), shape="stairs"))
    sacks = packets.sacks[~there[packets.sacks[:, 0]]] if packets.sacks.size else packets.sacks
    sacks = sacks[_some(len(sacks))]
    if len(sacks):
        bars = packets.t_s[sacks[:, 0]].tolist()
        drawn.append(Series("SACK", SACKS, _mb(sacks[:, 2]), t_s=bars, shape="bars", low=_mb(sacks[:, 1])))
    for label, colour, chosen in (("CE", MARK, marked), ("sent again", LOSS, lost)):
        if chosen.size:
            some = chosen[_some(chosen.size)]
            name = f"{label} ({chosen.size})"
            drawn.append(Series(name, colour, _mb(ends[some]), t_s=packets.t_s[some].tolist(), shape="points"))
    reported = np.flatnonzero(~there & (packets.ce_reported > 0) & (packets.ack >= 0))
    if reported.size and not marked.size:
        some = reported[_some(reported.size)]
        count = int(packets.ce_reported[reported].sum())
        drawn.append(
            Series(
                f"ACK reports CE ({count})",
                MARK,
                _mb(packets.ack[some]),
                t_s=packets.t_s[some].tolist(),
                shape="points",
            )
        )
    top = float(ends[data].max()) * 1e-6 if data.size else 1.0
    title = "Sequence numbers: what was sent, acknowledged, marked and lost, MB"
    return Plot("sequence", title, "MB", drawn, (0.0, max(top * ROOM, 1e-6)))


def _rate(steps: Table, step: float) -> Plot:
    columns = (("sent", DATA, "sent_mbps"), ("goodput", ACKS, "goodput_mbps"))
    drawn = [_line(label, colour, steps["from_s"], steps[key], "stairs") for label, colour, key in columns]
    top = float(max(steps["sent_mbps"].max(initial=0), steps["goodput_mbps"].max(initial=0)))
    return Plot("rate", f"Rate over {step * 1e3:.0f} ms, Mbit/s", "Mbit/s", drawn, (0.0, max(top * ROOM, 1e-6)))


def _rtt(flow: Flow, packets: Packets) -> Plot:
    sampled = np.flatnonzero(packets.way(flow.back) & (packets.rtt_s > 0))
    rtt = packets.rtt_s[sampled] * 1e3
    kept = thinned(rtt, POINTS)
    drawn = [_line("RTT", ACKS, packets.t_s[sampled][kept], rtt[kept])] if rtt.size else []
    top = float(rtt.max(initial=0))
    return Plot("rtt", "RTT of the data from the capture on, ms", "ms", drawn, (0.0, max(top * ROOM, 1e-6)))


def _marks(rounds: Table) -> Plot:
    """Of each round trip, what share of its packets was marked, and what share reported."""
    if not len(rounds):
        return Plot("marks", "", "%")
    # Of a few packets, as at the end, one is a large share.
    rounds = rounds.where(rounds["packets"] >= 0.1 * np.median(rounds["packets"]))
    drawn = []
    for label, key, colour in (
        ("CE", "ce", MARK),
        ("CE by the feedback", "ce_reported", WINDOW),
        ("SCE", "sce", SACKS),
    ):
        if rounds[key].any():
            share = 100 * np.minimum(rounds[key] / np.maximum(rounds["packets"], 1), 1.0)
            kept = thinned(share, POINTS)
            drawn.append(_line(label, colour, rounds["from_s"][kept], share[kept], "stairs"))
    lost = 100 * rounds["retransmitted"] / np.maximum(rounds["packets"], 1)
    if lost.any():
        kept = thinned(lost, POINTS)
        drawn.append(_line("sent again", LOSS, rounds["from_s"][kept], lost[kept], "stairs"))
    if not drawn:
        drawn = [_line("CE", MARK, rounds["to_s"][[0, -1]], np.zeros(2))]
    top = max((max(v for v in one.values if v is not None) for one in drawn), default=0.0)
    return Plot("marks", "Marked and sent again, % of each round trip", "%", drawn, (0.0, max(top * ROOM, 1.0)))


def _flight(flow: Flow, packets: Packets) -> Plot:
    data = np.flatnonzero(packets.way(flow.way) & (packets.len > 0))
    flight = np.asarray(packets.in_flight[data] * 1e-3, dtype=np.float64)
    if not flight.any():
        return Plot("flight", "", "kB")
    kept = thinned(flight, POINTS)
    drawn = [_line("in flight", DATA, packets.t_s[data][kept], flight[kept])]
    top = float(flight.max())
    window = np.flatnonzero(packets.way(flow.back) & (packets.window > 0))
    offered = np.asarray(packets.window[window] * 1e-3, dtype=np.float64)
    if offered.size and float(np.median(offered)) < 2 * top:
        kept = thinned(offered, POINTS)
        drawn.append(_line("receive window", WINDOW, packets.t_s[window][kept], offered[kept]))
        top = min(max(top, float(offered.max())), 2 * top)
    return Plot("flight", "In flight, kB", "kB", drawn, (0.0, max(top * ROOM, 1e-6)))


def _line(
    label: str, colour: str, t: FloatArray, values: FloatArray, shape: Literal["line", "stairs"] = "line"
) -> Series:
    shown = [None if value != value else round(value, 6) for value in values.tolist()]
    return Series(label, colour, shown, t_s=t.tolist(), shape=shape)


def _bars(label: str, colour: str, t: FloatArray, low: Ints, high: Ints, chosen: Ints) -> Series:
    return Series(label, colour, _mb(high[chosen]), t_s=t[chosen].tolist(), shape="bars", low=_mb(low[chosen]))


def _mb(values: Ints) -> list[float | None]:
    return [value * 1e-6 for value in values.tolist()]


def _some(count: int) -> Ints:
    """Indices of all, or of every n-th where there are too many to draw."""
    return np.arange(0, count, -(-count // MARKS) if count > MARKS else 1)
