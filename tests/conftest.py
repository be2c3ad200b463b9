"""A stand-in for the native module, so that the Python side is tested by itself.

Tests of the stand-in say what happens around a run (files, exit codes, interrupts); `test_smoke.py`
runs the real engine.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
import sys
import threading
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from serving import Browser
    from sojourn.engines.linux import Kernel

#: A kernel in virtual time where there may be one. As its own `run` would not, ours lets it use seccomp(2) in place of
#: ptrace(2), which halves what a guest takes of the machine.
LINUX = Path(__file__).resolve().parents[2] / "shared/tools/linux-vt/linux-7.2-um"

# As with the Rust properties, the gate draws the same examples every time. How long it takes is no verdict.
settings.register_profile("gate", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gate")


class ScenarioError(ValueError):
    pass


class Result:
    kernel = None

    def __init__(self, seed: int, *, complete: bool) -> None:
        self.complete = complete
        self.summary = json.dumps(
            {"schema": "sojourn/summary/1", "flows": [{"name": "a", "goodput_mbps": 47.0 + seed}]}
        )
        self.queues = json.dumps([{"name": "b"}])
        times = np.arange(4) * 0.5
        self.series = [
            ("flow.a.rtt", "ms", times, times + seed),
            ("flow.a.ce", "", times[:2], np.array([0.0, 1.0])),
        ]

    def packed(self) -> bytes:
        names, units, times, values = zip(*self.series, strict=True)
        head = json.dumps([names, units, [len(column) for column in times]])
        return f"{head}\n".encode() + np.concatenate([*times, *values]).astype("<f8").tobytes()


class FakeRun:
    """A run that ends at once, fails, or never ends."""

    duration_s = 2.0

    def __init__(self, what: str | None, seed: int) -> None:
        self.what, self.seed, self.now_s = what, seed, 1.0

    def advance(self) -> str:
        if self.what == "fail":
            raise RuntimeError("the engine\nfell over")
        if self.what == "endless":
            threading.Event().wait(0.01)
            return "going"
        self.now_s = self.duration_s
        return "ended"

    def finish(self) -> Result:
        return Result(self.seed, complete=self.now_s == self.duration_s)


class FakeCore(ModuleType):
    """`_core` with scripted behaviour: a scenario's `description` says what its run does."""

    ScenarioError = ScenarioError
    RunResult, Run = Result, FakeRun
    Ack = AckEvent = Lost = Packet = Path = RateSample = Sent = Window = object

    def __init__(self) -> None:
        super().__init__("sojourn._core")
        self.engine = "0.0.0-fake"
        self.runs: list[str] = []
        self.started = threading.Event()
        self.drift = 0

    def version(self) -> str:
        return self.engine

    def schema(self) -> str:
        return '{"title": "Sojourn scenario"}\n'

    def brief(self, text: str) -> str:
        raise ScenarioError("a stand-in has no brief form")

    def resolve(
        self, text: str, file: str, overrides: list[tuple[str, str]], within: object = None
    ) -> tuple[str, list[str]]:
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(f"{file}: {error}") from None
        if "name" not in document:
            raise ScenarioError(f"{file}: expected a key `name`")
        document |= {key: value for key, value in overrides if key == "name"}
        seed = dict(overrides).get("seed", str(document.get("seed", 1)))
        lines = [f"{key} = {json.dumps(document[key])}" for key in ("name", "duration", "description")
                 if key in document]  # fmt: skip
        shown = "".join(f"# {key}={value}\n" for key, value in overrides if key not in ("seed", "name"))
        return "\n".join([*lines, f"seed = {seed}", ""]) + shown, ["a warning"]

    def resolve_seeds(
        self, text: str, file: str, overrides: list[tuple[str, str]], seeds: list[int], within: object = None
    ) -> tuple[list[str], list[str]]:
        found = [self.resolve(text, file, [*overrides, ("seed", str(seed))], within) for seed in seeds]
        return [resolved for resolved, _ in found], found[0][1]

    def series_table(self, runs: list[bytes], ids: list[str] | None = None, *, group_rows: int) -> bytes:
        import polars as pl

        columns: dict[str, list[object]] = {name: [] for name in ("id", "series", "unit", "t_s", "value")}
        for run_id, packed in zip(ids or [""] * len(runs), runs, strict=True):
            head, _, numbers = packed.partition(b"\n")
            names, units, lengths = json.loads(head)
            t_s, values = np.frombuffer(numbers, dtype="<f8").reshape(2, -1)
            columns["id"] += [run_id] * len(t_s)
            columns["series"] += np.repeat(names, lengths).tolist()
            columns["unit"] += np.repeat(units, lengths).tolist()
            columns["t_s"] += t_s.tolist()
            columns["value"] += values.tolist()
        frame, buffer = pl.DataFrame(columns), io.BytesIO()
        (frame if ids else frame.drop("id")).write_parquet(buffer)
        return buffer.getvalue()

    def toml(self, text: str) -> dict[str, object]:
        return tomllib.loads(text)

    def series_names(self, file: object) -> None:
        """Its files are those of others."""

    def table_file(self, columns: list[tuple[str, str, list[object]]]) -> bytes:
        import polars as pl

        kinds = {"text": pl.String, "double": pl.Float64, "long": pl.Int64, "int": pl.Int32, "bool": pl.Boolean}
        buffer = io.BytesIO()
        frame = pl.DataFrame({name: pl.Series(values, dtype=kinds[kind]) for name, kind, values in columns})
        frame.write_parquet(buffer)
        return buffer.getvalue()

    def table_read(self, file: object, names: set[str], *, others: bool = False) -> None:
        """As above."""

    def series_read(self, file: object, names: set[str], *rows: int) -> None:
        """As above."""

    def design(self, text: str, file: str, overrides: list[tuple[str, str]]) -> None:
        """It has no samples."""

    def expand(
        self,
        text: str,
        file: str,
        overrides: list[tuple[str, str]],
        cube: list[list[float]],
        within: object = None,
    ) -> list[tuple[list[tuple[str, str]], str]]:
        self.resolve(text, file, overrides)
        axes = tomllib.loads(text).get("sweep", {})
        axes |= {key: [value] for key, value in overrides if key in axes}
        points = [list(zip(axes, map(str, values), strict=True)) for values in itertools.product(*axes.values())]
        return [(point, self.resolve(text, file, [*overrides, *point])[0]) for point in points]

    @property
    def Engine(self) -> FakeCore:  # noqa: N802
        return self

    def simulator(self) -> FakeCore:
        return self

    def check(self, resolved_toml: str) -> None:
        """It runs everything."""

    def start(self, resolved_toml: str, captures: object = None) -> FakeRun:
        document = tomllib.loads(resolved_toml)
        self.runs.append(document["name"])
        self.started.set()
        what = document.get("description")
        if what == "drift":
            self.drift += 1
        return FakeRun(what, document["seed"] + self.drift)

    def qdiscs(self) -> str:
        row = {"name": "codel", "summary": "Controlled delay", "reference": "RFC 8289"}
        return json.dumps([row | {"parameters": []}])

    controllers = apps = qdiscs

    def qdisc_usage(self, name: str) -> str:
        if name != "codel":
            raise ScenarioError(f"qdisc {name!r}: nearest is 'codel'")
        return "codel [ target TIME ]\n"

    cc_usage = app_usage = qdisc_usage


try:
    import sojourn

    HAS_CORE = True
except ModuleNotFoundError as missing:
    if missing.name != "sojourn._core":
        raise
    HAS_CORE = False
    sys.modules["sojourn._core"] = FakeCore()
    import sojourn


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCore:
    """The stand-in, in an empty working directory."""
    from sojourn import cli, planning, running, scenario
    from sojourn.cli import words
    from sojourn.engines import sim
    from sojourn.results import identity

    fake = FakeCore()
    for module in (cli, words, sim, scenario, identity, planning, running):
        monkeypatch.setattr(module, "_core", fake)
    monkeypatch.chdir(tmp_path)
    return fake


@pytest.fixture
def scenario(core: FakeCore, tmp_path: Path) -> Callable[..., str]:
    """Writes a scenario file and returns its name."""

    def write(name: str = "one", **keys: str) -> str:
        document = {"name": name, "duration": "2s", **keys}
        (tmp_path / f"{Path(name).name}.toml").write_text(sojourn.Scenario.build(document).text)
        return f"{Path(name).name}.toml"

    return write


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel in virtual time, which `SOJOURN_LINUX` names from now on, or a skipped test."""
    from sojourn.engines import linux

    if not os.environ.get(linux.VARIABLE) and LINUX.is_file():
        monkeypatch.setenv(linux.VARIABLE, str(LINUX))
    try:
        return linux.find()
    except linux.LinuxError as error:
        pytest.skip(str(error))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Files as the build of the lab's page leaves them."""
    from serving import PAGE

    folder = tmp_path / "page"
    for name, text in PAGE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def browser(tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """A client of `sojourn serve` in a folder of its own, outside of which are files that it must not read."""
    from serving import STRANGE, TRACE, serving

    folder = tmp_path / "home"
    (folder / "traces").mkdir(parents=True)
    (folder / "traces/own.txt").write_text(TRACE)
    (tmp_path / "outside.txt").write_text(TRACE)
    (tmp_path / "secret.txt").write_text(STRANGE)
    monkeypatch.chdir(folder)
    with serving(folder, page) as client:
        yield client


@pytest.fixture(scope="session")
def _results_to_serve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results as folders and as a dataset."""
    from serving import SCENARIO

    folder, scenario = tmp_path_factory.mktemp("served"), sojourn.Scenario(SCENARIO)
    for name, seed in (("a", 1), ("b", 2)):
        sojourn.run(scenario, seed=seed, out=folder / name)
    sojourn.run(scenario, seeds=3, out=folder / "many", store="dataset")
    return folder


@pytest.fixture
def filled(browser: Browser, _results_to_serve: Path) -> Browser:
    """A client of a server with results."""
    shutil.copytree(_results_to_serve, browser.folder / "results")
    return browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without the native module the tests that need it are skipped, with this reason."""
    if not HAS_CORE:
        reason = "the native module sojourn._core is not built (make build)"
        for item in items:
            if item.get_closest_marker("engine"):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Seconds of the files that take longest, and of the tests in real time, which mostly wait."""
    files: defaultdict[str, float] = defaultdict(float)
    live = 0.0
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                files[report.nodeid.split("::")[0]] += report.duration
                live += report.duration if "live" in report.keywords else 0.0
    longest = sorted(files.items(), key=lambda entry: -entry[1])[:8]
    terminalreporter.write_line("seconds of tests: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in longest))
    terminalreporter.write_line(f"{live:.0f} s of {sum(files.values()):.0f} s are tests in real time (marker live)")
