"""The smallest form of a scenario that still shows something: what can go is left out, step by step."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sojourn._core import ScenarioError
from sojourn.jobs import Job
from sojourn.planning import duration_s
from sojourn.scenario import Resolved, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Document = dict[str, Any]
#: What was found of a scenario: a disagreement, or how bad something is.
Finding = TypeVar("Finding")
#: Of the size of what a scenario shows, what a smaller one must still have.
STILL = 0.7
#: Scenarios that are tried.
MOST = 80
#: Keys whose algorithms may have fewer parameters.
ALGORITHMS = {"flow": ("cc", "app"), "link": ("qdisc", "shaper")}
#: Without these a scenario is none, or not smaller.
KEPT = ("name", "duration", "rate", "delay", "qdisc", "shaper", "cc", "seed", "step", "at", "set")


@dataclass(frozen=True, slots=True)
class Shrunk(Generic[Finding]):
    """The smallest scenario that was found."""

    job: Job
    finding: Finding
    #: Scenarios that were tried.
    tried: int

    @property
    def text(self) -> str:
        return Scenario.build(plain(self.job.scenario)).text


def shrink(
    job: Job,
    found: Finding,
    judge: Callable[[Job], Finding | None],
    *,
    most: int = MOST,
    say: Callable[[int, str, Finding], None],
) -> Shrunk[Finding]:
    """Leaves out of a scenario what the finding does not need, as long as something can go and `most` are tried.

    `judge` runs a scenario, and says what it shows, or None if that is not enough any more. `say` is called for each
    step that counts, with the number tried, what went, and the finding.
    """
    best, finding, tried = job, found, 0
    # What the finding has needed once is not tried again: runs are dear.
    needed: set[str] = set()
    while tried < most:
        for what, document in smaller(plain(best.scenario)):
            resolved = None if what in needed else _resolved(document, best.id)
            if resolved is None or resolved.text == best.scenario.text:
                continue
            candidate = replace(best, scenario=resolved, duration_s=duration_s(resolved))
            tried += 1
            if (shown := judge(candidate)) is not None:
                best, finding = candidate, shown
                say(tried, what, finding)
                break
            needed.add(what)
            if tried == most:
                break
        else:
            break
    return Shrunk(best, finding, tried)


def plain(resolved: Resolved) -> Document:
    """A scenario without what is the same when it is left out."""
    document = resolved.brief()
    for place, key in list(_keys(document)):
        order = dict(place)
        del place[key]
        if (again := _resolved(document, "")) is None or again.text != resolved.text:
            place.clear()
            place.update(order)
    return document


def smaller(document: Document) -> Iterator[tuple[str, Document]]:
    """Forms that are smaller by one step, the largest steps first, and what the step is."""
    for kind in ("flow", "ping", "schedule"):
        for index in range(len(document.get(kind, []))):
            name = document[kind][index].get("name", index)
            changed = copy.deepcopy(document)
            del changed[kind][index]
            yield f"without {kind} {name}", changed
    length = _number(document.get("duration", ""))
    if length:
        value, unit = length
        yield "half as long", {**copy.deepcopy(document), "duration": f"{value / 2:g}{unit}"}
    for place, key in _keys(document):
        # Another era is another kernel.
        if key in KEPT or "era" in (key, *(place[key] if isinstance(place[key], dict) else ())):
            continue
        yield f"without {key}", _without(document, place, key)
    for kind, keys in ALGORITHMS.items():
        for part in _parts(document, kind):
            for key in keys:
                yield from _fewer(document, part, key)
    for part in _parts(document, "link"):
        for key in ("rate", "delay"):
            if found := _number(str(part.get(key, ""))):
                value, unit = found
                round_value = f"{float(f'{value:.1g}'):g}{unit}"
                if round_value != part[key]:
                    yield f"{key} {round_value}", _with(document, part, key, round_value)


def _fewer(document: Document, part: Document, key: str) -> Iterator[tuple[str, Document]]:
    """Without one parameter and its value, or without one flag."""
    words = str(part.get(key, "")).split()
    for length in (2, 1):
        for first in range(1, len(words) - length + 1):
            left = " ".join(words[:first] + words[first + length :])
            gone = " ".join(words[first : first + length])
            yield f"{key} without {gone}", _with(document, part, key, left)


def _parts(document: Document, kind: str) -> list[Document]:
    parts = list(document.get(kind, []))
    return parts + [part["reverse"] for part in parts if isinstance(part.get("reverse"), dict)]


def _keys(document: Document) -> Iterator[tuple[Document, str]]:
    """All keys that may be left out, those of inner tables first."""
    for kind in ("link", "flow", "ping", "schedule"):
        for part in _parts(document, kind):
            for key in list(part):
                if isinstance(part[key], dict) and key != "set":
                    yield from ((part[key], inner) for inner in list(part[key]) if key == "tcp")
                if key != "name":
                    yield part, key
    for table in ("tcp", "measure"):
        yield from ((document[table], key) for key in list(document.get(table, {})))
    yield from ((document, key) for key in list(document) if key not in ("name", "link", "flow", "ping", "schedule"))


def _with(document: Document, part: Document, key: str, value: object) -> Document:
    kept = part[key]
    part[key] = value
    changed = copy.deepcopy(document)
    part[key] = kept
    return changed


def _without(document: Document, part: Document, key: str) -> Document:
    order = dict(part)
    del part[key]
    changed = copy.deepcopy(document)
    part.clear()
    part.update(order)
    return changed


def _number(text: str) -> tuple[float, str] | None:
    found = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", text)
    return (float(found[1]), found[2]) if found else None


def _resolved(document: Document, name: str) -> Resolved | None:
    try:
        return Scenario(Scenario.build(document).text, name).resolve()
    except ScenarioError:
        return None
