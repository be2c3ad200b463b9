"""Algorithms of your own: controllers and queues that are Python classes.

    @sojourn.controller("myaimd")
    class MyAimd:
        def on_ack(self, now, ack, win): ...

The class is then a name like any other in scenarios, overrides and sweeps; the arguments of its
constructor are its parameters. docs/guide/add-a-controller.md lists the methods.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
import uuid
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_type_hints

from sojourn import _core

Seconds = Annotated[float, "time"]
"""A word that is a time in tc's units, such as `5ms`."""
BitsPerSecond = Annotated[float, "rate"]
"""A word that is a rate in tc's units, such as `50Mbit`."""
Bytes = Annotated[int, "size"]
"""A word that is a size in tc's units, such as `32Kb`."""

C = TypeVar("C", bound=type)
Sort = Literal["controller", "qdisc"]

METHODS: dict[Sort, tuple[str, ...]] = {
    "controller": (
        "on_established", "on_send", "on_ack_event", "on_ack", "on_loss", "ssthresh", "on_state", "undo_cwnd",
        "on_restart", "wake", "on_wake", "pacing_rate", "burst", "probe",
    ),
    "qdisc": ("enqueue", "dequeue", "peek", "wake", "on_wake", "change", "stats", "probe"),
}  # fmt: skip
REQUIRED: dict[Sort, tuple[str, ...]] = {"controller": ("on_ack",), "qdisc": ("enqueue", "dequeue")}
KINDS: dict[object, str] = {bool: "flag", int: "int", float: "float", str: "text",
         Seconds: "time", BitsPerSecond: "rate", Bytes: "size"}  # fmt: skip

#: Name and sort of what was defined: file (or none, as in a notebook) and a digest of the sources.
_defined: dict[tuple[Sort, str], tuple[str | None, str]] = {}


class AlgorithmError(ValueError):
    """A file or class that cannot be used as an algorithm; the message is one line for the user."""


def controller(name: str) -> Callable[[C], C]:
    """Makes a class the congestion controller of this name."""
    return lambda cls: _define("controller", name, cls)


def qdisc(name: str) -> Callable[[C], C]:
    """Makes a class the queue discipline of this name."""
    return lambda cls: _define("qdisc", name, cls)


def load_algorithms(files: Iterable[str | Path]) -> None:
    """Runs Python files that define controllers or queues, as `--load` does."""
    for file in files:
        path = Path(file).resolve()
        if not path.is_file():
            raise AlgorithmError(f"{file}: no such file; expected Python with @sojourn.controller or @sojourn.qdisc")
        name = _module_name(path)
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise AlgorithmError(f"{file}: expected the name of a Python file, NAME.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # where dataclasses and annotations look for it
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
        except (AlgorithmError, _core.ScenarioError) as error:
            raise AlgorithmError(f"{file}: {error}") from None
        except Exception as error:
            raise AlgorithmError(_where(str(file), path, error)) from error
        finally:
            sys.path.remove(str(path.parent))
        if not any(defined_in == str(path) for defined_in, _ in _defined.values()):
            raise AlgorithmError(f"{file}: expected a class below @sojourn.controller or @sojourn.qdisc")


def digests(resolved: str) -> dict[str, str]:
    """Digests of the sources of the algorithms that a resolved scenario may use, by name."""
    if not _defined:
        return {}
    words = set(re.findall(r"[A-Za-z0-9_+.-]+", resolved))
    return {name: digest for (_, name), (_, digest) in sorted(_defined.items()) if name in words}


def sources(resolved: str) -> tuple[tuple[str, str], ...]:
    """Names and texts of the loaded files that define the algorithms which a resolved scenario may use.

    Raises `AlgorithmError` for an algorithm that was defined elsewhere: its source alone may not make it.
    """
    wanted = digests(resolved)
    found: dict[tuple[str, str], None] = {}
    for (sort, name), (file, digest) in sorted(_defined.items()):
        if wanted.get(name) != digest:
            continue
        if file is None or _module_name(Path(file)) not in sys.modules:
            raise AlgorithmError(
                f"{sort} {name!r} is defined in {file or 'the running program'}; to run elsewhere, expected a file of "
                "its own that --load or sojourn.load_algorithms reads"
            )
        found[Path(file).name, Path(file).read_text(encoding="utf-8")] = None
    return tuple(found)


def _module_name(path: Path) -> str:
    """What the module of a loaded file is called."""
    return f"sojourn_loaded_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"


def _define(sort: Sort, name: str, cls: C) -> C:
    if not isinstance(cls, type):
        raise AlgorithmError(f"@sojourn.{sort}({name!r}): expected a class")
    for method in REQUIRED[sort]:
        if not callable(getattr(cls, method, None)):
            raise AlgorithmError(f"{sort} {name!r}: the class {cls.__name__} needs a method `{method}`")
    _refuse_slips(sort, name, cls)
    file = _file(cls)
    known = _defined.get((sort, name))
    if known and known[0] != file:
        raise AlgorithmError(f"{sort} {name!r} is already defined in {known[0] or 'the running program'}")
    summary = (inspect.getdoc(cls) or f"{cls.__name__}, without description.").splitlines()[0]
    define = _core.define_controller if sort == "controller" else _core.define_qdisc
    define(name, cls, _code_file(cls, REQUIRED[sort][0]), summary, _words(f"{sort} {name!r}", cls))
    _defined[sort, name] = (file, _digest(cls))
    return cls


def _refuse_slips(sort: Sort, name: str, cls: type) -> None:
    """A method that nobody would call is a slip: `on_acks`, or a queue's in a controller."""
    known = METHODS[sort]
    for attribute in dir(cls):
        if attribute.startswith("on_") and attribute not in known:
            near = get_close_matches(attribute, known, n=1)
            hint = f" (did you mean `{near[0]}`?)" if near else ""
            raise AlgorithmError(f"{sort} {name!r}: nothing calls `{attribute}`{hint}; methods: {', '.join(known)}")


def _words(what: str, cls: type) -> list[tuple[str, str, str, str]]:
    """Name, kind, default and description of every argument of the constructor."""
    signature = inspect.signature(cls)
    try:
        hints = get_type_hints(cls.__init__, include_extras=True)  # type: ignore[misc]
    except NameError as error:
        raise AlgorithmError(f"{what}: {error}") from None
    words = []
    for word in signature.parameters.values():
        if word.kind not in (word.POSITIONAL_OR_KEYWORD, word.KEYWORD_ONLY) or word.default is word.empty:
            raise AlgorithmError(f"{what}: the argument `{word.name}` of __init__ needs a default")
        kind = KINDS.get(hints.get(word.name, type(word.default)))
        if kind is None:
            allowed = "bool, int, float, str, sojourn.Seconds, sojourn.BitsPerSecond or sojourn.Bytes"
            raise AlgorithmError(f"{what}: the argument `{word.name}` of __init__: expected {allowed}")
        described = re.search(rf"^\s*{word.name}: (.+)$", f"{cls.__doc__}\n{cls.__init__.__doc__}", re.MULTILINE)  # type: ignore[misc]
        doc = described[1].strip() if described else "No description."
        words.append((word.name, kind, _written(word.name, kind, word.default), doc))
    return words


def _written(name: str, kind: str, default: object) -> str:
    """A default as a scenario would write it."""
    match kind, default:
        case "flag", _:
            return name if default else f"no{name}"
        case "time", int() | float():
            return f"{default * 1e3:g}ms"
        case "rate", int() | float():
            return f"{default / 1e6:g}Mbit"
        case "size", _:
            return f"{default}b"
    return str(default)


def _file(cls: type) -> str | None:
    """The file that defines a class; none in a notebook or at a prompt."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return str(Path(file).resolve()) if file else None


def _code_file(cls: type, method: str) -> str:
    """The file as Python's tracebacks name it."""
    code = getattr(inspect.unwrap(getattr(cls, method)), "__code__", None)
    return code.co_filename if code else _file(cls) or cls.__module__


def _digest(cls: type) -> str:
    """Of the sources of a class and its bases: whole files, or the class where there is no file."""
    sources = []
    for part in cls.__mro__:
        if part.__module__ in sys.stdlib_module_names:
            continue
        file = _file(part)
        try:
            source = Path(file).read_text(encoding="utf-8") if file else inspect.getsource(part)
        except (OSError, TypeError, UnicodeDecodeError):
            source = uuid.uuid4().hex  # unknown: never the same as an earlier one
        sources.append(source)
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()


def _where(shown: str, path: Path, error: Exception) -> str:
    """The line of the file at which loading it failed, and Python's last line."""
    what = " ".join("".join(traceback.format_exception_only(error)).split())
    if isinstance(error, SyntaxError):
        return f"{shown}:{error.lineno}: SyntaxError: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{shown}:{lines[-1]}: {what}" if lines else f"{shown}: {what}"
