"""A study on the real engine, as its guide has it: points, seeds, pictures, report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.results import ResultSet

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SCENARIO = """\
name = "study"
duration = "1s"
[[link]]
name = "b"
rate = "5Mbit"
delay = "5ms"
qdisc = "pie"
[[flow]]
name = "f"
cc = "cubic"
start_jitter = "300ms"
[sweep]
"link.b.qdisc" = ["pie", "fq_codel"]
[sample]
method = "latin-hypercube"
points = 3
"link.b.rate" = { from = "2Mbit", to = "8Mbit", scale = "log" }
"link.b.qdisc.target" = { from = "5ms", to = "20ms" }
"""


def sojourn(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    (place / "study.toml").write_text(SCENARIO)
    until = ("--seeds", "7", "--until", "rtt_p50 3ms")
    for jobs in ("1", "2"):
        done = sojourn(place, "run", "study.toml", *until, "-o", f"r{jobs}", "--jobs", jobs, "--yes")
    (place / "printed").write_text(done.stdout)
    return place


def test_points_are_shown_and_what_is_shown_makes_the_same_points(folder: Path) -> None:
    dry = sojourn(folder, "run", "study.toml", "--dry").stdout
    assert [line.split()[0] for line in dry.splitlines()] == [
        f"study/{queue}+p000{point}" for queue in ("pie", "fq_codel") for point in range(3)
    ]
    assert all("link.b.rate=" in line and "link.b.qdisc.target=" in line for line in dry.splitlines())
    (folder / "again.toml").write_text(sojourn(folder, "show", "study.toml").stdout)
    assert sojourn(folder, "run", "again.toml", "--dry").stdout == dry
    planned = json.loads(sojourn(folder, "run", "study.toml", "--dry", "--json").stdout)
    assert list(planned[0]["sweep"]) == ["link.b.qdisc", "link.b.rate", "link.b.qdisc.target"]
    target = planned[0]["sweep"]["link.b.qdisc.target"]
    assert f"target {target} " in ResultSet.open(folder / "r1").runs["study/pie+p0000"].scenario


def test_the_seeds_do_not_depend_on_the_workers(folder: Path) -> None:
    one, two = (ResultSet.open(folder / name) for name in ("r1", "r2"))
    assert list(one.runs) == list(two.runs)
    assert all(a.manifest["files"] == b.manifest["files"] for a, b in zip(one, two, strict=True))
    frame = one.intervals()
    assert (frame["seeds"].min(), frame["seeds"].max()) == (5, 7)
    assert frame.height == 6
    assert frame["goodput_mbps_seeds"].to_list() == frame["seeds"].to_list()


def test_what_was_reached_is_printed_for_each_point(folder: Path) -> None:
    printed = (folder / "printed").read_text()
    assert "6 points of study" in printed
    assert "of 6 reached rtt_p50 \N{PLUS-MINUS SIGN} 3 ms" in printed
    options = ("--seeds", "5", "--until", "goodput 1%", "-o", "r1", "--json", "-s", "sample.points=1")
    document = json.loads(sojourn(folder, "run", "study.toml", *options).stdout)
    assert [point["seeds"] for point in document["points"]] == [5, 5]
    assert {"mean", "half_width", "unit"} == set(document["points"][0]["quantities"]["goodput_mbps"])
    few = sojourn(folder, "run", "study.toml", "--seeds", "4", "--until", "goodput 1%", code=2)
    assert (
        few.stderr
        == "sojourn: until goodput \N{PLUS-MINUS SIGN} 1 %: expected 5 seeds or more, which a point may have\n"
    )


@pytest.mark.parametrize("kind", ["heat --panels qdisc", "lines --by qdisc", "pareto --y goodput"])
def test_every_picture_is_drawn(folder: Path, kind: str) -> None:
    name, *options = kind.split()
    assert sojourn(folder, "plot", name, "r1", *options, "-o", f"{name}.png").stdout == f"{name}.png\n"
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    wrong = sojourn(folder, "plot", name, "r1", "--panels", "speed", code=2)
    assert wrong.stderr.startswith("sojourn: speed: is no swept name; expected one of link.b.qdisc")
    assert sojourn(folder, "plot", name, "nowhere", code=2).stderr.startswith("sojourn: nowhere: no such results")


def test_the_report_has_charts_and_a_table_of_the_study(folder: Path) -> None:
    sojourn(folder, "report", "r1", "-o", "report.html")
    text = (folder / "report.html").read_text()
    assert "Parameter study: study" in text
    assert text.count('class="overview charts"') == 3
    assert "study/pie+p0000: queue delay p99, ms" in text
    sojourn(folder, "report", "r1", "-o", "report.md")
    assert "\N{PLUS-MINUS SIGN}" in (folder / "report.md").read_text()
