"""Every verb of the command once, on the real engine, as a newcomer would type it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import packets
from sojourn import suites
from sojourn.results import Run
from synthetic import S2_STEM, flent_document, write_flent

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

SHORT = "ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms"
VERBS = (
    "app",
    "cc",
    "clean",
    "compare",
    "crosscheck",
    "doctor",
    "export",
    "fidelity",
    "import",
    "kernel",
    "list",
    "middlebox",
    "pcap",
    "plot",
    "qdisc",
    "query",
    "report",
    "run",
    "schema",
    "search",
    "serve",
    "show",
    "tc",
    "worst",
)
SCENARIO = """\
name = "smoke"
duration = "3s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "dualpi2"
ingress = ["netem delay 5ms limit 100000"]
[[flow]]
name = "a"
cc = "prague"
[[ping]]
name = "ping"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke")
    (folder / "smoke.toml").write_text(SCENARIO)
    write_flent(folder / f"{S2_STEM}.flent.gz", flent_document())
    packets.write(folder / "smoke.pcap", packets.bulk(marked=50))
    for target in ("smoke.toml", SHORT):
        assert sojourn(folder, "run", target, "--verify", "--out", "results/a").returncode == 0
    # The commands below run in any order.
    assert sojourn(folder, "run", "smoke.toml", "-s", "seed=2", "--out", "results/b").returncode == 0
    return folder


def sojourn(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn.cli", *arguments]
    reference = {"SOJOURN_REFERENCE": str(folder / "absent")}  # the shipped data must do
    return subprocess.run(
        command, cwd=folder, env=os.environ | reference | (env or {}), capture_output=True, text=True, check=False
    )


COMMANDS = (
    "--help",
    "--version",
    "run smoke.toml -s seed=3 -o results/c",
    "run smoke.toml -s seed=4 -o results/d --executor processes:1",
    f"run {SHORT} --out results/a",
    "list",
    "list ect1",
    "show smoke.toml",
    "show results/a/smoke",
    "show results/a/smoke --log setup",
    "show results/a --log teardown",
    "export flent results/a -o flent",
    "compare results/a results/b",
    "report results/a --markdown -o report.md",
    "plot results/a --each --scale fixed,var -o plots",
    f"show {SHORT}",
    "pcap smoke.pcap",
    "export qlog results/a/smoke -o qlog",
    "tc smoke.toml",
    "qdisc",
    "qdisc dualpi2",
    "cc",
    "cc prague",
    "app",
    "app short",
    "schema",
    *(
        f"plot results/a/smoke -p {plot} -o {plot}.svg"
        for plot in ("tcp_delivery_with_rtt", "totals", "ping_cdf", "tcp_rtt_cdf", "tcp_cwnd")
    ),
    f"plot {S2_STEM}.flent.gz -o flent.png",
    "plot results/a/smoke results/b/smoke -o both.svg",
    "plot results/a/smoke -p flow.*.cc.alpha -p queue_delay -o alpha.pdf",
    "query SELECT/**/id/**/FROM/**/runs results/a",
    "compare results/a",
    "compare results/a --report compared.html",
    "compare results/a results/a --only ect1",
    "report results/a -o report.html",
    "fidelity --only X1 --seeds 1",
    "fidelity results/a",
    f"import flent {S2_STEM}.flent.gz -o results/testbed",
    "kernel build --help",
    "doctor --results results/a/smoke",
    # It needs a kernel in virtual time; tests/test_crosscheck.py runs it with one.
    "crosscheck --help",
    "search smoke.toml --minimise p99(bneck.delay) --over link.bneck.rate=5Mbit..9Mbit:log --trials 3 -o results/found",
    "worst --cc cubic --against reno --measure starvation --cases 2 --simplify 2 -o results/worst",
    "middlebox --help",
    # It goes on until Ctrl-C; tests/test_serve.py starts it.
    "serve --help",
    "clean --dry",
    "clean --live --dry",
)


def test_every_verb_is_among_the_commands(folder: Path) -> None:
    listed = re.findall(r"^│ ([a-z]+) +[A-Z]", sojourn(folder, "--help").stdout, re.MULTILINE)
    assert tuple(listed) == VERBS
    assert {command.split()[0] for command in COMMANDS} >= set(VERBS)


@pytest.mark.parametrize("command", COMMANDS)
def test_verb_succeeds_and_says_something(folder: Path, command: str) -> None:
    done = sojourn(folder, *command.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_link_of_the_example_template_leads_to_a_file(folder: Path) -> None:
    example = Path(__file__).resolve().parents[1] / "examples/README.md.j2"
    done = sojourn(folder, "report", "results/a", "--template", str(example), "-o", "page/README.md")
    assert (done.returncode, done.stderr) == (0, "")
    text = (folder / "page/README.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    for ending in (".svg", ".setup.log", ".teardown.log", "/queue.json", "/series.parquet"):
        assert len({link for link in links if link.endswith(ending)}) == 2, ending
    assert all((folder / "page" / link).is_file() for link in links)
    assert "| smoke | a |" in text
    assert "dualpi2" in (folder / "page/README_files/smoke.teardown.log").read_text()
    assert "queue htb(20Mbit)+dualpi2, rate 20 Mbit/s, RTT 10 ms" in text


@pytest.mark.parametrize(
    "command",
    [
        "run smoke.toml --out results/a",
        "show results/a/smoke",
        "plot results/a/smoke -o again.svg",
        "compare results/a",
        "report results/a -o again.html",
        "fidelity --only X1 --seeds 1",
        f"import flent {S2_STEM}.flent.gz -o json",
        "clean --dry",
        "clean --live --dry",
    ],
)
def test_json_documents_name_their_schema(folder: Path, command: str) -> None:
    done = sojourn(folder, *command.split(), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document.get("schema", "").startswith("sojourn/")


@pytest.mark.parametrize("verb", ["compare", "report", "fidelity", "doctor", "worst"])
def test_help_loads_no_arrays_and_no_tables(verb: str) -> None:
    loaded = "{'numpy', 'polars'} & {*sys.modules}"
    code = f"import sys, sojourn.cli as cli; cli.call([{verb!r}, '--help']); print(*{loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, ""), done.stderr


def test_the_version_is_that_of_these_sources(folder: Path) -> None:
    crates = Path(__file__).parents[1] / "crates"
    sources = {file.relative_to(crates).as_posix(): file.read_bytes() for file in crates.glob("*/src/**/*.rs")}
    state = 0xCBF29CE484222325
    for name in sorted(sources, key=lambda name: name.split("/")):
        content = sources[name]
        for byte in b"".join((name.encode(), len(content).to_bytes(8, "little"), content)):
            state = (state ^ byte) * 0x100000001B3 % 2**64
    build = f"{state >> 32 ^ state % 2**32:08x}"
    said = sojourn(folder, "--version").stdout.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{8}", said)
    assert said.endswith(f"+{build}")


def test_a_broken_run_is_one_line_and_the_others_are_compared(folder: Path) -> None:
    shutil.copytree(folder / "results/a", folder / "broken/a")
    shutil.copytree(folder / "results/a/smoke", folder / "broken/b")
    (folder / "broken/b/manifest.json").write_text("{")
    (folder / "broken/a/smoke/series.parquet").write_text("no table")
    for command, code in (
        ("compare broken", 3),
        ("fidelity broken", 3),
        ("plot broken/a/smoke", 2),
        ("show broken/b", 2),
    ):
        done = sojourn(folder, *command.split())
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert {"smoke/series.parquet", "b/manifest.json"} & set(
            re.findall(r"\w+/[a-z]+\.(?:parquet|json)", done.stderr)
        )
    assert "1 run compared" in sojourn(folder, "compare", "broken").stdout
    page = sojourn(folder, "report", "broken", "-o", "broken.html")
    assert page.returncode == 3
    assert "expected the series of a run" in (folder / "broken.html").read_text()


def test_a_home_that_cannot_be_written_is_no_matter_of_the_users(folder: Path) -> None:
    nowhere = {"MPLCONFIGDIR": "/proc/none", "HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}
    done = sojourn(folder, "plot", "results/a/smoke", "--title", "\u6642\u9593", "-o", "quiet.png", env=nowhere)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["list", "list ect1", "qdisc", "cc", "app"])
def test_json_lists_are_arrays(folder: Path, command: str) -> None:
    rows = json.loads(sojourn(folder, *command.split(), "--json").stdout)
    assert rows
    assert all("id" in row or {"name", "summary", "reference", "parameters"} <= set(row) for row in rows)


def test_every_port_of_a_run_is_in_its_queues(folder: Path) -> None:
    ports = [queue["name"] for queue in Run(folder / "results/a/smoke").queues]
    assert ports == ["bneck.ingress0", "bneck", "bneck.reverse.ingress0", "bneck.reverse"]


def test_every_case_of_every_suite_resolves(folder: Path) -> None:
    done = sojourn(folder, "run", "^", "--dry")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [case.id for case in suites.every()]


@pytest.mark.parametrize("verb", ["list", "compare results/a", "fidelity results/a", "--help", "schema"])
def test_a_reader_that_leaves_is_no_error(folder: Path, verb: str) -> None:
    command = f"{sys.executable} -m sojourn.cli {verb} | head -n 1 >&2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["/bin/bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1


def test_one_worker_or_two_give_the_same_bytes(folder: Path) -> None:
    for jobs in ("1", "2"):
        done = sojourn(folder, "run", "smoke.toml", "--seeds", "3", "--jobs", jobs, "--out", jobs)
        assert done.returncode == 0, done.stderr
    files = sorted(p.relative_to(folder / "1") for p in (folder / "1").rglob("*") if p.is_file())
    assert len(files) == 3 * 5
    for file in files:
        if file.name != "manifest.json":
            assert (folder / "1" / file).read_bytes() == (folder / "2" / file).read_bytes()


def test_names_that_advance_together_are_in_one_name(folder: Path) -> None:
    together = '[[sweep]]\n"link.bneck.rate" = ["10Mbit", "1Mbit"]\n"flow.a.cc" = ["reno", "cubic"]\n'
    (folder / "together.toml").write_text(f"{SCENARIO}{together}[[sweep]]\nseed = [1, 2]\n")
    names = ["smoke/rate-10Mbit+reno", "smoke/rate-1Mbit+cubic"]
    wanted = [f"{name}{seed}" for name in names for seed in ("", "@seed2")]
    assert sojourn(folder, "run", "together.toml", "--dry").stdout.split() == wanted
    shown = sojourn(folder, "show", "together.toml").stdout
    (folder / "again.toml").write_text(shown)
    assert sojourn(folder, "run", "again.toml", "--dry").stdout.split() == wanted
    one = sojourn(folder, "run", "together.toml", "-s", "flow.a.cc=cubic", "-s", "seed=1", "--dry")
    assert one.stdout.split() == names[1:]


def test_every_shipped_sweep_makes_all_its_runs() -> None:
    from sojourn.planning import plan

    swept = [
        file for file in Path(__file__).parents[1].joinpath("scenarios").glob("*.toml") if "[sweep]" in file.read_text()
    ]
    assert len(swept) >= 6
    for file in swept:
        axes = tomllib.loads(file.read_text())["sweep"]
        jobs = plan([file])
        assert [job.scenario.swept for job in jobs] == [
            dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
        ]
        assert len({job.scenario.text for job in jobs}) == len(jobs)
        assert all(job.scenario.document()["name"] == job.id for job in jobs)
