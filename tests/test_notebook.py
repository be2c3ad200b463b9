"""The notebook among the examples runs, and what it shows is there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from sojourn.results import ResultSet, Run

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples/notebook.py"

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


def test_the_notebook_runs_from_the_first_cell_to_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = runpy.run_path(str(NOTEBOOK))
    fifo, together, table = made["fifo"], made["together"], made["table"]
    assert isinstance(fifo, Run)
    assert "<th>retransmits</th>" in fifo._repr_html_()
    assert isinstance(together, ResultSet)
    assert "sojourn_p99_ms" in together._repr_html_()
    waits = dict(zip(table["id"], table["sojourn_p99_ms"], strict=True))
    assert waits["fq_codel"] < waits["dualpi2"] < waits["fifo"]
    assert len(table.columns) == 15
    assert together.summary(full=True).width > 100
    assert made["spread"].len() == 5


def test_every_cell_has_a_heading_in_the_percent_format() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = re.split(r"^# %%", text, flags=re.MULTILINE)[1:]
    assert len(cells) >= 8
    for cell in cells:
        if cell.startswith(" [markdown]"):
            assert all(line.startswith("#") or not line for line in cell.splitlines()[1:])
        else:
            compile(cell, "cell", "exec")
