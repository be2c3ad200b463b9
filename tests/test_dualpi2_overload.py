"""The suite dualpi2-overload: its runs, the published numbers beside them, and what a few of them show."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import fidelity, metrics, reference, suites
from sojourn.fidelity import dualpi2_overload as judged
from sojourn.running import run
from sojourn.suites import dualpi2_overload as suite

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.metrics import Source

CASES = {case.id: case for case in suite.cases()}


def one(name: str) -> Source:
    """The run of this name."""
    (done,) = run(f"^{re.escape(name)}$").runs.values()
    return done


def test_every_mix_load_and_protection_is_there_once_and_was_measured() -> None:
    assert len(CASES) == 7 * 5 * 3
    assert set(CASES) == {name for name in reference.shipped() if name.startswith("dualpi2-overload/")}
    for run_id in CASES:
        flows = [flow.name for flow in reference.shipped()[run_id].summary.flows]
        _, mix, _ = suite.parts_of(run_id)
        assert flows == ["prague", "cubic", *mix]
        assert suite.name_of(*suite.parts_of(run_id)) == run_id


def test_udp_is_paced_as_fq_counts_it() -> None:
    name = suite.name_of(10, ("udp", "udp-ect1"), 50)
    summary = reference.shipped()[name].summary
    done = one(name)
    for flow in ("udp", "udp-ect1"):
        measured = next(one.goodput_mbps for one in summary.flows if one.name == flow)
        assert measured is not None
        assert metrics.goodput(done, flow, suite.WINDOW_S) == pytest.approx(measured, rel=0.01)


def test_unresponsive_packets_in_the_l_queue_wait_as_long_as_classic_ones_under_overload() -> None:
    # Measured: 15.2 ms of Prague, 1.1 of CUBIC; without overload 0.2 and 15 ms.
    done = one(suite.name_of(10, ("udp-ect1",), 100))
    low, classic = (metrics.sojourn(done, "bneck", side=side) for side in ("L", "C"))
    assert low is not None
    assert classic is not None
    assert 14 < low["mean"] < 16
    assert classic["mean"] < 2


def test_rows_are_of_what_was_measured_and_is_not_trivial() -> None:
    rows = [row for row in fidelity.ROWS if row.id[0] == "O"]
    assert Counter(row.id for row in rows) == {"O1": 126, "O2": 90, "O3": 88, "O4": 88}
    assert len({row.key for row in rows}) == len(rows)
    for row in rows:
        assert isinstance(row.expected, float)
        assert row.tolerance is not None
        assert row.tolerance.admits(row.expected)
        if row.id == "O1":
            assert row.expected >= judged.LEAST_MBPS


def published(folder: Path, stem: str, number: int, of: str, bits: float, waits_us: list[int]) -> None:
    """Files of one receiver as iperf3 and the queue's reader write them."""
    each = {"start": 0.0, "end": 0.0, "seconds": 0.1, "bytes": int(bits / 80)}
    intervals = [{"streams": [each | {"start": n / 10, "end": (n + 1) / 10}]} for n in range(200)]
    (folder / f"iperf_s{number}_{stem}{of}.json").write_text(json.dumps({"intervals": intervals}))
    results: list[dict[str, Any]] = [
        {"ts-us": str(1_000_000 + 20_000_000 * n // len(waits_us)), "delay-us": wait} for n, wait in enumerate(waits_us)
    ]
    (folder / f"qdelay_s{number}_{stem}.qdelay").write_text(json.dumps({"results": results}))


def test_the_shipped_file_is_made_from_the_published_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = suites.find(suite.name_of(25, ("udp-ect1",), 75))
    assert case is not None
    place, _, stem = str(case.reference).partition("/")
    (tmp_path / place).mkdir()
    published(tmp_path / place, stem, 1, "", 2e6, [1000] * 100)
    published(tmp_path / place, stem, 2, "", 20e6, [5000, 15000] * 500)
    published(tmp_path / place, stem, 5, "_udp-ect1_75M", 72e6, [])
    (tmp_path / place / f"qdelay_s5_{stem}.qdelay").unlink()
    monkeypatch.setattr(suites, "suite", lambda _name: [case])
    made = json.loads(gzip.decompress(reference.make_overload(tmp_path)))
    (entry,) = made["runs"].values()
    assert [flow["goodput_mbps"] for flow in entry["flows"]] == pytest.approx([2, 20, 72])
    assert entry["flows"][0]["sojourn_ms"]["mean"] == 1
    assert entry["flows"][1]["sojourn_ms"] == {"n": 749, "mean": pytest.approx(10, abs=0.01), "p50": 15.0, "p99": 15.0}
    assert "sojourn_ms" not in entry["flows"][2]
    assert entry["series"]["flow.cubic.delivery_rate"][1] == pytest.approx([20] * 20)
