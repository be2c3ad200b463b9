"""Verbs for runs: do them, list them, look at one, remove them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from cyclopts import Parameter

from sojourn import engines, executors, results, suites
from sojourn.algorithms import load_algorithms
from sojourn.cli import screen
from sojourn.cli.common import (
    FAILED,
    INTERRUPTED,
    LATEST,
    OK,
    SOME_FAILED,
    AtLeastOne,
    Json,
    Load,
    Out,
    Set,
    UsageError,
    agreed,
    one,
    overrides,
    print_json,
    say,
    slug,
)
from sojourn.cli.points import show_points
from sojourn.execution import RESULTS, execute
from sojourn.jobs import Job, Outcome
from sojourn.notify import Notifier
from sojourn.planning import able, is_file, new_folder, plan, seconds, select
from sojourn.planning import nearest as nearest_of
from sojourn.precision import goals_of
from sojourn.results import Run
from sojourn.scenario import Resolved, Scenario, to_toml
from sojourn.seeds import Point
from sojourn.seeds import until as seeds_until
from sojourn.text import harmless, harmless_lines

#: Classes of differences of the nearest scenarios, and of reasons for leaving runs out, that are printed.
CLASSES = 20


def run(
    *targets: str,
    set_: Set = None,
    load: Load = None,
    out: Out = None,
    jobs: Annotated[int | None, AtLeastOne] = None,
    executor: str | None = None,
    seed: int | None = None,
    seeds: Annotated[int, AtLeastOne] = 1,
    until: list[str] | None = None,
    fresh: bool = False,
    verify: bool = False,
    store: results.Form | None = None,
    engine: engines.Name = "sim",
    qdisc: Literal["sojourn", "kernel"] | None = None,
    max_lateness: str = "1ms",
    nearest: bool = False,
    named: bool = False,
    super_packets: bool = False,
    keep_awake: bool = False,
    allow_exec: bool = False,
    variant: str | None = None,
    dry: bool = False,
    notify: str | None = None,
    yes: bool = False,
    full: bool = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative=())] = False,
    as_json: Json = False,
) -> int:
    """Run suites, scenario files with all runs of their sweeps, or the runs whose id matches a regular expression.

    Examples: `sojourn run my.toml -s link.bneck.rate=100Mbit`,
    `sojourn run 'ect1/l4s-s2.*codel1q' --dry`,
    `sojourn run ect1/l4s --load my_cc.py -s flow.prague.cc=myaimd`

    Args:
        targets: Suite names, TOML files, or regular expressions over run ids that begin with a suite or ^.
        set_: Change a value of every scenario, as `link.bneck.rate=100Mbit`; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        out: Folder of the results; runs already in it are skipped. Default: a new one in results/.
        jobs: Runs at a time; default one a core, or what the executor has.
        executor: Where to run instead of in threads of this process: processes[:N] of this machine,
            dask:ADDRESS of a scheduler, or slurm[:OPTION=VALUE,...] (docs/guide/cluster.md).
        seed: Seed instead of the scenario's.
        seeds: Repeat with this number of consecutive seeds; ids after the first end in @seedN.
        until: Of these seeds run only as many of each point, at least 5, as make half of the 95 % interval of a mean
            this narrow: `goodput 2%`, `rtt_p99 1ms`; repeatable. The quantities are goodput, utilisation, rtt_p50,
            rtt_p99, sojourn_p50, sojourn_p99, drops, marks, retransmits.
        fresh: Do runs again that are already there.
        verify: Do every run twice and fail if one byte differs.
        store: Keep runs as a folder each, or all as one dataset; default a dataset if they are more than 200.
        engine: The simulator; hosts of a real Linux kernel in virtual time (`SOJOURN_LINUX` names it), with its own
            queues (linux) or ours (linux:sojourn); or hosts of this machine's, with ours (live) or its own
            (live:kernel).
        qdisc: Whose queues carry the packets of the engines linux and live: sojourn or kernel.
        max_lateness: Label live results whose packets left later than this in more than 1 of 100 cases.
        nearest: Run the nearest scenario that the kernel can do, and print what differs from what was asked for.
        named: Show the hosts of the engine live in `ip netns`, as `sojourn-PID-HOST`, while a run lasts; needs root.
        super_packets: Let the hosts of live and linux:sojourn send up to 64 kB as one packet (TSO), which our queues
            count as one with the length of all: faster, and coarser.
        keep_awake: Let idle CPUs poll instead of halting while the engine live runs: packets pass sooner, and all CPU
            time is used.
        allow_exec: Let scenarios run the programs that they name (`exec`) on this machine, with your rights; with --dry
            none runs, and -v prints their commands.
        variant: Variant of the suite, such as `as-published`, or a name for what --set changes; ids end in ~NAME.
        dry: Resolve and list the runs, and write nothing.
        notify: Command to run at the end, with a sentence about it as its last argument and `SOJOURN_STATUS`
            (done, failed or interrupted), `_FOLDER` and `_ELAPSED` in its environment.
        yes: Do not ask before more than 50 runs or 10 minutes; nor is asked without a terminal.
        full: Print every number, not a table that fits the screen.
        quiet: Print nothing but errors.
        verbose: Print the commands with which the engines linux and live build the hosts.
        as_json: Print one JSON document.
    """
    if not targets:
        raise UsageError(f"expected suites ({', '.join(suites.NAMES)}), ids or TOML files to run")
    if "dry" in targets:
        others = " ".join(target for target in targets if target != "dry")
        raise UsageError(f"dry: an option here: `sojourn run {others or 'ect1'} --dry`")
    notifier = Notifier(notify) if notify else None
    load_algorithms(load or ())
    goals = goals_of(until or (), seeds)
    todo = plan(targets, overrides(set_), seed=seed, seeds=seeds, variant=variant)
    refused: list[str] = []
    # With --dry no program runs; its user may still be about to decide.
    options = engines.Options(
        is_visible=named, super_packets=super_packets, keep_awake=keep_awake, allow_exec=allow_exec or dry
    )
    chosen = _engine(engine, qdisc, max_lateness, options)
    if named and jobs is not None and jobs > 1:
        raise UsageError(f"--named: expected one run at a time, not --jobs {jobs}: their hosts have the same names")
    if nearest:
        todo, refused = nearest_of(chosen, todo)
    else:
        able(chosen, todo)
    if verify and not chosen.repeats:
        raise UsageError("--verify: the kernel draws its own random numbers, so that no two runs are the same")
    if not quiet:
        _warn(job.scenario for job in todo)
        _say_differences(todo)
        _say_refused(refused)
    if verbose:
        for job in todo:
            say(f"{job.id}:")
            for command in chosen.commands(job.scenario):
                say(command, whole=True)
    if dry:
        if as_json:
            print_json([_planned(job) for job in todo])
        else:
            print("\n".join(_told(job) for job in todo))
        return OK
    folder = out or new_folder(slug(targets[0]))
    with executors.opened(executor) as where:
        if where and not quiet:
            say(executors.about(where))
        if not (quiet or agreed(todo, engine=chosen, jobs=jobs, yes=yes, executor=where)):
            return INTERRUPTED
        if not quiet:
            for names in dict.fromkeys(" ".join(chosen.names(job.scenario)) for job in todo):
                if names:
                    say(f"hosts while a run lasts, for `ip netns exec`: {names}")
            if named:
                _say_left_names()
        do = partial(
            execute,
            out=folder,
            jobs=jobs,
            fresh=fresh,
            verify=verify,
            quiet=quiet,
            engine=chosen,
            form=store,
            executor=where,
        )
        points: list[Point[Job, Outcome]] = []
        try:
            if goals:
                points = seeds_until(todo, goals, do)
            outcomes = [outcome for point in points for outcome in point.outcomes] if goals else do(todo)
        except KeyboardInterrupt:
            _tell(notifier, folder, "interrupted", {})
            raise
    counts = {s: sum(o.status == s for o in outcomes) for s in ("done", "cached", "failed")}
    _tell(notifier, folder, "failed" if counts["failed"] else "done", counts)
    if as_json:
        rows = [_outcome_row(outcome) for outcome in outcomes]
        reached = {"points": [point.document() for point in points]} if goals else {}
        print_json({"schema": "sojourn/run/1", "path": str(folder), **reached, "runs": rows})
    elif not quiet:
        there = [outcome.run for outcome in outcomes if outcome.run]
        if goals:
            show_points(points, goals, full=full)
        else:
            _print_runs(there, full=full)
        asked = {job.id for job in todo if results.capture_names(job.scenario.text)}
        made = (one.run.again() for one in outcomes if one.run and one.id in asked)
        for capture in (capture for run in made for capture in run.captures):
            if capture.exists():
                print(f"capture: {harmless(str(capture))}")
        if there:
            screen.show_next(folder, there)
        print(f"{folder}: " + ", ".join(f"{n} {s}" for s, n in counts.items() if n))
    return OK if not counts["failed"] else FAILED if len(outcomes) == 1 else SOME_FAILED


def _planned(job: Job) -> dict[str, Any]:
    swept = {"sweep": dict(job.scenario.swept)} if job.scenario.swept else {}
    return {"id": job.id, "duration_s": job.duration_s, **swept}


def _told(job: Job) -> str:
    """The id, and what it does not tell: the values of a sample's point."""
    return "  ".join([job.id, *(f"{key}={shlex.quote(job.scenario.swept[key])}" for key in job.scenario.sampled)])


def _engine(
    name: engines.Name, qdisc: Literal["sojourn", "kernel"] | None, max_lateness: str, options: engines.Options
) -> engines.Engine:
    """The engine with these queues and this bound; raises `EngineError` if it is not there."""
    place, _, queues = name.partition(":")
    if qdisc:
        own = "kernel" if place == "linux" else "sojourn"
        if place == "sim" or queues not in ("", qdisc):
            raise UsageError(f"--qdisc {qdisc}: expected --engine linux or live, not {name}")
        name = cast("engines.Name", place if qdisc == own else f"{place}:{qdisc}")
    bound_s = seconds(max_lateness)
    if bound_s is None or bound_s < 1e-6:
        raise UsageError(f"--max-lateness {max_lateness}: expected a time of 1us or more, such as 500us")
    return engines.named(name, replace(options, bound_s=bound_s))


def _say_left_names() -> None:
    """Those of earlier runs, which `sojourn clean --live` alone removes."""
    from sojourn.engines import names

    if left := names.left():
        say(f"names of killed runs: `sojourn clean --live` removes {' '.join(left)}")


def _tell(notifier: Notifier | None, folder: Path, status: str, counts: dict[str, int]) -> None:
    if notifier and (error := notifier.tell(folder, status, counts)):
        say(f"warning: --notify: {error}")


def _outcome_row(outcome: Outcome) -> dict[str, Any]:
    return {
        "id": outcome.id,
        "status": outcome.status,
        "wall_s": round(outcome.wall_s, 3),
        "path": str(outcome.run.path) if outcome.run else None,
        "captures": [str(capture) for capture in outcome.run.captures] if outcome.run else [],
        "error": outcome.error,
        "summary": outcome.run.summary if outcome.run else None,
    }


def list_(
    pattern: str | None = None,
    /,
    *,
    variants: Annotated[bool, Parameter(name="--variants")] = False,
    as_json: Json = False,
) -> int:
    """List the runs of all suites, of one, of a scenario file, or those whose id matches a regular expression.

    Examples: `sojourn list ect1`, `sojourn list my.toml`, `sojourn list --variants`

    Args:
        pattern: Suite name, TOML file or regular expression.
        variants: List the variants of the suites instead.
        as_json: Print a JSON array.
    """
    if variants:
        return _variants(pattern, as_json=as_json)
    cases = list(_of_file(pattern) if is_file(pattern) else select(pattern)) if pattern else list(suites.every())
    if as_json:
        keys = ("id", "description", "question", "duration_s", "reference")
        print_json([{key: getattr(case, key) for key in keys} for case in cases])
    else:
        width = max(len(case.id) for case in cases)
        for case in cases:
            print(f"{case.id:{width}}  {case.duration_s:4.0f} s  {harmless(case.description)}")
    return OK


def _of_file(file: str) -> Iterator[suites.Case]:
    for job in plan([file]):
        about = str(job.scenario.document().get("description", ""))
        yield suites.Case(job.id, about, "", job.duration_s, job.scenario.text, None)


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
        print_json(rows)
    else:
        for row in rows:
            print(f"{row['suite']:10}  {row['variant']:12}  {row['description']}")
    return OK


def show(
    target: str = "latest",
    /,
    *,
    set_: Set = None,
    variant: str | None = None,
    load: Load = None,
    log: Literal["setup", "teardown"] | None = None,
    full: bool = False,
    as_json: Json = False,
) -> int:
    """Print a scenario with every default written out; of a finished run its table, of several a line each.

    Without a target: the newest results, which are those in ./results of the run that finished last.

    Examples: `sojourn show`, `sojourn show --log teardown`, `sojourn show latest --full`,
    `sojourn show ect1/l4s-s1-oneflow/prague/dualpi2/50Mbit/20ms`, `sojourn show results/demo --log setup`

    Args:
        target: Run id, scenario file, folder of a finished run or of several; or latest, the newest results.
        set_: Change a value of the scenario; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        variant: Variant of the run's suite, such as `as-published`.
        log: Of a finished run or of all in a results folder: the commands that set it up, or the statistics
            of its queues and flows at the end.
        full: Print every number, and of one run the scenario, not a table that fits the screen.
        as_json: Print one JSON document.
    """
    load_algorithms(load or ())
    folder = _newest() if target == LATEST.name and not Path(target).is_dir() else Path(target)
    if log:
        return _show_logs(folder, log, as_json=as_json)
    if results.exists(folder):
        return _show_runs(folder, full=full, as_json=as_json)
    text, document = _shown(one(target, variant), overrides(set_))
    if as_json:
        print_json({"schema": "sojourn/show/1", **document})
    else:
        print(harmless_lines(text), end="")
    return OK


def _warn(runs: Iterable[Resolved]) -> None:
    """Each warning once; of the same one about many files the first, and how many there are."""
    files: dict[str, list[str]] = {}
    for warning in dict.fromkeys(warning for run in runs for warning in run.warnings):
        files.setdefault(warning.partition(": ")[2], []).append(warning)
    for found in files.values():
        more = f" (and in {len(found) - 1} more)" if len(found) > 1 else ""
        say(f"warning: {found[0]}{more}")


def _say_differences(todo: Sequence[Job]) -> None:
    """Each class of differences once, the most frequent first, as many as fit a screen."""
    rows = Counter(
        (row.key.rpartition(".")[2], row.wanted, row.used, row.why)
        for job in todo
        for row in dict.fromkeys(replace(row, key=row.key.rpartition(".")[2]) for row in job.differences)
    )
    for (key, wanted, used, why), count in rows.most_common(CLASSES):
        say(f"nearest: {key}: {used} for {wanted}: {why} ({count} run{'s' if count > 1 else ''})")
    if len(rows) > CLASSES:
        say(f"nearest: {len(rows) - CLASSES} more differences; each run's are in its manifest")


def _say_refused(refused: Sequence[str]) -> None:
    """Each reason why runs are left out once, the most frequent first."""
    rows = Counter(reason.partition(": ")[2] for reason in refused)
    for reason, count in rows.most_common(CLASSES):
        say(f"left out: {count} run{'s' if count > 1 else ''}: {reason}")


def _newest() -> Path:
    if (folder := results.newest(RESULTS)) is None:
        raise UsageError(f"{RESULTS}: no finished run in it; `sojourn run` makes one, or name another folder")
    return folder


def _shown(scenario: Scenario, settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """A scenario as a file that makes the same runs, and as a document."""
    runs = scenario.expand(settings)
    _warn(runs)
    if len(runs) == 1:
        return runs[0].text, {"scenario": runs[0].text}
    jobs = plan([scenario], settings)
    axes = {"sweep": scenario.sweep(settings), "sample": scenario.sample(settings)}
    sweep = to_toml({key: table for key, table in axes.items() if table})
    sweep += "".join(f"# {harmless(_told(job))}\n" for job in jobs)
    rows = [{"id": job.id, "sweep": dict(job.scenario.swept), "scenario": job.scenario.text} for job in jobs]
    return (text := scenario.resolve(settings).text + sweep), {"scenario": text, "runs": rows}


def _show_runs(folder: Path, *, full: bool, as_json: bool) -> int:
    runs = list(results.ResultSet.open(folder))
    if not runs:
        raise UsageError(f"{folder}: expected the folder of one run, with a {results.MANIFEST}, or of several")
    if as_json:
        documents = [_document(run) for run in runs]
        alone = len(runs) == 1
        print_json({"schema": "sojourn/show/1", **(documents[0] if alone else {"runs": documents})})
        return OK
    if full and len(runs) == 1:
        print(_scenario(runs[0]))
    _print_runs(runs, full=full)
    if not full:
        screen.show_next(folder, runs)
    return OK


def _print_runs(runs: Sequence[Run], *, full: bool) -> None:
    if len(runs) > 1:
        screen.show_runs(runs, full=full)
    elif runs and full:
        screen.show_all(runs[0])
    elif runs:
        screen.show_run(runs[0])


def _document(run: Run) -> dict[str, Any]:
    return {"manifest": run.manifest, "scenario": _scenario(run), "summary": run.summary}


def _scenario(run: Run) -> str:
    return run.scenario if run.has("scenario.toml") else ""


def _show_logs(folder: Path, which: Literal["setup", "teardown"], *, as_json: bool) -> int:
    from sojourn.logs import log

    runs = list(results.ResultSet.open(folder)) if results.exists(folder) else []
    if not runs:
        raise UsageError(f"--log {which}: {folder}: expected the folder of a finished run or of results")
    if as_json:
        logs = [{"id": run.id, "log": log(run, which)} for run in runs]
        print_json({"schema": "sojourn/log/1", "which": which, "logs": logs})
    else:
        print("\n".join(log(run, which) for run in runs), end="")
    return OK


def clean(
    folder: Path = RESULTS,
    /,
    *,
    everything: Annotated[bool, Parameter(name="--all")] = False,
    live: bool = False,
    dry: bool = False,
    as_json: Json = False,
) -> int:
    """Remove unfinished runs below a results folder, or with --all every run in it.

    Examples: `sojourn clean --all --dry`, `sojourn clean --live`

    Args:
        folder: Results folder.
        everything: Remove complete runs as well.
        live: Instead remove the names in `ip netns` that a run with --named has left because it was killed.
        dry: Only list what would go.
        as_json: Print one JSON document.
    """
    if live and (everything or folder != RESULTS):
        raise UsageError("--live: expected no folder and no --all: it removes names in `ip netns`, and no results")
    if folder != RESULTS and not folder.is_dir():
        raise UsageError(f"{folder}: no such results folder")
    if live:
        from sojourn.engines import names

        gone = names.left() if dry else names.clean()
    else:
        gone = [harmless(str(path)) for path in results.clean(folder, everything=everything, dry=dry)]
    if as_json:
        print_json({"schema": "sojourn/clean/1", "removed": gone, "dry": dry})
    else:
        print("\n".join([*gone, f"{len(gone)} {'would be ' if dry else ''}removed"]))
    return OK
