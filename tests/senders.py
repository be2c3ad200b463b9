"""A connection round trip by round trip, as a capture at its sender has it: each packet's fate is chosen by a test."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import packets
from packets import ACK, CE, CWR, ECE, ECT0, SYN, Packet, tcp

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 80)
START = 1_600_000_000.0
LENGTH = 1000
ISN = 1000
# Shift of the windows that both ends offer.
SHIFT = 7
# AE, CWR and ECE of an end that speaks RFC 3168, and AccECN's counter of CE packets at its begin (RFC 9768 3.2.1).
CLASSIC = (SYN | CWR | ECE, SYN | ACK | ECE)
ACCECN = (SYN | packets.AE | CWR | ECE, SYN | ACK | CWR)
FIRST_CEP = 5

# Whether something happens to packet `n` of round trip `r`, both from 0.
Fate = Callable[[int, int], bool]


def none(_r: int, _n: int) -> bool:
    return False


def first(packets: int) -> Fate:
    """The first ones of each round trip."""
    return lambda _, n: n < packets


def of_rounds(step: int) -> Fate:
    """The first packet of the last of every `step` round trips."""
    return lambda r, n: n == 0 and r % step == step - 1


@dataclass
class Receiver:
    """What has arrived, and what its next acknowledgement says."""

    expected: int = ISN + 1
    early: set[int] = field(default_factory=set)
    count: Counter[int] = field(default_factory=Counter)
    # Of the last packet.
    ecn: int = 0

    def take(self, seq: int, ecn: int) -> bytes:
        """The SACK option that a data packet is answered with: a duplicate (RFC 2883), then what is behind holes."""
        self.ecn = ecn
        self.count[ecn] += 1
        again = seq < self.expected or seq in self.early
        self.early.add(seq)
        while self.expected in self.early:
            self.early.remove(self.expected)
            self.expected += LENGTH
        blocks = [(seq, seq + LENGTH)] if again else []
        if self.early:
            blocks.append((min(self.early), max(self.early) + LENGTH))
        return b"\1\1" + packets.sack(*blocks) if blocks else b""


Feedback = Callable[[Receiver], tuple[int, bytes]]


def silent(_: Receiver) -> tuple[int, bytes]:
    """Flags and options that say nothing."""
    return 0, b""


def accecn(*, counted: Callable[[int], int] = lambda ecn: ecn, ace: bool = True) -> Feedback:
    """AccECN's counters (RFC 9768 3.2); of data with a codepoint the option counts what `counted` makes of it."""

    def say(seen: Receiver) -> tuple[int, bytes]:
        cep = (FIRST_CEP + (seen.count[CE] if ace else 0)) % 8
        counters: Counter[int] = Counter({packets.ECT0: 1, packets.ECT1: 1})
        for ecn, n in seen.count.items():
            counters[counted(ecn)] += n * LENGTH
        three = b"".join(struct.pack("!I", counters[ecn])[1:] for ecn in (packets.ECT0, CE, packets.ECT1))
        flags = (packets.AE if cep & 4 else 0) | (CWR if cep & 2 else 0) | (ECE if cep & 1 else 0)
        return flags, struct.pack("!BB", 172, 11) + three

    return say


def connection(
    windows: Iterable[int],
    *,
    rtt: Callable[[int], float] = lambda _: 0.02,
    spread: float = 0.9,
    pause: Callable[[int], float] = lambda _: 0.0,
    ecn: int = ECT0,
    opening: tuple[int, int] = CLASSIC,
    offered: int = 1 << 20,
    ce: Fate = none,
    lost: Fate = none,
    late: Fate = none,
    cwr: Fate = none,
    feedback: Feedback = silent,
    each: int = 1,
) -> list[Packet]:
    """Sends `windows` packets in each round trip, over this part of it, and waits for the pause behind it.

    Some arrive with CE, or never, or later than the three behind them: the sender takes both for lost. Every `each`-th
    is acknowledged, and any beside a hole. `offered` is the receiver's window, bytes.
    """
    offer = packets.mss(LENGTH) + struct.pack("!BBBBBB", 3, 3, SHIFT, 1, 4, 2)
    first = rtt(0)
    made = [
        tcp(START, CLIENT, SERVER, seq=ISN, flags=opening[0], options=offer),
        tcp(START + first, SERVER, CLIENT, seq=5000, ack=ISN + 1, flags=opening[1], options=offer),
        tcp(START + first, CLIENT, SERVER, seq=ISN + 1, ack=5001),
    ]
    arrivals: list[tuple[float, int, int, float]] = []
    at, seq = START + first + 0.001, ISN + 1
    for r, window in enumerate(windows):
        took = rtt(r)
        gap = took * spread / window
        for n in range(window):
            sent = at + n * gap
            flags = ACK | (CWR if cwr(r, n) else 0)
            made.append(tcp(sent, CLIENT, SERVER, seq=seq, ack=5001, flags=flags, ecn=ecn, length=LENGTH))
            again = sent + took + 4 * gap
            if lost(r, n) or late(r, n):
                made.append(tcp(again, CLIENT, SERVER, seq=seq, ack=5001, ecn=packets.NOT_ECT, length=LENGTH))
                arrivals.append((again + took, seq, packets.NOT_ECT, again))
            if not lost(r, n):
                behind = 6 * gap if late(r, n) else 0.0
                arrivals.append((sent + took + behind, seq, CE if ce(r, n) else ecn, sent))
            seq += LENGTH
        at += took + pause(r)
    receiver = Receiver()
    for n, (answered, number, codepoint, _) in enumerate(sorted(arrivals)):
        sacks = receiver.take(number, codepoint)
        if sacks or n % each == each - 1:
            flags, said = feedback(receiver)
            made.append(
                tcp(
                    answered,
                    SERVER,
                    CLIENT,
                    seq=5001,
                    ack=receiver.expected,
                    flags=ACK | flags,
                    options=sacks + said,
                    window=offered >> SHIFT,
                )
            )
    return sorted(made, key=lambda packet: packet[0])
