"""From a comparison to one HTML file that needs nothing else."""

from __future__ import annotations

from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from sojourn import compare, fidelity, metrics, reference
from sojourn.compare import effects
from sojourn.files import write_whole
from sojourn.report import across, answers, flow_rows, markdown, overview, own, panels, sections
from sojourn.text import harmless

if TYPE_CHECKING:
    from sojourn.compare import Comparison
    from sojourn.metrics import Source
    from sojourn.report.sections import Section

#: Rows of the list of effects.
EFFECTS = 40


def write(
    results: Path,
    out: Path,
    reference: Path | None,
    *,
    as_markdown: bool = False,
    errors: list[str] | None = None,
) -> Path:
    """The report of a results folder, beside `reference` or the measured data; returns the file.

    Runs that cannot be read are left out, and get a line in the report and in `errors`.
    """
    comparison = compare.collect(results, reference)
    if errors is not None:
        errors += comparison.errors
    comparison.sides = (compare.names_of(results, reference) if reference else None) or compare.MEASURED
    return write_comparison(
        comparison, out, title=f"Sojourn report: {harmless(results.resolve().name)}", as_markdown=as_markdown
    )


def write_comparison(comparison: Comparison, out: Path, *, title: str, as_markdown: bool = False) -> Path:
    """The report of a comparison that was made already; returns the file."""
    runs = sections.runs_of(comparison)
    grouped = sections.sections_of(runs)
    sources = [*comparison.lone, *(pair.a for pair in comparison.pairs)]
    score = _scoreboard({source.id: source for source in sources})
    if as_markdown:
        page = markdown.render(comparison, grouped, score, title=title, out=out)
    else:
        page = _page(comparison, grouped, score, title=title, out=out, extra=len(sources) - len(runs))
    write_whole(out, page)
    return out


def _page(
    comparison: Comparison, grouped: list[Section], score: dict[str, Any], *, title: str, out: Path, extra: int
) -> str:
    measured = comparison.measured
    figures = {run.id: number for number, run in sections.numbered(grouped)}
    rows = [[run for column in columns for run in column] for section in grouped for _, columns in section.rows()]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            conclusion=comparison.conclusion if comparison.pairs else "",
            verdict=comparison.verdict if not measured else "",
            effects=comparison.effects[:EFFECTS] if not measured else [],
            all_effects=len(comparison.effects),
            method=effects.METHOD,
            comparison=comparison,
            measured=measured,
            short_sides=("ours", "meas.") if measured else ("A", "B"),
            extra_runs=extra,
            overview=Markup(overview.svg(comparison)) if measured else "",  # noqa: S704 - numbers and escaped ids
            score=score,
            sections=[_section(section, comparison, out, figures) for section in grouped],
            run_count=sum(len(section.runs) for section in grouped),
            definitions=metrics.DEFINITIONS,
            source=reference.sources(pair.id for pair in comparison.pairs),
            panels=panels.payload(rows),
            uplot_js=Markup(_vendored("uPlot.iife.min.js")),  # noqa: S704 - shipped file
            uplot_css=Markup(_vendored("uPlot.min.css")),  # noqa: S704 - shipped file
        )
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = own.number
    return environment


def _vendored(name: str) -> str:
    return resources.files("sojourn.report").joinpath("uplot", name).read_text(encoding="utf-8").strip()


def _scoreboard(runs: dict[str, Source]) -> dict[str, Any]:
    """The fidelity rows that these results decide."""
    judged = fidelity.judge(fidelity.ROWS, runs)
    return {
        "count": fidelity.score(judged),
        "spread": any(len(result.values) > 1 for result in judged),
        "rows": [
            {
                **result.document(),
                "ours": fidelity.shown(result.ours),
                "expected": fidelity.shown(result.row.expected),
                "spread": fidelity.shown_spread(result),
            }
            for result in judged
            if result.values
        ],
        "hypotheses": fidelity.hypotheses(judged),
        "grids": fidelity.grids(judged),
    }


def _section(section: Section, comparison: Comparison, out: Path, figures: dict[str, int]) -> dict[str, Any]:
    short = sections.short_names(section)
    compared = any(run.pair is not None for run in section.runs)
    document = partial(_run, short=short, figures=figures, out=out)
    return {
        "anchor": "section-" + section.key.replace("/", "-"),
        "name": section.key,
        "heading": section.heading,
        "question": section.question,
        "answers": answers.answers(section, comparison.sides),
        "only_rtt": all(row["kind"] in ("", metrics.RTT) for run in section.runs for row in flow_rows.of(run)),
        "extras": flow_rows.extras_of(section),
        "glances": answers.glances(section),
        "compared": compared,
        "sides": section.columns(),
        "table": across.table(section.runs) if section.tabled else None,
        "runs": [document(run) for _, columns in section.rows() for column in columns for run in column],
        "rows": [
            {"name": name, "columns": [[document(run) for run in column] for column in columns]}
            for name, columns in section.rows()
        ],
    }


def _run(run: sections.Run, *, short: dict[str, str], figures: dict[str, int], out: Path) -> dict[str, Any]:
    return {
        "id": run.id,
        "short": short[run.id],
        "figure": figures[run.id],
        "window": run.summary.window_s if run.summary else None,
        "rows": flow_rows.of(run),
        "compared": run.pair is not None,
        "kinds": list(panels.kinds(run)),
        "data": sections.link(run.ours, out),
    }
