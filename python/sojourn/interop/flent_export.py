"""Any run as a Flent data file (version 4) that `flent` and `flent-gui` open unchanged.

A stream is a netperf interim result for every step of the run and an `ss` sample beside it; both go
into the raw values of the stream itself, because Flent's plots of TCP statistics read them there.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import metrics
from sojourn.files import write_whole
from sojourn.groups import groups, written_out
from sojourn.interop import flent_host
from sojourn.interop.flent import SS_SERIES, FlentError, stem_of
from sojourn.results import ResultsError, ResultSet, Run, exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sojourn.metrics import FloatArray

STEP_S = 0.05
#: Flent waits so long before and after the streams.
DELAY_S = 5
TOS = re.compile("0x[0-9a-fA-F]{1,2}")
#: Between samples further apart than this Flent draws no line.
GAP_STEPS = 5
#: Flows of the applications after Flent's tests, and the tests' names of them.
RRUL = {
    "rrul": {"be": "BE", "bk": "BK", "cs5": "CS5", "ef": "EF"},
    "rrul_be": {"be1": "BE", "be2": "BE2", "be3": "BE3", "be4": "BE4"},
}


@dataclass(frozen=True)
class Stream:
    """One flow under the name that Flent has for it."""

    series: str
    flow: str
    cc: str
    tos: int


def export(source: Path, out: Path | None, notify: Callable[[str], None] | None = None) -> list[Path]:
    """Write the run of a folder, or every run of a result set, as Flent files; returns them.

    `out` is a file for one run, or a folder; by default the files are beside the series. `notify` gets a line about
    what each file leaves out, and about each of several runs that no file can hold.
    """
    notify = notify or (lambda _: None)
    if not exists(source):
        raise FlentError(f"{source}: expected the folder of a run or of results")
    runs = list(ResultSet.open(source))
    if not runs:
        raise FlentError(f"{source}: expected the folder of a run or of results, found no run")
    as_file = out is not None and out.name.endswith((".flent.gz", ".flent"))
    if as_file and len(runs) > 1:
        raise FlentError(f"{out}: expected a folder for {len(runs)} runs")
    written = []
    for run in runs:
        try:
            document = document_of(run)
        except FlentError as error:
            if len(runs) == 1:
                raise
            notify(str(error))
            continue
        if missing := left_out(run):
            notify(f"{run.id}: left out, as a Flent file has no place for it: {missing}")
        target = out if as_file and out else (out or run.path) / file_name(run, document["metadata"]["NAME"])
        text = json.dumps(document, indent=2, sort_keys=True, allow_nan=False).encode("ascii")
        write_whole(target, gzip.compress(text, mtime=0) if target.name.endswith(".gz") else text)
        written.append(target)
    return written


def left_out(run: Run) -> str:
    """What of a run its Flent file does not hold; empty if it holds all."""
    held = set(_tcp(run, _scenario_flows(run)))
    others = [flow for flow in metrics.flows(run) if flow not in held]
    kept = {"goodput_bytes", "retransmits", *SS_SERIES.values()}
    states = {name.split(".", 2)[2] for name in run.names() if name.startswith("flow.") and name.split(".")[1] in held}
    own = sorted({"cc.*" if state.startswith("cc.") else state for state in states - kept})
    queues = sum(name.startswith("queue.") for name in run.names())
    parts = [f"flow{'s' if len(others) > 1 else ''} {', '.join(groups(others))}"] if others else []
    parts += [f"{', '.join(own)} of the TCP flows"] if own else []
    parts += [f"{queues} series of queues"] if queues else []
    return "; ".join(parts)


def file_name(run: Run, test: str) -> str:
    """The suite's name for its runs, else Flent's: test, time, title."""
    if (stem := stem_of(run.id)) is not None:
        return f"batch-{stem}.flent.gz"
    title = re.sub(r"[^A-Za-z0-9]+", "_", run.id).strip("_")
    return f"{test}-{_started(run):%Y-%m-%dT%H%M%S.%f}.{title}.flent.gz"


def document_of(run: Run) -> dict[str, Any]:
    """The whole file as one JSON document."""
    flows = _scenario_flows(run)
    test, streams = _streams(run, flows)
    begin = _started(run)
    t0 = begin.timestamp()
    raw: dict[str, list[dict[str, float]]] = {}
    curves: dict[str, tuple[FloatArray, FloatArray]] = {}
    meta: dict[str, dict[str, Any]] = {}
    for stream in streams:
        raw[stream.series] = _tcp_points(run, stream.flow, t0)
        for key, points in _tcp_curves(run, stream.flow):
            curves[f"{stream.series}{key}"] = points
        meta[stream.series] = {
            "RUNNER": "NetperfDemoRunner",
            "UNITS": "Mbits/s",
            "CONG_CONTROL": stream.cc,
            "UPSTREAM_TOS": stream.tos,
            "TCP_RETRANSMIT": str(_last(run, f"flow.{stream.flow}.retransmits")),
            "BYTES_RECVD": _last(run, f"flow.{stream.flow}.goodput_bytes"),
        }
    for series, name in _pings(run):
        t, rtt = metrics.finite(run, name)
        replies = enumerate(zip(t, rtt, strict=True), 1)
        raw[series] = [{"t": t0 + float(at), "val": float(v), "seq": float(i)} for i, (at, v) in replies]
        curves[series] = t, rtt
        meta[series] = {"RUNNER": "PingRunner", "UNITS": "ms"}
    if not any(raw.values()):
        raise FlentError(f"{run.path}: series: expected a TCP flow or a ping with samples, which a Flent file needs")
    end = max(float(t[-1]) for t, _ in curves.values() if t.size)
    x = np.round(np.arange(0, end + STEP_S / 2, STEP_S), 6)
    grid = {name: _on_grid(x, *points) for name, points in curves.items()}
    for name, column, runner, unit in list(_totals(grid, raw)):
        grid[name], raw[name], meta[name] = column, [], {"RUNNER": runner, "UNITS": unit}
    for index, (name, entry) in enumerate(meta.items()):
        values = grid[name][np.isfinite(grid[name])]
        entry |= {"IDX": index, "MEAN_VALUE": float(values.mean()) if values.size else None, "COMPUTED_LATE": False}
    length = max(1, round(end) - 2 * DELAY_S)
    tables = {name: table for name, table in flent_host.tables(run, flows).items() if name in {s.flow for s in streams}}
    common, own = flent_host.sysctls(tables)
    for stream in streams:
        if own.get(stream.flow):
            meta[stream.series]["SYSCTLS"] = own[stream.flow]
    first = streams[0].flow if streams else ""
    leaving = flent_host.egress(run, flows.get(first, {}), tables.get(first, {}))
    return {
        "version": 4,
        "x_values": x.tolist(),
        "results": {name: [None if math.isnan(v) else round(v, 6) for v in column] for name, column in grid.items()},
        "raw_values": raw,
        "metadata": {
            "NAME": test,
            "TITLE": run.id,
            "NOTE": f"simulated by Sojourn {run.manifest.get('version', '')}".strip(),
            "HOST": "receiver",
            "HOSTS": ["receiver"],
            "LOCAL_HOST": "sender",
            "TIME": _stamp(begin),
            "T0": _stamp(begin),
            "LENGTH": length,
            "TOTAL_LENGTH": length + 2 * DELAY_S,
            "STEP_SIZE": STEP_S,
            "TEST_PARAMETERS": _parameters(run, streams),
            "SERIES_META": meta,
            "FLENT_VERSION": "2.0.0",
            "IP_VERSION": 4,
            "FAILED_RUNNERS": 0,
            **flent_host.kernel(run, tables),
            "SYSCTLS": common,
            "EGRESS_INFO": leaving,
            "MODULE_VERSIONS": {},
            "REMOTE_METADATA": {},
            "GATEWAYS": [],
            "DATA_FILENAME": file_name(run, test),
        },
    }


def _tcp(run: Run, flows: dict[str, dict[str, Any]]) -> list[str]:
    """The flows that a Flent file can hold."""
    return [flow for flow in metrics.flows(run) if flow not in flows or "cc" in flows[flow] or _has_ss(run, flow)]


def _streams(run: Run, flows: dict[str, dict[str, Any]]) -> tuple[str, list[Stream]]:
    """The test that has such streams, and the streams under its names; what is beside the test's has a number."""
    tcp = _tcp(run, flows)
    ways = {flow: "up" if str(flows.get(flow, {}).get("direction")) == "up" else "down" for flow in tcp}
    if len(set(ways.values())) < 2:
        names = ["TCP upload"] if len(tcp) == 1 else [f"TCP upload::{n}" for n in range(1, len(tcp) + 1)]
        test = {0: "ping", 1: "tcp_1up"}.get(len(tcp), "tcp_nup")
        return test, [_stream(name, flow, flows) for name, flow in zip(names, tcp, strict=True)]
    own = {way: [flow for flow in tcp if ways[flow] == way] for way in ("up", "down")}
    test, named = _rrul(tcp) or ("tcp_nup", {})
    if not named and len(own["up"]) == len(own["down"]) == 4:
        labels = RRUL["rrul_be"].values()
        test, named = "rrul_be", {f: _called(way, x) for way in own for f, x in zip(own[way], labels, strict=True)}
    if len(tcp) == 2:
        test, named = "tcp_bidirectional", {own[way][0]: f"TCP {way}load" for way in own}
    for way, some in own.items():
        others = (flow for flow in some if flow not in named)
        named |= {flow: f"TCP {way}load::{n}" for n, flow in enumerate(others, 1)}
    return test, [_stream(named[flow], flow, flows) for flow in named]


def _rrul(tcp: list[str]) -> tuple[str, dict[str, str]] | None:
    """The test whose eight flows are among these, and what they are called there."""
    found: dict[str, dict[str, str]] = {}
    for flow in tcp:
        if match := re.fullmatch(r"(.+)-((?:up|down)-(?:be[1-4]?|bk|cs5|ef))", flow):
            found.setdefault(match[1], {})[match[2]] = flow
    for parts in found.values():
        for test, labels in RRUL.items():
            names = {f"{way}-{part}": _called(way, label) for way in ("up", "down") for part, label in labels.items()}
            if names.keys() <= parts.keys():
                return test, {parts[part]: name for part, name in names.items()}
    return None


def _called(way: str, label: str) -> str:
    return f"TCP {way}load {label}"


def _stream(series: str, flow: str, flows: dict[str, dict[str, Any]]) -> Stream:
    entry = flows.get(flow, {})
    tos = str(entry.get("tos", "0x00"))
    return Stream(series, flow, str(entry.get("cc", flow)).split(" ")[0], int(tos, 16) if TOS.fullmatch(tos) else 0)


def _has_ss(run: Run, flow: str) -> bool:
    return f"flow.{flow}.delivery_rate" in run.names()


def _scenario_flows(run: Run) -> dict[str, dict[str, Any]]:
    try:
        flows = written_out(run.document.get("flow"))
    except ResultsError:
        return {}
    return {str(flow["name"]): flow for flow in flows if "name" in flow}


def _pings(run: Run) -> Iterator[tuple[str, str]]:
    for index, name in enumerate(metrics.pings(run)):
        label = name.split(".")[1]
        if match := re.search(r"udp-(be[1-3]?|bk|ef)$", label):
            yield f"Ping (ms) UDP {match[1].upper()}", name
        else:
            yield "Ping (ms) ICMP" if index == 0 else f"Ping (ms) ICMP {label} (extra)", name


def _tcp_points(run: Run, flow: str, t0: float) -> list[dict[str, float]]:
    """Interim results and `ss` samples, in time order."""
    t, rate = _interim(run, flow)
    points = [{"t": t0 + float(at), "val": float(v), "dur": STEP_S} for at, v in zip(t, rate, strict=True)]
    samples: dict[float, dict[str, float]] = {}
    for field, name in SS_SERIES.items():
        for at, v in zip(*metrics.finite(run, f"flow.{flow}.{name}"), strict=True):
            samples.setdefault(float(at), {"t": t0 + float(at)})[field] = float(v)
    return sorted([*points, *samples.values()], key=lambda point: point["t"])


def _tcp_curves(run: Run, flow: str) -> Iterator[tuple[str, tuple[FloatArray, FloatArray]]]:
    yield "", _interim(run, flow)
    for field, name in SS_SERIES.items():
        if f"flow.{flow}.{name}" in run.names():
            yield f"::{field}", metrics.finite(run, f"flow.{flow}.{name}")


def _interim(run: Run, flow: str) -> tuple[FloatArray, FloatArray]:
    """Mbit/s of each step, at its end, while the flow lives."""
    t, rate = metrics.rate_over_time(run, flow, STEP_S)
    life = metrics.lifetime(run, flow)
    if life is None:
        return np.empty(0), np.empty(0)
    alive = (t >= life[0] - STEP_S) & (t <= life[1] + STEP_S)
    return t[alive] + STEP_S / 2, rate[alive]


def _on_grid(x: FloatArray, t: FloatArray, values: FloatArray) -> FloatArray:
    """Linear between samples, never across a gap; NaN where there is nothing."""
    if t.size == 0:
        return np.full(x.size, np.nan)
    column = np.interp(x, t, values, left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(t, x), 1, max(t.size - 1, 1))
    usual = float(np.median(np.diff(t))) if t.size > 1 else STEP_S
    wide = np.diff(t, append=t[-1])[after - 1] > GAP_STEPS * max(STEP_S, usual)
    column[wide & ~np.isin(x, t)] = np.nan
    return column


def _totals(grid: dict[str, FloatArray], raw: Iterable[str]) -> Iterator[tuple[str, FloatArray, str, str]]:
    """What the tests compute of their series: sums and averages of each way, of both, and of the pings."""
    measured = list(raw)
    for stem in ("TCP upload", "TCP download", "Ping (ms)"):
        together = np.array([grid[name] for name in measured if name.startswith(stem)])
        if len(together) < 2:
            continue
        there = np.isfinite(together).sum(axis=0)
        total = np.where(there > 0, np.nansum(together, axis=0), np.nan)
        if stem != "Ping (ms)":
            yield f"{stem} sum", total, "SumRunner", "Mbits/s"
        yield f"{stem} avg", total / np.maximum(there, 1), "AverageRunner", "ms" if stem == "Ping (ms)" else "Mbits/s"
    streams = [name for name in measured if name.startswith("TCP ")]
    if len({name.split()[1][:2] for name in streams}) == 2:
        together = np.array([grid[name] for name in streams])
        there = np.isfinite(together).any(axis=0)
        yield "TCP totals", np.where(there, np.nansum(together, axis=0), np.nan), "SumRunner", "Mbits/s"


def _parameters(run: Run, streams: list[Stream]) -> dict[str, Any]:
    starts = [(life or (0.0, 0.0))[0] for life in (metrics.lifetime(run, stream.flow) for stream in streams)]
    parameters: dict[str, Any] = {"sojourn_id": run.id, "sojourn_seed": str(run.manifest.get("seed", ""))}
    if len(streams) == 1:
        parameters["cc_algo"] = parameters["tcp_cong_control"] = streams[0].cc
    if len(streams) > 1:
        parameters |= {
            "cc_algos": ",".join(stream.cc for stream in streams),
            "upload_streams": sum("upload" in stream.series for stream in streams),
            "download_streams": sum("download" in stream.series for stream in streams),
            "stream_delays": ",".join(f"{start - min(starts):.0f}" for start in starts),
            "labels": ",".join(stream.flow for stream in streams),
        }
    return parameters


def _last(run: Run, series: str) -> int:
    _, values = metrics.finite(run, series)
    return int(values[-1]) if values.size else 0


def _started(run: Run) -> datetime:
    """When the run was made; a fixed day for one that does not say."""
    try:
        return datetime.fromisoformat(str(run.manifest["started"])).astimezone(UTC)
    except (KeyError, ValueError, ResultsError):
        return datetime(2020, 1, 1, tzinfo=UTC)


def _stamp(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S.%f}Z"
