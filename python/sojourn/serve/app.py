"""The requests that a server answers: the page's files, and the interface below `/api`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from sojourn import _core, suites
from sojourn.serve.errors import RequestError
from sojourn.serve.jobs import Jobs
from sojourn.serve.offered import Offered
from sojourn.serve.pages import assets
from sojourn.serve.places import Places, shown
from sojourn.serve.results import Results, as_json
from sojourn.serve.setup import MOST_JOBS, MOST_RUNS, Setup
from sojourn.serve.texts import Texts, cases, tables
from sojourn.text import in_one_line

#: Between two looks for new events, and the longest silence on a connection, s.
LOOK_S, SILENCE_S = 0.05, 15.0
#: Bytes of events in one piece.
PIECE = 256 << 10
#: A file of results is one to keep, and nothing to show here.
DOWNLOAD = "application/octet-stream"
LINES = "application/x-ndjson"
Endpoint = Callable[[Request], Awaitable[Response]]


class Lab:
    """What the requests are about."""

    def __init__(self, setup: Setup) -> None:
        roots = {"results": setup.results}
        if not setup.out.is_relative_to(setup.results):
            roots["lab"] = setup.out
        self.setup = setup
        self.texts = Texts(setup)
        self.places = Places(roots)
        self.results = Results(self.places, setup.out)
        self.jobs = Jobs(setup, self.texts, self.places)
        self.offered = Offered()
        self._assets = assets(setup.page)

    def routes(self) -> list[Route]:
        """Every request that is answered."""
        texts, found = self.texts, self.results
        return [
            Route("/api/about", _read(lambda _: self._about())),
            Route("/api/tables", _read(lambda _: tables())),
            Route("/api/resolve", _told(texts.resolve), methods=["POST"]),
            Route("/api/expand", _told(texts.expand), methods=["POST"]),
            Route("/api/edit", _told(texts.edit), methods=["POST"]),
            Route("/api/tc", _told(texts.tc), methods=["POST"]),
            Route("/api/suites/{name}", _read(lambda asked: cases(asked.path_params["name"]))),
            Route("/api/jobs", _read(lambda _: [job.document() for job in self.jobs.all()])),
            Route("/api/jobs", _told(lambda body: self.jobs.submit(body).document()), methods=["POST"]),
            Route("/api/jobs/{id}", _read(lambda asked: self._job(asked).document(runs=True))),
            Route("/api/jobs/{id}", _read(self._cancel), methods=["DELETE"]),
            Route("/api/jobs/{id}/pause", _read(self._pause), methods=["POST"]),
            Route("/api/jobs/{id}/resume", _read(self._resume), methods=["POST"]),
            Route("/api/jobs/{id}/scenario", _read(self._scenario)),
            Route("/api/jobs/{id}/events", self._events),
            Route("/api/results", _read(lambda _: found.sets())),
            Route("/api/results/{run:path}/series", _read(lambda a: found.series(_run(a), _maybe(a, "names")))),
            Route("/api/results/{run:path}/file", _read(lambda a: found.file(_run(a), _named(a, "name")))),
            Route("/api/results/{run:path}", _read(lambda a: found.show(_run(a), _number(a, "start")))),
            Route("/api/report/{run:path}", _read(lambda a: found.report(_run(a), _maybe(a, "beside")))),
            Route("/api/compare", _read(lambda a: found.comparison(_named(a, "a"), _named(a, "b")))),
            Route("/{path:path}", self._asset),
        ]

    def _about(self) -> dict[str, Any]:
        setup = self.setup
        scenario = setup.scenario and {
            "name": str(setup.scenario.relative_to(setup.folder)),
            "text": setup.scenario.read_text(encoding="utf-8"),
        }
        return {
            "version": _core.version(),
            "engines": self.offered.rows(),
            "folder": str(setup.folder),
            "out": shown(setup.out),
            "scenario": scenario,
            "results": self.results.sets(),
            "suites": list(suites.NAMES),
            "at_once": setup.at_once,
            "most": {"jobs": MOST_JOBS, "runs": MOST_RUNS},
        }

    def _job(self, asked: Request) -> Any:
        return self.jobs.get(asked.path_params["id"])

    def _cancel(self, asked: Request) -> dict[str, Any]:
        job = self.jobs.get(asked.path_params["id"])
        job.cancel()
        return job.document()

    def _pause(self, asked: Request) -> dict[str, Any]:
        job = self.jobs.get(asked.path_params["id"])
        if not job.can_pause:
            raise RequestError(f"{job.how.engine.name}: runs in real time, and cannot wait; it can be cancelled", 409)
        job.pause()
        return job.document()

    def _resume(self, asked: Request) -> dict[str, Any]:
        job = self.jobs.get(asked.path_params["id"])
        job.resume()
        return job.document()

    def _scenario(self, asked: Request) -> dict[str, str]:
        states, number = self.jobs.get(asked.path_params["id"]).states, _number(asked, "run")
        if number >= len(states):
            raise RequestError(f"run: expected a number below {len(states)}", 404)
        return {"toml": states[number].planned.scenario.text}

    async def _events(self, asked: Request) -> Response:
        """Lines of JSON from number `from` on, until the job is over; an empty line where nothing comes for a while.

        With `now` only those that are there: a browser opens six connections at most.
        """
        job = self.jobs.get(asked.path_params["id"])
        first = _number(asked, "from")
        if "now" in asked.query_params:
            return Response(job.events.read(first, PIECE)[0], media_type=LINES)

        async def lines() -> AsyncIterator[bytes]:
            at, silent_s = first, 0.0
            while not self.jobs.is_closing:
                piece, at, is_over = job.events.read(at, PIECE)
                if piece:
                    silent_s = 0.0
                    yield piece
                    continue
                if is_over:
                    return
                await asyncio.sleep(LOOK_S)
                silent_s += LOOK_S
                if silent_s >= SILENCE_S:
                    silent_s = 0.0
                    yield b"\n"

        return StreamingResponse(lines(), media_type=LINES)

    async def _asset(self, asked: Request) -> Response:
        path = f"/{asked.path_params['path']}"
        if path == "/":  # it may have been made anew since
            self._assets = await run_in_threadpool(assets, self.setup.page)
        asset = self._assets.get(path)
        if asset is None or not asset.file.is_file():
            raise RequestError("there is no such page", 404)
        return FileResponse(asset.file, media_type=asset.type, headers={"cache-control": asset.cache})


def application(lab: Lab) -> Starlette:
    """The requests of a lab; `security.Guard` belongs before it."""
    handlers: Any = {HTTPException: _refused, **dict.fromkeys((ValueError, OSError), _failed)}
    made = Starlette(routes=lab.routes(), exception_handlers=handlers)
    made.router.redirect_slashes = False
    return made


def _read(do: Callable[[Request], object]) -> Endpoint:
    """An answer that a thread makes of a request without a body."""

    async def answer(asked: Request) -> Response:
        return await run_in_threadpool(lambda: _response(do(asked)))

    return answer


def _told(do: Callable[[bytes], object]) -> Endpoint:
    """An answer that a thread makes of a request's body."""

    async def answer(asked: Request) -> Response:
        body = await asked.body()
        return await run_in_threadpool(lambda: _response(do(body)))

    return answer


def _response(answer: object, status: int = 200) -> Response:
    match answer:
        case Path():
            return FileResponse(answer, media_type=DOWNLOAD, filename=answer.name)
        case bytes():
            return Response(answer, media_type=DOWNLOAD)
        case str():
            return Response(answer, media_type="application/json")
    return Response(as_json(answer), status, media_type="application/json")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as it is registered
    return _response({"error": error.detail}, error.status_code)


async def _failed(_: Request, error: Exception) -> Response:
    """What is wrong with what was asked for or read; every other error is a defect, and goes on."""
    if isinstance(error, RequestError):
        line = getattr(error, "line", None)
        return _response({"error": in_one_line(error), **({"line": line} if line else {})}, error.status)
    if isinstance(error, OSError) or type(error).__module__.startswith("sojourn."):
        return _response({"error": in_one_line(error)}, 400)
    raise error


def _run(asked: Request) -> str:
    return str(asked.path_params["run"])


def _maybe(asked: Request, key: str) -> str | None:
    return asked.query_params.get(key)


def _named(asked: Request, key: str) -> str:
    value = _maybe(asked, key)
    if not value:
        raise RequestError(f"{key}: expected a name in the URL")
    return value


def _number(asked: Request, key: str) -> int:
    text = asked.query_params.get(key, "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise RequestError(f"{key}: expected a number from 0 on")
    return int(text)
