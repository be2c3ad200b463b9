"""A real Dask cluster on loopback: identical bytes after a worker was killed, and no result of another version."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import sojourn
from sojourn import executors
from sojourn.results import MANIFEST
from sojourn.work import SkewError

pytest.importorskip("distributed", reason="distributed is not installed (pip install 'sojourn[dask]')")
pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SCENARIO = """\
name = "far"
duration = "6s"
[[link]]
name = "bneck"
rate = "50Mbit"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "a"
cc = "prague"
"""
#: A worker that believes to be another build.
SKEW = "from sojourn import _core\n_core.version = lambda: '9.9.9+feedbeef'\n"
#: A worker that begins a task and never ends it.
STUCK = "import time\nfrom sojourn import _core\n_core.version = lambda: time.sleep(3600)\n"
#: For a process to begin, and for all runs, s.
PATIENCE_S = 60


def files_of(root: Path) -> dict[str, bytes]:
    paths = (p for p in root.rglob("*") if p.is_file() and p.name != MANIFEST)
    return {str(p.relative_to(root)): p.read_bytes() for p in paths}


class Cluster:
    """A scheduler and its workers, each a process that ends with the test."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.file = folder / "scheduler.json"
        self.start("scheduler", "--port", "0", "--scheduler-file", str(self.file))

    def worker(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        told = ("--scheduler-file", str(self.file), "--name", name, "--no-nanny", "--nthreads", "1", *options)
        return self.start("worker", *told)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"]
        log = self.stack.enter_context((self.folder / f"{arguments[0]}-{time.monotonic_ns()}").open("wb"))
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def wait_for(self, happened: Any) -> None:
        end = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < end, "\n".join(p.read_text() for p in self.folder.glob("[sw]*-*"))
            time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        cluster.wait_for(cluster.file.exists)
        yield cluster


def test_a_sweep_survives_a_killed_worker_and_refuses_another_version(cluster: Cluster, tmp_path: Path) -> None:
    scenario = sojourn.Scenario(SCENARIO)
    (tmp_path / "stuck.py").write_text(STUCK)
    victim = cluster.worker("victim", "--preload", str(tmp_path / "stuck.py"))
    cluster.worker("other")
    sojourn.run(scenario, seeds=10, out=tmp_path / "here")
    with executors.opened(f"dask:{cluster.file}") as dask:
        client: Any = dask._client  # type: ignore[union-attr]
        cluster.wait_for(lambda: len(client.nthreads()) == 2)
        address = next(a for a, w in client.scheduler_info()["workers"].items() if w["name"] == "victim")

        def kill() -> None:
            try:
                cluster.wait_for(lambda: list(tmp_path.glob(f"there/*/{MANIFEST}")) and client.processing()[address])
            finally:
                victim.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        sojourn.run(scenario, seeds=10, out=tmp_path / "there", executor=dask)
        killer.join()
        assert victim.wait() == -9
        assert files_of(tmp_path / "there") == files_of(tmp_path / "here")

        (tmp_path / "skew.py").write_text(SKEW)
        cluster.worker("skewed", "--preload", str(tmp_path / "skew.py"))
        cluster.wait_for(lambda: len(client.nthreads()) == 2)
        with pytest.raises(SkewError, match=r"has Sojourn 9\.9\.9\+feedbeef, .* it is 0\.1\.0\+"):
            sojourn.run(scenario, seeds=30, out=tmp_path / "mixed", executor=dask)
    stored = files_of(tmp_path / "mixed")
    expected = files_of(tmp_path / "here")
    assert {name: content for name, content in stored.items() if name in expected and content != expected[name]} == {}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers: "),
        ("nowhere", "expected tcp://HOST:PORT, tls://HOST:PORT or the scheduler's FILE.json"),
        ("none.json", "no such file within 0.3 s; `dask scheduler --scheduler-file` writes it"),
        ("tls://127.0.0.1:9", "no certificate: Dask's configuration has no distributed.comm.tls.client"),
    ],
)
def test_a_scheduler_that_is_not_there_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str, said: str
) -> None:
    from sojourn.cli import call
    from sojourn.executors import dask

    monkeypatch.setattr(dask, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(dask, "FILE_S", 0.3)
    monkeypatch.chdir(tmp_path)
    Path("far.toml").write_text(SCENARIO)
    assert call(["run", "far.toml", "--executor", f"dask:{address}", "-o", "out"]) == 2
    assert f"sojourn: dask:{address}: {said}" in capsys.readouterr().err
    assert not Path("out").exists()
