"""Exported files: read back by us, and opened and plotted by the real Flent."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import sojourn
from sojourn import metrics
from sojourn.interop import csv_export
from sojourn.interop.flent import FlentError, FlentFile
from sojourn.interop.flent_export import RRUL, export
from sojourn.logs import log
from sojourn.results import MANIFEST, ResultsError, Run
from synthetic import S2, S2_STEM, made_run

if TYPE_CHECKING:
    from synthetic import Made

# Beside this Python, as the development dependencies put it there, or anywhere on the path.
FLENT = shutil.which("flent", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
HAS_QT = all(map(find_spec, ("flent", "qtpy"))) and any(map(find_spec, ("PySide6", "PyQt6")))
needs_flent = pytest.mark.skipif(FLENT is None, reason="flent is not installed (pip install --group dev)")


def as_run(folder: Path, made: Made, flows: dict[str, dict[str, str]]) -> Path:
    """A made run as a finished one on disk."""
    run = folder / made.id
    run.mkdir(parents=True)
    document = {"id": made.id, "version": "0", "seed": 7, "complete": True, "started": "2026-01-02T03:04:05+00:00"}
    (run / MANIFEST).write_text(json.dumps(document))
    tables = [f'[[flow]]\nname = "{name}"\n' + "".join(f'{k} = "{v}"\n' for k, v in keys.items())
              for name, keys in flows.items()]  # fmt: skip
    (run / "scenario.toml").write_text("\n".join(tables))
    parts = [pl.DataFrame({"series": name, "unit": "", "t_s": t, "value": v})
             for name in made.names() for t, v in [made.series(name)]]  # fmt: skip
    pl.concat(parts).write_parquet(run / "series.parquet")
    return run


@pytest.fixture
def two(tmp_path: Path) -> Path:
    made = made_run(S2, {"cubic": 15.0, "prague": 31.0}, {"cubic": 36.0, "prague": 20.4})
    return as_run(tmp_path, made, {"cubic": {"cc": "cubic"}, "prague": {"cc": "prague version p2b"}})


def document(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return loaded


def test_what_is_exported_comes_back_as_it_was(two: Path) -> None:
    (file,) = export(two, None)
    assert file.name == f"batch-{S2_STEM}.flent.gz"
    source = FlentFile(file)
    assert source.id == S2
    assert metrics.flows(source) == ["cubic", "prague"]
    summary = metrics.summarise(source, (25.0, 44.0))
    assert summary is not None
    assert [flow.goodput_mbps for flow in summary.flows] == pytest.approx([15, 31], rel=1e-3)
    assert [flow.tcp_rtt_ms.p50 for flow in summary.flows if flow.tcp_rtt_ms] == pytest.approx([36, 20.4])
    assert summary.ping_ms is not None
    assert summary.ping_ms.mean == pytest.approx(21)


def test_the_file_has_what_the_format_asks_for(two: Path) -> None:
    whole = document(export(two, None)[0])
    assert whole["version"] == 4
    assert {len(column) for column in whole["results"].values()} == {len(whole["x_values"])}
    assert whole["metadata"]["NAME"] == "tcp_nup"
    assert whole["metadata"]["TEST_PARAMETERS"]["cc_algos"] == "cubic,prague"
    assert whole["metadata"]["TEST_PARAMETERS"]["stream_delays"] == "0,10"
    assert whole["metadata"]["T0"] == "2026-01-02T03:04:05.000000Z"
    assert {"TCP upload::1", "TCP upload::2", "TCP upload sum", "TCP upload avg", "Ping (ms) ICMP"} <= set(
        whole["raw_values"]
    )
    assert any("tcp_rtt" in point for point in whole["raw_values"]["TCP upload::1"])
    at_10_s = whole["x_values"].index(10.0)
    assert whole["results"]["TCP upload::2"][at_10_s] is None
    assert whole["results"]["TCP upload sum"][at_10_s] == pytest.approx(15, rel=1e-3)


def test_a_result_set_goes_into_a_folder_and_rrul_has_its_names(tmp_path: Path, two: Path) -> None:
    names = [f"r-{way}-{kind}" for way in ("up", "down") for kind in ("be", "bk", "cs5", "ef")]
    made = made_run("r", dict.fromkeys(names[:3], 2.0), dict.fromkeys(names[:3], 30.0))
    for name in names[3:]:
        for key in ("goodput_bytes", "delivery_rate", "rtt"):
            made._series[f"flow.{name}.{key}"] = made._series[f"flow.{names[0]}.{key}"]
    made._series["ping.r-udp-ef.rtt"] = made._series["ping.icmp.rtt"]
    as_run(tmp_path, made, {name: {"cc": "cubic", "direction": name.split("-")[1]} for name in names})
    files = export(tmp_path, tmp_path / "flent")
    assert len(files) == 2
    (rrul,) = (document(file) for file in files if "rrul" in file.name)
    assert rrul["metadata"]["NAME"] == "rrul"
    assert {f"TCP {way} {kind}" for way in ("upload", "download") for kind in ("BE", "BK", "CS5", "EF")} <= set(
        rrul["raw_values"]
    )
    assert "Ping (ms) UDP EF" in rrul["raw_values"]


@pytest.mark.parametrize("test", ["rrul", "rrul_be"])
def test_the_flows_of_rrul_are_its_test_whatever_runs_beside_them(tmp_path: Path, test: str) -> None:
    parts = RRUL[test]
    names = [f"load-{way}-{part}" for way in ("up", "down") for part in parts]
    made = made_run(
        "home", {"load-up-be": 2.0, "bulk": 9.0, "call": 0.1}, {"load-up-be": 30.0, "bulk": 30.0, "call": 0}
    )
    for key in ("goodput_bytes", "delivery_rate", "rtt"):
        model = made._series.pop(f"flow.load-up-be.{key}")
        made._series |= {f"flow.{name}.{key}": model for name in names}
    del made._series["flow.call.delivery_rate"], made._series["flow.call.rtt"]
    made._series["queue.b.drops"] = made._series["ping.icmp.rtt"]
    made._series[f"ping.load-udp-{'ef' if test == 'rrul' else 'be3'}.rtt"] = made._series["ping.icmp.rtt"]
    tables = {name: {"cc": "cubic", "direction": name.split("-")[1]} for name in names}
    told: list[str] = []
    run = as_run(tmp_path, made, {**tables, "bulk": {"cc": "prague"}, "call": {"app": "voip"}})
    (file,) = export(run, None, told.append)
    whole = document(file)
    assert whole["metadata"]["NAME"] == test
    streams = {f"TCP {way}load {label}" for way in ("up", "down") for label in parts.values()}
    assert streams | {"TCP download::1", f"Ping (ms) UDP {'EF' if test == 'rrul' else 'BE3'}"} <= set(
        whole["raw_values"]
    )
    at_20_s = whole["x_values"].index(20.0)
    assert whole["results"]["TCP upload sum"][at_20_s] == pytest.approx(4 * 2, rel=1e-3)
    assert whole["results"]["TCP totals"][at_20_s] == pytest.approx(8 * 2 + 9, rel=1e-3)
    assert told == ["home: left out, as a Flent file has no place for it: flow call; 1 series of queues"]


def test_one_run_that_no_flent_file_can_hold_does_not_stop_the_others(tmp_path: Path, two: Path) -> None:
    bare = made_run("bare", {}, {})
    bare._series = {"queue.b.drops": (np.arange(3.0), np.arange(3.0))}
    as_run(tmp_path, bare, {})
    told: list[str] = []
    assert len(export(tmp_path, tmp_path / "out", told.append)) == 1
    assert any("expected a TCP flow or a ping" in line for line in told)


def test_csv_holds_the_series_of_a_run_and_the_numbers_of_many(tmp_path: Path, two: Path) -> None:
    for number, run in enumerate((two, as_run(tmp_path, made_run("other", {"x": 1.0}, {"x": 9.0}), {}))):
        (run / "summary.json").write_text(json.dumps({"flows": [{"name": "x,y", "goodput_mbps": number}], "w": [1, 2]}))
    with csv_export.export(two).open(newline="") as file:
        rows = list(csv.DictReader(file))
    frame = Run(two).frame().collect()
    assert [(row["series"], float(row["t_s"]), float(row["value"])) for row in rows] == [
        (name, t, value) for name, _, t, value in frame.select("series", "unit", "t_s", "value").rows()
    ]
    with csv_export.export(tmp_path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["flows.x,y.goodput_mbps"], row["w"]) for row in rows] == [
        (S2, "0", "[1, 2]"), ("other", "1", "[1, 2]"),
    ]  # fmt: skip
    with pytest.raises(ResultsError, match="expected the folder of a run or of results"):
        csv_export.export(tmp_path / "none")


def test_what_no_flent_file_can_hold_is_told_in_one_line(tmp_path: Path, two: Path) -> None:
    with pytest.raises(FlentError, match="expected the folder of a run"):
        export(tmp_path / "none", None)
    made = made_run("bare", {}, {})
    made._series = {"queue.b.drops": (np.arange(3.0), np.arange(3.0))}
    with pytest.raises(FlentError, match="expected a TCP flow or a ping"):
        export(as_run(tmp_path / "x", made, {}), None)
    as_run(tmp_path, made_run("other", {"x": 1.0}, {"x": 9.0}), {})
    with pytest.raises(FlentError, match="expected a folder for 3 runs"):
        export(tmp_path, tmp_path / "x.flent.gz")


@needs_flent
@pytest.mark.parametrize("plot", ["upload_with_ping_and_tcp_rtt", "tcp_cwnd", "box_totals"])
def test_the_real_flent_plots_it(two: Path, tmp_path: Path, plot: str) -> None:
    assert FLENT is not None
    (file,) = export(two, tmp_path / "x.flent.gz")
    command = [FLENT, "-i", str(file), "-p", plot, "-o", str(tmp_path / "x.svg")]
    home = {"HOME": str(tmp_path), "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | home)
    assert done.returncode == 0, done.stderr
    said = (done.stdout + done.stderr).lower()
    assert "zero-length" not in said
    assert "error" not in said
    assert (tmp_path / "x.svg").stat().st_size > 10_000


@needs_flent
def test_the_real_flent_reads_the_numbers(two: Path, tmp_path: Path) -> None:
    assert FLENT is not None
    (file,) = export(two, tmp_path / "x.flent.gz")
    home = {"HOME": str(tmp_path), "MPLBACKEND": "agg"}
    done = subprocess.run([FLENT, "-f", "summary", str(file)], capture_output=True, text=True, check=False,
                          env=os.environ | home)  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.strip().startswith("TCP upload::2 "))
    assert float(row.split(":")[-1].split()[0]) == pytest.approx(31, rel=0.02)


@pytest.mark.skipif(not HAS_QT, reason="flent-gui has no Qt here (pip install flent qtpy PySide6)")
def test_the_real_flent_gui_opens_it_in_its_window(two: Path, tmp_path: Path) -> None:
    (file,) = export(two, tmp_path / "x.flent.gz")
    picture = tmp_path / "window.png"
    script = Path(__file__).with_name("flent_window.py")
    home = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script), str(file), str(picture)], capture_output=True, text=True,
                          check=False, timeout=100, env=os.environ | home)  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert len(said["tabs"]) == 1
    assert said["log"] == []
    assert picture.stat().st_size > 50_000, "an empty window is smaller"


HOSTS = """
name = "hosts"
duration = "4s"
[tcp]
era = "7.x"
pacing_ca_ratio = 150
[[link]]
name = "access"
rate = "1Gbit"
[[link]]
name = "bneck"
rate = "10Mbit"
shaper = "htb"
qdisc = "dualpi2 target 20ms"
delay = "5ms"
[[flow]]
name = "a"
cc = "cubic"
path = ["bneck"]
tcp = { ecn = "rfc3168" }
[[flow]]
name = "b"
cc = "prague version p2b"
"""


@pytest.mark.engine
def test_the_hosts_of_an_exported_run_are_the_simulated_ones(tmp_path: Path) -> None:
    (run,) = sojourn.run(sojourn.Scenario(HOSTS), out=tmp_path / "r")
    whole = document(export(run.path, None)[0])["metadata"]
    assert whole["KERNEL_NAME"] == "Sojourn"
    assert whole["KERNEL_RELEASE"].startswith(run.manifest["version"])
    assert "tcp.era 7.x: TCP of Linux 7.0 to 7.2" in whole["KERNEL_RELEASE"]
    assert os.uname().release not in json.dumps(whole)
    assert whole["SYSCTLS"]["net.ipv4.tcp_pacing_ca_ratio"] == 150
    assert whole["SYSCTLS"]["net.ipv4.tcp_rmem"] == "4096\t131072\t6291456"
    assert "net.ipv4.tcp_ecn" not in whole["SYSCTLS"], "the flows differ in it"
    own = [whole["SERIES_META"][f"TCP upload::{n}"]["SYSCTLS"] for n in (1, 2)]
    assert own == [
        {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_ecn": 1},
        {"net.ipv4.tcp_congestion_control": "prague", "net.ipv4.tcp_ecn": 3},
    ]
    egress = whole["EGRESS_INFO"]
    assert egress["iface"] == "bneck"
    assert [(q["id"], q["name"], q["parent"]) for q in egress["qdiscs"]] == [
        ("1:", "htb", "root"),
        ("2:", "dualpi2", "1:1"),
    ]
    assert egress["qdiscs"][1]["params"]["target"] == "20ms"
    assert re.match(r"qdisc htb rate 10Mbit [^;]*; dualpi2 ", egress["tc_stats_post"][0])
    # What a Flent file says of the settings is read as ours again.
    settings = {key: value for key, value in whole["SYSCTLS"].items() if key != "net.ipv4.tcp_congestion_control"}
    inline = ", ".join(f'"{key}" = {json.dumps(value)}' for key, value in settings.items())
    again = sojourn.Scenario(HOSTS.replace("pacing_ca_ratio = 150", f"sysctl = {{ {inline} }}"))
    tcp: Any = again.resolve().document()["tcp"]
    assert (tcp["pacing_ca_ratio"], tcp["rmem_max"], tcp["timestamps"]) == (150, "6Mb", True)


@pytest.mark.engine
def test_a_teardown_log_ends_in_what_ip_tcp_metrics_would_list(tmp_path: Path) -> None:
    (run,) = sojourn.run(sojourn.Scenario(HOSTS), out=tmp_path / "r")
    lines = log(run, "teardown").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("# ip tcp_metrics"))
    assert [line.split(" ")[0] for line in lines[at + 1 :]] == ["a.receiver", "b.receiver"]
    for flow, line in zip("ab", lines[at + 1 :], strict=True):
        words = line.split()
        rtt = metrics.finite(run, f"flow.{flow}.rtt")[1][-1]
        assert words[words.index("rtt") + 1] == f"{round(rtt * 1000)}us"
        assert words[words.index("cwnd") + 1] == str(round(metrics.finite(run, f"flow.{flow}.cwnd")[1][-1]))
