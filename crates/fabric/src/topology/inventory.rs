//! What a topology is made of, by formulae: for sizes that nobody would build as a graph.

use super::Design;
use super::wiring::{MAX_HOSTS, TopologyError};

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

/// The switches of a design.
pub(super) struct Tiers {
    /// Interfaces of each host.
    pub interfaces: u64,
    /// From the hosts up.
    pub tiers: Vec<Tier>,
}

impl Tier {
    /// `switches` switches called `name` with `ports` ports in use each.
    pub(super) fn new(name: &'static str, role: Role, switches: u64, ports: u64) -> Tier {
        Tier { name, role, switches, ports }
    }
}

impl Design {
    /// The most hosts that are counted.
    pub const MAX_HOSTS: u64 = MAX_HOSTS;

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
        let Tiers { interfaces, tiers } = self.tiers(hosts);
        let to_hosts = hosts * interfaces;
        let inventory = Inventory { hosts, interfaces, tiers, cables: 0 };
        // Every port of a switch is one end of a cable; the other end is a host's interface or a switch's port.
        let cables = to_hosts + (inventory.ports() - to_hosts) / 2;
        Ok(Inventory { cables, ..inventory })
    }
}
