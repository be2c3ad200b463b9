"""The list of known answers finds what the comments claim, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

import kat
from kat import Mention

FILE = Path("a.rs")


def found(text: str) -> list[Mention | str]:
    return list(kat.mentions(FILE, text))


@pytest.mark.parametrize(
    ("comment", "ids"),
    [
        ("KAT aqm.md 9.3", ["9.3"]),
        ("KAT aqm.md 6.8 (2), (3)", ["6.8 (2)", "6.8 (3)"]),
        ("KAT aqm.md 11.12 (2), 9.1: two tables", ["11.12 (2)", "9.1"]),
        ("KAT aqm.md 12.7 (a) and 12.6", ["12.7 (a)", "12.6"]),
        ("KAT aqm.md 4.4, Gilbert-Elliott", ["4.4"]),
        ("KAT cc.md §9 #10, #11 and §1.11", ["9 #10", "9 #11", "1.11"]),
        ("KAT cc.md §3.5 D", ["3.5 D"]),
    ],
)
def test_ids_stand_before_the_note(comment: str, ids: list[str]) -> None:
    mentions = found(f"    // {comment}\n    #[test]\n    fn it_holds() {{\n")
    assert [m.id for m in mentions if isinstance(m, Mention)] == ids
    assert {m.test for m in mentions if isinstance(m, Mention)} == {"it_holds"}


def test_attributes_and_further_comments_may_stand_between() -> None:
    [python] = found("# KAT aqm.md 0.5\n@pytest.mark.engine\ndef test_it() -> None:\n")
    [rust] = found("// KAT aqm.md 0.5: a note\n// of two lines\n#[test]\n#[ignore]\nfn it() {\n")
    assert python == Mention("aqm", "0.5", "test_it", FILE, 3)
    assert rust == Mention("aqm", "0.5", "it", FILE, 5)


def test_a_comment_away_from_any_test_is_a_fault() -> None:
    assert found("// KAT aqm.md 0.5\nlet x = 1;\n#[test]\nfn it() {\n") == [
        "a.rs:1: no test directly below this comment"
    ]
    [fault, *_] = found("// KAT aqm.md everything\n#[test]\nfn it() {\n")
    assert isinstance(fault, str)
    assert fault.startswith("a.rs:1: expected the number")


def test_missing_and_unknown_answers_are_one_line_each() -> None:
    answers = {"5.4 (1)": "thresholds", "5.4 (2)": "arrivals"}
    scanned = [m for id_ in ("5.4 (1)", "5.4 (9)", "5.4", "8.4") for m in found(f"// KAT aqm.md {id_}\nfn it() {{\n")]
    assert kat.judge(answers, ["8.4"], scanned) == [
        "a.rs:2: `it` names aqm.md 5.4 (9), which tests/kat.toml does not list",
        "a.rs:2: `it` names aqm.md 5.4, which tests/kat.toml does not list",
        "aqm.md 5.4 (2) has no test: arrivals",
    ]
    page = kat.page(answers, [m for m in scanned if isinstance(m, Mention)])
    assert "| 5.4 (1) | thresholds | [it](../a.rs) |" in page
    assert "| 5.4 (2) | arrivals | **missing** |" in page
