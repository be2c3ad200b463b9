from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

from sojourn import plot, reference
from sojourn.plot import style, upload_with_ping_and_tcp_rtt
from synthetic import S2, S2_STEM, flent_document, made_run, write_flent

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


def test_axes_have_the_ranges_of_the_suite(ours: Source) -> None:
    ax = Figure().subplots()
    plot.PLOTS["tcp_delivery_with_rtt"](ours, None, ax)
    assert ax.get_ylim() == (0, 55)
    right = ax.figure.axes[1]
    assert right.get_ylim() == (20, 70)
    fifo = "ect1/l4s-s2-twoflow/cubic-vs-prague/pfifo-1000/20ms"
    assert style.rtt_range(fifo, 260.0) == (20, 20 + 3 * 240)


def test_the_suites_figure_has_a_fixed_and_a_variable_scale(ours: Source, tmp_path: Path) -> None:
    def limits(scale: Literal["fixed", "var"]) -> tuple[float, float]:
        ax = Figure().subplots()
        upload_with_ping_and_tcp_rtt.draw(ours, None, ax, scale=scale)
        low, high = ax.figure.axes[1].get_ylim()
        return float(low), float(high)

    assert limits("fixed") == (20, 120)
    assert limits("var") == pytest.approx((20, 20 + 3 * 16))
    with pytest.raises(plot.PlotError, match="--scale fixed: expected with the plot"):
        plot.plot("x", plot="totals", scale="fixed")


def test_a_flow_keeps_its_colour() -> None:
    assert style.colours(["cubic", "prague"])["prague"] == style.colours(["prague"])["prague"]
    same = style.colours(["prague-1", "prague-2"])
    assert same["prague-1"] != same["prague-2"]


def test_svg_has_text_as_text_and_a_title(tmp_path: Path, ours: Source) -> None:
    target = tmp_path / "x.svg"
    plot.render(ours, reference.shipped()[S2], plot="ping_cdf", target=target, title="<&> $1")
    root = ET.fromstring(target.read_text())  # noqa: S314
    space = "{http://www.w3.org/2000/svg}"
    assert root[0].tag == f"{space}title"
    assert root[0].text == f"{S2} <&> $1"
    assert any("ping RTT, ms" in (text.text or "") for text in root.iter(f"{space}text"))
    plot.render(ours, reference.shipped()[S2], plot="ping_cdf", target=tmp_path / "y.svg", title="<&> $1")
    assert target.read_bytes() == (tmp_path / "y.svg").read_bytes()


@pytest.mark.parametrize(("ending", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_the_ending_decides_the_format(tmp_path: Path, ending: str, magic: bytes) -> None:
    path = write_flent(tmp_path / f"{S2_STEM}.flent.gz", flent_document())
    target = plot.plot(str(path), plot="totals", output=tmp_path / f"x{ending}", title="")
    assert target.read_bytes().startswith(magic)


def test_misuse_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(plot.PlotError, match="expected one of tcp_delivery_with_rtt"):
        plot.plot("x", plot="nope")
    with pytest.raises(plot.PlotError, match="expected a run folder or a Flent file"):
        plot.plot(str(tmp_path / "none"))
    path = write_flent(tmp_path / "a.flent.gz", flent_document())
    with pytest.raises(plot.PlotError, match=r"expected a name that ends in \.svg"):
        plot.plot(str(path), output=tmp_path / "x.gif")
