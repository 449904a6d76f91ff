//! Ports and interfaces of flows: hashes of the run and the flow, the same under every policy.

use headway_engine::{Streams, mix64};

/// The port that receivers listen at.
pub(crate) const SERVICE: u16 = 80;

/// What stands for the ports of a run's flows.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    salt: u64,
}

impl Ports {
    /// Those of the run whose random numbers come from `streams`.
    pub fn new(streams: Streams) -> Ports {
        Ports { salt: streams.stream("ports").next_u64() }
    }

    /// The hash of a subflow of a flow's copy, which stands for its ports.
    pub fn port(self, id: u64, copy: u8, subflow: usize) -> u16 {
        self.hash(id, copy, subflow) as u16
    }

    /// All bits of that hash.
    pub fn hash(self, id: u64, copy: u8, subflow: usize) -> u64 {
        let x = self.salt ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(copy) << 8 | subflow as u64);
        mix64(x)
    }

    /// Which of `pairs` pairs of interfaces a connection of plain TCP takes: the `wanted` one, else the hash that
    /// switches use chooses the interface too; copies take the next ones. Segments of a flow over relays are told apart
    /// like copies, and are none: who wants a pair has it for all of them, and calls this with copy 0.
    pub fn pair(self, id: u64, copy: u8, pairs: usize, wanted: Option<usize>) -> usize {
        (wanted.unwrap_or_else(|| usize::from(self.port(id, 0, 0))) + usize::from(copy)) % pairs
    }
}
