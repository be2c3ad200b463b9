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
# An RFC or draft, a kernel, tool or tree by name, a standard, or a paper by author and year.
CITATION = re.compile(
    r"\bRFC \d{4}\b|\bdraft-[a-z]+-|\bLinux \d|\bLinux `|\b(?:tcp|sch)_\w+|\biproute2\b|\biptables\b"
    r"|\bchromi/sce\b|\bL4STeam\b|\bscim\b|\bmahimahi\b|\bgoogle/bbr\b|\blibwebrtc\b|\bEricssonResearch\b"
    r"|\bdtaht/|\b3GPP TS \d|\bIEEE Std \d|\b[A-Z][\w-]+(?: et al\.)?,? \(?(?:19|20)\d\d\b"
)


def citations(source: str, function: str) -> list[str] | None:
    """What the comments of `function` cite; None if the source has no such function."""
    lines = source.split("\n#[cfg(test)]\n")[0].splitlines()
    head = re.compile(rf"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?fn {re.escape(function)}\b")
    starts = [n for n, line in enumerate(lines) if head.match(line)]
    cited = []
    for start in starts:
        first = start
        while first > 0 and ABOVE.match(lines[first - 1]):
            first -= 1
        indent = len(lines[start]) - len(lines[start].lstrip())
        end = next((n for n in range(start, len(lines)) if lines[n] == " " * indent + "}"), start)
        comments = (line.partition("//")[2] for line in lines[first : end + 1] if "//" in line)
        cited += [found[0] for comment in comments if (found := CITATION.search(comment))]
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
