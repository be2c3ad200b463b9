"""What a packet, a flow, a hop and a run cost, and what 10^6 runs or 10^5 flows therefore need: docs/scale.md.

    python benches/scale.py [--document docs/scale.md] [--rounds 5] [--engine FILE] [--queues FILE]

The parts are the benchmarks `engine` (with valgrind its instructions too) and `qdisc`, whose JSON is read from FILE
instead if it is there, and the whole command in processes of its own. Build it for release first: `make build`. The
document gets each table in the place of the one that it has; without it they are printed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import log10
from pathlib import Path
from statistics import median
from typing import Any

from measured import MeasureError, Spread, bench, machine, spent, write

#: Of the whole command.
RUN = """
name = "run"
duration = "5s"
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "10ms"
[[flow]]
name = "cubic"
cc = "cubic"
[[flow]]
name = "prague"
cc = "prague"
"""
TINY = RUN.replace("5s", "100ms")
#: An installed package has its bytecode; the first of all runs makes it here.
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
#: Runs of one command, beside one run: what one more costs.
MANY = 40


@dataclass(frozen=True)
class Whole:
    """CPU seconds of the whole command, and what it leaves on disk."""

    version: Spread
    tiny: Spread
    run: Spread
    engine: Spread
    #: One more run of the same command; one more run in a report.
    more: float
    report: Spread
    report_more: float
    report_mb: float
    kb_per_run: float
    files_per_run: int


def sojourn(*words: str) -> list[str]:
    return [sys.executable, "-m", "sojourn", *words]


def whole(program: Path, rounds: int) -> Whole:
    """Measures the command in turn, round by round."""
    with tempfile.TemporaryDirectory() as scratch:
        run, tiny, folder = (Path(scratch) / name for name in ("run.toml", "tiny.toml", "many"))
        run.write_text(RUN, encoding="utf-8")
        tiny.write_text(TINY, encoding="utf-8")
        runs = ["run", str(run), "--fresh", "--jobs", "1"]
        few = Path(scratch) / "few"
        calls = {
            "version": sojourn("--version"),
            "tiny": sojourn("run", str(tiny), "--fresh", "--jobs", "1", "--out", str(Path(scratch) / "tiny")),
            "engine": [str(program), "file", str(run)],
            "run": sojourn(*runs, "--out", str(few)),
            "many": sojourn(*runs, "--seeds", str(MANY), "--out", str(folder)),
            "report-few": sojourn("report", str(few), "-o", str(Path(scratch) / "few.html")),
            "report": sojourn("report", str(folder), "-o", str(Path(scratch) / "many.html")),
        }
        found: dict[str, list[float]] = {name: [] for name in calls}
        peak_mb = 0.0
        spent(calls["run"], COMPILED)
        for _ in range(rounds):
            for name, call in calls.items():
                one = spent(call, COMPILED)
                found[name].append(one.cpu_s)
                peak_mb = one.peak_mb if name == "report" else peak_mb
        files = [file for file in folder.rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
    spreads = {name: Spread.of(values) for name, values in found.items()}
    return Whole(
        version=spreads["version"],
        tiny=spreads["tiny"],
        run=spreads["run"],
        engine=spreads["engine"],
        more=(spreads["many"].middle - spreads["run"].middle) / (MANY - 1),
        report=spreads["report"],
        report_more=(spreads["report"].middle - spreads["report-few"].middle) / (MANY - 1),
        report_mb=peak_mb,
        kb_per_run=size / MANY / 1e3,
        files_per_run=len(files) // MANY,
    )


def number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def packets(engine: Mapping[str, Any]) -> Iterator[str]:
    """Cost of a packet, by case."""
    yield "| case | flows | hops | data packets | CPU ns per packet | least | ratio to `prague-1` | instructions |"
    yield "|---" * 8 + "|"
    for case in engine["cases"]:
        ratio = Spread(*case["ratio"]).text() if case["ratio"] else ""
        costs = case["packet_ns"]
        cells = (number(median(costs)), number(min(costs)), ratio, number(case["instructions_per_packet"]))
        yield (
            f"| `{case['name']}`: {case['question']} | {number(case['flows'])} | {case['hops']} "
            f"| {number(case['data_packets'])} | {' | '.join(cells)} |"
        )


def hops(engine: Mapping[str, Any]) -> Iterator[str]:
    """Cost of a hop after the first."""
    one = named(engine, "prague-1")
    yield "| hops | CPU ns of each further hop | instructions |"
    yield "|---" * 3 + "|"
    for case in engine["cases"]:
        if case["hops"] > 1:
            counts = (case["instructions_per_packet"], one["instructions_per_packet"])
            each = (counts[0] - counts[1]) / (case["hops"] - 1) if None not in counts else None
            yield f"| {case['hops']} | {number(case['hop_ns'])} | {number(each)} |"


def flows(engine: Mapping[str, Any]) -> Iterator[str]:
    """Memory and start by flows."""
    yield "| case | flows | reading the file, ms | per flow, us | building, ms | most memory, MB |"
    yield "|---" * 6 + "|"
    for case in engine["cases"]:
        if case["hops"] == 1:
            each = 1e3 * case["load_ms"] / case["flows"]
            cells = (number(case["load_ms"], 1), number(each), number(case["build_ms"], 1), number(case["peak_mb"]))
            yield f"| `{case['name']}` | {number(case['flows'])} | {' | '.join(cells)} |"
    held = engine["memory"]
    yield ""
    yield (
        f"A flow holds {held['bytes_per_flow'] / 1e3:.0f} kB with its packets, and "
        f"{held['bytes_per_flow_and_sample']:.0f} bytes for each sample of its series (20 a second by default)."
    )


def command(found: Whole) -> Iterator[str]:
    """The whole command beside its engine."""
    yield "| command | CPU s, median (least-most) |"
    yield "|---" * 2 + "|"
    yield f"| `sojourn --version` | {found.version.text(3)} |"
    yield f"| `sojourn run` of 0.1 s, 50 Mbit/s, two flows | {found.tiny.text(3)} |"
    yield f"| `sojourn run` of 5 s, 50 Mbit/s, two flows | {found.run.text(3)} |"
    yield f"| the engine alone, of that | {found.engine.text(3)} |"
    yield f"| each further run of the same command | {found.more:.4f} |"
    yield f"| `sojourn report` of {MANY} such runs | {found.report.text(2)} |"
    yield f"| each further run in a report | {above_noise(found.report_more, 4)} |"
    yield ""
    yield (
        f"A run leaves {found.kb_per_run:.0f} kB in {found.files_per_run} files; "
        f"the report of {MANY} runs held {found.report_mb:.0f} MB."
    )


def queues(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    """Every discipline's cost by backlog and flows."""
    cases = next((list(row["backlog/flows"]) for row in rows if "backlog/flows" in row), [])
    order = sorted(cases, key=lambda case: [int(part) for part in case.split("/")])
    yield f"| discipline | {' | '.join(order)} |"
    yield "|---" * (1 + len(order)) + "|"
    for row in rows:
        if "not_timed" in row:
            continue
        cells = [row["backlog/flows"][case] for case in order]
        shown = ("" if cell is None else f"{cell['packet_ns']:.0f}{'*' if cell['drops'] else ''}" for cell in cells)
        yield f"| `{row['qdisc']}` | {' | '.join(shown)} |"


def named(engine: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    case: Mapping[str, Any] = next(case for case in engine["cases"] if case["name"] == name)
    return case


def needs(engine: Mapping[str, Any], found: Whole) -> Iterator[str]:
    """What large experiments need, from the other tables."""
    runs = 10**6
    long_s = 60 * 50e6 / 8 / 1500 * median(named(engine, "prague-1")["packet_ns"]) / 1e9
    yield f"| {runs:,} runs | CPU hours | disk, GB | files, million |"
    yield "|---" * 4 + "|"
    disk = f"{found.kb_per_run * runs / 1e6:.0f}"
    files = f"{found.files_per_run * runs / 1e6:.0f}"
    yield f"| of 5 s, 50 Mbit/s, two flows | {found.more * runs / 3600:.0f} | {disk} | {files} |"
    other = found.more - found.engine.middle
    yield (
        f"| of 60 s, 50 Mbit/s | {(long_s + max(other, 0.0)) * runs / 3600:.0f} "
        f"| {disk} and what 55 s more of series take | {files} |"
    )
    yield f"| one report of them | {above_noise(found.report_more * runs / 3600, 1)} | | |"
    yield from ("", *many_flows(engine))


def above_noise(value: float, digits: int) -> str:
    """A difference of two measurements, unless their spread was larger than it."""
    return f"{value:.{digits}f}" if value > 0 else "less than the rounds' spread"


def many_flows(engine: Mapping[str, Any]) -> Iterator[str]:
    """10^5 flows, from 10^3 and 10^4."""
    flows = 10**5
    low, high = named(engine, "flows-1000"), named(engine, "no-series")
    growth = log10(high["load_ms"] / low["load_ms"]) / log10(high["flows"] / low["flows"])
    load_s = high["load_ms"] / 1e3 * (flows / high["flows"]) ** growth
    held = engine["memory"]
    memory_gb = held["bytes_per_flow"] * flows / 1e9
    samples_gb = held["bytes_per_flow_and_sample"] * flows * 20 / 1e9
    cost_ns = median(high["packet_ns"])
    second = 1e9 / 8 / 1500 * cost_ns / 1e9
    yield f"| {flows:,} flows in one run | |"
    yield "|---|---|"
    yield f"| memory without series | {memory_gb:.1f} GB |"
    yield f"| series, for each simulated second | {samples_gb:.2f} GB |"
    yield f"| reading the file, which grows with the {growth:.1f}th power of the flows | {load_s:.0f} CPU s |"
    yield f"| each simulated second of 1 Gbit/s, at a packet's cost with 10,000 flows in it | {second:.1f} CPU s |"


def read(file: Path | None, package: str, name: str, *words: str) -> Any:
    """A benchmark's JSON, from a file or by running it."""
    if file:
        return json.loads(file.read_text(encoding="utf-8"))
    return json.loads(spent([str(bench(package, name)), "--json", *words]).output)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", type=Path, help="JSON of the benchmark engine")
    parser.add_argument("--queues", type=Path, help="JSON of the benchmark qdisc")
    given = parser.parse_args()
    counting = ["--instructions"] if shutil.which("valgrind") else []
    try:
        engine = read(given.engine, "sojourn-sim", "engine", "--rounds", str(given.rounds), *counting)
        rows = read(given.queues, "sojourn-queue", "qdisc")
        found = whole(bench("sojourn-sim", "engine"), given.rounds)
    except (MeasureError, OSError, ValueError) as error:
        print(f"scale: {error}", file=sys.stderr)
        return 1
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "machine": lambda: iter((f"{machine()}; {engine['rounds']} rounds.",)),
        "needs": lambda: needs(engine, found),
        "packets": lambda: packets(engine),
        "hops": lambda: hops(engine),
        "flows": lambda: flows(engine),
        "command": lambda: command(found),
        "queues": lambda: queues(rows),
    }
    for name, lines in tables.items():
        if given.document:
            write(given.document, f"benches/scale.py {name}", list(lines()))
        else:
            print(*lines(), "", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
