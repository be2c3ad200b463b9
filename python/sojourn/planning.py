"""What to run: jobs from scenarios, files, suites and patterns, and the folder for what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from sojourn import _core, engines, results, suites
from sojourn.engines import Engine
from sojourn.execution import RESULTS
from sojourn.jobs import Job
from sojourn.scenario import Resolved, Scenario, load


def plan(
    targets: Iterable[Scenario | str | Path],
    overrides: Mapping[str, str] | None = None,
    *,
    seed: int | None = None,
    seeds: int = 1,
    variant: str | None = None,
) -> list[Job]:
    """Resolves targets into jobs with distinct ids; raises `ScenarioError` on the first bad one.

    A scenario with a `[sweep]` is a job for each combination of its values, and named by them.
    Several seeds count from `seed` or the scenario's own; after the first, ids end in `@seedN`. A
    `variant` is one of the suite's, or a name for what the overrides change; other than the suite's
    first one it stands in the id, so that both can be in one folder: `ID~variant@seedN`.
    """
    if variant is not None:
        check_variant(variant, named=bool(overrides))
    found: dict[str, Job] = {}
    for scenario, case in _scenarios(targets, variant):
        # A suite's first variant needs no name in it; on a file of one's own every name is one.
        is_default = variant is None or (case is not None and variant == next(iter(suites.variants(case.suite))))
        role = case.role if case else suites.Role()
        label = "" if is_default else f"~{variant}"
        settings = dict(overrides or {})
        if seed is not None:
            settings["seed"] = str(seed)
        points = scenario.expand(settings)
        starts: dict[str, int] = {}
        if seeds > 1 and len({point.swept.get("seed") for point in points}) > 1:
            raise _core.ScenarioError(f"{scenario.file}: --seeds: the scenario's sweep varies the seed itself")
        for first in points:
            name, start = first.name, results.seed_of(first.text)
            known, length_s = starts.setdefault(name, start), duration_s(first)
            numbers = range(start, start + seeds)
            alike = (
                [first] if seeds == 1 else scenario.resolve_seeds({**settings, **first.swept, "name": name}, numbers)
            )
            for number, resolved in zip(numbers, alike, strict=True):
                job_id = f"{name}{label}" + ("" if number == known else f"@seed{number}")
                results.check_id(job_id)
                if job_id in found and found[job_id].scenario.text != resolved.text:
                    raise _core.ScenarioError(f"two different scenarios are named {job_id!r}")
                of_point = replace(resolved, swept=first.swept, sampled=first.sampled)
                found[job_id] = Job(job_id, of_point, length_s, role)
    for job_id in found:
        above = next((part for part in map(str, PurePosixPath(job_id).parents) if part in found), None)
        if above:
            raise _core.ScenarioError(f"the run {job_id!r} would be in the folder of the run {above!r}")
    return list(found.values())


def check_variant(variant: str, *, named: bool = False) -> None:
    """Raises `ScenarioError` if no suite has the variant and it does not name overrides either."""
    known = {name: suites.variants(name) for name in suites.NAMES}
    if not named and not any(variant in names for names in known.values()):
        choice = "; ".join(f"{', '.join(names)} ({suite})" for suite, names in known.items())
        raise _core.ScenarioError(f"--variant {variant}: expected {choice}, or a name for what --set changes")


def select(pattern: str, variant: str | None = None) -> list[suites.Case]:
    """The cases of a suite's name, an id, or a regular expression found in ids.

    A variant that some suite has restricts the choice to such suites; another one changes nothing here.
    """
    known = any(variant in suites.variants(name) for name in suites.NAMES)
    chosen_variant = variant if known else None
    if pattern in suites.NAMES:
        if chosen_variant is not None and chosen_variant not in suites.variants(pattern):
            names = ", ".join(suites.variants(pattern))
            raise _core.ScenarioError(f"--variant {variant}: suite {pattern} has {names}")
        return suites.suite(pattern, chosen_variant)
    cases = list(suites.every(chosen_variant))
    exact = [case for case in cases if case.id == pattern]
    try:
        chosen = exact or [case for case in cases if re.search(pattern, case.id)]
    except re.error as error:
        raise _core.ScenarioError(f"{pattern!r} is no regular expression: {error}") from None
    if not chosen:
        near = get_close_matches(pattern, [*suites.NAMES, *(c.id for c in cases)], n=1)
        hint = f"; nearest is {near[0]!r}" if near else ""
        raise _core.ScenarioError(
            f"{pattern!r} is no suite ({', '.join(suites.NAMES)}), matches no run id and is no scenario file{hint}"
        )
    return chosen


def is_file(target: str | Path) -> bool:
    """Whether a target names a scenario file."""
    return isinstance(target, Path) or target.endswith(".toml")


def find(target: str | Path, variant: str | None = None) -> list[Scenario]:
    """Scenarios of a file, a suite, an id or a regular expression; suites in this variant."""
    if is_file(target):
        try:
            return [load(target)]
        except OSError as error:
            raise _core.ScenarioError(f"{target}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise _core.ScenarioError(f"{target}: is not UTF-8 text") from None
    return [Scenario(case.toml, case.id) for case in select(str(target), variant)]


def slug(target: str) -> str:
    """A target as part of a folder's name."""
    stem = Path(target).stem if target.endswith(".toml") else target
    kept = "".join(c if c.isalnum() or c in "_-" else "-" for c in stem)
    return "-".join(part for part in kept.split("-") if part)[:40] or "run"


def new_folder(name: str, root: Path = RESULTS, taken: Container[str] = ()) -> Path:
    """A folder in `root` that does not exist yet, named by time and `name`, and is not called as one of `taken`."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    folder, number = root / f"{stamp}-{name}", 2
    while folder.exists() or folder.name in taken:
        folder, number = root / f"{stamp}-{name}-{number}", number + 1
    return folder


def able(engine: Engine, todo: Iterable[Job]) -> Engine:
    """The engine; raises `EngineError` if it cannot do one of these jobs."""
    for job in todo:
        engine.check(job.scenario)
    return engine


def nearest(engine: Engine, todo: Iterable[Job]) -> tuple[list[Job], list[str]]:
    """The jobs with the nearest scenarios that the engine can run, and why it cannot run the others.

    Raises `EngineError` if it can run none.
    """
    found, refused = [], []
    for job in todo:
        scenario, differences = engine.nearest(job.scenario)
        try:
            engine.check(scenario)
        except engines.EngineError as error:
            refused.append(str(error))
        else:
            found.append(replace(job, scenario=scenario, differences=differences))
    if refused and not found:
        raise engines.EngineError(refused[0] + (f" ({len(refused)} runs, none of which can run)" * (len(refused) > 1)))
    return found, refused


def duration_s(scenario: Resolved) -> float:
    """Length of a resolved scenario; 1 if its text is in no known unit (progress only)."""
    return seconds(str(scenario.head().get("duration", ""))) or 1.0


def seconds(text: str) -> float | None:
    """A time such as 1ms; None if it is in no known unit."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s)", text)
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return float(match[1]) * scale[match[2]] if match else None


def _scenarios(
    targets: Iterable[Scenario | str | Path], variant: str | None
) -> Iterable[tuple[Scenario, suites.Case | None]]:
    """Scenarios, and the case of each that is of a suite."""
    for target in targets:
        if isinstance(target, Scenario):
            yield target, None
        elif is_file(target):
            yield find(target)[0], None
        else:
            cases = select(str(target), variant)
            _check_aim(str(target), cases)
            yield from ((Scenario(case.toml, case.id), case) for case in cases)


def _check_aim(pattern: str, cases: Sequence[suites.Case]) -> None:
    """Raises `ScenarioError` for a pattern that may match far more than it was meant to."""
    if pattern.startswith(("^", *suites.NAMES)) or pattern.endswith("$") or cases[0].id == pattern:
        return
    count = len({case.suite for case in cases})
    near = next(
        (suite for suite in suites.NAMES if any(case.id.startswith(f"{suite}/{pattern}") for case in cases)), ""
    )
    such = f", such as {near}/{pattern}" if near else ""
    raise _core.ScenarioError(
        f"{pattern!r} is found in {len(cases)} run ids of {count} suite{'s' if count > 1 else ''}; to run them, "
        f"begin with the suite ({', '.join(suites.NAMES)}){such} or with ^"
    )
