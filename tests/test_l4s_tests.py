"""The suite l4s-tests: its runs, the published tables beside them, and what a few of them show."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import compare, fidelity, metrics, reference, suites
from sojourn.fidelity import l4s_tests as judged
from sojourn.fidelity import measures
from sojourn.running import run
from sojourn.suites import l4s_tests as suite

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.metrics import Source

CASES = {case.id: case for case in suite.cases()}
FAIRNESS = "l4s-tests/s1-rttfair"


def one(name: str) -> Source:
    """The run of this name."""
    (done,) = run(f"^{re.escape(name)}$").runs.values()
    return done


def document(name: str) -> dict[str, Any]:
    """The scenario of this run."""
    return tomllib.loads(CASES[name].toml)


def test_all_published_scenarios_are_there() -> None:
    # Scenario 9 has all the windows that were published.
    assert len(CASES) == 403
    assert Counter(name.split("/")[1] for name in CASES) == {
        "s1-rttfair": 192,
        "s2-codel-rate-step": 64,
        "s3-codel-variable-rate": 16,
        "s4-bidir-asym": 36,
        "s5-tunnel": 4,
        "s6-rfc3168": 24,
        "s7-oneflow": 6,
        "s8-rfc3168-second": 24,
        "s9-tunnel-reordering": 11,
        "s10-ect1-gaming": 8,
        "s11-ect1-gaming-latency": 8,
        "s12-pacing": 2,
        "s13-rfc3168-prague-second": 8,
    }


def test_scenarios_1_and_6_were_measured_with_the_flows_of_their_runs() -> None:
    measured = {name for name, case in CASES.items() if case.reference}
    assert measured == {name for name in reference.shipped() if name.startswith("l4s-tests/")}
    assert {name.split("/")[1] for name in measured} == {"s1-rttfair", "s6-rfc3168"}
    for name in measured:
        summary = reference.shipped()[name].summary
        assert [flow.name for flow in summary.flows] == [flow["name"] for flow in document(name)["flow"]]
        assert all(flow.delivery_rate_mbps and flow.delivery_rate_mbps.n == 0 for flow in summary.flows)


def test_two_rows_of_the_table_are_one_and_judge_nothing() -> None:
    def rates(name: str) -> tuple[float, ...]:
        flows = reference.shipped()[name].summary.flows
        return tuple(flow.delivery_rate_mbps.mean for flow in flows if flow.delivery_rate_mbps)

    # Flows that share equally may have the same numbers by chance.
    unequal = [
        rates(name) for name, case in CASES.items() if case.reference and max(rates(name)) > 1.1 * min(rates(name))
    ]
    assert [pair for pair, count in Counter(unequal).items() if count > 1] == [(39.98, 7.55)]
    assert [rates(name) for name in judged.COPIED] == [(39.98, 7.55)] * 2
    assert not {row.run for row in fidelity.ROWS} & set(judged.COPIED)


def test_rows_bind_flows_that_get_little() -> None:
    rows = [row for row in fidelity.ROWS if row.id[0] == "L"]
    assert Counter(row.id for row in rows) == {"L1": 2 * (192 - 2), "L2": 4, "L3": 24}
    for row in rows:
        assert isinstance(row.expected, float)
        assert row.tolerance is not None
        assert row.tolerance.admits(row.expected)
        assert not row.tolerance.admits(0.5 * row.expected), row.key


def test_delay_is_before_the_queue_in_both_directions_and_each_flows_own() -> None:
    links = {link["name"]: link for link in document(f"{FAIRNESS}/prague-vs-cubic/dualpi2/50Mbit/80ms-20ms")["link"]}
    assert list(links) == ["near-80ms", "near-20ms", "bneck", "far-80ms", "far-20ms"]
    assert links["near-80ms"]["ingress"] == ["netem delay 40ms limit 1000000"]
    assert links["near-80ms"]["reverse"]["ingress"] == []
    assert links["far-20ms"]["reverse"]["ingress"] == ["netem delay 10ms limit 1000000"]
    assert "shaper" not in document(f"{FAIRNESS}/prague-vs-cubic/cnq_codel_af/50Mbit/80ms-20ms")["link"][2]


def test_over_dualpi2_rates_are_further_apart_than_rtts() -> None:
    # Measured: 0.20 and 8.66 Mbit/s at 160 and 10 ms.
    window = (123.0, 183.0)
    done = one(f"{FAIRNESS}/prague-vs-prague/dualpi2/10Mbit/160ms-10ms")
    long, short = (metrics.goodput(done, name, window) for name in ("prague-1", "prague-2"))
    assert long
    assert short
    assert 20 < short / long < 80


def test_a_bleached_flow_is_dropped_and_never_marked() -> None:
    done = one("l4s-tests/s6-rfc3168/prague-vs-cubic-noecn/codel1q/50Mbit/20ms")
    marks, lost = (float(metrics.finite(done, f"flow.cubic.{name}")[1][-1]) for name in ("ce_received", "retransmits"))
    assert marks == 0
    assert lost > 0
    ratio = measures.delivery_ratio("prague", "cubic", (23.0, 63.0))(done)
    # Measured: 25.3.
    assert ratio is not None
    assert 15 < ratio < 40


def test_gamed_packets_are_low_latency_ones_and_their_flow_speaks_accecn_without_ece_and_cwr() -> None:
    done = one("l4s-tests/s10-ect1-gaming/prague-vs-cubic-noecn/dualpi2/50Mbit/20ms")
    marks = {name: float(metrics.finite(done, f"flow.cubic-gamed.{name}")[1][-1]) for name in ("ce", "ce_received")}
    assert marks["ce_received"] > 0
    assert marks["ce"] == pytest.approx(marks["ce_received"], abs=2)
    paced = metrics.inside(done, "flow.prague.pacing_rate", (15.0, 64.0))
    assert paced.max() <= 50.0


def test_fair_queueing_sees_one_flow_in_a_tunnel() -> None:
    inside = one("l4s-tests/s5-tunnel/prague-vs-reno/wireguard/fq_codel/50Mbit/20ms")
    rates = [metrics.goodput(inside, name, (15.0, 64.0)) for name in ("prague", "reno")]
    assert rates[0]
    assert rates[1]
    assert rates[0] > 10 * rates[1]


def test_delivery_rates_are_compared_where_nothing_else_was_measured() -> None:
    name = f"{FAIRNESS}/cubic-vs-cubic/fq_codel/50Mbit/20ms-20ms"
    pair = compare.pair_up(name, one(name), reference.shipped()[name])
    assert pair is not None
    assert [flow.rate for flow in pair.flows] == ["delivery rate"] * 2
    assert all(flow.goodput_mbps.diff is None and flow.rate_mbps.diff is not None for flow in pair.flows)
    assert max(pair.rate_error_percent()) < 2
    result = compare.Comparison(pairs=[pair], sides=compare.MEASURED)
    assert "of delivery rate" in result.conclusion
    (row, _) = result.means
    document = row.document()
    assert document["delivery_rate_mbps"]["b"] in (23.58, 23.59)
    assert "goodput_mbps" not in document
    assert "delivery_rate_percent_of_ceiling" in result.document()["median_errors_of_flows"]


def test_the_shipped_file_is_made_from_the_published_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "| Rate | qdisc | CC1 (RTT) | D1 | CC2 (RTT) | D2 | Jain's |\n| -- | -- | -- | -- | -- | -- | -- |\n"
    first, second = suite.TABLES
    (tmp_path / first).write_text(f"{head}| 10Mbit | pfifo(200) | cubic(80ms) | 1.5 | prague(20ms) | 8 | 0.6 |\n")
    (tmp_path / second).write_text(head)
    case = CASES[f"{FAIRNESS}/cubic-vs-prague/pfifo-200/10Mbit/80ms-20ms"]
    monkeypatch.setattr(suites, "suite", lambda _name: [case])
    (entry,) = json.loads(gzip.decompress(reference.make_tables(tmp_path)))["runs"].values()
    rates = {flow["name"]: flow["delivery_rate_mbps"]["mean"] for flow in entry["flows"]}
    assert rates == {"cubic": 1.5, "prague": 8.0}
    assert entry["window_s"] == [123.0, 183.0]
    (tmp_path / second).write_text(f"{head}| 10Mbit | pie | cubic(80ms) | 1.5 | prague(20ms) | 8 | 0.6 |\n")
    with pytest.raises(ValueError, match=r"expected the rows 10Mbit pie cubic\(80ms\) prague\(20ms\) in both"):
        reference.make_tables(tmp_path)
