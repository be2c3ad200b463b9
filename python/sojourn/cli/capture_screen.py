"""A capture on a terminal: a table that fits the screen, what stands out below it, or all about one flow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from sojourn.captures.flow import WAYS, Flow, codepoints, percent
from sojourn.captures.pair import Between, Both
from sojourn.captures.read import Capture
from sojourn.cli.screen import ABSENT, Screen, figure

#: Lines around the rows: the heading, a blank line, the table's heading, the count of what is left out, the prompt.
AROUND = 6
#: Flows of fewer packets are not shown where others are: multicasts, neighbours' questions.
FEW = 10
#: Lines for diagnoses where flows would fill the screen.
LEAST_DIAGNOSES = 8
#: Wider lines are hard to read.
WIDTH = 120
HEADING = ("flow", "is", "s", "Mbit/s", "RTT ms", "ECN", "data sent", "CE", "retrans", "family")
#: Columns that are left out where the screen is narrow, the first one first.
OPTIONAL = (2, 1, 9, 5, 8)


def show(capture: Capture, flows: list[Flow], *, full: bool = False) -> None:
    """Prints a line for each flow, the largest first, and the diagnoses."""
    screen = Screen()
    screen.line(_counted(capture), "bold")
    for line in _skipped(capture):
        screen.line(line)
    by_size = sorted(flows, key=lambda flow: -(flow.data["data_bytes"] or flow.data["ip_bytes"]))
    said = _diagnoses(by_size, screen.width)
    room = screen.height - AROUND - min(len(said), LEAST_DIAGNOSES)
    talking = [flow for flow in by_size if sum(flow.document[way]["packets"] for way in WAYS) >= FEW] or by_size
    shown = by_size if full else talking[: max(room - 1, 1)]
    rows = [_row(flow) for flow in shown]
    if rows:
        screen.table(HEADING, rows, {0, 1, 5, 6, 9}, OPTIONAL)
    if left := len(flows) - len(shown):
        screen.line(f"... {left} more flows with less data; --full has all")
    if said:
        screen.line("")
    lines = screen.height - AROUND - len(rows) + 1
    for number, (line, style) in enumerate(said):
        if not full and number >= max(lines - 1, LEAST_DIAGNOSES):
            screen.line(f"... {len(said) - number} more lines; --full has all")
            break
        screen.line(line, style)


def show_flow(flow: Flow) -> None:
    """Prints everything that the core says of one flow."""
    screen = Screen()
    start, end = flow.span_s
    screen.line(f"flow {flow.number}: {flow.title}, {flow.protocol}, {start:.3f} to {end:.3f} s", "bold")
    for line in _connection(flow):
        screen.line(line)
    opener, peer = flow.ends
    heading = ("", f"from {opener}", f"from {peer}")
    both = [_direction(flow.document[way]) for way in WAYS]
    rows = [
        (name, both[0].get(name, ABSENT), both[1].get(name, ABSENT)) for name in dict.fromkeys([*both[0], *both[1]])
    ]
    screen.table(heading, rows, {0, 1, 2})
    names = ("", "n", "min", "mean", "p50", "p95", "p99", "max")
    ways = [f"from {end}" for end in flow.ends]
    for way, title in zip(WAYS, ways, strict=True):
        spread = [
            (name, str(one["n"]), *(figure(one[key]) for key in ("min", "mean", "p50", "p95", "p99", "max")))
            for name, one in _distributions(flow.document[way])
        ]
        if spread:
            screen.table((title, *names[1:]), spread, {0})
    screen.line("")
    if flow.family:
        screen.line(f"looks {flow.family['family']}: {flow.family['evidence']}")
    for line, style in _diagnoses([flow], screen.width, full=True):
        screen.line(line, style)


def show_pair(both: Both, *, full: bool = False) -> None:
    """Prints what the path between two captures did to each direction of each flow."""
    screen = Screen()
    document = both.document
    names = " and ".join(Path(name).name for name in both.files)
    counts = " and ".join(map(str, document["packets"]))
    screen.line(f"{names}: {counts} IP packets, {document['matched']} at both", "bold")
    for line in _clocks(document):
        screen.line(line)
    ways = both.ways
    shown = ways if full else ways[: screen.height - AROUND - LEAST_DIAGNOSES]
    heading = ("direction", "at both", "lost", "reordered", "CE between", "one-way ms", "queue p50 ms", "p99 ms")
    rows = [_between(way) for way in shown]
    if rows:
        screen.table(heading, rows, {0}, (3, 5))
    if left := len(ways) - len(shown):
        screen.line(f"... {left} more; --full has all")
    screen.line("")
    for way in ways:
        for one in way.numbers["diagnoses"]:
            for number, line in enumerate(_wrapped(f"{way.number} {way.title}: {one['text']} [{one['kind']}]", WIDTH)):
                screen.line(line, "" if number else "bold")
            for line in _wrapped(one["evidence"], WIDTH, "    "):
                screen.line(line)
    said = [f"{way.number} {way.title}: {line}" for way in ways for line in way.changes]
    for line in said if full else said[:LEAST_DIAGNOSES]:
        screen.line(line, "bold")
    if not said:
        screen.line("the path changed no ECN field but to CE, no DSCP, no flag and no option of TCP")
    elif not full and len(said) > LEAST_DIAGNOSES:
        screen.line(f"... {len(said) - LEAST_DIAGNOSES} more changes; --full has all")


def _clocks(document: dict[str, Any]) -> Iterator[str]:
    if clocks := document["clocks"]:
        skew = f"the second clock gains {clocks['skew_ppm']:+.3g} ppm (error {clocks['skew_error_ppm']:.2g})"
        if clocks["offset_s"] is None:
            yield f"clocks: {skew}; the offset is not known: one direction alone was seen"
        else:
            offset, error = clocks["offset_s"] * 1e3, (clocks["offset_error_s"] or 0) * 1e3
            yield f"clocks: the second is {offset:+.3f} ms ahead (error at most {error:.3f}), and {skew}"
            yield f"least round trip between the points {figure(clocks['base_rtt_ms'])} ms"
    if any(document["given_up"]):
        yield f"{sum(document['given_up'])} packets were given up: some of what is lost here may not be"


def _between(way: Between) -> tuple[str, ...]:
    numbers = way.numbers
    one_way, queue = numbers["one_way_ms"], numbers["queue_delay_ms"]
    marks = percent(100 * way.marked / numbers["both"])
    return (
        f"{way.number} {way.title}",
        str(numbers["both"]),
        str(numbers["lost"]),
        str(numbers["reordered"]),
        marks if way.marked else "0",
        figure(one_way["p50"] if one_way else None),
        figure(queue["p50"] if queue else None),
        figure(queue["p99"] if queue else None),
    )


def _counted(capture: Capture) -> str:
    document = capture.document
    names = ", ".join(Path(name).name for name in capture.files[:3]) + (
        f" and {len(capture.files) - 3} more" if len(capture.files) > 3 else ""
    )
    flows = len(document["flows"])
    return (
        f"{names}: {document['packets']} IP packets in {capture.duration_s:.1f} s, "
        f"{flows} flow{'' if flows == 1 else 's'}"
    )


def _skipped(capture: Capture) -> list[str]:
    skipped = capture.document["skipped"]
    lines = []
    if skipped:
        lines.append("not read: " + ", ".join(f"{count} {reason}" for reason, count in skipped.items()))
    if unlisted := capture.document["packets_of_unlisted_flows"]:
        lines.append(f"{unlisted} packets are of flows beyond those that are listed")
    return lines


def _row(flow: Flow) -> tuple[str, ...]:
    again = flow.retransmissions
    sent = flow.data["data_ecn"] if flow.data["data_packets"] else flow.data["ecn"]
    return (
        f"{flow.number} {flow.title}",
        flow.protocol,
        f"{flow.duration_s:.1f}",
        figure(flow.goodput_mbps),
        figure(flow.rtt_p50_ms),
        flow.ecn_mode,
        codepoints(sent),
        percent(flow.ce_percent),
        ABSENT if again is None else str(again["all"]),
        flow.family["family"] if flow.family else ABSENT,
    )


def _diagnoses(flows: list[Flow], width: int, *, full: bool = False) -> list[tuple[str, str]]:
    """Lines with their style: each diagnosis once, with the flows that have it and the evidence of the first."""
    found: dict[str, list[tuple[Flow, dict[str, str]]]] = {}
    for flow in flows:
        for one in flow.diagnoses:
            found.setdefault(one["kind"], []).append((flow, one))
    lines = []
    width = min(width, WIDTH)
    for kind, of in found.items():
        numbers = [flow.number for flow, _ in of]
        names = ", ".join(map(str, numbers[:6])) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
        _, first = of[0]
        start = "" if full else f"flow{'' if len(of) == 1 else 's'} {names}: "
        for number, line in enumerate(_wrapped(f"{start}{first['text']} [{kind}]", width)):
            lines.append((line, "" if number else "bold"))
        said = first["evidence"] if len(of) == 1 else f"flow {numbers[0]}: {first['evidence']}"
        lines += [(line, "") for line in _wrapped(said, width, "    ")]
    return lines


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return wrap(text, width, initial_indent=indent, subsequent_indent="    ", break_on_hyphens=False)


def _connection(flow: Flow) -> list[str]:
    """How it was opened and closed, what it is of RTP or QUIC, and what it was carried in."""
    lines = []
    if tcp := flow.document.get("tcp"):
        flags = " / ".join(str(tcp[key] or "not captured") for key in ("syn_flags", "syn_ack_flags"))
        lines.append(f"ECN: {flow.ecn_mode}; AE CWR ECE of SYN and SYN/ACK {flags}")
        if tcp["syn_rtt_ms"] is not None:
            repeated = f", SYN sent {tcp['syn_retransmissions'] + 1} times" if tcp["syn_retransmissions"] else ""
            lines.append(
                f"SYN to SYN/ACK {figure(tcp['syn_rtt_ms'])} ms, handshake {figure(tcp['handshake_ms'])} ms{repeated}"
            )
        offered = [f"MSS {_both(tcp['mss'])}", f"window scale {_both(tcp['window_scale'])}"]
        offered += [name for name, has in (("SACK", tcp["sack"]), ("timestamps", tcp["timestamps"])) if has]
        closed = "reset" if tcp["reset"] else f"FIN from {sum(tcp['fin'])} of 2"
        lines.append(f"{', '.join(offered)}; {closed}")
    if media := flow.document.get("media"):
        name = "SCReAM" if media["scream"] else "RTP"
        lines.append(
            f"{name}: {len(media['sources'])} source(s), {media['frames']} frames, {media['missing']} packets missing; "
            f"{media['reports']} reports of RFC 8888 (CE {media['reported_ce']}, lost {media['reported_lost']})"
        )
    if quic := flow.document.get("quic"):
        counts = quic["initial_ecn_counts"]
        said = f", ECN counts of Initial ACKs: ECT(0) {counts[0]}, ECT(1) {counts[1]}, CE {counts[2]}" if counts else ""
        lines.append(f"QUIC version {quic['version']:#010x}, long headers {_both(quic['long_headers'])}{said}")
    if tunnel := flow.document.get("tunnel"):
        lines.append(
            f"in {tunnel['kind']}: {tunnel['ect_hidden']} packets with ECT under an outer header without, "
            f"{tunnel['outer_ce']} with CE outside alone"
        )
    return lines


def _both(values: list[Any]) -> str:
    return "/".join(ABSENT if value is None else str(value) for value in values)


def _direction(way: dict[str, Any]) -> dict[str, str]:
    """Numbers of one direction under what people call them."""
    rows = {
        "IP packets": str(way["packets"]),
        "data packets": str(way["data_packets"]),
        "payload bytes": str(way["data_bytes"]),
        "ECN of all": codepoints(way["ecn"]) or ABSENT,
        "ECN of data": codepoints(way["data_ecn"]) or ABSENT,
    }
    if way["sce_percent"] is not None:
        rows["SCE marks"] = percent(way["sce_percent"])
    if way["super_packets"]:
        rows["super-packets"] = str(way["super_packets"])
    if (tcp := way.get("tcp")) is None:
        return rows
    again = tcp["retransmissions"]
    causes = [f"{again[key]} {name}" for key, name in _CAUSES if again[key]]
    rows |= {
        "acknowledged bytes": str(tcp["acked_bytes"]),
        "goodput of its data": ABSENT if tcp["goodput_mbps"] is None else f"{figure(tcp['goodput_mbps'])} Mbit/s",
        "retransmissions": str(again["all"]) + (f" ({', '.join(causes)})" if causes else ""),
        "reordered": str(tcp["reordered"]),
        "not in the capture": f"{tcp['missing_bytes']} bytes",
        "pure ACKs": str(tcp["pure_acks"]),
    }
    if accecn := tcp["accecn"]:
        rows["AccECN says"] = f"{accecn['ce_packets']} CE packets ({accecn['ce_packets_ace']} by ACE alone)"
        rows["more than captured"] = f"{accecn['excess_over_capture']:+d} packets"
        if accecn["ambiguous"]:
            rows["ambiguous ACE steps"] = str(accecn["ambiguous"])
    else:
        rows["ECE, CWR"] = f"{tcp['ece']}, {tcp['cwr']}"
        if tcp["ae"]:
            rows["ESCE"] = f"{tcp['ae']}, on {percent(tcp['esce_acked_percent'])} of acknowledged bytes"
    if tcp["zero_windows"]:
        rows["zero windows"] = str(tcp["zero_windows"])
    return rows


_CAUSES = (("fast", "fast"), ("rto", "timeout"), ("tlp", "tail loss probe"), ("spurious", "spurious"))
_SPREADS = (
    ("rtt_seq_ms", "RTT by sequence, ms"),
    ("rtt_ts_ms", "RTT by timestamps, ms"),
    ("in_flight_bytes", "in flight, bytes"),
    ("ece_episode_ms", "ECE episodes, ms"),
    ("reordering_depth", "reordering, segments"),
    ("window_bytes", "receive window, bytes"),
)
_COMMON = (
    ("rate_mbps", "rate, Mbit/s"),
    ("ce_per_rtt", "CE per round trip"),
    ("ce_runs", "runs of CE, packets"),
    ("ce_gaps", "gaps between, packets"),
    ("sce_runs", "runs of SCE, packets"),
    ("sce_gaps", "gaps between, packets"),
    ("gap_ms", "gap of data, ms"),
    ("burst_bytes", "bursts, bytes"),
    ("burst_ms", "bursts at the rate, ms"),
)


def _distributions(way: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    tcp = way.get("tcp") or {}
    every = [(name, way.get(key)) for key, name in _COMMON] + [(name, tcp.get(key)) for key, name in _SPREADS]
    return [(name, one) for name, one in every if one and one["n"] and one["max"]]
