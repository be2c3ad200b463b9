"""Verbs for what a scenario may say: queues, controllers, applications, the schema."""

from __future__ import annotations

import json
from typing import Any

from sojourn import _core
from sojourn.algorithms import load_algorithms
from sojourn.cli.common import OK, Json, Load, print_json


def qdisc(name: str | None = None, /, *, load: Load = None, as_json: Json = False) -> int:
    """List the queue disciplines, or print the parameters that one of them takes.

    Example: `sojourn qdisc dualpi2`

    Args:
        name: Queue discipline, by tc's name.
        load: Python file with controllers or queues of your own; repeatable.
        as_json: Print a JSON array.
    """
    load_algorithms(load or ())
    return _algorithms(name, _core.qdiscs(), _core.qdisc_usage, as_json=as_json)


def cc(name: str | None = None, /, *, load: Load = None, as_json: Json = False) -> int:
    """List the congestion controllers, or print the parameters that one of them takes.

    Example: `sojourn cc prague`

    Args:
        name: Controller, by Linux's name.
        load: Python file with controllers or queues of your own; repeatable.
        as_json: Print a JSON array.
    """
    load_algorithms(load or ())
    return _algorithms(name, _core.controllers(), _core.cc_usage, as_json=as_json)


def app_(name: str | None = None, /, *, as_json: Json = False) -> int:
    """List the applications that a flow can carry, or print the parameters that one of them takes.

    Example: `sojourn app short`

    Args:
        name: Application.
        as_json: Print a JSON array.
    """
    return _algorithms(name, _core.apps(), _core.app_usage, as_json=as_json)


def _algorithms(name: str | None, table: str, usage: Any, *, as_json: bool) -> int:
    if name and not as_json:
        print(usage(name).rstrip("\n"))
        return OK
    rows = json.loads(table)
    if name:
        usage(name)  # refuses unknown names with the nearest one
        rows = [row for row in rows if row["name"] == name]
    if as_json:
        print_json(rows)
    else:
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            print(f"{row['name']:{width}}  {row['summary']} ({row['reference']})")
    return OK


def schema() -> int:
    """Print the JSON Schema of the scenario file, for editors."""
    print(_core.schema().rstrip("\n"))
    return OK
