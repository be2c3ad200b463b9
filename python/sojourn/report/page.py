"""From a comparison to the report as data, and to a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sojourn import compare, fidelity, metrics, path, reference, results
from sojourn.compare import Comparison
from sojourn.files import write_whole
from sojourn.report import across, answers, figures, flow_rows, html, markdown, overview, sections, studies, tables
from sojourn.report.model import Figure, Page, Row, Section, to_json
from sojourn.text import harmless

MARKDOWN = (".md", ".markdown")
CURVES = (
    "Thinned for this page; the minimum and maximum of every stretch of time are kept, so no peak is lost. Statistics "
    "are of the full series."
)


def write(page: Page, out: Path, *, as_markdown: bool = False) -> Path:
    """Writes a page, as JSON or Markdown if the file's name says so and else as HTML; returns the file."""
    if out.suffix == ".json":
        text = to_json(page)
    else:
        text = (markdown if as_markdown or out.suffix in MARKDOWN else html).render(page)
    write_whole(out, text)
    return out


def write_comparison(comparison: Comparison, out: Path, *, title: str) -> Path:
    """The report of a comparison; returns the file."""
    return write(of_comparison(comparison, out.parent, title=title), out)


def of_results(place: Path, folder: Path, reference: Path | None, kernel: Path | None = None) -> Page:
    """The report of a results folder, for a file in `folder`, beside `reference` or the measured data.

    `kernel` is a folder of the same runs on the engine `linux`, which become one more column.

    Runs that cannot be read are left out, and get a line in `errors` of the page.
    """
    comparison = compare.collect(place, reference)
    comparison.sides = (compare.names_of(place, reference) if reference else None) or compare.MEASURED
    comparison.kernel = {run.id: run for run in results.ResultSet.open(kernel) if run.complete} if kernel else {}
    return of_comparison(comparison, folder, title=f"Sojourn report: {harmless(place.resolve().name)}")


def of_comparison(comparison: Comparison, folder: Path, *, title: str) -> Page:
    """The report of a comparison, for a file in `folder`."""
    judging = fidelity.Judging(fidelity.ROWS)
    points = figures.points_of(len(sections.shown(comparison)))
    drawn: dict[str, Figure] = {}

    def use(source: metrics.Source, run: sections.Run | None) -> None:
        if run:
            drawn[run.id] = figures.figure(run, points, folder)
        judging.take(source.id, source)

    runs = sections.runs_of(comparison, use)
    further = len(comparison.lone) + len(comparison.pairs) - len(runs)
    judged = judging.results()
    grouped = sections.sections_of(runs)
    drawn = figures.of_rows(([run for c in columns for run in c] for s in grouped for _, columns in s.rows()), drawn)
    ids = [f"section-{section.key.replace('/', '-')}" for section in grouped]
    score = fidelity.score(judged)
    checked = score["pass"] + score["fail"]
    sides = compare.MEASURED if comparison.measured else ("A", "B")
    lead = comparison.conclusion if comparison.pairs else ""
    parts = [
        (comparison.verdict if not comparison.measured else "") or lead,
        f"{score['pass']} of {checked} checked quantities are within their tolerance." if checked else "",
    ]
    return Page(
        title=title,
        lead=" ".join(filter(None, parts)),
        intro=_intro(comparison),
        sides=sides,
        errors=[harmless(line) for line in comparison.errors],
        sections=[
            Section(
                "glance",
                "At a glance",
                tables=[tables.glance(grouped, ids)],
                scatters=overview.scatters(comparison) if comparison.measured else [],
            ),
            *studies.sections(comparison.lone),
            *_differences(comparison),
            *_scoreboard(judged, score),
            *(_section(one, comparison, sides, to, drawn) for one, to in zip(grouped, ids, strict=True)),
            _definitions(further),
        ],
    )


def _intro(comparison: Comparison) -> str:
    if not comparison.measured:
        a, b = comparison.sides
        of = f"A is {a}, B is {b}."
    else:
        source = reference.sources(pair.id for pair in comparison.pairs) if comparison.pairs else ""
        beside = f", \N{LEFT DOUBLE QUOTATION MARK}measured\N{RIGHT DOUBLE QUOTATION MARK} the testbed: {source}"
        ours = "\N{LEFT DOUBLE QUOTATION MARK}Ours\N{RIGHT DOUBLE QUOTATION MARK} is this result set"
        of = f"{ours}{beside if source else ''}."
    return f"{of} Times are seconds since the start of a run."


def _differences(comparison: Comparison) -> Iterator[Section]:
    if not comparison.measured and comparison.effects:
        shown = [tables.parameters(comparison)] if comparison.parameters else []
        shown.append(tables.differences(comparison))
        yield Section("effects", "Differences", text=[comparison.conclusion], tables=shown)


def _scoreboard(judged: Sequence[fidelity.Result], score: Mapping[str, int]) -> Iterator[Section]:
    decided = [result for result in judged if result.values]
    if not decided:
        return
    text = (
        "Published, measured or analytic numbers beside the median over our seeds. A verdict compares that median with "
        "a tolerance that was fixed beforehand."
    )
    if score["contradicted"]:
        text += " A row is contradicted where raw data of the same run are outside of it: the number is not that run's."
    if absent := score["not-run"]:
        text += f" The {absent} rows of other suites need runs that are not in these results."
    hypotheses = fidelity.hypotheses(judged)
    yield Section(
        "fidelity",
        "Fidelity scoreboard",
        text=[text, *([f"{hypotheses}."] if hypotheses else [])],
        tally={
            verdict.replace("-", " "): score[verdict] for verdict in ("pass", "fail", "contradicted", "report-only")
        },
        tables=[*map(tables.grid, fidelity.grids(judged)), tables.scoreboard(decided)],
    )


def _section(
    section: sections.Section, comparison: Comparison, sides: tuple[str, str], to: str, drawn: Mapping[str, Figure]
) -> Section:
    if section.tabled:
        table = across.table(section.runs)
    else:
        runs = [run for _, columns in section.rows() for column in columns for run in column]
        table = flow_rows.table(runs, sections.short_names(section), sides)
    return Section(
        to,
        section.heading,
        section.question,
        answers.answers(section, comparison.sides),
        tables=[table],
        sides=section.columns(),
        notes=list(_on_the_kernel(section.runs)),
        figures=[
            Row([[drawn[run.id] for run in column] for column in columns], name) for name, columns in section.rows()
        ],
    )


def _on_the_kernel(runs: Iterable[sections.Run]) -> Iterator[str]:
    """Which kernel it was, and what it had in place of what the scenarios ask for."""
    found = [run.manifest for one in runs if isinstance(run := one.kernel, results.Run)]
    for release in dict.fromkeys(str(manifest.get("kernel")) for manifest in found):
        yield f"Linux is the kernel {release} in virtual time, with the same scenarios."
    differences = Counter(
        f"{one.get('wanted')} \N{RIGHTWARDS ARROW} {one.get('used')}"
        for manifest in found
        for one in path.objects(manifest.get("nearest"))
    )
    if differences:
        yield "It had in place of what they ask for: " + "; ".join(f"{what} ({n})" for what, n in differences.items())


def _definitions(further: int) -> Section:
    note = (
        f"{further} further runs (other seeds and variations) count in the scoreboard and in differences, and have no "
        "panel of their own."
    )
    terms = {**metrics.DEFINITIONS, "curves": CURVES}
    return Section("definitions", "Definitions", terms=terms, notes=[note] if further else [])
