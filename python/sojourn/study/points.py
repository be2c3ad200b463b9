"""The points of a study: swept values, and means over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sojourn import glance
from sojourn.glance import Glance
from sojourn.precision import Mean, means, point_of
from sojourn.study.values import Values


class Run(glance.Run, Protocol):
    """A run of a study: `sojourn.results.Run`."""

    @property
    def swept(self) -> dict[str, str]: ...


class StudyError(ValueError):
    """What a study does not have; one line says what was expected."""


@dataclass(frozen=True)
class Point:
    """Swept values and what was measured there."""

    id: str
    swept: Mapping[str, str]
    means: Mapping[str, Mean]


@dataclass(frozen=True)
class Study:
    """Points that differ in what is swept."""

    points: tuple[Point, ...]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Study:
        """Of all complete runs that are of a sweep or a sample, seeds of a point together."""
        rows: dict[str, list[dict[str, Any]]] = {}
        swept: dict[str, dict[str, str]] = {}
        for run in runs:
            values = {key: value for key, value in run.swept.items() if key != "seed"}
            if values and run.complete:
                point = point_of(run.id)
                rows.setdefault(point, []).append(Glance.of(run).columns())
                swept.setdefault(point, values)
        return cls(tuple(Point(name, swept[name], means(found)) for name, found in rows.items()))

    @cached_property
    def names(self) -> dict[str, Values]:
        """Swept names that have more than one value, in their order."""
        every = dict.fromkeys(name for point in self.points for name in point.swept)
        read = {
            name: Values.of(name, [point.swept[name] for point in self.points if name in point.swept]) for name in every
        }
        return {name: values for name, values in read.items() if len(values.texts) > 1}

    def named(self, name: str) -> Values:
        """The values of a name, or of the only one that ends so; raises `StudyError`."""
        found = [full for full in self.names if full == name] or [
            full for full in self.names if full.endswith(f".{name}")
        ]
        if len(found) != 1:
            known = ", ".join(self.names) or "none"
            what = "is several of the swept names" if found else "is no swept name"
            raise StudyError(f"{name}: {what}; expected one of {known}")
        return self.names[found[0]]

    def measured(self, column: str) -> list[Point]:
        """The points that have a quantity; raises `StudyError` if none has."""
        found = [point for point in self.points if column in point.means]
        if not found:
            known = ", ".join(dict.fromkeys(name for point in self.points for name in point.means))
            raise StudyError(f"{column}: not measured in any point; there are {known or 'no points of a sweep'}")
        return found
