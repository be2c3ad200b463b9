"""Suites: each module here without a leading underscore yields scenarios under stable ids, and says what they are for.

A suite has `VARIANTS` (name and meaning, the default first) and `cases(variant)`. It may name its measurements in
`SOURCE` (the files are in `data/NAME`) and, in `FIDELITY`, the module with its rows of the scoreboard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

NAMES = tuple(name.replace("_", "-") for _, name, _ in iter_modules(__path__) if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a run beside others: written with its results, so that reports know no suite."""

    section: str = ""
    """Key of the runs that are read together, both sides of a comparison among them, such as `ect1/s2-twoflow`."""
    heading: str = ""
    """What happens in the section."""
    question: str = ""
    """What its runs are there to find out."""
    compares: bool = False
    """Whether the question is how the runs of the section differ, even without sides."""
    sides: tuple[str, ...] = ()
    """The architectures that the section sets beside each other, in this order: `L4S`, `SCE`."""
    side: str = ""
    """The one that the run belongs to."""
    condition: str = ""
    """What it shares with its counterparts on the other sides."""
    new: tuple[str, ...] = ()
    """Flows with the side's own controller, where others are beside them."""
    rtt_ms: float | None = None
    """RTT of the empty path as the suite names it: without hops between machines, and what jitters."""

    @classmethod
    def read(cls, document: object) -> Role:
        """The role in a manifest; what is of another kind there counts as absent."""
        fields: Any = document if isinstance(document, Mapping) else {}
        texts = {key: fields[key] for key in ("section", "heading", "question", "side", "condition") if key in fields}
        return cls(
            **{key: text for key, text in texts.items() if isinstance(text, str)},
            sides=tuple(map(str, fields.get("sides") or ())),
            new=tuple(map(str, fields.get("new") or ())),
            compares=fields.get("compares") is True,
            rtt_ms=float(rtt) if isinstance(rtt := fields.get("rtt_ms"), int | float) else None,
        )

    def document(self) -> dict[str, Any]:
        """What is stated, for a manifest."""
        stated = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: list(value) if isinstance(value, tuple) else value for name, value in stated if value}


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a suite."""

    id: str
    description: str
    question: str
    """What the run is there to find out."""
    duration_s: float
    toml: str
    reference: str | None = None
    """What a testbed calls its measurement of this run: the stem of a Flent file, or a case of its grid."""
    role: Role = field(default_factory=Role)

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return self.id.partition("/")[0]


#: Names of the architectures, by what ids call them, in the order in which they are shown.
SIDES = {"l4s": "L4S", "sce": "SCE", "classic": "classic"}


def role(
    run_id: str,
    question: str,
    heading: str = "",
    *,
    new: Iterable[str] = (),
    compares: bool = False,
    counterparts: Mapping[str, str] | None = None,
) -> Role:
    """The role of the run `SUITE/SCENARIO/CONDITION`, or `SUITE/SIDE-SCENARIO/CONDITION` where a suite has sides.

    `counterparts` are what controllers and queues of one side are called in the condition that the sides share. A
    label of the condition such as `80ms` is the empty path's RTT.
    """
    suite, scenario, *labels = run_id.split("/")
    side, _, rest = scenario.partition("-")
    sided = counterparts is not None and side in SIDES
    rtt = next((found for label in labels if (found := re.fullmatch(r"(\d+(?:\.\d+)?)ms", label))), None)
    section = f"{suite}/{rest if sided else scenario}" if labels else suite

    def shared(label: str) -> str:
        names = (name.partition("-gamed") for name in label.split("-vs-"))
        return "-vs-".join((counterparts or {}).get(stem, stem) + gamed for stem, gamed, _ in names)

    return Role(
        section=section,
        heading=heading,
        question=question,
        compares=compares,
        sides=tuple(SIDES.values()) if sided else (),
        side=SIDES[side] if sided else "",
        condition="/".join(map(shared, labels)),
        new=tuple(new),
        rtt_ms=float(rtt[1]) if rtt else None,
    )


def suite(name: str, variant: str | None = None) -> list[Case]:
    """The runs of one suite in their published order, in its first variant or another one."""
    if variant is not None and variant not in variants(name):
        raise KeyError(variant)
    return list(_cases(name, variant))


@cache
def _cases(name: str, variant: str | None) -> tuple[Case, ...]:
    """Made once: planning many runs looks through all of them for each."""
    return tuple(module(name).cases(*([variant] if variant else [])))


def variants(name: str) -> Mapping[str, str]:
    """The variants of a suite and what each is, the default first."""
    known: Mapping[str, str] = module(name).VARIANTS
    return known


def module(name: str) -> Any:
    """The module of a suite; `KeyError` if there is none."""
    if name not in NAMES:
        raise KeyError(name)
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def every(variant: str | None = None) -> Iterator[Case]:
    """The runs of all suites, or with a variant those of the suites that have it."""
    for name in NAMES:
        if variant is None or variant in variants(name):
            yield from suite(name, variant)


def find(run_id: str) -> Case | None:
    """The case of a run, whichever its variant and seed (`ID~variant@seedN`)."""
    base, name = re.split("[@~]", run_id)[0], run_id.partition("/")[0]
    return _by_id(name).get(base) if name in NAMES else None


@cache
def _by_id(name: str) -> dict[str, Case]:
    return {case.id: case for case in suite(name)}
