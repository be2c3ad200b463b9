"""What each controller of a run did, as qlog: a file a flow, seen by its sender.

Events are those of the drafts (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events) where they have one
for it, at every sample of the run; state that only one algorithm has is in a namespace of ours, `sojourn`. Times are ms
since the start of the run. qvis reads an older dialect, `0.3` (draft-ietf-quic-qlog-main-schema-02).
"""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from sojourn.files import write_whole
from sojourn.groups import written_out
from sojourn.results import ResultsError, ResultSet, Run, exists

if TYPE_CHECKING:
    from collections.abc import Iterator

Version = Literal["current", "0.3"]
Event = dict[str, Any]
State = dict[str, float]

#: RFC 7464 2.2: before each text of a sequence.
RECORD_SEPARATOR = "\x1e"
NAMESPACE = "sojourn"
SCHEMAS = ["urn:ietf:params:qlog:events:quic", f"urn:{NAMESPACE}:qlog:events:{NAMESPACE}"]
#: In the older dialect events of congestion control have a category of their own.
NAMES_0_3 = {
    "quic:recovery_metrics_updated": "recovery:metrics_updated",
    "quic:congestion_state_updated": "recovery:congestion_state_updated",
}

#: A field of recovery_metrics_updated, the series that it is of, and what one of the series' units is there.
#: None: the payload of a full segment.
METRICS: list[tuple[str, str, float | None]] = [
    ("min_rtt", "cc.min_rtt", 1),
    ("smoothed_rtt", "rtt", 1),
    ("congestion_window", "cwnd", None),
    ("congestion_window", "cc.ref_wnd", 1),
    ("bytes_in_flight", "in_flight", None),
    ("bytes_in_flight", "cc.bytes_in_flight", 1),
    ("packets_in_flight", "in_flight", 1),
    ("ssthresh", "ssthresh", None),
    ("pacing_rate", "pacing_rate", 1e6),
]
#: Those that the drafts have as whole numbers.
WHOLE = {"congestion_window", "bytes_in_flight", "packets_in_flight", "ssthresh", "pacing_rate"}
#: What is counted since the start: segments reported to the sender as marked, packets that arrived marked, and so on.
COUNTERS = ("ce", "ce_received", "ce_bytes", "retransmits", "goodput_bytes")
#: What BBR's series `cc.mode` counts, by the first parameters of the controller.
BBR_MODES = {
    "bbr version v1": ["startup", "drain", "probe_bw", "probe_rtt"],
    "bbr version v3": [
        "startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt",
    ],
}  # fmt: skip


def export(source: Path, out: Path | None = None, version: Version = "current") -> list[Path]:
    """Write a file for each flow with a controller of a run, or of every run of a results folder; returns them.

    They are `FLOW.sqlog`, or `FLOW.qlog` of version 0.3, in the folder `out/RUN`, by default in `qlog` beside the run's
    series. Raises `ResultsError`.
    """
    if version not in get_args(Version):
        raise ResultsError(f"qlog version {version}: expected {' or '.join(get_args(Version))}")
    runs = list(ResultSet.open(source)) if exists(source) else []
    if not runs:
        raise ResultsError(f"{source}: expected the folder of a run or of results")
    if out is not None and out.exists() and not out.is_dir():
        raise ResultsError(f"{out}: expected a folder, since each flow has a file of its own")
    written = []
    for run in runs:
        folder = run.path / "qlog" if out is None else out / run.id
        for flow in filter(lambda flow: _has_controller(run, flow["name"]), _flows(run)):
            target = folder / f"{flow['name']}.{'qlog' if version == '0.3' else 'sqlog'}"
            events = list(_events(run, flow))
            write_whole(target, _contained(run, flow, events) if version == "0.3" else _sequence(run, flow, events))
            written.append(target)
    if not written:
        raise ResultsError(f"{source}: found no flow with the series of a controller")
    return written


def _flows(run: Run) -> list[dict[str, Any]]:
    """Those of the scenario, whose names are names of files."""
    flows = written_out(run.document.get("flow", []))
    for flow in flows:
        name = flow.get("name") if isinstance(flow, dict) else None
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise ResultsError(
                f"{run.files.where('scenario.toml')}: expected flows with names of letters, digits, `_`, `-`"
            )
    return flows


def _has_controller(run: Run, flow: str) -> bool:
    return any(name.startswith(f"flow.{flow}.cc.") or name == f"flow.{flow}.cwnd" for name in run.names())


def _sequence(run: Run, flow: dict[str, Any], events: list[Event]) -> str:
    """Section 11.2 of the main schema: a header and the events, as JSON text sequence (RFC 7464)."""
    header = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": f"{run.id}: {flow['name']}",
        "trace": {
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
            "vantage_point": {"name": str(flow["name"]), "type": "client"},
            "event_schemas": SCHEMAS,
        },
    }
    return "".join(f"{RECORD_SEPARATOR}{_text(part)}\n" for part in (header, *events))


def _contained(run: Run, flow: dict[str, Any], events: list[Event]) -> str:
    """One document of the dialect that qvis reads."""
    named = [{**event, "name": NAMES_0_3.get(event["name"], event["name"])} for event in events]
    trace = {
        "vantage_point": {"name": str(flow["name"]), "type": "client"},
        "common_fields": {"time_format": "relative", "reference_time": 0},
        "events": named,
    }
    return _text({
        "qlog_version": "0.3", "qlog_format": "JSON", "title": f"{run.id}: {flow['name']}", "traces": [trace],
    })  # fmt: skip


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _events(run: Run, flow: dict[str, Any]) -> Iterator[Event]:
    """All of a flow in the order of time; each has only what has changed, as both drafts recommend."""
    name, cc = str(flow["name"]), str(flow.get("cc", ""))
    samples = _table(run, name)
    units = dict(samples.select("series", "unit").unique().sort("series").iter_rows())
    own_units = {_own(key): unit for key, unit in units.items() if _own(key)}
    yield _event(0.0, f"{NAMESPACE}:algorithm_set", {"algorithm": cc, "units": own_units})
    last: dict[str, State] = {}
    mode = None
    for at_s, values in _samples(samples):
        for kind, state in _states(values, _segment_bytes(run.document, flow)).items():
            before = last.setdefault(kind, {})
            changed = {key: value for key, value in state.items() if before.get(key) != value}
            if changed:
                before.update(changed)
                yield _event(at_s, kind, changed)
        new = _mode(cc, values)
        if new is not None and new != mode:
            yield _event(at_s, "quic:congestion_state_updated", {"old": mode, "new": new} if mode else {"new": new})
            mode = new


def _event(at_s: float, name: str, data: dict[str, Any]) -> Event:
    return {"time": round(at_s * 1000, 6), "name": name, "data": data}


def _table(run: Run, flow: str) -> pl.DataFrame:
    """What was sampled of a flow, in the order of time, with names as they are behind `flow.NAME.`."""
    prefix, series = f"flow.{flow}.", pl.col("series")
    mine = run.table().filter(series.str.starts_with(prefix)).with_columns(series.str.strip_prefix(prefix))
    return mine.sort("t_s", "series")


def _samples(table: pl.DataFrame) -> Iterator[tuple[float, State]]:
    """At each time the values that were sampled then; NaN stays."""
    rows = table.select("t_s", "series", "value").iter_rows()
    for at_s, group in itertools.groupby(rows, key=lambda row: row[0]):
        yield at_s, {series: value for _, series, value in group}


def _own(series: str) -> str:
    """The name of a variable of the algorithm's own in our namespace; empty for what others have, too."""
    return series.removeprefix("cc.") if series.startswith("cc.") or series == "target_rate" else ""


def _states(values: State, segment_bytes: int) -> dict[str, State]:
    """The data of each kind of event, without what is not a number at this time."""
    recovery: State = {}
    for field, series, scale in METRICS:
        value = values.get(series, math.nan) * (segment_bytes if scale is None else scale)
        if math.isfinite(value):
            recovery.setdefault(field, max(0, round(value)) if field in WHOLE else value)
    finite = {key: value for key, value in values.items() if math.isfinite(value)}
    return {
        "quic:recovery_metrics_updated": recovery,
        f"{NAMESPACE}:algorithm_state_updated": {_own(key): value for key, value in finite.items() if _own(key)},
        f"{NAMESPACE}:counters_updated": {key: round(finite[key]) for key in COUNTERS if key in finite},
    }


def _mode(cc: str, values: State) -> str | None:
    """The state of the controller: BBR's own, or of TCP whether it is in slow start."""
    for version, names in BBR_MODES.items():
        if cc.startswith(version) and 0 <= (number := values.get("cc.mode", -1.0)) < len(names):
            return names[int(number)]
    if "cwnd" not in values or cc.startswith("bbr"):
        return None
    # RFC 5681 3.1; before the first reduction there is no threshold.
    ssthresh = values.get("ssthresh", math.nan)
    return "slow_start" if math.isnan(ssthresh) or values["cwnd"] < ssthresh else "congestion_avoidance"


def _segment_bytes(scenario: dict[str, Any], flow: dict[str, Any]) -> int:
    """Payload of a full segment: the MTU less headers of IPv4 and TCP, and 12 bytes of timestamps."""
    tcp = {**scenario.get("tcp", {}), **flow.get("tcp", {})}
    return int(tcp.get("mtu", 1500)) - 40 - (12 if tcp.get("timestamps", True) else 0)
