"""Captures of runs: drafts of scenarios from them, and a capture laid over the run that it was made of."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import reference
from sojourn.captures import draft
from sojourn.captures.read import read
from sojourn.cli import call

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engine

SCENARIO = """\
name = "a"
duration = "8s"
[[link]]
name = "bneck"
rate = "{rate}Mbit"
shaper = "htb"
qdisc = "{qdisc}"
delay = "{delay}ms"
reverse = {{ rate = "none", shaper = "none", qdisc = "pfifo" }}
[[flow]]
name = "first"
cc = "{cc}"
[[flow]]
name = "second"
cc = "cubic"
start = "1s"
stop = "6s"
[[capture]]
name = "sent"
points = [{{ flow = "first", at = ["{at}"] }}, {{ flow = "second", at = ["{at}"] }}]
"""


def drafted(folder: Path, engine: str) -> tuple[dict[str, Any], list[list[float]]]:
    """The draft's link, and the flows' goodputs in the run and in that of the draft."""
    run = ["run", "--engine", engine, "--out", str(folder / "r")]
    assert call([*run, str(folder / "a.toml")]) == 0
    assert call(["pcap", str(folder / "r/a/sent.pcapng"), "--to-scenario", str(folder / "b.toml")]) == 0
    assert call([*run, str(folder / "b.toml")]) == 0
    (link,) = tomllib.loads((folder / "b.toml").read_text())["link"]
    summaries = [json.loads((folder / f"r/{name}/summary.json").read_text()) for name in ("a", "b")]
    return link, [[flow["goodput_mbps"] for flow in summary["flows"]] for summary in summaries]


def one_flow(text: str) -> str:
    """The scenario without the second flow."""
    before, after = text.split('[[flow]]\nname = "second"')
    return re.sub(r', \{ flow = "second".*?\}', "", before + after[after.index("[[capture]]") :])


def check(folder: Path, engine: str, *, alone: bool = False, **case: Any) -> None:
    """Rate and base RTT within 3 %, goodput of each flow within 5 %."""
    text = SCENARIO.format(**case)
    (folder / "a.toml").write_text(one_flow(text) if alone else text)
    link, (there, here) = drafted(folder, engine)
    assert float(link["rate"].removesuffix("kbit")) == pytest.approx(1000 * case["rate"], rel=0.03)
    assert float(link["delay"].removesuffix("us")) == pytest.approx(1000 * case["delay"], rel=0.03)
    assert here == pytest.approx(there, rel=0.05)


@pytest.mark.parametrize(
    ("cc", "qdisc", "rate", "delay", "at"),
    [
        ("prague", "dualpi2", 20, 12, "sender"),
        ("prague", "dualpi2", 50, 5, "receiver"),
        ("cubic", "fq_codel", 20, 12, "receiver"),
        ("cubic", "cake", 50, 10, "sender"),
        ("cubic", "pfifo limit 100", 20, 12, "sender"),
        ("reno", "codel", 50, 5, "sender"),
    ],
)
def test_a_capture_becomes_a_scenario_that_runs_as_it_did(
    cc: str, qdisc: str, rate: int, delay: int, at: str, tmp_path: Path
) -> None:
    check(tmp_path, "sim", cc=cc, qdisc=qdisc, rate=rate, delay=delay, at=at)


@pytest.mark.parametrize("at", ["sender", "receiver"])
@pytest.mark.parametrize("qdisc", ["pfifo limit 100", "codel noecn"])
def test_reno_alone_is_known_by_its_cuts_and_its_queue_by_the_delay_at_losses(
    qdisc: str, at: str, tmp_path: Path
) -> None:
    check(tmp_path, "sim", alone=True, cc="reno", qdisc=qdisc, rate=20, delay=12, at=at)
    draft = (tmp_path / "b.toml").read_text()
    assert 'cc = "reno"' in draft
    assert ("pfifo" if "pfifo" in qdisc else "codel") in draft.partition("reverse")[0]


def test_one_recovery_of_many_round_trips_is_not_taken_for_a_controller_that_ignores_losses(tmp_path: Path) -> None:
    """PIE lets Reno's slow start grow to nine times the path, of which half is lost: 457 copies in 35 round trips."""
    text = SCENARIO.format(cc="reno", qdisc="pie ecn", rate=10, delay=30, at="sender")
    text = one_flow(text).replace('"8s"', '"20s"')
    (tmp_path / "a.toml").write_text(text.replace('cc = "reno"', 'cc = "reno"\ntcp.ecn = "rfc3168"'))
    assert call(["run", "--out", str(tmp_path / "r"), str(tmp_path / "a.toml")]) == 0
    (flow,) = read([tmp_path / "r/a/sent.pcapng"]).flows
    assert (flow.retransmissions or {})["all"] > 400
    assert flow.family is not None
    assert flow.family["family"] == "classic"
    assert flow.family["kept"] == pytest.approx(0.5, abs=0.06)


#: Of the ect1 testbed: 20 ms by netem, HTB with DualPI2 or CoDel; rates as the runs' names say.
REFERENCES = {
    "l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-20ms": 5,
    "l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms": 50,
    "l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms": 50,
}


@pytest.mark.parametrize("at", ["cli_cli", "srv_srv"])
@pytest.mark.parametrize("run", REFERENCES)
def test_a_testbeds_capture_gives_its_rate_and_base_rtt(run: str, at: str, tmp_path: Path) -> None:
    """Within 3 %, at the sender and at the receiver. What a capture does not show of its runs is in the guide."""
    base = reference.folder()
    capture = base / f"ect1/pcap/{run}.{at}.pcap.xz" if base else None
    if capture is None or not capture.is_file():
        pytest.skip("no reference captures")
    draft.write(read([capture], packets=True).flows, tmp_path / "a.toml")
    (link,) = tomllib.loads((tmp_path / "a.toml").read_text())["link"]
    assert float(link["rate"].removesuffix("kbit")) == pytest.approx(1000 * REFERENCES[run], rel=0.03)
    assert float(link["delay"].removesuffix("us")) == pytest.approx(10_000, rel=0.03)


@pytest.mark.parametrize(("qdisc", "at"), [("fq_codel", "sender"), ("pfifo limit 100", "sender")])
def test_a_kernels_capture_becomes_a_scenario_that_runs_as_it_did(
    kernel: object, qdisc: str, at: str, tmp_path: Path
) -> None:
    check(tmp_path, "linux", cc="cubic", qdisc=qdisc, rate=20, delay=12, at=at)


def test_a_capture_is_laid_over_its_own_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SCENARIO.format(cc="prague", qdisc="dualpi2", rate=20, delay=12, at="sender")
    (tmp_path / "a.toml").write_text(text.replace('"8s"', '"16s"').replace('stop = "6s"\n', ""))
    assert call(["run", str(tmp_path / "a.toml"), "--out", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    arguments = [str(tmp_path / "r"), str(tmp_path / "r/a/sent.pcapng")]
    report = tmp_path / "c.json"
    assert call(["compare", *arguments, "--json", "--report", str(report)]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert len(run["flows"]) == 2
    for flow in run["flows"]:
        ours, theirs = flow["goodput_mbps"]["a"], flow["goodput_mbps"]["b"]
        assert theirs == pytest.approx(ours, rel=0.01)
        ours, theirs = flow["tcp_rtt_ms"]["mean"]["a"], flow["tcp_rtt_ms"]["mean"]["b"]
        assert theirs == pytest.approx(ours, rel=0.01)
        assert flow["retransmits"]["a"] == flow["retransmits"]["b"]
    (figure,) = json.loads(report.read_text())["sections"][1]["figures"][0]["columns"][0]
    sides = [one.get("side", 0) for plot in figure["plots"] for one in plot["series"]]
    assert sides.count(0) == sides.count(1) == 4
    assert call(["compare", *reversed(arguments), "--json"]) == 0
