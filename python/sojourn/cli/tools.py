"""Verbs for other tools: Flent's files, the commands of Linux, a Linux kernel to run on."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill
from typing import Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from sojourn import _core
from sojourn.algorithms import load_algorithms
from sojourn.cli.common import (
    OK,
    AtLeastOne,
    Json,
    Load,
    Output,
    Set,
    UsageError,
    one_run,
    overrides,
    print_json,
    say,
    written,
)
from sojourn.files import write_whole


def import_flent(
    file: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("results/flent"),
    as_json: Json = False,
) -> int:
    """Import a Flent result file as a run.

    Example: `sojourn import flent tcp_2up.flent.gz --out results/testbed`

    Args:
        file: File that Flent wrote.
        out: Results folder.
        as_json: Print one JSON document.
    """
    from sojourn.interop.flent import import_file

    return written(import_file(file, out), as_json=as_json)


def import_delay(
    file: Path,
    /,
    *,
    series: str | None = None,
    interval: Annotated[float | None, Parameter(validator=Number(gte=1e-3, lte=3600))] = None,
    jitter: bool = False,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Make a delay trace for `netem delay trace FILE` from the output of ping or a Flent file.

    Examples: `sojourn import delay ping.txt -o wifi.delay`,
    `sojourn import delay rrul.flent.gz --series ICMP --jitter -o rrul.delay`

    Args:
        file: What ping printed (best with -D), or a Flent file.
        series: Ping of a Flent file; default its first.
        interval: Seconds between ping's requests where its lines have no times; default 1.
        jitter: Take the least delay off all.
        output: Trace to write; default: print it.
        as_json: Print one JSON document.
    """
    from sojourn.interop.delay import read

    delays = read(file, series=series, interval_s=interval, jitter=jitter)
    if output:
        write_whole(output, delays.text())
    if as_json:
        document: dict[str, object] = {"path": str(output)} if output else {"trace": delays.text()}
        numbers = {"delays": int(delays.ms.size), "duration_s": float(delays.t_s[-1])}
        print_json({"schema": "sojourn/import-delay/1", **document, **numbers})
    else:
        print(output or delays.text(), end="\n" if output else "")
    return OK


def import_tc(
    script: Path,
    /,
    *,
    var: Annotated[list[str] | None, Parameter(name=["--var"])] = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Read a shell script of `tc` commands into a scenario file. The script is parsed and never run.

    Example: `sojourn import tc receiver.sh --var INTERFACE=eth0 -o mine.toml`

    Args:
        script: Script of a testbed.
        var: Value of a variable that the script takes from elsewhere, as `RATE=100mbit`; repeatable.
        output: Scenario file to write; default: print it.
        as_json: Print one JSON document.
    """
    from sojourn.interop.tc_script import read_file

    variables = {name: value for name, _, value in (each.partition("=") for each in var or ())}
    if wrong := next((each for each in var or () if "=" not in each), None):
        raise UsageError(f"--var {wrong}: expected NAME=VALUE, such as RATE=100mbit")
    read = read_file(script, variables)
    if output:
        write_whole(output, read.text)
    if as_json:
        document = {"path": str(output)} if output else {"scenario": read.text}
        print_json({"schema": "sojourn/import-tc/1", **document, "notes": list(read.notes)})
    else:
        print(output or read.text, end="\n" if output else "")
        for note in read.notes:
            say(f"{script}: {note}")
    return OK


def export_flent(
    run: Path,
    /,
    *,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Write a run, or every run of a results folder, as a Flent file that `flent` and `flent-gui` open.

    Example: `sojourn export flent results/latest -o flent/`

    Args:
        run: Folder of a run or of results.
        output: File for one run, or folder; default: beside the run's series.
        as_json: Print one JSON document.
    """
    from sojourn.interop.flent_export import export

    left_out: list[str] = []
    paths = [str(path) for path in export(run, output, left_out.append)]
    if as_json:
        print_json({"schema": "sojourn/export/1", "paths": paths, "left_out": left_out})
    else:
        print("\n".join(paths))
        for line in left_out:
            say(line)
    return OK


def export_csv(
    run: Path,
    /,
    *,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Write the series of a run, or a row for each run of a results folder, as comma-separated values.

    Examples: `sojourn export csv results/latest/my-run`, `sojourn export csv results/latest -o runs.csv`

    Args:
        run: Folder of a run or of results.
        output: File to write; default: series.csv beside the run's series, or runs.csv in the results folder.
        as_json: Print one JSON document.
    """
    from sojourn.interop.csv_export import export

    return written(export(run, output), as_json=as_json)


def export_qlog(
    run: Path,
    /,
    *,
    output: Output = None,
    qlog_version: Literal["current", "0.3"] = "current",
    as_json: Json = False,
) -> int:
    """Write what each flow's controller did as qlog: windows, RTT, pacing, states, and the algorithm's own variables.

    Examples: `sojourn export qlog results/latest`, `sojourn export qlog results/latest --qlog-version 0.3 -o qvis/`

    Args:
        run: Folder of a run or of results.
        output: Folder; default: `qlog` beside the run's series.
        qlog_version: `current` (JSON text sequences, .sqlog), or `0.3`, which qvis reads (.qlog).
        as_json: Print one JSON document.
    """
    from sojourn.interop.qlog import export

    paths = [str(path) for path in export(run, output, qlog_version)]
    if as_json:
        print_json({"schema": "sojourn/export/1", "paths": paths, "left_out": []})
    else:
        print("\n".join(paths))
    return OK


def tc(
    target: str,
    /,
    *,
    on: str | None = None,
    ingress: str | None = None,
    set_: Set = None,
    load: Load = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Print the `ip` and `tc` commands that build a scenario on a Linux machine, as a shell script.

    What a stock kernel cannot do of it is commented in the script and summed up on stderr.

    Examples: `sojourn tc scenarios/capacity-step.toml -o build.sh`,
    `sojourn tc --on eth0 --ingress ifb0 scenarios/one-prague.toml`

    Args:
        target: Run id or scenario file.
        on: Real interface to put the bottleneck on, instead of namespaces.
        ingress: ifb for what arrives at the interface: the bottleneck is there, its way back on the interface.
        set_: Change a value of the scenario; repeatable.
        load: Python file with controllers or queues of your own; repeatable.
        output: Script to write; default: print it.
        as_json: Print one JSON document.
    """
    if ingress and not on:
        raise UsageError(f"--ingress {ingress}: expected --on and the interface that it belongs to, too")
    load_algorithms(load or ())
    resolved = one_run(target, overrides(set_))
    script, commands, limits = _core.tc_script(resolved.text, on or None, ingress)
    if output:
        write_whole(output, script)
        if output.is_file():
            output.chmod(0o755)
    if as_json:
        rows = [{"at_s": at_s, "command": command} for at_s, command in commands]
        document = {"script": str(output) if output else script, "commands": rows, "limits": limits}
        print_json({"schema": "sojourn/tc/1", **document})
    elif output:
        print(output)
    else:
        print(script, end="")
    for limit in limits:
        say(f"{on or 'stock kernel'}: {limit}")
    return OK


def kernel_build(
    source: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("linux-vt"),
    jobs: Annotated[int | None, AtLeastOne] = None,
    as_json: Json = False,
) -> int:
    """Build a Linux kernel in virtual time from a source archive; set `SOJOURN_LINUX` to its folder.

    Example: `sojourn kernel build linux-7.2.tar.xz -o ~/linux-vt`

    Args:
        source: Archive of kernel sources.
        output: Folder for the kernel and its `run`.
        jobs: Compilations at a time; default one a core.
        as_json: Print one JSON document.
    """
    from sojourn.kernel_build import build

    return written(build(source, output, jobs=jobs, say=say), as_json=as_json)


def kernel_show(*, fresh: bool = False, as_json: Json = False) -> int:
    """Show what the kernel that `SOJOURN_LINUX` names has: controllers, disciplines, settings.

    It is asked once, and after a change of its files; after one of the host's `tc` only with `--fresh`.

    Example: `sojourn kernel show`

    Args:
        fresh: Ask again.
        as_json: Print one JSON document.
    """
    from sojourn.engines import linux

    found = json.loads(linux.capabilities(linux.find(), fresh=fresh).json)
    if as_json:
        print_json({"schema": "sojourn/kernel/1", **found})
        return OK
    print(f"Linux {found['release']}, {found['hz']} Hz, {'with' if found['accecn'] else 'without'} AccECN")
    controllers = [f"{name} {version}".rstrip() for name, version in found["controllers"].items()]
    lists = {"controllers": controllers, "actions": found["actions"], "settings": found["settings"]}
    lists["queues"] = [name for name, refused in found["qdiscs"].items() if not refused]
    for what, names in lists.items():
        print(fill(f"{what}: {', '.join(names)}", 100, subsequent_indent="  ", break_on_hyphens=False))
    for name, refused in found["qdiscs"].items():
        if refused:
            print(f"queue {name} without {', '.join(refused)}")
    return OK


importers = App(name="import", help="Read what other tools wrote: results, scripts.")
importers.command(import_flent, name="flent")
importers.command(import_tc, name="tc")
importers.command(import_delay, name="delay")
exporters = App(name="export", help="Write runs in the formats of other tools.")
exporters.command(export_flent, name="flent")
exporters.command(export_csv, name="csv")
exporters.command(export_qlog, name="qlog")
kernel = App(name="kernel", help="The Linux kernel of the engine `linux`: make one, show what it has.")
kernel.command(kernel_build, name="build")
kernel.command(kernel_show, name="show")
