"""Results on disk: whole or absent, recognised by content, never nested."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sojourn
from conftest import FakeCore
from sojourn import conditions, fidelity, metrics, planning, report, results, suites
from sojourn.fidelity.row import Row, at_least
from sojourn.results import ResultsError, ResultSet, Run, flatten


def test_series_come_back_as_they_went(scenario: Callable[..., str]) -> None:
    run = sojourn.run(scenario(), seed=3, out="out")[0]
    assert run.queues == [{"name": "b"}]
    assert run.names() == ["flow.a.rtt", "flow.a.ce"]
    t, rtt = run.series("flow.a.rtt")
    np.testing.assert_array_equal(t, [0.0, 0.5, 1.0, 1.5])
    np.testing.assert_array_equal(rtt, [3.0, 3.5, 4.0, 4.5])
    assert run.frame().collect_schema().names() == ["series", "unit", "t_s", "value"]
    with pytest.raises(KeyError, match="no series 'flow.b.rtt'"):
        run.series("flow.b.rtt")


def test_a_result_set_is_a_table(scenario: Callable[..., str]) -> None:
    runs = sojourn.run(scenario(), seeds=3, out="out")
    assert list(runs.runs) == ["one", "one@seed2", "one@seed3"]
    assert runs.summary()["goodput_mbps"].to_list() == [48.0, 49.0, 50.0]
    assert runs.summary(full=True)["flows.a.goodput_mbps"].to_list() == [48.0, 49.0, 50.0]
    assert list(ResultSet.open("out").runs) == list(runs.runs)


def test_what_cannot_be_read_is_left_out_with_a_line(scenario: Callable[..., str]) -> None:
    whole, broken, alien = sojourn.run(scenario(), seeds=3, out="out")
    (broken.path / "series.parquet").write_bytes(b"junk")
    (alien.path / "manifest.json").write_text("[]")
    errors: list[str] = []
    assert list(ResultSet.open("out", errors).runs) == [whole.id]
    assert [line.split(":")[0] for line in errors] == [
        "out/one@seed2/series.parquet", "out/one@seed3/manifest.json",
    ]  # fmt: skip
    with pytest.raises(results.ResultsError, match="expected a JSON object"):
        ResultSet.open("out")
    with pytest.raises(results.ResultsError, match="expected the series of a run"):
        results.Run(broken.path).names()
    assert [path.name for path in results.clean(Path("out"), everything=False, dry=True)] == ["one@seed3"]


def test_a_report_reads_the_series_of_each_run_once(
    scenario: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = sojourn.run(scenario(), seeds=3, out="out")
    read: list[str] = []
    columns = results.Run.columns

    def counted(run: results.Run, like: str = "") -> dict[str, tuple[metrics.FloatArray, metrics.FloatArray]]:
        read.append(run.id)
        return columns(run, like)

    monkeypatch.setattr(results.Run, "columns", counted)
    report.of_results(Path("out"), Path(), None)
    assert sorted(read) == sorted(runs.runs)


def test_a_run_is_left_out_of_a_report_where_a_row_finds_its_series_damaged(
    scenario: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = sojourn.run(scenario(), seeds=2, out="out")
    columns = results.Run.columns

    def damaged(run: results.Run, like: str = "") -> dict[str, tuple[metrics.FloatArray, metrics.FloatArray]]:
        if run.id == broken.id and like == r".*\.ce":
            raise results.ResultsError(f"{run.path}: damaged")
        return columns(run, like)

    def marks(source: metrics.Source) -> float:
        return float(source.series("flow.a.ce")[1].size)

    row = Row("Z1", "", "analytic", "-", whole.id, "marks", "", 1.0, at_least(1.0), marks)
    monkeypatch.setattr(fidelity, "ROWS", [row])
    monkeypatch.setattr(metrics, "USUAL", r"flow\..+\.rtt")
    monkeypatch.setattr(results.Run, "columns", damaged)
    page = report.of_results(Path("out"), Path(), None)
    assert page.errors == [f"{broken.path}: damaged"]
    assert page.lead.startswith("1 of 1 checked quantities")
    assert not any("further runs" in note for section in page.sections for note in section.notes)


def test_names_are_noted_beside_the_series_and_found_without_the_note(
    scenario: Callable[..., str], tmp_path: Path
) -> None:
    (run,) = sojourn.run(scenario(), out="out")
    file = run.path / "series.parquet"
    assert pl.read_parquet_metadata(file)["sojourn.series"] == json.dumps(run.names(), separators=(",", ":"))
    pl.read_parquet(file).write_parquet(tmp_path / "series.parquet")
    without = results.Run(tmp_path)
    assert without.files.names() is None and without.names() == run.names()


def test_series_of_a_kind_are_read_alone(scenario: Callable[..., str]) -> None:
    (run,) = sojourn.run(scenario(), out="out")
    (rtt,) = run.columns(r"flow\..+\.rtt").items()
    assert rtt[0] == "flow.a.rtt"
    np.testing.assert_array_equal(rtt[1], run.series("flow.a.rtt"))
    assert run.columns("a") == {}


def test_what_is_kept_of_a_source_is_what_it_has(scenario: Callable[..., str]) -> None:
    (run,) = sojourn.run(scenario(), out="out")
    held = metrics.Cached(run)
    for name in ("flow.a.ce", "flow.a.rtt", "flow.a.ce"):
        np.testing.assert_array_equal(held.series(name), run.series(name))
    with pytest.raises(KeyError, match=r"no series 'flow\.a\.cwnd'"):
        held.series("flow.a.cwnd")


def test_a_source_around_another_has_its_run(scenario: Callable[..., str]) -> None:
    (run,) = sojourn.run(scenario(), out="out")
    assert results.run_of(metrics.Cached(metrics.Cached(run), "another")) is run


def test_a_variant_is_part_of_the_id(scenario: Callable[..., str]) -> None:
    runs = sojourn.run(scenario(), {"flow.a.cc": "reno"}, seeds=2, variant="reno", out="out")
    assert list(runs.runs) == ["one~reno", "one~reno@seed2"]


def test_what_changes_by_the_hour_is_in_the_manifest_alone(scenario: Callable[..., str]) -> None:
    file = scenario()
    a, b = sojourn.run(file, out="a")[0], sojourn.run(file, out="b")[0]
    for name in ("scenario.toml", "summary.json", "queue.json", "series.parquet"):
        assert (a.path / name).read_bytes() == (b.path / name).read_bytes()
    assert {"started", "wall_s", "command", "host"} <= set(a.manifest)
    assert a.manifest["hash"] == results.digest(a.scenario, "0.0.0-fake")


def test_a_write_that_fails_leaves_the_old_run(core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results.write(tmp_path, {"id": "x"}, {"summary.json": b"{}"})

    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            results.write(tmp_path, {"id": "x"}, {"summary.json": b"{1}"})
    assert (tmp_path / "x/summary.json").read_bytes() == b"{}"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_folder_that_cannot_be_made_is_tried_for_a_while_only(
    core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def vanishing(*arguments: object, **keywords: object) -> str:
        nonlocal tries
        tries += 1
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("tempfile.mkdtemp", vanishing)
    with pytest.raises(FileNotFoundError):
        results.write(Path("out"), {"id": "x"}, {})
    assert 1 < tries < 1000


def test_a_run_that_has_no_place_is_not_simulated(core: FakeCore, scenario: Callable[..., str]) -> None:
    Path("out/one/mine").mkdir(parents=True)
    with pytest.raises(sojourn.RunError, match="holds other things than a run"):
        sojourn.run(scenario(), out="out")
    assert core.runs == []


def test_a_damaged_run_is_done_again(core: FakeCore, scenario: Callable[..., str]) -> None:
    file = scenario()
    run = sojourn.run(file, out="out")[0]
    (run.path / "manifest.json").write_text("{")
    sojourn.run(file, out="out")
    assert len(core.runs) == 2


@pytest.mark.parametrize("name", results.FILES)
@pytest.mark.parametrize("damage", ["emptied", "changed", "gone"])
def test_a_run_with_a_damaged_file_is_no_cached_run(
    core: FakeCore, scenario: Callable[..., str], name: str, damage: str
) -> None:
    file = scenario()
    path = sojourn.run(file, out="out")[0].path / name
    whole = path.read_bytes()
    match damage:
        case "emptied":
            path.write_bytes(b"")
        case "changed":
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        case "gone":
            path.unlink()
    sojourn.run(file, out="out")
    assert len(core.runs) == 2
    assert path.read_bytes() == whole
    sojourn.run(file, out="out")
    assert len(core.runs) == 2


def test_a_run_is_on_the_disk_before_it_is_in_its_place(
    core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def synced(opened: int) -> None:
        steps.append(f"sync {Path(f'/proc/self/fd/{opened}').readlink().name}")
        fsync(opened)

    def renamed(self: Path, target: Path) -> Path:
        steps.append(f"rename to {target.name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    results.write(tmp_path / "out", {"id": "a/b"}, {"summary.json": b"{}"})
    building = steps[2].removeprefix("sync ")
    assert steps == [
        "sync summary.json", "sync manifest.json", f"sync {building}", "rename to b", "sync a", "sync out",
        f"sync {tmp_path.name}",
    ]  # fmt: skip


def test_a_run_cannot_hold_another(core: FakeCore, tmp_path: Path) -> None:
    results.write(tmp_path, {"id": "a"}, {})
    results.write(tmp_path, {"id": "b/c"}, {})
    with pytest.raises(FileExistsError, match="is a run"):
        results.write(tmp_path, {"id": "a/b"}, {})
    with pytest.raises(FileExistsError, match="holds other things"):
        results.write(tmp_path, {"id": "b"}, {})


@pytest.mark.parametrize("bad", ["", "/a", "a/", "a//b", "..", "a/../b", ".a", "a b", "a\n"])
def test_ids_that_are_no_folder_are_refused(core: FakeCore, bad: str) -> None:
    with pytest.raises(core.ScenarioError):
        results.check_id(bad)


def test_two_scenarios_of_one_name_are_refused(core: FakeCore) -> None:
    both = [sojourn.Scenario.build({"name": "x", "description": d}) for d in ("a", "b")]
    with pytest.raises(core.ScenarioError, match="two different scenarios"):
        planning.plan(both)


def test_failures_are_raised_after_all_runs(scenario: Callable[..., str]) -> None:
    with pytest.raises(sojourn.RunError, match="1 of 2 runs failed; bad: the engine fell over"):
        sojourn.run([scenario("bad", description="fail"), scenario("good")], out="out")
    assert [run.id for run in ResultSet.open("out")] == ["good"]


def test_summaries_flatten_to_dotted_names() -> None:
    document = json.loads('{"schema": "s", "flows": [{"name": "a", "rtt": {"p50": 1}}], "w": [1, 2]}')
    assert flatten(document) == {"flows.a.rtt.p50": 1, "w": [1, 2]}


def test_a_run_shows_its_table_in_a_notebook_and_nothing_of_it_is_markup(scenario: Callable[..., str]) -> None:
    runs = sojourn.run(scenario(), out="out")
    page = runs[0]._repr_html_()
    assert "<td>a</td><td></td><td>48</td>" in page
    (runs[0].path / "summary.json").write_text('{"flows": [{"name": "<script>"}]}')
    (runs[0].path / "scenario.toml").write_text("description = '<script>'")
    evil = ResultSet.open("out")
    assert "&lt;script&gt;" in evil[0]._repr_html_()
    assert "<script>" not in evil[0]._repr_html_() + evil._repr_html_()
    assert "0 runs" in ResultSet(Path("none"), [])._repr_html_()


def test_runs_are_drawn_by_a_method(scenario: Callable[..., str]) -> None:
    runs = sojourn.run(scenario(), seeds=2, out="out")
    assert len(runs[0].plot("flow.*.rtt").axes) == len(runs.plot("flow.a.rtt", title="two").axes) == 1
    with pytest.raises(ValueError, match="expected 1 to 8 runs, found 0"):
        ResultSet(Path("none"), []).plot()


def test_a_figure_of_broken_series_is_refused_in_one_line(scenario: Callable[..., str]) -> None:
    run = sojourn.run(scenario(), out="out")[0]
    frame = run.table()
    for broken in (frame.drop("unit"), frame.with_columns(t_s=pl.lit("now")), frame.with_columns(series=pl.lit("$a"))):
        broken.write_parquet(run.path / "series.parquet")
        with pytest.raises(ResultsError, match=r"series\.parquet: expected"):
            Run(run.path).plot()


OLD = Path(__file__).parent / "format-1"


def test_results_without_a_format_number_are_read_and_have_conditions() -> None:
    (run,) = ResultSet.open(OLD)
    assert "conditions" not in run.summary
    assert run.conditions.capacity == ((0.0, 10.0), (4.0, 5.0), (6.0, 10.0))
    assert (run.conditions.base_rtts_ms, run.conditions.bottlenecks) == ((20.0,), ("bneck",))
    assert run.role == suites.Role()


def test_results_of_a_later_format_are_refused_in_one_line(tmp_path: Path) -> None:
    shutil.copytree(OLD / "two-queues", tmp_path / "later")
    manifest = tmp_path / "later" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": results.FORMAT + 1}))
    errors: list[str] = []
    assert not ResultSet.open(tmp_path, errors)
    assert errors == [
        f"{manifest}: format: expected at most {results.FORMAT}, got {results.FORMAT + 1}, written by version "
        "0.1.0+9413fde4: run it again, or read it with that version"
    ]


def test_a_run_of_a_suite_says_what_it_stands_for(core: FakeCore) -> None:
    name = "bakeoff/sce-s4-twoflow/reno-sce-vs-reno-sce-gamed/10ms"
    (run,) = sojourn.run(f"^{name}$", out="out")
    assert run.manifest["format"] == results.FORMAT
    assert run.role == suites.Role.read(run.manifest["role"]) == conditions.role(run)
    assert (run.role.section, run.role.side, run.role.sides) == ("bakeoff/s4-twoflow", "SCE", ("L4S", "SCE", "classic"))
    assert (run.role.condition, run.role.rtt_ms) == ("own-vs-own-gamed/10ms", 10.0)
    assert run.role.new == ("reno-sce", "reno-sce-gamed")
