"""The man pages in the wheel say what the signatures say, and the wheel installs them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import man
from sojourn.cli import VERBS

ROOT = Path(__file__).resolve().parents[1]


def test_the_pages_are_those_of_the_signatures() -> None:
    assert man.stale() == [], "python tests/man.py writes them"


def test_every_verb_and_option_has_its_page_and_line() -> None:
    pages = man.pages()
    assert {f"sojourn-{verb}.1" for verb in (*VERBS, "plot", "plot-cdf", "import-flent", "kernel-build")} < pages.keys()
    run = pages["sojourn-run.1"]
    assert "\\fB\\-\\-set\\fR, \\fB\\-s\\fR \\fIVALUE\\fR" in run
    assert "\\fB\\-\\-engine\\fR \\fIsim|linux|linux:sojourn|live|live:kernel\\fR" in run
    assert "no\\-fresh" not in run
    assert "sojourn run my.toml \\-s link.bneck.rate=100Mbit" in run


def test_no_line_is_taken_for_a_request() -> None:
    assert man.roff(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert man.roff("'s a\\b-c`d`") == "\\(aqs a\\eb\\-cd"


def test_the_wheel_installs_them_where_man_looks() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["data"]
    assert (ROOT / data / "data/share/man/man1/sojourn-run.1").is_file()
