"""Where Rust tests are: fails, with one line per file, on any other place than these.

Unit tests of `foo.rs` are in `foo/tests.rs`, which `foo.rs` declares as `#[cfg(test)] mod tests;`. Integration tests of
a crate are modules of `tests/it/main.rs`, so that they are one program to link.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CRATES = ("crates/*", "examples/*", "tests/kernel")
TEST = re.compile(r"^\s*#\[test\]", re.MULTILINE)
DECLARED = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\([^)]*\))? )?mod tests;$", re.MULTILINE)
TARGET = re.compile(r"^\[\[test\]\]", re.MULTILINE)


def parent(path: Path) -> Path:
    """The file that declares the module of a folder: `foo.rs`, or the folder's own."""
    own = (path.parent / name for name in ("mod.rs", "lib.rs", "main.rs"))
    return next((file for file in own if file.is_file() and file != path), path.parent.with_suffix(".rs"))


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def faults(crate: Path) -> Iterator[tuple[Path, str]]:
    """Each file of a crate that is elsewhere, and where it should be."""
    if TARGET.search(text(crate / "Cargo.toml")):
        yield crate / "Cargo.toml", "a [[test]] of its own: expected only tests/it/main.rs, which Cargo finds"
    for path in sorted((crate / "src").rglob("*.rs")):
        beside = path.name == "tests.rs"
        if beside and not DECLARED.search(text(parent(path))):
            yield path, f"expected `#[cfg(test)] mod tests;` in {parent(path).name}"
        if TEST.search(text(path)) and not (beside or "tests" in path.relative_to(crate).parts):
            yield path, f"has tests: expected them in {path.stem}/tests.rs"
    for path in sorted((crate / "tests").rglob("*.rs")):
        if path.relative_to(crate).parts[:2] != ("tests", "it"):
            yield path, "expected a module of tests/it/main.rs"
        elif path != crate / "tests/it/main.rs" and f"\nmod {path.stem};\n" not in text(parent(path)):
            yield path, f"expected `mod {path.stem};` in {parent(path).name}"


def main() -> int:
    found = [
        f"{path.relative_to(ROOT)}: {fault}"
        for pattern in CRATES
        for crate in sorted(ROOT.glob(pattern))
        if (crate / "Cargo.toml").is_file()
        for path, fault in faults(crate)
    ]
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
