"""The list of laws: what counts as a citation, and what each fault says."""

from __future__ import annotations

from pathlib import Path

import pytest

import laws

LAW = """\
//! A queue after RFC 8033.

impl Pie {{
    {above}
    #[inline]
    fn update(&mut self) {{
        {within}
        self.prob = 0;
    }}

    // RFC 8033 4.1.
    fn other() {{
    }}
}}
"""


def cited(above: str = "// The step.", within: str = "let x = 1;") -> list[str] | None:
    return laws.citations(LAW.format(above=above, within=within), "update")


@pytest.mark.parametrize(
    "comment",
    [
        "/// RFC 8033 4.2.",
        "// Linux 6.12 `pie_calculate_probability`.",
        "// Linux tcp_vegas_cong_avoid().",
        "// tcp_prague.c of 2019.",
        "// draft-ietf-ccwg-bbr-06 5.3.",
        "// Floyd and Jacobson 1993.",
        "// Feng et al. 2001.",
        "// chromi/sce sch_deltic.",
        "// The paper's update.",
        "// Its §4.2.",
    ],
)
def test_a_source_by_name_is_a_citation_above_and_within(comment: str) -> None:
    assert cited(above=comment)
    assert cited(within=comment)


@pytest.mark.parametrize("comment", ["// The step.", "// As in Linux.", "// The tree of 2019.", "// See there."])
def test_other_comments_are_none(comment: str) -> None:
    assert cited(above=comment) == []


def test_a_short_form_needs_the_text_at_the_head_of_the_file() -> None:
    source = LAW.format(above="// The paper's step.", within="").replace("RFC 8033.", "a paper.")
    assert laws.citations(source, "update") == []


def test_a_function_that_is_not_there_is_not_one_without_citation() -> None:
    assert laws.citations(LAW.format(above="", within=""), "gone") is None


def test_each_fault_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "crates/queue/src/pie.rs"
    file.parent.mkdir(parents=True)
    file.write_text(LAW.format(above="", within=""), encoding="utf-8")
    monkeypatch.setattr(laws, "ROOT", tmp_path)
    listed = {"queue": {"pie": ["pie.rs:update", "pie.rs:gone", "pi.rs:x", "pie.rs:other"], "old": ["pie.rs:other"]}}
    assert list(laws.faults(listed, [("queue", "pie"), ("cc", "reno")])) == [
        "docs/laws.toml: [cc] has no law of `reno`, which crates/cc registers",
        "crates/queue/src/pie.rs: `update`, a law of `pie`, cites no source",
        "crates/queue/src/pie.rs: no function `gone`, the law of `pie` in docs/laws.toml",
        "docs/laws.toml: `pie`: no file crates/queue/src/pi.rs",
        "docs/laws.toml: [queue] lists `old`, which crates/queue does not register",
    ]


def test_every_registered_algorithm_is_found() -> None:
    names = list(laws.registered())
    declared = sum(
        path.read_text(encoding="utf-8").count(": Entry =")
        for crate in laws.CRATES
        for path in (laws.ROOT / "crates" / crate / "src").rglob("*.rs")
    )
    assert len(names) == len(set(names)) == declared
    assert {("queue", "fq_codel"), ("queue", "pfifo"), ("cc", "ledbat++")} <= set(names)
