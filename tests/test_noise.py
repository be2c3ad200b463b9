"""The noise of hosts: the defaults are the fitted rows, and these are what the captures give."""

from __future__ import annotations

import lzma
import re
import struct
from pathlib import Path

import numpy as np
import pytest

import noise
import packets
from sojourn import reference

MODEL = Path(__file__).parent.parent / "crates/scenario/src/noise.rs"
GUIDE = Path(__file__).parent.parent / "docs/guide/scenario.md"


def fitted() -> dict[str, list[str]]:
    """The page's quantiles of the fitted runs."""
    rows = re.findall(r"^\| `(\w+)` \| fitted \| \d+ \| (.*) \|$", noise.PAGE.read_text("utf-8"), re.MULTILINE)
    return {name: values.split(" | ") for name, values in rows}


def test_the_defaults_are_those_of_the_fitted_runs_and_of_the_guide() -> None:
    model = re.findall(r"pub (\w+): Quantiles = Quantiles::micros\(\[(.*)\]\)", MODEL.read_text("utf-8"))
    assert len(model) == 4
    assert {name: values.split(", ") for name, values in model} == fitted()
    for name, values in fitted().items():
        row = re.search(rf"^\| `{name}` \| .* \| `(.*)` \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
        assert row is not None and row[1].split("/") == [f"{value}us" for value in values]


@pytest.mark.timeout(600)
def test_the_tables_are_those_of_the_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = reference.folder()
    if folder is None or not (folder / "ect1/pcap").is_dir():
        pytest.skip("SOJOURN_REFERENCE does not point to captures")
    assert noise.tables(folder / "ect1/pcap") in noise.PAGE.read_text("utf-8")


def test_turns_and_timers_of_packets_made_by_hand(tmp_path: Path) -> None:
    """Data every 2 ms, which leave the receiver idle, answered after 7 us; ACKs take 10 ms and 30 us."""
    client, server = ("10.0.0.1", 40000), ("10.0.0.2", 5201)
    sent = [packets.tcp(0.002 * n, client, server, seq=1000 * n, length=1000) for n in range(1100)]
    got = [packets.tcp(0.002 * n + 0.0107, client, server, seq=1000 * n, length=1000) for n in range(1100)]
    acks = [packets.tcp(t + 7e-6, server, client, seq=1, ack=1) for t, _ in got]
    back = [(t + 0.01003, data) for t, data in acks]
    for end, some in (("cli_cli", sent + back), ("srv_srv", got + acks)):
        file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        for t, data in sorted(some, key=lambda packet: packet[0]):
            whole, micros = divmod(round(t * 1e6), 1_000_000)
            frame = bytes(12) + b"\x08\x00" + data
            file += struct.pack("<IIII", whole, micros, len(frame), len(frame)) + frame
        (tmp_path / f"run.{end}.pcap.xz").write_bytes(lzma.compress(file, preset=0))
    found = {name: np.concatenate(parts) for name, parts in noise.lateness(tmp_path, "run", 10_000).items()}
    assert len(found["turn"]) == 0
    assert set(found["turn_idle"]) == {7.0} and len(found["turn_idle"]) == 1100
    late = np.concatenate([found["timer"], found["timer_idle"]])
    assert set(late) == {30.0} and len(late) == 1100
