"""The tables of a scenario as classes, to build one in Python.

Made from the JSON schema (``headway schema``) by python/tools/generate_records.py: do not edit. Keys of files with
hyphens have underscores here. What is left out (None) has its default. Quantities are text with a unit, a number times
a unit of :mod:`headway.units`, or a timedelta; ``"$name"`` takes the values of ``name`` in the sweep.

Examples
--------
>>> import headway
>>> from headway import records as r
>>> from headway.units import Gbps, us
>>> scenario = headway.Scenario.build(
...     r.Scenario(
...         name="two-hosts",
...         about="One flow over one link",
...         duration="10ms",
...         topology=r.DumbbellTopology(
...             left=1,
...             right=1,
...             link=r.Link(rate=10 * Gbps, delay=1 * us),
...             bottleneck=r.LinkChange(rate=1 * Gbps),
...             queue=r.DropTailQueue(limit="64KB"),
...         ),
...         hosts={"server": r.Hosts(count=1), "client": r.Hosts(count=1)},
...         traffic=[r.FlowsTraffic(name="bulk", to="client", size="1MB", arrival=r.OnceArrival())],
...         policy=[r.Policy(name="tcp", transport=r.TcpTransport())],
...     )
... )
>>> scenario.policies
['tcp']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from headway._plain import Plain
from headway._record import Amount, Rate, Record, Scalar, Swept, Table, Time, freeze
from headway._record import from_dict as _from_dict

__all__ = [
    "BacklogJudge",
    "BcubeTopology",
    "Between",
    "Buffer",
    "BytesSentJudge",
    "Cable",
    "CdfSize",
    "Claim",
    "ClosedLoopArrival",
    "CodelQueue",
    "CommandTraffic",
    "Control",
    "Datagrams",
    "Dcqcn",
    "DeadlineJudge",
    "DelayedAck",
    "DeliveryRateJudge",
    "DropTailQueue",
    "DrrQueue",
    "DualHomedFatTreeTopology",
    "DualHomedPodTopology",
    "DumbbellTopology",
    "EventBuilderTraffic",
    "ExponentialSize",
    "Failure",
    "FatTreeTopology",
    "Film",
    "FixedSize",
    "FlowsTraffic",
    "FqCodelQueue",
    "GraphTopology",
    "History",
    "HostModel",
    "Hosts",
    "HttpClients",
    "HttpTraffic",
    "Intervals",
    "KernelHosts",
    "KernelQuick",
    "LaneDaemon",
    "LeafSpineTopology",
    "Leftovers",
    "Level",
    "LimitChange",
    "Link",
    "LinkChange",
    "LinkCostJudge",
    "LinkLoss",
    "LinuxHosts",
    "LinuxPolicy",
    "LinuxTransport",
    "LoadArrival",
    "Lossless",
    "LosslessClass",
    "Measure",
    "Metering",
    "ModelledLanes",
    "ModelledPacing",
    "MptcpTransport",
    "MultiHomedFatTreeTopology",
    "Near",
    "Number",
    "OnceArrival",
    "Operand",
    "OwnJudge",
    "PacingClass",
    "ParallelPathsTopology",
    "ParetoSize",
    "PartitionAggregateTraffic",
    "PeriodicArrival",
    "PoissonArrival",
    "Policy",
    "Pool",
    "PullTransfer",
    "PushTransfer",
    "Qcn",
    "Quick",
    "Ramp",
    "RedQueue",
    "RelayCost",
    "RelayPolicy",
    "ReplayTraffic",
    "Replicate",
    "Return",
    "RoceTransport",
    "Scenario",
    "Server",
    "SharedBuffer",
    "SharedSize",
    "TcpTransport",
    "Timing",
    "TreeTopology",
    "TwoTierTopology",
    "UniformSize",
    "UnlimitedSize",
    "View",
    "Vl2Topology",
    "Watchdog",
    "Window",
]


@dataclass(frozen=True, kw_only=True)
class DumbbellTopology(Record):
    """Two switches with one cable between them, hosts at both.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    left : int | Swept
        Hosts at the left switch; they come first in the order of hosts. (1 to 1000000)
    right : int | Swept
        Hosts at the right switch. (1 to 1000000)
    bottleneck : LinkChange
        The cable between the switches.
    """

    _kind: ClassVar[str | None] = "dumbbell"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "bottleneck": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    left: int | Swept
    right: int | Swept
    bottleneck: LinkChange

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class ParallelPathsTopology(Record):
    """Hosts at two sides with several disjoint paths between, an interface for each path.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    paths : int | Swept
        Paths, and thus interfaces of every host. (1 to 64)
    left : int | Swept
        Hosts at the left; they come first in the order of hosts. (1 to 1000000) Default: ``1``.
    right : int | Swept
        Hosts at the right. (1 to 1000000) Default: ``1``.
    middle : LinkChange
        The cables between a path's two switches; like ``link`` when left out.
    """

    _kind: ClassVar[str | None] = "parallel-paths"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "middle": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    paths: int | Swept
    left: int | Swept | None = None
    right: int | Swept | None = None
    middle: LinkChange | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class TwoTierTopology(Record):
    """Leaf–spine: leaves with hosts, every leaf cabled to every spine.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    leaves : int | Swept
        Switches with hosts. (1 to 10000)
    spines : int | Swept
        Switches that connect leaves. (1 to 10000)
    hosts_per_leaf : int | Swept
        Hosts at each leaf. (1 to 10000)
    uplink : LinkChange
        The cables between leaves and spines; like ``link`` when left out.
    """

    _kind: ClassVar[str | None] = "two-tier"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "uplink": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    leaves: int | Swept
    spines: int | Swept
    hosts_per_leaf: int | Swept
    uplink: LinkChange | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class LeafSpineTopology(Record):
    """The same by its other name.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    leaves : int | Swept
        Switches with hosts. (1 to 10000)
    spines : int | Swept
        Switches that connect leaves. (1 to 10000)
    hosts_per_leaf : int | Swept
        Hosts at each leaf. (1 to 10000)
    uplink : LinkChange
        The cables between leaves and spines; like ``link`` when left out.
    """

    _kind: ClassVar[str | None] = "leaf-spine"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "uplink": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    leaves: int | Swept
    spines: int | Swept
    hosts_per_leaf: int | Swept
    uplink: LinkChange | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class FatTreeTopology(Record):
    """Three tiers of k-port switches in k pods (Al-Fares et al., SIGCOMM 2008).

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    k : int | Swept
        Ports of a switch, an even number; k = 4 has 16 hosts. (2 to 64)
    hosts_per_edge : int | Swept
        Hosts at each edge switch; k/2 when left out. (1 to 10000)
    host_link : LinkChange
        The cables between hosts and edge switches; like ``link`` when left out.
    edge_link : LinkChange
        The cables between edge and aggregation switches; like ``link`` when left out.
    core_link : LinkChange
        The cables between aggregation and core switches; like ``link`` when left out.
    edge_oversubscription : float | Swept
        The rate of edge-aggregation cables is divided by this. (at least 1) Default: ``1.0``.
    core_oversubscription : float | Swept
        The rate of aggregation-core cables is divided by this. (at least 1) Default: ``1.0``.
    """

    _kind: ClassVar[str | None] = "fat-tree"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "host_link": ("link-change", False),
        "edge_link": ("link-change", False),
        "core_link": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    k: int | Swept
    hosts_per_edge: int | Swept | None = None
    host_link: LinkChange | None = None
    edge_link: LinkChange | None = None
    core_link: LinkChange | None = None
    edge_oversubscription: float | Swept | None = None
    core_oversubscription: float | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class DualHomedFatTreeTopology(Record):
    """A fat-tree whose hosts are cabled to all k/2 edge switches of their pod: two at k = 4.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    k : int | Swept
        Ports of an aggregation or core switch, an even number; the pods are as many. (4 to 64)
    hosts_per_pod : int | Swept
        Hosts in each pod; k²/4 when left out, as many as in a fat-tree. (1 to 10000)
    """

    _kind: ClassVar[str | None] = "dual-homed-fat-tree"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    k: int | Swept
    hosts_per_pod: int | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class DualHomedPodTopology(Record):
    """One pod of a dual-homed fat-tree.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    k : int | Swept
        Twice the number of edge switches, and of aggregation switches; even. (4 to 64)
    hosts : int | Swept
        Hosts in the pod; k²/2 when left out. (1 to 10000)
    """

    _kind: ClassVar[str | None] = "dual-homed-pod"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    k: int | Swept
    hosts: int | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class MultiHomedFatTreeTopology(Record):
    """A fat-tree whose hosts have k/2 interfaces in as many planes that share nothing (k-MHFT).

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    k : int | Swept
        Twice the number of planes, and of interfaces of a host; even. The pods are k. (2 to 64)
    hosts_per_edge : int | Swept
        Hosts at each edge switch; k/2 when left out. (1 to 10000)
    host_link : LinkChange
        The cables between hosts and edge switches; like ``link`` when left out.
    edge_link : LinkChange
        The cables between edge and aggregation switches; like ``link`` when left out.
    core_link : LinkChange
        The cables between aggregation and core switches; like ``link`` when left out.
    """

    _kind: ClassVar[str | None] = "multi-homed-fat-tree"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "host_link": ("link-change", False),
        "edge_link": ("link-change", False),
        "core_link": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    k: int | Swept
    hosts_per_edge: int | Swept | None = None
    host_link: LinkChange | None = None
    edge_link: LinkChange | None = None
    core_link: LinkChange | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class BcubeTopology(Record):
    """Servers with several interfaces that forward for each other (Guo et al., SIGCOMM 2009).

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    n : int | Swept
        Ports of a switch. (3 to 64)
    levels : int | Swept
        Interfaces of a server, one more than the k of BCube_k. (1 to 8)
    """

    _kind: ClassVar[str | None] = "bcube"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    n: int | Swept
    levels: int | Swept

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class TreeTopology(Record):
    """One core, aggregation switches below it, edge switches with hosts below these.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    aggregations : int | Swept
        Aggregation switches. (1 to 10000)
    edges_per_aggregation : int | Swept
        Edge switches below each of them. (1 to 10000)
    hosts_per_edge : int | Swept
        Hosts at each edge switch. (1 to 10000)
    host_link : LinkChange
        The cables between hosts and edge switches; like ``link`` when left out.
    edge_link : LinkChange
        The cables between edge and aggregation switches; like ``link`` when left out.
    core_link : LinkChange
        The cables between aggregation switches and the core; like ``link`` when left out.
    """

    _kind: ClassVar[str | None] = "tree"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "host_link": ("link-change", False),
        "edge_link": ("link-change", False),
        "core_link": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    aggregations: int | Swept
    edges_per_aggregation: int | Swept
    hosts_per_edge: int | Swept
    host_link: LinkChange | None = None
    edge_link: LinkChange | None = None
    core_link: LinkChange | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class Vl2Topology(Record):
    """VL2's Clos network (Greenberg et al., SIGCOMM 2009).

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    aggregation_ports : int | Swept
        Ports of an aggregation switch (D_A), an even number; half of them go to intermediate
        switches. (2 to 1000)
    intermediate_ports : int | Swept
        Ports of an intermediate switch (D_I), an even number; there are as many aggregation
        switches. (2 to 1000)
    hosts_per_tor : int | Swept
        Hosts at each top-of-rack switch. (1 to 10000) Default: ``20``.
    host_link : LinkChange
        The cables between hosts and top-of-rack switches; like ``link`` when left out.
    edge_link : LinkChange
        The cables between top-of-rack and aggregation switches; like ``link`` when left out.
    core_link : LinkChange
        The cables between aggregation and intermediate switches; like ``link`` when left out.
    """

    _kind: ClassVar[str | None] = "vl2"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "host_link": ("link-change", False),
        "edge_link": ("link-change", False),
        "core_link": ("link-change", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    aggregation_ports: int | Swept
    intermediate_ports: int | Swept
    hosts_per_tor: int | Swept | None = None
    host_link: LinkChange | None = None
    edge_link: LinkChange | None = None
    core_link: LinkChange | None = None

    def __post_init__(self) -> None:
        freeze(self, ("losses",))


@dataclass(frozen=True, kw_only=True)
class GraphTopology(Record):
    """Switches, hosts and cables one by one.

    Parameters
    ----------
    link : Link
        Every cable that is not described by a key of its own.
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a switch.
    host_queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of every port of a host. Default: ``{"kind": "drop-tail", "limit": "1000pkt"}``.
    shared_buffer : SharedBuffer
        The buffer that all ports of a switch share, beside the limits of their queues; each has its
        own when left out.
    losses : Sequence[LinkLoss]
        What single links lose, each one direction of a cable, in place of ``loss`` of their cables.
        Default: ``[]``.
    switch_latency : Time | Swept
        The time a packet takes through a switch before it is queued. (0s to 3600s) Default:
        ``"0s"``.
    mtu : Amount | Swept
        The largest IP packet. (68B to 65.5KB) Default: ``"1.5KB"``.
    switches : Sequence[str]
        The names of the switches.
    hosts : Sequence[str]
        The names of the hosts.
    cables : Sequence[Cable]
        The cables.
    """

    _kind: ClassVar[str | None] = "graph"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link", False),
        "queue": ("queue", False),
        "host_queue": ("queue", False),
        "shared_buffer": ("shared-buffer", False),
        "losses": ("link-loss", False),
        "cables": ("cable", False),
    }

    link: Link
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
    host_queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None
    shared_buffer: SharedBuffer | None = None
    losses: Sequence[LinkLoss] | None = None
    switch_latency: Time | Swept | None = None
    mtu: Amount | Swept | None = None
    switches: Sequence[str]
    hosts: Sequence[str]
    cables: Sequence[Cable]

    def __post_init__(self) -> None:
        freeze(self, ("losses", "switches", "hosts", "cables"))


@dataclass(frozen=True, kw_only=True)
class Link(Record):
    """A cable: both directions alike.

    Parameters
    ----------
    rate : Rate | Swept
        The rate of each direction. (at least 10kbps)
    delay : Time | Swept
        The time a bit takes from end to end. (0s to 3600s) Default: ``"500ns"``.
    loss : float | str
        The share of packets that are lost at random. Default: ``0.0``.
    gap : Amount | Swept
        What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap. (0B
        to 65.535KB) Default: ``"20B"``.
    """

    rate: Rate | Swept
    delay: Time | Swept | None = None
    loss: float | str | None = None
    gap: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class DropTailQueue(Record):
    """First in, first out; a packet that does not fit is dropped.

    Parameters
    ----------
    limit : Literal["none"] | Amount | Swept
        How much fits, the packet being transmitted included: bytes ("128KB"), packets ("100pkt"),
        or "none" for no limit.
    mark : Amount | Swept
        Packets that find more than this are marked (ECN); none when left out.
    """

    _kind: ClassVar[str | None] = "drop-tail"

    limit: Literal["none"] | Amount | Swept
    mark: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class RedQueue(Record):
    """Random early detection: drops or marks by chance as the average queue grows.

    Parameters
    ----------
    limit : Literal["none"] | Amount | Swept
        How much fits, the packet being transmitted included: bytes ("128KB"), packets ("100pkt"),
        or "none" for no limit.
    min : Amount | Swept
        Up to this average nothing is dropped or marked. Default: ``"5pkt"``.
    max : Amount | Swept
        The average at which the probability is ``probability``; in the unit of ``min``. Default:
        ``"15pkt"``.
    probability : float | str
        The probability at an average of ``max``. Default: ``0.02``.
    weight : float | Swept
        The weight of an arriving packet in the moving average. (0.000001 to 1) Default: ``0.002``.
    average_packet : Amount | Swept
        The usual packet, in which idle times are counted. (1B to 65.535KB) Default: ``"1KB"``.
    gentle : bool | Swept
        Between ``max`` and twice as much the probability rises on to 1; otherwise it jumps there.
        Default: ``true``.
    ecn : bool | Swept
        Packets of senders that understand ECN are marked instead of dropped. Default: ``false``.
    hard_drop : bool | Swept
        Where everything is marked or dropped, everything is dropped. Default: ``false``.
    """

    _kind: ClassVar[str | None] = "red"

    limit: Literal["none"] | Amount | Swept
    min: Amount | Swept | None = None
    max: Amount | Swept | None = None
    probability: float | str | None = None
    weight: float | Swept | None = None
    average_packet: Amount | Swept | None = None
    gentle: bool | Swept | None = None
    ecn: bool | Swept | None = None
    hard_drop: bool | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class CodelQueue(Record):
    """Controlled delay: drops when packets have waited too long for too long.

    Parameters
    ----------
    limit : Literal["none"] | Amount | Swept
        How much may wait, the packet being transmitted not included: bytes ("128KB"), packets
        ("100pkt"), or "none" for no limit. Default: ``"1000pkt"``.
    target : Time | Swept
        The standing delay that is acceptable. (1ns to 3600s) Default: ``"5ms"``.
    interval : Time | Swept
        In this time the delay must have been below ``target`` once; about the longest round-trip
        time. (1ns to 3600s) Default: ``"100ms"``.
    ecn : bool | Swept
        Packets of senders that understand ECN are marked instead of dropped. Default: ``false``.
    mark : Time | Swept
        Packets that waited longer than this are marked (ECN) in any case; none when left out. (0s
        to 3600s)
    """

    _kind: ClassVar[str | None] = "codel"

    limit: Literal["none"] | Amount | Swept | None = None
    target: Time | Swept | None = None
    interval: Time | Swept | None = None
    ecn: bool | Swept | None = None
    mark: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class FqCodelQueue(Record):
    """A queue for every flow, which take turns and have CoDel each.

    Parameters
    ----------
    limit : Literal["none"] | Amount | Swept
        How much may wait in all queues together, the packet being transmitted not included: bytes
        ("128KB"), packets ("100pkt"), or "none" for no limit. Default: ``"10240pkt"``.
    memory : Amount | Swept
        Bytes that fit in all queues together, whatever ``limit`` is. Default: ``"32MiB"``.
    flows : int | Swept
        Queues that flows are spread over. (1 to 65536) Default: ``1024``.
    quantum : Amount | Swept
        What a queue may send per turn. (64B to 1MB) Default: ``"1.514KB"``.
    drop_batch : int | Swept
        Packets dropped at a time, at most, when the limit is reached. (1 to 10000) Default: ``64``.
    target : Time | Swept
        The standing delay that is acceptable. (1ns to 3600s) Default: ``"5ms"``.
    interval : Time | Swept
        In this time the delay must have been below ``target`` once; about the longest round-trip
        time. (1ns to 3600s) Default: ``"100ms"``.
    ecn : bool | Swept
        Packets of senders that understand ECN are marked instead of dropped. Default: ``true``.
    mark : Time | Swept
        Packets that waited longer than this are marked (ECN) in any case; none when left out. (0s
        to 3600s)
    """

    _kind: ClassVar[str | None] = "fq-codel"

    limit: Literal["none"] | Amount | Swept | None = None
    memory: Amount | Swept | None = None
    flows: int | Swept | None = None
    quantum: Amount | Swept | None = None
    drop_batch: int | Swept | None = None
    target: Time | Swept | None = None
    interval: Time | Swept | None = None
    ecn: bool | Swept | None = None
    mark: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class DrrQueue(Record):
    """A queue for every flow, which take turns; when the buffer is full the longest loses.

    Parameters
    ----------
    limit : Literal["none"] | Amount | Swept
        How much may wait in all queues together, the packet being transmitted not included: bytes
        ("128KB"), packets ("100pkt"), or "none" for no limit.
    flows : int | Swept
        Queues that flows are spread over. (1 to 65536) Default: ``1024``.
    quantum : Amount | Swept
        What a queue may send per turn. (64B to 1MB) Default: ``"1.518KB"``.
    """

    _kind: ClassVar[str | None] = "drr"

    limit: Literal["none"] | Amount | Swept
    flows: int | Swept | None = None
    quantum: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class SharedBuffer(Record):
    """The buffer that all ports of a switch share, divided by dynamic thresholds (Choudhury & Hahne 1998).

    Parameters
    ----------
    size : Amount | Swept
        Bytes in it, the reserves included.
    alpha : float | Swept
        A port may hold so many times what is free, beside its reserve. (0.001 to 1000) Default:
        ``1.0``.
    reserve : Amount | Swept
        What is every port's own. Default: ``"0B"``.
    """

    size: Amount | Swept
    alpha: float | Swept | None = None
    reserve: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class LinkLoss(Record):
    """What single links lose, in place of ``loss`` of their cables.

    Parameters
    ----------
    links : Sequence[str]
        The links ("a>b"), each one direction of a cable.
    share : float | str
        The share of packets that are lost at random.
    every : int | Swept
        Of so many packets one is lost, always the same distance apart; each link counts for itself.
        (2 to 1000000000)
    first : int | Swept
        The number of the first packet that is lost, from 1; that of ``every`` when left out. (1 to
        1000000000)
    """

    links: Sequence[str]
    share: float | str | None = None
    every: int | Swept | None = None
    first: int | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("links",))


@dataclass(frozen=True, kw_only=True)
class LinkChange(Record):
    """What is different from ``topology.link`` in some cables; a key left out is as it is there.

    Parameters
    ----------
    rate : Rate | Swept
        The rate of each direction. (at least 10kbps)
    delay : Time | Swept
        The time a bit takes from end to end. (0s to 3600s)
    loss : float | str
        The share of packets that are lost at random.
    gap : Amount | Swept
        What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap. (0B
        to 65.535KB)
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of the switches' ports at both ends (in a graph of all ports there);
        ``topology.queue`` when left out.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "queue": ("queue", False),
    }

    rate: Rate | Swept | None = None
    delay: Time | Swept | None = None
    loss: float | str | None = None
    gap: Amount | Swept | None = None
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None


@dataclass(frozen=True, kw_only=True)
class Cable(Record):
    """What is different from ``topology.link`` in some cables; a key left out is as it is there.

    Parameters
    ----------
    between : Sequence[str]
        Its two ends.
    rate : Rate | Swept
        The rate of each direction. (at least 10kbps)
    delay : Time | Swept
        The time a bit takes from end to end. (0s to 3600s)
    loss : float | str
        The share of packets that are lost at random.
    gap : Amount | Swept
        What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap. (0B
        to 65.535KB)
    queue : DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str
        The queue of the switches' ports at both ends (in a graph of all ports there);
        ``topology.queue`` when left out.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "queue": ("queue", False),
    }

    between: Sequence[str]
    rate: Rate | Swept | None = None
    delay: Time | Swept | None = None
    loss: float | str | None = None
    gap: Amount | Swept | None = None
    queue: DropTailQueue | RedQueue | CodelQueue | FqCodelQueue | DrrQueue | Table | str | None = None

    def __post_init__(self) -> None:
        freeze(self, ("between",))


@dataclass(frozen=True, kw_only=True)
class Hosts(Record):
    """A group of hosts.

    Parameters
    ----------
    count : int | Swept
        How many hosts; required unless ``members`` names them. (1 to 1000000)
    at : Literal["inside", "top"] | Swept
        Where they are. Default: ``"inside"``.
    every : int | Swept
        Every so many of the hosts that no group before has taken, from the first on; one after
        another when left out. (1 to 1000000)
    members : Sequence[str]
        The hosts by name, in a graph.
    link : LinkChange
        What is different from ``topology.link`` in the cables of hosts at the top.
    kind : Literal["modelled", "linux", "namespaces"] | Swept
        What they are; as ``host-kind`` says when left out.
    model : HostModel
        What their cards and cores take if they are modelled; left out: nothing.
    random_processing : Time | Swept
        The longest random time that each packet which they send takes before it is on the line, if
        they are modelled; left out: none. (1ps to 1s)
    server : Server
        How they serve web clients if they are modelled; left out: at once, whoever comes.
    linux : LinuxHosts
        How they are set up if they are kernel hosts.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "link": ("link-change", False),
        "model": ("host-model", False),
        "server": ("server", False),
        "linux": ("linux-hosts", False),
    }

    count: int | Swept | None = None
    at: Literal["inside", "top"] | Swept | None = None
    every: int | Swept | None = None
    members: Sequence[str] | None = None
    link: LinkChange | None = None
    kind: Literal["modelled", "linux", "namespaces"] | Swept | None = None
    model: HostModel | None = None
    random_processing: Time | Swept | None = None
    server: Server | None = None
    linux: LinuxHosts | None = None

    def __post_init__(self) -> None:
        freeze(self, ("members",))


@dataclass(frozen=True, kw_only=True)
class HostModel(Record):
    """What receiving and sending takes of modelled hosts.

    Parameters
    ----------
    cores : int | Swept
        Cores that frames are worked on by. (1 to 64) Default: ``1``.
    queues : int | Swept
        Receive queues of each card; flows are spread over them by a hash, and they over the cores
        (RSS). (1 to 128) Default: ``1``.
    ring : int | Swept
        Frames that the ring of a queue holds; more are dropped. (1 to 1000000) Default: ``512``.
    rx_usecs : Time | Swept
        The longest time from a waiting frame to its interrupt; zero: ``rx-frames`` alone counts.
        (0s to 1s) Default: ``"0s"``.
    rx_frames : int | Swept
        So many waiting frames interrupt at once; zero: ``rx-usecs`` alone counts. (0 to 1000000)
        Default: ``1``.
    budget : int | Swept
        Frames of a queue that are taken in one poll. (1 to 65535) Default: ``64``.
    netdev_budget : int | Swept
        Frames after which polling lets others send (``net.core.netdev_budget``). (1 to 1000000)
        Default: ``300``.
    netdev_budget_usecs : Time | Swept
        Time after which it does (``net.core.netdev_budget_usecs``). (0s to 1s) Default: ``"2ms"``.
    gro : bool | Swept
        Segments that follow each other go up as one (generic receive offload). Default: ``true``.
    rps : bool | Swept
        Protocol work is spread over all cores by the flow's hash (receive packet steering).
        Default: ``false``.
    netdev_max_backlog : int | Swept
        Segments that wait for a core's protocol work at most; more are dropped
        (``net.core.netdev_max_backlog``). (1 to 1000000) Default: ``1000``.
    segmentation : bool | Swept
        Network cards segment: a burst of up to 64 KB is sent by one piece of work (TSO). Default:
        ``true``.
    cpu_per_interrupt : Time | Swept
        What each interrupt takes of a core. (0s to 1s) Default: ``"0s"``.
    cpu_per_packet : Time | Swept
        What each frame received takes of a core: driver and memory. (0s to 1s) Default: ``"0s"``.
    cpu_per_byte : Time | Swept
        What each byte received or sent takes of a core, headers included. (0s to 1ms) Default:
        ``"0s"``.
    cpu_per_segment : Time | Swept
        What each segment, merged or not, takes of a core on its way up through IP and TCP. (0s to
        1s) Default: ``"0s"``.
    cpu_per_ipi : Time | Swept
        What each interrupt by another core takes of a core. (0s to 1s) Default: ``"0s"``.
    cpu_per_burst : Time | Swept
        What each burst, or acknowledgement, takes of a core on its way down. (0s to 1s) Default:
        ``"0s"``.
    """

    cores: int | Swept | None = None
    queues: int | Swept | None = None
    ring: int | Swept | None = None
    rx_usecs: Time | Swept | None = None
    rx_frames: int | Swept | None = None
    budget: int | Swept | None = None
    netdev_budget: int | Swept | None = None
    netdev_budget_usecs: Time | Swept | None = None
    gro: bool | Swept | None = None
    rps: bool | Swept | None = None
    netdev_max_backlog: int | Swept | None = None
    segmentation: bool | Swept | None = None
    cpu_per_interrupt: Time | Swept | None = None
    cpu_per_packet: Time | Swept | None = None
    cpu_per_byte: Time | Swept | None = None
    cpu_per_segment: Time | Swept | None = None
    cpu_per_ipi: Time | Swept | None = None
    cpu_per_burst: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Server(Record):
    """A server of modelled hosts: programs that accept connections and answer requests.

    Parameters
    ----------
    workers : int | Swept
        Programs; number n runs on core n modulo the number of cores. (1 to 1024) Default: ``1``.
    worker_connections : int | Swept
        Connections that a worker has open at most. (1 to 1000000) Default: ``512``.
    backlog : int | Swept
        Connections that wait for a worker: one more than this, as in Linux. (0 to 1000000) Default:
        ``511``.
    syn_queue : int | Swept
        Connections whose handshake is under way; as many as ``backlog`` when left out, but one at
        least. (1 to 1000000)
    syn_cookies : bool | Swept
        Connections that find no place there are answered by SYN cookies
        (``net.ipv4.tcp_syncookies``), not dropped. Default: ``true``.
    overflow : Literal["drop", "refuse"] | Swept
        What becomes of a connection that finds no place to wait. Default: ``"drop"``.
    cpu_per_connection : Time | Swept
        What accepting a connection takes of a core. (0s to 1s) Default: ``"0s"``.
    cpu_per_request : Time | Swept
        What answering a request takes of a core. (0s to 1s) Default: ``"0s"``.
    cpu_per_open : Time | Swept
        What it takes more for each connection that its worker has open. (0s to 1ms) Default:
        ``"0s"``.
    """

    workers: int | Swept | None = None
    worker_connections: int | Swept | None = None
    backlog: int | Swept | None = None
    syn_queue: int | Swept | None = None
    syn_cookies: bool | Swept | None = None
    overflow: Literal["drop", "refuse"] | Swept | None = None
    cpu_per_connection: Time | Swept | None = None
    cpu_per_request: Time | Swept | None = None
    cpu_per_open: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class LinuxHosts(Record):
    """How kernel hosts are set up.

    Parameters
    ----------
    hosts_per_guest : int | Swept
        So many hosts share a kernel, each in a network namespace of its own. (1 to 32) Default:
        ``1``.
    memory : Amount | Swept
        Memory of each kernel. (24MB to 4GB) Default: ``"32MB"``.
    segmentation : bool | Swept
        Network cards segment TCP for the kernel (TSO). Default: ``true``.
    checksums : bool | Swept
        Network cards compute and check checksums for the kernel. Default: ``true``.
    cpu_per_packet : Time | Swept
        What each packet takes of a host's processor; whole nanoseconds. (0s to 1s) Default:
        ``"0s"``.
    cpu_per_interrupt : Time | Swept
        What each interrupt takes of a host's processor; whole nanoseconds. (0s to 1s) Default:
        ``"0s"``.
    sysctl : Mapping[str, Scalar]
        Kernel settings of each host, over all others.
    setup : Sequence[str]
        Lines for the shell of each host, run when all else is set up. Default: ``[]``.
    """

    hosts_per_guest: int | Swept | None = None
    memory: Amount | Swept | None = None
    segmentation: bool | Swept | None = None
    checksums: bool | Swept | None = None
    cpu_per_packet: Time | Swept | None = None
    cpu_per_interrupt: Time | Swept | None = None
    sysctl: Mapping[str, Scalar] | None = None
    setup: Sequence[str] | None = None

    def __post_init__(self) -> None:
        freeze(self, ("setup",))


@dataclass(frozen=True, kw_only=True)
class View(Record):
    """Hosts of groups by another name.

    A view takes none: its hosts stay in their groups, and views may overlap.

    Parameters
    ----------
    of : str | Sequence[str]
        The groups, and views before this one, whose hosts it has, in this order.
    skip : int | Swept
        So many of the first hosts are left out. Default: ``0``.
    every : int | Swept
        Every so many of the others, from the first on; all of them when left out. (1 to 1000000)
    count : int | Swept
        How many of these; all of them when neither this nor ``share`` is given. (1 to 1000000)
    share : float | str
        The share of these, rounded to whole hosts.
    """

    of: str | Sequence[str]
    skip: int | Swept | None = None
    every: int | Swept | None = None
    count: int | Swept | None = None
    share: float | str | None = None

    def __post_init__(self) -> None:
        freeze(self, ("of",))


@dataclass(frozen=True, kw_only=True)
class FlowsTraffic(Record):
    """Flows of one sort.

    Parameters
    ----------
    name : str
        The name of the traffic, by which its flows are reported.
    only : Sequence[Literal["modelled", "linux", "namespaces"] | Swept]
        The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
    priority : int | Swept
        The priority of its frames, in both directions. (at most 7) Default: ``0``.
    from_ : str | Sequence[str]
        The group that sends, or several; every host of the topology outside ``to`` when left out.
    to : str | Sequence[str]
        The group that receives, or several.
    pairs : Literal["random", "each-destination", "all-to-all", "permutation", "incast"] | Swept
        Who sends to whom. A host never sends to itself. Default: ``"random"``.
    senders : int | Swept
        Only the first so many hosts of ``from`` send; all when left out.
    receivers : int | Swept
        Only the first so many hosts of ``to`` receive; all when left out. (1 to 1000000)
    from_share : float | str
        The share of the hosts of ``from`` that send, drawn at random in every repeat; all when left
        out. Where ``from`` is ``to``, the share that send to each other.
    to_share : float | str
        The share of the hosts of ``to`` that receive, drawn at random in every repeat; all when
        left out.
    size : Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
        How much each flow carries: an amount ("64KB"), "unlimited", or a distribution.
    arrival : OnceArrival | PoissonArrival | PeriodicArrival | LoadArrival | ClosedLoopArrival | Table | str
        When flows start.
    start : Time | Swept
        No flow starts before this time. Default: ``"0s"``.
    stop : Time | Swept
        No flow starts from this time on; ``duration`` when left out.
    deadline : Time | Swept
        How long after its start each flow should be complete, for congestion controls that know
        deadlines (D2TCP). (more than 0)
    short : Amount | Swept
        Flows of at most this size are reported apart, as ``NAME/short``, and all others as
        ``NAME/long``. (at least 1B)
    connections : Pool
        Flows are messages on connections that stay open; each has one of its own when left out.
    datagrams : Datagrams
        Flows are datagrams at a constant rate, whatever the policy's transport is.
    via : Sequence[str]
        Nodes that all its flows pass, in this order, and on the way back in the other: between them
        the hash chooses. Default: ``[]``.
    """

    _kind: ClassVar[str | None] = "flows"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "size": ("size-kind", False),
        "arrival": ("arrival", False),
        "connections": ("pool", False),
        "datagrams": ("datagrams", False),
    }

    name: str
    only: Sequence[Literal["modelled", "linux", "namespaces"] | Swept] | None = None
    priority: int | Swept | None = None
    from_: str | Sequence[str] | None = None
    to: str | Sequence[str]
    pairs: Literal["random", "each-destination", "all-to-all", "permutation", "incast"] | Swept | None = None
    senders: int | Swept | None = None
    receivers: int | Swept | None = None
    from_share: float | str | None = None
    to_share: float | str | None = None
    size: Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
    arrival: OnceArrival | PoissonArrival | PeriodicArrival | LoadArrival | ClosedLoopArrival | Table | str
    start: Time | Swept | None = None
    stop: Time | Swept | None = None
    deadline: Time | Swept | None = None
    short: Amount | Swept | None = None
    connections: Pool | None = None
    datagrams: Datagrams | None = None
    via: Sequence[str] | None = None

    def __post_init__(self) -> None:
        freeze(self, ("only", "from_", "to", "via"))


@dataclass(frozen=True, kw_only=True)
class ReplayTraffic(Record):
    """Flows of a list.

    Parameters
    ----------
    name : str
        The name of the traffic, by which its flows are reported.
    only : Sequence[Literal["modelled", "linux", "namespaces"] | Swept]
        The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
    priority : int | Swept
        The priority of its frames, in both directions. (at most 7) Default: ``0``.
    file : str
        The list, relative to the scenario's folder: CSV, Parquet, or a connection matrix of htsim.
    hosts : str
        The group whose hosts the list means; all hosts of the topology when left out.
    select : Mapping[str, Scalar]
        Only rows that have these values, by column.
    start : Time | Swept
        The time at which the list's time begins. Default: ``"0s"``.
    stop : Time | Swept
        Flows that would start from this time on are left out; ``duration`` when left out.
    deadline : Time | Swept
        How long after its start each flow should be complete, for congestion controls that know
        deadlines (D2TCP). (more than 0)
    short : Amount | Swept
        Flows of at most this size are reported apart, as ``NAME/short``, and all others as
        ``NAME/long``. (at least 1B)
    connections : Pool
        Flows are messages on connections that stay open; each has one of its own when left out.
    """

    _kind: ClassVar[str | None] = "replay"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "connections": ("pool", False),
    }

    name: str
    only: Sequence[Literal["modelled", "linux", "namespaces"] | Swept] | None = None
    priority: int | Swept | None = None
    file: str
    hosts: str | None = None
    select: Mapping[str, Scalar] | None = None
    start: Time | Swept | None = None
    stop: Time | Swept | None = None
    deadline: Time | Swept | None = None
    short: Amount | Swept | None = None
    connections: Pool | None = None

    def __post_init__(self) -> None:
        freeze(self, ("only",))


@dataclass(frozen=True, kw_only=True)
class CommandTraffic(Record):
    """A program on kernel hosts.

    Parameters
    ----------
    name : str
        The name of the traffic, by which its flows are reported.
    only : Sequence[Literal["modelled", "linux", "namespaces"] | Swept]
        The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
    priority : int | Swept
        The priority of its frames, in both directions. (at most 7) Default: ``0``.
    on : str
        The group whose hosts run it.
    hosts : int | Swept
        Only the first so many hosts of the group; all when left out. (1 to 1000000)
    run : str
        What the host's shell gets; ``{host}`` becomes the host's name, ``{index}`` its place in the
        group, from 0.
    start : Time | Swept
        When it starts. Default: ``"0s"``.
    stop : Time | Swept
        When it is told to end (SIGTERM, and SIGKILL 100 ms later); at the end of the run when left
        out.
    """

    _kind: ClassVar[str | None] = "command"

    name: str
    only: Sequence[Literal["modelled", "linux", "namespaces"] | Swept] | None = None
    priority: int | Swept | None = None
    on: str
    hosts: int | Swept | None = None
    run: str
    start: Time | Swept | None = None
    stop: Time | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("only",))


@dataclass(frozen=True, kw_only=True)
class PartitionAggregateTraffic(Record):
    """Requests that are split up among the hosts of a tree, whose answers are put together on the way back.

    Parameters
    ----------
    name : str
        The name of the traffic, by which its flows are reported.
    only : Sequence[Literal["modelled", "linux", "namespaces"] | Swept]
        The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
    priority : int | Swept
        The priority of its frames, in both directions. (at most 7) Default: ``0``.
    root : str
        The group whose hosts take requests, each by itself.
    levels : Sequence[Level]
        Those asked, from the top down: parents, then leaves.
    query : Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
        What it takes to ask one host.
    arrival : OnceArrival | PoissonArrival | PeriodicArrival | LoadArrival | ClosedLoopArrival | Table | str
        When requests arrive at each root.
    start : Time | Swept
        No request arrives before this time. Default: ``"0s"``.
    stop : Time | Swept
        No request arrives from this time on; ``duration`` when left out.
    deadline : Time | Swept
        How long after its arrival a request is answered with what there is; no limit when left out.
        (more than 0)
    """

    _kind: ClassVar[str | None] = "partition-aggregate"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "levels": ("level", False),
        "query": ("size-kind", False),
        "arrival": ("arrival", False),
    }

    name: str
    only: Sequence[Literal["modelled", "linux", "namespaces"] | Swept] | None = None
    priority: int | Swept | None = None
    root: str
    levels: Sequence[Level]
    query: Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
    arrival: OnceArrival | PoissonArrival | PeriodicArrival | LoadArrival | ClosedLoopArrival | Table | str
    start: Time | Swept | None = None
    stop: Time | Swept | None = None
    deadline: Time | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("only", "levels"))


@dataclass(frozen=True, kw_only=True)
class EventBuilderTraffic(Record):
    """Events of which every reader has a fragment, and one builder needs all.

    Parameters
    ----------
    name : str
        The name of the traffic, by which its flows are reported.
    only : Sequence[Literal["modelled", "linux", "namespaces"] | Swept]
        The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
    priority : int | Swept
        The priority of its frames, in both directions. (at most 7) Default: ``0``.
    readers : str
        The group whose hosts have a fragment of every event.
    builders : str
        The group whose hosts build events, in turn.
    fragment : Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
        What each reader has of an event.
    transfer : PushTransfer | PullTransfer | Table | str
        Who decides when fragments are sent. Default: ``{"kind": "push"}``.
    arrival : OnceArrival | PoissonArrival | PeriodicArrival | LoadArrival | ClosedLoopArrival | Table | str
        When events are triggered, by one process for all.
    connections : Literal["persistent", "per-fragment"] | Swept
        What carries fragments and requests. Default: ``"persistent"``.
    skew : Time | Swept
        Each reader is later than the trigger by a time of its own, drawn once: at most so long. (at
        most 3600s) Default: ``"0s"``.
    jitter : Time | Swept
        Each fragment is later by up to this again, at random. (at most 3600s) Default: ``"0s"``.
    buffer : Amount | Swept
        What a reader keeps of fragments that are not with their builders; unlimited when left out.
        (at least 1B)
    overflow : Literal["lose", "throttle"] | Swept
        What becomes of a trigger that finds no room with some reader. Default: ``"lose"``.
    start : Time | Swept
        No event is triggered before this time. Default: ``"0s"``.
    stop : Time | Swept
        No event is triggered from this time on; ``duration`` when left out.
    """

    _kind: ClassVar[str | None] = "event-builder"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "fragment": ("size-kind", False),
        "transfer": ("transfer", False),
        "arrival": ("arrival", False),
    }

    name: str
    only: Sequence[Literal["modelled", "linux", "namespaces"] | Swept] | None = None
    priority: int | Swept | None = None
    readers: str
    builders: str
    fragment: Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
    transfer: PushTransfer | PullTransfer | Table | str | None = None
    arrival: OnceArrival | PoissonArrival | PeriodicArrival | LoadArrival | ClosedLoopArrival | Table | str
    connections: Literal["persistent", "per-fragment"] | Swept | None = None
    skew: Time | Swept | None = None
    jitter: Time | Swept | None = None
    buffer: Amount | Swept | None = None
    overflow: Literal["lose", "throttle"] | Swept | None = None
    start: Time | Swept | None = None
    stop: Time | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("only",))


@dataclass(frozen=True, kw_only=True)
class HttpTraffic(Record):
    """Web clients, each with so many sessions that ask for one page after the other.

    Parameters
    ----------
    name : str
        The name of the traffic, by which its flows are reported.
    only : Sequence[Literal["modelled", "linux", "namespaces"] | Swept]
        The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
    priority : int | Swept
        The priority of its frames, in both directions. (at most 7) Default: ``0``.
    to : str
        The group that serves; client number n, over all groups, asks its server number n modulo
        their number.
    clients : Sequence[HttpClients]
        The clients.
    page : Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
        The pages that are asked for: an amount, or a distribution.
    header : Amount | Swept
        What comes before the page in each answer. (at most 64KiB) Default: ``"212B"``.
    request : Amount | Swept
        What it takes to ask. (1B to 64KiB) Default: ``"90B"``.
    requests_per_connection : int | Swept
        Requests of a connection, after which the server closes it. (1 to 1000000000) Default:
        ``1``.
    think : Time | Swept
        The mean of the time between a page and the next request of a session, which is exponential.
        (at most 3600s) Default: ``"0s"``.
    timeout : Time | Swept
        How long a request may take; then its connection is given up. No limit when left out. (more
        than 0)
    start : Time | Swept
        No request begins before this time. Default: ``"0s"``.
    ramp : Time | Swept
        The sessions of a client begin over this time, at equal distances, and not at one instant.
        (at most 3600s) Default: ``"0s"``.
    stop : Time | Swept
        No request begins from this time on; ``duration`` when left out.
    phases : bool | Swept
        The times until connections are open and until the first byte are reported, too. Default:
        ``false``.
    """

    _kind: ClassVar[str | None] = "http"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "clients": ("http-clients", False),
        "page": ("size-kind", False),
    }

    name: str
    only: Sequence[Literal["modelled", "linux", "namespaces"] | Swept] | None = None
    priority: int | Swept | None = None
    to: str
    clients: Sequence[HttpClients]
    page: Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
    header: Amount | Swept | None = None
    request: Amount | Swept | None = None
    requests_per_connection: int | Swept | None = None
    think: Time | Swept | None = None
    timeout: Time | Swept | None = None
    start: Time | Swept | None = None
    ramp: Time | Swept | None = None
    stop: Time | Swept | None = None
    phases: bool | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("only", "clients"))


@dataclass(frozen=True, kw_only=True)
class FixedSize(Record):
    """Always the same.

    Parameters
    ----------
    bytes : Amount | Swept
        The size of every flow. (at least 1B)
    """

    _kind: ClassVar[str | None] = "fixed"

    bytes: Amount | Swept


@dataclass(frozen=True, kw_only=True)
class UnlimitedSize(Record):
    """Without end."""

    _kind: ClassVar[str | None] = "unlimited"


@dataclass(frozen=True, kw_only=True)
class UniformSize(Record):
    """Every size from ``min`` to ``max`` equally likely.

    Parameters
    ----------
    min : Amount | Swept
        The smallest size. (at least 1B)
    max : Amount | Swept
        The largest size. (at least 1B)
    """

    _kind: ClassVar[str | None] = "uniform"

    min: Amount | Swept
    max: Amount | Swept


@dataclass(frozen=True, kw_only=True)
class ExponentialSize(Record):
    """Exponential, rounded up to a byte.

    Parameters
    ----------
    mean : Amount | Swept
        The mean size. (at least 1B)
    """

    _kind: ClassVar[str | None] = "exponential"

    mean: Amount | Swept


@dataclass(frozen=True, kw_only=True)
class ParetoSize(Record):
    """Pareto: few flows carry most of the data.

    Parameters
    ----------
    shape : float | Swept
        The tail index (a): smaller is heavier; at 1 the mean is infinite. (more than 1)
    mean : Amount | Swept
        The mean size, before ``max`` cuts the tail. (at least 1B)
    max : Amount | Swept
        Larger sizes become this; no limit when left out. (at least 1B)
    """

    _kind: ClassVar[str | None] = "pareto"

    shape: float | Swept
    mean: Amount | Swept
    max: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class CdfSize(Record):
    """As in a table of sizes and cumulative shares.

    Parameters
    ----------
    name : str
        A table that comes with Headway.
    file : str
        A file, relative to the scenario's: lines of size in bytes and cumulative share.
    """

    _kind: ClassVar[str | None] = "cdf"

    name: str | None = None
    file: str | None = None


@dataclass(frozen=True, kw_only=True)
class SharedSize(Record):
    """An equal part of a total that all senders of a destination send together.

    Parameters
    ----------
    total : Amount | Swept
        What they send together. (at least 1B)
    """

    _kind: ClassVar[str | None] = "shared"

    total: Amount | Swept


@dataclass(frozen=True, kw_only=True)
class OnceArrival(Record):
    """All at once, at ``start``.

    Parameters
    ----------
    count : int | Swept
        Flows of each process. (1 to 1000000) Default: ``1``.
    """

    _kind: ClassVar[str | None] = "once"

    count: int | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class PoissonArrival(Record):
    """At random, independently of each other.

    Parameters
    ----------
    mean : Time | Swept
        The mean time between two flows of a process. (more than 0)
    """

    _kind: ClassVar[str | None] = "poisson"

    mean: Time | Swept


@dataclass(frozen=True, kw_only=True)
class PeriodicArrival(Record):
    """At equal distances.

    Parameters
    ----------
    period : Time | Swept
        The time between two flows of a process. (more than 0)
    jitter : Time | Swept
        Each flow starts later by up to this, at random; shorter than the period. Default: ``"0s"``.
    """

    _kind: ClassVar[str | None] = "periodic"

    period: Time | Swept
    jitter: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class LoadArrival(Record):
    """At random, as often as makes a given share of the sources' links busy.

    Parameters
    ----------
    fraction : float | str
        The share of the rate of a source's interfaces that its flows ask for, on average. (more
        than 0)
    """

    _kind: ClassVar[str | None] = "load"

    fraction: float | str


@dataclass(frozen=True, kw_only=True)
class ClosedLoopArrival(Record):
    """One after another: the next when the one before is complete.

    Parameters
    ----------
    think : Time | Swept
        The mean of the time between, which is exponential; also before the first. At zero flows go
        back to back. Default: ``"0s"``.
    """

    _kind: ClassVar[str | None] = "closed-loop"

    think: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Pool(Record):
    """Connections that stay open, and carry flows as messages, one at a time each.

    Parameters
    ----------
    per_pair : int | Swept
        Connections between a source and a destination, at most. (1 to 1000) Default: ``1``.
    open : Literal["start", "first-use"] | Swept
        When they are opened. Default: ``"start"``.
    request : Amount | Swept
        What it takes the destination to ask the source for a flow; nobody asks when left out. (1B
        to 1GB)
    """

    per_pair: int | Swept | None = None
    open: Literal["start", "first-use"] | Swept | None = None
    request: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Datagrams(Record):
    """Flows are datagrams at a constant rate (UDP): nothing is acknowledged, repaired or slowed down.

    Parameters
    ----------
    rate : Rate | Swept
        Bits of frames per second, headers and checksum included, while a flow has something to
        send. (more than 0)
    payload : Amount | Swept
        Data of each datagram; the last one of a flow may have less. (1B to 65.489KB) Default:
        ``"1.472KB"``.
    """

    rate: Rate | Swept
    payload: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Level(Record):
    """Hosts that are asked by those of the level above.

    Parameters
    ----------
    on : str
        The group; its hosts are dealt out evenly, in their order, to those of the level above.
    answer : Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
        What each of them answers.
    deadline : Time | Swept
        How long after they are asked their answers must be there; no limit when left out. (more
        than 0)
    work : Time | Swept
        How long each works before it answers. (at most 3600s) Default: ``"0s"``.
    jitter : Time | Swept
        It works longer by up to this, at random. (at most 3600s) Default: ``"0s"``.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "answer": ("size-kind", False),
    }

    on: str
    answer: Literal["unlimited"] | Amount | FixedSize | UnlimitedSize | UniformSize | ExponentialSize | ParetoSize | CdfSize | SharedSize | Table | str
    deadline: Time | Swept | None = None
    work: Time | Swept | None = None
    jitter: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class PushTransfer(Record):
    """The reader: as soon as it has the fragment."""

    _kind: ClassVar[str | None] = "push"


@dataclass(frozen=True, kw_only=True)
class PullTransfer(Record):
    """The builder: it asks when it has a free slot.

    Parameters
    ----------
    slots : int | Swept
        Events that a builder builds at a time. (1 to 1000000) Default: ``1``.
    fragments : int | Swept
        Fragments that a builder has asked for and that are not there, at most; unlimited when left
        out. (1 to 1000000)
    request : Amount | Swept
        What it takes to ask for one fragment. (1B to 64KB) Default: ``"64B"``.
    work : Time | Swept
        How long a slot stays in use after its event is complete. (at most 3600s) Default: ``"0s"``.
    """

    _kind: ClassVar[str | None] = "pull"

    slots: int | Swept | None = None
    fragments: int | Swept | None = None
    request: Amount | Swept | None = None
    work: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class HttpClients(Record):
    """Web clients that are alike.

    Parameters
    ----------
    on : str
        The group; each of its hosts is a client.
    concurrency : int | Swept
        Sessions of each client. (1 to 100000) Default: ``1``.
    requests : int | Swept
        Requests of each client; as many as there is time for when left out. (1 to 4000000000)
    cpu_per_request : Time | Swept
        What a request takes of the client's core. (at most 1s) Default: ``"0s"``.
    cpu_per_session : Time | Swept
        What it takes more for each session of the client. (at most 1ms) Default: ``"0s"``.
    """

    on: str
    concurrency: int | Swept | None = None
    requests: int | Swept | None = None
    cpu_per_request: Time | Swept | None = None
    cpu_per_session: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Failure(Record):
    """A cable, an interface or a switch that goes down: one of ``link``, ``host`` and ``switch`` says what.

    Parameters
    ----------
    link : Sequence[str]
        The cables between two switches, or a switch and a host, by their names.
    host : str
        The cables of a host.
    interface : int | Swept
        Only the cable of this interface of ``host``, from 0. (0 to 63)
    crash : Literal["host", "process"] | Swept
        ``host`` is a relay that crashes: all of it, or its process alone.
    switch : str
        All cables of a switch.
    at : Time | Swept
        From when on, counted from the start of the run.
    until : Time | Swept
        Until when; to the end of the run when left out.
    direction : Literal["both", "forth", "back"] | Swept
        Which direction. Default: ``"both"``.
    reroute : Literal[False] | Time | Swept
        Routing avoids the cables after this time, and uses them again as long after ``until``;
        ``false``: never. (0s to 3600s) Default: ``false``.
    carrier : bool | Swept
        Hosts see at once that a cable of their own is down in both directions. Default: ``true``.
    """

    link: Sequence[str] | None = None
    host: str | None = None
    interface: int | Swept | None = None
    crash: Literal["host", "process"] | Swept | None = None
    switch: str | None = None
    at: Time | Swept
    until: Time | Swept | None = None
    direction: Literal["both", "forth", "back"] | Swept | None = None
    reroute: Literal[False] | Time | Swept | None = None
    carrier: bool | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("link",))


@dataclass(frozen=True, kw_only=True)
class Policy(Record):
    """One way of sending: every policy sends the same traffic.

    Parameters
    ----------
    name : str
        The name of the policy, by which its results are reported.
    transport : TcpTransport | MptcpTransport | RoceTransport | Table | str
        The protocol and settings of all flows that ``traffic`` does not name.
    replicate : Replicate
        Sends short flows several times over different paths; the first copy to arrive counts
        (RepFlow).
    traffic : Mapping[str, TcpTransport | MptcpTransport | RoceTransport | Table | str]
        By the name of a traffic: the protocol and settings of its flows, instead of ``transport``.
    pacing : ModelledPacing
        Cards of modelled hosts space out what leaves them; as it comes when left out.
    lossless : Lossless
        Ports of switches and cards have priorities, and pause senders before frames are lost; they
        do not when left out.
    relay : RelayPolicy
        Flows go over relays, hosts that end TCP on both sides; they do not when left out.
    metering : Metering
        Limits on ports of switches; none when left out.
    linux : LinuxPolicy
        What kernel hosts have beyond that.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "transport": ("transport", False),
        "replicate": ("replicate", False),
        "traffic": ("transport", True),
        "pacing": ("modelled-pacing", False),
        "lossless": ("lossless", False),
        "relay": ("relay-policy", False),
        "metering": ("metering", False),
        "linux": ("linux-policy", False),
    }

    name: str
    transport: TcpTransport | MptcpTransport | RoceTransport | Table | str
    replicate: Replicate | None = None
    traffic: Mapping[str, TcpTransport | MptcpTransport | RoceTransport | Table | str] | None = None
    pacing: ModelledPacing | None = None
    lossless: Lossless | None = None
    relay: RelayPolicy | None = None
    metering: Metering | None = None
    linux: LinuxPolicy | None = None


@dataclass(frozen=True, kw_only=True)
class TcpTransport(Record):
    """TCP: one path.

    Parameters
    ----------
    stack : Literal["rfc", "linux", "linux-2.6", "windows-xp"] | Swept
        Whose TCP it is: what all other keys are that are left out. Default: ``"rfc"``.
    recovery : Literal["new-reno", "sack", "rack"] | Swept
        How lost packets are found and retransmitted.
    reduction : Literal["at-once", "proportional", "halving"] | Swept
        How the window comes down when packets were lost or marked.
    tail_loss_probe : bool | Swept
        Sends the last packet again if nothing is heard of it for two round trips (RFC 8985).
    f_rto : bool | Swept
        Finds out whether a retransmission timeout was needless before it sends more again (RFC
        5682).
    undo : bool | Swept
        Takes reductions back that prove needless (RFC 2883, RFC 3522).
    duplicate_threshold : int | Swept
        Duplicate acknowledgements, or packets reported above a missing one, that mean loss. (1 to
        300)
    initial_window : int | Swept
        The congestion window at the start, in packets (RFC 6928). (1 to 1000)
    initial_ssthresh : Amount | Swept
        Where the first slow start ends; when left out, at the first loss. (at least 1B)
    slow_start_growth : Literal["unlimited"] | int | Swept
        Packets by which an acknowledgement grows the window in slow start at most (RFC 3465's L),
        or "unlimited". (1 to 1000)
    reduces : Literal["flight", "cwnd"] | Swept
        What congestion reduces.
    idle_restart : Literal["keep", "restart", "decay"] | Swept
        What becomes of a window that was not used for a while.
    rto_rule : Literal["rfc6298", "linux"] | Swept
        How the retransmission timeout follows the round trips.
    min_rto : Time | Swept
        The shortest retransmission timeout. (1ps to 3600s)
    initial_rto : Time | Swept
        The retransmission timeout before a round trip is measured (RFC 6298). (1us to 3600s)
    max_rto : Time | Swept
        The longest retransmission timeout. (1us to 3600s)
    delayed_ack : DelayedAck
        When a receiver acknowledges.
    limited_transmit : bool | Swept
        Sends new data on the first duplicate acknowledgements (RFC 3042).
    receive_window : Amount | Swept | Window
        What a receiver accepts ahead of the application: an amount, or ``{ initial, most }`` if it
        grows.
    window_scaling : bool | Swept
        Windows may be larger than 65,535 bytes (RFC 7323).
    send_buffer : Literal["unlimited"] | Amount | Swept
        What a sender may have written that is not acknowledged, or "unlimited". (4KiB to 1GiB)
    segmentation_offload : Literal[False] | Amount | Swept
        The most data that leaves back to back, as a card cuts it into packets, or false. (1B to
        1MiB)
    small_queues : bool | Swept
        Waits while the host's card holds much of the connection (TCP small queues); needs
        ``segmentation-offload``.
    pacing : Literal["control", "always"] | Swept
        What is spaced out.
    max_pacing_rate : Rate | Swept
        Paced at no higher rate than this, counted without headers as Linux does
        (``SO_MAX_PACING_RATE``). (at least 10kbps)
    ecn : bool | Swept
        Reacts to marked packets (RFC 3168).
    timestamps : bool | Swept
        Carries timestamps, 12 bytes in every packet (RFC 7323).
    control_parameters : Mapping[str, float | Swept]
        Settings of the congestion control by name.
    linux : LinuxTransport
        What is different on kernel hosts.
    control : str
        The congestion control by name; that of ``stack`` when left out.
    interface : int | Swept
        The interface that connections use, counted from 0; chosen by their hash when left out. (0
        to 63)
    """

    _kind: ClassVar[str | None] = "tcp"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "delayed_ack": ("delayed-ack", False),
        "receive_window": ("window", False),
        "linux": ("linux-transport", False),
    }

    stack: Literal["rfc", "linux", "linux-2.6", "windows-xp"] | Swept | None = None
    recovery: Literal["new-reno", "sack", "rack"] | Swept | None = None
    reduction: Literal["at-once", "proportional", "halving"] | Swept | None = None
    tail_loss_probe: bool | Swept | None = None
    f_rto: bool | Swept | None = None
    undo: bool | Swept | None = None
    duplicate_threshold: int | Swept | None = None
    initial_window: int | Swept | None = None
    initial_ssthresh: Amount | Swept | None = None
    slow_start_growth: Literal["unlimited"] | int | Swept | None = None
    reduces: Literal["flight", "cwnd"] | Swept | None = None
    idle_restart: Literal["keep", "restart", "decay"] | Swept | None = None
    rto_rule: Literal["rfc6298", "linux"] | Swept | None = None
    min_rto: Time | Swept | None = None
    initial_rto: Time | Swept | None = None
    max_rto: Time | Swept | None = None
    delayed_ack: DelayedAck | None = None
    limited_transmit: bool | Swept | None = None
    receive_window: Amount | Swept | Window | None = None
    window_scaling: bool | Swept | None = None
    send_buffer: Literal["unlimited"] | Amount | Swept | None = None
    segmentation_offload: Literal[False] | Amount | Swept | None = None
    small_queues: bool | Swept | None = None
    pacing: Literal["control", "always"] | Swept | None = None
    max_pacing_rate: Rate | Swept | None = None
    ecn: bool | Swept | None = None
    timestamps: bool | Swept | None = None
    control_parameters: Mapping[str, float | Swept] | None = None
    linux: LinuxTransport | None = None
    control: str | None = None
    interface: int | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class MptcpTransport(Record):
    """Multipath TCP (RFC 8684): a subflow on each path.

    Parameters
    ----------
    stack : Literal["rfc", "linux", "linux-2.6", "windows-xp"] | Swept
        Whose TCP it is: what all other keys are that are left out. Default: ``"rfc"``.
    recovery : Literal["new-reno", "sack", "rack"] | Swept
        How lost packets are found and retransmitted.
    reduction : Literal["at-once", "proportional", "halving"] | Swept
        How the window comes down when packets were lost or marked.
    tail_loss_probe : bool | Swept
        Sends the last packet again if nothing is heard of it for two round trips (RFC 8985).
    f_rto : bool | Swept
        Finds out whether a retransmission timeout was needless before it sends more again (RFC
        5682).
    undo : bool | Swept
        Takes reductions back that prove needless (RFC 2883, RFC 3522).
    duplicate_threshold : int | Swept
        Duplicate acknowledgements, or packets reported above a missing one, that mean loss. (1 to
        300)
    initial_window : int | Swept
        The congestion window at the start, in packets (RFC 6928). (1 to 1000)
    initial_ssthresh : Amount | Swept
        Where the first slow start ends; when left out, at the first loss. (at least 1B)
    slow_start_growth : Literal["unlimited"] | int | Swept
        Packets by which an acknowledgement grows the window in slow start at most (RFC 3465's L),
        or "unlimited". (1 to 1000)
    reduces : Literal["flight", "cwnd"] | Swept
        What congestion reduces.
    idle_restart : Literal["keep", "restart", "decay"] | Swept
        What becomes of a window that was not used for a while.
    rto_rule : Literal["rfc6298", "linux"] | Swept
        How the retransmission timeout follows the round trips.
    min_rto : Time | Swept
        The shortest retransmission timeout. (1ps to 3600s)
    initial_rto : Time | Swept
        The retransmission timeout before a round trip is measured (RFC 6298). (1us to 3600s)
    max_rto : Time | Swept
        The longest retransmission timeout. (1us to 3600s)
    delayed_ack : DelayedAck
        When a receiver acknowledges.
    limited_transmit : bool | Swept
        Sends new data on the first duplicate acknowledgements (RFC 3042).
    receive_window : Amount | Swept | Window
        What a receiver accepts ahead of the application: an amount, or ``{ initial, most }`` if it
        grows.
    window_scaling : bool | Swept
        Windows may be larger than 65,535 bytes (RFC 7323).
    send_buffer : Literal["unlimited"] | Amount | Swept
        What a sender may have written that is not acknowledged, or "unlimited". (4KiB to 1GiB)
    segmentation_offload : Literal[False] | Amount | Swept
        The most data that leaves back to back, as a card cuts it into packets, or false. (1B to
        1MiB)
    small_queues : bool | Swept
        Waits while the host's card holds much of the connection (TCP small queues); needs
        ``segmentation-offload``.
    pacing : Literal["control", "always"] | Swept
        What is spaced out.
    max_pacing_rate : Rate | Swept
        Paced at no higher rate than this, counted without headers as Linux does
        (``SO_MAX_PACING_RATE``). (at least 10kbps)
    ecn : bool | Swept
        Reacts to marked packets (RFC 3168).
    timestamps : bool | Swept
        Carries timestamps, 12 bytes in every packet (RFC 7323).
    control_parameters : Mapping[str, float | Swept]
        Settings of the congestion control by name.
    linux : LinuxTransport
        What is different on kernel hosts.
    control : str
        The congestion control by name; coupled ones share the window among subflows. Default:
        ``"lia"``.
    subflows : int | Swept
        Subflows of a connection; one for each pair of addresses, up to 8, when left out. (1 to 8)
    address_pairs : Literal["one-to-one", "full-mesh"] | Swept
        Which addresses of the two hosts make a subflow. Default: ``"one-to-one"``.
    join_after : Amount | Swept
        Further subflows open once so much is acknowledged. Default: ``"0B"``.
    scheduler : Literal["lowest-rtt"] | Swept
        Which subflow sends next. Default: ``"lowest-rtt"``.
    lanes : ModelledLanes | DeadlineJudge | LinkCostJudge | BytesSentJudge | BacklogJudge | DeliveryRateJudge | OwnJudge | Table | str
        Keeps short and long flows on different paths.
    backup : Sequence[int | Swept]
        Subflows, counted from 0 in the order of interfaces, that carry data only when no other can.
        Default: ``[]``.
    syn_fallback : bool | Swept
        A connection whose SYN was not answered in time tries the next interface. Default:
        ``false``.
    """

    _kind: ClassVar[str | None] = "mptcp"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "delayed_ack": ("delayed-ack", False),
        "receive_window": ("window", False),
        "linux": ("linux-transport", False),
        "lanes": ("modelled-lanes", False),
    }

    stack: Literal["rfc", "linux", "linux-2.6", "windows-xp"] | Swept | None = None
    recovery: Literal["new-reno", "sack", "rack"] | Swept | None = None
    reduction: Literal["at-once", "proportional", "halving"] | Swept | None = None
    tail_loss_probe: bool | Swept | None = None
    f_rto: bool | Swept | None = None
    undo: bool | Swept | None = None
    duplicate_threshold: int | Swept | None = None
    initial_window: int | Swept | None = None
    initial_ssthresh: Amount | Swept | None = None
    slow_start_growth: Literal["unlimited"] | int | Swept | None = None
    reduces: Literal["flight", "cwnd"] | Swept | None = None
    idle_restart: Literal["keep", "restart", "decay"] | Swept | None = None
    rto_rule: Literal["rfc6298", "linux"] | Swept | None = None
    min_rto: Time | Swept | None = None
    initial_rto: Time | Swept | None = None
    max_rto: Time | Swept | None = None
    delayed_ack: DelayedAck | None = None
    limited_transmit: bool | Swept | None = None
    receive_window: Amount | Swept | Window | None = None
    window_scaling: bool | Swept | None = None
    send_buffer: Literal["unlimited"] | Amount | Swept | None = None
    segmentation_offload: Literal[False] | Amount | Swept | None = None
    small_queues: bool | Swept | None = None
    pacing: Literal["control", "always"] | Swept | None = None
    max_pacing_rate: Rate | Swept | None = None
    ecn: bool | Swept | None = None
    timestamps: bool | Swept | None = None
    control_parameters: Mapping[str, float | Swept] | None = None
    linux: LinuxTransport | None = None
    control: str | None = None
    subflows: int | Swept | None = None
    address_pairs: Literal["one-to-one", "full-mesh"] | Swept | None = None
    join_after: Amount | Swept | None = None
    scheduler: Literal["lowest-rtt"] | Swept | None = None
    lanes: ModelledLanes | DeadlineJudge | LinkCostJudge | BytesSentJudge | BacklogJudge | DeliveryRateJudge | OwnJudge | Table | str | None = None
    backup: Sequence[int | Swept] | None = None
    syn_fallback: bool | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("backup",))


@dataclass(frozen=True, kw_only=True)
class RoceTransport(Record):
    """RoCEv2: RDMA whose cards send at rates.

    Parameters
    ----------
    stack : Literal["rfc", "linux", "linux-2.6", "windows-xp"] | Swept
        Whose TCP it is: what all other keys are that are left out. Default: ``"rfc"``.
    recovery : Literal["new-reno", "sack", "rack"] | Swept
        How lost packets are found and retransmitted.
    reduction : Literal["at-once", "proportional", "halving"] | Swept
        How the window comes down when packets were lost or marked.
    tail_loss_probe : bool | Swept
        Sends the last packet again if nothing is heard of it for two round trips (RFC 8985).
    f_rto : bool | Swept
        Finds out whether a retransmission timeout was needless before it sends more again (RFC
        5682).
    undo : bool | Swept
        Takes reductions back that prove needless (RFC 2883, RFC 3522).
    duplicate_threshold : int | Swept
        Duplicate acknowledgements, or packets reported above a missing one, that mean loss. (1 to
        300)
    initial_window : int | Swept
        The congestion window at the start, in packets (RFC 6928). (1 to 1000)
    initial_ssthresh : Amount | Swept
        Where the first slow start ends; when left out, at the first loss. (at least 1B)
    slow_start_growth : Literal["unlimited"] | int | Swept
        Packets by which an acknowledgement grows the window in slow start at most (RFC 3465's L),
        or "unlimited". (1 to 1000)
    reduces : Literal["flight", "cwnd"] | Swept
        What congestion reduces.
    idle_restart : Literal["keep", "restart", "decay"] | Swept
        What becomes of a window that was not used for a while.
    rto_rule : Literal["rfc6298", "linux"] | Swept
        How the retransmission timeout follows the round trips.
    min_rto : Time | Swept
        The shortest retransmission timeout. (1ps to 3600s)
    initial_rto : Time | Swept
        The retransmission timeout before a round trip is measured (RFC 6298). (1us to 3600s)
    max_rto : Time | Swept
        The longest retransmission timeout. (1us to 3600s)
    delayed_ack : DelayedAck
        When a receiver acknowledges.
    limited_transmit : bool | Swept
        Sends new data on the first duplicate acknowledgements (RFC 3042).
    receive_window : Amount | Swept | Window
        What a receiver accepts ahead of the application: an amount, or ``{ initial, most }`` if it
        grows.
    window_scaling : bool | Swept
        Windows may be larger than 65,535 bytes (RFC 7323).
    send_buffer : Literal["unlimited"] | Amount | Swept
        What a sender may have written that is not acknowledged, or "unlimited". (4KiB to 1GiB)
    segmentation_offload : Literal[False] | Amount | Swept
        The most data that leaves back to back, as a card cuts it into packets, or false. (1B to
        1MiB)
    small_queues : bool | Swept
        Waits while the host's card holds much of the connection (TCP small queues); needs
        ``segmentation-offload``.
    pacing : Literal["control", "always"] | Swept
        What is spaced out.
    max_pacing_rate : Rate | Swept
        Paced at no higher rate than this, counted without headers as Linux does
        (``SO_MAX_PACING_RATE``). (at least 10kbps)
    ecn : bool | Swept
        Reacts to marked packets (RFC 3168).
    timestamps : bool | Swept
        Carries timestamps, 12 bytes in every packet (RFC 7323).
    control_parameters : Mapping[str, float | Swept]
        Settings of the congestion control by name.
    linux : LinuxTransport
        What is different on kernel hosts.
    control : Literal["dcqcn", "none"] | Swept
        Congestion control. Default: ``"dcqcn"``.
    dcqcn : Dcqcn
        Parameters of DCQCN.
    retransmission : Literal["go-back-n", "selective-repeat"] | Swept
        How lost packets are repaired. Default: ``"go-back-n"``.
    path_mtu : Amount | Swept
        Data in a full packet: 256, 512, 1024, 2048 or 4096 bytes; the most that fits when left out.
    rate : Rate | Swept
        A queue pair never sends faster; the rate of its line when left out. (at least 10kbps)
    window : Literal["unlimited"] | Amount | Swept
        Data on the way at most, as IRN's BDP cap, or "unlimited". (at least 1B) Default:
        ``"unlimited"``.
    ack_every : int | Swept
        So many packets are acknowledged at once; the last always. (1 to 1000) Default: ``1``.
    nak_interval : Literal[False] | Time | Swept
        With go-back-N, a packet that is still missing is reported again after so long, or false;
        500 µs when left out. (1us to 3600s)
    timeout : Time | Swept
        The time without progress after which what is not acknowledged is sent again. (1us to 3600s)
        Default: ``"67.108864ms"``.
    cnp_priority : int | Swept
        The priority of congestion notification packets; 6 when left out. (0 to 7)
    """

    _kind: ClassVar[str | None] = "roce"

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "delayed_ack": ("delayed-ack", False),
        "receive_window": ("window", False),
        "linux": ("linux-transport", False),
        "dcqcn": ("dcqcn", False),
    }

    stack: Literal["rfc", "linux", "linux-2.6", "windows-xp"] | Swept | None = None
    recovery: Literal["new-reno", "sack", "rack"] | Swept | None = None
    reduction: Literal["at-once", "proportional", "halving"] | Swept | None = None
    tail_loss_probe: bool | Swept | None = None
    f_rto: bool | Swept | None = None
    undo: bool | Swept | None = None
    duplicate_threshold: int | Swept | None = None
    initial_window: int | Swept | None = None
    initial_ssthresh: Amount | Swept | None = None
    slow_start_growth: Literal["unlimited"] | int | Swept | None = None
    reduces: Literal["flight", "cwnd"] | Swept | None = None
    idle_restart: Literal["keep", "restart", "decay"] | Swept | None = None
    rto_rule: Literal["rfc6298", "linux"] | Swept | None = None
    min_rto: Time | Swept | None = None
    initial_rto: Time | Swept | None = None
    max_rto: Time | Swept | None = None
    delayed_ack: DelayedAck | None = None
    limited_transmit: bool | Swept | None = None
    receive_window: Amount | Swept | Window | None = None
    window_scaling: bool | Swept | None = None
    send_buffer: Literal["unlimited"] | Amount | Swept | None = None
    segmentation_offload: Literal[False] | Amount | Swept | None = None
    small_queues: bool | Swept | None = None
    pacing: Literal["control", "always"] | Swept | None = None
    max_pacing_rate: Rate | Swept | None = None
    ecn: bool | Swept | None = None
    timestamps: bool | Swept | None = None
    control_parameters: Mapping[str, float | Swept] | None = None
    linux: LinuxTransport | None = None
    control: Literal["dcqcn", "none"] | Swept | None = None
    dcqcn: Dcqcn | None = None
    retransmission: Literal["go-back-n", "selective-repeat"] | Swept | None = None
    path_mtu: Amount | Swept | None = None
    rate: Rate | Swept | None = None
    window: Literal["unlimited"] | Amount | Swept | None = None
    ack_every: int | Swept | None = None
    nak_interval: Literal[False] | Time | Swept | None = None
    timeout: Time | Swept | None = None
    cnp_priority: int | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class DelayedAck(Record):
    """When a receiver acknowledges.

    What is left out is as ``stack`` has it.

    Parameters
    ----------
    packets : int | Swept
        At the latest after so many packets; 1 acknowledges each. (1 to 1000)
    timeout : Time | Swept
        At the latest after this time. (0s to 3600s)
    quick : int | Swept
        The first so many packets of a flow are acknowledged at once.
    adaptive : bool | Swept
        The timeout follows the gaps between packets, and more as Linux does it.
    compression : bool | Swept
        With ``adaptive``: while packets are missing, one acknowledgement a millisecond instead of
        one for each packet.
    """

    packets: int | Swept | None = None
    timeout: Time | Swept | None = None
    quick: int | Swept | None = None
    adaptive: bool | Swept | None = None
    compression: bool | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Window(Record):
    """A receive window that grows with what arrives.

    Parameters
    ----------
    initial : Amount | Swept
        The window in the beginning; that of ``stack`` when left out. (1B to 1GiB)
    most : Amount | Swept
        The largest window; that of ``stack`` when left out. (1B to 1GiB)
    """

    initial: Amount | Swept | None = None
    most: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class LinuxTransport(Record):
    """What is different on kernel hosts; a key left out is as for modelled ones.

    Parameters
    ----------
    control : str
        The congestion control, as the kernel calls it.
    recovery : Literal["new-reno", "sack", "rack"] | Swept
        How lost packets are found and retransmitted.
    subflows : int | Swept
        Subflows of a connection. (1 to 8)
    join_after : Amount | Swept
        Further subflows open once so much is acknowledged; kernels know 0 alone.
    min_rto : Time | Swept
        The shortest retransmission timeout. (1ps to 3600s)
    initial_rto : Time | Swept
        The retransmission timeout before a round trip is measured; kernels know 1s alone. (1us to
        3600s)
    max_rto : Time | Swept
        The longest retransmission timeout; kernels know 120s alone. (1us to 3600s)
    delayed_ack : DelayedAck
        When a receiver acknowledges.
    ecn : bool | Swept
        Asks for and grants ECN.
    timestamps : bool | Swept
        Carries timestamps.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "delayed_ack": ("delayed-ack", False),
    }

    control: str | None = None
    recovery: Literal["new-reno", "sack", "rack"] | Swept | None = None
    subflows: int | Swept | None = None
    join_after: Amount | Swept | None = None
    min_rto: Time | Swept | None = None
    initial_rto: Time | Swept | None = None
    max_rto: Time | Swept | None = None
    delayed_ack: DelayedAck | None = None
    ecn: bool | Swept | None = None
    timestamps: bool | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class ModelledLanes(Record):
    """Lanes, as every host can have them.

    Parameters
    ----------
    short : int | Swept
        The sender's first so many interfaces are lanes for short flows, all others lanes for long
        ones. (1 to 7) Default: ``1``.
    start : Literal["first", "hash", "round-robin", "least-cost"] | Swept
        On which short lane a connection starts. Default: ``"first"``.
    back : Return
        When a long flow comes back to the short lanes; never when left out.
    leftovers : Leftovers
        What a long flow takes of the short lanes while long ones carry it; nothing when left out.
    judge : DeadlineJudge | LinkCostJudge | BytesSentJudge | BacklogJudge | DeliveryRateJudge | OwnJudge | Table | str
        What decides that a connection is long. Default: ``{"kind": "link-cost", "deadline":
        "300ms", "alpha": 1.0, "beta": 1.0, "gamma": 1.0, "delta": 1.0, "delay-unit": "125us",
        "time-unit": "1ms", "base-rtt": "own"}``.
    open : Literal["early", "when-long"] | Swept
        When subflows on long lanes are opened; left out: on modelled hosts and those of a scenario
        ``early``, as in the thesis; in the daemon ``early`` if the judge is ``link-cost``, else
        ``when-long``, since each costs a real host work.
    patience : Time | Swept
        For so long a long connection waits for a long lane before it uses the short ones in full
        again; until then it sends two packets per round trip there. (0s to 3600s) Default:
        ``"0s"``.
    history : History
        What hosts remember of earlier connections to the same host; left out, what a service's
        connections were is not remembered.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "back": ("return", False),
        "leftovers": ("leftovers", False),
        "judge": ("judge", False),
        "history": ("history", False),
    }

    short: int | Swept | None = None
    start: Literal["first", "hash", "round-robin", "least-cost"] | Swept | None = None
    back: Return | None = None
    leftovers: Leftovers | None = None
    judge: DeadlineJudge | LinkCostJudge | BytesSentJudge | BacklogJudge | DeliveryRateJudge | OwnJudge | Table | str | None = None
    open: Literal["early", "when-long"] | Swept | None = None
    patience: Time | Swept | None = None
    history: History | None = None


@dataclass(frozen=True, kw_only=True)
class Return(Record):
    """A long flow comes back to the short lanes when all long ones have been fuller for a while.

    Parameters
    ----------
    margin : Time | Swept
        By so much the queueing delay of every long lane must exceed that of the emptiest short one.
        Default: ``"2ms"``.
    hold : Time | Swept
        For so long. Default: ``"100ms"``.
    """

    margin: Time | Swept | None = None
    hold: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Leftovers(Record):
    """A long flow keeps a small window on each short lane as long as that is empty enough.

    Parameters
    ----------
    packets : int | Swept
        The window in packets. (2 to 64) Default: ``2``.
    below : Time | Swept
        A sample with more queueing delay than this ends it. Default: ``"1ms"``.
    pause : Time | Swept
        So much later it tries again. Default: ``"50ms"``.
    """

    packets: int | Swept | None = None
    below: Time | Swept | None = None
    pause: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class DeadlineJudge(Record):
    """A connection older than a deadline is long.

    Parameters
    ----------
    deadline : Time | Swept
        The age at which a connection is long. (more than 0) Default: ``"300ms"``.
    """

    _kind: ClassVar[str | None] = "deadline"

    deadline: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class LinkCostJudge(Record):
    """A connection is long once a long lane has the lowest link cost of its lanes (thesis eq.

    5.7).

    Parameters
    ----------
    deadline : Time | Swept
        The age at which short lanes begin to cost more than long ones. (more than 0) Default:
        ``"300ms"``.
    alpha : float | Swept
        α, the weight of the queueing delay: larger reacts to congestion earlier. (0 to 1000000)
        Default: ``1.0``.
    beta : float | Swept
        β, the exponent of the queueing delay. (more than 0, at most 8) Default: ``1.0``.
    gamma : float | Swept
        γ, the weight of the deadline: larger follows it more closely, 0 ignores it. (0 to 1000000)
        Default: ``1.0``.
    delta : float | Swept
        δ, the exponent of the time since the deadline. (more than 0, at most 8) Default: ``1.0``.
    delay_unit : Time | Swept
        The queueing delay that counts as 1. (more than 0) Default: ``"125us"``.
    time_unit : Time | Swept
        The time since the deadline that counts as 1; 4 ms repeats the thesis (docs/lanes.md). (more
        than 0) Default: ``"1ms"``.
    base_rtt : Literal["own", "common"] | Swept
        What queueing delay counts from. Default: ``"own"``.
    """

    _kind: ClassVar[str | None] = "link-cost"

    deadline: Time | Swept | None = None
    alpha: float | Swept | None = None
    beta: float | Swept | None = None
    gamma: float | Swept | None = None
    delta: float | Swept | None = None
    delay_unit: Time | Swept | None = None
    time_unit: Time | Swept | None = None
    base_rtt: Literal["own", "common"] | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class BytesSentJudge(Record):
    """A connection of which so much has been acknowledged is long.

    Parameters
    ----------
    threshold : Amount | Swept
        Bytes acknowledged. Default: ``"100KB"``.
    """

    _kind: ClassVar[str | None] = "bytes-sent"

    threshold: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class BacklogJudge(Record):
    """A connection of which so much waits to be sent or acknowledged is long.

    Parameters
    ----------
    threshold : Amount | Swept
        Bytes written and not acknowledged. (at least 1B) Default: ``"100KB"``.
    """

    _kind: ClassVar[str | None] = "backlog"

    threshold: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class DeliveryRateJudge(Record):
    """A connection that is delivered this fast is long.

    Parameters
    ----------
    rate : Rate | Swept
        The least rate of a long connection. (more than 0) Default: ``"20Mbps"``.
    window : Time | Swept
        The time over which it is averaged. (more than 0) Default: ``"50ms"``.
    """

    _kind: ClassVar[str | None] = "delivery-rate"

    rate: Rate | Swept | None = None
    window: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class OwnJudge(Record):
    """The program that runs the scenario decides; modelled hosts alone.

    Parameters
    ----------
    name : str
        The judge, as the program calls it.
    parameters : Mapping[str, float | Swept]
        Its settings by name.
    """

    _kind: ClassVar[str | None] = "own"

    name: str
    parameters: Mapping[str, float | Swept] | None = None


@dataclass(frozen=True, kw_only=True)
class History(Record):
    """What a host remembers of its connections, per destination and lane: queueing delay, smallest round trip, failures; and per service whether they turned out long.

    Parameters
    ----------
    half_life : Time | Swept
        What was seen so long ago counts half. (more than 0s, at most 86400s) Default: ``"1s"``.
    capacity : int | Swept
        Destinations at most; the one not heard of for longest is forgotten. (1 to 1000000) Default:
        ``4096``.
    long : Amount | Swept
        A connection of at least so many bytes was long. (at least 1B) Default: ``"100KB"``.
    long_share : float | str
        If this share of the connections to a service was long, the next one is long from its start;
        never when left out. (more than 0)
    """

    half_life: Time | Swept | None = None
    capacity: int | Swept | None = None
    long: Amount | Swept | None = None
    long_share: float | str | None = None


@dataclass(frozen=True, kw_only=True)
class Dcqcn(Record):
    """DCQCN.

    Parameters
    ----------
    gain : float | Swept
        The weight of a notification in the average of congestion, g. (0.000001 to 1) Default:
        ``0.00390625``.
    alpha_interval : Time | Swept
        Without a notification for so long the average shrinks. (1us to 3600s) Default: ``"55us"``.
    cnp_interval : Time | Swept
        The least time between two notifications of a flow. (0s to 3600s) Default: ``"50us"``.
    timer : Time | Swept
        The rate recovers a step in each such time. (1us to 3600s) Default: ``"55us"``.
    byte_counter : Amount | Swept
        The rate recovers a step whenever so much was sent. (at least 1KB) Default: ``"10MB"``.
    threshold : int | Swept
        Steps of fast recovery, F. (1 to 100) Default: ``5``.
    additive : Rate | Swept
        What a step adds to the target afterwards. Default: ``"40Mbps"``.
    hyper : Rate | Swept
        The same when time and bytes have both made so many steps. Default: ``"200Mbps"``.
    least : Rate | Swept
        The least rate. (at least 10kbps) Default: ``"1Mbps"``.
    """

    gain: float | Swept | None = None
    alpha_interval: Time | Swept | None = None
    cnp_interval: Time | Swept | None = None
    timer: Time | Swept | None = None
    byte_counter: Amount | Swept | None = None
    threshold: int | Swept | None = None
    additive: Rate | Swept | None = None
    hyper: Rate | Swept | None = None
    least: Rate | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Replicate(Record):
    """Sends short flows several times over different paths.

    Parameters
    ----------
    below : Amount | Swept
        Flows of at most this size are replicated. (at least 1B) Default: ``"100KB"``.
    copies : int | Swept
        How often each is sent in all. (2 to 64) Default: ``2``.
    """

    below: Amount | Swept | None = None
    copies: int | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class ModelledPacing(Record):
    """Pacing, as every host can have it.

    Parameters
    ----------
    by : Literal["gap", "gap-frames", "timer"] | Swept
        How packets are kept back. Default: ``"gap"``.
    granularity : Time | Swept
        The distance of the timer's ticks; ``by = "timer"`` needs it. (1ns to 1s)
    queue : Amount | Swept
        Packets that wait at an interface at most; more are dropped. Default: ``"10000pkt"``.
    hosts : Sequence[str]
        The groups of hosts that have such cards; all hosts when left out.
    classes : Mapping[str, PacingClass]
        Traffic that shares a limit or has a pace of its own.
    rate : Literal["dynamic", "none"] | Rate | Swept
        The rate of each flow: "dynamic", its window a round trip; a rate; or "none". Default:
        ``"dynamic"``.
    limit : Rate | Swept
        The most of a dynamic rate. (1kbps to 8Tbps)
    round_trip : Literal["smoothed", "least"] | Swept
        The round trip of a dynamic rate; smoothed when left out.
    interface_limit : Rate | Swept
        All that leaves an interface together. (1kbps to 8Tbps)
    burst : int | Swept
        Packets of a flow that leave back to back; 1 when left out, without ``clusters``. (1 to
        1000)
    clusters : int | Swept
        Bursts of a flow in a round trip, each with its part of the window. (1 to 1000)
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "classes": ("pacing-class", True),
    }

    by: Literal["gap", "gap-frames", "timer"] | Swept | None = None
    granularity: Time | Swept | None = None
    queue: Amount | Swept | None = None
    hosts: Sequence[str] | None = None
    classes: Mapping[str, PacingClass] | None = None
    rate: Literal["dynamic", "none"] | Rate | Swept | None = None
    limit: Rate | Swept | None = None
    round_trip: Literal["smoothed", "least"] | Swept | None = None
    interface_limit: Rate | Swept | None = None
    burst: int | Swept | None = None
    clusters: int | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("hosts",))


@dataclass(frozen=True, kw_only=True)
class PacingClass(Record):
    """A class of traffic within a card.

    Parameters
    ----------
    traffic : Sequence[str]
        The traffic in it; that of the class' name when left out.
    rate : Literal["dynamic", "none"] | Rate | Swept
        The rate of each of its flows; that of all flows when left out. (at least 1kbps)
    limit : Rate | Swept
        All its flows together, over an interface. (1kbps to 8Tbps)
    share : int | Swept
        Its part of the line where classes compete; flows of no class have 1. (1 to 1000) Default:
        ``1``.
    """

    traffic: Sequence[str] | None = None
    rate: Literal["dynamic", "none"] | Rate | Swept | None = None
    limit: Rate | Swept | None = None
    share: int | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("traffic",))


@dataclass(frozen=True, kw_only=True)
class Lossless(Record):
    """Ports of switches and cards with priorities, classes and pauses.

    Parameters
    ----------
    pause : Literal["pfc", "802.3x", "none"] | Swept
        What pauses a sender. Default: ``"pfc"``.
    priorities : Sequence[int | Swept]
        The priorities whose frames are not to be lost; those of the traffic when left out.
    xoff : Amount | Swept
        Bytes that came over a link in a priority beyond which a switch asks for a pause; 100 KB
        when left out, without a ``buffer``. (at least 1B)
    xon : Amount | Swept
        Bytes down to which it lets the sender go on; two full frames less than ``xoff`` when left
        out.
    headroom : Literal["auto"] | Amount | Swept
        Room of a link and priority for what comes after that: "auto", the least that is enough, or
        an amount. Default: ``"auto"``.
    buffer : Buffer
        One buffer for all ports of a switch; each link and priority has room of its own when left
        out.
    quanta : int | Swept
        How long a pause lasts, in times of 512 bits. (at least 1) Default: ``65535``.
    response : Time | Swept
        From the arrival of a pause frame until no frame of its priority begins. (at most 1s)
        Default: ``"0s"``.
    classes : Mapping[str, LosslessClass]
        Classes of priorities that share the line; one for each priority with equal shares when left
        out.
    watchdog : Watchdog
        Ends pauses that last for too long.
    qcn : Qcn
        Switches tell cards which flows fill a queue, and cards slow those down.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "buffer": ("buffer", False),
        "classes": ("lossless-class", True),
        "watchdog": ("watchdog", False),
        "qcn": ("qcn", False),
    }

    pause: Literal["pfc", "802.3x", "none"] | Swept | None = None
    priorities: Sequence[int | Swept] | None = None
    xoff: Amount | Swept | None = None
    xon: Amount | Swept | None = None
    headroom: Literal["auto"] | Amount | Swept | None = None
    buffer: Buffer | None = None
    quanta: int | Swept | None = None
    response: Time | Swept | None = None
    classes: Mapping[str, LosslessClass] | None = None
    watchdog: Watchdog | None = None
    qcn: Qcn | None = None

    def __post_init__(self) -> None:
        freeze(self, ("priorities",))


@dataclass(frozen=True, kw_only=True)
class Buffer(Record):
    """One buffer for all ports of a switch.

    Parameters
    ----------
    size : Amount | Swept
        Bytes in it. (at least 1B)
    alpha : float | Swept
        What came over a link in a priority may take so many times what is free of the shared part.
        (more than 0) Default: ``0.125``.
    reserve : Amount | Swept
        Every link and lossless priority's own. Default: ``"4KiB"``.
    offset : Amount | Swept
        Senders go on when so much less than the threshold is used. Default: ``"3KiB"``.
    """

    size: Amount | Swept
    alpha: float | Swept | None = None
    reserve: Amount | Swept | None = None
    offset: Amount | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class LosslessClass(Record):
    """A class of priorities.

    Parameters
    ----------
    priorities : Sequence[int | Swept]
        The priorities in it.
    strict : bool | Swept
        Goes before all classes that are not. Default: ``false``.
    share : int | Swept
        Its part of what strict classes leave, in proportion to the others'. (1 to 1000) Default:
        ``1``.
    mark : Amount | Swept
        Arrivals that make the class hold more than this at their port are marked; as in the
        topology's queue when left out.
    ecn : Ramp
        They are marked at random, the more the class holds.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "ecn": ("ramp", False),
    }

    priorities: Sequence[int | Swept]
    strict: bool | Swept | None = None
    share: int | Swept | None = None
    mark: Amount | Swept | None = None
    ecn: Ramp | None = None

    def __post_init__(self) -> None:
        freeze(self, ("priorities",))


@dataclass(frozen=True, kw_only=True)
class Ramp(Record):
    """Marks at random, as RoCE switches have them.

    Parameters
    ----------
    min : Amount | Swept
        No marks up to this.
    max : Amount | Swept
        All are marked beyond this.
    probability : float | Swept
        The probability of a mark at ``max``. (0 to 1)
    """

    min: Amount | Swept
    max: Amount | Swept
    probability: float | Swept


@dataclass(frozen=True, kw_only=True)
class Watchdog(Record):
    """Ends pauses that last for too long.

    Parameters
    ----------
    detect : Time | Swept
        A priority with frames that wait, paused for so long, is stuck. (more than 0)
    restore : Time | Swept
        It is no longer when it has not been paused for so long. (more than 0)
    action : Literal["drop", "forward"] | Swept
        What becomes of its frames meanwhile. Default: ``"drop"``.
    """

    detect: Time | Swept
    restore: Time | Swept
    action: Literal["drop", "forward"] | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Qcn(Record):
    """Congestion and reaction points of IEEE 802.1Qau.

    Parameters
    ----------
    priorities : Sequence[int | Swept]
        The priorities whose queues are looked at; the lossless ones when left out.
    set_point : Amount | Swept
        The queue of a priority at a port that is aimed at, Q_eq. (at least 1KB) Default:
        ``"26KB"``.
    weight : float | Swept
        The weight of the queue's growth beside its length, w. (0 to 1000) Default: ``2.0``.
    sample_base : Amount | Swept
        Bytes that join a queue from one sample to the next without congestion. (at least 1KB)
        Default: ``"150KB"``.
    jitter : float | Swept
        The part of that distance by which it strays at random. (0 to 0.99) Default: ``0.15``.
    feedback_priority : int | Swept
        The priority of feedback frames. (0 to 7) Default: ``6``.
    time_reset : Time | Swept
        The rate recovers by a step in each such time; in half of it after fast recovery. (1us to
        3600s) Default: ``"15ms"``.
    byte_reset : Amount | Swept
        And by a step whenever so much was sent; half of it after fast recovery. (at least 1KB)
        Default: ``"150KB"``.
    threshold : int | Swept
        Steps of fast recovery. (1 to 100) Default: ``5``.
    additive : Rate | Swept
        What a step adds to the target afterwards. Default: ``"5Mbps"``.
    hyper : Rate | Swept
        The same when time and bytes have both made so many steps. Default: ``"50Mbps"``.
    gain : float | Swept
        The part of the rate that one step of feedback takes, of 63; G_d. (more than 0) Default:
        ``0.0078125``.
    least_factor : float | Swept
        The least part of a rate that one feedback leaves. (0 to 1) Default: ``0.5``.
    least : Rate | Swept
        The least rate. (at least 1Mbps) Default: ``"5Mbps"``.
    """

    priorities: Sequence[int | Swept] | None = None
    set_point: Amount | Swept | None = None
    weight: float | Swept | None = None
    sample_base: Amount | Swept | None = None
    jitter: float | Swept | None = None
    feedback_priority: int | Swept | None = None
    time_reset: Time | Swept | None = None
    byte_reset: Amount | Swept | None = None
    threshold: int | Swept | None = None
    additive: Rate | Swept | None = None
    hyper: Rate | Swept | None = None
    gain: float | Swept | None = None
    least_factor: float | Swept | None = None
    least: Rate | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("priorities",))


@dataclass(frozen=True, kw_only=True)
class RelayPolicy(Record):
    """A relay, as every host can have it.

    Parameters
    ----------
    hosts : Sequence[str]
        The groups whose hosts are the relays, one host or two in all. A flow passes them in the
        order of their distance from its source.
    access : TcpTransport | MptcpTransport | RoceTransport | Table | str
        What relays have towards the hosts of flows. The stack is Linux' when left out. Default:
        ``{"kind": "tcp", "stack": "linux"}``.
    long : TcpTransport | MptcpTransport | RoceTransport | Table | str
        What relays have towards each other; a single one, towards the end that is further away. The
        stack is Linux' when left out, and a receive window that grows does so up to ``buffer``.
        Default: ``{"kind": "tcp", "stack": "linux"}``.
    cost : RelayCost
        What the work takes of a relay's processor. Default: ``{"cpu-per-byte": "0s", "cpu-per-
        connection": "0s"}``.
    traffic : Sequence[str]
        The traffic that is relayed, by its names; the rest bypasses the relays. All when left out.
    buffer : Amount | Swept
        What a relay holds of one direction of a connection: read from one side and not acknowledged
        by the other. At least the bandwidth-delay product of its longer side, for one connection to
        fill that. (16KB to 1GiB) Default: ``"64MB"``.
    open : Literal["end-to-end", "at-once"] | Swept
        When a relay answers a new connection. Default: ``"end-to-end"``.
    warm : int | Swept
        Connections from each relay of a pair to the other that are open from the start and kept for
        later flows; 0: every flow opens one of its own. (0 to 10000) Default: ``0``.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "access": ("transport", False),
        "long": ("transport", False),
        "cost": ("relay-cost", False),
    }

    hosts: Sequence[str]
    access: TcpTransport | MptcpTransport | RoceTransport | Table | str | None = None
    long: TcpTransport | MptcpTransport | RoceTransport | Table | str | None = None
    cost: RelayCost | None = None
    traffic: Sequence[str] | None = None
    buffer: Amount | Swept | None = None
    open: Literal["end-to-end", "at-once"] | Swept | None = None
    warm: int | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("hosts", "traffic"))


@dataclass(frozen=True, kw_only=True)
class RelayCost(Record):
    """What the work of a relay takes: one processor does one piece after the other.

    Parameters
    ----------
    cpu_per_byte : Time | Swept
        What each byte takes that is forwarded. (0s to 1ms) Default: ``"0s"``.
    cpu_per_connection : Time | Swept
        What each connection takes that is taken in. (0s to 1s) Default: ``"0s"``.
    """

    cpu_per_byte: Time | Swept | None = None
    cpu_per_connection: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Metering(Record):
    """Limits on the switch ports of hosts.

    Parameters
    ----------
    ports : Sequence[str]
        Groups of hosts whose ports may be limited.
    way : Literal["into", "out"] | Swept
        Which way is limited. Default: ``"into"``.
    excess : Literal["waits", "drops"] | Swept
        What happens to frames beyond a limit. Default: ``"waits"``.
    burst : Amount | Swept
        Bytes that may pass at once beyond a limit. (64B to 1GiB) Default: ``"16KB"``.
    queue : Amount | Swept
        What the queue of a limited port holds; as without a limit when left out.
    limits : Mapping[str, Rate | Swept]
        By group of hosts: the limit of each of its ports, from the start.
    changes : Sequence[LimitChange]
        Limits that are set later. Default: ``[]``.
    control : Control
        Who finds limits; nobody when left out.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "changes": ("limit-change", False),
        "control": ("control", False),
    }

    ports: Sequence[str]
    way: Literal["into", "out"] | Swept | None = None
    excess: Literal["waits", "drops"] | Swept | None = None
    burst: Amount | Swept | None = None
    queue: Amount | Swept | None = None
    limits: Mapping[str, Rate | Swept] | None = None
    changes: Sequence[LimitChange] | None = None
    control: Control | None = None

    def __post_init__(self) -> None:
        freeze(self, ("ports", "changes"))


@dataclass(frozen=True, kw_only=True)
class LimitChange(Record):
    """A limit from some time on.

    Parameters
    ----------
    at : Time | Swept
        When, counted from the start of the run.
    ports : str
        The group of hosts whose ports get it, each.
    limit : Literal[False] | Rate | Swept
        The limit, or ``false`` for none. (100kbps to 8Tbps)
    """

    at: Time | Swept
    ports: str
    limit: Literal[False] | Rate | Swept


@dataclass(frozen=True, kw_only=True)
class Control(Record):
    """A controller of limits.

    Parameters
    ----------
    kind : Literal["headway", "aimd-delay", "max-min"] | Swept
        How it finds them.
    interval : Time | Swept
        The distance of its readings. (10us to 3600s) Default: ``"100ms"``.
    least : Rate | Swept
        The lowest limit that it may set. (100kbps to 8Tbps) Default: ``"10Mbps"``.
    most : Rate | Swept
        The highest; the fastest line of the ports when left out. (100kbps to 8Tbps)
    objective : Literal["total", "fair", "weighted", "protect"] | Swept
        What is to be raised; "weighted" when left out.
    fairness : float | Swept
        The weight of Jain's index: at 1, a doubled index is worth a doubled total; 0.2 when left
        out. (0 to 100)
    counted : Sequence[str]
        Groups of hosts whose ports count in the objective, and share the capacity; when left out,
        all that may be limited, are protected, or send (receive, where that is limited).
    protect : Sequence[str]
        Groups of hosts that are protected.
    weight : float | Swept
        How often their bytes count; 4 when left out. (1 to 1000)
    worth : float | Swept
        The smallest relative gain for which a limit is set; 0.02 when left out. (0.001 to 1)
    give : float | Swept
        The part of the total that a limit may cost; 0.05 when left out. (0 to 1)
    worst : float | Swept
        The largest relative loss of a window on trial; 0.3 when left out. (0.01 to 0.99)
    share : float | Swept
        The part of the time for trials; 0.1 when left out. (0.001 to 0.5)
    settle : int | Swept
        Readings that are not counted after limits changed; 1 when left out. (1 to 50)
    measure : int | Swept
        Readings of a quarter of a block; 2 when left out. (1 to 50)
    target : Time | Swept
        The queueing delay that is too much; 5 ms when left out. (more than 0)
    step : Rate | Swept
        What a limit rises by at a reading; a hundredth of ``most`` when left out. (100kbps to
        8Tbps)
    capacity : Rate | Swept
        The capacity that is shared; what was seen when left out. (100kbps to 8Tbps)
    """

    kind: Literal["headway", "aimd-delay", "max-min"] | Swept
    interval: Time | Swept | None = None
    least: Rate | Swept | None = None
    most: Rate | Swept | None = None
    objective: Literal["total", "fair", "weighted", "protect"] | Swept | None = None
    fairness: float | Swept | None = None
    counted: Sequence[str] | None = None
    protect: Sequence[str] | None = None
    weight: float | Swept | None = None
    worth: float | Swept | None = None
    give: float | Swept | None = None
    worst: float | Swept | None = None
    share: float | Swept | None = None
    settle: int | Swept | None = None
    measure: int | Swept | None = None
    target: Time | Swept | None = None
    step: Rate | Swept | None = None
    capacity: Rate | Swept | None = None

    def __post_init__(self) -> None:
        freeze(self, ("counted", "protect"))


@dataclass(frozen=True, kw_only=True)
class LinuxPolicy(Record):
    """What kernel hosts have under a policy.

    Parameters
    ----------
    qdisc : str
        The queueing discipline of every interface: what ``tc qdisc`` takes after ``root``, such as
        "fq" or "pfifo limit 100".
    sysctl : Mapping[str, Scalar]
        Kernel settings of every host.
    daemon : LaneDaemon
        What ``headway-lane``, which does lanes there, is told beyond ``lanes``.
    setup : Sequence[str]
        Lines for the shell of every host, run when all else is set up, before those of its group.
        Default: ``[]``.
    run : Sequence[str]
        Programs that run on every host from before its first flow to the end, as lines for its
        shell. Default: ``[]``.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "daemon": ("lane-daemon", False),
    }

    qdisc: str | None = None
    sysctl: Mapping[str, Scalar] | None = None
    daemon: LaneDaemon | None = None
    setup: Sequence[str] | None = None
    run: Sequence[str] | None = None

    def __post_init__(self) -> None:
        freeze(self, ("setup", "run"))


@dataclass(frozen=True, kw_only=True)
class LaneDaemon(Record):
    """What ``headway-lane`` is told beyond ``lanes``.

    Parameters
    ----------
    timing : Timing
        When the daemon looks at connections: the section ``timing`` of its configuration.
    config : str
        A whole configuration instead of the one made of ``lanes``: a file beside the scenario.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "timing": ("timing", False),
    }

    timing: Timing | None = None
    config: str | None = None


@dataclass(frozen=True, kw_only=True)
class Timing(Record):
    """When the daemon looks at connections: it polls, where a modelled host sees every acknowledgement.

    Parameters
    ----------
    open_after : Time | Swept
        The age from which on a connection is looked at, and, with ``open = "early"``, has its
        subflows on long lanes; left out: a quarter of its judge's deadline, or 20 ms if that has
        none. (0s to 3600s)
    probe_interval : Time | Swept
        A long lane's round trip older than this is measured anew, for ``link-cost``. (1ms to 3600s)
        Default: ``"100ms"``.
    poll_interval : Time | Swept
        How often a connection is looked at that is not judged yet. (1ms to 3600s) Default:
        ``"20ms"``.
    watch_interval : Time | Swept
        How often a connection is looked at that was judged long. (1ms to 3600s) Default:
        ``"500ms"``.
    idle : Literal["never"] | Time | Swept
        After so long without anything to send, a long connection is new again and comes back to the
        short lane; or "never". (1ms to 3600s) Default: ``"1s"``.
    """

    open_after: Time | Swept | None = None
    probe_interval: Time | Swept | None = None
    poll_interval: Time | Swept | None = None
    watch_interval: Time | Swept | None = None
    idle: Literal["never"] | Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Claim(Record):
    """Something the results must show; exactly one of ``less``, ``greater``, ``between`` and ``near``.

    Parameters
    ----------
    text : str
        The claim in words.
    at : Mapping[str, Scalar | Sequence[Scalar]]
        The sweep points it is about: names of the sweep with a value, a list or a range; all when
        left out.
    less : Sequence[Operand | Scalar]
        The first is less than the second (times ``by``), or than a value.
    greater : Sequence[Operand | Scalar]
        The first is greater than the second (times ``by``), or than a value.
    by : float | Swept
        Multiplies the second operand of ``less`` or ``greater``. (more than 0) Default: ``1.0``.
    between : Between
        A result lies between two values.
    near : Near
        A result is near the number that ``published`` names.
    published : str | Number | Sequence[str | Number]
        What the source printed, shown beside ours: a text, or a number for each operand.
    known : str
        Why it is known not to hold; such a claim is no failure.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "less": ("operand", False),
        "greater": ("operand", False),
        "between": ("between", False),
        "near": ("near", False),
        "published": ("number", False),
    }

    text: str
    at: Mapping[str, Scalar | Sequence[Scalar]] | None = None
    less: Sequence[Operand | Scalar] | None = None
    greater: Sequence[Operand | Scalar] | None = None
    by: float | Swept | None = None
    between: Between | None = None
    near: Near | None = None
    published: str | Number | Sequence[str | Number] | None = None
    known: str | None = None

    def __post_init__(self) -> None:
        freeze(self, ("at", "less", "greater", "published"))


@dataclass(frozen=True, kw_only=True)
class Operand(Record):
    """A number from the results.

    Parameters
    ----------
    policy : str
        The policy it is about.
    traffic : str
        The traffic it is about, as it is reported; may be left out where there is only one.
    value : str
        What is measured, by the name of its metric ("fct.p95").
    from_ : Time | Swept
        Only what happens from this time on.
    to : Time | Swept
        Only what happens before this time.
    port : str
        The port ("a>b") that ``drops`` counts at, or whose arrivals ``reach`` and ``recovery`` are
        of.
    over : Time | Swept
        For ``reach`` and ``recovery``: rates are means over this time. (more than 0)
    minus : str
        The same value under this policy is taken off, repeat by repeat.
    at : Mapping[str, Scalar]
        Taken at these values of the sweep instead of those of the point that the claim is checked
        at.
    """

    policy: str
    traffic: str | None = None
    value: str
    from_: Time | Swept | None = None
    to: Time | Swept | None = None
    port: str | None = None
    over: Time | Swept | None = None
    minus: str | None = None
    at: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, kw_only=True)
class Between(Record):
    """A number from the results.

    Parameters
    ----------
    low : Scalar
        It is not less than this.
    high : Scalar
        It is not more than this.
    policy : str
        The policy it is about.
    traffic : str
        The traffic it is about, as it is reported; may be left out where there is only one.
    value : str
        What is measured, by the name of its metric ("fct.p95").
    from_ : Time | Swept
        Only what happens from this time on.
    to : Time | Swept
        Only what happens before this time.
    port : str
        The port ("a>b") that ``drops`` counts at, or whose arrivals ``reach`` and ``recovery`` are
        of.
    over : Time | Swept
        For ``reach`` and ``recovery``: rates are means over this time. (more than 0)
    minus : str
        The same value under this policy is taken off, repeat by repeat.
    at : Mapping[str, Scalar]
        Taken at these values of the sweep instead of those of the point that the claim is checked
        at.
    """

    low: Scalar
    high: Scalar
    policy: str
    traffic: str | None = None
    value: str
    from_: Time | Swept | None = None
    to: Time | Swept | None = None
    port: str | None = None
    over: Time | Swept | None = None
    minus: str | None = None
    at: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, kw_only=True)
class Near(Record):
    """A number from the results.

    Parameters
    ----------
    within : float | str
        It differs from that by no more than this share of it.
    factor : float | Swept
        It is at most so many times that, and at least that divided by so many. (more than 1)
    policy : str
        The policy it is about.
    traffic : str
        The traffic it is about, as it is reported; may be left out where there is only one.
    value : str
        What is measured, by the name of its metric ("fct.p95").
    from_ : Time | Swept
        Only what happens from this time on.
    to : Time | Swept
        Only what happens before this time.
    port : str
        The port ("a>b") that ``drops`` counts at, or whose arrivals ``reach`` and ``recovery`` are
        of.
    over : Time | Swept
        For ``reach`` and ``recovery``: rates are means over this time. (more than 0)
    minus : str
        The same value under this policy is taken off, repeat by repeat.
    at : Mapping[str, Scalar]
        Taken at these values of the sweep instead of those of the point that the claim is checked
        at.
    """

    within: float | str | None = None
    factor: float | Swept | None = None
    policy: str
    traffic: str | None = None
    value: str
    from_: Time | Swept | None = None
    to: Time | Swept | None = None
    port: str | None = None
    over: Time | Swept | None = None
    minus: str | None = None
    at: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, kw_only=True)
class Number(Record):
    """A number that the source printed: ``value``, or a cell of the table ``file``.

    Parameters
    ----------
    value : Scalar
        The number itself.
    source : str
        Where in the source it is.
    file : str
        A table (CSV), relative to the scenario's folder, or one of those that come with Headway.
    row : Mapping[str, Scalar]
        The row with these values.
    column : str
        The column, whose name ends in the unit (``mean_ms``).
    suspect : str
        The column whose value other than 0 marks the row as doubtful: it is shown, but not judged
        by.
    """

    value: Scalar | None = None
    source: str | None = None
    file: str | None = None
    row: Mapping[str, Scalar] | None = None
    column: str | None = None
    suspect: str | None = None


@dataclass(frozen=True, kw_only=True)
class Quick(Record):
    """What ``--quick`` changes.

    Parameters
    ----------
    repeats : int | Swept
        Repeats of every point; a fifth of them when left out, but at least two if there are as
        many. (1 to 100000)
    duration : Time | Swept
        New flows start before this time. (more than 0)
    drain : Time | Swept
        For so long after ``duration`` running flows go on while none start.
    sweep : Mapping[str, Scalar | Sequence[Scalar]]
        Names of the sweep with the values they take instead.
    set : Sequence[str]
        Any other changes, as behind ``--set``: "topology.k=4". Default: ``[]``.
    """

    repeats: int | Swept | None = None
    duration: Time | Swept | None = None
    drain: Time | Swept | None = None
    sweep: Mapping[str, Scalar | Sequence[Scalar]] | None = None
    set: Sequence[str] | None = None

    def __post_init__(self) -> None:
        freeze(self, ("sweep", "set"))


@dataclass(frozen=True, kw_only=True)
class KernelHosts(Record):
    """What ``headway reproduce`` also runs on kernel hosts, to stand beside the model.

    Parameters
    ----------
    policies : Sequence[str]
        The policies.
    repeats : int | Swept
        Repeats of every point; as for models when left out. (1 to 100000)
    sweep : Mapping[str, Scalar | Sequence[Scalar]]
        Names of the sweep with the values they take instead.
    set : Sequence[str]
        Any other changes, as behind ``--set``: what kernel hosts cannot record, say. Default:
        ``[]``.
    quick : KernelQuick
        What is smaller in a quick reproduction. Default: ``{}``.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "quick": ("kernel-quick", False),
    }

    policies: Sequence[str]
    repeats: int | Swept | None = None
    sweep: Mapping[str, Scalar | Sequence[Scalar]] | None = None
    set: Sequence[str] | None = None
    quick: KernelQuick | None = None

    def __post_init__(self) -> None:
        freeze(self, ("policies", "sweep", "set"))


@dataclass(frozen=True, kw_only=True)
class KernelQuick(Record):
    """What is smaller on kernel hosts in a quick reproduction.

    Parameters
    ----------
    repeats : int | Swept
        Repeats of every point. (1 to 100000)
    sweep : Mapping[str, Scalar | Sequence[Scalar]]
        Names of the sweep with the values they take instead.
    """

    repeats: int | Swept | None = None
    sweep: Mapping[str, Scalar | Sequence[Scalar]] | None = None

    def __post_init__(self) -> None:
        freeze(self, ("sweep",))


@dataclass(frozen=True, kw_only=True)
class Measure(Record):
    """What is recorded beyond the flows.

    Parameters
    ----------
    series : Sequence[Literal["goodput", "cwnd", "rtt", "ssthresh", "alpha", "link-cost", "queue", "arrivals", "marks", "core", "limit"] | Swept]
        The quantities recorded over time. Default: ``[]``.
    interval : Time | Swept
        The distance of two samples. (more than 0) Default: ``"10ms"``.
    intervals : Intervals
        The distance of two samples of single quantities, in place of ``interval``. Default: ``{}``.
    links : Sequence[str]
        The links ("a>b") whose queues, arrivals and marks are recorded over time; all ports of
        switches when left out.
    traffic : Sequence[str]
        The traffic whose flows are recorded over time; all when left out.
    waits : bool | Swept
        Whether it is measured how long the packets of each flow wait at hosts and at switches.
        Default: ``false``.
    capture : Sequence[str]
        Hosts ("a") and links ("a>b", as in the series of queues) whose packets are written to
        files. Default: ``[]``.
    paths : bool | Swept
        The nodes that connections of modelled hosts pass are written down, forth and back. Default:
        ``false``.
    film : Film
        What links do over time, for the player of the topology. Default: ``{"points": "three",
        "steps": 200}``.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "intervals": ("intervals", False),
        "film": ("film", False),
    }

    series: Sequence[Literal["goodput", "cwnd", "rtt", "ssthresh", "alpha", "link-cost", "queue", "arrivals", "marks", "core", "limit"] | Swept] | None = None
    interval: Time | Swept | None = None
    intervals: Intervals | None = None
    links: Sequence[str] | None = None
    traffic: Sequence[str] | None = None
    waits: bool | Swept | None = None
    capture: Sequence[str] | None = None
    paths: bool | Swept | None = None
    film: Film | None = None

    def __post_init__(self) -> None:
        freeze(self, ("series", "links", "traffic", "capture"))


@dataclass(frozen=True, kw_only=True)
class Intervals(Record):
    """The distance of two samples of single quantities; that of all others is ``interval``.

    Parameters
    ----------
    goodput : Time | Swept
        Of data delivered to applications. (more than 0)
    cwnd : Time | Swept
        Of congestion windows. (more than 0)
    rtt : Time | Swept
        Of smoothed round-trip times. (more than 0)
    ssthresh : Time | Swept
        Of slow-start thresholds. (more than 0)
    alpha : Time | Swept
        Of averages of the share of marked data. (more than 0)
    link_cost : Time | Swept
        Of the costs that lanes see. (more than 0)
    queue : Time | Swept
        Of queue lengths. (more than 0)
    arrivals : Time | Swept
        Of rates at which frames are offered to ports. (more than 0)
    marks : Time | Swept
        Of frames that ports mark. (more than 0)
    core : Time | Swept
        Of how busy cores are. (more than 0)
    limit : Time | Swept
        Of limits on ports. (more than 0)
    """

    goodput: Time | Swept | None = None
    cwnd: Time | Swept | None = None
    rtt: Time | Swept | None = None
    ssthresh: Time | Swept | None = None
    alpha: Time | Swept | None = None
    link_cost: Time | Swept | None = None
    queue: Time | Swept | None = None
    arrivals: Time | Swept | None = None
    marks: Time | Swept | None = None
    core: Time | Swept | None = None
    limit: Time | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Film(Record):
    """The film of links: of repeat 0 of every policy.

    Parameters
    ----------
    points : Literal["three", "all", "none"] | Swept
        The points of the sweep. Default: ``"three"``.
    steps : int | Swept
        Steps of a film at most. (1 to 10000) Default: ``200``.
    """

    points: Literal["three", "all", "none"] | Swept | None = None
    steps: int | Swept | None = None


@dataclass(frozen=True, kw_only=True)
class Scenario(Record):
    """A scenario: what is simulated, what is compared, what is measured and what must hold.

    Parameters
    ----------
    name : str
        The scenario's name, by which its results are known.
    about : str
        What it is about, in one line.
    source : str
        Where it comes from: the paper and section it repeats.
    duration : Time | Swept
        New flows start before this time. (1ps to 2592000s)
    drain : Time | Swept
        For so long after ``duration`` running flows go on while none start. (0s to 2592000s)
        Default: ``"0s"``.
    repeats : int | Swept
        How often every point is run, each time with other random numbers. (1 to 100000) Default:
        ``10``.
    seed : int | Swept
        Where all random numbers start from. Default: ``1``.
    topology : DumbbellTopology | ParallelPathsTopology | TwoTierTopology | LeafSpineTopology | FatTreeTopology | DualHomedFatTreeTopology | DualHomedPodTopology | MultiHomedFatTreeTopology | BcubeTopology | TreeTopology | Vl2Topology | GraphTopology | Table | str
        Switches, cables and queues.
    host_kind : Literal["modelled", "linux", "namespaces"] | Swept
        What hosts are whose group does not say. Default: ``"modelled"``.
    kernel : str
        The kernel of kernel hosts, by the name of its image; the newest unpatched one when left
        out.
    files : str
        A folder, relative to the scenario's, that kernel hosts see as ``/files``.
    hosts : Mapping[str, Hosts]
        Groups of hosts by name; hosts without a group take part in "any host" alone.
    views : Mapping[str, View]
        Hosts of groups by other names, for traffic between parts of them.
    traffic : Sequence[FlowsTraffic | ReplayTraffic | CommandTraffic | PartitionAggregateTraffic | EventBuilderTraffic | HttpTraffic | str]
        What is sent.
    failure : Sequence[Failure]
        What goes down, and when. Default: ``[]``.
    policy : Sequence[Policy]
        The ways of sending to compare.
    sweep : Mapping[str, Scalar | Sequence[Scalar] | Mapping[str, Mapping[str, Scalar]]]
        Values that are varied: every combination is run with every policy.
    claim : Sequence[Claim]
        What the results must show. Default: ``[]``.
    quick : Quick
        What ``--quick`` changes.
    kernel_hosts : KernelHosts
        What ``headway reproduce`` also runs on kernel hosts.
    measure : Measure
        What is recorded beyond the flows. Default: ``{"series": [], "interval": "10ms",
        "intervals": {}, "waits": false, "capture": [], "paths": false, "film": {"points": "three",
        "steps": 200}}``.
    """

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "topology": ("topology", False),
        "hosts": ("hosts", True),
        "views": ("view", True),
        "traffic": ("traffic", False),
        "failure": ("failure", False),
        "policy": ("policy", False),
        "claim": ("claim", False),
        "quick": ("quick", False),
        "kernel_hosts": ("kernel-hosts", False),
        "measure": ("measure", False),
    }

    name: str
    about: str
    source: str | None = None
    duration: Time | Swept
    drain: Time | Swept | None = None
    repeats: int | Swept | None = None
    seed: int | Swept | None = None
    topology: DumbbellTopology | ParallelPathsTopology | TwoTierTopology | LeafSpineTopology | FatTreeTopology | DualHomedFatTreeTopology | DualHomedPodTopology | MultiHomedFatTreeTopology | BcubeTopology | TreeTopology | Vl2Topology | GraphTopology | Table | str
    host_kind: Literal["modelled", "linux", "namespaces"] | Swept | None = None
    kernel: str | None = None
    files: str | None = None
    hosts: Mapping[str, Hosts] | None = None
    views: Mapping[str, View] | None = None
    traffic: Sequence[FlowsTraffic | ReplayTraffic | CommandTraffic | PartitionAggregateTraffic | EventBuilderTraffic | HttpTraffic | str]
    failure: Sequence[Failure] | None = None
    policy: Sequence[Policy]
    sweep: Mapping[str, Scalar | Sequence[Scalar] | Mapping[str, Mapping[str, Scalar]]] | None = None
    claim: Sequence[Claim] | None = None
    quick: Quick | None = None
    kernel_hosts: KernelHosts | None = None
    measure: Measure | None = None

    def __post_init__(self) -> None:
        freeze(self, ("traffic", "failure", "policy", "sweep", "claim"))


_DEFINITIONS: Mapping[str, Mapping[str | None, type[Record]]] = {
    "topology": {"dumbbell": DumbbellTopology, "parallel-paths": ParallelPathsTopology, "two-tier": TwoTierTopology, "leaf-spine": LeafSpineTopology, "fat-tree": FatTreeTopology, "dual-homed-fat-tree": DualHomedFatTreeTopology, "dual-homed-pod": DualHomedPodTopology, "multi-homed-fat-tree": MultiHomedFatTreeTopology, "bcube": BcubeTopology, "tree": TreeTopology, "vl2": Vl2Topology, "graph": GraphTopology},
    "link": {None: Link},
    "queue": {"drop-tail": DropTailQueue, "red": RedQueue, "codel": CodelQueue, "fq-codel": FqCodelQueue, "drr": DrrQueue},
    "shared-buffer": {None: SharedBuffer},
    "link-loss": {None: LinkLoss},
    "link-change": {None: LinkChange},
    "cable": {None: Cable},
    "hosts": {None: Hosts},
    "host-model": {None: HostModel},
    "server": {None: Server},
    "linux-hosts": {None: LinuxHosts},
    "view": {None: View},
    "traffic": {"flows": FlowsTraffic, "replay": ReplayTraffic, "command": CommandTraffic, "partition-aggregate": PartitionAggregateTraffic, "event-builder": EventBuilderTraffic, "http": HttpTraffic, None: FlowsTraffic},
    "size-kind": {"fixed": FixedSize, "unlimited": UnlimitedSize, "uniform": UniformSize, "exponential": ExponentialSize, "pareto": ParetoSize, "cdf": CdfSize, "shared": SharedSize},
    "arrival": {"once": OnceArrival, "poisson": PoissonArrival, "periodic": PeriodicArrival, "load": LoadArrival, "closed-loop": ClosedLoopArrival},
    "pool": {None: Pool},
    "datagrams": {None: Datagrams},
    "level": {None: Level},
    "transfer": {"push": PushTransfer, "pull": PullTransfer},
    "http-clients": {None: HttpClients},
    "failure": {None: Failure},
    "policy": {None: Policy},
    "transport": {"tcp": TcpTransport, "mptcp": MptcpTransport, "roce": RoceTransport},
    "delayed-ack": {None: DelayedAck},
    "window": {None: Window},
    "linux-transport": {None: LinuxTransport},
    "modelled-lanes": {None: ModelledLanes, "deadline": DeadlineJudge, "link-cost": LinkCostJudge, "bytes-sent": BytesSentJudge, "backlog": BacklogJudge, "delivery-rate": DeliveryRateJudge, "own": OwnJudge},
    "return": {None: Return},
    "leftovers": {None: Leftovers},
    "judge": {"deadline": DeadlineJudge, "link-cost": LinkCostJudge, "bytes-sent": BytesSentJudge, "backlog": BacklogJudge, "delivery-rate": DeliveryRateJudge, "own": OwnJudge},
    "history": {None: History},
    "dcqcn": {None: Dcqcn},
    "replicate": {None: Replicate},
    "modelled-pacing": {None: ModelledPacing},
    "pacing-class": {None: PacingClass},
    "lossless": {None: Lossless},
    "buffer": {None: Buffer},
    "lossless-class": {None: LosslessClass},
    "ramp": {None: Ramp},
    "watchdog": {None: Watchdog},
    "qcn": {None: Qcn},
    "relay-policy": {None: RelayPolicy},
    "relay-cost": {None: RelayCost},
    "metering": {None: Metering},
    "limit-change": {None: LimitChange},
    "control": {None: Control},
    "linux-policy": {None: LinuxPolicy},
    "lane-daemon": {None: LaneDaemon},
    "timing": {None: Timing},
    "claim": {None: Claim},
    "operand": {None: Operand},
    "between": {None: Between},
    "near": {None: Near},
    "number": {None: Number},
    "quick": {None: Quick},
    "kernel-hosts": {None: KernelHosts},
    "kernel-quick": {None: KernelQuick},
    "measure": {None: Measure},
    "intervals": {None: Intervals},
    "film": {None: Film},
    "": {None: Scenario},
}


def read(table: dict[str, Plain]) -> Scenario:
    """Give the record of a whole scenario.

    Parameters
    ----------
    table : dict
        As TOML has it.

    Returns
    -------
    Scenario
        With records in place of tables.
    """
    record = _from_dict(_DEFINITIONS, "", table)
    assert isinstance(record, Scenario)
    return record
