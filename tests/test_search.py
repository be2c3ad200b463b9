"""`sojourn search`: expressions, ranges, trials that depend on the question alone, and what is found."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.cli import call
from sojourn.results import Run
from sojourn.search import answer
from sojourn.search.expression import AbsentError, ExpressionError, constraints, expression
from sojourn.search.quantities import OfRun
from sojourn.search.space import Range, SpaceError, axes, labels
from sojourn.search.study import Given, at_start
from sojourn.search.trials import AS_IT_IS, Objective, Question, Trial, check_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

SCENARIO = """\
name = "small"
duration = "2s"
measure.from = "500ms"
[[link]]
name = "bneck"
rate = "5Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "a"
cc = "prague"
[[flow]]
name = "b-1"
cc = "cubic"
[[ping]]
name = "ping"
"""
OVER = "link.bneck.qdisc=dualpi2 target {2ms..40ms:log},pfifo limit {20p..200p}"


class Fixed:
    """Quantities with given values."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self.numbers = numbers

    def number(self, name: str) -> float:
        if name not in self.numbers:
            raise AbsentError(name)
        return self.numbers[name]

    def statistic(self, share: float | str, series: str) -> float:
        return self.number(f"{share} of {series}")


OF = Fixed({"a": 3.0, "b.c": 4.0, "0.99 of q.delay": 7.0, "mean of l-1.rtt": 2.0, "none": math.inf})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + 2 * b.c", 11.0),
        ("-a ** 2", -9.0),
        ("p99(q.delay) / mean('l-1.rtt')", 3.5),
        ("max(a, b.c) - min(a, b.c)", 1.0),
        ("sqrt(abs(-b.c)) + log10(100)", 4.0),
        ("a / (a - 3)", None),
        ("10 ** 400.0", None),
        ("(-a) ** 0.5", None),
        ("sqrt(-a)", None),
        ("missing + 1", None),
        ("none", None),
    ],
)
def test_expressions_have_the_value_of_their_text(text: str, value: float | None) -> None:
    assert expression(text).value(OF) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "__import__('os').system('true')",
        "a.__class__()",
        "[a for a in b]",
        "lambda: a",
        "a if a else b",
        "a := 1",
        "f'{a}'",
        "True",
        "1j",
        "a[0]",
        "a // 2",
        "a % 2",
        "max(*a)",
        "abs(a, key=b)",
        "p100(q.delay)",
        "p99(1 + 1)",
        "p99(a, b)",
        "meen(a)",
        "a < 2",
        "20ms",
        "9" * 5000,
        "-" * 60 + "a",
        "(" * 500 + "a" + ")" * 500,
        "a + " * 400 + "a",
        "'\x1b[2J'",
    ],
)
def test_what_is_no_expression_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        expression(text, "--minimise")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("--minimise")


@given(st.text(max_size=60) | st.text(alphabet="abpq019.()+-*/<>'\", \n", max_size=40))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    for read in (expression, constraints):
        try:
            read(text, "--option")
        except ExpressionError as error:
            assert str(error).startswith("--option")


def _trees() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["a", "b.c", "none", "2", "0.5", "p99(q.delay)", "mean('l-1.rtt')"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        binary = st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})")
        return binary | inner.map(lambda one: f"-{one}") | st.tuples(inner, inner).map(lambda p: f"max({p[0]}, {p[1]})")

    return st.recursive(leaves, grow, max_leaves=8)


@given(_trees())
def test_an_expression_is_what_python_makes_of_it(text: str) -> None:
    names = {"a": 3.0, "none": math.inf, "max": max, "p99": lambda _: 7.0, "mean": lambda _: 2.0}
    plain = text.replace("b.c", "4.0").replace("q.delay", "0")
    try:
        wanted: float | None = eval(compile(plain, "test", "eval"), names)  # noqa: S307
    except ZeroDivisionError:
        wanted = None
    if wanted is not None and not math.isfinite(wanted):
        wanted = None
    assert expression(text).value(OF) == wanted
    assert ast.parse(text)


def test_constraints_are_read_in_chains_and_hold_at_their_bound_unless_strict() -> None:
    low, high, other = constraints("0.9 < util <= 0.99 and drops >= 1")
    assert [one.text for one in (low, high, other)] == ["0.9 < util", "util <= 0.99", "drops >= 1"]
    assert [one.shown.text for one in (low, high, other)] == ["util", "util", "drops"]
    assert high.violation(0.99, 0.99) <= 0 < low.violation(0.9, 0.9)
    # In shares of the bound.
    assert low.violation(0.9, 0.45) == pytest.approx(0.5)
    for text in ("util", "util == 1", "a < 1 or b < 1", "not a < 1"):
        with pytest.raises(ExpressionError, match="--subject-to"):
            constraints(text)


@pytest.mark.parametrize(
    ("text", "number", "written"),
    [
        ("10Mbit..1Gbit:log", 52_345_678.0, "52.35Mbit"),
        ("5ms..50ms", 0.0123456, "12.35ms"),
        ("0.5ms..5ms", 0.00067891, "678.9us"),
        ("1..16", 7, "7"),
        ("0.1..1", 0.123456, "0.1235"),
        ("1%..20%", 12.3456, "12.35%"),
        ("100p..2000p", 321, "321p"),
        ("10kb..1Mb", 123456, "123456b"),
        # The ends are as they were written, and nothing is beyond them.
        ("1.00001ms..12.3456ms", 0.01234559, "12.3456ms"),
        ("10Mbit..1Gbit", 1e9, "1Gbit"),
    ],
)
def test_values_are_written_as_tc_reads_them(text: str, number: float, written: str) -> None:
    (axis,) = axes([f"key={text}"]).axes
    of = axis.choices[0].holes[0].of
    assert isinstance(of, Range)
    assert of.text(number) == written


def test_the_ends_of_a_range_are_its_first_and_last_twentieth() -> None:
    for text, numbers in (("1..101", (6, 7, 95, 96)), ("1..1000:log", (1.4, 1.5, 700, 710))):
        of = axes([f"key={text}"]).axes[0].choices[0].holes[0].of
        assert isinstance(of, Range)
        assert [of.end(number) for number in numbers] == ["lower", "", "", "upper"]


@given(st.data())
def test_no_value_is_outside_its_range(data: st.DataObject) -> None:
    ends = st.integers(1, 10**9)
    low, high = sorted(data.draw(st.tuples(ends, ends).filter(lambda both: both[0] != both[1])))
    unit = data.draw(st.sampled_from(["us", "bit", "%", ""]))
    (axis,) = axes([f"key={low}{unit}..{high}{unit}{data.draw(st.sampled_from(['', ':log']))}"]).axes
    of = axis.choices[0].holes[0].of
    assert isinstance(of, Range)
    number = data.draw(st.floats(of.low, of.high))
    text, value = of.choose("key", Given({"key": number}))
    assert of.low <= value <= of.high
    assert of.find(text) is not None
    assert abs(value - number) <= max(6e-4 * number, 1.0 if of.counts else 0.0) or text in (of.low_text, of.high_text)


@pytest.mark.parametrize(
    "text",
    [
        "rate",
        "=1..2",
        "rate=",
        "rate=5",
        "rate=2..1",
        "rate=1..1",
        "rate=1ms..2Mbit",
        "rate=0..5:log",
        "rate=1..2..3",
        "rate=1..2:lin",
        "rate=a,,b",
        "rate=a,a",
        "q=dualpi2 target {5ms}",
        "q=dualpi2 target {5ms..",
        "q=dualpi2 target {{1..2}}",
        "q=x {1..2} }{",
        "rate=1..1e999",
    ],
)
def test_what_is_no_range_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SpaceError) as refused:
        axes([text])
    assert "\n" not in str(refused.value)


@given(st.text(max_size=40) | st.text(alphabet="k=.{},:0123log msMbit", max_size=40))
def test_any_text_is_an_axis_or_an_error(text: str) -> None:
    try:
        space = axes([text])
    except SpaceError:
        return
    assert space.names
    assert set(labels(space.names)) == set(space.names)


def test_a_choice_has_its_own_ranges() -> None:
    space = axes([OVER, "flow.a.cc=prague,cubic"])
    names = ["link.bneck.qdisc", "link.bneck.qdisc dualpi2 target", "link.bneck.qdisc pfifo limit", "flow.a.cc"]
    assert space.names == names
    assert space.is_conditional
    settings, chosen = space.choose(Given({names[0]: "pfifo", names[2]: 50, names[3]: "cubic"}))
    assert settings == {"link.bneck.qdisc": "pfifo limit 50p", "flow.a.cc": "cubic"}
    assert chosen == {names[0]: "pfifo", names[2]: 50.0, names[3]: "cubic"}


def _question(objectives: list[Objective]) -> Question:
    from sojourn.scenario import Scenario

    return Question(Scenario(SCENARIO, "small.toml"), axes([OVER]), tuple(objectives))


def _trial(number: int, *means: float, violation: float = -1.0, error: str = "") -> Trial:
    return Trial(number, {}, {}, tuple((mean,) for mean in means), (), (violation,), (), error)


def test_the_pareto_front_is_what_nothing_beats() -> None:
    question = _question([Objective(expression("a")), Objective(expression("b"), maximise=True)])
    trials = [
        _trial(0, 1.0, 1.0),
        _trial(1, 2.0, 3.0),
        _trial(2, 2.0, 2.0),  # beaten by 1
        _trial(3, 3.0, 3.0),  # beaten by 1
        _trial(4, 0.5, 9.0, violation=0.1),
        _trial(5, 4.0, 4.0),
        _trial(6, 1.0, 1.0),  # as 0
        _trial(7, error="failed"),
    ]
    assert [trial.number for trial in answer.best(question, trials)] == [0, 1, 5]
    assert [trial.number for trial in answer.ranked(question, trials)] == [0, 1, 5, 6, 2, 3, 4, 7]
    alone = _question([Objective(expression("b"), maximise=True)])
    assert [one.number for one in answer.best(alone, [_trial(0, 1.0), _trial(1, 2.0), _trial(2, 2.0)])] == [1]
    assert answer.best(alone, [_trial(0, 1.0, violation=1.0)]) == []


def test_another_question_in_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text(json.dumps({"seed": 1, "trials": 10}))
    check_folder(tmp_path, {"seed": 1, "trials": 20, "scenario": "elsewhere.toml"})
    with pytest.raises(ValueError, match=r"seed: 1, here 2: expected another folder"):
        check_folder(tmp_path, {"seed": 2, "trials": 10})
    for broken in ("{", "[" * 100_000, "7"):
        (tmp_path / "search.json").write_text(broken)
        with pytest.raises(ValueError, match=r"search\.json"):
            check_folder(tmp_path, {"seed": 2})


WITHOUT = """
import sys
sys.modules["optuna"] = None
import sojourn
from sojourn.cli import call
code = call(["search", "small.toml", "--minimise", "util", "--over", "link.bneck.rate=1Mbit..9Mbit"])
sys.exit(code)
"""


@pytest.mark.engine
def test_without_the_extra_one_line_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "sojourn: Optuna is not installed, which searches need: pip install 'sojourn[search]'\n"
    assert [file.name for file in tmp_path.iterdir()] == ["small.toml"]


def test_only_a_search_loads_optuna() -> None:
    code = "import sys, sojourn, sojourn.cli; sys.exit('optuna' in sys.modules or 'sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


optuna = pytest.mark.skipif(not importlib.util.find_spec("optuna"), reason="Optuna is not installed")
runs = [pytest.mark.engine, pytest.mark.timeout(300), optuna]


class Done(NamedTuple):
    """What a command said."""

    returncode: int
    stdout: str
    stderr: str


def _sojourn(folder: Path, *arguments: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = call(list(arguments))
    return Done(code, out.getvalue(), err.getvalue())


def _command(out: str, *more: str, trials: int = 12) -> list[str]:
    options = ["--over", OVER, "--trials", str(trials), "--batch", "4", "-o", out]
    return ["search", "small.toml", *options, *more]


def _search(folder: Path, out: str, *more: str, trials: int = 12) -> Done:
    (folder / "small.toml").write_text(SCENARIO)
    return _sojourn(folder, *_command(out, *more, trials=trials))


def _trials(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


QUESTION = ("--minimise", "p99(bneck.delay)", "--subject-to", "util > 0.9")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one search, in `out`."""
    folder = tmp_path_factory.mktemp("search")
    done = _search(folder, "out", *QUESTION, "--seeds", "2", "--jobs", "1", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    (folder / "said.txt").write_text(done.stdout)
    return folder


class TestFound:
    pytestmark = runs

    def test_trials_do_not_depend_on_the_number_of_workers(self, found: Path) -> None:
        done = _search(found, "two", *QUESTION, "--seeds", "2", "--jobs", "2", "-q")
        assert done.returncode == 0, done.stderr
        assert (found / "two/trials.jsonl").read_bytes() == (found / "out/trials.jsonl").read_bytes()
        assert (found / "two/search.svg").read_bytes() == (found / "out/search.svg").read_bytes()

    def test_trials_do_not_depend_on_where_runs_are_done(self, found: Path) -> None:
        done = _search(found, "else", *QUESTION, "--seeds", "2", "--executor", "processes:2")
        assert done.returncode == 0, done.stderr
        assert "2 processes" in done.stderr
        assert (found / "else/trials.jsonl").read_bytes() == (found / "out/trials.jsonl").read_bytes()

    def test_more_trials_begin_with_the_same_ones(self, found: Path) -> None:
        assert _search(found, "less", *QUESTION, "--seeds", "2", "-q", trials=6).returncode == 0
        less = (found / "less/trials.jsonl").read_text()
        assert (found / "out/trials.jsonl").read_text().startswith(less)
        assert _search(found, "less", *QUESTION, "--seeds", "2", "-q", trials=12).returncode == 0
        assert (found / "less/trials.jsonl").read_bytes() == (found / "out/trials.jsonl").read_bytes()

    def test_killed_and_repeated_it_finds_the_same(self, found: Path) -> None:
        command = [sys.executable, "-m", "sojourn.cli", *_command("killed", *QUESTION, "--seeds", "2", "-q")]
        for after in (2, 5):
            # As soon as this number of trials have a run, whatever else is under way.
            with subprocess.Popen(command, cwd=found, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
                while process.poll() is None and len(list((found / "killed").glob("small/*/manifest.json"))) < after:
                    pass
                os.kill(process.pid, signal.SIGKILL)
        done = _search(found, "killed", *QUESTION, "--seeds", "2", "-q")
        assert done.returncode == 0, done.stderr
        assert (found / "killed/trials.jsonl").read_bytes() == (found / "out/trials.jsonl").read_bytes()

    def test_the_first_trial_is_the_scenario_as_it_is(self, found: Path) -> None:
        first = _trials(found / "out")[0]
        assert first["set"] == {"link.bneck.qdisc": "dualpi2 target 15ms"}
        assert "as it is" in (found / "said.txt").read_text()

    def test_the_best_trial_keeps_the_constraint_and_its_command_repeats_it(self, found: Path) -> None:
        trials = _trials(found / "out")
        able = [trial for trial in trials if all(one["holds"] for one in trial["constraints"].values())]
        best = min(able, key=lambda trial: trial["p99(bneck.delay)"]["mean"])
        said = (found / "said.txt").read_text()
        assert f"best: trial {best['trial']}, " in said
        value = best["set"]["link.bneck.qdisc"]
        assert f"again: sojourn run small.toml -s 'link.bneck.qdisc={value}' --seeds 2\n" in said
        setting = f"link.bneck.qdisc={value}"
        again = found / f"again-{best['trial']}"
        assert _sojourn(found, "run", "small.toml", "-s", setting, "--seeds", "2", "-o", str(again)).returncode == 0
        values = [OfRun(Run(again / name)).statistic(0.99, "bneck.delay") for name in ("small", "small@seed2")]
        assert values == best["p99(bneck.delay)"]["runs"]

    def test_quantities_are_those_of_the_summary(self, found: Path) -> None:
        run = Run(found / "out/small/trial-0000")
        of = OfRun(run)
        flows = {flow["name"]: flow for flow in run.summary["flows"]}
        pairs = [
            ("util", of.run.summary["metrics"]["throughput"]["utilisation"]["bneck"]),
            ("goodput", run.summary["metrics"]["throughput"]["goodput_mbps"]),
            ("jain", run.summary["metrics"]["fairness"]["jain"]),
            ("flows.a.sender.segments_sent", flows["a"]["sender"]["segments_sent"]),
            ("p99(a.rtt)", flows["a"]["rtt_ms"]["p99"]),
            ("mean('b-1.goodput')", flows["b-1"]["goodput_mbps"]),
            ("p95('flow.b-1.goodput')", flows["b-1"]["goodput_over_time_mbps"]["p95"]),
            ("p50(ping.rtt)", run.summary["pings"][0]["rtt_ms"]["p50"]),
            ("p99(bneck.L.delay)", run.queues[0]["queues"][0]["sojourn_ms"]["p99"]),
            ("max('bneck.b-1.delay')", run.queues[0]["flows"][1]["sojourn_ms"]["max"]),
        ]
        for text, wanted in pairs:
            assert expression(text).value(of) == pytest.approx(wanted, rel=1e-6), text
        for text, said in (
            ("utilization", "nearest is utilisation"),
            ("p99(bnek.delay)", "nearest is bneck.delay"),
            ("bneck.delay", "expected a statistic"),
            ("p42(bneck.delay)", "expected one of mean, max, p50"),
        ):
            with pytest.raises(ExpressionError, match=said):
                expression(text).value(of)

    def test_the_picture_and_the_page_are_there(self, found: Path) -> None:
        assert "<svg" in (found / "out/search.svg").read_text()
        page = (found / "page.html").read_text()
        assert "sojourn run small.toml" in page
        assert "p99(bneck.delay)" in page

    def test_a_name_that_there_is_not_is_said_after_one_trial(self, found: Path) -> None:
        done = _search(found, "wrong", "--minimise", "p99(bnek.delay)")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].endswith("nearest is bneck.delay")
        assert not (found / "wrong/search.json").exists()

    def test_a_series_that_some_trials_lack_leaves_these_without_values(self, found: Path) -> None:
        done = _search(found, "some", "--minimise", "max(queue.bneck.prob)", "-q", trials=8)
        assert done.returncode == 0, done.stderr
        errors = {trial["chosen"]["link.bneck.qdisc"]: "error" in trial for trial in _trials(found / "some")}
        assert errors == {"dualpi2": False, "pfifo": True}

    def test_several_objectives_have_a_front(self, found: Path) -> None:
        options = ("--minimise", "p99(bneck.delay)", "--maximise", "goodput", "--json")
        done = _search(found, "front", *options, "--sampler", "nsga2")
        assert done.returncode == 0, done.stderr
        best = json.loads(done.stdout)["best"]
        delays = [trial["p99(bneck.delay)"]["mean"] for trial in best]
        goodputs = [trial["goodput"]["mean"] for trial in best]
        assert delays == sorted(delays)
        assert goodputs == sorted(goodputs)

    def test_where_no_trial_keeps_the_constraints_the_code_says_so(self, found: Path) -> None:
        done = _search(found, "none", "--minimise", "util", "--subject-to", "util > 2", "-q", trials=2)
        assert done.returncode == 1
        assert "in no trial all constraints hold" in done.stderr


@pytest.mark.engine
def test_a_scenario_outside_the_space_is_tried_before_all_others() -> None:
    inside = _question([Objective(expression("util"))])
    assert at_start(inside) == {"link.bneck.qdisc": "dualpi2", "link.bneck.qdisc dualpi2 target": 0.015}
    outside = Question(inside.scenario, axes(["link.bneck.rate=10Mbit..20Mbit"]), inside.objectives)
    assert at_start(outside) is None
    assert answer.as_it_is([_trial(AS_IT_IS, 1.0), _trial(0, 2.0)], first=False) == _trial(AS_IT_IS, 1.0)


@pytest.mark.engine
@optuna
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minimise", "util"], "--over: expected what to search over"),
        (["--over", "link.bneck.rate=1Mbit..2Mbit"], "expected --minimise or --maximise"),
        (["--minimise", "util", "--over", "link.bnek.rate=1Mbit..2Mbit"], 'did you mean "bneck"'),
        (["--minimise", "util", "--over", "link.bneck.qdisc=pfifo,pfiffo"], "unknown qdisc `pfiffo`"),
        (["--minimise", "util", "--over", "a=1..2", "--over", "a=1..3"], "--over a: expected once"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_written(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SCENARIO)
    assert call(["search", "small.toml", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["small.toml"]
