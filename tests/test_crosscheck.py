"""Drawn cases, the fixed tolerances, tables of disagreement, and a small campaign on a real kernel."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from sojourn import _core, engines
from sojourn.cli import call
from sojourn.crosscheck import campaign, quantities, records, replay, table, verdict
from sojourn.crosscheck.quantities import Kind, Value
from sojourn.crosscheck.shrink import shrink
from sojourn.execution import execute
from sojourn.jobs import Job
from sojourn.results import ResultsError, Run
from sojourn.scenario import Scenario
from sojourn.shrink import plain

if TYPE_CHECKING:
    from sojourn.engines.linux import Kernel


SLOW_START = """
name = "slow-start"
duration = "500ms"
step = "10ms"
[[link]]
name = "bneck"
rate = "1Gbit"
delay = "50ms"
qdisc = "pfifo"
[[flow]]
name = "f0"
cc = "reno"
"""


def value(kind: Kind, number: float, events: int = 1000) -> Value:
    return Value("f0", "some quantity", kind, number, events)


def agrees(kind: Kind, ours: float, *kernel: float) -> bool:
    [found] = verdict.judge("case", [value(kind, ours)], [[value(kind, number)] for number in kernel], 100.0)
    return found.agrees


@pytest.mark.parametrize(
    ("kind", "kernel", "inside", "outside"),
    [
        # 2 % of the bottleneck's 100 Mbit/s, whatever the flow has of them.
        (Kind.GOODPUT, 10.0, 11.9, 12.1),
        # 3 %, and 0.3 ms where that is more.
        (Kind.DELAY, 100.0, 102.9, 103.1),
        (Kind.DELAY, 1.0, 1.29, 1.31),
        # 8 % and 1 ms.
        (Kind.TAIL, 100.0, 92.1, 91.9),
        # 10 %, and three standard deviations of a Poisson count: 3 sqrt(109) = 31.3, 3 sqrt(1000) = 94.9.
        (Kind.COUNT, 100.0, 131.0, 140.0),
        (Kind.COUNT, 1000.0, 1100.0, 1101.0),
        (Kind.ACKS, 0.5, 0.514, 0.516),
    ],
)
def test_tolerances_are_those_of_the_guide(kind: Kind, kernel: float, inside: float, outside: float) -> None:
    assert agrees(kind, inside, kernel)
    assert not agrees(kind, outside, kernel)


def test_the_kernels_own_spread_widens_a_tolerance() -> None:
    assert not agrees(Kind.DELAY, 110.0, 100.0)
    # Against the mean, 104, by the range, 11.
    assert agrees(Kind.DELAY, 114.9, 100.0, 111.0, 101.0)
    assert not agrees(Kind.DELAY, 115.1, 100.0, 111.0, 101.0)
    # Of goodput three standard deviations over seeds: 1 of 9, 10, 11.
    assert agrees(Kind.GOODPUT, 12.9, 10.0, 9.0, 11.0)
    assert not agrees(Kind.GOODPUT, 13.1, 10.0, 9.0, 11.0)


def test_a_kernel_is_judged_by_its_own_other_runs() -> None:
    runs = [[value(Kind.DELAY, number)] for number in (100.0, 130.0, 111.0, 101.0)]
    found = [(one.ours, one.kernel, one.agrees) for one in verdict.itself("case", runs, 100.0)]
    # 104 within 11, 331/3 within 30, 341/3 within 30.
    assert [ours for ours, _, _ in found] == [130.0, 111.0, 101.0]
    assert [round(kernel, 3) for _, kernel, _ in found] == [104.0, 110.333, 113.667]
    assert [agrees for _, _, agrees in found] == [False, True, True]


def test_our_further_runs_are_judged_as_the_kernels_own_are() -> None:
    kernel = [[value(Kind.DELAY, number)] for number in (100.0, 130.0, 111.0, 101.0)]
    ours = [[value(Kind.DELAY, number)] for number in (500.0, 114.0, 500.0, 128.0)]
    found = [(round(one.kernel, 3), one.agrees) for one in verdict.likewise("case", ours, kernel, 100.0)]
    # The first does not count; the others are beside the same three as the kernel's of that number.
    assert found == [(104.0, True), (110.333, False), (113.667, True)]
    assert verdict.likewise("case", kernel, kernel, 100.0) == verdict.itself("case", kernel, 100.0)


def test_a_quantity_of_few_events_does_not_count() -> None:
    few = [value(Kind.COUNT, 3, events=3)]
    assert verdict.judge("case", few, [few], 100.0) == []


def test_a_flow_counts_once_data_arrived(tmp_path: Path) -> None:
    scenario = Scenario(SLOW_START, "slow start").resolve()
    [outcome] = execute([Job("slow-start", scenario, 0.5)], tmp_path, engine=engines.named("sim"), quiet=True)
    assert outcome.run
    values = {found.name: found for found in quantities.of(outcome.run)}
    # Samples every 10 ms from 160 ms to 460 ms; those from 110 ms on are before the first data.
    assert values["cwnd p05"].events == values["RTT mean"].events == 31
    assert values["cwnd p05"].value == 10
    # The window doubles at 200, 300 and 400 ms: of 31 samples the 16th.
    assert values["cwnd p50"].value == 40


def test_a_case_is_named_for_ever() -> None:
    drawn = campaign.case(seed=1, index=4)
    assert drawn.job.id == "case-1-4"
    assert (drawn.job.scenario.text, drawn.stratum) == _core.draw("linux", 1, 4)
    assert campaign.case(seed=1, index=4) == drawn
    assert campaign.case(seed=2, index=4).job.scenario.text != drawn.job.scenario.text


def test_classes_are_ranked_by_the_cases_that_they_explain() -> None:
    found = campaign.Campaign()
    for index in range(3):
        drawn = campaign.case(1, index)
        found.cases[drawn.job.id] = drawn
    first, *others = found.cases
    found.verdicts = [
        verdict.Verdict(first, "f0", "RTT mean", Kind.DELAY, 30.0, 20.0, 1.0),
        *(verdict.Verdict(case, "f0", "RTT mean", Kind.DELAY, 20.1, 20.0, 1.0) for case in others),
    ]
    found.alone = found.verdicts[:2]
    assert [(row.name, row.agree, row.count) for row in table.agreements(found)] == [
        ("all", 2, 3),
        ("RTT mean", 2, 3),
    ]
    [only] = table.classes(found)
    assert (only.cases, only.excess, only.worst.case) == ((first,), 10.0, first)
    assert "| RTT mean | 2 | 3 | 66.7 | nan | nan | 50.0 | nan |" in table.markdown(found)


def test_further_runs_have_other_random_numbers_and_starts() -> None:
    job = campaign.case(1, 3).job
    first, second = (campaign.again(job, extra) for extra in (1, 2))
    assert first.id == second.id == job.id
    seeds = [one.scenario.document()["seed"] for one in (job, first, second)]
    assert len(set(seeds)) == 3
    flows = first.scenario.document()["flow"]
    assert isinstance(flows, list)
    assert len(flows) > 3
    assert {flow["start_jitter"] for flow in flows} == {"1ms"}


def test_means_are_of_as_many_runs_as_the_kernel_has(tmp_path: Path) -> None:
    known = Path(__file__).parent / "kernel-cases" / "campaign.jsonl.xz"
    kept = records.read(known)
    index = next(n for n in range(0, 500, 10) if ("case-1-" + str(n), 5) in kept and ("case-1-" + str(n), 1) in kept)
    found = campaign.run(tmp_path, 1, [index], known=known, means=True, jobs=1)
    assert {(one.of, one.name) for one in found.means} == {(one.of, one.name) for one in found.verdicts}
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["sim", "sim-2", "sim-3", "sim-4", "sim-5"]
    assert [one.ours for one in found.means] != [one.ours for one in found.verdicts]
    runs = [Run(tmp_path / folder / f"case-1-{index}") for folder in ("sim", "sim-2", "sim-3", "sim-4", "sim-5")]
    [goodput] = [one for one in found.means if (one.of, one.name) == ("f0", "goodput")]
    assert goodput.ours == pytest.approx(fmean(run.summary["flows"][0]["goodput_mbps"] for run in runs))
    assert "means of as many runs" in table.markdown(found)


@pytest.mark.parametrize("cases", ["", "x", "5:5", "9:3", "1:2:3", "-1"])
def test_indices_that_are_none_are_refused_in_one_line(cases: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["crosscheck", f"--cases={cases}"]) == 2
    assert "--cases" in capsys.readouterr().err


def test_a_campaign_runs_both_engines_and_goes_on(
    kernel: Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A case of half a second.
    index = next(
        n for n in range(200) if campaign.case(1, n).job.duration_s < 1 and campaign.case(1, n).stratum == "one"
    )
    arguments = ["crosscheck", "--cases", str(index), "-o", str(tmp_path), "--json"]
    assert call(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cases"] == 1
    assert document["agreement"][0]["quantity"] == "all"
    assert (tmp_path / "linux" / f"case-1-{index}" / "summary.json").is_file()
    assert call(arguments) == 0
    assert json.loads(capsys.readouterr().out) == document


def disagreement(case: str, name: str = "marks", ours: float = 200.0, crossed: float | None = None) -> verdict.Verdict:
    return verdict.Verdict(case, "bneck", name, Kind.COUNT, ours, 100.0, 30.0, crossed)


@pytest.mark.parametrize(
    ("crossed", "origin"),
    [(None, "-"), (205.0, "queue"), (95.0, "end points"), (150.0, "both")],
)
def test_kernel_end_points_over_our_queue_say_what_makes_a_difference(crossed: float | None, origin: str) -> None:
    assert disagreement("case-1-0", crossed=crossed).origin == origin


def test_a_case_shrinks_to_what_its_disagreement_needs() -> None:
    # Case 3 has many flows. What disagrees here needs one that is called f1, and a rate below 90 Mbit/s.
    job = campaign.case(1, 3).job
    assert len(job.scenario.brief()["flow"]) > 3

    def judge(smaller: Job) -> list[verdict.Verdict]:
        names = [flow["name"] for flow in smaller.scenario.brief()["flow"]]
        return [disagreement(job.id)] if "f1" in names else [disagreement(job.id, ours=110.0)]

    tries: list[str] = []
    shrunk = shrink(job, disagreement(job.id), judge, most=400, say=tries.append)
    document = plain(shrunk.job.scenario)
    assert [flow["name"] for flow in document["flow"]] == ["f1"]
    assert set(document["flow"][0]) <= {"name", "cc", "app"}
    assert "ping" not in document
    assert "schedule" not in document
    assert document["tcp"] == {"era": "7.x"}, "else it is not the kernel's"
    assert len(document["link"][0]["qdisc"].split()) == 1
    assert shrunk.tried < 400
    # What is left out of the text is what has its default.
    assert Scenario(shrunk.text, "case").resolve().text == shrunk.job.scenario.text


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept = [
        records.Record("case-1-4", 2, "7.2", (value(Kind.GOODPUT, 12.5),)),
        records.Record("case-1-3", 1, "7.2", ()),
    ]
    for name in ("kernel.jsonl", "kernel.jsonl.xz"):
        records.write(tmp_path / name, kept)
        assert records.read(tmp_path / name) == {one.key: one for one in kept}
    plainly = tmp_path / "kernel.jsonl"
    plainly.write_text(plainly.read_text().replace(f'"rules":{_core.draw_rules()}', '"rules":0'))
    assert records.read(plainly) == {}


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"rules":RULES,"case":"case-1-1","run":1}', "null", '"x"'])
def test_what_is_no_record_is_refused_in_one_line(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "known.jsonl"
    file.write_text(line.replace("RULES", str(_core.draw_rules())) + "\n")
    with pytest.raises(ResultsError, match="known.jsonl:1: expected a record"):
        records.read(file)
    assert call(["crosscheck", "--cases=0", "--known", str(file), "-o", str(tmp_path / "out")]) == 2
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "17", "case-1", "case-1-x", "case-1-99999999999999999999"])
def test_a_name_that_is_no_case_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["crosscheck", f"--replay={name}"]) == 2
    assert "expected a case such as case-1-17" in capsys.readouterr().err


def test_a_file_of_records_says_which_cases(tmp_path: Path) -> None:
    file = tmp_path / "known.jsonl"
    records.write(file, [records.Record(f"case-{seed}-{n}", 1, "7.2", ()) for seed, n in ((1, 9), (1, 4), (2, 5))])
    assert campaign.indices(file, 1) == [4, 9]
    with pytest.raises(ResultsError, match="expected records of cases of seed 3"):
        campaign.indices(file, 3)


def row(t_s: float, seq: int = 1, flags: str = "") -> replay.Row:
    return replay.Row(t_s, seq, 1448, 1, flags, 2)


def test_the_first_packet_that_differs_is_found() -> None:
    rows = [row(0.0), row(0.01, 1449), row(0.02, 2897)]
    near = [rows[0], row(0.01005, 1449), row(0.02, 2897)]
    found = [
        replay.first(rows, other)
        for other in (
            near,
            [rows[0], row(0.0102, 1449), rows[2]],
            [rows[0], rows[1], row(0.02, 4345, "C")],
            rows[:2],
        )
    ]
    assert found == [None, (1, "time"), (2, "seq, flags"), (2, "that only sim has it")]


def test_small_cases_differ_from_the_kernel_as_noted(tmp_path: Path) -> None:
    from kernel_cases import NOTED, disagreements

    noted = json.loads(NOTED.read_text(encoding="utf-8"))
    outside, count = disagreements(tmp_path)
    assert outside == noted["outside"]
    assert count == noted["compared"]
    assert sum(map(len, outside.values())) < 0.1 * count
