"""Killed at any moment and run again, a result set is what it would have been."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sojourn.results import MANIFEST, ResultSet

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SCENARIO = """\
name = "kill-{number}"
duration = "2s"
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
RUNS, SEEDS, KILLS = 3, 4, 10

#: Runs the command and kills its process, without any warning, at its nth step on disk: before a
#: folder is made, renamed or removed, or with half of a file written.
KILLED = """
import os, pathlib, signal, sys, threading
left, lock = int(sys.argv[1]), threading.Lock()
def step(done):
    def wrapped(*arguments, **keywords):
        global left
        with lock:
            left -= 1
            if left == 0:
                if done.__name__ == "write_bytes":
                    done(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
        return done(*arguments, **keywords)
    return wrapped
for name in ("mkdir", "rename", "rmdir", "write_bytes", "symlink_to", "replace"):
    setattr(pathlib.Path, name, step(getattr(pathlib.Path, name)))
from sojourn.cli import call
sys.exit(call(sys.argv[2:]))
"""


def files_of(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name != MANIFEST}


def command(folder: Path, out: str) -> list[str]:
    files = [f"kill-{number}.toml" for number in range(RUNS)]
    for number, file in enumerate(files):
        (folder / file).write_text(SCENARIO.format(number=number))
    return ["run", *files, "--seeds", str(SEEDS), "--out", out, "--jobs", "2"]


def sojourn(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    process = [sys.executable, "-m", "sojourn.cli", *arguments]
    return subprocess.run(process, cwd=folder, capture_output=True, text=True, check=False)


def test_kill_9_at_ten_random_moments_changes_no_byte(tmp_path: Path) -> None:
    undisturbed = sojourn(tmp_path, *command(tmp_path, "whole"))
    assert undisturbed.returncode == 0, undisturbed.stderr
    dice = random.Random(9)  # noqa: S311 - moments to be killed at
    wanted = command(tmp_path, "killed")
    whole_before: set[str] = set()
    for _ in range(KILLS):
        # About ten such steps belong to a run: most kills fall into the middle of one.
        process = [sys.executable, "-c", KILLED, str(dice.randint(2, 16)), *wanted]
        done = subprocess.run(process, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (-signal.SIGKILL, 0), done.stderr
        whole = {run.id for run in ResultSet.open(tmp_path / "killed")} if (tmp_path / "killed").exists() else set()
        assert whole_before <= whole  # what was finished is never lost
        whole_before = whole
    resumed = sojourn(tmp_path, *wanted, "--json")
    assert resumed.returncode == 0, resumed.stderr
    statuses = [run["status"] for run in json.loads(resumed.stdout)["runs"]]
    assert statuses.count("cached") == len(whole_before)
    assert sojourn(tmp_path, "clean", "killed").returncode == 0  # what a kill leaves behind
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert len(files_of(tmp_path / "whole")) == RUNS * SEEDS * 4


def test_what_a_kill_in_the_trial_of_a_folder_leaves_is_cleaned(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    dies = (
        "import os, pathlib\nfrom sojourn.results.disk import check_folder\n"
        "pathlib.Path.write_bytes = lambda *_: os._exit(9)\ncheck_folder(pathlib.Path('out'))"
    )
    done = subprocess.run([sys.executable, "-c", dies], cwd=tmp_path, check=False)
    assert done.returncode == 9
    assert list((tmp_path / "out").iterdir()) != []
    assert sojourn(tmp_path, "clean", "out").returncode == 0
    assert list((tmp_path / "out").iterdir()) == []


def test_a_run_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    good = command(tmp_path, "out")
    # A folder that is no run is in the way of one of them.
    (tmp_path / "out" / "kill-1" / "mine").mkdir(parents=True)
    done = sojourn(tmp_path, *good, "--json")
    assert done.returncode == 3
    assert "kill-1 failed: " in done.stderr
    statuses = {run["id"]: run["status"] for run in json.loads(done.stdout)["runs"]}
    assert [run for run, status in statuses.items() if status == "failed"] == ["kill-1"]
    assert len(ResultSet.open(tmp_path / "out")) == RUNS * SEEDS - 1
    assert [path.name for path in (tmp_path / "out" / "kill-1").iterdir()] == ["mine"]


SLOW = """\
name = "slow"
duration = "3s"
step = "3s"
[[link]]
name = "l"
rate = "1Tbit"
delay = "10us"
[[flow]]
name = "f"
cc = "{cc}"
flows = 20
"""

#: A controller that never returns from its first acknowledgement.
ENDLESS = """
import sojourn
@sojourn.controller("endless")
class Endless:
    def on_ack(self, now, ack, win):
        print("inside", flush=True)
        while True:
            pass
"""


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = [sys.executable, "-m", "sojourn.cli", "run", *arguments, "--out", "out"]
    with subprocess.Popen(process, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()


def test_an_interrupt_ends_a_run_between_two_samples_and_keeps_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW.format(cc="cubic"))
    with started(tmp_path, "slow.toml") as run:
        time.sleep(3)
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=20)
    assert run.returncode == 130, said
    assert "interrupted; writing what there is" in said
    (kept,) = ResultSet.open(tmp_path / "out")
    assert not kept.summary["complete"]
    assert 0 < kept.summary["duration_s"] < 3


def test_a_second_interrupt_ends_even_a_run_that_never_returns(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW.format(cc="endless"))
    (tmp_path / "endless.py").write_text(ENDLESS)
    with started(tmp_path, "slow.toml", "--load", "endless.py") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.readline() == "inside\n"
        run.send_signal(signal.SIGTERM)
        assert any("interrupted; writing what there is" in line for line in run.stderr)
        run.send_signal(signal.SIGTERM)
        run.wait(timeout=1)
    assert run.returncode == -signal.SIGTERM
