"""The table that `run` and `show` print: what is in it, and that it fits a screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import FakeCore
from sojourn.cli import call
from sojourn.cli.screen import figure, shortened
from sojourn.glance import Glance
from sojourn.results import Run

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def flow(name: str, cc: str = "prague", **keys: Any) -> dict[str, Any]:
    return {
        "name": name,
        "cc": f"{cc} version p2b",
        "goodput_mbps": 10.0,
        "rtt_ms": {"p50": 20.0, "p99": 30.0},
        "sender": {"retransmits": 2, "ce_reported": 5},
        "receiver": {"ce_received": 5},
        **keys,
    }


def queue(name: str, **keys: Any) -> dict[str, Any]:
    return {
        "name": name,
        "qdisc": "htb rate 50Mbit; dualpi2 limit 10000p target 15ms",
        "dropped": 3,
        "marked": 7,
        "sojourn_ms": {"p50": 0.5, "p99": 12.0},
        "utilisation": 0.995,
        **keys,
    }


def write(path: Path, flows: list[Any], queues: list[Any] | None = None, **keys: Any) -> Path:
    path.mkdir(parents=True)
    summary = {"duration_s": 60.0, "measure": {"from_s": 20.0, "to_s": 60.0}, "flows": flows, **keys}
    (path / "manifest.json").write_text(json.dumps({"id": path.name, "complete": True, "seed": 1}))
    (path / "summary.json").write_text(json.dumps(summary))
    (path / "queue.json").write_text(json.dumps([queue("bneck")] if queues is None else queues))
    return path


def shown(capsys: Output, *arguments: str) -> list[str]:
    assert call(["show", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def row(lines: list[str], name: str) -> list[str]:
    return next(line.removeprefix(name).split() for line in lines if line.startswith(f"{name} "))


def test_a_flow_has_goodput_delay_marks_and_retransmits_and_a_queue_its_sojourn(
    core: FakeCore, tmp_path: Path, capsys: Output
) -> None:
    ping = {"name": "ping", "rtt_ms": {"p50": 21.0, "p99": 22.0}, "totals": {"sent": 301, "received": 300}}
    write(tmp_path / "r", [flow("a"), flow("b", "cubic")], pings=[ping])
    lines = shown(capsys, "r")
    assert row(lines, "a") == ["prague", "10.0", "RTT", "20.0", "30.0", "5", "2"]
    assert row(lines, "sum") == ["20.0"]
    assert row(lines, "ping") == ["ping", "-", "RTT", "21.0", "22.0", "-", "300", "of", "301", "back"]
    assert row(lines, "bneck") == ["dualpi2", "0.500", "12.0", "3", "7", "99.5", "%"]
    assert lines[-2].startswith("next: sojourn plot r")


def test_a_hundred_flows_fit_80_columns_and_24_lines(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    flows = [flow(f"{kind}-{n}", kind) for kind in ("prague", "cubic") for n in range(1, 51)]
    write(tmp_path / "r", flows)
    lines = shown(capsys, "r")
    assert len(lines) <= 22
    assert row(lines, "prague-* (50)") == ["prague", "500", "RTT", "20.0", "30.0", "250", "100"]


def test_a_hundred_different_flows_and_queues_fit_as_well(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    names = [f"{'x' * 50}{chr(97 + n % 26)}{'y' * n}" for n in range(100)]
    write(tmp_path / "r", [flow(name) for name in names], [queue(name) for name in names])
    (tmp_path / "r" / "scenario.toml").write_text(f'description = "{"long " * 100}"')
    lines = shown(capsys, "r")
    assert len(lines) <= 22
    assert sum("more" in line for line in lines) == 2


def test_pings_are_one_line_before_flows_are_left_out(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    pings = [
        {"name": f"icmp{n}", "rtt_ms": {"p50": 20.0 + n, "p99": 40.0}, "totals": {"sent": 9, "received": 8}}
        for n in range(4)
    ]
    write(tmp_path / "r", [flow(f"f{chr(97 + n)}") for n in range(9)], pings=pings)
    lines = shown(capsys, "r")
    assert row(lines, "pings (4)")[3:5] == ["21.5", "40.0"]
    assert not any("more" in line for line in lines)
    assert len(lines) <= 22


def test_rrul_with_a_note_fits_and_no_flow_is_left_out(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    flows = [flow(f"rrul-{way}-{kind}") for way in ("up", "down") for kind in ("be", "bk", "cs5", "ef")]
    flows[0]["sender"]["ce_reported"] = 3170
    pings = [{"name": f"rrul-{kind}", "rtt_ms": {"p50": 20.0, "p99": 40.0}} for kind in ("icmp", "be", "bk", "ef")]
    write(tmp_path / "r", flows, [queue("access"), queue("access.reverse")], pings=pings)
    lines = shown(capsys, "r")
    assert len(lines) == 22
    assert {"pings", "rrul-down-ef", "access.reverse", "sum"} <= {line.split()[0] for line in lines if line}


def test_what_a_flow_measures_is_named(core: FakeCore, tmp_path: Path) -> None:
    def of(**keys: Any) -> tuple[str, float | None, float | None]:
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        read = Glance.of(Run(write(path, [{"name": "a", **keys}]))).flows[0]
        return read.delay, read.p50_ms, read.lost

    delay = {"p50": 7.0, "p99": 9.0}
    udp = {"loss": 0.25, "delay_ms": delay}
    assert of(one_way=udp, rtt_ms=None) == ("one-way", 7.0, 0.25)
    assert of(media={"frames": {"delay_ms": delay}}, one_way=udp, rtt_ms={"p50": 1.0}) == ("frame", 7.0, 0.25)
    assert of(completions={"fct_ms": delay}, rtt_ms={"p50": 1.0}) == ("transfer", 7.0, None)
    assert of(rtt_ms={"p50": "7"}, goodput_mbps=[]) == ("", None, None)


def test_marks_are_what_the_receiver_got_and_another_belief_of_the_sender_is_a_note(
    core: FakeCore, tmp_path: Path, capsys: Output
) -> None:
    believes = flow("a", sender={"retransmits": 0, "ce_reported": 3170}, receiver={"ce_received": 50})
    write(tmp_path / "r", [believes, flow("b")])
    lines = shown(capsys, "r")
    assert row(lines, "a")[5] == "50"
    assert "a: the sender counted 3170 marks (ce_reported), the receiver got 50" in lines
    assert sum("counted" in line for line in lines) == 1


def test_a_queue_where_nothing_waits_has_no_line(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    idle = {"dropped": 0, "marked": 0}
    queues = [
        queue("bneck.ingress0", **idle),
        queue("bneck"),
        queue("bneck.reverse", **idle, sojourn_ms={"p50": 0.0, "p99": 0.0}),
    ]
    write(tmp_path / "r", [flow("a")], queues)
    assert [line.split()[0] for line in shown(capsys, "r") if line.startswith("bneck")] == ["bneck"]


def test_several_runs_are_a_line_each_and_bounded(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    for n in range(100):
        path = write(tmp_path / "set" / f"r{n:03}", [flow("a"), flow("b", goodput_mbps=n)])
        manifest = {"id": f"suite/part/{'long-' * 20}/r{n:03}", "complete": n != 1}
        (path / "manifest.json").write_text(json.dumps(manifest))
    lines = shown(capsys, "set")
    assert len(lines) <= 22
    assert row(lines, "r000") == ["10.0", "99.5", "%", "20.0", "30.0", "12.0", "10", "4"]
    assert any(line.startswith("r001 (partial)") for line in lines)
    assert any("more" in line for line in lines)
    assert call(["show", "set", "--full"]) == 0
    assert "r099" in capsys.readouterr().out


def test_texts_of_a_results_folder_cannot_move_the_cursor(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    evil = "a\x1b[2J\r\u202e"
    path = write(tmp_path / "r", [flow(evil)], [queue(evil, qdisc=f"{evil} x")], **{evil: evil})
    (path / "scenario.toml").write_text('description = "\\u001b[31m"\nname = "\x1b"')
    for arguments in (["show", "r"], ["show", "r", "--full"], ["show", str(tmp_path)]):
        assert call(arguments) == 0
        assert not set("\x1b\r\u202e") & set(capsys.readouterr().out)


def test_a_malformed_summary_is_a_table_without_numbers(core: FakeCore, tmp_path: Path, capsys: Output) -> None:
    queues = [{"name": "q", "qdisc": None}, {"name": "r", "dropped": True, "utilisation": "full"}]
    write(tmp_path / "r", [{"name": "a", "cc": 3, "rtt_ms": [1], "sender": 0}], queues, pings={"p": 1}, measure=[])
    assert row(shown(capsys, "r"), "a")[:2] == ["3", "-"]


def test_figures_have_three_digits() -> None:
    values = (None, 0.0, 0.2241, 9.996, 47.82, 99.96, 1234.5)
    assert [figure(value) for value in values] == ["-", "0", "0.224", "10.0", "47.8", "100", "1234"]
    assert shortened("abcdefghij", 7) == "ab...ij"


def test_a_cell_of_the_scream_tables_stands_beside_its_expected_fair_share(
    core: FakeCore, tmp_path: Path, capsys: Output
) -> None:
    for number in (0, 3):
        run_id = f"scream-2024-10-28/test1/mb0.5ms/25ms/{number}-tcp"
        path = write(tmp_path / "r" / run_id, [flow("scream", "scream", goodput_mbps=34.0), flow("reno-1", "reno")])
        (path / "manifest.json").write_text(json.dumps({"id": run_id, "complete": True, "seed": 1}))
    lines = shown(capsys, "r")
    assert "SCReAM  fair share" in "\n".join(lines)
    assert row(lines, "0-tcp")[:3] == ["44.0", "35.0", "100"]
    assert row(lines, "3-tcp")[:3] == ["44.0", "35.0", "25"]
    lines = shown(capsys, f"r/{run_id}")
    assert "SCReAM: 35.0 IP Mbit/s; the test activity expected a fair share of 25" in lines
