"""The verbs of the command line: where each is, and the line that the page about all of them has of it."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """A verb, not loaded."""

    #: Module of this package and name in it; loaded when the verb is wanted.
    place: str
    #: The first line of its own page.
    about: str


VERBS = {
    "run": Verb(
        "runs:run",
        "Run suites, scenario files with all runs of their sweeps, or the runs whose id matches a regular expression.",
    ),
    "list": Verb(
        "runs:list_",
        "List the runs of all suites, of one, of a scenario file, or those whose id matches a regular expression.",
    ),
    "show": Verb(
        "runs:show",
        "Print a scenario with every default written out; of a finished run its table, of several a line each.",
    ),
    "clean": Verb("runs:clean", "Remove unfinished runs below a results folder, or with --all every run in it."),
    "qdisc": Verb("words:qdisc", "List the queue disciplines, or print the parameters that one of them takes."),
    "cc": Verb("words:cc", "List the congestion controllers, or print the parameters that one of them takes."),
    "app": Verb(
        "words:app_", "List the applications that a flow can carry, or print the parameters that one of them takes."
    ),
    "schema": Verb("words:schema", "Print the JSON Schema of the scenario file, for editors."),
    "query": Verb(
        "query:query", "Ask results a question in SQL: SELECT over the tables runs, flows, queues and series."
    ),
    "compare": Verb(
        "comparisons:compare",
        "Lay results over measured data or over other results, run by run; or one engine over others.",
    ),
    "report": Verb(
        "comparisons:report",
        "Write results as one self-contained HTML file, Markdown or JSON, over measured data where there are any.",
    ),
    "fidelity": Verb("comparisons:fidelity", "Print published and measured quantities beside ours, with verdicts."),
    "pcap": Verb(
        "captures:pcap",
        "Say what the congestion signals did in a capture: for each flow codepoints, marks, feedback, RTT, losses.",
    ),
    "tc": Verb(
        "tools:tc", "Print the `ip` and `tc` commands that build a scenario on a Linux machine, as a shell script."
    ),
    "doctor": Verb(
        "doctor:doctor",
        "Examine what makes results of a testbed wrong: what was found, what it does to results, how to fix it.",
    ),
    "crosscheck": Verb(
        "crosscheck:crosscheck",
        "Run random scenarios on the simulator and on a real kernel (engine `linux`), and list what differs.",
    ),
    "search": Verb(
        "search:search",
        "Find the values of a scenario's parameters that make a quantity of its runs least or greatest.",
    ),
    "worst": Verb(
        "worst:worst",
        "Find the scenarios in which a controller or a queue does worst, and the simplest form of the worst one.",
    ),
    "plot": Verb(
        "plots:app",
        "Draw runs, simulated or Flent files, in one figure, or each in its own, and print the names of the pictures.",
    ),
    "import": Verb("tools:importers", "Read what other tools wrote: results, scripts."),
    "export": Verb("tools:exporters", "Write runs in the formats of other tools."),
    "kernel": Verb("tools:kernel", "The Linux kernel of the engine `linux`: make one, show what it has."),
    "middlebox": Verb(
        "middlebox:app",
        "Forward between two network interfaces in real time, through any queue that `sojourn qdisc` lists.",
    ),
    "serve": Verb(
        "serve:serve",
        "Serve the lab, a page in the browser, with this machine's engines and your results, until Ctrl-C.",
    ),
}
