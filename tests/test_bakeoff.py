"""The bakeoff suite has the published runs on the published chain."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import Any

import pytest

from sojourn import metrics, suites
from sojourn.suites import bakeoff

CASES = {case.id: case for case in bakeoff.cases()}


def document(name: str, variant: str = "as-intended") -> dict[str, Any]:
    (case,) = (case for case in bakeoff.cases(variant) if case.id == f"bakeoff/{name}")
    return tomllib.loads(case.toml)


def links(name: str, variant: str = "as-intended") -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in document(name, variant)["link"]}


def test_every_batch_has_the_published_number_of_runs() -> None:
    batches = Counter(name.split("/")[1] for name in CASES)
    assert batches == {
        f"{side}-s{number}-{flows}": 9 if flows == "oneflow" or (side, number) == ("sce", 4) else 12
        for side in ("l4s", "sce")
        for number in range(1, 7)
        for flows in ("oneflow", "twoflow")
    }
    assert len(CASES) == 249
    assert len(suites.suite("bakeoff")) == 249


@pytest.mark.parametrize("variant", bakeoff.VARIANTS)
def test_variants_have_the_same_ids_and_times(variant: str) -> None:
    for case, other in zip(CASES.values(), bakeoff.cases(variant), strict=True):
        assert (case.id, case.duration_s) == (other.id, other.duration_s) == (case.id, 70)


def test_every_run_crosses_the_four_machines_in_order() -> None:
    for case in CASES.values():
        assert [link["name"] for link in tomllib.loads(case.toml)["link"]] == ["m1", "m2", "m3", "m4"]


def test_the_delay_is_half_the_rtt_on_one_machine_in_both_directions() -> None:
    for name, case in CASES.items():
        rtt = int(name.rsplit("/", 1)[1].removesuffix("ms"))
        delayed = [link for link in tomllib.loads(case.toml)["link"] if "netem" in " ".join(link.get("ingress", []))]
        assert len(delayed) == 1
        assert delayed[0]["ingress"] == [f"netem delay {rtt // 2}ms limit 1000000"]
        assert "reverse" not in delayed[0], "the way back inherits it"


# Where each queue stands: aqm.md 1.1, suites.md 1.3.
@pytest.mark.parametrize(
    ("batch", "queues", "delay"),
    [
        ("l4s-s1", {"m3": ("50Mbit", "dualpi2 version 2019")}, "m3"),
        ("sce-s1", {"m2": (None, "cake bandwidth 50Mbit sce flowblind besteffort")}, "m2"),
        ("l4s-s2", {"m2": ("50Mbit", "fq_codel"), "m3": (None, "dualpi2 version 2019")}, "m2"),
        ("sce-s2", {"m1": ("50Mbit", "fq_codel"), "m2": (None, "cake sce flows besteffort")}, "m1"),
        ("l4s-s3", {"m2": ("50Mbit", "fq_codel flows 1"), "m3": (None, "dualpi2 version 2019")}, "m2"),
        ("sce-s3", {"m1": ("50Mbit", "fq_codel flows 1"), "m2": (None, "cake sce flows besteffort")}, "m1"),
        ("l4s-s4", {"m3": ("50Mbit", "dualpi2 version 2019")}, "m3"),
        ("sce-s4", {"m2": (None, "cake bandwidth 50Mbit sce flows besteffort")}, "m2"),
        (
            "l4s-s5",
            {
                "m1": ("100Mbit", "dualpi2 version 2019"),
                "m2": ("50Mbit", "pfifo_fast"),
                "m4": ("47.5Mbit", "fq_codel"),
            },
            "m2",
        ),
        (
            "sce-s5",
            {
                "m2": (None, "cake bandwidth 100Mbit sce flows besteffort"),
                "m3": ("50Mbit", "pfifo_fast"),
                "m4": ("47.5Mbit", "fq_codel"),
            },
            "m3",
        ),
        ("l4s-s6", {"m3": ("52.5Mbit", "pfifo_fast"), "m4": ("50Mbit", "fq_codel")}, "m1"),
        ("sce-s6", {"m3": ("52.5Mbit", "pfifo_fast"), "m4": ("50Mbit", "fq_codel")}, "m1"),
    ],
)
def test_queues_stand_where_they_stood(batch: str, queues: dict[str, tuple[str | None, str]], delay: str) -> None:
    chain = links(f"{batch}-oneflow/cubic/80ms")
    for name, link in chain.items():
        rate, qdisc = queues.get(name, (None, "pfifo_fast"))
        assert (link.get("shaper"), link["rate"]) == (("htb", rate) if rate else (None, "10Gbit"))
        assert link["qdisc"] == qdisc
        assert ("netem" in " ".join(link.get("ingress", []))) == (name == delay)


def test_the_mangler_is_in_front_of_the_queue_and_towards_the_receiver_only() -> None:
    for side, node in (("l4s", "m2"), ("sce", "m1")):
        one = links(f"{side}-s4-oneflow/cubic/80ms")[node]
        assert one["ingress"] == ["mangle proto tcp non-syn set-tos 0x01"]
        assert one["reverse"] == {"ingress": []}
        two = links(f"{side}-s4-twoflow/cubic-vs-cubic-gamed/80ms")[node]
        assert two["ingress"] == ["mangle proto tcp non-syn dscp 1 set-tos 0x01"]


def test_two_flows_and_three_pings() -> None:
    run = document("l4s-s4-twoflow/prague-vs-cubic-gamed/10ms")
    assert [(f["name"], f["cc"], f["start"], f["stop"], f.get("tos")) for f in run["flow"]] == [
        ("prague", "prague version p1", "5s", "65s", None),
        ("cubic-gamed", "cubic", "15s", "65s", "0x04"),
    ]
    assert [(p["name"], p.get("tos", 0)) for p in run["ping"]] == [("ping", 0), ("ping-tos0", 0), ("ping-tos1", 1)]
    assert [p["name"] for p in document("l4s-s1-oneflow/cubic/0ms")["ping"]] == ["ping"]
    same = document("sce-s1-twoflow/reno-sce-vs-reno-sce/10ms")
    assert [f["name"] for f in same["flow"]] == ["reno-sce-1", "reno-sce-2"]


def test_ends_are_those_of_their_architecture() -> None:
    assert document("l4s-s1-oneflow/cubic/0ms")["tcp"] == {"era": "2019", "ecn": "accecn", "gso": True, "gro": True}
    sce = document("sce-s1-oneflow/cubic/0ms")["tcp"]
    pacing = {"pacing_ss_ratio": 100, "pacing_ca_ratio": 40}
    assert sce == {"era": "2019", "ecn": "sce", **pacing, "gso": True, "gro": True}
    for variant in bakeoff.VARIANTS:
        ends = [tomllib.loads(case.toml)["tcp"] for case in bakeoff.cases(variant)]
        assert sorted(end["ecn"] for end in ends).count("sce") == 123
        paced = {"pacing": True} if variant == "paced" else {}
        assert {json.dumps(end) for end in ends} == {json.dumps(end) for end in (ends[0], {**sce, **paced})}


def test_the_published_defects_are_a_variant() -> None:
    assert links("sce-s5-oneflow/cubic/0ms", "as-published")["m2"]["qdisc"] == "pfifo_fast"
    gamed = "sce-s4-twoflow/reno-sce-vs-reno-sce-gamed/0ms"
    assert [f["cc"] for f in document(gamed, "as-published")["flow"]] == ["reno", "reno-sce version v2"]
    assert [f["cc"] for f in document(gamed)["flow"]] == ["reno-sce version v2"] * 2
    assert [p["name"] for p in document(gamed, "as-published")["ping"]] == ["ping", "ping-tos1"]
    moved = [a.id for a, b in zip(CASES.values(), bakeoff.cases("as-published"), strict=True) if a.toml != b.toml]
    assert all("twoflow" in name or "sce-s5" in name for name in moved)


def test_p0_changes_prague_alone() -> None:
    for case, other in zip(CASES.values(), bakeoff.cases("p0"), strict=True):
        assert case.toml.replace("version p1", "version p0") == other.toml


def test_the_modules_arithmetic_is_the_sce_controllers_alone() -> None:
    for case, other in zip(CASES.values(), bakeoff.cases("module"), strict=True):
        assert re.sub(r"(-sce version v2)\b", r"\1 mode literal ce documented", case.toml) == other.toml


def test_ids_tell_rate_and_rtt() -> None:
    assert metrics.link_mbps("bakeoff/sce-s5-oneflow/cubic/80ms") == 47.5
    assert metrics.link_mbps("bakeoff/sce-s6-oneflow/cubic/80ms") == 50
    assert metrics.path_rtt_ms("bakeoff/sce-s6-oneflow/cubic/80ms~p0@seed2") == 80
