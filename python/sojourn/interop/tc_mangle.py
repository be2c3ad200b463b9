"""Filters of tc that rewrite the TOS byte (flower, pedit, csum) as the rules of a `mangle`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from sojourn.interop.tc_state import Filter

#: By their values (RFC 3168, section 5).
BY_VALUE = ("not-ect", "ect1", "ect0", "ce")
FLAGS = {("0x2/0x12",): "syn", ("0x12/0x12",): "syn-ack", ("0x0/0x2", "0x12/0x12"): "non-syn"}
DSCP, ECN, ALL = 0xFC, 0x03, 0xFF


def rewrites(one: Filter) -> bool:
    """Whether a filter rewrites the TOS byte, and nothing else."""
    return one.kind == "flower" and _action(one) is not None


def rules(filters: Iterable[Filter]) -> Iterator[str]:
    """The rules of filters in their order; a text that begins with `?` is a filter that no rule is like."""
    ordered = sorted(filters, key=lambda one: one.prio)
    # The filters of one rule differ in the flags of TCP alone.
    for (match, action), alike in groupby(ordered, key=lambda one: (_without_flags(one), _action(one))):
        flags = tuple(filter(None, (_flags(one) for one in alike)))
        selectors = _selectors(match)
        kind = [FLAGS[flags]] if flags in FLAGS else None if flags else []
        if selectors is None or kind is None or action is None:
            yield f"?{' '.join(match)} {' '.join(flags)}".rstrip()
        else:
            yield " ".join(["rule", *(selectors + kind or ["all"]), action])


def _action(one: Filter) -> str | None:
    """What a filter does, as a rule says it."""
    if not one.actions:
        return None
    words = one.actions[0]
    if words[:5] not in (["pedit", "ex", "munge", "ip", "tos"], ["pedit", "ex", "munge", "ip", "dsfield"]):
        return None
    pairs = dict(zip(words[5::2], words[6::2], strict=False))
    try:
        value, changed = int(pairs["set"], 0), int(pairs.get("retain", "0xff"), 0)
    except (KeyError, ValueError):
        return None
    value &= changed
    if changed == ALL:
        return f"set-tos {value:#04x}"
    if changed == ECN:
        return f"set-ecn {BY_VALUE[value]}"
    if changed == DSCP:
        return f"set-dscp {value >> 2}"
    return f"tos-mask {ALL & ~changed:#04x}" if value == 0 and 0 <= changed <= ALL else None


def _pairs(one: Filter) -> list[tuple[str, str]]:
    return list(zip(one.match[::2], one.match[1::2], strict=False))


def _without_flags(one: Filter) -> tuple[str, ...]:
    return tuple(word for key, value in _pairs(one) if key != "tcp_flags" for word in (key, value))


def _flags(one: Filter) -> str:
    return dict(_pairs(one)).get("tcp_flags", "")


def _selectors(match: tuple[str, ...]) -> list[str] | None:
    """What a filter selects, but for the flags of TCP; None if no selector is like it."""
    found: list[str] = []
    for key, value in zip(match[::2], match[1::2], strict=False):
        if key == "ip_proto" and value in ("tcp", "udp", "icmp"):
            found.append(f"proto {value}")
        elif key == "ip_tos":
            number, _, mask = value.partition("/")
            try:
                tos, bits = int(number, 0), int(mask or "0xff", 0)
            except ValueError:
                return None
            if bits not in (DSCP, ECN, ALL):
                return None
            found += [f"dscp {tos >> 2}"] if bits & DSCP else []
            found += [BY_VALUE[tos & ECN]] if bits & ECN else []
        else:
            return None
    return found
