"""The verb `middlebox`: packets of real hosts through the queues of a scenario, between two devices."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from sojourn import _core
from sojourn.cli.common import FAILED, OK, Json, Set, UsageError, one_run, overrides, print_json, say
from sojourn.cli.screen import ABSENT, Screen, figure

#: Seconds between looks at signals.
LOOK_S = 0.2
HEADING = ("queue", "Mbit/s", "p50 ms", "p99 ms", "sent", "marked", "dropped", "backlog", "use")


def middlebox(
    *,
    left: str,
    right: str,
    down: str | None = None,
    up: str | None = None,
    delay: str | None = None,
    down_ingress: Annotated[list[str] | None, Parameter(name=["--down-ingress"])] = None,
    up_ingress: Annotated[list[str] | None, Parameter(name=["--up-ingress"])] = None,
    scenario: str | None = None,
    set_: Set = None,
    seed: int | None = None,
    duration: str | None = None,
    interval: str = "1s",
    max_lateness: str = "1ms",
    capture: Path | None = None,
    snaplen: int | None = None,
    control: Path | None = None,
    super_packets: bool = False,
    keep_awake: bool = False,
    as_json: Json = False,
) -> int:
    """Forward between two network interfaces in real time, through any queue that `sojourn qdisc` lists.

    IP packets pass the queues; ARP, neighbour discovery and other protocols go straight through. Neither interface
    needs an address. It needs CAP_NET_RAW, such as root's, to open them, and gives up all rights then.
    It ends with Ctrl-C, SIGTERM or `--duration`.

    Examples: `sojourn middlebox --left eth1 --right eth2 --down "htb rate 50mbit; dualpi2" --up "htb rate 5mbit;
    fq_codel" --delay 20ms`, `sojourn middlebox --left eth1 --right eth2 --scenario scenarios/one-prague.toml`

    Args:
        left: Interface towards the clients, or `tun:NAME`, a TUN device to make.
        right: Interface towards the servers, or `tun:NAME`.
        down: Queue from right to left: "QDISC" or "SHAPER; QDISC", where "rate RATE" is a plain wire.
        up: Queue from left to right, likewise.
        delay: Propagation delay, added in each direction.
        down_ingress: Element before the queue from right to left, such as "netem loss 1%"; repeatable.
        up_ingress: Element before the queue from left to right; repeatable.
        scenario: Scenario file or run id whose links and schedule are taken instead; forward is from right to left.
        set_: Change a value of the scenario; repeatable.
        seed: Seed of all random streams.
        duration: Length, such as 60s; default until it is ended.
        interval: Time between readings.
        max_lateness: Lateness of departures at the 99th percentile above which the verdict is "late".
        capture: Capture file (pcapng) of what the queues get, send and drop, with their state as comments.
        snaplen: Bytes of a packet that it keeps; default 128.
        control: Socket for `sojourn middlebox ctl`; default sojourn-LEFT-RIGHT.sock in $XDG_RUNTIME_DIR or /run.
        super_packets: Let hosts' super-packets of up to 64 kB pass whole; a queue counts one as a packet as long as
            all its segments. Otherwise they are cut before the queue.
        keep_awake: Let idle CPUs poll instead of halting: packets pass sooner, and all CPU time is used.
        as_json: Print one line of JSON an interval, and one of the whole run at its end.
    """
    if not hasattr(_core, "Middlebox"):
        raise UsageError("middlebox: expected Linux")
    if set_ and not scenario:
        raise UsageError("--set: expected --scenario and its file, too")
    socket = control or _socket(left, right)
    settings = {
        "left": left,
        "right": right,
        "down": {"queue": down, "ingress": down_ingress or []},
        "up": {"queue": up, "ingress": up_ingress or []},
        "delay": delay,
        "scenario": (scenario, one_run(scenario, overrides(set_)).text) if scenario else None,
        "seed": seed,
        "duration": duration,
        "interval": interval,
        "max_lateness": max_lateness,
        "capture": str(capture) if capture else None,
        "snaplen": snaplen,
        "control": str(socket) if socket else None,
        "super_packets": super_packets,
        "keep_awake": keep_awake,
    }
    with _asked_to_end() as asked:
        box = _core.Middlebox(json.dumps(settings))
        _announce(box, socket)
        _follow(box, asked, as_json=as_json)
        try:
            text = box.finish()
        except OSError as error:  # an interface was removed, say
            say(str(error))
            return FAILED
    if as_json:
        print(text)
        return OK
    _summary(json.loads(text))
    return OK


def ctl(
    socket: Path,
    verb: Literal["stats", "change", "replace", "rate", "delay"],
    direction: Literal["down", "up"] | None = None,
    value: str | None = None,
    /,
    *,
    link: str | None = None,
    as_json: Json = False,
) -> int:
    """Ask a running middlebox for its counters, or change a queue while packets pass.

    `change` keeps the packets and state of the queue, as `tc qdisc change`; `replace` discards them.

    Examples: `sojourn middlebox ctl /run/sojourn-eth1-eth2.sock stats`,
    `sojourn middlebox ctl /run/sojourn-eth1-eth2.sock change down "dualpi2 target 5ms"`

    Args:
        socket: Socket of the middlebox.
        verb: What to do.
        direction: Direction to change.
        value: Queue with its parameters, rate or delay.
        link: Link of a scenario that has several; default the first.
        as_json: Print the answer as JSON.
    """
    request: dict[str, str] = {"request": verb}
    if verb != "stats":
        if direction is None or value is None:
            raise UsageError(f"ctl {verb}: expected a direction and a value, such as: {verb} down {_EXAMPLES[verb]}")
        key = verb if verb in ("rate", "delay") else "qdisc"
        request |= {"direction": direction, key: value} | ({"link": link} if link else {})
    elif direction is not None:
        raise UsageError(f"ctl stats: expected nothing after it, got {direction}")
    try:
        answer = json.loads(_core.middlebox_request(socket, json.dumps(request)))
    except OSError as error:
        raise UsageError(f"{socket}: no middlebox answers there: {error}") from None
    if "error" in answer:
        raise UsageError(f"{socket}: {answer['error']}")
    if as_json:
        print_json(answer["ok"])
    elif verb == "stats":
        _table(Screen(), answer["ok"])
    return OK


_EXAMPLES = {"change": '"dualpi2 target 5ms"', "replace": "fq_codel", "rate": "20mbit", "delay": "10ms"}


def _socket(left: str, right: str) -> Path | None:
    """The socket's name unless another is stated; None without a folder that only this user can write to."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or ("/run" if os.geteuid() == 0 else None)
    name = f"sojourn-{left}-{right}.sock".replace(":", "-").replace("/", "-")
    return Path(folder) / name if folder else None


@contextmanager
def _asked_to_end() -> Iterator[list[int]]:
    """The signals that ask for the end, as they come: none interrupts a line that is being printed.

    A second one is the system's, which asks nobody.
    """
    asked: list[int] = []

    def note(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        asked.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    taken = [number for number, action in before.items() if action is not signal.SIG_IGN]
    try:
        for number in taken:
            signal.signal(number, note)
        yield asked
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _announce(box: _core.Middlebox, control: Path | None) -> None:
    for line in box.warnings:
        say(line)
    for what in box.refused:
        say(f"not granted: {what}")
    if control:
        say(f"control: sojourn middlebox ctl {control} stats")
    else:
        say("control: no $XDG_RUNTIME_DIR for its socket; --control PATH names one")


def _follow(box: _core.Middlebox, asked: list[int], *, as_json: bool) -> None:
    """Shows readings until it is over."""
    screen, drawn = Screen(), 0
    while not (asked or box.is_over):
        text = box.next(LOOK_S)
        if text is None:
            continue
        if as_json:
            print(text, flush=True)
        elif screen.is_terminal:
            reading = json.loads(text)
            if drawn:
                sys.stdout.write(f"\x1b[{drawn}F\x1b[J")
            drawn = _table(screen, reading)
            screen.line("Ctrl-C ends it")
            drawn += 1
            sys.stdout.flush()


def _table(screen: Screen, reading: dict[str, Any]) -> int:
    """Prints queues and devices; gives the number of lines."""
    late = " (late)" if reading["is_late"] else ""
    screen.line(f"{reading['t_s']:.0f} s{late}", "bold")
    rows = [_queue(queue) for queue in reading["queues"]]
    screen.table(HEADING, rows, texts={0}, optional=(8, 4))
    sides = [_side(side) for side in reading["sides"]]
    heading = ("device", "received", "past", "lost", "late p50 us", "late p99 us")
    screen.table(heading, sides, texts={0})
    return 1 + 2 + len(rows) + 2 + len(sides)


def _queue(queue: dict[str, Any]) -> tuple[str, ...]:
    sojourn = queue["sojourn_ms"] or {}
    use = queue["utilisation"]
    return (
        f"{queue['name']}: {_names(queue['qdisc'])}",
        figure(queue["rate_mbps"]),
        figure(sojourn.get("p50")),
        figure(sojourn.get("p99")),
        str(queue["sent_packets"]),
        str(queue["marked"]),
        str(queue["dropped"]),
        str(queue["backlog_packets"]),
        ABSENT if use is None else f"{100 * use:.0f}%",
    )


def _names(qdisc: str) -> str:
    """Shaper and queue without their parameters."""
    return "+".join(part.split()[0] for part in qdisc.split(";"))


def _side(side: dict[str, Any]) -> tuple[str, ...]:
    frames = side.get("frames") or {}
    past = sum(frames.get(name, 0) for name in ("arp", "discovery", "other_protocols"))
    malformed = sum(side["received"].get(name, 0) for name in ("not_ip", "short", "malformed_ip"))
    lost = side["refused"] + malformed + frames.get("unreadable", 0) + frames.get("overflowed", 0)
    late = side["lateness_ms"] or {}
    microseconds = [figure(late[name] * 1e3) if late else ABSENT for name in ("p50", "p99")]
    return (side["device"], str(sum(side["received"].values())), str(past), str(lost), *microseconds)


def _summary(reading: dict[str, Any]) -> None:
    """Prints the whole run."""
    screen, end = Screen(), reading["end"]
    _table(screen, reading)
    for queue in reading["queues"]:
        for what in ("drops", "marks"):
            if queue[what]:
                counts = ", ".join(f"{n} {reason}" for reason, n in queue[what].items())
                screen.line(f"{queue['name']} {what}: {counts}")
    if whole := sum(side["super_packets"] for side in reading["sides"]):
        screen.line(f"{whole} super-packets of several segments each, which the queues counted as one packet each")
    bound = figure(end["max_lateness_ms"])
    meaning = "delays are those of the queues" if end["verdict"] == "on time" else "delays are of this machine, too"
    screen.line(f"{end['verdict']}: {meaning} (99th percentile of the lateness against {bound} ms)")


app = App(name="middlebox")
app.default(middlebox)
app.command(ctl, name="ctl")
