"""Several units as one task: where a run is short, a task of its own would cost more than it."""

from __future__ import annotations

import pickle
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn.algorithms import AlgorithmError, load_algorithms
from sojourn.text import in_one_line
from sojourn.work import Finished, SkewError, Unit, perform

IsWanted = Callable[[], bool]
#: Between two looks at a process, s.
LOOK_S = 0.2
APART = "import sys; from sojourn.executors.task import answer; answer(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Failure:
    """A unit that failed where it ran, and why, in a line."""

    id: str
    error: str


Answer = Finished | Failure


def perform_all(units: Sequence[Unit], is_wanted: IsWanted | None = None) -> list[Answer]:
    """Does units one after the other; what fails is an answer too. Raises `SkewError` for all of them.

    Units that bring Python files are done in a process of their own: two sweeps may have two algorithms of one name,
    and what a worker has once learned it cannot forget.
    """
    if any(unit.sources for unit in units):
        return _apart(units, is_wanted)
    return [_performed(unit, is_wanted) for unit in units]


def failure(unit: Unit, error: BaseException) -> Failure:
    """A unit's failure in one line."""
    return Failure(unit.id, in_one_line(error))


def answer(folder: str) -> None:
    """What the process does that `perform_all` starts: units from a file, answers into another."""
    units: list[Unit] = pickle.loads(Path(folder, "units").read_bytes())  # noqa: S301 - our parent wrote it
    answers: list[Answer] | SkewError
    try:
        for number, (name, text) in enumerate(dict.fromkeys(source for unit in units for source in unit.sources)):
            place = Path(folder, str(number))
            place.mkdir()
            (place / name).write_text(text, encoding="utf-8")
            load_algorithms([place / name])
        answers = [_performed(unit, None) for unit in units]
    except AlgorithmError as error:
        only = AlgorithmError(f"{str(error).removeprefix(folder)} (on {platform.node()}; only the file itself is sent)")
        answers = [failure(unit, only) for unit in units]
    except SkewError as error:
        answers = error
    Path(folder, "answers").write_bytes(pickle.dumps(answers))


def _performed(unit: Unit, is_wanted: IsWanted | None) -> Answer:
    try:
        return perform(unit, (lambda _: is_wanted()) if is_wanted else None)
    except (SkewError, KeyboardInterrupt):
        raise
    # A panic of the engine arrives as a BaseException; it is this run's failure.
    except BaseException as error:
        return failure(unit, error)


def _apart(units: Sequence[Unit], is_wanted: IsWanted | None) -> list[Answer]:
    with TemporaryDirectory(prefix="sojourn-") as folder:
        Path(folder, "units").write_bytes(pickle.dumps(list(units)))
        said = Path(folder, "said")
        command = [sys.executable, "-c", APART, folder]
        with said.open("wb") as log, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as own:
            try:
                while own.poll() is None and (is_wanted is None or is_wanted()):
                    try:
                        own.wait(LOOK_S)
                    except subprocess.TimeoutExpired:
                        continue
            finally:
                own.kill()
        try:
            answers: list[Answer] | SkewError = pickle.loads(Path(folder, "answers").read_bytes())  # noqa: S301 - ours
        except OSError:
            last = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            error = RuntimeError(f"its process on {platform.node()} ended with {own.returncode}: {''.join(last)}")
            return [failure(unit, error) for unit in units]
    if isinstance(answers, SkewError):
        raise answers
    return answers
