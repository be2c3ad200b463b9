"""The documentation as a site: staged pages, their order, the checks of what was built, and live figures."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from browser import Page, chromium
from sojourn import Scenario
from website import check, links, navigation, stage

ROOT = Path(__file__).resolve().parents[1]
FIGURES = sorted((ROOT / "docs/algorithms").glob("*.figure.toml"))
LAWS = ROOT / "web/src/figure/laws.ts"
CONFIG = 'nav = "@NAV@"\n'


def test_links_lead_to_where_pages_and_files_are_on_the_site() -> None:
    page = ROOT / "docs/guide/compare.md"
    text = (
        "[a](../README.md#guides) [`b`](../../Cargo.toml) [c](results.md) [d](../../crates) [e](https://x.org) `[f](g)`"
    )
    assert links.rewritten(text, page, ROOT) == (
        "[a](../documents.md#guides) [`b`](../source/Cargo.toml.txt) [c](results.md) d [e](https://x.org) `[f](g)`"
    )
    assert set(links.targets(text, page)) == {
        ROOT / name for name in ("docs/README.md", "Cargo.toml", "docs/guide/results.md")
    }


def test_every_page_is_in_the_order_of_the_documents(tmp_path: Path) -> None:
    stage.stage(ROOT, tmp_path / "site", CONFIG)
    nav = tomllib.loads((tmp_path / "site/zensical.toml").read_text())["nav"]
    assert [next(iter(entry)) for entry in nav] == ["Start", "Guides", "Algorithms", "Results", "Reference"]
    listed = list(navigation.paths(nav))
    assert len(listed) == len(set(listed))
    assert set(listed) == {
        str(page.relative_to(tmp_path / "site/docs")) for page in (tmp_path / "site/docs").rglob("*.md")
    }
    assert nav[0]["Start"][:2] == [{"Sojourn": "index.md"}, {"Tutorial": "guide/tutorial.md"}]


def documents(tmp_path: Path, more: str = "") -> Path:
    """A repository of few pages."""
    root = tmp_path / "root"
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# Page\n")
    (root / "docs").mkdir()
    lists = "## Guides\n\n| task | |\n|---|---|\n| Learn | [a](a.md) |\n\n## Reference\n\n## Results\n\n## The code\n"
    (root / "docs/README.md").write_text(lists)
    (root / "docs/glossary.md").write_text("# Glossary\n")
    (root / "docs/a.md").write_text(f"# A\n\n{more}\n")
    return root


def test_a_page_that_the_documents_do_not_list_is_named(tmp_path: Path) -> None:
    root = documents(tmp_path)
    (root / "docs/stray.md").write_text("# Stray\n")
    with pytest.raises(stage.StageError, match=r"docs/README.md: expected a link to stray.md"):
        stage.stage(root, tmp_path / "out", CONFIG)


def test_a_figure_without_a_picture_or_without_toml_is_named(tmp_path: Path) -> None:
    root = documents(tmp_path)
    data = root / "docs/a.figure.toml"
    data.write_text("title = 1")
    with pytest.raises(stage.StageError, match=r"a\.md: expected a picture below images/"):
        stage.stage(root, tmp_path / "out", CONFIG)
    data.write_text("title =")
    with pytest.raises(stage.StageError, match=r"a\.figure\.toml: Invalid value"):
        stage.stage(root, tmp_path / "out", CONFIG)


def test_the_picture_of_a_page_is_within_its_live_figure(tmp_path: Path) -> None:
    root = documents(tmp_path, "![a: b](images/a.svg)")
    (root / "docs/images").mkdir()
    (root / "docs/images/a.svg").write_text("<svg/>")
    (root / "docs/a.figure.toml").write_text('title = "t"')
    stage.stage(root, tmp_path / "out", CONFIG)
    text = (tmp_path / "out/docs/a.md").read_text()
    assert '<sojourn-figure src="a.figure.json">![a: b](images/a.svg)</sojourn-figure>' in text
    assert json.loads((tmp_path / "out/docs/a.figure.json").read_text()) == {"title": "t"}


def test_broken_links_and_requests_to_other_hosts_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/index.html").write_text('<p id="here">')
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="https://x.org/a.css"><a href="a/#here">1</a><a href="a/#gone">2</a>'
        '<a href="b/">3</a><a href="https://x.org">4</a><img src="//x.org/i.png"><a href="../secret">5</a>'
    )
    assert [line.partition(": ")[2] for line in check.problems(tmp_path)] == [
        "asks another host for https://x.org/a.css",
        "asks another host for //x.org/i.png",
        "a/#gone leads nowhere",
        "b/ leads nowhere",
        "../secret leads nowhere",
    ]


@pytest.mark.engine
@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.name.partition(".")[0])
def test_every_value_of_a_slider_is_a_scenario(file: Path) -> None:
    """A value that the engine refuses would be an error in the reader's hands."""
    figure: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    usual = {slider["key"]: of(slider, slider["start"]) for slider in figure["sliders"]}
    base = Scenario(figure["scenario"])
    for slider in figure["sliders"]:
        assert slider["start"] in slider["values"]
        for value in slider["values"]:
            base.resolve({**usual, slider["key"]: of(slider, value)})


def of(slider: dict[str, Any], value: float) -> str:
    return f"{value * slider.get('factor', 1):.12g}{slider['unit'].replace('/s', '')}"


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.name.partition(".")[0])
def test_every_law_of_a_figure_is_known_and_has_what_it_needs(file: Path) -> None:
    figure: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    table = re.search(r"export const LAWS.*?= \{(.*?)\};", LAWS.read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    known = set(re.findall(r'[\w-]+(?=[",:]|$)', table[1]))
    values = {slider["name"] for slider in figure["sliders"]} | set(figure.get("constants", {}))
    laws = [law for panel in figure["panels"] for law in panel.get("laws", [])]
    assert laws, "a figure has a closed form"
    for law in laws:
        assert law["law"] in known
        needs = {law[key] for key in ("of", "k") if isinstance(law.get(key), str) and "." not in law[key]}
        assert needs | {"rate_mbps", "rtt_ms"} <= values


ZENSICAL = importlib.util.find_spec("zensical") is not None
MODULE = ROOT / "web/src/wasm/sojourn_bg.wasm"
ESBUILD = ROOT / "web/node_modules/esbuild"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    environment = {"PYTHONPATH": "docs", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "website", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return out


@pytest.mark.skipif(not ZENSICAL, reason="no zensical (pip install --group site)")
def test_the_site_is_whole(site: Path) -> None:
    assert list(check.problems(site)) == []
    assert (site / "search.json").stat().st_size > 100_000, "the search has every page"
    assert (site / "algorithms/codel.figure.json").is_file()


@pytest.mark.skipif(not ZENSICAL, reason="no zensical (pip install --group site)")
@pytest.mark.skipif(
    not (MODULE.is_file() and ESBUILD.is_dir()), reason="no WebAssembly module or no esbuild (make web)"
)
@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_a_figure_is_drawn_by_the_page_and_follows_its_sliders(site: Path) -> None:
    with served(site) as address, Page(f"{address}/algorithms/reno/", width=390) as page:
        page.evaluate("document.querySelector('sojourn-figure').scrollIntoView({behavior: 'instant'})")
        status = "(document.querySelector('.live-status') || {}).textContent"
        page.until(f"({status} || '').includes('simulated')")
        assert "-s link.bneck.rate=20Mbit" in page.evaluate(status)
        assert page.evaluate("document.querySelectorAll('sojourn-figure canvas').length") == 3
        page.evaluate("""(input => { input.value = input.max; input.dispatchEvent(new Event("input")); })(
            document.querySelector("sojourn-figure input"))""")
        page.until(f"{status}.includes('simulated') && {status}.includes('-s link.bneck.rate=40Mbit')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.errors == []
        assert [url for url in page.requests if not url.startswith((address, "data:", "blob:"))] == []


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class served:  # noqa: N801 - a context, used like a function
    """A folder on loopback."""

    def __init__(self, folder: Path) -> None:
        handler = functools.partial(Quiet, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
