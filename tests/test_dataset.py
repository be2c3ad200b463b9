"""Many runs in one dataset: the same answers as from folders, the same bytes whatever happened on the way."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sojourn
from conftest import FakeCore
from sojourn import results
from sojourn.cli import call
from sojourn.results import QueryError, ResultsError, ResultSet, dataset, keeper, partition

SEEDS = 7


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs a partition, so that few runs make several."""
    for module in (dataset, keeper):
        monkeypatch.setattr(module, "SIZE", 3)


def bytes_of(root: Path) -> dict[str, bytes]:
    """What is a function of scenarios, seeds and version: all but what is recorded of each partition."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not partition.NAME.fullmatch(path.name)
    }


def made(file: str, out: str, **options: object) -> ResultSet:
    return sojourn.run(file, seeds=SEEDS, out=out, store="dataset", **options)  # type: ignore[arg-type]


def test_both_forms_answer_alike(scenario: Callable[..., str]) -> None:
    file = scenario()
    folders, kept = sojourn.run(file, seeds=SEEDS, out="folders"), made(file, "dataset")
    assert list(kept.runs) == list(folders.runs)
    for a, b in zip(folders, ResultSet.open("dataset"), strict=True):
        assert (a.id, a.summary, a.queues, a.scenario, a.document) == (
            b.id,
            b.summary,
            b.queues,
            b.scenario,
            b.document,
        )
        assert (a.names(), a.swept, a.role, a.conditions) == (b.names(), b.swept, b.role, b.conditions)
        assert a.table().equals(b.table())
        for name, (t, values) in b.columns().items():
            np.testing.assert_array_equal([t, values], a.series(name))
        with pytest.raises(KeyError, match="no series 'x'"):
            b.series("x")
        same = {"id", "version", "seed", "hash", "complete", "warnings", "command", "host", "platform", "format"}
        assert {key: a.manifest[key] for key in same} == {key: b.manifest[key] for key in same}
        assert {"started", "wall_s"} <= b.manifest.keys()
    assert folders.summary().equals(kept.summary())
    assert folders.summary(full=True).equals(kept.summary(full=True))


def test_tables_that_polars_wrote_are_read_too(scenario: Callable[..., str]) -> None:
    made(scenario(), "dataset")
    before = ResultSet.open("dataset")
    wanted = before.summary(), [(run.summary, run.columns()) for run in before]
    for file in Path("dataset/dataset").glob("*.parquet"):
        pl.read_parquet(file).write_parquet(file, compression="zstd")
    after = ResultSet.open("dataset")
    assert after.summary().equals(wanted[0])
    for run, (summary, columns) in zip(after, wanted[1], strict=True):
        assert run.summary == summary and list(run.columns()) == list(columns)
        for name, (t, values) in columns.items():
            np.testing.assert_array_equal(run.series(name), [t, values])


VERBS = [
    "show {}", "show {} --full", "show {} --log teardown", "export csv {} -o out.csv",
    "plot {}/one -o out.svg -p flow.*.rtt",
    "plot {} --each -o pictures -p flow.*.rtt", "report {} -o out.json", "compare {} {}",
    "query SELECT/*/*/id,seed,goodput_mbps/**/FROM/**/runs/**/ORDER/**/BY/**/seed {}", "show {}/one@seed2 --json",
    "export csv {}/one@seed3 -o out.csv", "doctor --results {}", "clean {} --all --dry",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_the_same_of_both_forms(
    scenario: Callable[..., str], verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = scenario()
    sojourn.run(file, seeds=SEEDS, out="first/same")
    made(file, "second/same")
    said = {}
    for side in ("first", "second"):
        capsys.readouterr()
        arguments = [
            word.replace("/**/", " ").replace("/*/*/", " ") for word in verb.format(*[f"{side}/same"] * 2).split()
        ]
        code = call(arguments)
        out, err = capsys.readouterr()
        if verb.endswith("--json"):
            document = json.loads(out)
            for key in ("started", "wall_s", "files"):
                del document["manifest"][key]
            out = json.dumps(document)
        if verb.startswith("clean"):
            out = out.splitlines()[-1][2:]
        written = [path for path in (Path("out.csv"), Path("out.svg"), Path("out.json")) if path.exists()]
        # A run of a dataset has no file of series of its own to link to.
        found = [re.sub(rb',"data":"[^"]*"', b"", path.read_bytes()) for path in written]
        said[side] = code, *(text.replace(f"{side}/", "") for text in (out, err)), *found
        if verb.startswith("show {} --log"):
            said[side] = code, [line for line in out.splitlines() if not line.startswith("# started")]
    assert said["first"][0] in (0, 1, 3)  # 3: flows too short to be compared
    assert said["first"] == said["second"] or verb.startswith("clean"), verb


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_number_of_workers_changes_no_byte(scenario: Callable[..., str], jobs: int) -> None:
    file = scenario()
    made(file, "one", jobs=2)
    made(file, "other", jobs=jobs)
    assert bytes_of(Path("one")) == bytes_of(Path("other"))
    assert len(list(Path("one/dataset").glob("*.runs.parquet"))) == 3
    assert {path.parts[1] for path in Path("one").rglob("*")} == {"dataset"}


def test_the_order_in_which_runs_come_changes_no_byte(scenario: Callable[..., str]) -> None:
    file = scenario()
    made(file, "once")
    for seeds in (2, 5, SEEDS):
        sojourn.run(file, seeds=seeds, out="grown", store="dataset")
    assert bytes_of(Path("once")) == bytes_of(Path("grown"))


def test_what_is_there_is_not_done_again(core: FakeCore, scenario: Callable[..., str]) -> None:
    file = scenario()
    made(file, "out")
    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")}
    made(file, "out")
    assert len(core.runs) == SEEDS
    assert {path: path.stat().st_mtime_ns for path in Path("out/dataset").iterdir()}.items() <= before.items()


def test_a_failed_run_leaves_the_others_and_comes_back(core: FakeCore, scenario: Callable[..., str]) -> None:
    good = [scenario(f"run-{number}") for number in range(5)]
    with pytest.raises(sojourn.RunError, match="run-2 failed|1 of 5"):
        sojourn.run([scenario("run-2", description="fail"), *good[:2], *good[3:]], out="out", store="dataset")
    assert list(ResultSet.open("out").runs) == ["run-0", "run-1", "run-3", "run-4"]
    scenario("run-2")  # put right
    sojourn.run(good, out="out")
    assert len(core.runs) == 6
    sojourn.run(good, out="whole", store="dataset")
    assert bytes_of(Path("out")) == bytes_of(Path("whole"))


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
@pytest.mark.parametrize("ending", [".runs.parquet", ".series.parquet"])
def test_only_the_runs_of_a_damaged_partition_are_done_again(
    core: FakeCore, scenario: Callable[..., str], ending: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = scenario()
    made(file, "out")
    whole = bytes_of(Path("out"))
    path = sorted(Path("out/dataset").glob(f"*{ending}"))[1]
    content = path.read_bytes()
    match damage:
        case "changed":
            path.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
        case "cut":
            path.write_bytes(content[:-9])
        case "gone":
            path.unlink()
    errors: list[str] = []
    assert len(ResultSet.open("out", errors)) == SEEDS - 3
    assert len(errors) == 1
    assert errors[0].startswith(f"{path}: expected the SHA-256 ")
    made(file, "out")
    assert len(core.runs) == SEEDS + 3
    assert f"{path}: expected the SHA-256" in (said := capsys.readouterr().err)
    assert "its 3 runs are done again" in said
    assert bytes_of(Path("out")) == whole


def test_a_damaged_record_of_a_partition_is_reported_and_made_again(
    core: FakeCore, scenario: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = scenario()
    made(file, "out")
    whole = bytes_of(Path("out"))
    first = next(path for path in sorted(Path("out/dataset").iterdir()) if partition.NAME.fullmatch(path.name))
    first.write_text("{")
    with pytest.raises(ResultsError, match="expected what is recorded of a partition"):
        ResultSet.open("out")
    made(file, "out")
    assert len(core.runs) == SEEDS + 3
    assert str(first) in capsys.readouterr().err
    assert bytes_of(Path("out")) == whole


def test_names_that_leave_the_folder_are_refused(scenario: Callable[..., str]) -> None:
    made(scenario(), "out")
    path = next(path for path in Path("out/dataset").iterdir() if partition.NAME.fullmatch(path.name))
    document = json.loads(path.read_text())
    document["runs"][0]["id"] = "../../evil"
    path.write_text(json.dumps(document))
    with pytest.raises(ResultsError, match="names of runs"):
        ResultSet.open("out")


def test_a_later_format_is_refused_in_one_line(scenario: Callable[..., str]) -> None:
    made(scenario(), "out")
    index = Path("out/dataset/dataset.json")
    index.write_text(json.dumps({**json.loads(index.read_text()), "format": 99}))
    with pytest.raises(ResultsError, match="dataset.json: format: expected 1, got 99"):
        ResultSet.open("out")
    with pytest.raises(ResultsError, match="dataset.json: format: expected 1, got 99"):
        made(scenario(), "out")


def test_two_that_write_at_once_are_told_apart(scenario: Callable[..., str]) -> None:
    first = keeper.Keeper(Path("out"), ["x"], print)
    first.check()
    with pytest.raises(ResultsError, match="another `sojourn run` is writing to it"):
        made(scenario(), "out")
    first.close()
    assert len(made(scenario(), "out")) == SEEDS


def test_a_folder_keeps_its_form(scenario: Callable[..., str]) -> None:
    sojourn.run(scenario(), seeds=2, out="out")
    with pytest.raises(ResultsError, match="holds its runs as a folder a run"):
        made(scenario(), "out")


def test_more_than_the_limit_become_a_dataset(scenario: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["sojourn.results.store"], "MOST_FOLDERS", 3)
    sojourn.run(scenario(), seeds=3, out="few")
    sojourn.run(scenario(), seeds=4, out="many")
    assert Path("few/one/manifest.json").exists()
    assert dataset.is_dataset(Path("many"))


def test_incomplete_runs_of_a_dataset_are_cleaned(core: FakeCore, scenario: Callable[..., str]) -> None:
    kept = keeper.Keeper(Path("out"), ["whole", "half"], print)
    kept.check()
    for name, complete in (("whole", True), ("half", False)):
        files = {"scenario.toml": b"", "summary.json": b"{}", "queue.json": b"[]", "series.parquet": b"[[], [], []]\n"}
        kept.write({"id": name, "hash": name, "complete": complete, "seed": 1, "version": "1"}, files)
    kept.close()
    assert [path.name for path in results.clean(Path("out"), everything=False, dry=True)] == ["half"]
    results.clean(Path("out"), everything=False, dry=False)
    assert list(ResultSet.open("out").runs) == ["whole"]
    results.clean(Path("out"), everything=True, dry=False)
    assert not Path("out").exists()


def test_a_run_is_readable_while_others_are_under_way(scenario: Callable[..., str]) -> None:
    kept = keeper.Keeper(Path("out"), ["a", "b"], print)
    kept.check()
    files = {
        "scenario.toml": b"",
        "summary.json": b"{}",
        "queue.json": b"[]",
        "series.parquet": b'[["s"], [""], [1]]\n',
    }
    files["series.parquet"] += np.array([1.0, 2.0]).tobytes()
    run = kept.write({"id": "a", "hash": "a", "complete": True, "seed": 1, "version": "1"}, files)
    (read,) = ResultSet.open("out")
    np.testing.assert_array_equal([*run.series("s"), *read.series("s")], [[1.0], [2.0], [1.0], [2.0]])
    kept.write({"id": "b", "hash": "b", "complete": True, "seed": 1, "version": "1"}, files)
    np.testing.assert_array_equal(run.series("s"), [[1.0], [2.0]])
    kept.close()


@pytest.mark.parametrize("opened", [False, True])
def test_runs_stay_readable_when_the_dataset_grows_around_them(scenario: Callable[..., str], opened: bool) -> None:
    first = sojourn.run([scenario("b"), scenario("d")], out="out", store="dataset")
    if opened:
        first = ResultSet.open("out")
    names = {path.name for path in Path("out/dataset").iterdir()}
    sojourn.run([scenario(name) for name in "ac"], out="out", store="dataset")
    assert names.isdisjoint(path.name for path in Path("out/dataset").iterdir() if path.name != dataset.INDEX)
    again = ResultSet.open("out")
    for name in "bd":
        found, wanted = first.runs[name], again.runs[name]
        assert found.names() == wanted.names()
        np.testing.assert_array_equal(found.series(found.names()[0]), wanted.series(found.names()[0]))
        assert found.summary == wanted.summary


def test_a_run_of_another_scenario_is_not_taken_for_the_one_that_was_there(scenario: Callable[..., str]) -> None:
    first = sojourn.run(scenario("b"), out="out", store="dataset")
    sojourn.run(scenario("b", description="another"), out="out", store="dataset")
    with pytest.raises(ResultsError, match=r"out/dataset/.*: b: series.parquet: expected"):
        first.runs["b"].series("s")


def test_a_torn_record_at_the_end_of_a_journal_is_left_out(scenario: Callable[..., str]) -> None:
    kept = keeper.Keeper(Path("out"), ["a", "b", "c"], print)
    kept.check()
    files = {"scenario.toml": b"", "summary.json": b"{}", "queue.json": b"[]", "series.parquet": b"[[], [], []]\n"}
    for name in "ab":
        kept.write({"id": name, "hash": name, "complete": True, "seed": 1, "version": "1"}, files)
    (journal,) = Path("out/dataset").glob("*.journal")
    whole = journal.read_bytes()
    ends = set()
    for length in range(0, len(whole) + 1, 7):
        journal.write_bytes(whole[:length])
        ends.add(len(ResultSet.open("out")))
    assert ends == {0, 1, 2} - ({2} if (len(whole) % 7) else set())


def test_samples_of_a_long_partition_are_in_several_files(
    scenario: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition, "MOST_ROWS", 13)  # a run has six
    kept = made(scenario(), "out")
    assert len(list(Path("out/dataset").glob("00000-*.series*.parquet"))) == 2
    assert [run.series("flow.a.rtt")[1][0] for run in kept] == list(range(1, SEEDS + 1))
    assert kept.query("SELECT COUNT(*) AS n FROM series")["n"].to_list() == [6 * SEEDS]


def test_questions_have_answers_from_both_forms(scenario: Callable[..., str]) -> None:
    file = scenario()
    both = sojourn.run(file, seeds=SEEDS, out="folders"), made(file, "dataset")
    for sql in (
        "SELECT * FROM runs ORDER BY id",
        "SELECT name, SUM(goodput_mbps) AS mbps FROM flows GROUP BY name",
        "SELECT id, name FROM queues ORDER BY id DESC LIMIT 2",
        "SELECT id, MAX(value) AS most FROM series WHERE series = 'flow.a.rtt' GROUP BY id",
        "WITH s AS (SELECT id, value FROM series) "
        "SELECT r.seed, AVG(s.value) AS mean FROM runs r JOIN s ON s.id = r.id GROUP BY r.seed",
    ):
        answers = [runs.query(sql) for runs in both]
        assert answers[0].equals(answers[1]), sql
        assert answers[0].height
    assert both[1].query("SELECT SUM(goodput_mbps) AS s FROM flows")["s"].item() == sum(
        47.0 + n for n in range(1, SEEDS + 1)
    )
    assert ResultSet.open("dataset/one@seed2").query("SELECT COUNT(*) AS n FROM series")["n"].item() == 6
    assert "flows.a.goodput_mbps" in both[1].query("SELECT * FROM runs", full=True).columns


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT goodput FROM runs", "no column goodput: nearest is goodput_mbps"),
        ("SELECT * FROM run", "no table run: nearest is runs; there are runs, flows, queues, series"),
        ("SELECT rtt_ms.p50 FROM flows", "double quotes"),
        ("SELECT * FROM read_csv('/etc/passwd')", "reads a file"),
        ("SELECT * FROM \"READ_parquet\" /* */ ('x')", "reads a file"),
        ("SELECT E'\\'' || x FROM read_csv -- \n ('y')", "reads a file"),
        ("CREATE TABLE x AS SELECT 1", "begins with SELECT or WITH"),
        ("", "begins with SELECT or WITH"),
        ("SELECT id FROM runs; DROP TABLE runs", "one"),
        ("SELECT id FROM", "xpected"),
    ],
)
def test_a_question_that_has_no_answer_is_refused_in_one_line(
    scenario: Callable[..., str], sql: str, said: str
) -> None:
    runs = sojourn.run(scenario(), out="out")
    with pytest.raises(QueryError, match=said) as caught:
        runs.query(sql)
    assert "\n" not in str(caught.value)


def test_query_prints_csv_json_and_writes_parquet(
    scenario: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    sojourn.run(scenario(), seeds=2, out="out")
    capsys.readouterr()
    question = "SELECT id, seed FROM runs ORDER BY seed"
    assert call(["query", question, "out", "--csv"]) == 0
    assert capsys.readouterr().out == "id,seed\none,1\none@seed2,2\n"
    assert call(["query", question, "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"id": "one", "seed": 1}, {"id": "one@seed2", "seed": 2}]
    assert call(["query", question, "out", "--parquet", "x.parquet"]) == 0
    assert pl.read_parquet("x.parquet")["seed"].to_list() == [1, 2]
    assert call(["query", question, "out", "--csv", "--json"]) == 2
    assert call(["query", question, "nowhere"]) == 2


SCENARIO = """\
name = "swept"
duration = "1s"
step = "100ms"
[[link]]
name = "bneck"
rate = "2Mbit"
delay = "10ms"
[[flow]]
name = "a"
cc = "cubic"
"""
RUNS, KILLS = 23, 8

#: Runs the command with few runs a partition, and kills its process without any warning at its nth step on disk.
KILLED = """
import os, pathlib, signal, sys, threading
from sojourn.results import dataset, keeper
dataset.SIZE = keeper.SIZE = 5
left, lock = int(sys.argv[1]), threading.RLock()
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
for name in ("mkdir", "rename", "rmdir", "write_bytes", "unlink", "replace", "open"):
    setattr(pathlib.Path, name, step(getattr(pathlib.Path, name)))
from sojourn.cli import call
sys.exit(call(sys.argv[2:]))
"""
NEVER = "1000000"


@pytest.mark.engine
@pytest.mark.timeout(600)
def test_kill_9_at_random_moments_changes_no_byte_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "swept.toml").write_text(SCENARIO)

    def command(steps: str, out: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        wanted = ["run", "swept.toml", "--seeds", str(RUNS), "--store", "dataset", "--out", out, *arguments]
        process = [sys.executable, "-c", KILLED, steps, *wanted]
        return subprocess.run(process, cwd=tmp_path, capture_output=True, text=True, check=False)

    undisturbed = command(NEVER, "whole", "--jobs", "1")
    assert undisturbed.returncode == 0, undisturbed.stderr
    dice = random.Random(9)  # noqa: S311 - moments to be killed at
    before: set[str] = set()
    kills = 0
    for _ in range(KILLS):
        done = command(str(dice.randint(3, 60)), "killed", "--jobs", "2")
        assert done.returncode in (-signal.SIGKILL, 0), done.stderr
        kills += done.returncode == -signal.SIGKILL
        there = {run.id for run in ResultSet.open(tmp_path / "killed")} if (tmp_path / "killed").exists() else set()
        assert before <= there  # what was finished is never lost
        before = there
    assert kills > 3
    resumed = command(NEVER, "killed", "--json")
    assert resumed.returncode == 0, resumed.stderr
    statuses = [run["status"] for run in json.loads(resumed.stdout)["runs"]]
    assert statuses.count("cached") == len(before)
    assert call(["clean", str(tmp_path / "killed")]) == 0  # what a kill leaves behind
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")
    assert len(ResultSet.open(tmp_path / "whole")) == RUNS
