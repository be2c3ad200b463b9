"""SCReAM in front of an encoder of one's own.

    tx = Sender("ect1 max_rate 50Mbit", now_ns=time.monotonic_ns())
    tx.add_stream(ssrc, min_rate=500e3, init_rate=2e6, max_rate=50e6)
    ...
    target = tx.target(now, ssrc)             # before each frame
    tx.push(now, rtp_packet)                  # marker bit on the last of a frame
    packet, again = tx.next(now)              # until packet is None; then at `again`, or after news
    tx.feedback(now, rtcp_datagram)

No socket, thread or clock inside: `now_ns` is `time.monotonic_ns()` or any other time that does not run backwards,
the same for all calls of one object. One thread at a time. docs/guide/scream-library.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sojourn import _core

__all__ = ["Leaves", "Receiver", "Sender", "Stats", "Target"]


class Target(NamedTuple):
    """What an encoder should do."""

    rate_bps: int
    """Payload rate, bit/s."""
    lost: bool
    """Packets were lost or thrown away since the last question: time for a key frame."""


class Leaves(NamedTuple):
    """What leaves now, or when to ask again."""

    packet: bytes | None
    again_ns: int | None
    """When to ask again if there is no packet; None: after the next push, feedback or arrival."""


@dataclass(frozen=True, slots=True)
class Stats:
    """State and totals of a sender."""

    pushed: int
    """Packets queued."""
    packets: int
    """Packets given out."""
    bytes: int
    """Their bytes with the RTP header."""
    discarded: int
    """Packets thrown out of the queues."""
    reports: int
    """Reports read."""
    lost: int
    """Packets declared lost."""
    cwnd: int
    """Bytes that may be in flight."""
    in_flight: int
    """Bytes in flight."""
    queue_delay_s: float
    """Estimate of the bottleneck's queue; NaN before the first feedback."""
    srtt_s: float
    """Smoothed RTT; NaN before the first feedback."""
    sent_rate_bps: float
    """Rate of all streams, bit/s."""
    ce_percent: float
    """Share of the acknowledged packets that came with CE, percent."""


class Sender:
    """The sending side; `words` are the parameters of `cc = "scream ..."` (`sojourn cc scream`)."""

    def __init__(self, words: str = "", *, now_ns: int) -> None:
        """Raises ScenarioError with one line about a word that cannot be used."""
        self._sender = _core.ScreamSender(words, now_ns)

    def add_stream(
        self, ssrc: int, *, min_rate: float, init_rate: float, max_rate: float, priority: float = 1.0
    ) -> None:
        """Adds a stream, at most ten. Rates are bit/s of payload, 1000 <= min <= init <= max."""
        self._sender.add_stream(ssrc, priority, min_rate, init_rate, max_rate)

    def push(self, now_ns: int, packet: bytes) -> bool:
        """Queues a whole RTP packet; False if the queue is full. ValueError if it is no packet of a stream."""
        return self._sender.push(now_ns, packet)

    def target(self, now_ns: int, ssrc: int) -> Target:
        """What the stream's encoder should aim at, to be asked before each frame."""
        return Target(*self._sender.target(now_ns, ssrc))

    def next(self, now_ns: int) -> Leaves:
        """The packet that leaves now, or when to ask again."""
        return Leaves(*self._sender.next(now_ns))

    def feedback(self, now_ns: int, datagram: bytes) -> None:
        """Reads an RTCP datagram (RFC 8888); ValueError if it is none."""
        self._sender.feedback(now_ns, datagram)

    @property
    def ecn(self) -> int:
        """ECN bits for the IP header of media packets: 0 Not-ECT, 1 ECT(1), 2 ECT(0)."""
        return self._sender.ecn

    def stats(self) -> Stats:
        """State and totals."""
        v = dict(self._sender.stats())
        return Stats(
            pushed=int(v["pushed"]),
            packets=int(v["packets"]),
            bytes=int(v["bytes"]),
            discarded=int(v["discarded"]),
            reports=int(v["reports"]),
            lost=int(v["lost"]),
            cwnd=int(v["cwnd"]),
            in_flight=int(v["in_flight"]),
            queue_delay_s=v["queue_delay_s"],
            srtt_s=v["srtt_s"],
            sent_rate_bps=v["sent_rate_bps"],
            ce_percent=v["ce_percent"],
        )


class Receiver:
    """The receiving side, with the same parameters (`version`, `reported`, `ackdiff`, `count`)."""

    def __init__(self, words: str = "", *, now_ns: int) -> None:
        """Raises ScenarioError with one line about a word that cannot be used."""
        self._receiver = _core.ScreamReceiver(words, now_ns)

    def arrived(self, now_ns: int, packet: bytes, tos: int) -> None:
        """An RTP packet arrived with this TOS or traffic class byte; ValueError if it is no RTP."""
        self._receiver.arrived(now_ns, packet, tos)

    def report(self, now_ns: int) -> Leaves:
        """The RTCP datagram that leaves now, or when to ask again."""
        return Leaves(*self._receiver.report(now_ns))
