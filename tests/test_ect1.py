"""The ect1 suite has the published runs, in Flent's time."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import sojourn
from sojourn.suites import ect1

CASES = {case.id: case for case in ect1.cases()}
FILES = Path(os.environ.get("SOJOURN_REFERENCE", "../shared/reference")) / "ect1" / "flent"


def test_every_scenario_has_the_published_number_of_runs() -> None:
    scenarios = Counter(name.split("/")[1] for name in CASES)
    assert scenarios == {
        "l4s-s1-oneflow": 9,
        "l4s-s2-twoflow": 39,
        "l4s-s3-bottleneck-shift": 2,
        "l4s-s4-capacity-reduction": 4,
        "l4s-s5-burstiness": 2,
        "l4s-s6-jitter": 3,
        "sce-s1-oneflow": 9,
        "sce-s2-twoflow": 42,
        "sce-s3-bottleneck-shift": 2,
        "sce-s4-capacity-reduction": 4,
        "sce-s5-burstiness": 4,
        "sce-s6-jitter": 3,
    }
    assert len(CASES) == 123


def test_lengths_sum_to_the_published_ones() -> None:
    def lengths(scenario: str) -> float:
        return sum(case.duration_s - 10 for name, case in CASES.items() if scenario in name)

    for half, queues, bursty in (("l4s", 12, 1), ("sce", 13, 2)):
        assert lengths(f"{half}-s1-") == 3 * (30 + 60 + 150)
        assert lengths(f"{half}-s2-") == queues * (40 + 60 + 180) + 3 * 180
        assert lengths(f"{half}-s3-") == 60 + 180
        assert lengths(f"{half}-s4-") == 2 * (60 + 120)
        assert lengths(f"{half}-s5-") == bursty * 2 * 60
        assert lengths(f"{half}-s6-") == 3 * 60
    assert lengths("") == 11_440


def test_two_flows_meet_in_flent_time() -> None:
    case = CASES["ect1/l4s-s2-twoflow/cubic-vs-prague/codel1q-20ms/80ms"]
    assert case.reference == "l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-80ms"
    document = tomllib.loads(case.toml)
    assert document["name"] == case.id
    assert document["duration"] == "70s"
    assert document["measure"] == {"from": "25s", "to": "64s"}
    assert [(f["name"], f["start"], f["stop"]) for f in document["flow"]] == [
        ("cubic", "5s", "65s"),
        ("prague", "15s", "65s"),
    ]
    (link,) = document["link"]
    assert link["qdisc"] == "fq_codel flows 1 target 1ms interval 20ms ecn"
    assert link["ingress"] == ["netem delay 40ms limit 1000000"]


def test_one_flow_is_measured_after_ten_seconds() -> None:
    document = tomllib.loads(CASES["ect1/l4s-s1-oneflow/prague/dualpi2/250Mbit/20ms"].toml)
    assert document["measure"] == {"from": "15s", "to": "34s"}
    assert document["link"][0]["rate"] == "250Mbit"


def test_changes_come_when_the_published_ones_show() -> None:
    document = tomllib.loads(CASES["ect1/l4s-s4-capacity-reduction/prague/50Mbit/5mbit/80ms"].toml)
    assert document["schedule"] == [
        {"at": "39.72s", "set": {"link.bneck.rate": "5Mbit"}},
        {"at": "79.72s", "set": {"link.bneck.rate": "50Mbit"}},
    ]
    document = tomllib.loads(CASES["ect1/l4s-s3-bottleneck-shift/prague/50Mbit/20ms"].toml)
    assert [change["at"] for change in document["schedule"]] == ["19.72s", "39.72s"]
    assert document["schedule"][0]["replace"] == {"link.bneck.qdisc": "pie version 5.4 noecn"}


def test_impairments_follow_the_delay_in_both_directions() -> None:
    document = tomllib.loads(CASES["ect1/l4s-s5-burstiness/prague/dualpi2/50Mbit/20ms"].toml)
    (link,) = document["link"]
    assert link["ingress"] == [
        "netem delay 10ms limit 1000000",
        "netem delay 200us slot 800us 10ms packets 42 limit 512",
    ]
    assert "reverse" not in link


def test_the_variant_changes_prague_alone() -> None:
    for case, other in zip(ect1.cases(), ect1.cases("p2a"), strict=True):
        assert case.id == other.id
        assert case.toml.replace("version p2b", "version p2a") == other.toml
        assert (other.toml != case.toml) == ("/l4s-" in case.id)


def test_the_l4s_half_has_measurements() -> None:
    for case in CASES.values():
        assert (case.reference is None) == ("/sce-" in case.id)


def test_sce_queues_shape_themselves_and_classic_ones_stand_behind_htb() -> None:
    own = tomllib.loads(CASES["ect1/sce-s2-twoflow/cubic-vs-cubic-sce/lfq_cobalt/20ms"].toml)
    assert "shaper" not in own["link"][0]
    assert own["link"][0]["qdisc"] == "lfq_cobalt bandwidth 50Mbit sce-thresh 8"
    classic = tomllib.loads(CASES["ect1/sce-s2-twoflow/cubic-vs-cubic-sce/codel1q/20ms"].toml)
    assert (classic["link"][0]["shaper"], classic["link"][0]["rate"]) == ("htb", "50Mbit")
    assert own["tcp"] == classic["tcp"] == {"era": "2020", "ecn": "sce", "tsq_netem": True, "max_tcp_header": 208}


def test_header_prediction_is_that_of_the_l4s_half() -> None:
    for name, case in CASES.items():
        assert tomllib.loads(case.toml)["tcp"].get("ace_prediction", False) == ("/l4s-" in name)


def test_the_low_latency_class_is_asked_for_at_20_ms_only() -> None:
    for name, case in CASES.items():
        marks = [flow.get("tos") for flow in tomllib.loads(case.toml)["flow"]]
        low = name.startswith(("ect1/sce-s1-", "ect1/sce-s2-")) and name.endswith("/20ms")
        assert marks[-1] == ("0x10" if low else None), name
        assert marks[:-1] == [None] * (len(marks) - 1)


def test_sce_capacity_changes_the_queue_and_the_shift_replaces_it() -> None:
    step = tomllib.loads(CASES["ect1/sce-s4-capacity-reduction/reno-sce/50Mbit/40mbit/20ms"].toml)
    assert step["schedule"][0]["set"] == {"link.bneck.qdisc": "twin_codel_af bandwidth 40Mbit sce-thresh 4"}
    shift = tomllib.loads(CASES["ect1/sce-s3-bottleneck-shift/cubic-sce/50Mbit/80ms"].toml)
    assert [change["replace"]["link.bneck.qdisc"].split()[0] for change in shift["schedule"]] == ["htb", "cake"]


@pytest.mark.skipif(not FILES.is_dir(), reason=f"no measured files in {FILES} (SOJOURN_REFERENCE)")
def test_references_are_the_measured_files() -> None:
    measured = {f.name.removesuffix(".flent.gz") for f in FILES.glob("*.flent.gz")}
    # Those at 160 ms are in the public repository.
    ours = {case.reference for case in CASES.values() if case.reference and not case.reference.endswith("-160ms")}
    assert ours == measured


@pytest.mark.engine
def test_a_false_positive_starves_a_prague_flow_beside_one_that_does_not_look(tmp_path: Path) -> None:
    (run,) = sojourn.run([Path(__file__).parents[1] / "scenarios/false-positive.toml"], out=tmp_path).runs.values()
    affected, unaffected = run.summary["flows"]
    assert affected["classic_detection"]["share"] == 1
    assert affected["goodput_mbps"] < 0.3 * unaffected["goodput_mbps"]
