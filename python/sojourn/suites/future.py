"""future: what the authors of the bakeoff left as future work, inbox and issue, each question asked of three sides.

The sides are L4S (Prague over DualPI2), SCE (Reno-SCE over CNQ with COBALT2) and classic (CUBIC over
fq_codel, RFC 3168). No testbed has run these: they are experiments, not reproductions. All ends are
those of one kernel era, so that sides differ in controller, queue and feedback alone, and all
versions are the newest. Flows start at 0, a second one 10 s later; the window opens 10 s after the
last start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.scenario import to_toml
from sojourn.suites import Case, role
from sojourn.suites.ect1 import WIFI_SLOTS

#: What `cases` takes.
VARIANTS = {"current": "the only one"}

LENGTH_S = 40
SECOND_START_S = 10
SETTLE_S = 10
#: Of a change, and of the change back.
CHANGE_S, BACK_S = 15, 30
CHANGED_LENGTH_S = 45
RATE = "50Mbit"
START_JITTER = "20ms"
# A path of 600 ms needs more than the default window.
TCP = {"era": "7.x", "rmem_max": "64Mb", "wmem_max": "64Mb"}
GAMED_TOS = "0x04"
DOCSIS_SLOTS = "netem slot 2500us 12ms limit 10000"


@dataclass(frozen=True)
class Side:
    """An architecture: its controller, and its queue in tc's grammar, which shapes itself or is behind htb."""

    key: str
    cc: str
    qdisc: str
    shaper: bool

    def queue(self, rate: str, qdisc: str | None = None) -> dict[str, object]:
        """The keys of a link, or of its way back, that has this queue at a rate."""
        words = qdisc or self.qdisc
        if "{rate}" in words:
            return {"qdisc": words.format(rate=rate)}
        return {"rate": rate, "shaper": "htb", "qdisc": words}

    def change(self, rate: str) -> dict[str, object]:
        """What a schedule sets to give the queue another rate."""
        if self.shaper:
            return {"link.bneck.forward.qdisc": self.qdisc.format(rate=rate)}
        return {"link.bneck.forward.rate": rate}


SIDES = {
    "l4s": Side("l4s", "prague", "dualpi2", shaper=False),
    "sce": Side("sce", "reno-sce", "cnq_cobalt bandwidth {rate} sce-thresh 4", shaper=True),
    "classic": Side("classic", "cubic", "fq_codel", shaper=False),
}
CNQ_CODEL_AF = "cnq_codel_af bandwidth {rate} sce-thresh 4"
CAKE_FLOWS = "cake bandwidth {rate} sce flows besteffort"
CAKE = "cake bandwidth {rate} flows besteffort"
CAKE_RAMP = "cake bandwidth {rate} sce flowblind besteffort"
ONE_CODEL = "fq_codel flows 1"
CLASSIC_QUEUES = {"pie": "pie ecn", "red": "red limit 400000 avpkt 1000 adaptive bandwidth 50Mbit ecn"}

#: Heading and question of each scenario, in the order of the authors' lists.
SCENARIOS = {
    "slots": (
        "Bursty link by netem slots",
        "What do slots of a Wi-Fi or DOCSIS kind in front of the queue leave of each side's goodput, "
        "and does a ramp lose more than a second CoDel?",
    ),
    "cnq": (
        "CUBIC, joined by the new controller, over CNQ and the queues it stands between",
        "How far does an SCE flow give way to CUBIC over CNQ, which is nearly a FIFO, "
        "compared with a fair queue, DualPI2 and one CoDel queue?",
    ),
    "alpha": (
        "Prague's first alpha, 0 or 1",
        "What does the first alpha change in the ten seconds after a start, alone and beside CUBIC?",
    ),
    "two-classic": (
        "Two classic flows against one new one",
        "What share is left for one Prague or SCE flow beside two CUBIC flows (a third would be fair)?",
    ),
    "capacity": (
        "Capacity steps between 10 and 50 Mbit/s, up then down and down then up",
        "How much of the new capacity is used, and what does the step down cost in delay?",
    ),
    "rtt-step": (
        "The path's RTT rises from 20 to 80 ms and falls back",
        "Who fills the longer path, and who drains the queue that the shorter one makes of the same window?",
    ),
    "bidirectional": (
        "Four flows each way, rrul_be",
        "What does traffic in both directions cost in goodput and delay when ACKs share queues with data?",
    ),
    "asymmetric": (
        "Asymmetric link whose way back limits the ACKs",
        "Does a download fill 50 Mbit/s when its ACKs have 2 Mbit/s, or 1, which is less than they need?",
    ),
    "pie-red": (
        "PIE and RED as bottleneck of CUBIC and the new controller",
        "Who starves whom where the queue marks as RFC 3168 has it and knows nothing of L4S or SCE?",
    ),
    "shift": (
        "The bottleneck moves from the new queue to one CoDel queue and back",
        "Does the flow go from its own signal to classic CE and back without losing goodput or building a queue?",
    ),
    "many": (
        "Sixteen flows",
        "Do sixteen flows, all new or half of them CUBIC, still share the link and keep the queue short?",
    ),
    "loss": ("Random packet loss", "How much goodput does loss that is no congestion cost at 20 ms?"),
    "reorder": (
        "Packet reordering",
        "How much goodput does it cost if one packet in a hundred overtakes those of 2 or 10 ms?",
    ),
    "bandwidth": (
        "Very low and very high bandwidth",
        "Do the queue's and the controller's constants, chosen for tens of Mbit/s, fit 0.5 Mbit/s and 1 Gbit/s?",
    ),
    "rtt": (
        "Very low and very high RTT",
        "Do the same constants fit paths of 1 and 600 ms?",
    ),
    "multipath": (
        "Packets alternate between two paths of different delay",
        "Can one flow use two paths packet by packet, when one is 5 or 20 ms longer?",
    ),
    "asymmetric-delay": (
        "80 ms of RTT, divided between the directions",
        "Does it matter which direction has the delay?",
    ),
    "mangler": (
        "Beside CUBIC, a mangler rewrites the new flow's codepoint to ECT(0) or Not-ECT",
        "What becomes of a flow whose codepoint the path destroys, and of its neighbour?",
    ),
    "fq-harm": (
        "A call, a game and a video beside bulk flows, with flow queueing and without",
        "Does flow queueing do harm to periodic bursty flows?",
    ),
}
#: What flow queueing might harm: the video sends frames of 28 packets, key frames of 105.
PERIODIC = {"call": "voip", "game": "game", "video": "video rate 8Mbit fps 30"}
#: Bulk flows beside them: fair shares are 10 Mbit/s, more than the video needs, and 2.9.
BULK = (4, 16)


def cases(_variant: str = "current") -> list[Case]:
    """All runs, scenario by scenario; there is one variant."""
    return [
        *_slots(),
        *_cnq(),
        *_alpha(),
        *_two_classic(),
        *_capacity(),
        *_rtt_step(),
        *_bidirectional(),
        *_asymmetric(),
        *_pie_red(),
        *_shift(),
        *_many(),
        *_loss(),
        *_reorder(),
        *_bandwidth(),
        *_rtt(),
        *_multipath(),
        *_asymmetric_delay(),
        *_mangler(),
        *_fq_harm(),
    ]


def _slots() -> Iterator[Case]:
    for path, netem in (("wifi", WIFI_SLOTS), ("docsis", DOCSIS_SLOTS)):
        for name, side in SIDES.items():
            yield _case(
                f"{name}-slots/{path}/80ms",
                f"One {side.cc} flow behind {path} slots, 80 ms",
                [_link(side, 80, impair=netem)],
                [_flow(side.cc)],
            )
    side = SIDES["sce"]
    yield _case(
        "sce-slots/wifi-ramp/80ms",
        f"One {side.cc} flow behind wifi slots, SCE by cake's ramp, 80 ms",
        [_link(side, 80, qdisc=CAKE_RAMP, impair=WIFI_SLOTS)],
        [_flow(side.cc)],
    )


def _cnq() -> Iterator[Case]:
    cubic_sce = replace(SIDES["sce"], cc="cubic-sce")
    queues = (
        (SIDES["sce"], "cnq_cobalt", SIDES["sce"].qdisc),
        (cubic_sce, "cnq_cobalt-cubic-sce", cubic_sce.qdisc),
        (SIDES["sce"], "cnq_codel_af", CNQ_CODEL_AF),
        (SIDES["sce"], "cake-flows", CAKE_FLOWS),
        (SIDES["l4s"], "dualpi2", SIDES["l4s"].qdisc),
        (SIDES["classic"], "codel1q", ONE_CODEL),
    )
    for side, label, qdisc in queues:
        for rtt in (20, 80):
            yield _case(
                f"{side.key}-cnq/{label}/{rtt}ms",
                f"CUBIC, then {side.cc} beside it, over {label}, {rtt} ms",
                [_link(side, rtt, qdisc=qdisc)],
                _pair(side),
            )


def _alpha() -> Iterator[Case]:
    side = SIDES["l4s"]
    # The authors asked when p1 had replaced p0, which differ in more than alpha.
    starts = [(f"alpha-{alpha}", f"prague alpha_init {alpha}") for alpha in (0, 1)]
    starts += [(version, f"prague version {version}") for version in ("p0", "p1")]
    for label, prague in starts:
        for joins, rtt in ((False, 80), (True, 20)):
            start = SECOND_START_S if joins else 0
            flow = _flow("prague", prague, start)
            yield _case(
                f"l4s-alpha/{'beside-cubic' if joins else 'alone'}/{label}/{rtt}ms",
                f"`{prague}`, {'beside CUBIC' if joins else 'alone'}, {rtt} ms, the first ten seconds",
                [_link(side, rtt)],
                [_flow("cubic"), flow] if joins else [flow],
                length=30,
                measure=(start, start + 10),
            )


def _two_classic() -> Iterator[Case]:
    for name, side in SIDES.items():
        for rtt in (20, 80):
            # A fair queue would answer the question by itself.
            qdisc = ONE_CODEL if name == "classic" else None
            yield _case(
                f"{name}-two-classic/2-vs-1/{rtt}ms",
                f"Two CUBIC flows, then one {side.cc} beside them, {rtt} ms",
                [_link(side, rtt, qdisc=qdisc)],
                [_flow("cubic-1", "cubic"), _flow("cubic-2", "cubic"), _flow(_other(side), side.cc, SECOND_START_S)],
            )


def _capacity() -> Iterator[Case]:
    for label, usual, other in (("up-down", "10Mbit", "50Mbit"), ("down-up", "50Mbit", "10Mbit")):
        for name, side in SIDES.items():
            yield _case(
                f"{name}-capacity/{label}/80ms",
                f"One {side.cc} flow, {usual} to {other} at {CHANGE_S} s and back at {BACK_S} s, 80 ms",
                [_link(side, 80, rate=usual)],
                [_flow(side.cc)],
                length=CHANGED_LENGTH_S,
                schedule=[(CHANGE_S, side.change(other)), (BACK_S, side.change(usual))],
            )


def _rtt_step() -> Iterator[Case]:
    for name, side in SIDES.items():
        yield _case(
            f"{name}-rtt-step/20-to-80",
            f"One {side.cc} flow, 20 to 80 ms at {CHANGE_S} s and back at {BACK_S} s",
            [_link(side, 20)],
            [_flow(side.cc)],
            length=CHANGED_LENGTH_S,
            schedule=[(CHANGE_S, {"link.bneck.delay": "40ms"}), (BACK_S, {"link.bneck.delay": "10ms"})],
        )


def _bidirectional() -> Iterator[Case]:
    for name, side in SIDES.items():
        for rtt in (20, 80):
            yield _case(
                f"{name}-bidirectional/rrul_be/{rtt}ms",
                f"Four {side.cc} flows each way, {rtt} ms",
                [_link(side, rtt)],
                [{"name": "be", "cc": side.cc, "app": "rrul_be", **_feedback(side.cc)}],
            )


def _asymmetric() -> Iterator[Case]:
    for label, back in (("25-to-1", "2Mbit"), ("50-to-1", "1Mbit")):
        for name, side in SIDES.items():
            yield _case(
                f"{name}-asymmetric/{label}/20ms",
                f"One {side.cc} download, {RATE} down, {back} up, 20 ms",
                [{**_link(side, 20), "reverse": side.queue(back)}],
                [_flow(side.cc)],
            )


def _pie_red() -> Iterator[Case]:
    for queue, qdisc in CLASSIC_QUEUES.items():
        for name, side in SIDES.items():
            for rtt in (20, 80):
                yield _case(
                    f"{name}-pie-red/{queue}/{rtt}ms",
                    f"CUBIC, then {side.cc} beside it, over {queue}, {rtt} ms",
                    [_link(side, rtt, qdisc=qdisc)],
                    _pair(side),
                )


def _shift() -> Iterator[Case]:
    for name, side in SIDES.items():
        for rtt in (20, 80):
            behind = {"name": "codel1q", "rate": "100Mbit", "shaper": "htb", "qdisc": ONE_CODEL}
            yield _case(
                f"{name}-shift/to-codel1q/{rtt}ms",
                f"One {side.cc} flow; a CoDel queue behind its own falls to 40 Mbit/s and rises again, {rtt} ms",
                [_link(side, rtt), behind],
                [_flow(side.cc)],
                length=CHANGED_LENGTH_S,
                schedule=[
                    (CHANGE_S, {"link.codel1q.forward.rate": "40Mbit"}),
                    (BACK_S, {"link.codel1q.forward.rate": "100Mbit"}),
                ],
            )


def _many() -> Iterator[Case]:
    for name, side in SIDES.items():
        yield _case(
            f"{name}-many/16/20ms",
            f"Sixteen {side.cc} flows, 20 ms",
            [_link(side, 20)],
            [{**_flow(side.cc), "flows": 16}],
        )
        if name != "classic":
            yield _case(
                f"{name}-many/8-vs-8/20ms",
                f"Eight CUBIC flows, then eight {side.cc} beside them, 20 ms",
                [_link(side, 20)],
                [{**_flow("cubic"), "flows": 8}, {**_flow(side.cc, start=SECOND_START_S), "flows": 8}],
            )


def _loss() -> Iterator[Case]:
    return _impaired("loss", (("0.1-percent", "netem loss 0.1%"), ("1-percent", "netem loss 1%")))


def _reorder() -> Iterator[Case]:
    paths = tuple((f"by-{ms}", f"netem delay {ms}ms reorder 1% limit 10000") for ms in (2, 10))
    return _impaired("reorder", paths)


def _multipath() -> Iterator[Case]:
    # Every second packet passes at once, the others after the delay: two paths in turn, each in order.
    paths = tuple((f"plus-{ms}", f"netem delay {ms}ms reorder 100% gap 2 limit 10000") for ms in (5, 20))
    return _impaired("multipath", paths)


def _impaired(scenario: str, paths: Sequence[tuple[str, str]]) -> Iterator[Case]:
    for label, netem in paths:
        for name, side in SIDES.items():
            yield _case(
                f"{name}-{scenario}/{label}/20ms",
                f"One {side.cc} flow behind `{netem}`, 20 ms",
                [_link(side, 20, impair=netem)],
                [_flow(side.cc)],
            )


def _bandwidth() -> Iterator[Case]:
    for label, rate in (("0.5Mbit", "500kbit"), ("1000Mbit", "1Gbit")):
        for name, side in SIDES.items():
            yield _case(
                f"{name}-bandwidth/{label}/20ms",
                f"One {side.cc} flow, {rate}/s, 20 ms",
                [_link(side, 20, rate=rate)],
                [_flow(side.cc)],
                length=60 if rate == "500kbit" else 30,
            )


def _rtt() -> Iterator[Case]:
    for rtt in (1, 600):
        for name, side in SIDES.items():
            yield _case(
                f"{name}-rtt/{rtt}ms",
                f"One {side.cc} flow, {RATE}, {rtt} ms",
                [_link(side, rtt)],
                [_flow(side.cc)],
                length=60 if rtt > 80 else LENGTH_S,
            )


def _asymmetric_delay() -> Iterator[Case]:
    for forward, back in ((5, 75), (40, 40), (75, 5)):
        for name, side in SIDES.items():
            link = {**_link(side, 80), "delay": f"{forward}ms", "reverse": {"delay": f"{back}ms"}}
            yield _case(
                f"{name}-asymmetric-delay/{forward}-and-{back}/80ms",
                f"One {side.cc} flow, {forward} ms forward and {back} ms back",
                [link],
                [_flow(side.cc)],
            )


def _mangler() -> Iterator[Case]:
    for label, tos in (("ect0", "0x02"), ("not-ect", "0x00")):
        for name, side in SIDES.items():
            if label == "ect0" and name != "l4s":
                continue  # what the others send
            cubic, other = _pair(side)
            yield _case(
                f"{name}-mangler/{label}/20ms",
                f"CUBIC, then {side.cc} beside it, whose packets become {label}, 20 ms",
                [_link(side, 20, impair=f"mangle proto tcp non-syn dscp 1 set-tos {tos}")],
                [cubic, {**other, "tos": GAMED_TOS}],
            )


def _fq_harm() -> Iterator[Case]:
    classic = SIDES["classic"]
    queues = (
        (classic, "codel1q", ONE_CODEL, "0x00"),
        (classic, "fq", "fq", "0x00"),
        (classic, "fq_codel", classic.qdisc, "0x00"),
        (classic, "cake-flows", CAKE, "0x00"),
        (SIDES["sce"], "cnq", SIDES["sce"].qdisc, "0x00"),
        (SIDES["l4s"], "dualpi2-not-ect", SIDES["l4s"].qdisc, "0x00"),
        (SIDES["l4s"], "dualpi2-ect1", SIDES["l4s"].qdisc, "0x01"),
    )
    for bulk in BULK:
        for side, label, qdisc, tos in queues:
            yield _case(
                f"{side.key}-fq-harm/{label}/beside-{bulk}/20ms",
                f"A call, a game and a video of 8 Mbit/s beside {bulk} CUBIC flows over {label}, 20 ms",
                [_link(side, 20, qdisc=qdisc)],
                [
                    {**_flow("cubic"), "flows": bulk},
                    # They start apart, so that no frame always meets the call's packets.
                    *({"name": name, "app": app, "tos": tos, "start_jitter": "1s"} for name, app in PERIODIC.items()),
                ],
            )


def _link(
    side: Side, rtt: int, *, rate: str = RATE, qdisc: str | None = None, impair: str | None = None
) -> dict[str, object]:
    """The bottleneck; an impairment is before its queue, on the way of the data alone."""
    link = {"name": "bneck", **side.queue(rate, qdisc), "delay": f"{rtt * 500}us"}
    return {**link, "ingress": [impair], "reverse": {"ingress": []}} if impair else link


def _flow(name: str, cc: str | None = None, start: int = 0) -> dict[str, object]:
    return {
        "name": name,
        "cc": cc or name,
        "start": f"{start}s",
        "start_jitter": START_JITTER,
        **_feedback(cc or name),
    }


def _feedback(cc: str) -> dict[str, object]:
    """Prague and the SCE controllers get what they need; CUBIC is to be the CUBIC of today."""
    return {"tcp": {"ecn": "rfc3168"}} if cc == "cubic" else {}


def _other(side: Side) -> str:
    """Name of the flow that joins CUBIC."""
    return "cubic-joining" if side.cc == "cubic" else side.cc


def _pair(side: Side) -> tuple[dict[str, object], dict[str, object]]:
    return _flow("cubic"), _flow(_other(side), side.cc, SECOND_START_S)


def _case(
    label: str,
    about: str,
    links: Sequence[Mapping[str, object]],
    flows: Sequence[Mapping[str, object]],
    *,
    length: int = LENGTH_S,
    measure: tuple[int, int] | None = None,
    schedule: Sequence[tuple[int, Mapping[str, object]]] = (),
) -> Case:
    second = any(flow.get("start") == f"{SECOND_START_S}s" for flow in flows)
    window = measure or ((SECOND_START_S if second else 0) + SETTLE_S, length)
    scenario = label.split("/")[0].split("-", 1)[1]
    document = {
        "name": (name := f"future/{label}"),
        "description": about,
        "duration": f"{length}s",
        "seed": 1,
        "measure": {"from": f"{window[0]}s", "to": f"{window[1]}s"},
        "tcp": TCP,
        "link": list(links),
        "flow": list(flows),
        "ping": [{"name": "ping"}],
        **({"schedule": [{"at": f"{at}s", "set": change} for at, change in schedule]} if schedule else {}),
    }
    heading, question = SCENARIOS[scenario]
    new = [str(flow["name"]) for flow in flows if flow.get("cc") not in (None, "cubic")]
    place = role(name, question, heading, new=new, compares=True, counterparts={"dualpi2": "aqm"})
    return Case(name, about, question, length, to_toml(document), role=place)
