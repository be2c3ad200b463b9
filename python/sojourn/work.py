"""A run as a unit of work that any process with the same Sojourn can do.

A `Unit` is the resolved scenario, seed included, and the version that its bytes depend on; `perform` does it and
touches nothing but a temporary folder. `check` looks at what came back before it is stored.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sojourn import algorithms, engines, results
from sojourn.engines import Engine, EngineError
from sojourn.scenario import Resolved

#: Whether a run shall go on, of which it may drain what was sampled.
GoOn = Callable[[engines.Run], bool]


class WorkerError(ValueError):
    """A worker whose results cannot be used; one line for the user."""


class SkewError(WorkerError):
    """A worker has another version of what makes the bytes of a run."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a run gave, and what a manifest says of where and when."""

    files: dict[str, bytes]
    complete: bool
    kernel: str | None
    started: str
    wall_s: float
    host: str = field(default_factory=platform.node)
    platform: str = field(default_factory=platform.platform)


@contextmanager
def made(
    engine: Engine,
    scenario: Resolved,
    root: Path,
    *,
    packed: bool = False,
    twice: bool = False,
    go_on: GoOn | None = None,
) -> Iterator[tuple[Made, list[Path]]]:
    """Runs a scenario; also its captures, in a folder below `root` that is gone afterwards.

    Its series are as a store takes them best: `packed`, or else Parquet.

    Raises `RuntimeError` if the run fails, or if it is done `twice` and one byte differs.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    text = scenario.text
    with results.capture_folder(root, text) as folder:
        result = engines.complete(engine.start(scenario, folder), go_on)
        wall_s = time.monotonic() - clock
        files = results.deterministic_files(text, result, packed=packed)
        if twice and result.complete:
            captures = results.capture_digests(folder, text)
            _verify(engine, scenario, root, files, captures, packed=packed, go_on=go_on)
        taken = [folder / name for name in results.capture_names(text)] if folder else []
        yield (
            Made(files, result.complete, result.kernel, started.isoformat(timespec="seconds"), round(wall_s, 3)),
            taken,
        )


def _verify(
    engine: Engine,
    scenario: Resolved,
    root: Path,
    files: Mapping[str, bytes],
    captures: Mapping[str, str],
    *,
    packed: bool,
    go_on: GoOn | None,
) -> None:
    """Raises `RuntimeError` if another run gives other bytes."""
    text = scenario.text
    with results.capture_folder(root, text) as folder:
        second = engines.complete(engine.start(scenario, folder), go_on)
        again = results.deterministic_files(text, second, packed=packed)
        differ = [name for name in files if files[name] != again[name]]
        others = results.capture_digests(folder, text)
        differ += [name for name in captures if captures[name] != others[name]]
        if second.complete and differ:
            raise RuntimeError(f"two runs differ in {', '.join(differ)}")


@dataclass(frozen=True, slots=True)
class Unit:
    """One run to do anywhere; plain and small, since it is sent."""

    id: str
    #: The resolved scenario, which names its seed.
    text: str
    #: Of the engine.
    version: str
    #: Digests of the algorithms from outside that the scenario may use, by name.
    algorithms: tuple[tuple[str, str], ...] = ()
    #: Names and texts of the Python files that define these.
    sources: tuple[tuple[str, str], ...] = ()
    #: How the store takes the series.
    packed: bool = False
    #: Whether to do it twice and compare.
    twice: bool = False

    @classmethod
    def of(cls, run_id: str, scenario: Resolved, engine: Engine, *, packed: bool = False, twice: bool = False) -> Unit:
        """Raises `EngineError` or `AlgorithmError` for what another process cannot do."""
        if engine.name != "sim":
            raise EngineError(f"runs elsewhere: expected --engine sim, not {engine.name}, which needs this machine")
        text = scenario.text
        own = tuple(algorithms.digests(text).items())
        return cls(run_id, text, engine.version, own, algorithms.sources(text), packed, twice)

    @property
    def hash(self) -> str:
        """What the run is recognised by, in its manifest too."""
        return results.digest(self.text, self.version, dict(self.algorithms))

    @property
    def seed(self) -> int:
        """The seed in the scenario."""
        return results.seed_of(self.text)


@dataclass(frozen=True, slots=True)
class Finished:
    """What a worker answers: the run's files, those of its captures, and the digests of all as it had them."""

    hash: str
    made: Made
    captures: dict[str, bytes]
    digests: dict[str, str]


def perform(unit: Unit, go_on: GoOn | None = None) -> Finished:
    """Does a unit in this process.

    Raises `SkewError` if the version here is not that of the unit, `WorkerError` if its algorithms are not here,
    and `RuntimeError` if the run fails or `go_on` ends it.
    """
    engine = engines.named("sim")
    _refuse_skew(unit, engine)
    if algorithms.digests(unit.text) != dict(unit.algorithms):
        names = ", ".join(name for name, _ in unit.algorithms) or "an algorithm"
        raise WorkerError(
            f"{platform.node()}: the source of {names} is not what the run was planned with: load it anew"
        )
    with (
        TemporaryDirectory(prefix="sojourn-") as root,
        made(engine, Resolved(unit.text), Path(root), packed=unit.packed, twice=unit.twice, go_on=go_on) as (
            done,
            taken,
        ),
    ):
        if not done.complete:
            raise RuntimeError("ended early, as it was told to")
        captures = {path.name: path.read_bytes() for path in taken}
    return Finished(unit.hash, done, captures, _digests({**done.files, **captures}))


def check(unit: Unit, finished: object) -> Finished:
    """The answer to a unit; raises `WorkerError` if it is that to another one, or was altered on its way."""
    if not isinstance(finished, Finished):
        raise WorkerError(f"a worker answered {unit.id} with {type(finished).__name__}; expected the files of a run")
    content: dict[str, Any] = {**finished.made.files, **finished.captures}
    names = {*results.FILES, *results.capture_names(unit.text)}
    if finished.hash != unit.hash or content.get("scenario.toml") != unit.text.encode():
        reason = f"hash {finished.hash[:16]}, expected {unit.hash[:16]}"
    elif content.keys() != names or not all(isinstance(part, bytes) for part in content.values()):
        reason = f"files {', '.join(sorted(map(str, content)))}; expected {', '.join(sorted(names))}"
    elif damaged := [name for name, digest in _digests(content).items() if finished.digests.get(name) != digest]:
        reason = f"{', '.join(damaged)}: not the bytes that it had there"
    else:
        return finished
    raise WorkerError(f"{finished.made.host} answered {unit.id} with what is not that run: {reason}")


def _refuse_skew(unit: Unit, engine: Engine) -> None:
    if engine.version != unit.version:
        raise SkewError(
            f"{platform.node()} has Sojourn {engine.version}, where the runs were planned it is {unit.version}: "
            "install the same wheel on both"
        )


def _digests(content: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(part).hexdigest() for name, part in content.items()}
