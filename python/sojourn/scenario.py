"""Scenario texts. Python only carries and composes them; Rust parses and validates."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import _core

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario's TOML text and the name that messages about it carry."""

    text: str
    file: str = "<python>"

    @classmethod
    def build(cls, document: Mapping[str, object]) -> Scenario:
        """A scenario from plain dictionaries and lists with the keys of the TOML file."""
        return cls(to_toml(document))

    def resolve(self, overrides: Mapping[str, str] | None = None) -> Resolved:
        """Validates; raises `ScenarioError` with one line that says what and where."""
        text, warnings = _core.resolve(self.text, self.file, list((overrides or {}).items()))
        return Resolved(text, tuple(warnings))


@dataclass(frozen=True, slots=True)
class Resolved:
    """A valid scenario with every default written out: all that a run depends on."""

    text: str
    warnings: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """The text as dictionaries and lists."""
        return tomllib.loads(self.text)


def load(path: str | Path) -> Scenario:
    """Reads a scenario file."""
    return Scenario(Path(path).read_text(encoding="utf-8"), str(path))


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
