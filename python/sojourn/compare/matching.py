"""What is laid beside what: the runs of two result sets that belong together.

Each side may be a Sojourn results folder, a folder of Flent files or a capture file; without a second side the
measured data of `sojourn.reference` are used. Runs are matched by id, those left over by their
parameters, and the window of side B counts for both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn import metrics, path, reference
from sojourn.captures.source import CaptureSource, is_capture
from sojourn.compare.comparison import Comparison
from sojourn.compare.pairs import Pair, natural, pair_up
from sojourn.interop import flent
from sojourn.metrics import Source
from sojourn.precision import point_of
from sojourn.results import ResultsError, ResultSet, exists, flatten
from sojourn.text import harmless


class CompareError(ValueError):
    """The comparison cannot start: no such folder, no such expression."""


def collect(a: Path, b: Path | None, *, only: str | None = None) -> Comparison:
    """Match the runs of both sides and summarise each over the window of side B."""
    try:
        wanted = re.compile(only or "")
    except re.error as error:
        raise CompareError(f"--only {only}: expected a regular expression ({error})") from None
    result = Comparison()
    ours = {key: run for key, run in _side(a, result.errors).items() if wanted.search(key)}
    if b is None:
        theirs = _measured(ours, result.errors)
    else:
        theirs = {key: run for key, run in _side(b, result.errors).items() if wanted.search(key)}
    found = matches(ours, theirs)
    result.only_a = sorted(ours.keys() - {match.a for match in found}, key=natural)
    result.only_b = sorted(theirs.keys() - {match.b for match in found}, key=natural)
    alone = ours.keys() - {match.a for match in found if not match.is_extra}
    result.lone = [ours[run_id] for run_id in sorted(alone, key=natural)]
    for match in sorted(found, key=lambda match: natural(match.a)):
        try:
            pair = _paired(match, ours[match.a], theirs[match.b])
        except ResultsError as error:
            result.errors.append(str(error))
            continue
        if pair is None:
            result.errors.append(f"{match.a}: expected flows that live longer than 11 s together on both sides")
            continue
        (result.seeds if match.is_extra else result.pairs).append(pair)
        for difference in _parameters(pair):
            result.parameters[difference] = result.parameters.get(difference, 0) + 1
    return result


def _paired(match: Match, a: Source, b: Source) -> Pair | None:
    """Both sides over the window of B. A capture begins when somebody began it: it is laid so that first flows meet."""
    if isinstance(a, CaptureSource):
        a = a.beside(b)
    if isinstance(b, CaptureSource):
        b = b.beside(a)
        over = metrics.window(b) or metrics.measuring_window(a)
    else:
        over = metrics.measuring_window(b)
    return pair_up(match.a, a, b, over, match.reason)


@dataclass(frozen=True)
class Match:
    """Ids of both sides that belong together."""

    a: str
    b: str
    #: Why, where the ids are not the same.
    reason: str = ""
    #: A further seed of A beside a single run of B.
    is_extra: bool = False


SAME_SCENARIO = "the same scenario under another name"
ONLY_ONES = "the only ones left on both sides"


def matches(ours: Mapping[str, Source], theirs: Mapping[str, Source]) -> list[Match]:
    """Runs of both sides that belong together.

    By id; then those left over by scenario, whatever its name; and if each side is left with one
    scenario, these two, if they have something in common: they were given to be compared.
    """
    found = [Match(run_id, run_id) for run_id in ours if run_id in theirs]
    seeded = {point_of(run_id) for run_id in theirs if "@seed" in run_id}
    for run_id in ours:
        base = point_of(run_id)
        if run_id not in theirs and base in theirs and base not in seeded:
            found.append(Match(run_id, base, is_extra=True))
    left_a = [run_id for run_id in ours if run_id not in {match.a for match in found}]
    left_b = [run_id for run_id in theirs if run_id not in {match.b for match in found}]
    by_scenario = {key: run_id for run_id in left_b if (key := _conditions(theirs[run_id])) is not None}
    for run_id in list(left_a) if by_scenario else ():
        other = by_scenario.pop(_conditions(ours[run_id]) or "", None)
        if other is not None:
            found.append(Match(run_id, other, SAME_SCENARIO))
            left_a.remove(run_id)
            left_b.remove(other)
    if len({point_of(run_id) for run_id in left_a}) == 1 == len({point_of(i) for i in left_b}):
        by_seed = {run_id[len(point_of(run_id)) :]: run_id for run_id in left_b}
        seeds_of_a = {run_id: run_id[len(point_of(run_id)) :] for run_id in left_a}
        pairs = [(run_id, by_seed[seed]) for run_id, seed in seeds_of_a.items() if seed in by_seed]
        found += [Match(a, b, ONLY_ONES) for a, b in pairs if _have_in_common(ours[a], theirs[b])]
    return found


def _have_in_common(a: Source, b: Source) -> bool:
    """A flow's name, or one flow for each of the other side; a queue is no reason to lay a call over a download."""
    of_a, of_b = metrics.flows(a), metrics.flows(b)
    return bool(set(of_a) & set(of_b)) or len(of_a) == len(of_b)


def _conditions(source: Source) -> str | None:
    """All that a run depends on, its seed included, but for what it is called."""
    if not (document := path.scenario(source)):
        return None
    return json.dumps({key: document[key] for key in document if key not in ("name", "description")}, sort_keys=True)


def _parameters(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """Dotted names of the scenario whose values differ, and both values."""
    of_a, of_b = flatten(path.scenario(pair.a)), flatten(path.scenario(pair.b))
    for key in dict.fromkeys([*of_a, *of_b]) if of_a and of_b else ():
        if key not in ("name", "description") and of_a.get(key) != of_b.get(key):
            yield key, str(of_a.get(key, "-")), str(of_b.get(key, "-"))


def _side(folder: Path, errors: list[str]) -> Mapping[str, Source]:
    if not folder.exists() and not exists(folder):
        raise CompareError(f"{folder}: expected a results folder, Flent files or a capture, found nothing")
    if is_capture(folder):
        capture = CaptureSource(folder)
        errors += capture.capture.warnings
        return {capture.id: capture}
    if exists(folder) and not flent.files(folder):
        found = ResultSet.open(folder, errors).runs
        runs: Mapping[str, Source] = {key: metrics.Cached(run) for key, run in found.items()}
        if not runs and not errors:
            raise CompareError(f"{folder}: expected a results folder or Flent files, found neither")
        return runs
    read: dict[str, Source] = {}
    for file in flent.files(folder):
        try:
            source = flent.FlentFile(file)
        except flent.FlentError as error:
            errors.append(str(error))
            continue
        if source.id in read:
            errors.append(f"{file.name}: file: expected one file per run, {source.id} was read already")
        else:
            read[source.id] = source
    return read


def _measured(ours: Mapping[str, Source], errors: list[str]) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for run_id in ours:
        try:
            source = reference.find(run_id)
        except flent.FlentError as error:
            errors.append(str(error))
            source = reference.shipped().get(run_id)
        if source is not None:
            found[run_id] = source
    return found


def names_of(a: Path, b: Path) -> tuple[str, str] | None:
    """What to call two result sets; None if B is a measurement."""
    if b.is_file() or (b.is_dir() and flent.files(b)):
        return None
    a, b = a.resolve(), b.resolve()
    names = (a.name, b.name) if a.name != b.name else (f"{a.parent.name}/{a.name}", f"{b.parent.name}/{b.name}")
    return harmless(names[0]), harmless(names[1])
