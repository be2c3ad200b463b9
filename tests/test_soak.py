"""The stages of `make soak`: those that cannot run say why, and each target of cargo-fuzz has a program."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

import soak


def test_a_stage_without_its_tools_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert soak.main(["fuzz", "miri"]) == 0
    printed = capsys.readouterr().out
    assert "stage fuzz: SKIPPED (no rustup)" in printed
    assert "stage miri: SKIPPED (no rustup)" in printed


def test_a_stage_that_fails_fails_the_whole_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise subprocess.CalledProcessError(1, "false")

    monkeypatch.setattr(soak, "STAGES", {"bad": fails, "good": lambda: None})
    assert soak.main([]) == 1
    printed = capsys.readouterr().out
    assert "stage bad: FAILED" in printed
    assert "stage good: passed" in printed


def test_an_unknown_stage_is_misuse() -> None:
    assert soak.main(["nope"]) == 2


def test_every_target_is_a_program_of_the_folder() -> None:
    manifest = tomllib.loads((Path(soak.FUZZ) / "Cargo.toml").read_text(encoding="utf-8"))
    named = {(program["name"], program["path"]) for program in manifest["bin"]}
    assert named == {(path.stem, f"targets/{path.name}") for path in (soak.FUZZ / "targets").glob("*.rs")}
