from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.figure import Figure

from sojourn import cli
from sojourn.interop import scream_log
from sojourn.plot import PlotError, scream
from sojourn.plot.scream import Limits
from test_scream_log import OF_2020, OF_2024, OF_2026

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


def log_file(folder: Path, name: str = "a.txt", *, lost: float = 0, streams: tuple[int, ...] = (0,)) -> Path:
    """20 s of a log of 2026: 30 to 40 Mbit/s, one byte in ten marked."""
    rows = []
    for i in range(200):
        rate = 30_000_000 + 50_000 * i
        rows += [
            f"{0.1 * i:.4f},0.0010,0.0260, 150000,{90_000 + i},0,{rate},{stream},{i},10000,1000,{rate},{rate},"
            f"{rate},{lost if i == 100 else 0:.0f},0,1,{rate},0.005, 1"
            for stream in streams
        ]
    path = folder / name
    path.write_text("\n".join(rows) + "\n")
    return path


def panels(count: int) -> list[Axes]:
    return list(Figure().subplots(count, 1))


def line(ax: Axes, label: str) -> np.ndarray:
    return np.asarray(next(of for of in ax.get_lines() if of.get_label() == label).get_ydata(), dtype=float)


def test_four_panels_with_the_columns_and_units_of_the_script(tmp_path: Path) -> None:
    log = scream_log.read(log_file(tmp_path, lost=2500))
    axes = panels(4)
    scream.thp_delay(log, axes, Limits(rate_mbps=50, delay_s=0.2, window_kb=200))
    assert [ax.get_ylabel() for ax in axes] == ["rate, Mbit/s", "window, kB", "CE, % of bytes", "delay, s"]
    assert [ax.get_ylim()[1] for ax in axes] == [50, 200, 110, 0.2]
    for label in ("transmitted", "RTP", "acknowledged", "target"):
        assert line(axes[0], label)[-1] == pytest.approx(39.95)
    # A lossy line's dot is at the lost kbit/s less one, at most a tenth up the axis.
    dots = line(axes[0], "loss")
    assert dots[100] == pytest.approx(1.5)
    assert np.isfinite(dots).sum() == 1
    assert line(axes[1], "in flight")[0] == pytest.approx(90)
    assert line(axes[1], "cwnd")[0] == pytest.approx(150)
    assert line(axes[2], "CE")[0] == pytest.approx(10)
    assert line(axes[3], "queue")[0] == pytest.approx(0.001)
    assert line(axes[3], "RTT")[0] == pytest.approx(0.026)


def test_smooth_filters_and_shows_the_rtp_queue(tmp_path: Path) -> None:
    log = scream_log.read(log_file(tmp_path))
    axes = panels(4)
    scream.thp_delay(log, axes, Limits(), smooth=True)
    # A ramp comes out of the filter 0.95 / 0.05 lines late.
    assert line(axes[0], "RTP")[-1] == pytest.approx(39.95 - 19 * 0.05, abs=0.01)
    assert line(axes[0], "transmitted")[-1] == pytest.approx(39.95)
    assert line(axes[3], "RTP queue (10-line mean)")[0] == pytest.approx(0.005)
    assert "RTT" not in [of.get_label() for of in axes[3].get_lines()]


def test_a_log_of_2020_has_two_panels(tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_text(OF_2020 * 5)
    axes = panels(2)
    scream.thp_delay(scream_log.read(path), axes, Limits())
    five = np.mean([126715, 253449, 126715, 253449, 126715]) * 1e-6
    assert line(axes[0], "media (5-line mean)")[4] == pytest.approx(five)
    assert np.isfinite(line(axes[0], "loss")).sum() == 5
    numbers = scream.numbers(scream_log.read(path))
    assert numbers.plr_percent == pytest.approx(100 * 7 / (126715 + 253449))
    assert numbers.cwnd_kb == pytest.approx((12.5 + 21.106) / 2)


def test_numbers_are_of_the_chosen_lines(tmp_path: Path) -> None:
    path = log_file(tmp_path, lost=39_950_000, streams=(0, 3))
    drawn = scream.plot_thp_delay([path], output=tmp_path / "x.svg", limits=Limits(time_s=(10, 19.9), stream=3))
    (numbers,) = drawn.logs
    # Later than 10 s, at the latest 19.9 s: 99 lines.
    assert (numbers.lines, numbers.stream) == (99, 3)
    assert numbers.sent_mbps == pytest.approx(30 + 0.05 * 150)
    assert numbers.ce_percent == pytest.approx(10)
    assert numbers.ce_percent_of_lines == pytest.approx(10)
    assert numbers.plr_percent == 0
    assert scream.plot_cdf([path], output=tmp_path / "y.svg").logs[0].lines == 400
    with pytest.raises(PlotError, match="--stream 1: expected one of the log's streams: 0, 3"):
        scream.plot_cdf([path], limits=Limits(stream=1))
    with pytest.raises(PlotError, match="no line in the seconds that --time names"):
        scream.plot_cdf([path], limits=Limits(time_s=(100, 200)))


def test_distributions_are_of_queue_and_rtt(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(OF_2024)
    ax = Figure().subplots()
    scream.cdf([scream_log.read(path)], ax, Limits(delay_s=0.1))
    assert [of.get_label() for of in ax.get_lines()] == ["queue", "RTT"]
    assert np.asarray(ax.get_lines()[1].get_xdata()).tolist() == [0.0252, 0.0253]
    assert ax.get_xlim() == (0, 0.1)


def test_txrx_is_above_the_least_with_circles_for_the_lost(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("0.1, 0, 0.0020, 0.0050, 0.0030\n0.2, 1, 0.0030, -1.0, -1.0\n0.3, 2, 0.0040, 0.0090, 0.0050\n")
    ax = Figure().subplots()
    scream.txrx([scream_log.read_txrx(path)], ax, Limits())
    assert line(ax, "one-way").tolist() == pytest.approx([0, 0.002])
    assert line(ax, "lost").size == 1
    drawn = scream.plot_txrx([path], output=tmp_path / "t.svg")
    assert (drawn.logs[0].packets, drawn.logs[0].lost, drawn.logs[0].max_ms) == (3, 1, 2.0)


def test_pictures_are_the_same_bytes_and_logs_of_two_layouts_do_not_mix(tmp_path: Path) -> None:
    a, b = log_file(tmp_path), log_file(tmp_path, "b.txt")
    first = scream.plot_thp_delay([a, b], output=tmp_path / "x.svg").path.read_bytes()
    assert scream.plot_thp_delay([a, b], output=tmp_path / "y.svg").path.read_bytes() == first
    old = tmp_path / "old.txt"
    old.write_text(OF_2020)
    with pytest.raises(PlotError, match="found one of 2020 beside newer ones"):
        scream.plot_thp_delay([a, old])


@pytest.mark.parametrize("verb", ["thp-delay", "cdf"])
def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    log_file(tmp_path)
    (tmp_path / "b.txt").write_text(OF_2026)
    assert cli.call(["plot", verb, "a.txt", "--time", "0", "100", "--max-delay", "0.2"]) == cli.OK
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("a.txt: generation 2026, 199 lines")
    assert said[1] == f"a-{verb}.svg"
    assert (tmp_path / said[1]).read_bytes().startswith(b"<?xml")
    assert cli.call(["plot", verb, "a.txt", "b.txt", "-o", "x.png", "--json"]) == cli.OK
    document = json.loads(capsys.readouterr().out)
    assert document["path"] == "x.png"
    assert [log["log"] for log in document["logs"]] == ["a.txt", "b.txt"]
    assert cli.call(["plot", verb, "a.txt", "-o", "x.gif"]) == cli.MISUSE
    (tmp_path / "bad.txt").write_text("0.1000,1\n")
    capsys.readouterr()
    assert cli.call(["plot", verb, "bad.txt"]) == cli.MISUSE
    assert capsys.readouterr().err.startswith("sojourn: bad.txt:1: expected 20 columns")


def test_the_verb_still_draws_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.call(["plot", "nowhere"]) == cli.MISUSE
    assert "nowhere: expected a run folder or a Flent file" in capsys.readouterr().err
