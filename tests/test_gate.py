"""The gate counts what cargo and pytest print."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import gate

RUST = """\
test a ... ok
test b ... ignored, no kernel
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


def script(monkeypatch: pytest.MonkeyPatch, **stages: str) -> None:
    monkeypatch.setattr(gate, "STAGES", {name: [sys.executable, "-c", code] for name, code in stages.items()})


def test_results_of_all_binaries_and_of_pytest_are_added() -> None:
    python = ["1 failed, 4 passed in 0.1s\n", "1 failed, 4 passed, 2 skipped, 1 error in 1.00s\n"]
    assert gate.counts(RUST.splitlines(), python) == [7, 5, 3]


def test_stages_are_printed_with_their_sum_and_the_counts_last(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script(monkeypatch, lint="print('fine')", rust=f"print({RUST!r})", python="print('1 passed in 2.00s')")
    assert gate.main([]) == 1
    # How long they take is the machine's affair.
    lines = re.sub(r"\d+ s\b", "N s", capfd.readouterr().out).splitlines()
    assert {"fine", "stage lint: N s", "SKIPPED b: no kernel"} <= set(lines)
    assert lines[-2:] == ["stages: lint N s, rust N s, python N s; N s in all", "4 passed, 3 failed, 1 skipped"]


def test_a_failed_stage_ends_the_gate_and_failed_tests_do_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    script(
        monkeypatch,
        lint="raise SystemExit(1)",
        rust="raise SystemExit(101)",
        python=f"__import__('os').mkdir({str(mark)!r})",
    )
    assert gate.main([]) == 1
    assert not mark.exists()
    assert gate.main(["rust", "python"]) == 1
    assert mark.exists()
    assert capfd.readouterr().out.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_an_unknown_stage_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(["lent"]) == 2
    assert capsys.readouterr().err.endswith("unknown stage lent\n")
