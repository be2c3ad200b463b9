"""A setting that nothing can feel is named once, however many runs have it, and not where a sweep switches it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sojourn.cli import call

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engine

UNPACED = """
name = "unpaced"
duration = "1s"
[tcp]
pacing_ca_ratio = 40
[[link]]
name = "b"
rate = "10Mbit"
[[flow]]
name = "f"
cc = "reno"
"""


def warnings(capsys: pytest.CaptureFixture[str], *command: str) -> list[str]:
    assert call(["run", *command, "--dry"]) == 0
    return [line for line in capsys.readouterr().err.splitlines() if "warning: " in line]


def test_a_sweep_is_warned_about_only_if_all_of_its_runs_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def about(sweep: str) -> list[str]:
        (tmp_path / "my.toml").write_text(UNPACED + sweep, encoding="utf-8")
        return warnings(capsys, str(tmp_path / "my.toml"))

    (alone,) = about("")
    assert "my.toml:5: tcp.pacing_ca_ratio: no effect here: nothing is paced" in alone
    assert about('[sweep]\n"flow.f.cc" = ["cubic", "reno"]\n') == [alone]
    assert not about('[sweep]\n"tcp.pacing" = [false, true]\n')
    (swept,) = about('[sweep]\n"tcp.pacing_ss_ratio" = [100, 200]\n"tcp.pacing_ca_ratio" = [120]\n')
    assert "-s tcp.pacing_ss_ratio: no effect here" in swept


def test_the_bakeoff_s_ratios_are_idle_unless_it_is_paced(capsys: pytest.CaptureFixture[str]) -> None:
    found = warnings(capsys, "bakeoff/sce-s1-.*")
    assert len(found) == 2, "one line for each key of 21 runs"
    assert all("no effect here" in line and "(and in 20 more)" in line for line in found)
    assert not warnings(capsys, "bakeoff/sce-s1-.*", "--variant", "paced")
