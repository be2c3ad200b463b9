"""The verb `serve`: the lab's page on this machine."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn.cli.common import OK, AtLeastOne, Json, UsageError, say
from sojourn.execution import RESULTS
from sojourn.planning import is_file
from sojourn.serve.pages import is_there
from sojourn.serve.setup import Setup, page_folder

#: Where the page's jobs leave their results.
LAB = RESULTS / "lab"


def serve(
    target: Annotated[str | None, Parameter(name="RESULTS|SCENARIO")] = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: Annotated[int | None, Parameter(validator=Number(gte=0, lte=65535))] = None,
    open_: Annotated[bool | None, Parameter(name="--open", negative="--no-open")] = None,
    jobs: Annotated[int | None, AtLeastOne] = None,
    page: Path | None = None,
    as_json: Json = False,
) -> int:
    """Serve the lab, a page in the browser, with this machine's engines and your results, until Ctrl-C.

    The page runs scenarios on the native simulator, and on the engines linux and live where they can run; it shows
    results and reports. What it runs is stored below results/lab in the current folder, for every other verb. The
    address that is printed has a token, which the page needs: whoever has it may do what you may do with the page.
    Scenarios of the page read no file outside of the current folder and run no programs (`exec`).

    Examples: `sojourn serve`, `sojourn serve results/demo`, `sojourn serve my.toml --port 8080`

    Args:
        target: Results folder to show, default results; or scenario file in the current folder to begin with.
        host: Address to listen on; any other than the default lets other machines reach it.
        port: Port to listen on; default 7469, or a free one where that is taken; 0 for a free one.
        open_: Open the page in the browser; default where there is a display and a terminal.
        jobs: Runs at a time; default one a core.
        page: Folder of the page, such as web/dist of the sources; default the one that came with the package.
        as_json: Print address, token and folder as one line of JSON.
    """
    made = _setup(target, jobs, page)
    if not is_there(made.page):
        raise UsageError(f"serve: the page is not in {made.page}: `make web` in the sources makes it, wheels have it")
    try:
        from sojourn.serve.server import Server
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError(f"serve: needs {error.name}: pip install 'sojourn[serve]'") from None
    server = Server(made, host, port)

    def ready() -> None:
        if not as_json:
            say(f"results of the page's runs go to {LAB}; Ctrl-C ends it")
        if not server.address.is_loopback:
            say(f"warning: --host {host}: other machines reach it, and the token crosses the network unencrypted")
        # The address comes last: whoever reads it may take everything else as said.
        if as_json:
            about = {"url": server.url, "token": server.token, "folder": str(made.folder)}
            print(json.dumps({"schema": "sojourn/serve/1", **about}), flush=True)
        else:
            print(server.url, flush=True)
        if open_ or (open_ is None and not as_json and _has_display()):
            webbrowser.open(server.url)

    if cancelled := server.run(ready):
        say(f"{cancelled} job{'s' if cancelled > 1 else ''} cancelled")
    return OK


def _setup(target: str | None, jobs: int | None, page: Path | None) -> Setup:
    folder = Path.cwd().resolve()
    out, results, scenario = folder / LAB, folder / RESULTS, None
    if target and is_file(target):
        scenario = Path(target).resolve()
        if not scenario.is_file():
            raise UsageError(f"{target}: no such file; expected a scenario file or a folder of results")
        if not scenario.is_relative_to(folder):
            raise UsageError(f"{target}: expected a scenario in this folder, whose files alone the page may read")
    elif target:
        results = Path(target).resolve()
        if not results.is_dir():
            raise UsageError(f"{target}: no such folder; expected results, or a scenario file (NAME.toml)")
    return Setup(folder, results, out, scenario, page or page_folder(), jobs or os.cpu_count() or 1)


def _has_display() -> bool:
    """Whether a browser would be seen, and somebody is there to see it."""
    there = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(there) and sys.stdout.isatty()
