"""What Prague took its path for, and goodput over time: in the summary, on screen, in the report and in Python."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import metrics
from sojourn.cli import call
from sojourn.fidelity import measures
from sojourn.results import ResultSet, Run
from synthetic import Made

pytestmark = pytest.mark.engine

SCENARIO = """
name = "detection"
duration = "30s"
tcp.ecn = "accecn"
link = [{ name = "bneck", rate = "20Mbit", qdisc = "QUEUE", delay = "20ms" }]
flow = [{ name = "prague", cc = "prague version p2b CC", path = ["bneck"] }]
measure = { from = "10.03s", to = "30s" }
"""
CODEL = "fq_codel flows 1 ecn target 15ms interval 200ms"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("detection")
    for name, queue, words in (("classic", CODEL, ""), ("l4s", "dualpi2", ""), ("off", CODEL, "ecn_fallback 0")):
        text = SCENARIO.replace("QUEUE", queue).replace("CC", words).replace("detection", name)
        (folder / f"{name}.toml").write_text(text)
    files = [str(folder / f"{name}.toml") for name in ("classic", "l4s", "off")]
    return dict(sojourn.run(files, out=folder / "out").runs)


def test_a_classic_queue_is_told_from_an_l4s_queue_and_from_one_that_nobody_looked_for(runs: dict[str, Run]) -> None:
    classic, l4s, off = (runs[name].summary["flows"][0].get("classic_detection") for name in ("classic", "l4s", "off"))
    assert classic["share"] > 0.9 and classic["flips"] >= 1 and 0 < classic["after_s"] < 10
    assert l4s == {"share": 0.0, "flips": 0, "after_s": None}
    assert off is None and "flow.prague.cc.classic_score" not in runs["off"].names()
    t, score = runs["classic"].series("flow.prague.cc.classic_score")
    _, mode = runs["classic"].series("flow.prague.cc.classic_mode")
    assert mode[score >= 1].all() and not mode[score <= 0].any()
    assert t[mode > 0][0] == pytest.approx(classic["after_s"])


def test_goodput_over_time_is_the_same_in_the_summary_and_from_the_series(runs: dict[str, Run]) -> None:
    for run in runs.values():
        told = run.summary["flows"][0]["goodput_over_time_mbps"]
        assert told["n"] == metrics.goodput_over_time(run, "prague", (10.03, 30.0)).size == 199
        # The engine takes the sample before an edge, which is every 50 ms; the series has the line between two.
        rates = metrics.goodput_over_time(run, "prague", (10.0, 29.97))
        for key, percent in (("p05", 5), ("p50", 50), ("p95", 95)):
            assert told[key] == pytest.approx(np.percentile(rates, percent), rel=0.001), key
        assert run.summary["metrics"]["throughput"]["goodput_over_time_mbps"] == told


def test_the_screen_the_table_and_the_report_have_both(
    runs: dict[str, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    path = runs["classic"].path
    folder = path.parent
    assert call(["show", str(path)]) == 0
    assert "prague: in classic mode 100.0 % of the time, first after " in capsys.readouterr().out
    assert call(["show", str(runs["l4s"].path)]) == 0
    assert "prague: never in classic mode" in capsys.readouterr().out
    assert call(["show", str(path), "--full"]) == 0
    shown = capsys.readouterr().out
    assert "flows.prague.goodput_over_time_mbps.p05" in shown and "flows.prague.classic_detection.flips" in shown
    assert call(["show", str(folder), "--full"]) == 0
    heading = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("run "))
    assert heading.split()[1:5] == ["Mbit/s", "p05", "p50", "p95"]
    table = ResultSet.open(folder).summary()
    assert (table["goodput_p05_mbps"] <= table["goodput_p50_mbps"]).all()
    assert (table["goodput_p50_mbps"] <= table["goodput_p95_mbps"]).all()
    for name, options in (("report.html", []), ("report.md", ["--markdown"])):
        assert call(["report", str(folder), *options, "-o", str(folder.parent / name)]) == 0
        text = (folder.parent / name).read_text(encoding="utf-8")
        assert "goodput p05 / p50 / p95" in text.lower() and "100.0 %, first after" in text


def test_measures_of_the_rows_read_mode_cuts_and_drops() -> None:
    t = np.arange(0.0, 60.0, 0.5)
    mode = ((t >= 20) & (t < 40)).astype(float)
    saw = 100 - 30.0 * (np.arange(t.size) % 4 == 3)
    made = Made(
        "r",
        {
            "flow.p.cc.classic_mode": (t, mode),
            "flow.p.delivery_rate": (t, np.ones(t.size)),
            "flow.p.goodput_bytes": (t, t * 1e5),
            "flow.p.cwnd": (t, saw),
            "queue.b.received_packets": (t, 100 * t),
            "queue.b.drops": (t, np.where(t < 30, 0.0, 95 * (t - 30))),
        },
    )
    assert measures.classic_share("p", (10, 29.5))(made) == pytest.approx(0.5)
    assert measures.mode_after("p", 10, classic=True)(made) == 10
    assert measures.mode_after("p", 20, classic=False)(made) == 20
    assert measures.mode_after("p", 45, classic=True)(made) == measures.NO_MODE_S
    assert measures.kept_at_cuts("p")(made) == pytest.approx(0.7)
    assert measures.greatest_drop_share("b")(made) == pytest.approx(0.95)
    assert measures.classic_share("q")(made) is None and measures.greatest_drop_share("c")(made) is None
