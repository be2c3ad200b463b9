"""Runs on executors: the same bytes as in this process, whoever is lost, and nothing stored that is not the run."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sojourn
from conftest import FakeCore
from sojourn import engines, execution, executors, planning, work
from sojourn.cli import call
from sojourn.executors.interface import ExecutorError, Lost
from sojourn.executors.spread import ATTEMPTS, spread
from sojourn.executors.task import Failure, perform_all
from sojourn.results import MANIFEST, ResultSet
from sojourn.work import SkewError, Unit, WorkerError

pytestmark = pytest.mark.timeout(300)

NO_SUBMITIT = "submitit is not installed (pip install 'sojourn[slurm]')"


def files_of(root: Path | str) -> dict[str, bytes]:
    paths = (p for p in Path(root).rglob("*") if p.is_file() and p.name != MANIFEST)
    return {str(p.relative_to(root)): p.read_bytes() for p in paths}


class Scripted(Executor):
    """Does each task at once, or what `plan` says of it: an exception, or something else than the answer."""

    slots = 2
    worth_s = 0.0

    def __init__(self, plan: Callable[[list[str]], object] = lambda ids: None) -> None:
        self.plan = plan
        self.begun: list[list[str]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        ids = [unit.id for unit in args[0]]
        self.begun.append(ids)
        future: Future[Any] = Future()
        match self.plan(ids):
            case BaseException() as error:
                future.set_exception(error)
            case None:
                try:
                    future.set_result(fn(*args, **kwargs))
                except Exception as error:
                    future.set_exception(error)
            case list() as answers:
                future.set_result(answers)
            case change if callable(change):
                future.set_result(change(fn(*args, **kwargs)))
        return future


def begun(executor: Scripted, run_id: str) -> int:
    return sum(run_id in ids for ids in executor.begun)


def test_any_executor_gives_the_bytes_of_a_local_run(scenario: Callable[..., str]) -> None:
    file = scenario()
    sojourn.run(file, seeds=9, out="here")
    with ThreadPoolExecutor(3) as pool:
        runs = sojourn.run(file, seeds=9, out="there", executor=pool)
    assert list(runs.runs) == ["one", *(f"one@seed{n}" for n in range(2, 10))]
    assert files_of("there") == files_of("here")
    here, there = (json.loads(Path(root, "one", MANIFEST).read_text()) for root in ("here", "there"))
    assert here.keys() == there.keys()
    assert {key for key in here if here[key] != there[key]} <= {"started", "wall_s"}


def test_what_is_there_is_not_sent(scenario: Callable[..., str]) -> None:
    file, executor = scenario(), Scripted()
    sojourn.run(file, seeds=3, out="out", executor=executor)
    sojourn.run(file, seeds=4, out="out", executor=executor)
    assert [ids for ids in executor.begun if "one@seed4" in ids] == executor.begun[-1:]
    assert sum(map(len, executor.begun)) == 4


def test_runs_of_a_lost_worker_are_done_again_and_none_twice(core: FakeCore, scenario: Callable[..., str]) -> None:
    lost: list[str] = []

    def once(ids: list[str]) -> object:
        if "one@seed3" in ids and not lost:
            lost.extend(ids)
            return BrokenExecutor("a process died")
        return None

    file, executor = scenario(), Scripted(once)
    runs = sojourn.run(file, seeds=12, out="there", executor=executor)
    assert len(runs) == len(core.runs) == 12  # no run of a lost task was done, and all others once
    assert lost
    assert all(begun(executor, run_id) == 2 for run_id in lost)
    sojourn.run(file, seeds=12, out="here")
    assert files_of("there") == files_of("here")


def test_a_run_that_takes_its_workers_with_it_fails_alone_and_with_the_reason(scenario: Callable[..., str]) -> None:
    executor = Scripted(lambda ids: Lost("out of memory") if "one@seed3" in ids else None)
    with pytest.raises(sojourn.RunError, match="1 of 12 runs failed; one@seed3: its worker was lost 3 times"):
        sojourn.run(scenario(), seeds=12, out="out", executor=executor)
    assert len(ResultSet.open("out")) == 11
    assert begun(executor, "one@seed3") == ATTEMPTS
    assert executor.begun[-1] == ["one@seed3"]  # the last attempt harms nobody


def test_a_run_that_fails_elsewhere_does_not_stop_the_others(scenario: Callable[..., str]) -> None:
    with pytest.raises(sojourn.RunError, match="1 of 2 runs failed; bad: the engine fell over"):
        sojourn.run([scenario("bad", description="fail"), scenario("good")], out="out", executor=Scripted())
    assert [run.id for run in ResultSet.open("out")] == ["good"]


def test_verify_is_done_where_the_run_is(core: FakeCore, scenario: Callable[..., str]) -> None:
    (job,) = planning.plan([scenario("bad", description="drift")])
    (outcome,) = execution.execute([job], Path("out"), verify=True, executor=Scripted(), quiet=True)
    assert (outcome.error or "").startswith("two runs differ in summary.json")
    assert core.runs == ["bad", "bad"]


def test_a_worker_with_another_engine_ends_the_sweep_and_stores_nothing_of_its(
    core: FakeCore, scenario: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(Scripted):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            with monkeypatch.context() as there:
                there.setattr(core, "engine", "0.0.0-other")
                return super().submit(fn, *args, **kwargs)

    with pytest.raises(SkewError, match=r" has Sojourn 0\.0\.0-other, .* it is 0\.0\.0-fake: .*same wheel"):
        sojourn.run(scenario(), seeds=20, out="out", executor=Other())
    assert core.runs == []
    assert not Path("out").exists()


def test_a_unit_of_another_version_is_not_done(core: FakeCore, scenario: Callable[..., str]) -> None:
    with pytest.raises(SkewError):
        perform_all([replace(unit_of(scenario()), version="0.0.0-old")])


def unit_of(file: str) -> Unit:
    (job,) = planning.plan([file])
    return Unit.of(job.id, job.scenario, engines.named("sim"))


@pytest.mark.parametrize("what", ["byte", "file", "hash", "kind", "number"])
def test_an_answer_that_is_not_the_run_is_not_stored(scenario: Callable[..., str], what: str) -> None:
    def change(answers: list[work.Finished]) -> list[Any]:
        (answer,) = answers
        files = answer.made.files
        match what:
            case "byte":
                files = {**files, "summary.json": files["summary.json"].replace(b"4", b"5")}
            case "file":
                files = {**files, "../evil": b"x"}
            case "hash":
                return [replace(answer, hash="0" * 64)]
            case "kind":
                return [{"files": files}]
            case "number":
                return []
        return [replace(answer, made=replace(answer.made, files=files))]

    with pytest.raises((sojourn.RunError, WorkerError), match=r"answered one with"):
        sojourn.run(scenario(), out="out", executor=Scripted(lambda ids: change))
    assert not list(Path().glob("out/**/*.json"))
    assert not Path("evil").exists()


def test_a_bounded_number_of_units_is_under_way(core: FakeCore, scenario: Callable[..., str]) -> None:
    unit, taken = unit_of(scenario()), 0
    held: list[Future[Any]] = []

    class Holding(Scripted):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            held.append(Future())
            return held[-1]

    def endless() -> Iterator[tuple[Unit, float]]:
        nonlocal taken
        while True:
            taken += 1
            yield unit, 1.0

    coming = spread(endless(), 100_000, Holding())
    assert next(coming) == []
    assert taken == len(held) == 4  # two slots, and as many ahead
    held[0].set_result([Failure("one", "no")])
    assert next(coming) == [(unit, Failure("one", "no"))]
    assert next(coming) == []
    assert taken == 5
    coming.close()  # as an interrupt does
    assert all(future.cancelled() for future in held[1:])


@pytest.mark.parametrize(("count", "takes_s", "sizes"), [(80, 0.25, {4}), (8, 5.0, {1}), (8, 0.25, {2})])
def test_short_runs_share_a_task_but_leave_no_worker_without(
    scenario: Callable[..., str], count: int, takes_s: float, sizes: set[int]
) -> None:
    unit = unit_of(scenario())
    executor = Scripted(lambda ids: [Failure(run_id, "not done") for run_id in ids])
    executor.worth_s = 1.0
    came = [pair for pairs in spread(((unit, takes_s) for _ in range(count)), count, executor) for pair in pairs]
    assert len(came) == count
    assert {len(ids) for ids in executor.begun} == sizes


def test_an_executor_that_is_gone_ends_the_sweep_in_one_line(scenario: Callable[..., str]) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(ExecutorError, match="takes no more work: cannot schedule new futures"):
        sojourn.run(scenario(), out="out", executor=pool)


def test_a_worker_without_our_package_is_told_of(scenario: Callable[..., str]) -> None:
    error = ModuleNotFoundError("No module named 'sojourn'")
    wrapped = RuntimeError("Error during deserialization of the task graph")
    wrapped.__cause__ = error
    for said in (iter([error]), iter([wrapped])):
        with pytest.raises(WorkerError, match="cannot read the task .No module named 'sojourn'.*the same wheel"):
            sojourn.run(scenario(), out="out", executor=Scripted(lambda ids: next(said)))  # noqa: B023 - called here


def test_an_interrupt_keeps_what_is_finished(
    scenario: Callable[..., str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(ids: list[str]) -> object:
        if "one@seed9" in ids:
            raise KeyboardInterrupt
        return None

    with pytest.raises(KeyboardInterrupt):
        sojourn.run(scenario(), seeds=12, out="out", executor=Scripted(plan))
    assert 0 < len(ResultSet.open("out")) < 9
    assert "finished runs are stored, the others withdrawn" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threads", "expected processes[:N], dask:ADDRESS or slurm[:OPTION=VALUE,...]"),
        ("processes:0", "expected processes[:N]"),
        ("dask", "expected processes[:N], dask:ADDRESS"),
        ("slurm:", "expected processes[:N]"),
        ("slurm:main", "slurm: main: expected OPTION=VALUE, such as partition=main"),
        ("slurm:partitoin=main", "slurm: partitoin: expected one of account, clusters, "),
        ("slurm:time=soon", "slurm: time=soon: expected a number of 1 or more"),
        ("slurm:jobs=0", "slurm: jobs=0: expected a number of 1 or more"),
    ],
)
def test_what_is_no_executor_is_refused_in_one_line(
    scenario: Callable[..., str], capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    if text.startswith("slurm:") and "=" in text:
        pytest.importorskip("submitit", reason=NO_SUBMITIT)
    assert call(["run", scenario(), "--executor", text, "-o", "out", "-q"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(("name", "package"), [("dask:tcp://127.0.0.1:1", "distributed"), ("slurm", "submitit")])
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    scenario: Callable[..., str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str,
    package: str,
) -> None:  # fmt: skip
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == package else found(n, *a))
    assert call(["run", scenario(), "--executor", name, "-q"]) == 2
    assert f"needs the package {package}: pip install 'sojourn[{name.split(':')[0]}]'\n" in capsys.readouterr().err


def test_no_executor_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sojourn.cli, sys; print(*{'distributed', 'submitit', 'sojourn.executors.processes'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("\n", 0 if importlib.util.find_spec("sojourn._core") else 1)


def test_another_engine_stays_on_this_machine(scenario: Callable[..., str]) -> None:
    other: Any = SimpleNamespace(name="live", version="1")
    (job,) = planning.plan([scenario()])
    with pytest.raises(engines.EngineError, match="expected --engine sim, not live, which needs this machine"):
        execution.execute([job], Path("out"), engine=other, executor=Scripted())


# With the real engine from here on.

LINK = """\
name = "far"
duration = "2s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "a"
cc = "{cc}"
"""
CAPTURE = """\
[[capture]]
name = "wire"
points = [{ link = "bneck", direction = "forward" }]
"""
OWN = """\
import sojourn
@sojourn.controller("{name}")
class Own:
    def on_ack(self, now, ack, win):
        win.cwnd = {cwnd}
"""


@pytest.fixture
def local(tmp_path: Path) -> Callable[..., tuple[sojourn.Scenario, dict[str, bytes]]]:
    """A scenario, and the files of its runs as threads of this process make them."""

    def made(text: str = LINK.format(cc="prague"), seeds: int = 4) -> tuple[sojourn.Scenario, dict[str, bytes]]:
        scenario = sojourn.Scenario(text)
        sojourn.run(scenario, seeds=seeds, out=tmp_path / "here")
        return scenario, files_of(tmp_path / "here")

    return made


@pytest.mark.engine
def test_processes_give_the_same_bytes_after_one_was_killed(local: Callable[..., Any], tmp_path: Path) -> None:
    scenario, expected = local(seeds=8)
    with executors.opened("processes:2") as pool:
        killed = threading.Thread(target=kill_one, args=(pool, tmp_path / "there"))
        killed.start()
        sojourn.run(scenario, seeds=8, out=tmp_path / "there", executor=pool)
        killed.join()
    assert files_of(tmp_path / "there") == expected


def kill_one(pool: Any, out: Path) -> None:
    """Kills a process of the pool once the first run is there."""
    victims = dict(pool._pool._processes)
    while not victims:
        threading.Event().wait(0.01)
        victims = dict(pool._pool._processes or {})
    while not list(out.glob(f"*/{MANIFEST}")):
        threading.Event().wait(0.01)
    next(iter(victims.values())).kill()


@pytest.mark.engine
def test_captures_come_back_with_the_run(local: Callable[..., Any], tmp_path: Path) -> None:
    scenario, expected = local(LINK.format(cc="cubic") + CAPTURE, seeds=2)
    sojourn.run(scenario, seeds=2, out=tmp_path / "there", executor=Scripted())
    assert files_of(tmp_path / "there") == expected
    assert len(expected["far/wire.pcapng"]) > 1000


@pytest.mark.engine
def test_a_loaded_algorithm_travels_with_its_runs(local: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "own_cc.py"
    source.write_text(OWN.format(name="fartest", cwnd=30))
    sojourn.load_algorithms([source])
    scenario, expected = local(LINK.format(cc="fartest"), seeds=1)
    sojourn.run(scenario, out=tmp_path / "there", executor=Scripted())
    assert files_of(tmp_path / "there") == expected
    source.write_text(OWN.format(name="fartest", cwnd=40))
    with pytest.raises(sojourn.RunError, match="the source of fartest is not what the run was planned with"):
        sojourn.run(scenario, out=tmp_path / "changed", executor=Scripted())
    source.write_text("import nowhere_to_be_found\n")
    with pytest.raises(sojourn.RunError, match=r"own_cc.py:1: ModuleNotFoundError.*only the file itself is sent"):
        sojourn.run(scenario, out=tmp_path / "changed", executor=Scripted())


@pytest.mark.engine
def test_an_algorithm_of_the_running_program_is_refused(tmp_path: Path) -> None:
    @sojourn.controller("stays")
    class Stays:
        def on_ack(self, now: float, ack: sojourn.Ack, win: sojourn.Window) -> None: ...

    with pytest.raises(sojourn.AlgorithmError, match="controller 'stays' is defined in .* that --load"):
        sojourn.run(sojourn.Scenario(LINK.format(cc="stays")), out=tmp_path / "out", executor=Scripted())
    assert not (tmp_path / "out").exists()


@pytest.mark.engine
def test_jobs_of_submitit_give_the_same_bytes(local: Callable[..., Any], tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit", reason=NO_SUBMITIT)
    from sojourn.executors.slurm import Jobs

    scenario, expected = local(seeds=2)
    jobs = tmp_path / "jobs"
    executor = Jobs(submitit.LocalExecutor(jobs), jobs, slots=1)
    sojourn.run(scenario, seeds=2, out=tmp_path / "there", executor=executor)
    assert files_of(tmp_path / "there") == expected
    executor.shutdown()
    assert not jobs.exists()


@pytest.mark.engine
def test_a_job_that_ends_without_a_result_is_lost(tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit", reason=NO_SUBMITIT)
    from sojourn.executors.slurm import Jobs

    jobs = tmp_path / "jobs"
    executor = Jobs(submitit.LocalExecutor(jobs), jobs, slots=1)
    error = executor.submit(signal.raise_signal, signal.SIGKILL).exception(timeout=60)
    assert isinstance(error, Lost)
    assert "no result" in str(error)
    executor.shutdown()
    assert jobs.exists()  # what it said is kept


class Sbatch:
    """Stands for submitit: jobs that leave nothing, or are refused."""

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal
        self.sizes: list[int] = []
        self.jobs: list[Any] = []

    @contextmanager
    def batch(self) -> Iterator[None]:
        before = len(self.jobs)
        yield
        if self.refusal:
            raise RuntimeError(self.refusal)
        self.sizes.append(len(self.jobs) - before)

    def submit(self, function: Callable[[], Any]) -> Any:
        nowhere = Path("none")
        job = SimpleNamespace(job_id=f"7_{len(self.jobs)}", cancelled=0,
                              paths=SimpleNamespace(result_pickle=nowhere, stderr=nowhere))  # fmt: skip
        job.cancel = lambda check: setattr(job, "cancelled", job.cancelled + 1)
        self.jobs.append(job)
        return job


def test_calls_of_a_moment_are_one_array_and_the_job_that_slurm_forgot_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("submitit", reason=NO_SUBMITIT)
    from sojourn.executors import slurm

    monkeypatch.setattr(slurm, "ASK_S", 0.0)
    cluster, answers = Sbatch(), [{"7_0", "7_1", "7_2"}, None, {"7_2"}]
    folder = tmp_path / "jobs"
    folder.mkdir()
    executor = slurm.Jobs(cluster, folder, queued=lambda: answers.pop(0) if len(answers) > 1 else answers[0])
    futures = [executor.submit(print, number) for number in range(3)]
    for future in futures[:2]:
        assert "no result, and it said nothing" in str(future.exception(timeout=60))
    assert not futures[2].done()
    executor.shutdown(wait=False, cancel_futures=True)
    assert cluster.sizes == [3]
    assert [job.cancelled for job in cluster.jobs] == [0, 0, 1]
    assert folder.exists()


def test_what_sbatch_says_against_the_jobs_ends_the_sweep(scenario: Callable[..., str], tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason=NO_SUBMITIT)
    from sojourn.executors import slurm

    executor = slurm.Jobs(Sbatch("sbatch: error: invalid partition specified: gpu"), tmp_path / "jobs")
    with pytest.raises(ExecutorError, match="sbatch refuses the jobs: .* invalid partition specified: gpu"):
        sojourn.run(scenario(), out="out", executor=executor)
    executor.shutdown()
