"""What the lab offers of the suites is what they have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import suites

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "scenarios"
    subprocess.run([sys.executable, ROOT / "web/scenarios.py", folder], check=True)
    return folder


def texts(folder: Path, suite: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / f"{suite}.json").read_text(encoding="utf-8"))
    return found


def test_every_case_of_every_suite_is_there_with_its_text(exported: Path) -> None:
    for suite in suites.NAMES:
        assert texts(exported, suite) == {case.id: case.toml for case in suites.suite(suite)}


def test_the_index_names_what_the_files_hold_in_the_order_of_the_suite(exported: Path) -> None:
    index = json.loads((exported / "index.json").read_text(encoding="utf-8"))
    assert [suite["name"] for suite in index] == ["examples", *suites.NAMES]
    for suite in index:
        ids = [case["id"] for section in suite["sections"] for case in section["cases"]]
        assert ids == list(texts(exported, suite["name"]))


def test_examples_that_read_other_files_are_left_out(exported: Path) -> None:
    assert not any("traces/" in text for text in texts(exported, "examples").values())


def test_it_is_small_enough_to_be_loaded_at_a_search(exported: Path) -> None:
    # 190 bytes a run.
    runs = sum(len(suites.suite(name)) for name in suites.NAMES)
    assert (exported / "index.json").stat().st_size < min(200 * runs, 300_000)
    assert not list(exported.glob("*.part"))
