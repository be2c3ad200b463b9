from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sojourn import compare, conditions, metrics, reference
from sojourn.cli import call
from sojourn.compare import terminal
from sojourn.conditions import Conditions
from synthetic import S2, S2_STEM, Made, flent_document, made_run, write_flent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Ours and measured: the goodputs differ by 1 and by 2 Mbit/s, Prague's RTT by 0.5 ms."""
    a = write_flent(tmp_path / "a" / f"{S2_STEM}.flent.gz", flent_document(17, 30, 21.0)).parent
    b = write_flent(tmp_path / "b" / f"{S2_STEM}.flent.gz", flent_document(16, 32, 20.5)).parent
    return a, b


def run(a: Path, b: Path | None, capsys: pytest.CaptureFixture[str], only: str | None = None) -> tuple[int, Any, str]:
    chosen = ["--only", only] if only else []
    code = call(["compare", *map(str, filter(None, (a, b))), *chosen, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_json_gives_both_sides_and_their_difference(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, document, err = run(*sides, capsys)
    assert (code, err) == (0, "")
    assert document["schema"] == "sojourn/compare/1"
    (one,) = document["runs"]
    assert one["id"] == S2
    assert one["flows"][0]["name"] == "cubic"
    assert one["flows"][0]["goodput_mbps"] == {"a": 17.0, "b": 16.0, "diff": 1.0}
    assert one["flows"][1]["goodput_mbps"] == {"a": 30.0, "b": 32.0, "diff": -2.0}
    assert one["flows"][1]["tcp_rtt_ms"]["p99"] == {"a": 21.0, "b": 20.5, "diff": 0.5}
    assert one["ratio"] == {"a": 1.765, "b": 2.0, "diff": -0.235}
    assert one["rtt_ms"] == {"a": 28.0, "b": 27.75, "diff": 0.25}
    assert one["ping_ms"]["mean"]["diff"] == 0
    ceiling = 50 * 1448 / 1514
    assert document["summary"]["goodput_median_abs_error_percent_of_ceiling"] == pytest.approx(
        100 * 1.5 / ceiling, abs=1e-3
    )
    assert document["summary"]["rtt_mean_median_abs_error_ms"] == 0.25


def test_a_broken_file_is_named_and_the_others_are_compared(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[1] / "broken.flent").write_text("{")
    code, document, err = run(*sides, capsys)
    assert code == 3
    assert err.startswith("sojourn: broken.flent: file: expected JSON")
    assert len(err.splitlines()) == 1
    assert len(document["runs"]) == 1


def test_only_selects_runs_by_regular_expression(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = run(*sides, capsys, only="pfifo")
    assert (code, document["runs"]) == (1, [])
    assert run(*sides, capsys, only="s2.*dualpi2")[0] == 0
    assert call(["compare", *map(str, sides), "--only", "("]) == 2
    assert "expected a regular expression" in capsys.readouterr().err


def test_a_missing_folder_is_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["compare", str(tmp_path / "none")]) == 2
    assert "no such results" in capsys.readouterr().err


def test_without_a_second_side_the_measured_data_are_used(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_REFERENCE", "/nonexistent")
    code, document, _ = run(sides[0], None, capsys)
    assert code == 0
    measured = reference.shipped()[S2].summary
    assert [flow["goodput_mbps"]["b"] for flow in document["runs"][0]["flows"]] == [
        flow.goodput_mbps for flow in measured.flows
    ]
    assert document["runs"][0]["window_s"] == [round(edge, 2) for edge in measured.window_s]


def test_the_table_shows_both_sides(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["compare", *map(str, sides)]) == 0
    out = capsys.readouterr().out
    assert "30.00 / 32.00 (-2.00)" in out
    assert "1 run compared; median absolute error of goodput 3.1 % of the link ceiling" in out


@pytest.mark.parametrize("flows", [1, 2, 5, 40])
@pytest.mark.parametrize("width", [60, 80, 132, 1000])
def test_tables_keep_within_the_terminal_and_lose_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, flows: int, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    rates = {f"f-{number}": float(1000 + number) for number in range(flows)}
    made = made_run("x", rates, dict.fromkeys(rates, 20.0))
    for name in rates:  # all of them live long enough together
        for key in ("goodput_bytes", "delivery_rate", "rtt"):
            t, values = made._series[f"flow.f-0.{key}"]
            made._series[f"flow.{name}.{key}"] = t, values * (rates[name] / 1000 if key == "goodput_bytes" else 1)
    pair = compare.pair_up("x", made, made)
    assert pair is not None
    terminal.show(compare.Comparison(pairs=[pair], sides=("a", "b")))
    out = capsys.readouterr().out
    table, _, _ = out.partition("1 run compared")
    assert max(map(len, table.splitlines())) <= width
    assert table.count("(+0.0)") + table.count("(+0.00)") == 5 * (flows + 1) - 1 + (flows == 2)
    for rate in rates.values():
        assert f"{rate:.1f} / {rate:.1f} (+0.0)" in table


def test_it_is_said_which_runs_of_other_names_were_laid_beside_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a, b = (made_run(name, {flow: 5.0}, {flow: 20.0}) for name, flow in (("mine", "x"), ("yours", "y")))
    (match,) = compare.matches({"mine": a}, {"yours": b})
    pair = compare.pair_up(match.a, a, b, None, match.reason)
    assert pair is not None
    terminal.show(
        compare.Comparison(pairs=[pair], sides=("A", "B"), only_a=["call"], only_b=[f"r{n}" for n in range(20)])
    )
    out = capsys.readouterr().out
    assert "mine beside yours: the only ones left on both sides\n" in out
    assert "x / y" in out
    assert "only in A: call\n" in out
    assert "only in B: r0, r1, r2, r3, r4, r5, r6, r7 and 12 more\n" in out
    assert pair.document()["id_b"] == "yours"
    assert pair.document()["flows"][0]["name_b"] == "y"


def test_a_simulated_run_is_measured_over_the_window_of_the_other_side() -> None:
    ours = made_run(S2, {"cubic": 15.0, "prague": 31.0}, {"cubic": 36.0, "prague": 20.4})
    assert metrics.flows(ours) == ["cubic", "prague"]
    assert metrics.window(ours) == pytest.approx((25, 44), abs=0.11)
    pair = compare.pair_up(S2, ours, reference.shipped()[S2])
    assert pair is not None
    assert pair.summary_a.window_s == reference.shipped()[S2].summary.window_s
    assert pair.flows[0].goodput_mbps.a == pytest.approx(15)
    assert pair.flows[1].tcp_rtt_ms["p50"].a == pytest.approx(20.4)
    assert pair.ping_ms["mean"].a == pytest.approx(21)


def test_flows_with_other_names_are_matched_by_their_order() -> None:
    a = made_run(S2, {"x": 15.0, "y": 31.0}, {"x": 36.0, "y": 20.0})
    b = made_run(S2, {"cubic": 14.0, "prague": 30.0}, {"cubic": 35.0, "prague": 20.0})
    pair = compare.pair_up(S2, a, b)
    assert pair is not None
    assert [flow.goodput_mbps.diff for flow in pair.flows] == pytest.approx([1, 1])


def counted(run_id: str, rate: float, retransmits: float) -> Made:
    """A run over 10 Mbit/s whose flow repeated this much, and whose queue dropped twice and marked thrice as much."""
    made = made_run(run_id, {"x": rate}, {"x": 20.0})
    t = np.array([0.0, 45.0])
    series = {name: made.series(name) for name in made.names()}
    series["flow.x.retransmits"] = t, np.array([0.0, retransmits])
    series["queue.bneck.drops"] = t, np.array([0.0, 2 * retransmits])
    series["queue.bneck.marks"] = t, np.array([0.0, 3 * retransmits])
    counts = Made(run_id, series)
    counts.conditions = Conditions(capacity=((0.0, 10.0),))
    return counts


def compared(rows: list[tuple[str, float, float, float, float]]) -> compare.Comparison:
    pairs = []
    for run_id, rate_a, rate_b, again_a, again_b in rows:
        pair = compare.pair_up(run_id, counted(run_id, rate_a, again_a), counted(run_id, rate_b, again_b))
        assert pair is not None
        pairs.append(pair)
    return compare.Comparison(pairs=pairs, sides=("left", "right"))


def test_drops_marks_and_retransmits_of_the_whole_run_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    result = compared([("a/10Mbit", 8.0, 9.0, 44.0, 40.0)])
    document = result.document()["runs"][0]
    assert document["flows"][0]["retransmits"] == {"a": 44.0, "b": 40.0, "diff": 4.0}
    assert document["queues"] == {
        "bneck": {"drops": {"a": 88.0, "b": 80.0, "diff": 8.0}, "marks": {"a": 132.0, "b": 120.0, "diff": 12.0}}
    }
    terminal.show(result)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "whole run" in line] == [
        ["retransmits,", "whole", "run", "44.00", "/", "40.00", "(+4.00)"],
        ["bneck", "drops,", "whole", "run", "88.00", "/", "80.00", "(+8.00)"],
        ["bneck", "marks,", "whole", "run", "132.0", "/", "120.0", "(+12.0)"],
    ]


def test_median_errors_are_of_means_over_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    rate = 10 * conditions.PAYLOAD_SHARE
    result = compared(
        [
            # Errors of +10 and -10 % of the link cancel; 36 for 30 retransmits.
            ("a/10Mbit", 0.6 * rate, 0.5 * rate, 50.0, 30.0),
            ("a/10Mbit@seed2", 0.4 * rate, 0.5 * rate, 22.0, 30.0),
            # One seed; of 29 retransmits no share is taken.
            ("b/10Mbit", 0.58 * rate, 0.5 * rate, 58.0, 29.0),
        ]
    )
    errors = [row.rate_error_percent for row in result.means]
    assert errors == pytest.approx([0.0, 8.0], abs=0.01)
    assert [row.retransmits_error_percent for row in result.means] == [pytest.approx(20.0), None]
    terminal.show(result)
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "Median absolute error of 2 flows, means over 1 to 2 seeds: goodput 4.00 % of the link ceiling",
        "Median absolute error of 2 flows, means over 1 to 2 seeds: mean TCP RTT 0.00 %",
        "Median absolute error of 1 flow, means over 1 to 2 seeds: retransmits (at least 30) 20.00 %",
    ]


def beside_one_run(errors: list[float], runs: int) -> compare.Comparison:
    """Runs with a seed for each error, % of the link ceiling, beside one measured run each."""
    rate = 10 * conditions.PAYLOAD_SHARE
    result = compare.Comparison()
    for run in range(runs):
        for seed, error in enumerate(errors, 1):
            run_id = f"r{run}/10Mbit" + (f"@seed{seed}" if seed > 1 else "")
            made = counted(run_id, (0.5 + error / 100) * rate, 0.0)
            pair = compare.pair_up(run_id, made, counted(run_id, 0.5 * rate, 0.0))
            assert pair is not None
            (result.pairs if seed == 1 else result.seeds).append(pair)
    return result


def test_a_bias_is_larger_and_chance_as_large_as_what_lies_between_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    spread = [-4.0, -2.0, 0.0, 2.0, 4.0]
    right, rtt = beside_one_run(spread, 40).chance
    assert right.median_seed == pytest.approx(0.0, abs=0.01)
    # |x| is 0, 2 or 4; |x - y| of two of the five is 2 to 8, in half of the pairs 4 or more.
    assert right.one_seed.middle == pytest.approx(2.0, abs=0.01)
    assert right.another_seed.middle == pytest.approx(4.0, abs=0.01)
    assert (rtt.median_seed, rtt.one_seed.high, rtt.another_seed.high) == pytest.approx((0.0, 0.0, 0.0))
    biased, _ = beside_one_run([error + 10 for error in spread], 40).chance
    assert biased.median_seed == pytest.approx(10.0, abs=0.01)
    assert biased.one_seed.low > biased.another_seed.high
    assert biased.another_seed.document() == right.another_seed.document()
    result = beside_one_run(spread, 40)
    assert [quantity["flows"] for quantity in result.document()["chance"][:1]] == [40]
    terminal.show(result)
    line = capsys.readouterr().out.splitlines()[-2]
    assert line.startswith("Chance, 5 seeds of 40 flows: median absolute error of goodput, % of the link ceiling: ")


def test_four_seeds_say_nothing_of_chance() -> None:
    assert beside_one_run([1.0, 2.0, 3.0, 4.0], 2).chance == []


def test_seeds_are_for_engines(sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["compare", *map(str, sides), "--seeds", "2"]) == 2
    assert "--seeds: only with --engines" in capsys.readouterr().err


def test_ids_sort_by_their_numbers() -> None:
    ids = ["a/160ms", "a/20ms", "a/80ms"]
    assert sorted(ids, key=compare.natural) == ["a/20ms", "a/80ms", "a/160ms"]
