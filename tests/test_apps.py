"""Applications and metrics from Python: what a run of several applications leaves behind."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sojourn import Run, Scenario, _core, metrics, run
from sojourn.cli import call

pytestmark = pytest.mark.engine

MIX = """
name = "mix"
duration = "20s"
measure.from = "2s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "fq_codel"
delay = "10ms"
[[flow]]
name = "web"
cc = "cubic"
app = "short load 2Mbit"
[[flow]]
name = "b"
cc = "cubic"
flows = 2
[[flow]]
name = "up"
cc = "reno"
direction = "up"
[[flow]]
name = "call"
app = "voip"
[[ping]]
name = "p"
protocol = "udp"
"""


@pytest.fixture(scope="module")
def mix(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(Scenario(MIX, "mix.toml"), out=tmp_path_factory.mktemp("mix"))[0]


def test_summary_has_metrics_under_the_headings_of_rfc_5166(mix: Run) -> None:
    found = mix.summary["metrics"]
    assert list(found) == ["throughput", "delay", "loss", "oscillation", "fairness"]
    flows = {flow["name"]: flow for flow in mix.summary["flows"]}
    assert list(flows) == ["web", "b-1", "b-2", "up", "call"]
    total = sum(flow["goodput_mbps"] for flow in flows.values())
    assert found["throughput"]["goodput_mbps"] == pytest.approx(total)
    # Two downloads share what the web leaves; the upload has its own direction.
    shares = [flows[name]["goodput_mbps"] for name in ("b-1", "b-2", "up")]
    expected = sum(shares) ** 2 / (3 * sum(x * x for x in shares))
    assert found["fairness"]["jain"] == pytest.approx(expected)
    assert found["throughput"]["utilisation"]["bneck.reverse"] > 0.9


def test_completion_times_agree_with_their_series(mix: Run) -> None:
    web = next(flow for flow in mix.summary["flows"] if flow["name"] == "web")
    t, took = mix.series("flow.web.fct")
    took = took[t >= 2]
    assert web["completions"]["fct_ms"]["n"] == took.size > 50
    assert web["completions"]["fct_ms"]["mean"] == pytest.approx(took.mean())
    assert web["completions"]["fct_ms"]["p95"] == pytest.approx(np.percentile(took, 95))


def test_a_call_has_a_quality_and_the_flow_no_controller(mix: Run) -> None:
    call_ = next(flow for flow in mix.summary["flows"] if flow["name"] == "call")
    assert "cc" not in call_
    assert 4.0 < call_["one_way"]["voice"]["mos"] < 4.5
    assert call_["one_way"]["min_ms"] == pytest.approx(10 + 214 * 8 / 20e3, abs=1e-6)


def test_resolved_file_names_applications_and_copies(mix: Run) -> None:
    flows = tomllib.loads(mix.scenario)["flow"]
    assert [(f["name"], f["direction"], f.get("flows")) for f in flows[:2]] == [("web", "down", None), ("b", "down", 2)]
    assert flows[0]["app"].startswith("short load 2Mbit limit 10000 ")
    assert flows[1]["app"] == "bulk"


def test_show_prints_the_metrics(mix: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["show", str(mix.path), "--full"]) == 0
    assert "metrics.fairness.jain" in capsys.readouterr().out


def test_applications_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["app", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert names == sorted(names)
    assert {"bulk", "short", "rrul", "voip"} <= set(names)
    assert call(["app", "short"]) == 0
    assert "sizes lognormal|pareto|LIST" in capsys.readouterr().out


def test_harm_is_the_lost_share_of_what_a_flow_has_alone() -> None:
    assert metrics.harm(47.8, 5.78) == pytest.approx(0.879, abs=0.001)
    assert metrics.harm(5.0, 20.0, more_is_better=False) == pytest.approx(0.75)
    assert metrics.harm(0.0, 1.0) is None


def test_a_script_for_linux_reverses_uploads_and_leaves_out_what_iperf3_cannot_do() -> None:
    text, _, limits = _core.tc_script(Scenario(MIX, "mix.toml").resolve().text)
    assert "flow web is left out: application `short` has no form in iperf3" in limits
    assert "flow call is left out: application `voip` has no form in iperf3" in limits
    assert "ping p goes over UDP; the script sends ICMP" in limits
    assert "-C reno -t 20 -R\n" in text
    assert "-C cubic -t 20\n" in text


def test_shipped_scenarios_of_applications_run(tmp_path: Path) -> None:
    folder = Path(__file__).parent.parent / "scenarios"
    short = {"duration": "3s", "measure.from": "1s"}
    for name in ("media", "rrul", "short-flows", "voip"):
        assert run(folder / f"{name}.toml", short, out=tmp_path)[0].complete
