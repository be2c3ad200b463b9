"""The plain commands of a shell script, read and never run: quotes, variables, comments, continued lines.

What a script decides while it runs (conditions, loops, output of other programs) is not known here: commands in such a
block are marked with its first word, and a variable without a known value stays as it is written, `$DEV`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

LONGEST = 1 << 20
OPENING = {"if": "fi", "for": "done", "while": "done", "until": "done", "case": "esac", "select": "done", "{": "}"}
CLOSING = frozenset(OPENING.values())
#: Words of the language before which and after which a command begins.
BETWEEN = frozenset(("then", "else", "elif", "do", "!", "time"))
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
NAMED = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
DEFAULTED = re.compile(r"([A-Za-z_]\w*|[0-9])(?::?[-=](.*))?", re.DOTALL)
REDIRECTION = re.compile(r"(<<<|<<-?|[<>]{1,2}[&|]?)[ \t]*(\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|<>()]*)")
WHICH = re.compile(r"\s*(?:which|command -v|type -p)\s+(\w+)\s*")


class ShellError(ValueError):
    """What cannot be read, and its line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Command:
    """One command, split as POSIX sh does: first line, words, and the block around it."""

    line: int
    words: tuple[str, ...]
    #: The word that opens the outermost block around it; empty outside of all.
    block: str = ""
    #: After `||`: done only if the command before it fails.
    is_fallback: bool = False


def commands(text: str, variables: Mapping[str, str]) -> Iterator[Command]:
    """The commands in order up to the `exit` that all runs reach; raises `ShellError`."""
    reader = _Reader(text, dict(variables))
    blocks: list[str] = []
    while (piece := reader.piece()) is not None:
        line, raw, is_fallback = piece
        try:
            words = shlex.split(raw)
        except ValueError as error:
            raise ShellError(line, f"expected a closing quote ({error})") from None
        while words:
            if words[0] in OPENING:
                blocks.append(words.pop(0))
                if blocks[-1] in ("for", "case", "select"):
                    words = []
            elif words[0] in CLOSING:
                if blocks:
                    blocks.pop()
                words.pop(0)
            elif words[0] in BETWEEN:
                words.pop(0)
            else:
                break
        if not words:
            continue
        if words[0] in ("export", "readonly", "local", "declare"):
            words = words[1:]
        while words and (assigned := ASSIGNMENT.fullmatch(words[0])):
            if len(words) == 1 and not blocks:
                reader.assign(*assigned.groups())
            words = words[1:]
        if words[:1] == ["exit"] and not blocks and not is_fallback:
            return
        if words:
            yield Command(line, tuple(words), blocks[0] if blocks else "", is_fallback)


@dataclass(slots=True)
class _Reader:
    """Cuts the text into commands, without comments and redirections and with variables in place."""

    text: str
    variables: dict[str, str]
    given: frozenset[str] = field(init=False)
    at: int = 0
    line: int = 1
    written: int = 0
    heredocs: list[str] = field(default_factory=list)
    is_fallback: bool = False

    def __post_init__(self) -> None:
        self.given = frozenset(self.variables)

    def assign(self, name: str, value: str) -> None:
        """Keeps what the script assigns, unless the caller has given a value, or it is not known."""
        if name in self.given:
            return
        if "$" in value or "`" in value:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def piece(self) -> tuple[int, str, bool] | None:
        """The next command's first line, its text for `shlex`, and whether it comes after `||`."""
        if self.at >= len(self.text):
            return None
        out: list[str] = []
        first, is_fallback, quote = 0, self.is_fallback, ""
        self.is_fallback = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if not quote and char in "\n;&|()":
                if self._end(char):
                    break
                continue
            if not quote and char == "#" and (not out or out[-1][-1:].isspace()):
                self._skip_to("\n")
                continue
            if not quote and char in "<>":
                self._redirection(out)
                continue
            if not char.isspace() and not first:
                first = self.line
            part = self._part(quote)
            if part in ("'", '"') and quote in ("", part):
                quote = "" if quote else part
            out.append(part)
            self.written += len(part)
            if self.written > LONGEST:
                raise ShellError(self.line, f"expected at most {LONGEST >> 20} Mb of commands with their variables")
        return first or self.line, "".join(out), is_fallback

    def _end(self, char: str) -> bool:
        """Passes what ends a command; false for a part of a redirection such as `2>&1`."""
        double = self.text[self.at : self.at + 2]
        if double == "&>":
            self.at += 1
            return False
        self.is_fallback = double == "||"
        self.at += 2 if double in ("&&", "||", ";;") else 1
        if char == "\n":
            self.line += 1
            for word in self.heredocs:
                self._heredoc(word)
            self.heredocs = []
        return True

    def _heredoc(self, word: str) -> None:
        while self.at < len(self.text):
            start = self.at
            self._skip_to("\n")
            body = self.text[start : self.at].strip()
            self.at += 1
            self.line += 1
            if body == word:
                return

    def _skip_to(self, end: str) -> None:
        found = self.text.find(end, self.at)
        self.at = len(self.text) if found < 0 else found

    def _redirection(self, out: list[str]) -> None:
        """Leaves out `2>/dev/null`, `>>log`, `<<EOF`, `2>&1`."""
        if out and out[-1].isdigit() and (len(out) < 2 or out[-2].isspace()):
            out.pop()
        matched = REDIRECTION.match(self.text, self.at)
        operator, target = matched.groups() if matched else ("", "")
        if operator in ("<<", "<<-"):
            self.heredocs.append(target.strip("'\"\\"))
        self.at = matched.end() if matched else self.at + 1

    def _part(self, quote: str) -> str:
        """The next character, or what takes its place."""
        char = self.text[self.at]
        self.at += 1
        if char == "\n":
            self.line += 1
        if char == "\\" and quote != "'":
            following = self.text[self.at : self.at + 1]
            self.at += 1
            if following == "\n":
                self.line += 1
                return ""
            return char + following
        if quote != "'" and char in "$`":
            return self._escaped(self._value(char), quote)
        return char

    @staticmethod
    def _escaped(value: str, quote: str) -> str:
        if quote:
            return re.sub(r'(["\\])', r"\\\1", value)
        return re.sub(r"([^\w\s])", r"\\\1", value)

    def _value(self, char: str) -> str:
        """What a `$` or a backtick, just passed, means; itself if that is not known."""
        if char == "`":
            return self._output(self._until("`"), "`")
        following = self.text[self.at : self.at + 1]
        if following == "(":
            self.at += 1
            return self._output(self._balanced(), "$(")
        if following == "{":
            self.at += 1
            inside = self._until("}")
            named = DEFAULTED.fullmatch(inside)
            if named is None:
                return f"${{{inside}}}"
            name, default = named.groups()
            value = self.variables.get(name, default)
            return f"${name}" if value is None else value
        named = NAMED.match(self.text, self.at)
        if named is None:
            return "$"
        self.at = named.end()
        return self.variables.get(named[0], f"${named[0]}")

    def _output(self, inside: str, opening: str) -> str:
        which = WHICH.fullmatch(inside)
        return which[1] if which else f"{opening}...)" if opening == "$(" else "`...`"

    def _until(self, end: str) -> str:
        start = self.at
        self._skip_to(end)
        self.line += self.text.count("\n", start, self.at)
        self.at += 1
        return self.text[start : self.at - 1]

    def _balanced(self) -> str:
        start, depth = self.at, 1
        while self.at < len(self.text) and depth:
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1
        self.line += self.text.count("\n", start, self.at)
        return self.text[start : self.at - 1]
