"""Scenario texts. Python only carries and composes them; Rust parses and validates."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import _core, sampling

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: Characters of a run's name that one swept value may take; the rest of a longer one is a hash.
LONGEST_VALUE = 40
#: What is no name in `[sample]`.
SAMPLE_KEYS = ("method", "points", "seed")
#: What a run is called by other means, or not at all.
UNNAMED = ("seed", "name", "description")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario's TOML text and the name that messages about it carry."""

    text: str
    file: str = "<python>"
    #: Of a text that is not trusted: the folder outside of which it reads no file.
    within: Path | None = None

    @classmethod
    def build(cls, document: Mapping[str, object]) -> Scenario:
        """A scenario from plain dictionaries and lists with the keys of the TOML file."""
        return cls(to_toml(document))

    def resolve(self, overrides: Mapping[str, str] | None = None) -> Resolved:
        """Validates; raises `ScenarioError` with one line that says what and where."""
        text, warnings = _core.resolve(self.text, self.file, list((overrides or {}).items()), self.within)
        return Resolved(text, tuple(warnings))

    def resolve_seeds(self, overrides: Mapping[str, str], seeds: Sequence[int]) -> list[Resolved]:
        """The same for each of these seeds; the scenario is read once."""
        given = list(overrides.items())
        texts, warnings = _core.resolve_seeds(self.text, self.file, given, list(seeds), self.within)
        return [Resolved(text, tuple(warnings)) for text in texts]

    def expand(self, overrides: Mapping[str, str] | None = None) -> list[Resolved]:
        """All runs of the `[sweep]`, the first axis changing slowest, or the one run of a scenario without.

        Each is named by its values: `NAME/dualpi2+delay-20ms`. An override of a swept name is that axis's only value.
        Points of a `[sample]` change fastest and are named by their numbers: `NAME/dualpi2+p0017`.
        """
        settings = dict(overrides or {})
        given = list(settings.items())
        design = _core.design(self.text, self.file, given)
        method, count, seed, sampled = design or ("", 1, 0, [])
        cube = sampling.cube(method, count, seed, len(sampled)) if design else []
        expanded = _core.expand(self.text, self.file, given, cube, self.within)
        points = [dict(values) for values, _ in expanded]
        if not any(points):
            return [self.resolve(settings)]
        unnamed = {*UNNAMED, *sampled}
        named = [{key: value for key, value in point.items() if key not in unnamed} for point in points]
        labels = _labels(named)
        runs = []
        for number, ((_, text), point, values) in enumerate(zip(expanded, points, named, strict=True)):
            parts = [labels[item] for item in values.items()]
            label = "+".join([*parts, sampling.label(number % count)] if design else parts)
            run = self.resolve({**settings, **point, **({"name": f"{head(text)['name']}/{label}"} if label else {})})
            runs.append(Resolved(run.text, run.warnings, point, tuple(sampled)))
        return _without_switched(runs)

    def sweep(
        self, overrides: Mapping[str, str] | None = None
    ) -> dict[str, list[object]] | list[dict[str, list[object]]]:
        """The `[sweep]` or `[[sweep]]` of the file with the steps that overrides of swept names leave."""
        axes = tomllib.loads(self.text).get("sweep", {})
        settings = dict(overrides or {})
        if isinstance(axes, dict):
            return {key: [_typed(settings[key])] if key in settings else values for key, values in axes.items()}
        return [_steps(table, settings) for table in axes]

    def sample(self, overrides: Mapping[str, str] | None = None) -> dict[str, object]:
        """The `[sample]` of the file; a name that is overridden has its value as the only choice."""
        settings = dict(overrides or {})
        table = tomllib.loads(self.text).get("sample", {})
        own = {key.removeprefix("sample."): value for key, value in settings.items() if key.startswith("sample.")}
        table |= {key: _typed(value) for key, value in own.items()}
        fixed = {key: [_typed(settings[key])] for key in table if key in settings and key not in SAMPLE_KEYS}
        return {**table, **fixed}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A valid scenario with every default written out: all that a run depends on."""

    text: str
    warnings: tuple[str, ...] = ()
    #: Swept names and the values that this run has of them.
    swept: Mapping[str, str] = field(default_factory=dict)
    #: Those of them that its name does not tell: a sample's.
    sampled: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """The text as dictionaries and lists."""
        return toml(self.text)

    def head(self) -> dict[str, object]:
        """The keys before the first table: name, description, duration, seed."""
        return head(self.text)

    @property
    def name(self) -> str:
        """What the scenario calls itself."""
        return str(self.head()["name"])

    def brief(self) -> dict[str, Any]:
        """The same without the parameters of algorithms that have their defaults, which a kernel has too."""
        return tomllib.loads(_core.brief(self.text))


def toml(text: str) -> dict[str, Any]:
    """A text in TOML as dictionaries and lists; raises `tomllib.TOMLDecodeError`."""
    document = _core.toml(text)
    return tomllib.loads(text) if document is None else document


def head(resolved: str) -> dict[str, object]:
    """The keys of a resolved scenario before its first table, in a tenth of the time that all of it takes."""
    try:
        return toml(resolved.partition("\n[")[0])
    except tomllib.TOMLDecodeError:  # that was within a text of several lines
        return toml(resolved)


def load(path: str | Path) -> Scenario:
    """Reads a scenario file."""
    return Scenario(Path(path).read_text(encoding="utf-8"), str(path))


def _steps(table: Mapping[str, list[object]], settings: Mapping[str, str]) -> dict[str, list[object]]:
    """Names that advance together: the steps that have an overriding value, or all with it if none has."""
    left = dict(table)
    for key, value in settings.items():
        given = _typed(value)
        chosen = [index for index, own in enumerate(left.get(key, [])) if own == given]
        if chosen:
            left = {name: [values[index] for index in chosen] for name, values in left.items()}
        elif key in left:
            left[key] = [given] * len(left[key])
    return left


def _typed(text: str) -> object:
    """The text of an override as TOML would have it."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def _without_switched(runs: list[Resolved]) -> list[Resolved]:
    """Without what only some runs are warned of about keys that are not swept: another axis switches those on."""
    everywhere = set.intersection(*(set(run.warnings) for run in runs))
    return [
        Resolved(
            run.text,
            tuple(w for w in run.warnings if w in everywhere or any(w.startswith(f"-s {key}: ") for key in run.swept)),
            run.swept,
            run.sampled,
        )
        for run in runs
    ]


def _labels(points: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], str]:
    """Of each swept name and value: what it is called in a run's name.

    A word stands for itself; before a number stands the end of its name, as long as it takes to tell the axes apart.
    """
    items = list(dict.fromkeys(item for point in points for item in point.items()))
    keys = list(dict.fromkeys(key for key, _ in items))
    short = {key: _part(_ending(key, keys)) for key in keys}
    plain: dict[tuple[str, str], str] = {}
    for key, value in items:
        part = _part(value)
        bare = part[:1].isalpha() and part not in ("true", "false")
        plain[key, value] = part if bare else f"{short[key]}-{part}"
    called = Counter((key, label) for (key, _), label in plain.items())
    return {
        item: label
        if len(label) <= LONGEST_VALUE and called[item[0], label] == 1
        else f"{label[:LONGEST_VALUE].rstrip('-.')}-{hashlib.sha256(item[1].encode()).hexdigest()[:6]}"
        for item, label in plain.items()
    }


def _ending(key: str, keys: Sequence[str]) -> str:
    """The last parts of a dotted name that no other name ends in."""
    parts = key.split(".")
    for length in range(1, len(parts)):
        ending = ".".join(parts[-length:])
        if not any(other != key and f".{other}".endswith(f".{ending}") for other in keys):
            return ending
    return key


def _part(text: str) -> str:
    """A text as a part of a run's name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text.replace("%", "pct")).strip("-.")


def to_toml(document: Mapping[str, object]) -> str:
    """Prints dictionaries and lists as TOML: tables and arrays of tables at the top, inline below."""
    lines = [_line(key, value) for key, value in document.items() if not _is_table(value)]
    for key, value in document.items():
        tables = [value] if isinstance(value, Mapping) else value if _is_table(value) else []
        header = f"[{_key(key)}]" if isinstance(value, Mapping) else f"[[{_key(key)}]]"
        for table in tables:  # type: ignore[attr-defined]
            lines += ["", header, *(_line(k, v) for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _is_table(value: object) -> bool:
    if isinstance(value, Mapping):
        return True
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(item, Mapping) for item in value)
    )


def _line(key: str, value: object) -> str:
    return f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # A JSON string is a TOML basic string, but for DEL.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            inner = ", ".join(_line(str(k), v) for k, v in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case Sequence():
            return "[" + ", ".join(_value(item) for item in value) + "]"
    raise TypeError(f"{value!r} has no form in a scenario file")
