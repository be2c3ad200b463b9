"""`sojourn serve` and who must not use it: other pages, other users, and the authors of files that somebody sent."""

from __future__ import annotations

import http.client
import json
import shutil
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="sojourn[serve] is not installed")
pytest.importorskip("uvicorn", reason="sojourn[serve] is not installed")

from serving import LONG, SCENARIO, STRANGE, Browser
from sojourn.serve.security import Address
from sojourn.serve.setup import MOST_BYTES

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


# Who may ask


@pytest.mark.parametrize("token", [None, "wrong", "\xff"])
def test_without_the_token_nothing_is_answered(browser: Browser, token: str | None) -> None:
    for method, path in (("GET", "about"), ("GET", "jobs"), ("POST", "jobs"), ("GET", "results/results"), ("GET", "x")):
        status, answer = browser.tell(method, f"/api/{path}", {} if method == "POST" else None, token=token)
        assert (status, list(answer)) == (401, ["error"])
        assert "X-Sojourn-Token" in answer["error"]
    # Not in the address either, where it would be logged and shared.
    assert browser.tell("GET", f"/api/about?token={browser.server.token}", token=None)[0] == 401


def test_a_name_that_points_here_is_not_this_server(browser: Browser) -> None:
    port = browser.server.address.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"10.0.0.1:{port}", ""):
        for path in ("/api/about", "/"):
            status, answer = browser.tell("GET", path, headers={"Host": host})
            assert status == 421, host
            assert "Host: expected 127.0.0.1" in answer["error"]
    assert browser.tell("GET", "/api/about", headers={"Host": f"localhost:{port}"})[0] == 200


def test_a_request_with_two_hosts_is_refused(browser: Browser) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", browser.server.address.port, timeout=60)
    connection.putrequest("GET", "/api/about", skip_host=True)
    for host in (browser.host, "evil.example"):
        connection.putheader("Host", host)
    connection.putheader("X-Sojourn-Token", browser.server.token)
    connection.endheaders()
    with connection.getresponse() as response:
        assert response.status in (400, 421)
        response.read()


def test_other_pages_get_no_answer_and_no_leave_to_ask(browser: Browser) -> None:
    own = f"http://{browser.host}"
    assert browser.tell("GET", "/api/about", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"})[0] == 200
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://localhost:{browser.server.address.port}"},
        {"Origin": own.replace("http", "https")},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert browser.tell("POST", "/api/resolve", {"text": SCENARIO}, headers=headers)[0] == 403, headers
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    with browser.ask("OPTIONS", "/api/jobs", token=None, headers=asked) as response:
        assert response.status == 403
        assert not any(name.lower().startswith("access-control-") for name in response.headers)
        response.read()
    # What a form of another page could send without being asked.
    status, answer = browser.tell("POST", "/api/jobs", {"text": SCENARIO}, headers={"Content-Type": "text/plain"})
    assert (status, browser.good("GET", "/api/jobs")) == (415, [])
    assert "application/json" in answer["error"]


def test_an_address_knows_its_names() -> None:
    assert Address("127.0.0.1", 80).names("127.0.0.1")
    assert Address("::1", 8080).names("[::1]:8080")
    assert Address("::1", 8080).origin == "http://[::1]:8080"
    assert not Address("::1", 8080).names("[::1]")
    assert not Address("127.0.0.1", 8080).names("192.0.2.1:8080")
    assert Address("lab.example", 8080).names("LAB.example:8080")
    assert not Address("lab.example", 8080).names("other.example:8080")
    everywhere = Address("0.0.0.0", 8080)  # noqa: S104
    assert everywhere.names("192.0.2.1:8080")
    assert everywhere.names("[2001:db8::1]:8080")
    assert not everywhere.names("evil.example:8080")
    assert not everywhere.is_loopback


@pytest.mark.parametrize("path", ["/", "/absent", "/api/about", "/api/absent"])
def test_every_answer_keeps_other_pages_out(browser: Browser, path: str) -> None:
    for token in ("", None):
        with browser.ask("GET", path, token=token) as response:
            headers = response.headers
            response.read()
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert not any(name.lower().startswith("access-control-") for name in headers)
        if path.startswith("/api/"):
            assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/../../secret.txt",
        "/assets/%2e%2e%2f%2e%2e%2fsecret.txt",
        "//secret.txt",
        "/..%5csecret.txt",
        "/%00",
        "/{absolute}",
        "/%2f{absolute}",
    ],
)
def test_no_path_of_the_page_leads_to_another_file(browser: Browser, path: str) -> None:
    absolute = str(browser.folder.parent / "secret.txt")
    with browser.ask("GET", path.format(absolute=absolute), token=None) as response:
        assert response.status == 404
        assert STRANGE.encode() not in response.read()


# What a text may do


def test_more_than_a_text_needs_is_not_read(browser: Browser) -> None:
    status, answer = browser.tell("POST", "/api/resolve", {"text": " " * MOST_BYTES})
    assert (status, answer) == (413, {"error": "expected at most 4 MiB"})
    # Without a length.
    connection = http.client.HTTPConnection("127.0.0.1", browser.server.address.port, timeout=60)
    connection.putrequest("POST", "/api/resolve", skip_host=True)
    for name, value in {
        "Host": browser.host,
        "X-Sojourn-Token": browser.server.token,
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
    }.items():
        connection.putheader(name, value)
    connection.endheaders()
    for _ in range(2 * MOST_BYTES >> 20):
        connection.send(b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20)))
    connection.send(b"0\r\n\r\n")
    with connection.getresponse() as response:
        assert (response.status, json.loads(response.read())) == (413, answer)
    connection.close()


TRACED = SCENARIO.replace('rate = "20Mbit"\nshaper = "htb"', 'shaper = "rate_trace file {}"')


def test_a_text_reads_files_of_its_folder(browser: Browser) -> None:
    resolved = browser.good("POST", "/api/resolve", {"text": TRACED.format("traces/own.txt")})["toml"]
    assert str(browser.folder / "traces/own.txt") in resolved
    # What came out goes in again.
    assert browser.good("POST", "/api/resolve", {"text": resolved})["toml"] == resolved
    job = browser.submit(toml=resolved)
    assert browser.events(job)[-1]["status"] == "done"


CASE = "ect1/l4s-s1-oneflow/prague/dualpi2/5Mbit/20ms"
NAMES = ("{outside}", "../outside.txt", "traces/../../outside.txt", "link", "deep/outside.txt")


@pytest.mark.parametrize("name", NAMES)
def test_a_text_reads_no_file_outside_of_its_folder(browser: Browser, name: str) -> None:
    outside = browser.folder.parent / "outside.txt"
    (browser.folder / "link").symlink_to(outside)
    (browser.folder / "deep").symlink_to(browser.folder.parent)
    named = name.format(outside=outside)
    override = ["link.bneck.shaper", f"rate_trace file {named}"]
    scheduled = f'{SCENARIO}[[schedule]]\nat = "1s"\nreplace = {{ "link.bneck.shaper" = "{override[1]}" }}\n'
    swept = f'{SCENARIO}[sweep]\n"link.bneck.shaper" = ["htb", "{override[1]}"]\n'
    hidden = TRACED.format(named.replace(".", "%2E"))
    for path, body in (
        ("resolve", {"text": TRACED.format(named)}),
        ("resolve", {"text": hidden}),
        ("resolve", {"text": SCENARIO, "overrides": [override]}),
        ("resolve", {"text": TRACED.format("traces/own.txt"), "overrides": [override]}),
        ("resolve", {"text": scheduled}),
        ("expand", {"text": swept}),
        ("tc", {"text": TRACED.format(named)}),
        ("jobs", {"text": TRACED.format(named)}),
        ("jobs", {"toml": TRACED.format(named)}),
        ("jobs", {"text": swept}),
        ("jobs", {"text": SCENARIO, "overrides": [override]}),
        ("jobs", {"case": CASE, "overrides": [["link.bneck.shaper", override[1]]]}),
    ):
        status, answer = browser.tell("POST", f"/api/{path}", body)
        assert status == 400, (path, body)
        assert "expected a file in the folder" in answer["error"], answer
    if not name.startswith(("link", "deep")):  # nor does the answer say whether there is one
        _, answer = browser.tell("POST", "/api/resolve", {"text": TRACED.format(named.replace("outside", "absent"))})
        assert "expected a file in the folder" in answer["error"]
        edits = [{"text": TRACED.format(other), "key": "seed", "value": "7"} for other in (named, "../absent.txt")]
        first, second = (browser.good("POST", "/api/edit", edit)["text"] for edit in edits)
        assert first == second.replace("../absent.txt", named)
    assert browser.good("GET", "/api/jobs") == []


@pytest.mark.parametrize("engine", ["sim", "live"])
def test_a_text_runs_no_program(browser: Browser, engine: str) -> None:
    marker = browser.folder / "ran"
    text = SCENARIO.replace('cc = "prague"', f'exec = "touch {marker}"')
    overridden = {"text": SCENARIO.replace('cc = "prague"', ""), "overrides": [["flow.a.exec", f"touch {marker}"]]}
    for body in ({"text": text}, {"toml": text}, overridden):
        status, answer = browser.tell("POST", "/api/jobs", {**body, "engine": engine})
        assert (status, answer["error"][:12]) == (403, "flow.a.exec:")
    for body in ({"text": text}, overridden):
        status, answer = browser.tell("POST", "/api/resolve", body)
        assert (status, answer["error"][:12]) == (403, "flow.a.exec:")
    assert browser.good("GET", "/api/jobs") == []
    assert not marker.exists()


def test_no_name_of_a_run_leads_out_of_the_results(browser: Browser) -> None:
    for name in ("../evil", "/evil", "a/../../evil", ".evil", "a//b"):
        status, answer = browser.tell("POST", "/api/jobs", {"text": SCENARIO.replace("served", name)})
        assert status == 400, name
        assert "run name" in answer["error"]
    assert not list(browser.folder.parent.rglob("evil*"))


def test_the_number_of_runs_and_jobs_is_bounded(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    swept = f"{SCENARIO}[sweep]\nseed = {list(range(50))}\n" + '"link.bneck.delay" = ["1ms", "2ms"]\n'
    more = [["sweep.duration", json.dumps(["5s"] * 20)]]
    for body in ({"text": swept, "overrides": more}, {"text": SCENARIO, "seeds": 1001}, {"text": swept, "seeds": 11}):
        status, answer = browser.tell("POST", "/api/jobs", body)
        assert status == 400
        assert "1000" in answer["error"]
    assert browser.tell("POST", "/api/expand", {"text": swept.replace("[0, ", f"[{'0, ' * 1000}")})[0] == 400
    monkeypatch.setattr("sojourn.serve.jobs.MOST_JOBS", 2)
    kept = [browser.submit(text=LONG) for _ in range(2)]
    status, answer = browser.tell("POST", "/api/jobs", {"text": SCENARIO})
    assert (status, "2 jobs" in answer["error"]) == (429, True)
    for job in kept:
        browser.good("DELETE", f"/api/jobs/{job}")
        assert browser.events(job)[-1] == {"n": len(browser.events(job)) - 1, "event": "end", "status": "cancelled"}
    assert browser.submit(text=SCENARIO)


@pytest.mark.parametrize(
    "path",
    [
        "results/..",
        "results/../../secret.txt",
        "results/%2e%2e/%2e%2e",
        "results/a/../../..",
        "results//",
        "results/.hidden",
        "results/a%00",
        "results/..%5c..",
        "%2f",
        "..",
        "results/out",
        "results/out/served",
    ],
)
def test_no_path_of_results_leads_out_of_them(filled: Browser, path: str) -> None:
    elsewhere = filled.folder.parent / "elsewhere"
    shutil.copytree(filled.folder / "results/a", elsewhere)
    (filled.folder / "results/out").symlink_to(elsewhere)
    below = ("", "/series", "/file?name=scenario.toml")
    for asked in (*(f"results/{path}{rest}" for rest in below), f"report/{path}"):
        status, answer = filled.tell("GET", f"/api/{asked}")
        assert status in (400, 404), asked
        assert "served" not in answer["error"] or "served" in path
    assert filled.tell("GET", f"/api/compare?a=results/a&b={quote(path)}")[0] in (400, 404)


@pytest.mark.parametrize("name", ["scenario.toml", "summary.json", "series.parquet", "manifest.json"])
def test_results_of_strangers_that_link_to_other_files_are_not_read(filled: Browser, name: str) -> None:
    file = filled.folder / "results/a/served" / name
    moved = filled.folder.parent / f"own-{name}"
    file.rename(moved)
    file.symlink_to(moved)
    run = "results/results/a/served"
    for asked in (
        *("results/results/a", run, f"{run}/file?name={name}", f"{run}/series"),
        *("report/results/a", "compare?a=results/a&b=results/b"),
    ):
        status, answer = filled.tell("GET", f"/api/{asked}")
        assert (status, "link" in answer["error"]) == (403, True), asked
    assert filled.tell("GET", "/api/results/results/b")[0] == 200
