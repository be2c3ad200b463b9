"""Scripts of `tc` commands as scenarios: whose, in which layouts, and that no text at all does harm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sojourn import _core, suites
from sojourn.cli import call
from sojourn.interop.tc_layout import TcScriptError
from sojourn.interop.tc_script import read
from sojourn.planning import find
from sojourn.scenario import Resolved, Scenario, load

pytestmark = pytest.mark.engine
SIDES = ("forward", "reverse")
CONSTANT = re.compile(r"netem(?: limit \d+p?)? delay (\d[\d.]*[mun]?s)")
ROOT = Path(__file__).parent.parent

# In the form of the script in SCReAM's record of 2024-10-28.
RECEIVER = """\
# A link of 100 Mbit/s with L4S and 25 ms; $INTERFACE is the network card
sudo modprobe ifb numifbs=1
sudo ip link set dev ifb0 up

# What is left of last time
sudo tc qdisc del dev $INTERFACE root
sudo tc qdisc del dev ifb0 root
sudo tc qdisc del dev $INTERFACE handle ffff: ingress

sudo tc qdisc add dev $INTERFACE handle ffff: ingress
sudo tc filter add dev $INTERFACE parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0

sudo tc qdisc add dev $INTERFACE root netem delay 25ms
sudo tc qdisc add dev ifb0 root handle 1: htb default 10
sudo tc class add dev ifb0 parent 1: classid 1:1 htb rate 100mbit ceil 100mbit
sudo tc class add dev ifb0 parent 1:1 classid 1:10 htb rate 100mbit ceil 100mbit
sudo tc qdisc add dev ifb0 parent 1:10 dualpi2
"""


def imported(text: str, **variables: str) -> dict[str, Any]:
    document: dict[str, Any] = Scenario(read(text, "a.sh", variables).text).resolve().brief()
    return document


def link(text: str, **variables: str) -> dict[str, Any]:
    way: dict[str, Any] = imported(text, **variables)["link"][0]
    return way


def shipped() -> Iterator[Resolved]:
    """Every row of links of the package whose queues a kernel has, once."""
    runs = [run for path in sorted((ROOT / "scenarios").glob("*.toml")) for run in load(path).expand()]
    runs += [scenario.resolve() for suite in suites.NAMES for scenario in find(suite, None)]
    networks = {repr([run.document().get(key) for key in ("link", "schedule")]): run for run in runs}
    rows = [run for run in networks.values() if "from" not in run.brief()["link"][0]]
    for run in rows:
        _, _, limits = _core.tc_script(run.text)
        lacking = re.compile(r"link .*(no kernel|the shaper|left out `(delay|digest))")
        if not any(map(lacking.match, limits)):
            yield run


def canonical(document: dict[str, Any], names: list[str], sides: tuple[str, ...]) -> Any:
    """The queues of these links and sides as tc has them, their changes, and the constant delay of the whole path."""
    queues, changes = [], []
    delays: dict[tuple[str, str], float] = {}
    before_s = 0.0
    for each in document["link"]:
        for side in SIDES:
            way = direction(each, side)
            before_s += sum(seconds(match[1]) for text in way["ingress"] if (match := CONSTANT.fullmatch(text)))
            delays[each["name"], side] = seconds(way["delay"])
            if each["name"] in names and side in sides:
                queues.append((names.index(each["name"]), side, queue(way)))
    path_ns = {0.0: round(1e9 * (before_s + sum(delays.values())))}
    for change in document.get("schedule", []):
        at = seconds(change["at"])
        for verb in ("set", "replace"):
            for name, value in change.get(verb, {}).items():
                _, link, *given, what = name.split(".")
                places = given or list(SIDES)
                if what == "delay":
                    delays |= {(link, side): seconds(value) for side in places}
                    path_ns[at] = round(1e9 * (before_s + sum(delays.values())))
                elif link in names:
                    value = words(value) if what == "qdisc" else value
                    changes += [(at, verb, names.index(link), side, what, value) for side in places if side in sides]
    return path_ns, queues, sorted(changes)


def direction(link: dict[str, Any], side: str) -> dict[str, Any]:
    return {**link, **link["reverse"]} if side == "reverse" else link


def seconds(text: str) -> float:
    number = text.rstrip("numsh")
    return round(float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[text.removeprefix(number)], 9)


def queue(way: dict[str, Any]) -> tuple[Any, ...]:
    is_wire = way["rate"] != "none" and way["shaper"] == "none"
    elements = [commands("ingress", [text]) for text in way["ingress"] if not CONSTANT.fullmatch(text)]
    shaper = "htb" if is_wire else way["shaper"]
    return (*elements, shaper, way["rate"], way["stab"], commands("qdisc", way["qdisc"]))


def commands(key: str, value: Any) -> list[str]:
    """What a key of a link is as tc has it; the handle of a tree does not matter."""
    link = {"name": "bneck", key: value, "reverse": {"qdisc": "pfifo", "ingress": []}}
    text = Scenario.build({"name": "a", "duration": "1s", "link": [link]}).resolve().text
    return [command for _, command in _core.tc_script(text, "v0", "ifb0")[1]]


def words(text: str) -> str:
    """A change, whose version no tc knows; the handle of a tree does not matter."""
    return re.sub(r"\b\d+:(?=\d)", "1:", re.sub(r" version \S+", "", text))


def test_every_shipped_bottleneck_comes_back_from_its_scripts() -> None:
    count = 0
    for run in shipped():
        document: dict[str, Any] = run.brief()
        names = [each["name"] for each in document["link"]]
        on_interface, _, _ = _core.tc_script(run.text, "eth0", "ifb0")
        tight = re.findall(r"Link (\S+):", on_interface)
        for script, links, sides in (
            (_core.tc_script(run.text)[0], names, SIDES),
            (on_interface, tight, SIDES),
            (_core.tc_script(run.text, "eth0")[0], tight, ("forward",)),
        ):
            again = imported(script)
            theirs = canonical(again, [each["name"] for each in again["link"]], tuple(sides))
            assert theirs == canonical(document, links, tuple(sides)), script
            count += 1
    assert count > 900


def test_the_receivers_script_of_screams_record_is_one_link_with_all_of_the_delay_on_the_way_back() -> None:
    assert link(RECEIVER) == link_of(
        """
        rate = "100Mbit"
        shaper = "htb"
        qdisc = "dualpi2"
        reverse = { rate = "none", qdisc = "pfifo", ingress = ["netem delay 25ms"] }
        """
    )


def link_of(keys: str) -> dict[str, Any]:
    scenario = Scenario(f'name = "a"\nduration = "1s"\n[[link]]\nname = "bneck"\n{keys}')
    document: dict[str, Any] = scenario.resolve().brief()
    way: dict[str, Any] = document["link"][0]
    return way


def test_a_scripts_shell_is_read_as_a_shell_would() -> None:
    text = """\
    DEV=eth0; RATE="50mbit"   # a comment with 'a quote
    OPTS='delay 5ms 1ms'
    TC=$(which tc)
    cat <<END
    tc qdisc add dev $DEV root nonsense
END
    if [ "$1" = stop ]; then tc qdisc del dev $DEV root; exit; fi
    tc qdisc del dev "$DEV" root 2>/dev/null || true
    ip link show ifb0 >/dev/null 2>&1 || ip link add ifb0 type ifb
    sudo -n $TC qdisc add dev $DEV root handle 1: netem $OPTS \\
        limit 5000 2>&1 | logger
    /sbin/tc qdisc add dev ${DEV} parent 1:1 handle 10: tbf rate ${RATE} burst ${B:-20kb} latency 50ms; echo 'tc add'
    exit 0
    tc qdisc add dev eth7 root fq_codel
    """
    way = link(text)
    assert way["qdisc"] == "tbf rate 50Mbit burst 20Kb latency 50ms"
    assert way["ingress"] == ["netem limit 5000 delay 5ms 1ms"]
    assert link(text, RATE="20mbit")["qdisc"] == "tbf rate 20Mbit burst 20Kb latency 50ms"


def test_a_tree_of_classes_comes_with_its_filters_in_the_kernels_order() -> None:
    text = """\
    tc qdisc add dev eth0 root handle 1: stab overhead 38 mpu 84 htb default 0x20
    tc class add dev eth0 parent 1: classid 1:1 htb rate 50mbit
    tc class add dev eth0 parent 1:1 classid 1:10 htb rate 5mbit ceil 50mbit
    tc class add dev eth0 parent 1:1 classid 1:20 htb rate 45mbit ceil 50mbit
    tc qdisc add dev eth0 parent 1:10 codel
    tc filter add dev eth0 parent 1: protocol ip u32 match ip tos 0x10 0xfc flowid 1:10
    tc filter add dev eth0 parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:20
    tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
    sleep 20
    tc class change dev eth0 parent 1:1 classid 1:10 htb rate 2mbit ceil 10mbit
    """
    document = imported(text)
    assert document["link"][0]["stab"] == "mpu 84 overhead 38"
    matches = re.findall(r"filter match ip (\w+ \w+)", document["link"][0]["qdisc"])
    # Without a priority each new filter comes before the older ones.
    assert matches == ["tos 0xb8", "protocol 17", "tos 0x10"]
    assert "class 1:10 parent 1:1 rate 5Mbit ceil 50Mbit leaf { codel " in document["link"][0]["qdisc"]
    (change,) = document["schedule"]
    assert change["at"] == "20s"
    (changed,) = change["set"].values()
    assert list(change["set"]) == ["link.bneck.forward.qdisc"]
    assert changed.startswith("htb class 1:10 parent 1:1 rate 2Mbit ceil 10Mbit leaf { codel ")


def test_a_router_with_two_interfaces_has_a_direction_on_each() -> None:
    text = """\
    tc qdisc add dev eth1 root cake bandwidth 50mbit
    tc qdisc replace dev eth0 root cake bandwidth 10mbit ack-filter
    """
    way = link(text)
    assert way["qdisc"].startswith("cake bandwidth 50Mbit")
    assert way["reverse"]["qdisc"].startswith("cake bandwidth 10Mbit ack-filter")
    assert way["delay"] == "10ms", "and a path that no command describes has some delay"


def test_a_constant_delay_that_changes_is_the_links() -> None:
    document = imported(f"{RECEIVER}sleep 10\nsudo tc qdisc change dev $INTERFACE root netem delay 50ms\nsleep 5\n")
    assert document["link"][0]["reverse"]["delay"] == "25ms"
    assert document["duration"] == "15s"
    assert document["schedule"] == [{"at": "10s", "set": {"link.bneck.reverse.delay": "50ms"}}]


# The receiver's script without its last line, the queue: 16 lines.
BARE = RECEIVER[: RECEIVER.index("sudo tc qdisc add dev ifb0 parent 1:10")]


@pytest.mark.parametrize(
    ("lines", "number", "message"),
    [
        ("tc qdisc add dev ifb0 parent 1:10 dualpi3", 17, "unknown qdisc `dualpi3` (did you mean `dualpi2`?)"),
        ("tc qdisc add dev ifb0 parent 1:10 pie targt 5ms", 17, "link.bneck.qdisc: pie: unknown parameter `targt`"),
        ("tc qdisc add dev ifb0 root pie", 17, "ifb0 has a discipline at root already, from line 14"),
        ("tc qdisc change dev ifb0 root tbf rate 1mbit", 17, "there is no tbf to change at root of ifb0"),
        ("tc class add dev ifb0 parent 1: classid 1:20 hfsc sc rate 1mbit", 17, "expected a class of htb, got `hfsc`"),
        ("tc qdisc add dev ifb0 parent 1:20 netem delay $D", 17, "no value for $D here; `--var NAME=VALUE` gives one"),
        ("for i in 1 2; do\ntc qdisc add dev eth$i root fq; done", 18, "depends on `for`"),
        ("tc qdisc frob dev eth0", 17, "expected tc qdisc, class or filter with add, replace, change or del"),
        ("tc qdisc add root fq", 17, "expected `dev` and its name"),
        ("tc qdisc add dev eth5 root handle 1 fq", 17, "expected one interface, and an ifb for what arrives at it"),
        ("tc qdisc add dev ifb0 parent x:y fq", 17, "expected a handle such as 1: or 1:10, got `x:y`"),
        ("tc filter add dev ifb0 parent 1: u32 match ip dport 80 0xff", 17, "expected `match ip tos VALUE MASK`"),
        ("tc qdisc add dev ifb0 parent 1:10 handle 9: netem\ntc qdisc add dev ifb0 parent 9: pie", 18, "expected a"),
        ("sleep soon", 17, "expected a time such as `sleep 20`"),
        ("echo 'never closed", 17, "expected a closing quote"),
        ("tc -batch file", 17, "not a batch file"),
        ("tc qdisc del dev ifb0 root\n\ntc qdisc add dev ifb0 root prio", 19, "unknown qdisc `prio`"),
        ("sleep 5\ntc qdisc change dev $INTERFACE root netem delay 5ms 1ms", 18, "at 5 s: expected a constant delay"),
    ],
)  # fmt: skip
def test_what_has_no_form_is_one_line_that_names_the_scripts_own(lines: str, number: int, message: str) -> None:
    with pytest.raises(TcScriptError) as caught:
        read(f"{BARE}{lines}\n", "a.sh")
    assert str(caught.value).startswith(f"a.sh:{number}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_writes_a_scenario_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, out = tmp_path / "receiver.sh", tmp_path / "mine.toml"
    script.write_text(RECEIVER)
    assert call(["import", "tc", str(script), "-o", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "sojourn/import-tc/1"
    assert any("arrives at $INTERFACE" in note for note in document["notes"])
    assert call(["run", str(out), "-s", "duration=1s", "-q", "-o", str(tmp_path / "r")]) == 0
    script.write_text("tc qdisc add dev eth0 root prio\n")
    out.unlink()
    assert call(["import", "tc", str(script), "-o", str(out)]) == 2
    assert not out.exists()
    assert f"{script}:1: " in capsys.readouterr().err


def test_an_interface_needs_a_name_that_no_shell_reads_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(ROOT / "scenarios/one-prague.toml")
    for bad in ("e;x", "-f", "..", "a b", "sixteen-letters-x", ""):
        assert call(["tc", scenario, f"--on={bad}", "--ingress=ifb0"]) == 2
    assert call(["tc", scenario, "--ingress", "ifb0"]) == 2
    assert call(["tc", scenario, "--on", "ifb0", "--ingress", "ifb0"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 8


TOKENS = """tc qdisc class filter add replace change del dev eth0 ifb0 root parent handle 1: 1:1 1:10 ffff: ingress
    netem tbf fq_codel dualpi2 htb prio police rate 10mbit ceil burst delay 5ms limit 100 default 10 u32 match ip tos
    0x10 0xfc clsact flowid action mirred egress redirect matchall stab overhead 38 mpu ip link netns exec n1 n2 type
    veth peer name set mtu 1500 sleep 1 sudo if then fi for do done { } ( ) ; && || | & > 2>&1 <<E ' " \\ ` $( ${ }
    $X X=1 #"""
PIECES = st.sampled_from([*TOKENS.split(), "\n", "\n", "\n"])
STEP = _core.tc_script(load(ROOT / "scenarios/capacity-step.toml").expand()[0].text)[0]
WHOLE = [*RECEIVER.splitlines(), *STEP.splitlines()]
# Lines of good scripts in any order, some with other words in them.
MIXED = st.lists(
    st.one_of(
        st.sampled_from(WHOLE),
        st.tuples(st.sampled_from(WHOLE), st.integers(0, 20), PIECES).map(
            lambda drawn: " ".join([*(words := drawn[0].split(" "))[: drawn[1]], drawn[2], *words[drawn[1] + 1 :]])
        ),
    ),
    max_size=40,
).map("\n".join)


@settings(max_examples=600)
@given(st.one_of(MIXED, st.lists(PIECES, max_size=60).map(" ".join), st.text(max_size=200), st.binary(max_size=200)))
@example("tc qdisc add dev a root netem delay 1ms\ntc qdisc add dev a parent 1: fq\ntc qdisc add dev a parent 1:1 fq")
@example("tc 'a\nb' x")
@example("ip link add a type veth peer name a\ntc qdisc add dev a root fq_codel")
@example("a=" + "x" * 10 + "\n" + 'a="$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a"\n' * 40)
def test_no_text_at_all_raises_anything_but_a_line(text: str | bytes) -> None:
    try:
        done = read(text.decode(errors="replace") if isinstance(text, bytes) else text, "a.sh")
    except TcScriptError as error:
        assert "\n" not in str(error)
    else:
        Scenario(done.text).resolve()


def test_a_scripts_sysctls_are_the_flows() -> None:
    text = """sysctl -w net.ipv4.tcp_ecn=1 net.core.rmem_max=9 net/ipv4/tcp_sack=0
    sysctl -qw net.ipv4.tcp_pacing_ca_ratio=40; sysctl -qw "net.ipv4.tcp_rmem=4096 65536 1048576"
    ip netns exec a sysctl -w net.ipv4.tcp_frto=0; ip netns exec b sysctl -w net.ipv4.tcp_frto=2
    """
    done = read(RECEIVER + text, "a.sh")
    tcp: Any = Scenario(done.text).resolve().document()["tcp"]
    assert (tcp["ecn"], tcp["pacing_ca_ratio"], tcp["rmem_max"]) == ("rfc3168", 40, "1Mb")
    assert tcp["frto"] is True
    assert 'line 18: left out tcp_sack: expected 1, which the model always does, got "0"' in done.notes
    assert "line 20: left out tcp_frto: it has several values" in done.notes


def test_what_arrives_may_be_policed_without_an_ifb() -> None:
    text = """tc qdisc add dev eth0 handle ffff: ingress
    tc filter add dev eth0 parent ffff: u32 match ip src 0.0.0.0/0 police rate 10mbit burst 10k drop flowid :1
    tc qdisc add dev eth0 root netem delay 10ms
    """
    way = link(text)
    assert way["ingress"] == ["police rate 10Mbit burst 10Kb conform-exceed drop/pass"]
    assert way["reverse"]["ingress"] == ["netem delay 10ms"]
    with pytest.raises(TcScriptError, match="a.sh:2: expected a policer of all packets"):
        read(text.replace("ip src 0.0.0.0/0", "ip protocol 17 0xff"), "a.sh")


def test_a_leaf_that_borrows_nothing_is_the_shaper_whatever_its_wider_parents() -> None:
    text = """tc qdisc add dev eth0 root handle 1: htb default 12
    tc class add dev eth0 parent 1: classid 1:1 htb rate 100mbit
    tc class add dev eth0 parent 1:1 classid 1:12 htb rate 50mbit ceil 50000kbit
    tc qdisc add dev eth0 parent 1:12 handle 12: netem delay 20ms limit 5000
    """
    way = link(text)
    assert (way["rate"], way["shaper"], way["qdisc"]) == ("50Mbit", "htb", "netem limit 5000 delay 20ms")
    assert link(text.replace("rate 100mbit", "rate 30mbit"))["qdisc"].startswith(
        "htb default 0x12 class 1:1 rate 30Mbit"
    )
    assert link(text.replace("rate 50mbit", "rate 10mbit"))["qdisc"].startswith(
        "htb default 0x12 class 1:1 rate 100Mbit"
    )


def test_filters_that_rewrite_the_tos_byte_are_a_mangler() -> None:
    text = """\
    tc qdisc add dev eth0 handle ffff: ingress
    tc filter add dev eth0 parent ffff: protocol ip prio 2 flower ip_tos 0x2/0x3 action pedit ex munge ip tos set 1 retain 3 pipe action csum ip4h continue
    tc filter add dev eth0 parent ffff: protocol ip prio 1 flower ip_proto udp ip_tos 0xb8/0xfc action pedit ex munge ip tos set 0 retain 0xfc pipe action csum ip4h continue
    tc filter add dev eth0 parent ffff: protocol ip prio 3 flower src_ip 10.0.0.1 action pedit ex munge ip tos set 3 retain 3 pipe action csum ip4h continue
    tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
    tc qdisc add dev ifb0 root fq_codel
    tc qdisc add dev eth0 root netem delay 5ms
    """  # noqa: E501
    script = read(text, "a.sh", {})
    (element,) = Scenario(script.text).resolve().brief()["link"][0]["ingress"]
    assert element == "mangle rule proto udp dscp 46 set-dscp 0 rule ect0 set-ecn ect1"
    assert any("src_ip 10.0.0.1" in note for note in script.notes)
