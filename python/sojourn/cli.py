"""The `sojourn` command. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number

from sojourn import _core, results, suites
from sojourn.algorithms import load_algorithms
from sojourn.notify import Notifier
from sojourn.results import Run
from sojourn.run import RESULTS, Engine, Job, Outcome, check_variant, execute, find, new_folder, on_linux, plan, select
from sojourn.scenario import Scenario

OK, FAILED, MISUSE, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
LATEST = Path("results/latest")

app = App(
    name="sojourn",
    help="A deterministic packet-level laboratory for L4S, SCE and SCReAM congestion control.",
    version=_core.version,
    default_parameter=Parameter(negative=(), show_default=lambda value: value or None),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
importers = App(name="import", help="Turn results of other tools into a results folder.")
app.command(importers)
exporters = App(name="export", help="Write runs in the formats of other tools.")
app.command(exporters)
kernels = App(name="kernel", help="Make the Linux kernel of the engine `linux`.")
app.command(kernels)
plots = App(name="plot")
app.command(plots)

OutFolder = Annotated[Path, Parameter(name=["--out", "-o"])]
Json = Annotated[bool, Parameter(name="--json")]
Set = Annotated[list[str] | None, Parameter(name=["--set", "-s"])]
Load = Annotated[list[Path] | None, Parameter(name=["--load", "-l"])]
Picture = Annotated[Path | None, Parameter(name=["--output", "-o"])]
Seconds = tuple[float, float] | None
AtLeastOne = Parameter(validator=Number(gte=1))


class UsageError(Exception):
    """Something the user can put right; the text is one line."""


@app.command
def run(
    *targets: str,
    set_: Set = None,
    load: Load = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    jobs: Annotated[int | None, AtLeastOne] = None,
    seed: int | None = None,
    seeds: Annotated[int, AtLeastOne] = 1,
    fresh: bool = False,
    verify: bool = False,
    engine: Engine = "sim",
    variant: str | None = None,
    dry: bool = False,
    notify: str | None = None,
    as_json: Json = False,
) -> int:
    """Run suites, scenario files, or the runs whose id matches a regular expression.

    Examples: `sojourn run my.toml -s link.bneck.rate=100Mbit`,
    `sojourn run 'ect1/l4s-s2.*codel1q' --dry`,
    `sojourn run ect1/l4s --load my_cc.py -s flow.prague.cc=myaimd`

    Args:
        targets: Suite names, TOML files or regular expressions over run ids.
        set_: Change a value of every scenario, as `link.bneck.rate=100Mbit`; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        out: Folder of the results; runs already in it are skipped. Default: a new one in results/.
        jobs: Runs at a time; default one a core.
        seed: Seed instead of the scenario's.
        seeds: Repeat with so many consecutive seeds; ids after the first end in @seedN.
        fresh: Do runs again that are already there.
        verify: Do every run twice and fail if one byte differs.
        engine: The simulator, or a real Linux kernel in virtual time (`SOJOURN_LINUX` names it).
        variant: Variant of the suite, such as `as-published`, or a name for what --set changes; ids end in ~NAME.
        dry: Resolve and list the runs, and write nothing.
        notify: Command to run at the end, with a sentence about it as its last argument and `SOJOURN_STATUS`
            (done, failed or interrupted), `_FOLDER` and `_ELAPSED` in its environment.
        as_json: Print one JSON document.
    """
    if not targets:
        raise UsageError(f"expected suites ({', '.join(suites.NAMES)}), ids or TOML files to run")
    if out and out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: expected a folder, found a file")
    if verify and engine == "linux":
        raise UsageError("--verify: the kernel draws its own random numbers, so that no two runs are the same")
    notifier = Notifier(notify) if notify else None
    load_algorithms(load or ())
    todo = plan(targets, _overrides(set_), seed=seed, seeds=seeds, variant=variant)
    kernel = on_linux(todo) if engine == "linux" else None
    for warning in dict.fromkeys(w for job in todo for w in job.scenario.warnings):
        _say(f"warning: {warning}")
    if dry:
        if as_json:
            _print_json([{"id": job.id, "duration_s": job.duration_s} for job in todo])
        else:
            print("\n".join(job.id for job in todo))
        return OK
    folder = out or new_folder(_slug(targets[0]))
    try:
        outcomes = execute(todo, folder, jobs=jobs, fresh=fresh, verify=verify, kernel=kernel)
    except KeyboardInterrupt:
        _tell(notifier, folder, "interrupted", {})
        raise
    counts = {s: sum(o.status == s for o in outcomes) for s in ("done", "cached", "failed")}
    _tell(notifier, folder, "failed" if counts["failed"] else "done", counts)
    if as_json:
        rows = [_outcome_row(outcome) for outcome in outcomes]
        _print_json({"schema": "sojourn/run/1", "path": str(folder), "runs": rows})
    else:
        if len(outcomes) == 1 and outcomes[0].run:
            _print_summary(outcomes[0].run)
        print(f"{folder}: " + ", ".join(f"{n} {s}" for s, n in counts.items() if n))
    return OK if not counts["failed"] else FAILED if len(outcomes) == 1 else SOME_FAILED


@app.command(name="list")
def list_(
    pattern: str | None = None,
    /,
    *,
    variants: Annotated[bool, Parameter(name="--variants")] = False,
    as_json: Json = False,
) -> int:
    """List the runs of all suites, of one, or those whose id matches a regular expression.

    Examples: `sojourn list ect1`, `sojourn list --variants`

    Args:
        pattern: Suite name or regular expression.
        variants: List the variants of the suites instead.
        as_json: Print a JSON array.
    """
    if variants:
        return _variants(pattern, as_json=as_json)
    cases = select(pattern) if pattern else list(suites.every())
    if as_json:
        keys = ("id", "description", "question", "duration_s", "reference")
        _print_json([{key: getattr(case, key) for key in keys} for case in cases])
    else:
        width = max(len(case.id) for case in cases)
        for case in cases:
            print(f"{case.id:{width}}  {case.duration_s:4.0f} s  {case.description}")
    return OK


def _variants(suite: str | None, *, as_json: bool) -> int:
    if suite is not None and suite not in suites.NAMES:
        raise UsageError(f"--variants {suite}: expected one of {', '.join(suites.NAMES)}")
    names = [suite] if suite else suites.NAMES
    rows = [
        {"suite": name, "variant": variant, "description": about}
        for name in names
        for variant, about in suites.variants(name).items()
    ]
    if as_json:
        _print_json(rows)
    else:
        for row in rows:
            print(f"{row['suite']:10}  {row['variant']:12}  {row['description']}")
    return OK


@app.command
def show(
    target: str,
    /,
    *,
    set_: Set = None,
    variant: str | None = None,
    load: Load = None,
    log: Literal["setup", "teardown"] | None = None,
    as_json: Json = False,
) -> int:
    """Print a scenario with every default written out; for a finished run also its summary.

    Examples: `sojourn show ect1/l4s-s1-oneflow/prague/dualpi2/50Mbit/20ms`,
    `sojourn show results/latest --log teardown`

    Args:
        target: Run id, scenario file or folder of a finished run.
        set_: Change a value of the scenario; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        variant: Variant of the run's suite, such as `as-published`.
        log: Of a finished run or of all in a results folder: the commands that set it up, or the statistics
            of its queues and flows at the end.
        as_json: Print one JSON document.
    """
    load_algorithms(load or ())
    if log:
        return _show_logs(Path(target), log, as_json=as_json)
    if (Path(target) / results.MANIFEST).is_file():
        finished = Run(Path(target))
        text = finished.scenario if (finished.path / "scenario.toml").exists() else ""
        document = {"manifest": finished.manifest, "scenario": text, "summary": finished.summary}
    else:
        if Path(target).is_dir():
            raise UsageError(f"{target}: expected the folder of one run, with a {results.MANIFEST}")
        finished = None
        resolved = _one(target, variant).resolve(_overrides(set_))
        for warning in resolved.warnings:
            _say(f"warning: {warning}")
        text = resolved.text
        document = {"scenario": text}
    if as_json:
        _print_json({"schema": "sojourn/show/1", **document})
        return OK
    print(text, end="")
    if finished:
        print()
        _print_summary(finished)
    return OK


def _show_logs(folder: Path, which: Literal["setup", "teardown"], *, as_json: bool) -> int:
    from sojourn.logs import log

    runs = list(results.ResultSet.open(folder)) if folder.is_dir() else []
    if not runs:
        raise UsageError(f"--log {which}: {folder}: expected the folder of a finished run or of results")
    if as_json:
        logs = [{"id": run.id, "log": log(run, which)} for run in runs]
        _print_json({"schema": "sojourn/log/1", "which": which, "logs": logs})
    else:
        print("\n".join(log(run, which) for run in runs), end="")
    return OK


@app.command
def qdisc(name: str | None = None, /, *, load: Load = None, as_json: Json = False) -> int:
    """List the queue disciplines, or print the words that one of them takes.

    Example: `sojourn qdisc dualpi2`

    Args:
        name: Queue discipline, by tc's name.
        load: Python file with controllers or queues of your own; repeatable.
        as_json: Print a JSON array.
    """
    load_algorithms(load or ())
    return _algorithms(name, _core.qdiscs(), _core.qdisc_usage, as_json=as_json)


@app.command
def cc(name: str | None = None, /, *, load: Load = None, as_json: Json = False) -> int:
    """List the congestion controllers, or print the words that one of them takes.

    Example: `sojourn cc prague`

    Args:
        name: Controller, by Linux's name.
        load: Python file with controllers or queues of your own; repeatable.
        as_json: Print a JSON array.
    """
    load_algorithms(load or ())
    return _algorithms(name, _core.controllers(), _core.cc_usage, as_json=as_json)


@app.command(name="app")
def app_(name: str | None = None, /, *, as_json: Json = False) -> int:
    """List the applications that a flow can carry, or print the words that one of them takes.

    Example: `sojourn app short`

    Args:
        name: Application.
        as_json: Print a JSON array.
    """
    return _algorithms(name, _core.apps(), _core.app_usage, as_json=as_json)


@app.command
def tc(
    target: str,
    /,
    *,
    set_: Set = None,
    load: Load = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    as_json: Json = False,
) -> int:
    """Print the `ip` and `tc` commands that build a scenario on a Linux machine, as a shell script.

    What a stock kernel cannot do of it is commented in the script and summed up on stderr.

    Example: `sojourn tc scenarios/capacity-step.toml -o build.sh`

    Args:
        target: Run id or scenario file.
        set_: Change a value of the scenario; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        output: Script to write; default: print it.
        as_json: Print one JSON document.
    """
    from sojourn.tc import build

    load_algorithms(load or ())
    script = build(_one(target).resolve(_overrides(set_)))
    if output:
        output.write_text(script.text(), encoding="utf-8")
        output.chmod(0o755)
    if as_json:
        document = {"script": str(output) if output else script.text()}
        _print_json({"schema": "sojourn/tc/1", **document, "commands": script.commands, "limits": script.limits})
    elif output:
        print(output)
    else:
        print(script.text(), end="")
    for limit in script.limits:
        _say(f"stock kernel: {limit}")
    return OK


@app.command
def schema() -> int:
    """Print the JSON Schema of the scenario file, for editors."""
    print(_core.schema().rstrip("\n"))
    return OK


@plots.default
def plot(
    run: str,
    /,
    *,
    plot: Annotated[str, Parameter(name=["--plot", "-p"])] = "tcp_delivery_with_rtt",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    title: str = "",
    scale: Literal["auto", "fixed", "var"] = "auto",
    as_json: Json = False,
) -> int:
    """Draw a run, simulated or a Flent file, and print the name of the picture.

    Examples: `sojourn plot results/latest/my-run -p tcp_delivery_with_rtt -o my-run.svg`,
    `sojourn plot results/latest/my-run -p upload_with_ping_and_tcp_rtt --scale fixed`

    Args:
        run: Folder of a run, or a Flent file.
        plot: Name of the plot: tcp_delivery_with_rtt, totals, ping_cdf, tcp_rtt_cdf, tcp_cwnd or
            upload_with_ping_and_tcp_rtt.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        scale: RTT axis of upload_with_ping_and_tcp_rtt: fixed, 100 ms above the path's RTT, or var, three
            times what the queue reached.
        as_json: Print one JSON document.
    """
    from sojourn.plot import plot as draw

    return _written(draw(run, plot=plot, output=output, title=title, scale=scale), as_json=as_json)


@plots.command(name="thp-delay")
def plot_thp_delay(
    log: Path,
    /,
    *logs: Path,
    output: Picture = None,
    title: str = "",
    time: Seconds = None,
    stream: int | None = None,
    max_rate: float | None = None,
    max_delay: float | None = None,
    max_window: float | None = None,
    smooth: bool = False,
    as_json: Json = False,
) -> int:
    """Draw rates, window, marks and delays of per-ACK logs of the SCReAM BW test tool, side by side.

    Reads logs of any generation of the original and of ours. Prints shares of CE and loss, and means.

    Example: `sojourn plot thp-delay test.txt --time 0 100 --max-rate 55 --max-delay 0.2 -o test.png`

    Args:
        log: File that the tool's -log wrote; may be compressed with gzip.
        logs: Further logs.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        time: Seconds since the first line, from and to.
        stream: Stream id; default the first.
        max_rate: End of the rate axis, Mbit/s.
        max_delay: End of the delay axis, s.
        max_window: End of the window axis, kB.
        smooth: RTP and acknowledged rates filtered, and the RTP queue instead of the RTT.
        as_json: Print one JSON document.
    """
    from sojourn.plot import scream

    limits = scream.Limits(time, stream, max_rate, max_delay, max_window)
    drawn = scream.plot_thp_delay([log, *logs], output=output, title=title, limits=limits, smooth=smooth)
    return _drawn(drawn.path, [of.document() for of in drawn.logs], drawn.logs, as_json=as_json)


@plots.command(name="cdf")
def plot_cdf(
    log: Path,
    /,
    *logs: Path,
    output: Picture = None,
    title: str = "",
    time: Seconds = None,
    stream: int | None = None,
    max_delay: float | None = None,
    as_json: Json = False,
) -> int:
    """Draw the distributions of queue delay and RTT in per-ACK logs of the SCReAM BW test tool.

    Example: `sojourn plot cdf before.txt after.txt --time 5 60 --max-delay 0.1`

    Args:
        log: File that the tool's -log wrote; may be compressed with gzip.
        logs: Further logs.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        time: Seconds since the first line, from and to.
        stream: Stream id; default all lines.
        max_delay: End of the delay axis, s.
        as_json: Print one JSON document.
    """
    from sojourn.plot import scream

    limits = scream.Limits(time, stream, delay_s=max_delay)
    drawn = scream.plot_cdf([log, *logs], output=output, title=title, limits=limits)
    return _drawn(drawn.path, [of.document() for of in drawn.logs], drawn.logs, as_json=as_json)


@plots.command(name="txrx")
def plot_txrx(
    log: Path,
    /,
    *logs: Path,
    output: Picture = None,
    title: str = "",
    time: Seconds = None,
    max_delay: float | None = None,
    as_json: Json = False,
) -> int:
    """Draw the one-way delay of each packet in tx/rx logs of the SCReAM BW test tool, and the losses.

    Example: `sojourn plot txrx txrx.txt -o jitter.svg`

    Args:
        log: File that the tool's -txrxlog wrote; may be compressed with gzip.
        logs: Further logs.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        title: Title above the plot.
        time: Seconds since the first line, from and to.
        max_delay: End of the delay axis, s.
        as_json: Print one JSON document.
    """
    from sojourn.plot import scream

    limits = scream.Limits(time, delay_s=max_delay)
    drawn = scream.plot_txrx([log, *logs], output=output, title=title, limits=limits)
    return _drawn(drawn.path, [of.document() for of in drawn.logs], drawn.logs, as_json=as_json)


@app.command
def compare(
    a: str | None = None,
    b: Path | None = None,
    /,
    *,
    engines: str | None = None,
    set_: Set = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    report: Path | None = None,
    only: str | None = None,
    as_json: Json = False,
) -> int:
    """Lay results over measured data or over other results, run by run; or one engine over the other.

    Examples: `sojourn compare results/latest --report report.html`,
    `sojourn compare --engines sim,linux my.toml`

    Args:
        a: Results folder; with --engines a suite, TOML file or regular expression to run on both.
        b: Results folder or folder of Flent files; default the measured data.
        engines: Run A on both engines, as `sim,linux`, and compare over the scenario's window.
        set_: With --engines: change a value of every scenario; repeatable.
        out: With --engines: folder of the results, one below it for each engine; default a new one.
        report: HTML report to write.
        only: Regular expression over run ids.
        as_json: Print one JSON document.
    """
    from sojourn.compare import Comparison, names_of
    from sojourn.compare import compare as compare_sets

    first: Path
    second: Path | None
    if engines:
        first, second, other = _both(engines, a, b, _overrides(set_), out)
    elif set_ or out:
        raise UsageError(f"{'--set' if set_ else '--out'}: only with --engines")
    else:
        first, second = Path(a) if a else LATEST, b
        other = b.resolve().name if b else "the testbed"
        _expect(first)

    def page(file: Path, comparison: Comparison) -> None:
        from sojourn.report import write_comparison

        write_comparison(comparison, file, title=f"Sojourn: {first.resolve().name} beside {other}")
        sys.stderr.write(f"report: {file}\n")

    draw = partial(page, report) if report else None
    sides = names_of(first, second) if second else None
    return compare_sets(first, second, as_json=as_json, only=only, page=draw, sides=sides)


def _both(
    engines: str, target: str | None, b: Path | None, settings: dict[str, str], out: Path | None
) -> tuple[Path, Path, str]:
    """Runs a target on both engines; the folders of the results, and the second's name."""
    names = engines.split(",")
    if sorted(names) != ["linux", "sim"]:
        raise UsageError(f"--engines {engines}: expected sim,linux or linux,sim")
    if target is None or b is not None:
        raise UsageError("--engines: expected one suite, TOML file or regular expression to run")
    todo: list[Job] = plan([target], settings)
    kernel = on_linux(todo)
    folder = out or new_folder(_slug(target))
    for name in names:
        outcomes = execute(todo, folder / name, kernel=kernel if name == "linux" else None)
        if failed := [outcome for outcome in outcomes if outcome.status == "failed"]:
            raise UsageError(f"{failed[0].id} failed on {name}: {failed[0].error}")
    return folder / names[0], folder / names[1], names[1]


@kernels.command(name="build")
def kernel_build(
    source: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("linux-vt"),
    jobs: Annotated[int | None, AtLeastOne] = None,
    as_json: Json = False,
) -> int:
    """Build a Linux kernel in virtual time from a source archive; set `SOJOURN_LINUX` to its folder.

    Example: `sojourn kernel build linux-7.2.tar.xz -o ~/linux-vt`

    Args:
        source: Archive of kernel sources.
        output: Folder for the kernel and its `run`.
        jobs: Compilations at a time; default one a core.
        as_json: Print one JSON document.
    """
    from sojourn.linux import build

    return _written(build(source, output, jobs=jobs, say=_say), as_json=as_json)


@app.command
def report(
    results_: Annotated[Path, Parameter(name="RESULTS")] = LATEST,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    reference: Path | None = None,
    markdown: bool = False,
    as_json: Json = False,
) -> int:
    """Write results as one self-contained HTML file, over measured data where there are any.

    Examples: `sojourn report results/latest -o report.html`, `sojourn report --markdown -o README.md`

    Args:
        results_: Results folder.
        output: File to write; default report.html, or report.md.
        reference: Folder of Flent files; default the measured data.
        markdown: Write Markdown tables instead.
        as_json: Print one JSON document.
    """
    _expect(results_)
    from sojourn.report import write

    target = output or Path("report.md" if markdown else "report.html")
    return _written(write(results_, target, reference, as_markdown=markdown), as_json=as_json)


@app.command
def fidelity(
    results_: Annotated[Path | None, Parameter(name="RESULTS")] = None,
    /,
    *,
    only: str | None = None,
    seeds: Annotated[int, AtLeastOne] = 3,
    as_json: Json = False,
) -> int:
    """Print published and measured quantities beside ours, with verdicts.

    Example: `sojourn fidelity --only X1,E8`

    Args:
        results_: Results folder; default: run what the rows need.
        only: Ids of rows, separated by commas.
        seeds: Seeds of which the median is judged.
        as_json: Print one JSON document.
    """
    if results_:
        _expect(results_)
    from sojourn.fidelity import main as judge

    rows = [row.strip() for row in only.split(",") if row.strip()] if only else None
    return judge(results_, only=rows, seeds=seeds, as_json=as_json)


@importers.command
def flent(file: Path, /, *, out: OutFolder = Path("results/flent"), as_json: Json = False) -> int:
    """Import a Flent result file as a run.

    Example: `sojourn import flent tcp_2up.flent.gz --out results/testbed`

    Args:
        file: File that Flent wrote.
        out: Results folder.
        as_json: Print one JSON document.
    """
    from sojourn.interop.flent import import_file

    return _written(import_file(file, out), as_json=as_json)


@exporters.command(name="flent")
def export_flent(
    run: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    as_json: Json = False,
) -> int:
    """Write a run, or every run of a results folder, as a Flent file that `flent` and `flent-gui` open.

    Example: `sojourn export flent results/latest -o flent/`

    Args:
        run: Folder of a run or of results.
        output: File for one run, or folder; default: beside the run's series.
        as_json: Print one JSON document.
    """
    from sojourn.interop.flent_export import export

    written = [str(path) for path in export(run, output)]
    if as_json:
        _print_json({"schema": "sojourn/export/1", "paths": written})
    else:
        print("\n".join(written))
    return OK


@app.command
def clean(
    folder: Path = RESULTS,
    /,
    *,
    everything: Annotated[bool, Parameter(name="--all")] = False,
    dry: bool = False,
    as_json: Json = False,
) -> int:
    """Remove unfinished runs below a results folder, or with --all every run in it.

    Example: `sojourn clean --all --dry`

    Args:
        folder: Results folder.
        everything: Remove complete runs as well.
        dry: Only list what would go.
        as_json: Print one JSON document.
    """
    if folder != RESULTS and not folder.is_dir():
        raise UsageError(f"{folder}: no such results folder")
    gone = [str(path) for path in results.clean(folder, everything=everything, dry=dry)]
    if as_json:
        _print_json({"schema": "sojourn/clean/1", "removed": gone, "dry": dry})
    else:
        print("\n".join([*gone, f"{len(gone)} {'would be ' if dry else ''}removed"]))
    return OK


def call(arguments: Sequence[str] | None = None) -> int:
    """The whole command as a function: arguments to exit code."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except SystemExit:
        return OK  # rich's way to say that the reader has seen enough; nothing here exits by itself
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CycloptsError, UsageError, ValueError, OSError) as error:
        if not _is_the_users(error):
            raise
        _say(" ".join(str(error).split()))
        return MISUSE


def main() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = call()
    if code == INTERRUPTED and threading.active_count() > 1:
        os._exit(code)  # a second interrupt: leave the runs that are still stopping
    sys.exit(code)


def _is_the_users(error: Exception) -> bool:
    """Our typed readers' errors derive from ValueError; a bare one is a defect and keeps its trace."""
    ours = type(error).__module__.startswith("sojourn.")
    return ours or isinstance(error, CycloptsError | OSError | _core.ScenarioError)


def _tell(notifier: Notifier | None, folder: Path, status: str, counts: dict[str, int]) -> None:
    if notifier and (error := notifier.tell(folder, status, counts)):
        _say(f"warning: --notify: {error}")


def _one(target: str, variant: str | None = None) -> Scenario:
    if variant is not None:
        check_variant(variant)
    scenarios = find(target, variant)
    if len(scenarios) > 1:
        raise UsageError(f"{target!r} matches {len(scenarios)} runs; `sojourn list {target}` has them")
    return scenarios[0]


def _expect(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"{path}: no such results; `sojourn run ect1` makes some")


def _overrides(settings: list[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not (equals and key.strip()):
            raise UsageError(f"--set {setting}: expected KEY=VALUE, such as link.bneck.rate=100Mbit")
        pairs[key.strip()] = value.strip()
    return pairs


def _slug(target: str) -> str:
    stem = Path(target).stem if target.endswith(".toml") else target
    kept = "".join(c if c.isalnum() or c in "_-" else "-" for c in stem)
    return "-".join(part for part in kept.split("-") if part)[:40] or "run"


def _algorithms(name: str | None, table: str, usage: Any, *, as_json: bool) -> int:
    if name and not as_json:
        print(usage(name).rstrip("\n"))
        return OK
    rows = json.loads(table)
    if name:
        usage(name)  # refuses unknown names with the nearest one
        rows = [row for row in rows if row["name"] == name]
    if as_json:
        _print_json(rows)
    else:
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            print(f"{row['name']:{width}}  {row['summary']} ({row['reference']})")
    return OK


def _outcome_row(outcome: Outcome) -> dict[str, Any]:
    return {
        "id": outcome.id,
        "status": outcome.status,
        "wall_s": round(outcome.wall_s, 3),
        "path": str(outcome.run.path) if outcome.run else None,
        "error": outcome.error,
        "summary": outcome.run.summary if outcome.run else None,
    }


def _print_summary(finished: Run) -> None:
    rows = results.flatten(finished.summary)
    width = max((len(name) for name in rows), default=0)
    for name, value in rows.items():
        print(f"{name:{width}}  {f'{value:.4g}' if isinstance(value, float) else value}")


def _written(path: Path, *, as_json: bool) -> int:
    if as_json:
        _print_json({"schema": "sojourn/written/1", "path": str(path)})
    else:
        print(path)
    return OK


def _drawn(path: Path, documents: list[dict[str, Any]], logs: Sequence[object], *, as_json: bool) -> int:
    """Numbers of each log, and the picture."""
    if as_json:
        _print_json({"schema": "sojourn/scream-plot/1", "path": str(path), "logs": documents})
    else:
        print("\n".join([*map(str, logs), str(path)]))
    return OK


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


def _say(line: str) -> None:
    print(f"sojourn: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
