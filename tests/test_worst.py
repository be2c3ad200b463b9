"""`sojourn worst`: what is judged of a run, which cases are drawn, and how the worst one is simplified."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import _core, engines
from sojourn.cli import call
from sojourn.execution import execute
from sojourn.planning import plan
from sojourn.scenario import Scenario
from sojourn.search import worst
from sojourn.search.measures import MEASURES, Measured, Subject, state
from sojourn.search.trials import SearchError
from sojourn.shrink import STILL

if TYPE_CHECKING:
    from sojourn.results import Run

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

#: Prague takes CoDel's marks for those of an L4S queue: it leaves CUBIC little of a single queue.
UNFAIR = """\
name = "unfair"
description = "what can go"
duration = "8s"
[[link]]
name = "bneck"
rate = "10Mbit"
qdisc = "codel ecn"
delay = "10ms"
[[flow]]
name = "mine"
cc = "cubic"
[[flow]]
name = "theirs"
cc = "prague"
[[flow]]
name = "more"
cc = "prague"
start = "1s"
[[flow]]
name = "short"
cc = "reno"
bytes = "20kb"
[[ping]]
name = "ping"
"""
SUBJECT = Subject("cubic", "prague")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of it."""
    [outcome] = execute(plan([Scenario(UNFAIR, "unfair")]), tmp_path_factory.mktemp("worst"), quiet=True)
    assert outcome.run
    return outcome.run


def _sojourn(folder: Path, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = call(list(arguments))
    return code, out.getvalue(), err.getvalue()


def test_measures_are_of_the_second_half_of_what_bulk_flows_share(run: Run) -> None:
    found = state(run, SUBJECT)
    assert found
    assert found.window == (4.5, 8.0)
    assert list(found.goodputs) == ["mine", "theirs", "more"]
    assert found.judged == ("mine",)
    mine, theirs, more = found.rates
    values = {name: Measured(one, SUBJECT).of_run(run) for name, one in MEASURES.items()}
    assert values["fairness"] == pytest.approx((mine + theirs + more) ** 2 / 3 / (mine**2 + theirs**2 + more**2))
    assert values["starvation"] == pytest.approx(mine / ((mine + theirs + more) / 3))
    assert values["utilisation"] == pytest.approx(1, abs=0.02)
    sojourn = run.queues[0]["flows"][0]["sojourn_ms"]["p99"]
    assert values["delay"] == pytest.approx(sojourn / (20 + 1514 * 8 / 10e3))


def test_a_flow_that_delivers_nothing_has_starved(tmp_path: Path) -> None:
    # Its packets are dropped on the way.
    text = UNFAIR.replace('name = "mine"', 'name = "mine"\npath = ["bneck", "hole"]').replace(
        "[[flow]]", '[[link]]\nname = "hole"\ndelay = "1us"\ningress = ["netem loss 100%"]\n[[flow]]', 1
    )
    for name, way in (("theirs", '["bneck", "hole"]'), ("more", '["bneck"]'), ("short", '["bneck"]')):
        text = text.replace(f'name = "{name}"', f'name = "{name}"\npath = {way}', 1)
    [outcome] = execute(plan([Scenario(text, "hole")]), tmp_path, quiet=True)
    assert outcome.run
    found = state(outcome.run, SUBJECT)
    assert found
    assert found.rates == [0.0, 0.0]
    assert Measured(MEASURES["starvation"], SUBJECT).of_run(outcome.run) is None
    assert Measured(MEASURES["utilisation"], Subject("cubic")).of_run(outcome.run) == pytest.approx(1, abs=0.1)


def test_too_short_a_run_is_not_judged(tmp_path: Path) -> None:
    short = UNFAIR.replace('"8s"', '"1200ms"')
    [outcome] = execute(plan([Scenario(short, "short")]), tmp_path, quiet=True)
    assert outcome.run
    assert Measured(MEASURES["starvation"], SUBJECT).of_run(outcome.run) is None


def test_a_subject_is_in_a_scenario_that_has_all_of_it() -> None:
    document = tomllib.loads(Scenario(UNFAIR).resolve().text)
    assert Subject("prague", "cubic", "codel").is_in(document)
    assert Subject("cubic", "prague").is_in(document)
    assert Subject(None, None, "codel").is_in(document)
    for other in (Subject("prague", "bbr"), Subject("bbr"), Subject("prague", None, "fq_codel"), Subject("reno")):
        assert not other.is_in(document)
    elsewhere = UNFAIR.replace('name = "theirs"', 'name = "theirs"\ndirection = "up"')
    assert [flow["name"] for flow in SUBJECT.competing(tomllib.loads(Scenario(elsewhere).resolve().text))] == [
        "mine",
        "more",
    ]


def test_cases_are_named_by_seed_and_index(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = [name for name in worst.STRATA if name not in worst.LEFT_OUT]
    found = worst.drawn(SUBJECT, 1, 2, strata)
    again = worst.drawn(SUBJECT, 1, 1, strata)
    assert found[:1] == again
    for job in found:
        assert SUBJECT.is_in(job.scenario.document())
        text, stratum = _core.draw("all", 1, int(job.id.rpartition("-")[2]))
        assert text == job.scenario.text.replace(job.id, f"case-1-{job.id.rpartition('-')[2]}")
        assert stratum in strata
    monkeypatch.setattr(worst, "DRAWS", 20)
    with pytest.raises(SearchError, match="no drawn case has"):
        worst.drawn(Subject("prague", "cubic", "nothing"), 1, 1, strata)


def test_the_worst_one_loses_what_its_badness_does_not_need(run: Run, tmp_path: Path) -> None:
    [job] = plan([Scenario(UNFAIR, "unfair")])
    measured = Measured(MEASURES["starvation"], SUBJECT)
    value = measured.of_run(run)
    assert value is not None
    assert value < 0.7
    steps: list[str] = []
    shrunk = worst.simplest(
        measured, worst.Found(job, value, ""), tmp_path, most=12, say=lambda _, what, __: steps.append(what)
    )
    assert {"without flow short", "without ping ping", "without description"} <= set(steps)
    assert 1 - shrunk.finding >= STILL * (1 - value)
    again = Scenario(shrunk.text, "simple").resolve()
    flows: Any = again.document()["flow"]
    assert len(flows) == 2
    assert flows[0]["name"] == "mine"
    engines.named("sim").check(again)


def test_files_of_the_ranking_make_the_same_runs(tmp_path: Path) -> None:
    arguments = ["worst", "--cc", "cubic", "--against", "reno", "--measure", "fairness", "--cases", "6", "-o", "out"]
    arguments += ["--strata", "two,steps", "--json", "--simplify", "0", "--yes"]
    code, said, complaints = _sojourn(tmp_path, *arguments)
    assert code == 0, complaints
    document = json.loads(said)
    values = [row["value"] for row in document["ranking"]]
    assert values == sorted(values)
    assert len(values) + document["unjudged"] == 6
    first = document["ranking"][0]
    code, _, complaints = _sojourn(tmp_path, "run", first["file"], "-o", "again", "-q")
    assert code == 0, complaints
    for name in ("summary.json", "series.parquet"):
        again, there = ((tmp_path / place / first["scenario"] / name).read_bytes() for place in ("again", "out"))
        assert again == there
    # What is there is not run again, and the answer is the same.
    assert _sojourn(tmp_path, *arguments)[1] == said
    # Nor does it depend on where runs are done.
    assert _sojourn(tmp_path, *arguments, "--fresh", "--executor", "processes:2")[1] == said


@pytest.mark.skipif(not importlib.util.find_spec("optuna"), reason="Optuna is not installed")
def test_within_bounds_the_worst_is_searched_for(tmp_path: Path) -> None:
    arguments = ["worst", "--cc", "prague", "--against", "cubic", "--measure", "delay", "-o", "out", "--trials", "4"]
    arguments += ["-s", "duration=4s", "--over", "link.bneck.rate=2Mbit..20Mbit:log", "--over"]
    arguments += ["link.bneck.qdisc=dualpi2,pfifo limit {50p..200p}", "--simplify", "3"]
    code, said, complaints = _sojourn(tmp_path, *arguments)
    assert code == 0, complaints
    assert "delay of prague against cubic" in said
    assert (tmp_path / "out/worst-1-simple.toml").is_file()
    worst_one = tomllib.loads((tmp_path / "out/worst-1.toml").read_text())
    assert [flow["cc"] for flow in worst_one["flow"]] == ["prague", "cubic"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--measure", "delay"], "expected --cc"),
        (["--measure", "delay", "--cc", "pragu"], "prague"),
        (["--measure", "delay", "--cc", "cubic", "--qdisc", "dualp2"], "dualp2"),
        (["--measure", "delay", "--cc", "cubic", "--strata", "three"], "--strata three: expected some of one, two"),
        (["--measure", "fairness", "--cc", "cubic", "--over", "a=1..2"], "expected --against"),
        (["x.toml", "--measure", "delay", "--cc", "cubic"], "only with --over"),
        (["--measure", "worse", "--cc", "cubic"], "fairness"),
        (["--measure", "delay", "--cc", "cubic", "--executor", "cloud"], "--executor cloud: expected processes"),
    ],
)
def test_bad_questions_are_refused_in_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    code, _, complaints = _sojourn(tmp_path, "worst", *arguments)
    assert code == 2
    assert said in complaints
    assert complaints.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_shares_are_better_the_more_and_delays_the_less() -> None:
    assert MEASURES["starvation"].badness(0.2) == pytest.approx(0.8)
    assert MEASURES["delay"].badness(5.0) == 5.0
    assert all(math.isfinite(one.badness(1.0)) for one in MEASURES.values())
