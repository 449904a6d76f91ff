//! What a topology is made of, by formulae: for sizes that nobody would build as a graph.

use super::{TopologyError, at_least_one, half};

/// A topology whose parts can be counted, at its full size: no more hosts and no fewer than its switches are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// As [`FatTree`](super::FatTree).
    FatTree {
        /// Ports of every switch.
        k: u32,
    },
    /// As [`DualHomedFatTree`](super::DualHomedFatTree).
    DualHomedFatTree {
        /// Pods, and twice the interfaces of a host.
        k: u32,
    },
    /// As [`MultiHomedFatTree`](super::MultiHomedFatTree).
    MultiHomedFatTree {
        /// Pods, and twice the interfaces of a host.
        k: u32,
    },
    /// As [`Bcube`](super::Bcube).
    Bcube {
        /// Ports of a switch.
        n: u32,
        /// Interfaces of a server.
        levels: u32,
    },
    /// As [`TwoTier`](super::TwoTier).
    TwoTier {
        /// Leaf switches.
        leaves: u32,
        /// Spine switches.
        spines: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
    },
}

/// What a switch is for, which decides what sort of device it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It has hosts.
    Edge,
    /// It is between edge and core.
    Aggregation,
    /// It is at the top of three tiers, or of two.
    Core,
}

/// Switches that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// The names that graphs give its switches, without numbers.
    pub name: &'static str,
    /// What they are for.
    pub role: Role,
    /// How many there are.
    pub switches: u64,
    /// Ports in use at each.
    pub ports: u64,
}

/// What a network is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Hosts.
    pub hosts: u64,
    /// Interfaces of each host.
    pub interfaces: u64,
    /// Its switches, from the hosts up.
    pub tiers: Vec<Tier>,
    /// Cables, those to hosts included.
    pub cables: u64,
}

impl Inventory {
    /// Switches of all tiers.
    pub fn switches(&self) -> u64 {
        self.tiers.iter().map(|tier| tier.switches).sum()
    }

    /// Ports in use at switches of all tiers.
    pub fn ports(&self) -> u64 {
        self.tiers.iter().map(|tier| tier.switches * tier.ports).sum()
    }
}

impl Design {
    /// The most hosts that are counted.
    pub const MAX_HOSTS: u64 = 1_000_000_000;

    /// How many hosts it has. Saturates where 128 bits do not hold them.
    ///
    /// # Errors
    /// A parameter for which there is no such topology.
    pub fn hosts(self) -> Result<u128, TopologyError> {
        Ok(match self {
            Design::FatTree { k } | Design::DualHomedFatTree { k } | Design::MultiHomedFatTree { k } => {
                half(k)?;
                u128::from(k).pow(3) / 4
            }
            Design::Bcube { n, levels } => {
                if n < 3 {
                    return Err(TopologyError::Parameter { name: "n", value: n, allowed: "at least 3" });
                }
                at_least_one("levels", levels)?;
                u128::from(n).saturating_pow(levels)
            }
            Design::TwoTier { leaves, spines, hosts_per_leaf } => {
                at_least_one("leaves", leaves)?;
                at_least_one("spines", spines)?;
                at_least_one("hosts_per_leaf", hosts_per_leaf)?;
                u128::from(leaves) * u128::from(hosts_per_leaf)
            }
        })
    }

    /// What it is made of.
    ///
    /// # Errors
    /// A parameter for which there is no such topology; more than [`Design::MAX_HOSTS`].
    pub fn inventory(self) -> Result<Inventory, TopologyError> {
        let hosts = self.hosts()?;
        if hosts > u128::from(Design::MAX_HOSTS) {
            return Err(TopologyError::TooManyHosts { hosts });
        }
        let hosts = hosts as u64;
        let tier = |name, role, switches, ports| Tier { name, role, switches, ports };
        let (interfaces, tiers) = match self {
            Design::FatTree { k } => {
                let k = u64::from(k);
                let tiers = vec![
                    tier("edge", Role::Edge, k * k / 2, k),
                    tier("aggregation", Role::Aggregation, k * k / 2, k),
                    tier("core", Role::Core, k * k / 4, k),
                ];
                (1, tiers)
            }
            Design::DualHomedFatTree { k } => {
                let k = u64::from(k);
                let tiers = vec![
                    tier("edge", Role::Edge, k * k / 2, k * k / 4 + k / 2),
                    tier("aggregation", Role::Aggregation, k * k / 2, k),
                    tier("core", Role::Core, k * k / 4, k),
                ];
                (k / 2, tiers)
            }
            Design::MultiHomedFatTree { k } => {
                let k = u64::from(k);
                let tiers = vec![
                    tier("edge", Role::Edge, hosts, k / 2 + 1),
                    tier("aggregation", Role::Aggregation, k * k / 2, k / 2 + 1),
                    tier("core", Role::Core, k / 2, k),
                ];
                (k / 2, tiers)
            }
            Design::Bcube { n, levels } => {
                let (n, levels) = (u64::from(n), u64::from(levels));
                (levels, vec![tier("switch", Role::Edge, levels * (hosts / n), n)])
            }
            Design::TwoTier { leaves, spines, hosts_per_leaf } => {
                let [leaves, spines, each] = [leaves, spines, hosts_per_leaf].map(u64::from);
                let tiers =
                    vec![tier("leaf", Role::Edge, leaves, each + spines), tier("spine", Role::Core, spines, leaves)];
                (1, tiers)
            }
        };
        let to_hosts = hosts * interfaces;
        let inventory = Inventory { hosts, interfaces, tiers, cables: 0 };
        // Every port of a switch is one end of a cable; the other end is a host's interface or a switch's port.
        let cables = to_hosts + (inventory.ports() - to_hosts) / 2;
        Ok(Inventory { cables, ..inventory })
    }
}
