"""Writes the man pages of the command from its signatures; with `--check` says which are not as they would be written.

The wheel installs what stands below `wheel/data` into the environment, so that `man sojourn-run` finds it there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docstring_parser import parse

from sojourn.cli import app
from sojourn.cli.common import FAILED, INTERRUPTED, MISUSE, OK, SOME_FAILED

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

PAGES = Path(__file__).resolve().parents[1] / "wheel/data/share/man/man1"

EXITS = {
    OK: "Good.",
    FAILED: "The run failed, or there was nothing to compare.",
    MISUSE: "Misuse or bad input; nothing was written.",
    SOME_FAILED: "Some of several runs failed.",
    4: "A published number was missed without an explanation (fidelity).",
    INTERRUPTED: "Interrupted; the runs that were under way are kept as partial.",
}


def pages() -> dict[str, str]:
    """Names of the files, and what they hold."""
    found = dict(_pages(app, ["sojourn"]))
    return {f"{name}.1": text for name, text in found.items()}


def _pages(command: App, path: list[str]) -> Iterator[tuple[str, str]]:
    below = {name: command[name] for name in command if not name.startswith("-")}
    yield "-".join(path), page(command, path, below)
    for name, verb in below.items():
        yield from _pages(verb, [*path, name])


def page(command: App, path: list[str], below: dict[str, App]) -> str:
    """One page in the macros of man(7)."""
    name, said = "-".join(path), parse(str(command.help or ""))
    summary = " ".join((said.short_description or "").split()).rstrip(".")
    paragraphs = [" ".join(part.split()) for part in (said.long_description or "").split("\n\n")]
    examples = [part for part in paragraphs if re.match("Examples?:", part)]
    arguments = list(command.assemble_argument_collection(parse_docstring=True)) if command.default_command else []
    lines = [
        f'.TH {name.upper()} 1 "" Sojourn "Sojourn manual"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(summary)}",
        ".SH SYNOPSIS",
        f".B {roff(' '.join(path))}",
        roff(" ".join(_synopsis(arguments, below))),
        ".SH DESCRIPTION",
        roff(f"{summary}."),
        *(line for text in paragraphs if text and text not in examples for line in (".PP", roff(text))),
    ]
    if arguments:
        lines += [".SH OPTIONS", *(line for argument in arguments for line in _option(argument))]
    if below:
        lines += [".SH COMMANDS"]
        for verb, sub in below.items():
            about = " ".join((parse(str(sub.help or "")).short_description or "").split())
            lines += [".TP", f".BR {roff('-'.join([*path, verb]))} (1)", roff(about)]
    if path == ["sojourn"]:
        lines += [".SH EXIT STATUS"]
        for status, text in EXITS.items():
            lines += [".TP", f".B {status}", roff(text)]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *map(roff, re.findall("`(.+?)`", " ".join(examples))), ".fi"]
    if path != ["sojourn"]:
        lines += [".SH SEE ALSO", f".BR {roff('-'.join(path[:-1]))} (1)"]
    return "\n".join(lines) + "\n"


def _synopsis(arguments: list[Argument], below: dict[str, App]) -> Iterator[str]:
    if any(name.startswith("-") for argument in arguments for name in argument.names):
        yield "[OPTIONS]"
    for argument in arguments:
        if not argument.names[0].startswith("-"):
            text = argument.names[0] + ("..." if argument.is_var_positional() else "")
            yield text if argument.required else f"[{text}]"
    if below:
        yield "[COMMAND]" if arguments else "COMMAND"


def _option(argument: Argument) -> list[str]:
    names = [name for name in argument.names if name not in argument.negatives]
    value = "" if argument.is_flag() or not names[0].startswith("-") else f" \\fI{_kind(argument)}\\fR"
    bold = ", ".join(f"\\fB{roff(name)}\\fR" for name in names)
    return [".TP", f"{bold}{value}", roff(" ".join(str(argument.parameter.help or "").split()))]


def _kind(argument: Argument) -> str:
    """Its choices, or what it is."""
    if choices := argument.get_choices():
        return roff("|".join(choices))
    return "NUMBER" if re.search(r"\b(int|float)\b", str(argument.hint)) else "VALUE"


def roff(text: str) -> str:
    """The text without what roff would take for its own."""
    escaped = text.replace("`", "").replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def stale() -> list[str]:
    """Pages that are missing, differ or belong to no command."""
    wanted, there = pages(), {file.name: file.read_text(encoding="utf-8") for file in PAGES.glob("*.1")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main() -> int:
    """Writes, or checks."""
    if "--check" in sys.argv:
        names = stale()
        print("\n".join(f"{PAGES / name}: not as tests/man.py writes it" for name in names) or "man pages: as written")
        return int(bool(names))
    PAGES.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for file in PAGES.glob("*.1"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
