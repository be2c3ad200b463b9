"""Paired differences over seeds: intervals, order and verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sojourn import compare, metrics
from sojourn.compare import Comparison, effects
from synthetic import Made, made_run


def comparison(rates_a: list[float], rates_b: list[float]) -> Comparison:
    """Runs of one flow that differ in goodput alone."""
    pairs = []
    for seed, (a, b) in enumerate(zip(rates_a, rates_b, strict=True), 1):
        run_id = "one" if seed == 1 else f"one@seed{seed}"
        pair = compare.pair_up(run_id, made_run("a", {"x": a}, {"x": 30.0}), made_run("b", {"x": b}, {"x": 30.0}))
        assert pair is not None
        pairs.append(pair)
    return Comparison(pairs=pairs, sides=("left", "right"))


def test_the_interval_is_that_of_the_paired_differences() -> None:
    result = comparison([11, 12, 16], [10, 10, 13])
    goodput = next(effect for effect in result.effects if effect.quantity == "x goodput")
    # Differences 1, 2, 3: mean 2, standard deviation 1, t(0.95, 2) = 4.30265.
    assert goodput.seeds == 3
    assert goodput.diff == pytest.approx(2)
    assert goodput.margin == pytest.approx(4.30265 / math.sqrt(3), rel=1e-4)
    assert goodput.cohen_d == pytest.approx(2, rel=1e-6)
    assert goodput.percent == pytest.approx(200 * 2 / (13 + 11), rel=1e-6)
    assert not goodput.distinct
    assert result.effects[0] is goodput
    assert "differ in none of" in result.verdict


def test_what_seeds_cannot_explain_comes_first_and_is_counted() -> None:
    result = comparison([20.0, 20.1, 19.9, 20.05], [10.0, 10.2, 9.9, 10.1])
    assert result.effects[0].quantity == "x goodput"
    assert [effect.distinct for effect in result.effects].count(True) == 1
    said = result.verdict
    assert said.startswith("Verdict: left and right differ in 1 of")
    assert "one, x goodput: 20.01 against 10.05 Mbit/s (+66.3 %" in said
    document = result.document()
    assert document["verdict"] == said
    assert document["effects"][0]["interval"][0] > 9


def test_one_seed_has_no_interval_and_equal_sides_are_said_to_be_equal() -> None:
    one = comparison([11], [10])
    assert one.effects[0].interval is None
    assert "no confidence interval" in one.verdict
    same = comparison([10, 11], [10, 11])
    assert "are the same in all" in same.verdict


def test_the_false_discovery_rate_is_held_over_all_quantities() -> None:
    alone = effects.Effect("r", "q", "ms", 5, 2.0, 1.0, 0.9, 0.04, 1.0)
    assert effects._judged([alone])[0].distinct
    many = [alone, *(replace(alone, p=0.5) for _ in range(9))]
    assert not any(effect.distinct for effect in effects._judged(many))


def test_queues_are_compared_by_marks_and_drops_a_second() -> None:
    def run(drops: float) -> Made:
        made = made_run("r", {"x": 10.0}, {"x": 30.0})
        made._series["queue.bneck.drops"] = np.array([0.0, 50.0]), np.array([0.0, 50 * drops])
        return made

    pair = compare.pair_up("r", run(3.0), run(1.0))
    assert pair is not None
    (drops,) = [effect for effect in effects.of([pair]) if effect.unit == "1/s"]
    assert drops.quantity == "bneck drops"
    assert [drops.a, drops.b] == pytest.approx([3, 1])


def test_flows_without_tcp_rtt_are_compared_by_the_delay_they_have() -> None:
    t = np.arange(0, 50, 0.05)

    def run(delay: float) -> Made:
        made = made_run("r", {"bulk": 10.0}, {"bulk": 30.0})
        made._series["flow.call.goodput_bytes"] = t, t * 8600
        made._series["flow.call.one_way"] = t, np.full(t.size, delay)
        made._series["flow.web.goodput_bytes"] = t, t * 1000
        made._series["flow.web.fct"] = t[::100], np.full(t[::100].size, 5 * delay)
        return made

    a = run(15.0)
    assert sorted(metrics.flows(a)) == ["bulk", "call", "web"]
    pair = compare.pair_up("r", a, run(12.0))
    assert pair is not None
    by_name = {flow.name: flow for flow in pair.flows}
    assert by_name["call"].goodput_mbps.a == pytest.approx(0.0688)
    assert by_name["call"].delays[metrics.ONE_WAY]["p99"].diff == pytest.approx(3)
    assert by_name["web"].delays[metrics.COMPLETION]["mean"].a == pytest.approx(75)
    assert list(by_name["bulk"].delays) == [metrics.RTT]
    flows = {flow["name"]: flow for flow in pair.document()["flows"]}
    assert flows["call"]["one_way_delay_ms"]["mean"] == {"a": 15.0, "b": 12.0, "diff": 3.0}


def test_runs_are_matched_by_id_then_by_scenario_then_as_the_only_ones() -> None:
    def sides(*ids: str) -> dict[str, metrics.Source]:
        return {run_id: made_run(run_id, {"x": 1.0}, {"x": 1.0}) for run_id in ids}

    one = compare.Match("a", "a")
    assert compare.matches(sides("a", "b"), sides("a", "c")) == [one, compare.Match("b", "c", compare.ONLY_ONES)]
    assert compare.matches(sides("a", "b", "d"), sides("a", "c")) == [one]
    assert compare.matches(sides("a", "a@seed2"), sides("a")) == [one, compare.Match("a@seed2", "a", is_extra=True)]
    assert compare.matches(sides("a", "a@seed2"), sides("b", "b@seed2")) == [
        compare.Match("a", "b", compare.ONLY_ONES),
        compare.Match("a@seed2", "b@seed2", compare.ONLY_ONES),
    ]


def test_the_only_ones_are_compared_if_they_have_something_in_common() -> None:
    call = {"call": made_run("call", {"voice": 0.1, "video": 2.0}, {"voice": 9.0, "video": 9.0})}
    for flows, number in (({"x": 1.0}, 0), ({"voice": 1.0}, 1), ({"x": 1.0, "y": 2.0}, 1)):
        other = {"bulk": made_run("bulk", flows, dict.fromkeys(flows, 9.0))}
        assert len(compare.matches(call, other)) == number
