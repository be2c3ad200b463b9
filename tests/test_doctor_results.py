"""What the doctor says of results: numbers worked out by hand, runs of the simulator, Flent's files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sojourn
from sojourn import doctor
from sojourn.cli import call
from sojourn.doctor import Finding, Kind, runs
from sojourn.doctor.outcomes import examine, merged, of_host, of_run
from sojourn.doctor.runs import Flow, Outcome
from sojourn.glance import Punctuality
from synthetic import S2_STEM, flent_document, write_flent

pytestmark = pytest.mark.engine

SCENARIO = """\
name = "window"
duration = "8s"
measure.from = "2s"
[tcp]
rmem_default = "{window}"
rmem_max = "{window}"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "dualpi2"
delay = "20ms"
[[flow]]
name = "a"
cc = "prague"
"""


def outcome(
    goodput: float = 47.0,
    rtt: tuple[float, float] = (20.1, 21.5),
    marks: int = 900,
    retransmits: int = 0,
    *,
    p99: float = 1.2,
    whole: bool = True,
    late: tuple[bool, int] | None = None,
) -> Iterator[Finding]:
    """Prague at 50 Mbit/s over 20 ms, of which all is well unless said otherwise."""
    box = Punctuality(0.4, 1.7, 1.0, *late, ()) if late else None
    flow = Flow("a", "prague", True, goodput, rtt, marks, retransmits, 10_000)
    return runs.examine(Outcome("r", [flow], 50.0, 20.0, p99, 10_000, whole, box))


CASES: dict[Kind, tuple[Callable[[], Iterator[Finding]], Callable[[], Iterator[Finding]]]] = {
    runs.PARTIAL: (lambda: outcome(whole=False), outcome),
    # A packet takes 0.242 ms at 50 Mbit/s.
    runs.EMPTY: (lambda: outcome(p99=0.048), lambda: outcome(p99=0.05)),
    runs.IDLE: (lambda: outcome(20.0, (20.0, 20.5), 0), lambda: outcome(20.0, (20.0, 20.5), 101)),
    runs.POLICED: (lambda: outcome(20.0, (20.0, 20.5), 0, 10), lambda: outcome(20.0, (20.0, 21.5), 0, 10)),
    runs.LATE: (lambda: outcome(late=(True, 0)), lambda: outcome(late=(False, 0))),
    runs.LOST: (lambda: outcome(late=(False, 3)), lambda: outcome(late=(False, 0))),
    runs.BEYOND_RATE: (lambda: outcome(50.0), lambda: outcome(48.0)),
    runs.SHORT_RTT: (lambda: outcome(rtt=(18.9, 19.5)), lambda: outcome(rtt=(19.1, 19.5))),
    runs.NO_MARKS: (lambda: outcome(rtt=(20.0, 26.0), marks=0), lambda: outcome(rtt=(20.0, 24.0), marks=0)),
}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.name)
def test_each_kind_is_found_where_it_is_and_nowhere_else(kind: Kind) -> None:
    wrong, right = CASES[kind]
    assert [finding.severity for finding in wrong() if finding.kind == kind.name] == [kind.severity]
    assert not [finding for finding in right() if finding.kind == kind.name and finding.severity]


def test_every_kind_has_a_case() -> None:
    assert set(doctor.kinds(runs)) == set(CASES)


def test_nothing_is_said_of_what_is_not_known() -> None:
    flow = Flow("a", "prague", True)
    (found,) = runs.examine(Outcome("r", [flow]))
    assert not found.severity
    quiet = Flow("call", "", False, 0.1, (20.0, 20.1), 0, 0, 1000)
    (found,) = runs.examine(Outcome("r", [quiet], 50.0, 20.0, 0.0, 10_000))
    assert not found.severity


@pytest.mark.parametrize(("window", "kinds"), [("60Kb", {"run-queue-empty", "run-link-idle"}), ("6Mb", set())])
def test_a_run_whose_window_is_the_bottleneck(window: str, kinds: set[str], tmp_path: Path) -> None:
    (run,) = sojourn.run(sojourn.Scenario(SCENARIO.format(window=window)), out=tmp_path)
    assert of_run(run).rate_mbps == 20.0
    assert {finding.kind for finding in examine(tmp_path, None, None) if finding.severity} == kinds


def test_a_flent_file_and_what_it_says_of_its_host(tmp_path: Path) -> None:
    document = flent_document(cubic=8.0, prague=9.0, rtt=20.2)
    document["raw_values"]["TCP upload::1"] = [
        {**point, "tcp_rtt": 20.3} if "tcp_rtt" in point else point for point in document["raw_values"]["TCP upload::1"]
    ]
    document["metadata"]["SYSCTLS"] = {"net.ipv4.tcp_sack": 0, "net.ipv4.tcp_ecn": 3}
    document["metadata"]["EGRESS_INFO"] = {
        "iface": "cli",
        "offloads": {"tcp-segmentation-offload": True},
        "qdiscs": [{"name": "netem", "id": "1:", "parent": "root"}, {"name": "pie", "id": "2:", "parent": "1:1"}],
    }
    write_flent(tmp_path / f"{S2_STEM}.flent.gz", document)
    found = {finding.kind for finding in examine(tmp_path, None, None) if finding.severity}
    assert found == {"run-link-idle", "tcp-sack-off", "netem-with-aqm", "gso-trains"}


ODD = [{}, {"SYSCTLS": 1, "EGRESS_INFO": []}, {"SYSCTLS": {"a": []}, "EGRESS_INFO": {"qdiscs": [1]}}]


@pytest.mark.parametrize("metadata", ODD)
def test_metadata_of_another_form_is_left_out(metadata: dict[str, Any]) -> None:
    assert not [finding for finding in of_host("x", metadata, 1e8, 0.02) if finding.severity]


def test_many_findings_of_one_kind_are_one() -> None:
    found = list(merged([runs.PARTIAL.found(f"run {number}: partial") for number in range(9)]))
    assert [finding.found for finding in found] == ["run 0: partial; 8 more like it, such as run 1: partial"]


def test_the_exit_code_is_that_of_the_worst_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sojourn.run(sojourn.Scenario(SCENARIO.format(window="64Kb")), out=tmp_path)
    assert call(["doctor", "--results", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["kind"] for finding in found if finding["severity"] == "fault"] == ["run-queue-empty"]
    (tmp_path / "empty").mkdir()
    assert call(["doctor", "--results", str(tmp_path / "empty")]) == 2
    assert "expected a folder with runs, or Flent's files" in capsys.readouterr().err
