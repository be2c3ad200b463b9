"""A report by a template of the user's, which may come from a stranger."""

from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl
import pytest

from sojourn import results
from sojourn.report.template import TemplateError
from sojourn.report.template import write as write_template
from synthetic import S2_STEM, flent_document, write_flent

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/README.md.j2"
NEAR = "ect1/l4s-s2-twoflow/cubic-vs-prague/dualpi2/20ms"
FAR = NEAR.replace("20ms", "80ms")


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    for stem in (S2_STEM, S2_STEM.replace("20ms", "80ms")):
        write_flent(tmp_path / "flent" / f"{stem}.flent.gz", flent_document())
    return tmp_path / "flent"


def filled(folder: Path, text: str, name: str = "page.md") -> str:
    template = folder.parent / "template.j2"
    template.write_text(text)
    errors: list[str] = []
    page = write_template(folder, template, folder.parent / name, folder.parent / "none", errors)
    assert not errors
    return page.read_text()


@pytest.fixture(autouse=True)
def nothing_measured(tmp_path: Path) -> None:
    write_flent(tmp_path / "none" / "l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms.flent.gz", flent_document())


def test_runs_are_chosen_and_tell_their_numbers(measured: Path) -> None:
    text = (
        "{{ runs | length }} {{ select('80ms$') | length }} {{ run('20ms').id }} {{ run('20ms').path }} "
        "{{ run('20ms').labels[3] }} {% for row in run('20ms').rows[:2] %}{{ row.goodput.a | number }} {% endfor %}"
    )
    assert filled(measured, text).split() == [
        "2", "1", NEAR, *["rate", "50", "Mbit/s,", "RTT", "20", "ms"], "dualpi2", "16.00", "32.00",
    ]  # fmt: skip


def test_pictures_are_in_the_text_and_beside_the_page(measured: Path) -> None:
    page = filled(measured, "{{ run('20ms').inline('When *all* goes well', 'tcp_delivery_with_rtt', form='png') }}\n")
    file = f"page_files/{NEAR}-tcp_delivery_with_rtt.png"
    assert page == f"[![When \\*all\\* goes well]({file})]({file})\n"
    assert (measured.parent / file).read_bytes().startswith(b"\x89PNG")
    page = filled(measured, "{{ run('20ms').inline('<b>', scale='fixed') }}", "page.html")
    file = f"page_files/{NEAR}_fixed.svg"
    assert page == f'<a href="{file}"><img src="{file}" alt="&lt;b&gt;"></a>'
    assert "<svg" in (measured.parent / file).read_text()


def test_a_table_has_a_row_for_each_flow_with_links(measured: Path) -> None:
    page = filled(measured, "{{ table(runs, plot='totals') }}")
    lines = page.splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert f"| [plot](page_files/{NEAR}-totals.svg) |" in lines[2]
    assert [line.split(" | ")[1] for line in lines[2:]].count("prague") == 2
    page = filled(measured, "{{ table(runs, plot='totals') }}", "page.html")
    assert page.count("<tr>") == page.count("</tr>") == len(lines) - 1
    assert f'<a href="page_files/{FAR}-totals.svg">plot</a>' in page


def test_text_of_the_runs_is_no_markup(measured: Path) -> None:
    text = "{{ '[x](y) <script>' }}{{ 3 }}"
    assert filled(measured, text) == r"\[x\](y) &lt;script>3"
    assert filled(measured, text, "page.html") == "[x](y) &lt;script&gt;3"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\n{{ nope }}", "line 2: 'nope' is undefined"),
        ("{% for x in %}", "line 1: Expected an expression"),
        ("\n\n{{ run('no such') }}", r"line 3: run\('no such'\): expected one run, found 0"),
        ("{{ run('dualpi2') }}", r"expected one run, found 2"),
        ("{{ select('(') }}", "expected a regular expression"),
        ("{{ runs[0].picture('nope') }}", "nope: expected one of rate"),
        ("{{ runs[0].picture(scale='wide') }}", "scale 'wide': expected one of auto, fixed, var"),
        ("{{ runs[0].picture(form='/../../x') }}", "expected one of .svg"),
        ("{{ runs[9] }}", "has no element 9"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% include '/etc/passwd' %}", "no loader for this environment"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place_and_nothing_is_written(measured: Path, text: str, told: str) -> None:
    with pytest.raises(TemplateError, match=f"template.j2: .*{told}") as error:
        filled(measured, "{% set first = runs[0].picture() %}" + text)
    assert "\n" not in str(error.value)
    assert not list(measured.parent.glob("page*"))


@pytest.mark.parametrize(
    "text",
    [
        "{{ runs[0]._run }}",
        "{{ runs[0]._folder.unlink() }}",
        "{{ runs[0].__class__.__init__.__globals__ }}",
        "{{ table.__self__.files.clear() }}",
        "{{ select.__globals__['os'].getcwd() }}",
        "{{ run.__closure__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ '{0._run}'.format(runs[0]) }}",
        "{{ runs[0] | attr('_run') }}",
        "{{ runs.clear() }}",
        "{{ cycler.__init__.__globals__.os }}",
    ],
)
def test_a_strangers_template_reaches_nothing_but_text(measured: Path, text: str) -> None:
    with pytest.raises(TemplateError, match="unsafe|undefined|has no attribute"):
        filled(measured, text)


def test_the_template_is_not_written_over(measured: Path) -> None:
    (template := measured.parent / "page.md").write_text("x")
    with pytest.raises(TemplateError, match="expected another file than the template"):
        write_template(measured, template, template, None, [])
    with pytest.raises(TemplateError, match=r"gone.j2: No such file"):
        write_template(measured, Path("gone.j2"), None, None, [])


def test_a_run_that_cannot_be_drawn_is_told_and_the_others_are_there(tmp_path: Path) -> None:
    pl.DataFrame(schema={"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64}).write_parquet(
        series := io.BytesIO()
    )
    files = {"queue.json": b"[]", "summary.json": b"{}", "scenario.toml": b"", "series.parquet": series.getvalue()}
    for name in ("mine", "mine-too"):
        results.write(tmp_path / "out", {"id": name}, files)
    errors: list[str] = []
    page = write_template(tmp_path / "out", EXAMPLE, tmp_path / "sub" / "README.md", None, errors)
    assert [line.partition(": mine")[0] for line in errors] == [
        str(tmp_path / f"sub/README_files/{name}.svg") for name in ("mine", "mine-too")
    ]
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert sum(link.endswith(".teardown.log") for link in links) == 2
    assert all((page.parent / link).is_file() for link in links if not link.endswith(".svg"))
