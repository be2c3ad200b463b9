"""Every verb of the command once, on the real engine, as a newcomer would type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SCENARIO = """\
name = "smoke"
duration = "3s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
ingress = ["netem delay 5ms limit 100000"]
[[flow]]
name = "a"
cc = "prague"
[[ping]]
name = "ping"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke")
    (folder / "smoke.toml").write_text(SCENARIO)
    assert sojourn(folder, "run", "smoke.toml", "--verify", "--out", "results/a").returncode == 0
    return folder


def sojourn(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn.cli", *arguments]
    reference = {"SOJOURN_REFERENCE": str(folder / "absent")}  # the shipped data must do
    return subprocess.run(command, cwd=folder, env=os.environ | reference, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "list",
        "list ect1",
        "show smoke.toml",
        "show results/a/smoke",
        "show ect1/l4s-s1-oneflow/prague/dualpi2/50Mbit/20ms",
        "qdisc",
        "qdisc dualpi2",
        "cc",
        "cc prague",
        "schema",
        "plot results/a/smoke -o smoke.svg",
        "report results/a -o report.html",
        "fidelity --only X1 --seeds 1",
        "clean --dry",
    ],
)
def test_verb_succeeds_and_says_something(folder: Path, command: str) -> None:
    done = sojourn(folder, *command.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize(
    "command",
    ["run smoke.toml --out results/a", "show results/a/smoke", "fidelity --only X1 --seeds 1"],
)
def test_json_documents_name_their_schema(folder: Path, command: str) -> None:
    done = sojourn(folder, *command.split(), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document.get("schema", "").startswith("sojourn/")


@pytest.mark.parametrize("command", ["list", "list ect1", "qdisc", "cc"])
def test_json_lists_are_arrays(folder: Path, command: str) -> None:
    rows = json.loads(sojourn(folder, *command.split(), "--json").stdout)
    assert rows
    assert all("id" in row or {"name", "summary", "reference", "parameters"} <= set(row) for row in rows)


def test_every_case_of_every_suite_resolves(folder: Path) -> None:
    done = sojourn(folder, "run", ".", "--dry")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 27


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    command = f"{sys.executable} -m sojourn.cli list | head -n 1 >&2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["/bin/bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1


def test_one_worker_or_two_give_the_same_bytes(folder: Path) -> None:
    for jobs in ("1", "2"):
        done = sojourn(folder, "run", "smoke.toml", "--seeds", "3", "--jobs", jobs, "--out", jobs)
        assert done.returncode == 0, done.stderr
    files = sorted(p.relative_to(folder / "1") for p in (folder / "1").rglob("*") if p.is_file())
    assert len(files) == 3 * 5
    for file in files:
        if file.name != "manifest.json":
            assert (folder / "1" / file).read_bytes() == (folder / "2" / file).read_bytes()
