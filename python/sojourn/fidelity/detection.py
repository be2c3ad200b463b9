"""Rows of ect1 on Prague's detector of classic queues: false negatives, false positives, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn.fidelity import measures as m
from sojourn.fidelity.row import RawData, Row, Tolerance, at_least, between, t1
from sojourn.suites.ect1 import L4S_QUEUES, RTTS_MS, SHIFT_LENGTH_S

#: The document counts a detection as right or wrong; a mode that lasts most of the time is the one it names.
CLASSIC, L4S = Tolerance("most of the time: ≥ 0.5", low=0.5), Tolerance("least of the time: < 0.5", high=0.5 - 1e-9)

#: Where the raw data of the measured runs are.
RERUN = "L4STeam/l4steam.github.io, ect1-tests"
RAW = "sce-l4s-ect1 L4S rerun, Flent files of 25 April 2020: what Prague keeps of cwnd at a cut"
REPORT = "sce-l4s-ect1 README"
FINDING = f"{REPORT}, key finding 1"

#: What Prague keeps of cwnd at a cut in the measured runs (median over the cuts, 20 and 80 ms; None without a cut),
#: over queues that mark. In classic mode it keeps 0.6875 and what grows in that round trip, in L4S mode 1 - alpha / 2.
KEPT: dict[str, tuple[float, float | None]] = {
    "dualpi2": (0.92, 0.94),
    "codel1q": (0.73, 0.70),
    "codel1q-40ms": (0.73, 0.70),
    "codel1q-20ms": (0.94, None),
    "red-400000": (0.73, 0.70),
    "red-150000": (0.74, 0.70),
    "pie": (0.71, 0.70),
    "pie-100p-5ms": (0.73, 0.70),
    "pie-1000p-20ms": (0.71, 0.69),
}
#: The cuts of these are answers to drops, 0.5 in either mode.
DROPPING = ("pfifo-1000", "pfifo-50", "pie-noecn", "pie-100p-20ms")
#: Detected by the text, where nothing was measured (160 ms).
DETECTED = ("codel1q", "pie")
UNDETECTED = ("dualpi2", "codel1q-20ms", *DROPPING)

#: How often one cut of the measured run keeps more of cwnd than classic mode does and the next one less, or the other
#: way round, by RTT in ms.
CLASSIC_KEEPS = 0.85
MEASURED_FLIPS = {20: 2, 80: 4}


def rows() -> Iterable[Row]:
    """All of them."""
    yield from _competing()
    yield from _shift()
    yield from _alone()


def _s2(queue: str, rtt: int) -> str:
    return f"ect1/l4s-s2-twoflow/cubic-vs-prague/{queue}/{rtt}ms"


def _expected(queue: str, rtt: int) -> tuple[str, str, Tolerance | None]:
    """Grade, source, and the mode that Prague is expected to be in."""
    if queue in DROPPING:
        return "B", f"{REPORT}, Desensitisation", L4S
    if rtt in (20, 80):
        kept = KEPT[queue][rtt == 80]
        return "A", RAW, L4S if kept is None or kept > CLASSIC_KEEPS else CLASSIC
    if queue in DETECTED:
        return "B", f"{REPORT}, Utopia", CLASSIC
    if queue in UNDETECTED:
        return "B", FINDING if queue != "dualpi2" else f"{REPORT}, Utopia", L4S
    return "B", "not reported", None


def _measured_flips(rtt: int) -> RawData | None:
    """What the cuts of the measured run over RED with the smaller limit say."""
    flips = MEASURED_FLIPS.get(rtt)
    if flips is None:
        return None
    name = f"l4s-s2-twoflow-ns-cubic-vs-prague-red_150000_-{rtt}ms"
    return RawData(flips, f"cuts of cwnd in this run's Flent file ({RERUN}) change {flips} times between those of the "
                    "two modes; the document shows the oscillation at 80 ms: `sojourn import flent "
                    f"{name}.flent.gz -o measured`, `sojourn plot measured -p flow.prague.cwnd`")  # fmt: skip


def _competing() -> Iterable[Row]:
    for queue, _, _ in L4S_QUEUES:
        for rtt in RTTS_MS:
            grade, source, mode = _expected(queue, rtt)
            answer = {None: "-", L4S: "L4S mode", CLASSIC: "classic mode"}[mode]
            yield Row("E32", f"{queue}-{rtt}ms", grade, source, _s2(queue, rtt),
                      f"share of H2 in which Prague takes {queue} for a classic queue, {rtt} ms", "1",
                      answer, mode, m.classic_share("prague"))  # fmt: skip
            yield Row("E32", f"{queue}-{rtt}ms-after", "B", "not reported", _s2(queue, rtt),
                      f"time from Prague's start until it first does, {queue}, {rtt} ms "
                      f"({m.NO_MODE_S:g}: never)", "s",
                      "-", None, m.mode_after("prague", m.SECOND_START_S, classic=True))  # fmt: skip
            oscillates = queue == "red-150000"
            yield Row("E32", f"{queue}-{rtt}ms-flips", "B",
                      f"{REPORT}, Figure 2: can oscillate" if oscillates else "not reported", _s2(queue, rtt),
                      f"changes between the two modes, {queue}, {rtt} ms, whole run", "1",
                      "≥ 3" if oscillates else "-", at_least(3) if oscillates else None,
                      m.total("flow.prague.cc.classic_flips"),
                      raw_data=_measured_flips(rtt) if oscillates else None)  # fmt: skip
    for queue, by_rtt in KEPT.items():
        for rtt, kept in zip((20, 80), by_rtt, strict=True):
            if kept is not None:
                yield Row("E33", f"{queue}-{rtt}ms", "A", RAW, _s2(queue, rtt),
                          f"share of cwnd that Prague keeps at a cut by 4 % or more, {queue}, {rtt} ms, median", "1",
                          kept, t1(kept), m.kept_at_cuts("prague"))  # fmt: skip


def _shift() -> Iterable[Row]:
    copes, cycles = f"{REPORT}, Utopia: successfully copes", f"{REPORT}: a number of seconds, several sawtooth cycles"
    for rtt, length in SHIFT_LENGTH_S.items():
        run = f"ect1/l4s-s3-bottleneck-shift/prague/50Mbit/{rtt}ms"
        third = length // 3
        yield Row("E34", f"{rtt}ms-pie", "B", copes, run,
                  f"share of the second half of the time over pie noecn in which Prague takes it for classic, {rtt} ms",
                  "1", "classic mode", CLASSIC,
                  m.classic_share("prague", (1.5 * third, 2 * third)))  # fmt: skip
        yield Row("E34", f"{rtt}ms-pie-after", "B", "not reported", run,
                  f"time from the change to pie noecn until it first does, {rtt} ms", "s",
                  "-", None, m.mode_after("prague", third, classic=True))  # fmt: skip
        yield Row("E34", f"{rtt}ms-back", "B", cycles, run,
                  f"time from the return to dualpi2 until Prague is in L4S mode, {rtt} ms", "s",
                  f"1 to {third}", between(1, third), m.mode_after("prague", 2 * third, classic=False))  # fmt: skip
        yield Row("E34", f"{rtt}ms-flips", "B", "not reported", run,
                  f"changes between the two modes, {rtt} ms, whole run", "1",
                  "-", None, m.total("flow.prague.cc.classic_flips"))  # fmt: skip


def _alone() -> Iterable[Row]:
    for rate in (5, 50, 250):
        for rtt in RTTS_MS:
            # The document names 5 Mbit/s at 80 and 160 ms and is silent on 20 ms.
            mode = L4S if rate > 5 else CLASSIC if rtt > 20 else None
            yield Row("E35", f"{rate}Mbit-{rtt}ms", "B", FINDING if rate == 5 else f"{REPORT}, Utopia",
                      f"ect1/l4s-s1-oneflow/prague/dualpi2/{rate}Mbit/{rtt}ms",
                      f"share of H2 in which Prague takes dualpi2 for a classic queue, {rate} Mbit/s, {rtt} ms", "1",
                      {None: "-", L4S: "L4S mode", CLASSIC: "classic mode"}[mode], mode,
                      m.classic_share("prague"))  # fmt: skip
    for rtt in (20, 80):
        yield Row("E35", f"wifi-{rtt}ms", "B", f"{REPORT}, False positives",
                  f"ect1/l4s-s5-burstiness/prague/dualpi2/50Mbit/{rtt}ms",
                  f"the same behind Wi-Fi-like slots, 50 Mbit/s, {rtt} ms", "1",
                  "classic mode", CLASSIC, m.classic_share("prague"))  # fmt: skip
    for mean, spread in ((2, 1), (4, 2), (10, 5)):
        # "2ms or more of jitter": netem's second value is the jitter.
        mode = CLASSIC if spread >= 2 else L4S
        yield Row("E35", f"jitter-{spread}ms", "B", FINDING,
                  f"ect1/l4s-s6-jitter/prague/dualpi2/50Mbit/80ms/netem-delay-{mean}ms-{spread}ms-10",
                  f"the same with {spread} ms of jitter each way, 50 Mbit/s, 80 ms", "1",
                  "classic mode" if spread >= 2 else "L4S mode", mode, m.classic_share("prague"))  # fmt: skip
