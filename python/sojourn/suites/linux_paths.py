"""linux-paths: 49 short scenarios that both engines can run, to find where the simulator leaves Linux.

The list was written before anything was run on it. It goes where `linux72` does not: loss, jitter, reordering,
rates and delays that change, policers, many flows, unequal and asymmetric paths, load that does not answer. All
of it is in mainline. Each bottleneck is htb with the queue as its leaf, and the RTT is netem's, on the way back,
unless a case says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.scenario import to_toml
from sojourn.suites import Case, role

VARIANTS = {"paths": "the only one"}

LENGTH_S = 20
SETTLE_S = 5
JOIN_S = 5
#: Draws that both engines share. The kernel's own dice differ in every run.
START_JITTER = "20ms"
BUFFERS = {"rmem_max": "16Mb", "wmem_max": "16Mb"}
#: Packets that a netem can hold.
LIMIT = "limit 100000"
DCTCP_QUEUE = "dualpi2 any_ect"


def cases(_variant: str = "paths") -> list[Case]:
    """All runs; there is one variant."""
    return [
        *_queues(),
        *_losses(),
        *_jitter(),
        *_changes(),
        *_policers(),
        *_many(),
        *_unequal(),
        *_load(),
    ]


def _flow(cc: str, *, count: int = 1, ecn: str = "off", **other: object) -> dict[str, Any]:
    """A flow, or `count` of them, named by the controller."""
    controller = f"{cc} version v1" if cc == "bbr" else cc
    copies = {"flows": count} if count > 1 else {}
    # A marked DCTCP segment is reported alone, whatever was negotiated.
    mode = "dctcp" if cc == "dctcp" else ecn
    return {
        "name": cc,
        "cc": controller,
        **copies,
        "start_jitter": START_JITTER,
        "tcp": {"ecn": mode},
        **other,
    }


def _back(rtt: int, *elements: str) -> dict[str, object]:
    """The way back, with the whole RTT."""
    delay = [f"netem delay {rtt}ms {LIMIT}"] if rtt else []
    return {"rate": "none", "shaper": "none", "qdisc": "pfifo", "ingress": [*elements, *delay]}


def _bottleneck(rate: int, rtt: int, qdisc: str, *ingress: str, **other: object) -> dict[str, object]:
    return {
        "name": "bneck",
        "rate": f"{rate}Mbit",
        "shaper": "htb",
        "qdisc": qdisc,
        "ingress": list(ingress),
        "reverse": _back(rtt),
        **other,
    }


def _case(
    topic: str,
    rate: int,
    rtt: int,
    flows: Sequence[Mapping[str, object]],
    links: Sequence[Mapping[str, object]],
    about: str,
    schedule: Sequence[tuple[str, Mapping[str, str]]] = (),
) -> Case:
    """One run; `rate` (Mbit/s) is what goodput errors are shares of."""
    name = f"linux-paths/{topic}/{rate}Mbit/{rtt}ms/{'-'.join(str(flow['name']) for flow in flows)}"
    document: dict[str, Any] = {
        "name": name,
        "description": about,
        "duration": f"{LENGTH_S}s",
        "seed": 1,
        "measure": {"from": f"{SETTLE_S}s"},
        "tcp": {"era": "7.x", **BUFFERS},
        "link": list(links),
        "flow": list(flows),
    }
    if schedule:
        document["schedule"] = [{"at": at, "set": dict(changes)} for at, changes in schedule]
    question = "Does the simulator do what Linux 7.2 does on this path?"
    return Case(name, about, question, LENGTH_S, to_toml(document), role=role(name, question))


def _queues() -> Iterator[Case]:
    """One flow, and queues, rates and delays that `linux72` does not have."""
    for topic, rate, rtt, cc, ecn, qdisc in (
        ("fifo-30", 20, 40, "cubic", "off", "pfifo limit 30"),
        ("fifo-1000", 30, 30, "cubic", "off", "pfifo limit 1000"),
        ("bfifo", 10, 60, "reno", "off", "bfifo limit 60kb"),
        ("fifo-100", 25, 50, "bbr", "off", "pfifo limit 100"),
        ("codel", 15, 35, "cubic", "off", "codel"),
        ("codel1q", 40, 25, "bbr", "off", "fq_codel flows 1 noecn"),
        ("pie", 8, 25, "reno", "rfc3168", "pie ecn"),
        ("red", 12, 30, "reno", "off", "red limit 200000 min 15000 max 45000 avpkt 1000 burst 20 bandwidth 12Mbit"),
        ("dualpi2", 30, 50, "cubic", "rfc3168", "dualpi2"),
        ("dualpi2any", 10, 15, "dctcp", "dctcp", DCTCP_QUEUE),
        ("accecn", 35, 35, "cubic", "accecn", "fq_codel flows 1"),
    ):
        flows = [_flow(cc, ecn=ecn)]
        yield _case(topic, rate, rtt, flows, [_bottleneck(rate, rtt, qdisc)], f"{cc} over `{qdisc}`")
    cake = {"name": "bneck", "qdisc": "cake bandwidth 18Mbit besteffort", "reverse": _back(45)}
    yield _case("cake", 18, 45, [_flow("cubic", ecn="rfc3168")], [cake], "cubic over CAKE's own shaper")


def _losses() -> Iterator[Case]:
    """Random loss before the queue; and of ACKs."""
    for topic, rate, rtt, cc, loss in (
        ("loss-0.1", 20, 30, "cubic", "0.1%"),
        ("loss-1", 10, 40, "reno", "1%"),
        ("loss-2", 15, 40, "bbr", "2%"),
        ("loss-3", 5, 80, "cubic", "3%"),
        ("bursts", 20, 25, "cubic", "gemodel 0.3% 30%"),
    ):
        link = _bottleneck(rate, rtt, "pfifo limit 200", f"netem loss {loss} {LIMIT}")
        yield _case(topic, rate, rtt, [_flow(cc)], [link], f"{cc}, `netem loss {loss}` before the queue")
    link = _bottleneck(20, 40, "pfifo limit 100") | {"reverse": _back(40, f"netem loss 10% {LIMIT}")}
    yield _case("ack-loss", 20, 40, [_flow("cubic")], [link], "one ACK in ten is lost")


def _jitter() -> Iterator[Case]:
    """Delay that varies, of data and of ACKs, and packets that overtake others."""
    for topic, rate, rtt, cc, qdisc, delay in (
        ("jitter", 20, 20, "cubic", "pfifo limit 100", "delay 10ms 2ms"),
        ("jitter-fq", 25, 20, "cubic", "fq_codel", "delay 8ms 1ms"),
        ("jitter-normal", 15, 20, "bbr", "pfifo limit 100", "delay 10ms 1ms distribution normal"),
        ("reorder", 20, 25, "cubic", "pfifo limit 100", "delay 5ms reorder 1%"),
    ):
        link = _bottleneck(rate, rtt, qdisc, f"netem {delay} {LIMIT}")
        yield _case(topic, rate, rtt, [_flow(cc)], [link], f"{cc}, `netem {delay}` before the queue")
    back = {**_back(0), "ingress": [f"netem delay 30ms 5ms {LIMIT}"]}
    link = _bottleneck(20, 0, "pfifo limit 100") | {"reverse": back}
    yield _case("ack-jitter", 20, 30, [_flow("reno")], [link], "ACKs arrive with 5 ms of jitter, out of order")


def _changes() -> Iterator[Case]:
    """Rates and delays that change."""
    rate = "link.bneck.forward.rate"
    link = _bottleneck(40, 30, "pfifo limit 150")
    yield _case("step-down", 40, 30, [_flow("cubic")], [link], "40 to 10 Mbit/s at 8 s", [("8s", {rate: "10Mbit"})])
    link = _bottleneck(10, 30, "codel")
    flows = [_flow("cubic", ecn="rfc3168")]
    yield _case("step-up", 10, 30, flows, [link], "10 to 40 Mbit/s at 8 s", [("8s", {rate: "40Mbit"})])
    link = _bottleneck(30, 40, "pfifo limit 200")
    steps = [("7s", {rate: "10Mbit"}), ("14s", {rate: "30Mbit"})]
    yield _case("there-and-back", 30, 40, [_flow("bbr")], [link], "30, 10, 30 Mbit/s", steps)
    link = _bottleneck(20, 25, "pie ecn")
    steps = [(f"{at}s", {rate: f"{8 if at % 6 else 20}Mbit"}) for at in range(3, LENGTH_S, 3)]
    yield _case("square-wave", 20, 25, [_flow("cubic", ecn="rfc3168")], [link], "20 and 8 Mbit/s, 3 s each", steps)
    link = _bottleneck(40, 20, DCTCP_QUEUE)
    yield _case("step-dctcp", 40, 20, [_flow("dctcp")], [link], "40 to 15 Mbit/s at 8 s", [("8s", {rate: "15Mbit"})])
    link = _bottleneck(20, 0, "pfifo limit 80") | {"delay": "10ms"}
    steps = [("8s", {"link.bneck.delay": "30ms"})]
    yield _case("delay-step", 20, 20, [_flow("reno")], [link], "RTT from 20 to 60 ms at 8 s", steps)


def _policers() -> Iterator[Case]:
    """A token bucket that drops, before a link that is never full."""
    for rate, burst, rtt, cc, count in (
        (10, "30kb", 40, "cubic", 1),
        (20, "150kb", 20, "reno", 1),
        (8, "20kb", 50, "bbr", 1),
        (15, "60kb", 30, "cubic", 4),
    ):
        words = f"police rate {rate}Mbit burst {burst} drop"
        link = _bottleneck(100, rtt, "pfifo limit 1000", words)
        topic = f"police-{count}" if count > 1 else "police"
        yield _case(topic, rate, rtt, [_flow(cc, count=count)], [link], f"`{words}` before 100 Mbit/s")


def _many() -> Iterator[Case]:
    """Many flows, of one kind or two."""
    for topic, rate, rtt, qdisc, flows in (
        ("many-fifo", 40, 40, "pfifo limit 100", [_flow("cubic", count=8)]),
        ("many-fq", 30, 30, "fq_codel noecn", [_flow("reno", count=10)]),
        ("many-pie", 40, 20, "pie", [_flow("cubic", count=6), _flow("reno", count=6)]),
        ("many-codel", 25, 60, "codel", [_flow("cubic", count=16)]),
        ("many-bbr", 40, 40, "pfifo limit 120", [_flow("bbr", count=4)]),
        ("many-dctcp", 40, 10, DCTCP_QUEUE, [_flow("dctcp", count=8)]),
        ("many-fqpie", 20, 25, "fq_pie ecn", [_flow("reno", count=5, ecn="rfc3168")]),
        ("beside", 20, 30, "pfifo limit 300", [_flow("cubic"), _flow("bbr")]),
        ("joins", 30, 25, "cake besteffort flowblind unlimited",
         [_flow("cubic", ecn="rfc3168"), _flow("reno", ecn="rfc3168", start=f"{JOIN_S}s")]),
    ):  # fmt: skip
        link = _bottleneck(rate, rtt, qdisc)
        number = sum(int(flow.get("flows", 1)) for flow in flows)
        yield _case(topic, rate, rtt, flows, [link], f"{number} flows over `{qdisc}`")


def _unequal() -> Iterator[Case]:
    """Paths that are not alike: in RTT, in the two directions, in their links."""
    far = {"name": "far", "delay": "20ms"}
    near = _bottleneck(30, 0, "codel") | {"delay": "10ms", "reverse": {"rate": "none", "qdisc": "pfifo"}}
    flows = [_flow("cubic", name="near", path=["bneck"]), _flow("cubic", name="both")]
    yield _case("rtts", 30, 20, flows, [far, near], "20 and 60 ms over one CoDel queue")
    slow = _bottleneck(20, 0, "pfifo limit 100", delay="15ms")
    slow["reverse"] = {"rate": "256kbit", "shaper": "htb", "qdisc": "pfifo limit 50"}
    yield _case("asymmetric", 20, 30, [_flow("cubic")], [slow], "ACKs fill a way back of 256 kbit/s")
    both = _bottleneck(30, 0, "pfifo limit 100", delay="15ms")
    both["reverse"] = {"rate": "3Mbit", "shaper": "htb", "qdisc": "pfifo limit 40"}
    flows = [_flow("cubic", name="down"), _flow("cubic", name="up", direction="up")]
    yield _case("two-way", 30, 30, flows, [both], "data and ACKs share each way of 30 and 3 Mbit/s")
    fair = _bottleneck(25, 0, "fq_codel", delay="20ms")
    fair["reverse"] = {"rate": "5Mbit", "shaper": "htb", "qdisc": "fq_codel"}
    flows = [_flow("reno", name="down", ecn="rfc3168"), _flow("reno", name="up", direction="up", ecn="rfc3168")]
    yield _case("two-way-fq", 25, 40, flows, [fair], "the same with flow queues, 25 and 5 Mbit/s")
    first = _bottleneck(20, 0, "pfifo limit 60") | {"name": "first", "delay": "8ms", "reverse": {"rate": "none"}}
    second = _bottleneck(15, 0, "pfifo limit 60") | {"name": "second", "delay": "12ms", "reverse": {"rate": "none"}}
    flows = [
        _flow("cubic", name="long"),
        _flow("cubic", name="one", path=["first"]),
        _flow("cubic", name="two", path=["second"]),
    ]
    yield _case("parking-lot", 20, 40, flows, [first, second], "one flow over two links, one over each")


def _load() -> Iterator[Case]:
    """Beside load that does not answer, and beside flows that come and go."""
    udp = {"name": "udp", "app": "cbr rate 5Mbit size 1200"}
    link = _bottleneck(20, 40, "pfifo limit 100")
    yield _case("cbr", 20, 40, [_flow("cubic"), udp], [link], "beside 5 Mbit/s of UDP")
    web = _flow("cubic", name="web", app="short load 4Mbit sizes 50kb")
    link = _bottleneck(25, 30, "fq_codel")
    yield _case("web", 25, 30, [_flow("cubic", ecn="rfc3168"), web], [link], "beside transfers of 50 kB")
