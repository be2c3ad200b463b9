"""Known answers, their origins and their tests: writes docs/kat.md, or with --check judges it.

A test names its answers in a comment directly above: `// KAT red 2`, several with commas, a note after a colon.
tests/kat.toml lists the answers by subject, each with its claim and its origin.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/kat.md"
COMMENT = re.compile(r"^\s*(?://|#) KAT (.*)$")
ID = r"[a-z][a-z0-9_+-]* \d+"
IDS = re.compile(rf"({ID}(?:, {ID})*)(?:: .+)?")
TEST = re.compile(r"^\s*(?:fn|def) (\w+)\(")
# Attributes and further comments may stand between a comment and its test; nothing else.
BETWEEN = re.compile(r"^\s*(?:#|//|@)")
HEAD = """\
# Known answers

Values and rules that tests compare with, each with the text, program or derivation that it comes from. Written by
`tests/kat.py` from `tests/kat.toml` and the comments above the tests; do not edit. `make lint` refuses an answer
without test or origin.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is claimed, in our own words, and where it comes from."""

    claim: str
    origin: str


@dataclass(frozen=True, slots=True)
class Mention:
    """An answer that a comment names, and the test below it."""

    id: str
    test: str
    file: Path
    line: int


Subjects = dict[str, dict[str, Answer]]


def subjects(text: str) -> Subjects:
    """The answers of kat.toml by subject and id; what an entry leaves out is empty."""
    return {
        subject: {id_: Answer(entry.get("claim", ""), entry.get("origin", "")) for id_, entry in entries.items()}
        for subject, entries in tomllib.loads(text).items()
    }


def mentions(path: Path, text: str) -> Iterator[Mention | str]:
    """What the comments of a file name; a comment without test or id as a line that says so."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not (comment := COMMENT.match(line)):
            continue
        place = f"{path}:{number + 1}"
        below = number + 1
        while below < len(lines) and not TEST.match(lines[below]) and BETWEEN.match(lines[below]):
            below += 1
        test = TEST.match(lines[below]) if below < len(lines) else None
        if not test:
            yield f"{place}: no test directly below this comment"
        elif not (ids := IDS.fullmatch(comment[1])):
            yield f"{place}: expected ids and perhaps a note, such as `KAT red 2, red 3: both limits`"
        else:
            for id_ in ids[1].split(", "):
                yield Mention(id_, test[1], path, below + 1)


def sources() -> Iterator[Path]:
    """The Rust and Python files of the project, in order."""
    for folder in ("crates", "python", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".rs", ".py"):
                yield path.relative_to(ROOT)


def page(answers: Subjects, found: list[Mention]) -> str:
    """The page: a table for each subject."""
    # A dictionary, since a test that names an answer in two comments is listed once.
    tests: dict[str, dict[str, None]] = {}
    for m in found:
        tests.setdefault(m.id, {})[f"[{m.test}](../{m.file.as_posix()})"] = None
    text = HEAD
    for subject, entries in answers.items():
        text += f"\n## {subject}\n\n| answer | claim | origin | tests |\n|---|---|---|---|\n"
        for id_, answer in entries.items():
            cells = f"| {id_} | {answer.claim} | {answer.origin} |".replace("*", r"\*")
            text += f"{cells} {'<br>'.join(tests.get(id_, ())) or '**missing**'} |\n"
    return text


def judge(answers: Subjects, scanned: list[Mention | str]) -> list[str]:
    """One line for each answer without test, claim or origin and each comment that names what is not there."""
    found = [m for m in scanned if isinstance(m, Mention)]
    faults = [m for m in scanned if isinstance(m, str)]
    listed = {id_: answer for entries in answers.values() for id_, answer in entries.items()}
    faults += [
        f"{m.file}:{m.line}: `{m.test}` names {m.id}, which tests/kat.toml does not list"
        for m in found
        if m.id not in listed
    ]
    tested = {m.id for m in found}
    for id_, answer in listed.items():
        if id_ not in tested:
            faults.append(f"tests/kat.toml: {id_} has no test: {answer.claim}")
        for key in ("claim", "origin"):
            if not getattr(answer, key).strip():
                faults.append(f"tests/kat.toml: {id_} has no {key}")
    return faults


def main(arguments: list[str]) -> int:
    answers = subjects((ROOT / "tests/kat.toml").read_text(encoding="utf-8"))
    scanned = [m for path in sources() for m in mentions(path, (ROOT / path).read_text(encoding="utf-8"))]
    faults = judge(answers, scanned)
    text = page(answers, [m for m in scanned if isinstance(m, Mention)])
    if arguments == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            faults.append("docs/kat.md is stale: run `python tests/kat.py`")
    elif arguments:
        print("usage: python tests/kat.py [--check]", file=sys.stderr)
        return 2
    else:
        PAGE.write_text(text, encoding="utf-8")
    for fault in faults:
        print(fault, file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
