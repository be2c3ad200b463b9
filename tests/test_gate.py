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


def script(monkeypatch: pytest.MonkeyPatch, after: dict[str, tuple[str, ...]] | None = None, **stages: str) -> None:
    """Each stage a program, which comes after those that `after` names."""
    commands = {name: [sys.executable, "-c", code] for name, code in stages.items()}
    chain = {name: gate.Stage(command, (after or {}).get(name, ())) for name, command in commands.items()}
    monkeypatch.setattr(gate, "STAGES", chain)


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
    assert {"fine", "stage lint: N s (N s of CPU)", "SKIPPED b: no kernel"} <= set(lines)
    times = "N s (N s of CPU)"
    assert lines[-2:] == [
        f"stages: lint {times}, rust {times}, python {times}; {times} in all",
        "4 passed, 3 failed, 1 skipped",
    ]


def test_a_stage_after_one_that_failed_is_not_run_and_the_others_are(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script(
        monkeypatch,
        {"rust": ("lint",), "fuzz": ("rust",), "python": ("build",)},
        build="pass",
        lint="raise SystemExit(1)",
        rust=f"__import__('os').mkdir({str(tmp_path / 'rust')!r})",
        fuzz=f"__import__('os').mkdir({str(tmp_path / 'fuzz')!r})",
        python=f"__import__('os').mkdir({str(tmp_path / 'python')!r})",
    )
    assert gate.main([]) == 1
    assert [mark.name for mark in tmp_path.iterdir()] == ["python"]
    printed = capfd.readouterr().out
    assert printed.count("not run, since a stage before it failed\n") == 2
    assert printed.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
    # A stage that is named alone does not wait for one that is not.
    assert gate.main(["rust"]) == 0
    assert (tmp_path / "rust").exists()


def test_stages_run_side_by_side_and_print_one_after_another(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # Each waits for the other's file, so that none ends unless both run.
    meet = (
        "import pathlib, time\nprint('begin {0}', flush=True)\npathlib.Path({1!r}, '{0}').touch()\n"
        "while len(list(pathlib.Path({1!r}).iterdir())) < 2:\n    time.sleep(0.01)\nprint('end {0}')"
    )
    script(monkeypatch, one=meet.format("one", str(tmp_path)), two=meet.format("two", str(tmp_path)))
    assert gate.main([]) == 0
    marks = [line for line in capfd.readouterr().out.splitlines() if re.match(r"(begin|end|stage) ", line)]
    assert [mark.split(":")[0] for mark in marks] == [
        *("begin one", "end one", "stage one"),
        *("begin two", "end two", "stage two"),
    ]


def test_stages_come_after_known_ones() -> None:
    known: set[str] = set()
    for name, stage in gate.STAGES.items():
        assert set(stage.after) <= known
        known.add(name)


def test_an_unknown_stage_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(["lent"]) == 2
    assert capsys.readouterr().err.endswith("unknown stage lent\n")
