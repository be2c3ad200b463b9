"""The SCReAM suites: their cells are those of the published tables, and what their rows measure."""

from __future__ import annotations

import itertools
import tomllib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sojourn import fidelity, suites
from sojourn.fidelity import scream as rows
from sojourn.report import markdown, tables
from sojourn.running import run
from sojourn.scenario import Scenario
from sojourn.suites import _scream as scream
from sojourn.suites import scream_2024_10_28, scream_2024_10_31, scream_published
from synthetic import Made

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.metrics import Source

OCTOBER = (scream_2024_10_28, scream_2024_10_31)
CASES = {case.id: case for name in suites.NAMES if name.startswith("scream-") for case in suites.suite(name)}


def steady(run_id: str, mbps: float, length_s: float = 150) -> Made:
    """A run whose SCReAM flow delivers IP packets of 1400 bytes at this rate."""
    t = np.arange(0, length_s, 0.05)
    return Made(run_id, {"flow.scream.goodput_bytes": (t, t * mbps * 1e6 / 8 * 1360 / 1400)})


def published(module: object) -> dict[str, int]:
    """What each run's cell says."""
    return {
        table.run_id(module.NAME, label, flows): mbps  # type: ignore[attr-defined]
        for table in module.TABLES  # type: ignore[attr-defined]
        for label, row in table.published.items()
        for flows, mbps in enumerate(row)
    }


def one(key: str, *runs: Source) -> fidelity.Result:
    found = [row for row in fidelity.ROWS if row.key == key]
    assert len(found) == 1
    return fidelity.judge(found, {run.id: run for run in runs})[0]


# KAT published 1: corners of the five tables, and how many cells they have
def test_the_tables_are_the_published_ones() -> None:
    sums = [[sum(row) for row in table.published.values()] for module in OCTOBER for table in module.TABLES]
    assert sums == [
        [240, 253, 236, 156],
        [217, 227, 253, 203],
        [193, 201, 211, 197],
        [220, 226, 253, 244, 200],
        [191, 200, 219, 203, 197],
    ]
    assert scream.OCTOBER_28[0].published["2ms"] == (41, 31, 29, 29, 26)
    assert scream.OCTOBER_28[2].published["25ms"] == (64, 53, 40, 32, 22)
    assert scream.OCTOBER_31[0].published["50ms"] == (76, 60, 43, 35, 30)
    assert [len(published(module)) for module in OCTOBER] == [60, 50]


@pytest.mark.parametrize("module", OCTOBER)
def test_each_cell_is_a_run_and_a_row_unless_its_run_is_judged_already(module: object) -> None:
    cells = published(module)
    by_id = {case.id: case for case in suites.suite(module.NAME)}  # type: ignore[attr-defined]
    assert list(cells) == list(by_id)

    def content(run_id: str) -> dict[str, object]:
        return {key: value for key, value in tomllib.loads(by_id[run_id].toml).items() if key != "name"}

    again = [run_id for run_id in cells if run_id.startswith("scream-2024-10-28/test2/25ms/")]
    for run_id in again:
        first = run_id.replace("test2/25ms", "test1/mb0.5ms/25ms")
        assert content(run_id) == content(first)
        assert cells.pop(run_id) == cells[first]
    contents = [str(content(run_id)) for run_id in cells]
    assert len(set(contents)) == len(contents)
    of_cells = [row for row in fidelity.ROWS if row.id in set(rows.IDS.values()) and row.run in cells]
    judged = {row.run: row for row in of_cells if row.variant is None}
    assert {run_id: row.expected for run_id, row in judged.items()} == cells
    varied = {row.run: row.expected for row in of_cells if row.variant == scream.ACCECN}
    assert varied == {run_id: mbps for run_id, mbps in cells.items() if not run_id.endswith("/0-tcp")}
    assert len(of_cells) == len(judged) + len(varied)
    for row in of_cells:
        assert row.tolerance is not None
        assert row.tolerance.text == ("±6 %" if row.run.endswith("/0-tcp") else "T2 ±15 %")


def test_the_set_up_is_that_of_the_report() -> None:
    document = tomllib.loads(CASES["scream-2024-10-28/test3/50ms/2-tcp"].toml)
    ethernet, bneck = document["link"]
    assert (ethernet["rate"], bneck["rate"], bneck["shaper"]) == ("1Gbit", "100Mbit", "htb")
    assert bneck["qdisc"].split()[0] == "dualpi2"
    # All of the RTT is on the way back.
    assert bneck["reverse"]["ingress"] == ["netem delay 50ms limit 1000000"]
    assert not bneck.get("ingress")
    media, *prague = document["flow"]
    assert "2024-10-28" in media["cc"]
    assert [flow["start"] for flow in prague] == ["22s", "42s"]
    assert document["measure"] == {"from": "62s", "to": "102s"}
    assert [scream.window(flows) for flows in (0, 1, 4)] == [(5, 60), (42, 82), (102, 142)]


def test_variants_differ_in_the_load_only_and_flows_are_called_what_they_are() -> None:
    name = "scream-2024-10-31/test2/5ms/{}-tcp"
    reno = CASES[name.format(4)].toml
    assert reno.count('tcp = { ecn = "rfc3168" }\n') == reno.count('cc = "prague"') == reno.count('"reno-') == 4

    def varied(variant: str, flows: int) -> str:
        return {case.id: case for case in suites.suite("scream-2024-10-31", variant)}[name.format(flows)].toml

    assert varied(scream.ACCECN, 0) == varied(scream.CUBIC, 0) == CASES[name.format(0)].toml
    prague = reno.replace('tcp = { ecn = "rfc3168" }\n', "").replace('"reno-', '"prague-')
    assert varied(scream.ACCECN, 4) == prague.replace(" of reno ", " of prague ")
    cubic = reno.replace('"rfc3168"', '"off"').replace('"prague"', '"cubic"').replace('"reno-', '"cubic-')
    assert varied(scream.CUBIC, 4) == cubic.replace(" of reno ", " of cubic ")


def test_the_tests_differ_in_what_they_test() -> None:
    media = {name: str(tomllib.loads(case.toml)["flow"][0]) for name, case in CASES.items()}
    first = "scream-2024-10-28/test1/mb{}/25ms/0-tcp"
    assert len({media[first.format(x)] for x in ("0.25ms", "0.5ms", "1ms", "2ms")}) == 4
    same = ("scream-2024-10-28/test2/5ms/0-tcp", "scream-2024-10-28/test2/50ms/4-tcp", first.format("0.5ms"))
    assert len({media[name] for name in same}) == 1
    assert media["scream-2024-10-28/test3/5ms/0-tcp"] != media[same[0]]
    assert media["scream-2024-10-31/test2/5ms/0-tcp"] != media[same[0]]


@pytest.mark.engine
def test_every_run_is_a_valid_scenario() -> None:
    assert len(CASES) == 60 + 50 + 2 + len(scream_published.MARKING) + len(scream_published.HEADROOMS) + 1 + len(
        scream_published.DOCSIS
    )
    for case in CASES.values():
        assert not Scenario(case.toml).resolve().warnings


def test_rates_are_of_ip_packets() -> None:
    run_id = "scream-2024-10-28/test1/mb0.5ms/25ms/1-tcp"
    assert one("S1/0.5ms/1", steady(run_id, 60)).ours == pytest.approx(60)
    alone = "scream-2024-10-28/test1/mb0.5ms/25ms/0-tcp"
    assert one("S1/0.5ms/0", steady(alone, 70.6)).verdict == "pass"
    assert one("S1/0.5ms/0", steady(alone, 70.4)).verdict == "fail"
    # The model's are of RTP packets.
    assert one("S8/10-28-test1-0.5ms", steady(alone, 71.8 * 1400 / 1372)).ours == pytest.approx(71.8)


# The 50 ms that a scenario samples at are two to a tenth of a second.
def test_reached_delay_is_the_greater_of_two_samples_above_the_least() -> None:
    t = np.arange(0, 120, 0.05)
    series = {
        "flow.scream.one_way_max": (t, np.tile([0.3, 0.7], t.size // 2)),
        "flow.scream.one_way": (t, np.full(t.size, 0.1)),
    }
    result = one("S9/step", Made("scream-2024-10-31/test2/25ms/4-tcp", series))
    assert result.ours == pytest.approx(0.6)
    assert result.verdict == "fail"


def test_a_tenth_of_a_second_is_marked_by_one_packet() -> None:
    t = np.arange(0, 120, 0.05)
    series = {"flow.scream.ce_received": (t, np.floor(t / 0.2 + 1e-6))}
    result = one("S9/marked", Made("scream-2024-10-31/test2/25ms/4-tcp", series))
    assert result.ours == pytest.approx(50, abs=1)
    assert result.verdict == "fail"


def test_the_error_is_of_all_cells_or_not_told() -> None:
    runs = [steady(run, mbps + off) for (run, mbps), off in zip(
        published(scream_2024_10_28).items(), itertools.cycle((6, -3)), strict=False)]  # fmt: skip
    result = one("S4", *runs)
    assert result.ours == pytest.approx(4.5)
    assert result.verdict == "pass"
    assert one("S4", *runs[:-1]).verdict == "not-run"
    assert one("S4", *(steady(run.id, 80) for run in runs)).verdict == "fail"


def test_tables_are_printed_as_published() -> None:
    runs: dict[str, Source] = {
        run: steady(run, mbps + 1) for run, mbps in published(scream_2024_10_28).items() if not run.endswith("4-tcp")
    }
    judged = fidelity.judge(fidelity.ROWS, runs)
    first, second, third = rows.grids(judged)
    assert first.columns == ("microburst", "0 TCP", "1 TCP", "2 TCP", "3 TCP", "4 TCP")
    assert first.lines[0] == ("expected fair share", "100", "50", "33", "25", "20")
    assert first.lines[4] == ("2ms", "42 / 41 / +1", "32 / 31 / +1", "30 / 29 / +1", "30 / 29 / +1", "- / 26 / -")
    assert second.heading.startswith("Test 2, 2024-10-28")
    assert [line[0] for line in third.lines[1:]] == ["5ms", "10ms", "25ms", "50ms"]
    # The row that both tables have is judged once and printed in both.
    assert second.lines[3][1:] == first.lines[2][1:]
    text = markdown.table(tables.grid(second)).splitlines()
    assert text[0] == "| RTT | 0 TCP | 1 TCP | 2 TCP | 3 TCP | 4 TCP |"
    assert "| 5ms | 81 / 80 / +1 | 56 / 55 / +1 | 36 / 35 / +1 | 26 / 25 / +1 | - / 22 / - |" in text
    assert rows.grids(fidelity.judge(fidelity.ROWS, {})) == []


def test_the_summary_s_claims_hold_for_what_was_published() -> None:
    runs = [steady(run, mbps) for run, mbps in published(scream_2024_10_28).items()]
    for key, ours in (("S14/least", 0.90), ("S14/rtt", 1.60), ("S15/alone", 80), ("S16/fixed", 1.184),
                      ("S16/varying", 0.896), ("S17/0.5ms", 1.054), ("S17/2ms", 0.617)):  # fmt: skip
        result = one(key, *runs)
        assert result.ours == pytest.approx(ours, rel=0.002), key
        assert result.verdict == "pass", key
        assert one(key, runs[0]).verdict == "not-run"
    # Each would fail: alone all of the link, the best interval twice as good, one flow starved at one RTT.
    for key, changed in (
        ("S15/alone", {"test2/5ms/0-tcp": 99.0}),
        ("S17/0.5ms", {f"test1/mb1ms/25ms/{n}-tcp": 70.0 for n in range(5)}),
        ("S14/least", {"test3/50ms/4-tcp": 5.0}),
        ("S14/rtt", {"test2/50ms/4-tcp": 5.0}),
    ):
        other = [steady(run.id, changed.get(run.id.removeprefix("scream-2024-10-28/"), 40.0)) for run in runs]
        assert one(key, *other).verdict == "fail", key


def test_fair_shares_are_those_of_the_cell() -> None:
    assert scream.fair_mbps("scream-2024-10-28/test2/5ms/3-tcp~accecn@seed2") == 25
    assert scream.fair_mbps("scream-2024-10-31/test3/100ms/0-tcp") == 100
    assert scream.fair_mbps("scream-published/headroom/3/25ms") is None
    assert scream.fair_mbps("mine/3-tcp") is None


def test_both_answers_on_the_loads_queue_are_in_one_line() -> None:
    cells = published(scream_2024_10_28)
    runs: dict[str, Source] = {run: steady(run, mbps + 1) for run, mbps in cells.items()}
    runs |= {f"{run}~accecn": steady(run, mbps / 2) for run, mbps in cells.items()}
    line = rows.hypotheses(fidelity.judge(fidelity.ROWS, runs))
    assert line is not None
    classic, l4s = line.split("; ")
    assert "no AccECN, so Reno in the classic queue: 44 of 44 cells within 15 % (mean error 1.0 Mbit/s)" in classic
    assert l4s.startswith("AccECN, so Prague in the L4S queue: 0 of 44 cells within 15 % (mean error 2")
    assert rows.hypotheses([]) is None


def test_the_screenshot_is_smoothed_as_the_tool_does() -> None:
    run_id = "scream-published/start/10ms"
    # A step to a constant rate is seen whole, because the first sample begins the average.
    assert one("S12/2s", steady(run_id, 100 * 1400 / 1372, 30)).ours == pytest.approx(100, rel=1e-3)
    t = np.arange(0, 30, 0.05)
    late = Made(run_id, {"flow.scream.goodput_bytes": (t, np.clip(t - 1, 0, None) * 100e6 / 8 * 1360 / 1372)})
    assert one("S12/2s", late).ours == pytest.approx(100 * (1 - 0.98**20), rel=0.02)


def test_prague_beside_scream_is_a_mean() -> None:
    run_id = "scream-published/docsis/down-2/100Mbit/12ms"
    t = np.arange(0, 90, 0.05)
    flows = {f"flow.prague-{n}.goodput_bytes": (t, t * n * 10e6 / 8) for n in (1, 2)}
    assert one("S13/down-2-prague", Made(run_id, flows)).ours == pytest.approx(15, rel=2e-3)


@pytest.mark.engine
def test_simulated_cells_alone_are_the_published_ones(tmp_path: Path) -> None:
    ids = ["scream-2024-10-28/test1/mb1ms/25ms/0-tcp", "scream-2024-10-28/test3/5ms/0-tcp"]
    runs = run([f"^{run_id}$" for run_id in ids], out=tmp_path).runs
    judged = fidelity.judge(fidelity.select(["S1/1ms/0", "S3/5ms/0", "S8/10-28-test3-5ms"]), runs)
    assert [(result.row.key, result.verdict) for result in judged] == [
        ("S1/1ms/0", "pass"),
        ("S3/5ms/0", "pass"),
        ("S8/10-28-test3-5ms", "pass"),
    ]
