//! What a network costs to build: as many devices as its topology has switches, at the prices of a list.
//!
//! Source: thesis §7.2.2, fig. 7.6. Every switch is one device, whatever of its ports is used, and whether or not it has as
//! many as the topology needs: [`Priced::fits`] says so.

mod prices;
#[cfg(test)]
mod tests;

pub use headway_fabric::topology::{Design, Inventory, Role, Tier, TopologyError};
pub use prices::{DEFAULT_PRICES, DEFAULT_PRICES_NAME, DeviceRecord, PriceList, Use};

/// Published numbers: topology, switches by tier, cost in millions, cut off.
const PUBLISHED: &str = include_str!("../../../../published/lanes-mhft-cost.csv");

/// A tier with its price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Priced<'a> {
    /// Its switches.
    pub tier: Tier,
    /// What they are built of, one device each.
    pub device: &'a DeviceRecord,
    /// What they cost together.
    pub cost: f64,
}

impl Priced<'_> {
    /// Whether the device has as many ports as are in use.
    pub fn fits(&self) -> bool {
        u64::from(self.device.ports) >= self.tier.ports
    }
}

/// What a network costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate<'a> {
    /// What it is made of.
    pub inventory: Inventory,
    /// Its switches with their prices, from the hosts up.
    pub tiers: Vec<Priced<'a>>,
    /// What all cables cost.
    pub cables: f64,
    /// What the interfaces of all hosts cost.
    pub interfaces: f64,
}

impl<'a> Estimate<'a> {
    /// Of `design` at the prices of `list`.
    ///
    /// # Errors
    /// A design that does not exist or is too large.
    pub fn new(design: Design, list: &'a PriceList) -> Result<Estimate<'a>, TopologyError> {
        let inventory = design.inventory()?;
        let priced = |&tier: &Tier| {
            let device = list.device(tier.role, tier.ports);
            Priced { tier, device, cost: tier.switches as f64 * device.price }
        };
        let tiers = inventory.tiers.iter().map(priced).collect();
        let cables = inventory.cables as f64 * list.cable;
        let interfaces = (inventory.hosts * inventory.interfaces) as f64 * list.interface;
        Ok(Estimate { inventory, tiers, cables, interfaces })
    }

    /// The sum.
    pub fn total(&self) -> f64 {
        self.tiers.iter().map(|tier| tier.cost).sum::<f64>() + self.cables + self.interfaces
    }

    /// Whether every device has as many ports as are in use.
    pub fn fits(&self) -> bool {
        self.tiers.iter().all(Priced::fits)
    }
}

/// What the thesis prints of a network at k = 48.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Switches at the edge, in aggregation and in the core.
    pub switches: [u64; 3],
    /// Millions of dollars, cut off and not rounded.
    pub millions: u64,
}

/// What the thesis prints of `design`, if it does.
pub fn published(design: Design) -> Option<Published> {
    let name = match design {
        Design::FatTree { k: 48 } => "fattree",
        Design::MultiHomedFatTree { k: 48 } => "mhft",
        _ => return None,
    };
    let row = PUBLISHED.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(','))?;
    let numbers = row.split(',').map(|number| number.trim().parse().ok()).collect::<Option<Vec<u64>>>()?;
    let &[edge, aggregation, core, millions] = numbers.as_slice() else { return None };
    Some(Published { switches: [edge, aggregation, core], millions })
}

/// The smallest even k with k³/4 hosts or more, for a FatTree of any sort.
pub fn smallest_k(hosts: u64) -> u32 {
    let room = |k: u32| u64::from(k).pow(3) / 4;
    (2..).step_by(2).find(|&k| room(k) >= hosts.min(Design::MAX_HOSTS)).unwrap_or(u32::MAX)
}

/// The smallest n of a BCube with `levels` levels, at least one, that has so many hosts.
pub fn smallest_n(hosts: u64, levels: u32) -> u32 {
    let (mut least, mut enough) = (3, u32::MAX);
    while least < enough {
        let middle = least + (enough - least) / 2;
        if u64::from(middle).saturating_pow(levels) >= hosts { enough = middle } else { least = middle + 1 }
    }
    enough
}

/// The fewest levels of a BCube of n-port switches that has so many hosts; `n` is at least 2.
pub fn fewest_levels(hosts: u64, n: u32) -> u32 {
    // Two to the 64th is more than `hosts` can be.
    (1..64).find(|&levels| u64::from(n).saturating_pow(levels) >= hosts).unwrap_or(64)
}
