"""The table of the five documents names what there is, and is what its sources say."""

from __future__ import annotations

import json

import documents
from sojourn import fidelity


def test_every_item_names_rows_runs_commands_and_pages_that_exist() -> None:
    assert list(documents.wrong(documents.documents())) == []


def test_the_page_is_what_would_be_written() -> None:
    recorded = json.loads(documents.VERDICTS.read_text(encoding="utf-8"))
    assert documents.PAGE.read_text(encoding="utf-8") == documents.page(documents.documents(), recorded)


def test_the_verdicts_are_of_the_rows_that_there_are() -> None:
    recorded = json.loads(documents.VERDICTS.read_text(encoding="utf-8"))["rows"]
    assert recorded.keys() == {row.key for row in fidelity.ROWS}


def test_what_does_not_exist_is_found() -> None:
    items = [
        {"part": "A", "says": "one", "rows": ["B1/*"], "cmd": "sojourn run ect1 --dry", "see": "guide/suites.md"},
        {"part": "A", "says": "two", "rows": ["B999"], "runs": ["^nothing/"], "see": ["guide/gone.md"]},
        {"part": "A", "says": "three", "cmd": "sojourn run ect1 --wet"},
        {"part": "A", "says": "four", "cmd": "sojourn walk"},
        {"part": "A", "says": "five", "answer": "yes"},
        {"part": "A", "says": "six", "cmd": "scream-bw-test-tx -ect -1 -time 30 -warp 9 HOST PORT"},
        {"part": "A", "says": "seven", "cmd": "scream-bw-test-rx -ackdiff 1 PORT"},
    ]
    assert list(documents.wrong([{"id": "Q", "items": items}])) == [
        "Q2: no row B999",
        "Q2: no run ^nothing/",
        "Q2: no page guide/gone.md",
        "Q3: sojourn run ect1 --wet: no option --wet",
        "Q4: sojourn walk: no verb walk",
        "Q5: unknown field answer",
        "Q5: no answer",
        "Q6: scream-bw-test-tx -ect -1 -time 30 -warp 9 HOST PORT: no option -warp",
    ]


def test_an_item_differs_where_a_row_of_it_fails() -> None:
    item = {"part": "A", "says": "one", "rows": ["B1/*"]}
    passed = dict.fromkeys(documents.keys(item), "pass")
    assert documents.state(item, passed) == "answered"
    assert documents.answer(item, passed) == "rows B1/*: 3 pass"
    failed = {**passed, "B1/order": "fail"}
    assert documents.state(item, failed) == "differs"
    assert documents.answer(item, failed) == "rows B1/*: 2 pass, 1 fail"
    assert documents.state({**item, "later": "captures"}, failed) == "not yet"
