"""The suite linux72: its cases, what the kernel measured in them, and that the simulator agrees with it."""

from __future__ import annotations

import json
import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import _core, compare, fidelity, linux_runs, reference
from sojourn.engines.linux import Kernel, Linux
from sojourn.fidelity import row
from sojourn.running import run
from sojourn.scenario import Scenario
from sojourn.suites import linux72

if TYPE_CHECKING:
    from sojourn.metrics import Source

CASES = {case.id: case for case in linux72.cases()}
GRID = Path(os.environ.get("SOJOURN_REFERENCE", "../shared/reference")) / "linux-7.2" / "grid.json"
#: Cases without dice, in which one run says what all say.
QUIET = ("codel1q/50Mbit/20ms/cubic", "codel1q/50Mbit/80ms/reno", "dualpi2any/50Mbit/20ms/dctcp")


def test_every_case_is_there_once_and_was_measured() -> None:
    assert len(CASES) == 30
    assert set(CASES) == set(linux_runs.shipped())
    assert set(CASES) == {name for name in reference.shipped() if name.startswith("linux72/")}
    for run_id, case in CASES.items():
        summary = reference.shipped()[run_id].summary
        assert summary.window_s == pytest.approx(linux72.window(run_id))
        assert [flow.name for flow in summary.flows] == list(linux_runs.shipped()[run_id])
        assert case.toml.count("[[flow]]") == len(summary.flows)


def test_a_mainline_kernel_can_run_every_case() -> None:
    answer = Path(__file__).parent.parent / "crates/linux/src/check/linux72.json"
    mainline = Linux(Kernel((), "none"), _core.Capabilities(answer.read_text()))
    for case in CASES.values():
        mainline.check(Scenario(case.toml).resolve())


@pytest.mark.parametrize(
    ("run_id", "apart_s"),
    [
        ("linux72/codel1q/50Mbit/80ms/cubic-vs-reno", 9.921),
        ("linux72/codel1q/50Mbit/20ms/cubic-vs-reno", 9.986),
        ("linux72/pfifo250/50Mbit/20ms/cubic-vs-bbr", 10.271),
    ],
)
def test_flows_start_as_far_apart_as_those_of_the_rig(tmp_path: Path, run_id: str, apart_s: float) -> None:
    """First full segments at the receiver in captures of the rig: ARP's answer delays the first flow alone."""
    brief = {"duration": "10.5s", "step": "1ms", "measure.from": "10s", "measure.to": "10.5s"}
    source = run(f"^{run_id}$", brief, out=tmp_path).runs[run_id]
    firsts = []
    for flow in reference.shipped()[run_id].summary.flows:
        t, received = source.series(f"flow.{flow.name}.goodput_bytes")
        firsts.append(float(t[received > 0][0]))
    assert firsts[1] - firsts[0] == pytest.approx(apart_s, abs=0.012)


def test_shipped_data_are_small() -> None:
    folder = resources.files("sojourn").joinpath("data/linux72")
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 50_000


@pytest.mark.skipif(not GRID.is_file(), reason=f"no measured grid in {GRID} (SOJOURN_REFERENCE)")
def test_shipped_summaries_are_those_of_the_grid() -> None:
    measured = {case["case"]: case for case in json.loads(GRID.read_text())}
    assert set(measured) == {case.reference for case in CASES.values()}
    for run_id, case in CASES.items():
        flows = measured[str(case.reference)]["flows"]
        for ours, theirs in zip(reference.shipped()[run_id].summary.flows, flows, strict=True):
            assert ours.goodput_mbps == theirs["goodput_window_mbps"]
            assert ours.tcp_rtt_ms is not None
            assert ours.tcp_rtt_ms.mean == theirs["tcp_rtt_ms"]["mean"]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Source]:
    targets = [f"^linux72/{name}$" for name in QUIET]
    return dict(run(targets, out=tmp_path_factory.mktemp("linux72")).runs)


def test_without_dice_the_simulator_does_what_the_kernel_does(quiet: dict[str, Source]) -> None:
    for run_id, source in quiet.items():
        pair = compare.pair_up(run_id, source, reference.shipped()[run_id])
        assert pair is not None
        (error,) = pair.rate_error_percent()
        assert error < 1.5, run_id
        assert pair.rtt_ms.diff == pytest.approx(0, abs=0.15), run_id
        assert pair.flows[0].tcp_rtt_ms["p99"].b is None
        json.dumps(pair.document(), allow_nan=False)


def test_cwnd_of_the_first_ten_seconds_is_the_kernels(quiet: dict[str, Source]) -> None:
    run_id = f"linux72/{QUIET[1]}"
    t, theirs = linux_runs.cwnd(run_id)
    at, ours = quiet[run_id].series("flow.reno.cwnd")
    late = (at > 2) & (at < 9.9)
    held = theirs[t.searchsorted(at[late], side="right") - 1]
    assert abs(ours[late] - held).max() < 8
    assert abs(theirs.max() - ours[at < 2].max()) < 0.05 * theirs.max()


def test_rows_need_all_runs_for_the_median_and_one_for_each_flow(quiet: dict[str, Source]) -> None:
    judged = {result.row.key: result for result in fidelity.judge(fidelity.select(["K1,K2,K3"]), quiet)}
    assert judged["K1/goodput"].verdict == "not-run"
    assert judged["K2/codel1q-20ms-cubic"].verdict == "pass"
    assert judged["K3/codel1q-20ms-cubic"].verdict == "pass"
    assert sum(result.verdict != "not-run" for result in judged.values()) == 2 * len(QUIET)
    assert len(judged) == 2 + 2 * 38


def test_retransmits_are_judged_where_the_kernel_has_thirty() -> None:
    judged = {judge.key.removeprefix("K4/"): judge for judge in fidelity.select(["K4"])}
    assert set(judged) == {
        "pfifo250-80ms-cubic",
        "pfifo250-80ms-bbr",
        "piedrop-20ms-reno",
        "piedrop-80ms-reno",
        *(f"pfifo250-{rtt}ms-cubic-vs-bbr-{cc}" for rtt in (20, 80) for cc in ("cubic", "bbr")),
    }
    # Within a tenth of the grid's run; where the kernel's own runs span more, within these.
    assert judged["pfifo250-80ms-bbr"].expected == 816
    assert judged["pfifo250-80ms-bbr"].tolerance == row.between(734.4, 897.6)
    runs = linux_runs.shipped()["linux72/piedrop/50Mbit/80ms/reno"]["reno"]["retransmits"]
    assert (min(runs), max(runs)) == (1424, 1891)
    assert judged["piedrop-80ms-reno"].tolerance == row.between(1424, 1891)


def test_marks_and_drops_are_judged_where_the_kernel_has_thirty() -> None:
    rows = {judge.key.removeprefix("K8/"): judge for judge in fidelity.select(["K8"])}
    assert len(rows) == 14
    assert rows["dualpi2any-20ms-dctcp-marks"].expected == 6334
    # tc names them apart: `ecn_mark` of fq_codel, `ecn-mark` of dualpi2, `marked` of red, and cake counts by tin.
    assert rows["codel1q-20ms-cubic-vs-reno-marks"].expected == 88
    assert rows["red400k-80ms-cubic-marks"].expected == 144
    assert reference.shipped()["linux72/cake1q/50Mbit/20ms/cubic"].queue == {"marks": 22, "drops": 0}
    assert rows["pfifo250-80ms-cubic-vs-bbr-drops"].expected == 330 + 1063
    # The kernel's further runs have 553 to 602 of the grid's 769.
    assert linux_runs.queue("linux72/dualpi2any/50Mbit/80ms/dctcp")["marks"] == [553, 563, 602]
    assert rows["dualpi2any-80ms-dctcp-marks"].tolerance == row.between(553, 845.9)


def test_the_median_error_is_that_of_the_sources() -> None:
    shipped = {name: source for name, source in reference.shipped().items() if name in CASES}
    judged = {result.row.key: result for result in fidelity.judge(fidelity.select(["K1"]), shipped)}
    # The grid's own second-by-second samples differ from its means by their rounding only.
    assert judged["K1/rtt"].ours == pytest.approx(0, abs=0.5)
    assert judged["K1/goodput"].verdict == "not-run", "the grid has no byte counter"
