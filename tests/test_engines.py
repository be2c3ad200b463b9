"""A run that its holder advances."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import engines

pytestmark = pytest.mark.engine

TEXT = """\
name = "held"
duration = "3s"
[[link]]
name = "l"
rate = "20Mbit"
delay = "5ms"
qdisc = "dualpi2"
[[flow]]
name = "f"
cc = "prague"
"""


def test_what_is_drained_second_by_second_is_what_the_result_has() -> None:
    run = sojourn.start(sojourn.Scenario(TEXT))
    parts: dict[str, list[np.ndarray]] = {}
    seconds: list[float] = []
    status = ""
    while status != "ended":
        status = run.advance(until_s=len(seconds) + 1.0)
        if status != "going":
            seconds.append(run.now_s)
            for name, _, _, values in run.drain():
                parts.setdefault(name, []).append(values)
    assert seconds == [1.0, 2.0, 3.0]
    result = run.finish()
    assert result.complete
    whole = {name: values for name, _, _, values in result.series}
    cwnd = np.concatenate(parts["flow.f.cwnd"])
    assert len(parts["flow.f.cwnd"]) == 3
    np.testing.assert_array_equal(cwnd, whole["flow.f.cwnd"][: len(cwnd)])
    again = engines.complete(sojourn.start(sojourn.Scenario(TEXT)))
    assert (again.summary, again.queues) == (result.summary, result.queues)


def test_a_run_that_is_over_says_so() -> None:
    run = sojourn.start(sojourn.Scenario(TEXT), {"duration": "1s"})
    run.advance(until_s=0.5)
    assert not run.finish().complete
    for ask in (run.advance, run.drain, run.finish):
        with pytest.raises(RuntimeError, match="this run is over"):
            ask()


def test_an_instant_before_the_start_is_refused() -> None:
    run = sojourn.start(sojourn.Scenario(TEXT))
    with pytest.raises(ValueError, match="until_s=-1: expected seconds"):
        run.advance(until_s=-1)
    assert run.advance(until_s=0.0) == "paused"


def test_one_run_is_started_at_a_time() -> None:
    with pytest.raises(sojourn.ScenarioError, match="2 runs; expected one"):
        sojourn.start(sojourn.Scenario(TEXT + "[sweep]\nseed = [1, 2]\n"))


def test_a_class_that_raises_ends_its_run_once() -> None:
    @sojourn.controller("raises_after_a_second")
    class Raises:
        def on_ack(self, now: float, ack: sojourn.Ack, win: sojourn.Window) -> None:
            if now > 1.0:
                raise ArithmeticError("no such window")

    run = sojourn.start(sojourn.Scenario(TEXT), {"flow.f.cc": "raises_after_a_second"})
    while run.now_s < 0.9:
        run.advance(until_s=0.9)
    with pytest.raises(RuntimeError, match="on_ack: ArithmeticError: no such window"):
        while run.advance() != "ended":
            pass
    with pytest.raises(RuntimeError, match="this run is over"):
        run.finish()


def test_an_engine_that_is_not_there_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOJOURN_LINUX", raising=False)
    with pytest.raises(sojourn.EngineError, match="set SOJOURN_LINUX"):
        sojourn.start(sojourn.Scenario(TEXT), engine="linux")
