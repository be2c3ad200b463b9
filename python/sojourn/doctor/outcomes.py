"""Reads results for the doctor: runs of Sojourn, and Flent's files with what they say of their host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn import conditions, metrics
from sojourn.doctor import netem, offload, runs, tcp, tree
from sojourn.doctor.finding import Finding
from sojourn.doctor.numbers import number
from sojourn.glance import Glance
from sojourn.interop import flent
from sojourn.results import ResultSet, Run, exists

#: Applications that send as much as they may; a flow without one does.
BULK = ("", "bulk")
#: Runs that a finding names; of more it has the number.
NAMED = 2


class FolderError(ValueError):
    """No results; the text is one line."""


def examine(place: Path, rate_bps: float | None, rtt_s: float | None) -> Iterator[Finding]:
    """All runs of a folder, or the Flent files in it, or one such file; rate and RTT are for what does not state them.

    Raises:
        FolderError: nothing of that kind is there.
        sojourn.interop.flent.FlentError, sojourn.results.ResultsError: a file cannot be read.
    """
    found: list[Finding] = []
    rate_mbps, rtt_ms = rate_bps and rate_bps / 1e6, rtt_s and rtt_s * 1e3
    errors: list[str] = []
    results = ResultSet.open(place, errors) if exists(place) else []
    for run in results:
        found += runs.examine(of_run(run, rate_mbps, rtt_ms))
    files = [] if results else flent.files(place) if place.exists() else []
    for path in files:
        file = flent.FlentFile(path)
        found += runs.examine(of_flent(file, rate_mbps, rtt_ms))
        found += of_host(path.name, file.metadata, rate_bps, rtt_s)
    if not results and not files:
        why = errors[0] if errors else "expected a folder with runs, or Flent's files"
        raise FolderError(f"--results {place}: {why}")
    yield from merged(found)


def merged(findings: list[Finding]) -> Iterator[Finding]:
    """Findings of one kind as one, with the first ones of them."""
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(f"{finding.kind} {finding.severity}", []).append(finding)
    for same in kinds.values():
        if len(same) <= NAMED:
            yield from same
        else:
            first = same[0]
            text = f"{first.found}; {len(same) - 1} more like it, such as {same[1].found}"
            yield Finding(first.kind, first.severity, text, first.effect, first.fix, first.source)


def of_run(run: Run, rate_mbps: float | None = None, rtt_ms: float | None = None) -> runs.Outcome:
    """A run in its folder."""
    stated = run.conditions
    rates, bottlenecks = stated.rates_mbps, stated.bottlenecks
    queue = next((one for one in run.queues if [one.get("name")] == list(bottlenecks)), {})
    flows = run.summary.get("flows")
    rows: list[Any] = flows if isinstance(flows, list) else []
    if isinstance(flows, Mapping):  # of an imported file
        rows = [{"name": name, **row} for name, row in flows.items() if isinstance(row, Mapping)]
    return runs.Outcome(
        run.id,
        [_flow(row) for row in rows],
        rates[0] if len(rates) == 1 else None if rates else rate_mbps,
        min(stated.base_rtts_ms, default=rtt_ms),
        _number(queue, "sojourn_ms", "p99"),
        int(_number(queue, "sent_packets") or 0),
        run.complete,
        Glance.of(run).punctuality,
    )


def _flow(row: Mapping[str, Any]) -> runs.Flow:
    app, cc = (str(row.get(key) or "").partition(" ")[0] for key in ("app", "cc"))
    rtt = next((key for key in ("rtt_ms", "tcp_rtt_ms") if _number(row, key, "p50") is not None), "")
    low, middle = _number(row, rtt, "p05"), _number(row, rtt, "p50")
    counts = (
        ("receiver", "ce_received"),
        ("sender", "retransmits"),
        ("sender", "segments_sent"),
    )
    marks, retransmits, segments = (_number(row, *place) for place in counts)
    return runs.Flow(
        str(row.get("name", "")),
        cc,
        app in BULK,
        _number(row, "goodput_mbps"),
        None if low is None or middle is None else (low, middle),
        None if marks is None else int(marks),
        None if retransmits is None else int(retransmits),
        None if segments is None else int(segments),
    )


def of_flent(file: flent.FlentFile, rate_mbps: float | None, rtt_ms: float | None) -> runs.Outcome:
    """A Flent file; conditions are those of the suite's run that it is of, if it is of one."""
    stated, summary = conditions.of(file), metrics.summarise(file)
    rates = stated.rates_mbps
    flows = [
        runs.Flow(
            flow.name,
            flow.name.partition("-")[0],
            True,
            flow.goodput_mbps,
            _low_and_middle(flow.tcp_rtt_ms),
        )
        for flow in (summary.flows if summary else ())
    ]
    rate = rates[0] if len(rates) == 1 else None if rates else rate_mbps
    return runs.Outcome(file.id, flows, rate, min(stated.base_rtts_ms, default=rtt_ms))


def _low_and_middle(rtt: metrics.Stats | None) -> tuple[float, float] | None:
    return None if rtt is None or rtt.p05 is None or rtt.p50 is None else (rtt.p05, rtt.p50)


def of_host(name: str, metadata: Mapping[str, Any], rate_bps: float | None, rtt_s: float | None) -> Iterator[Finding]:
    """What a Flent file says of its host: settings, offloads and queues of the device that packets left by."""
    given = metadata.get("SYSCTLS")
    settings = {
        str(key).removeprefix("net.ipv4."): f"{value:.0f}" if isinstance(value, float) else " ".join(str(value).split())
        for key, value in (given.items() if isinstance(given, dict) else ())
    }
    own = [*tcp.switches(settings), *tcp.defaults(settings), *tcp.buffers(settings, rate_bps, rtt_s)]
    if settings.get("tcp_ecn") == "0":
        own += tcp.ecn(settings, None)
    egress = metadata.get("EGRESS_INFO")
    if isinstance(egress, dict):
        own += _egress(egress, rate_bps)
    for finding in own:
        text = f"{name}: {finding.found}"
        yield Finding(finding.kind, finding.severity, text, finding.effect, finding.fix, finding.source)


def _egress(egress: Mapping[str, Any], rate_bps: float | None) -> Iterator[Finding]:
    device, offloads, qdiscs = str(egress.get("iface")), egress.get("offloads"), egress.get("qdiscs")
    rows = [
        {
            "kind": str(row.get("name")),
            "handle": str(row.get("id")),
            **({} if row.get("parent") == "root" else {"parent": str(row.get("parent"))}),
        }
        for row in (qdiscs if isinstance(qdiscs, list) else ())
        if isinstance(row, dict)
    ]
    queues = tree.read(rows, "")
    on = {str(key): value is True for key, value in offloads.items()} if isinstance(offloads, dict) else {}
    yield from netem.examine(device, queues, rate_bps)
    yield from offload.trains(device, {}, on, queues, rate_bps)


def _number(document: object, *place: str) -> float | None:
    for key in place:
        document = document.get(key) if isinstance(document, Mapping) else None
    return number(document)
