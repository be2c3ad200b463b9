"""Text from files and arguments on its way to a terminal, a script or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: Characters of a message, and of one word in it, that are shown; of a longer one the middle is left out.
LONGEST_MESSAGE, LONGEST_WORD = 1200, 120


def harmless(value: Any) -> Any:
    r"""Text in one line without control characters: `\x1b` in letters for the character; of lists and tables each part.

    What else cannot be printed goes the same way: it can turn the direction of a line, or is no character at all.
    """
    match value:
        case str():
            return value if value.isprintable() else "".join(map(_printable, value))
        case dict():
            return {harmless(key): harmless(part) for key, part in value.items()}
        case list():
            return [harmless(part) for part in value]
    return value


def harmless_lines(text: str) -> str:
    """The same for a text of many lines, which stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(harmless(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def parsed(text: str, parse: Callable[[str], Any]) -> Any:
    """What a parser of JSON or TOML makes of a text, harmless.

    Where all of the text can be printed, and no backslash makes a character of others, so can its parts.
    """
    document = parse(text)
    return document if "\\" not in text and text.replace("\n", "").isprintable() else harmless(document)


def in_one_line(error: BaseException) -> str:
    """What an error says, or else its name."""
    return shortened(harmless(" ".join(str(error).split()))) or type(error).__name__


def shortened(message: str) -> str:
    """A message without the middle of what is too long to be read."""
    words = (_without_middle(word, LONGEST_WORD) for word in message.split(" "))
    return _without_middle(" ".join(words), LONGEST_MESSAGE)


def _printable(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _without_middle(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[: longest * 2 // 3]}...{text[-longest // 3 :]}"
