//! Switches, cables and queues.

use headway_units::{Bytes, Rate, Span};

use super::LONGEST;
use super::queue::{DropTailRecord, QueueRecord, SharedBufferRecord};
use headway_language::{Amount, Name, QueueLimit, Ratio, choice, record};

record! {
    /// A cable: both directions alike.
    pub struct LinkRecord {
        /// The rate of each direction.
        #[range(Rate::from_bps(10_000)..)]
        pub rate: Rate,
        /// The time a bit takes from end to end.
        #[range(Span::ZERO..=LONGEST)]
        pub delay: Span = Span::from_nanos(500),
        /// The share of packets that are lost at random.
        pub loss: Ratio = Ratio::ZERO,
        /// What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap.
        #[range(Bytes::ZERO..=Bytes::new(65_535))]
        pub gap: Bytes = Bytes::new(20),
    }
}

record! {
    /// What is different from `topology.link` in some cables; a key left out is as it is there.
    pub struct LinkChangeRecord {
        /// The rate of each direction.
        #[range(Rate::from_bps(10_000)..)]
        pub rate: Option<Rate>,
        /// The time a bit takes from end to end.
        #[range(Span::ZERO..=LONGEST)]
        pub delay: Option<Span>,
        /// The share of packets that are lost at random.
        pub loss: Option<Ratio>,
        /// What every packet takes on the wire beyond its own bytes: preamble and inter-frame gap.
        #[range(Bytes::ZERO..=Bytes::new(65_535))]
        pub gap: Option<Bytes>,
    }
}

impl LinkChangeRecord {
    /// `link` with these changes.
    pub fn over(&self, link: &LinkRecord) -> LinkRecord {
        LinkRecord {
            rate: self.rate.unwrap_or(link.rate),
            delay: self.delay.unwrap_or(link.delay),
            loss: self.loss.unwrap_or(link.loss),
            gap: self.gap.unwrap_or(link.gap),
        }
    }
}

record! {
    /// Switches, cables and queues.
    pub struct TopologyRecord {
        /// Every cable that is not described by a key of its own.
        pub link: LinkRecord,
        /// The queue of every port of a switch.
        pub queue: QueueRecord,
        /// The queue of every port of a host.
        pub host_queue: QueueRecord = QueueRecord::DropTail(DropTailRecord {
            limit: QueueLimit::AtMost(Amount::Packets(1000)),
            mark: None,
        }),
        /// The buffer that all ports of a switch share, beside the limits of their queues; each has its own when left out.
        pub shared_buffer: Option<SharedBufferRecord>,
        /// The time a packet takes through a switch before it is queued.
        #[range(Span::ZERO..=LONGEST)]
        pub switch_latency: Span = Span::ZERO,
        /// The largest IP packet.
        #[range(Bytes::new(68)..=Bytes::new(65_500))]
        pub mtu: Bytes = Bytes::new(1500),
    }
    with /// Which switches there are and how they are cabled.
    shape: ShapeRecord
}

choice! {
    /// Which switches there are and how they are cabled.
    pub enum ShapeRecord by "kind" {
        /// Two switches with one cable between them, hosts at both.
        "dumbbell" => Dumbbell(DumbbellRecord),
        /// Hosts at two sides with several disjoint paths between, an interface for each path.
        "parallel-paths" => ParallelPaths(ParallelPathsRecord),
        /// Leaf–spine: leaves with hosts, every leaf cabled to every spine.
        "two-tier" => TwoTier(TwoTierRecord),
        /// The same by its other name.
        "leaf-spine" => LeafSpine(TwoTierRecord),
        /// Three tiers of k-port switches in k pods (Al-Fares et al., SIGCOMM 2008).
        "fat-tree" => FatTree(FatTreeRecord),
        /// A fat-tree whose hosts are cabled to all k/2 edge switches of their pod: two at k = 4.
        "dual-homed-fat-tree" => DualHomedFatTree(DualHomedFatTreeRecord),
        /// One pod of a dual-homed fat-tree.
        "dual-homed-pod" => DualHomedPod(DualHomedPodRecord),
        /// A fat-tree whose hosts have k/2 interfaces in as many planes that share nothing (k-MHFT).
        "multi-homed-fat-tree" => MultiHomedFatTree(MultiHomedFatTreeRecord),
        /// Servers with several interfaces that forward for each other (Guo et al., SIGCOMM 2009).
        "bcube" => Bcube(BcubeRecord),
        /// One core, aggregation switches below it, edge switches with hosts below these.
        "tree" => Tree(TreeRecord),
        /// VL2's Clos network (Greenberg et al., SIGCOMM 2009).
        "vl2" => Vl2(Vl2Record),
        /// Switches, hosts and cables one by one.
        "graph" => Graph(GraphRecord),
    }
}

record! {
    /// Two switches with one cable between them, hosts at both.
    pub struct DumbbellRecord {
        /// Hosts at the left switch; they come first in the order of hosts.
        #[range(1..=1_000_000)]
        pub left: u32,
        /// Hosts at the right switch.
        #[range(1..=1_000_000)]
        pub right: u32,
        /// The cable between the switches.
        pub bottleneck: LinkChangeRecord,
    }
}

record! {
    /// Hosts at two sides with several disjoint paths between, an interface for each path.
    pub struct ParallelPathsRecord {
        /// Paths, and thus interfaces of every host.
        #[range(1..=64)]
        pub paths: u32,
        /// Hosts at the left; they come first in the order of hosts.
        #[range(1..=1_000_000)]
        pub left: u32 = 1,
        /// Hosts at the right.
        #[range(1..=1_000_000)]
        pub right: u32 = 1,
        /// The cables between a path's two switches; like `link` when left out.
        pub middle: Option<LinkChangeRecord>,
    }
}

record! {
    /// Leaf–spine: leaves with hosts, every leaf cabled to every spine.
    pub struct TwoTierRecord {
        /// Switches with hosts.
        #[range(1..=10_000)]
        pub leaves: u32,
        /// Switches that connect leaves.
        #[range(1..=10_000)]
        pub spines: u32,
        /// Hosts at each leaf.
        #[range(1..=10_000)]
        pub hosts_per_leaf: u32,
        /// The cables between leaves and spines; like `link` when left out.
        pub uplink: Option<LinkChangeRecord>,
    }
}

record! {
    /// Three tiers of k-port switches in k pods.
    pub struct FatTreeRecord {
        /// Ports of a switch, an even number; k = 4 has 16 hosts.
        #[range(2..=64)]
        pub k: u32,
        /// Hosts at each edge switch; k/2 when left out.
        #[range(1..=10_000)]
        pub hosts_per_edge: Option<u32>,
        /// The cables between hosts and edge switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between edge and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation and core switches; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
        /// The rate of edge-aggregation cables is divided by this.
        #[range(1.0..)]
        pub edge_oversubscription: f64 = 1.0,
        /// The rate of aggregation-core cables is divided by this.
        #[range(1.0..)]
        pub core_oversubscription: f64 = 1.0,
    }
}

impl FatTreeRecord {
    /// Hosts at each edge switch.
    pub fn hosts_per_edge(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }
}

record! {
    /// A fat-tree whose hosts are cabled to all k/2 edge switches of their pod: two at k = 4.
    pub struct DualHomedFatTreeRecord {
        /// Ports of an aggregation or core switch, an even number; the pods are as many.
        #[range(4..=64)]
        pub k: u32,
        /// Hosts in each pod; k²/4 when left out, as many as in a fat-tree.
        #[range(1..=10_000)]
        pub hosts_per_pod: Option<u32>,
    }
}

impl DualHomedFatTreeRecord {
    /// Hosts in each pod.
    pub fn hosts_per_pod(&self) -> u32 {
        self.hosts_per_pod.unwrap_or(self.k * self.k / 4)
    }
}

record! {
    /// One pod of a dual-homed fat-tree.
    pub struct DualHomedPodRecord {
        /// Twice the number of edge switches, and of aggregation switches; even.
        #[range(4..=64)]
        pub k: u32,
        /// Hosts in the pod; k²/2 when left out.
        #[range(1..=10_000)]
        pub hosts: Option<u32>,
    }
}

impl DualHomedPodRecord {
    /// Hosts in the pod.
    pub fn hosts(&self) -> u32 {
        self.hosts.unwrap_or(self.k * self.k / 2)
    }
}

record! {
    /// A fat-tree whose hosts have k/2 interfaces in as many planes that share nothing (k-MHFT).
    pub struct MultiHomedFatTreeRecord {
        /// Twice the number of planes, and of interfaces of a host; even. The pods are k.
        #[range(2..=64)]
        pub k: u32,
        /// Hosts at each edge switch; k/2 when left out.
        #[range(1..=10_000)]
        pub hosts_per_edge: Option<u32>,
        /// The cables between hosts and edge switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between edge and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation and core switches; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
    }
}

impl MultiHomedFatTreeRecord {
    /// Hosts at each edge switch.
    pub fn hosts_per_edge(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }
}

record! {
    /// Servers with several interfaces that forward for each other (Guo et al., SIGCOMM 2009).
    pub struct BcubeRecord {
        /// Ports of a switch.
        #[range(3..=64)]
        pub n: u32,
        /// Interfaces of a server, one more than the k of BCube_k.
        #[range(1..=8)]
        pub levels: u32,
    }
}

record! {
    /// One core, aggregation switches below it, edge switches with hosts below these.
    pub struct TreeRecord {
        /// Aggregation switches.
        #[range(1..=10_000)]
        pub aggregations: u32,
        /// Edge switches below each of them.
        #[range(1..=10_000)]
        pub edges_per_aggregation: u32,
        /// Hosts at each edge switch.
        #[range(1..=10_000)]
        pub hosts_per_edge: u32,
        /// The cables between hosts and edge switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between edge and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation switches and the core; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
    }
}

record! {
    /// VL2's Clos network (Greenberg et al., SIGCOMM 2009).
    pub struct Vl2Record {
        /// Ports of an aggregation switch (D_A), an even number; half of them go to intermediate switches.
        #[range(2..=1000)]
        pub aggregation_ports: u32,
        /// Ports of an intermediate switch (D_I), an even number; there are as many aggregation switches.
        #[range(2..=1000)]
        pub intermediate_ports: u32,
        /// Hosts at each top-of-rack switch.
        #[range(1..=10_000)]
        pub hosts_per_tor: u32 = 20,
        /// The cables between hosts and top-of-rack switches; like `link` when left out.
        pub host_link: Option<LinkChangeRecord>,
        /// The cables between top-of-rack and aggregation switches; like `link` when left out.
        pub edge_link: Option<LinkChangeRecord>,
        /// The cables between aggregation and intermediate switches; like `link` when left out.
        pub core_link: Option<LinkChangeRecord>,
    }
}

record! {
    /// Switches, hosts and cables one by one.
    pub struct GraphRecord {
        /// The names of the switches.
        pub switches: Vec<Name>,
        /// The names of the hosts.
        pub hosts: Vec<Name>,
        /// The cables.
        pub cables: Vec<CableRecord>,
    }
}

record! {
    /// A cable between two named switches or hosts.
    pub struct CableRecord {
        /// Its two ends.
        pub between: [Name; 2],
        /// The queue of the ports at its ends; as elsewhere when left out.
        pub queue: Option<QueueRecord>,
    }
    with /// What is different from `topology.link`.
    link: LinkChangeRecord
}
