from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

from sojourn import pictures, plot, style
from sojourn.plot import panels, upload_with_ping_and_tcp_rtt
from sojourn.plot.curves import averaged, gathered
from synthetic import S2, S2_STEM, Made, flent_document, made_run, write_flent

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.metrics import Source


@pytest.fixture
def ours() -> Source:
    return made_run(S2, {"cubic": 15.0, "prague": 31.0}, {"cubic": 36.0, "prague": 20.4})


@pytest.mark.parametrize("name", list(plot.PLOTS))
def test_every_figure_draws_both_sides_with_labelled_axes(name: str, ours: Source) -> None:
    ax = Figure().subplots()
    assert plot.PLOTS[name](ours, ours, ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    labels = [str(line.get_label()) for line in ax.get_lines()]
    assert any(label.endswith(", ours") for label in labels)
    assert any(label.endswith(", measured") for label in labels)


def test_a_group_of_flows_is_drawn_as_its_median_with_a_band() -> None:
    t = np.arange(0.0, 20.0, 0.05)
    of = {"p10": 1.0, "p50": 2.0, "p90": 4.0}
    series = {
        f"group.web.{name}.{q}": (t, np.full(t.size, v * scale))
        for name, scale in (("rtt", 10.0), ("cwnd", 5.0), ("goodput", 1.0), ("delivery_rate", 1.0))
        for q, v in of.items()
    }
    made = Made("home", series | {"group.web.open": (t, t), "group.web.goodput_bytes.sum": (t, t * 1e6)})
    for name in ("tcp_cwnd", "tcp_delivery_with_rtt", "upload_with_ping_and_tcp_rtt", "totals"):
        ax = Figure().subplots()
        plot.PLOTS[name](made, None, ax)
        assert any("web-*" in str(line.get_label()) for line in ax.get_lines())
    figure = Figure()
    panels.draw(figure, [made])
    for ax, scale in zip(figure.axes, (1.0, 10.0, 5.0), strict=True):
        (line,) = ax.get_lines()
        assert set(np.asarray(line.get_ydata())) == {2.0 * scale}
        (band,) = ax.collections
        edges = np.asarray(band.get_paths()[0].vertices)[:, 1]
        assert (edges.min(), edges.max()) == (scale, 4.0 * scale)


def test_values_of_a_group_are_averaged_between_its_samples() -> None:
    t = np.arange(0.0, 1.0, 0.05)
    middles, means = averaged(t, np.tile([0.0, 2.0], 10), 0.1)
    assert middles == pytest.approx(np.arange(0.05, 1.0, 0.1))
    assert means == pytest.approx(1.0)


def test_axes_have_the_ranges_of_the_suite(ours: Source) -> None:
    ax = Figure().subplots()
    plot.PLOTS["tcp_delivery_with_rtt"](ours, None, ax)
    assert ax.get_ylim() == (0, 55)
    right = ax.figure.axes[1]
    assert right.get_ylim() == (20, 70)
    fifo = "ect1/l4s-s2-twoflow/cubic-vs-prague/pfifo-1000/20ms"
    assert style.rtt_range(Made(fifo, {}), 260.0) == (20, 20 + 3 * 240)


def test_the_suites_figure_has_a_fixed_and_a_variable_scale(ours: Source, tmp_path: Path) -> None:
    def limits(scale: Literal["fixed", "var"]) -> tuple[float, float]:
        ax = Figure().subplots()
        upload_with_ping_and_tcp_rtt.draw(ours, None, ax, scale=scale)
        low, high = ax.figure.axes[1].get_ylim()
        return float(low), float(high)

    assert limits("fixed") == (20, 120)
    assert limits("var") == pytest.approx((20, 20 + 3 * 16))
    with pytest.raises(plot.PlotError, match="--scale fixed: expected with the plot"):
        pictures.plot("x", plot="totals", scale="fixed")


def test_a_ping_has_no_controller_s_colour_nor_one_near_it() -> None:
    def channels(colour: str) -> list[int]:
        return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]

    for other in {*style.COLOURS.values(), *style.SPARE}:
        assert sum(abs(a - b) for a, b in zip(channels(style.PING), channels(other), strict=True)) > 100, other


def test_a_flow_keeps_its_colour() -> None:
    assert style.colours(["cubic", "prague"])["prague"] == style.colours(["prague"])["prague"]
    same = style.colours(["prague-1", "prague-2"])
    assert same["prague-1"] != same["prague-2"]


def test_svg_has_text_as_text_and_a_title(tmp_path: Path, ours: Source) -> None:
    target = tmp_path / "x.svg"
    plot.write([ours], ["ping_cdf"], target, title="<&> $1")
    root = ET.fromstring(target.read_text())  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    assert root[0].tag == f"{space}title"
    assert root[0].text == f"{S2} <&> $1"
    assert any(
        re.fullmatch(r"ping RTT, ms, from \d\S* to \d\S* s", text.text or "") for text in root.iter(f"{space}text")
    )
    assert any("measured" in (text.text or "") for text in root.iter(f"{space}text"))
    plot.write([ours], ["ping_cdf"], tmp_path / "y.svg", title="<&> $1")
    assert target.read_bytes() == (tmp_path / "y.svg").read_bytes()


@pytest.mark.parametrize(("ending", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_the_ending_decides_the_format(tmp_path: Path, ending: str, magic: bytes) -> None:
    path = write_flent(tmp_path / f"{S2_STEM}.flent.gz", flent_document())
    target = pictures.plot(str(path), plot="totals", output=tmp_path / f"x{ending}", title="")
    assert target.read_bytes().startswith(magic)


def drawn(sources: list[Source], *names: str) -> Figure:
    with plot.styled():
        figure = plot.figure(sources, names)
        figure.savefig(io.BytesIO(), format="svg")
    return figure


def said(figure: Figure) -> list[str]:
    legends = [legend for ax in figure.axes if (legend := ax.get_legend())] + figure.legends
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_panels_stand_one_above_the_other_over_one_time_axis(ours: Source) -> None:
    run = with_queue(ours)
    figure = drawn([run])
    labels = [ax.get_ylabel().replace("\n", " ") for ax in figure.axes]
    assert labels == [
        "goodput, Mbit/s", "RTT, ms", "queue delay, ms", "cwnd, segments", "marks, drops, packets/s",
    ]  # fmt: skip
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    assert all(ax.get_position().x0 == figure.axes[0].get_position().x0 for ax in figure.axes)
    assert said(figure)[:3] == ["cubic", "prague", "measured"]
    rates = figure.axes[4].get_lines()[0].get_ydata()
    assert float(np.max(np.asarray(rates))) == pytest.approx(10.0)  # marks grow by 10 a second


def test_several_runs_share_a_figure_and_have_a_colour_each(ours: Source) -> None:
    other = made_run(S2.replace("20ms", "80ms"), {"cubic": 10.0, "prague": 20.0}, {"cubic": 96.0, "prague": 80.4})
    figure = drawn([ours, other], "rate", "rtt")
    assert said(figure) == ["cubic", "prague", "icmp ping", "20ms", "80ms"]
    rate = figure.axes[0]
    assert len(figure.axes) == 2
    assert len({line.get_color() for line in rate.get_lines()}) == 2
    assert [float(np.median(np.asarray(line.get_ydata()))) for line in rate.get_lines()] == pytest.approx(
        [15, 31, 10, 20], rel=0.01
    )
    cdf = drawn([ours, other], "tcp_rtt_cdf").axes[0]
    assert "from 25 to 44 s" in cdf.get_xlabel()
    assert len(cdf.get_lines()) == 4


def test_more_than_eight_flows_are_a_median_and_a_band() -> None:
    t = np.arange(0, 50, 0.05)
    series = {}
    for n, flow in enumerate([*(f"p-{n}" for n in range(1, 12)), "call"]):
        series[f"flow.{flow}.goodput_bytes"] = t, (n + 1) * t * 1e6 / 8
        for name in ("delivery_rate", "rtt", "cwnd"):
            series[f"flow.{flow}.{name}"] = t, np.full(t.size, n + 1.0)
    run = Made("mine", series)
    for name in ("rate", "totals", "tcp_cwnd", "tcp_delivery_with_rtt", "upload_with_ping_and_tcp_rtt", "tcp_rtt_cdf"):
        labels = said(drawn([run], name))
        assert any(label.startswith("p-* (11)") for label in labels), name
        assert len(labels) <= 8
    ax = drawn([run], "rate").axes[0]
    assert len(ax.collections) == 1
    assert [float(np.mean(np.asarray(line.get_ydata()))) for line in ax.get_lines()] == pytest.approx([6, 12])


def test_groups_are_as_small_as_the_room_allows() -> None:
    rrul = [f"rrul-{way}-{kind}" for way in ("up", "down") for kind in ("be", "bk", "cs5", "ef")]
    assert list(gathered(rrul, 8)) == rrul
    assert list(gathered(rrul, 4)) == ["rrul-up-* (4)", "rrul-down-* (4)"]
    assert list(gathered(rrul, 1)) == ["rrul-* (8)"]
    assert list(gathered(["a", "b", "c"], 2)) == ["all 3"]


def test_any_recorded_series_is_drawn_by_name(ours: Source, tmp_path: Path) -> None:
    figure = drawn([with_queue(ours)], "flow.*.cwnd", "queue.bneck.marks")
    assert [ax.get_ylabel().replace("\n", "") for ax in figure.axes] == ["flow.*.cwnd", "queue.bneck.marks"]
    assert said(figure) == ["cubic", "prague", "queue.bneck.marks"]
    with pytest.raises(plot.PlotError, match=r"flow\.cubik\.rtt: expected .*nearest are flow\.cubic\.rtt"):
        drawn([ours], "flow.cubik.rtt")


def test_a_figure_of_nothing_is_refused_and_no_library_warns(ours: Source, tmp_path: Path) -> None:
    silent = Made("silent", {"flow.a.goodput_bytes": (np.arange(3.0), np.arange(3.0))})
    for name, what in (("ping_cdf", "ping RTT"), ("tcp_rtt_cdf", "TCP RTT"), ("tcp_cwnd", "congestion window")):
        with pytest.raises(plot.PlotError, match=f"silent: expected .*{what}.* found none"):
            drawn([silent], name)
    with pytest.raises(plot.PlotError, match="tcp_cwnd: expected one run; rate"):
        drawn([ours, ours], "tcp_cwnd")
    with pytest.raises(plot.PlotError, match="totals: expected alone"):
        drawn([ours], "totals", "rate")


def test_names_are_neither_formulas_nor_hidden(tmp_path: Path) -> None:
    series = {f"flow.{flow}.goodput_bytes": (np.arange(3.0), np.arange(3.0)) for flow in ("$x^$", "_a")}
    first, second = Made("_one", series), Made("$two^$", series)
    assert said(drawn([first], "rate")) == [r"\$x^\$", " _a"]
    assert said(drawn([first, second], "rate"))[-2:] == [" _one", r"\$two^\$"]


def test_the_window_of_a_distribution_is_the_scenarios(ours: Source, tmp_path: Path) -> None:
    own = Made("mine", {name: ours.series(name) for name in ours.names()})
    assert "from 25 to 44 s" in drawn([own], "ping_cdf").axes[0].get_xlabel()
    (tmp_path / "summary.json").write_text('{"measure": {"from_s": 30, "to_s": 40}}')
    own.path = tmp_path
    assert "from 30 to 40 s" in drawn([own], "ping_cdf").axes[0].get_xlabel()


PINGED = """
name = "mine"
duration = "10s"
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb"
qdisc = "dualpi2"
ingress = ["netem delay 10ms"]
delay = "0ns"
reverse = { rate = "50Mbit", shaper = "htb", qdisc = "dualpi2", ingress = ["netem delay 10ms"], delay = "0.6ms" }

[[flow]]
name = "cubic"
cc = "cubic"

[[ping]]
name = "icmp"
tos = "0x00"

[[ping]]
name = "l4s"
tos = "0x01"
"""


def with_scenario(run: Source, folder: Path, text: str = PINGED) -> Made:
    series = {name: run.series(name) for name in run.names()}
    series["ping.l4s.rtt"] = series["ping.icmp.rtt"][0], series["ping.icmp.rtt"][1] - 0.3
    (folder / "scenario.toml").write_text(text)
    made = Made("mine", series)
    made.path = folder
    return made


def test_above_a_run_stand_its_queue_rate_and_rtt(ours: Source, tmp_path: Path) -> None:
    run = with_scenario(ours, tmp_path)
    for name in ("rate", "tcp_delivery_with_rtt", "upload_with_ping_and_tcp_rtt", "ping_cdf"):
        assert drawn([run], name).axes[0].get_title(loc="left") == (
            "mine\nqueue htb(50Mbit)+dualpi2, rate 50 Mbit/s, RTT 20.6 ms"
        )


def test_every_ping_is_drawn_and_says_how_it_is_marked(ours: Source, tmp_path: Path) -> None:
    run = with_scenario(ours, tmp_path)
    for name in ("tcp_delivery_with_rtt", "upload_with_ping_and_tcp_rtt"):
        figure = drawn([run], name)
        labels = [text for text in said(figure) if text.startswith("ICMP RTT")]
        assert labels == ["ICMP RTT icmp ping", "ICMP RTT l4s ping, ECT(1)"]
        lines = {line.get_label(): line for line in figure.axes[1].get_lines()}
        assert len({lines[label].get_color() for label in labels}) == 2
        assert float(np.max(np.asarray(lines[labels[1]].get_ydata()))) == pytest.approx(20.7)
    assert said(drawn([run], "rtt"))[-2:] == ["icmp ping", "l4s ping, ECT(1)"]
    assert "ICMP RTT, ours" in said(drawn([ours], "upload_with_ping_and_tcp_rtt"))


def test_axes_end_where_the_user_says(ours: Source, tmp_path: Path) -> None:
    limits = plot.Limits(rate_mbps=80, delay_ms=60)
    for name in ("tcp_delivery_with_rtt", "upload_with_ping_and_tcp_rtt"):
        figure = drawn([ours], name)
        limits.apply(figure)
        assert [ax.get_ylim()[1] for ax in figure.axes] == [80, 60]
    figure = drawn([ours], "ping_cdf")
    limits.apply(figure)
    assert figure.axes[0].get_xlim()[1] == 60
    assert figure.axes[0].get_ylim()[1] == pytest.approx(1.02)
    figure = drawn([with_queue(ours)])
    before = [ax.get_ylim()[1] for ax in figure.axes]
    limits.apply(figure)
    assert [ax.get_ylim()[1] for ax in figure.axes] == [80, 60, 60, *before[3:]]
    with pytest.raises(plot.PlotError, match=r"--max-delay 15: expected more than 20 ms, where the axis begins"):
        plot.Limits(delay_ms=15).apply(drawn([ours], "tcp_delivery_with_rtt"))


def test_each_run_has_a_picture_for_each_scale(tmp_path: Path) -> None:
    near, far = S2_STEM, S2_STEM.replace("20ms", "80ms")
    files = [write_flent(tmp_path / f"{stem}.flent.gz", flent_document()) for stem in (near, far)]
    made = pictures.plot_each(tmp_path, tmp_path / "out", scales=["fixed", "var"])
    stem = "ect1-l4s-s2-twoflow-cubic-vs-prague-dualpi2"
    names = [f"{stem}-{ms}ms_{kind}.png" for ms in (20, 80) for kind in ("fixed", "var")]
    assert [path.name for path in made if not isinstance(path, plot.PlotError)] == names
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    limits = plot.Limits(delay_ms=70)
    figure = "tcp_delivery_with_rtt"
    good, bad = pictures.plot_each(list(map(str, files)), tmp_path / "out", plot=figure, limits=limits, form="svg")
    assert not isinstance(good, plot.PlotError)
    assert str(bad).endswith("80ms: --max-delay 70: expected more than 80 ms, where the axis begins")
    with pytest.raises(plot.PlotError, match="expected one run for each picture, found ect1/.* and ect1/"):
        next(pictures.plot_each([str(files[0])] * 2, tmp_path / "out"))


def with_queue(run: Source) -> Made:
    series = {name: run.series(name) for name in run.names()}
    t = np.arange(0, 50, 0.05)
    series["queue.bneck.sojourn"] = t, np.full(t.size, 5.0)
    series["queue.bneck.marks"] = t, np.floor(10 * t)
    series["queue.bneck.drops"] = t, np.zeros(t.size)
    return Made(run.id, series)


def test_misuse_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(plot.PlotError, match="expected one of rate, rtt, queue_delay, cwnd, marks_drops, tcp_delivery"):
        pictures.plot("x", plot="nope")
    with pytest.raises(plot.PlotError, match="expected a run folder or a Flent file"):
        pictures.plot(str(tmp_path / "none"))
    path = write_flent(tmp_path / "a.flent.gz", flent_document())
    with pytest.raises(plot.PlotError, match=r"expected a name that ends in \.svg"):
        pictures.plot(str(path), output=tmp_path / "x.gif")
