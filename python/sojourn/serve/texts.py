"""Scenarios of texts that the page sends: of its user, or of a link that somebody sent them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sojourn import _core, suites
from sojourn.engines import EngineError
from sojourn.scenario import Resolved, Scenario
from sojourn.serve.asked import Asked
from sojourn.serve.errors import RequestError
from sojourn.serve.setup import MOST_RUNS, Setup

#: What messages call a text that is of no file.
NAME = "scenario.toml"
TEXT = ("text", "overrides")
T = TypeVar("T")


class TextError(RequestError):
    """A scenario that cannot be used, with its line if it is about one."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


class Texts:
    """Answers about texts; trace files that they name are looked for beside the file that was started with."""

    def __init__(self, setup: Setup) -> None:
        self._folder = setup.folder
        self._file = setup.scenario or setup.folder / NAME

    def scenario(self, text: str) -> Scenario:
        """The scenario of a text, which reads no file outside of the folder."""
        return Scenario(text, str(self._file), within=self._folder)

    def read(self, do: Callable[[], T]) -> T:
        """What `do` makes of a text; raises `TextError` with the line that the command would print."""
        try:
            return do()
        except (_core.ScenarioError, EngineError) as error:
            message = str(error).replace(f"{self._folder}/", "")
            found = re.match(rf"{re.escape(str(self._file.relative_to(self._folder)))}:([0-9]+):", message)
            raise TextError(message, int(found[1]) if found else None) from None

    def resolve(self, body: bytes) -> dict[str, Any]:
        """The text with every default written out, warnings, and what the network is."""
        asked = Asked(body, *TEXT)
        return self.read(lambda: described(self._resolved(asked)))

    def expand(self, body: bytes) -> list[dict[str, Any]]:
        """The runs of its sweep, each with the values of the axes."""
        asked = Asked(body, *TEXT)
        scenario, overrides = self.scenario(asked.text("text")), asked.overrides()

        def runs() -> list[Resolved]:
            self.bound(scenario, overrides)
            return scenario.expand(overrides)

        found = self.read(runs)
        refuse(found)
        return [{"values": list(run.swept.items()), "toml": run.text} for run in found]

    def edit(self, body: bytes) -> dict[str, Any]:
        """The text with another value at a dotted name, or without it; comments and layout stay."""
        asked = Asked(body, "text", "key", "value")
        value = asked.text("value") if asked.has("value") else None
        text, key = asked.text("text"), asked.text("key")
        return {"text": self.read(lambda: _core.edit(text, str(self._file), key, value, self._folder))}

    def tc(self, body: bytes) -> dict[str, Any]:
        """The commands that build it on Linux, and what a stock kernel cannot do of it."""
        asked = Asked(body, *TEXT)
        script, _, limits = self.read(lambda: _core.tc_script(self._resolved(asked).text))
        return {"script": script, "limits": limits}

    def bound(self, scenario: Scenario, overrides: Mapping[str, str], seeds: int = 1) -> None:
        """Raises `RequestError` for more runs than are sensible here, before they are made."""
        count = seeds * _core.runs(scenario.text, scenario.file, list(overrides.items()))
        if count > MOST_RUNS:
            raise RequestError(f"{count} runs; expected at most {MOST_RUNS} here: `sojourn run` does more")

    def _resolved(self, asked: Asked) -> Resolved:
        resolved = self.scenario(asked.text("text")).resolve(asked.overrides())
        refuse([resolved])
        return resolved


def described(resolved: Resolved) -> dict[str, Any]:
    """A resolved scenario as the page shows it."""
    return {
        "toml": resolved.text,
        "brief": _core.brief(resolved.text),
        "warnings": list(resolved.warnings),
        "conditions": json.loads(_core.conditions(resolved.text)),
        "outline": json.loads(_core.outline(resolved.text)),
    }


def tables() -> dict[str, Any]:
    """Queues, controllers and applications with their parameters, and the schema of the file."""
    texts = {"qdiscs": _core.qdiscs(), "controllers": _core.controllers(), "apps": _core.apps()}
    return {name: json.loads(text) for name, text in (*texts.items(), ("schema", _core.schema()))}


def refuse(runs: Sequence[Resolved]) -> None:
    """Raises `RequestError` if a run would start programs, which no text of a page may do."""
    for run in runs:
        if "exec" not in run.text:
            continue
        flows = run.document().get("flow")
        for flow in flows if isinstance(flows, list) else ():
            if isinstance(flow, Mapping) and "exec" in flow:
                raise RequestError(
                    f"flow.{flow.get('name')}.exec: a scenario of the page runs no programs: "
                    "`sojourn run --allow-exec` does",
                    403,
                )


def cases(name: str) -> list[dict[str, Any]]:
    """The runs of a suite."""
    if name not in suites.NAMES:
        raise RequestError(f"{name!r} is no suite; expected {', '.join(suites.NAMES)}", 404)
    keys = ("id", "description", "question", "duration_s", "toml")
    return [{key: getattr(case, key) for key in keys} for case in suites.suite(name)]
