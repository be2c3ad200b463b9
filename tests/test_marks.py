"""CE marks: what the receiver got, and the sender's belief beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sojourn import compare, metrics, results
from sojourn.cli import call

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engine

SCENARIO = """
name = "fifo"
duration = "14s"
tcp = {{ gso = {offload}, gro = {offload} }}
[[link]]
name = "bneck"
rate = "100Mbit"
qdisc = "{qdisc}"
delay = "5ms"
[[flow]]
name = "a"
cc = "{cc}"
"""


def run(folder: Path, qdisc: str, cc: str = "cubic", offload: str = "true") -> results.Run:
    folder.mkdir()
    file = folder / "marks.toml"
    file.write_text(SCENARIO.format(qdisc=qdisc, cc=cc, offload=offload), encoding="utf-8")
    assert call(["run", str(file), "--out", str(folder / "out")]) == 0
    return results.Run(folder / "out/fifo")


def test_marks_of_a_fifo_are_none_whatever_the_sender_believes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo = run(tmp_path / "a", "pfifo limit 200")
    assert call(["show", str(fifo.path), "--full"]) == 0
    printed = capsys.readouterr().out
    assert "the sender counted " in printed and "the receiver got 0" in printed
    marks = fifo.summary["flows"][0]["marks"]
    assert marks["received_packets"] == 0 < marks["sender_believes_packets"]
    assert "the receiver got 0" in marks["note"]
    summary = metrics.summarise(fifo)
    assert summary is not None
    flow = summary.flows[0]
    assert flow.marks == 0 < (flow.believed_marks or 0)
    assert flow.marks_text == f"0 (sender believes {flow.believed_marks:.0f})"

    out = str(tmp_path / "a/out")
    assert call(["compare", out, out]) == 0
    printed = capsys.readouterr().out
    assert "marks received" in printed and "marks the sender believes" in printed
    pair = compare.pair_up("fifo", fifo, fifo)
    assert pair is not None and pair.flows[0].marks.a == 0 < (pair.flows[0].believed_marks.a or 0)

    page = tmp_path / "report.html"
    assert call(["report", out, "-o", str(page)]) == 0
    assert "marks that the sender believes" in page.read_text(encoding="utf-8")
    assert call(["report", out, "--markdown", "-o", str(tmp_path / "report.md")]) == 0
    assert "| marks that the sender believes |" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_marks_of_a_marking_queue_need_no_note(tmp_path: Path) -> None:
    marked = run(tmp_path / "a", "dualpi2", "prague", "false")
    marks = marked.summary["flows"][0]["marks"]
    assert marks["received_packets"] > 100 and "note" not in marks
    summary = metrics.summarise(marked)
    assert summary is not None
    flow = summary.flows[0]
    assert flow.marks_text == f"{flow.marks:.0f}"
