//! Switches, cables and queues. A kind of topology is one file here (record, checks, plan), one in the fabric, and its
//! lines in this list.

mod bcube;
mod dual_homed_fat_tree;
mod dual_homed_pod;
mod dumbbell;
mod fat_tree;
mod graph;
mod link;
pub(crate) mod loss;
mod multi_homed_fat_tree;
mod parallel_paths;
mod shape;
mod tree;
mod two_tier;
mod vl2;

pub use bcube::BcubeRecord;
pub use dual_homed_fat_tree::DualHomedFatTreeRecord;
pub use dual_homed_pod::DualHomedPodRecord;
pub use dumbbell::DumbbellRecord;
pub use fat_tree::FatTreeRecord;
pub use graph::{CableRecord, GraphRecord};
pub use link::{LinkChangeRecord, LinkRecord};
pub use loss::LinkLossRecord;
pub use multi_homed_fat_tree::MultiHomedFatTreeRecord;
pub use parallel_paths::ParallelPathsRecord;
pub(crate) use shape::wire;

pub use tree::TreeRecord;
pub use two_tier::TwoTierRecord;
pub use vl2::Vl2Record;

use headway_language::{Amount, QueueLimit, record};
use headway_units::{Bytes, Span};

use crate::kinds::kinds;
use crate::limits::LONGEST;
use crate::queue::{DropTailRecord, QueueRecord, SharedBufferRecord};
pub(crate) use shape::Shape;
use shape::Wires;

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
        /// What single links lose, each one direction of a cable, in place of `loss` of their cables.
        pub losses: Vec<LinkLossRecord> = Vec::new(),
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

kinds! {
    /// Which switches there are and how they are cabled.
    pub enum ShapeRecord of Shape by "kind" {
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

impl TopologyRecord {
    /// Its wires.
    pub(crate) fn wires(&self) -> Wires<'_> {
        let TopologyRecord { link, queue, host_queue, switch_latency, .. } = self;
        Wires { link, queue, host_queue, switch_latency: *switch_latency }
    }
}
