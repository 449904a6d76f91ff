//! From a port of the fabric to queueing disciplines of a device: a token bucket with the port's queue inside.
//!
//! `tbf` sends at the rate of the link; `stab` has it count what the wire takes beyond the bytes that the kernel knows:
//! checksum, preamble and gap. What waits is in a FIFO of the scenario's limit.
//!
//! Sources: tc-tbf(8), tc-stab(8), tc-bfifo(8); `net/sched/sch_tbf.c` of Linux 6.18.

use std::fmt::Write as _;

use headway_fabric::{Limit, QueueSpec, Wire};

/// What an Ethernet frame has beyond its IP packet: header and checksum.
const ETHERNET: u64 = 18;
/// What the kernel counts of it: the header.
const COUNTED: u64 = 14;
/// So much of a rate may leave at once: as much as timers are late by, else the rate is not reached. 250 µs at 100 Mb/s
/// are two frames.
const BURST_US: u64 = 250;
/// A burst holds so many of the largest frames at least.
const BURST_FRAMES: u64 = 2;
/// The limit of queues that have none, in bytes.
const NO_LIMIT: u64 = 1 << 30;

/// Bytes that a packet of `mtu` takes on the wire.
fn on_wire(wire: &Wire, mtu: u64) -> u64 {
    mtu + ETHERNET + wire.gap.get()
}

/// Why a port cannot be had; nothing if it can.
pub fn refusal(wire: &Wire) -> Option<String> {
    let queue = match &wire.queue {
        QueueSpec::DropTail { mark: None, .. } => None,
        QueueSpec::DropTail { .. } => Some("marking above a threshold"),
        other => Some(other.name()),
    };
    match queue {
        Some(queue) => Some(format!("queues of namespaces are drop-tail, and one has {queue}")),
        None if wire.loss > 0.0 => Some("cables of namespaces lose nothing at random, and one does".to_owned()),
        None => None,
    }
}

/// Lines for `tc -batch` that give `device` the rate and queue of a port; `inner` takes the queue's place if there is
/// one.
///
/// # Panics
/// If [`refusal`] says that it cannot be had.
pub fn lines(wire: &Wire, mtu: u64, device: &str, inner: Option<&str>) -> String {
    let frame = on_wire(wire, mtu);
    let rate = wire.rate.bps();
    let burst = (rate / 8 * BURST_US / 1_000_000).max(BURST_FRAMES * frame);
    let overhead = ETHERNET - COUNTED + wire.gap.get();
    let QueueSpec::DropTail { limit, mark: None } = wire.queue else { panic!("refused before") };
    let (limit, fifo) = match limit {
        // counted with the gap inside the bucket, without it in scenarios
        Some(Limit::Bytes(bytes)) => (bytes.get() * frame / (mtu + ETHERNET), None),
        Some(Limit::Packets(packets)) => (NO_LIMIT, Some(format!("pfifo limit {packets}"))),
        None => (NO_LIMIT, None),
    };
    let limit = limit.clamp(frame, NO_LIMIT);
    let mut text = format!(
        "qdisc add dev {device} root handle 1: stab overhead {overhead} tbf rate {rate}bit burst {burst} limit {limit}\n"
    );
    if let Some(inner) = inner.map(str::to_owned).or(fifo) {
        let _ = writeln!(text, "qdisc add dev {device} parent 1: handle 10: {inner}");
    }
    text
}

#[cfg(test)]
mod tests {
    use headway_fabric::{CodelLaw, CodelSpec};
    use headway_units::{Bytes, Rate, Span};

    use super::*;

    fn wire(mbps: u64, queue: QueueSpec) -> Wire {
        let (rate, delay, gap) = (Rate::from_mbps(mbps), Span::ZERO, Bytes::new(20));
        Wire { rate, delay, gap, loss: 0.0, queue }
    }

    fn drop_tail(limit: Option<Limit>) -> QueueSpec {
        QueueSpec::DropTail { limit, mark: None }
    }

    #[test]
    fn a_limit_in_bytes_is_the_buckets_own() {
        let wire = wire(100, drop_tail(Some(Limit::Bytes(Bytes::from_kb(128)))));
        // 1538 B on the wire for 1518 B of frame (IEEE 802.3: 8 B preamble, 12 B gap)
        let expected =
            "qdisc add dev p0 root handle 1: stab overhead 24 tbf rate 100000000bit burst 3125 limit 129686\n";
        assert_eq!(lines(&wire, 1500, "p0", None), expected);
    }

    #[test]
    fn a_limit_in_packets_is_of_a_queue_inside() {
        let wire = wire(10, drop_tail(Some(Limit::Packets(50))));
        let expected = "\
qdisc add dev eth0 root handle 1: stab overhead 24 tbf rate 10000000bit burst 3076 limit 1073741824
qdisc add dev eth0 parent 1: handle 10: pfifo limit 50
";
        assert_eq!(lines(&wire, 1500, "eth0", None), expected);
        assert!(lines(&wire, 1500, "eth0", Some("fq")).ends_with("handle 10: fq\n"), "as the policy says");
    }

    #[test]
    fn what_a_kernel_may_lack_is_refused() {
        assert_eq!(refusal(&wire(10, drop_tail(None))), None);
        let law = CodelLaw { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false, mark: None };
        assert!(refusal(&wire(10, QueueSpec::Codel(CodelSpec { limit: None, law }))).unwrap().contains("CoDel"));
        let mark = QueueSpec::DropTail { limit: None, mark: Some(Limit::Packets(20)) };
        assert!(refusal(&wire(10, mark)).unwrap().contains("threshold"));
        assert!(refusal(&Wire { loss: 0.1, ..wire(10, drop_tail(None)) }).unwrap().contains("at random"));
    }
}
