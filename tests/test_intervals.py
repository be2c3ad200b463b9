"""`sojourn fidelity --intervals`: coverage, ranks, and the measurement's own blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sojourn import fidelity
from sojourn.cli import call
from sojourn.fidelity import intervals
from sojourn.fidelity import measures as m
from sojourn.fidelity.row import Row
from sojourn.report.intervals import bars, page
from sojourn.report.markdown import render
from synthetic import Made, made_run

if TYPE_CHECKING:
    from sojourn.metrics import Source


def row(expected: float | str = 10.0, **options: object) -> Row:
    return Row("Z1", "", "A", "", "ect1/none", "goodput", "Mbit/s", expected, None, lambda run: None, **options)  # type: ignore[arg-type]


def test_twenty_seeds_span_what_nineteen_in_twenty_one_draws_are_inside() -> None:
    judged = intervals.Judged(row(), tuple(range(20)))
    low, high = judged.interval
    assert (low, high) == pytest.approx((0.05, 18.95))
    assert intervals.Coverage("", (judged,)).expected == pytest.approx(0.9)
    assert intervals.Coverage("", (intervals.Judged(row(), tuple(range(10))),)).expected == pytest.approx(9 / 11)


def test_draws_of_the_same_kind_are_covered_as_often_as_expected_and_others_are_not() -> None:
    rng = np.random.default_rng(1)

    def coverage(shift: float, scale: float) -> intervals.Coverage:
        return intervals.Coverage(
            "", tuple(intervals.Judged(row(rng.normal(shift)), tuple(rng.normal(0, scale, 20))) for _ in range(2000))
        )

    right = coverage(0, 1)
    assert right.share == pytest.approx(0.9, abs=0.02)
    assert min(right.histogram) > 150
    assert coverage(1, 1).share < 0.8
    assert coverage(0, 0.5).share < 0.65
    ends = coverage(0, 0.5).histogram
    assert ends[0] + ends[-1] > 800


def test_ranks_count_half_of_what_is_equal() -> None:
    assert intervals.Judged(row(1.0), (1.0,) * 9).rank == pytest.approx(0.5)
    assert intervals.Judged(row(1.0), (1.0,) * 9).inside
    assert intervals.Judged(row(2.0), tuple(range(9))).rank == pytest.approx(0.3)
    assert not intervals.Judged(row(1.0), (1.1,) * 9).inside
    # Printed with one digit, 1.0 stands for 0.95 to 1.05.
    assert intervals.Judged(row(1.0), (1.04,) * 9, rounding=0.05).inside
    assert intervals.Judged(row(1.0), (1.04,) * 9, rounding=0.05).rank == pytest.approx(0.5)
    assert not intervals.Judged(row(1.0), (1.06,) * 9, rounding=0.05).inside


def test_rows_are_those_that_somebody_measured() -> None:
    rows = intervals.measured(list(fidelity.ROWS))
    keys = {one.key for one in rows}
    assert {"E3/20ms", "K2/pfifo250-20ms-cubic"} <= keys
    assert not keys & {"K1/goodput", "K5/mean", "E27", "E13/160ms-p2a"}
    assert sum(one.id == "goodput" for one in rows) == 98
    assert {one.run.split("/")[0] for one in intervals.measured(list(fidelity.ROWS), ["ect1"])} == {"ect1"}
    with pytest.raises(KeyError, match="ect2: expected one of"):
        intervals.measured(list(fidelity.ROWS), ["ect2"])


def test_a_measure_is_taken_of_blocks_too() -> None:
    t = np.arange(0, 61, 0.1)
    run: Source = Made("x", {"flow.a.rtt": (t, np.floor(t / 10)), "flow.a.goodput_bytes": (t, 1e5 * t**2)})
    rtt = m.rtt("a", np.median, (20.0, 40.0))
    assert isinstance(rtt, m.Over)
    assert rtt(run) == 2.0 or rtt(run) == 3.0
    assert rtt.inside(run, (20.0, 29.0)) == 2
    goodput = m.mean_goodput("a", (20.0, 40.0))
    assert isinstance(goodput, m.Over)
    assert goodput.inside(run, (20.0, 30.0)) == pytest.approx(1e5 * 50 * 8e-6)


def test_seconds_that_are_shipped_have_blocks() -> None:
    (one,) = (one for one in fidelity.ROWS if one.key == "K2/pfifo250-20ms-cubic")
    (judged,) = intervals.of(
        [one], {f"{one.run}@seed{n}": made_run(one.run, {"cubic": 190.0}, {"cubic": 22.0}) for n in range(1, 7)}
    )
    assert len(judged.blocks) >= 2
    assert np.mean(judged.blocks) == pytest.approx(judged.measured, rel=0.05)


def test_the_page_and_the_json_say_the_same() -> None:
    judged = [intervals.Judged(row(10.0), tuple(range(6, 18)), (8.0, 11.0)), intervals.Judged(row(99.0), (1.0,) * 12)]
    text = render(page(judged, "1"))
    assert "1 of 2 measured values (50 %) lie inside the interval of 12 seeds; 85 % are expected." in text
    document = json.loads(json.dumps(intervals.document(judged), allow_nan=False))
    assert document["schema"] == "sojourn/intervals/1"
    assert [group["group"] for group in document["groups"]] == ["all", "ect1: goodput"]
    assert (document["rows"][0]["blocks_spread"], document["rows"][1]["blocks_spread"]) == (3.0, None)
    assert bars([0, 1, 2]) == "▁▅█"


def test_misuse_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--group", "ect1"], "--group: only with --intervals"),
        (["--intervals", "--group", "ect2"], "--group ect2: expected one of"),
        (["--intervals", "--only", "Z9"], "--only Z9"),
    ):
        assert call(["fidelity", *arguments]) == 2
        assert message in capsys.readouterr().err
