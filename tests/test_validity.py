"""What was checked against a kernel is what is drawn, and what lies outside is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn import _core, conditions, validity
from sojourn.scenario import Scenario

DRAWN = [_core.draw("linux", 5, index)[0] for index in range(400)]
PLAIN = """
name = "plain"
duration = "1s"
[tcp]
era = "7.x"
[[link]]
name = "bneck"
rate = "50Mbit"
delay = "10ms"
qdisc = "fq_codel"
[[flow]]
name = "f0"
cc = "cubic"
"""


def outside(changes: dict[str, str]) -> tuple[str, ...]:
    found = validity.outside(Scenario(PLAIN, "plain.toml").resolve(changes).text)
    return found.reasons if found else ()


def test_no_drawn_case_is_outside() -> None:
    assert [str(found) for text in DRAWN if (found := validity.outside(text))] == []


def test_the_ranges_are_those_of_the_cases() -> None:
    # An end that no case comes near would claim what nothing has checked.
    rates = [rate for text in DRAWN for rate in conditions.of_scenario(text).rates_mbps]
    rtts = [rtt for text in DRAWN for rtt in conditions.of_scenario(text).base_rtts_ms]
    assert min(rates) < 4 * validity.RATE_MBPS[0]
    assert max(rates) > 0.8 * validity.RATE_MBPS[1]
    assert min(rtts) < 1.5 * validity.RTT_MS[0]
    assert max(rtts) > 0.6 * validity.RTT_MS[1]
    texts = "".join(DRAWN)
    for names, key in ((validity.QUEUES, "qdisc"), (validity.CONTROLLERS, "cc"), (validity.SHAPERS, "shaper")):
        assert set(re.findall(rf'^{key} = "(\w+)', texts, re.MULTILINE)) == names
    assert set(re.findall(r'^app = "(\w+)', texts, re.MULTILINE)) == validity.APPS


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("link.bneck.rate", "10Gbit", "10000 Mbit/s"),
        ("link.bneck.delay", "400ms", "RTT 800 ms"),
        ("link.bneck.qdisc", "deltic", "deltic"),
        ("link.bneck.qdisc", "dualpi2 version 2020", "dualpi2 version 2020"),
        ("link.bneck.qdisc", "cake sce", "cake sce"),
        ("flow.f0.cc", "prague", "prague"),
        ("flow.f0.cc", "bbr version v3", "bbr version v3"),
        ("flow.f0.flows", "33", "33 flows"),
        ("tcp.era", "2019", "era 2019"),
    ],
)
def test_what_lies_outside_is_named(key: str, value: str, reason: str) -> None:
    assert outside({}) == ()
    assert any(found.startswith(reason) for found in outside({key: value})), outside({key: value})


def test_the_document_states_the_ranges() -> None:
    text = (Path(__file__).parent.parent / "docs" / "validity.md").read_text(encoding="utf-8")
    for name in validity.QUEUES | validity.CONTROLLERS | validity.APPS | validity.SHAPERS - {"none"}:
        assert f"`{name}`" in text
    for number in (*validity.RATE_MBPS, *validity.RTT_MS, validity.MOST_FLOWS):
        assert f"{number:g}" in text
