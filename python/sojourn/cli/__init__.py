"""The `sojourn` command. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from sojourn import _core
from sojourn.cli.common import INTERRUPTED, MISUSE, OK, UsageError, say
from sojourn.cli.verbs import VERBS

__all__ = ["MISUSE", "OK", "VERBS", "app", "call", "main"]


def install_completion(shell: Literal["bash", "zsh", "fish"] | None = None, /) -> int:
    """Let the shell complete verbs, options and files, from its next start on.

    Example: `sojourn --install-completion`

    Args:
        shell: Shell to install for; default the one that this runs in.
    """
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    try:
        chosen = shell or detect_shell()
    except ShellDetectionError:
        raise UsageError("--install-completion: expected one of bash, zsh, fish; the shell did not tell") from None
    file = app.install_completion(shell=chosen)
    if chosen == "bash":  # what a verb's arguments name are mostly files
        script = file.read_text(encoding="utf-8")
        file.write_text(script.replace("complete -F", "complete -o default -F"), encoding="utf-8")
    print(file)
    return OK


def _app(*, is_overview: bool = False) -> App:
    """The command with its verbs; as an overview with a line of each, for which none is loaded."""
    made = App(
        name="sojourn",
        help="A deterministic packet-level laboratory for L4S, SCE and SCReAM congestion control.",
        version=_core.version,
        default_parameter=Parameter(negative=(), show_default=lambda value: value or None),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for name, verb in VERBS.items():
        made.command(f"sojourn.cli.{verb.place}", name=name, help=verb.about if is_overview else None)
    made.command(install_completion, name="--install-completion")
    return made


app = _app()


def call(arguments: Sequence[str] | None = None) -> int:
    """The whole command as a function: arguments to exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    chosen = _app(is_overview=True) if {*words} <= {"--help", "-h"} else app
    # A slip, or a page about all verbs after all, takes a line from each.
    if chosen is app and words[0] not in VERBS:
        for name in VERBS:
            chosen[name]
    try:
        code = chosen(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except SystemExit:
        return OK  # rich's way to say that the reader has seen enough; nothing here exits by itself
    except BrokenPipeError:
        # The reader has seen enough. Python would report an error once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CycloptsError, UsageError, ValueError, OSError) as error:
        if not _is_the_users(error):
            raise
        say(" ".join(_text(error).split()))
        return MISUSE


def main() -> None:
    """Entry point of the console script."""
    if not sys.warnoptions:  # what libraries warn of is ours to fix; PYTHONWARNINGS=default shows it
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        signal.signal(signal.SIGINT, _interrupt)
    sys.exit(call())


def _interrupt(_number: int, _frame: object) -> None:
    """The first interrupt lets runs write what they have; the next one is the system's, which asks nobody."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt


def _text(error: Exception) -> str:
    """What it says; of the system's errors the file and the reason, without the number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _is_the_users(error: Exception) -> bool:
    """Our typed readers' errors derive from ValueError; a bare one is a defect and keeps its trace."""
    ours = type(error).__module__.startswith("sojourn.")
    return ours or isinstance(error, CycloptsError | OSError | _core.ScenarioError)
