# ruff: noqa: E501 - tables read better with one case a line
from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn import metrics, reference
from sojourn.interop import flent
from sojourn.interop.flent import FlentError, FlentFile
from synthetic import S2, S2_STEM, flent_document, write_flent

if TYPE_CHECKING:
    from pathlib import Path

FULL = reference.folder()
MEASURED = json.loads((FULL / "ect1" / "measured.json").read_text()) if FULL else []
#: A folder for all examples of a property is enough.
SLOW_OR_SHARED = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)


@pytest.mark.skipif(FULL is None, reason="SOJOURN_REFERENCE does not point to the full measurements")
def test_every_measured_statistic_is_reproduced_exactly() -> None:
    assert FULL is not None
    assert len(MEASURED) == 43
    for entry in MEASURED:
        summary = metrics.summarise(FlentFile(FULL / "ect1" / "flent" / f"{entry['run']}.flent.gz"))
        assert summary is not None, entry["run"]
        found = {
            "window_s": [round(edge, 2) for edge in summary.window_s],
            "flows": [
                (
                    flow.goodput_mbps and round(flow.goodput_mbps, 3),
                    flow.delivery_rate_mbps and flow.delivery_rate_mbps.rounded(),
                    flow.tcp_rtt_ms and flow.tcp_rtt_ms.rounded(),
                )
                for flow in summary.flows
            ],
            "ping_ms": summary.ping_ms and summary.ping_ms.rounded(),
        }
        assert found == {
            "window_s": entry["window_s"],
            "flows": [
                (flow["goodput_mbps"], flow["delivery_rate_mbps"], flow["tcp_rtt_ms"]) for flow in entry["flows"]
            ],
            "ping_ms": entry["ping_ms"],
        }, entry["run"]


@pytest.mark.skipif(FULL is None, reason="SOJOURN_REFERENCE does not point to the full measurements")
def test_every_measured_name_maps_to_an_id_and_back() -> None:
    ids = {flent.run_id_of(entry["run"]): entry["run"] for entry in MEASURED}
    assert len(ids) == 43
    for run_id, name in ids.items():
        assert run_id is not None, name
        assert flent.stem_of(run_id) == name


@pytest.mark.parametrize(
    ("name", "run_id"),
    [
        ("l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms", "ect1/l4s-s1-oneflow/prague/dualpi2/50Mbit/20ms"),
        ("l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-80ms", "ect1/l4s-s2-twoflow/cubic-vs-prague/codel1q-20ms/80ms"),
        ("l4s-s2-twoflow-ns-cubic-vs-prague-pfifo_1000_-20ms", "ect1/l4s-s2-twoflow/cubic-vs-prague/pfifo-1000/20ms"),
        ("sce-s2-twoflow-ns-cubic-vs-cubic-sce-twin_codel_af-20ms", "ect1/sce-s2-twoflow/cubic-vs-cubic-sce/twin_codel_af/20ms"),
    ],
)  # fmt: skip
def test_names_map_to_ids_and_back(name: str, run_id: str) -> None:
    assert flent.run_id_of(name) == run_id
    assert flent.stem_of(run_id) == name


def test_a_name_cannot_lead_out_of_the_results_folder(tmp_path: Path) -> None:
    assert flent.run_id_of("l4s-s2-twoflow-ns-cubic-..") is None
    out = tmp_path / "out"
    folder = flent.import_file(write_flent(tmp_path / "...flent.gz", flent_document()), out)
    assert folder.resolve().is_relative_to(out.resolve())
    assert folder != out


def test_two_flows_are_read_with_their_windows_and_rates(tmp_path: Path) -> None:
    source = FlentFile(write_flent(tmp_path / f"batch-{S2_STEM}.flent.gz", flent_document()))
    assert source.id == S2
    assert metrics.flows(source) == ["cubic", "prague"]
    summary = metrics.summarise(source)
    assert summary is not None
    assert summary.window_s == pytest.approx((25, 44))
    assert [flow.goodput_mbps for flow in summary.flows] == pytest.approx([16, 32])
    assert summary.ratio == pytest.approx(2)
    assert summary.ping_ms is not None
    assert summary.ping_ms.mean == pytest.approx(30.5, abs=0.02)


def test_goodput_weighs_interim_results_by_their_duration(tmp_path: Path) -> None:
    document = flent_document()
    points = document["raw_values"]["TCP upload::2"]
    middle = next(p for p in points if "val" in p and p["t"] > points[0]["t"] + 15)
    middle |= {"val": 132.0, "dur": 1.0}
    source = FlentFile(write_flent(tmp_path / "a.flent.gz", document))
    n = len(metrics.inside(source, "flow.prague.interim", (25, 44)))
    expected = (32 * 0.1 * (n - 1) + 132 * 1.0) / (0.1 * (n - 1) + 1.0)
    assert metrics.goodput(source, "prague", (25, 44)) == pytest.approx(expected)


def test_cumulative_bytes_spread_each_interim_result_over_its_interval(tmp_path: Path) -> None:
    source = FlentFile(write_flent(tmp_path / "a.flent.gz", flent_document()))
    t, total = source.series("flow.cubic.goodput_bytes")
    assert (total[1:] >= total[:-1]).all()
    assert total[-1] == pytest.approx(401 * 0.1 * 16e6 / 8)
    assert t[0] == pytest.approx(4.9)


@pytest.mark.parametrize("suffix", [".flent", ".flent.gz", ".flent.bz2"])
def test_plain_gzip_and_bzip2_files_read_alike(tmp_path: Path, suffix: str) -> None:
    text = json.dumps(flent_document()).encode()
    packed = {".flent": text, ".flent.gz": gzip.compress(text), ".flent.bz2": bz2.compress(text)}
    path = tmp_path / f"{S2_STEM}{suffix}"
    path.write_bytes(packed[suffix])
    assert FlentFile(path).id == S2


def test_a_file_without_raw_values_is_read_from_the_grid(tmp_path: Path) -> None:
    x = [i * 0.2 for i in range(250)]
    document = {
        "x_values": x,
        "results": {
            "TCP upload": [None if t < 5 or t > 45 else 40.0 for t in x],
            "Ping (ms) ICMP": [22.0 for _ in x],
        },
        "metadata": {"NAME": "tcp_upload"},
    }
    source = FlentFile(write_flent(tmp_path / "old.flent.gz", document))
    summary = metrics.summarise(source)
    assert summary is not None
    assert summary.flows[0].goodput_mbps == pytest.approx(40)
    assert summary.ping_ms is not None
    assert summary.ping_ms.mean == 22


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"version": 5}, "version: expected 1 to 4, found 5.0"),
        ({"version": "4"}, "version: expected 1 to 4, found 4"),
        ({"metadata": None}, "metadata: expected an object"),
        ({"metadata": []}, "metadata: expected an object"),
        ({"x_values": {}}, "x_values: expected an array of numbers"),
        ({"x_values": [0, "a"]}, "x_values: expected an array of numbers"),
        ({"x_values": [1, 0]}, "x_values: expected seconds in order, without gaps"),
        ({"results": {"TCP upload": [1]}}, "results['TCP upload']: expected an array of 2 values, as in x_values"),
        ({"results": {"TCP upload": [1, "x"]}}, "results['TCP upload']: expected numbers or null"),
        ({"raw_values": {"TCP upload": 7}}, "raw_values['TCP upload']: expected an array of points"),
        ({"raw_values": {"TCP upload": [7]}}, "raw_values['TCP upload'][0]: expected an object"),
        ({"raw_values": {"TCP upload": [{"val": 1}]}}, "raw_values['TCP upload'][0].t: expected a Unix time in seconds"),
        ({"raw_values": {"TCP upload": [{"t": 1, "val": "x"}]}}, "raw_values['TCP upload'][0].val: expected a number"),
        ({"raw_values": {"TCP upload": [{"t": 1, "dur": 1, "val": -1}]}}, "raw_values['TCP upload']: expected rates that are not negative"),
        ({"raw_values": {"TCP upload": [{"t": 1}, {"t": 1e300}]}}, "raw_values: expected points within one week"),
        ({"raw_values": {}, "results": {}}, "raw_values: expected at least one TCP or ping series with data"),
    ],
)  # fmt: skip
def test_a_broken_document_gets_one_clear_line(tmp_path: Path, change: dict[str, Any], line: str) -> None:
    path = write_flent(tmp_path / "bad.flent.gz", flent_document() | change)
    with pytest.raises(FlentError, match=f"^{re.escape(f'bad.flent.gz: {line}')}$"):
        FlentFile(path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "JSON"),
        (b'{"version"', "JSON"),
        (b"[]", "a JSON object"),
        (b"\xff\xfe\x00", "JSON in UTF-8"),
        (b"[" * 100_000, "JSON that is not nested this deeply"),
        (gzip.compress(b"{}")[:-6], "an intact gzip or bzip2 stream"),
        (b"\x1f\x8b" + b"\x00" * 40, "an intact gzip or bzip2 stream"),
        (gzip.compress(b" " * (flent.MAX_JSON_BYTES + 1)), "at most 32 MiB when unpacked"),
        (b"[" + b"{}," * (flent.MAX_OBJECTS + 1) + b"0]", "at most 1000000 objects and arrays"),
        (b"0" * (flent.MAX_FILE_BYTES + 1), "at most 16 MiB"),
    ],
    ids=["empty", "cut", "list", "bytes", "deep", "cut-gzip", "no-gzip", "bomb", "many", "large"],
)
def test_a_hostile_file_gets_one_clear_line(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "bad.flent"
    path.write_bytes(content)
    with pytest.raises(FlentError, match=re.escape(f"bad.flent: file: expected {expected}")):
        FlentFile(path)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.flent")
    with pytest.raises(FlentError, match="expected a regular file"):
        FlentFile(tmp_path / "pipe.flent")


def test_nan_is_a_gap(tmp_path: Path) -> None:
    document = flent_document()
    for point in document["raw_values"]["Ping (ms) ICMP"][::2]:
        point["val"] = float("nan")
    source = FlentFile(write_flent(tmp_path / "nan.flent.gz", document))
    assert set(source.series("ping.icmp.rtt")[1]) == {31.0}


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
KEYS = ["version", "x_values", "results", "raw_values", "metadata"]


@settings(max_examples=150, suppress_health_check=SLOW_OR_SHARED)
@given(
    changes=st.dictionaries(st.sampled_from(KEYS), json_values, max_size=3),
    field=json_values,
    name=st.sampled_from(["t", "val", "dur", "tcp_rtt", "T0", "TEST_PARAMETERS"]),
)
def test_any_document_is_read_or_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], field: Any, name: str
) -> None:
    document = flent_document()
    document["raw_values"]["TCP upload::2"][3][name] = field
    document["metadata"][name] = field
    path = write_flent(tmp_path / "fuzz.flent.gz", document | changes)
    try:
        source = FlentFile(path)
    except FlentError as error:
        assert str(error).startswith("fuzz.flent.gz: ")
        assert "\n" not in str(error)
    else:
        assert source.names()
        metrics.summarise(source)


@settings(max_examples=150, suppress_health_check=SLOW_OR_SHARED)
@given(st.binary(max_size=300), st.sampled_from([b"", b"\x1f\x8b\x08\x00", b"BZh9"]))
def test_any_bytes_are_refused_in_one_line(tmp_path: Path, content: bytes, magic: bytes) -> None:
    path = tmp_path / "fuzz.flent"
    path.write_bytes(magic + content)
    with pytest.raises(FlentError, match=r"^fuzz\.flent: [^\n]*$"):
        FlentFile(path)


def test_import_writes_a_run_folder_once_and_whole(tmp_path: Path) -> None:
    path = write_flent(tmp_path / f"{S2_STEM}.flent.gz", flent_document())
    folder = flent.import_file(path, tmp_path / "out")
    assert folder == tmp_path / "out" / S2
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["id"] == S2
    assert manifest["complete"] is True
    assert json.loads((folder / "summary.json").read_text())["flows"]["prague"]["goodput_mbps"] == pytest.approx(32)
    table = pl.read_parquet(io.BytesIO((folder / "series.parquet").read_bytes()))
    assert table.columns == ["series", "unit", "t_s", "value"]
    assert {"flow.cubic.rtt", "ping.icmp.rtt"} <= set(table["series"])
    assert table.filter(pl.col("series") == "flow.prague.rtt")["value"].to_list() == pytest.approx([20.5] * 301)
    with pytest.raises(FlentError, match="exists already"):
        flent.import_file(path, tmp_path / "out")
    assert [p.name for p in folder.parent.iterdir()] == ["20ms"]
