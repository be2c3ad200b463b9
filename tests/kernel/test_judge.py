"""Our queues before a real Linux kernel in virtual time: see docs/kernel-judge.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import _core

if TYPE_CHECKING:
    from sojourn.engines.linux import Kernel

ROOT = Path(__file__).resolve().parents[2]
JUDGE = ROOT / "target/gate/kernel-judge"
NO_KERNEL = 3
# The longest first, so that no core waits for the last one.
DISCIPLINES = ["netem", "dualpi2", "pie", "red", "fq_pie", "cake", "htb", "fq_codel", "codel", "pfifo", "sfq", "tbf"]
# Enough for a verdict; the table of the documentation has more.
SHORT = ["--runs", "6", "--short", "--json"]


def judge(*words: str) -> list[dict[str, str]]:
    done = subprocess.run([JUDGE, *SHORT, *words], capture_output=True, text=True, check=False)
    if done.returncode == NO_KERNEL:
        pytest.skip(done.stderr.strip())
    assert done.returncode in (0, 1), done.stderr
    rows: list[dict[str, str]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows
    # The exit status says the same as the rows.
    assert (done.returncode == 0) == all(row["verdict"] == "equal" for row in rows)
    return rows


@pytest.fixture
def _kernel(kernel: Kernel) -> None:
    """`SOJOURN_LINUX` names it."""


@pytest.fixture(scope="session", autouse=True)
def binary() -> None:
    # Of the workspace, with whose features the Rust tests have compiled it.
    command = ["cargo", "build", "--quiet", "--profile", "gate", "--locked", "--workspace"]
    subprocess.run([*command, "--bin", "kernel-judge", "--bin", "udp-train"], cwd=ROOT, check=True)


@pytest.mark.usefixtures("_kernel")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_queue_does_what_linux_does(discipline: str) -> None:
    differing = [row for row in judge(discipline) if row["verdict"] != "equal"]
    assert not differing, json.dumps(differing, indent=1)


@pytest.mark.usefixtures("_kernel")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("wrong", ["wrong codel", "wrong pie"])
def test_judge_sees_a_wrong_parameter(wrong: str) -> None:
    """Each of these cases gives ours another parameter than Linux."""
    assert [row["verdict"] for row in judge(wrong)] == ["differs"]


@pytest.mark.usefixtures("_kernel")
@pytest.mark.timeout(120)
def test_middlebox_in_virtual_time_does_what_the_simulator_does() -> None:
    """Every queue, also those that no kernel has, between the sockets of a real kernel."""
    assert_as_the_simulator(judge("middlebox"))


@pytest.mark.live
@pytest.mark.timeout(120)
def test_middlebox_in_real_time_does_what_the_simulator_does() -> None:
    """The same with the sockets of this machine's kernel."""
    if sys.platform != "linux" or not shutil.which("ip"):
        pytest.skip("no Linux with ip (iproute2)")
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        pytest.skip("not root, or no /dev/net/tun: no network namespaces with TUN devices")
    assert_as_the_simulator(judge("middlebox-live"))


def assert_as_the_simulator(rows: list[dict[str, str]]) -> None:
    names = {entry["name"] for entry in json.loads(_core.qdiscs())} - {"mahimahi", "rate_trace"}  # need a file
    assert names == {row["configuration"].split()[0] for row in rows}
    differing = [row for row in rows if row["verdict"] != "equal"]
    assert not differing, json.dumps(differing, indent=1)
