"""qlog of a run: the drafts' fields and no others, the values of its series, and names from strangers."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest

from sojourn.cli import call
from sojourn.interop.qlog import RECORD_SEPARATOR, export
from sojourn.results import ResultsError, Run

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
name = "logged"
duration = "3s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "10ms"
[[flow]]
name = "p"
cc = "prague"
[[flow]]
name = "b"
cc = "bbr"
[[flow]]
name = "noise"
app = "cbr rate 1Mbit"

"""


# draft-ietf-quic-qlog-main-schema 5.1, 5.2 and 7: the header of a sequence, and what each event has.
class ReferenceTime(msgspec.Struct, forbid_unknown_fields=True):
    clock_type: Literal["monotonic"]
    epoch: Literal["unknown"]


class CommonFields(msgspec.Struct, forbid_unknown_fields=True):
    time_format: Literal["relative_to_epoch", "relative_to_previous_event"]
    reference_time: ReferenceTime


class VantagePoint(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    type: Literal["client", "server", "network", "unknown"]


class Trace(msgspec.Struct, forbid_unknown_fields=True):
    common_fields: CommonFields
    vantage_point: VantagePoint
    event_schemas: list[str]


class Header(msgspec.Struct, forbid_unknown_fields=True):
    file_schema: Literal["urn:ietf:params:qlog:file:sequential"]
    serialization_format: Literal["application/qlog+json-seq"]
    title: str
    trace: Trace


class Event(msgspec.Struct, forbid_unknown_fields=True):
    time: float
    name: str
    data: dict[str, Any]


# draft-ietf-quic-qlog-quic-events 7.2 and 7.3: times in ms, windows in bytes, pacing in bit/s, all optional.
class RecoveryMetricsUpdated(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    min_rtt: float | None = None
    smoothed_rtt: float | None = None
    congestion_window: int | None = None
    bytes_in_flight: int | None = None
    ssthresh: int | None = None
    packets_in_flight: int | None = None
    pacing_rate: int | None = None


class CongestionStateUpdated(msgspec.Struct, forbid_unknown_fields=True):
    new: str
    old: str | None = None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("qlog")
    (folder / "logged.toml").write_text(SCENARIO)
    assert call(["run", str(folder / "logged.toml"), "--out", str(folder / "out")]) == 0
    return Run(folder / "out" / "logged")


def sequence(path: Path) -> tuple[Header, list[Event]]:
    texts = path.read_text().split(RECORD_SEPARATOR)
    assert texts[0] == ""
    assert all(text.endswith("\n") for text in texts[1:])
    header = msgspec.json.decode(texts[1], type=Header)
    return header, [msgspec.json.decode(text, type=Event) for text in texts[2:]]


def data(events: list[Event], name: str) -> list[dict[str, Any]]:
    return [event.data for event in events if event.name == name]


def test_each_controller_has_a_file_of_the_drafts_schema(run: Run, tmp_path: Path) -> None:
    files = export(run.path, tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["logged/p.sqlog", "logged/b.sqlog"]
    for file in files:
        header, events = sequence(file)
        assert header.trace.event_schemas[0] == "urn:ietf:params:qlog:events:quic"
        assert [event.time for event in events] == sorted(event.time for event in events)
        for metrics in data(events, "quic:recovery_metrics_updated"):
            assert msgspec.convert(metrics, RecoveryMetricsUpdated, strict=True)
        for state in data(events, "quic:congestion_state_updated"):
            assert msgspec.convert(state, CongestionStateUpdated, strict=True)
        ours = {event.name for event in events if event.name.startswith("sojourn:")}
        assert ours == {"sojourn:algorithm_set", "sojourn:algorithm_state_updated", "sojourn:counters_updated"}


def test_the_values_are_those_of_the_series(run: Run, tmp_path: Path) -> None:
    _, events = sequence(export(run.path, tmp_path)[0])
    state: dict[str, float] = {}
    for event in events:
        if event.name != "sojourn:algorithm_set":
            state |= event.data
    last = {
        name: float(run.series(f"flow.p.{name}")[1][-1]) for name in ("cwnd", "rtt", "pacing_rate", "cc.alpha", "ce")
    }
    # 1500 bytes less the headers of IPv4 and TCP and the timestamps.
    assert state["congestion_window"] == last["cwnd"] * 1448
    assert math.isclose(state["smoothed_rtt"], last["rtt"])
    assert math.isclose(state["pacing_rate"], last["pacing_rate"] * 1e6, abs_tol=1)
    assert (state["alpha"], state["ce"]) == (last["cc.alpha"], last["ce"])
    assert data(events, "sojourn:algorithm_set")[0]["units"]["alpha"] == "1"


def test_states_have_the_controllers_own_names(run: Run, tmp_path: Path) -> None:
    prague, bbr = (data(sequence(file)[1], "quic:congestion_state_updated") for file in export(run.path, tmp_path))
    assert {state["new"] for state in prague} <= {"slow_start", "congestion_avoidance"}
    assert bbr[0] == {"new": "startup"}
    assert all(before["new"] == after["old"] for before, after in itertools.pairwise(bbr))


def test_the_dialect_of_qvis_is_one_document(run: Run, tmp_path: Path) -> None:
    document = json.loads(export(run.path, tmp_path, "0.3")[0].read_text())
    assert document["qlog_version"] == "0.3"
    assert document["traces"][0]["vantage_point"]["type"] == "client"
    names = {event["name"] for event in document["traces"][0]["events"]}
    assert {"recovery:metrics_updated", "recovery:congestion_state_updated"} <= names


def test_a_name_from_strangers_is_no_path(run: Run, tmp_path: Path) -> None:
    for file in run.path.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(scenario.read_text().replace('name = "p"', 'name = "../p"'))
    with pytest.raises(ResultsError, match=r"scenario\.toml: expected flows with names of letters"):
        export(tmp_path)


def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["export", "qlog", str(tmp_path / "none")]) == 2
    assert "expected the folder of a run or of results" in capsys.readouterr().err
