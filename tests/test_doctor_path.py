"""What the doctor says of a path: on answers as they are recorded, and through a TUN device."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sojourn import doctor
from sojourn.cli import call
from sojourn.doctor import Finding, Kind, path, rights
from sojourn.doctor.packets import checksum, quote, segment, syn
from sojourn.doctor.path import ACCECN, CLASSIC, ECT1, NOT_ECT, Answer, Hop, Reply
from sojourn.doctor.probe import PathError, Target

pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).parent / "doctor/tun_path.py"
UNSHARE = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
ENVIRONMENT = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
V4, V6 = socket.AF_INET, socket.AF_INET6


def way(*fields: Sequence[int | None], ends: bool = True) -> list[Hop]:
    """A hop for each row: the codepoints that arrived there of Not-ECT, ECT(1), ECT(0) and CE; None: no answer."""
    last = len(fields) if ends else 0
    return [
        Hop(
            ttl,
            {sent: Reply(f"10.0.0.{ttl}", ecn, ttl == last) for sent, ecn in enumerate(row) if ecn is not None},
        )
        for ttl, row in enumerate(fields, 1)
    ]


SENT = (0, 1, 2, 3)


def server(
    classic: int | None = 1, accecn: int | None = 2, ect1: int | None = 3, plain: int | None = 0
) -> list[Finding]:
    answers = [Answer(0, NOT_ECT, plain), Answer(CLASSIC, NOT_ECT, classic), Answer(ACCECN, NOT_ECT, accecn)]
    return list(path.negotiation("host:1", [*answers, Answer(ACCECN, ECT1, ect1)]))


def field(*rows: Sequence[int | None], ends: bool = True) -> list[Finding]:
    return list(path.ecn_field(way(*rows, ends=ends)))


def healthy() -> list[Finding]:
    return [*field(SENT, SENT, SENT), *server()]


CASES: dict[Kind, Callable[[], list[Finding]]] = {
    path.CLEARED: lambda: field(SENT, (0, 0, 0, 0), (0, 0, 0, 0)),
    path.CHANGED: lambda: field(SENT, (0, 2, 2, 3)),
    path.MARKED: lambda: field(SENT, (0, 3, 3, 3)),
    path.BLOCKED: lambda: field(SENT, (0, None, None, None), (0, None, None, None)),
    path.SILENT: lambda: field(SENT, SENT, (None,) * 4, ends=False),
    path.NO_SERVER: lambda: server(plain=None),
    path.SYN_BLOCKED: lambda: server(accecn=None),
    path.REFUSED: lambda: server(classic=0, accecn=0),
    path.REFLECTED: lambda: server(accecn=7),
    path.NO_ACCECN: lambda: server(accecn=1, ect1=1),
    path.SYN_CHANGED: lambda: server(ect1=2),
}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.name)
def test_each_kind_is_found_where_it_is_and_nowhere_else(kind: Kind) -> None:
    found = [finding for finding in CASES[kind]() if finding.kind == kind.name and finding.severity]
    assert [finding.severity for finding in found] == [kind.severity]
    assert not [finding for finding in healthy() if finding.severity]


def test_every_kind_has_a_case() -> None:
    assert set(doctor.kinds(path)) == set(CASES)


def test_the_hops_between_which_the_field_changes_are_named() -> None:
    (found,) = field(SENT, SENT, (0, 0, 0, 0), (0, 0, 0, 0))
    assert found.found == "ECT(1), ECT(0), CE: arrives as Not-ECT between hop 2 (10.0.0.2) and hop 3 (10.0.0.3)"
    (found,) = field((0, 2, 2, 3), (0, 2, 2, 3))
    assert found.found == "ECT(1): arrives as ECT(0) before hop 1 (10.0.0.1)"


def test_a_hop_that_quotes_wrongly_or_loses_an_answer_is_no_finding() -> None:
    assert not [finding for finding in field(SENT, (0, 0, 0, 0), SENT) if finding.severity]
    assert not [finding for finding in field(SENT, (0, None, 2, 3), SENT) if finding.severity]
    assert not [finding for finding in field((0, None, 2, 3), (None, 1, 2, 3), ends=False) if finding.severity > 1]
    assert [finding.kind for finding in field((None,) * 4)] == ["path-silent"]


def quoted(family: int, tos: int, *, exceeded: bool = True) -> bytes:
    """What a raw socket gives of a router's answer."""
    ports = struct.pack("!HHHH", 40000, 33500, 8, 0)
    if family == V4:
        inner = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 28, 0, 0, 1, 17, 0, b"\n\0\0\1", b"\n\0\0\2") + ports
        return bytes([0x46, 0]) + b"\0" * 22 + bytes([11 if exceeded else 3, 0]) + b"\0" * 6 + inner
    inner = struct.pack("!IHBB32x", 6 << 28 | tos << 20, 8, 17, 1) + ports
    return bytes([3 if exceeded else 1, 0]) + b"\0" * 6 + inner


@pytest.mark.parametrize("family", [V4, V6])
@pytest.mark.parametrize("tos", [0, 1, 2, 3, 0xB8 | 1])
def test_what_a_router_quotes_is_read(family: int, tos: int) -> None:
    said = quote(quoted(family, tos), family)
    assert said is not None
    assert (said.tos, said.source_port, said.destination_port, said.is_exceeded) == (tos, 40000, 33500, True)
    end = quote(quoted(family, tos, exceeded=False), family)
    assert end is not None
    assert not end.is_exceeded


@pytest.mark.parametrize("family", [V4, V6])
def test_packets_that_were_cut_are_refused_and_not_misread(family: int) -> None:
    whole = quoted(family, 1)
    needed = len(whole) - 4
    assert [quote(whole[:length], family) for length in range(needed)] == [None] * needed
    assert [segment(bytes(length), family) for length in range(20)] == [None] * 20
    assert quote(b"\xff" * 80, family) is None


@pytest.mark.parametrize(("family", "own", "other"), [(V4, "10.0.0.1", "10.0.0.2"), (V6, "fd00::1", "fd00::2")])
def test_a_syn_has_the_flags_and_a_right_checksum(family: int, own: str, other: str) -> None:
    packet = syn((own, 40000), (other, 443), family, ACCECN, 7)
    addresses = socket.inet_pton(family, own) + socket.inet_pton(family, other)
    assert checksum(addresses + struct.pack("!II", 6, len(packet)) + packet) == 0
    said = segment((b"\x45" + bytes(19) if family == V4 else b"") + packet, family)
    assert said is not None
    assert (said.source_port, said.destination_port, said.ace, said.is_syn_ack) == (40000, 443, ACCECN, False)


@pytest.mark.parametrize("text", ["", ":80", "host:", "host:x", "host:0", "host:70000", "[::1", "[::1]80", "a..b"])
def test_what_is_no_host_is_misuse(text: str) -> None:
    with pytest.raises(PathError, match="--path"):
        Target.read(text)


def test_hosts_and_ports_are_told_apart() -> None:
    assert (Target.read("127.0.0.1").port, Target.read("127.0.0.1:80").port) == (None, 80)
    assert (Target.read("::1").address, Target.read("[::1]:80").port) == ("::1", 80)


def test_without_the_right_the_path_is_not_examined(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    assert call(["doctor", "--path", "127.0.0.1", "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["kind"] == rights.NO_RAW.name
    assert "127.0.0.1 was not examined" in finding["found"]


def inside(*command: str) -> subprocess.CompletedProcess[str]:
    line = [*UNSHARE, *command]
    return subprocess.run(line, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ("none", set()),
        ("clear", {"ecn-cleared", "tcp-syn-ecn-changed"}),
        ("swap", {"ecn-changed", "tcp-syn-ecn-changed"}),
        ("block", {"ecn-blocked"}),
    ],
)
def test_a_path_through_a_tun_device(change: str, kinds: set[str]) -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK) or shutil.which("ip", path=ENVIRONMENT["PATH"]) is None:
        pytest.skip("no /dev/net/tun or no ip")
    if inside("true").returncode:
        pytest.skip("no right to make a network namespace")
    done = inside(sys.executable, str(SCRIPT), change)
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)
    assert {finding["kind"] for finding in findings if finding["severity"] != "ok"} == kinds
    if change in ("clear", "swap"):
        (where,) = (finding["found"] for finding in findings if finding["kind"].startswith("ecn-"))
        assert where.endswith("between hop 1 (10.9.0.2) and hop 2 (10.9.1.2)")
