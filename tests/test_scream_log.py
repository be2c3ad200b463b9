from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn.interop import scream_log
from sojourn.interop.scream_log import ScreamLogError

if TYPE_CHECKING:
    from pathlib import Path

#: As the tools print them (EricssonResearch/scream, generations 2020, 2024 and 2026).
OF_2020 = (
    "0.281,0.010,0.174, 12500,112,25343,0,15104,0,126715,25343,0,0,\n"
    "0.349,0.016,0.068, 21106,8820,240232,0,12792,12,253449,240232,126734,7,\n"
)
OF_2024 = (
    "0.0262,0.0000,0.0252, 12500,1274,0,0,0,1,1274,0,0,0,0,0,0,1,1928954,0.000 1\n"
    "0.0462,0.0010,0.0253, 12613,1212,0,5,1,3,1274,3,11,12,13,14,15,0,1956940,0.010 12345\n"
)
OF_2026 = OF_2024.replace("0.000 1\n", "0.000, 1\n").replace("0.010 12345", "0.010, 12345")
HEADER = (
    '"Time [s]","Estimated queue delay [s]","RTT [s]","Congestion window [byte]","Bytes in flight [byte]",'
    '"Fast increase mode","Total transmit bitrate [bps]","Stream ID","RTP SN","Bytes newly ACKed",'
    '"Bytes newly ACKed and CE marked","Media coder bitrate [bps]","Transmitted bitrate [bps]",'
    '"ACKed bitrate [bps]","Lost bitrate [bps]","CE Marked bitrate [bps]","Marker bit set"\n'
)


def written(folder: Path, text: str) -> Path:
    path = folder / "log.txt"
    path.write_bytes(text.encode())
    return path


def refusal(folder: Path, text: str, *, txrx: bool = False) -> str:
    path = written(folder, text)
    with pytest.raises(ScreamLogError) as caught:
        (scream_log.read_txrx if txrx else scream_log.read)(path)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert "\n" not in line
    return line.removeprefix(str(path)).lstrip(":")


def test_2020_has_13_columns_and_no_others(tmp_path: Path) -> None:
    log = scream_log.read(written(tmp_path, OF_2020))
    assert (log.generation, len(log), log.streams) == ("2020", 2, [0])
    expected = {"time": 0.349, "queue_delay": 0.016, "rtt": 0.068, "cwnd": 21106, "in_flight": 8820,
                "total_rate": 240232, "acked": 12792, "acked_ce": 12, "media_rate": 253449, "sent_rate": 240232,
                "acked_rate": 126734, "lost_rate": 7}  # fmt: skip
    assert {name: log[name][1] for name in expected} == expected
    assert np.isnan(log["target"]).all()


@pytest.mark.parametrize(("text", "generation"), [(OF_2024, "2024"), (OF_2026, "2026")])
@pytest.mark.parametrize("header", ["", HEADER])
def test_20_columns_with_a_blank_or_a_comma_before_the_last(
    tmp_path: Path, text: str, generation: str, header: str
) -> None:
    log = scream_log.read(written(tmp_path, header + text))
    assert (log.generation, log.streams) == (generation, [0, 1])
    assert list(log.columns) == list(scream_log.COLUMNS)
    assert [log[name][1] for name in ("total_rate", "stream", "seq", "acked", "acked_ce")] == [5, 1, 3, 1274, 3]
    assert [log[name][1] for name in ("media_rate", "sent_rate", "acked_rate", "lost_rate")] == [11, 12, 13, 14]
    assert [log[name][1] for name in ("ce_rate", "marker", "target", "rtp_queue_delay", "cwnd_i")] == [
        15, 0, 1956940, 0.01, 12345]  # fmt: skip


def test_text_of_the_application_follows_the_columns(tmp_path: Path) -> None:
    modem = OF_2020.replace(",\n", ",      1234, -100,  -10,   12\n")
    assert scream_log.read(written(tmp_path, modem))["lost_rate"].tolist() == [0, 7]
    for text in (OF_2024, OF_2026):
        log = scream_log.read(written(tmp_path, text.replace("\n", ",cell 7, -90 dBm\n")))
        assert log["cwnd_i"].tolist() == [1, 12345]


def test_unix_time_is_time_since_the_first_line(tmp_path: Path) -> None:
    text = OF_2024.replace("0.0262,", "1730102400.250000,", 1).replace("0.0462,", "1730102400.270001,", 1)
    log = scream_log.read(written(tmp_path, text))
    assert log.generation == "2024"
    assert log.seconds.tolist() == pytest.approx([0, 0.020001], abs=1e-6)
    assert log.only(log.seconds > 0).seconds.tolist() == pytest.approx([0.020001], abs=1e-6)


def test_appended_sessions_and_other_line_ends(tmp_path: Path) -> None:
    text = (HEADER + OF_2026 + "\n" + HEADER + OF_2026).replace("\n", "\r\n")
    assert len(scream_log.read(written(tmp_path, text))) == 4


def test_a_line_without_its_end_was_being_written(tmp_path: Path) -> None:
    assert len(scream_log.read(written(tmp_path, OF_2024 + "0.0758,0.0000,0.02"))) == 2
    assert len(scream_log.read(written(tmp_path, OF_2024[:-1]))) == 1


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(OF_2024.encode()))
    assert len(scream_log.read(path)) == 2
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(ScreamLogError, match="broken gzip"):
        scream_log.read(path)


def test_csv_and_json_lines_name_their_columns(tmp_path: Path) -> None:
    csv = "time_s,stream,queue_delay_s,rtt_s,target_bps\n0.1,0,0.001,0.026,1e6\n".replace("1e6", "1000000")
    log = scream_log.read(written(tmp_path, csv))
    assert (log.generation, log["rtt"][0], log["target"][0]) == ("csv", 0.026, 1e6)
    rows = [
        {
            "time_s": 0.1,
            "stream": 0,
            "queue_delay_s": 0.001,
            "rtt_s": 0.026,
            "marker": 1,
            "note": "x",
            "cwnd_bytes": None,
        }
    ]
    log = scream_log.read(written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows * 3)))
    assert (log.generation, len(log), log["marker"][2]) == ("json", 3, 1)
    assert np.isnan(log["cwnd"]).all()


def test_what_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, "").endswith("expected a per-ACK log, found no line of numbers")
    bad = OF_2024 + OF_2024.replace("1212", "12.5")
    assert refusal(tmp_path, bad) == "4: column 5 (in_flight): expected a whole number, found '12.5'"
    assert refusal(tmp_path, OF_2024 + "0.1,x\n") == "3: column 2 (queue_delay): expected a number, found 'x'"
    assert "3: expected 20 columns, found 2" in refusal(tmp_path, OF_2024 + "0.1000,0.1\n")
    assert "2: expected 13 columns, found 3" in refusal(tmp_path, OF_2020.split("\n")[0] + "\n0.5,0.1,0.1\n")
    assert refusal(tmp_path, OF_2024 + OF_2026) == "3: expected lines of one generation of the tool, found another's"
    assert refusal(tmp_path, "hello\n") == "1: expected a per-ACK log, found 'hello'"
    assert "1: column 'speed': expected one of time_s" in refusal(tmp_path, "time_s,speed\n1,2\n")
    assert refusal(tmp_path, "time_s,rtt_s\n1,2\n") == "1: expected a column queue_delay_s"
    assert refusal(tmp_path, '{"time_s": 1}\n') == "1: expected a column queue_delay_s"
    good = '{"time_s": 1, "queue_delay_s": 0, "rtt_s": 0, "stream": 0}\n'
    assert refusal(tmp_path, good + '{"time_s": "x"}\n') == "2: time_s: expected a number, found '\"x\"'"
    assert refusal(tmp_path, good + "{\n") == "2: expected a JSON object, found '{'"
    assert refusal(tmp_path, good + "[]\n") == "2: expected a JSON object, found '[]'"
    assert refusal(tmp_path, "0.1, 2\n", txrx=True).startswith("1: expected time, sequence number, sent")


def test_txrx_log(tmp_path: Path) -> None:
    lines = (
        "0.0270, 0, 0.0020, 1.10000, 1.9980\n"  # a fraction of one, as the original prints it
        "0.0280, 1, 0.0030, -1.0, -1.0\n"
        "0.0290, 2, 0.0040, 2.0055, 2.0015\n"
    )
    log = scream_log.read_txrx(written(tmp_path, lines))
    assert log.seq.tolist() == [0, 1, 2]
    assert log.seconds.tolist() == pytest.approx([0, 0.001, 0.002])
    assert np.isnan(log.one_way_s).tolist() == [False, True, False]
    wrapped = "0.1000, 0, 0.0020, 0.0010, 65535.9990\n0.2000, 1, 0.0030, 0.0040, 0.0010\n"
    log = scream_log.read_txrx(written(tmp_path, wrapped))
    assert np.ptp(log.one_way_s) == pytest.approx(0.002, abs=1e-9)


_PIECES = st.sampled_from(
    [*OF_2020[:60], *OF_2024.split(","), HEADER, "\n", ",", " ", "-", "nan", "1e9", "_", "{", "²", "\0"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=5)), max_size=60).map("".join))
@example(OF_2024 + "0.1,0.1,0.1,1_0,1,0,0,0,1,1,0,0,0,0,0,0,1,1,0.0 1\n")
@example('{"time_s": 1, "queue_delay_s": 1e999, "rtt_s": 0, "stream": 0}\n')
@example('{"time_s": null, "queue_delay_s": NaN, "rtt_s": 0, "stream": 0}\n')
@example("[" * 100_000 + "\n")
@example("9" * 5000 + ".000," + "1," * 30 + "\n")
def test_any_text_is_read_or_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(text.encode())
    for read in (scream_log.read, scream_log.read_txrx):
        try:
            log = read(path)
        except ScreamLogError as error:
            assert "\n" not in str(error)
        else:
            assert log.seconds.size


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes"
    for start in (b"", b"\x1f\x8b\x08", OF_2024.encode()):
        path.write_bytes(start + content)
        for read in (scream_log.read, scream_log.read_txrx):
            try:
                read(path)
            except ScreamLogError as error:
                assert "\n" not in str(error)


_NUMBER = st.floats(0, 1e6).map(lambda value: round(value, 4))
_ROW = st.tuples(*[st.integers(0, 2**31) if name in scream_log._WHOLE else _NUMBER for name in scream_log.COLUMNS])


@given(st.lists(_ROW, min_size=1, max_size=8), st.sampled_from([" ", ", "]))
def test_what_the_tool_writes_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, ...]], before_last: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "printed"
    shown = [[f"{v:d}" if isinstance(v, int) else f"{v:.4f}" for v in row] for row in rows]
    path.write_text("".join(f"{','.join(row[:-1])}{before_last}{row[-1]}\n" for row in shown))
    log = scream_log.read(path)
    assert log.generation == ("2024" if before_last == " " else "2026")
    assert [tuple(log[name][i] for name in scream_log.COLUMNS) for i in range(len(log))] == rows
