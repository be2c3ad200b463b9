"""README and tutorial: what a newcomer types works, and prints what they show."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = (ROOT / "docs/guide/tutorial.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: Results move by less than this when a mechanism is fixed; the page then still shows what a reader sees.
NEAR = 0.25

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


def blocks(page: str, kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == kind]


def typed(page: str) -> list[str]:
    lines = (
        line.split(" # ")[0].split("    #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()
    )
    return [line for line in lines if line.startswith("sojourn ")]


def run(folder: Path, line: str) -> str:
    command = [sys.executable, "-m", "sojourn", *shlex.split(line)[1:]]
    terminal = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(command, cwd=folder, env=terminal, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


def rows(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if re.match(r"[a-z][\w-]* .*\d", line)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    return tmp_path


def test_the_tutorials_file_is_the_shipped_one() -> None:
    text = (ROOT / "scenarios/home.toml").read_text(encoding="utf-8")
    assert text.split('name = "home"', 1)[1] == blocks(TUTORIAL, "toml")[0].split('name = "home"', 1)[1]


def test_every_command_of_the_tutorial_works_and_its_tables_are_near(folder: Path) -> None:
    printed = {line: run(folder, line) for line in typed(TUTORIAL)}
    assert len(printed) >= 15
    assert (folder / "home.svg").stat().st_size > 10_000
    stated = rows("\n".join(blocks(TUTORIAL, "")))
    assert {"pfifo-limit-200", "fq_codel", "dualpi2", "download", "call", "ping", "dsl"} <= stated.keys()
    first = rows(printed["sojourn run scenarios/home.toml --out mine"]) | rows(
        printed["sojourn show mine/home/fq_codel"]
    )
    for name, cells in stated.items():
        for ours, page in zip(first[name], cells, strict=True):
            if re.fullmatch(r"\d+\.\d+", page):
                assert float(ours) == pytest.approx(float(page), rel=NEAR, abs=0.5), (name, ours, page)


def test_the_readmes_link_runs_and_is_drawn(folder: Path) -> None:
    (folder / "my.toml").write_text(blocks(README, "toml")[0])
    for line in typed(README):
        run(folder, line)
    assert (folder / "mine.svg").is_file()


def test_the_readme_is_short_and_keeps_the_two_commands() -> None:
    assert len(README.splitlines()) <= 90
    assert len([line for line in blocks(README, "toml")[0].splitlines() if line.strip()]) <= 15
    assert {"make demo", "make test"} <= {line.split("  ")[0] for line in blocks(README, "sh")[0].splitlines()}
