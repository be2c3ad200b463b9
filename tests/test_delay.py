"""Delay traces: from what ping and Flent wrote, and through netem."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn
from sojourn import _core
from sojourn.cli import call
from sojourn.interop.delay import DelayError, read

pytestmark = pytest.mark.engine
FLENT = Path(__file__).parent.parent.parent / "shared/reference/ect1/flent"

PING = """\
PING 10.9.9.2 (10.9.9.2) 56(84) bytes of data.
[1587800000.100000] 64 bytes from 10.9.9.2: icmp_seq=1 ttl=63 time=20.5 ms
[1587800000.300000] 64 bytes from 10.9.9.2: icmp_seq=2 ttl=63 time=31 ms
[1587800000.450000] no answer yet for icmp_seq=3
[1587800000.700000] 64 bytes from 10.9.9.2: icmp_seq=4 ttl=63 time=24.25 ms
[1587800000.700000] 64 bytes from 10.9.9.2: icmp_seq=4 ttl=63 time=24.5 ms (DUP!)

--- 10.9.9.2 ping statistics ---
4 packets transmitted, 3 received, 25% packet loss, time 603ms
"""

SCENARIO = """\
name = "measured"
duration = "3s"
step = "10ms"
[[link]]
name = "path"
ingress = ["netem delay trace {trace} limit 100000"]
reverse = {{ ingress = [] }}
[[ping]]
name = "ping"
interval = "20ms"
"""


def ping_of(tmp_path: Path, text: str = PING) -> Path:
    file = tmp_path / "ping.txt"
    file.write_text(text)
    return file


def test_a_reply_of_ping_is_a_delay_at_its_time(tmp_path: Path) -> None:
    delays = read(ping_of(tmp_path))
    assert delays.t_s.round(6).tolist() == [0, 0.2, 0.6]
    assert delays.ms.tolist() == [20.5, 31, 24.25]
    assert read(ping_of(tmp_path), jitter=True).ms.tolist() == [0, 10.5, 3.75]
    bare = "".join(line.partition("] ")[2] + "\n" for line in PING.splitlines())
    assert read(ping_of(tmp_path, bare), interval_s=0.2).t_s.round(6).tolist() == [0, 0.2, 0.6]
    assert read(ping_of(tmp_path, bare)).t_s.tolist() == [0, 1, 3]


def test_a_number_that_goes_round_goes_on(tmp_path: Path) -> None:
    lines = [
        f"64 bytes from a: icmp_seq={n % 65536} ttl=1 time=<1 ms\n".replace("<", "")
        for n in (65534, 65535, 65536, 65537)
    ]
    assert read(ping_of(tmp_path, "".join(lines))).t_s.tolist() == [0, 1, 2, 3]


def test_a_ping_across_an_imported_series_sees_the_series(tmp_path: Path) -> None:
    trace = tmp_path / "measured path.delay"
    assert call(["import", "delay", str(ping_of(tmp_path)), "-o", str(trace)]) == 0
    file = tmp_path / "a.toml"
    file.write_text(SCENARIO.format(trace="measured%20path.delay"))
    (run,) = sojourn.run(file, out=tmp_path / "r")
    t, rtt = run.series("ping.ping.rtt")
    # The last of the three lasts as long as the one before it, 0.4 s: the series is 1 s long.
    sent = np.round(t - rtt / 1000, 6) % 1.0
    expected = np.select([sent < 0.2 - 1e-9, sent < 0.6 - 1e-9], [20.5, 31], 24.25)
    # Where the delay falls, a reply waits for the one before it.
    same = np.abs(rtt - expected) < 0.01
    assert same.mean() > 0.98
    assert set(np.round(rtt[same], 2)) == {20.5, 31.0, 24.25}
    assert (np.diff(t) >= 0).all()
    assert "digest" in run.scenario


def test_a_trace_that_is_wrong_or_has_changed_is_one_line(tmp_path: Path) -> None:
    file, trace = tmp_path / "a.toml", tmp_path / "t.delay"
    file.write_text(SCENARIO.format(trace="t.delay"))
    for content, message in (
        (None, "t.delay: No such file"),
        ("0 20\n0 30\n", "t.delay:2: 0 s is not after the time in the line above"),
        ("0 20\n1 1e9\n", "t.delay:2: expected a time in seconds and a delay in milliseconds"),
        ("", "expected at least one line"),
    ):
        if content is not None:
            trace.write_text(content)
        with pytest.raises(_core.ScenarioError, match="link.path.ingress.0") as caught:
            sojourn.scenario.load(file).resolve()
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    trace.write_text("0 20\n1 30\n")
    resolved = sojourn.scenario.load(file).resolve().text
    trace.write_text("0 20\n1 31\n")
    with pytest.raises(_core.ScenarioError, match="has changed"):
        sojourn.Scenario(resolved).resolve()


def test_a_flent_files_ping_is_a_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "version": 4,
        "x_values": [0.0, 0.2],
        "results": {"Ping (ms) ICMP": [20.0, 21.0], "Ping (ms) UDP BE": [9.0, 8.0]},
        "raw_values": {},
        "metadata": {"NAME": "ping", "T0": "2020-04-25T09:07:05.0Z", "SERIES_META": {}},
    }
    file = tmp_path / "a.flent"
    file.write_text(json.dumps(document))
    assert read(file).ms.tolist() == [20.0, 21.0]
    assert read(file, series="Ping (ms) UDP BE").ms.tolist() == [9.0, 8.0]
    assert call(["import", "delay", str(file), "--series", "nothing"]) == 2
    assert "expected a ping of the file; it has" in capsys.readouterr().err
    assert call(["import", "delay", str(file), "--interval", "1"]) == 2
    assert call(["import", "delay", str(ping_of(tmp_path)), "--series", "x"]) == 2
    assert call(["import", "delay", str(tmp_path / "none")]) == 2
    assert call(["import", "delay", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["delays"] == 2


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.txt"
    file.write_bytes(PING.encode()[: len(data) * 2] + data)
    try:
        assert read(file).ms.size
    except DelayError as error:
        assert "\n" not in str(error)


def test_tc_says_that_it_has_no_such_delay(tmp_path: Path) -> None:
    trace = tmp_path / "t.delay"
    trace.write_text("0 20\n1 30\n")
    file = tmp_path / "a.toml"
    file.write_text(SCENARIO.format(trace="t.delay"))
    _, commands, limits = _core.tc_script(sojourn.scenario.load(file).resolve().text)
    assert any("left out `delay trace" in limit for limit in limits)
    assert not any("trace" in command for _, command in commands)


def test_a_file_that_cannot_be_written_is_named_as_it_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["import", "delay", str(ping_of(tmp_path)), "-o", "/proc/path.delay"]) == 2
    assert capsys.readouterr().err == "sojourn: /proc/path.delay: No such file or directory\n"
