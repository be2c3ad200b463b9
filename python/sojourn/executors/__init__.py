"""Where runs are done: any `concurrent.futures.Executor`, and those that have a name on the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from sojourn.executors.interface import ExecutorError, Lost, about, slots

__all__ = ["FORMS", "ExecutorError", "Lost", "about", "opened", "slots"]

FORMS = "processes[:N], dask:ADDRESS or slurm[:OPTION=VALUE,...]"


@contextmanager
def opened(chosen: Executor | str | None) -> Iterator[Executor | None]:
    """The executor of this name while it is needed; one that was given stays as it is, and None is None.

    Raises `ExecutorError` for what is no name, for a package that is missing, and for a cluster that does not answer.
    """
    if not isinstance(chosen, str):
        yield chosen
        return
    executor = _named(chosen)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def _named(text: str) -> Executor:
    name, colon, rest = text.partition(":")
    if name == "processes" and (not colon or (rest.isdecimal() and int(rest) > 0)):
        from sojourn.executors.processes import Processes

        return Processes(int(rest) if rest else None)
    if name == "dask" and rest:
        _need("dask", "distributed")
        from sojourn.executors.dask import Dask

        return Dask(rest)
    if name == "slurm" and bool(colon) == bool(rest):
        options = dict(_option(part) for part in rest.split(",") if rest)
        _need("slurm", "submitit")
        from sojourn.executors.slurm import opened as slurm

        return slurm(options)
    raise ExecutorError(f"--executor {text}: expected {FORMS}")


def _option(part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not (key and equals and value):
        raise ExecutorError(f"slurm: {part}: expected OPTION=VALUE, such as partition=main")
    return key, value


def _need(extra: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ExecutorError(f"--executor {extra}: needs the package {package}: pip install 'sojourn[{extra}]'")
