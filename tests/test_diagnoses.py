"""Each diagnosis has a capture that shows it, and one that nearly does and must not.

Captures are made packet by packet, or by the simulator where the sender's law is what shows. The two of a pair differ
in what their lines differ in, and in nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import one_flow
import packets
from packets import ACK, CE, ECE, ECT0, ECT1, NOT_ECT, PSH, SYN, Packet
from senders import ACCECN, CLASSIC, CLIENT, LENGTH, Receiver, accecn, connection, first, of_rounds
from sojourn.cli import call

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[1]
LEVEL = [40] * 60


def ece(_: Receiver) -> tuple[int, bytes]:
    return ECE, b""


def ece_at_ce(seen: Receiver) -> tuple[int, bytes]:
    return (ECE if seen.ecn == CE else 0), b""


def to_ect0(ecn: int) -> int:
    return ECT0 if ecn == ECT1 else ecn


def to_none(ecn: int) -> int:
    return NOT_ECT if ecn == ECT1 else ecn


def l4s(**settings: Any) -> list[Packet]:
    """ECT(1) and AccECN."""
    return connection(LEVEL, **{"ecn": ECT1, "opening": ACCECN, "feedback": accecn(), **settings})


def missing(every: int) -> list[Packet]:
    """A capture that lacks one data packet of `every`; all of them arrive."""
    made = connection(LEVEL)
    data = [packet for packet in made if len(packet[1]) > LENGTH]
    gone = set(map(id, data[every // 2 :: every]))
    return [packet for packet in made if id(packet) not in gone]


def tunnel(*, outer: int, inner: int) -> list[Packet]:
    """IP in IP; these are the codepoints of what has data."""
    ends = ("192.0.2.1", "192.0.2.2")
    made = connection(LEVEL, ecn=inner)
    return [(t, packets.ip(*ends, 4, outer if len(data) > LENGTH else NOT_ECT, data)) for t, data in made]


# Of each: packets of what shows it, and of what must not.
MADE: dict[str, tuple[Callable[[], list[Packet]], Callable[[], list[Packet]]]] = {
    # The window is 25 times 2/p, or three times.
    "marks-without-response": (
        lambda: connection([100] * 40, ce=first(50), feedback=ece_at_ce),
        lambda: connection([20] * 40, ce=first(6), feedback=ece_at_ce),
    ),
    # ECE whatever CWR says, or for the marks that nine of ten packets have.
    "ece-always": (
        lambda: connection(LEVEL, cwr=first(1), feedback=ece),
        lambda: connection(LEVEL, cwr=first(1), ce=first(36), feedback=ece_at_ce),
    ),
    # Behind a queue that grows to 25 ms, or none.
    "bottleneck-without-ecn": (
        lambda: connection(LEVEL, rtt=lambda r: 0.02 + 0.005 * (r % 6), lost=of_rounds(6)),
        lambda: connection(LEVEL, lost=of_rounds(6)),
    ),
    # The same without ECT; behind a queue that grows to 5 ms.
    "losses-without-queue": (
        lambda: connection(LEVEL, ecn=NOT_ECT, lost=of_rounds(6)),
        lambda: connection(LEVEL, ecn=NOT_ECT, rtt=lambda r: 0.02 + 0.001 * (r % 6), lost=of_rounds(6)),
    ),
    # The server's answer is RFC 3168's. The other client asked for no more.
    "fallback-3168": (
        lambda: connection(LEVEL, opening=(ACCECN[0], CLASSIC[1])),
        lambda: connection(LEVEL, opening=CLASSIC),
    ),
    # No server answers with ECE and CWR to a client that asks for RFC 3168; with none it has no ECN.
    "accecn-mangled": (
        lambda: connection(LEVEL, opening=(CLASSIC[0], ACCECN[1])),
        lambda: connection(LEVEL, opening=(ACCECN[0], SYN | ACK)),
    ),
    # Counted as Not-ECT, or as it was sent.
    "bleached-by-feedback": (lambda: l4s(feedback=accecn(counted=to_none)), l4s),
    # ECT(1) became ECT(0), or was ECT(0).
    "re-marked-by-feedback": (lambda: l4s(feedback=accecn(counted=to_ect0)), lambda: l4s(ecn=ECT0)),
    # ACKs of 20 packets, of which none is marked, or one.
    "phantom-ce": (lambda: l4s(each=20), lambda: l4s(each=20, ce=lambda _, k: k % 20 == 0)),
    # The window is all that the receiver offers, or 80 % of it.
    "receiver-limited": (lambda: connection(LEVEL, offered=40_960), lambda: connection(LEVEL, offered=51_200)),
    # Every third round trip begins late, or every fifth.
    "application-limited": (
        lambda: connection(LEVEL, pause=lambda r: 0.06 * (r % 3 == 2)),
        lambda: connection(LEVEL, pause=lambda r: 0.06 * (r % 5 == 4)),
    ),
    # Packets come late, or not at all.
    "reordering-as-loss": (
        lambda: connection(LEVEL, late=of_rounds(6)),
        lambda: connection(LEVEL, lost=of_rounds(6)),
    ),
    # One in five hundred, or in two thousand.
    "capture-incomplete": (lambda: missing(500), lambda: missing(2000)),
    # Twelve packets at once, or four.
    "offload-trains": (
        lambda: connection([12] * 60, spread=0.01),
        lambda: connection([4] * 60, spread=0.01),
    ),
    # Not-ECT outside, or copied.
    "ect-lost-in-tunnel": (lambda: tunnel(outer=NOT_ECT, inner=ECT0), lambda: tunnel(outer=ECT0, inner=ECT0)),
    # Marked outside alone, or on both.
    "ce-outside-tunnel": (lambda: tunnel(outer=CE, inner=ECT0), lambda: tunnel(outer=CE, inner=CE)),
}


def never(_: int) -> bool:
    return False


def every(step: int) -> Callable[[int], bool]:
    return lambda n: n % step == 0


def other_flag(data: bytes, flag: int) -> bytes:
    return data[:33] + bytes((data[33] ^ flag,)) + data[34:]


def between(
    *,
    sent: int = ECT1,
    cleared: Callable[[int], bool] = never,
    codepoint: int = NOT_ECT,
    marked: Callable[[int], bool] = never,
    flag: int = 0,
    flipped: Callable[[int], bool] = never,
    queue: Callable[[int], float] = lambda _: 0.0002,
) -> tuple[list[Packet], list[Packet]]:
    """Captures at a sender and 10 ms behind it. Data of some numbers are marked before both, some have another
    codepoint at the second; a flag of some ACKs is turned over on their way. `queue` is the delay of data beyond the
    10 ms, s.
    """
    near, far = [], []
    numbers = count(), count()
    for t, data in connection([40] * 50, ecn=sent, opening=ACCECN, feedback=accecn()):
        n = next(numbers[len(data) > LENGTH])
        if len(data) > LENGTH:
            before = packets.with_ecn(data, CE) if marked(n) else data
            near.append((t, before))
            far.append((t + 0.01 + queue(n), packets.with_ecn(before, codepoint) if cleared(n) else before))
        elif data[12:16] == packets.address(CLIENT[0]):
            near.append((t, data))
            far.append((t + 0.01, data))
        else:
            near.append((t, other_flag(data, flag) if flipped(n) else data))
            far.append((t - 0.009, data))
    return near, sorted(far, key=lambda packet: packet[0])


# Two captures.
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # One in fifty, or in two hundred.
    "bleached": ({"cleared": every(50)}, {"cleared": every(200)}),
    # ECT(1) that becomes ECT(0); ECT(0) that becomes ECT(1) is SCE's mark.
    "re-marked": (
        {"cleared": every(50), "codepoint": ECT0},
        {"cleared": every(50), "sent": ECT0, "codepoint": ECT1},
    ),
    # A flag of ECN, or another one.
    "flags-changed": ({"flag": ECE, "flipped": every(50)}, {"flag": PSH, "flipped": every(50)}),
    # With the same marks, a queue that is none, and one of 4 ms that one packet in twenty meets.
    "queue-not-here": (
        {"marked": every(50)},
        {"marked": every(50), "queue": lambda n: 0.0002 + 0.004 * (n % 20 == 0)},
    ),
}

# Runs of the simulator.
RUNS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    # The same marks, answered in proportion or by halves.
    "l4s-works": ({"cc": "prague", "qdisc": "dualpi2"}, {"cc": "cubic", "qdisc": "dualpi2"}),
    # The same random losses at a constant window and at BBR.
    "unresponsive": (
        {"cc": "fixed window 30", "qdisc": "pfifo", "loss": "0.5%"},
        {"cc": "bbr version v1", "qdisc": "pfifo", "loss": "0.5%"},
    ),
    # Feedback of SCE to a controller that does not know it, and to one that does.
    "sce-marks-not-answered": (
        {"cc": "reno", "qdisc": "fq_codel sce_threshold 1ms", "ecn": "sce"},
        {"cc": "reno-sce", "qdisc": "fq_codel sce_threshold 1ms", "ecn": "sce"},
    ),
}


def found(capture: list[Packet], to: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Kinds of diagnoses of a capture's flow."""
    return one_flow.kinds(one_flow.analysed(packets.write(to / "made.pcap", capture), capsys))


@pytest.mark.parametrize("kind", MADE)
def test_packets_show_it_and_nearly_the_same_ones_do_not(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, near = MADE[kind]
    assert kind in found(shown(), tmp_path, capsys)
    assert kind not in found(near(), tmp_path, capsys)


@pytest.mark.parametrize("kind", PAIRS)
def test_two_captures_show_it_and_nearly_the_same_ones_do_not(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for settings, is_shown in zip(PAIRS[kind], (True, False), strict=True):
        files = [
            str(packets.write(tmp_path / f"{name}.pcap", made))
            for name, made in zip("ab", between(**settings), strict=True)
        ]
        assert call(["pcap", "--pair", *files, "--json"]) == 0
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        kinds = {each["kind"] for way in ("forward", "backward") for each in flow[way]["diagnoses"]}
        assert (kind in kinds) == is_shown, kinds


@pytest.mark.parametrize("kind", RUNS)
def test_a_sender_shows_it_and_nearly_the_same_one_does_not(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load = ("--load", str(ROOT / "tests/captures/fixed.py"))
    for settings, is_shown in zip(RUNS[kind], (True, False), strict=True):
        kinds = one_flow.kinds(one_flow.captured(tmp_path / str(is_shown), capsys, *load, **settings))
        assert (kind in kinds) == is_shown, kinds


def test_no_diagnosis_is_without_such_captures() -> None:
    page = (ROOT / "docs/guide/diagnoses.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert sorted(kinds) == sorted([*MADE, *PAIRS, *RUNS])
