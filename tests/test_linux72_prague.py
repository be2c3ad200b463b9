"""The suite linux72-prague: its cases, what the kernel measured in them, and that the simulator agrees with it."""

from __future__ import annotations

import json
import os
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import compare, fidelity, linux_runs, reference
from sojourn.fidelity.linux72 import PRAGUE_SOURCE
from sojourn.running import run
from sojourn.suites import linux72_prague

if TYPE_CHECKING:
    from sojourn.metrics import Source

CASES = {case.id: case for case in linux72_prague.cases()}
GRID = Path(os.environ.get("SOJOURN_REFERENCE", "../shared/reference")) / "linux-7.2-prague" / "grid.json"
#: Runs that hang on one mechanism each, with the greatest error of goodput in % of the link: payload beside the
#: AccECN option, the end of slow start, and a rate at small windows.
TELLING = {
    "dualpi2/50Mbit/20ms/prague": 0.3,
    "dualpi2/200Mbit/20ms/prague": 1.5,
    "dualpi2/10Mbit/20ms/cubic-vs-prague": 1.0,
}
#: Judged by its row alone: microseconds of delay decide where its slow start ends (docs/results/linux72-prague.md).
#: Our TCP's part in that is compared with a kernel: `paced_slow_start_ends_where_linux_ends_it` in crates/sim.
DELICATE = "dualpi2/200Mbit/80ms/prague"


def test_every_case_is_there_once_and_was_measured_three_times() -> None:
    assert len(CASES) == 22
    assert set(CASES) == {name for name in reference.shipped() if name.startswith("linux72-prague/")}
    for run_id, case in CASES.items():
        flows = reference.shipped()[run_id].summary.flows
        assert case.toml.count("[[flow]]") == len(flows)
        for flow in flows:
            runs = linux_runs.again(run_id)[flow.name]
            assert flow.goodput_mbps == sorted(runs["goodput_mbps"])[1]
            assert flow.tcp_rtt_ms is not None
            assert flow.tcp_rtt_ms.mean == sorted(runs["rtt_ms"])[1]


def test_shipped_data_are_small_and_named_with_their_source() -> None:
    folder = resources.files("sojourn").joinpath("data/linux72-prague")
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 20_000
    assert "893e1479" in reference.sources(CASES)


@pytest.mark.skipif(not GRID.is_file(), reason=f"no measured grid in {GRID} (SOJOURN_REFERENCE)")
def test_shipped_summaries_are_those_of_the_grid() -> None:
    suite, made = reference.make_grid(GRID)
    assert suite == linux72_prague.SUITE
    assert made == resources.files("sojourn").joinpath("data", suite, reference.FILE).read_bytes()


def test_a_grid_of_other_cases_is_refused(tmp_path: Path) -> None:
    grid = tmp_path / "grid.json"
    grid.write_text(json.dumps([{"case": "unknown"}]))
    with pytest.raises(
        ValueError, match="expected the cases of one of dualpi2-overload, ect1, l4s-tests, linux72, linux72-prague"
    ):
        reference.make_grid(grid)


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Source]:
    targets = [f"^linux72-prague/{name}$" for name in (*TELLING, DELICATE)]
    return dict(run(targets, out=tmp_path_factory.mktemp("linux72-prague")).runs)


def test_prague_does_what_its_module_does(telling: dict[str, Source]) -> None:
    for name, most in TELLING.items():
        run_id = f"linux72-prague/{name}"
        pair = compare.pair_up(run_id, telling[run_id], reference.shipped()[run_id])
        assert pair is not None
        assert max(pair.rate_error_percent()) < most, run_id


def test_rows_are_judged_by_the_spread_of_the_kernel_s_runs(telling: dict[str, Source]) -> None:
    judged = {result.row.key: result for result in fidelity.judge(fidelity.select(["K5,K6,K7"]), telling)}
    assert len(judged) == 3 + 2 * 36
    assert judged["K5/median"].verdict == "not-run"
    done = [result for result in judged.values() if result.verdict != "not-run"]
    assert len(done) == 2 * 5
    assert all(result.verdict == "pass" for result in done)
    row = judged["K6/pfifo50-80ms-cubic-vs-prague-cubic"].row
    assert row.source == PRAGUE_SOURCE
    assert row.tolerance is not None
    low, high = (float(edge) for edge in re.findall(r"[\d.]+", row.tolerance.text))
    assert (low, high) == (23.04, 31.57), "24.54 to 30.07 Mbit/s, and 3 % of the link"
