from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sojourn import compare, metrics, report, results
from sojourn.cli import call
from sojourn.report import across, answers, figures, flow_rows, overview, own, page, sections
from sojourn.report.model import Figure, Table, number
from synthetic import S2, S2_STEM, Made, flent_document, made_run, write_flent


class Outline(HTMLParser):
    """Tags that are opened and closed, and every address that a browser would fetch."""

    VOID = frozenset({"meta", "br", "link", "img", "rect", "line", "circle", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [str(v) for k, v in attrs if k == "src" or (k == "href" and tag == "link")]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(tag)


def render(tmp_path: Path, ids: list[str], title: str = "Title") -> str:
    rtts = {"cubic": 36.0, "prague": 20.4}
    pairs = []
    for run_id in ids:
        a = made_run(run_id, {"cubic": 15.0, "prague": 31.0}, rtts)
        b = made_run(run_id, {"cubic": 16.0, "prague": 30.0}, rtts)
        pair = compare.pair_up(run_id, a, b)
        assert pair is not None
        pairs.append(pair)
    out = report.write_comparison(compare.Comparison(pairs=pairs), tmp_path / "report.html", title=title)
    return out.read_text(encoding="utf-8")


def test_the_page_is_whole_and_asks_for_nothing(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert outline.mistakes == []
    assert outline.fetched == []
    assert "default-src 'none'" in page
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_sixty_runs_stay_below_one_megabyte(tmp_path: Path) -> None:
    ids = [f"ect1/l4s-s2-twoflow/cubic-vs-prague/queue{i}/20ms" for i in range(60)]
    assert len(render(tmp_path, ids).encode()) < 1_000_000


def test_everything_untrusted_is_escaped(tmp_path: Path) -> None:
    evil = "x/y/<script>alert(1)</script>&\"'"
    page = render(tmp_path, [evil], title="<b>&")
    assert "<script>alert" not in page
    assert "<title>&lt;b&gt;&amp;</title>" in page
    payload = re.search(r'<script type="application/json" id="panels">(.*?)</script>', page, re.DOTALL)
    assert payload is not None
    assert list(json.loads(payload[1])) == [evil]


def test_numbers_differences_and_the_answer_are_in_the_table(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    assert '<td class="a">31.00</td><td>30.00</td><td class="over">+1.00</td>' in page
    assert "the same flow is ahead in 1 of 1" in page
    assert "the median flow" in page


def test_the_spread_has_a_column_only_with_several_seeds(tmp_path: Path) -> None:
    def page(*ids: str) -> str:
        lone: list[metrics.Source] = [
            made_run(i, {"cubic": 15.0, "prague": 31.0}, {"cubic": 36.0, "prague": 20.4}) for i in ids
        ]
        out = report.write_comparison(compare.Comparison(lone=lone), tmp_path / "seeds.html", title="Seeds")
        return out.read_text(encoding="utf-8")

    alone, twice = page(S2), page(S2, f"{S2}@seed2")
    assert ">Spread<" not in alone
    assert "Every value is that of one seed." in alone
    assert ">Spread<" in twice
    assert re.search(r'<td class="value">2\.07 to 2\.07</td>', twice)


def test_numbers_carry_a_true_minus_and_no_signed_zero() -> None:
    assert number(-1.5, "+") == "\N{MINUS SIGN}1.50"
    assert number(-0.001, "+") == number(0.001, "+") == "0.00"
    assert number(0.01, "+") == "+0.01"
    assert compare.Comparison().conclusion.startswith("Nothing to compare")


def test_decimation_keeps_every_peak() -> None:
    t = np.linspace(0, 50, 5000)
    values = np.sin(t)
    values[1234], values[4000] = 99.0, -99.0
    thin = figures.decimate(t, values, 50.0, 200)
    assert thin.size == 200
    assert (thin.max(), thin.min()) == (99.0, -99.0)


def test_stretches_without_samples_are_gaps() -> None:
    thin = figures.decimate(np.array([0.1, 9.9]), np.array([1.0, 2.0]), 10.0, 20)
    assert thin[:2].tolist() == [1.0, 1.0]
    assert thin[-2:].tolist() == [2.0, 2.0]
    assert np.isnan(thin[2:-2]).all()


def test_series_travel_as_little_endian_float32(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    payload = re.search(r'id="panels">(.*?)</script>', page, re.DOTALL)
    assert payload is not None
    series = json.loads(payload[1])[S2]["plots"]["rate"]["series"]
    assert [(s["label"], s["side"]) for s in series] == [
        ("cubic", 0),
        ("prague", 0),
        ("cubic", 1),
        ("prague", 1),
    ]
    values = np.frombuffer(base64.b64decode(series[1]["data"]), dtype="<f4")
    assert np.nanmax(values) == 31
    assert len({s["colour"] for s in series}) == 2


def test_compare_writes_the_page_with_broken_files_named(tmp_path: Path) -> None:
    a = write_flent(tmp_path / "a" / f"{S2_STEM}.flent.gz", flent_document()).parent
    (a / "broken.flent").write_text("{")
    out = tmp_path / "deep" / "page.html"

    assert call(["compare", str(a), str(a), "--json", "--report", str(out)]) == 3
    assert "broken.flent: file: expected JSON" in out.read_text()


def test_a_run_without_a_counterpart_has_its_own_row(tmp_path: Path) -> None:
    lone = made_run("my/own/run", {"prague": 40.0}, {"prague": 20.4})
    comparison = compare.Comparison(lone=[lone])
    page = report.write_comparison(comparison, tmp_path / "r.html", title="t").read_text()
    assert '<td class="soft">goodput, Mbit/s</td><td class="value">40.00</td>' in page
    assert '<td class="soft">RTT p50 / p99, ms</td><td class="value">20.40 / 20.40</td>' in page
    assert "The flows&#39; median RTT is" in page
    assert "measured the testbed" not in page


def test_two_simulations_are_a_and_b_with_their_differences(tmp_path: Path) -> None:
    a = made_run("my/run/x", {"prague": 40.0}, {"prague": 20.4})
    b = made_run("my/run/x", {"prague": 30.0}, {"prague": 20.4})
    pair = compare.pair_up("my/run/x", a, b)
    assert pair is not None
    comparison = compare.Comparison(pairs=[pair], sides=("new", "old"), parameters={("flow.prague.cc", "a", "b"): 1})
    page = report.write_comparison(comparison, tmp_path / "r.html", title="t").read_text()
    assert "A is new, B is old." in page
    assert "Verdict: one seed a run" in page
    assert '<th scope="row">flow.prague.cc</th><td class="text">a</td><td class="text">b</td>' in page
    assert "testbed" not in page.split("<dl>")[0]


def both_halves() -> compare.Comparison:
    l4s = made_run("ect1/l4s-s2-twoflow/cubic-vs-prague/dualpi2/20ms", {"cubic": 20.0, "prague": 27.0}, RTTS)
    sce = made_run(
        "ect1/sce-s2-twoflow/cubic-vs-cubic-sce/twin_codel_af/20ms", {"cubic": 23.0, "cubic-sce": 24.0}, RTTS
    )
    lone = made_run("ect1/l4s-s2-twoflow/cubic-vs-prague/pie/20ms", {"cubic": 1.0, "prague": 40.0}, RTTS)
    return compare.Comparison(lone=[l4s, sce, lone])


def beside(runs: list[sections.Run]) -> dict[str, Figure]:
    return figures.of_rows([runs], {run.id: figures.figure(run, figures.points_of(len(runs)), Path()) for run in runs})


RTTS = {"cubic": 36.0, "prague": 20.4, "cubic-sce": 21.0}


def test_both_architectures_of_a_scenario_stand_side_by_side() -> None:
    (section,) = sections.sections_of(sections.runs_of(both_halves()))
    assert section.key == "ect1/s2-twoflow"
    assert section.sides == ["L4S", "SCE"]
    rows = {name: [[run.id.split("/")[1] for run in column] for column in columns] for name, columns in section.rows()}
    assert rows == {
        "cubic-vs-own/aqm/20ms": [["l4s-s2-twoflow"], ["sce-s2-twoflow"]],
        "cubic-vs-own/pie/20ms": [["l4s-s2-twoflow"], []],
    }
    (answer,) = answers.answers(section, compare.MEASURED)
    assert answer.startswith(
        "L4S: the busiest link is 85.7 to 98.3 (median 92.0) % used, the flows' median RTT is 8.2 ms"
    )
    assert "8.2 ms above the path's and their p99 up to 16 ms" in answer
    assert "within a factor of 1.5 in 1 of 2 runs" in answer
    assert "where the second flow has 40.00 times the first's; SCE:" in answer


def test_runs_side_by_side_share_their_axes() -> None:
    runs = sections.runs_of(both_halves())
    first, second = (beside(runs)[run.id].plots for run in runs[:2])
    assert [plot.kind for plot in first] == ["rate", "rtt"]
    assert first[0].range == second[0].range
    assert first[1].range[1] >= 36


def test_flows_of_every_kind_have_a_row_and_a_curve(tmp_path: Path) -> None:
    made = made_run("mix", {"bulk": 10.0}, {"bulk": 30.0})
    t = np.arange(0, 50, 0.05)
    made._series["flow.call.goodput_bytes"] = t, t * 8600
    made._series["flow.call.one_way"] = t, np.full(t.size, 15.0)
    made._series["flow.web.goodput_bytes"] = t, t * 1000
    made._series["flow.web.fct"] = t[::100], np.full(t[::100].size, 75.0)
    comparison = compare.Comparison(lone=[made])
    page = report.write_comparison(comparison, tmp_path / "r.html", title="t").read_text()
    for kind in ("RTT", "one-way delay", "completion time"):
        assert f'<td class="soft">{kind} p50 / p99, ms</td>' in page
    payload = re.search(r'id="panels">(.*?)</script>', page, re.DOTALL)
    assert payload is not None
    plots = json.loads(payload[1])["mix"]["plots"]
    assert [s["label"] for s in plots["rate"]["series"]] == ["call goodput", "web goodput", "bulk"]
    assert [s["label"] for s in plots["rtt"]["series"]] == ["bulk", "call one-way", "ICMP"]
    assert [s["label"] for s in plots["completion"]["series"]] == ["web"]
    text = report.write_comparison(comparison, tmp_path / "r.md", title="t").read_text()
    assert "|  | one-way delay p50 / p99, ms | 15.00 / 15.00 |" in text


def test_a_whole_large_suite_is_still_a_page(tmp_path: Path) -> None:
    rtts = {"a": 36.0, "b": 20.4}
    lone: list[metrics.Source] = [
        made_run(f"x/l4s-s{i % 12}/{i}/10ms", {"a": 15.0, "b": 31.0}, rtts) for i in range(249)
    ]
    out = report.write_comparison(compare.Comparison(lone=lone), tmp_path / "r.html", title="t")
    page = out.read_text()
    assert len(page) < 2_500_000
    assert 'id="filter"' in page


def texts(table: Table) -> dict[tuple[str, str], list[str]]:
    """Cells of a table with a column for each run, by subject and quantity."""
    return {
        (group.head[0].text, str(row[0] and row[0].text)): [cell.text for cell in row[1:] if cell]
        for group in table.groups
        for row in group.rows
    }


def own_run(folder: Path, run_id: str, qdisc: str, rates: dict[str, float], **told: object) -> Made:
    """A run of `home` with a folder, as `sojourn run home.toml -s link.bneck.qdisc=...` leaves one."""
    made = made_run(run_id, rates, dict.fromkeys(rates, 25.0))
    made.path = folder / run_id
    made.origin = results.Run(made.path)
    made.path.mkdir(parents=True)
    link = f'[[link]]\nname = "bneck"\nrate = "30Mbit"\nqdisc = "{qdisc}"\n'
    (made.path / "scenario.toml").write_text(f'name = "home"\ndescription = "A home link"\nseed = 1\n{link}')
    document = {"measure": {"from_s": 20.0, "to_s": 40.0}, "flows": [{"name": flow} for flow in rates], **told}
    (made.path / "summary.json").write_text(json.dumps(document))
    queue = {"name": "bneck", "dropped": 3, "marked": 14, "utilisation": 0.5, "sojourn_ms": {"p50": 4.0, "p99": 9.5}}
    (made.path / "queue.json").write_text(json.dumps([queue]))
    return made


def test_runs_that_differ_in_one_parameter_are_columns_of_one_table_and_share_their_axes(tmp_path: Path) -> None:
    queues = {"a": "fq_codel limit 10240 ecn", "b": "cake unlimited", "c": "dualpi2 limit 10000"}
    lone: list[metrics.Source] = [
        own_run(tmp_path, f"home~{name}", qdisc, {"bulk": 20.0 + n}) for n, (name, qdisc) in enumerate(queues.items())
    ]
    (section,) = sections.sections_of(sections.runs_of(compare.Comparison(lone=lone)))
    assert (section.heading, section.columns()) == ("A home link", ["fq_codel", "cake", "dualpi2"])
    table = across.table(section.runs)
    assert table.caption.startswith("The runs differ in link.bneck.qdisc.")
    rows = texts(table)
    assert rows["bulk", "goodput, Mbit/s"] == ["20.00", "21.00", "22.00"]
    assert rows["queue bneck", "drops / marks"] == ["3 / 14"] * 3
    page = report.write_comparison(compare.Comparison(lone=lone), tmp_path / "r.html", title="t").read_text()
    assert '<a href="#section-home">A home link</a>' in page.split("</nav>")[0]
    drawn = beside(section.runs).values()
    assert len({plot.range for figure in drawn for plot in figure.plots if plot.kind == "rate"}) == 1


def test_settings_of_one_queue_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    runs = [own_run(tmp_path, f"home~{t}", f"codel limit 100 target {t} ecn", {"f": 1.0}) for t in ("1ms", "5ms")]
    assert own.labels(runs) == ["codel 1ms", "codel 5ms"]


def test_every_ping_and_what_a_viewer_has_are_in_the_table(tmp_path: Path) -> None:
    frames = {"incomplete": 0.05, "delay_ms": {"mean": 30.0, "p50": 29.0, "p95": 50.0, "p99": 60.0}}
    flows = [{"name": "call", "media": {"frames": frames}}, {"name": "voice", "one_way": {"voice": {"mos": 4.1}}}]
    made = own_run(tmp_path, "home", "cake", {"call": 1.0, "voice": 0.1}, flows=flows)
    for name in ("be", "ef"):
        made._series[f"ping.rrul-udp-{name}.rtt"] = made._series["ping.icmp.rtt"]
    (run,) = sections.runs_of(compare.Comparison(lone=[made]))
    rows = texts(across.table([run]))
    assert rows["call", "frame delay p50 / p99, ms"] == ["29.00 / 60.00"]
    assert rows["call", "incomplete frames, %"] == ["5.00"]
    assert rows["voice", "voice quality, MOS"] == ["4.10"]
    assert {name for name, _ in rows if name.startswith("ping")} == {
        "ping icmp",
        "ping rrul-udp-be",
        "ping rrul-udp-ef",
    }
    labels = [row.label for row in flow_rows.of(run)]
    assert {"ping icmp", "ping rrul-udp-be", "ping rrul-udp-ef"} <= set(labels)
    kinds = [row.kind for row in flow_rows.of(run)]
    assert "frame delay (incomplete frames, % 5.00)" in kinds


def test_copies_of_a_flow_are_one_row_and_one_band(tmp_path: Path) -> None:
    names = [f"p-{n}" for n in range(1, 6)]
    made = made_run("home", dict.fromkeys(names, 2.0), {name: 20.0 + n for n, name in enumerate(names)})
    drawn = figures.curves(made)
    assert [(c.panel, c.label) for c in drawn] == [
        ("rate", "p-* (5) goodput, all"), ("rtt", "p-* (5) p10"), ("rtt", "p-* (5) p50"), ("rtt", "p-* (5) p90"),
        ("rtt", "ICMP"),
    ]  # fmt: skip
    t, rate = figures.samples(made, drawn[0])
    assert rate[t == 44.5] == pytest.approx([8.0])  # the fifth starts at 45 s
    _, middle = figures.samples(made, drawn[2])
    assert middle[0] == 20.0


def test_a_group_without_series_of_its_flows_is_one_band(tmp_path: Path) -> None:
    t = np.arange(0.0, 20.0, 0.5)
    series = {f"group.web.rtt.{q}": (t, np.full(t.size, v)) for q, v in (("p10", 21.0), ("p50", 25.0), ("p90", 30.0))}
    made = Made("home", series | {"group.web.open": (t, t), "group.web.goodput_bytes.sum": (t, t * 1e6)})
    drawn = figures.curves(made)
    assert [(c.panel, c.label) for c in drawn] == [
        ("rate", "web-* goodput, all"), ("rtt", "web-* p10"), ("rtt", "web-* p50"), ("rtt", "web-* p90"),
    ]  # fmt: skip
    _, rate = figures.samples(made, drawn[0])
    assert rate == pytest.approx(8.0)
    for curve, value in zip(drawn[1:], (21.0, 25.0, 30.0), strict=True):
        assert set(figures.samples(made, curve)[1]) == {value}


def test_a_start_up_is_named_and_does_not_flatten_the_rest() -> None:
    made = made_run(S2, {"cubic": 16.0, "prague": 32.0}, {"cubic": 36.0, "prague": 20.4})
    t, rtt = made._series["flow.cubic.rtt"]
    made._series["flow.cubic.rtt"] = t, np.where(t < 6, 400.0, rtt)
    (run,) = sections.runs_of(compare.Comparison(lone=[made]))
    _, plot = beside([run])[S2].plots
    low, high = plot.range
    assert low < 20.4 - 0.03 * (high - low)
    assert high < 40
    assert plot.peak == 400


def test_the_farthest_dots_of_the_overview_are_named(tmp_path: Path) -> None:
    pairs = []
    for run_id, rate in ((S2, 30.0), ("ect1/l4s-s2-twoflow/cubic-vs-prague/codel1q/80ms", 10.0)):
        a = made_run(run_id, {"cubic": 15.0, "prague": rate}, {"cubic": 36.0, "prague": 20.4})
        b = made_run(run_id, {"cubic": 15.0, "prague": 30.0}, {"cubic": 36.0, "prague": 20.4})
        pair = compare.pair_up(run_id, a, b)
        assert pair is not None
        pairs.append(pair)
    goodput, rtt = overview.scatters(compare.Comparison(pairs=pairs))
    assert [dot.name for dot in goodput.dots if dot.name] == ["codel1q 80ms prague"]
    assert not any(dot.name for dot in rtt.dots)


def test_rows_of_other_suites_are_no_headline(tmp_path: Path) -> None:
    page = render(tmp_path, [S2])
    assert "not run" not in page.split('<ul class="tally">')[1].split("</ul>")[0]
    assert "rows of other suites need runs that are not in these results" in page


def test_a_variant_alone_is_on_the_page(tmp_path: Path) -> None:
    rtts = {"cubic": 36.0, "prague": 20.4}
    variant = made_run(f"{S2}~accecn", {"cubic": 15.0, "prague": 31.0}, rtts)
    base = made_run(S2, {"cubic": 15.0, "prague": 31.0}, rtts)
    assert [run.id for run in sections.runs_of(compare.Comparison(lone=[variant]))] == [variant.id]
    assert [run.id for run in sections.runs_of(compare.Comparison(lone=[variant, base]))] == [base.id]


def test_the_same_runs_on_a_kernel_are_a_column() -> None:
    ours = made_run(S2, {"cubic": 16.0, "prague": 32.0}, {"cubic": 36.0, "prague": 20.4})
    kernel = made_run(S2, {"cubic": 15.0, "prague": 33.0}, {"cubic": 37.0, "prague": 20.4})
    (run,) = sections.runs_of(compare.Comparison(lone=[ours], kernel={S2: kernel}))
    assert {row.label: row.kernel for row in flow_rows.of(run) if row.kernel} == {
        "cubic": "15.00; 37.00 / 37.00",
        "prague": "33.00; 20.40 / 20.40",
    }
    (alone,) = sections.runs_of(compare.Comparison(lone=[ours]))
    assert not any(heading.startswith("Linux") for heading, _ in flow_rows.extras_of([alone]))


def test_what_a_kernel_had_instead_is_noted(tmp_path: Path) -> None:
    made = made_run(S2, {"cubic": 16.0}, {"cubic": 36.0})
    folder = tmp_path / "run"
    folder.mkdir()
    difference = {"key": "link.b.qdisc", "wanted": "dualpi2 version 2020", "used": "dualpi2", "why": "it has its own"}
    (folder / "manifest.json").write_text(
        json.dumps({"id": S2, "engine": "linux", "kernel": "7.2.13", "nearest": [difference]})
    )
    runs = sections.runs_of(compare.Comparison(lone=[made], kernel={S2: results.Run(folder)}))
    assert list(page._on_the_kernel(runs)) == [
        "Linux is the kernel 7.2.13 in virtual time, with the same scenarios.",
        "It had in place of what they ask for: dualpi2 version 2020 \N{RIGHTWARDS ARROW} dualpi2 (1)",
    ]
