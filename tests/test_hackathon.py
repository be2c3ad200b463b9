"""The hackathon suite has what the deck names, and AccECN and SCE share an SCE queue without a common bit."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sojourn
from sojourn import _core, suites
from sojourn.report import answers, sections
from sojourn.suites import hackathon
from sojourn.suites.ect1 import WIFI_SLOTS
from synthetic import Made

CASES = {case.id: case for case in hackathon.cases()}


def document(name: str) -> dict[str, Any]:
    return tomllib.loads(CASES[f"hackathon/{name.removeprefix('hackathon/')}"].toml)


def test_every_scenario_has_its_runs() -> None:
    assert Counter(name.split("/")[1] for name in CASES) == {
        "bursty-link": 6,
        "competition": 4,
        "accecn": 9,
        "pacing": 12,
        "gso": 4,
        "fq-codel-sce": 12,
        "ecn-plus-plus": 12,
        "asymmetric": 4,
    }
    assert len(suites.suite("hackathon")) == len(CASES) == 63
    assert {name.split("/")[1] for name in CASES} == set(hackathon.SCENARIOS)


@pytest.mark.parametrize("name", CASES)
def test_every_case_resolves_and_asks_its_scenario_s_question(name: str) -> None:
    case = CASES[name]
    resolved, warnings = _core.resolve(case.toml, name, [])
    # A sender that no longer paces is what `stopped` is about.
    assert bool(warnings) == ("/pacing/stopped/" in name)
    assert tomllib.loads(resolved)["name"] == name
    assert case.question == hackathon.SCENARIOS[name.split("/")[1]][1]


def test_bursts_meet_a_threshold_a_ramp_and_a_second_codel() -> None:
    for marker, qdisc, rate in (
        ("threshold", "brickwall", "50Mbit"),
        ("ramp", "cake", None),
        ("cobalt2", "cnq_cobalt", None),
    ):
        for path, netem in hackathon.BURSTY.items():
            (link,) = document(f"bursty-link/{marker}/{path}/80ms")["link"]
            assert link["qdisc"].split()[0] == qdisc
            assert link.get("rate") == rate, "the others shape themselves"
            assert link["ingress"] == ["netem delay 40ms limit 1000000", netem]


def test_feedback_is_that_of_each_flow() -> None:
    def feedback(name: str) -> list[str]:
        run = document(name)
        return [flow.get("tcp", run["tcp"])["ecn"] for flow in run["flow"]]

    for queue in ("sce-1q", "fq", "cnq"):
        assert feedback(f"competition/cubic-vs-reno-sce/{queue}/10ms") == ["sce", "sce"]
        assert feedback(f"accecn/cubic-vs-reno-sce/{queue}/10ms") == ["accecn", "sce"]
        assert feedback(f"accecn/prague-vs-reno-sce/{queue}/10ms") == ["accecn", "sce"]
        assert feedback(f"accecn/cubic-vs-reno-sce-over-accecn/{queue}/10ms") == ["accecn", "accecn"]


def test_a_section_compares_its_runs_in_one_sentence() -> None:
    for key, told in (
        ("hackathon/bursty-link", "Goodput in Mbit/s: "),
        ("hackathon/accecn", "Share of the goodput that the flows beside CUBIC or Prague get, in %: "),
    ):
        section = sections.Section(key, [_run(name) for name in CASES if name.startswith(f"{key}/")])
        assert (section.heading, section.question) == hackathon.SCENARIOS[key.split("/")[1]]
        assert not section.sides
        answer = answers.answers(section, ("a", "b"))[0]
        assert answer.startswith(told)
        assert answer.count(";") == len(section.runs) - 1


def _run(name: str) -> sections.Run:
    flows = [SimpleNamespace(name=flow["name"], goodput_mbps=12.0, tcp_rtt_ms=None) for flow in document(name)["flow"]]
    return sections.Run(name, Made(name, {}), SimpleNamespace(flows=flows, ratio=None), None)  # type: ignore[arg-type]


@pytest.mark.engine
def test_ace_counts_ce_and_esce_counts_sce_over_the_same_queue(tmp_path: Path) -> None:
    done = sojourn.run([r"^hackathon/accecn/cubic-vs-.*/sce-1q/10ms$"], out=tmp_path)

    def ends(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        source = done.runs[f"hackathon/accecn/{name}/sce-1q/10ms"]
        assert sum(queue["marks"].get("sce", 0) for queue in source.queues) > 100_000
        first, second = source.summary["flows"]
        return {**first["receiver"], **first["sender"]}, {**second["receiver"], **second["sender"]}

    cubic, reno = ends("cubic-vs-reno-sce")
    assert 0 < cubic["ce_reported"] == cubic["ce_received"] < 0.01 * cubic["segments_received"]
    assert "sce_reported" not in cubic, "AE is a bit of ACE"
    # draft-grimes-tcpm-tcpsce: the bytes under ESCE are those marked, but for one ACK at each edge.
    assert reno["sce_reported"] == pytest.approx(reno["sce_received"], rel=0.01)
    assert reno["sce_reported"] > 0.3 * reno["segments_received"]
    cubic, deaf = ends("cubic-vs-reno-sce-over-accecn")
    assert 0 < deaf["ce_reported"] == deaf["ce_received"]
    assert "sce_reported" not in deaf
    assert deaf["segments_received"] > cubic["segments_received"] > 0, "an SCE flow that hears CE alone, as ABE does"


@pytest.mark.engine
def test_slots_cost_a_threshold_the_link_and_jitter_and_codel_do_not(tmp_path: Path) -> None:
    done = sojourn.run([Path(__file__).parents[1] / "scenarios/bursty-link.toml"], out=tmp_path)
    goodput = {tuple(run.swept.values()): run.summary["flows"][0]["goodput_mbps"] for run in done.runs.values()}
    codel, threshold = "codel", "codel ce_threshold 2500us"
    jitter, slots = "netem delay 10ms 5ms 10%", WIFI_SLOTS
    for controller in ("cubic", "dctcp"):
        # Linux 7.2: 2.5 and 4.0 behind slots, 28 and 38 behind jitter, 43 and 38 with CoDel.
        assert goodput[threshold, slots, controller] < 5
        assert goodput[threshold, jitter, controller] > 25
        assert goodput[codel, slots, controller] > 35
