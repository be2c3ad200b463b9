"""The report card of a controller: the criteria of RFC 9743, each with the runs that answer it.

Numbers alone: the RFC, which is the successor of RFC 5033, sets no thresholds (section 5). A heading that no run of the
results answers names the runs of the suites that would, or says that there are none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from sojourn import compare, metrics, path, results, suites
from sojourn.files import write_whole
from sojourn.path import objects
from sojourn.report import own, sections
from sojourn.report.criteria import CRITERIA, Criterion
from sojourn.report.evidence import Evidence, Facts, goodputs, named
from sojourn.report.template import HTML, Page
from sojourn.text import harmless

#: Rows below a heading, those first that are worst by its first measure.
MOST_ROWS = 8
STYLE = Markup(
    "body { font: 16px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em } "
    "table { border-collapse: collapse; display: block; overflow-x: auto } h1, p { overflow-wrap: anywhere } "
    "th, td { border: 1px solid #ccc; padding: 0.2em 0.5em; text-align: left; vertical-align: top }"
)
HEAD = Markup(
    "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n"
    '<meta name=viewport content="width=device-width, initial-scale=1">\n<title>{}</title>\n<style>{}</style>'
)


class CardError(ValueError):
    """One line that says what was expected."""


def write(results_: Path, controller: str, out: Path | None, errors: list[str]) -> Path:
    """Writes the card of a controller from a results folder: HTML if `out` ends in .html, else Markdown.

    A name without a version stands for the only version of it that the results have.
    """
    target = out or Path("card.md")
    wanted = named({"cc": controller})
    lone = [metrics.Cached(run) for run in results.ResultSet.open(results_, errors)]
    every = sections.runs_of(compare.Comparison(lone=list(lone)))
    flows = (flow for run in every for flow in objects(path.scenario(run.ours).get("flow")))
    there = sorted({name for flow in flows if (name := named(flow))})
    versions = [name for name in there if name.startswith(f"{wanted} version ")]
    if wanted not in there and len(versions) == 1:
        (wanted,) = versions
    told = [Evidence(Facts(run.id, path.scenario(run.ours), wanted), run) for run in every]
    runs = [run for run in told if _is_readable(run, errors)]
    concerned = [run for run in runs if wanted and run.facts.concerned]
    if not concerned:
        raise CardError(f"--card {controller}: expected a controller of these results: {', '.join(there) or 'none'}")
    page = Page(compare.Comparison(), target, as_html=target.suffix in HTML)
    parts = [Markup("\n\n").join(_blocks(wanted, concerned, harmless(results_.resolve().name), page))]
    if page.html:
        parts = [HEAD.format(f"Report card of {wanted}", STYLE), *parts]
    write_whole(target, "\n".join(parts) + "\n")
    return target


def _is_readable(run: Evidence, errors: list[str]) -> bool:
    """Whether its scenario is one; it can have been edited into something else."""
    try:
        for criterion in CRITERIA:
            criterion.met(run)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        errors.append(f"{run.facts.id}: expected a scenario ({error})")
        return False
    return True


def _blocks(controller: str, runs: list[Evidence], name: str, page: Page) -> Iterator[Markup]:
    every = (Facts(case.id, tomllib.loads(case.toml), controller) for case in suites.every())
    cases = [case for case in every if case.concerned]
    answers = [[run for run in runs if criterion.met(run)] for criterion in CRITERIA]
    yield page.heading(1, f"Report card of {controller}")
    answered = sum(map(bool, answers))
    yield page.paragraph(
        f"The criteria of RFC 9743 (BCP 133, the successor of RFC 5033), and {_count(runs)} in {name} with a flow of "
        f"{controller}, which answer {answered} of {len(CRITERIA)} headings. The RFC sets no thresholds, so there are "
        "no verdicts. Rates and delays are of each run's measuring window, drops, timeouts and segments sent again of "
        "the whole run."
    )
    for criterion, found in zip(CRITERIA, answers, strict=True):
        yield page.heading(2, f"{criterion.number} {criterion.heading}")
        yield page.paragraph(criterion.asks)
        if found:
            said = (measure.said(found) for measure in criterion.measures)
            yield page.paragraph(" ".join(filter(None, [f"{_count(found)}.", *said, criterion.note])))
            yield page.tabled(*_rows(criterion, found, page))
        else:
            yield page.paragraph(f"{_nowhere(criterion, cases)} {criterion.note}".strip())


def _nowhere(criterion: Criterion, cases: list[Facts]) -> str:
    """Which runs of the suites would answer a heading that no run of the results does."""
    batches = dict.fromkeys("/".join(case.id.split("/")[:2]) for case in cases if criterion.covers(case))
    if not batches:
        return "Nothing in the suites answers this."
    return f"No run of these results answers this. These would: sojourn run {' '.join(batches)}."


def _rows(criterion: Criterion, runs: Sequence[Evidence], page: Page) -> tuple[list[str], list[list[str]]]:
    """Heading and rows, those first that are worst by the first measure."""
    first = criterion.measures[0]

    def badness(run: Evidence) -> float:
        value = first.of(run)
        return float("-inf") if value is None else value if first.worst is max else -value

    heading = ["Run", "Path", "Goodput, Mbit/s", *(f"{m.name},{m.unit}".strip(",") for m in criterion.measures)]
    ordered = sorted(runs, key=badness, reverse=True)
    if criterion.each:
        kinds: dict[str, Evidence] = {}
        for run in ordered:
            kinds.setdefault(criterion.each(run.facts), run)
        ordered = list(kinds.values())
    rows = []
    for run in ordered[:MOST_ROWS]:
        place = getattr(run.run.ours, "path", None)
        label = page.link(run.facts.id, page.address(place / "summary.json")) if place else run.facts.id
        values = [own.number(measure.of(run)) for measure in criterion.measures]
        rows.append([label, str(run.facts.path), _goodput(run), *values])
    if len(runs) > len(rows):
        rows.append([f"and {len(runs) - len(rows)} more", *[""] * (len(heading) - 1)])
    return heading, rows


def _count(runs: Sequence[Evidence]) -> str:
    return f"{len(runs)} run{'' if len(runs) == 1 else 's'}"


def _goodput(run: Evidence) -> str:
    """Of the controller's flows, and of those beside them."""
    parts = []
    for flows, name in ((run.mine, run.facts.controller.split(" ")[0]), (run.others, "others")):
        if rates := goodputs(flows):
            count = f" ({len(rates)} flows)" if len(rates) > 1 else ""
            parts.append(f"{name} {own.number(sum(rates))}{count}")
    return ", ".join(parts)
