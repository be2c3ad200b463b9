"""`sojourn pcap`: captures made by hand, through every output."""

from __future__ import annotations

import csv
import itertools
import json
import lzma
import re
import socket
import threading
import tomllib
from ipaddress import ip_address
from pathlib import Path

import polars as pl
import pytest

import packets
from sojourn import captures, reference
from sojourn.captures import page, series, xplot
from sojourn.cli import call
from sojourn.planning import find

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no address is shortened."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(scope="module")
def bulk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = packets.bulk(marked=50, lost=500)
    return packets.write(tmp_path_factory.mktemp("pcap") / "bulk.pcap", made)


def test_a_table_says_what_the_flow_did(bulk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["pcap", str(bulk)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "bulk.pcap: 5005 IP packets in 2.1 s, 1 flow"
    row = next(line for line in out if line.startswith("1 10.0.0.1:40000 > 10.0.0.2:80"))
    assert re.split(r"  +", row)[1:] == [
        "tcp",
        "2.1",
        "10.0",
        "20.0",
        "classic",
        "ECT(0) 99.9 %, Not-ECT <0.1 %",
        "0 %",
        "1",
        "-",
    ]


def test_json_is_the_report_of_the_core(bulk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["pcap", str(bulk), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["files"]) == ("sojourn/pcap/1", [str(bulk)])
    (flow,) = document["flows"]
    assert flow["tcp"]["ecn"] == "classic"
    assert flow["forward"]["data_packets"] == 2501
    assert flow["forward"]["tcp"]["retransmissions"]["fast"] == 1
    assert flow["backward"]["tcp"]["ece"] == 50


def test_one_flow_is_printed_whole(bulk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["pcap", str(bulk), "--flow", "1"]) == 0
    out = capsys.readouterr().out
    assert "retransmissions      1 (1 fast)" in out
    assert re.search(r"RTT by sequence, ms +2\d\d\d +20\.0", out)
    assert call(["pcap", str(bulk), "--flow", "2"]) == 2
    assert capsys.readouterr().err == "sojourn: --flow 2: expected 1 to 1, the first column of the table\n"


def test_series_count_every_packet_once(bulk: Path, tmp_path: Path) -> None:
    assert call(["pcap", str(bulk), "--csv", str(tmp_path / "a.csv"), "--parquet", str(tmp_path / "a.parquet")]) == 0
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    for per in ("100 ms", "round trip"):
        chosen = [row for row in rows if row["per"] == per]
        assert sum(float(row["packets"]) for row in chosen) == 2501
        assert sum(float(row["retransmitted"]) for row in chosen) == 1
        assert sum(float(row["ce_reported"]) for row in chosen) == 50
    middle = [row for row in rows if row["per"] == "100 ms"][5]
    assert float(middle["sent_mbps"]) == pytest.approx(10, rel=0.02)
    assert float(middle["rtt_ms"]) == pytest.approx(20, rel=1e-3)
    rounds = [row for row in rows if row["per"] == "round trip"]
    assert float(rounds[20]["to_s"]) - float(rounds[20]["from_s"]) == pytest.approx(0.02, abs=0.001)
    assert pl.read_parquet(tmp_path / "a.parquet").height == len(rows)


def test_events_are_the_packets(bulk: Path, tmp_path: Path) -> None:
    assert call(["pcap", str(bulk), "--parquet", str(tmp_path / "a.parquet"), "--events"]) == 0
    frame = pl.read_parquet(tmp_path / "a.parquet")
    assert frame.height == 5005
    lost = 1 + 500 * 1000
    assert frame.filter(pl.col("again") == "fast").select("seq", "len").rows() == [(lost, 1000)]
    assert frame.filter(pl.col("sacks") != "").height == 3


def test_xplot_shows_data_acknowledgements_sacks_and_what_was_sent_again(bulk: Path, tmp_path: Path) -> None:
    assert call(["pcap", str(bulk), "--xplot", str(tmp_path), "--no-anonymise"]) == 0
    text = (tmp_path / "tcp-1-a2b_tsg.xpl").read_text()
    assert text.startswith("timeval unsigned\ntitle\n10.0.0.1:40000_==>_10.0.0.2:80 (time sequence graph)\n")
    assert text.endswith("\ngo\n")
    lost = "1600000000.421000 500001 1600000000.421000 501001"
    assert f"white\nline {lost}\n" in text
    assert text.count("\nred\nline ") == 1
    assert text.count("\npurple\nline ") == 3
    assert text.count("\nR\n") == 1
    signals = (tmp_path / "tcp-1-40000-80.xpl").read_text()
    assert signals.startswith("timeval double\n")
    assert signals.count("larrow") == 50  # ECE of the peer's ACKs, and no SYN's
    values = [float(line.split()[2]) for line in signals.splitlines() if line.startswith("larrow")]
    assert values[20] == pytest.approx(3 / (2 * xplot.HALF_WINDOW + 1), abs=1e-4)


def test_the_page_has_marks_losses_and_sacks_on_the_sequence_plot(bulk: Path) -> None:
    capture = captures.read([bulk], packets=True)
    made = page.page(capture, capture.flows)
    (figure,) = made.figures
    assert [plot.kind for plot in figure.plots] == ["sequence", "rate", "rtt", "marks", "flight"]
    found = {one.label: one for one in figure.plots[0].series}
    assert set(found) == {"data", "acknowledged", "SACK", "sent again (1)", "ACK reports CE (50)"}
    assert found["sent again (1)"].values == [pytest.approx(0.501001)]
    assert len(found["SACK"].values) == 3
    assert len(found["ACK reports CE (50)"].values) == 50


def test_thinning_keeps_what_is_lowest_and_highest() -> None:
    import numpy as np

    values = np.zeros(100_000)
    values[[70_001, 70_002]] = 5.0, -5.0
    kept = series.thinned(values, 1000)
    assert kept.size <= 1002
    assert {0, 70_001, 70_002, 99_999} <= set(kept.tolist())


def test_a_draft_has_rate_rtt_and_the_flow(bulk: Path, tmp_path: Path) -> None:
    path = tmp_path / "draft.toml"
    assert call(["pcap", str(bulk), "--to-scenario", str(path)]) == 0
    document = tomllib.loads(path.read_text())
    (link,), (flow,) = document["link"], document["flow"]
    # 1000 bytes of payload in frames of 1054: IP 20, TCP 20, Ethernet 14.
    assert float(link["rate"].removesuffix("kbit")) == pytest.approx(10540, rel=0.01)
    assert float(link["delay"].removesuffix("us")) == pytest.approx(10000, rel=0.01)
    assert (flow["tcp"]["ecn"], flow["tcp"]["mtu"]) == ("rfc3168", 1040)
    assert len(find(str(path))[0].expand({})) == 1


def test_scetrace_has_its_own_names(bulk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["pcap", str(bulk), "--scetrace"]) == 0
    document = json.loads(capsys.readouterr().out)
    (flow,) = document["TCP"]
    assert (flow["SrcIP"], flow["DstPort"], flow["ECNAccepted"]) == ("10.0.0.1", 80, True)
    assert (flow["Up"]["DataSegments"], flow["Up"]["RetransmittedSegments"], flow["Down"]["ECE"]) == (2501, 1, 50)
    assert call(["pcap", str(bulk), "--scetrace", "--anonymise"]) == 0
    assert "10.0.0.1" not in capsys.readouterr().out


def test_an_interface_that_cannot_be_opened_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["pcap", "-i", "absent0", "--duration", "1s"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("sojourn: --interface: device `absent0`: n")
    assert err.count("\n") == 1


def test_an_interface_is_analysed_while_packets_pass(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender, socket.socket(type=socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, packets.ECT1)
        over = threading.Event()

        def send() -> None:
            while not over.wait(0.01):
                sender.sendto(bytes(100), ("127.0.0.1", port))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            code = call(["pcap", "-i", "lo", "--filter", f"udp port {port}", "--duration", "300ms", "--json"])
        finally:
            over.set()
            thread.join()
    out, err = capsys.readouterr()
    if "no CAP_NET_RAW" in err or "down" in err:
        pytest.skip(err.strip())
    assert code == 0
    (flow,) = json.loads(out)["flows"]
    assert flow["forward"]["data_ecn"]["ect1"] == flow["forward"]["packets"] > 5


@pytest.mark.skipif(reference.folder() is None, reason="no folder of reference measurements")
def test_a_real_capture_agrees_with_flent_and_with_the_run_of_the_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside what netperf and `ss` said of the same run within 1 %, beside the simulated one within 5 %."""
    base = reference.folder()
    assert base is not None
    stem = "l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-20ms"
    capture = base / f"ect1/pcap/{stem}.cli_cli.pcap.xz"
    if not capture.is_file():
        pytest.skip("no reference captures")
    run = "ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms"
    assert call(["run", run, "--out", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    for a, b, bound in (
        (capture, base / f"ect1/flent/{stem}.flent.gz", 0.01),
        (tmp_path / "r", capture, 0.05),
    ):
        assert call(["compare", str(a), str(b), "--json"]) == 0
        (pair,) = json.loads(capsys.readouterr().out)["runs"]
        assert pair["id"] == run
        (flow,) = pair["flows"]
        for quantity in (flow["goodput_mbps"], flow["tcp_rtt_ms"]["mean"], flow["tcp_rtt_ms"]["p50"]):
            assert quantity["a"] == pytest.approx(quantity["b"], rel=bound)


def test_two_captures_say_what_the_path_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The server's clock is 1 ms ahead; ECT(0) from number 100 on is cleared, one packet lost."""
    client, server = ("10.0.0.1", 40000), ("10.0.0.2", 80)
    sent, received = [], []
    for n in range(200):
        at, first = 1.6e9 + 0.001 * n, 1 + 100 * n
        sent.append(packets.tcp(at, client, server, seq=first, ecn=packets.ECT0, length=100))
        back = packets.tcp(at + 0.02, server, client, seq=1, ack=first + 100)
        sent.append(back)
        if n != 50:
            ecn = packets.ECT0 if n < 100 else packets.NOT_ECT
            received.append(packets.tcp(at + 0.011, client, server, seq=first, ecn=ecn, length=100))
            received.append((at + 0.011, back[1]))
    files = [tmp_path / "c.pcap", tmp_path / "s.pcap"]
    for file, made in zip(files, (sent, received), strict=True):
        packets.write(file, sorted(made, key=lambda packet: packet[0]))
    assert call(["pcap", "--pair", *map(str, files)]) == 0
    out = capsys.readouterr().out
    assert "1 10.0.0.1:40000 > 10.0.0.2:80: bleached: ECT(0) arrives as Not-ECT, 100 of 199 packets" in out
    row = next(line for line in out.splitlines() if line.startswith("1 10.0.0.1:40000 > 10.0.0.2:80  "))
    assert re.split(r"  +", row)[1:4] == ["199", "1", "0"]
    assert call(["pcap", "--pair", *map(str, files), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "sojourn/pcap-pair/1"
    assert document["clocks"]["offset_s"] == pytest.approx(0.001, abs=1e-4)
    assert call(["pcap", "--pair", str(files[0])]) == 2
    assert call(["pcap", "--pair", *map(str, files), "--filter", "tcp"]) == 2


def test_what_is_no_capture_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.pcap").write_text("not a capture at all")
    for arguments, said in (
        ([str(tmp_path / "absent.pcap")], "absent.pcap: No such file"),
        ([str(tmp_path / "x.pcap")], "x.pcap: expected a capture"),
        ([], "expected capture files, `-` for stdin, or --interface"),
        (["-", "-"], "expected `-` alone"),
        ([str(tmp_path / "x.pcap"), "--events"], "--events: expected --csv or --parquet, too"),
        ([str(tmp_path / "x.pcap"), "--filter", "prot 3"], "--filter prot 3: expected host, net, port,"),
    ):
        assert call(["pcap", *arguments, *([] if "--events" in arguments else ["--csv", str(tmp_path / "o.csv")])]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    assert not (tmp_path / "o.csv").exists()


def test_the_beginning_of_a_damaged_file_is_used(
    bulk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = bulk.read_bytes()
    cut = tmp_path / "cut.pcap.xz"
    cut.write_bytes(lzma.compress(whole[: len(whole) // 2 + 7]))
    assert call(["pcap", str(cut), "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert 2300 < document["packets"] < 2700
    assert err.startswith(f"sojourn: {cut}: damaged: {document['packets']} packets were read, ")
    assert err.count("\n") == 1
    assert document["warnings"] == [err.removeprefix("sojourn: ").rstrip("\n")]


def test_a_filter_takes_packets(bulk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["pcap", str(bulk), "--json", "--filter", "src host 10.0.0.1 and tcp"]) == 0
    assert json.loads(capsys.readouterr().out)["packets"] == 2504
    assert call(["pcap", str(bulk), "--json", "--filter", "udp"]) == 1
    assert json.loads(capsys.readouterr().out)["flows"] == []


def test_files_have_other_addresses_and_the_screen_the_true_ones(
    bulk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = {name: tmp_path / name for name in ("a.html", "a.csv", "a.pcapng")}
    html, table, copy = map(str, outputs.values())
    assert call(["pcap", str(bulk), "--html", html, "--csv", table, "--write-anonymised", copy]) == 0
    assert "10.0.0.1:40000" in capsys.readouterr().out
    for path in outputs.values():
        assert b"10.0.0.1" not in path.read_bytes()
        # In each of 5005 packets it would be; checksums may have these bytes by chance.
        assert path.read_bytes().count(bytes((10, 0, 0, 1))) < 5
    with outputs["a.csv"].open() as file:
        opener, peer = itertools.islice(next(csv.reader(itertools.islice(file, 1, 2))), 1, 3)
    # The two share 30 bits, and so do those that stand for them, which are the same in all files.
    first, second = (int(ip_address(end.rpartition(":")[0])) for end in (opener, peer))
    assert (first ^ second) >> 2 == 0 != first ^ second
    assert opener in outputs["a.html"].read_text()
    before, after = (captures.read([path]).document for path in (bulk, outputs["a.pcapng"]))
    ends = [after["flows"][0][end] for end in ("opener", "peer")]
    assert [f"{end['address']}:{end['port']}" for end in ends] == [opener, peer]
    for document in (before, after):
        del document["flows"][0]["opener"], document["flows"][0]["peer"]
    assert before == after
    assert call(["pcap", str(bulk), "--anonymise", "--json"]) == 0
    assert "10.0.0.1" not in capsys.readouterr().out
    assert call(["pcap", "-", "--write-anonymised", copy]) == 2


def test_names_from_strangers_are_harmless(bulk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = tmp_path / "\x1b[31m<script>alert(1)<script>.pcap"
    evil.write_bytes(bulk.read_bytes())
    html = tmp_path / "r.html"
    assert call(["pcap", str(evil), "--html", str(html)]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    text = html.read_text()
    assert "<script>alert" not in text
    assert "\x1b" not in text
