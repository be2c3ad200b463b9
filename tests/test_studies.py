"""Charts of parameter studies: what they hold, how they are drawn, and what is refused."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sojourn import plot
from sojourn.plot import charts as drawn
from sojourn.report import charts as web
from sojourn.study import charts
from sojourn.study.chart import Axis, Chart
from sojourn.study.points import Study, StudyError
from sojourn.study.values import Values, measure
from studies import StudyRun, grid

RATES = ["5Mbit", "10Mbit", "50Mbit"]
DELAYS = ["5ms", "20ms"]
QUEUES = ["pie", "codel", "dualpi2 <b>"]
AXES = {"link.b.qdisc": QUEUES, "link.b.rate": RATES, "link.b.delay": DELAYS}


def study(seeds: int = 1) -> Study:
    return Study.of(grid(AXES, seeds))


def test_values_with_units_are_numbers_and_others_are_words() -> None:
    assert measure("10Mbit") == (1e7, "bit/s")
    assert measure("2.5ms") == (0.0025, "s")
    assert measure("1%") == (1.0, "%")
    assert measure("1Kb") == (1024.0, "B")
    assert measure("0.16") == (0.16, "")
    assert [measure(text) for text in ("pie", "pie limit 100", "1.2.3ms", "")] == [None] * 4
    rates = Values.of("link.b.rate", ["1Gbit", "10Mbit", "100Mbit", "10Mbit"])
    assert (rates.texts, rates.numbers, rates.unit) == (("10Mbit", "100Mbit", "1Gbit"), (10, 100, 1000), "Mbit/s")
    assert rates.label == "link.b.rate, Mbit/s"
    assert not Values.of("x", ["10Mbit", "20ms"]).numbers


def test_axes_are_logarithmic_where_values_span_decades() -> None:
    log = Axis.of_numbers("x", [1, 100])
    assert log.log
    assert [text for _, text in log.ticks] == ["1", "2", "5", "10", "20", "50", "100"]
    assert log.share(10) == pytest.approx(0.5)
    plain = Axis.of_numbers("x", [5, 10], from_zero=True)
    assert (plain.log, plain.range[0]) == (False, 0)
    for numbers in ([3.0], [0.0], [-1.0, 1.0], [1e-9, 2e-9], [0.0, 1e6]):
        axis = Axis.of_numbers("x", numbers)
        assert all(axis.range[0] <= at <= axis.range[1] for at, _ in axis.ticks)
        assert len(axis.ticks) >= 2


def test_a_heat_map_has_a_cell_for_each_pair_and_a_panel_for_each_third_value() -> None:
    chart = charts.heat(study(), "sojourn_p99_ms", "rate", "delay", "qdisc")
    assert (chart.kind, [panel.title for panel in chart.panels]) == ("heat", [f"qdisc {queue}" for queue in QUEUES])
    marks = chart.panels[0].curves[0].marks
    assert {(mark.x, mark.y) for mark in marks} == {(x, y) for x in range(3) for y in range(2)}
    assert [text for _, text in chart.x.ticks] == ["5", "10", "50"]
    assert next(mark.text for mark in marks if (mark.x, mark.y) == (0, 0)) == "10"
    assert "mean over" not in chart.note
    flat = charts.heat(study(), "sojourn_p99_ms")
    assert flat.note == "each is the mean over all values of link.b.qdisc"


def test_points_of_a_sample_are_dots_at_their_places() -> None:
    runs = [StudyRun(f"s/p{n}", swept={"a.rate": f"{n + 1}Mbit", "a.delay": f"{9 - n}ms"}) for n in range(6)]
    chart = charts.heat(Study.of(runs), "goodput_mbps")
    assert chart.kind == "dots"
    assert [(mark.x, mark.y) for mark in chart.panels[0].curves[0].marks] == [(n + 1, 9 - n) for n in range(6)]
    assert not charts.lines(Study.of(runs), "goodput_mbps").panels[0].curves[0].is_joined


def test_lines_have_intervals_over_seeds() -> None:
    chart = charts.lines(study(3), "sojourn_p99_ms", "rate", "qdisc", "delay")
    assert (len(chart.panels), [curve.name for curve in chart.panels[0].curves]) == (2, QUEUES)
    mark = chart.panels[0].curves[0].marks[0]
    assert mark.y == pytest.approx(11.0)  # of 10, 11 and 12
    assert mark.low == pytest.approx(11 - 4.303 / 3**0.5, abs=1e-3)  # Student's t, 2 degrees of freedom
    assert "3 seeds" in mark.label
    assert all(curve.is_joined for panel in chart.panels for curve in panel.curves)
    assert "interact" in chart.note
    alone = charts.lines(study(), "sojourn_p99_ms", "rate", "qdisc", "delay")
    assert alone.panels[0].curves[0].marks[0].low is None


@pytest.mark.parametrize(
    ("more_x", "more_y", "wanted"),
    [(False, True, [0, 1]), (True, True, [2, 1, 3]), (False, False, [0]), (True, False, [0, 3])],
)
def test_the_front_has_the_points_that_no_other_one_beats(more_x: bool, more_y: bool, wanted: list[int]) -> None:
    pairs = [(1.0, 1.0), (2.0, 3.0), (2.0, 2.0), (4.0, 1.5)]
    by_hand = [
        index
        for index, (x, y) in enumerate(pairs)
        if not any(
            (a >= x if more_x else a <= x) and (b >= y if more_y else b <= y) and (a, b) != (x, y) for a, b in pairs
        )
    ]
    assert sorted(charts.front(pairs, more_x, more_y)) == by_hand
    assert set(by_hand) <= {0, 1, 2, 3}
    assert charts.front([(1.0, 1.0), (1.0, 1.0)], more_x, more_y) == [0]


def test_a_pareto_chart_names_its_front_and_pales_the_rest() -> None:
    chart = charts.pareto(study(), "sojourn_p99_ms", "goodput_mbps")
    edge, *kinds = chart.panels[0].curves
    assert edge.is_front
    marks = [mark for curve in kinds for mark in curve.marks]
    assert len(marks) == 18
    assert {mark.text != "" for mark in marks if not mark.faint} <= {True, False}
    assert all(mark.text == "" for mark in marks if mark.faint)
    assert all("qdisc" in mark.label and "rate" in mark.label for mark in marks)
    # Its edge has no slope: between two points nothing was measured.
    corners = [(mark.x, mark.y) for mark in edge.marks]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(corners))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: charts.heat(s, "goodput_mbps", "speed"), r"^speed: is no swept name; expected one of link.b.qdisc"),
        (lambda s: charts.heat(s, "drops"), r"^drops: not measured in any point; there are goodput_mbps"),
        (lambda s: charts.heat(Study.of(grid({"a.rate": RATES})), "goodput_mbps"), "expected two swept names"),
        (lambda s: charts.lines(Study(()), "goodput_mbps"), "no points of a sweep"),
        (lambda s: charts.lines(Study.of(grid({"a.x": list("abcdefghi"), "a.rate": RATES})), "goodput_mbps", by="x"),
         "expected at most 8 values, a line each, found 9"),
        (lambda s: charts.pareto(s, "goodput_mbps", "marks"), "^marks: not measured in any point that"),
    ],
)  # fmt: skip
def test_what_a_study_does_not_have_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(StudyError, match=message):
        call(study())


def test_a_name_may_be_its_end_where_that_is_one_name() -> None:
    two = Study.of(grid({"link.a.rate": RATES, "link.b.rate": RATES}))
    assert two.named("b.rate").name == "link.b.rate"
    with pytest.raises(StudyError, match="rate: is several of the swept names"):
        two.named("rate")


def every() -> list[Chart]:
    return [
        charts.heat(study(3), "sojourn_p99_ms", panels="qdisc"),
        charts.lines(study(3), "sojourn_p99_ms", panels="delay"),
        charts.pareto(study(3), "sojourn_p99_ms", "utilisation"),
        charts.pareto(study(3), "goodput_mbps", "sojourn_p99_ms", panels="rate"),
    ]


@pytest.mark.parametrize("chart", every(), ids=lambda chart: chart.kind)
def test_a_page_has_every_mark_with_what_it_is(chart: Chart) -> None:
    text = web.render(chart)
    root = ET.fromstring(f"<x>{text}</x>")  # noqa: S314 - our own
    marks = [mark for panel in chart.panels for curve in panel.curves if not curve.is_front for mark in curve.marks]
    assert sorted(title.text or "" for title in root.iter("title")) == sorted(mark.label for mark in marks)
    assert "<b>" not in re.sub(r"<b>(link\.b\.\w+|queue delay p99, ms)</b>", "", text)


@pytest.mark.parametrize("chart", every(), ids=lambda chart: chart.kind)
def test_a_picture_is_the_same_bytes_each_time(chart: Chart, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        with plot.styled():
            plot.save(drawn.draw(chart), tmp_path / name, heading=chart.title, description="x")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    text = (tmp_path / "a.svg").read_text()
    words = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert chart.x.label in words
    assert chart.y.label in words
