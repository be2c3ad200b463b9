"""Where each algorithm's law is, and that it cites its source: judges docs/laws.toml.

`python tests/laws.py --check` fails if a function that the list names does not exist or has no citation
(in a comment directly above or within it), or if a registered queue, shaper, path element or congestion
controller is not listed. Without --check it prints each law's place.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = ROOT / "docs/laws.toml"
CRATES = ("cc", "queue")
ENTRY = re.compile(r"\b(?:const|static) \w+: Entry =\s*entry::<.*?>\(\s*\"([^\"]+)\"", re.DOTALL)
ABOVE = re.compile(r"^\s*(?://|#\[)")
# An RFC or draft, a kernel function or file, a tool or tree by name, a standard, or a paper by author or
# conference and year.
CITATION = re.compile(
    r"\bRFC \d{4}\b|\bdraft-[a-z]+-|\bLinux (?:\d|`?\w+_\w+|net/)|\b(?:sch|tcp)_\w+\.c\b|\biproute2\b|\biptables\b"
    r"|\bchromi/sce\b|\bL4STeam\b|\bscim\b|\bmahimahi\b|\bgoogle/bbr\b|\blibwebrtc\b|\bEricssonResearch\b"
    r"|\b3GPP TS \d|\bIEEE Std \d|\b(?!In )[A-Z][\w-]+(?: et al\.)?,? (?:19|20)\d\d\b"
)
# What counts where the head of the file names the text that is meant.
SHORT = re.compile(r"\b(?:[Dd]raft \d|[Tt]he (?:draft|paper)'s\b)|§\d")


def citations(source: str, function: str) -> list[str] | None:
    """What the comments of `function` cite; None if the source has no such function."""
    lines = source.split("\n#[cfg(test)]\n")[0].splitlines()
    head = re.compile(rf"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?fn {re.escape(function)}\b")
    starts = [n for n, line in enumerate(lines) if head.match(line)]
    head_names_text = any(line.startswith("//!") and CITATION.search(line) for line in lines)
    cited = []
    for start in starts:
        first = start
        while first > 0 and ABOVE.match(lines[first - 1]):
            first -= 1
        indent = len(lines[start]) - len(lines[start].lstrip())
        end = next((n for n in range(start, len(lines)) if lines[n] == " " * indent + "}"), start)
        comments = (line.partition("//")[2] for line in lines[first : end + 1] if "//" in line)
        text = re.sub(r"\s+/?\s*", " ", " ".join(comments))
        if found := CITATION.search(text) or (head_names_text and SHORT.search(text)):
            cited.append(found[0])
    return cited if starts else None


def registered() -> Iterator[tuple[str, str]]:
    """Crate and name of each algorithm that a file of the two crates declares."""
    for crate in CRATES:
        for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            for name in ENTRY.findall(path.read_text(encoding="utf-8")):
                yield crate, name


def faults(laws: dict[str, dict[str, list[str]]], names: list[tuple[str, str]]) -> Iterator[str]:
    """One line for each law without function or citation, and for each algorithm without law."""
    for crate, name in names:
        if not laws.get(crate, {}).get(name):
            yield f"docs/laws.toml: [{crate}] has no law of `{name}`, which crates/{crate} registers"
    for crate, algorithms in laws.items():
        for name, places in algorithms.items():
            if (crate, name) not in names:
                yield f"docs/laws.toml: [{crate}] lists `{name}`, which crates/{crate} does not register"
            for place in places:
                file, _, function = place.partition(":")
                path = ROOT / "crates" / crate / "src" / file
                if not path.is_file():
                    yield f"docs/laws.toml: `{name}`: no file {path.relative_to(ROOT)}"
                    continue
                cited = citations(path.read_text(encoding="utf-8"), function)
                if cited is None:
                    yield f"{path.relative_to(ROOT)}: no function `{function}`, the law of `{name}` in docs/laws.toml"
                elif not cited:
                    yield f"{path.relative_to(ROOT)}: `{function}`, a law of `{name}`, cites no source"


def main(arguments: list[str]) -> int:
    """Judges the list with --check, else prints it."""
    laws = tomllib.loads(LIST.read_text(encoding="utf-8"))
    names = list(registered())
    if arguments == ["--check"]:
        found = list(faults(laws, names))
        for fault in found:
            print(fault, file=sys.stderr)
        return int(bool(found))
    if arguments:
        print("usage: python tests/laws.py [--check]", file=sys.stderr)
        return 2
    for table, algorithms in laws.items():
        for name, places in algorithms.items():
            print(f"{table} {name}: {', '.join(places)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
