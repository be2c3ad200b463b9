"""The `sojourn` command. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from sojourn import _core
from sojourn.cli import captures, comparisons, middlebox, plots, runs, studies, tools, words
from sojourn.cli import crosscheck as crosschecks
from sojourn.cli import doctor as doctors
from sojourn.cli.common import INTERRUPTED, MISUSE, OK, UsageError, say

__all__ = ["MISUSE", "OK", "call", "main"]

app = App(
    name="sojourn",
    help="A deterministic packet-level laboratory for L4S, SCE and SCReAM congestion control.",
    version=_core.version,
    default_parameter=Parameter(negative=(), show_default=lambda value: value or None),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
VERBS: dict[str, Callable[..., int]] = {
    "run": runs.run,
    "list": runs.list_,
    "show": runs.show,
    "clean": runs.clean,
    "qdisc": words.qdisc,
    "cc": words.cc,
    "app": words.app_,
    "schema": words.schema,
    "compare": comparisons.compare,
    "report": comparisons.report,
    "fidelity": comparisons.fidelity,
    "pcap": captures.pcap,
    "tc": tools.tc,
    "doctor": doctors.doctor,
    "crosscheck": crosschecks.crosscheck,
}
for name, verb in VERBS.items():
    app.command(verb, name=name)

app.command(plot := App(name="plot"))
plot.default(plots.plot)
plot.command(plots.thp_delay, name="thp-delay")
plot.command(plots.cdf, name="cdf")
plot.command(plots.txrx, name="txrx")
plot.command(studies.heat, name="heat")
plot.command(studies.lines, name="lines")
plot.command(studies.pareto, name="pareto")

app.command(importers := App(name="import", help="Read what other tools wrote: results, scripts."))
importers.command(tools.import_flent, name="flent")
importers.command(tools.import_tc, name="tc")
importers.command(tools.import_delay, name="delay")
app.command(exporters := App(name="export", help="Write runs in the formats of other tools."))
exporters.command(tools.export_flent, name="flent")
exporters.command(tools.export_csv, name="csv")
exporters.command(tools.export_qlog, name="qlog")
app.command(kernel := App(name="kernel", help="The Linux kernel of the engine `linux`: make one, show what it has."))
kernel.command(tools.kernel_build, name="build")
kernel.command(tools.kernel_show, name="show")
app.command(box := App(name="middlebox"))
box.default(middlebox.middlebox)
box.command(middlebox.ctl, name="ctl")


@app.command(name="--install-completion")
def install_completion(shell: Literal["bash", "zsh", "fish"] | None = None, /) -> int:
    """Let the shell complete verbs, options and files, from its next start on.

    Example: `sojourn --install-completion`

    Args:
        shell: Shell to install for; default the one that this runs in.
    """
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


def call(arguments: Sequence[str] | None = None) -> int:
    """The whole command as a function: arguments to exit code."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
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
