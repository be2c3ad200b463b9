"""A path: where the ECN field is changed, and whether a server negotiates ECN and AccECN."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sojourn.doctor.finding import Finding, Kind, Severity, passed

#: Codepoints of the ECN field: RFC 3168 5, RFC 8311.
NAMES = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
NOT_ECT, ECT1, ECT0, CE = range(4)
#: What a server that has AccECN says in AE, CWR and ECE of its SYN/ACK about the SYN's ECN field: RFC 9768 table 2.
ARRIVED = {0b010: NOT_ECT, 0b011: ECT1, 0b100: ECT0, 0b110: CE}
CLASSIC, ACCECN = 0b011, 0b111

CLEARED = Kind(
    "ecn-cleared",
    Severity.FAULT,
    "a hop gets packets as Not-ECT that were sent as ECT or CE",
    "No AQM behind it can mark, and marks before it are lost: senders do not react until packets are dropped.",
    "the device at that hop: rules that set the whole TOS byte (iptables -j TOS, --set-dscp of old firmware, tc "
    "pedit) are to leave its last two bits",
    "RFC 3168 5; RFC 9331 5.1; RFC 2474 3",
)
CHANGED = Kind(
    "ecn-changed",
    Severity.FAULT,
    "a hop gets packets with another codepoint, other than CE for ECT",
    "ECT(1) for ECT(0) puts classic flows into the L4S queue, ECT(0) for ECT(1) L4S flows into the classic one; ECT"
    " for CE erases marks.",
    "the device at that hop: rules that set the whole TOS byte are to leave its last two bits; a tunnel is to "
    "follow RFC 6040",
    "RFC 3168 5; RFC 9331 5.1; RFC 6040 4",
)
MARKED = Kind(
    "ecn-marked",
    Severity.WARNING,
    "a hop gets packets as CE that were sent as ECT",
    "Either the path is congested now, or a device marks everything: senders then go at their least rate.",
    "repeat on an idle path; if it stays, look at AQM and TOS rules of the device at that hop",
    "RFC 3168 5",
)
BLOCKED = Kind(
    "ecn-blocked",
    Severity.FAULT,
    "from a hop on no ECT packet is answered, but Not-ECT ones are",
    "Flows with ECN lose all their packets there: connections hang after their handshake.",
    "the firewall at that hop: it drops packets with an ECN field",
    "RFC 3168 6.1.1.1; RFC 8311 4.3",
)
SILENT = Kind(
    "path-silent",
    Severity.NOTE,
    "the last hops of the path do not answer",
    "What happens to the ECN field behind the last hop that answers is not known.",
    "sojourn doctor --path HOST:PORT with a TCP server that has AccECN, which reports the field",
    "RFC 1812 4.3.2.8 (routers limit such answers)",
)
NO_SERVER = Kind(
    "tcp-no-server",
    Severity.NOTE,
    "no TCP server answers at that port, or it refuses",
    "Negotiation of ECN was not examined.",
    "sojourn doctor --path HOST:443, or a server of your own: iperf3 -s",
    "RFC 9293 3.5",
)
SYN_BLOCKED = Kind(
    "tcp-ecn-syn-blocked",
    Severity.FAULT,
    "a SYN that asks for ECN or AccECN is not answered or refused, one without is answered",
    "Connections start after a timeout of a second or more, without ECN: their first seconds and all marks are "
    "missing.",
    "the firewall or load balancer on that path; until then sudo sysctl -w net.ipv4.tcp_ecn=0, and no ECN experiment",
    "RFC 3168 6.1.1.1; RFC 9768 3.1.4",
)
REFUSED = Kind(
    "tcp-ecn-refused",
    Severity.WARNING,
    "the server answers a SYN that asks for ECN with one that does not",
    "Connections to it go without ECN: AQMs drop their packets, and L4S queues treat them as classic.",
    "sudo sysctl -w net.ipv4.tcp_ecn=3 (1 on kernels without AccECN) at the server; else a middlebox clears TCP's "
    "flags",
    "RFC 3168 6.1.1; RFC 9768 3.1.2",
)
REFLECTED = Kind(
    "tcp-ecn-reflected",
    Severity.FAULT,
    "the SYN/ACK has the flags of the SYN",
    "The server, or a middlebox, copies flags that it does not understand; an end that took them for ECN would "
    "ignore marks.",
    "another server, or the middlebox on that path",
    "RFC 3168 6.1.1 (ECN-setup SYN-ACK); RFC 9768 table 2 (Broken)",
)
NO_ACCECN = Kind(
    "tcp-accecn-refused",
    Severity.NOTE,
    "the server has classic ECN, and not AccECN",
    "Senders learn of one mark per RTT at most: Prague falls back to Reno, and L4S behaviour is not measured.",
    "sudo sysctl -w net.ipv4.tcp_ecn=3 at the server, on a kernel that takes it (7.x)",
    "RFC 9768 3.1.2",
)
SYN_CHANGED = Kind(
    "tcp-syn-ecn-changed",
    Severity.FAULT,
    "an AccECN server says that the SYN arrived with another codepoint than it was sent with",
    "Data packets are changed in the same way: see ecn-cleared and ecn-changed.",
    "the device that changes it: the hops of sojourn doctor --path HOST show where, if they answer",
    "RFC 9768 3.1.2, table 2; RFC 9331 5.1",
)


@dataclass(frozen=True, slots=True)
class Reply:
    """Who answered a probe, and with which codepoint it had arrived there."""

    address: str
    ecn: int
    is_end: bool = False
    """The destination, or who says that there is none, and no router on the way."""


@dataclass(frozen=True, slots=True)
class Hop:
    """The answers to probes with one time to live, by the codepoint that they were sent with."""

    ttl: int
    replies: Mapping[int, Reply]

    @property
    def address(self) -> str:
        """Who it is."""
        return ", ".join(dict.fromkeys(reply.address for reply in self.replies.values()))


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a SYN."""

    ace: int
    """AE, CWR and ECE that it had."""
    ecn: int
    """The codepoint that it was sent with."""
    got: int | None
    """AE, CWR and ECE of the SYN/ACK; None without one."""


def ecn_field(hops: Sequence[Hop]) -> Iterator[Finding]:
    """Every hop's answers, from the first to the last."""
    answering = [hop for hop in hops if hop.replies]
    if not answering:
        yield SILENT.found("no hop answers")
        return
    last = answering[-1]
    if not any(reply.is_end for reply in last.replies.values()):
        yield SILENT.found(f"no answer from behind hop {last.ttl} ({last.address})")
    changes, blocks = _grouped(answering, _change), _grouped(answering, _blocked)
    for (kind, becomes, where), sent in (changes | blocks).items():
        yield kind.found(f"{', '.join(sent)}: {becomes} {where}")
    if not changes and not blocks:
        yield passed("ecn-cleared", f"the ECN field reaches hop {last.ttl} ({last.address}) as it was sent")


#: A kind, what becomes of a codepoint, and where.
Fate = tuple[Kind, str, str]


def _grouped(hops: Sequence[Hop], fate: Callable[[Sequence[Hop], int], Fate | None]) -> dict[Fate, list[str]]:
    """The names of the codepoints that share a fate."""
    found: dict[Fate, list[str]] = {}
    for sent, name in enumerate(NAMES):
        if one := fate(hops, sent):
            found.setdefault(one, []).append(name)
    return found


def _change(hops: Sequence[Hop], sent: int) -> Fate | None:
    """Where a codepoint becomes another one for good: a single hop may quote wrongly."""
    answered = [hop for hop in hops if sent in hop.replies]
    changed = [hop.replies[sent].ecn != sent for hop in answered]
    if not changed or not changed[-1]:
        return None
    first = max((number + 1 for number, is_other in enumerate(changed) if not is_other), default=0)
    hop, ecn = answered[first], answered[first].replies[sent].ecn
    before = f"between hop {answered[first - 1].ttl} ({answered[first - 1].address}) and" if first else "before"
    kind = CLEARED if ecn == NOT_ECT else MARKED if ecn == CE and sent != NOT_ECT else CHANGED
    return kind, f"arrives as {NAMES[ecn]}", f"{before} hop {hop.ttl} ({hop.address})"


def _blocked(hops: Sequence[Hop], sent: int) -> Fate | None:
    """Where it ceases to be answered. One lost answer shows nothing, unless it is the end's, which was asked twice."""
    answered = [hop.ttl for hop in hops if sent in hop.replies]
    silent = [hop for hop in hops if NOT_ECT in hop.replies and hop.ttl > max(answered, default=0)]
    if len(silent) > 1 or (silent and silent[-1].replies[NOT_ECT].is_end):
        return BLOCKED, "is not answered", f"from hop {silent[0].ttl} ({silent[0].address}) on"
    return None


def negotiation(server: str, answers: Sequence[Answer]) -> Iterator[Finding]:
    """The answers of one server to SYNs: without ECN, with classic ECN, and with AccECN and each codepoint."""
    got = {(answer.ace, answer.ecn): answer.got for answer in answers}
    if got.get((0, NOT_ECT)) is None:
        yield NO_SERVER.found(f"{server}: no SYN/ACK")
        return
    classic, accurate = got.get((CLASSIC, NOT_ECT)), got.get((ACCECN, NOT_ECT))
    for name, flags, sent in (("ECN", classic, CLASSIC), ("AccECN", accurate, ACCECN)):
        if flags is None:
            yield SYN_BLOCKED.found(f"{server}: a SYN with {name} gets no SYN/ACK, one without does")
        elif flags == sent:
            yield REFLECTED.found(f"{server}: a SYN/ACK with AE, CWR, ECE {flags:03b}, as the SYN had")
        elif flags == 0 and (name == "ECN" or classic):
            yield REFUSED.found(f"{server}: a SYN with {name} gets a SYN/ACK without ECN")
        elif name == "ECN":
            yield passed("tcp-ecn-refused", f"{server} negotiates ECN")
    if accurate in ARRIVED:
        yield passed("tcp-accecn-refused", f"{server} negotiates AccECN")
        yield from _arrived(server, answers)
    elif accurate not in (None, 0, ACCECN):
        yield NO_ACCECN.found(f"{server}: AccECN refused, ECN negotiated in its place")


def _arrived(server: str, answers: Sequence[Answer]) -> Iterator[Finding]:
    said = [(answer.ecn, ARRIVED[answer.got]) for answer in answers if answer.ace == ACCECN and answer.got in ARRIVED]
    wrong = [f"{NAMES[sent]} as {NAMES[came]}" for sent, came in said if sent != came]
    if wrong:
        yield SYN_CHANGED.found(f"{server} got SYNs sent with {', '.join(wrong)}")
    else:
        names = ", ".join(NAMES[sent] for sent, _ in said)
        yield passed("tcp-syn-ecn-changed", f"{server} got SYNs with {names} as they were sent")
