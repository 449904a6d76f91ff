"""The network of a scenario."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from html import escape
from typing import Any

_DRAWN = 80


@dataclass(frozen=True)
class Node:
    """A host or a switch.

    Attributes
    ----------
    name : str
        As results name it.
    kind : {"host", "switch"}
        Which of the two.
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Link:
    """One direction of a cable.

    Attributes
    ----------
    source, target : str
        Names of its ends.
    rate : str
        With its unit, such as ``"10Gbps"``.
    delay : str
        With its unit, such as ``"500ns"``.
    limit : str or None
        What the queue of the port at `source` holds; None without a limit.
    """

    source: str
    target: str
    rate: str
    delay: str
    limit: str | None


class Topology:
    """Hosts, switches and cables; made by :meth:`Scenario.topology`.

    Attributes
    ----------
    nodes : tuple of Node
        Hosts and switches.
    links : tuple of Link
        Two for each cable, one a direction.
    groups : dict of str to tuple of str
        The hosts of each group of the scenario.
    """

    def __init__(self, described: dict[str, Any], name: str) -> None:
        self._name = name
        self.nodes = tuple(Node(*node) for node in described["nodes"])
        names = [node.name for node in self.nodes]
        self.links = tuple(
            Link(names[source], names[target], rate, delay, limit)
            for source, target, rate, delay, limit in described["links"]
        )
        self.groups = {group: tuple(names[host] for host in hosts) for group, hosts in described["groups"].items()}

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return [node.name for node in self.nodes if node.kind == "host"]

    @property
    def switches(self) -> list[str]:
        """Names of the switches."""
        return [node.name for node in self.nodes if node.kind == "switch"]

    def __repr__(self) -> str:
        return f"<Topology of {self._name}: {self._size()}>"

    def _size(self) -> str:
        return f"{len(self.hosts)} hosts, {len(self.switches)} switches, {len(self.links) // 2} cables"

    def _repr_html_(self) -> str:
        title = f"<strong>{escape(self._name)}</strong>: {self._size()}"
        picture = self._svg() if 0 < len(self.nodes) <= _DRAWN else ""
        return f"<div>{title}<br>{picture}</div>"

    def _tiers(self) -> dict[str, int]:
        """Give how far each node is from the nearest host."""
        tiers = dict.fromkeys(self.hosts, 0)
        neighbours: dict[str, list[str]] = {}
        for link in self.links:
            neighbours.setdefault(link.source, []).append(link.target)
        queue = deque(tiers)
        while queue:
            name = queue.popleft()
            for other in neighbours.get(name, []):
                if other not in tiers:
                    tiers[other] = tiers[name] + 1
                    queue.append(other)
        return {node.name: tiers.get(node.name, 0) for node in self.nodes}

    def _svg(self) -> str:
        tiers = self._tiers()
        rows: dict[int, list[str]] = {}
        for name, tier in tiers.items():
            rows.setdefault(tier, []).append(name)
        width = max(240, 24 * max(len(row) for row in rows.values()))
        height = 60 * len(rows)
        places = {}
        for tier, row in rows.items():
            for index, name in enumerate(row):
                places[name] = ((index + 0.5) * width / len(row), height - 30 - 60 * tier)
        parts = []
        drawn = set()
        for link in self.links:
            ends = frozenset((link.source, link.target))
            if ends in drawn:
                continue
            drawn.add(ends)
            (x1, y1), (x2, y2) = places[link.source], places[link.target]
            tip = escape(f"{link.source} – {link.target}: {link.rate}, {link.delay}")
            ends_at = f'x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"'
            parts.append(f'<line {ends_at} stroke="#888"><title>{tip}</title></line>')
        for node in self.nodes:
            x, y = places[node.name]
            tip = f"<title>{escape(node.name)}</title>"
            if node.kind == "switch":
                parts.append(
                    f'<rect x="{x - 7:.0f}" y="{y - 5:.0f}" width="14" height="10" fill="#0072b2">{tip}</rect>'
                )
            else:
                parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" fill="#e69f00">{tip}</circle>')
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        label = escape(f"{self._name}: {self._size()}", quote=True)
        return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" {size}>{"".join(parts)}</svg>'
