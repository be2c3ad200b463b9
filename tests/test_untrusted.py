"""Results come from anywhere: what they hold reaches no shell, no terminal and no page as anything but text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn import results
from sojourn.cli import call
from sojourn.text import LONGEST_MESSAGE, harmless, shortened

pytestmark = pytest.mark.engine

SCENARIO = """\
name = "mine"
duration = "14s"
[[link]]
name = "bneck"
rate = "2Mbit"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "a"
cc = "prague"
[[ping]]
name = "ping"
"""
EVIL = "\x1b]0;x\x07\r\ntouch /tmp/pwned; $(id) \u202e\x9b31m<script>alert(1)</script>\n"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]")


def poisoned(value: object) -> object:
    match value:
        case str():
            return value + EVIL
        case dict():
            return {key: poisoned(part) for key, part in value.items()}
        case list():
            return [poisoned(part) for part in value]
    return value


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every text is an attack, but for those without which nothing would be read."""
    folder = tmp_path_factory.mktemp("results")
    run = sojourn.run(sojourn.Scenario(SCENARIO), out=folder)[0].path
    for name in ("summary.json", "queue.json", "manifest.json"):
        document = json.loads((run / name).read_text())
        kept = {key: document[key] for key in ("id", "schema") if key in document} if isinstance(document, dict) else {}
        changed = poisoned(document)
        (run / name).write_text(json.dumps(changed | kept if isinstance(changed, dict) else changed))
    text = (run / "scenario.toml").read_text()
    described = f"description = {json.dumps(EVIL)}\n"
    (run / "scenario.toml").write_text(text.replace("duration", f"{described}duration", 1))
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        "show {run}", "show {run} --json", "show {run} --log setup", "show {run} --log teardown",
        "show {run} --log setup --json", "compare {all} {all}", "compare {all} {all} --json",
        "compare {all} {all} --report {out}/c.html", "report {all} -o {out}/r.html",
        "report {all} --markdown -o {out}/r.md", "plot {run} -o {out}/p.svg", "export flent {all} -o {out}",
        "fidelity {all} --only X1", "clean {all} --all --dry",
    ],
)  # fmt: skip
def test_no_control_character_and_no_markup_of_a_result_gets_out(
    hostile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str
) -> None:
    words = [word.format(run=hostile / "mine", all=hostile, out=tmp_path) for word in arguments.split()]
    assert call(words) in (0, 1)
    out, err = capsys.readouterr()
    pages = [path.read_text() for path in tmp_path.iterdir() if path.suffix in (".html", ".md", ".svg")]
    for text in (out, err):
        assert not CONTROL.search(text)
    for text in pages:
        assert not re.search(r"[\x1b\x9b\u202e]|<script>alert", text)


def test_the_log_that_root_may_run_holds_no_line_of_the_results(
    hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["show", str(hostile / "mine"), "--log", "setup"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("touch" in line for line in lines)
    assert not [line for line in lines if "touch" in line and not line.startswith("# ")]


def test_a_scenario_that_no_parser_would_take_is_not_built(tmp_path: Path) -> None:
    from sojourn.logs import log

    run = sojourn.run(sojourn.Scenario(SCENARIO.replace("14s", "1s")), out=tmp_path)[0]
    assert "tc qdisc add" in log(run, "setup")
    text = run.path.joinpath("scenario.toml").read_text().replace('"bneck"', '"b; touch x"')
    run.path.joinpath("scenario.toml").write_text(text)
    told = log(results.Run(run.path), "setup")
    assert "# not to be built: " in told
    assert all(line.startswith("#") or not line for line in told.splitlines())


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("manifest.json", '{"id": "../../x"}', "expected a key `id` with the name of a run"),
        ("manifest.json", "[" * 100_000, "expected JSON"),
        ("queue.json", '[{"drops": {}}]', "expected queues with a `name`"),
        ("queue.json", '[{"name": "b", "drops": [1]}]', "b.drops: expected an object"),
        ("queue.json", '[{"name": "b", "stats": {"x": {}}, "sojourn_ms": 5}]', "b.sojourn_ms: expected an object"),
        ("summary.json", '{"flows": [3]}', "expected flows with a `name`"),
    ],
)
def test_malformed_files_are_one_line_for_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, message: str
) -> None:
    good = {"manifest.json": '{"id": "x", "complete": true}', "queue.json": "[]", "summary.json": "{}"}
    for name, content in {**good, "scenario.toml": 'name = "x"', file: text}.items():
        tmp_path.joinpath(name).write_text(content)
    assert call(["show", str(tmp_path), "--log", "teardown"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_names_of_series_are_checked(tmp_path: Path) -> None:
    for name in ("flow.\x1b[31m.rtt", "flow.$\\frac$.rtt"):
        frame = pl.DataFrame({"series": [name], "unit": ["ms"], "t_s": [0.0], "value": [1.0]})
        frame.write_parquet(tmp_path / "series.parquet")
        with pytest.raises(results.ResultsError, match="expected names of series in printable characters"):
            results.Run(tmp_path).names()


def test_messages_do_not_repeat_long_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call(["run", "x" * 10_000]) == 2
    file = tmp_path / "long.toml"
    file.write_text(SCENARIO.replace("dualpi2", "dualpi2 " * 2000))
    assert call(["run", str(file)]) == 2
    for line in capsys.readouterr().err.splitlines():
        assert len(line) <= LONGEST_MESSAGE + 20
        assert "expected" in line or "no suite" in line or "dualpi2" in line


def test_what_is_printable_and_short_stays_as_it_is() -> None:
    text = "Prüfung µs – 50 % of Mbit/s: \N{GREEK SMALL LETTER ALPHA}"
    assert harmless(text) == shortened(text) == text
    assert harmless({"a\n": ["\x1b", 3, None]}) == {"a\\n": ["\\x1b", 3, None]}
