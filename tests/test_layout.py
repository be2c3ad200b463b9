"""The check of where Rust tests are finds each other form, and lets the right one pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import layout

TEST = "#[test]\nfn it() {}\n"
BEHIND = "#[cfg(test)]\nmod tests;\n"
GOOD = {
    "Cargo.toml": "[package]\n",
    "src/lib.rs": f"mod a;\n{BEHIND}",
    "src/tests.rs": TEST,
    "src/a.rs": "#[cfg(test)]\npub(super) mod tests;\n",
    "src/a/tests.rs": f"mod b;\n{TEST}",
    "src/a/tests/b.rs": TEST,
    "tests/it/main.rs": "//! Head.\n\nmod a;\n",
    "tests/it/a.rs": f"//! Head.\n\nmod b;\n{TEST}",
    "tests/it/a/b.rs": TEST,
}


def found(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [f"{path.relative_to(folder)}: {fault}" for path, fault in layout.faults(folder)]


def test_the_form_passes(tmp_path: Path) -> None:
    assert found(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("Cargo.toml", "[[test]]\n", "Cargo.toml: a [[test]] of its own: expected only tests/it/main.rs"),
        ("src/a.rs", f"{BEHIND}mod more {{\n    {TEST}}}\n", "src/a.rs: has tests: expected them in a/tests.rs"),
        ("src/a.rs", "mod tests;\n", "src/a/tests.rs: expected `#[cfg(test)] mod tests;` in a.rs"),
        ("src/a_tests.rs", TEST, "src/a_tests.rs: has tests: expected them in a_tests/tests.rs"),
        ("tests/b.rs", TEST, "tests/b.rs: expected a module of tests/it/main.rs"),
        ("tests/it/c.rs", TEST, "tests/it/c.rs: expected `mod c;` in main.rs"),
        ("tests/it/a/c.rs", TEST, "tests/it/a/c.rs: expected `mod c;` in a.rs"),
    ],
)
def test_each_other_form_is_one_line(tmp_path: Path, name: str, text: str, fault: str) -> None:
    [line] = found(tmp_path, {**GOOD, name: text})
    assert line.startswith(fault)
