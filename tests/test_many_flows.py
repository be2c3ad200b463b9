from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sojourn
from sojourn import conditions, metrics, plot
from sojourn.report import sections

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.results import Run

TEXT = """
name = "many"
duration = "3s"
series = "groups"
measure.from = "1s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "fq_codel"
delay = "5ms"
[[flow]]
name = "web"
cc = "cubic"
flows = 6
interarrival = "exponential 50ms"
[[flow]]
name = "alone"
cc = "prague"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("many")
    (folder / "many.toml").write_text(TEXT, encoding="utf-8")
    (done,) = sojourn.run([folder / "many.toml"], out=folder / "r").runs.values()
    return done


def test_a_group_has_quantiles_and_other_flows_their_own_series(run: Run) -> None:
    assert metrics.groups(run) == ["web"]
    assert metrics.flows(run) == ["alone"]
    assert not [name for name in run.names() if name.startswith("flow.web")]
    _, low = metrics.finite(run, "group.web.rtt.p10")
    _, high = metrics.finite(run, "group.web.rtt.p90")
    assert (low <= high).all()
    assert low.min() >= 10.0


def test_every_flow_of_a_group_is_in_the_summary_of_its_window(run: Run) -> None:
    summary = metrics.summarise(run, metrics.measuring_window(run))
    assert summary is not None
    assert [flow.name for flow in summary.flows] == ["alone", *(f"web-{n}" for n in range(1, 7))]
    goodputs = [flow.goodput_mbps for flow in summary.flows]
    assert sum(rate or 0.0 for rate in goodputs) == pytest.approx(20 * conditions.PAYLOAD_SHARE, rel=0.05)
    assert all(flow.tcp_rtt_ms is not None and (flow.tcp_rtt_ms.p50 or 0.0) >= 10.0 for flow in summary.flows)
    assert metrics.members(run, (0.5, 1.5)) == []


def test_the_report_and_plots_show_the_group_as_one(run: Run, tmp_path: Path) -> None:
    from sojourn import compare

    (shown,) = sections.runs_of(compare.Comparison(lone=[run]))
    assert shown.summary is not None
    plot.write([run], [], tmp_path / "p.svg")
    assert "web-* (6)" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    plot.write([run], ["tcp_rtt_cdf"], tmp_path / "c.svg")
    assert "median of web-* (6)" in (tmp_path / "c.svg").read_text(encoding="utf-8")
