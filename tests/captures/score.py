"""What the analysis says of the corpus, beside what each case is: writes docs/results/captures.md."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draws import Case, Flow, cases

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/results/captures.md"
MARK = "<!-- written by `python tests/captures/corpus.py score SEED FOLDER SEED FOLDER...`; do not edit from here -->\n"
FAMILIES = ("classic", "scalable", "sce", "bbr-like", "unresponsive")
FIRST_PORT = 5201

# Diagnoses of which the draw says whether they can be right.
TRUE: dict[str, Callable[[Case, Flow], bool]] = {
    "l4s-works": lambda case, flow: flow.cc == "prague" and case.marks != "none",
    "bottleneck-without-ecn": lambda case, flow: case.marks == "none",
    "losses-without-queue": lambda case, flow: case.loss > 0,
    "marks-without-response": lambda case, flow: flow.family in ("bbr-like", "unresponsive"),
    "unresponsive": lambda case, flow: flow.family == "unresponsive",
    "phantom-ce": lambda case, flow: flow.ecn == "accecn",
}


@dataclass(frozen=True)
class Found:
    """A flow of a case, and what was said of it."""

    case: Case
    number: int
    answer: str
    diagnoses: tuple[str, ...]

    @property
    def flow(self) -> Flow:
        return self.case.flows[self.number]


def analysed(path: Path) -> list[dict[str, Any]]:
    """Flows of the report of a capture."""
    program = os.environ.get("INSPECT", str(ROOT / "target/gate/examples/inspect"))
    text = subprocess.run([program, path], capture_output=True, check=True).stdout
    return list(json.loads(text)["flows"])


def payload(flow: dict[str, Any]) -> int:
    return int(flow["forward"]["data_bytes"] + flow["backward"]["data_bytes"])


def of_case(case: Case, path: Path) -> Iterator[Found]:
    flows = analysed(path)
    for number in range(len(case.flows)):
        ours = [flow for flow in flows if FIRST_PORT + number in (flow["peer"]["port"], flow["opener"]["port"])]
        if ours:
            flow = max(ours, key=payload)
            kinds = tuple(diagnosis["kind"] for diagnosis in flow["diagnoses"])
            yield Found(case, number, (flow["family"] or {"family": ""})["family"], kinds)


def found(folder: Path, seed: int) -> list[Found]:
    paths = ((case, next(folder.glob(f"{case.index:03}.pcap*"), None)) for case in cases(seed))
    return [each for case, path in paths if path for each in of_case(case, path)]


def row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def matrix(flows: list[Found]) -> Iterator[str]:
    counts = Counter((each.flow.family, each.answer) for each in flows)
    yield row(("is \\ called", *FAMILIES, "no answer"))
    yield row(["---"] * (len(FAMILIES) + 2))
    for true in FAMILIES:
        yield row((true, *(counts[true, said] for said in (*FAMILIES, ""))))


def percent(some: int, of: int) -> str:
    return f"{some} of {of} ({100 * some / of:.0f} %)" if of else "none"


def summary(name: str, flows: list[Found]) -> str:
    answered = [each for each in flows if each.answer]
    right = [each for each in answered if each.answer == each.flow.family]
    mistaken = [each for each in answered if each.flow.family == "classic" and each.answer == "scalable"]
    return row((name, percent(len(answered), len(flows)), percent(len(right), len(answered)), len(mistaken)))


def half(title: str, flows: list[Found]) -> Iterator[str]:
    first = [each for each in flows if each.number == 0]
    yield from ("", f"## {title}", "", row(("flows", "answered", "right", "classic called scalable")), row(["---"] * 4))
    yield summary("of each capture the first", first)
    for engine, name in (("linux", "of these in the kernel's"), ("sim", "of these in the simulator's")):
        yield summary(name, [each for each in first if each.case.engine == engine])
    tcp = [each for each in first if each.flow.cc != "udp"]
    yield summary("of these TCP", tcp)
    yield summary("the second, where there is one", [each for each in flows if each.number])
    yield from ("", "The first flow of each capture:", "", *matrix(first))
    wrong = [each for each in flows if each.answer not in ("", each.flow.family)]
    if wrong:
        yield from ("", "Wrong:", "")
    for each in wrong:
        case, flow = each.case, each.flow
        where = f"{case.rate_kbps / 1000:.1f} Mbit/s, {case.rtt_ms:.0f} ms, `{case.qdisc}`, at the {case.point}"
        which = f"seed {case.seed}, {case.index}, flow {each.number + 1}"
        yield f"- {which}: `{flow.cc}`, {flow.ecn}, {where}: called {each.answer}"
    yield from ("", row(("diagnosis", "found", "right by the draw")), row(["---"] * 3))
    for kind, is_true in TRUE.items():
        those = [each for each in flows if kind in each.diagnoses]
        yield row((f"`{kind}`", len(those), sum(is_true(each.case, each.flow) for each in those)))


def write(held_back: tuple[int, Path], *development: tuple[int, Path]) -> int:
    """Both tables, of seeds and the folders with their captures."""
    seeds = ", ".join(str(seed) for seed, _ in development)
    text = [
        *half(f"Development: seeds {seeds}", [each for seed, folder in development for each in found(folder, seed)]),
        *half(f"Held back: seed {held_back[0]}", found(held_back[1], held_back[0])),
    ]
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(head + MARK + "\n".join(text) + "\n", encoding="utf-8")
    return 0
