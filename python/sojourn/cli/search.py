"""`sojourn search`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn import engines, executors
from sojourn.algorithms import load_algorithms
from sojourn.cli.common import (
    FAILED,
    OK,
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
from sojourn.execution import RESULTS
from sojourn.planning import able
from sojourn.progress import Progress

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sojourn.search.trials import Bench, Question, Trial

#: Characters of the hash of the question in the name of its folder.
HASHED = 8


def search(
    target: str,
    /,
    *,
    over: list[str] | None = None,
    minimise: Annotated[list[str] | None, Parameter(name=["--minimise", "--minimize"])] = None,
    maximise: Annotated[list[str] | None, Parameter(name=["--maximise", "--maximize"])] = None,
    subject_to: list[str] | None = None,
    trials: Annotated[int, AtLeastOne] = 100,
    seeds: Annotated[int, AtLeastOne] = 1,
    batch: Annotated[int, Parameter(validator=Number(gte=1, lte=1000))] = 8,
    sampler: Literal["tpe", "nsga2", "random"] = "tpe",
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**32))] = 1,
    set_: Set = None,
    load: Load = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], validator=Number(gte=1))] = None,
    executor: str | None = None,
    out: Out = None,
    report: Path | None = None,
    fresh: bool = False,
    yes: bool = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False,
    as_json: Json = False,
) -> int:
    """Find the values of a scenario's parameters that make a quantity of its runs least or greatest.

    Optuna chooses the points (`pip install 'sojourn[search]'`). The same command makes the same trials whatever --jobs
    and --executor are, and goes on where it was interrupted. Several objectives have a Pareto front.

    Examples: `sojourn search my.toml --minimise 'p99(bneck.delay)' --subject-to 'util > 0.95' --over
    'link.bneck.qdisc=dualpi2 target {1ms..50ms:log}'`,
    `sojourn search my.toml --maximise goodput --minimise rtt_p99_ms --over link.bneck.qdisc=codel,pie,fq_codel
    --over link.bneck.rate=10Mbit..1Gbit:log`

    Args:
        target: Scenario file; of one with a sweep, a trial is all its runs.
        over: What may vary, repeatable: KEY=LOW..HIGH with units as tc writes them, `:log` after it for a logarithmic
            range; KEY=A,B for a list; `{...}` for a range or list within a text.
        minimise: Expression to make least, such as 'p99(bneck.delay)'; repeatable.
        maximise: Expression to make greatest, such as goodput; repeatable.
        subject_to: Constraint, such as 'util > 0.95'; repeatable.
        trials: Number of trials.
        seeds: Runs of a trial with consecutive seeds, of which its values are the means.
        batch: Trials that are chosen together, before the results of any of them.
        sampler: Optuna's TPE; NSGA-II, for more than about 1000 trials of several objectives; or random points.
        seed: Seed of the sampler, not of the runs.
        set_: Change a value of the scenario in all trials; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        jobs: Runs at a time; default one a core, or what the executor has.
        executor: Where to run instead of in threads of this process, as of `sojourn run`: processes[:N], dask:ADDRESS
            or slurm[:OPTION=VALUE,...].
        out: Folder of the results; default one in results/ that the same command finds again.
        report: Page to write: HTML, Markdown or JSON, as its name ends.
        fresh: Do runs again that are already there, and replace another search in the folder.
        yes: Do not ask before more than 50 runs or 10 minutes; nor is asked without a terminal.
        quiet: Print nothing but errors and the answer.
        as_json: Print one JSON document.
    """
    from sojourn.search.expression import constraints, expression
    from sojourn.search.space import axes
    from sojourn.search.trials import Objective, Question

    objectives = [Objective(expression(text, "--minimise")) for text in minimise or []]
    objectives += [Objective(expression(text, "--maximise"), maximise=True) for text in maximise or []]
    if not objectives:
        raise UsageError("expected --minimise or --maximise, such as --minimise 'p99(bneck.delay)'")
    held = tuple(constraint for text in subject_to or [] for constraint in constraints(text))
    space = axes(over or [])
    load_algorithms(load or ())
    question = Question(
        one(target),
        space,
        tuple(objectives),
        held,
        overrides(set_),
        seeds=seeds,
        seed=seed,
        batch=batch,
        sampler=sampler,
        load=tuple(map(str, load or ())),
    )
    options = {"jobs": jobs, "out": out, "fresh": fresh, "yes": yes, "quiet": quiet or as_json}
    with executors.opened(executor) as where:
        bench, done = steered(question, trials, f"search-{slug(target)}-", options, where)
    return _answer(question, done, bench.out, report, as_json=as_json)


def steered(
    question: Question, trials: int, name: str, options: dict[str, Any], executor: Executor | None
) -> tuple[Bench, Sequence[Trial]]:
    """Searches, with its progress on stderr; the default folder's name begins with `name`.

    Raises `KeyboardInterrupt` also where the user does not agree to many runs.
    """
    from sojourn.search import study
    from sojourn.search import trials as kept
    from sojourn.search.trials import Bench

    document = question.document(trials, study.version())
    folder = options["out"] or RESULTS / f"{name}{_hash(document)}"
    if not options["fresh"]:
        kept.check_folder(folder, document)
    first = str(question.as_it_is()[0].document()["name"]).partition("/")[0]
    study.check_space(question)
    example, quiet = question.jobs(first, {}), bool(options.get("quiet"))
    able(engine := engines.named("sim"), example)
    if executor and not quiet:
        say(executors.about(executor))
    jobs, yes = options["jobs"], options["yes"]
    if not (quiet or agreed(example * trials, engine=engine, jobs=jobs, yes=yes, executor=executor)):
        raise KeyboardInterrupt
    bench = Bench(question, folder, first, jobs=jobs, fresh=options["fresh"], executor=executor)
    seconds = sum(job.duration_s for job in example)
    done: Sequence[Trial] = []
    with Progress(len(example) * trials, seconds * trials, quiet=quiet) as progress:

        def note(so_far: Sequence[Trial]) -> None:
            nonlocal done
            done = so_far
            kept.write(folder, document, question, so_far)
            progress.update()

        bench.ran = lambda job, outcome: progress.finished(job.duration_s, was_there=outcome.status == "cached")
        try:
            study.search(bench, trials, note)
        except KeyboardInterrupt:
            progress.stop()
            say(f"{len(done)} trials of {trials} are in {folder}; the same command goes on")
            raise
    return bench, done


def _hash(document: dict[str, Any]) -> str:
    """Of everything that makes it another question."""
    from sojourn.search.trials import FREE

    text = json.dumps({key: value for key, value in document.items() if key not in FREE})
    return hashlib.sha256(text.encode()).hexdigest()[:HASHED]


def _answer(question: Question, done: Sequence[Trial], folder: Path, report: Path | None, *, as_json: bool) -> int:
    from sojourn.cli import search_screen
    from sojourn.search import answer, picture, study

    first = study.at_start(question) is not None
    found = answer.best(question, done)
    usable = [trial for trial in done if not trial.error and trial.number >= 0]
    drawn = picture.write(question, done, first, folder / "search.svg") if usable else None
    if drawn and report:
        from sojourn.search import page

        page.write(question, done, first, drawn, report)
    if as_json:
        rows = [{**trial.document(question), "command": answer.command(question, trial)} for trial in found]
        print_json({"schema": "sojourn/search/1", "path": str(folder), "trials": len(done), "best": rows})
    else:
        search_screen.show(question, done, first, folder, drawn)
        if report:
            print(f"page: {report}")
    if not found:
        errors = [trial.error for trial in done if trial.error]
        say(errors[0] if errors and not usable else "in no trial all constraints hold")
    return OK if found else FAILED
