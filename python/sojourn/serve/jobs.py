"""The jobs of a server: what the page asked for goes on when no page looks, and its events stay."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import cast, get_args

from sojourn import engines, results, suites
from sojourn.jobs import Job as Planned
from sojourn.planning import able, nearest, new_folder, plan, slug
from sojourn.results import ResultsError
from sojourn.serve.asked import Asked
from sojourn.serve.errors import RequestError
from sojourn.serve.job import Job
from sojourn.serve.places import Places
from sojourn.serve.setup import KEPT_JOBS, MOST_JOBS, MOST_RUNS, Setup
from sojourn.serve.texts import Texts, refuse
from sojourn.serve.turns import Turns
from sojourn.single import How

KEYS = ("text", "toml", "case", "overrides", "engine", "seeds", "nearest", "join")


class Jobs:
    """Starts, keeps and ends jobs."""

    def __init__(self, setup: Setup, texts: Texts, places: Places) -> None:
        self._setup, self._texts, self._places = setup, texts, places
        self._turns = Turns(setup.at_once)
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        #: Whether the server ends.
        self.is_closing = False

    def submit(self, body: bytes) -> Job:
        """Plans runs and starts them, or with `join` gives a job of the same runs that is under way.

        Raises `RequestError` if anything about them is wrong, and nothing starts.
        """
        asked = Asked(body, *KEYS)
        name = asked.text("engine", "sim")
        if name not in get_args(engines.Name):
            raise RequestError(f"engine: expected one of {', '.join(get_args(engines.Name))}, got {name!r}")
        planned, engine = self._texts.read(lambda: self._planned(asked, cast("engines.Name", name)))
        title = str(planned[0].scenario.head().get("name", ""))
        with self._lock:
            if self.is_closing:
                raise RequestError("the server ends", 503)
            if asked.flag("join") and (same := self._under_way(planned, engine)):
                return same
            self._forget()
            if sum(not job.is_over for job in self._jobs.values()) >= MOST_JOBS:
                raise RequestError(f"{MOST_JOBS} jobs wait already: cancel some, or wait for their end", 429)
            out = new_folder(slug(title), self._setup.out, self._jobs)
            store = results.store(out, [one.id for one in planned], None, lambda _: None)
            try:
                store.check()
            except ResultsError as error:
                raise RequestError(str(error), 409) from None
            how = How(out, engine, store, fresh=True, keeps_partial=False)
            job = self._jobs[out.name] = Job(out.name, title, planned, how, self._places.name(out))
            job.start(self._turns, self._setup.at_once)
        return job

    def all(self) -> list[Job]:
        """The newest first."""
        with self._lock:
            return list(self._jobs.values())[::-1]

    def get(self, job_id: str) -> Job:
        """The job of this id; raises `RequestError` if there is none."""
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None:
            raise RequestError("no such job; results of earlier ones are in the list of results", 404)
        return job

    def close(self) -> int:
        """Cancels all jobs and waits for them; the number of those that were not over."""
        with self._lock:
            self.is_closing = True
            jobs = list(self._jobs.values())
        ended = [job for job in jobs if not job.is_over]
        for job in ended:
            job.cancel()
        for job in jobs:
            job.join()
            job.events.close()
        return len(ended)

    def _planned(self, asked: Asked, name: engines.Name) -> tuple[list[Planned], engines.Engine]:
        given = [key for key in ("text", "toml", "case") if asked.has(key)]
        if len(given) != 1:
            raise RequestError("expected one of text (with overrides), toml and case")
        overrides, seeds = asked.overrides(), asked.count("seeds", MOST_RUNS)
        text, role = asked.text(given[0]), suites.Role()
        if given == ["case"]:
            found = suites.find(text)
            if found is None or found.id != text:
                raise RequestError(f"case: {text!r} is no run of a suite", 404)
            text, role = found.toml, found.role
        # Also of a suite's run: an override may name a file.
        scenario = self._texts.scenario(text)
        self._texts.bound(scenario, overrides, seeds)
        engine = engines.named(name)
        planned = [replace(one, role=role) for one in plan([scenario], overrides, seeds=seeds)]
        refuse([one.scenario for one in planned])
        if asked.flag("nearest"):
            planned, _ = nearest(engine, planned)
        able(engine, planned)
        return planned, engine

    def _under_way(self, planned: list[Planned], engine: engines.Engine) -> Job | None:
        """A job of the same runs, of an engine that repeats them: a page that was reloaded asks for them again."""
        wanted = (engine.version, [one.scenario.text for one in planned])
        under_way = [job for job in self._jobs.values() if engine.repeats and job.is_wanted and not job.is_over]
        return next((job for job in under_way if job.work == wanted), None)

    def _forget(self) -> None:
        """Of the oldest jobs that are over only the results stay."""
        over = [job for job in self._jobs.values() if job.is_over]
        for job in over[: max(0, len(over) - KEPT_JOBS)]:
            job.events.close()
            del self._jobs[job.id]
