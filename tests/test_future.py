"""The suite future asks every question of its list, of all sides, in scenarios that resolve."""

from __future__ import annotations

import tomllib
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import _core, conditions, fidelity, suites
from sojourn.report import answers, sections
from sojourn.suites import future
from synthetic import Made

if TYPE_CHECKING:
    from pathlib import Path

CASES = {case.id: case for case in future.cases()}


def document(name: str) -> dict[str, Any]:
    return tomllib.loads(CASES[f"future/{name}"].toml)


def test_every_scenario_has_its_runs() -> None:
    assert Counter(name.split("/")[1].split("-", 1)[1] for name in CASES) == {
        "slots": 7,
        "cnq": 12,
        "alpha": 8,
        "two-classic": 6,
        "capacity": 6,
        "rtt-step": 3,
        "bidirectional": 6,
        "asymmetric": 6,
        "pie-red": 12,
        "shift": 6,
        "many": 5,
        "loss": 6,
        "reorder": 6,
        "bandwidth": 6,
        "rtt": 6,
        "multipath": 6,
        "asymmetric-delay": 9,
        "mangler": 4,
        "fq-harm": 14,
    }
    assert len(suites.suite("future")) == len(CASES) == 134
    assert list(dict.fromkeys(name.split("/")[1].split("-", 1)[1] for name in CASES)) == list(future.SCENARIOS)


def test_every_question_but_alpha_is_asked_of_all_sides() -> None:
    for scenario in future.SCENARIOS:
        sides = {side for side in future.SIDES if any(name.startswith(f"future/{side}-{scenario}/") for name in CASES)}
        assert sides == ({"l4s"} if scenario == "alpha" else {"l4s", "sce", "classic"}), scenario


@pytest.mark.parametrize("name", CASES)
def test_every_case_resolves_and_its_window_ends_with_it(name: str) -> None:
    case = CASES[name]
    resolved, warnings = _core.resolve(case.toml, name, [])
    run = tomllib.loads(resolved)
    assert not warnings
    assert run["name"] == name
    assert run["duration"] == f"{case.duration_s:g}s"
    assert case.question == future.SCENARIOS[name.split("/")[1].split("-", 1)[1]][1]
    window = tomllib.loads(case.toml)["measure"]
    start, end = (int(window[key].removesuffix("s")) for key in ("from", "to"))
    assert 0 <= start < end <= case.duration_s


def test_sides_differ_in_controller_queue_and_feedback() -> None:
    for side, cc, qdisc, rate in (
        ("l4s", "prague", "dualpi2", "50Mbit"),
        ("sce", "reno-sce", "cnq_cobalt bandwidth 50Mbit sce-thresh 4", None),
        ("classic", "cubic", "fq_codel", "50Mbit"),
    ):
        run = document(f"{side}-rtt/1ms")
        (link,), (flow,) = run["link"], run["flow"]
        assert (flow["cc"], link["qdisc"], link.get("rate"), link["delay"]) == (cc, qdisc, rate, "500us")
        assert flow.get("tcp") == ({"ecn": "rfc3168"} if cc == "cubic" else None)
        assert run["tcp"]["era"] == "7.x"


def test_capacity_steps_change_the_shaper_that_the_side_has() -> None:
    assert [c["set"] for c in document("l4s-capacity/down-up/80ms")["schedule"]] == [
        {"link.bneck.forward.rate": "10Mbit"},
        {"link.bneck.forward.rate": "50Mbit"},
    ]
    assert [c["set"] for c in document("sce-capacity/down-up/80ms")["schedule"]] == [
        {"link.bneck.forward.qdisc": f"cnq_cobalt bandwidth {rate}Mbit sce-thresh 4"} for rate in (10, 50)
    ]


def test_impairments_meet_the_data_alone() -> None:
    for name in ("l4s-loss/1-percent/20ms", "sce-multipath/plus-5/20ms", "classic-slots/wifi/80ms"):
        (link,) = document(name)["link"]
        assert len(link["ingress"]) == 1
        assert link["reverse"] == {"ingress": []}


def test_a_section_has_three_sides_and_its_heading() -> None:
    key = "future/capacity"
    section = sections.Section(
        key, [sections.Run(name, Made(name, {}), None, None) for name in CASES if "-capacity/" in name]
    )
    assert section.sides == ["L4S", "SCE", "classic"]
    assert (section.heading, section.question) == future.SCENARIOS["capacity"]
    assert [(name, [len(column) for column in columns]) for name, columns in section.rows()] == [
        ("down-up/80ms", [1, 1, 1]),
        ("up-down/80ms", [1, 1, 1]),
    ]


def test_alpha_is_told_start_by_start() -> None:
    runs = [sections.Run(name, Made(name, {}), Summary(name), None) for name in CASES if "-alpha/" in name]  # type: ignore[arg-type]
    section = sections.Section("future/alpha", runs)
    assert not section.sides
    (said, *_) = answers.answers(section, ("a", "b"))
    assert said.startswith("Goodput in Mbit/s: alone/alpha-0/80ms 10.0; alone/alpha-1/80ms 10.0; ")
    assert "Share of the goodput that the flows beside CUBIC get, in %: beside-cubic/alpha-0/20ms 50.0; " in said


class Summary:
    """Of a run all of whose flows have 10 Mbit/s."""

    ratio = None

    def __init__(self, name: str) -> None:
        flows = tomllib.loads(CASES[name].toml)["flow"]
        self.flows = [SimpleNamespace(name=flow["name"], goodput_mbps=10.0, tcp_rtt_ms=None) for flow in flows]


LINK = """
name = "x"
duration = "10s"
flow = [{{ name = "f", cc = "cubic" }}]
[[link]]
name = "a"
rate = "{rate}"
delay = "5ms"
qdisc = "{qdisc}"
"""
STEP = """
[[schedule]]
at = "{at}"
set = {{ "link.a.{what}" = "{value}" }}
"""


@pytest.mark.engine
def test_flow_queueing_delays_a_frame_by_the_turns_of_the_others_and_not_a_call(tmp_path: Path) -> None:
    rows = fidelity.select(["B38/frame", "B38/call"])
    frame, call = fidelity.judge(rows, fidelity.simulate(rows, seeds=1, out=tmp_path))
    # Linux 7.2: 2.50 and 0.017.
    assert frame.ours == pytest.approx(2.5, rel=0.05)
    assert call.ours == pytest.approx(0.017, rel=0.1)


def test_capacity_follows_the_schedule_over_the_window() -> None:
    plain = conditions.of_scenario(text := LINK.format(rate="10Mbit", qdisc="pfifo"))
    assert (plain.capacity, plain.base_rtts_ms, plain.bottlenecks) == (((0.0, 10.0),), (10.0,), ("a",))
    up = conditions.of_scenario(text + STEP.format(at="4s", what="forward.rate", value="50Mbit"))
    assert up.capacity == ((0.0, 10.0), (4.0, 50.0))
    assert up.mean_mbps((0, 10)) == pytest.approx((4 * 10 + 6 * 50) / 10)
    assert up.mean_mbps((5, 10)) == pytest.approx(50)
    back = conditions.of_scenario(text + STEP.format(at="4s", what="reverse.rate", value="1Mbit"))
    assert back == plain
    shaped = LINK.format(rate="none", qdisc="cake bandwidth 20Mbit sce")
    assert conditions.of_scenario(shaped).queue_shapes
    down = shaped + STEP.format(at="2500ms", what="qdisc", value="cake bandwidth 500kbit sce")
    assert conditions.of_scenario(down).mean_mbps((0, 10)) == pytest.approx((2.5 * 20 + 7.5 * 0.5) / 10)
    assert conditions.of_scenario(LINK.format(rate="none", qdisc="pfifo")).mean_mbps((0, 10)) is None
