"""What the verbs share: exit codes, options, errors, answers."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn import executors
from sojourn.engines import Engine
from sojourn.estimate import shown, wall_s
from sojourn.execution import cores
from sojourn.jobs import Job
from sojourn.planning import check_variant, find
from sojourn.planning import slug as slug
from sojourn.results import exists
from sojourn.scenario import Resolved, Scenario
from sojourn.text import harmless, shortened

OK, FAILED, MISUSE, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
LATEST = Path("results/latest")

#: More runs than these, or longer ones, are announced before they start.
MANY_RUNS, LONG_S = 50, 600.0

AtLeastOne = Parameter(validator=Number(gte=1))
Json = Annotated[bool, Parameter(name="--json")]
Load = Annotated[list[Path] | None, Parameter(name=["--load", "-l"])]
Out = Annotated[Path | None, Parameter(name=["--out", "-o"])]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
Set = Annotated[list[str] | None, Parameter(name=["--set", "-s"])]


class UsageError(Exception):
    """Something the user can put right; the text is one line."""


def overrides(settings: list[str] | None) -> dict[str, str]:
    """What --set says, by key."""
    pairs: dict[str, str] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not (equals and key.strip()):
            raise UsageError(f"--set {setting}: expected KEY=VALUE, such as link.bneck.rate=100Mbit")
        pairs[key.strip()] = value.strip()
    return pairs


def one(target: str, variant: str | None = None) -> Scenario:
    """The only scenario that a target names."""
    if variant is not None:
        check_variant(variant)
    scenarios = find(target, variant)
    if len(scenarios) > 1:
        raise UsageError(f"{target!r} matches {len(scenarios)} runs; `sojourn list {target}` has them")
    return scenarios[0]


def one_run(target: str, settings: dict[str, str]) -> Resolved:
    """The only run that a target names."""
    runs = one(target).expand(settings)
    if len(runs) > 1:
        choice = " ".join(f"-s {key}={shlex.quote(value)}" for key, value in runs[0].swept.items())
        raise UsageError(f"{target}: its sweep makes {len(runs)} runs; choose one, such as {choice}")
    return runs[0]


def agreed(
    todo: Sequence[Job], *, engine: Engine, jobs: int | None, yes: bool, executor: Executor | None = None
) -> bool:
    """Announces many or long runs; asks where somebody is there to answer."""
    at_once = jobs or (executors.slots(executor) if executor else cores(engine))
    time_s = wall_s(todo, engine, at_once)
    if len(todo) <= MANY_RUNS and time_s <= LONG_S:
        return True
    counted = f"{len(todo)} run{'' if len(todo) == 1 else 's'}, {shown(time_s)} {at_once} at a time"
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"{counted}, less what is there already")
        return True
    print(f"sojourn: {counted}, less what is there already; start? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def expect(path: Path) -> None:
    """Refuses results that are not there."""
    if not path.exists() and not exists(path):
        raise UsageError(f"{path}: no such results; `sojourn run ect1` makes some")


def written(path: Path, *, as_json: bool) -> int:
    """Answers with the file or folder that a verb wrote."""
    if as_json:
        print_json({"schema": "sojourn/written/1", "path": str(path)})
    else:
        print(path)
    return OK


def print_json(document: object) -> None:
    """Answers a program."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def say(line: str, *, whole: bool = False) -> None:
    """Tells the user on stderr: with `whole` also the middle of a long word or line."""
    line = harmless(line)
    print(f"sojourn: {line if whole else shortened(line)}", file=sys.stderr)
