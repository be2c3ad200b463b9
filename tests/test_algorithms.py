"""Controllers and queues that are Python classes, on the real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import sojourn
from sojourn import _core, algorithms, engines
from sojourn.cli import call
from sojourn.engines.linux import Kernel, Linux

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[1]
TWIST, QUEUE = ROOT / "examples/aimd_with_a_twist.py", ROOT / "examples/threshold_queue.py"
SHORT = "ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms"
SCENARIO = """\
name = "own"
duration = "8s"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "pfifo limit 40"
reverse = { rate = "none", qdisc = "pfifo" }
ingress = ["netem delay 10ms limit 100000"]
[[flow]]
name = "a"
cc = "reno"
[[flow]]
name = "b"
cc = "cubic"
start = "1s"
[[ping]]
name = "ping"
"""
Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder with the scenario; what a test defines is forgotten after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(algorithms, "_defined", {})
    Path("own.toml").write_text(SCENARIO)
    yield tmp_path


def write(text: str, name: str = "own.py") -> str:
    Path(name).write_text("import sojourn\n" + dedent(text))
    return name


def ran(*overrides: tuple[str, str]) -> _core.RunResult:
    resolved, _ = _core.resolve(SCENARIO, "own.toml", list(overrides))
    return engines.complete(_core.Engine.simulator().start(resolved))


def same(ours: _core.RunResult, theirs: _core.RunResult) -> bool:
    """Whether all series have the same names and bytes."""
    return len(ours.series) == len(theirs.series) and all(
        mine[:2] == other[:2] and mine[2].tobytes() == other[2].tobytes() and mine[3].tobytes() == other[3].tobytes()
        for mine, other in zip(ours.series, theirs.series, strict=True)
    )


def last(result: _core.RunResult, name: str) -> float:
    return next(float(values[-1]) for series, _, _, values in result.series if series == name)


class Reno:
    """RFC 5681 as Linux counts it, written out."""

    def on_ack(self, now: float, ack: sojourn.Ack, win: sojourn.Window) -> None:
        if not (ack.may_raise and ack.path.cwnd_limited):
            return
        left = ack.delivered
        if win.cwnd < win.ssthresh:
            grown = min(win.cwnd + left, win.ssthresh)
            left -= grown - win.cwnd
            win.cwnd = min(grown, win.clamp)
            if not left:
                return
        w = max(win.cwnd, 1)
        if win.cwnd_cnt >= w:
            win.cwnd_cnt = 0
            win.cwnd += 1
        win.cwnd_cnt += left
        if win.cwnd_cnt >= w:
            steps = win.cwnd_cnt // w
            win.cwnd_cnt -= steps * w
            win.cwnd += steps
        win.cwnd = min(win.cwnd, win.clamp)

    def ssthresh(self, now: float, path: sojourn.Path, win: sojourn.Window) -> int:
        return max(win.cwnd // 2, 2)

    def undo_cwnd(self, win: sojourn.Window) -> int:
        return max(win.cwnd, win.prior_cwnd)


class Fifo:
    """What pfifo does."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit, self.packets = limit, list[sojourn.Packet]()

    def enqueue(self, now: float, packet: sojourn.Packet) -> None:
        if len(self.packets) < self.limit:
            self.packets.append(packet)
        else:
            packet.drop("tail_limit")

    def dequeue(self, now: float) -> sojourn.Packet | None:
        return self.packets.pop(0) if self.packets else None

    def peek(self) -> sojourn.Packet | None:
        return self.packets[0] if self.packets else None


@pytest.mark.parametrize(("qdisc", "signal"), [("pfifo limit 40", "drops"), ("fq_codel flows 1 ecn", "marks")])
def test_reno_restated_is_reno_byte_by_byte(qdisc: str, signal: str) -> None:
    sojourn.controller("restated")(Reno)
    queue = ("link.bneck.qdisc", qdisc)
    builtin = ran(queue)
    assert last(builtin, f"queue.bneck.{signal}") > 10
    assert same(ran(queue, ("flow.a.cc", "restated")), builtin)
    assert not same(ran(queue, ("flow.a.cc", "cubic")), builtin)


@pytest.mark.parametrize("shaper", ["htb", "tbf burst 4000b latency 50ms", "none"])
def test_pfifo_restated_is_pfifo_byte_by_byte(shaper: str) -> None:
    sojourn.qdisc("refifo")(Fifo)
    link = ("link.bneck.shaper", shaper)
    builtin = ran(link)
    assert last(builtin, "queue.bneck.drops") > 10
    assert same(ran(link, ("link.bneck.qdisc", "refifo limit 40")), builtin)


def test_the_example_controller_runs_in_the_suite_and_a_changed_file_runs_again(capsys: Output) -> None:
    own = Path("my_cc.py")
    own.write_text(TWIST.read_text())
    command = ["run", SHORT, "--load", "my_cc.py", "-s", "flow.prague.cc=myaimd boost 2", "--out", "out", "--json"]

    def status() -> str:
        assert call(command) == 0
        return str(json.loads(capsys.readouterr().out)["runs"][0]["status"])

    assert [status(), status()] == ["done", "cached"]
    run = sojourn.ResultSet.open("out")[0]
    assert run.summary["flows"][0]["goodput_mbps"] > 3.5
    assert 'cc = "myaimd boost 2"' in run.scenario
    assert list(run.manifest["algorithms"]) == ["myaimd"]
    own.write_text(TWIST.read_text().replace("0.7", "0.6"))
    assert [status(), status()] == ["done", "cached"]


def test_the_twist_takes_more_than_plain_aimd() -> None:
    sojourn.load_algorithms([TWIST])

    def goodput(words: str) -> float:
        beside = (("link.bneck.qdisc", "pfifo limit 10"), ("flow.b.start", "7s"), ("duration", "20s"))
        summary = json.loads(ran(*beside, ("flow.a.cc", f"myaimd {words}")).summary)
        return float(summary["flows"][0]["goodput_mbps"])

    assert goodput("boost 8") > goodput("boost 1")
    assert goodput("beta 0.9") > goodput("beta 0.4")


def test_the_example_queue_marks_what_waits_and_drops_at_its_limit() -> None:
    sojourn.load_algorithms([QUEUE])
    short, long = (
        next(queue for queue in json.loads(ran(("link.bneck.qdisc", words)).queues) if queue["name"] == "bneck")
        for words in ("threshold limit 60", "threshold limit 60 at 1s")
    )
    assert short["marks"]["step"] > 100
    assert "step" not in long["marks"]
    assert long["drops"]["tail_limit"] > 10
    assert "limit 60" in short["qdisc"]


def test_both_are_listed_with_their_words(capsys: Output) -> None:
    assert call(["cc", "--load", str(TWIST), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    words = [(p["name"], p["value"], p["default"]) for p in rows["myaimd"]["parameters"]]
    assert words == [("beta", "NUMBER", "0.7"), ("boost", "NUMBER", "4")]
    assert list(rows) == sorted(rows) and "reno" in rows
    assert call(["qdisc", "threshold", "--load", str(QUEUE)]) == 0
    assert "at TIME" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bost 3", "myaimd: unknown parameter `bost` (did you mean `boost`?); valid: beta, boost"),
        ("boost x", "myaimd: `boost x`: expected a whole number"),
        ("boost", "myaimd: `boost` needs a value"),
    ],
)
def test_a_bad_word_is_one_line_and_exit_code_2(words: str, said: str, capsys: Output) -> None:
    assert call(["show", "own.toml", "--load", str(TWIST), "-s", f"flow.a.cc=myaimd {words}"]) == 2
    err = capsys.readouterr().err
    assert said in err and "flow.a.cc" in err and err.count("\n") == 1


def test_every_kind_of_word_arrives_as_its_type() -> None:
    seen: dict[str, object] = {}

    class Wordy(Fifo):
        """Has words of every kind.

        Args:
            gain: What a change is multiplied by.
        """

        def __init__(
            self,
            limit: int = 100,
            ecn: bool = True,
            gain: float = 0.5,
            mode: str = "fast",
            target: sojourn.Seconds = 0.005,
            ceil: sojourn.BitsPerSecond = 1e6,
            room: sojourn.Bytes = 3000,
        ) -> None:
            super().__init__(limit)
            seen.update(ecn=ecn, gain=gain, mode=mode, target=target, ceil=ceil, room=room)

    sojourn.qdisc("wordy")(Wordy)
    text = "wordy noecn gain 2 mode slow target 20ms ceil 5Mbit room 2Kb limit 7"
    ran(("duration", "2s"), ("link.bneck.qdisc", text))
    assert seen == {"ecn": False, "gain": 2.0, "mode": "slow", "target": 0.02, "ceil": 5e6, "room": 2048}
    row = next(row for row in json.loads(_core.qdiscs()) if row["name"] == "wordy")
    defaults = {p["name"]: p["default"] for p in row["parameters"]}
    assert (defaults["target"], defaults["ceil"], defaults["ecn|noecn"]) == ("5ms", "1Mbit", "ecn")
    assert row["summary"] == "Has words of every kind."
    assert "What a change is multiplied by." in [p["doc"] for p in row["parameters"]]


BROKEN_CC = """
@sojourn.controller("broken")
class Broken:
    def on_ack(self, now, ack, win):
        if now > 1:
            win.cwnd = {wrong}
"""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("1 // 0", "flow.a: own.py:7: on_ack: ZeroDivisionError: "),
        ("0", "flow.a: own.py:7: on_ack: ValueError: cwnd = 0: expected 1 to 1073741824 segments"),
        ("10.5", "flow.a: own.py:7: on_ack: TypeError: cwnd = 10.5: expected a whole number of segments, such as int("),
        ("win.cwnd / 0.5", "flow.a: own.py:7: on_ack: TypeError: cwnd = "),
    ],
)
def test_an_error_ends_its_run_with_flow_file_and_line(wrong: str, said: str, capsys: Output) -> None:
    file = write(BROKEN_CC.format(wrong=wrong))
    Path("good.toml").write_text(SCENARIO.replace('"own"', '"good"').replace('"reno"', '"cubic"'))
    assert call(["run", "own.toml", "--load", file, "-s", "flow.a.cc=broken", "--out", "out"]) == 1
    err = capsys.readouterr().err
    assert said.replace("own.py", str(Path("own.py").resolve())) in err and "panicked" not in err
    assert not Path("out/own").exists()
    bad = SCENARIO.replace('"own"', '"bad"').replace('"reno"', '"broken"')
    Path("bad.toml").write_text(bad)
    assert call(["run", "bad.toml", "good.toml", "--load", file, "--out", "out"]) == 3
    assert Path("out/good/manifest.json").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return self.packets[0] if self.packets else None", "dequeue: RuntimeError: this packet is no longer"),
        ("return 7", "dequeue: TypeError: "),
        ("return self.packets.pop(99)", "dequeue: IndexError: pop index out of range"),
        ("[p.mark('stepp') for p in self.packets]", '(did you mean "step"?); valid: '),
    ],
)
def test_a_queue_that_breaks_the_rules_ends_its_run(body: str, said: str) -> None:
    class Broken(Fifo):
        pass

    namespace: dict[str, object] = {}
    exec(f"def dequeue(self, now):\n    {body}", namespace)  # noqa: S102
    Broken.dequeue = namespace["dequeue"]  # type: ignore[assignment,method-assign]
    sojourn.qdisc("broken")(Broken)
    with pytest.raises(RuntimeError, match=r"^link\.bneck\.qdisc: ") as caught:
        ran(("link.bneck.qdisc", "broken"))
    assert said in str(caught.value)


def test_a_timer_that_stays_due_ends_the_run() -> None:
    class Stuck(Fifo):
        def wake(self) -> float:
            return 0.5

        def on_wake(self, now: float) -> None:
            pass

    sojourn.qdisc("stuck")(Stuck)
    with pytest.raises(RuntimeError, match="wake: ValueError: the instant is still due after on_wake"):
        ran(("link.bneck.qdisc", "stuck"))


def test_timers_pacing_and_values_of_its_own() -> None:
    class Clock(Reno):
        pacing, codepoint, feedback = True, "ect1", "accecn"

        def __init__(self) -> None:
            self.ticks = 0

        def wake(self) -> float | None:
            return (self.ticks + 1) * 0.1

        def on_wake(self, now: float, win: sojourn.Window) -> None:
            self.ticks += 1

        def pacing_rate(self, path: sojourn.Path, win: sojourn.Window) -> float:
            return 4e6

        def probe(self) -> dict[str, float | tuple[float, str]]:
            return {"ticks": self.ticks, "rate": (4.0, "Mbit/s")}

    sojourn.controller("clock")(Clock)
    result = ran(("flow.a.cc", "clock"))
    assert 78 <= last(result, "flow.a.cc.ticks") <= 80
    units = {name: unit for name, unit, _, _ in result.series}
    assert units["flow.a.cc.rate"] == "Mbit/s"
    goodput = json.loads(result.summary)["flows"][0]["goodput_mbps"]
    assert goodput == pytest.approx(4 * 1448 / 1500, rel=0.1)


def test_a_scheduled_change_reaches_the_class_and_a_replaced_queue_is_purged() -> None:
    class Changeable(Fifo):
        def change(self, now: float, limit: int | None = None) -> None:
            self.limit = limit or self.limit

        def stats(self) -> dict[str, float]:
            return {"limit": self.limit}

        def probe(self) -> dict[str, float]:
            return {"limit": self.limit}

    sojourn.qdisc("changeable")(Changeable)
    link = ("link.bneck.qdisc", "changeable limit 30")
    change = 'schedule = [{ at = "4s", set = { "link.bneck.forward.qdisc" = "changeable limit 90" } }]\n'
    text, _ = _core.resolve(change + SCENARIO, "own.toml", [link])
    result = engines.complete(_core.Engine.simulator().start(text))
    limits = next(values for name, _, _, values in result.series if name == "queue.bneck.limit")
    assert set(np.unique(limits)) == {30.0, 90.0}
    replace = change.replace("set", "replace").replace("changeable limit 90", "pfifo")
    text, _ = _core.resolve(replace + SCENARIO, "own.toml", [link])
    queues = json.loads(engines.complete(_core.Engine.simulator().start(text)).queues)
    assert any("purge" in queue["drops"] for queue in queues)


def test_dice_follow_the_seed(capsys: Output) -> None:
    file = write(
        """
        @sojourn.controller("dice")
        class Dice:
            def on_ack(self, now, ack, win):
                if ack.may_raise and self.random.random() < 0.05:
                    win.cwnd += 1
        """
    )
    command = ["run", "own.toml", "--load", file, "-s", "flow.a.cc=dice", "--out", "out"]
    assert call([*command, "--verify"]) == 0
    sojourn.load_algorithms([file])
    assert not same(ran(("flow.a.cc", "dice")), ran(("flow.a.cc", "dice"), ("seed", "2")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "own.py: expected a class below @sojourn.controller or @sojourn.qdisc"),
        ("x = (", "own.py:2: SyntaxError: "),
        ("\nx = 1 // 0", "own.py:3: ZeroDivisionError: "),
        ("@sojourn.controller('reno')\nclass A:\n  def on_ack(self, now, ack, win): ...", "already taken"),
        ("@sojourn.controller('a')\nclass A: ...", "needs a method `on_ack`"),
        ("@sojourn.controller('a b')\nclass A:\n  def on_ack(self, now, ack, win): ...", "expected letters"),
        ("@sojourn.controller('a')\nclass A:\n  def on_ack(self): ...\n  def on_lost(self): ...", "mean `on_loss`?"),
        ("@sojourn.qdisc('a')\nclass A:\n  def enqueue(self): ...", "needs a method `dequeue`"),
        ("@sojourn.controller('a')\nclass A:\n  def __init__(self, x): ...\n  def on_ack(self): ...", "a default"),
    ],
)
def test_a_file_that_defines_nothing_usable_is_one_line_and_exit_code_2(text: str, said: str, capsys: Output) -> None:
    Path("own.py").write_text(f"import sojourn\n{text}\n")
    assert call(["cc", "--load", "own.py"]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_missing_file_and_a_name_of_two_files_are_refused(capsys: Output) -> None:
    assert call(["cc", "--load", "none.py"]) == 2
    assert "none.py: no such file" in capsys.readouterr().err
    Path("copy.py").write_text(TWIST.read_text())
    assert call(["cc", "--load", "copy.py", "--load", str(TWIST)]) == 2
    assert "controller 'myaimd' is already defined in" in capsys.readouterr().err


def test_the_engine_linux_refuses_it() -> None:
    algorithms.load_algorithms([TWIST])
    kernel = _core.Capabilities((ROOT / "crates/linux/src/check/linux72.json").read_text())
    with pytest.raises(sojourn.EngineError, match="`myaimd` is in no kernel, only Sojourn"):
        Linux(Kernel((), "none"), kernel).check(sojourn.load("own.toml").resolve({"flow.a.cc": "myaimd"}))


def test_the_rust_example_has_the_scenario_of_the_suite(capsys: Output) -> None:
    shown = []
    for target in ("ect1/l4s-s1-oneflow/prague/dualpi2/50Mbit/20ms", ROOT / "examples/rust-controller/scenario.toml"):
        assert call(["show", str(target)]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


@pytest.mark.parametrize("example", [TWIST, QUEUE])
def test_the_guide_shows_the_examples_as_they_are(example: Path) -> None:
    decorated = example.read_text().partition("@sojourn.")[2]
    assert decorated in (ROOT / "docs/guide/add-a-controller.md").read_text()
