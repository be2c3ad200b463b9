"""The report card: the headings of RFC 9743, each with the runs that answer it."""

from __future__ import annotations

import io
import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from sojourn import results
from sojourn.report import of_controller, write
from sojourn.report.card import CardError
from sojourn.report.criteria import CRITERIA
from sojourn.report.evidence import Facts
from sojourn.scenario import to_toml

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = io.BytesIO()
pl.DataFrame(schema={"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64}).write_parquet(
    EMPTY
)
BULK = {"name": "prague", "cc": "prague"}
CUBIC = {"name": "cubic", "cc": "cubic"}


def scenario(qdisc: str, *flows: dict[str, Any], **more: object) -> dict[str, Any]:
    link = {"name": "b", "rate": "50Mbit", "shaper": "htb", "qdisc": qdisc, "delay": "10ms", "ingress": []}
    return {
        "name": "x",
        "duration": "10s",
        "link": [{**link, "reverse": {"delay": "10ms"}, **more}],
        "flow": list(flows),
    }


def run(folder: Path, name: str, document: dict[str, Any], rates: dict[str, float], **metrics: object) -> None:
    flows = [{**flow, "goodput_mbps": rates[flow["name"]]} for flow in document["flow"]]
    measured = {"throughput": {"utilisation": {"b": 0.5}}, **metrics}
    files = {
        "scenario.toml": to_toml(document).encode(),
        "summary.json": json.dumps({"flows": flows, "metrics": measured}).encode(),
        "queue.json": b'[{"name": "b", "qdisc": "x"}, {"name": "path", "qdisc": "netem delay 80ms"}]',
        "series.parquet": EMPTY.getvalue(),
    }
    results.write(folder, {"id": name, "complete": True}, files)


def card(folder: Path, controller: str = "prague", name: str = "card.md") -> dict[str, str]:
    """Text by the number of its heading."""
    found = of_controller(folder, folder.parent, controller)
    assert not found.errors
    page = write(found, folder.parent / name).read_text()
    parts = re.split(r"^(?:## |<h2 [^>]*>)([\d.]+) ", page, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def test_every_heading_of_the_rfc_is_there_in_its_order(tmp_path: Path) -> None:
    run(tmp_path / "out", "one", scenario("pfifo", BULK), {"prague": 20.0})
    numbers = [number for number in card(tmp_path / "out") if number]
    single, mixed, other = ([f"5.{part}.{n}" for n in range(1, last + 1)] for part, last in ((1, 5), (2, 3), (3, 2)))
    use, special = [f"6.{n}" for n in range(1, 5)], [f"7.{n}" for n in range(1, 12)]
    assert numbers == [*single, *mixed, *other, *use, *special]


def test_a_run_answers_by_its_numbers_and_the_worst_is_named(tmp_path: Path) -> None:
    delays = [{"name": "b", "sojourn_ms": {"p99": 40.0}}, {"name": "path", "sojourn_ms": {"p99": 80.0}}]
    run(tmp_path / "out", "slow", scenario("pfifo", BULK), {"prague": 20.0}, delay=delays)
    delays = [{"name": "b", "sojourn_ms": {"p99": 10.0}}]
    run(tmp_path / "out", "fast", scenario("bfifo", BULK), {"prague": 20.0}, delay=delays)
    parts = card(tmp_path / "out")
    assert "which answer 5 of 25 headings" in parts[""]
    said = "2 runs. Time in the queue, p99: 25.00 ms in the median of 2, at worst 40.00 ms (slow)."
    assert said in parts["5.1.2"]
    assert said in parts["6.1"]
    rows = [line for line in parts["5.1.2"].splitlines() if line.startswith("| [")]
    assert [re.sub(r"\(.*?\)", "", row).split(" | ")[0] for row in rows] == ["| [slow]", "| [fast]"]
    assert "| queue htb(50Mbit)+pfifo, rate 50 Mbit/s, RTT 20 ms | prague 20.00 | 40.00 | 50.00 |" in rows[0]


def test_what_is_left_to_others_is_of_an_equal_share(tmp_path: Path) -> None:
    run(tmp_path / "out", "mixed", scenario("codel", BULK, CUBIC), {"prague": 30.0, "cubic": 10.0})
    assert "Least competing flow, of an equal share: 50.00 % (mixed)." in card(tmp_path / "out")["5.2.1"]
    assert "Least competing flow, of an equal share: 150.0 % (mixed)." not in card(tmp_path / "out", "cubic")["5.2.1"]


def test_flows_of_a_controller_are_held_against_each_other(tmp_path: Path) -> None:
    pair = [{**BULK, "name": name} for name in ("a", "b")]
    run(tmp_path / "out", "two", scenario("codel", *pair), {"a": 30.0, "b": 10.0}, fairness={"convergence_s": 3.5})
    text = card(tmp_path / "out")["5.1.4"]
    assert "Jain's index of its flows: 0.80 (two)." in text
    assert "Until its flows are within 20 % of their mean: 3.50 s (two)." in text


def test_versions_are_controllers_of_their_own(tmp_path: Path) -> None:
    run(tmp_path / "out", "new", scenario("codel", BULK), {"prague": 20.0})
    run(
        tmp_path / "out", "old", scenario("codel", {**BULK, "cc": "prague bursts kernel version p2b"}), {"prague": 20.0}
    )
    assert "and 1 run in out" in card(tmp_path / "out")[""]
    assert "(old)" in card(tmp_path / "out", "prague version p2b")["6.3"]
    with pytest.raises(
        CardError, match="--card bbr: expected a controller of these results: prague, prague version p2b"
    ):
        of_controller(tmp_path / "out", tmp_path, "bbr")


def test_a_name_stands_for_its_default_version_and_finds_its_flows(tmp_path: Path) -> None:
    """Scenarios of runs have every default written out, and summaries have no versions."""
    beside = scenario(
        "codel", {**BULK, "cc": "prague version current burst_shift 12"}, {**CUBIC, "cc": "cubic version linux"}
    )
    run(tmp_path / "out", "new", beside, {"prague": 30.0, "cubic": 10.0})
    run(tmp_path / "out", "old", scenario("codel", {**BULK, "cc": "prague version p0"}), {"prague": 20.0})
    summaries = {"new": {"prague": 30.0, "cubic": 10.0}, "old": {"prague": 20.0}}
    for name, rates in summaries.items():
        flows = [{"name": flow, "cc": flow, "goodput_mbps": rate} for flow, rate in rates.items()]
        (tmp_path / "out" / name / "summary.json").write_text(json.dumps({"flows": flows, "metrics": {}}))
    text = card(tmp_path / "out")
    assert text[""].startswith("# Report card of prague\n")
    assert "and 1 run in out" in text[""]
    assert "50.00 %" in text["5.2.1"]


def test_a_name_stands_for_its_only_version(tmp_path: Path) -> None:
    run(tmp_path / "out", "old", scenario("codel", {**BULK, "cc": "prague version p2b"}), {"prague": 20.0})
    assert card(tmp_path / "out")[""].startswith("# Report card of prague version p2b\n")
    run(tmp_path / "out", "older", scenario("codel", {**BULK, "cc": "prague version p2a"}), {"prague": 20.0})
    with pytest.raises(CardError, match="prague version p2a, prague version p2b"):
        card(tmp_path / "out")


def test_no_name_is_no_controller(tmp_path: Path) -> None:
    run(tmp_path / "out", "one", scenario("codel", {"name": "call", "app": "voip"}), {"call": 0.1})
    with pytest.raises(CardError, match="--card : expected a controller of these results: none"):
        card(tmp_path / "out", "")


def test_a_heading_that_no_run_answers_names_the_suites_that_do(tmp_path: Path) -> None:
    run(tmp_path / "out", "one", scenario("codel", BULK), {"prague": 20.0})
    parts = card(tmp_path / "out")
    assert "No run of these results answers this. These would: sojourn run" in parts["6.4"]
    assert " future/l4s-loss" in parts["6.4"]
    assert "Nothing in the suites answers this. No circuit breaker" in parts["7.2"]


def answered(document: dict[str, Any]) -> set[str]:
    facts = Facts("x", tomllib.loads(to_toml(document)), "prague")
    return {criterion.number for criterion in CRITERIA if criterion.covers(facts)}


ALONE = {"5.1.3", "6.3", "7.1"}


@pytest.mark.parametrize(
    ("document", "numbers"),
    [
        (scenario("dualpi2", BULK), ALONE),
        (scenario("codel", BULK), ALONE | {"5.3.2"}),
        (scenario("cake bandwidth 50Mbit sce", BULK), ALONE),
        (scenario("pfifo", BULK), {"5.1.2", "5.1.3", "5.3.2", "6.1", "6.3"}),
        (scenario("dualpi2", {**BULK, "flows": 2}), ALONE | {"5.1.4"}),
        (scenario("dualpi2", BULK, {**BULK, "name": "back", "direction": "up"}), ALONE),
        (scenario("dualpi2", {**BULK, "app": "rrul_be", "flows": 2}), ALONE),
        (scenario("dualpi2", BULK, {**BULK, "name": "web", "app": "short load 4Mbit"}), ALONE | {"5.1.5"}),
        (scenario("dualpi2", BULK, {**CUBIC, "app": "short load 4Mbit"}), {"5.2.3", "7.1"}),
        (scenario("dualpi2", BULK, CUBIC), {"5.2.1", "7.1"}),
        (scenario("dualpi2", BULK, {"name": "call", "app": "voip"}), {"5.2.2", "7.1"}),
        (scenario("dualpi2", BULK, ingress=["netem loss 30%"]), {"5.1.1", "6.4"}),
        (scenario("dualpi2", BULK, reverse={"ingress": ["netem loss 30%"]}), {"6.4"}),
        (scenario("dualpi2", BULK, ingress=["netem delay 10ms 2ms"]), {"5.1.3", "6.4", "7.3"}),
        (scenario("dualpi2", BULK, ingress=["netem delay 10ms limit 10"]), ALONE),
        (scenario("dualpi2", BULK, ingress=["netem delay 2ms reorder 1%"]), {"5.1.3", "7.7"}),
        (scenario("dualpi2", BULK, ingress=["netem delay 2ms reorder 100% gap 2"]), {"5.1.3", "7.10"}),
        (scenario("dualpi2", BULK, ingress=["mangle set-tos 0x00"]), {"5.1.3", "5.3.2", "7.6"}),
        (scenario("dualpi2", BULK, rate="500kbit"), ALONE | {"7.4"}),
        (scenario("dualpi2", BULK, delay="300ms", reverse={"delay": "300ms"}), ALONE | {"7.5"}),
        (scenario("dualpi2", BULK, delay="0.2ms", reverse={"delay": "0.2ms"}), ALONE | {"7.11"}),
        ({**scenario("dualpi2", BULK), "tunnel": [{"name": "t"}]}, ALONE | {"6.2"}),
        ({**scenario("dualpi2", BULK), "schedule": [{"at": "1s", "set": {"link.b.rate": "5Mbit"}}]}, {"5.1.3", "7.8"}),
        (
            {**scenario("dualpi2", BULK), "schedule": [{"at": "1s", "set": {"link.b.delay": "5ms"}}]},
            {"5.1.3", "7.3", "7.9"},
        ),
    ],
)
def test_what_a_scenario_sets_up_decides_which_headings_it_answers(document: dict[str, Any], numbers: set[str]) -> None:
    assert answered(document) == numbers


def test_the_card_is_html_where_the_output_is(tmp_path: Path) -> None:
    run(tmp_path / "out", "one", scenario("codel", BULK), {"prague": 20.0})
    parts = card(tmp_path / "out", name="card.html")
    assert parts[""].startswith("<!doctype html>")
    assert '<meta name="viewport"' in parts[""], "as wide as a telephone is"
    assert '<a href="out/one/summary.json">one</a>' in parts["6.3"]


def test_a_scenario_that_is_none_is_one_line(tmp_path: Path) -> None:
    run(tmp_path / "out", "one", scenario("codel", BULK), {"prague": 20.0})
    run(tmp_path / "out", "odd", {**scenario("codel", BULK), "schedule": [{"at": "1s", "set": 3}]}, {"prague": 20.0})
    page = of_controller(tmp_path / "out", tmp_path, "prague")
    assert [line.split(":")[0] for line in page.errors] == ["odd"]
    assert "and 1 run in out" in page.lead
