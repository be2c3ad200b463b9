"""Benchmarks judge and print what they are given; how long anything takes is not asked here."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import check
import measured
import peers
import scale
from check import Baseline, Verdict, judge, reason_to_skip
from measured import MeasureError, Spread, paired_ratios, spent
from peers import PEERS, Load, Side, commands, data_packets, scenario

BASELINE = Baseline("rustc 1.95.0", check.PROFILE, {"one": 1000.0, "two": 2000.0})
HTSIM = PEERS[0]


@pytest.mark.parametrize(
    ("now", "failed", "stale"),
    [
        (1000.0, False, False),
        (1049.0, False, False),
        (1051.0, True, False),
        (951.0, False, False),
        (940.0, False, True),
    ],
)
def test_five_percent_more_instructions_fail_and_five_less_ask_for_a_new_record(
    now: float, failed: bool, stale: bool
) -> None:
    (verdict,) = judge(BASELINE, {"one": now})
    assert (verdict.failed, verdict.stale) == (failed, stale)


def test_a_failure_is_named_and_says_how_it_is_accepted() -> None:
    verdicts = judge(BASELINE, {"one": 1100.0, "two": 2000.0})
    assert [str(one).endswith("FAILED") for one in verdicts] == [True, False]
    assert "+10.0%" in str(verdicts[0])
    assert "make bench-check BLESS=1" in check.conclusion(verdicts)
    assert "BLESS" not in check.conclusion(judge(BASELINE, {"two": 2000.0}))


def test_a_case_without_a_record_neither_passes_in_silence_nor_fails() -> None:
    (verdict,) = judge(None, {"new": 7.0})
    assert not verdict.failed
    assert "nothing recorded" in str(verdict)
    assert "BLESS=1" in check.conclusion([verdict])


def test_another_compiler_and_a_missing_valgrind_are_named() -> None:
    assert reason_to_skip(BASELINE, "rustc 1.95.0", "/usr/bin/valgrind") is None
    assert "rustc 1.99.0" in (reason_to_skip(BASELINE, "rustc 1.99.0", "/usr/bin/valgrind") or "")
    assert reason_to_skip(BASELINE, "rustc 1.95.0", None) == "valgrind is not installed"


def test_the_recorded_baseline_is_read_and_has_every_case() -> None:
    text = check.BASELINE.read_text(encoding="utf-8")
    baseline = Baseline.read(text)
    assert set(baseline.instructions_per_packet) == set(check.CASES)
    assert baseline.text() == text


@pytest.mark.parametrize("text", ["[]", "{}", '{"rustc": "", "profile": "", "instructions_per_packet": {"a": "b"}}'])
def test_a_baseline_that_is_none_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="expected .*instructions_per_packet"):
        Baseline.read(text)


def test_without_valgrind_the_check_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("check.shutil.which", lambda name: None)
    monkeypatch.setattr(check, "compiler", lambda: "rustc 1.95.0")
    monkeypatch.setattr(sys, "argv", ["check.py"])
    assert check.main() == 0
    assert capsys.readouterr().out.startswith("skipped: bench-check (valgrind is not installed")


def test_more_instructions_end_with_a_status_and_a_record_ends_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = {"cases": [{"name": "one", "instructions_per_packet": 1200.0}]}
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr("check.shutil.which", lambda name: "/usr/bin/valgrind")
    monkeypatch.setattr(check, "compiler", lambda: "rustc 1.95.0")
    monkeypatch.setattr(check, "bench", lambda *names: tmp_path / "engine")
    monkeypatch.setattr(check, "spent", lambda command: measured.Spent(0.0, 0.0, json.dumps(found)))
    check.BASELINE.write_text(BASELINE.text(), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["check.py"])
    assert check.main() == 1
    assert "+20.0% FAILED" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["check.py", "--bless"])
    assert check.main() == 0
    monkeypatch.setattr(sys, "argv", ["check.py"])
    assert check.main() == 0
    check.BASELINE.write_text("{", encoding="utf-8")
    assert check.main() == 2
    assert capsys.readouterr().err.startswith("baseline.json: ")


def test_peers_come_from_variables_and_else_from_the_path() -> None:
    def in_path(name: str) -> str | None:
        return "/opt/ns3" if name == "sojourn-peer-ns-3" else None

    found = commands({"SOJOURN_HTSIM": "nice '/a b/htsim' -x"}, in_path)
    assert {peer.name: words for peer, words in found.items()} == {
        "htsim": ["nice", "/a b/htsim", "-x"],
        "ns-3": ["/opt/ns3"],
    }


def test_without_peers_each_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for peer in PEERS:
        monkeypatch.delenv(peer.variable, raising=False)
    monkeypatch.setattr(peers, "commands", lambda env: commands(env, lambda name: None))
    monkeypatch.setattr(sys, "argv", ["peers.py"])
    assert peers.main() == 0
    said = capsys.readouterr().out
    assert all(f"skipped: {peer.name} (set {peer.variable}=" in said for peer in PEERS)


def test_the_last_line_of_a_peer_is_its_number_of_packets() -> None:
    assert data_packets('starting\n{"data_packets": 12}\n') == 12
    for wrong in ("", "12", '{"data_packets": 0}', '{"data_packets": "12"}', '{"data_packets": 12}\nbye'):
        with pytest.raises(MeasureError, match="as the last line"):
            data_packets(wrong)


def test_ratios_are_within_a_round() -> None:
    # The second round was twice as slow for both.
    assert paired_ratios([300.0, 600.0], [100.0, 200.0]) == Spread(3.0, 3.0, 3.0)
    ours, theirs = Side("ours", [], [300.0, 600.0]), Side("htsim", [], [100.0, 200.0])
    ours_row, their_row = peers.rows(Load(1, 100, 10, 60), [ours, theirs], 1)
    assert "3.00 (3.00-3.00)" not in ours_row
    assert their_row.endswith("| 3.00 (3.00-3.00) |")


def test_a_peer_that_fails_has_its_reason_in_the_table() -> None:
    side = Side("htsim", [sys.executable, "-c", "raise SystemExit('no such topology')"])
    side.run()
    (row,) = peers.rows(Load(1, 100, 10, 60), [side], 0)
    assert "exit status 1: no such topology" in row


def test_a_program_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(MeasureError, match="stopped after"):
        spent([sys.executable, "-c", "import time; time.sleep(60)"], patience_s=0.2)


def test_a_program_that_is_not_there_is_one_line() -> None:
    with pytest.raises(MeasureError, match="^/no/such: No such file"):
        spent(["/no/such"])


@pytest.mark.engine
@pytest.mark.parametrize("side", peers.OURS)
def test_the_loads_are_scenarios(side: str) -> None:
    import sojourn

    for load in peers.LOADS[:2]:
        assert sojourn.Scenario(scenario(side, load)).resolve({})


def case(name: str, flows: int, packet_ns: float, load_ms: float, hops: int = 1) -> dict[str, Any]:
    return {
        "name": name,
        "question": "?",
        "flows": flows,
        "hops": hops,
        "data_packets": 10,
        "packet_ns": [packet_ns],
        "ratio": [1.0, 1.5, 2.0],
        "hop_ns": 250.0 if hops > 1 else None,
        "instructions_per_packet": 1000.0 * hops,
        "load_ms": load_ms,
        "build_ms": 1.0,
        "peak_mb": 10.0,
    }


ENGINE = {
    "rounds": 1,
    "cases": [
        case("prague-1", 1, 1000.0, 1.0),
        case("hops-10", 1, 4000.0, 1.0, hops=10),
        case("flows-1000", 1000, 3000.0, 10.0),
        case("flows-10000", 10_000, 6000.0, 1000.0),
        case("no-series", 10_000, 6000.0, 1000.0),
    ],
    "memory": {"bytes_per_flow": 50_000.0, "bytes_per_flow_and_sample": 250.0},
}
WHOLE = scale.Whole(
    version=Spread(0.1, 0.1, 0.1),
    tiny=Spread(0.2, 0.2, 0.2),
    run=Spread(0.3, 0.3, 0.3),
    engine=Spread(0.02, 0.02, 0.02),
    more=0.036,
    report=Spread(2.0, 2.0, 2.0),
    report_more=0.018,
    report_mb=200.0,
    kb_per_run=100.0,
    files_per_run=4,
)


def test_what_large_experiments_need_follows_from_the_measured_tables() -> None:
    text = "\n".join(scale.needs(ENGINE, WHOLE))
    # 0.036 s a run are 10 hours for a million; 100 kB are 100 GB.
    assert "| of 5 s, 50 Mbit/s, two flows | 10 | 100 | 4 |" in text
    # 250,000 packets of 1 us, and the 0.016 s that a run takes besides its engine.
    assert "| of 60 s, 50 Mbit/s | 74 |" in text
    assert "| memory without series | 5.0 GB |" in text
    assert "2.0th power of the flows | 100 CPU s |" in text


def test_a_hop_is_what_it_adds_to_a_packet() -> None:
    assert list(scale.hops(ENGINE))[-1] == "| 10 | 250 | 1,000 |"


def test_tables_have_as_many_cells_as_titles() -> None:
    rows: list[Mapping[str, Any]] = [
        {"qdisc": "pfifo", "backlog/flows": {"10/1": {"packet_ns": 25.0, "drops": 0}, "1000/100": None}},
        {"qdisc": "own", "not_timed": "no registry"},
    ]
    for lines in (scale.packets(ENGINE), scale.hops(ENGINE), scale.flows(ENGINE), scale.queues(rows)):
        table = [line for line in lines if line.startswith("|")]
        assert len({line.count("|") for line in table}) == 1
    assert list(scale.queues(rows))[-1] == "| `pfifo` | 25 |  |"


def test_a_table_replaces_the_one_that_the_document_has(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- written by benches/scale.py hops -->\nold\n<!-- end of hops -->\nafter\n")
    measured.write(page, "benches/scale.py hops", ["new"])
    assert page.read_text() == (
        "before\n<!-- written by benches/scale.py hops -->\n\nnew\n\n<!-- end of hops -->\nafter\n"
    )
    with pytest.raises(SystemExit, match=r"expected a line .*scale\.py flows"):
        measured.write(page, "benches/scale.py flows", ["new"])


def test_a_verdict_without_a_record_has_no_change() -> None:
    assert Verdict("one", 1.0, None).change == 0.0


def test_a_difference_below_the_spread_is_no_number() -> None:
    assert scale.above_noise(0.25, 1) == "0.2"
    assert scale.above_noise(-0.001, 4) == "less than the rounds' spread"
