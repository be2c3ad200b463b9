"""Rows of the hackathon suite: the deck's numbers and sentences."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn.fidelity import measures as m
from sojourn.fidelity.row import Row, above, below, between
from sojourn.metrics import Window

DECK = "IETF-106 hackathon deck, SCE team"
OVERSHOOT = 'sce-l4s-bakeoff README: "these pacing settings have been shown to help avoid overshoot for SCE"'
RAW = "rrul_be file of the ect1 era in Flent's tests"

JITTER = (
    "the deck has one number for slots and jitter together, and it is that of slots "
    "(docs/results/hackathon.md#slots-or-jitter): 6.0 Mbit/s with a threshold, 8.8 with a ramp, 33 with COBALT2. "
    "No jitter of netem leaves less than 32, whatever its size (0.5 to 10 ms), correlation and distribution, or "
    "24 where a rate keeps the order; Linux 7.2 with a threshold leaves CUBIC and DCTCP 2.5 and 4.0 behind slots, "
    "28 and 38 behind jitter. Jitter spreads packets where slots bunch them: the queue is 2 ms long on average, "
    "and the 6 % of marks are what holds a window of 410 segments on a full link; the slots' bursts mark 19 %, "
    "which holds 71"
)

#: Why a row misses its tolerance or cannot be run, by key or by id.
EXPLANATIONS: dict[str, str] = {
    "H1/jitter": JITTER,
    "H1/threshold-jitter": JITTER,
    "H2/jitter": "more than the interval admits, not less: the link is full, for the reason of H1/jitter",
    "H9/80ms": "fewer bursts reach the ramp during slow start, so that it ends a round trip later, with 690 segments "
    "for 400 with Linux's own ratios (170 unpaced): 50 ms for 20, 0.2 s above 5 ms either way. From then on the ratio "
    "of 40 % holds the queue at 0.7 ms for 2.9",
    "H8/lfq_cobalt": "the mechanism that the deck names: the ACKs are one of 51 bulk flows, so that 186 of them a "
    "second get through 5 Mbit/s, each for about two segments: 4.3 Mbit/s. Behind fq_codel the flow sends five times "
    "as many ACKs, CoDel drops most, and each that is left covers more",
}

WHOLE: Window = (5.0, 65.0)
SETTLED: Window = (15.0, 64.0)


def _competition(queue: str, scenario: str = "competition") -> str:
    return f"hackathon/{scenario}/cubic-vs-reno-sce/{queue}/10ms"


def rows() -> Iterable[Row]:
    """All of them."""
    alone = m.mean_goodput("reno-sce", SETTLED)
    for row, part, marker, expected, low, high in (
        # The deck has one number for "threshold or RED marking".
        ("H1", "threshold-", "threshold", 7.0, 4, 12),
        ("H1", "", "ramp", 7.0, 4, 12),
        ("H2", "", "cobalt2", 40.0, 30, 47),
    ):
        for path in ("slot", "jitter"):
            # And one for both modes of netem.
            yield Row(row, f"{part}{path}", "B", DECK, f"hackathon/bursty-link/{marker}/{path}/80ms",
                      f"goodput of Reno-SCE over 80 ms behind netem's {path} mode, SCE by {marker}", "Mbit/s",
                      expected, between(low, high), alone)  # fmt: skip
    ratio = m.ratio_of("reno-sce", "cubic", (25.0, 65.0))
    shared = m.jain("cubic", "reno-sce")
    for part, scenario, cubic in (("", "competition", "CUBIC"), ("accecn", "accecn", "CUBIC over AccECN")):
        one_queue = _competition("sce-1q", scenario)
        yield Row("H3", part, "C", DECK, one_queue,
                  f"goodput of Reno-SCE over that of {cubic} in one SCE queue: gives way", "1",
                  "< 0.6", below(0.6), ratio)  # fmt: skip
        if not part:
            yield Row("H4", "", "C", DECK, _competition("rfc3168-1q"),
                      "Jain index of CUBIC and Reno-SCE in one RFC 3168 queue, H2", "1",
                      "> 0.85", above(0.85), shared)  # fmt: skip
        yield Row("H5", part, "C", DECK, _competition("fq", scenario),
                  f"Jain index of {cubic} and Reno-SCE in fair queues, H2", "1",
                  "> 0.97", above(0.97), shared)  # fmt: skip
        yield Row("H6", part, "C", DECK, _competition("cnq", scenario),
                  f"how far Reno-SCE gives way to {cubic} in CNQ: its ratio over that in one SCE queue", "1",
                  "> 1", above(1), m.quotient(ratio, ratio), others=(one_queue,))  # fmt: skip
    start = m.peak(("reno-sce",), (5.0, 15.0))
    for rtt in ("10ms", "80ms"):
        run, default = (f"hackathon/pacing/{how}/oneflow/{rtt}" for how in ("fq", "fq-default-ratios"))
        yield Row("H9", rtt, "C", OVERSHOOT, run,
                  f"peak of RTT in slow start, {rtt}, paced by 40/100 over paced by Linux's 120/200", "1",
                  "< 1", below(1), m.quotient(start, start), others=(default,))  # fmt: skip
    wait = m.ping("ping", 99, (25.0, 64.0), above_path=True)
    for rate in ("50Mbit", "10Mbit"):
        run, whole = (f"hackathon/gso/{how}/{rate}/20ms" for how in ("split", "whole"))
        yield Row("H10", rate, "I", f"{DECK}: \"Implemented GSO Splitting, and tested expected behaviour\"", run,
                  f"p99 of a ping's wait beside CUBIC and Reno-SCE in CNQ, {rate}: super-packets split over whole", "1",
                  "< 1", below(1), m.quotient(wait, wait), others=(whole,))  # fmt: skip
    rrul = "hackathon/asymmetric/rrul_be/lfq_cobalt/20ms"
    yield Row("H7", "down", "A", RAW, rrul, "sum of four downloads, 10 Mbit/s, of CUBIC-SCE over lfq_cobalt", "Mbit/s",
              6.7, between(5, 9.3), m.sum_of("be-down-", WHOLE))  # fmt: skip
    yield Row("H7", "up", "A", RAW, rrul, "sum of four uploads, 1 Mbit/s", "Mbit/s",
              0.84, between(0.6, 0.95), m.sum_of("be-up-", WHOLE))  # fmt: skip
    yield Row("H7", "ping", "A", RAW, rrul, "ping beside them, p99", "ms",
              73.0, below(120), m.ping("be-icmp", 99, WHOLE))  # fmt: skip
    for queue in ("fq_codel", "lfq_cobalt", "cnq_cobalt"):
        run = f"hackathon/asymmetric/1-vs-50/{queue}/20ms"
        yield Row("H8", queue, "I", "not published", run,
                  f"one download beside 50 uploads over 50/5 Mbit/s, {queue}, as a share of its capacity", "1",
                  "> 0.2", above(0.2), m.share_of("down", 50.0, SETTLED))  # fmt: skip
