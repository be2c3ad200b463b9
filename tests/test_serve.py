"""`sojourn serve`: what the page gets of it, and how it begins and ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn
from sojourn import results
from sojourn.cli import call

pytest.importorskip("starlette", reason="sojourn[serve] is not installed")
pytest.importorskip("uvicorn", reason="sojourn[serve] is not installed")

from serving import LONG, SCENARIO, Browser, numbers
from sojourn.serve import pages
from sojourn.serve.server import Server
from sojourn.serve.turns import Turns

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


# The page


def test_the_page_is_served_with_its_types_and_hashed_names_are_kept_for_ever(browser: Browser) -> None:
    wanted = {
        "/": ("text/html; charset=utf-8", "no-cache"),
        "/index.html": ("text/html; charset=utf-8", "no-cache"),
        "/sw.js": ("text/javascript; charset=utf-8", "no-cache"),
        "/assets/main-ABCD1234.js": ("text/javascript; charset=utf-8", pages.FOR_EVER),
        "/assets/sojourn-0a1b2c3d.wasm": ("application/wasm", pages.FOR_EVER),
        "/scenarios/a-scenario.toml": ("application/toml", "no-cache"),
    }
    for path, (kind, cache) in wanted.items():
        with browser.ask("GET", f"{path}?token=x", token=None) as response:
            assert (response.status, response.headers["content-type"]) == (200, kind)
            assert response.headers["cache-control"] == cache
            assert response.headers["etag"]
            assert response.read()


# Texts


def test_texts_are_answered_as_the_command_does(browser: Browser) -> None:
    text = f"# kept\n{SCENARIO}"
    answer = browser.good("POST", "/api/resolve", {"text": text, "overrides": [["link.bneck.rate", "50Mbit"]]})
    wanted = sojourn.Scenario(text).resolve({"link.bneck.rate": "50Mbit"})
    assert answer["toml"] == wanted.text
    assert answer["conditions"]["bottlenecks"] == ["bneck"]
    assert answer["outline"]["links"][0]["name"] == "bneck"
    assert "target" in answer["toml"]
    assert "target" not in answer["brief"]
    swept = text + '[sweep]\n"link.bneck.rate" = ["10Mbit", "20Mbit"]\n'
    points = browser.good("POST", "/api/expand", {"text": swept})
    assert [point["values"] for point in points] == [[["link.bneck.rate", rate]] for rate in ("10Mbit", "20Mbit")]
    edited = browser.good("POST", "/api/edit", {"text": text, "key": "link.bneck.rate", "value": "30Mbit"})["text"]
    assert edited == text.replace("20Mbit", "30Mbit")
    assert "tc qdisc" in browser.good("POST", "/api/tc", {"text": text})["script"]
    tables = browser.good("GET", "/api/tables")
    assert {"dualpi2", "cake"} <= {entry["name"] for entry in tables["qdiscs"]}
    assert tables["schema"]["title"]
    cases = browser.good("GET", "/api/suites/ect1")
    assert cases[0]["id"].startswith("ect1/")
    assert browser.tell("GET", "/api/suites/nosuch")[0] == 404


def test_about_says_what_there_is(browser: Browser) -> None:
    about = browser.good("GET", "/api/about")
    engines = {row["name"]: row for row in about["engines"]}
    assert list(engines) == ["sim", "linux", "linux:sojourn", "live", "live:kernel"]
    assert engines["sim"]["available"]
    assert all(row["available"] or row["reason"] for row in engines.values())
    assert about["folder"] == str(browser.folder)
    assert about["results"] == []
    assert "ect1" in about["suites"]


def test_a_mistake_in_a_text_is_told_with_its_line_as_the_command_prints_it(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = SCENARIO.replace('"20Mbit"', '"fifty"')
    status, answer = browser.tell("POST", "/api/resolve", {"text": wrong})
    assert (status, answer["line"]) == (400, 5)
    Path("scenario.toml").write_text(wrong)
    assert call(["show", "scenario.toml"]) == 2
    assert capsys.readouterr().err == f"sojourn: {answer['error']}\n"
    assert browser.tell("POST", "/api/jobs", {"text": wrong})[0] == 400
    assert browser.good("GET", "/api/jobs") == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"3", b"[" * 100_000, b'{"text": 3}', b'{"txt": ""}', b"\xff"])
def test_what_is_no_request_is_refused_in_one_line(browser: Browser, body: bytes) -> None:
    status, answer = browser.tell("POST", "/api/resolve", body)
    assert status == 400
    assert answer["error"]
    assert "\n" not in answer["error"]


# Jobs


def test_a_job_leaves_the_bytes_that_the_command_leaves_and_its_events_tell_all_of_it(browser: Browser) -> None:
    job = browser.submit(text=SCENARIO)
    events = browser.events(job)
    assert [event["n"] for event in events] == list(range(len(events)))
    kinds = [event["event"] for event in events]
    assert (kinds[0], set(kinds[1:-2]), kinds[-2:]) == ("start", {"progress"}, ["done", "end"])
    document = browser.good("GET", f"/api/jobs/{job}")
    assert (document["status"], document["over"], document["now_s"]) == ("done", 1, 10.0)
    path = events[-2]["path"]
    assert path == f"{document['path']}/served"
    run = results.Run(browser.folder / path)
    ours = sojourn.run(sojourn.Scenario(SCENARIO), out=browser.folder.parent / "ours")[0]
    for name in results.FILES:
        assert (run.path / name).read_bytes() == (ours.path / name).read_bytes(), name
    drained: dict[str, list[np.ndarray]] = {}
    for event in events:
        for column in event.get("series", ()):
            drained.setdefault(column["name"], []).append(numbers(column, "v"))
    read = browser.good("GET", f"/api/results/{path}/series")["series"]
    stored = {column["name"]: numbers(column, "v") for column in read}
    for name, (_, values) in run.columns().items():
        np.testing.assert_array_equal(stored[name], values)
        np.testing.assert_array_equal(np.concatenate(drained[name]), values)
    assert call(["show", str(run.path)]) == 0


def test_a_page_that_was_reloaded_in_mid_run_gets_every_event_once(browser: Browser) -> None:
    job = browser.submit(text=LONG)
    first = browser.events(job, most=3)
    # Nobody listens; it goes on.
    before = browser.good("GET", f"/api/jobs/{job}")
    while browser.good("GET", f"/api/jobs/{job}")["events"] < before["events"] + 3:
        time.sleep(0.05)
    assert [listed["id"] for listed in browser.good("GET", "/api/jobs")] == [job]
    browser.good("DELETE", f"/api/jobs/{job}")
    rest = browser.events(job, first=len(first))
    assert [event["n"] for event in first + rest] == list(range(len(first) + len(rest)))
    assert browser.events(job) == first + rest
    assert browser.events(job, first=len(first) + len(rest)) == []


def test_the_same_runs_are_joined_while_they_are_under_way(browser: Browser) -> None:
    first = browser.submit(text=LONG)
    assert browser.submit(text=LONG, join=True) == first
    toml = browser.good("GET", f"/api/jobs/{first}/scenario?run=0")["toml"]
    assert browser.submit(toml=toml, join=True) == first
    assert browser.tell("GET", f"/api/jobs/{first}/scenario?run=1")[0] == 404
    others = [browser.submit(text=LONG), browser.submit(text=LONG, seeds=2, join=True)]
    browser.good("DELETE", f"/api/jobs/{first}")
    browser.good("DELETE", f"/api/jobs/{others[0]}")
    assert browser.submit(text=LONG, join=True) not in (first, *others)


def test_events_are_there_without_a_stream(browser: Browser) -> None:
    job = browser.submit(text=LONG)
    seen = browser.events(job, most=3)
    with browser.ask("GET", f"/api/jobs/{job}/events?from=1&now") as response:
        found = [json.loads(line) for line in response.read().splitlines()]
    assert found[:2] == seen[1:]
    with browser.ask("GET", f"/api/jobs/{job}/events?from=1000000&now") as response:
        assert response.read() == b""
    assert browser.tell("GET", f"/api/jobs/{job}/events?from=-1")[0] == 400


def test_a_cancelled_job_leaves_nothing(browser: Browser) -> None:
    job = browser.submit(text=LONG, seeds=3)
    browser.events(job, most=2)
    assert browser.good("DELETE", f"/api/jobs/{job}")["status"] in ("going", "cancelled")
    assert browser.events(job)[-1]["status"] == "cancelled"
    assert {run["status"] for run in browser.good("GET", f"/api/jobs/{job}")["runs"]} == {"cancelled"}
    assert not list((browser.folder / "results").rglob("*.json"))
    assert not (browser.folder / "results/lab" / job).exists()
    assert browser.tell("DELETE", "/api/jobs/absent")[0] == 404


def test_a_paused_job_waits_and_lets_others_go_on(browser: Browser) -> None:
    held = [browser.submit(text=LONG, seeds=2) for _ in range(2)]
    for job in held:
        browser.good("POST", f"/api/jobs/{job}/pause", {})
    other = browser.submit(text=SCENARIO)
    assert browser.events(other)[-1]["status"] == "done"

    def documents() -> list[Any]:
        return [browser.good("GET", f"/api/jobs/{job}") for job in held]

    # A run that had its turn already stops behind its first step, whenever that is.
    stopped, before = documents(), None
    while stopped != before:
        time.sleep(0.3)
        stopped, before = documents(), stopped
    assert {document["status"] for document in stopped} == {"paused"}
    browser.good("POST", f"/api/jobs/{held[0]}/resume", {})
    while browser.good("GET", f"/api/jobs/{held[0]}")["now_s"] <= stopped[0]["now_s"]:
        time.sleep(0.05)


def test_several_seeds_and_points_are_runs_of_one_job(browser: Browser) -> None:
    text = SCENARIO + '[sweep]\n"link.bneck.rate" = ["10Mbit", "20Mbit"]\n'
    job = browser.submit(text=text, seeds=2)
    events = browser.events(job)
    runs = browser.good("GET", f"/api/jobs/{job}")["runs"]
    assert [run["id"] for run in runs] == [
        f"served/rate-{rate}{seed}" for rate in ("10Mbit", "20Mbit") for seed in ("", "@seed2")
    ]
    assert sorted(event["run"] for event in events if event["event"] == "done") == [0, 1, 2, 3]
    listed = browser.good("GET", f"/api/results/results/lab/{job}")
    assert listed["count"] == 4
    assert [row["link.bneck.rate"] for row in listed["runs"]] == ["10Mbit", "10Mbit", "20Mbit", "20Mbit"]
    assert all(row["goodput_mbps"] > 5 for row in listed["runs"])


def test_a_run_that_fails_says_why_and_the_others_are_kept(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.single import one as real

    def one(planned: Any, *rest: Any) -> Any:
        if planned.id.endswith("@seed2"):
            raise RuntimeError("the engine\nfell over")
        return real(planned, *rest)

    monkeypatch.setattr("sojourn.serve.job.one", one)
    job = browser.submit(text=SCENARIO, seeds=2)
    events = browser.events(job)
    assert [event["error"] for event in events if event["event"] == "failed"] == ["the engine fell over"]
    assert events[-1]["status"] == "failed"
    assert browser.good("GET", f"/api/results/results/lab/{job}/served")["run"]["complete"]


def test_a_run_of_a_suite_keeps_its_role(browser: Browser) -> None:
    case = "ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms"
    job = browser.submit(case=case)
    assert browser.events(job)[-1]["status"] == "done"
    run = browser.good("GET", f"/api/results/results/lab/{job}/{case}")["run"]
    assert run["manifest"]["role"]["section"]
    assert browser.tell("POST", "/api/jobs", {"case": "ect1/l4s.*"})[0] == 404


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "expected one of"),
        ({"text": SCENARIO, "toml": SCENARIO}, "expected one of"),
        ({"text": SCENARIO, "engine": "ns3"}, "engine: expected one of sim"),
        ({"text": SCENARIO, "seeds": 0}, "seeds: expected"),
        ({"text": SCENARIO, "seeds": True}, "seeds: expected"),
        ({"text": SCENARIO, "overrides": {"a": "b"}}, "overrides: expected"),
        ({"text": SCENARIO, "overrides": [["flow.x.cc", "reno"]]}, "flow.x"),
        ({"text": SCENARIO, "out": "elsewhere"}, "out: unknown key"),
    ],
)
def test_a_job_that_cannot_be_starts_nothing(browser: Browser, body: object, said: str) -> None:
    status, answer = browser.tell("POST", "/api/jobs", body)
    assert (status, said in answer["error"]) == (400, True), answer
    assert browser.good("GET", "/api/jobs") == []


def test_a_live_run_goes_through_as_any_other_where_it_can(browser: Browser) -> None:
    rows = {row["name"]: row for row in browser.good("GET", "/api/about")["engines"]}
    if not rows["live"]["available"]:
        pytest.skip(rows["live"]["reason"])
    text = SCENARIO.replace('"10s"', '"2s"').replace("prague", "cubic")
    status, answer = browser.tell("POST", "/api/jobs", {"text": text, "engine": "live"})
    if status == 400:
        pytest.skip(answer["error"])
    assert not answer["can_pause"]
    status, refused = browser.tell("POST", f"/api/jobs/{answer['id']}/pause", {})
    assert (status, "real time" in refused["error"]) == (409, True)
    events = browser.events(answer["id"])
    if events[-1]["status"] == "failed":
        pytest.skip(next(event["error"] for event in events if event["event"] == "failed"))
    assert browser.good("GET", f"/api/results/{events[-2]['path']}")["run"]["manifest"]["engine"] == "live"


def test_what_runs_in_real_time_runs_alone() -> None:
    turns, order = Turns(2), list[str]()
    assert turns.take(alone=False, is_wanted=lambda: True)

    def begin(name: str, *, alone: bool) -> threading.Thread:
        def work() -> None:
            assert turns.take(alone=alone, is_wanted=lambda: True)
            order.append(name)

        thread, waiting = threading.Thread(target=work), turns.waiting
        thread.start()
        while turns.waiting == waiting:
            time.sleep(0.001)
        return thread

    live, sim = begin("live", alone=True), begin("sim", alone=False)
    assert order == []  # neither beside the first, nor past the one that came before
    turns.leave()
    live.join()
    assert order == ["live"]
    turns.leave()
    sim.join()
    assert order == ["live", "sim"]
    assert not turns.take(alone=True, is_wanted=lambda: False)


# Results


def test_results_are_listed_and_read_in_both_forms(filled: Browser) -> None:
    sets = {one["path"]: one for one in filled.good("GET", "/api/results")}
    assert {path: one["runs"] for path, one in sets.items()} == {"results/a": 1, "results/b": 1, "results/many": 3}
    assert sets["results/a"]["shown"] == "results/a"
    listed = filled.good("GET", "/api/results/results/many")
    assert [row["id"] for row in listed["runs"]] == ["served", "served@seed2", "served@seed3"]
    for row, place in ((listed["runs"][0], "many"), (filled.good("GET", "/api/results/results/a")["runs"][0], "a")):
        run = filled.good("GET", f"/api/results/{row['path']}")["run"]
        assert run["numbers"]["goodput_mbps"] == row["goodput_mbps"]
        assert run["summary"]["flows"][0]["name"] == "a"
        series = filled.good("GET", f"/api/results/{row['path']}/series?names=flow.a.*,ping.ping.rtt")["series"]
        assert {column["name"] for column in series} <= set(run["series"])
        assert len(series) > 2
        assert not any(column["name"].startswith("queue.") for column in series)
        with filled.ask("GET", f"/api/results/{row['path']}/file?name=scenario.toml") as response:
            assert response.read().decode() == run["scenario"], place
    for path in ("results/absent", "absent", "results/a/served/absent"):
        assert filled.tell("GET", f"/api/results/{path}")[0] == 404
    assert filled.tell("GET", "/api/results/results/a/served/file?name=../../b/served/manifest.json")[0] == 404


def test_reports_and_comparisons_are_those_of_the_command(filled: Browser) -> None:
    page = filled.good("GET", "/api/report/results/a")
    assert page["schema"] == "sojourn/page/1"
    assert page["sections"][0]["id"] == "glance"
    beside = filled.good("GET", "/api/report/results/a?beside=results/b")
    assert "beside" in beside["title"]
    compared = filled.good("GET", "/api/compare?a=results/a&b=results/b")
    assert compared["summary"]["compared"] == 1
    assert filled.tell("GET", "/api/compare?a=results/a")[0] == 400


def test_damaged_results_are_told_in_a_line_and_infinities_are_absent(filled: Browser) -> None:
    summary = filled.folder / "results/a/served/summary.json"
    document = json.loads(summary.read_text())
    document["duration_s"] = float("inf")
    summary.write_text(json.dumps(document))
    assert filled.good("GET", "/api/results/results/a/served")["run"]["summary"]["duration_s"] is None
    summary.write_text("{")
    status, answer = filled.tell("GET", "/api/results/results/a/served")
    assert (status, "summary.json" in answer["error"]) == (400, True)
    assert filled.good("GET", "/api/results/results/a")["errors"]


# The command


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sojourn", "serve", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "DISPLAY": "", "WAYLAND_DISPLAY": ""},
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_cancels_the_jobs_and_leaves_nothing_half_written(tmp_path: Path, page: Path, number: int) -> None:
    text = LONG + '[[capture]]\nname = "c"\npoints = [{ link = "bneck" }]\n'
    (tmp_path / "my.toml").write_text(text)
    with started(tmp_path, "my.toml", "--port", "0", "--page", str(page), "--json") as server:
        assert server.stdout
        assert server.stderr
        said = json.loads(server.stdout.readline())
        assert said["url"] == f"http://127.0.0.1:{said['url'].split(':')[2].split('/')[0]}/?token={said['token']}"
        assert said["folder"] == str(tmp_path.resolve())
        host = said["url"].split("/")[2]
        own = {"X-Sojourn-Token": said["token"], "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", "/api/about", headers=own)
        about = json.loads(connection.getresponse().read())
        assert about["scenario"] == {"name": "my.toml", "text": text}
        connection.request("POST", "/api/jobs", json.dumps({"text": text}), own)
        job = json.loads(connection.getresponse().read())["id"]
        connection.request("GET", f"/api/jobs/{job}/events", headers=own)
        stream = connection.getresponse()
        for _ in range(3):
            assert stream.readline()
        server.send_signal(number)
        assert server.wait(60) == 0
        connection.close()
        assert server.stderr.read() == "sojourn: 1 job cancelled\n"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and path.name != "my.toml"
            and page not in path.parents] == []  # fmt: skip


def test_without_what_it_needs_one_line_says_what_to_do(
    tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    elsewhere = tmp_path.parent / "elsewhere.toml"
    elsewhere.write_text(SCENARIO)
    for arguments, told in {
        ("--page", "empty"): "serve: the page is not in",
        ("absent.toml",): "absent.toml: no such file",
        ("absent",): "absent: no such folder",
        (str(elsewhere),): "expected a scenario in this folder",
        ("--page", str(page), "--host", "192.0.2.1"): "--host 192.0.2.1",
        ("--page", str(page), "--host", "no such host"): "--host no such host",
        ("--port", "65536"): "65536",
    }.items():
        assert call(["serve", *arguments]) == 2, arguments
        said = capsys.readouterr().err
        assert told in said
        assert said.count("\n") == 1
    for name in list(sys.modules):
        if name.startswith(("sojourn.serve.app", "sojourn.serve.server")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert call(["serve", "--page", str(page)]) == 2
    assert capsys.readouterr().err == "sojourn: serve: needs uvicorn: pip install 'sojourn[serve]'\n"


def test_another_address_is_warned_of_in_one_line(tmp_path: Path, page: Path) -> None:
    with started(tmp_path, "--host", "0.0.0.0", "--port", "0", "--page", str(page)) as server:  # noqa: S104
        assert server.stdout
        assert server.stderr
        url = server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        told, warned = server.stderr.read().splitlines()
    assert url.startswith("http://127.0.0.1:")
    assert "Ctrl-C ends it" in told
    assert warned.startswith("sojourn: warning: --host 0.0.0.0: other machines reach it")


def test_a_port_that_is_taken_is_told_and_the_usual_one_gives_way(
    browser: Browser, page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = browser.server.address.port
    assert call(["serve", "--page", str(page), "--port", str(port)]) == 2
    assert f"--port {port}: Address already in use" in capsys.readouterr().err
    monkeypatch.setattr("sojourn.serve.server.USUAL_PORT", port)
    other = Server(browser.server.lab.setup, "127.0.0.1", None)
    assert other.address.port not in (0, port)
    other._socket.close()


def test_other_verbs_load_no_server() -> None:
    program = "import sys, sojourn.cli as cli; cli.call(['list', 'live']); print('starlette' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")
