"""A scenario drafted from a capture of one bottleneck: what the capture shows, and as comments what is a guess.

Rate: payload acknowledged in windows of 50 ms of all flows that go one way, with the headers that it had on the link;
where a bottleneck is busy, these rates lie close together, and their densest quarter is taken. Base RTT: the least
round trip of any flow, at both sides of the capture. The rest is what a person would put there to begin with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sojourn.captures import series
from sojourn.captures.flow import Flow, percent
from sojourn.captures.read import CaptureError
from sojourn.captures.source import large
from sojourn.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sojourn.metrics import FloatArray

#: More flows than these are no draft that a person edits.
MOST_FLOWS = 100
#: Ethernet's header, which Linux's queues count; preamble, FCS and gap are not among it.
LINK_HEADER = 14
WINDOW_S, LEAST_PACKETS = 0.05, 16
#: A plateau is a quarter of all windows within this share of their rate.
PLATEAU = 0.06
#: A flow that ends this long before the others was ended by its size or by its user.
END_S = 0.5
#: With less payload it is a transfer of a size, not a flow that always has data.
SMALL_S = 2.0

#: A FIFO loses packets at this share of its greatest delay at the least. An AQM does above its target, at a lower share
#: of what slow start reached; of few losses only a low one tells.
FULL, LEAST_LOSSES, LOW = 0.9, 3, 0.5
#: Delays at signals that CoDel does not reach (its target is 5 ms, tc-codel(8)), and PIE does not (15 ms, tc-pie(8)).
LONGEST_CODEL_MS, LONGEST_PIE_MS = 12.0, 30.0

#: In its own queue of a dual one a classic flow has more delay than this (RFC 9332 A.1: 15 ms).
SHALLOW_MS = 5.0

CONTROLLERS = {"classic": "cubic", "bbr-like": "bbr", "unresponsive": "cubic"}
#: Reno keeps a half of its window at a signal (RFC 5681 3.1), CUBIC 0.7 (RFC 9438 4.6): in the middle.
RENO_KEEPS = 0.6


@dataclass(frozen=True)
class Rate:
    """Of the bottleneck, as its queue counts."""

    mbps: float
    is_plateau: bool
    spread: float
    """Width of the densest quarter as a share of the rate."""
    header: int
    """Bytes of headers of a data packet, that of the link among them."""
    payload: int
    """Bytes of payload of a full packet."""


def write(flows: Sequence[Flow], path: Path) -> None:
    """Writes the draft."""
    write_whole(path, text(flows, name=path.stem))


def text(flows: Sequence[Flow], *, name: str = "draft") -> str:
    """The draft as TOML; raises `CaptureError` where the capture has nothing to make one of."""
    chosen = [flow for flow in large(list(flows)) if flow.packets is not None]
    if not chosen:
        raise CaptureError("--to-scenario: expected a flow with data, found none")
    if len(chosen) > MOST_FLOWS:
        raise CaptureError(
            f"--to-scenario: expected at most {MOST_FLOWS} flows with a fair share of the data, found {len(chosen)};"
            " --filter or --flow chooses"
        )
    largest = max(chosen, key=lambda flow: flow.data["data_bytes"])
    forward = [flow for flow in chosen if _same_way(flow, largest)]
    rate, rtt_ms = rate_of(forward), base_rtt_ms(list(flows))
    end = max(flow.span_s[1] for flow in chosen)
    lines = [
        "# A draft from a capture. What is measured says so; everything else is a guess to begin with.",
        f'name = "{_name(name)}"',
        f'duration = "{math.ceil(100 * end) / 100:.2f}s"',
        "",
        "[[link]]",
        'name = "bneck"',
        f"# {_said_of_rate(rate)}",
        f'rate = "{_shown(rate.mbps)}"',
        'shaper = "htb"',
        *_queue(forward, rate, rtt_ms),
        f"# Base RTT, measured: the least round trip of any flow is {rtt_ms:.3f} ms. Half of it each way.",
        f'delay = "{rtt_ms * 500:.0f}us"',
        "# How fast the way back is, the capture does not show.",
        'reverse = { rate = "none", shaper = "none", qdisc = "pfifo" }',
    ]
    taken: set[str] = set()
    for flow in chosen:
        lines += ["", *_flow(flow, largest, end, rate, taken)]
    return "\n".join(lines) + "\n"


def rate_of(flows: Sequence[Flow]) -> Rate:
    """What flows of one way get together where they keep the bottleneck busy."""
    at, grown = _delivered(flows)
    payload, header = _packet(max(flows, key=lambda flow: flow.data["data_bytes"]))
    gross = (payload + header) / payload
    rates = _windows(at, grown)
    if rates.size < LEAST_PACKETS:
        span = max(float(at[-1] - at[0]), 1e-9) if at.size else 1.0
        return Rate(float(grown.sum()) * 8e-6 * gross / span, False, 1.0, header, payload)
    ordered = np.sort(rates)
    quarter = max(ordered.size // 4, 2)
    widths = (ordered[quarter - 1 :] - ordered[: ordered.size - quarter + 1]) / ordered[quarter - 1 :]
    # Of rates below the median none is of a busy bottleneck, however many there are of an idle one.
    widths[: max(ordered.size // 2 - quarter // 2, 0)] = np.inf
    best = int(np.argmin(widths))
    middle = float(ordered[best : best + quarter].mean())
    is_plateau = bool(widths[best] <= PLATEAU)
    mbps = middle if is_plateau else float(np.percentile(ordered, 95))
    return Rate(mbps * gross, is_plateau, float(widths[best]), header, payload)


def base_rtt_ms(flows: Sequence[Flow]) -> float:
    """The least round trip: of data, of handshakes."""
    found = []
    for flow in flows:
        if flow.base_rtt_ms:
            found.append(flow.base_rtt_ms)
        tcp = flow.document.get("tcp")
        if tcp and tcp["handshake_ms"] is not None and not tcp["syn_retransmissions"]:
            found.append(tcp["handshake_ms"])
    # A control connection between captures of one host has no path: of its data the largest sender has.
    least = [value for value in found if value > 0]
    if not least:
        raise CaptureError("--to-scenario: expected a round trip, found none: the capture has no feedback")
    sender = max(flows, key=lambda flow: flow.data["data_bytes"])
    floor = sender.base_rtt_ms or min(least)
    return min([value for value in least if value >= 0.5 * floor], default=floor)


def _delivered(flows: Sequence[Flow]) -> tuple[FloatArray, FloatArray]:
    """When payload was acknowledged, and how much, of all flows in the order of time."""
    times, sizes = [], []
    for flow in flows:
        at, upto = series.acked(flow)
        times.append(at)
        sizes.append(np.diff(upto, prepend=upto[:1]).astype(np.float64))
    at, grown = np.concatenate(times), np.concatenate(sizes)
    order = np.argsort(at, kind="stable")
    return at[order], grown[order]


def _windows(at: FloatArray, grown: FloatArray) -> FloatArray:
    """Mbit/s from each ACK to the first one that is `WINDOW_S` and some ACKs later: what came after the former."""
    index = np.arange(at.size)
    later = np.maximum(np.searchsorted(at, at + WINDOW_S), index + LEAST_PACKETS)
    index, later = index[later < at.size], later[later < at.size]
    total = np.cumsum(grown)
    time = at[later] - at[index]
    some = time > 0
    return ((total[later] - total[index])[some] * 8e-6) / time[some]


def _packet(flow: Flow) -> tuple[int, int]:
    """Payload of a full packet, and the headers before it on the link."""
    packets = flow.packets
    sent = packets.len[packets.way(flow.way) & (packets.len > 0)] if packets else np.empty(0)
    version = 40 if ":" in str(flow.document["opener"]["address"]) else 20
    tcp = flow.document.get("tcp")
    if tcp is None:
        return max(int(np.median(sent)), 1) if sent.size else 1200, version + 8 + LINK_HEADER
    options = 12 if tcp["timestamps"] else 0
    offered = [mss for mss in tcp["mss"] if mss]
    largest = int(sent.max(initial=0))
    full = (
        min([mss - options for mss in offered], default=largest)
        if flow.data["super_packets"] or not largest
        else largest
    )
    return max(full, 1), version + 20 + options + LINK_HEADER


def _said_of_rate(rate: Rate) -> str:
    layers = f"{rate.payload} bytes of payload and {rate.header} of headers a packet, Ethernet's 14 among them"
    if rate.is_plateau:
        return f"Rate, measured: a quarter of all 50 ms lie within {percent(100 * rate.spread)} of it; {layers}."
    return f"GUESS: the link was never busy for long, so this is what 5 % of all 50 ms exceed; {layers}."


def _queue(flows: Sequence[Flow], rate: Rate, base_ms: float) -> list[str]:
    """A queue that would give such marks, losses and delays."""
    largest = max(flows, key=lambda flow: flow.data["data_bytes"])
    is_visible = _sees_queue(largest, base_ms)
    delay, most = (_delay_ms(largest, base_ms, key, is_visible=is_visible) for key in ("p50", "p99"))
    marks = [flow for flow in flows if flow.ce_percent or _echoes(flow)]
    lost = sum((flow.retransmissions or {}).get("all", 0) for flow in flows)
    facts = (
        f"queue delay {delay:.1f} ms at the median, {most:.1f} ms at the 99th percentile"
        if is_visible
        else f"the capture is at the receiver, but round trips take {delay:.1f} ms more than the least at the median,"
        f" {most:.1f} ms at the 99th percentile"
    )
    at_signals = _at_signals_ms(largest, base_ms) or 0.0
    is_like_pie = at_signals > LONGEST_CODEL_MS
    if any(flow.data.get("sce_percent") for flow in flows):
        return [f"# GUESS: SCE marks; {facts}.", 'qdisc = "cnq_cobalt"']
    if marks:
        share = max(flow.ce_percent or 0 for flow in marks)
        seen = f"CE on up to {share:.2g} % of a flow's packets" if share else "the ACKs have ECE"
        said = f"{seen}, {lost} retransmissions; {facts}"
        others = [other for flow in flows if not _is_l4s(flow) and (other := flow.queue_ms("p50")) is not None]
        if any(_is_l4s(flow) for flow in marks) and not (is_visible and others and max(others) < SHALLOW_MS):
            return [f"# GUESS: an L4S queue: {said}.", 'qdisc = "dualpi2"']
        if any(_is_l4s(flow) for flow in marks):
            return [
                f"# GUESS: one shallow queue that marks all flows alike: {said}.",
                f'qdisc = "fq_codel flows 1 ecn target {max(delay, 0.1):.1f}ms interval {base_ms:.0f}ms"',
            ]
        alone = 'qdisc = "pie ecn"' if is_like_pie else 'qdisc = "codel ecn"'
        return [f"# GUESS: an AQM with ECN: {said}.", 'qdisc = "fq_codel"' if len(flows) > 1 else alone]
    is_fifo = _is_fifo(largest, base_ms)
    if lost and (is_fifo is False or (is_fifo is None and most < 40 and delay < 20)):
        return [
            f"# GUESS: an AQM without ECN: no CE, {lost} retransmissions; {facts}.",
            'qdisc = "pie"' if is_like_pie else 'qdisc = "codel noecn"',
        ]
    if is_fifo:
        most = at_signals
    packets = max(int(most * 1e-3 * rate.mbps * 1e6 / 8 / (rate.payload + rate.header)) + 1, 10)
    said = f"no CE, {lost} retransmissions" if lost else "neither CE nor losses"
    return [f"# GUESS: a FIFO as long as the delay shows: {said}; {facts}.", f'qdisc = "pfifo limit {packets}"']


def _delay_ms(flow: Flow, base_ms: float, percentile: str, *, is_visible: bool) -> float:
    """Of the queue at this percentile: above the least round trip, or, at the receiver, how much longer rounds take."""
    rounds = (flow.data["tcp"] or {}).get("round_ms")
    if not is_visible and rounds:
        return max(float(rounds[percentile]) - base_ms, 0.0)
    above = (flow.base_rtt_ms or base_ms) - base_ms
    return max((flow.queue_ms(percentile) or 0.0) + above, 0.0)


def _at_signals_ms(flow: Flow, base_ms: float) -> float | None:
    """Delay of the queue where CE or losses begin, at the median; None where the capture shows none."""
    at_signals = (flow.data["tcp"] or {}).get("round_at_signals_ms")
    return max(float(at_signals["p50"]) - base_ms, 0.0) if at_signals else None


def _is_fifo(flow: Flow, base_ms: float) -> bool | None:
    """Whether losses begin where the queue is full; None where the capture does not show it."""
    tcp = flow.data["tcp"] or {}
    delay = _at_signals_ms(flow, base_ms)
    if delay is None or not tcp.get("round_ms"):
        return None
    share = delay / max(tcp["round_ms"]["max"] - base_ms, 1e-3)
    # A single round in a recovery may be longer than the queue: no AQM keeps its queue as long as this where it drops.
    often = delay > LONGEST_PIE_MS and delay >= FULL * (tcp["round_ms"]["p99"] - base_ms)
    if share >= FULL or often:
        # An AQM with a low target keeps to it where nothing has ever overshot it.
        return True if delay > LONGEST_CODEL_MS else None
    return False if share < LOW or tcp["round_at_signals_ms"]["n"] >= LEAST_LOSSES else None


def _sees_queue(flow: Flow, base_ms: float) -> bool:
    """Whether the path from the capture on, or what data echo, has the bottleneck's queue: not at the receiver."""
    from_here = flow.rtt_ms
    echoed = (flow.feedback.get("tcp") or {}).get("rtt_ts_ms")
    return bool(from_here and from_here["min"] > base_ms / 2 or echoed and echoed["n"] > 1)


def _echoes(flow: Flow) -> bool:
    """Whether its feedback is classic, and tells of marks."""
    return flow.ecn_mode == "classic" and bool((flow.feedback.get("tcp") or {}).get("ece"))


def _is_l4s(flow: Flow) -> bool:
    counts = flow.data["data_ecn"]
    return bool(counts["ect1"] > counts["ect0"] and flow.data.get("sce_percent") is None)


def _same_way(flow: Flow, other: Flow) -> bool:
    """Whether data go from the same host, or to the same one."""
    (from_a, to_a), (from_b, to_b) = (_addresses(one) for one in (flow, other))
    return from_a == from_b or to_a == to_b


def _addresses(flow: Flow) -> tuple[str, str]:
    opener, peer = (str(flow.document[end]["address"]) for end in ("opener", "peer"))
    return (opener, peer) if flow.way == "forward" else (peer, opener)


def _flow(flow: Flow, largest: Flow, end: float, rate: Rate, taken: set[str]) -> list[str]:
    """Its table, with the evidence before each guess."""
    start, stop = flow.span_s
    cc, why = _controller(flow)
    name = next(name for n in range(1, MOST_FLOWS + 2) if (name := cc if n == 1 else f"{cc}-{n}") not in taken)
    taken.add(name)
    counts = flow.data["data_ecn"]
    sent = max(counts, key=lambda key: counts[key])
    lines = [f"# Flow {flow.number} of the capture: {flow.protocol}, {flow.data['data_bytes']} bytes of payload."]
    if flow.data["super_packets"]:
        lines.append(
            "# The capture has super-packets, which the sender's host cut later; `tcp.gso` makes them bursts here, too."
        )
    if flow.protocol != "tcp":
        mbps = flow.goodput_mbps or 0.1
        lines += [
            f"# GUESS: datagrams of {rate.payload} bytes at their mean rate; what they answer is not known.",
            "[[flow]]", f'name = "{name}"',
            f'app = "cbr rate {_shown(mbps)} size {_packet(flow)[0]}"',
        ]  # fmt: skip
        lines[-2] = f'name = "{name.replace(cc, "udp")}"'
    else:
        lines += [
            f"# {why}",
            "[[flow]]",
            f'name = "{name}"',
            f'cc = "{cc}"',
            f"tcp = {{ {_tcp(flow, sent, rate)} }}",
        ]
    if not _same_way(flow, largest):
        lines.append('direction = "up"')
    lines.append(f'start = "{start:.3f}s"')
    is_small = flow.data["data_bytes"] * 8e-6 < SMALL_S * rate.mbps
    acked = (flow.feedback.get("tcp") or {}).get("acked_bytes") or flow.data["data_bytes"]
    if flow.protocol == "tcp" and is_small and stop < end - END_S:
        lines += ["# It ended before the others: GUESS: its data were all sent.", f'bytes = "{acked}b"']
    elif stop < end - END_S:
        lines += ["# It ended before the others: GUESS: its user ended it.", f'stop = "{stop:.3f}s"']
    return lines


def _controller(flow: Flow) -> tuple[str, str]:
    """Which one, and why."""
    family = flow.family["family"] if flow.family else None
    is_l4s = _is_l4s(flow)
    if family is None:
        cc = "prague" if is_l4s else "cubic"
        sent = "it sends ECT(1)" if is_l4s else "most senders have it"
        return cc, f"GUESS: {cc}, because {sent}; the capture does not show how it answers."
    assert flow.family is not None  # noqa: S101 - as above
    if is_l4s and family in ("scalable", "classic"):  # Prague answers as a classic one where it takes its queue for one
        cc = "prague"
    elif family == "scalable":
        cc = "dctcp"
    elif family == "sce":
        cc = "cubic-sce"
    elif family == "classic" and (flow.family["kept"] or 1) <= RENO_KEEPS:
        cc = "reno"
    else:
        cc = CONTROLLERS[family]
    sent = "it sends ECT(1) and" if is_l4s else "it"
    return cc, f"GUESS: {cc}: {sent} looks {family}: {flow.family['evidence']}."


def _tcp(flow: Flow, sent: str, rate: Rate) -> str:
    """What both ends agreed on; where the handshake is not in the capture, what the data carry."""
    mode = flow.ecn_mode
    if flow.data.get("sce_percent") is not None:
        ecn = "sce"
    else:
        known = {"AccECN": "accecn", "classic": "rfc3168", "none": "off"}
        ecn = known.get(mode, "off" if sent == "not_ect" else "accecn")
    mtu = rate.payload + rate.header - LINK_HEADER
    timestamps = (flow.document.get("tcp") or {}).get("timestamps")
    parts = [f'ecn = "{ecn}"']
    parts += [f"mtu = {mtu}"] if mtu != 1500 and mtu >= 576 else []
    parts += ["timestamps = false"] if timestamps is False else []
    return ", ".join(parts)


def _name(text: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in text).strip("-")
    return kept[:60] or "draft"


def _shown(mbps: float) -> str:
    return f"{round(mbps * 1000)}kbit"
