"""What the doctor can find, and what it found."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from sojourn.text import harmless


class Severity(IntEnum):
    """How much a finding changes results."""

    OK = 0
    """A check that passed."""
    NOTE = 1
    """Something to know when results are read."""
    WARNING = 2
    """Results are distorted, or an experiment does not do what it is meant to."""
    FAULT = 3
    """Results are wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check: what was found, with the number, what it does to results, and how to fix it."""

    kind: str
    severity: Severity
    found: str
    effect: str = ""
    fix: str = ""
    source: str = ""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "severity": self.severity.name.lower()}


@dataclass(frozen=True, slots=True)
class Kind:
    """Something that can be found: a row of the guide's table."""

    name: str
    severity: Severity
    when: str
    """The condition, with its threshold."""
    effect: str
    """What it does to results."""
    fix: str
    """A command or a sentence; `{device}` and other words in braces are of the finding."""
    source: str
    """Who says so: a standard, a page of the kernel's documentation or a function of it, a paper, a measurement."""

    def found(self, text: str, **words: object) -> Finding:
        """A finding of this kind; the words in braces of the fix are given by name."""
        known = {name: str(value) for name, value in words.items()}
        fix = re.sub(r"\{(\w+)\}", lambda word: known[word[1]], self.fix)
        return Finding(self.name, self.severity, harmless(text), self.effect, harmless(fix), self.source)


def passed(name: str, text: str) -> Finding:
    """A check that found nothing wrong, named like a kind that it would have found."""
    return Finding(name, Severity.OK, harmless(text))
