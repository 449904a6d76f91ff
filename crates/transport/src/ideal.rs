//! Completion times on an idle network.

use headway_fabric::{Graph, LinkId};
use headway_units::{Bytes, Span};

use crate::segment::frame_size;

/// How long `size` bytes take over the links of an idle path, without a handshake and with windows that never
/// limit: the first full frame is stored and forwarded hop by hop, the others follow it at the slowest link's
/// rate, and the last (usually shorter) one ends it. A lower bound for one path; several paths together may be
/// faster. Full frames have
/// `payload` bytes, and `overhead` beside them.
pub(crate) fn ideal(graph: &Graph, path: &[LinkId], size: Bytes, (payload, overhead): (u32, u32)) -> Span {
    // Sizes that take longer than the range of time have no finite ideal.
    let add = |a: Span, b: Span| a.checked_add(b).unwrap_or(Span::MAX);
    let mss = u64::from(payload);
    let full = size.get() / mss;
    let rest = (size.get() % mss) as u32;
    let wire = |bytes: u32, link: &headway_fabric::Link| {
        link.wire.rate.transmission(Bytes::new(u64::from(frame_size(bytes, overhead)) + link.wire.gap.get()))
    };
    let links = || path.iter().map(|&l| graph.link(l));
    let latency = links().fold(Span::ZERO, |sum, l| add(sum, add(l.wire.delay, graph.node(l.to).latency)));
    if full == 0 {
        return links().fold(latency, |sum, l| add(sum, wire(rest, l)));
    }
    // On an idle path the last full frame reaches the far end of each link one transmission after the later of:
    // its own arrival at that link, and its predecessor's departure; the pace is that of the slowest link so far.
    let (mut last_full, mut pace, mut last) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for link in links() {
        let own = wire(payload, link);
        last_full = add(last_full, add(own, own.saturating_sub(pace).saturating_mul(full - 1)));
        pace = pace.max(own);
        last = if rest == 0 { last_full } else { add(last.max(last_full), wire(rest, link)) };
    }
    add(latency, last)
}
