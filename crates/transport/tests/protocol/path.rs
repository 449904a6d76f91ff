//! One link on which a full segment takes a millisecond, so that expectations can be counted.

use headway_fabric::{Limit, LinkId, NodeId, Wire};
use headway_units::{Bytes, Rate, Span};

use crate::common::{EMPTY, FULL, Line, MSS, Net, limited, line, transmission, wire};

/// A full segment a millisecond.
pub const RATE: Rate = Rate::from_bps(FULL * 8 * 1000);
/// One way.
pub const DELAY: Span = Span::from_millis(5);
/// What a full segment takes at [`RATE`].
pub const FULL_TIME: Span = Span::from_millis(1);

/// The wire with an unlimited queue.
pub fn plain() -> Wire {
    wire(RATE, DELAY)
}

/// Two hosts on one cable whose sending host queues at most `packets`.
pub fn short_queue(packets: u32) -> Line {
    line(&[limited(plain(), Limit::Packets(packets))])
}

/// A wire that passes segments without data and drops all full ones (a path-MTU black hole).
pub fn black_hole() -> Wire {
    limited(plain(), Limit::Bytes(Bytes::new(200)))
}

/// What a segment without data takes.
pub fn empty_time() -> Span {
    transmission(RATE, EMPTY)
}

/// From SYN until SYN-ACK is there.
pub fn handshake() -> Span {
    (DELAY + empty_time()) * 2
}

/// From the start of a full segment until its acknowledgement is there.
pub fn round_trip() -> Span {
    FULL_TIME + DELAY + empty_time() + DELAY
}

/// Bytes of `n` full segments.
pub const fn segments(n: u64) -> u64 {
    n * MSS as u64
}

/// Two hosts with one cable per wire; interface `i` of both is cable `i`.
pub fn cables(wires: &[Wire]) -> (Net, (NodeId, NodeId), Vec<LinkId>) {
    let mut net = Net::default();
    let pair = (net.host(), net.host());
    let links = wires.iter().map(|&wire| net.cable(pair.0, pair.1, wire)).collect();
    (net, pair, links)
}
