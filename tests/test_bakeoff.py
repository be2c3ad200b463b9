"""The bakeoff suite has the published runs on the published chain."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import sojourn
from sojourn import conditions, fidelity, metrics, suites
from sojourn.fidelity import measures
from sojourn.suites import bakeoff
from synthetic import Made

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.metrics import FloatArray

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


# Where each queue is: the batch files of the bakeoff (heistp/sce-l4s-bakeoff).
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


def test_the_case_of_a_run_tells_rate_and_rtt() -> None:
    five, six = (Made(f"bakeoff/sce-s{number}-oneflow/cubic/80ms~p0@seed2", {}) for number in (5, 6))
    assert conditions.of(five).rate_mbps == 47.5
    assert conditions.of(six).rate_mbps == 50
    assert conditions.of(six).base_rtts_ms == (80.3,)
    assert conditions.role(six).rtt_ms == 80


def judged(out: Path, *keys: str) -> dict[str, fidelity.Result]:
    rows = fidelity.select(keys)
    return {result.row.key: result for result in fidelity.judge(rows, fidelity.simulate(rows, seeds=1, out=out))}


@pytest.mark.engine
def test_two_segments_per_rtt_are_what_sce_on_every_packet_leaves_and_pacing_less_than_eight_tenths(
    tmp_path: Path,
) -> None:
    assert judged(tmp_path, "X8/80ms-reno-sce")["X8/80ms-reno-sce"].verdict == "pass"
    paced = sojourn.run([r"^bakeoff/sce-s4-oneflow/reno-sce/80ms$"], out=tmp_path, variant="paced").runs
    (source,) = paced.values()
    # Linux 7.2 with a clamp of two segments and 40 %: 0.052.
    assert metrics.goodput(source, "reno-sce", (40.0, 64.0)) == pytest.approx(0.05, abs=0.01)


@pytest.mark.engine
def test_reno_sce_converges_as_published_with_its_module_s_arithmetic(tmp_path: Path) -> None:
    both = judged(tmp_path, "B9/80ms", "B9/80ms-module")
    assert both["B9/80ms"].ours == measures.NEVER_S
    assert both["B9/80ms-module"].verdict == "pass"


@pytest.mark.engine
def test_stray_losses_make_reno_sce_fair_at_80_ms_alone(tmp_path: Path) -> None:
    found = judged(tmp_path, "B7")
    share = {key: result.ours or 0.0 for key, result in found.items()}
    assert share["B7/80ms-stray"] > 3 * share["B7/80ms"]
    assert share["B7/10ms-stray"] < 0.15


@pytest.mark.engine
def test_a_mark_and_not_hystart_ends_cubic_s_slow_start_over_cake(tmp_path: Path) -> None:
    def window(side: str, variant: str | None) -> FloatArray:
        overrides = fidelity.VARIANTS[variant] if variant else None
        target = f"^bakeoff/{side}-s1-twoflow/cubic-vs-cubic/80ms$"
        (source,) = sojourn.run([target], overrides, out=tmp_path, variant=variant).runs.values()
        return metrics.inside(source, "flow.cubic-1.cwnd", (5.0, 15.0))

    cake = window("sce", None)
    assert (cake == window("sce", "no-hystart")).all()
    # As Linux 7.2: 108 segments, and 0.7 of 120 after the reduction.
    assert {108, 84} <= set(cake[:30].tolist())
    dualpi2 = window("l4s", None)
    assert dualpi2.max() < window("l4s", "no-hystart").max() - 100


@pytest.mark.engine
def test_reordered_acks_make_accecn_believe_in_marks_that_nobody_set(tmp_path: Path) -> None:
    target = "^bakeoff/l4s-s2-oneflow/cubic/80ms$"
    jitter = {"link.m2.ingress": '["netem delay 40ms 1ms limit 1000000"]'}
    (safe,) = sojourn.run([target], jitter, out=tmp_path, variant="safe").runs.values()
    unsafe = {**jitter, "tcp.ecn_unsafe_cep": "true"}
    (plain,) = sojourn.run([target], unsafe, out=tmp_path, variant="plain").runs.values()
    (believes,), (other,) = safe.summary["flows"], plain.summary["flows"]
    assert (believes["receiver"]["ce_received"], believes["sender"]["ce_reported"] > 100) == (0, True)
    assert believes["goodput_mbps"] < 15
    assert other["goodput_mbps"] > 40


@pytest.mark.engine
def test_reno_sce_s_spike_at_the_start_is_longer_for_what_it_keeps_at_ce(tmp_path: Path) -> None:
    def spike(overrides: dict[str, str] | None, variant: str | None) -> float:
        target = "^bakeoff/sce-s2-oneflow/reno-sce/80ms$"
        (source,) = sojourn.run([target], overrides, out=tmp_path, variant=variant).runs.values()
        return measures.spike(("reno-sce",), 15, (5.0, 25.0))(source) or 0.0

    # Linux 7.2 over fq_codel: 0.65 and 0.90 s.
    half = spike({"flow.reno-sce.cc": "reno"}, "half")
    seven_tenths = spike({"flow.reno-sce.cc": "cubic nohystart"}, "seven-tenths")
    assert half == pytest.approx(0.65, abs=0.06)
    assert seven_tenths == pytest.approx(0.9, abs=0.06)
    assert spike(None, None) > seven_tenths
