"""The ect1 suite has the published runs, in Flent's time."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

from sojourn.suites import ect1

CASES = {case.id: case for case in ect1.cases()}
FILES = Path(os.environ.get("SOJOURN_REFERENCE", "../shared/reference")) / "ect1" / "flent"


def test_there_are_9_runs_alone_and_18_together() -> None:
    assert len(CASES) == 27
    assert sum("/l4s-s1-oneflow/" in name for name in CASES) == 9
    assert sum("/l4s-s2-twoflow/" in name for name in CASES) == 18


def test_lengths_sum_to_the_published_ones() -> None:
    lengths = sum(case.duration_s - 10 for case in CASES.values())
    assert lengths == 3 * (30 + 60 + 150) + 6 * (40 + 60 + 180)


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


def test_the_variant_changes_prague_alone() -> None:
    for case, other in zip(ect1.cases(), ect1.cases("p2a"), strict=True):
        assert case.id == other.id
        assert case.toml.replace("version p2b", "version p2a") == other.toml != case.toml


def test_longest_paths_have_no_measurement() -> None:
    for case in CASES.values():
        assert (case.reference is None) == case.id.endswith("/160ms")


@pytest.mark.skipif(not FILES.is_dir(), reason=f"no measured files in {FILES} (SOJOURN_REFERENCE)")
def test_references_are_the_measured_files() -> None:
    measured = {f.name.removesuffix(".flent.gz") for f in FILES.glob("*.flent.gz")}
    built = re.compile(r"l4s-s1-.*|l4s-s2-.*-(dualpi2|pfifo_.*|codel1q.*)-\d+ms")
    ours = {case.reference for case in CASES.values() if case.reference}
    assert ours == {name for name in measured if built.fullmatch(name)}
