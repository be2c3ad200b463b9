"""Verbs that lay results over others or over published numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from cyclopts import Parameter

from sojourn.cli.common import (
    FAILED,
    LATEST,
    OK,
    SOME_FAILED,
    AtLeastOne,
    Json,
    Out,
    Output,
    Set,
    UsageError,
    agreed,
    expect,
    overrides,
    print_json,
    say,
    slug,
    written,
)
from sojourn.engines import Engine, Name, named
from sojourn.estimate import wall_s
from sojourn.execution import cores, execute
from sojourn.jobs import Job
from sojourn.planning import able, new_folder, plan
from sojourn.results import ResultSet, Run
from sojourn.text import harmless

if TYPE_CHECKING:
    from sojourn.metrics import Source


def compare(
    a: str | None = None,
    b: Path | None = None,
    /,
    *,
    engines: str | None = None,
    set_: Set = None,
    out: Out = None,
    seeds: Annotated[int, AtLeastOne] = 1,
    report: Path | None = None,
    only: str | None = None,
    yes: bool = False,
    as_json: Json = False,
) -> int:
    """Lay results over measured data or over other results, run by run; or one engine over others.

    Examples: `sojourn compare results/latest --report report.html`,
    `sojourn compare --engines sim,linux,live my.toml`

    Args:
        a: Results folder; with --engines a suite, TOML file or regular expression to run on each.
        b: Results folder or folder of Flent files; default the measured data.
        engines: Run A on each of these engines, and compare the first with each other one over the scenario's window;
            of sim, linux, linux:sojourn, live, live:kernel.
        set_: With --engines: change a value of every scenario; repeatable.
        out: With --engines: folder of the results, one below it for each engine; default a new one.
        seeds: With --engines: repeat with this number of consecutive seeds, and compare means.
        report: Report to write: HTML, Markdown or JSON, as its name ends.
        only: Regular expression over run ids.
        yes: With --engines: do not ask before more than 50 runs or 10 minutes.
        as_json: Print one JSON document; with more than two engines an array of them.
    """
    from sojourn.compare import MEASURED, collect, names_of, terminal

    sides: list[tuple[Path, Path | None, str]]
    if engines:
        if report and engines.count(",") > 1:
            raise UsageError(f"--report: expected two engines, got {engines}")
        folders = _on_each(engines, a, b, overrides(set_), out, seeds, yes=yes)
        first, *others = folders.values()
        sides = [(first, other, name) for other, name in zip(others, list(folders)[1:], strict=True)]
    elif set_ or out or seeds > 1:
        raise UsageError(f"{'--set' if set_ else '--out' if out else '--seeds'}: only with --engines")
    else:
        sides = [(Path(a) if a else LATEST, b, b.resolve().name if b else "the testbed")]
        expect(sides[0][0])
    comparisons = []
    for first, second, _ in sides:
        comparison = collect(first, second, only=only)
        comparison.sides = (names_of(first, second) if second else None) or MEASURED
        comparisons.append(comparison)
    for line in (line for comparison in comparisons for line in comparison.errors):
        say(line)
    if as_json:
        documents = [comparison.document() for comparison in comparisons]
        print_json(documents[0] if len(documents) == 1 else documents)
    else:
        for comparison in comparisons:
            terminal.show(comparison)
    if report:
        from sojourn.report import write_comparison

        first, _, other = sides[0]
        write_comparison(comparisons[0], report, title=harmless(f"Sojourn: {first.resolve().name} beside {other}"))
        say(f"report: {report}")
    if any(comparison.errors for comparison in comparisons):
        return SOME_FAILED
    return OK if all(comparison.pairs for comparison in comparisons) else FAILED


def _on_each(
    engines: str,
    target: str | None,
    b: Path | None,
    settings: dict[str, str],
    out: Path | None,
    seeds: int,
    *,
    yes: bool,
) -> dict[str, Path]:
    """Runs a target on each of the engines; the folders of the results by their names."""
    names = [name for known in engines.split(",") for name in get_args(Name) if name == known]
    if len(names) < 2 or len(names) != len(set(engines.split(","))):
        raise UsageError(f"--engines {engines}: expected two or more of {', '.join(get_args(Name))}, such as sim,live")
    if target is None or b is not None:
        raise UsageError("--engines: expected one suite, TOML file or regular expression to run")
    todo: list[Job] = plan([target], settings, seeds=seeds)
    chosen: dict[str, Engine] = {name: able(named(name), todo) for name in names}
    slowest = max(chosen.values(), key=lambda engine: wall_s(todo, engine, cores(engine)))
    if not agreed(todo, engine=slowest, jobs=None, yes=yes):
        raise KeyboardInterrupt
    folder = out or new_folder(slug(target))
    for name in names:
        outcomes = execute(todo, folder / name.replace(":", "-"), engine=chosen[name])
        if failed := [outcome for outcome in outcomes if outcome.status == "failed"]:
            raise UsageError(f"{failed[0].id} failed on {name}: {failed[0].error}")
    return {name: folder / name.replace(":", "-") for name in names}


def report(
    results_: Annotated[Path, Parameter(name="RESULTS")] = LATEST,
    /,
    *,
    output: Output = None,
    reference: Path | None = None,
    markdown: bool = False,
    template: Path | None = None,
    card: str | None = None,
    kernel: Path | None = None,
    as_json: Json = False,
) -> int:
    """Write results as one self-contained HTML file, Markdown or JSON, over measured data where there are any.

    Examples: `sojourn report results/latest -o report.html`, `sojourn report --markdown -o README.md`,
    `sojourn report results/latest --template examples/README.md.j2 -o README.md`,
    `sojourn report results/latest --card prague -o prague.md`, `sojourn report results/sim --kernel results/linux`

    Args:
        results_: Results folder.
        output: File to write; .html, .md or .json says what it becomes; default report.html, or report.md.
        reference: Folder of Flent files; default the measured data.
        markdown: Write Markdown tables instead.
        template: Page of your own, in Jinja, that is filled in; the output's ending decides: .html is HTML, all
            else Markdown. Pictures and logs that it asks for are in a folder NAME_files beside the output.
        card: Write instead the report card of a controller, such as prague or 'prague version p2b': the criteria of
            RFC 9743 with the runs that answer each; default card.md, HTML or JSON if the output ends so.
        kernel: Folder of the same runs made with `--engine linux`: goodput and RTT there are one more column.
        as_json: Print the page as one JSON document, without markup; with --output, only the file's name.
    """
    expect(results_)
    from sojourn.report import of_controller, of_results, to_json, write

    options = {"--template": template, "--card": card, "--markdown": markdown}
    if len(given := [name for name, value in options.items() if value]) > 1:
        raise UsageError(f"{given[1]}: not with {given[0]}; the output's ending decides between HTML and Markdown")
    if kernel:
        expect(kernel)
        if template or card:
            raise UsageError(f"--kernel: not with {'--template' if template else '--card'}")
        if not any(run.manifest.get("engine") == "linux" for run in ResultSet.open(kernel)):
            raise UsageError(f"--kernel {kernel}: expected results of `sojourn run --engine linux`")
    errors: list[str] = []
    if template:
        from sojourn.report.template import write as write_template

        written(write_template(results_, template, output, reference, errors), as_json=as_json)
    else:
        name = "card.md" if card else "report.md" if markdown else "report.html"
        target = output or Path("report.json" if as_json else name)
        folder = target.parent
        page = of_controller(results_, folder, card) if card else of_results(results_, folder, reference, kernel)
        errors += page.errors
        if as_json and not output:
            print(to_json(page), end="")
        else:
            as_text = markdown or bool(card and target.suffix not in (".html", ".htm"))
            written(write(page, target, as_markdown=as_text), as_json=as_json)
    for line in errors:
        say(line)
    return SOME_FAILED if errors else OK


def fidelity(
    results_: Annotated[Path | None, Parameter(name="RESULTS")] = None,
    /,
    *,
    only: str | None = None,
    seeds: Annotated[int | None, AtLeastOne] = None,
    intervals: bool = False,
    group: str | None = None,
    jobs: Annotated[int | None, AtLeastOne] = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    as_json: Json = False,
) -> int:
    """Print published and measured quantities beside ours, with verdicts.

    Examples: `sojourn fidelity --only X1,E8`, `sojourn fidelity --intervals --group ect1 -o intervals.md`

    Args:
        results_: Results folder; default: run what the rows need.
        only: Ids of rows, separated by commas.
        seeds: Seeds of which the median is judged; default 3, or 15 where those disagree, with --intervals 20.
        intervals: Say instead whether each measured value lies inside the central 90 % of the seeds.
        group: With --intervals: suites, separated by commas.
        jobs: Runs at a time; default one for each core.
        output: With --intervals: file to write; .html, .md or .json says what it becomes.
        as_json: Print one JSON document.
    """
    if results_:
        expect(results_)
    rows = [row.strip() for row in only.split(",") if row.strip()] if only else None
    if intervals:
        return _intervals(results_, rows, group, seeds, jobs, output, as_json=as_json)
    if unused := next((name for name, value in {"--group": group, "--output": output}.items() if value), None):
        raise UsageError(f"{unused}: only with --intervals")
    from sojourn.fidelity import main as judge

    return judge(results_, only=rows, seeds=seeds, jobs=jobs, as_json=as_json)


def _intervals(
    results_: Path | None,
    only: list[str] | None,
    group: str | None,
    seeds: int | None,
    jobs: int | None,
    output: Path | None,
    *,
    as_json: bool,
) -> int:
    from sojourn import fidelity as scoreboard
    from sojourn.fidelity import intervals
    from sojourn.report import write
    from sojourn.report.intervals import page
    from sojourn.report.markdown import render

    wanted = [name.strip() for name in group.split(",")] if group else None
    try:
        rows = intervals.measured(scoreboard.select(only), wanted)
    except KeyError as error:
        raise UsageError(f"{'--only' if ':' not in error.args[0] else '--group'} {error.args[0]}") from None
    if only:
        rows = [row for row in rows if row.id not in intervals.FLOW_ROWS]
    errors: list[str] = []
    if results_:
        runs: Mapping[str, Source] = ResultSet.open(results_, errors).runs
    else:
        runs = scoreboard.simulate(rows, seeds=seeds or intervals.SEEDS, jobs=jobs)
    judged = intervals.of(rows, runs)
    for line in errors:
        say(line)
    if not judged:
        say(f"fidelity --intervals: no measured row has {intervals.LEAST_SEEDS} seeds")
        return FAILED
    # Runs of a folder may be of another version than this one.
    versions = {str(run.manifest["version"]) for run in runs.values() if isinstance(run, Run)}
    made = page(judged, ", ".join(sorted(versions)))
    if output:
        written(write(made, output, as_markdown=output.suffix == ".md"), as_json=as_json)
    elif as_json:
        print_json(intervals.document(judged))
    else:
        print(render(made), end="")
    return SOME_FAILED if errors else OK
