"""The list of known answers finds what the comments claim, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

import kat
from kat import Answer, Mention

FILE = Path("a.rs")


def found(text: str) -> list[Mention | str]:
    return list(kat.mentions(FILE, text))


@pytest.mark.parametrize(
    ("comment", "ids"),
    [
        ("KAT red 2", ["red 2"]),
        ("KAT codel 3, codel 4", ["codel 3", "codel 4"]),
        ("KAT cobalt 1, cobalt2 2: two tables, of 1 to 16", ["cobalt 1", "cobalt2 2"]),
        ("KAT hystart++ 1: 305, cubic 4", ["hystart++ 1"]),
    ],
)
def test_ids_stand_before_the_note(comment: str, ids: list[str]) -> None:
    mentions = found(f"    // {comment}\n    #[test]\n    fn it_holds() {{\n")
    assert [m.id for m in mentions if isinstance(m, Mention)] == ids
    assert {m.test for m in mentions if isinstance(m, Mention)} == {"it_holds"}


def test_attributes_and_further_comments_may_stand_between() -> None:
    [python] = found("# KAT red 1\n@pytest.mark.engine\ndef test_it() -> None:\n")
    [rust] = found("// KAT red 1: a note\n// of two lines\n#[test]\n#[ignore]\nfn it() {\n")
    assert python == Mention("red 1", "test_it", FILE, 3)
    assert rust == Mention("red 1", "it", FILE, 5)


def test_a_comment_away_from_any_test_is_a_fault() -> None:
    assert found("// KAT red 1\nlet x = 1;\n#[test]\nfn it() {\n") == ["a.rs:1: no test directly below this comment"]


@pytest.mark.parametrize("comment", ["KAT red", "KAT red 1 and red 2", "KAT red 1,red 2", "KAT red 1: ", "KAT Red 1"])
def test_a_comment_without_ids_alone_before_the_note_is_a_fault(comment: str) -> None:
    [fault] = found(f"// {comment}\n#[test]\nfn it() {{\n")
    assert isinstance(fault, str)
    assert fault.startswith("a.rs:1: expected ids")


def test_missing_and_unknown_answers_are_one_line_each() -> None:
    answers = kat.subjects(
        '[Queues]\n"red 1" = { claim = "W* = 2", origin = "RFC 1" }\n'
        '"red 2" = { claim = "arrivals", origin = "closed form: 1 + 1" }\n'
        '[Suites]\n"path 1" = { claim = "packets" }\n'
    )
    assert answers["Queues"]["red 1"] == Answer("W* = 2", "RFC 1")
    scanned = [m for id_ in ("red 1", "red 1", "red 9", "path 1") for m in found(f"// KAT {id_}\nfn it() {{\n")]
    assert kat.judge(answers, scanned) == [
        "a.rs:2: `it` names red 9, which tests/kat.toml does not list",
        "tests/kat.toml: red 2 has no test: arrivals",
        "tests/kat.toml: path 1 has no origin",
    ]
    page = kat.page(answers, [m for m in scanned if isinstance(m, Mention)])
    assert "\n## Queues\n" in page
    assert "\n## Suites\n" in page
    assert "| red 1 | W\\* = 2 | RFC 1 | [it](../a.rs) |" in page
    assert "| red 2 | arrivals | closed form: 1 + 1 | **missing** |" in page
