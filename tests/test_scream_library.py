"""SCReAM as a library: the Python class, its example, and its refusals."""

from __future__ import annotations

import runpy
import struct
from pathlib import Path

import pytest

from sojourn import ScenarioError
from sojourn.scream import Receiver, Sender

EXAMPLES = Path(__file__).parents[1] / "examples"


def rtp(seq: int, ssrc: int = 1, payload: int = 100, marker: bool = True) -> bytes:
    return struct.pack("!BBHII", 0x80, 96 | (0x80 if marker else 0), seq, seq * 3000, ssrc) + bytes(payload)


def sender(words: str = "", **rates: float) -> Sender:
    tx = Sender(words, now_ns=0)
    tx.add_stream(1, **({"min_rate": 1e6, "init_rate": 1e6, "max_rate": 2e6} | rates))
    return tx


def test_the_example_follows_its_bottleneck(capsys: pytest.CaptureFixture[str]) -> None:
    targets = runpy.run_path(str(EXAMPLES / "scream_encoder.py"))["targets"]
    assert len(targets) == 20
    assert 10e6 < targets[9] < 20e6
    assert 2e6 < targets[19] < 5e6
    assert len(capsys.readouterr().out.splitlines()) == 20


def test_packets_leave_in_order_and_come_back_as_reports() -> None:
    tx, rx = sender(), Receiver(now_ns=0)
    pushed = [rtp(seq, marker=seq == 2) for seq in range(3)]
    assert all(tx.push(0, packet) for packet in pushed)
    now = 0
    left: list[bytes] = []
    while len(left) < 3:
        packet, again = tx.next(now)
        if packet is None:
            assert again is not None and again > now
            now = again
        else:
            left.append(packet)
            rx.arrived(now, packet, tx.ecn)
    assert left == pushed
    assert tx.stats().in_flight == 3 * 112
    report, again = rx.report(now)
    assert report is not None and again is None
    assert rx.report(now).packet is None
    tx.feedback(now + 10_000_000, report)
    stats = tx.stats()
    assert (stats.pushed, stats.packets, stats.bytes, stats.reports) == (3, 3, 336, 1)
    assert stats.in_flight == 0


def test_words_streams_and_bytes_that_cannot_be_used() -> None:
    with pytest.raises(ScenarioError, match="max_rate"):
        Sender("max_rat 5Mbit", now_ns=0)
    tx = sender()
    with pytest.raises(ValueError, match="there is such a stream"):
        tx.add_stream(1, min_rate=1e6, init_rate=1e6, max_rate=1e6)
    with pytest.raises(ValueError, match="min <= init <= max"):
        tx.add_stream(2, min_rate=2e6, init_rate=1e6, max_rate=3e6)
    with pytest.raises(ValueError, match="SSRC 9: no such stream"):
        tx.push(0, rtp(0, ssrc=9))
    with pytest.raises(ValueError, match="shorter than an RTP header"):
        tx.push(0, b"\x80")
    with pytest.raises(ValueError, match="no such stream"):
        tx.target(0, 3)
    with pytest.raises(ValueError, match="RTCP"):
        tx.feedback(0, rtp(0))
    with pytest.raises(ValueError, match="RTP"):
        Receiver(now_ns=0).arrived(0, b"", 0)


def test_a_full_queue_takes_no_more() -> None:
    tx = sender()
    taken = [tx.push(0, rtp(seq % 65536)) for seq in range(70_000)]
    assert taken[0] and not taken[-1]
    assert sum(taken) == tx.stats().pushed
