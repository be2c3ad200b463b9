"""Known answers of the specification and their tests: writes docs/kat.md, or with --check judges it.

A test names its answers in a comment directly above: `// KAT aqm.md 5.4 (2)`, several with commas.
Text after the ids is a note. The answers of aqm.md, all of which need a test, are in kat.toml.
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
COMMENT = re.compile(r"^\s*(?://|#) KAT (aqm|cc|scream|suites|live)\.md (.*)$")
TEST = re.compile(r"^\s*(?:fn|def) (\w+)\(")
# Attributes and further comments may stand between a comment and its test; nothing else.
BETWEEN = re.compile(r"^\s*(?:#|//|@)")
AQM_ID = re.compile(r"(?P<section>\d+(?:\.\d+)?)?\s*(?P<answer>\(\w\))?")
CC_ID = re.compile(r"§?(?P<section>\d+(?:\.\d+)*(?: [A-D]\b)?)?\s*(?P<answer>#\d+)?")
SEPARATOR = re.compile(r",? and |, ")
CHAPTERS = {"cc": "Controllers and endpoints", "scream": "SCReAM", "suites": "Suites", "live": "Live"}
HEAD = """\
# Known answers

Written by `tests/kat.py` from the comments above the tests; do not edit. The sections are those of the project's
specification (see [README.md](README.md)).

## Queues, shapers and impairments (aqm.md)

Every answer has a test: `make lint` refuses one without.

| answer | claim | tests |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Mention:
    """An answer that a comment names, and the test below it."""

    chapter: str
    id: str
    test: str
    file: Path
    line: int


def ids(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The ids at the start of `text`: `6.8 (2), (3): note` has `6.8 (2)` and `6.8 (3)`."""
    at, section = 0, ""
    while (found := pattern.match(text, at)) and found[0]:
        section = found["section"] or section
        if not section:
            return
        yield f"{section} {found['answer']}" if found["answer"] else section
        separator = SEPARATOR.match(text, found.end())
        if not separator:
            return
        at = separator.end()


def mentions(path: Path, text: str) -> Iterator[Mention | str]:
    """What the comments of a file name; a comment without test or id as a line of complaint."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not (comment := COMMENT.match(line)):
            continue
        chapter, rest = comment.groups()
        place = f"{path}:{number + 1}"
        below = number + 1
        while below < len(lines) and not TEST.match(lines[below]) and BETWEEN.match(lines[below]):
            below += 1
        test = TEST.match(lines[below]) if below < len(lines) else None
        if not test:
            yield f"{place}: no test directly below this comment"
            continue
        named = list(ids(rest, AQM_ID if chapter == "aqm" else CC_ID))
        if not named:
            yield f"{place}: expected the number of a section, such as `KAT aqm.md 5.4 (2)`"
        for answer in named:
            yield Mention(chapter, answer, test[1], path, below + 1)


def sources() -> Iterator[Path]:
    """The Rust and Python files of the project, in order."""
    for folder in ("crates", "python", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".rs", ".py"):
                yield path.relative_to(ROOT)


def order(answer: str) -> tuple[list[tuple[int, str]], str]:
    """Sections by their numbers, answers by theirs."""
    section, _, rest = answer.partition(" ")
    number = re.search(r"\d+", rest)
    return [(int(part), "") for part in section.split(".")], f"{int(number[0]):03}" if number else rest


def links(found: list[Mention]) -> str:
    tests = {(m.test, m.file.as_posix()): m for m in found}
    return "<br>".join(f"[{test}](../{file})" for test, file in tests)


def page(answers: dict[str, str], found: list[Mention]) -> str:
    by_id: dict[tuple[str, str], list[Mention]] = {}
    for mention in found:
        by_id.setdefault((mention.chapter, mention.id), []).append(mention)
    without = without_test(found)
    text = HEAD
    for answer, claim in answers.items():
        text += f"| {answer} | {claim} | {links(by_id.get(('aqm', answer), [])) or '**missing**'} |\n"
    others = sorted({m.id for m in found if m.chapter == "aqm" and m.id not in answers}, key=order)
    if others:
        text += "\n## Other sentences of aqm.md\n\n| section | tests |\n|---|---|\n"
        text += "".join(f"| {section} | {links(by_id['aqm', section])} |\n" for section in others)
    for chapter, title in CHAPTERS.items():
        named = sorted({m.id for m in found if m.chapter == chapter}, key=order)
        if named:
            text += f"\n## {title} ({chapter}.md)\n\n| answer | tests |\n|---|---|\n"
            text += "".join(f"| {answer} | {links(by_id[chapter, answer])} |\n" for answer in named)
        if chapter == "cc":
            text += "".join(f"| 9 #{row} | no test: {reason} |\n" for row, reason in without.items() if reason)
    return text


def without_test(found: list[Mention]) -> dict[int, str]:
    """Rows of the master table of cc.md that no comment names, and the reason, empty if there is none."""
    table = tomllib.loads((ROOT / "tests/kat.toml").read_text(encoding="utf-8"))["cc"]
    tested = {m.id for m in found if m.chapter == "cc"}
    rows = range(1, table["rows"] + 1)
    return {row: table["without_test"].get(str(row), "") for row in rows if f"9 #{row}" not in tested}


def judge(answers: dict[str, str], sections: list[str], scanned: list[Mention | str]) -> list[str]:
    """One line for each answer without test and each comment that names what is not there."""
    found = [m for m in scanned if isinstance(m, Mention)]
    faults = [m for m in scanned if isinstance(m, str)]
    unknown = (m for m in found if m.chapter == "aqm" and m.id not in answers and m.id.split(" ")[0] not in sections)
    faults += [
        f"{m.file}:{m.line}: `{m.test}` names aqm.md {m.id}, which tests/kat.toml does not list" for m in unknown
    ]
    tested = {m.id for m in found if m.chapter == "aqm"}
    faults += [f"aqm.md {answer} has no test: {claim}" for answer, claim in answers.items() if answer not in tested]
    return faults


def main(arguments: list[str]) -> int:
    document = tomllib.loads((ROOT / "tests/kat.toml").read_text(encoding="utf-8"))
    answers, sections = document["answers"], document["sections"]["ids"]
    scanned = [m for path in sources() for m in mentions(path, (ROOT / path).read_text(encoding="utf-8"))]
    found = [m for m in scanned if isinstance(m, Mention)]
    faults = judge(answers, sections, scanned)
    rows = without_test(found)
    faults += [f"cc.md 9 #{row} has no test, and tests/kat.toml no reason" for row, why in rows.items() if not why]
    idle = [row for row in document["cc"]["without_test"] if int(row) not in rows]
    faults += [f"tests/kat.toml excuses cc.md 9 #{row}, which has a test" for row in idle]
    text = page(answers, found)
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
