//! Topologies of the papers and of the field: a small struct of parameters each, built into a [`Graph`](crate::Graph).
//!
//! Hosts attach with two wires: `host_wire` for the direction from the host (whose queue is the host's own
//! output queue) and `wire` for the direction from the switch. Between switches one wire serves both directions.
//! What no struct here describes can be laid cable by cable with [`Graph::connect`](crate::Graph::connect).
//!
//! A topology is a file of this folder, with its parameters and its wiring, and a line here; one whose parts are counted
//! has another in the list of designs.

mod bcube;
mod dual_homed;
mod dumbbell;
mod fat_tree;
mod inventory;
mod multi_homed;
mod parallel_paths;
mod tree;
mod two_tier;
mod vl2;
mod wiring;

pub use bcube::Bcube;
pub use dual_homed::{DualHomedFatTree, DualHomedPod};
pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use inventory::{Inventory, Role, Tier};
pub use multi_homed::MultiHomedFatTree;
pub use parallel_paths::ParallelPaths;
pub use tree::Tree;
pub use two_tier::TwoTier;
pub use vl2::Vl2;
pub use wiring::{Built, TopologyError};

use inventory::Tiers;

macro_rules! designs {
    ($($topology:ident in $file:ident { $($(#[doc = $about:literal])* $parameter:ident),+ };)+) => {
        /// A topology whose parts can be counted, at its full size: no more hosts and no fewer than its switches are for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Design {
            $(
                #[doc = concat!("As [`", stringify!($topology), "`].")]
                $topology { $($(#[doc = $about])* $parameter: u32),+ },
            )+
        }

        impl Design {
            /// How many hosts it has. Saturates where 128 bits do not hold them.
            ///
            /// # Errors
            /// A parameter for which there is no such topology.
            pub fn hosts(self) -> Result<u128, TopologyError> {
                match self { $(Design::$topology { $($parameter),+ } => $file::hosts($($parameter),+),)+ }
            }

            /// Its switches, with so many hosts.
            fn tiers(self, hosts: u64) -> Tiers {
                match self { $(Design::$topology { $($parameter),+ } => $file::tiers(hosts, $($parameter),+),)+ }
            }
        }
    };
}

designs! {
    FatTree in fat_tree {
        /// Ports of every switch.
        k
    };
    DualHomedFatTree in dual_homed {
        /// Pods, and twice the interfaces of a host.
        k
    };
    MultiHomedFatTree in multi_homed {
        /// Pods, and twice the interfaces of a host.
        k
    };
    Bcube in bcube {
        /// Ports of a switch.
        n,
        /// Interfaces of a server.
        levels
    };
    TwoTier in two_tier {
        /// Leaf switches.
        leaves,
        /// Spine switches.
        spines,
        /// Hosts on each leaf.
        hosts_per_leaf
    };
}

#[cfg(test)]
pub(crate) mod tests;
