"""What a command loads, and what it therefore takes to start."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sojourn
from conftest import HAS_CORE
from sojourn import _core, cli, engines
from sojourn.cli.verbs import VERBS
from sojourn.planning import plan
from sojourn.results import Run
from sojourn.scenario import load

HERE = Path(__file__).parent.parent
#: Of what takes a tenth of a second to load and more, what `run` and help need none of.
TABLES = {"polars", "numpy", "scipy", "matplotlib", "jinja2"}
TINY = """
name = "tiny"
duration = "1s"
[[link]]
name = "bneck"
rate = "10Mbit"
[[flow]]
name = "cubic"
cc = "cubic"
"""

needs_core = pytest.mark.skipif(not HAS_CORE, reason="the native module is not built")


def loaded(tmp_path: Path, *words: str) -> set[str]:
    """The modules that a command has loaded at its end, in a process of its own."""
    program = (
        "import atexit, pathlib, sys\n"
        "from sojourn.command import main\n"
        "atexit.register(lambda: pathlib.Path('loaded').write_text(' '.join(sys.modules)))\n"
        "main()"
    )
    subprocess.run([sys.executable, "-c", program, *words], cwd=tmp_path, check=True, capture_output=True)
    return set((tmp_path / "loaded").read_text().split())


@needs_core
def test_the_version_is_said_before_any_verb_or_library_is_loaded(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--version")
    assert not modules & {*TABLES, "rich", "cyclopts", "sojourn.results", "sojourn.cli", "sojourn.running"}


@needs_core
def test_a_run_is_made_and_written_without_the_libraries_for_tables(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    modules = loaded(tmp_path, "run", "tiny.toml", "-o", "out")
    assert not modules & {*TABLES, "rich"}
    assert pl.read_parquet(tmp_path / "out/tiny/series.parquet").height > 100


@needs_core
def test_the_page_about_all_verbs_loads_none_of_them(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--help")
    assert not modules & {*TABLES, *(f"sojourn.cli.{verb.place.partition(':')[0]}" for verb in VERBS.values())}


@pytest.mark.parametrize("verb", VERBS)
def test_the_line_of_a_verb_is_the_first_of_its_own_page(verb: str) -> None:
    found = cli.app[verb]
    about = found.help or (found.default_command and found.default_command.__doc__) or ""
    assert VERBS[verb].about == about.strip().splitlines()[0]


def test_every_name_of_the_package_is_there_and_no_other() -> None:
    assert {"run", "Run", "Scenario"} < {*sojourn.__all__} <= {*dir(sojourn)}
    assert all(getattr(sojourn, name) is not None for name in sojourn.__all__)
    assert callable(sojourn.run)
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        sojourn.rnu  # type: ignore[attr-defined] # noqa: B018


@needs_core
@pytest.mark.parametrize("file", sorted((HERE / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_seeds_that_are_resolved_at_once_are_as_each_by_itself(file: Path) -> None:
    scenario = load(file)
    (first, *_) = scenario.expand()
    given = {**first.swept, "name": first.name}
    seeds = [1, 7, 2**40]
    alone = [scenario.resolve({**given, "seed": str(seed)}) for seed in seeds]
    assert scenario.resolve_seeds(given, seeds) == alone


@needs_core
@pytest.mark.parametrize("group_rows", [1 << 20, 100, 7])
def test_series_are_read_from_parquet_as_they_were_recorded(tmp_path: Path, group_rows: int) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    (job,) = plan([tmp_path / "tiny.toml"])
    result = engines.complete(engines.named("sim").start(job.scenario))
    lengths = [len(times) for _, _, times, _ in result.series]
    names, units, times, values = zip(*result.series, strict=True)
    wanted = pl.DataFrame({
        "series": np.repeat(names, lengths),
        "unit": np.repeat(units, lengths),
        "t_s": np.concatenate(times),
        "value": np.concatenate(values),
    })  # fmt: skip
    table = _core.series_table([result.packed()], group_rows=group_rows)
    assert pl.read_parquet(io.BytesIO(table)).equals(wanted, null_equal=True)
    assert table == _core.series_table([result.packed()], group_rows=group_rows)
    both = _core.series_table([result.packed()] * 2, ["a", "b"], group_rows=group_rows)
    second = pl.scan_parquet(io.BytesIO(both)).filter(pl.col("id") == "b").drop("id").collect()
    assert second.equals(wanted, null_equal=True)

    # By the module itself: of a file of one run, and of one with another run before it.
    for name, content, begin in (("one", table, 0), ("both", both, wanted.height)):
        (file := tmp_path / name).write_bytes(content)
        read = _core.series_read(file, {*names, "other"}, begin, wanted.height)
        assert read is not None and [one for one, _, _ in read] == list(names)
        for (_, t_s, numbers), of_series in zip(read, result.series, strict=True):
            assert (t_s, numbers) == tuple(np.asarray(column, "<f8").tobytes() for column in of_series[2:])
    assert json.loads(_core.series_names(tmp_path / "one") or "") == list(names)
    assert _core.series_names(tmp_path / "both") is None


@needs_core
def test_cells_of_a_table_are_what_polars_reads(tmp_path: Path) -> None:
    columns: list[tuple[str, str, list[object]]] = [
        ("a", "text", ["x", None, "\u00e9"]),
        ("b", "double", [None, 0.5, 2]),
        ("c", "long", [1 << 62, None, -1]),
        ("d", "int", [1, 2, 3]),
        ("e", "bool", [True, None, False]),
    ]
    (file := tmp_path / "table.parquet").write_bytes(_core.table_file(columns))
    frame = pl.read_parquet(file)
    assert frame.schema == {"a": pl.String, "b": pl.Float64, "c": pl.Int64, "d": pl.Int32, "e": pl.Boolean}
    assert frame.to_dict(as_series=False) == {name: values for name, _, values in columns}
    assert _core.table_read(file, {"c", "a", "z"}) == {name: values for name, _, values in (columns[0], columns[2])}
    assert list(_core.table_read(file, {"a"}, others=True) or ()) == ["b", "c", "d", "e"]
    with pytest.raises(ValueError, match="no kind of column: x"):
        _core.table_file([("a", "x", [])])
    with pytest.raises(TypeError):
        _core.table_file([("a", "long", ["1"])])


@needs_core
def test_series_that_others_wrote_are_read_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    (run,) = sojourn.run(tmp_path / "tiny.toml", out=tmp_path / "out")
    wanted = run.columns(r"flow\..*")
    file = run.path / "series.parquet"
    pl.read_parquet(file).write_parquet(file)
    assert _core.series_read(file, {"a"}) is None
    found = Run(run.path).columns(r"flow\..*")
    assert list(found) == list(wanted) and found
    for name, columns in wanted.items():
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found[name], columns, strict=True))
        assert np.array_equal(Run(run.path).series(name)[1], columns[1], equal_nan=True)


@needs_core
def test_toml_is_read_as_by_tomllib() -> None:
    files = [*(HERE / "scenarios").glob("*.toml"), *HERE.glob("*.toml")]
    texts = [
        *(file.read_text(encoding="utf-8") for file in files),
        'a.b = 1\n[c]\nx = [1, {y = -0.0}]\n[a.d]\nz = "\\u00e9"\n',
    ]
    for text in texts:
        assert repr(_core.toml(text)) == repr(tomllib.loads(text))
    for text in ("a = ", "a = 1979-05-27", "a = 1\r\n", "a = 99999999999999999999"):
        assert _core.toml(text) is None


@needs_core
def test_a_run_without_samples_is_a_table_without_rows() -> None:
    empty = pl.read_parquet(io.BytesIO(_core.series_table([b"[[], [], []]\n"], group_rows=8)))
    assert empty.is_empty()
    assert empty.schema == {"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64}


@needs_core
@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]\n",
        b'[["a"], [""], [3]]\n' + bytes(16),
        b'[["a"], [""], [1]]\n' + bytes(15),
        b'[["a"], [], [1]]\n' + bytes(16),
        b'[["a"], [""], [18446744073709551615]]\n',
    ],
)
def test_what_is_no_packed_series_is_refused(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="expected series as `packed` has them"):
        _core.series_table([damaged], group_rows=8)


def test_the_page_of_a_verb_is_whole_after_that_about_all(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], [], ["rnu"], ["plot", "--help"]):
        cli.call(words)
    assert "xample" in capsys.readouterr().out.partition("Usage: sojourn plot")[2]
