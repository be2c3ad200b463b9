"""A run as the criteria of RFC 9743 see it: what its scenario sets up, and what became of it in numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from sojourn import _core, path
from sojourn.conditions import Conditions, of_scenario
from sojourn.groups import written_out
from sojourn.path import Document, objects
from sojourn.report import answers, own, sections
from sojourn.scenario import to_toml

#: Controllers that are standard, or as widely used.
STANDARD = ("cubic", "reno", "bbr")
REAL_TIME = ("voip", "game", "video", "scream-bw")
SHORT = ("short", "request")
#: Links whose rate or delay varies by itself.
VARYING = ("wifi", "grant", "mahimahi", "rate_trace")


@dataclass(frozen=True)
class Facts:
    """What a scenario sets up, as the criteria ask for it."""

    id: str
    document: Document
    controller: str

    @cached_property
    def conditions(self) -> Conditions:
        """Capacity, RTT and bottlenecks."""
        return of_scenario(to_toml(self.document))

    @cached_property
    def path(self) -> path.Path:
        """Queues, rates and RTTs."""
        return path.of_conditions(self.conditions)

    @property
    def concerned(self) -> bool:
        """Whether a flow has the controller."""
        return any(named(flow) == self.controller for flow in self._flows)

    @property
    def competes(self) -> bool:
        """Whether a long TCP flow of another standard controller is there."""
        return any(competing(flow, self.controller) for flow in self._flows)

    @property
    def several(self) -> bool:
        """Whether the controller has more than one long flow, all in one direction, so that they share a queue."""
        flows = [flow for flow in self._flows if named(flow) == self.controller and app(flow) not in SHORT]
        ways = {"both" if app(flow).startswith("rrul") else flow.get("direction", "down") for flow in flows}
        return sum(int(flow.get("flows", 1)) for flow in flows) > 1 and len(ways) == 1 and "both" not in ways

    @property
    def alone(self) -> bool:
        """Whether all flows are the controller's."""
        return all(named(flow) == self.controller for flow in self._flows)

    def has(self, apps: Sequence[str], *, mine: bool | None = None) -> bool:
        """Whether a flow has one of these applications, of the controller or of another if asked."""
        return any(app(flow) in apps and mine in (None, named(flow) == self.controller) for flow in self._flows)

    @property
    def queue(self) -> str:
        """Name of the discipline at the slowest link."""
        return self.discipline.split(" ")[0]

    @cached_property
    def discipline(self) -> str:
        """The same, with the parameters that make another queue of it."""
        links = {str(link.get("name")): link for link in objects(self.document.get("link"))}
        slowest = next(
            (links[name] for name in self.conditions.bottlenecks if name in links), next(iter(links.values()), {})
        )
        words = str(slowest.get("qdisc", "")).split(" ")
        return " ".join([words[0], *re.findall(r"flows 1\b|flowblind|noecn|ce_threshold\b", " ".join(words[1:]))])

    @cached_property
    def before(self) -> str:
        """All that happens to packets before the queues, both ways, and the links that vary by themselves."""
        ways = [way for link in objects(self.document.get("link")) for way in (link, link.get("reverse") or {})]
        words = [str(text) for way in ways for text in way.get("ingress", ())]
        return "; ".join([*words, *(text for way in ways if (text := str(way.get("qdisc", ""))).startswith(VARYING))])

    @cached_property
    def changed(self) -> set[str]:
        """What a schedule changes: `rate`, `delay`, `qdisc`."""
        steps = objects(self.document.get("schedule"))
        names = {name.rpartition(".")[2] for step in steps for name in step.get("set", {})}
        return names | ({"qdisc"} if any("replace" in step for step in steps) else set())

    def met(self, pattern: str) -> bool:
        """Whether packets meet this before a queue."""
        return re.search(pattern, self.before) is not None

    def loses(self, percent: float) -> bool:
        """Whether the path of the data loses at least this share of them by chance."""
        words = [str(text) for link in objects(self.document.get("link")) for text in link.get("ingress", ())]
        return any(float(share) >= percent for share in re.findall(r"\bloss ([\d.]+)%", " ".join(words)))

    @property
    def jitters(self) -> bool:
        """Whether the delay varies by itself."""
        return self.met(r"\bslot\b|delay \S+ [1-9]\S*(ns|us|ms|s)\b") or self.met("|".join(VARYING))

    @property
    def steady(self) -> bool:
        """Whether the path does nothing but delay, and stays as it is."""
        return not (self.changed or self.jitters or self.met("loss|reorder|mangle|police|drop|duplicate|corrupt"))

    @cached_property
    def mine(self) -> set[object]:
        """Names of the controller's flows; a summary names no versions."""
        return {flow.get("name") for flow in self._flows if named(flow) == self.controller}

    @cached_property
    def others(self) -> set[object]:
        """Names of the long flows of other standard controllers."""
        return {flow.get("name") for flow in self._flows if competing(flow, self.controller)}

    @cached_property
    def _flows(self) -> list[dict[str, Any]]:
        return written_out(self.document.get("flow"))


@dataclass(frozen=True)
class Evidence:
    """A run with its numbers."""

    facts: Facts
    run: sections.Run

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What summary.json holds."""
        return own.summary(self.run.ours)

    @cached_property
    def queues(self) -> list[dict[str, Any]]:
        """What queue.json holds."""
        return own.queues(self.run.ours)

    @cached_property
    def flows(self) -> list[dict[str, Any]]:
        """What summary.json has of each flow."""
        return objects(self.summary.get("flows"))

    @property
    def mine(self) -> list[dict[str, Any]]:
        """Those of the controller."""
        return [flow for flow in self.flows if flow.get("name") in self.facts.mine]

    @property
    def others(self) -> list[dict[str, Any]]:
        """Long flows of standard controllers beside them."""
        return [flow for flow in self.flows if flow.get("name") in self.facts.others]

    @property
    def used(self) -> float | None:
        """Share of the busiest link, %."""
        used = answers.utilisation(self.run)
        return None if used is None else 100 * used

    @property
    def queue_p99_ms(self) -> float | None:
        """Time in the queue that holds longest, 99th percentile; a netem is delay, not a queue."""
        names = [queue["name"] for queue in self.queues if not str(queue.get("qdisc")).startswith("netem")]
        delays = [one for one in objects(self._metrics.get("delay")) if one.get("name") in names]
        return max((x for one in delays if (x := own.number_at(one, "sojourn_ms", "p99")) is not None), default=None)

    @property
    def dropped(self) -> float | None:
        """Share of the packets that the queue which drops most drops, %."""
        return self._most("queues", "drop_probability")

    @property
    def retransmitted(self) -> float | None:
        """The largest share of any of the controller's flows, %."""
        return self._most("flows", "retransmit_rate", [flow.get("name") for flow in self.mine])

    @property
    def timeouts(self) -> float | None:
        """Of all flows of the controller."""
        values = [x for flow in self.mine if (x := own.number_at(flow, "sender", "timeouts")) is not None]
        return sum(values) if values else None

    @property
    def jain(self) -> float | None:
        """Jain's index of the controller's flows."""
        rates = goodputs(self.mine)
        squares = len(rates) * sum(rate * rate for rate in rates)
        return sum(rates) ** 2 / squares if len(rates) > 1 and squares else None

    @property
    def converges_s(self) -> float | None:
        """Until the goodputs are within 20 % of each other."""
        return own.number_at(self._metrics, "fairness", "convergence_s")

    @property
    def left_to_others(self) -> float | None:
        """What the competing flow with the least has of an equal share, %."""
        others, mine = goodputs(self.others), goodputs(self.mine)
        total = sum(others) + sum(mine)
        return 100 * min(others) * (len(others) + len(mine)) / total if others and mine and total else None

    @property
    def slowdown(self) -> float | None:
        """Of short transfers, 95th percentile: time over the least that their size can take."""
        found = [x for flow in self.flows if (x := own.number_at(flow, "completions", "slowdown", "p95")) is not None]
        return max(found, default=None)

    @property
    def media_p95_ms(self) -> float | None:
        """Delay of frames or packets of real-time flows, 95th percentile of the worst."""
        keys = (("media", "frames", "delay_ms", "p95"), ("one_way", "delay_ms", "p95"))
        real_time = [flow for flow in self.flows if app(flow) in REAL_TIME]
        found = [x for flow in real_time for key in keys if (x := own.number_at(flow, *key)) is not None]
        return max(found, default=None)

    @property
    def _metrics(self) -> dict[str, Any]:
        found = self.summary.get("metrics")
        return found if isinstance(found, dict) else {}

    def _most(self, what: str, key: str, names: Sequence[Any] | None = None) -> float | None:
        loss = self._metrics.get("loss")
        rows = objects(loss.get(what)) if isinstance(loss, dict) else []
        kept = [row for row in rows if names is None or row.get("name") in names]
        return max((100 * x for row in kept if (x := own.number_at(row, key)) is not None), default=None)


def named(flow: Document) -> str:
    """A flow's controller: its name, and its version where that is not the one that the name alone means."""
    name, *words = str(flow.get("cc") or "").split() or [""]
    version = words[words.index("version") + 1] if "version" in words[:-1] else None
    return name if version in (None, _default_versions().get(name)) else f"{name} version {version}"


@cache
def _default_versions() -> dict[str, str]:
    return {
        controller["name"]: parameter["default"]
        for controller in json.loads(_core.controllers())
        for parameter in controller["parameters"]
        if parameter["name"] == "version"
    }


def app(flow: Document) -> str:
    """Name of a flow's application."""
    return str(flow.get("app") or "bulk").split(" ")[0]


def competing(flow: Document, controller: str) -> bool:
    """Whether it is a long flow of a standard controller that is another."""
    name = named(flow)
    return name != controller and name.split(" ")[0] in STANDARD and app(flow) not in (*SHORT, *REAL_TIME)


def goodputs(flows: Iterable[Document]) -> list[float]:
    """Of these flows, Mbit/s."""
    return [rate for flow in flows if (rate := own.number_at(flow, "goodput_mbps")) is not None]
