"""What the five documents say, and where Sojourn answers it: writes docs/results/documents.md.

    python tests/documents.py [SCOREBOARD]
    python tests/documents.py --check

`docs/results/documents.toml` has an item for each statement, question and command: `part` of the document, what it
`says` (in short), and what answers it: `rows` of the scoreboard and `runs` of the suites (patterns), a command (`cmd`),
pages (`see`), a `note`; or why there is no answer: `later`, `outside`. SCOREBOARD, which `sojourn fidelity --json`
prints, of all rows or of some (`--only`), renews `docs/results/verdicts.json`, the verdicts on the page. With `--check`
nothing is written: the page must be what would be written, and every row, run, verb, option and page that it names
must exist.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import sojourn
from sojourn import fidelity, suites
from sojourn.cli import app

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = DOCS / "results"
SOURCE, VERDICTS, PAGE = FOLDER / "documents.toml", FOLDER / "verdicts.json", FOLDER / "documents.md"
TOOLS = ("scream-bw-test-tx", "scream-bw-test-rx")
FIELDS = {"part", "says", "rows", "runs", "cmd", "see", "note", "later", "outside"}
HEAD = """\
# The five documents, line by line

Written by `tests/documents.py` from [documents.toml](documents.toml) and [verdicts.json](verdicts.json); do not edit.
Rows are those of `sojourn fidelity --only ID`, with the verdicts of version {version}; runs are those of
`sojourn list PATTERN`. An answer **differs** where a row misses what was published; `sojourn fidelity` prints its
explanation. **Not yet** and **outside** say why there is none.

| document | items | answered | differs | not yet | outside |
|---|---|---|---|---|---|
"""

Item = Mapping[str, Any]


def documents() -> list[dict[str, Any]]:
    return list(tomllib.loads(SOURCE.read_text(encoding="utf-8"))["document"])


def several(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def keys(item: Item) -> list[str]:
    """The rows that an item names, in the scoreboard's order."""
    return [row.key for row in fidelity.ROWS if any(fnmatchcase(row.key, one) for one in item.get("rows", []))]


def state(item: Item, verdicts: Mapping[str, str]) -> str:
    if "outside" in item or "later" in item:
        return "outside" if "outside" in item else "not yet"
    return "differs" if any(verdicts.get(key) == "fail" for key in keys(item)) else "answered"


def answer(item: Item, verdicts: Mapping[str, str]) -> str:
    """The cell of the table."""
    parts = []
    for pattern in item.get("rows", []):
        found = Counter(verdicts.get(row.key, "not run") for row in fidelity.ROWS if fnmatchcase(row.key, pattern))
        parts.append(f"row{'s' * (found.total() > 1)} {pattern}: {tally(found)}")
    if runs := item.get("runs"):
        parts.append(f"runs {', '.join(f'`{one}`' for one in runs)}")
    if command := item.get("cmd"):
        parts.append(f"`{command}`")
    if pages := item.get("see"):
        parts.append(", ".join(f"[{Path(page.partition('#')[0]).stem}](../{page})" for page in several(pages)))
    parts += [item[key] for key in ("note", "later", "outside") if key in item]
    return "; ".join(parts).replace("|", "\\|")


def tally(found: Counter[str]) -> str:
    """`pass`, or `3 pass, 1 fail`."""
    if len(found) == 1 and found.total() == 1:
        return next(iter(found))
    return ", ".join(f"{number} {verdict}" for verdict, number in found.most_common())


def page(content: list[dict[str, Any]], recorded: Mapping[str, Any]) -> str:
    verdicts = recorded["rows"]
    lines = [HEAD.format(version=recorded["version"]).rstrip("\n")]
    for document in content:
        states = Counter(state(item, verdicts) for item in document["items"])
        counts = " | ".join(str(states[name]) for name in ("answered", "differs", "not yet", "outside"))
        lines.append(f"| [{document['title']}]({document['url']}) | {states.total()} | {counts} |")
    for document in content:
        lines += [
            "",
            f"## {document['title']}",
            "",
            "| | part | it says, asks or tells to type | | answer |",
            "|---|---|---|---|---|",
        ]
        for number, item in enumerate(document["items"], 1):
            said = item["says"].replace("|", "\\|")
            name = state(item, verdicts)
            shown = "" if name == "answered" else f"**{name}**"
            lines.append(f"| {document['id']}{number} | {item['part']} | {said} | {shown} | {answer(item, verdicts)} |")
    return "\n".join(lines) + "\n"


def wrong(content: list[dict[str, Any]]) -> Iterator[str]:
    """What an item names that is not there."""
    known = [case.id for case in suites.every()]
    for document in content:
        for number, item in enumerate(document["items"], 1):
            place = f"{document['id']}{number}"
            if unknown := item.keys() - FIELDS:
                yield f"{place}: unknown field {', '.join(sorted(unknown))}"
            if not item.keys() & (FIELDS - {"part", "says"}):
                yield f"{place}: no answer"
            for pattern in item.get("rows", []):
                if not any(fnmatchcase(row.key, pattern) for row in fidelity.ROWS):
                    yield f"{place}: no row {pattern}"
            for pattern in item.get("runs", []):
                if not any(re.search(pattern, run) for run in known):
                    yield f"{place}: no run {pattern}"
            if (command := item.get("cmd")) and (what := misused(command)):
                yield f"{place}: {command}: {what}"
            for link in several(item.get("see", [])):
                if not (DOCS / link.partition("#")[0]).is_file():
                    yield f"{place}: no page {link}"


def misused(command: str) -> str | None:
    """The verb or option of a command that does not exist; of other programs than ours nothing is known."""
    name, *words = shlex.split(command)
    if name in TOOLS:
        return unknown_option(words, tool_options(name))
    if name != "sojourn":
        return None
    verb = app
    while words and not words[0].startswith("-") and words[0] in verb:
        verb = verb[words.pop(0)]
    if verb is app:
        return f"no verb {words[0]}"
    taken = {name for one in verb.assemble_argument_collection() for name in one.names}
    return unknown_option(words, taken)


@cache
def tool_options(name: str) -> set[str]:
    """The options that the help of a SCReAM tool names."""
    tool = shutil.which(name) or Path(sys.executable).with_name(name)
    told = subprocess.run([tool, "-help"], capture_output=True, text=True, check=True).stdout
    return {"-help", *re.findall(r"(?<![\w-])-[a-z]\w*", told)}


def unknown_option(words: list[str], taken: set[str]) -> str | None:
    return next((f"no option {word}" for word in words if re.match("--?[a-z]", word) and word not in taken), None)


def record(scoreboard: Path) -> None:
    """Keeps the verdicts of a scoreboard; those of rows that it does not have stay, if there still is such a row."""
    board = json.loads(scoreboard.read_text(encoding="utf-8"))
    new = {row["key"]: row["verdict"] for row in board["rows"]}
    old = json.loads(VERDICTS.read_text(encoding="utf-8"))["rows"]
    rows = {row.key: known for row in fidelity.ROWS if (known := new.get(row.key, old.get(row.key)))}
    kept = {"version": sojourn.__version__.partition("+")[0], "rows": rows}
    VERDICTS.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    content = documents()
    if arguments and arguments[0] != "--check":
        record(Path(arguments[0]))
    complaints = list(wrong(content))
    written = page(content, json.loads(VERDICTS.read_text(encoding="utf-8")))
    if "--check" not in arguments:
        PAGE.write_text(written, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != written:
        complaints.append(f"{PAGE.relative_to(DOCS.parent)} is not what `python tests/documents.py` writes")
    print(*complaints, sep="\n", file=sys.stderr, end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
