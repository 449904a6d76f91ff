//! BCube, whose servers forward.

use headway_units::Span;

use super::inventory::{Role, Tier, Tiers};
use super::wiring::{Built, TopologyError, Wiring, at_least_one, limit};
use crate::wire::Wire;

/// BCube_k of n-port switches (Guo et al., SIGCOMM 2009, §3.1, doi:10.1145/1592568.1592577): n^(k+1) servers with k + 1
/// interfaces and k + 1 levels of n^k switches; `levels` is k + 1. Servers are numbered by k + 1 digits below n; interface
/// i of a server is on the level-i switch that it shares with the n − 1 servers whose numbers differ in digit i alone.
/// Switches connect servers only, so servers forward.
///
/// A shortest path from interface i to interface i, between servers that differ in j digits other than i, passes one
/// switch if j = 0, otherwise j + 2: digit i goes to a third value, then the j others to theirs, then digit i to its own.
/// So n must be at least 3. The k + 1 such paths between two servers share no server and no switch: only path i has the
/// third value in digit i, and only path i passes the level-i switches of the two ends. BCube's BuildPathSet (§4.2) starts
/// its path i at interface i, too, but where digit i differs ends it at another interface, which saves a switch and a
/// server; addresses are then not paired i to i.
///
/// Hosts: `host0`, … in order of their numbers, digit 0 the lowest. Switches: `level0-switch0`, …, whose number is that
/// of their servers without digit i. No `top`.
#[derive(Debug, Clone, PartialEq)]
pub struct Bcube {
    /// Ports of a switch; at least 3.
    pub n: u32,
    /// Interfaces of a server, k + 1; at least 1.
    pub levels: u32,
    /// From a server to a switch.
    pub host_wire: Wire,
    /// From a switch to a server.
    pub wire: Wire,
    /// Latency of the servers, for what they forward, too.
    pub host_latency: Span,
    /// Latency of the switches.
    pub switch_latency: Span,
}

impl Bcube {
    /// Builds the graph.
    ///
    /// # Errors
    /// Fewer than three ports, no levels, too many links, a wire that [`Graph::connect`](crate::Graph::connect) refuses.
    pub fn build(&self) -> Result<Built, TopologyError> {
        check(self.n, self.levels)?;
        // What does not fit 32 bits is refused by `limit` as well.
        let count = self.n.saturating_pow(self.levels);
        limit(&[[count, self.levels, 1]])?;
        let mut net = Wiring::new(self.host_wire, self.wire, self.host_latency, self.switch_latency);
        let hosts = (0..count).map(|i| net.forwarding_host(format!("host{i}"))).collect::<Result<Vec<_>, _>>()?;
        let levels = (0..self.levels)
            .map(|level| net.switches(&format!("level{level}-switch"), count / self.n))
            .collect::<Result<Vec<_>, _>>()?;
        for (number, &host) in (0..).zip(&hosts) {
            let mut place: u32 = 1;
            for switches in &levels {
                // Without the digit at `place`.
                let switch = number / (place * self.n) * place + number % place;
                net.attach(host, switches[switch as usize])?;
                place *= self.n;
            }
        }
        Ok(net.finish(Vec::new()))
    }
}

fn check(n: u32, levels: u32) -> Result<(), TopologyError> {
    if n < 3 {
        return Err(TopologyError::Parameter { name: "n", value: n, allowed: "at least 3" });
    }
    at_least_one("levels", levels)
}

/// Hosts of the full size.
pub(super) fn hosts(n: u32, levels: u32) -> Result<u128, TopologyError> {
    check(n, levels)?;
    Ok(u128::from(n).saturating_pow(levels))
}

/// Switches of the full size.
pub(super) fn tiers(hosts: u64, n: u32, levels: u32) -> Tiers {
    let (n, levels) = (u64::from(n), u64::from(levels));
    Tiers { interfaces: levels, tiers: vec![Tier::new("switch", Role::Edge, levels * (hosts / n), n)] }
}
