"""The same bytes in Chromium, in Firefox and natively: names, units, times and values of all series of ten runs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import firefox
import lab

pytestmark = [lab.needed, pytest.mark.engine, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).parent.parent / "scenarios"
#: Every kind of end point and many queues, without files of traces.
RUNS = ("bursty-link", "false-positive", "home", "media", "one-prague", "rrul", "scream", "short-flows",
        "two-bottlenecks", "voip")  # fmt: skip
SHORTER = [("duration", "3s"), ("measure.from", "1s"), ("measure.to", "3s")]

#: Carries a scenario out in a worker of the page, and digests what it left.
DIGEST = """(async () => {
    const module = await WebAssembly.compile(await (await fetch(%(wasm)s)).arrayBuffer());
    const worker = new Worker(%(worker)s, { type: "module" });
    worker.postMessage({ kind: "module", module });
    const digests = [];
    for (const toml of %(tomls)s) {
        const output = await new Promise((give, refuse) => {
            worker.onerror = (event) => refuse(new Error(event.message));
            worker.onmessage = ({ data }) => {
                if (data.kind === "done") give(data.output);
                if (data.kind === "failed") refuse(new Error(data.message));
            };
            worker.postMessage({ kind: "start", toml, captures: false });
        });
        const parts = output.series.flatMap(({ name, unit, t, v }) => [`${name}\\0${unit}\\0`, t, v]);
        const bytes = await new Blob(parts).arrayBuffer();
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
        digests.push(Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""));
    }
    worker.terminate();
    return digests;
})()"""


def scenarios() -> list[str]:
    """The runs, resolved and shorter than their files say."""
    from sojourn import _core

    return [_core.resolve((EXAMPLES / f"{name}.toml").read_text(), name, SHORTER)[0] for name in RUNS]


def native(toml: str) -> str:
    from sojourn import _core

    run = _core.Engine.simulator().start(toml)
    while run.advance() != "ended":
        pass
    digest = hashlib.sha256()
    for name, unit, t, v in run.finish().series:
        digest.update(f"{name}\0{unit}\0".encode() + t.astype("<f8").tobytes() + v.astype("<f8").tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    return dict(zip(RUNS, map(native, scenarios()), strict=True))


def script() -> str:
    import json

    def asset(pattern: str) -> str:
        (path,) = (lab.DIST / "assets").glob(pattern)
        return json.dumps(f"assets/{path.name}")

    return DIGEST % {"wasm": asset("*.wasm"), "worker": asset("worker-*.js"), "tomls": json.dumps(scenarios())}


def named(digests: Any) -> dict[str, str]:
    return dict(zip(RUNS, digests, strict=True))


def test_runs_have_the_same_bytes_in_chromium(ours: dict[str, str]) -> None:
    with lab.served() as url, lab.opened() as browser:
        page = browser.new_page()
        page.goto(url)
        assert named(page.evaluate(script())) == ours


@pytest.mark.skipif(firefox.missing() is not None, reason=firefox.missing() or "")
def test_runs_have_the_same_bytes_in_firefox(ours: dict[str, str]) -> None:
    with lab.served() as url, firefox.Page(url) as page:
        assert named(page.evaluate(script())) == ours


def test_digests_tell_runs_apart(ours: dict[str, str]) -> None:
    assert len(set(ours.values())) == len(RUNS)
