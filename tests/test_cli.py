"""What a user of the command sees: streams, exit codes, files."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import FakeCore
from sojourn.cli import call
from sojourn.files import write_whole
from sojourn.results import ResultSet
from sojourn.suites import NAMES

Write = Callable[..., str]
Output = pytest.CaptureFixture[str]


def tree(root: Path) -> dict[str, bytes]:
    files = (p for p in root.rglob("*") if p.is_file() and p.name != "manifest.json")
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


def test_run_writes_a_whole_folder_and_latest_points_to_it(scenario: Write, capsys: Output) -> None:
    assert call(["run", scenario()]) == 0
    run = Path("results/latest/one")
    assert {p.name for p in run.iterdir()} == {
        "manifest.json", "queue.json", "scenario.toml", "series.parquet", "summary.json",
    }  # fmt: skip
    out, err = capsys.readouterr()
    assert re.search(r"^a +48\.0 ", out, re.MULTILINE)
    assert "next: sojourn plot results/" in out
    assert "warning: a warning" in err


def test_full_prints_every_number_and_quiet_prints_nothing(scenario: Write, capsys: Output) -> None:
    assert call(["run", scenario(), "--out", "a", "--full"]) == 0
    assert "flows.a.goodput_mbps  48" in capsys.readouterr().out
    assert call(["run", scenario(), "--out", "b", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert call(["run", scenario("bad", description="fail"), "--out", "b", "-q"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "sojourn: bad failed: the engine fell over\n"


def test_run_json_is_one_document(scenario: Write, capsys: Output) -> None:
    assert call(["run", scenario(), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "sojourn/run/1"
    assert document["runs"][0]["status"] == "done"


def test_a_finished_run_is_skipped_until_scenario_or_engine_change(core: FakeCore, scenario: Write) -> None:
    command = ["run", scenario(), "--out", "out"]
    assert call(command) == call(command) == 0
    assert len(core.runs) == 1
    core.engine = "0.0.1"
    assert call(command) == 0
    assert call([*command, "-s", "link.b.rate=1Mbit"]) == 0
    assert call([*command, "-s", "link.b.rate=1Mbit", "--fresh"]) == 0
    assert len(core.runs) == 4


def test_one_failure_does_not_stop_the_others(scenario: Write, capsys: Output) -> None:
    files = [scenario("bad", description="fail"), scenario("good")]
    assert call(["run", *files, "--out", "out"]) == 3
    assert Path("out/good/manifest.json").exists()
    assert not Path("out/bad").exists()
    assert "bad failed: the engine fell over" in capsys.readouterr().err


def test_the_only_run_failing_is_exit_code_1(scenario: Write) -> None:
    assert call(["run", scenario(description="fail"), "--out", "out"]) == 1


def test_verify_fails_a_run_whose_bytes_differ(scenario: Write, capsys: Output) -> None:
    assert call(["run", scenario("same"), "--verify", "--out", "out"]) == 0
    assert call(["run", scenario("other", description="drift"), "--verify", "--out", "out"]) == 1
    assert "two runs differ in summary.json, series.parquet" in capsys.readouterr().err


def test_bytes_do_not_depend_on_the_number_of_workers(scenario: Write) -> None:
    files = [scenario(f"s{n}") for n in range(5)]
    assert call(["run", *files, "--jobs", "1", "--seeds", "2", "--out", "a"]) == 0
    assert call(["run", *files, "--jobs", "4", "--seeds", "2", "--out", "b"]) == 0
    assert len(tree(Path("a"))) == 5 * 2 * 4
    assert tree(Path("a")) == tree(Path("b"))


def test_an_interrupt_keeps_a_partial_result_that_is_run_again(core: FakeCore, scenario: Write) -> None:
    file = scenario(description="endless")

    def interrupt() -> None:
        core.started.wait()
        signal.raise_signal(signal.SIGINT)

    # A background job of a shell is started with SIGINT ignored.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        assert call(["run", file, "--out", "out"]) == 130
    finally:
        signal.signal(signal.SIGINT, inherited)
    manifest = json.loads(Path("out/one/manifest.json").read_text())
    assert manifest["complete"] is False
    assert not Path("out/.in-progress").exists()
    assert call(["clean", "out"]) == 0
    assert not Path("out/one").exists()


def test_an_interrupt_during_submission_starts_nothing(
    core: FakeCore, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = ThreadPoolExecutor.submit

    def interrupted(pool: ThreadPoolExecutor, work: Callable[[object], object], job: object) -> None:
        submit(pool, work, job)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    assert call(["run", scenario("one"), scenario("two"), "--out", "out"]) == 130
    assert core.runs == []
    assert not Path("out").exists()


def test_a_command_is_told_how_the_runs_ended(scenario: Write, tmp_path: Path, capsys: Output) -> None:
    tell = tmp_path / "tell"
    tell.write_text('#!/bin/sh\necho "$SOJOURN_STATUS $SOJOURN_DONE $SOJOURN_FAILED|$1|$2" >> told\n')
    tell.chmod(0o755)
    files = [scenario("bad", description="fail"), scenario("good")]
    assert call(["run", files[1], "--out", "out", "--notify", f"{tell} hello"]) == 0
    assert call(["run", *files, "--out", "out", "--notify", f"{tell} hello"]) == 3
    first, second = Path("told").read_text().splitlines()
    assert first.startswith("done 1 0|hello|sojourn done after 0:00:0")
    assert second.startswith("failed 0 1|hello|sojourn failed after")
    assert second.endswith(": 1 cached, 1 failed in out")
    capsys.readouterr()
    assert call(["run", files[1], "--out", "out", "--notify", "false"]) == 0
    assert "warning: --notify: exit code 1" in capsys.readouterr().err


def test_clean_takes_runs_only(scenario: Write, capsys: Output) -> None:
    call(["run", scenario(), "--out", "results/r"])
    Path("results/notes.txt").write_text("mine")
    assert call(["clean", "--all", "--dry"]) == 0
    assert Path("results/r/one").exists()
    assert call(["clean", "--all"]) == 0
    assert [p.name for p in Path("results").iterdir()] == ["notes.txt"]
    assert "1 removed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], f"expected suites ({', '.join(NAMES)})"),
        (["run", "absent.toml"], "absent.toml: No such file or directory"),
        (["run", "broken.toml"], "broken.toml: "),
        (["run", "nameless.toml"], "expected a key `name`"),
        (["run", "../up.toml"], "No such file"),
        (["run", "escape.toml"], "run name '../../escape'"),
        (["run", "etc1"], "nearest is 'ect1'"),
        (
            ["run", "."],
            f"run ids of {len(NAMES)} suites; to run them, begin with the suite (bakeoff, dualpi2-overload, ect1",
        ),
        (["run", "prague/dualpi2/50Mbit", "--yes"], "'prague/dualpi2/50Mbit' is found in"),
        (["run", "ect1/("], "is no regular expression"),
        (["run", "ect1", "-s", "seed"], "expected KEY=VALUE"),
        (["run", "ect1", "--jobs", "0"], "jobs"),
        (["run", "ect1", "--nonsense"], "--nonsense"),
        (["show", "ect1"], "matches 123 runs"),
        (["list", "nothing-like-it"], "matches no run id"),
        (["list", "--variants", "etc1"], "expected one of bakeoff, dualpi2-overload, ect1, future"),
        (["run", "ect1", "--variant", "p9"], "--variant p9: expected as-intended, as-published"),
        (["run", "ect1", "--variant", "as-published"], "suite ect1 has p2b, p2a"),
        (["show", "bakeoff/l4s-s1-oneflow/cubic/0ms", "--variant", "p2a"], "matches no run id"),
        (["qdisc", "codle"], "nearest is 'codel'"),
        (["cc", "codle", "--json"], "nearest is 'codel'"),
        (["compare", "nowhere"], "no such results"),
        (["report", "nowhere"], "no such results"),
        (["run", "nested.toml", "nested2.toml"], "the run 'nested/below' would be in the folder of the run 'nested'"),
        (["show", "."], "expected the folder of one run"),
        (["clean", "nowhere"], "no such results folder"),
        (["show", ".", "--log", "setup"], "--log setup: .: expected the folder of a finished run"),
        (["run", "ect1", "--dry", "--notify", "/no/such"], "expected a command that can be run"),
        (["run", "ect1", "--notify", "'"], "--notify ': expected a command"),
        (["export", "flent", "nowhere"], "expected the folder of a run"),
        (["nonsense"], "nonsense"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2_and_leaves_nothing(
    core: FakeCore, capsys: Output, arguments: list[str], message: str
) -> None:
    for name, text in {
        "broken.toml": "name = ",
        "nameless.toml": "duration = '1s'",
        "escape.toml": "name = '../../escape'",
        "nested.toml": "name = 'nested'",
        "nested2.toml": "name = 'nested/below'",
    }.items():
        Path(name).write_text(text)
    before = sorted(Path().iterdir())
    assert call(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sojourn: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(Path().iterdir()) == before
    assert core.runs == []


def test_dry_lists_and_writes_nothing(core: FakeCore, capsys: Output) -> None:
    assert call(["run", "ect1/l4s-s2.*codel1q", "--dry"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 9
    assert list(Path().iterdir()) == []


def test_list_json_is_an_array_of_ids(core: FakeCore, capsys: Output) -> None:
    assert call(["list", "ect1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 123
    assert set(rows[0]) >= {"id", "description", "duration_s"}


def test_a_variant_stands_in_the_ids_unless_it_is_the_default(core: FakeCore, capsys: Output) -> None:
    name = "bakeoff/sce-s5-oneflow/cubic/0ms"
    for variant, expected in (("as-published", f"{name}~as-published"), ("as-intended", name)):
        assert call(["run", name, "--variant", variant, "--dry"]) == 0
        assert capsys.readouterr().out.split() == [expected]
    assert call(["run", name, "-s", "seed=2", "--variant", "mine", "--dry"]) == 0
    assert capsys.readouterr().out.split() == [f"{name}~mine"]
    # The first variant of some suite is a name like any other on a file of one's own.
    Path("own.toml").write_text('name = "own"\n')
    for variant in ("current", "p2b"):
        assert call(["run", "own.toml", "-s", "link.b.rate=1Mbit", "--variant", variant, "--dry"]) == 0
        assert capsys.readouterr().out.split() == [f"own~{variant}"]
    assert call(["list", "--variants", "bakeoff", "--json"]) == 0
    assert [row["variant"] for row in json.loads(capsys.readouterr().out)] == [
        "as-intended",
        "as-published",
        "p0",
        "module",
        "paced",
    ]


def test_patterns_that_name_a_suite_or_are_anchored_are_run(core: FakeCore, capsys: Output) -> None:
    for pattern in (
        "linux72",
        "ect1/l4s-s1",
        "^ect1/l4s-s1",
        "^scream",
        "/cubic/0ms$",
        "bakeoff/sce-s5-oneflow/cubic/0ms",
    ):
        assert call(["run", pattern, "--dry"]) == 0
        assert capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "runs"), [("y\n", 60), ("\n", 0), ("", 0), (None, 60)])
def test_many_runs_are_announced_and_a_terminal_is_asked(
    core: FakeCore, scenario: Write, capsys: Output, monkeypatch: pytest.MonkeyPatch, answer: str | None, runs: int
) -> None:
    command = ["run", scenario(), "--out", "out", "--seeds"]
    err = io.StringIO() if answer is None else Terminal()
    monkeypatch.setattr(sys, "stdin", io.StringIO() if answer is None else Terminal(answer))
    monkeypatch.setattr(sys, "stderr", err)
    assert call([*command, "60"]) == (0 if runs else 130)
    assert "60 runs, about " in err.getvalue()
    assert ("start? [y/N]" in err.getvalue()) == (answer is not None)
    assert len(core.runs) == runs
    assert call([*command, "61", "--yes"]) == 0
    assert len(core.runs) == 61
    asked = err.getvalue().count("start?")
    assert call([*command[:-1], "--seed", "7"]) == 0
    assert err.getvalue().count("start?") == asked


def test_what_a_killed_process_left_beside_latest_is_in_nobodys_way(scenario: Write, capsys: Output) -> None:
    Path("results").mkdir()
    stale = Path(f"results/.latest-{os.getpid()}")
    stale.symlink_to("gone")
    assert call(["run", scenario()]) == 0
    assert Path("results/latest").resolve().name.endswith("-one")
    assert not stale.is_symlink()
    # Nor is a run lost because the link cannot be made.
    stale.mkdir()
    assert call(["run", "one.toml", "--fresh"]) == 0
    assert "results/latest does not point to" in capsys.readouterr().err
    Path("results/.latest-1").symlink_to("gone")
    assert call(["clean"]) == 0
    assert not Path("results/.latest-1").is_symlink()


@pytest.mark.parametrize(("file", "text"), [("queue.json", "[3]"), ("summary.json", "{"), ("manifest.json", "[]")])
@pytest.mark.parametrize("option", [[], ["--markdown"]])
def test_a_report_says_what_it_left_out(
    core: FakeCore, scenario: Write, capsys: Output, file: str, text: str, option: list[str]
) -> None:
    assert call(["run", scenario("good"), scenario("bad"), "--out", "out"]) == 0
    Path("out/bad", file).write_text(text)
    assert call(["report", "out", "-o", "page", *option]) == 3
    assert f"sojourn: out/bad/{file}: expected" in capsys.readouterr().err
    assert f"out/bad/{file}: expected" in Path("page").read_text()


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    write = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        write(self, content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*page.html'"):
        write_whole(page, "new page")
    assert page.read_text() == "old"
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("out", ["/proc/nowhere", "file", "file/below"])
def test_a_folder_that_cannot_hold_results_is_refused_before_the_first_run(
    core: FakeCore, scenario: Write, capsys: Output, out: str
) -> None:
    file = scenario()
    Path("file").touch()
    assert call(["run", file, "--out", out]) == 2
    assert f"sojourn: {out}: expected a folder that can be written" in capsys.readouterr().err
    assert core.runs == []
    assert sorted(path.name for path in Path().iterdir()) == ["file", file]


SWEPT = """name = "swept"
duration = "2s"
description = "queues"
[sweep]
"link.b.qdisc" = ["dualpi2", "pfifo limit 9"]
"""


def test_every_combination_of_a_sweep_is_run_and_listed(core: FakeCore, capsys: Output) -> None:
    Path("swept.toml").write_text(SWEPT)
    ids = ["swept/dualpi2", "swept/pfifo-limit-9"]
    assert call(["run", "swept.toml", "--dry"]) == 0
    assert capsys.readouterr().out.split() == ids
    assert call(["list", "swept.toml", "--json"]) == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ids
    assert call(["run", "swept.toml", "--out", "out"]) == 0
    found = ResultSet.open("out")
    assert list(found.runs) == ids
    assert found.summary()["link.b.qdisc"].to_list() == ["dualpi2", "pfifo limit 9"]
    # One value of it by itself is the same run.
    assert call(["run", "swept.toml", "--out", "out", "-s", "link.b.qdisc=pfifo limit 9"]) == 0
    assert sorted(core.runs) == ids
    seeded = ["run", "swept.toml", "--seeds", "2", "--variant", "v", "-s", "flow.a.cc=reno", "--dry"]
    capsys.readouterr()
    assert call(seeded) == 0
    assert capsys.readouterr().out.split() == [f"{name}~v{seed}" for name in ids for seed in ("", "@seed2")]


def test_a_swept_seed_is_named_as_the_option_names_it(core: FakeCore, capsys: Output) -> None:
    Path("swept.toml").write_text(f"{SWEPT}seed = [4, 5]\n")
    assert call(["run", "swept.toml", "--dry"]) == 0
    assert capsys.readouterr().out.split() == [
        "swept/dualpi2", "swept/dualpi2@seed5", "swept/pfifo-limit-9", "swept/pfifo-limit-9@seed5",
    ]  # fmt: skip
    assert call(["show", "swept.toml"]) == 0
    assert "\n# swept/dualpi2\n# swept/dualpi2@seed5\n" in capsys.readouterr().out
    assert call(["run", "swept.toml", "--seeds", "2", "--dry"]) == 2
    assert "the scenario's sweep varies the seed itself" in capsys.readouterr().err


def test_show_prints_a_sweep_that_makes_the_same_runs(core: FakeCore, capsys: Output) -> None:
    Path("swept.toml").write_text(SWEPT)
    assert call(["show", "swept.toml"]) == 0
    Path("again.toml").write_text(capsys.readouterr().out)
    assert call(["run", "swept.toml", "again.toml", "--dry"]) == 0
    assert capsys.readouterr().out.split() == ["swept/dualpi2", "swept/pfifo-limit-9"]
    assert call(["show", "swept.toml", "--json"]) == 0
    assert [run["id"] for run in json.loads(capsys.readouterr().out)["runs"]] == [
        "swept/dualpi2",
        "swept/pfifo-limit-9",
    ]
    assert call(["tc", "swept.toml"]) == 2
    assert "its sweep makes 2 runs; choose one, such as -s link.b.qdisc=dualpi2" in capsys.readouterr().err


def test_show_prints_the_table_of_a_run_and_with_full_its_scenario_too(scenario: Write, capsys: Output) -> None:
    call(["run", scenario(), "--out", "out"])
    capsys.readouterr()
    assert call(["show", "out/one"]) == call(["show", "out"]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^a +48\.0 ", out, re.MULTILINE)) == 2
    assert "next: sojourn plot out/one" in out
    assert call(["show", "out/one", "--full"]) == 0
    out = capsys.readouterr().out
    assert 'name = "one"' in out
    assert "flows.a.goodput_mbps  48" in out
    assert call(["show", "one.toml", "--json"]) == call(["show", "out/one", "--json"]) == 0
    assert capsys.readouterr().out.count('"schema": "sojourn/show/1"') == 2


def test_show_without_a_path_is_the_newest_results(scenario: Write, capsys: Output) -> None:
    for words in ([], ["latest"], ["--log", "teardown"]):
        assert call(["show", *words]) == 2
        assert "sojourn: results: no finished run in it; `sojourn run` makes one" in capsys.readouterr().err
    for folder, at in (("late", 200), ("early", 100), ("partial", 300)):
        call(["run", scenario(folder), "-o", f"results/{folder}"])
        manifest = Path(f"results/{folder}/{folder}/manifest.json")
        if folder == "partial":
            manifest.write_text(manifest.read_text().replace('"complete": true', '"complete": false'))
        os.utime(manifest, (at, at))
    capsys.readouterr()
    for words, told in (
        ([], "next: sojourn plot results/late/late"),
        (["latest"], "next: sojourn plot results/late/late"),
        (["--full"], 'name = "late"'),
        (["--log", "teardown"], "# late\n"),
    ):
        assert call(["show", *words]) == 0
        assert told in capsys.readouterr().out
    call(["run", scenario("here"), "-o", "latest"])
    capsys.readouterr()
    assert call(["show", "latest"]) == 0
    assert "sojourn plot latest/here" in capsys.readouterr().out


def test_algorithms_are_listed_and_explained(core: FakeCore, capsys: Output) -> None:
    assert call(["qdisc"]) == call(["cc", "codel"]) == call(["app", "codel"]) == 0
    assert call(["qdisc", "--json"]) == 0
    out = capsys.readouterr().out
    assert "codel  Controlled delay (RFC 8289)" in out
    assert "codel [ target TIME ]" in out


def test_every_command_has_help_with_an_example(core: FakeCore, capsys: Output) -> None:
    for verb in ("run", "list", "show", "qdisc", "cc", "app", "plot", "compare", "report", "fidelity",
                 "clean", "import flent", "export flent"):  # fmt: skip
        assert call([*verb.split(), "--help"]) == 0
        assert f"sojourn {verb}" in capsys.readouterr().out.split("xample", 1)[1]


def test_the_habits_of_the_testbeds_script_get_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["run", "l4s", "dry"]) == 2
    assert "dry: an option here: `sojourn run l4s --dry`" in capsys.readouterr().err
    assert call(["run", "l4s", "--dry"]) == 2
    assert "such as bakeoff/l4s or with ^" in capsys.readouterr().err


def test_scales_of_each_run_are_separated_by_commas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    for words, told in (
        (["--scale", "fixed,var"], "--scale fixed,var: expected one scale; several with --each"),
        (
            ["--each", "--scale", "fixed,x"],
            "--scale fixed,x: expected auto, fixed, var, or fixed,var with --each",
        ),
        (["--each", "--scale", "var,var"], "--scale var,var: expected auto"),
        (["--max-rate", "0"], "--max-rate"),
        (["--each", "-o", "file"], "--output file: expected a folder for the pictures of --each"),
    ):
        assert call(["plot", "out", *words]) == 2
        assert told in capsys.readouterr().err
