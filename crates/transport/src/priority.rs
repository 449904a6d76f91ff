//! Priorities of frames: the upper three bits of [`Packet::tos`](headway_fabric::Packet::tos), as class-selector code points
//! have them (RFC 2474 §4.2.2.1) and, of frames with a VLAN tag, its PCP (IEEE 802.1Q §6.9.3).
//!
//! All frames of a flow have the priority of its traffic: data, acknowledgements, and what the other end answers. Most
//! runs have no priorities and pay nothing for them; in others frames of TCP take the slow path of
//! [`Network::send`](crate::network::Network::send).

use headway_fabric::Endpoint;

use crate::flows::NO_TRAFFIC;

/// How many there are.
pub(crate) const PRIORITIES: u8 = 8;

/// The priorities of traffic, and of who gets frames of it.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    /// Bits of `tos`, by traffic; 0 of all others.
    of_traffic: Vec<u8>,
    /// By endpoint of TCP.
    of_end: Vec<u8>,
}

impl Priorities {
    /// Flows of `traffic` have `priority`.
    ///
    /// # Panics
    /// If there is no such priority.
    pub fn set(&mut self, traffic: u16, priority: u8) {
        assert!(priority < PRIORITIES, "priorities are 0 to 7");
        assert!(traffic != NO_TRAFFIC, "it is no user's");
        let traffic = usize::from(traffic);
        if self.of_traffic.len() <= traffic {
            self.of_traffic.resize(traffic + 1, 0);
        }
        self.of_traffic[traffic] = priority << 5;
    }

    /// The bits that frames of `traffic` have in `tos`.
    pub fn bits(&self, traffic: u16) -> u8 {
        self.of_traffic.get(usize::from(traffic)).copied().unwrap_or(0)
    }

    /// Frames to `to` are of `traffic`.
    pub fn open(&mut self, to: Endpoint, traffic: u16) {
        if self.of_traffic.is_empty() {
            return;
        }
        let to = to.0 as usize;
        if self.of_end.len() <= to {
            self.of_end.resize(to + 1, 0);
        }
        self.of_end[to] = self.bits(traffic);
    }

    /// The bits that frames to `to` have in `tos`.
    pub fn of(&self, to: Endpoint) -> u8 {
        self.of_end.get(to.0 as usize).copied().unwrap_or(0)
    }
}
